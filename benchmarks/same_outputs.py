"""Whether two checkouts write the same releases: every command, on the sample configs and on a reference table.

    python benchmarks/same_outputs.py BEFORE [AFTER] [--only TEXT]... [--jobs N] [--data FOLDER] [--tables FOLDER]

BEFORE and AFTER are commits, or folders with a checkout each (AFTER: this one). Each case runs as a process of its own,
with the interpreter that runs this script, once in each checkout. Compared are the exit code, the bytes of every file
that the command left behind, and its standard output; of reports, all but when they were made and how long it took.
What differs is listed, of a report with the keys, and the exit code is 1. Where a change is meant to alter what is
written, its list is what to read. Cases are the sample configs, Adult (`--data`, a folder with adult.csv), and twenty
lines of the league, of whose tables (`--tables`, see benchmarks/league/run.py) those that are nowhere are left out.

What a commit left behind is remembered in the cache of the user: comparing another one with it takes half the time.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
CHANGING = ("started_at", "timing", "memory")
"""Blocks of a report that differ from run to run."""

SAVING = "mondrian datafly samarati mingen incognito research-value k-optimize tds bug"
GENERALIZING = f"{SAVING} mu-argus"
SLOW = ("top-down", "bottom-up", "mondrian --refine")
"""Searches that go on for minutes on the whole sample: they get its first rows."""
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


LEAGUE = (
    "CPS1988",
    "HealthInsurance",
    "NMES1988",
    "adult",
    "attrition",
    "census",
    "credit_data",
    "flchain",
    "gss_abortion",
)
LEAGUE_LINES = (("mondrian", "-k 5"), ("datafly", "-k 25 --suppression 0.02"))
"""What each table of the league is released with; the wide one, `nhefs`, by Mondrian alone."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "anonymize" / "same_outputs"

Left: TypeAlias = dict[str, Any]
"""What a case leaves behind, by the name of each file, and `exit` and `stdout`: a hash; of JSON one of each key."""


@dataclass(frozen=True)
class Case:
    """One command line, run by a shell in a new folder. `{root}` is the checkout, `{data}` the folder of the reference
    table, `{tables}` that of the league's."""

    name: str
    line: str


@dataclass(frozen=True)
class Folders:
    """Where tables are that are no part of the project: the reference one, and those of the league."""

    data: Path
    tables: Path

    def filled(self, line: str, root: Path) -> str:
        """A command line with its folders."""
        for name, path in {"root": root, "data": self.data, "tables": self.tables}.items():
            line = line.replace(f"{{{name}}}", shlex.quote(str(path)))
        return line.replace("{{", "{").replace("}}", "}").replace("anonymize ", f"{sys.executable} -m anonymize ")


def cases(folders: Folders) -> Iterator[Case]:
    """Every case; those on the reference table and on the league's only where these are there."""
    yield from _samples()
    yield from _variants()
    yield from _other_commands()
    yield from _read_again()
    if (folders.data / "adult.csv").exists():
        yield from _reference()
    yield from _league(folders)


def _samples() -> Iterator[Case]:
    spec = "{root}/configs/patients.yaml"
    for name in GENERALIZING.split():
        # Ended by counted work: what seconds end differs with the load of the machine.
        limited = " --work 100" if name == "k-optimize" else ""
        options = f"{limited} -o out.csv -r report.json -r report.md"
        saved = " --save-recoding saved.json" if name in SAVING.split() else ""
        yield Case(f"{name} patients", f"anonymize {name} {spec}{options}{saved}")
    for name in SLOW:
        head = "head -300 {root}/sample_data/patients.csv > patients.csv"
        run = f"anonymize {name} {spec} -i patients.csv -o out.csv -r report.json -r report.md"
        yield Case(f"{name} first patients", f"{head}; {run}")
    yield Case("first", "anonymize release {root}/configs/first.yaml --effort low -o out.csv -r report.json")
    for form in ("csv.gz", "parquet", "arrow"):
        yield Case(f"mondrian patients {form}", f"anonymize mondrian {spec} -o out.{form} -r report.json")
    survey = "{root}/configs/survey.yaml"
    yield Case("anatomy survey", f"anonymize anatomy {survey} --seed 3 -o out.csv -r report.json")
    yield Case("anatomy survey joined", f"anonymize anatomy {survey} --seed 3 --joined -o out.parquet -r report.json")
    yield Case("randomize survey", f"anonymize randomize {survey} --seed 3 -o out.csv -r report.json")


def _read_again() -> Iterator[Case]:
    """What `evaluate`, `attack`, `audit` and public reports read in releases whose cells read in different ways."""
    for change in ("edges: open", "categorical: set", "numeric: bounds", "numeric: mean"):
        for name in ("mondrian", "incognito"):
            options = "-q -o out.csv --public-report -r public.json --save-link l.csv"
            made = f"{_edited(change)}; anonymize {name} s.yaml {options}"
            read = [
                "anonymize evaluate s.yaml out.csv --link l.csv -r evaluated.json -q",
                "anonymize evaluate s.yaml out.csv --public-report -r shown.json -q",
                "anonymize attack s.yaml out.csv --link l.csv --seed 1 -r attacked.json -q",
                "anonymize audit s.yaml -i out.csv --original {root}/sample_data/patients.csv -r audited.json -q",
            ]
            yield Case(f"read again {name} {change}", "; ".join([made, *read]))
    survey = "{root}/configs/survey.yaml"
    for name, released in {"anatomy": "out.qit.csv", "randomize": "out.csv"}.items():
        made = f"anonymize {name} {survey} --seed 3 -q -o out.csv"
        read = [f"anonymize {each} {survey} {released} --seed 1 -r {each}.json -q" for each in ("evaluate", "attack")]
        public = f"anonymize evaluate {survey} {released} --public-report -r shown.json -q"
        yield Case(f"read again {name}", "; ".join([made, *read, public]))


def _edited(change: str) -> str:
    """The shell command that writes the sample's spec with one key of `output` changed as `s.yaml`."""
    key, value = change.split(": ")
    sed = f"sed 's|^  {key}: [^ ]*|  {key}: {value}|; s|\\.\\./|{{root}}/|'"
    return f"{sed} {{root}}/configs/patients.yaml > s.yaml"


def _league(folders: Folders) -> Iterator[Case]:
    for table in LEAGUE:
        for name, options in LEAGUE_LINES:
            yield from _line(folders, table, name, options)
    yield from _line(folders, "nhefs", "mondrian", "-k 5 --allow-unsafe")
    yield from _line(folders, "nhefs", "mondrian", "-k 25 --allow-unsafe")


def _line(folders: Folders, table: str, name: str, options: str) -> Iterator[Case]:
    """A line of the league, and what `evaluate` reads in it, where the table is there."""
    place = next((at for at in ("tables", "data") if (getattr(folders, at) / f"{table}.csv").is_file()), None)
    if place is None:
        return
    spec = f"{{root}}/benchmarks/league/specs/{table}.yaml"
    made = f"anonymize {name} {spec} -i {{{place}}}/{table}.csv {options} -o out.csv -r report.json -q"
    read = f"anonymize evaluate {spec} out.csv -i {{{place}}}/{table}.csv --queries 100 -r evaluated.json -q"
    yield Case(f"league {table} {name} {options}", f"{made}; {read}")


def _variants() -> Iterator[Case]:
    for change in OUTPUTS:
        for name in ("mondrian", "incognito"):
            seed = " --seed 3" if change.endswith("shuffle") else ""
            run = f"anonymize {name} s.yaml{seed} -o out.csv -r report.json"
            yield Case(f"{name} patients {change}", f"{_edited(change)}; {run}")


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
    yield Case("reconstruct survey", f"{randomized}; anonymize reconstruct released.csv")
    yield Case("hierarchy show", "anonymize hierarchy show {root}/configs/patients.yaml")
    yield Case("generate agrawal", "anonymize generate agrawal --rows 500 --seed 1 -o table.csv --spec spec.yaml")
    yield Case("generate census", "anonymize generate census --rows 500 --seed 1 -o table.csv --spec spec.yaml")
    yield Case("validate", f"anonymize validate {spec}")
    yield Case("schema", "anonymize schema")
    yield Case("infeasible", f"anonymize mondrian {spec} -k 5000 -o out.csv")


def _reference() -> Iterator[Case]:
    adult = "{root}/configs/adult.yaml -i {data}/adult.csv"
    for name in ("mondrian", "datafly", "samarati", "incognito"):
        yield Case(f"{name} adult", f"anonymize {name} {adult} -o out.csv -r report.json")
    diverse = "sed 's|^insensitive: .*|sensitive: [salary-class]|; s|  k: 10|  k: 10, l: 2|; s|\\.\\./|{root}/|'"
    diverse = diverse.replace("  k: 10, l: 2", "  k: 10\\n  l: 2")
    for name in ("mondrian", "incognito", "mu-argus"):
        run = f"anonymize {name} s.yaml -i {{data}}/adult.csv --suppression 0.02 -o out.csv -r report.json"
        yield Case(f"{name} adult l", f"{diverse} {{root}}/configs/adult.yaml > s.yaml; {run}")
    target = "sed 's|^insensitive: .*|workload: {{targets: [salary-class]}}|; s|\\.\\./|{root}/|'"
    for name in ("tds", "bug", "mondrian --cut infogain"):
        run = f"anonymize {name} t.yaml -i {{data}}/adult.csv -o out.csv -r report.json"
        yield Case(f"{name} adult target", f"{target} {{root}}/configs/adult.yaml > t.yaml; {run}")


def outcome(case: Case, root: Path, folders: Folders) -> Left:
    """What a case leaves behind."""
    with tempfile.TemporaryDirectory() as name:
        # Byte code is kept apart: a checkout of a commit has none, and to compile takes longer than most commands.
        compiled = str(CACHE / "compiled" / hashlib.sha256(str(root).encode()).hexdigest()[:16])
        environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        line = folders.filled(case.line, root)
        done = subprocess.run(["bash", "-c", line], cwd=name, env=environment, capture_output=True, text=True)
        left = {path.name: _hash(path.read_bytes(), root, path.suffix) for path in sorted(Path(name).iterdir())}
        return {"exit": str(done.returncode), "stdout": _hash(done.stdout.encode(), root, ".json"), **left}


def _hash(content: bytes, root: Path, suffix: str) -> str | dict[str, str]:
    """The hash of a file, without the checkout's path; of a report, of each key that stays the same."""
    plain = content.replace(str(root).encode(), b"ROOT")
    if suffix == ".json":
        return _of_keys(plain)
    if suffix == ".md":
        plain = re.sub(rb"(?m)^.*(\d\d:\d\d:\d\d| s\b|MB).*$", b"", plain)
    if suffix == ".yaml":
        return "edited"
    return hashlib.sha256(plain).hexdigest()[:16]


def _of_keys(content: bytes) -> str | dict[str, str]:
    try:
        report: Any = json.loads(content)
    except ValueError:
        report = None
    if not isinstance(report, dict):
        return hashlib.sha256(content).hexdigest()[:16]
    kept = {key: value for key, value in report.items() if key not in CHANGING}
    if isinstance(kept.get("spec"), dict):
        kept["spec"] = None  # edited specs hold the checkout's path
    texts = {key: json.dumps(value, sort_keys=True) for key, value in kept.items()}
    return {key: hashlib.sha256(text.encode()).hexdigest()[:16] for key, text in texts.items()}


@contextlib.contextmanager
def checkout(place: str) -> Iterator[tuple[Path, str | None]]:
    """A folder with a checkout, and the commit that it is of, where it was named by that."""
    if Path(place).is_dir():
        yield Path(place).resolve(), None
        return
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.run([*git, "rev-parse", f"{place}^{{commit}}"], check=True, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder) / "checkout"
        subprocess.run([*git, "worktree", "add", "-q", "--detach", str(at), place], check=True)
        try:
            yield at, commit.stdout.strip()
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(at)], check=True)


def outcomes(place: str, chosen: list[Case], folders: Folders, jobs: int) -> Iterator[Left]:
    """What each case leaves behind in a checkout, as it comes; of a commit, what is remembered is not run again."""
    with checkout(place) as (root, commit), ThreadPoolExecutor(jobs) as pool:
        file = None if commit is None else CACHE / f"{commit}.json"
        known: dict[str, Left] = json.loads(file.read_text()) if file is not None and file.exists() else {}
        keys = [f"{case.name}\n{case.line}" for case in chosen]
        pairs = zip(chosen, keys, strict=True)
        running = {key: pool.submit(outcome, case, root, folders) for case, key in pairs if key not in known}
        for key in keys:
            if key in running:
                known[key] = running[key].result()
                if file is not None:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(json.dumps(known))
            yield known[key]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after", nargs="?", default=str(ROOT))
    parser.add_argument("--only", action="append", help="cases with this text in their names, in the order given")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="commands that run at a time")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--tables", type=Path, default=ROOT.parent / "tables")
    given = parser.parse_args()
    folders = Folders(given.data.resolve(), given.tables.resolve())
    every = list(cases(folders))
    chosen = list(dict.fromkeys(case for text in given.only or [""] for case in every if text in case.name))
    before = list(outcomes(given.before, chosen, folders, given.jobs))
    after = outcomes(given.after, chosen, folders, given.jobs)
    different = sum(_differs(*each) for each in zip(chosen, before, after, strict=True))
    print(f"{len(chosen)} cases, {different} differ")
    return int(different > 0)


def _differs(case: Case, before: Left, after: Left) -> bool:
    """Whether a case left something else behind; says so."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    parts = [f"{name}{_keys(before.get(name), after.get(name))}" for name in names]
    state = f"DIFFERS in {', '.join(parts)}" if names else "same"
    print(f"{case.name}: exit {after['exit']}, {len(after) - 2} files, {state}", flush=True)
    return bool(names)


def _keys(before: Any, after: Any) -> str:
    """The keys in which two reports differ."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return ""
    return f" ({', '.join(key for key in {**before, **after} if before.get(key) != after.get(key))})"


if __name__ == "__main__":
    sys.exit(main())
