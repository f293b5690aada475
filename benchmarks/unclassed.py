"""The part of the benchmarks about releases without equivalence classes; bench.py calls it.

Also by itself: unclassed.py [--full] prints its tables.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from runs import DATA, TABLES, Run, Section, Tables, child, copied, quickest, released, tell

FULL = 10_000_000

SETS = {
    "first (education, marital status, sex, race; workclass)": (
        ("education", "marital-status", "sex", "race"),
        "workclass",
    ),
    "second (education, salary, sex, race; occupation)": (("education", "salary-class", "sex", "race"), "occupation"),
}
DOMAIN, ATTRIBUTES = 10, 7
DRAWN = 100_000


def sections(tables: Tables, sizes: Sequence[int], runs: int) -> list[Section]:
    """All of them."""
    return [parameters(tables, runs), randomized(tables, sizes, runs), reconstructed(runs)]


def parameters(tables: Tables, runs: int) -> Section:
    """Optimal parameters on the data sets of the paper, beside full-domain generalization with entropy l-diversity."""
    rows = []
    for title, (quasi, sensitive) in SETS.items():
        for bound in (3, 5):
            given = _adult(tables, quasi, sensitive, {"l": bound}, "disclosure")
            classes = (
                _adult(tables, quasi, sensitive, _entropy(bound), "entropy") if sensitive == "occupation" else None
            )
            pairs = [
                (released(given, command="randomize"), classes and released(classes, command="incognito"))
                for _ in range(runs)
            ]
            both = quickest([pair[0] for pair in pairs])
            other = quickest([pair[1] for pair in pairs if pair[1]]) if classes else None
            rows.append((title, str(bound), *_beside(both, other)))
            tell(f"parameters, {title}, l = {bound}: " + ", ".join(rows[-1][2:]))
    header = ("data set", "l", "search, s", "randomize, s", "its CPU, s", "incognito, s", "its CPU, s", "CPU ratio")
    title = f"Optimal parameters, RR-Both: {tables.adult_name}, best of {runs}; Incognito with entropy l-diversity"
    return Section(title, header, rows)


def _beside(both: Run, classes: Run | None) -> tuple[str, ...]:
    """Both commands; the first data set has no entropy 3-diverse partition."""
    own = (f"{both.report['timing']['search_s']:.2f}", f"{both.seconds:.2f}", f"{both.cpu:.2f}")
    if classes is None:
        return (*own, "none", "none", "")
    return (*own, f"{classes.seconds:.2f}", f"{classes.cpu:.2f}", f"{both.cpu / classes.cpu:.2f}")


def _entropy(bound: int) -> dict[str, Any]:
    return {"models": [{"model": "entropy-l-diversity", "l": bound}]}


def _adult(tables: Tables, quasi: Sequence[str], sensitive: str, privacy: dict[str, Any], stem: str) -> Path:
    """The spec of one of the data sets; salary is kept or suppressed."""
    spec = yaml.safe_load(tables.adult().read_text(encoding="utf8"))
    columns = [*spec["quasi_identifiers"], *spec["insensitive"]]
    known = spec["quasi_identifiers"]
    spec["quasi_identifiers"] = {name: known.get(name, {}) for name in quasi}
    spec |= {"sensitive": [sensitive], "privacy": privacy}
    spec["insensitive"] = [name for name in columns if name not in (*quasi, sensitive)]
    return _written(f"{stem}-{sensitive}", spec)


def _written(stem: str, spec: dict[str, Any]) -> Path:
    path = TABLES / f"{stem}.yaml"
    path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf8")
    return path


def randomized(tables: Tables, sizes: Sequence[int], runs: int) -> Section:
    """Randomizing many rows, against the yardstick."""
    rows = []
    for size in sizes:
        spec = yaml.safe_load(tables.scale(size).read_text(encoding="utf8"))
        columns = [*spec["quasi_identifiers"], *spec["insensitive"]]
        quasi = {"age": {"type": "numeric", "bins": [30, 40, 50, 65]}, "sex": {}, "race": {}, "marital-status": {}}
        spec |= {"quasi_identifiers": quasi, "sensitive": ["occupation"], "privacy": {"l": 3}}
        spec["insensitive"] = [name for name in columns if name not in (*quasi, "occupation")]
        path, table = _written(f"randomized-{size}", spec), Path(spec["input"]["path"])
        pairs = [(copied(table), released(path, command="randomize")) for _ in range(runs)]
        copy, release = quickest([pair[0] for pair in pairs]), quickest([pair[1] for pair in pairs])
        ratios = f"{release.seconds / copy.seconds:.2f}", f"{release.cpu / copy.cpu:.2f}"
        figures = (copy.seconds, release.seconds, copy.cpu, release.cpu)
        rows.append((f"{size:,}", *(f"{each:.2f}" for each in figures), *ratios, f"{release.peak_mb:,.0f}"))
        tell(f"randomize, {size:,} rows: {ratios[0]} of the time of a copy, {ratios[1]} of its processor time")
    header = ("rows", "copy, s", "randomize, s", "copy, CPU s", "randomize, CPU s", "ratio", "CPU ratio", "MB")
    title = f"Randomizing 4 quasi-identifiers, l = 3 of occupation, against a plain copy, best of {runs}"
    return Section(title, header, rows)


def reconstructed(runs: int) -> Section:
    """A joint table of 10^7 cells, reconstructed and written."""
    names = [f"a{at}" for at in range(ATTRIBUTES)]
    table = TABLES / f"digits-{DRAWN}.csv"
    if not table.exists():
        digits = random.Random(1)
        lines = [",".join(str(digits.randrange(DOMAIN)) for _ in names) for _ in range(DRAWN)]
        table.write_text("\n".join([",".join(names), *lines, ""]), encoding="utf8")
    spec = {
        "version": 1,
        "input": {"path": str(table)},
        "quasi_identifiers": {name: {} for name in names[:-1]},
        "sensitive": names[-1:],
        "privacy": {"l": 2},
    }
    by_hand = ",".join(f"{name}=0.9" for name in names)
    with tempfile.TemporaryDirectory(dir=TABLES) as folder:
        target = f"{folder}/released.csv"
        options = ["-o", target, "--p", by_hand, "--allow-unsafe", "-q"]
        child(["-m", "anonymize", "randomize", str(_written("digits", spec)), *options])
        rows = []
        for title, more in (("all cells, as CSV", []), ("one count", ["--where", "a0 in (1, 2) and a3 != 4"])):
            command = ["-m", "anonymize", "reconstruct", target, "-o", f"{folder}/joint.csv", "--force", *more]
            run = quickest([child(command) for _ in range(runs)])
            rows.append((title, f"{run.seconds:.2f}", f"{run.cpu:.2f}", f"{run.peak_mb:,.0f}"))
            tell(f"reconstruct, {title}: {run.seconds:.2f} s")
    cells = f"{DOMAIN**ATTRIBUTES:,} cells, {DRAWN:,} rows"
    return Section(
        f"Reconstructing a joint table of {cells}, best of {runs}", ("what", "wall, s", "CPU, s", "MB"), rows
    )


def main() -> None:
    """Prints these tables alone."""
    parser = argparse.ArgumentParser(description="The benchmarks of anatomy's and randomize's kind.")
    parser.add_argument("--full", action="store_true", help=f"with {FULL:,} rows")
    parser.add_argument("--runs", type=int, default=3, help="runs of each, of which the best counts")
    parser.add_argument("--data", type=Path, default=DATA, help="a folder of reference data, as of bench.py")
    given = parser.parse_args()
    TABLES.mkdir(exist_ok=True)
    sizes = [1_000_000, *([FULL] if given.full else [])]
    for section in sections(Tables(given.data if given.data.is_dir() else None), sizes, given.runs):
        print(section.markdown())


if __name__ == "__main__":
    main()
