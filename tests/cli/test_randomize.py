"""Randomized releases and their reconstruction, as a user runs them."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import CELLS, Call, Desk, unnamed

SPEC = """\
version: 1
input: {path: table.csv}
identifiers: [name]
quasi_identifiers:
  age: {type: numeric, bins: [30, 50]}
  sex: {}
sensitive: [ill]
insensitive: [ward]
privacy: {l: 2}
"""
ROWS = 4000


def people() -> list[list[str]]:
    random = np.random.default_rng(1)
    ages, sexes = random.integers(18, 80, ROWS), random.choice(["CANARY f", "CANARY m"], ROWS, p=[0.7, 0.3])
    ills = np.where(
        (ages > 60) & (random.random(ROWS) < 0.6), "CANARY 1", random.choice(["CANARY 2", "CANARY 3"], ROWS)
    )
    return [
        [f"CANARY {n}", str(a), s, i, str(n % 7)] for n, (a, s, i) in enumerate(zip(ages, sexes, ills, strict=True))
    ]


@pytest.fixture
def filled(desk: Desk) -> Desk:
    lines = [",".join(row) for row in [["name", "age", "sex", "ill", "ward"], *people()]]
    desk.fill("\n".join(lines) + "\n", SPEC)
    return desk


def records(content: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content, newline="")))


def report_of(call: Call, desk: Desk, *arguments: object) -> dict[str, Any]:
    ended = call("randomize", desk.spec, "-o", "out.csv", "-r", "out.json", "--force", "-q", *arguments)
    assert ended.code == 0, ended.err
    text = (desk.folder / "out.json").read_text(encoding="utf-8")
    assert not CELLS.search(unnamed(text))
    return json.loads(text)  # type: ignore[no-any-return]


def test_a_release_comes_with_its_parameters(call: Call, filled: Desk) -> None:
    filled.spec.write_text(SPEC + "output: {row_order: keep}\n", encoding="utf-8")
    report = report_of(call, filled)
    told = json.loads((filled.folder / "out.params.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in told["attributes"]] == ["age", "sex", "ill"]
    assert told["attributes"][0]["values"] == ["<30", "[30-49]", ">=50"]
    assert told["attributes"][0]["bounds"] == [[None, 29], [30, 49], [50, None]]
    assert told["rows"] == ROWS
    assert report["recoding"]["entropy"] == "system"
    assert report["recoding"]["safe_to_publish"] is True
    assert report["algorithm"]["seed"] is None
    (model,) = report["privacy"]["models"]
    assert (model["model"], model["required"], model["satisfied"]) == ("disclosure", {"l": 2}, True)
    assert model["achieved"]["l"] == pytest.approx(2, rel=1e-6)
    rows = records((filled.folder / "out.csv").read_text(encoding="utf-8"))
    assert list(rows[0]) == ["age", "sex", "ill", "ward"]
    assert {row["age"] for row in rows} == {"<30", "[30-49]", ">=50"}
    assert [row["ward"] for row in rows] == [row[4] for row in people()]


def test_two_releases_differ_and_no_seed_is_kept(call: Call, filled: Desk) -> None:
    report_of(call, filled)
    first = (filled.folder / "out.csv").read_bytes()
    report_of(call, filled)
    assert (filled.folder / "out.csv").read_bytes() != first


def test_a_seed_is_unsafe_to_publish(call: Call, filled: Desk) -> None:
    report = report_of(call, filled, "--seed", 1)
    assert report["recoding"]["safe_to_publish"] is False
    assert any("unsafe to publish" in warning for warning in report["warnings"])
    first = (filled.folder / "out.csv").read_bytes()
    report_of(call, filled, "--seed", 1)
    assert (filled.folder / "out.csv").read_bytes() == first
    ended = call("randomize", filled.spec, "-o", "other.csv", "--seed", 1, "--public-report")
    assert ended.code == 2
    assert not (filled.folder / "other.csv").exists()
    report_of(call, filled, "--public-report")


def test_a_shuffled_release_is_checked_row_by_row(call: Call, filled: Desk) -> None:
    filled.spec.write_text(SPEC + "output: {row_order: shuffle}\n", encoding="utf-8")
    report_of(call, filled)
    rows = records((filled.folder / "out.csv").read_text(encoding="utf-8"))
    wards = [row["ward"] for row in rows]
    assert wards != [row[4] for row in people()]
    assert Counter(wards) == Counter(row[4] for row in people())


@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet", ".arrow"])
def test_other_formats(call: Call, filled: Desk, suffix: str) -> None:
    assert call("randomize", filled.spec, "-o", f"out{suffix}", "-q").code == 0
    ended = call("reconstruct", f"out{suffix}", "--attributes", "sex")
    assert ended.code == 0, ended.err
    assert sum(float(row["count"]) for row in records(ended.out.decode())) == pytest.approx(ROWS)


def test_parameters_by_hand_show_the_risk(call: Call, filled: Desk) -> None:
    ended = call("randomize", filled.spec, "-o", "out.csv", "--p", "age=0.99")
    assert ended.code == 1
    assert "disclosure (l=2) of ill is not met: l=1." in ended.err
    assert not (filled.folder / "out.csv").exists()
    report = report_of(call, filled, "--p", "age=0.99", "--allow-unsafe")
    assert report["recoding"]["parameters"] == "by hand"
    assert report["recoding"]["distortion"]["age"]["p"] == pytest.approx(0.99, abs=1e-9)
    assert report["recoding"]["distortion"]["ill"]["p"] == 1
    assert report["privacy"]["satisfied"] is False


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("ward=0.5", "'ward' is not an attribute of the spec, which has age, sex, ill"),
        ("sex=0.5", "sex takes a number above 0.5"),
        ("sex=1.5", "sex takes a number"),
        ("sex=x", "sex takes a number"),
        ("sex", "'sex' is not an attribute"),
    ],
)
def test_parameters_that_make_no_sense(call: Call, filled: Desk, given: str, message: str) -> None:
    ended = call("randomize", filled.spec, "-o", "out.csv", "--p", given)
    assert ended.code == 2
    assert message in ended.err


def test_a_parameter_of_an_attribute_with_one_value(call: Call, filled: Desk) -> None:
    path = filled.folder / "table.csv"
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    at = head.split(",").index("age")
    alike = [",".join([*row.split(",")[:at], "30", *row.split(",")[at + 1 :]]) for row in rows]
    path.write_text("\n".join([head, *alike]) + "\n", encoding="utf-8")
    ended = call("randomize", filled.spec, "-o", "out.csv", "--p", "age=0.9")
    assert ended.code == 2 and "--p: age takes 1: it has one value" in ended.err


def test_a_group_of_one_value_makes_the_sensitive_attribute_alone_infeasible(call: Call, filled: Desk) -> None:
    text = (filled.folder / "table.csv").read_text(encoding="utf-8")
    filled.fill(text + "CANARY x,99,CANARY other,CANARY 1,0\n", SPEC)
    ended = call("randomize", filled.spec, "-o", "out.csv", "--on", "sensitive")
    assert ended.code == 4
    assert "1 of 7 groups show one single sensitive value" in ended.err
    assert not (filled.folder / "out.csv").exists()
    assert call("randomize", filled.spec, "-o", "out.csv", "--on", "qi", "-q").code == 0


@pytest.mark.parametrize(
    ("privacy", "message"),
    [
        ("{k: 3, l: 2}", "k: randomize gives no k-anonymity"),
        (
            "{models: [{model: entropy-l-diversity, l: 2}]}",
            "entropy-l-diversity: randomize takes disclosure, amplification, local-dp and l",
        ),
        ("{}", "randomize needs l, or one of the models disclosure, amplification, local-dp"),
    ],
)
def test_what_cannot_be_asked_of_it(call: Call, filled: Desk, privacy: str, message: str) -> None:
    filled.spec.write_text(SPEC.replace("{l: 2}", privacy), encoding="utf-8")
    ended = call("randomize", filled.spec, "-o", "out.csv")
    assert ended.code == 2
    assert message in ended.err


def test_disclosure_is_refused_by_what_makes_classes_and_by_audit(call: Call, filled: Desk) -> None:
    model = "{models: [{model: disclosure, l: 2, values: {CANARY 1: 4}}]}"
    filled.spec.write_text(SPEC.replace("{l: 2}", model), encoding="utf-8")
    for arguments in (("mondrian", filled.spec), ("audit", filled.spec, "-i", "table.csv")):
        ended = call(*arguments)
        assert ended.code == 2
        assert "bounds a randomized table" in ended.err
    weak = report_of(call, filled)["recoding"]["norms"]
    filled.spec.write_text(SPEC, encoding="utf-8")
    assert weak > report_of(call, filled)["recoding"]["norms"]


def test_a_named_value_that_does_not_occur_is_told_without_its_text(call: Call, filled: Desk) -> None:
    model = "{models: [{model: disclosure, l: 2, values: {CANARY typo: 4}}]}"
    filled.spec.write_text(SPEC.replace("{l: 2}", model), encoding="utf-8")
    assert any(
        "1 of 1 values with an l of their own do not occur in ill" in w for w in report_of(call, filled)["warnings"]
    )


def test_outputs_that_exist_and_standard_output(call: Call, filled: Desk) -> None:
    (filled.folder / "out.params.json").write_text("", encoding="utf-8")
    assert call("randomize", filled.spec, "-o", "out.csv").code == 2
    before = filled.files()
    ended = call("randomize", filled.spec, "-q")
    assert ended.code == 0
    assert ended.out.startswith(b"age,sex,ill,ward\n")
    assert filled.files() == before
    assert call("randomize", filled.spec, "-q", "--parameters", "p.json").code == 0
    assert (filled.folder / "p.json").exists()
    assert call("randomize", filled.spec, "-o", "x.csv", "--dry-run", "-q").code == 0
    assert not (filled.folder / "x.params.json").exists()
    assert call("randomize", filled.spec, "-o", "x.csv", "--parameters", "x.csv").code == 2


@pytest.mark.parametrize("levels", ["{type: numeric, level: 1}", "{bins: [3]}", "{type: numeric, level: 9}"])
def test_levels_and_bins_that_there_are_not(call: Call, filled: Desk, levels: str) -> None:
    filled.spec.write_text(SPEC.replace("{type: numeric, bins: [30, 50]}", levels), encoding="utf-8")
    ended = call("randomize", filled.spec, "-o", "out.csv", "-q")
    assert ended.code == (0 if levels == "{type: numeric, level: 1}" else 2)


def test_a_joint_table_too_large_is_refused(call: Call, filled: Desk) -> None:
    header = "name,age,sex,ill,ward\n"
    filled.fill(header + "".join(f"n,{n},s{n},i{n % 5},0\n" for n in range(6000)), SPEC.replace(", bins: [30, 50]", ""))
    ended = call("randomize", filled.spec, "-o", "out.csv")
    assert ended.code == 2
    assert "values: age 6000, sex 6000 (give level or bins in the spec)" in ended.err


@pytest.mark.parametrize("on", ["both", "qi"])
def test_several_sensitive_attributes_are_bounded_each(call: Call, filled: Desk, on: str) -> None:
    models = "{models: [{model: disclosure, attribute: ill, l: 2}, {model: disclosure, attribute: ward, l: 5}]}"
    spec = SPEC.replace("[ill]\ninsensitive: [ward]", "[ill, ward]").replace("{l: 2}", models)
    filled.spec.write_text(spec, encoding="utf-8")
    report = report_of(call, filled, "--on", on)
    assert [(m["attribute"], m["required"]["l"]) for m in report["privacy"]["models"]] == [("ill", 2), ("ward", 5)]
    reached = [m["achieved"]["l"] / m["required"]["l"] for m in report["privacy"]["models"]]
    assert min(reached) == pytest.approx(1, rel=1e-6)


# --- reconstruct -----------------------------------------------------------------------------------------------------


def test_the_joint_table(call: Call, filled: Desk) -> None:
    report_of(call, filled, "--seed", 3)
    ended = call("reconstruct", "out.csv", "--attributes", "sex,ill")
    assert ended.code == 0
    truth = Counter((row[2], row[3]) for row in people())
    rows = records(ended.out.decode())
    assert list(rows[0]) == ["sex", "ill", "count", "standard_error"]
    assert len(rows) == 6
    for row in rows:
        assert abs(float(row["count"]) - truth[row["sex"], row["ill"]]) <= 4 * float(row["standard_error"]) + 1e-6
    assert sum(float(row["count"]) for row in rows) == pytest.approx(ROWS)


@pytest.mark.parametrize("method", ["simplex", "clip", "bayes"])
def test_methods(call: Call, filled: Desk, method: str) -> None:
    report_of(call, filled, "--seed", 3)
    result = json.loads(call("reconstruct", "out.csv", "--method", method, "--format", "json").out)
    counts = [row[-2] for row in result["cells"]]
    assert result["attributes"] == ["age", "sex", "ill"]
    assert len(counts) == 18
    assert min(counts) >= 0
    assert sum(counts) == pytest.approx(ROWS)


def test_counts(call: Call, filled: Desk) -> None:
    report_of(call, filled, "--seed", 3)
    conditions = ["age in 30-49 and sex = 'CANARY f'", "ill != 'CANARY 1'", "age < 30"]
    arguments = [part for text in conditions for part in ("--where", text)]
    result = json.loads(call("reconstruct", "out.csv", *arguments, "-o", "-", "--format", "json").out)
    truths = [
        sum(30 <= int(row[1]) <= 49 and row[2] == "CANARY f" for row in people()),
        sum(row[3] != "CANARY 1" for row in people()),
        sum(int(row[1]) < 30 for row in people()),
    ]
    for answer, text, truth in zip(result["answers"], conditions, truths, strict=True):
        assert answer["where"] == text
        assert abs(answer["count"] - truth) <= 4 * answer["standard_error"] + 1e-6
        assert answer["low"] <= answer["count"] <= answer["high"]
    wider = call("reconstruct", "out.csv", "--where", conditions[0], "--confidence", 0.999)
    assert float(records(wider.out.decode())[0]["high"]) > result["answers"][0]["high"]


def test_intervals_hold_the_truth_as_often_as_they_say(call: Call, filled: Desk) -> None:
    truth, hits = sum(row[2] == "CANARY f" for row in people()), 0
    for seed in range(16):
        report_of(call, filled, "--seed", seed, "--p", "sex=0.8", "--allow-unsafe")
        ended = call("reconstruct", "out.csv", "--where", "sex = 'CANARY f'", "--confidence", 0.8)
        (row,) = records(ended.out.decode())
        hits += float(row["low"]) <= truth <= float(row["high"])
    assert 9 <= hits <= 15


def test_audit_does_not_judge_a_randomized_table(call: Call, filled: Desk) -> None:
    assert call("randomize", filled.spec, "-o", "out.csv", "-q").code == 0
    ended = call("audit", filled.spec, "-i", "out.csv")
    assert ended.code == 2 and "cannot be judged without its original" in ended.err and not ended.out
    assert call("audit", "-i", "out.csv", "--qi", "age,sex", "-q").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--where", "ward = 1"), 2, "'ward' is not an attribute of the parameters"),
        (("--where", "age in 35-49"), 2, "cuts an interval in two"),
        (("--where", "age >"), 2, "expected a number"),
        (("--attributes", "none"), 2, "'none' is not an attribute"),
        (("--attributes", "sex", "--where", "sex = F"), 2, "--attributes: is about the joint table"),
        (
            ("-o", "x.xls"),
            2,
            "x.xls: an output is one of .csv, .csv.gz, .parquet, .arrow, .feather, .ipc, .xlsx, .sav, .dta, .json by",
        ),
        (("--parameters", "none.json"), 3, "none.json: cannot be read"),
        (("--parameters", "out.json"), 3, "is not a file of parameters"),
        (("--separator", ";"), 3, "has no column"),
    ],
)
def test_what_reconstruct_refuses(
    call: Call, filled: Desk, arguments: tuple[str, ...], code: int, message: str
) -> None:
    report_of(call, filled)
    ended = call("reconstruct", "out.csv", *arguments)
    assert (ended.code, ended.out) == (code, b"")
    assert message in ended.err


def test_a_table_that_is_not_that_of_the_parameters(call: Call, filled: Desk) -> None:
    report_of(call, filled)
    path = filled.folder / "out.csv"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    assert call("reconstruct", "out.csv").code == 3
    path.write_text("".join([*lines[:-1], "1,CANARY f,CANARY 1,1\n"]), encoding="utf-8")
    ended = call("reconstruct", "out.csv")
    assert ended.code == 3
    assert "age: has values that are not among those of its parameters" in ended.err
    assert call("reconstruct", "-").code == 2


def test_a_result_goes_to_a_file(call: Call, filled: Desk) -> None:
    report_of(call, filled)
    assert call("reconstruct", "out.csv", "-o", "result.json").code == 0
    assert json.loads((filled.folder / "result.json").read_text(encoding="utf-8"))["rows"] == ROWS
    assert call("reconstruct", "out.csv", "-o", "result.json").code == 2
    assert Path(filled.folder / "result.json").stat().st_size > 0
    assert call("reconstruct", "out.csv", "-o", "result.parquet").code == 0
    assert pl.read_parquet(filled.folder / "result.parquet")["count"].sum() == pytest.approx(ROWS)
