"""`explain`: the manual of whatever has a name here, on a terminal or as text."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache

import click
from click.shell_completion import CompletionItem

from anonymize.cli.exits import put
from anonymize.cli.options import COLOR, with_options
from anonymize.errors import UsageError

LEAD = re.compile(r"^(?:[A-Z][A-Za-z ]{2,24}|`--[a-z-]+`)[.:](?=\s)", re.MULTILINE)
CODE = re.compile(r"`[^`]*`")
LISTED = 6
"""Commands of an option that are named at most."""


def _complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from anonymize._explain import known

    return [CompletionItem(name) for name in dict.fromkeys(known(options())) if name.startswith(incomplete)]


@click.command(context_settings={"ignore_unknown_options": True})  # `explain --effort`
@with_options(click.argument("name", required=False, shell_complete=_complete), COLOR)
def explain(name: str | None, color: str) -> None:
    """Explain any word of a spec, a report or a help.

    Privacy models, metrics, algorithms, cut rules, attackers, keys and values of specs, figures of reports, options,
    exit codes, and words of the field.

    NAME is as specs, reports and options have it, or the number of an exit code; `_` and `-` are the same, and so are
    capital and small letters, singular and plural. A name that means several things is explained in each. Without a
    NAME, all names are listed.
    """
    from anonymize._explain import explained, manuals

    if name is None:
        for kind, names in {**manuals(), **options()}.items():
            put(f"{kind}: {', '.join(names)}")
        return
    try:
        entries = explained(name, options())
    except UsageError as error:
        raise click.UsageError(str(error), click.get_current_context()) from None
    for number, (title, manual) in enumerate(entries):
        _show(title, manual, color, first=number == 0)


@cache
def options() -> dict[str, dict[str, str]]:
    """Options of the commands, each with its help and the commands that have it."""
    from anonymize.cli.main import cli

    having: dict[str, dict[str, list[str]]] = {}
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        parts = command.commands if isinstance(command, click.Group) else {"": command}
        for below, part in parts.items():
            for option in part.params if part else ():
                if isinstance(option, click.Option):
                    for flag in (*option.opts, *option.secondary_opts):
                        called = having.setdefault(flag.lstrip("-"), {}).setdefault(option.help or "", [])
                        called.append(f"{name} {below}".strip())
    manuals = {
        flag: "\n\n".join(f"{text}\n\n    An option of {_some(names)}." for text, names in texts.items())
        for flag, texts in having.items()
    }
    return {"option": manuals}


def _some(names: Sequence[str]) -> str:
    """The first names of a list."""
    return ", ".join(names) if len(names) <= LISTED else f"{', '.join(names[:LISTED])} and {len(names) - LISTED} more"


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
