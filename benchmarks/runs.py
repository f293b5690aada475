"""Tables, processes and sections of results: what every benchmark is made of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml

from anonymize.algorithms import ALGORITHMS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TABLES = HERE / "tables"
DATA = ROOT.parent / "shared" / "data"

COPY = "import sys, polars as pl; pl.read_csv(sys.argv[1], separator=',', infer_schema=False).write_csv(sys.argv[2])"
SCALE_QIS = ("age", "zipcode", "income", "sex", "race", "marital-status")
ADULT_QIS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
NUMERIC = ("age", "zipcode", "income")
ADULT_ROWS = 30_162
GENERAL = {"suppression", "seed", "threads"}
"""Options that every release command has."""


# --- tables and specs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """Where the tables and their hierarchies come from: `data`, a folder of reference data, or this project (None)."""

    data: Path | None

    @property
    def origin(self) -> str:
        """What the results say about it."""
        return "the project's own" if self.data is None else "the reference data"

    @property
    def adult_name(self) -> str:
        """The table with eight quasi-identifiers."""
        return f"Census-like table of {ADULT_ROWS:,} rows" if self.data is None else f"Adult, {ADULT_ROWS:,} rows"

    def scale(self, rows: int) -> Path:
        """The spec of a table of so many rows; both are made if they are not there."""
        return self._spec(self._scaled(rows), SCALE_QIS, ",")

    def adult(self) -> Path:
        """The spec of the table with eight quasi-identifiers."""
        if self.data is None:
            return self._spec(self._scaled(ADULT_ROWS), ADULT_QIS, ",", stem="adult")
        return self._spec(self.data / "adult.csv", ADULT_QIS, ";", stem="adult-reference")

    def lattice(self, rows: int | None = None, sensitive: str | None = None) -> Path:
        """The spec for full-domain generalization: of `adult`, or of a table of so many rows with its columns."""
        spec = yaml.safe_load(self.adult().read_text(encoding="utf8"))
        if rows is not None:
            spec["input"] = {"path": str(self._scaled(rows))}
            spec["insensitive"] += ["zipcode", "income"]
        own = {"intervals": [5, 10, 20, 40]}
        spec["quasi_identifiers"]["age"]["hierarchy"] = own if self.data is None else self._hierarchy("age")
        spec["privacy"] = {"k": 5}
        if sensitive is not None:
            del spec["quasi_identifiers"][sensitive]
            spec["sensitive"] = [sensitive]
            spec["privacy"] = {"models": [{"model": "entropy-l-diversity", "l": 3}]}
        path = TABLES / f"lattice-{rows or ADULT_ROWS}-{sensitive or 'k'}.yaml"
        path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf8")
        return path

    def _scaled(self, rows: int) -> Path:
        maker = (HERE if self.data is None else self.data) / "make_scale.py"
        table = TABLES / f"{'own' if self.data is None else 'reference'}-{rows}.csv"
        if not table.exists():
            part = table.with_suffix(".part")
            subprocess.run([sys.executable, str(maker), str(rows), str(part)], check=True)
            part.rename(table)
        return table

    def _hierarchy(self, name: str) -> str:
        if self.data is None:
            return str(ROOT / "hierarchies" / "adult" / f"{name}.csv")
        return str(self.data / f"adult_hierarchy_{name}.csv")

    def _spec(self, table: Path, names: Sequence[str], separator: str, stem: str | None = None) -> Path:
        """A spec of k = 10 with these quasi-identifiers; every other column passes through."""
        with table.open(encoding="utf8") as file:
            columns = file.readline().strip().split(separator)
        spec = {
            "version": 1,
            "input": {"path": str(table), "separator": separator},
            "quasi_identifiers": {
                name: {"type": "numeric"} if name in NUMERIC else {"hierarchy": self._hierarchy(name)} for name in names
            },
            "insensitive": [name for name in columns if name not in names],
            "privacy": {"k": 10},
            "output": {"edges": "tight"},  # as in the papers
        }
        path = TABLES / f"{stem or table.stem}.yaml"
        path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf8")
        return path


# --- processes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A process that has ended well: wall seconds, peak resident memory in MB (10^6 bytes), its report, if any, and
    processor seconds."""

    seconds: float
    peak_mb: float
    report: dict[str, Any]
    cpu: float


def child(arguments: Sequence[str]) -> Run:
    """Runs Python with these arguments; ends everything where that fails."""
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, *arguments], env=environment(), cwd=ROOT) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        sys.exit(f"exit code {process.returncode}: python {' '.join(arguments)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(seconds, usage.ru_maxrss * unit / 1e6, {}, usage.ru_utime + usage.ru_stime)


def environment() -> dict[str, str]:
    """The environment of a child: the checkout goes before an installed copy."""
    return os.environ | {"PYTHONPATH": str(ROOT)}


def available(command: str, options: Sequence[str]) -> bool:
    """Whether this version of the program has the command, and the command the options."""
    if command not in ALGORITHMS:
        return False
    known = {field.name for field in fields(ALGORITHMS[command].Options)} | GENERAL
    asked = {option[2:].removeprefix("no-").replace("-", "_") for option in options if option.startswith("--")}
    return asked <= known


def copied(table: Path) -> Run:
    """The yardstick."""
    with tempfile.TemporaryDirectory(dir=TABLES) as folder:
        return child(["-c", COPY, str(table), f"{folder}/copy.csv"])


def released(spec: Path, *options: str, command: str = "mondrian", how: Sequence[str] = ("-m", "anonymize")) -> Run:
    """A release command with a report, the release verified and written."""
    with tempfile.TemporaryDirectory(dir=TABLES) as folder:
        report = Path(folder, "report.json")
        arguments = [command, str(spec), "-o", f"{folder}/released.csv", "-r", str(report), "-q", *options]
        return report_of(child([*how, *arguments]), report)


def report_of(run: Run, report: Path) -> Run:
    """The run with the report that it has written."""
    return replace(run, report=json.loads(report.read_text(encoding="utf8")))


def quickest(runs: Sequence[Run]) -> Run:
    """The run of the best time, with the highest peak and the least processor time of all of them."""
    best = min(runs, key=lambda run: run.seconds)
    return replace(best, peak_mb=max(run.peak_mb for run in runs), cpu=min(run.cpu for run in runs))


# --- results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Section:
    """A titled table of the results: header and rows, as text."""

    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def markdown(self) -> str:
        """The section in Markdown."""
        lines = [self.header, tuple("---" for _ in self.header), *self.rows]
        return "\n".join([f"## {self.title}", "", *("| " + " | ".join(line) + " |" for line in lines), ""])


def tell(text: str) -> None:
    """Says how far it is."""
    print(text, file=sys.stderr, flush=True)
