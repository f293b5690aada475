"""Values are compared as a reader sees them: what cannot be told apart is one value, in the search and in the check."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from anonymize.errors import Caution
from anonymize.spec.notation import normalized, remarks
from anonymize.table.columns import tidy
from anonymize.verify.table import plain
from tests.security.commands import run

TWINS = ["HIV", "HIV ", " HIV", "HIV\u200b", "\ufeffHIV", "H\u00adIV", "HIV\u00a0", "\u2060HIV\t"]
UNCOUNTED = "not counted as different ones"
BLANKS = ["", " ", "   ", "\u00a0", "\u200b", "\t", "\u3000\u2060"]
ACCENTS = [unicodedata.normalize(form, "Hépatite") for form in ("NFC", "NFD")]


def table(folder: Path, rows: Sequence[tuple[object, ...]], names: str = "age,ill", suffix: str = "csv") -> Path:
    path = folder / f"table.{suffix}"
    columns = names.split(",")
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    if suffix == "csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([columns, *rows])
        path.write_text(text.getvalue(), encoding="utf-8")
    else:
        frame.write_parquet(path) if suffix == "parquet" else frame.write_ipc(path)
    return path


def spec(folder: Path, path: Path, **changes: Any) -> Path:
    content: dict[str, Any] = {
        "version": 1,
        "input": {"path": str(path)},
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive": {"ill": {}},
        "privacy": {"k": 2, "l": 2},
    }
    content |= changes
    content["input"] = {"path": str(path), **changes.get("input", {})}
    place = folder / "spec.yaml"
    place.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return place


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_blanks_and_twins_are_not_diversity(tmp_path: Path, suffix: str) -> None:
    """One real value in a class, written in eight ways, beside every kind of blank."""
    rows = [(30, text) for text in (*TWINS, *BLANKS)]
    path = table(tmp_path, rows, suffix=suffix)
    measured = run("audit", "-i", path, "--qi", "age", "--sensitive", "ill", "-l", "2", "--json")
    assert measured.returncode == 1
    assert json.loads(measured.stdout)["privacy"]["models"][0]["achieved"] == {"l": 1}
    assert run("mondrian", spec(tmp_path, path), "-o", tmp_path / "released.csv").returncode == 4
    assert not (tmp_path / "released.csv").exists()


def test_two_ways_to_write_an_accent_are_one_value(tmp_path: Path) -> None:
    path = table(tmp_path, [(30, text) for text in ACCENTS])
    assert run("audit", "-i", path, "--qi", "age", "--sensitive", "ill", "-l", "2").returncode == 1


def test_joiners_that_carry_meaning_are_no_diversity(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        [(30, "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"), (30, "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645")],
    )
    assert run("audit", "-i", path, "--qi", "age", "--sensitive", "ill", "-l", "2").returncode == 1


@pytest.mark.parametrize("how", ["option", "spec"])
def test_normalization_can_be_turned_off(tmp_path: Path, how: str) -> None:
    path = table(tmp_path, [(30, text) for text in TWINS])
    described = ["--qi", "age", "--sensitive", "ill", "-l", "2", "--no-normalize"]
    options = described if how == "option" else [spec(tmp_path, path, input={"normalize": False})]
    measured = run("audit", "-i", path, "--json", *options)
    assert measured.returncode == 0
    assert json.loads(measured.stdout)["privacy"]["models"][-1]["achieved"] == {"l": len(TWINS)}


def test_quasi_identifiers_show_the_normalized_text_and_what_passes_the_text_it_was(tmp_path: Path) -> None:
    rows = [(f"{sex}{end}", ill) for end in ("", " ", "\u200b") for sex in "MF" for ill in (" flu", "gout\t")]
    path = table(tmp_path, rows, "sex,ill")
    quasi = {"sex": {"hierarchy": str(tmp_path / "sex.csv")}}
    (tmp_path / "sex.csv").write_text("M ;*\nF;*\n", encoding="utf-8")
    made = run("mondrian", spec(tmp_path, path, quasi_identifiers=quasi), "-o", tmp_path / "released.csv")
    assert made.returncode == 0, made.stderr
    released = list(csv.reader(io.StringIO((tmp_path / "released.csv").read_text(encoding="utf-8"))))[1:]
    assert sorted(released) == sorted([row[0].strip(" \u200b"), row[1]] for row in rows)


def test_units_that_read_alike_are_one_individual(tmp_path: Path) -> None:
    path = table(tmp_path, [(30, "ann"), (30, "ann "), (30, "\u200bann")], "age,person")
    measured = run("audit", "-i", path, "--qi", "age", "--unit", "person", "-k", "2", "--json")
    assert measured.returncode == 1
    assert json.loads(measured.stdout)["privacy"]["models"][0]["achieved"] == {"k": 1}


def test_values_that_look_alike_or_read_as_unknown_draw_a_warning_that_shows_none(tmp_path: Path) -> None:
    values = ["HIV", "hiv", "Hiv ", "gout", "n/a", "Unknown", "keine Angabe", "?"]
    path = table(tmp_path, [(30, value) for value in values])
    place = spec(tmp_path, path, input={"missing": ["?"]})
    expected = [
        f"column 'ill': 2 values look like others, and are {UNCOUNTED}",
        f"column 'ill': 3 values read as unknown, and are {UNCOUNTED}",
    ]
    audited = json.loads(run("audit", place, "--json").stdout)["warnings"]
    run("mondrian", place, "-o", tmp_path / "released.csv", "-r", tmp_path / "report.json")
    released = json.loads((tmp_path / "report.json").read_text())["warnings"]
    for warnings in (audited, released):
        assert [Caution(each).text for each in warnings if each.startswith("column 'ill'")] == expected


def test_one_value_reads_as_unknown_and_counts_as_known() -> None:
    (message,) = remarks("ill", 0, 1)
    assert message.startswith("column 'ill': 1 value reads as unknown, and counts as known. Remedy: ")


def test_a_number_with_invisible_characters_is_the_number(tmp_path: Path) -> None:
    rows = [("30", "a"), ("\ufeff30", "b"), ("30\u200b", "a"), (" 30\u00a0", "b"), ("\u200b", "a"), (" ", "b")]
    path = table(tmp_path, rows)
    made = run("mondrian", spec(tmp_path, path), "-o", tmp_path / "released.csv")
    assert made.returncode == 0, made.stderr


def test_rules_and_selections_name_values_as_they_are_compared(tmp_path: Path) -> None:
    rows = [(text, ill) for text in ("North", "South ", "East", "West\u200b") for ill in "abab"]
    path = table(tmp_path, rows, "place,ill")
    (tmp_path / "place.csv").write_text("North;NS;*\nSouth;NS;*\nEast;EW;*\nWest ;EW;*\n", encoding="utf-8")
    hierarchy = str(tmp_path / "place.csv")
    quasi = {"place": {"hierarchy": hierarchy, "rules": [{"keep_apart": ["North\u00a0", "\u200bWest"]}]}}
    workload = {"selections": [{"place": {"in": ["South\u200b", " East"]}}]}
    place = spec(tmp_path, path, quasi_identifiers=quasi, workload=workload)
    made = run("mondrian", place, "-o", tmp_path / "released.csv", "-r", tmp_path / "report.json")
    assert made.returncode == 0, made.stderr
    warnings = json.loads((tmp_path / "report.json").read_text())["warnings"]
    assert not [each for each in warnings if "no effect" in each or "selects nothing" in each]


@given(st.text(alphabet=st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(" \t\u00a0\u200b\u0301é"))))
@example("\u0301 \u200be\u0301")
def test_the_search_and_the_check_compare_alike(text: str) -> None:
    """Two implementations that share no code, and an idempotent rule."""
    checked = pl.DataFrame({"text": [text]}).select(plain(pl.col("text"))).item()
    assert tidy(pl.Series([text])).to_list() == [normalized(text)] == [checked]
    assert normalized(checked) == checked
