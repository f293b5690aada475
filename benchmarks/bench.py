"""Speed, memory and information loss, side by side in one run: `make bench`, or bench.py [--rows N,N] [--full].

Every figure is of a fresh process. The yardstick of speed is `copy`: a process that reads the table with polars as text
and writes it again. Copy and release take turns, and the best time of each counts, so that other work on the machine
weighs on both. Tables are made once, in `benchmarks/tables`. Where a folder of reference data is there (`--data`), the
tables and hierarchies are its own, so that losses compare with those of other tools.

Writes `benchmarks/results.md`, and the profile of one run to `benchmarks/profile.txt`.
"""

from __future__ import annotations

import argparse
import os
import platform
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import audit
import unclassed
import workload
import yaml
from limits import LIMIT, limits
from local import local_recoding
from runs import DATA, ROOT, TABLES, Run, Section, Tables, copied, environment, quickest, released, tell

from anonymize.algorithms.mondrian import Options

HERE = Path(__file__).resolve().parent

CUT = next(field.metadata for field in fields(Options) if field.name == "cut")
CUTS: tuple[str, ...] = tuple(rule for rule in CUT["choices"] if rule == "auto" or rule not in CUT["workload"])
FULL = 10_000_000
PROFILED = 1_000_000
WORKLOAD_ROWS = 1_000_000
TOP = 40


# --- what is measured -----------------------------------------------------------------------------------------------


def speed(tables: Tables, sizes: Sequence[int], runs: int) -> Iterator[Section]:
    """Seconds against the yardstick, peak memory and loss at each size; then the stages of the best runs."""
    rows, stages = [], []
    for size in sizes:
        spec = tables.scale(size)
        table = Path(yaml.safe_load(spec.read_text(encoding="utf8"))["input"]["path"])
        pairs = [(copied(table), released(spec)) for _ in range(runs)]
        copy, release = quickest([pair[0] for pair in pairs]), quickest([pair[1] for pair in pairs])
        rows.append((f"{size:,}", *_compared(copy, release), *_loss(release.report)))
        timing = release.report["timing"]
        stages.append((f"{size:,}", *(f"{seconds:.2f}" for seconds in timing.values())))
        tell(f"{size:,} rows: copy {copy.seconds:.2f} s, release {release.seconds:.2f} s, {release.peak_mb:,.0f} MB")
    seconds = ("copy, s", "release, s", "ratio", "copy, CPU s", "release, CPU s", "CPU ratio")
    header = ("rows", *seconds, "copy, MB", "release, MB", "gcp", "classes")
    yield Section(f"Against a plain copy: 6 quasi-identifiers, k = 10, best of {runs}", header, rows)
    yield Section("Stages of the best run, s", ("rows", *(name.removesuffix("_s") for name in timing)), stages)


def _compared(copy: Run, release: Run) -> tuple[str, ...]:
    return (
        f"{copy.seconds:.2f}",
        f"{release.seconds:.2f}",
        f"{release.seconds / copy.seconds:.2f}",
        f"{copy.cpu:.2f}",
        f"{release.cpu:.2f}",
        f"{release.cpu / copy.cpu:.2f}",
        f"{copy.peak_mb:,.0f}",
        f"{release.peak_mb:,.0f}",
    )


def _loss(report: dict[str, Any]) -> tuple[str, str]:
    return f"{report['utility']['gcp']:.4f}", f"{report['classes']['count']:,}"


def rules(title: str, spec: Path, runs: int) -> Section:
    """Seconds and loss of every cut rule on one table, and of the relaxed default."""
    rows = []
    for options in [*(("--cut", cut) for cut in CUTS), ("--relaxed",)]:
        run = quickest([released(spec, *options) for _ in range(runs)])
        discernibility = f"{run.report['utility']['discernibility']:,}"
        rows.append((f"`{' '.join(options)}`", *_loss(run.report), discernibility, f"{run.seconds:.2f}"))
        tell(f"{title}, {' '.join(options)}: gcp {run.report['utility']['gcp']:.4f}, {run.seconds:.2f} s")
    return Section(f"{title}, k = 10, best of {runs}", ("options", "gcp", "classes", "discernibility", "wall, s"), rows)


def lattice(tables: Tables, runs: int) -> Section:
    """Seconds of Incognito, whole process and search, and what it found."""
    adult, sensitive, million = tables.lattice(), tables.lattice(sensitive="occupation"), tables.lattice(1_000_000)
    cases = [
        ("loss", adult, ("--suppression", "0")),
        ("loss, 5 % suppressed", adult, ("--suppression", "0.05")),
        ("loss, entropy l = 3 of occupation, 7 quasi-identifiers", sensitive, ("--suppression", "0")),
        ("the same, 5 % suppressed", sensitive, ("--suppression", "0.05")),
        ("loss, 1,000,000 rows of other ages", million, ("--suppression", "0")),
        ("the same, 5 % suppressed", million, ("--suppression", "0.05")),
        ("--iterate, k = 10", adult, ("-k", "10", "--iterate")),
    ]
    rows = []
    for title, spec, options in cases:
        run = quickest([released(spec, *options, command="incognito") for _ in range(runs)])
        search, checked = run.report["timing"]["search_s"], run.report["recoding"].get("nodes_checked")
        rows.append((title, *_loss(run.report), f"{checked:,}", f"{search:.2f}", f"{run.seconds:.2f}"))
        tell(f"incognito, {title}: {run.seconds:.2f} s")
    header = ("metric and options", "gcp", "classes", "nodes checked", "search, s", "wall, s")
    return Section(f"Incognito: {tables.adult_name}, 8 quasi-identifiers, k = 5, best of {runs}", header, rows)


def for_workload(spec: Path, runs: int) -> Section:
    """CPU seconds of the rules that cut for a workload, against the median's."""
    rows = []
    for row in workload.rows(spec, runs):
        rows.append(row)
        tell(f"{row[0]}: {row[1]} s, {row[3]} times the median's")
    title = f"Cuts for a workload: {WORKLOAD_ROWS:,} rows, 6 quasi-identifiers, k = 10, one thread, best of {runs}"
    return Section(title, workload.HEADER, rows)


def audits(tables: Tables, full: bool, runs: int) -> Section:
    """An audit with six models against reading, of the largest table; and what models cost Mondrian."""
    size = FULL if full else PROFILED
    table = Path(yaml.safe_load(tables.scale(size).read_text(encoding="utf8"))["input"]["path"])
    rows = []
    for row in audit.rows(tables.scale(PROFILED), [(size, table)], runs):
        rows.append(row)
        tell(f"{row[0]}: {row[2]} s, {row[5]} times")
    return Section(f"Audits, and models in a search: 6 quasi-identifiers, best of {runs}", audit.HEADER, rows)


def start_up(runs: int) -> Section:
    """What `anonymize --help` takes, and which of the heavy packages it imports."""
    command = [sys.executable, "-X", "importtime", "-m", "anonymize", "--help"]
    done = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True, check=True)
    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    heavy = [name for name in ("polars", "numpy", "scipy", "pydantic", "rich") if name in modules]
    seconds = min(_timed(["-m", "anonymize", "--help"]) for _ in range(runs))
    bare = min(_timed(["-c", ""]) for _ in range(runs))
    header = ("what", "figure")
    rows = [
        ("`anonymize --help`, ms", f"{1000 * seconds:.0f}"),
        ("an empty Python process, ms", f"{1000 * bare:.0f}"),
        ("heavy packages imported by `--help`", ", ".join(heavy) or "none"),
    ]
    return Section(f"Start-up, best of {runs}", header, rows)


def _timed(arguments: Sequence[str]) -> float:
    start = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, env=environment(), cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


# --- the profile ----------------------------------------------------------------------------------------------------


def profile(spec: Path, rows: int) -> str:
    """The stages of one run in one thread, and where Python spent it: the functions of most time of their own."""
    with tempfile.TemporaryDirectory(dir=TABLES) as folder:
        run = released(spec, "--threads", "1", how=[str(HERE / "profiled.py"), f"{folder}/profile"])
        functions = _functions(f"{folder}/profile")
    stages = [f"{name.removesuffix('_s'):>10} {seconds:8.2f}" for name, seconds in run.report["timing"].items()]
    title = f"anonymize mondrian, {rows:,} rows, 6 quasi-identifiers, k = 10, one thread, under cProfile"
    header = f"{'calls':>10} {'own, s':>8} {'all, s':>8}  function"
    return "\n".join(
        [title, "", "Stages, s", *stages, "", f"The {TOP} functions of most own time", header, *functions, ""]
    )


def _functions(path: str) -> list[str]:
    stats: dict[tuple[str, int, str], tuple[Any, ...]] = pstats.Stats(path).stats  # type: ignore[attr-defined]
    most = sorted(stats.items(), key=lambda item: -item[1][2])[:TOP]
    return [
        f"{calls:>10,} {own:8.2f} {everything:8.2f}  {_place(*function)}"
        for function, (_, calls, own, everything, _) in most
    ]


def _place(file: str, line: int, name: str) -> str:
    """A function without the folders of this machine."""
    for marker in (f"{ROOT}/", "site-packages/", f"python{sys.version_info.major}.{sys.version_info.minor}/"):
        if marker in file:
            file = file.rpartition(marker)[2]
            break
    return name if file == "~" else f"{file}:{line} {name}"


# --- the whole ------------------------------------------------------------------------------------------------------


def machine(tables: Tables) -> str:
    """Where and when, and with what."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("polars", "numpy"))
    where = f"{os.cpu_count()} cores ({platform.machine()}), {platform.system()}"
    python = f"Python {platform.python_version()}, {packages}"
    data = f"Tables and hierarchies: {tables.origin}. See [README.md](README.md) for what is measured."
    return f"{date.today()}, {where}, {python}. Load at the start: {os.getloadavg()[0]:.1f}.\n{data}"


def main() -> None:
    """Measures, prints, and writes the results."""
    given = arguments()
    TABLES.mkdir(exist_ok=True)
    tables = Tables(given.data if given.data.is_dir() else None)
    about = machine(tables)
    sections = list(speed(tables, given.rows, given.runs))
    if FULL in given.rows:
        sections.append(limits(tables, FULL, LIMIT))
    sections.append(rules(f"{tables.adult_name}, 8 quasi-identifiers", tables.adult(), given.runs))
    sections.append(rules("100,000 rows, 6 quasi-identifiers", tables.scale(100_000), 1))
    sections.append(lattice(tables, given.runs))
    sections += local_recoding(tables)
    sections.append(for_workload(tables.scale(WORKLOAD_ROWS), given.runs))
    sections.append(audits(tables, FULL in given.rows, given.runs))
    sections += unclassed.sections(tables, given.rows, given.runs)
    sections.append(start_up(10))
    text = "\n".join(["# Results", "", about, "", *(section.markdown() for section in sections)])
    print(text)
    (HERE / "results.md").write_text(text, encoding="utf8")
    profiled = max((size for size in given.rows if size <= PROFILED), default=min(given.rows))
    (HERE / "profile.txt").write_text(profile(tables.scale(profiled), profiled), encoding="utf8")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Speed, memory and information loss against a plain copy.")
    parser.add_argument("--rows", default="100000,1000000", help="sizes of the tables")
    parser.add_argument("--full", action="store_true", help=f"add {FULL:,} rows")
    parser.add_argument("--runs", type=int, default=3, help="runs of each, of which the best counts")
    parser.add_argument(
        "--data", type=Path, default=DATA, help="a folder with adult.csv, its hierarchies, make_scale.py"
    )
    given = parser.parse_args()
    given.rows = sorted({*map(int, given.rows.split(",")), *([FULL] if given.full else [])})
    return given


if __name__ == "__main__":
    main()
