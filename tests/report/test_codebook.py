"""How the columns of a release are said to read."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.privacy import PARAMETERS
from anonymize.report import RENDERERS
from anonymize.report.codebook import FileCells, codebook, generalized, sample
from anonymize.request import Request
from anonymize.spec import Spec, make


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


def test_other_texts_that_mean_missing_are_named_where_columns_pass_through() -> None:
    texts: dict[str, list[str | None]] = {"age": ["20"], "job": ["a"]}
    codes = {"missing": ["", "-99", "?"]}
    assert "also_missing" not in said(texts, input=codes)
    block = said({**texts, "ward": ["-99"]}, input=codes, insensitive=["ward"])
    assert (block["missing"], block["also_missing"]) == ("", ["-99", "?"])


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


# --- sample -----------------------------------------------------------------------------------------------------------


def spec(folder: Path, **output: Any) -> Spec:
    (folder / "jobs.csv").write_text("cook;kitchen;*\nclerk;office;*\n")
    quasi = {"age": {"type": "numeric"}, "job": {"hierarchy": str(folder / "jobs.csv")}, "sex": {}, "zip": {}}
    content = {"version": 1, "quasi_identifiers": quasi, "sensitive": ["ill"], "insensitive": ["ward"]}
    return make({**content, "privacy": {"k": 2}, "output": output}, PARAMETERS)


def frame(**columns: list[str]) -> pl.LazyFrame:
    return pl.LazyFrame(columns)


def test_values_are_null_and_what_stands_for_several_is_shown(tmp_path: Path) -> None:
    text = frame(
        age=["[20-29]", "34", "*"],
        job=["cook", "kitchen", "*"],
        sex=["M", "{F|M}", "*"],
        zip=["02138", "021**", "02139"],
        ill=["flu", "cold", "flu"],
        ward=["A", "B", "C"],
    )
    leaves = {"job": ["cook", "clerk"], "sex": ["M", "F"], "zip": ["02138", "02139"]}
    block, places = sample(text, spec(tmp_path), leaves)
    assert block["rows"] == [
        [None, None, None, None, None, None],
        [None, "kitchen", None, "021**", None, None],
        ["*", "*", "*", None, None, None],
    ]
    assert (block["labels"]["zip"], block["looked_at"], places) == ([["021**", 1]], 3, [0, 1, 2])
    assert "ill" not in block["labels"]
    assert sample(text, spec(tmp_path), {})[0]["rows"][1][3] is None, "of unknown leaves nothing is known to be a node"
    values, _ = sample(text, spec(tmp_path), {}, values=True)
    assert values["rows"][0] == ["[20-29]", "cook", "M", "02138", "flu", "A"]


def test_ten_rows_stand_at_equal_distances_and_of_values_alone_there_is_no_block(tmp_path: Path) -> None:
    text = frame(job=["kitchen", "*"] * 47 + ["kitchen"])
    block, places = sample(text, spec(tmp_path), {"job": ["cook", "clerk"]})
    assert places == list(range(0, 90, 9)) and [row[0] for row in block["rows"]][:3] == ["kitchen", "*", "kitchen"]
    assert sample(frame(ward=["a", "b"]), spec(tmp_path), {}) == ({}, [])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{20 + row % 30},S{row % 7}ECRET,P{row}ERSON,ill{row // 30 % 5}" for row in range(300)]
    (tmp_path / "table.csv").write_text("\n".join(["age,job,name,illness", *rows]) + "\n")
    content = {"version": 1, "input": {"path": "table.csv"}, "identifiers": ["name"], "privacy": {"k": 5}}
    content |= {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "insensitive": ["illness"]}
    (tmp_path / "spec.yaml").write_text(json.dumps(content))
    return tmp_path


def reports(folder: Path, *options: str) -> dict[str, str]:
    paths = {kind: folder / f"report{kind}" for kind in RENDERERS}
    given = [option for path in paths.values() for option in ("-r", str(path))]
    released = ["mondrian", str(folder / "spec.yaml"), "-o", str(folder / "released.csv"), "--force", "-q"]
    assert outcome(lambda: run([*released, *given, *options])) == 0
    return {kind: path.read_text() for kind, path in paths.items()}


@pytest.mark.parametrize("options", [(), ("--public-report",)])
def test_no_form_of_a_report_shows_a_value_unless_values_are_shown(folder: Path, options: tuple[str, ...]) -> None:
    for text in reports(folder, *options).values():
        assert not any(f"S{row}ECRET" in text or f"ill{row % 5}" in text for row in range(7)) and "PERSON" not in text
    shown_rows = json.loads(reports(folder, "--show-values")[".json"])["sample"]
    released = (folder / "released.csv").read_text().splitlines()[1:]
    assert [",".join(row) for row in shown_rows["rows"]] == released[::30]
    original = shown_rows["original"]
    assert original["columns"] == ["age", "job", "illness"] and len(original["rows"]) == 10
    for before, after in zip(original["rows"], shown_rows["rows"], strict=True):
        assert before[-1] == after[-1] and after[1] in (before[1], "*"), "the row of the original that it was"
    assert "The same rows of the original" in reports(folder, "--show-values")[".html"]


@pytest.mark.parametrize(
    ("name", "separator", "reads"),
    [
        (
            "out.csv",
            ",",
            ['pd.read_csv("out.csv", dtype=str', 'read.csv("out.csv", colClasses', '"out.csv", stringcols'],
        ),
        (
            "out.csv",
            ";",
            [
                'pd.read_csv("out.csv", sep=";", dtype',
                'read.csv("out.csv", sep = ";", col',
                'delimiters(";") stringcols',
            ],
        ),
        ("out.parquet", ",", ['pd.read_parquet("out.parquet")', 'arrow::read_parquet("out.parquet")']),
    ],
)
def test_the_page_says_how_the_file_is_read(folder: Path, name: str, separator: str, reads: list[str]) -> None:
    table, spec = folder / "table.csv", folder / "spec.yaml"
    table.write_text(table.read_text().replace(",", separator))
    content = json.loads(spec.read_text())
    content["input"]["separator"] = separator
    spec.write_text(json.dumps(content))
    run(["mondrian", str(spec), "-o", str(folder / name), "-r", str(folder / "report.html"), "-q"])
    page = unescape((folder / "report.html").read_text())
    assert [text for text in reads if text not in page] == [] and "released.csv" not in page


def test_values_are_not_for_the_public(folder: Path) -> None:
    given = ["mondrian", str(folder / "spec.yaml"), "-o", "-", "--public-report", "--show-values", "-q"]
    assert outcome(lambda: run(given)) == 2
