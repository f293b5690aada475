"""Commands that make tables to begin with: `generate agrawal` and `generate census`, of any size, and `example`,
with a spec and hierarchies."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anonymize.cli import exits, options
from anonymize.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from anonymize.files import OutputFormat
    from anonymize.generate import Roles


# --- generate ---------------------------------------------------------------------------------------------------------

EVERY = "all"
"""What --vary means without a value."""
TABLE = (
    options.count_option("--rows", default=1000, help="Rows of the table."),
    options.count_option("--seed", help="Seed: the same seed gives the same table; random by default."),
    options.OUTPUT,
    options.OUTPUT_FORMAT,
    options.file_option("--spec", help="Also write a spec for the table, with its hierarchies next to it."),
    options.FORCE,
    options.THREADS,
    options.QUIET,
)


@click.group(name="generate")
def generate() -> None:
    """Make a synthetic table of any size.

    The table depends on nothing but the seed and the options: any number of threads gives the same, and a shorter
    table is the beginning of a longer one. It holds no real people, and nothing in it was measured from data about
    people.
    """


@generate.command()
@options.with_options(
    click.option(
        "--function",
        "functions",
        type=click.IntRange(1, 10),
        multiple=True,
        default=(1,),
        help="The function that decides between the groups A and B; repeat it for several columns.  [default: 1]",
    ),
    click.option(
        "--vary",
        is_flag=False,
        flag_value=EVERY,
        metavar="[N,...]",
        help="Draw the constants of these functions at random; without N, of all given functions that have constants.",
    ),
    options.share_option(
        "--perturb",
        default=0.0,
        metavar="SHARE",
        help="Noise on amounts and ages, as a share of their range, after the groups are known.",
    ),
    *TABLE,
)
def agrawal(functions: tuple[int, ...], vary: str | None, perturb: float, threads: int | None, **given: Any) -> None:
    """Nine attributes of people, and a group that follows from them: for classification.

    The generator of Agrawal, Imielinski and Swami (1993) with its functions 1 to 10. Columns: salary, commission, age,
    elevel, car, zipcode, hvalue, hyears, loan, and group, which is A or B; with several functions group_2, group_7 and
    so on. Without --perturb a group follows from the attributes without any exception.

    Functions 1 to 6 compare attributes with constants. With --vary these are drawn evenly from the range of their
    attribute; they follow from the seed. Functions 7 to 10 have no such constants and stay as they are. To vary some
    functions and not others, name them: --function 2 --function 4 --function 7 --vary 4.
    """
    count = options.use_threads(threads)
    from anonymize.generate import agrawal as generator

    if len(set(functions)) < len(functions):
        raise UsageError("--function: the same one is given twice")
    varied = _varied(vary, functions, generator.VARIED)
    frames = partial(generator.frames, functions=functions, varied=varied, perturb=perturb, threads=count)
    _write(frames, generator.roles(functions), **given)


def _varied(text: str | None, functions: tuple[int, ...], with_constants: tuple[int, ...]) -> list[int]:
    """The functions that --vary names, or all those given that have constants. Raises UsageError for others."""
    if text is None:
        return []
    if text == EVERY:
        varied = [number for number in functions if number in with_constants]
        if not varied:
            raise UsageError("--vary: no function that is given compares an attribute with a constant")
        return varied
    names = [name.strip() for name in text.split(",")]
    given = {str(number): number for number in functions}
    unknown = [name for name in names if name not in given]
    if unknown:
        raise UsageError(f"--vary: {', '.join(map(repr, unknown))} is not a function that is given with --function")
    fixed = [name for name in names if given[name] not in with_constants]
    if fixed:
        raise UsageError(f"--vary: function {', '.join(fixed)} compares no attribute with a constant")
    return [given[name] for name in names]


@generate.command()
@options.with_options(*TABLE)
def census(threads: int | None, **given: Any) -> None:
    """People with age, education, work and salary that depend on each other.

    Columns: age, sex, race, marital-status, education, region, zipcode, citizenship, workclass, occupation, hours,
    salary, salary-class, which is <30K or >=30K. The dependencies are invented, and resemble those of a census.
    """
    count = options.use_threads(threads)
    from anonymize import generate as generator

    _write(partial(generator.frames, threads=count), generator.roles(), **given)


def _write(
    frames: Callable[[int, int], Iterator[pl.DataFrame]],
    roles: Roles,
    *,
    rows: int,
    seed: int | None,
    output: str,
    output_format: OutputFormat | None,
    spec: str | None,
    force: bool,
    quiet: bool,
) -> None:
    """The table, its spec and the hierarchies: all of them, or none."""
    from anonymize.cli.progress import progress
    from anonymize.generate import files
    from anonymize.places import is_uri
    from anonymize.table import OutputFile, commit
    from anonymize.table.spool import output_table
    from anonymize.table.write import check_table

    check_table(output, output_format)
    if spec is not None and is_uri(output):
        raise UsageError("--spec: names the file that the table is; --output is a database's")
    if spec == "-":
        raise UsageError("--spec: must be a file; its hierarchies are written next to it")
    drawn = secrets.randbits(32) if seed is None else seed
    with ExitStack() as stack, progress(quiet) as report_progress:
        target = stack.enter_context(output_table(output, force=force, form=output_format))
        others = [
            (stack.enter_context(OutputFile(path, force=force)), text)
            for path, text in (files(roles, Path(spec), output) if spec else {}).items()
        ]
        target.write(_watched(frames(rows, drawn), rows, report_progress))
        for file, text in others:
            file.write_text(text)
        commit([*(file for file, _ in others), target])
    if not quiet:
        with exits.reporting():
            exits.say(f"{rows:,} rows, seed {drawn}")


def _watched(
    frames: Iterable[pl.DataFrame], rows: int, report_progress: Callable[[str, int, int], None]
) -> Iterator[pl.DataFrame]:
    written = 0
    for frame in frames:
        yield frame
        written += frame.height
        report_progress("generate", written, rows)


# --- example ----------------------------------------------------------------------------------------------------------
# An installed package has the files in `anonymize/examples`, where pyproject.toml puts them; a checkout has them in its
# folders. Which files belong to a spec, the spec says.

PACKAGE = Path(__file__).parents[1]
EXAMPLES = {
    "first": "10,000 synthetic hospital stays, and a spec for a first release",
    "patients": "10,000 synthetic hospital stays; every key of a spec explained",
    "survey": "the same stays, for releases without classes",
    "microdata": "the same stays, with treatments of charges and wards",
    "tables": "the same stays, as tables of counts, shares and means",
    "hipaa": "the same stays by HIPAA's safe harbor",
    "expert": "the same stays for HIPAA's expert determination",
    "public-use": "the same stays as a public-use survey file",
    "scientific-use": "the same survey for researchers under contract",
    "nightly": "two days of a ward, for a series of releases",
    "open-data": "the same stays for a city's portal",
    "synthetic": "the same stays, for a synthetic table under differential privacy",
    "safepub": "the same stays, for real rows under differential privacy",
    "adult": "the Adult census extract with 8 quasi-identifiers, without its table",
}
NAMED = re.compile(r"\.\./((?:hierarchies|sample_data)/[\w./-]*\w)")
"""The files that a spec in configs/ names."""
SCHEMA = "spec.schema.json"
FLAT = {"../sample_data/": "", "../hierarchies/": "hierarchies/", f"../anonymize/spec/{SCHEMA}": SCHEMA, "configs/": ""}
"""Where a spec finds its files in a folder of its own."""


@click.command()
@options.with_options(
    click.argument("name", type=click.Choice(tuple(EXAMPLES))),
    options.file_option("-o", "--output", help="The folder, which is created if needed.  [default: NAME]"),
    options.FORCE,
    options.QUIET,
)
def example(name: str, output: str | None, force: bool, quiet: bool) -> None:
    """Write an example spec with its table and hierarchies.

    `first`: synthetic hospital stays, and a short spec for a first release. `patients`: the same stays, with every
    key of a spec explained. `survey`: the same stays, for releases without classes. `microdata`: the same stays,
    with treatments of some columns in addition to classes. `tables`: the same stays, for `tabulate`. `synthetic`:
    the same stays, for `synthesize`. `safepub`: the same stays, for `safepub`. `adult`: the usual extract of the
    Adult census, without its table. Recipes, each with a page in the documentation: `hipaa` (safe harbor) and
    `expert` (expert determination), `public-use` and `scientific-use` files, `nightly`, `open-data`.

    If a file exists, nothing is written unless `--force` is given.
    """
    folder = Path(output or name)
    files = {folder / path: content for path, content in contents(name).items()}
    existing = [str(path) for path in files if path.exists()]
    if existing and not force:
        raise UsageError(f"{', '.join(existing)}: exists already; --force overwrites")
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb" if force else "xb") as file:
            file.write(content)
    if not quiet:
        exits.say(f"wrote {len(files)} files to {folder}")
        table = ("-i", "adult.csv") if name == "adult" else ()
        exits.say_next("validate", str(folder / f"{name}.yaml"), *table)


def contents(name: str) -> dict[str, bytes]:
    """The files of an example by their path in its folder."""
    root = _root()
    text = (root / "configs" / f"{name}.yaml").read_text(encoding="utf8")
    beside = sorted({path for path in NAMED.findall(text)})
    for there, here in FLAT.items():
        text = text.replace(there, here)
    files = {path.removeprefix("sample_data/"): (root / path).read_bytes() for path in beside}
    schema = (PACKAGE / "spec" / SCHEMA).read_bytes()
    return {f"{name}.yaml": text.encode(), **files, SCHEMA: schema}


def _root() -> Path:
    """The folder that has configs, hierarchies and sample_data: of the installed package, or of the checkout."""
    packaged = PACKAGE / "examples"
    return packaged if packaged.is_dir() else PACKAGE.parent
