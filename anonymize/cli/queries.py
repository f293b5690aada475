"""The options of `evaluate` about COUNT queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from anonymize.cli.completing import completing, quasi_identifiers
from anonymize.cli.kinds import Command, count_option, file_option, flag_option, share_option
from anonymize.errors import UsageError
from anonymize.names import parted

if TYPE_CHECKING:
    from anonymize.metrics.queries import QueryPlan


def _sizes(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Whole numbers from 1, and ranges of them: 1-3,5."""
    if value is None:
        return ()
    sizes: set[int] = set()
    for part in value.split(","):
        low, dash, high = part.strip().partition("-")
        ends = (low, high if dash else low)
        if not all(end.isdecimal() and int(end) for end in ends):
            raise click.BadParameter(f"{value!r} is not a list of numbers from 1, such as 1-3 or 2,4")
        sizes.update(range(int(ends[0]), int(ends[1]) + 1))
    return tuple(sorted(sizes))


def _names(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Names of columns: the option repeated, or names parted by commas; each once."""
    return tuple(dict.fromkeys(parted(*value)))


def chosen_columns(*declarations: str, help: str) -> Callable[[Command], Command]:
    """An option that takes some of the quasi-identifiers."""
    complete = completing(quasi_identifiers, listed=True)
    return click.option(
        *declarations, multiple=True, metavar="A,B,...", callback=_names, shell_complete=complete, help=help
    )


QUERY_OPTIONS = (
    click.option(
        "--query-dimensions",
        "dimensions",
        metavar="N[-M],...",
        callback=_sizes,
        help="How many quasi-identifiers a query restricts.  [default: any number]",
    ),
    chosen_columns(
        "--query-attributes", "attributes", help="The quasi-identifiers that queries restrict.  [default: all]"
    ),
    share_option(
        "--query-selectivity",
        "selectivity",
        min_open=True,
        help="Share of the joint domain that a query covers.  [default: ranges of any length]",
    ),
    flag_option("--query-points", "points", help="Ask for the values of random rows, not for ranges."),
    click.option(
        "--query-bound",
        "bound",
        type=click.FloatRange(min=0),
        default=0.0,
        show_default=True,
        help="Sanity bound: rows below which no true count is taken to be in a relative error.",
    ),
    count_option(
        "--query-seeds",
        "repeats",
        least=1,
        default=1,
        help="Draw the queries from so many seeds, of which --seed is the first.",
    ),
    file_option("--query-file", help="A YAML list of queries, in place of random ones."),
)


def query_plan(given: dict[str, Any]) -> QueryPlan:
    """Which queries are drawn; takes what is about them out of `given`. Raises UsageError for what makes no sense
    together."""
    from anonymize.metrics.queries import QueryPlan

    keys = ("dimensions", "attributes", "selectivity", "points", "bound", "repeats")
    plan = QueryPlan(**{key: given.pop(key) for key in keys})
    if plan.points and plan.selectivity is not None:
        raise UsageError("--query-points and --query-selectivity: a point has no length")
    drawing = {
        "--query-dimensions": bool(plan.dimensions),
        "--query-attributes": bool(plan.attributes),
        "--query-selectivity": plan.selectivity is not None,
        "--query-points": plan.points,
        "--query-seeds": plan.repeats > 1,
    }
    stray = [flag for flag, value in drawing.items() if value and given["query_file"] is not None]
    if stray:
        raise UsageError([f"{flag}: is about random queries, and --query-file lists them" for flag in stray])
    return plan
