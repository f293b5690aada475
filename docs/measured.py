"""The runs behind the pictures of the documentation: which they are, how they are measured, where the figures are kept.

To add one, add a line to LOSS or TIME. A run whose options the command does not have is left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from runs import DATA, TABLES, Tables, available, environment, tell  # noqa: E402

__all__ = ["DATA", "tell"]

STORED = HERE / "figures.json"
SIZES = (2, 5, 10, 25, 50, 100)
ROWS = (1_000, 10_000, 100_000, 1_000_000)
LONGEST = {"gcp": 60, "seconds": 120}
"""Seconds: a run that takes longer is ended, and has no figure."""
HIERARCHIES = {
    "age": {"intervals": [5, 10, 20, 40]},
    "zipcode": {"intervals": [10, 100, 1000, 10000]},
    "income": {"intervals": [1000, 5000, 20000]},
}
"""Of the numbers of the table that grows, for methods that walk levels."""


@dataclass(frozen=True)
class Method:
    """A command with its options, and what the pictures call it. `most`: the rows up to which it is run."""

    label: str
    command: str
    options: tuple[str, ...] = ()
    most: int = 1_000_000

    def exists(self) -> bool:
        """Whether this version of the program has it."""
        return available(self.command, self.options)


FULL_DOMAIN = ("--suppression", "0.05")
LOSS = (
    Method("top-down, refined", "top-down", ("--refine",)),
    Method("bottom-up, refined", "bottom-up", ("--refine",)),
    Method("mondrian, refined", "mondrian", ("--refine",)),
    Method("incognito --iterate", "incognito", ("--iterate",)),
    Method("top-down", "top-down", ("--no-refine",)),
    Method("bottom-up", "bottom-up", ("--no-refine",)),
    Method("top-down --join row", "top-down", ("--join", "row", "--no-refine")),
    Method("top-down --join sum", "top-down", ("--join", "sum", "--no-refine")),
    Method("mondrian", "mondrian"),
    Method("incognito", "incognito", ("--metric", "ncp", *FULL_DOMAIN)),
    Method("research-value", "research-value", FULL_DOMAIN),
    Method("samarati", "samarati", FULL_DOMAIN),
    Method("mingen", "mingen", FULL_DOMAIN),
    Method("datafly", "datafly", FULL_DOMAIN),
)
"""Loss against k: the best first."""
WITHOUT_FIGURE = "Left out: mu-argus, whose releases need not be k-anonymous."
LOCAL = LOSS[:9]
"""Those that the table compares with peers."""
TIME = (
    Method("mondrian", "mondrian"),
    Method("mondrian, refined", "mondrian", ("--refine",)),
    Method("top-down from mondrian, refined", "top-down", ("--start", "mondrian")),
    Method("top-down", "top-down", ("--no-refine",), most=100_000),
    Method("bottom-up", "bottom-up", ("--no-refine",), most=100_000),
    Method("incognito", "incognito", FULL_DOMAIN),
    Method("datafly", "datafly", FULL_DOMAIN),
)
"""Seconds against rows."""


def stored() -> dict[str, Any]:
    """The figures as they are kept: by block, label, then k or rows as text; None of a run that took too long.

    `peers` are other tools and `beside` this one on the same two tables, entered by hand: by label, table, then k."""
    return json.loads(STORED.read_text(encoding="utf8")) if STORED.exists() else {}


def measure(missing_only: bool) -> dict[str, Any]:
    """Measures every run, or those without a figure; keeps the figures after each."""
    TABLES.mkdir(exist_ok=True)
    tables = Tables(DATA)
    now = f"{date.today()}, {os.cpu_count()} cores, load at the start {os.getloadavg()[0]:.1f}"
    kept = stored()
    empty: dict[str, Any] = {
        "measured": now,
        "gcp": {},
        "seconds": {},
        "beside": kept["beside"],
        "peers": kept["peers"],
    }
    found = (kept if missing_only else {}) or empty
    for block, methods, at, run in (("gcp", LOSS, SIZES, _gcp), ("seconds", TIME, ROWS, _seconds)):
        known = found[block]
        for method in methods:
            for value in _to_measure(method, at, known.setdefault(method.label, {})):
                known[method.label][str(value)] = figure = run(tables, method, value)
                tell(f"{block}, {method.label}, {value:,}: {figure}")
                STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")
        found[block] = {method.label: known[method.label] for method in methods if known[method.label]}
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf8")
    return found


def _to_measure(method: Method, at: Sequence[int], known: dict[str, float | None]) -> Iterator[int]:
    """The values of k, or of rows, that have no figure, up to the first that takes too long; none of a method that this
    version does not have."""
    if not method.exists():
        tell(f"{method.label}: this version does not have it")
        return
    for value in (value for value in at if value <= method.most):
        if str(value) not in known:
            yield value
        if known[str(value)] is None:
            return


def _gcp(tables: Tables, method: Method, k: int) -> float | None:
    ended = _report(tables.lattice(), method, k, LONGEST["gcp"])
    return None if ended is None else round(ended["utility"]["gcp"], 4)


def _seconds(tables: Tables, method: Method, rows: int) -> float | None:
    """Of a whole process; the best of three of less than two seconds."""
    spec = _growing(tables, rows)
    times: list[float] = []
    while len(times) < 3 and sum(times) < 2:
        start = time.perf_counter()
        if _report(spec, method, 10, LONGEST["seconds"]) is None:
            return None
        times.append(time.perf_counter() - start)
    return round(min(times), 2)


def _growing(tables: Tables, rows: int) -> Path:
    """The spec of the table of so many rows, with hierarchies of its numbers."""
    spec = yaml.safe_load(tables.scale(rows).read_text(encoding="utf8"))
    for name, hierarchy in HIERARCHIES.items():
        spec["quasi_identifiers"][name]["hierarchy"] = hierarchy
    path = TABLES / f"figures-{rows}.yaml"
    path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf8")
    return path


def _report(spec: Path, method: Method, k: int, longest: float) -> dict[str, Any] | None:
    """The report of a fresh process; None of one that takes too long."""
    with tempfile.TemporaryDirectory(dir=TABLES) as folder:
        report = Path(folder, "report.json")
        files = ["-o", f"{folder}/released.csv", "-r", str(report), "-q"]
        command = [sys.executable, "-m", "anonymize", method.command, str(spec), "-k", str(k), *method.options, *files]
        try:
            subprocess.run(command, env=environment(), cwd=ROOT, check=True, timeout=longest)
        except subprocess.TimeoutExpired:
            return None
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf8"))
        return found
