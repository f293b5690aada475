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
