"""The twin of local suppression, and the individual risk that it works out by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonymize.risk.sample import individual_risk as by_series
from anonymize.verify.treated import individual_risk
from tests.common.treatments import Made, make_step

RANDOM = np.random.default_rng(5)
ROWS = 80
PEOPLE: dict[str, Any] = {
    "region": RANDOM.choice(["n", "s"], ROWS, p=[0.7, 0.3]).tolist(),
    "sex": RANDOM.choice(["f", "m"], ROWS).tolist(),
    "age": RANDOM.integers(0, 9, ROWS).tolist(),
}
PEOPLE["city"] = [f"city of {region}" for region in PEOPLE["region"]]


def made(**entry: Any) -> Made:
    return make_step(PEOPLE, method="suppress", **{"columns": ["region", "sex", "age"], **entry})


@pytest.mark.parametrize("rows", [1, 2, 5, 19, 20, 300])
def test_the_risk_is_that_of_the_series(rows: int) -> None:
    weights = rows * np.array([1.0, 1.001, 1.5, 10, 1000])
    expected = by_series(np.full(len(weights), rows), weights)
    assert [individual_risk(rows, weight) for weight in weights] == pytest.approx(expected.tolist(), rel=5e-4)


def sentences(result: Made, **other: Any) -> str:
    return "; ".join(result.measured(**other).wrong)


def test_other_values_small_groups_and_ghosts_that_stay_are_wrong() -> None:
    result = made(k=4, ghosts={"region": ["city"]})
    after = {name: result.after[name].to_list() for name in ("sex", "age", "city")}
    turned = [{"f": "m", "m": "f"}[PEOPLE["sex"][0]], *after["sex"][1:]]
    assert sentences(result) == ""
    assert "sex: a cell shows another value" in sentences(result, sex=turned)
    first = next(row for row, text in enumerate(after["age"]) if text == "*")
    restored = [str(PEOPLE["age"][row]) if row == first else text for row, text in enumerate(after["age"])]
    assert "smaller than required" in sentences(result, age=restored)
    assert "city: is not suppressed with region" in sentences(result, city=PEOPLE["city"])


def test_a_risk_above_the_bound_is_wrong() -> None:
    weights = RANDOM.choice([2.0, 30.0], ROWS).tolist()
    result = made(risk=0.1, weights=weights)
    assert sentences(result) == "" and "*" in result.texts["age"]
    assert "smaller than required" in sentences(result, age=list(map(str, PEOPLE["age"])))


def test_strata_that_are_given_up_show_nothing() -> None:
    result = made(columns=["sex", "age"], by=["region"], k=30, small="keep")
    assert sentences(result) == ""
    small = PEOPLE["region"].index("s")
    one = [PEOPLE["sex"][small] if row == small else text for row, text in enumerate(result.texts["sex"])]
    assert "smaller than required" in sentences(result, sex=one)
