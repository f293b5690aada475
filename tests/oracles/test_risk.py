"""Agreement with the risk figures of ARX and sdcMicro on their own examples and on Adult.

The file of cases and Adult are not part of the project: see `test_arx`.
"""

from __future__ import annotations

import csv
import json
import math
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.lattice.nodes import Checker
from anonymize.algorithms.lattice.scores import Scorer
from anonymize.algorithms.lattice.search import find
from anonymize.privacy import PARAMETERS, Requirement
from anonymize.privacy.uniques import zayatz
from anonymize.request import Request
from anonymize.risk import TextFrequencySet, analyse, population_uniques
from anonymize.spec import make
from anonymize.table import Source, Table, read
from anonymize.verify import Check, measure
from tests.oracles.arx import SHARED

FILE = SHARED / "oracles" / "arx_risk.json"
DATA = SHARED / "data"
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"{FILE.name} is not there: set ANONYMIZE_SHARED")
K = Check("k-anonymity", None, {})
FIGURES = {
    "average_risk": "prosecutor_mean",
    "highest_risk": "prosecutor_max",
    "wildcard_average_risk": "prosecutor_mean",
}


@cache
def oracle() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return loaded


def cases(*measures: str) -> list[Any]:
    if not FILE.is_file():
        return []
    found = [case for case in oracle()["cases"] if case["measure"] in measures]
    return [pytest.param(case, id=f"{case['test']}-{at}") for at, case in enumerate(found)]


def test_every_case_is_looked_at() -> None:
    known = {"average_risk", "highest_risk", "sample_uniqueness", "population_uniqueness_dankar"}
    known |= {"alpha_separation", "wildcard_average_risk"}
    assert {case["measure"] for case in oracle()["cases"]} == known
    looked_at = [cases("average_risk", "highest_risk"), cases("sample_uniqueness"), cases("alpha_separation")]
    looked_at += [cases("population_uniqueness_dankar"), cases("wildcard_average_risk")]
    assert sum(map(len, looked_at)) == len(oracle()["cases"])


@cache
def adult() -> pl.DataFrame:
    return pl.read_csv(DATA / "adult.csv", separator=";", infer_schema=False)


# --- what a table has ------------------------------------------------------------------------------------------------


def written(folder: Path) -> dict[str, Any]:
    """The spec of the example of seven rows, whose files are written to a folder."""
    data = oracle()["example_data"]
    with open(folder / "example.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([data["columns"], *data["records"]])
    for name, rows in data["hierarchies"].items():
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    quasi = {name: {"hierarchy": str(folder / f"{name}.csv")} for name in data["columns"]}
    table = {"path": str(folder / "example.csv")}
    return {"version": 1, "input": table, "quasi_identifiers": quasi, "privacy": {"k": 2}}


def _read(content: dict[str, Any]) -> Table:
    spec = make(content, PARAMETERS)
    with Source.open(spec, None) as opened:
        return read(spec, opened)


@cache
def source(dataset: str, names: tuple[str, ...]) -> Table:
    """The table of a case with its hierarchies."""
    if dataset == "example":
        with tempfile.TemporaryDirectory() as folder:
            return _read(written(Path(folder)))
    quasi = {name: {"hierarchy": str(DATA / f"adult_hierarchy_{name}.csv")} for name in names}
    table = {"path": str(DATA / "adult.csv"), "separator": ";"}
    return _read({"version": 1, "input": table, "quasi_identifiers": quasi, "privacy": {"k": 2}})


@cache
def generalized(dataset: str, names: tuple[str, ...], aggregate: str) -> pl.DataFrame:
    """The full-domain optimum for k = 2 without suppression, by the loss."""
    table = source(dataset, names)
    wanted = (Requirement("k-anonymity", None, PARAMETERS["k-anonymity"].model_validate({"k": 2})),)
    best = find(Scorer(Checker(table, wanted, 0), "loss", aggregate, 0.5))
    assert best is not None
    columns = []
    for attribute, level in zip(table.attributes, best.vector, strict=True):
        nodes = attribute.hierarchy.levels[level, attribute.generalization.leaf_of(attribute.codes)]
        columns.append(pl.Series(attribute.name, nodes).cast(pl.String))
    return pl.DataFrame(columns)


@pytest.mark.parametrize("case", cases("average_risk", "highest_risk"))
def test_prosecutor_risk_of_an_optimum(case: dict[str, Any]) -> None:
    metric = case["anonymization"]["metric"]
    table = generalized(case["dataset"], tuple(case["quasi_identifiers"]), metric["aggregate"])
    verdict = measure(table, table.columns, [K])
    assert verdict.risk[FIGURES[case["measure"]]] == case["expected"]


def frequency(case: dict[str, Any]) -> TextFrequencySet:
    return TextFrequencySet.of(adult(), [[name] for name in case["quasi_identifiers"]])


@pytest.mark.parametrize("case", cases("sample_uniqueness"))
def test_sample_uniqueness(case: dict[str, Any]) -> None:
    verdict = measure(adult(), case["quasi_identifiers"], [K])
    uniques = verdict.risk["uniques"]
    assert uniques is not None and uniques / verdict.rows == pytest.approx(case["expected"], abs=1e-12)
    whole = population_uniques(frequency(case).counts, 1.0)
    assert whole["uniques"] == pytest.approx(case["expected"], abs=1e-12)


@pytest.mark.parametrize("case", cases("population_uniqueness_dankar"))
def test_population_uniqueness(case: dict[str, Any]) -> None:
    if case["state"] == "output":
        table = generalized(case["dataset"], tuple(case["quasi_identifiers"]), "rank")
        counts = TextFrequencySet.of(table, [[name] for name in table.columns]).counts
        assert population_uniques(counts, case["sampling_fraction"])["uniques"] == case["expected"]
        return
    found = population_uniques(frequency(case).counts, case["sampling_fraction"])
    if case.get("if_model_selected") == "zayatz":
        sizes = pl.Series(frequency(case).counts).value_counts().sort("")
        share = zayatz(sizes[""].to_numpy(), sizes["count"].to_numpy(), case["sampling_fraction"])
        assert int(share * 10_000) == int(case["expected"] * 10_000)
        assert found["estimator"] in ("zayatz", "pitman")
    else:
        assert int(found["uniques"] * 10_000) == int(case["expected"] * 10_000)


# --- subsets of the quasi-identifiers --------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("alpha_separation"))
def test_separation(case: dict[str, Any]) -> None:
    frame = pl.DataFrame(case["records"], schema=case["columns"], orient="row")
    found = analyse(TextFrequencySet.of(frame, [[name] for name in case["columns"]]), case["columns"])
    wanted = set(case["quasi_identifiers"])
    assert [s.separation for s in found.subsets if set(s.attributes) == wanted] == [case["expected"]]


# --- missing as a wildcard -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("wildcard_average_risk"))
def test_wildcards(case: dict[str, Any]) -> None:
    frame = pl.DataFrame(case["records"], schema=case["columns"], orient="row")
    found = measure(frame, case["quasi_identifiers"], [K], suppressed=case["wildcard"], missing_as="wildcard").wildcard
    assert found is not None
    assert found.risk["prosecutor_mean"] == pytest.approx(case["expected"], abs=1e-16)
    assert found.results[0].achieved == {"k": min(case["record_match_counts"])}


def suppressed(frame: pl.DataFrame, names: list[str], k: int, folder: Path) -> pl.DataFrame:
    """The table with cells of some columns suppressed so that every class on these has k rows."""
    frame.write_csv(folder / "in.csv")
    values = {
        "version": 1,
        "input": {"path": str(folder / "in.csv"), "missing": ["*"]},
        "quasi_identifiers": {name: {} for name in names},
        "insensitive": [name for name in frame.columns if name not in names],
        "privacy": {"k": k},
        "output": {"suppressed": "suppressed"},
    }
    algorithm = ALGORITHMS["mondrian"]
    spec = make(values, PARAMETERS)
    release(Request(spec, "mondrian", algorithm.Options(), output=str(folder / "out.csv"), force=True))
    return pl.read_csv(folder / "out.csv", infer_schema=False).with_columns(pl.all().replace("suppressed", "*"))


def scenarios() -> list[Any]:
    if not FILE.is_file():
        return []
    found = oracle()["cell_suppression_scenarios"]["scenarios"]
    return [pytest.param(steps, id=f"{at}-{len(steps)} steps") for at, steps in enumerate(found)]


@pytest.mark.parametrize("steps", scenarios())
def test_suppressing_more_cells_keeps_what_was_reached(steps: list[dict[str, Any]], tmp_path: Path) -> None:
    frame = adult()
    for step in steps:
        k = math.ceil(1 / step["highest_risk"] - 1e-9)
        frame = suppressed(frame, step["quasi_identifiers"], k, tmp_path)
        for earlier in steps if step is steps[-1] else [step]:
            verdict = measure(
                frame,
                earlier["quasi_identifiers"],
                [K],
                threshold=earlier["highest_risk"],
                missing_as="wildcard",
            )
            assert verdict.wildcard is not None
            risk = verdict.wildcard.risk
            assert (risk["prosecutor_max"] or 0) <= earlier["highest_risk"]
            assert (risk["prosecutor_mean"] or 0) <= earlier["average_risk"]
            assert (risk["records_at_risk"] or 0) <= earlier["records_at_risk"]
