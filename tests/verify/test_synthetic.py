from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from anonymize.verify.resampled import DeclaredDomain, Marginal, resampled
from anonymize.verify.synthetic import (
    Neighbours,
    SyntheticManifest,
    epsilon_of,
    faults,
    rho_of_gaussian,
    rho_of_selection,
)

AGE = {"bins": [0, 20, 60], "whole": False, "digits": 1, "places": [[0, 199], [200, 600]], "missing": False}
DOMAIN: dict[str, Any] = {"sex": ["f", "m"], "job": ["clerk", "cook", None], "age": AGE}
SIGMA = 4.0
RHO = 3 * rho_of_gaussian(1, SIGMA) + rho_of_gaussian(1, SIGMA) + rho_of_selection(1, 10)


def measurement(columns: list[str], values: list[int]) -> dict[str, Any]:
    """A marginal with noise of SIGMA for one row more or less."""
    return {"columns": columns, "sigma": SIGMA, "sensitivity": 1, "rho": rho_of_gaussian(1, SIGMA), "values": values}


def declared() -> dict[str, Any]:
    """The block of a small and sound manifest, of a chain sex - job, and age by itself."""
    return {
        "kind": "synthetic",
        "method": "mst",
        "individual": "row",
        "rows_per_unit": 1,
        "count": "private",
        "differential": {"epsilon": epsilon_of(RHO, 1e-9), "delta": 1e-9, "rho": RHO},
        "domain": DOMAIN,
        "measurements": [
            measurement(["sex"], [61, 38]),
            measurement(["job"], [50, 32, 19]),
            measurement(["age"], [30, 71]),
            measurement(["job", "sex"], [31, 18, 20, 10, 11, 9]),
        ],
        "selections": [{"chosen": ["sex", "job"], "sensitivity": 1, "scale": 10, "rho": 0.005, "candidates": 3}],
        "model": {
            "cliques": [
                {"columns": ["sex", "job"], "values": [31, 20, 10, 18, 12, 9]},
                {"columns": ["age"], "values": [29, 71]},
            ]
        },
        "sampler": {"seed": 7, "rows": 100, "sorted": True},
    }


def sampled(block: dict[str, Any]) -> pl.DataFrame:
    """The table of a manifest, as it is written."""
    manifest = SyntheticManifest.of(block)
    frame = resampled(
        manifest.model, manifest.domain, 100, block["sampler"]["seed"], ordered=block["sampler"]["sorted"]
    )
    return frame.fill_null("")


TABLE = sampled(declared())


def said(block: dict[str, Any], table: pl.DataFrame = TABLE, domain: dict[str, Any] = DOMAIN) -> list[str]:
    """The faults that are found."""
    public = {name: DeclaredDomain.of(entry) for name, entry in domain.items()}
    return list(faults(SyntheticManifest.of(block), public, table.lazy()))


def test_a_sound_manifest_has_no_faults_and_costs_what_it_says() -> None:
    assert said(declared()) == []
    spent = SyntheticManifest.of(declared()).spent
    assert spent.epsilon == pytest.approx(epsilon_of(RHO, 1e-9)) and spent.delta == 1e-9


@pytest.mark.parametrize(
    ("rho", "delta", "epsilon"),  # figures of opendp's own conversion
    [(1e-3, 1e-9, 0.2451192538719514), (0.1, 1e-6, 2.141938928385474), (10, 1e-12, 42.179849794261024), (0, 1e-9, 0)],
)
def test_rho_is_converted_as_opendp_does(rho: float, delta: float, epsilon: float) -> None:
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-12)


def test_a_selection_costs_a_quarter_of_what_its_epsilon_would() -> None:
    assert rho_of_selection(1, 3) == pytest.approx(1 / 18)  # opendp's map of the same noisy max
    assert rho_of_gaussian(math.sqrt(2), 3) == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    ("replaced", "l2", "l1"), [(False, 3.0, 3.0), (True, 3 * math.sqrt(2), 6.0)], ids=["one more", "one replaced"]
)
def test_an_individual_changes_as_many_counts_as_it_has_rows(replaced: bool, l2: float, l1: float) -> None:
    neighbours = Neighbours(3, replaced)
    assert neighbours.l2 == pytest.approx(l2) and neighbours.l1 == l1


def test_a_marginal_is_summed_over_the_other_columns() -> None:
    both = Marginal(("a", "b", "c"), (2, 3, 2), pl.Series(range(12), dtype=pl.Float64))
    assert both.onto(["c", "a"]).values.to_list() == [6.0, 24.0, 9.0, 27.0]
    assert both.onto([]).values.to_list() == [66.0]


# --- tampering --------------------------------------------------------------------------------------------------------


def smaller_noise(block: dict[str, Any]) -> None:
    block["measurements"][0]["sigma"] = 0.4


def smaller_noise_as_declared(block: dict[str, Any]) -> None:
    block["measurements"][0] |= {"sigma": 0.4, "rho": rho_of_gaussian(1, 0.4)}


def smaller_sensitivity(block: dict[str, Any]) -> None:
    block["measurements"][0] |= {"sensitivity": 0.5, "rho": rho_of_gaussian(0.5, SIGMA)}


def replaced_individuals(block: dict[str, Any]) -> None:
    block["count"] = "public"


def several_rows_of_an_individual(block: dict[str, Any]) -> None:
    block["rows_per_unit"] = 2


def smaller_claim(block: dict[str, Any]) -> None:
    block["differential"]["epsilon"] *= 0.999


def a_selection_for_nothing(block: dict[str, Any]) -> None:
    block["selections"][0] |= {"scale": 10000, "rho": 0.005}


def a_cell_that_nobody_is_in(block: dict[str, Any]) -> None:
    block["measurements"][1]["values"].pop()


def an_undeclared_cell(block: dict[str, Any]) -> None:
    block["measurements"][1]["values"].append(0)


def no_selection(block: dict[str, Any]) -> None:
    block["selections"] = []


def another_selection(block: dict[str, Any]) -> None:
    block["selections"][0]["chosen"] = ["sex", "age"]


def measured_together(block: dict[str, Any]) -> None:
    block["method"] = "independent"


def counts_without_noise(block: dict[str, Any]) -> None:
    block["measurements"][0]["values"][0] = 61.25


def a_model_of_other_counts(block: dict[str, Any]) -> None:
    block["model"]["cliques"][1]["values"] = [71, 29]


def a_model_that_contradicts_itself(block: dict[str, Any]) -> None:
    block["model"]["cliques"][1]["values"] = [29, 71.01]


def a_model_below_nothing(block: dict[str, Any]) -> None:
    block["model"]["cliques"][1]["values"] = [-1, 101]


def a_model_of_fewer_columns(block: dict[str, Any]) -> None:
    block["model"]["cliques"].pop()


@pytest.mark.parametrize(
    ("tamper", "fault"),
    [
        (smaller_noise, "the measurement of sex: its noise costs rho = 3.125, and 0.03125 is declared"),
        (smaller_noise_as_declared, "the mechanisms cost rho = "),
        (smaller_sensitivity, "the measurement of sex: its noise is for a change of 0.5, and one individual changes"),
        (replaced_individuals, "the measurement of sex: its noise is for a change of 1, and one individual changes it"),
        (several_rows_of_an_individual, "the selection of sex x job: its noise is for a change of 1, and one"),
        (smaller_claim, "the mechanisms cost epsilon = "),
        (a_selection_for_nothing, "the selection of sex x job: its noise costs rho = 5e-09, and 0.005 is declared"),
        (a_cell_that_nobody_is_in, "the measurement of job: has 2 values, and the domain 3 cells"),
        (an_undeclared_cell, "the measurement of job: has 4 values, and the domain 3 cells"),
        (no_selection, "job x sex: was measured, and no selection of it is declared"),
        (another_selection, "age x sex: was selected, and never measured"),
        (measured_together, "columns were measured together, but the method measures each separately"),
        (counts_without_noise, "the measurement of sex: has values that no discrete noise gives"),
        (a_model_of_other_counts, "times further from the measurements than their noise explains"),
        (a_model_that_contradicts_itself, "the model contradicts itself in its total"),
        (a_model_below_nothing, "the model has counts below 0"),
        (a_model_of_fewer_columns, "the model is of other columns than the domain"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_tampered_with_is_a_fault(tamper: Callable[[dict[str, Any]], None], fault: str) -> None:
    block = copy.deepcopy(declared())
    tamper(block)
    assert any(fault in each for each in said(block))


NOT_DRAWN = "rows are not those that the sampler draws from the model with its seed"


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (TABLE.with_columns(sex=pl.lit("x")), "sex: 100 cells are outside the public domain"),
        (TABLE.with_columns(age=pl.lit("60.1")), "age: 100 cells are outside the public domain"),
        (TABLE.with_columns(age=pl.lit("")), "age: 100 cells are outside the public domain"),
        (TABLE.with_columns(age=pl.lit("5.25")), "age: 100 cells are outside the public domain"),
        (TABLE.with_columns(name=pl.lit("x")), "the table has other columns than the domain"),
        (TABLE.drop("sex"), "the table has other columns than the domain"),
        (
            TABLE.with_columns(pl.when(pl.int_range(100) == 9).then(pl.lit("m")).otherwise("sex").alias("sex")),
            "1 " + NOT_DRAWN,
        ),
        (TABLE.reverse(), NOT_DRAWN),
        (TABLE[:99], "the table has 99 rows, the model 100"),
        (pl.concat([TABLE, TABLE[:1]]), "the table has 101 rows, the model 100"),
    ],
    ids=[
        "a value",
        "a number",
        "no number",
        "digits",
        "a column more",
        "a column less",
        "a row",
        "order",
        "less",
        "more",
    ],
)
def test_a_table_with_anything_else_is_a_fault(changed: pl.DataFrame, fault: str) -> None:
    (only,) = said(declared(), changed)
    assert fault in only


def test_rows_are_those_of_the_seed_alone() -> None:
    block = declared()
    block["sampler"]["seed"] = 8
    (fault,) = said(block)
    assert NOT_DRAWN in fault
    assert said(block, sampled(block)) == []
    block["sampler"]["sorted"] = False
    assert said(block, sampled(block)) == [] and NOT_DRAWN in said(block)[0]


def test_a_clique_that_closes_a_circle_makes_no_distribution() -> None:
    block = declared()
    parts = (["sex", "job"], ["job", "age"], ["age", "sex"])
    sizes = {"sex": 2, "job": 3, "age": 2}
    cells = [math.prod(sizes[name] for name in columns) for columns in parts]
    even = [{"columns": c, "values": [100 / n] * n} for c, n in zip(parts, cells, strict=True)]
    block["model"] = {"cliques": even}
    assert any("the model is no junction tree" in each for each in said(block))


def test_a_domain_that_was_learned_is_a_fault() -> None:
    assert said(declared(), domain=DOMAIN | {"sex": ["f", "m", "x"]}) == ["sex: the domain is not the public one"]
    other = {name: DOMAIN[name] for name in ("sex", "job")}
    assert said(declared(), domain=other) == ["the domain is of other columns than the spec's"]


@pytest.mark.parametrize("name", ["domain", "measurements", "model", "count", "differential"])
def test_what_is_no_such_manifest_is_an_error(name: str) -> None:
    block = declared()
    del block[name]
    with pytest.raises(KeyError):
        SyntheticManifest.of(block)
