"""Options that several commands share: their kinds, and the spec that is meant where none is named."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

from anonymize.cli.exits import put, say
from anonymize.files import SUFFIXES

# --- kinds of options -------------------------------------------------------------------------------------------------

Command = TypeVar("Command", bound=Callable[..., Any])
PATH = click.Path(path_type=str)


class NamedOrNumber(click.ParamType[str | float]):
    """One of some names, or a number within a range."""

    name = "choice or number"

    def __init__(self, names: Sequence[str], number: click.IntRange | click.FloatRange) -> None:
        self.names, self.number = tuple(names), number

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The names, and that a number may stand in their place."""
        return f"[{'|'.join(self.names)}|NUMBER]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        """The name, or the number. Raises what is wrong as a usage error."""
        if value in self.names:
            return str(value)
        try:
            return self.number.convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is none of {', '.join(self.names)}, and no number of at least {self.number.min:g}.")


def file_option(*names: str, **more: Any) -> Callable[[Command], Command]:
    """An option that takes the path of a file or a folder."""
    return click.option(*names, type=PATH, **more)


def flag_option(*names: str, **more: Any) -> Callable[[Command], Command]:
    """An option that takes no value."""
    return click.option(*names, is_flag=True, **more)


def choice_option(
    *names: str, choices: Sequence[str], default: str | None = None, **more: Any
) -> Callable[[Command], Command]:
    """An option that takes one of some values; a default is shown."""
    return click.option(*names, type=click.Choice(choices), default=default, show_default=default is not None, **more)


def count_option(
    *names: str, least: int = 0, most: int | None = None, default: int | None = None, **more: Any
) -> Callable[[Command], Command]:
    """An option that takes a whole number from `least` to `most`; a default is shown."""
    kind = click.IntRange(least, most)
    return click.option(*names, type=kind, default=default, show_default=default is not None, **more)


def share_option(
    *names: str, min_open: bool = False, max_open: bool = False, default: float | None = None, **more: Any
) -> Callable[[Command], Command]:
    """An option that takes a number from 0, or above it, to 1, or below it; a default is shown."""
    kind = click.FloatRange(0, 1, min_open=min_open, max_open=max_open)
    return click.option(*names, type=kind, default=default, show_default=default is not None, **more)


# --- the spec that is meant -------------------------------------------------------------------------------------------
# Where none is named, it is `anonymize.yaml` in the working directory, or the nearest folder above. A file that belongs
# to somebody else than the user or the administrator is not taken: in a folder that all can write to it could ask for
# less than its finder believes.

NAME = "anonymize.yaml"


def spec_above(folder: Path) -> Path | None:
    """The nearest spec, its path relative to `folder` where it lies in it; None where there is none."""
    for above in (folder, *folder.parents):
        path = above / NAME
        if path.is_file() and _is_own(path):
            return Path(os.path.relpath(path, folder))
    return None


def _is_own(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid in (os.getuid(), 0)


def nearby_spec() -> str | None:
    """The spec that is meant where none is named; one of a folder above is said on standard error."""
    spec = spec_above(Path.cwd())
    if spec is not None and spec.parent != Path():
        say(f"the spec is {spec}")
    return None if spec is None else str(spec)


def needed_spec(context: click.Context) -> str:
    """The spec nearby; raises click's UsageError where there is none."""
    spec = nearby_spec()
    if spec is None:
        message = "Missing argument 'SPEC', and there is no anonymize.yaml in this folder or one above."
        raise click.UsageError(message, context)
    return spec


def _spec(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    being_completed = context.resilient_parsing
    return value if value is not None or being_completed else needed_spec(context)


SPEC = click.argument("spec", type=PATH, required=False, callback=_spec)
INPUT = file_option(
    "-i",
    "--input",
    "input_path",
    help="The table: a file, - for standard input, or the URI of a database table. Overrides the spec's input.path.",
)
OVERRIDES = (
    click.option("-k", type=int, help="k of k-anonymity."),
    click.option("-l", "l", type=int, help="l of distinct l-diversity."),
    click.option("-t", "t", type=float, help="t of every t-closeness model."),
    click.option("--suppression", type=float, help="Share of rows that may be suppressed."),
)
COLOR = choice_option("--color", choices=["auto", "always", "never"], default="auto", help="When to use colours.")
QUIET = flag_option("-q", "--quiet", help="Print only errors.")
VERBOSE = flag_option("-v", "--verbose", help="Print every table of the report, and the time and memory of each stage.")
PLACES = (
    f"a file, whose suffix sets the format ({', '.join(SUFFIXES)}), - for standard output, or the URI of a database "
    "table."
)
OUTPUT = file_option("-o", "--output", default="-", help=f"The table: {PLACES}")
OUTPUT_FORMAT = choice_option(
    "--output-format",
    choices=tuple(dict.fromkeys(SUFFIXES.values())),
    help="Format of the output. Overrides the suffix.",
)
METHODS = ("inverse", "simplex", "clip", "bayes")
"""How channels are undone."""
MEANINGS = (
    file_option("--st", help="The ST of a bucketized release.  [default: next to a table called .qit]"),
    click.option("--group", help="The group column of a bucketized release.  [default: group, with an ST]"),
    file_option(
        "--manifest",
        "--parameters",
        help="The manifest of the release, or the parameters of distorted values.  [default: next to the release]",
    ),
)
REPORTS = click.option("-r", "--report", "reports", multiple=True, help="A report: .json, .md or .html. Repeatable.")
FORCE = flag_option("--force", help="Overwrite outputs that exist.")


class _Bytes(click.ParamType[int]):
    """A size in bytes, with a unit: 500MB, 2GB, 1.5GiB."""

    name = "size"
    UNITS: ClassVar[dict[str, int]] = {
        unit: base**power
        for power, letter in enumerate("kmgt", 1)
        for base, units in ((1000, (letter, f"{letter}b")), (1024, (f"{letter}ib",)))
        for unit in units
    }

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> int:
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([A-Za-z]+)", value.strip())
        if match is None or match[2].lower() not in self.UNITS:
            self.fail(f"{value!r} is not a size such as 500MB, 2GB or 1.5GiB", parameter, context)
        return int(float(match[1]) * self.UNITS[match[2].lower()])


MEMORY = (
    click.option(
        "--memory-limit",
        type=_Bytes(),
        help="Memory that the process may use, such as 2GB; data that does not fit is kept in temporary files.",
    ),
    file_option("--tmp", help="Folder for temporary files.  [default: the system's]"),
)
SEED = count_option("--seed", default=0, help="Seed of the random numbers.")
THREADS = count_option("--threads", least=1, help="Number of threads; one per core by default.")
MEASURING = (THREADS, QUIET, COLOR)
"""The last options of commands that measure."""


IN_SPEC = {
    "--qi": "quasi_identifiers",
    "--quasi-identifiers": "quasi_identifiers",
    "--identifiers": "identifiers",
    "--sensitive": "sensitive",
    "--insensitive": "insensitive",
    "--numeric": "quasi_identifiers, as type: numeric",
    "--unit": "unit",
    "--sampling-weight": "sampling_weight",
    "--separator": "input.separator",
    "--encoding": "input.encoding",
    "--missing": "input.missing",
    "--no-normalize": "input.normalize",
    "--missing-as": "privacy.missing",
    "--suppressed": "output.suppressed",
    "--require": "privacy.models",
    "--population": "privacy.models",
    "--target": "workload.targets",
    "--targets": "workload.targets",
}
"""Where a spec says what an option would say, most of them options of `audit`."""


class SpecCommand(click.Command):
    """A command that reads a spec. To an option that it does not have, because the spec says the same, it answers where
    in the spec that goes; click would suggest another option that is spelled alike."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in IN_SPEC:
                raise
            key = IN_SPEC[error.option_name]
            message = f"{ctx.info_name} has no option {error.option_name}: in the spec, it goes under {key}."
            raise click.UsageError(message, ctx) from None


COMMON, FURTHER = "Common options", "Further options"
"""Headings of a help."""
WHOLE = "anonymize.help_all"
"""Where a context says that the whole help is wanted."""


def _whole(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        context.meta[WHOLE] = True
        put(context.get_help(), lines=True)
        context.exit()


HELP_ALL = click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_whole,
    help="Show the whole manual and all options.",
)


class BriefCommand(click.Command):
    """A command of many options. `--help` has the first paragraph of the manual and the options that most people need,
    `--help-all` the whole. `common` are the names of these options; the command takes HELP_ALL besides."""

    def __init__(self, *args: Any, common: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.common = common

    def sections(self, options: list[click.Option]) -> dict[str, list[click.Option]]:
        """The options under their headings, the further ones last, of which `--help-all` and `--help` are the end."""
        common = [each for each in options if not set(each.opts).isdisjoint(self.common)]
        return {COMMON: common, FURTHER: [each for each in options if each not in common]}

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first paragraph of the manual, or the whole."""
        if WHOLE in ctx.meta:
            return super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(inspect.cleandoc(self.help or "").partition("\n\n")[0])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options by section; of the further ones only how to see them, where not the whole is wanted."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        for title, members in self.sections(options).items():
            listed = members[-2:] if title == FURTHER and WHOLE not in ctx.meta else members
            records = [record for each in listed if (record := each.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class BriefSpecCommand(BriefCommand, SpecCommand):
    """Both: a command of many options that reads a spec."""


def with_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Adds options to a command, in the order in which its help shows them."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def use_threads(threads: int | None) -> int:
    """The number of threads to use. Must come before polars is imported, which reads its own number once."""
    if threads is None:
        return os.cpu_count() or 1
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    return threads
