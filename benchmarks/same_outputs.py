"""Whether two checkouts write the same releases: every command, on the sample configs and on a reference table.

    python benchmarks/same_outputs.py BEFORE [AFTER] [--only TEXT] [--jobs N] [--data FOLDER]

BEFORE and AFTER are folders with a checkout each (AFTER: this one). Each case runs as a process of its own, with the
interpreter that runs this script, once in each checkout. Compared are the exit code, the bytes of every file that the
command left behind, and its standard output; of reports, all but when they were made and how long it took. What
differs is listed, and the exit code is 1. Where a change is meant to alter what is written, its list is what to read.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHANGING = ("started_at", "timing", "memory")
"""Blocks of a report that differ from run to run."""

SAVING = "mondrian datafly samarati mingen incognito research-value k-optimize tds bug"
GENERALIZING = f"{SAVING} top-down bottom-up mu-argus"
OUTPUTS = (
    "numeric: bounds",
    "numeric: mean",
    "numeric: median",
    "categorical: set",
    "edges: rounded",
    "row_order: shuffle",
    "row_order: keep",
    "suppressed_rows: drop",
)


@dataclass(frozen=True)
class Case:
    """One command line, run by a shell in a new folder. `{root}` is the checkout, `{data}` the reference tables."""

    name: str
    line: str


def cases(data: Path) -> Iterator[Case]:
    """Every case; those on the reference table only where it is there."""
    yield from _samples()
    yield from _variants()
    yield from _other_commands()
    if (data / "adult.csv").exists():
        yield from _reference()


def _samples() -> Iterator[Case]:
    spec = "{root}/configs/patients.yaml"
    for name in GENERALIZING.split():
        # Ended by counted work: what seconds end differs with the load of the machine.
        limited = " --work 100" if name == "k-optimize" else ""
        options = f"{limited} -o out.csv -r report.json -r report.md"
        saved = " --save-recoding saved.json" if name in SAVING.split() else ""
        yield Case(f"{name} patients", f"anonymize {name} {spec}{options}{saved}")
    for form in ("csv.gz", "parquet", "arrow"):
        yield Case(f"mondrian patients {form}", f"anonymize mondrian {spec} -o out.{form} -r report.json")
    survey = "{root}/configs/survey.yaml"
    yield Case("anatomy survey", f"anonymize anatomy {survey} --seed 3 -o out.csv -r report.json")
    yield Case("anatomy survey joined", f"anonymize anatomy {survey} --seed 3 --joined -o out.parquet -r report.json")
    yield Case("randomize survey", f"anonymize randomize {survey} --seed 3 -o out.csv -r report.json")


def _variants() -> Iterator[Case]:
    for change in OUTPUTS:
        key, value = change.split(": ")
        sed = f"sed 's|^  {key}: [a-z]*|  {key}: {value}|; s|\\.\\./|{{root}}/|'"
        edit = f"{sed} {{root}}/configs/patients.yaml > s.yaml"
        for name in ("mondrian", "incognito", "top-down"):
            seed = " --seed 3" if value == "shuffle" else ""
            run = f"anonymize {name} s.yaml{seed} -o out.csv -r report.json"
            yield Case(f"{name} patients {change}", f"{edit}; {run}")


def _other_commands() -> Iterator[Case]:
    spec = "{root}/configs/patients.yaml"
    made = f"anonymize mondrian {spec} -q -o released.csv --save-recoding saved.json"
    yield Case("audit patients", f"{made}; anonymize audit {spec} -i released.csv --json")
    yield Case("audit raw", "anonymize audit -i {root}/sample_data/patients.csv --qi age,sex,zipcode -k 2 --json")
    yield Case("audit subsets", f"{made}; anonymize audit {spec} -i released.csv --subsets auto --json")
    yield Case("evaluate patients", f"{made}; anonymize evaluate {spec} released.csv --json")
    recode = "anonymize recode saved.json -i {root}/sample_data/patients.csv -o again.csv -r again.json"
    yield Case("recode patients", f"{made}; {recode}")
    randomized = "anonymize randomize {root}/configs/survey.yaml --seed 3 -q -o released.csv"
    yield Case("reconstruct survey", f"{randomized}; anonymize reconstruct released.csv --json")
    yield Case("hierarchy show", "anonymize hierarchy show {root}/hierarchies/patients/diagnosis.yaml")
    yield Case("generate agrawal", "anonymize generate agrawal --rows 500 --seed 1 -o table.csv --spec spec.yaml")
    yield Case("generate census", "anonymize generate census --rows 500 --seed 1 -o table.csv --spec spec.yaml")
    yield Case("validate", f"anonymize validate {spec}")
    yield Case("schema", "anonymize schema")
    yield Case("infeasible", f"anonymize mondrian {spec} -k 5000 -o out.csv")


def _reference() -> Iterator[Case]:
    adult = "{root}/configs/adult.yaml -i {data}/adult.csv"
    for name in ("mondrian", "datafly", "samarati", "incognito", "research-value"):
        yield Case(f"{name} adult", f"anonymize {name} {adult} -o out.csv -r report.json")
    for name in ("top-down --start mondrian", "bottom-up --start mondrian", "mondrian --refine"):
        yield Case(f"{name} adult", f"anonymize {name} --passes 2 {adult} -o out.csv -r report.json")
    diverse = "sed 's|^insensitive: .*|sensitive: [salary-class]|; s|  k: 10|  k: 10, l: 2|; s|\\.\\./|{root}/|'"
    diverse = diverse.replace("  k: 10, l: 2", "  k: 10\\n  l: 2")
    for name in ("mondrian", "incognito", "mu-argus"):
        run = f"anonymize {name} s.yaml -i {{data}}/adult.csv --suppression 0.02 -o out.csv -r report.json"
        yield Case(f"{name} adult l", f"{diverse} {{root}}/configs/adult.yaml > s.yaml; {run}")
    target = "sed 's|^insensitive: .*|workload: {{targets: [salary-class]}}|; s|\\.\\./|{root}/|'"
    for name in ("tds", "bug", "mondrian --cut infogain"):
        run = f"anonymize {name} t.yaml -i {{data}}/adult.csv -o out.csv -r report.json"
        yield Case(f"{name} adult target", f"{target} {{root}}/configs/adult.yaml > t.yaml; {run}")


def outcome(case: Case, root: Path, data: Path) -> dict[str, str]:
    """What a case leaves behind: the name of each file (and `exit`, `stdout`) and a hash of what it holds."""
    with tempfile.TemporaryDirectory() as name:
        line = case.line.replace("{root}", shlex.quote(str(root))).replace("{data}", shlex.quote(str(data)))
        line = line.replace("{{", "{").replace("}}", "}").replace("anonymize ", f"{sys.executable} -m anonymize ")
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(["bash", "-c", line], cwd=name, env=environment, capture_output=True, text=True)
        found = {path.name: _hash(path.read_bytes(), root, path.suffix) for path in sorted(Path(name).iterdir())}
        stdout = done.stdout.encode()
        return {"exit": str(done.returncode), "stdout": _hash(stdout, root, ".json"), **found}


def _hash(content: bytes, root: Path, suffix: str) -> str:
    """The hash of a file; of a report, without what differs from run to run, and without the checkout's path."""
    plain = content.replace(str(root).encode(), b"ROOT")
    if suffix == ".json":
        plain = _steady(plain)
    if suffix == ".md":
        plain = re.sub(rb"(?m)^.*(\d\d:\d\d:\d\d| s\b|MB).*$", b"", plain)
    if suffix == ".yaml":
        return "edited"
    return hashlib.sha256(plain).hexdigest()[:16]


def _steady(content: bytes) -> bytes:
    try:
        report: Any = json.loads(content)
    except ValueError:
        return content
    if not isinstance(report, dict):
        return content
    kept = {key: value for key, value in report.items() if key not in CHANGING}
    if isinstance(kept.get("spec"), dict):
        kept["spec"] = None  # edited specs hold the checkout's path
    return json.dumps(kept, sort_keys=True).encode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path, nargs="?", default=ROOT)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="commands that run at a time")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    given = parser.parse_args()
    chosen = [case for case in cases(given.data) if given.only in case.name]
    roots = (given.before.resolve(), given.after.resolve())
    with ThreadPoolExecutor(given.jobs) as pool:
        runs = [[pool.submit(outcome, case, root, given.data) for root in roots] for case in chosen]
        different = sum(_told(case, *(run.result() for run in pair)) for case, pair in zip(chosen, runs, strict=True))
    print(f"{len(chosen)} cases, {different} differ")
    return int(different > 0)


def _told(case: Case, before: dict[str, str], after: dict[str, str]) -> bool:
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    state = f"DIFFERS in {', '.join(names)}" if names else "same"
    print(f"{case.name}: exit {after['exit']}, {len(after) - 2} files, {state}", flush=True)
    return bool(names)


if __name__ == "__main__":
    sys.exit(main())
