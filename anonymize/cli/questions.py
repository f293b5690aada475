"""Commands that answer questions: `explain`, the manual of whatever has a name, and `doctor`, whether this machine
is ready."""

from __future__ import annotations

import json
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Literal

import click
from click.shell_completion import CompletionItem

from anonymize import __version__
from anonymize.cli.exits import put
from anonymize.cli.options import COLOR, QUIET, file_option, flag_option, with_options
from anonymize.errors import AnonymizeError, MemoryShortage, UsageError, WriteError, visible
from anonymize.records import dataclass

# --- explain ----------------------------------------------------------------------------------------------------------

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
    """Explain any term of a spec, a report or the help.

    These are privacy models, metrics, algorithms, cut rules, attackers, keys and values of specs, figures of reports,
    options, exit codes, and terms of the field.

    NAME is written as in specs, reports and options, or is the number of an exit code. `_` and `-` are equivalent, and
    so are upper and lower case, singular and plural. A name with several meanings is explained in each. Without a NAME,
    all names are listed.
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


# --- doctor -----------------------------------------------------------------------------------------------------------

DISTRIBUTION = "anonymize-toolkit"
TOO_LITTLE = 256
"""Megabytes below which no release fits in memory, or in the folder of temporary files."""
MEGABYTE = 1 << 20
_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^]]*\])?(?P<bounds>[^;]*)(?:;.*extra *== *['\"](?P<extra>[\w-]+)['\"])?"
)
_LEAST = re.compile(r">= *(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Observation:
    """One thing that was looked at. `state`: `missing` is an extra that is not installed, and no problem."""

    about: str
    state: Literal["ok", "missing", "problem"]
    says: str


@click.command()
@with_options(
    file_option("--tmp", help="Folder for temporary files.  [default: the system's]"),
    file_option("--key", "key_path", help="A key file, whose validity and permissions are checked."),
    flag_option("--json", "as_json", help="Print as JSON."),
    QUIET,
)
def doctor(tmp: str | None, key_path: str | None, as_json: bool, quiet: bool) -> None:
    """Check what a release needs on this machine: versions, extras, memory, temporary folder, and a key's permissions.

    No table is read, and the content of a key is not shown. Exit code 2 if a required package is missing or too old, or
    a key is invalid; 71 if there is too little memory; 74 if temporary files cannot be written. An extra that is not
    installed is not a problem.
    """
    looked = list(_observations(tmp, key_path))
    if as_json:
        put(visible(json.dumps([asdict(each) for each, _ in looked], indent=2), lines=True), lines=True)
    elif not quiet:
        width = max(len(each.about) for each, _ in looked)
        for each, _ in looked:
            put(f"{each.state:8}{each.about:{width}}  {each.says}")
    wrong = [(f"{each.about}: {each.says}", kind) for each, kind in looked if each.state == "problem"]
    if wrong:
        raise wrong[0][1]([message for message, _ in wrong])


def _observations(tmp: str | None, key_path: str | None) -> Iterator[tuple[Observation, type[AnonymizeError]]]:
    """What was looked at, with the kind of error that each is where it is a problem."""
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Observation("anonymize", "ok", f"{__version__}; {system}"), UsageError
    for each in _packages():
        yield each, UsageError
    yield _memory(), MemoryShortage
    yield _temporary(Path(tmp or tempfile.gettempdir())), WriteError
    if key_path is not None:
        yield _key(key_path), UsageError


def _packages() -> Iterator[Observation]:
    """Each package that is needed, and each extra as a whole."""
    extras: dict[str, list[str]] = {}
    for text in _requirements():
        match = _REQUIREMENT.match(text)
        if match is None:
            continue
        state, says = _installed(match["name"], match["bounds"])
        if match["extra"] is None:
            yield Observation(match["name"], "ok" if state == "ok" else "problem", says)
        else:
            extras.setdefault(match["extra"], []).extend([] if state == "ok" else [f"{match['name']}: {says}"])
    for extra, lacking in extras.items():
        if extra not in ("bench", "browser", "dev", "peers", "site"):
            hint = f"pip install '{DISTRIBUTION}[{extra}]'"
            says = f"{'; '.join(lacking)} ({hint})" if lacking else "installed"
            yield Observation(f"extra {extra}", "missing" if lacking else "ok", says)


def _requirements() -> list[str]:
    """The requirements of the package; none where it is not installed, but is run from a folder."""
    try:
        return metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []


def _installed(name: str, bounds: str) -> tuple[Literal["ok", "missing", "problem"], str]:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing", "is not installed"
    least = _LEAST.search(bounds)
    if least is not None and _numbers(version) < _numbers(least[1]):
        return "problem", f"{version} is installed, and {least[1]} is the least"
    return "ok", version


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _memory() -> Observation:
    from anonymize.table.memory import available

    free = available()
    if free is None:
        return Observation("memory", "ok", "the system does not say how much is free")
    state: Literal["ok", "problem"] = "ok" if free >= TOO_LITTLE * MEGABYTE else "problem"
    return Observation("memory", state, f"{free // MEGABYTE:,} MB are free for this process")


def _temporary(folder: Path) -> Observation:
    name = f"temporary files in {folder}"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
        free = shutil.disk_usage(folder).free // MEGABYTE
    except OSError as error:
        return Observation(name, "problem", f"cannot be written: {error.strerror}")
    return Observation(name, "ok" if free >= TOO_LITTLE else "problem", f"{free:,} MB are free")


def _key(path: str) -> Observation:
    """Whether it is a key file that only its owner may read."""
    from anonymize import key

    try:
        key.load(path)
    except AnonymizeError as error:
        return Observation(
            f"key {path}", "problem", "; ".join(str(each).removeprefix(f"{path}: ") for each in error.problems)
        )
    return Observation(f"key {path}", "ok", "a key, which only its owner may read")
