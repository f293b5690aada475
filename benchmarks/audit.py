"""What an audit with six models takes next to reading the table, and what models of whole distributions cost Mondrian.

Every figure is of a fresh process; what is compared takes turns. Beside the wall seconds stand those of the processor
(user and system), which other work on the machine bends less.
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
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
READ = "import sys, polars as pl; pl.read_csv(sys.argv[1], infer_schema=False)"
SENSITIVE = "occupation"
MODELS = (
    "k-anonymity k=5",
    f"distinct-l-diversity l=2 attribute={SENSITIVE}",
    f"entropy-l-diversity l=2 attribute={SENSITIVE}",
    f"recursive-cl-diversity c=3 l=2 attribute={SENSITIVE}",
    f"t-closeness t=0.3 attribute={SENSITIVE}",
    f"alpha-k-anonymity alpha=0.8 k=5 attribute={SENSITIVE}",
)
ENFORCED = (
    "k = 10 alone",
    {"model": "t-closeness", "attribute": SENSITIVE, "t": 0.5},
    {"model": "entropy-l-diversity", "attribute": SENSITIVE, "l": 2},
)

HEADER = ("what", "rows", "wall, s", "CPU, s", "MB", "times wall", "times CPU")
Row = tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    """Of a process: wall and processor seconds, and the peak of its memory in MB."""

    wall: float
    cpu: float
    peak: float


def rows(spec: Path, sizes: Sequence[tuple[int, Path]], runs: int) -> Iterator[Row]:
    """The section's rows. `spec`: that of the table on which models are enforced; `sizes`: the tables to audit."""
    for count, table in sizes:
        audited = {
            "reading": ["-c", READ, str(table)],
            "audit of the table, six models": _audit(table, spec),
        }
        with tempfile.TemporaryDirectory(dir=spec.parent) as folder:
            released = Path(folder, "released.csv")
            _cost(["-m", "anonymize", "mondrian", str(spec), "-i", str(table), "-o", str(released), "-q"])
            audited |= {"audit of its release by mondrian, six models": _audit(released, spec)}
            audited |= {"reading that release": ["-c", READ, str(released)]}
            found = _in_turns(audited, runs)
        yield _row("reading", count, found, "reading")
        yield _row("audit of the table, six models", count, found, "reading")
        yield _row("reading that release", count, found, "reading that release")
        yield _row("audit of its release by mondrian, six models", count, found, "reading that release")
    yield from _enforced(spec, runs)


def _audit(table: Path, spec: Path) -> list[str]:
    given = yaml.safe_load(spec.read_text(encoding="utf8"))
    asked = [word for model in MODELS for word in ("--require", model)]
    names = ",".join(given["quasi_identifiers"])
    return ["-m", "anonymize", "audit", "-i", str(table), "--qi", names, "--sensitive", SENSITIVE, *asked, "-q"]


def _enforced(spec: Path, runs: int) -> Iterator[Row]:
    """What Mondrian takes with k alone, and with another model beside it."""
    given = yaml.safe_load(spec.read_text(encoding="utf8"))
    given["insensitive"] = [name for name in given["insensitive"] if name != SENSITIVE]
    count = 0
    with tempfile.TemporaryDirectory(dir=spec.parent) as folder:
        commands = {}
        for number, model in enumerate(ENFORCED):
            plain = isinstance(model, str)
            changed = given | {"sensitive": {SENSITIVE: {}}}
            changed["privacy"] = given["privacy"] | ({} if plain else {"models": [model]})
            path, report = Path(folder, f"{number}.yaml"), Path(folder, f"{number}.json")
            path.write_text(yaml.safe_dump(changed, sort_keys=False), encoding="utf8")
            out = [*("-o", f"{folder}/released.csv", "-r", str(report)), "--force", "-q"]
            commands[_named(model)] = ["-m", "anonymize", "mondrian", str(path), *out]
        found = _in_turns(commands, runs)
        count = json.loads(report.read_text(encoding="utf8"))["input"]["rows"]
    for name in commands:
        yield _row(name, count, found, _named(ENFORCED[0]))


def _named(model: object) -> str:
    if not isinstance(model, dict):
        return f"mondrian, {model}"
    figures = ", ".join(f"{key} = {value}" for key, value in model.items() if key not in ("model", "attribute"))
    return f"mondrian, k = 10 and {model['model']}, {figures}"


def _in_turns(commands: dict[str, list[str]], runs: int) -> dict[str, Cost]:
    """Each command `runs` times, in turns: its best time of the wall and of the processor, its highest peak."""
    found: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            found[name].append(_cost(command))
    return {
        name: Cost(min(each.wall for each in costs), min(each.cpu for each in costs), max(each.peak for each in costs))
        for name, costs in found.items()
    }


def _cost(arguments: Sequence[str]) -> Cost:
    """Runs Python with these arguments. An audit that finds something may end with 1; else it has to end well."""
    start = time.perf_counter()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command, quiet = [sys.executable, *arguments], subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=quiet, stderr=quiet) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode and (process.returncode != 1 or "audit" not in arguments):
        sys.exit(f"exit code {process.returncode}: python {' '.join(arguments)}")
    unit = 1 if sys.platform == "darwin" else 1024
    wall = time.perf_counter() - start
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 1e6)


def _row(name: str, count: int, found: dict[str, Cost], base: str) -> Row:
    cost, other = found[name], found[base]
    ratios = (f"{cost.wall / other.wall:.2f}", f"{cost.cpu / other.cpu:.2f}")
    return (name, f"{count:,}", f"{cost.wall:.2f}", f"{cost.cpu:.2f}", f"{cost.peak:,.0f}", *ratios)
