"""What the shell is offered for an option's value: columns, quasi-identifiers, privacy models, attackers, algorithms.

Columns are those of the table that the command line names so far, by the header of a CSV, or else of the spec, by its
keys. Names of columns alone are offered, never values; where nothing can be read, nothing is offered, and nothing is
said. Columns and algorithms come without the libraries that a command needs; the other names take a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from anonymize.errors import visible
from anonymize.files import as_listed, parted

HEAD = 1 << 16
SPEC_KEYS = ("quasi_identifiers", "sensitive", "identifiers", "insensitive")

Command = TypeVar("Command", bound=Callable[..., Any])
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(names: Callable[[click.Context], Iterable[str]], *, listed: bool = False) -> Complete:
    """What an option's `shell_complete` takes. `listed`: its value is a list parted by commas, of which the last name
    is completed, and no name is offered twice."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        known = [name for name in dict.fromkeys(names(context)) if visible(name) == name]  # none moves the cursor
        if not listed:
            return [CompletionItem(name) for name in known if name.startswith(incomplete)]
        begins = _last_name(incomplete)
        before, begun = incomplete[:begins], incomplete[begins:].lstrip().removeprefix('"')
        taken = set(parted(before))
        offered = [name for name in known if name.startswith(begun) and name not in taken]
        return [CompletionItem(before + as_listed(name)) for name in offered]

    return complete


def names_option(
    *declarations: str, of: Callable[[click.Context], Iterable[str]], help: str
) -> Callable[[Command], Command]:
    """An option that takes some names, repeated or parted by commas, each once. `of`: those that there are."""

    def chosen(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(parted(*value)))

    complete = completing(of, listed=True)
    return click.option(
        *declarations, multiple=True, metavar="A,B,...", callback=chosen, shell_complete=complete, help=help
    )


def _last_name(text: str) -> int:
    """Where the last name of a list begins: behind the last comma that is not in quotes."""
    begins, quoted = 0, False
    for place, character in enumerate(text):
        quoted ^= character == '"'
        if character == "," and not quoted:
            begins = place + 1
    return begins


def columns(context: click.Context) -> list[str]:
    """The columns of the table that is named, of the spec (its own, or those of the table that it names), or of the
    release."""
    for name in ("path", "input_path"):
        if context.params.get(name):
            return _header(str(context.params[name]))
    content, folder = _spec(context)
    input_section = content.get("input")
    table = input_section if isinstance(input_section, dict) else {}
    from pathlib import Path

    has_names = "path" in table and table.get("header") is not False
    header = _header(str(Path(folder) / str(table["path"]))) if has_names else []
    named = header or [name for key in SPEC_KEYS for name in _names(content.get(key))]
    released = context.params.get("released") or next((each for each in _placed(context) if not _is_spec(each)), None)
    return named or (_header(str(released)) if released else [])


def quasi_identifiers(context: click.Context) -> list[str]:
    """The quasi-identifiers of the spec; without a spec, the columns of the table."""
    return _names(_spec(context)[0].get("quasi_identifiers")) or columns(context)


def targets(context: click.Context) -> list[str]:
    """The targets of the spec's workload, then its other columns."""
    workload = _spec(context)[0].get("workload")
    return [*(_names(workload.get("targets")) if isinstance(workload, dict) else []), *columns(context)]


def algorithms(context: click.Context) -> list[str]:
    """The release commands."""
    from anonymize.cli.main import COMMANDS

    return [name for name, (place, _) in COMMANDS["Release"].items() if place == COMMANDS["Release"]["release"][0]]


def requirements(context: click.Context) -> list[str]:
    """The privacy models, and what is required of columns that pass through."""
    from anonymize.privacy import MODELS

    return [*MODELS, "passing"]


def attackers(context: click.Context) -> list[str]:
    """The attackers."""
    from anonymize.attacks import ATTACKERS

    return list(ATTACKERS)


def learners(context: click.Context) -> list[str]:
    """The models that `evaluate` trains."""
    from anonymize.modelling.learners import LEARNERS

    return list(LEARNERS)


def _placed(context: click.Context) -> list[str]:
    """What stands on the line without an option: click gives up before it says what it is, as the last option has no
    value yet."""
    return [str(each) for each in context.args]


def _is_spec(path: str) -> bool:
    return path.endswith((".yaml", ".yml"))


def _names(value: Any) -> list[str]:
    """The names of a list, or of the keys of a mapping; a pattern is none."""
    return [str(name) for name in value if "*" not in str(name)] if isinstance(value, list | dict) else []


def _header(path: str) -> list[str]:
    """The first line of a CSV, parted as `init` parts it; nothing for another file, or one that cannot be read."""
    import csv

    from anonymize.profiling import layout_of

    with suppress(OSError, ValueError, csv.Error):
        layout = layout_of(path, None, None)
        with open(path, encoding=layout.get("encoding", "utf-8"), newline="") as file:
            line = file.read(HEAD)
            if "\0" not in line:
                first = line.removeprefix("\ufeff").split("\n")[0].rstrip("\r")
                return next(csv.reader([first], delimiter=layout.get("separator", ",")))
    return []


def _spec(context: click.Context) -> tuple[dict[str, Any], str]:
    """The content of the spec that is named, or of the nearest one, and its folder; nothing where it cannot be read, or
    the command takes none."""
    if "spec" not in context.params:
        return {}, "."
    from pathlib import Path

    import yaml  # type: ignore[import-untyped,unused-ignore]

    from anonymize.cli.options import spec_above

    given = context.params["spec"] or next((each for each in _placed(context) if _is_spec(each)), None)
    with suppress(OSError, ValueError, yaml.YAMLError):
        path = Path(given) if given else spec_above(Path.cwd())
        if path is not None:
            content = yaml.safe_load(path.read_text(encoding="utf-8")[:HEAD])
            return (content if isinstance(content, dict) else {}), str(path.parent)
    return {}, "."
