"""A figure has the same last digit wherever its class stands in the table, and in whatever order its rows come."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.verify import Check, measure
from anonymize.verify.numbering import NUMBERS_BELOW, Numbering, numbers_below, pair, summed, together

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


# --- numbering --------------------------------------------------------------------------------------------------------

Rows = list[tuple[int, ...]]
SPANS = (3, 90, 2, 7)
LIMITS = st.sampled_from([2, 30, 200, NUMBERS_BELOW])


def columns_of(rows: Rows) -> list[Numbering]:
    columns = [pl.Series([row[place] for row in rows], dtype=pl.UInt32) for place in range(len(SPANS))]
    return [Numbering(column, span) for column, span in zip(columns, SPANS, strict=True)]


@st.composite
def drawn(draw: st.DrawFn) -> Rows:
    """Rows, neighbours of which are alike or not."""
    rows = draw(st.lists(st.tuples(*(st.integers(0, min(span, 4) - 1) for span in SPANS)), max_size=40))
    return sorted(rows) if draw(st.booleans()) else rows


def ranks_of(rows: Rows) -> list[int]:
    places = {row: place for place, row in enumerate(sorted(set(rows)))}
    return [places[row] for row in rows]


@given(drawn(), st.sampled_from([1, 3, 8, 1 << 20]), LIMITS)
def test_dense_numbers_of_all_columns_with_their_counts(rows: Rows, piece: int, most: int) -> None:
    numbers = together(columns_of(rows), piece, most)
    assert numbers.of_row.to_list() == ranks_of(rows)
    assert numbers.dense is numbers if rows else numbers.counts is None
    runs = numbers.runs()
    assert dict(runs.iter_rows()) == Counter(ranks_of(rows))
    assert runs["value"].is_sorted()


@given(drawn(), st.sampled_from([1, 3, 8, 1 << 20]), LIMITS)
def test_rows_that_no_other_agrees_with(rows: Rows, piece: int, most: int) -> None:
    sizes = Counter(rows)
    below = [sum(size for size in sizes.values() if size < limit) for limit in (2, 4)]
    assert numbers_below(columns_of(rows), (2, 4), piece, most) == below


@given(drawn(), LIMITS)
def test_a_pair_is_ordered_by_the_first_then_the_second(rows: Rows, most: int) -> None:
    first, second, *_ = columns_of(rows)
    joined, span = pair(first, second, most)
    assert joined.dense.of_row.to_list() == ranks_of([row[:2] for row in rows])
    owners = (joined.of_row // span).rank("dense") - 1
    assert owners.to_list() == ranks_of([row[:1] for row in rows])


@pytest.mark.parametrize("piece", [2, 4])
def test_a_number_of_more_rows_than_a_piece_is_not_parted(piece: int) -> None:
    same = Numbering(pl.Series([5, 5, 5, 5, 1], dtype=pl.UInt32), 6)
    other = Numbering(pl.Series([0, 1, 0, 2, 0], dtype=pl.UInt8), 3)
    assert numbers_below([same], (2,), piece) == [1]
    assert numbers_below([same, other], (2,), piece) == [3]
