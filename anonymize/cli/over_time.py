"""`audit --series`: the options of a series, and which others go with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from anonymize.cli.kinds import file_option
from anonymize.errors import UsageError

if TYPE_CHECKING:
    from anonymize.formats import Checked

SERIES = (
    file_option(
        "--series",
        help="The state of a series of releases: all of them, by everybody's history; with --key.",
    ),
    file_option("--key", help="The key file of the series."),
)

_BESIDE = {"spec", "series", "key", "k", "l", "t", "require", "form", "reports", "force", "threads", "quiet", "color"}
"""What may be given beside a series; everything else describes one table."""


def audited(spec: Any, state: str | None, key: str | None, given: dict[str, Any]) -> Checked:
    """The series, measured. `given`: the options that were given, of one table or of a series. Raises UsageError for
    options that are about one table, without a key, or without a spec."""
    from anonymize.auditing.series import SeriesAudit, audit_series

    context = click.get_current_context()
    if state is None:
        raise UsageError("--key: is that of a --series")
    if spec is None:
        raise UsageError("--series: give the spec of the releases")
    if key is None:
        raise UsageError("--series: needs --key, by which people are recognized")
    chosen = [each for each in context.command.params if each.name not in _BESIDE and _is_given(context, each.name)]
    if chosen:
        raise UsageError([f"{each.opts[0]}: is about one table, and --series about all releases" for each in chosen])
    thresholds: dict[str, Any] = {name: given[name] for name in ("k", "l", "t") if name in given}
    rest = {name: given[name] for name in ("require", "reports", "force") if name in given}
    return audit_series(SeriesAudit(spec, state, key, thresholds, **rest)).checked


def _is_given(context: click.Context, name: str | None) -> bool:
    return context.get_parameter_source(name or "") is click.core.ParameterSource.COMMANDLINE
