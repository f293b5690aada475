"""Measures that need the original, by hand and against sums over rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from anonymize.domain.numeric import Numeric
from anonymize.metrics import measures
from anonymize.metrics.evidence import Evidence, Shared
from anonymize.metrics.measures import MEASURES
from anonymize.metrics.queries import Queries, QueryPlan, drawn, values
from anonymize.metrics.queries.answers import counted, estimated
from anonymize.table import Attribute, Selection, Table, TargetColumn


def numbers(name: str, values: list[int]) -> Attribute:
    distinct = np.unique(values)
    codes = np.searchsorted(distinct, values).astype(np.uint8)
    return Attribute(name, codes, Numeric(name, distinct.astype(np.int64)), 1)


def evidence(columns: dict[str, list[int]], class_of: list[int], **more: Any) -> Evidence:
    """Each class released as the smallest region around its rows."""
    attributes = tuple(numbers(name, values) for name, values in columns.items())
    table = Table(
        len(class_of),
        attributes,
        (),
        tuple(columns),
        cast(Any, None),
        (),
        selections=more.pop("selections", ()),
    )
    of = np.array(class_of, np.int64)
    classes = range(of.max() + 1)
    low = np.array([[a.codes[of == c].min() for a in attributes] for c in classes], np.int64)
    high = np.array([[a.codes[of == c].max() for a in attributes] for c in classes], np.int64)
    ends = [
        np.stack([a.domain.values[box[:, at]].astype(float) for at, a in enumerate(attributes)], axis=1)  # type: ignore[attr-defined]
        for box in (low, high)
    ]
    return Evidence(table, low, high, ends[0], ends[1], np.bincount(of), of, **({"targets": {}} | more))


def labels(text: str) -> TargetColumn:
    values = sorted(set(text))
    return TargetColumn("ill", np.array([values.index(each) for each in text], np.uint8), len(values), None, None)


def test_average_class_size() -> None:
    assert measures.AverageClassSize.measure(evidence({"x": [1, 2, 3, 4, 5]}, [0, 0, 1, 1, 1])) == 2.5


def test_conditional_entropy_by_hand() -> None:
    """Classes aab and bb: 3/5 of the entropy of (2/3, 1/3), and nothing; without classes that of (2/5, 3/5)."""
    found = measures.TargetsLeft.measure(
        evidence({"x": [1, 1, 1, 2, 2]}, [0, 0, 0, 1, 1], targets={"ill": labels("aabbb")})
    )
    third = -(2 / 3 * np.log2(2 / 3) + 1 / 3 * np.log2(1 / 3))
    whole = -(0.4 * np.log2(0.4) + 0.6 * np.log2(0.6))
    assert found is not None and list(found) == ["ill"]
    assert found["ill"] == pytest.approx({"conditional_entropy": 0.6 * third, "entropy": whole})


def test_squared_error_by_hand() -> None:
    """Classes 1 3 and 5 9 and a missing number: 1, 1, 4, 4 around their means; around 4.5 in all."""
    column = TargetColumn("pay", np.array([0, 1, 2, 3, 4], np.uint8), 5, 4, np.array([1, 3, 5, 9, np.nan]))
    found = measures.TargetsLeft.measure(evidence({"x": [1, 1, 2, 2, 2]}, [0, 0, 1, 1, 1], targets={"pay": column}))
    assert found == {"pay": {"mean_squared_error": 2.5, "variance": pytest.approx((12.25 + 2.25 + 0.25 + 20.25) / 4)}}


def test_imprecision_by_hand() -> None:
    """x from 3 to 4 is asked for; [1-3] and [4-6] overlap it, [7-9] does not: six rows for two."""
    taken = Selection({0: np.isin(np.arange(1, 10), [3, 4])})
    found = measures.Imprecision.measure(
        evidence({"x": list(range(1, 10))}, [0] * 3 + [1] * 3 + [2] * 3, selections=(taken,))
    )
    assert found == {"total": 4, "selections": [{"original": 2, "released": 6, "imprecision": 4}]}


def test_a_region_in_a_gap_of_what_is_selected_is_not_returned() -> None:
    taken = Selection({0: np.array([True, False, False, True])})
    found = measures.Imprecision.measure(evidence({"x": [1, 2, 3, 4]}, [0, 1, 1, 2], selections=(taken,)))
    assert found is not None and found["selections"] == [{"original": 2, "released": 2, "imprecision": 0}]


def box(table: Table, **ranges: tuple[int, int]) -> Queries:
    """One query, by the first and the last leaf of each attribute that it restricts."""
    names = [attribute.name for attribute in table.attributes]
    domains = [attribute.domain for attribute in table.attributes]
    restricted = np.array([[name in ranges for name in names]])
    first, last = (np.array([[ranges.get(name, (0, 0))[end] for name in names]]) for end in (0, 1))
    ends = values(domains, first), values(domains, last)
    of = np.zeros(1, np.int64)
    dimensions = restricted.sum(axis=1)
    return Queries.of(domains, restricted, (first, last), ends, query=of, dimensions=dimensions, repeat=of)


def test_a_count_is_estimated_by_an_even_spread() -> None:
    """Of [1-4], whole numbers, 2 to 3 is a half; of y, [10-20], 10 to 14 is 5 of 11."""
    made = evidence({"x": [1, 2, 4, 4], "y": [10, 20, 14, 10]}, [0, 0, 0, 0])

    def expected(queries: Queries) -> float:
        return float(estimated(made.start, made.stop, made.sizes, queries)[0])

    assert expected(box(made.table, x=(1, 1))) == pytest.approx(4 / 4)
    assert expected(box(made.table, x=(0, 1), y=(0, 1))) == pytest.approx(4 * 2 / 4 * 5 / 11)
    columns = [attribute.codes for attribute in made.table.attributes]
    assert counted(columns, box(made.table, x=(0, 1), y=(0, 1))).tolist() == [1]


def test_queries_on_the_original_itself_are_answered_exactly() -> None:
    random = np.random.default_rng(1)
    columns = {name: random.integers(0, 9, 60).tolist() for name in "xyz"}
    rows = np.unique(np.array(list(columns.values())), axis=1, return_inverse=True)[1]
    made = evidence(columns, rows.tolist())
    found = measures.QueryError.measure(replace(made, queries=drawn(made.table, QueryPlan(50, seed=3))))
    assert found is not None and found["mean"] == pytest.approx(0) and found["queries"] == 50
    assert isinstance(found["empty"], int) and found["empty"] < 50


def test_distances_by_hand() -> None:
    """x is 1, 1, 2, 2 and goes with a, a, a, b; as one class [1-2] each value of x is expected once with each half."""
    ill = np.array([0, 0, 0, 1])
    found = measures.Distances.measure(evidence({"x": [1, 1, 2, 2]}, [0] * 4, shared={"ill": Shared(ill, ill, 2)}))
    assert found is not None
    block = found["ill"]  # original 2 0 / 1 1, estimated 1.5 0.5 / 1.5 0.5
    assert block["cells"] == 4
    assert block["total_variation"] == pytest.approx(0.25)
    assert block["euclidean"] == pytest.approx(0.25)
    assert block["base_error"] == pytest.approx((0.5 / 2 + 0.5 / 1 + 0.5 / 1) / 3)


def test_the_original_is_no_distance_from_itself() -> None:
    ill = np.array([0, 1, 1, 0, 2])
    found = measures.Distances.measure(
        evidence({"x": [1, 1, 2, 3, 3]}, [0, 0, 1, 2, 2], shared={"ill": Shared(ill, ill, 3)})
    )
    assert found is not None
    assert found["ill"]["hellinger"] == pytest.approx(0) and found["ill"]["cube_error"] == pytest.approx(0)


def test_a_joint_table_that_is_too_large_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_CELLS", 5)
    monkeypatch.setattr(measures, "MOST_CELLS", 5)
    ill = np.array([0, 1, 1])
    made = evidence({"x": [1, 2, 3]}, [0, 0, 0], shared={"ill": Shared(ill, ill, 2)})
    assert measures.Distances.measure(made) == {"ill": {"cells": 6}}
    assert measures.Uncertainty.measure(made) == {"x": {"ill": None}, "ill": {"x": None}}


def test_uncertainty_by_hand() -> None:
    """y follows from x, and in the release, where x is one region, it does not: two values each, as before."""
    columns = {"x": [1, 2, 3, 4], "y": [1, 1, 2, 2]}
    found = measures.Uncertainty.measure(evidence(columns, [0, 0, 0, 0]))
    assert found is not None and set(found) == {"x", "y"}
    assert found["x"]["y"] == {"original": pytest.approx(1), "released": pytest.approx(0)}
    assert found["y"]["x"] == {"original": pytest.approx(0.5), "released": pytest.approx(0)}
    ill = np.array([0, 0, 1, 1])
    found = measures.Uncertainty.measure(evidence(columns, [0, 1, 2, 3], shared={"ill": Shared(ill, ill, 2)}))
    assert found is not None
    for x, y in ("xy", "yx"):
        assert found[x][y]["original"] == pytest.approx(found[x][y]["released"])
    assert found["y"]["ill"] == {"original": pytest.approx(1), "released": pytest.approx(1)}


@pytest.mark.parametrize("name", MEASURES)
def test_measures_have_a_manual_and_their_key(name: str) -> None:
    assert name == MEASURES[name].ID
    assert (MEASURES[name].__doc__ or "").startswith(name.replace("_", " ").capitalize())
