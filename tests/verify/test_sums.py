"""A figure has the same last digit wherever its class stands in the table, and in whatever order its rows come."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize.verify import Check, measure
from anonymize.verify.sums import summed

MODELS: list[tuple[str, str, dict[str, Any]]] = [
    ("entropy-l-diversity", "ill", {"l": 2.0}),
    ("entropy-l-diversity", "ill", {"l": 2.0, "estimator": "stammler"}),
    ("t-closeness", "ill", {"t": 0.2}),
    ("t-closeness", "cost", {"t": 0.2, "distance": "ordered"}),
    ("squared-error-diversity", "cost", {"error": 1.0}),
]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Few classes of many rows: an engine counts these thread by thread."""
    rng, rows = np.random.default_rng(5), 6000
    return pl.DataFrame(
        {
            "age": rng.choice([f"{age}-{age + 9}" for age in range(0, 90, 10)], rows),
            "ill": rng.choice([f"ill {number}" for number in range(40)], rows, p=rng.dirichlet(np.ones(40))),
            "cost": rng.integers(0, 900, rows) / 7,
        }
    )


@pytest.mark.parametrize("seed", range(6))
def test_sum_of_a_group(seed: int) -> None:
    values = np.random.default_rng(0).random(300)
    rng = np.random.default_rng(seed)
    before, after = rng.integers(1, 3000, 2)
    frame = pl.DataFrame({"x": np.concatenate([rng.random(before), rng.permutation(values), rng.random(after)])})
    owner = np.repeat([0, 1, 2], [before, len(values), after])
    sums = frame.with_columns(owner=owner).group_by("owner").agg(x=summed(pl.col("x"))).sort("owner")
    alone = pl.DataFrame({"x": values}).select(summed(pl.col("x")))
    assert sums["x"][1] == alone.item()


@pytest.mark.parametrize(("model", "attribute", "parameters"), MODELS)
def test_figures_in_any_order(table: pl.DataFrame, model: str, attribute: str, parameters: dict[str, Any]) -> None:
    check = Check(model, attribute, parameters, numeric=attribute == "cost")
    orders = [table, *(table.sample(fraction=1, shuffle=True, seed=seed) for seed in range(8))]
    figures = {repr(measure(each, ["age"], [check]).results[0].achieved) for each in orders}
    assert len(figures) == 1
