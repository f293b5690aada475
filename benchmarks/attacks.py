"""What attackers get of releases by every algorithm, beside a copy of the original: docs/attacked.md.

    python benchmarks/attacks.py ADULT_FOLDER
    python benchmarks/attacks.py --stored

The folder has the Adult extract `adult.csv`, and `adult_hierarchy_NAME.csv` of each column. A fifth of the people,
drawn by a fixed seed, is held out of every release and is the control. Every release that has been measured is kept in
`attacks.json` beside this file, and is measured again only if it is taken out of it; `--stored` writes the page from
what is there.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import polars as pl

from anonymize._attack import Attack, attack
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, parse_options
from anonymize.errors import AnonymizeError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import Spec, make

HERE = Path(__file__).parent
STORED, PAGE = HERE / "attacks.json", HERE.parent / "docs" / "attacked.md"
PATIENTS, TREES = HERE.parent / "sample_data" / "patients.csv", HERE.parent / "hierarchies" / "patients"
SIZES = (10, 5, 25)
SHARE = {"suppression": 0.05}
METHODS = (
    "mondrian",
    "incognito iterate=true",
    "incognito",
    "datafly",
    "mu-argus",
    "samarati",
    "tds",
    "mondrian refine=true",
    "top-down",
    "bottom-up",
    "bug",
    "research-value",
    "k-optimize level=1",
    "mingen",
)
MODELS: dict[str, dict[str, Any]] = {
    "distinct-l-diversity, l = 5": {"model": "distinct-l-diversity", "l": 5},
    "entropy-l-diversity, l = 4": {"model": "entropy-l-diversity", "l": 4},
    "frequency-l-diversity, l = 3": {"model": "frequency-l-diversity", "l": 3},
    "recursive-cl-diversity, c = 1, l = 3": {"model": "recursive-cl-diversity", "c": 1, "l": 3},
    "alpha-k-anonymity, alpha = 0.3": {"model": "alpha-k-anonymity", "alpha": 0.3, "k": 10},
    "t-closeness, t = 0.3": {"model": "t-closeness", "t": 0.3},
    "enhanced-beta-likeness, beta = 1": {"model": "enhanced-beta-likeness", "beta": 1},
    "delta-disclosure, delta = 1": {"model": "delta-disclosure", "delta": 1},
}
ATTACKED = (
    "prosecutor",
    "smallest-region",
    "journalist",
    "marketer",
    "singling-out",
    "linkability",
    "inference-majority",
    "inference-bayes",
    "inference-model",
    "downcoding",
    "refinement",
    "minimality",
    "reconstruction",
    "reconstruction-row",
)
Results = dict[str, dict[str, Any]]


@dataclass(frozen=True, eq=False)
class Subject:
    """A table that is released. `quasi`: settings of its quasi-identifiers; `separator` of its file."""

    name: str
    path: Path
    quasi: Mapping[str, Any]
    sensitive: str
    target: str
    separator: str = ","

    def spec(self, path: Path, privacy: Mapping[str, Any]) -> Spec:
        """A spec of some of its rows."""
        content = {
            "version": 1,
            "input": {"path": str(path), "separator": self.separator, "missing": ["", "?"]},
            "quasi_identifiers": dict(self.quasi),
            "sensitive": {self.sensitive: {}},
            "others": "drop",
            "privacy": dict(privacy),
            "workload": {"targets": [self.target]},
            "output": {"edges": "open"},
        }
        return make(content, PARAMETERS)


def subjects(folder: Path) -> list[Subject]:
    """Adult and the sample of patients."""
    names = ("sex", "race", "marital-status", "education", "native-country", "workclass")
    trees = {name: {"hierarchy": str((folder / f"adult_hierarchy_{name}.csv").resolve())} for name in names}
    age = {"type": "numeric", "hierarchy": str((folder / "adult_hierarchy_age.csv").resolve())}
    known = ("marital_status", "education", "occupation")
    files = {name: {"hierarchy": str(TREES / f"{name}.csv")} for name in known}
    stays = {
        "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10, 20]}},
        "sex": {},
        "zipcode": {"hierarchy": {"mask": "right"}},
        **files,
        "admission_date": {"hierarchy": {"dates": ["month", "quarter", "year"]}},
    }
    adult = Subject("Adult", folder / "adult.csv", {"age": age, **trees}, "occupation", "salary-class", ";")
    return [adult, Subject("patients", PATIENTS, stays, "diagnosis", "readmitted")]


@dataclass(frozen=True)
class Trial:
    """One release of a table: an algorithm with its options, under requirements. No method: a copy."""

    subject: Subject
    label: str
    method: str | None
    privacy: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What it is stored under."""
        required = json.dumps(self.privacy, sort_keys=True)
        return f"{self.subject.name} | {self.label} | {required}"


def trials(subject: Subject) -> Iterator[Trial]:
    """The releases of a table, the quick ones first."""
    yield Trial(subject, "copy of the original", None)
    for k in SIZES:
        for method in METHODS[:7]:
            yield Trial(subject, method, method, {"k": k} | SHARE)
    if subject.name == "Adult":
        for label, model in MODELS.items():
            yield Trial(subject, label, "mondrian", {"k": 10, "models": [model]} | SHARE)
    for l in (2, 3, 5):  # noqa: E741
        yield Trial(subject, f"anatomy, l = {l}", "anatomy", {"l": l})
        disclosure = {"models": [{"model": "disclosure", "l": l}]}
        yield Trial(subject, f"randomize, l = {l}", "randomize on=sensitive", disclosure)
    for k in SIZES:
        for method in METHODS[7:]:
            yield Trial(subject, method, method, {"k": k} | SHARE)


@cache
def parted(subject: Subject, folder: Path) -> tuple[Path, Path]:
    """The rows that are released, and those that are held out."""
    table = pl.read_csv(subject.path, separator=subject.separator, infer_schema=False)
    order = np.random.default_rng(0).permutation(table.height)
    held = table.height // 5
    paths = folder / f"{subject.name}-own.csv", folder / f"{subject.name}-others.csv"
    for path, rows in zip(paths, (order[held:], order[:held]), strict=True):
        table[np.sort(rows)].write_csv(path, separator=subject.separator)
    return paths


def attacked(trial: Trial, folder: Path) -> dict[str, Any]:
    """What attackers get: by attacker, the result of highest excess; CPU seconds of release and attack."""
    own, others = parted(trial.subject, folder)
    out, link = folder / "released.csv", folder / "link.json"
    spec, start = trial.subject.spec(own, trial.privacy or {"k": 2}), process_time()
    path, given = own, {}
    if trial.method is not None:
        name, *pairs = trial.method.split()
        options = parse_options(ALGORITHMS[name], pairs)
        release(Request(spec, name, options, output=str(out), save_link=str(link), force=True))
        path = out if out.exists() else out.with_suffix(".qit.csv")
        given = {"link": str(link)}
    between = process_time()
    report = attack(Attack(spec, str(path), control=str(others), **given)).report  # type: ignore[arg-type]
    seconds = {"release": round(between - start, 2), "attack": round(process_time() - between, 2)}
    for each in folder.glob("released*"):
        each.unlink()
    return {"seconds": seconds, "attacks": _highest(report["attacks"]["results"])}


def _highest(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of each attacker of the page the excess of what he got most of, with its interval."""
    highest: dict[str, Any] = {}
    for each in results:
        excess, name = each["excess"], each["attacker"]
        if excess is None or name not in ATTACKED:
            continue
        if name not in highest or excess["value"] > highest[name]["value"]:
            highest[name] = {end: round(excess[end], 5) for end in ("value", "low", "high")}
    return highest


def _line(key: str, trial: Mapping[str, Any]) -> str:
    """A release as it is stored: a line."""
    return f"{json.dumps(key)}: {json.dumps(trial, sort_keys=True)}"


def measure(folder: Path, stored: Results) -> None:
    """Measures what is not stored, and stores it, one after the other. One that fails is stored with why."""
    with tempfile.TemporaryDirectory() as scratch:
        for trial in filter(None, chain.from_iterable(zip_longest(*map(trials, subjects(folder))))):
            if trial.key in stored:
                continue
            try:
                stored[trial.key] = attacked(trial, Path(scratch))
            except AnonymizeError as error:
                stored[trial.key] = {"error": str(error.problems[0].message)}
            lines = ",\n".join(_line(*each) for each in sorted(stored.items()))
            STORED.write_text(f"{{\n{lines}\n}}\n", encoding="utf8")
            print(trial.key, stored[trial.key].get("seconds") or stored[trial.key]["error"], flush=True)


# --- the page --------------------------------------------------------------------------------------------------------


def page(stored: Results) -> str:
    """The page in Markdown."""
    drawn = subjects(HERE)
    parts = [INTRODUCTION]
    for subject in drawn:
        parts += _by_size(subject, stored)
    parts += ["## By privacy model\n", MODELLED, _table([t for t in trials(drawn[0]) if t.label in MODELS], stored)]
    return "\n".join(parts)


def _by_size(subject: Subject, stored: Results) -> Iterator[str]:
    every = list(trials(subject))
    for k in sorted(SIZES):
        rows = [each for each in every if each.privacy == {"k": k} | SHARE or each.method is None]
        yield f"## {subject.name}, k = {k}\n"
        yield _table(rows, stored)
    yield f"## {subject.name}, without classes\n"
    yield _table([each for each in every if each.label.startswith(("anatomy", "randomize"))], stored)


def _table(rows: Sequence[Trial], stored: Results) -> str:
    known = [(each.label, stored[each.key]) for each in rows if each.key in stored]
    names = [name for name in ATTACKED if any(name in each.get("attacks", {}) for _, each in known)]
    lines = ["| release | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for label, each in known:
        if "attacks" in each:
            lines.append(f"| {_code(label)} | " + " | ".join(_cell(each["attacks"].get(name)) for name in names) + " |")
    failed = [f"{_code(label)}: {each['error']}." for label, each in known if "error" in each]
    missing = [_code(each.label) for each in rows if each.key not in stored]
    notes = [*failed, *([f"Not measured: {', '.join(missing)}."] if missing else [])]
    return "\n".join([*lines, "", *([" ".join(notes), ""] if notes else [])])


def _code(label: str) -> str:
    return f"`{label}`" if label.split()[0] in ALGORITHMS else label


def _cell(excess: Mapping[str, Any] | None) -> str:
    """The excess, and how far its interval goes."""
    if excess is None:
        return "-"
    value, high = (round(excess[name], 3) + 0.0 for name in ("value", "high"))
    return f"{value:.3f}" if value == high else f"{value:.3f} (to {high:.3f})"


INTRODUCTION = """\
# What attackers get

The excess of [each attacker](attacks.md#the-attackers), with the upper end of its 95 % interval: what is learned
because of the release, as a share of what was left to learn. Below 0, nothing is learned. For attackers of several
columns, the figure is that of the column about which most is learned; the highest of seven is expected to look a little
too high.

Adult: 24,130 people released, 6,032 held out as the control; age, sex, race, marital status, education, native country
and workclass with the hierarchies of the extract, occupation sensitive. Patients: the
[sample](../sample_data/README.md) of hospital stays, split in the same way; age, sex, zipcode, marital status,
education, occupation and day of admission, diagnosis sensitive. Up to 5 % of the rows may be suppressed; 2,000 targets.
All options are the defaults, except those named and `edges: open`. `incognito iterate=true` is the local recoding of
ARX (Prasser, Kohlmayer and Kuhn, 2016), made by this tool; a release by ARX itself was not available. `python
benchmarks/attacks.py FOLDER` measures this, and writes the page.

The control does not apply to attackers who need a row of the release: prosecutor, smallest-region, journalist,
marketer, refinement, minimality, reconstruction-row. Their excess is over picking at random, over an equally rare
condition, over what the cell shows, or over the most frequent value. smallest-region looks for a class, not for a row
in it: 1.000 for a release by level means that only the suppressed rows overlap with a class.

*Tests.* `tests/attacks/test_intervals.py`, of the intervals. That a requirement cannot be met is an error of the
command: `tests/test_release.py`.

![What some attackers get of Adult, against k](attacked.svg)
"""
MODELLED = """\
What `mondrian` gives of Adult with k = 10 and one model more for the occupation.
"""


def main(arguments: Sequence[str]) -> None:
    """Measures and writes the page."""
    stored: Results = json.loads(STORED.read_text(encoding="utf8")) if STORED.exists() else {}
    if list(arguments) != ["--stored"]:
        measure(Path(arguments[0]), stored)
    PAGE.write_text(page(stored).rstrip() + "\n", encoding="utf8")


if __name__ == "__main__":
    main(sys.argv[1:])
