"""How commands that check a table end: the result in one of the forms, and exit code 1 where something is not met."""

from __future__ import annotations

import os
import sys

import click

from anonymize.cli.kinds import choice_option
from anonymize.errors import UnsafeError, WriteError
from anonymize.formats import AUTO, FORMATS, Checked, chosen

FORM = (
    choice_option(
        "--format",
        "form",
        choices=[AUTO, *FORMATS],
        default=AUTO,
        help="Form of the result; auto is github in GitHub Actions, else text.",
    ),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
)


def is_text(form: str) -> bool:
    """Whether the result is for people, where a next command helps."""
    return chosen(form, os.environ) == "text"


def conclude(checked: Checked, form: str, *, quiet: bool, color: str) -> None:
    """Prints what was checked, in the form that was asked for. Raises UnsafeError with what is not met or could not be
    shown, and WriteError where standard output is closed."""
    rendering = chosen(form, os.environ)
    if sys.stdout is None and rendering != "text":
        raise WriteError("<stdout>: cannot be written: it is closed")
    if not quiet or form not in (AUTO, "text"):
        FORMATS[rendering](checked, sys.stdout, color)
    if checked.problems:
        raise UnsafeError(checked.problems)
