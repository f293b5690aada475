"""How the columns of a release are said to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import PARAMETERS
from anonymize.report.codebook import FileCells, codebook, generalized
from anonymize.request import Request
from anonymize.spec import make


def said(texts: dict[str, list[str | None]], *, labels: bool = False, **changes: Any) -> dict[str, Any]:
    """The codebook of a file whose columns show these texts."""
    content: dict[str, Any] = {
        "version": 1,
        "input": {"missing": ["?"]},
        "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}},
        "privacy": {"k": 2},
    }
    spec = make(content | changes, PARAMETERS)
    cells = FileCells(spec, {name: pl.Series(own, dtype=pl.String) for name, own in texts.items()})
    released = {name: [each for each in texts if each.startswith(name)] for name in spec.quasi_identifiers}
    return codebook(spec, list(texts), generalized(cells, released, labels=labels), cells)


@pytest.mark.parametrize(
    ("texts", "meaning", "special"),
    [
        (["20", "31"], "a number", {}),
        (["20", "[20-31]"], "a number, or an interval", {"interval": "[{low}-{high}]"}),
        (["[20-31)"], "an interval without its upper end", {"interval_without_high": "[{low}-{high})"}),
        (["31+", "20"], "a number, or an interval that is open on one side", {"open_high": "{low}+"}),
        (["20-"], "an interval that is open on one side", {"open_low": "{high}-"}),
        (
            ["[20-31] or ?", "old"],
            "an interval, or a value, or a label of its hierarchy",
            {"interval": "[{low}-{high}]", "or_missing": "[{low}-{high}] or ?"},
        ),
        (["*", "20"], "a number", {"suppressed": "*"}),
        (["*", None, "?"], "nothing: every cell is suppressed or missing", {"suppressed": "*"}),
    ],
)
def test_a_column_is_said_to_show_what_its_cells_do(
    texts: list[str | None], meaning: str, special: dict[str, str]
) -> None:
    block = said({"age": texts, "job": ["a"]})
    assert block["columns"][0] == {"name": "age", "role": "quasi-identifier", "meaning": meaning}
    assert block == {"columns": block["columns"], "missing": "?"} | special


def test_a_template_says_which_ends_an_interval_has() -> None:
    block = said({"age": ["(20, 31]"], "job": ["a"]}, output={"interval": "({low}, {high}]"})
    assert block["interval_without_low"] == "({low}, {high}]" and "interval" not in block
    assert block["columns"][0]["meaning"] == "an interval without its lower end"


def test_categories_are_values_sets_or_leaves_of_a_node() -> None:
    output = {"categorical": "set"}
    assert said({"age": ["1"], "job": ["{a|b}"]}, output=output)["columns"][1]["meaning"] == "a set of values"
    bounds = said({"age": ["1"], "job_low": ["0"], "job_high": ["3"]}, output={"categorical": "bounds"})["columns"]
    assert [each["meaning"] for each in bounds[1:]] == [
        "job: the first leaf under its node, counted from 0",
        "job: the last leaf under its node",
    ]


def test_a_mean_is_said_to_be_clamped_where_ends_are_open() -> None:
    """(12, 13, 13) reads 13 where three rows have to reach an end: 12 counts as 13."""
    texts: dict[str, list[str | None]] = {"age": ["13"], "job": ["a"]}
    for edges, words in (("open", "fewer than 2 rows reach count as"), ("tight", "mean of the class")):
        (age, _) = said(texts, output={"numeric": "mean", "edges": edges})["columns"]
        assert words in age["meaning"] and age["meaning"].startswith("mean of the class")
    few: dict[str, Any] = {
        "privacy": {"l": 1},
        "sensitive": {"ill": {}},
        "unit": "who",
        "output": {"numeric": "median"},
    }
    assert "fewer than 5 individuals reach" in said(texts, **few)["columns"][0]["meaning"]
    assert said(texts, output={"numeric": "mean"}, labels=True)["columns"][0]["meaning"] == "a number"


def test_columns_are_those_of_the_file_in_its_order() -> None:
    spec = make(
        {
            "version": 1,
            "identifiers": ["name"],
            "quasi_identifiers": {"age": {"type": "numeric"}},
            "insensitive": ["ward"],
            "privacy": {"k": 2},
            "output": {"numeric": "bounds", "pseudonym": "who"},
        },
        PARAMETERS,
    )
    names = ["age_low", "age_high", "age_missing"]
    meanings = generalized(FileCells(spec), {"age": names}, labels=False)
    block = codebook(spec, ["who", *names, "ward"], meanings)
    assert [(each["name"], each["role"]) for each in block["columns"]] == [
        ("who", "pseudonym"),
        *((name, "quasi-identifier") for name in names),
        ("ward", "insensitive"),
    ]
    assert [each["meaning"] for each in block["columns"][1:3]] == ["age: lower bound", "age: upper bound"]


def test_a_column_that_nothing_explains_is_refused() -> None:
    spec = make(
        {"version": 1, "identifiers": ["name"], "quasi_identifiers": {"age": {}}, "privacy": {"k": 2}}, PARAMETERS
    )
    for column in ("more", "name"):
        with pytest.raises(RuntimeError, match="probably a bug"):
            codebook(spec, ["age", column], {})


NOTHING = "nothing: every cell is suppressed or missing"
LABEL = "a value, or a label of its hierarchy"
ORIGINAL = "as in the original table"
OTHER = ", or another one at random"


@pytest.mark.parametrize(
    ("algorithm", "options", "output", "meanings"),
    [
        ("mondrian", {}, {"numeric": "bounds"}, ["age: lower bound", "age: upper bound", LABEL, ORIGINAL]),
        ("incognito", {}, {"numeric": "mean"}, [NOTHING, LABEL, ORIGINAL]),
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
