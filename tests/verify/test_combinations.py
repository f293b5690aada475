"""k-anonymity of combinations of quasi-identifiers, against counts by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import anonymize
from anonymize.errors import SpecError, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.spec import make

ROWS = pl.DataFrame({"a": [*"xxxxyy"], "b": [*"uuvvvv"], "c": [*"123456"], "who": [*"pqrsst"]})
SPEC: dict[str, Any] = {"quasi_identifiers": {"a": {}, "b": {}, "c": {}}, "identifiers": ["who"]}


def audited(combinations: list[dict[str, Any]], **more: Any) -> list[tuple[Any, ...]]:
    spec = {**SPEC, **more, "privacy": {"combinations": combinations}}
    table = ROWS if "unit" in more else ROWS.drop("who")
    report = anonymize.audit(table, spec).report
    assert any("combinations of quasi-identifiers" in each for each in report["warnings"])
    return [
        (each["attribute"], each["achieved"]["k"], each["failing_rows"], each["satisfied"])
        for each in report["privacy"]["models"]
    ]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"columns": ["a"], "k": 2}, ("a", 2, 0, True)),
        ({"columns": ["a", "b"], "k": 3}, ("a, b", 2, 6, False)),
        ({"columns": ["b"], "k": 3}, ("b", 2, 2, False)),
        ({"size": 1, "k": 1}, ("any 1 of the quasi-identifiers", 1, 0, True)),
        ({"size": 2, "k": 2}, ("any 2 of the quasi-identifiers", 1, 6, False)),
    ],
)
def test_groups_of_a_combination_are_counted(rule: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert audited([rule]) == [expected]


def test_rows_about_one_individual_count_once() -> None:
    assert audited([{"columns": ["a"], "k": 2}], unit="who", identifiers=[]) == [("a", 2, 0, True)]
    assert audited([{"columns": ["a", "b"], "k": 3}], unit="who", identifiers=[])[0][1] == 2


@pytest.mark.parametrize("algorithm", ["mondrian", "tds"])
def test_a_release_meets_its_combinations(algorithm: str) -> None:
    people = pl.DataFrame(
        {"age": [20 + row * 7 % 40 for row in range(200)], "zip": [f"{10 + row % 9}{row % 10}" for row in range(200)]}
    ).with_columns(label=pl.col("zip").str.slice(0, 1))
    columns: dict[str, Any] = {"age": {"type": "numeric"}, "zip": {"hierarchy": {"prefix": [2, 1]}}}
    required = {"k": 2, "combinations": [{"columns": ["age"], "k": 12}]}
    spec = {"quasi_identifiers": columns, "privacy": required, "workload": {"targets": ["label"]}}
    released = anonymize.release(people, spec, algorithm=algorithm)
    assert released.frame["age"].value_counts()["count"].min() >= 12
    models = {each["model"]: each for each in released.report["privacy"]["models"]}
    assert models["k-anonymity"]["required"] == {"k": 2}
    assert models["k-anonymity of a combination"]["satisfied"]


@pytest.mark.parametrize(
    ("privacy", "says"),
    [
        ({"combinations": [{"columns": ["ab"], "k": 2}]}, "not a quasi-identifier"),
        ({"combinations": [{"k": 2}]}, "one of `columns` and `size`"),
        ({"combinations": [{"columns": ["a"], "size": 1, "k": 2}]}, "one of `columns` and `size`"),
        ({"combinations": [{"size": 4, "k": 2}]}, "there are 3 quasi-identifiers"),
        ({"k": 5, "combinations": [{"size": 2, "k": 5}]}, "asks no more than `privacy.k`"),
    ],
)
def test_combinations_that_cannot_be_are_refused(privacy: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        make({"version": 1, **SPEC, "privacy": privacy}, PARAMETERS)


def test_what_gives_no_k_refuses_them() -> None:
    required = {"l": 2, "combinations": [{"size": 1, "k": 2}]}
    spec = {"quasi_identifiers": {"a": {}}, "sensitive": ["b"], "insensitive": ["c", "who"], "privacy": required}
    with pytest.raises((SpecError, UsageError), match="gives no k-anonymity"):
        anonymize.release(
            ROWS, {**spec, "privacy": {"l": 2, "combinations": [{"size": 1, "k": 2}]}}, algorithm="anatomy"
        )
