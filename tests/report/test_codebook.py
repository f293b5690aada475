"""How the columns of a release are said to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import PARAMETERS
from anonymize.release import release
from anonymize.report.codebook import codebook, generalized
from anonymize.request import Request
from anonymize.spec import make


def meanings(*, labels: bool, **output: Any) -> dict[str, str]:
    content = {
        "version": 1,
        "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}},
        "sensitive": {"ill": {}},
        "privacy": {"k": 2},
        "output": output,
    }
    spec = make(content, PARAMETERS)
    block = codebook(spec, ["age", "job", "ill"], generalized(spec, {"age": ["age"]}, labels=labels))
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
    spec = make(content, PARAMETERS)
    block = codebook(spec, ["name", "age"], generalized(spec, released, labels=False))
    assert [(each["name"], each["role"]) for each in block["columns"]] == [
        *((name, "quasi-identifier") for name in released["age"]),
        ("who", "pseudonym"),
    ]
    assert [each["meaning"].partition(":")[0] for each in block["columns"][:3]] == ["age"] * 3
    assert block["columns"][0]["meaning"] == "age: lower bound" and block["columns"][1]["meaning"] == "age: upper bound"
    assert block["or_missing"].endswith(" or ?") and block["missing"] == "?"


GROUP = ("group", "group", "the number of the row's group")
LABEL = "a value, or a label of its hierarchy"
ORIGINAL = "as in the original table"
OTHER = ", or another one at random"


@pytest.mark.parametrize(
    ("algorithm", "options", "output", "meanings"),
    [
        ("mondrian", {}, {"numeric": "bounds"}, ["age: lower bound", "age: upper bound", LABEL, ORIGINAL]),
        ("incognito", {}, {"numeric": "mean"}, [LABEL, LABEL, ORIGINAL]),
        ("anatomy", {}, {"numeric": "mean"}, [ORIGINAL, ORIGINAL, "the number of the row's group"]),
        (
            "anatomy",
            {"joined": True},
            {"categorical": "set"},
            [ORIGINAL, ORIGINAL, "a value of the row's group, dealt out at random", "the number of the row's group"],
        ),
        (
            "randomize",
            {"p": "age=0.4,job=0.6,ill=0.4"},
            {"numeric": "mean"},
            [f"the label of the original value{OTHER}", f"the original value{OTHER}", f"the original value{OTHER}"],
        ),
        (
            "randomize",
            {"p": "ill=0.4"},
            {"categorical": "set"},
            ["the label of the original value", ORIGINAL, f"the original value{OTHER}"],
        ),
    ],
)
def test_the_codebook_has_the_columns_of_the_release_with_what_became_of_them(
    tmp_path: Path, algorithm: str, options: dict[str, Any], output: dict[str, str], meanings: list[str]
) -> None:
    rows = [f"p{row},{20 + row % 30},{'ab'[row % 2]},{'xyz'[row % 3]}" for row in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["name,age,job,ill", *rows]) + "\n")
    ages = {"type": "numeric", "bins": [30, 40]} if algorithm == "randomize" else {"type": "numeric"}
    content = {
        "version": 1,
        "input": {"path": str(tmp_path / "t.csv")},
        "identifiers": ["name"],
        "quasi_identifiers": {"age": ages, "job": {}},
        "sensitive": {"ill": {}},
        "privacy": {"l": 2},
        "output": output,
    }
    path, chosen = tmp_path / "o.csv", ALGORITHMS[algorithm].Options(**options)
    report = release(Request(make(content, PARAMETERS), algorithm, chosen, output=str(path)))
    columns = report["codebook"]["columns"]
    written = path if path.exists() else tmp_path / "o.qit.csv"
    assert [each["name"] for each in columns] == written.read_text().splitlines()[0].split(",")
    assert [each["meaning"] for each in columns] == meanings
