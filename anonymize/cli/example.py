"""`example`: an example spec with its table and hierarchies, ready to run.

An installed package has the files in `anonymize/examples`, where pyproject.toml puts them; a checkout has them in its
folders. Which files belong to a spec, the spec says.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from anonymize.cli.exits import say
from anonymize.cli.following import say_next
from anonymize.cli.kinds import file_option
from anonymize.cli.options import FORCE, QUIET, with_options

PACKAGE = Path(__file__).parents[1]
EXAMPLES = {
    "first": "10,000 invented hospital stays, and what a first release keeps of them",
    "patients": "10,000 invented hospital stays; every key of a spec explained",
    "survey": "the same stays, for anatomy and randomize",
    "microdata": "the same stays, with charges and wards that are changed",
    "hipaa": "the same stays by HIPAA's safe harbor",
    "expert": "the same stays for HIPAA's expert determination",
    "public-use": "the same stays as a survey that anybody may download",
    "scientific-use": "the same survey for researchers under contract",
    "nightly": "two days of a ward, for a series of releases",
    "open-data": "the same stays for a city's portal",
    "adult": "the Adult census extract of 8 quasi-identifiers; without the table, which you bring",
}
NAMED = re.compile(r"\.\./((?:hierarchies|sample_data)/[\w./-]*\w)")
"""The files that a spec in configs/ names."""
SCHEMA = "spec.schema.json"
FLAT = {"../sample_data/": "", "../hierarchies/": "hierarchies/", f"../anonymize/spec/{SCHEMA}": SCHEMA, "configs/": ""}
"""Where a spec finds its files in a folder of its own."""


@click.command()
@with_options(
    click.argument("name", type=click.Choice(tuple(EXAMPLES))),
    file_option("-o", "--output", help="The folder; it is made where it is missing.  [default: NAME]"),
    FORCE,
    QUIET,
)
def example(name: str, output: str | None, force: bool, quiet: bool) -> None:
    """Write an example spec with its table and hierarchies.

    `first`: invented hospital stays, and a short spec for a first release. `patients`: the same stays, with every key
    of a spec explained. `survey`: the same stays, for `anatomy` and `randomize`. `microdata`: with columns whose values
    are changed beside the classes. `adult`: the usual extract of the Adult census, whose table you bring. Recipes, each
    with a page in the documentation: `hipaa` (safe harbor) and `expert` (expert determination), `public-use` and
    `scientific-use` files, `nightly`, `open-data`.

    Files that exist are not overwritten without `--force`; then nothing is written.
    """
    from anonymize.errors import UsageError

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
        say(f"wrote {len(files)} files to {folder}")
        table = ("-i", "adult.csv") if name == "adult" else ()
        say_next("validate", str(folder / f"{name}.yaml"), *table)


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
