"""Agreement with ARX: the cases of its own test suite on Adult, as far as the toolkit has their models and metrics.

The file of cases is not part of the project. It is looked for in the folder that ANONYMIZE_SHARED names, else in
`shared` beside the repository; where it is not there, nothing is tested.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.algorithms.lattice.search import find
from anonymize.privacy import PARAMETERS, Crowd, Requirement
from anonymize.spec import load
from anonymize.table import Source, Table, read

SHARED = Path(os.environ.get("ANONYMIZE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
FILE = SHARED / "oracles" / "arx.json"
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"{FILE.name} is not there: set ANONYMIZE_SHARED")

MODELS = {
    "KAnonymity": ("k-anonymity", ("k",)),
    "DistinctLDiversity": ("distinct-l-diversity", ("l",)),
    "EntropyLDiversity": ("entropy-l-diversity", ("l",)),
    "RecursiveCLDiversity": ("recursive-cl-diversity", ("c", "l")),
    "EnhancedBLikeness": ("enhanced-beta-likeness", ("beta",)),
    "EqualDistanceTCloseness": ("t-closeness", ("t",)),
    "OrderedDistanceTCloseness": ("t-closeness", ("t",)),
    "HierarchicalDistanceTCloseness": ("t-closeness", ("t",)),
    "KMap": ("k-map", ("k",)),
    "DPresence": ("delta-presence", ("delta_min", "delta_max")),
}
NAMES = {"delta_min": "min", "delta_max": "max"}
"""What parameters are called here, where that is not what they are called there."""
DISTANCES = {"OrderedDistanceTCloseness": "ordered", "HierarchicalDistanceTCloseness": "hierarchical"}
METRICS = {
    "loss": "loss",
    "aecs": "c_avg",
    "discernibility": "discernibility",
    "height": "height",
    "precision": "precision",
    "non_uniform_entropy": "entropy",
}
WHAT = (
    "kind",
    "models",
    "suppression_limit",
    "qi_order",
    "attribute_weights",
    "expected_transformation",
    "expected_scores",
    "expected_no_solution",
)
AGGREGATES = {"geometric_mean": "geometric", "arithmetic_mean": "mean", "sum": "sum", "rank": "rank", "maximum": "max"}


def cases() -> list[Any]:
    """The cases, without those that differ in nothing that matters here."""
    if not FILE.is_file():
        return []
    seen, found = set(), []
    for case in json.loads(FILE.read_text(encoding="utf-8"))["cases"]:
        key = json.dumps([case.get(name) for name in WHAT] + [{**case["metric"], "java": ""}])
        if key not in seen:
            seen.add(key)
            found.append(pytest.param(case, id=case["id"]))
    return found


def missing(case: dict[str, Any]) -> str | None:
    """What the toolkit lacks for a case."""
    if case["kind"] == "local_recoding_hash":
        return "a hash of a table"
    for model in case["models"]:
        if model["model"] not in MODELS:
            return str(model["model"])
        if "population" in model:
            return f"{model['model']} with a population that is estimated from its size, of no table"
        if model["model"] == "DPresence" and case["kind"] != "scores":
            return "DPresence: what ARX makes of people who are under no class, where a node is judged"
        if model.get("estimator", "SHANNON").upper() != "SHANNON":
            return f"{model['model']} with the estimator {model['estimator']}"
    metric = case["metric"]
    if metric["name"] not in METRICS:
        return str(metric["name"])
    if metric.get("monotonic") and metric["name"] in ("discernibility", "precision"):
        return f"the monotonic variant of {metric['name']}"
    return None


@cache
def table(
    names: tuple[str, ...], sensitive: str | None, hierarchy: str | None = None, members: str | None = None
) -> Table:
    """Adult with these quasi-identifiers. ARX orders sensitive values that have no hierarchy as texts. `members`: the
    file of the rows that are the table; then all of Adult is the population."""
    data = SHARED / "data"
    quasi = {name: {"hierarchy": str(data / f"adult_hierarchy_{name}.csv")} for name in names}
    spec: dict[str, Any] = {
        "version": 1,
        "input": {"path": str(data / "adult.csv"), "separator": ";"},
        "quasi_identifiers": quasi,
        "sensitive": {sensitive: {"hierarchy": str(data / hierarchy)} if hierarchy else {}} if sensitive else {},
        "privacy": {"k": 2},
    }
    header = (data / "adult.csv").read_text(encoding="utf-8").split("\n", 1)[0].split(";")
    spec["insensitive"] = [name for name in header if name not in quasi and name != sensitive]
    if members is not None:
        spec["privacy"] = {"models": [{"model": "k-map", "k": 1, "population": spec["input"]["path"]}]}
    return _read(spec, members)


def _some(path: Path, members: str) -> str:
    """The header of a file, and some of its rows."""
    header, *rows = path.read_text(encoding="utf-8").splitlines()
    numbers = (SHARED / "oracles" / members).read_text(encoding="utf-8").split()
    return "\n".join([header, *(rows[int(number)] for number in numbers)]) + "\n"


def _read(spec: dict[str, Any], members: str | None) -> Table:
    with tempfile.TemporaryDirectory() as folder:
        if members is not None:
            (Path(folder) / "some.csv").write_text(_some(Path(spec["input"]["path"]), members), encoding="utf-8")
            spec["input"]["path"] = "some.csv"
        path = Path(folder) / "spec.yaml"
        path.write_text(json.dumps(spec), encoding="utf-8")
        loaded = load(str(path), PARAMETERS)
        with Source.open(loaded, None) as source:
            return read(loaded, source)


def scorer(case: dict[str, Any]) -> Scorer:
    """The metric of a case over its nodes."""
    attributes = {model.get("attribute") for model in case["models"]} - {None}
    hierarchies = {model.get("hierarchy_file") for model in case["models"]} - {None}
    members = {model["subset"]["members_file"] for model in case["models"] if "subset" in model}
    data = table(tuple(case["qi_order"]), *(next(iter(some), None) for some in (attributes, hierarchies, members)))
    if weights := case.get("attribute_weights"):
        data = replace(data, attributes=tuple(replace(a, weight=weights[a.name]) for a in data.attributes))
    wanted = []
    for model in case["models"]:
        name, keys = MODELS[model["model"]]
        given = {NAMES.get(key, key): model[key] for key in keys}
        if "subset" in model:
            given["population"] = SHARED / "data" / model["subset"]["of"]
        if name == "t-closeness":
            given["distance"] = DISTANCES.get(model["model"], "equal")
        wanted.append(Requirement(name, model.get("attribute"), PARAMETERS[name](**given)))
    limit = int(np.floor(case["suppression_limit"] * data.rows + 1e-9))
    metric = case["metric"]
    free = metric["name"] == "non_uniform_entropy" and metric["monotonic"]
    factor = 0.0 if free else metric.get("gs_factor", 0.5)
    aggregate = AGGREGATES.get(metric.get("aggregate", ""))
    checker = Checker(data, tuple(wanted), limit)
    checker.compares = False  # ARX compares with all rows of the input, those too that a node suppresses
    return Scorer(checker, METRICS[metric["name"]], aggregate, factor)


@pytest.mark.parametrize("case", cases())
def test_scores_are_those_of_arx(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that is scored without being judged is one whatever people of a population are under none of its classes:
    they are left out there. Optima for delta-presence are not compared: here such people are in the table with
    probability 0, which is below a `min`, and ARX' own results fit that in some cases and not in others."""
    if case["kind"] == "scores":
        monkeypatch.setattr(Crowd, "outside", 0)
    lacking = missing(case)
    if lacking is not None:
        pytest.skip(f"not here: {lacking}")
    ours = scorer(case)
    if case["kind"] == "scores":
        for expected in case["expected_scores"]:
            found = ours.score(tuple(expected["transformation"]))
            assert agrees(found, expected["information_loss"]), expected["transformation"]
        return
    if case["expected_no_solution"]:
        assert find(ours) is None
        return
    if case["portable"]["global_optimum"]:
        best = find(ours)
        assert best is not None
        assert agrees(best.score, case["expected_information_loss"])
    assert agrees(ours.score(tuple(case["expected_transformation"])), case["expected_information_loss"])


def agrees(found: tuple[float, ...], expected: Any) -> bool:
    """Equality of scores, of rank in all its figures."""
    figures = expected if isinstance(expected, list) else [expected]
    return list(found) == pytest.approx(figures, rel=1e-9, abs=1e-9)
