"""`explain`: the manual of whatever has a name here, on a terminal or as text."""

from __future__ import annotations

import re
import sys

import click
from click.shell_completion import CompletionItem

from anonymize.cli.exits import put
from anonymize.cli.options import COLOR, with_options
from anonymize.errors import UsageError

LEAD = re.compile(r"^(?:[A-Z][A-Za-z ]{2,24}|`--[a-z-]+`)[.:](?=\s)", re.MULTILINE)
CODE = re.compile(r"`[^`]*`")


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from anonymize._explain import known

    return [CompletionItem(name) for name in known() if name.startswith(incomplete)]


@click.command()
@with_options(click.argument("name", required=False, shell_complete=_complete), COLOR)
def explain(name: str | None, color: str) -> None:
    """Explain a privacy model, metric, algorithm, cut rule, attacker, exit code, figure of a report or key of the spec.

    NAME is as specs, reports and options have it, or the number of an exit code; `_` and `-` are the same, and so are
    capital and small letters. A name that means several things is explained in each. Without a NAME, all names are
    listed.
    """
    from anonymize._explain import explained, manuals

    if name is None:
        for kind, names in manuals().items():
            put(f"{kind}: {', '.join(names)}")
        return
    try:
        entries = explained(name)
    except UsageError as error:
        raise click.UsageError(str(error), click.get_current_context()) from None
    for number, (title, manual) in enumerate(entries):
        _show(title, manual, color, first=number == 0)


def _show(title: str, manual: str, color: str, *, first: bool) -> None:
    """On standard output: styled and wrapped on a terminal, as it is elsewhere."""
    from rich.text import Text

    from anonymize.report.terminal import console

    out = console(sys.stdout, color)
    if not out.is_terminal:
        put(f"{'' if first else chr(10)}{title}\n\n{manual}", lines=True)
        return
    if not first:
        out.print()
    out.print(Text(title, "bold underline"))
    for block in manual.split("\n\n"):
        indented = block.startswith("    ")
        text = Text(block if indented else " ".join(block.split()) if not block.startswith("- ") else block)
        text.highlight_regex(LEAD, "bold")
        text.highlight_regex(CODE, "cyan")
        out.print()
        out.print(text)
