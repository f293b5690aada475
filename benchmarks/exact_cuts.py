"""InfoGain with every candidate weighed by all rows (`--exact`, the default) beside `--sampled`.

What is left to guess of the target once the class is known, how accurate a decision tree of the release is on rows that
it has not seen, and the processor's seconds of the whole command beside those of `--cut widest` on a large table.

    python benchmarks/exact_cuts.py --data FOLDER --rows 1000000
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from runs import TABLES, Tables
from workload_common import SAMPLED, folds, markdown, rivals, share
from workload_real import adult

CHOICES = ("InfoGain", SAMPLED)
KS = (10, 25, 50, 200)
COMMANDS = (("--cut", "widest"), ("--cut", "infogain"), ("--cut", "infogain", "--sampled"))


def on_adult(data: Path, count: int) -> Iterator[list[str]]:
    """By k: entropy of the training part's classes in bits, and accuracy on the test part."""
    table = adult(data)
    if table is None:
        raise SystemExit(f"{data / 'adult.csv'} is not there")
    for k in KS:
        with table.spec(k) as spec:
            figures = rivals(spec, table.name, folds(table.frame, count), names=CHOICES)
        for measure in ("entropy", "decision_tree"):
            yield [f"k = {k}", measure, *(share(np.mean(figures[measure][name])) for name in CHOICES)]


def commands(path: Path, target: str, runs: int) -> Iterator[list[str]]:
    """The processor's seconds of each whole command, in turns, the least of some runs."""
    values = yaml.safe_load(path.read_text(encoding="utf8"))
    values["workload"] = {"targets": [target]}
    values["insensitive"] = [name for name in values.get("insensitive", []) if name != target]
    copy = path.with_name(f"exact-{path.name}")
    copy.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf8")
    with tempfile.TemporaryDirectory() as folder:
        taken = [[seconds(copy, Path(folder), options) for options in COMMANDS] for _ in range(runs)]
    least = np.min(taken, axis=0)
    for options, cpu in zip(COMMANDS, least.tolist(), strict=True):
        yield [f"`mondrian {' '.join(options)}`", f"{cpu:.1f}", f"{cpu / least[0]:.2f}"]


def seconds(spec: Path, folder: Path, options: tuple[str, ...]) -> float:
    """Of the processor, user and system, of one command."""
    before = os.times()
    line = [sys.executable, "-m", "anonymize", "mondrian", str(spec), "-o", str(folder / "out.csv"), "--force", "-q"]
    subprocess.run([*line, *options], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="a folder as in README.md, with adult.csv")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the large table; 0: none")
    parser.add_argument("--target", default="salary-class")
    parser.add_argument("--folds", type=int, default=5, help="on Adult; 0: none")
    parser.add_argument("--runs", type=int, default=2)
    given = parser.parse_args()
    if given.folds:
        print("\n".join(markdown(("", "measure", *CHOICES), list(on_adult(given.data, given.folds)))))
    if given.rows:
        TABLES.mkdir(exist_ok=True)
        header = ("command", "CPU s", "times the median's")
        lines = commands(Tables(given.data).scale(given.rows), given.target, given.runs)
        print("\n".join(["", *markdown(header, list(lines))]))


if __name__ == "__main__":
    main()
