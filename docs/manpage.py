"""The manual page `anonymize(1)`, from the commands themselves: what their help says, as man(7) has it.

Options that all release commands share stand there once. Long manuals of algorithms are left to `anonymize explain`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import click

from anonymize import __version__, errors
from anonymize.cli.main import COMMANDS, TAKE_IT_WHEN, cli

CODE = re.compile(r"`([^`]*)`")
SEE_ALSO = (
    "`anonymize COMMAND --help`; `anonymize explain NAME` for the manual of a privacy model, metric, algorithm, cut "
    "rule or exit code."
)
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


def man_page(commands: Mapping[str, click.Command], group: click.Context) -> str:
    """The page, in man(7)'s macros. `commands`: all of them by name; `group`: the context that they are called in."""
    blocks = [
        [f'.TH ANONYMIZE 1 "" "anonymize {__version__}" "User Commands"', ".SH NAME"],
        [escaped("anonymize - turn a table about people into one that can be published, and prove it")],
        [".SH SYNOPSIS", ".B anonymize", escaped("COMMAND [OPTIONS] [SPEC]")],
        [".SH DESCRIPTION", *_paragraphs(cli.help or "")],
        [".SH COMMANDS", *_index()],
        [".SH OPTIONS OF EVERY RELEASE COMMAND", *_shared(commands, group)],
        *_sections(commands, group),
        [".SH EXIT STATUS", *(line for code, text in errors.MEANINGS.items() for line in _entry(str(code), text))],
        [".SH FILES", *_entry("anonymize.yaml", "The spec, where none is named: in this folder or the nearest above.")],
        [".SH SEE ALSO", *_paragraphs(SEE_ALSO)],
    ]
    return "\n".join(line for block in blocks for line in block) + "\n"


def escaped(text: str) -> str:
    """A text in which roff sees no command: on a line of its own, or as an argument in quotes."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("'", "\\(aq")
    return f"\\&{plain}" if plain.startswith(".") else plain


def _styled(text: str) -> str:
    """With names in bold; where a link leads is left out."""
    return CODE.sub(r"\\fB\1\\fR", escaped(LINK.sub(r"\1", " ".join(text.split()))))


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, re-wrapped but for those that click leaves as they are."""
    for block in text.strip().split("\n\n"):
        if block.lstrip().startswith("\b"):
            lines = [line.strip() for line in block.replace("\b", "").strip().splitlines()]
            yield from (".PP", ".nf", *map(escaped, lines), ".fi")
        else:
            yield from (".PP", _styled(block))


def _entry(name: str, meaning: str) -> tuple[str, ...]:
    return ".TP", f'.B "{escaped(name)}"', _styled(meaning)


def _index() -> Iterator[str]:
    """The commands as `--help` has them: releases by when to take them, the others by group."""
    lines = {name: text for group in COMMANDS.values() for name, (_, text) in group.items()}
    titled = {f"Release: {reason}": names for reason, names in TAKE_IT_WHEN.items()}
    titled |= {title: tuple(group) for title, group in list(COMMANDS.items())[1:]}
    for title, names in titled.items():
        yield f'.SS "{escaped(title)}"'
        for name in names:
            yield from _entry(name, lines[name])


def _shared(commands: Mapping[str, click.Command], group: click.Context) -> Iterator[str]:
    """The options that all release commands have."""
    common = _common(commands, group)
    for name, meaning in _options(commands["release"], group, "release").items():
        if name in common:
            yield from _entry(name, meaning)


def _sections(commands: Mapping[str, click.Command], group: click.Context) -> Iterator[list[str]]:
    """A section for each command: how it is called, and its options."""
    common = _common(commands, group)
    for name, command in commands.items():
        context = click.Context(command, info_name=name, parent=group)
        parts = command.commands if isinstance(command, click.Group) else {"": command}
        lines = [f'.SH "ANONYMIZE {escaped(name.upper())}"']
        for below, part in parts.items():
            inner = click.Context(part, info_name=below, parent=context) if below else context
            lines += [
                ".PP",
                ".na",
                f'.B "{escaped(" ".join([inner.command_path, *part.collect_usage_pieces(inner)]))}"',
                ".ad",
            ]
            if name not in COMMANDS["Release"]:
                lines += _paragraphs(part.help or "")
            own = _options(part, context, below or name)
            own = {each: own[each] for each in own if name not in COMMANDS["Release"] or each not in common}
            lines += [line for each, meaning in own.items() for line in _entry(each, meaning)]
        yield lines


def _common(commands: Mapping[str, click.Command], group: click.Context) -> set[str]:
    """The options that all release commands have, as they are written."""
    return set.intersection(*(set(_options(commands[name], group, name)) for name in COMMANDS["Release"]))


def _options(command: click.Command, parent: click.Context, name: str) -> dict[str, str]:
    """How each option is written, and its help."""
    context = click.Context(command, info_name=name, parent=parent)
    options = [each for each in command.get_params(context) if isinstance(each, click.Option)]
    records = [record for each in options if (record := each.get_help_record(context)) is not None]
    return {" ".join(written.split()): meaning for written, meaning in records}
