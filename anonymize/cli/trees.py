"""The options of `evaluate` about decision trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anonymize.cli.completing import completing, targets
from anonymize.cli.kinds import count_option, share_option
from anonymize.cli.queries import chosen_columns
from anonymize.errors import UsageError

if TYPE_CHECKING:
    from anonymize.evaluation.patterns import TreePlan

TREE_OPTIONS = (
    click.option(
        "--tree",
        metavar="TARGET",
        help="Compare the first splits of a decision tree for a target.",
        shell_complete=completing(targets),
    ),
    count_option("--tree-depth", least=1, most=12, help="Conditions in a row, at most, of the tree.  [default: 3]"),
    chosen_columns("--tree-columns", help="The quasi-identifiers that the tree asks.  [default: all]"),
    share_option(
        "--support-within",
        help="A pattern survives if as many rows show it, within this share of them.  [default: 0.1]",
    ),
    share_option(
        "--confidence-within",
        help="... and as large a share of these has its label, within so much of it.  [default: 0.05]",
    ),
)


def tree_plan(given: dict[str, Any]) -> TreePlan | None:
    """How trees are compared, None for not; takes what is about them out of `given`. Raises UsageError for options of
    trees without --tree."""
    flags = {
        "--tree-depth": given.pop("tree_depth"),
        "--tree-columns": given.pop("tree_columns") or None,
        "--support-within": given.pop("support_within"),
        "--confidence-within": given.pop("confidence_within"),
    }
    target = given.pop("tree")
    if target is None:
        stray = [flag for flag, value in flags.items() if value is not None]
        if stray:
            raise UsageError([f"{flag}: is about a tree, give --tree" for flag in stray])
        return None
    from anonymize.evaluation.patterns import CONFIDENCE, SUPPORT, Tolerance, TreePlan
    from anonymize.evaluation.trees import DEPTH

    depth, columns, support, confidence = flags.values()
    tolerance = Tolerance(
        SUPPORT if support is None else support,
        CONFIDENCE if confidence is None else confidence,
    )
    return TreePlan(target, depth or DEPTH, columns or (), tolerance)
