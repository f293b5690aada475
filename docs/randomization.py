"""Measures what randomization, bucketization and generalization leave of a joint distribution, for `figures.py`.

Two data sets of the Adult data, as in Guo, Ying, Wu, section V. EMGRW: quasi-identifiers education, marital status, sex
and race, sensitive workclass. ESGRO: education, salary, sex and race, sensitive occupation. Every figure is of a
release that a command's own code made, wrote and verified, and that was read again from its text; of what is random,
the mean and the standard deviation over the seeds 1 to SEEDS. Kept in randomization.json.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SHARED = Path(os.environ.get("ANONYMIZE_SHARED") or ROOT.parent / "shared")
ADULT = SHARED / "data" / "adult.csv"
KEPT = HERE / "randomization.json"

SEEDS = 10
BOUNDS = {"ESGRO": range(2, 8), "EMGRW": range(2, 6)}
QUASI = {
    "ESGRO": ("education", "salary-class", "sex", "race"),
    "EMGRW": ("education", "marital-status", "sex", "race"),
}
SENSITIVE = {"ESGRO": "occupation", "EMGRW": "workclass"}
METHODS = {
    "RR-QI": ("randomize", {"on": "qi"}),
    "RR-Both": ("randomize", {"on": "both"}),
    "RR-S": ("randomize", {"on": "sensitive"}),
    "anatomy": ("anatomy", {}),
    "l-diversity": ("incognito", {}),
}
BAYES = {"ESGRO": ("RR-QI",), "EMGRW": ("RR-QI", "RR-Both")}
"""Of which methods the iterative Bayes estimate is measured as well."""
SIZES = (0.5, 1.0, 1.5, 2.0, 2.5)
Figures = dict[str, float]


@dataclass(frozen=True)
class Run:
    """One release: of a data set, by a method, for a bound. `size`: rows over those of the data; `estimator`: of a
    randomized release."""

    data: str
    method: str
    bound: int
    seed: int
    size: float = 1.0
    estimator: str = "inverse"


# --- one run ---------------------------------------------------------------------------------------------------------


def run(asked: Run) -> Figures | None:
    """What is left, and the parameters; None where there is no such release."""
    from anonymize._release import release
    from anonymize.algorithms import ALGORITHMS
    from anonymize.errors import InfeasibleError
    from anonymize.request import Request

    algorithm, options = METHODS[asked.method]
    with tempfile.TemporaryDirectory() as folder:
        spec = _spec(asked, _input(asked, Path(folder)))
        chosen = ALGORITHMS[algorithm].Options(**options)
        request = Request(spec, algorithm, chosen, output=f"{folder}/released.csv", seed=asked.seed)
        try:
            report = release(request)
        except InfeasibleError:
            return None
        found = _measured(asked, spec, Path(folder))
    distortion = report["recoding"].get("distortion", {})
    return found | {f"p {name}": each["p"] for name, each in distortion.items()}


def _spec(asked: Run, table: Path) -> Any:
    from anonymize.privacy import PARAMETERS
    from anonymize.spec import make

    quasi, sensitive = QUASI[asked.data], SENSITIVE[asked.data]
    columns = ADULT.open(encoding="utf8").readline().strip().split(";")
    model = "entropy-l-diversity" if asked.method == "l-diversity" else None
    privacy = {"models": [{"model": model, "l": asked.bound}]} if model else {"l": asked.bound}
    return make(
        {
            "version": 1,
            "input": {"path": str(table), "separator": ";"},
            "quasi_identifiers": {name: _hierarchy(name) for name in quasi},
            "sensitive": [sensitive],
            "insensitive": [name for name in columns if name not in (*quasi, sensitive)],
            "privacy": privacy,
        },
        PARAMETERS,
    )


def _hierarchy(name: str) -> dict[str, Any]:
    path = ROOT / "hierarchies" / "adult" / f"{name}.csv"
    return {"hierarchy": str(path)} if path.is_file() else {}


def _input(asked: Run, folder: Path) -> Path:
    """The table; of another size whole copies of it, and of the rest rows drawn without replacement."""
    if asked.size == 1:
        return ADULT
    import numpy as np

    head, *lines = ADULT.read_text(encoding="utf8").splitlines()
    more = np.random.default_rng(asked.seed).permutation(len(lines))[: round(len(lines) * (asked.size % 1))]
    path = folder / "table.csv"
    rows = lines * int(asked.size) + [lines[at] for at in more.tolist()]
    path.write_text("\n".join([head, *rows, ""]), encoding="utf8")
    return path


def _measured(asked: Run, spec: Any, folder: Path) -> Figures:
    """The release as its recipient has it, against the original."""
    from anonymize.metrics import measures

    sensitive = SENSITIVE[asked.data]
    table = _joint(asked, spec, folder)
    original, estimated = table.tables(range(len(table.names)))
    found = {"unclipped": float(((estimated - original) ** 2).sum() ** 0.5 / original.sum())}
    far, told = (
        measures.distance_figures({sensitive: table}),
        measures.uncertainty_figures({sensitive: table}),
    )
    assert far is not None and told is not None
    names = {"base_error": "base count", "cube_error": "cube count"}
    found |= {names.get(name, name): value for name, value in far[sensitive].items() if name != "cells"}
    for x in told:
        for y, both in told[x].items():
            found[f"U {x} {y}"], found[f"original {x} {y}"] = both["released"], both["original"]
    for kind in ("U", "original"):
        pairs = [(x, y) for x, y in product(QUASI[asked.data], repeat=2) if x != y]
        found[f"{kind} quasi"] = sum(found[f"{kind} {x} {y}"] for x, y in pairs) / len(pairs)
        towards = [found[f"{kind} {x} {sensitive}"] for x in QUASI[asked.data]]
        found[f"{kind} sensitive"] = sum(towards) / len(towards)
    return found


def _joint(asked: Run, spec: Any, folder: Path) -> Any:
    """The joint table that a recipient estimates, beside the original's."""
    import polars as pl

    from anonymize.evaluation import read_released
    from anonymize.evaluation.unclassed import opened_release
    from anonymize.meaning import Manifest
    from anonymize.reading import columns_of
    from anonymize.table import Source, read

    path = str(folder / ("released.qit.csv" if asked.method == "anatomy" else "released.csv"))
    with ExitStack() as stack:
        table = read(spec, stack.enter_context(Source.open(spec, None)))
        method: Any = asked.estimator if asked.method.startswith("RR") else None
        manifest = Manifest.of(spec, path)
        if not manifest.spans:
            joints: Any = opened_release(manifest, method, spec, table, path, stack).joints()
        else:
            rows = pl.read_csv(path, separator=";", infer_schema=False)
            shown = columns_of(spec, rows.columns, path)
            joints = read_released(spec, table, rows, shown).evidence().joints
        return joints[SENSITIVE[asked.data]]


# --- all runs --------------------------------------------------------------------------------------------------------


def wanted() -> Iterator[Run]:
    """One run of each case, with seed 0."""
    for data, bounds in BOUNDS.items():
        for bound in bounds:
            yield from (Run(data, method, bound, 0) for method in METHODS)
            yield from (Run(data, method, bound, 0, estimator="bayes") for method in BAYES[data])
    yield from (Run("EMGRW", "RR-Both", 3, 0, size=size) for size in SIZES if size != 1)


def measure() -> dict[str, Any]:
    """Every case: the means and the standard deviations of its figures, or that there is no release."""
    cases = list(wanted())
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_averaged, cases))
    return {
        "table": f"Adult, {sum(1 for _ in ADULT.open(encoding='utf8')) - 1:,} rows",
        "seeds": SEEDS,
        "cases": [
            {"data": case.data, "method": case.method, "l": case.bound, "size": case.size, "estimator": case.estimator}
            | figures
            for case, figures in zip(cases, found, strict=True)
        ],
    }


def _averaged(case: Run) -> dict[str, Any]:
    import numpy as np

    seeds = [0] if case.method == "l-diversity" else range(1, SEEDS + 1)
    runs: list[Figures] = []
    for seed in seeds:
        found = run(Run(case.data, case.method, case.bound, seed, case.size, case.estimator))
        if found is None:
            return {"mean": None, "deviation": None}
        runs.append(found)
    table = np.array([list(each.values()) for each in runs])
    deviation = table.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(table.shape[1])
    return {
        "mean": {name: round(float(value), 8) for name, value in zip(runs[0], table.mean(axis=0), strict=True)},
        "deviation": {name: round(float(value), 8) for name, value in zip(runs[0], deviation, strict=True)},
    }


def renew() -> None:
    """Measures anew where the Adult data are there."""
    if ADULT.is_file():
        KEPT.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf8")


@cache
def kept() -> dict[str, Any]:
    """What was measured last."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf8"))
    return found
