"""How the columns of a release are said to read."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.privacy import PARAMETERS
from anonymize.report.codebook import codebook
from anonymize.spec import make


def meanings(*, labels: bool, **output: Any) -> dict[str, str]:
    content = {
        "version": 1,
        "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}},
        "sensitive": {"ill": {}},
        "privacy": {"k": 2},
        "output": output,
    }
    block = codebook(make(content, PARAMETERS), ["age", "job", "ill"], {"age": ["age"]}, labels=labels)
    return {each["name"]: each["meaning"] for each in block["columns"]}


@pytest.mark.parametrize(
    ("output", "labels", "age", "job"),
    [
        ({}, False, "a number, or an interval", "a value, or a label of its hierarchy"),
        ({"categorical": "set"}, False, "a number, or an interval", "a set of values"),
        ({"categorical": "set"}, True, "a value, or a label of its hierarchy", "a value, or a label of its hierarchy"),
        ({"numeric": "median"}, False, "median of the class", "a value, or a label of its hierarchy"),
        ({"numeric": "median"}, True, "a value, or a label of its hierarchy", "a value, or a label of its hierarchy"),
    ],
)
def test_what_a_column_holds(output: dict[str, str], labels: bool, age: str, job: str) -> None:
    assert meanings(labels=labels, **output) == {"age": age, "job": job, "ill": "as in the original table"}


def test_columns_are_those_of_the_release_in_its_order() -> None:
    content = {
        "version": 1,
        "input": {"missing": ["?"]},
        "identifiers": ["name"],
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "privacy": {"k": 2},
        "output": {"numeric": "bounds", "pseudonym": "who"},
    }
    released = {"age": ["age_low", "age_high", "age_missing"]}
    block = codebook(make(content, PARAMETERS), ["name", "age"], released, labels=False)
    assert [(each["name"], each["role"]) for each in block["columns"]] == [
        *((name, "quasi-identifier") for name in released["age"]),
        ("who", "pseudonym"),
    ]
    assert [each["meaning"].partition(":")[0] for each in block["columns"][:3]] == ["age"] * 3
    assert block["columns"][0]["meaning"] == "age: lower bound" and block["columns"][1]["meaning"] == "age: upper bound"
    assert block["or_missing"].endswith(" or ?") and block["missing"] == "?"
