"""Local suppression: what is required is met, by cells that are the original ones or suppressed, and by few of them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from anonymize.errors import AnonymizeError, DataError, InfeasibleError, UsageError
from tests.common.treatments import Made, make_step

RANDOM = np.random.default_rng(3)
ROWS = 120
PEOPLE: dict[str, Any] = {
    "region": RANDOM.choice(["n", "s", "e"], ROWS, p=[0.6, 0.3, 0.1]).tolist(),
    "sex": RANDOM.choice(["f", "m"], ROWS).tolist(),
    "age": (20 + 5 * np.minimum(RANDOM.exponential(4, ROWS).astype(int), 12)).tolist(),
    "school": RANDOM.choice(["low", "mid", "high", ""], ROWS, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
}
PEOPLE["city"] = [f"city of {region}" for region in PEOPLE["region"]]
KEYS = ["region", "sex", "age", "school"]


def made(columns: Any = PEOPLE, /, **entry: Any) -> Made:
    result = make_step(columns, method="suppress", **{"columns": KEYS, **entry})
    assert not result.measured().wrong
    return result


def groups(result: Made, *names: str) -> Counter[Any]:
    return Counter(zip(*(result.after[name].to_list() for name in names), strict=True))


def lost(result: Made) -> dict[str, int]:
    return {name: texts.count("*") for name, texts in result.texts.items()}


def test_of_rows_that_are_alone_only_what_tells_them_apart_is_suppressed() -> None:
    columns = {"a": ["x"] * 6, "b": ["u", "u", "u", "v", "v", "w"]}
    result = made(columns, columns=["a", "b"], k=3)
    assert result.texts["a"] == ["x"] * 6
    assert result.texts["b"] == ["u", "u", "u", "*", "*", "*"]


def test_k_of_all_columns_and_missing_is_a_value() -> None:
    result = made(k=4)
    assert min(groups(result, *KEYS).values()) >= 4
    absent = [row for row, text in enumerate(result.texts["school"]) if text is None]
    assert {PEOPLE["school"][row] for row in absent} == {""}


def test_more_important_columns_lose_fewer_cells_and_some_none_at_all() -> None:
    plain, weighed = lost(made(k=4)), lost(made(k=4, importance={"age": 10}))
    assert weighed["age"] < plain["age"]
    result = made(k=4, never=["sex"])
    assert list(result.texts) == ["region", "age", "school"]
    assert min(groups(result, *KEYS).values()) >= 4


def test_strata_are_safe_by_themselves() -> None:
    result = made(columns=["sex", "age"], k=3, by=["region"])
    own = zip(
        result.before["region"].to_list(), *(result.after[name].to_list() for name in ("sex", "age")), strict=True
    )
    assert min(Counter(own).values()) >= 3


def test_ghosts_go_with_their_column() -> None:
    result = made(k=4, ghosts={"region": ["city"]})
    assert [text == "*" for text in result.texts["city"]] == [text == "*" for text in result.texts["region"]]
    assert "*" in result.texts["region"]


def test_combinations_alone_need_no_more_cells_than_all_columns() -> None:
    rules = [{"size": 2, "k": 5}, {"columns": ["sex", "age", "school"], "k": 3}]
    result = made(combinations=rules)
    assert all(min(groups(result, *some).values()) >= 5 for some in combinations(KEYS, 2))
    assert min(groups(result, "sex", "age", "school").values()) >= 3
    assert sum(lost(result).values()) <= sum(lost(made(k=5)).values())
    of_two = made(combinations=[{"columns": ["sex", "school"], "k": 5}])
    assert sum(lost(of_two).values()) < sum(lost(result).values())


@pytest.mark.parametrize("weights", [None, RANDOM.choice([1.0, 20.0, 400.0], ROWS).tolist()])
def test_no_row_has_a_higher_individual_risk(weights: list[float] | None) -> None:
    result = made(risk=0.25, weights=weights)
    assert sum(lost(result).values()) > 0
    if weights is None:
        assert min(groups(result, *KEYS).values()) >= 4
    else:
        assert sum(lost(result).values()) < sum(lost(made(risk=0.25)).values())


def test_numbers_of_typed_tables_are_texts_or_nothing() -> None:
    assert set(made(k=4, form="parquet").texts["age"]) <= {*map(str, PEOPLE["age"]), "*"}
    full = {name: PEOPLE[name] for name in ("region", "sex", "age")}
    result = make_step(full, form="parquet", output={"suppressed": None}, method="suppress", columns=list(full), k=4)
    assert not result.measured().wrong
    assert result.change.columns["age"].cells.dtype.is_integer() and None in result.texts["age"]


@pytest.mark.parametrize(
    ("entry", "error", "said"),
    [
        ({"k": 121}, InfeasibleError, "the table has fewer than k = 121 rows"),
        ({"k": 10, "never": ["age"]}, InfeasibleError, "age, of which nothing is ever suppressed"),
        ({"k": 40, "columns": ["sex"], "by": ["region"]}, DataError, "strata that have too few rows"),
        ({"k": 3, "output": {"suppressed": None}}, UsageError, "school has missing values"),
        ({"k": 3, "output": {"suppressed": "f"}}, UsageError, "sex has cells that read like suppressed ones"),
    ],
)
def test_what_cannot_be(entry: dict[str, Any], error: type[AnonymizeError], said: str) -> None:
    with pytest.raises(error, match=said):
        made(**entry)


@pytest.mark.parametrize("small", ["pool", "keep"])
def test_strata_that_are_too_small_are_pooled_or_given_up(small: str) -> None:
    few = int(np.count_nonzero(np.array(PEOPLE["region"]) == "e"))
    result = made(k=few + 1, columns=["sex", "age"], by=["region"], small=small)
    (said,) = map(str, result.change.warnings)
    assert f"1, with {few} rows in all" in said and "a column of fewer values than region" in said
    assert ("safe together, not each separately" in said) == (small == "pool")
    if small == "keep":
        of_region = zip(PEOPLE["region"], result.texts["sex"], result.texts["age"], strict=True)
        assert {row[1:] for row in of_region if row[0] == "e"} == {("*", "*")}
