"""A recoding found on some rows, applied to others: what these show, and what is outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from anonymize._recode import Recode, recode, recode_frame
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import DataError, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.recoding.saved import Saved, load
from anonymize.request import Request
from anonymize.spec import load as load_spec
from tests.examples import some

JOBS = {"clerk": "Office", "chief": "Office", "cook": "Kitchen", "waiter": "Kitchen"}
SPEC = """\
version: 1
input: {path: table.csv, missing: ["", "?"]}
identifiers: [name]
quasi_identifiers:
  age: {type: numeric, hierarchy: {intervals: [10, 50]}}
  zip: {hierarchy: {mask: right}}
  job: {hierarchy: jobs.csv}
insensitive: [ward]
privacy: {k: 2}
output: {edges: tight}
"""
HEADER = ["name", "age", "zip", "job", "ward"]


def made(folder: Path, rows: list[list[str]], algorithm: str = "mondrian", spec: str = SPEC, **options: Any) -> Saved:
    """The recoding that a release of the rows (age, zip, job) saves."""
    table(folder / "table.csv", rows)
    return saved_by(folder, algorithm, spec, **options)


def saved_by(folder: Path, algorithm: str = "mondrian", spec: str = SPEC, **options: Any) -> Saved:
    """The recoding that a release of the table in a folder saves."""
    lines = [f"{leaf};{above};*" for leaf, above in JOBS.items()]
    (folder / "jobs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "spec.yaml").write_text(spec, encoding="utf-8")
    loaded = load_spec(folder / "spec.yaml", PARAMETERS)
    request = Request(
        loaded,
        algorithm,
        ALGORITHMS[algorithm].Options(**options),
        output=str(folder / "released.csv"),
        save_recoding=str(folder / "recoding.json"),
        force=True,
    )
    release(request)
    return load(folder / "recoding.json")


def table(path: Path, rows: list[list[str]]) -> None:
    lines = [",".join(HEADER), *(f"n{at},{','.join(row)},w{at}" for at, row in enumerate(rows))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def frame(*rows: str) -> pl.DataFrame:
    cells = [row.split() for row in rows]
    columns = {name: [row[at] for row in cells] for at, name in enumerate(("age", "zip", "job"))}
    return pl.DataFrame({**columns, "ward": [f"w{at}" for at in range(len(rows))]})


def shown(saved: Saved, *rows: str) -> tuple[list[str], dict[str, int]]:
    """What rows read, and the counts that are not 0."""
    released, counts = recode_frame(saved, frame(*rows))
    assert released.columns == ["age", "zip", "job", "ward"]
    told = {name: count for name, count in vars(counts).items() if count and name not in ("rows", "attributes")}
    return [" ".join(row[:3]) for row in released.rows()], told


ROWS = ["20 111 clerk", "24 111 clerk", "30 111 clerk", "34 111 clerk", "60 111 cook", "64 111 cook"]


@pytest.fixture
def mondrian(tmp_path: Path) -> Saved:
    return made(tmp_path, [row.split() for row in ROWS])


def test_unseen_rows_join_the_class_of_the_region_that_they_lie_in(mondrian: Saved) -> None:
    assert shown(mondrian, "22 111 clerk", "33 111 clerk", "61 111 cook") == (
        ["[20-24] 111 clerk", "[30-34] 111 clerk", "[60-64] 111 cook"],
        {},
    )


def test_between_two_classes_a_number_joins_the_nearer_one_and_is_outside(mondrian: Saved) -> None:
    texts, counts = shown(mondrian, "26 111 clerk", "27 111 clerk", "28 111 clerk")
    assert texts == ["[20-24] 111 clerk", "[30-34] 111 clerk", "[30-34] 111 clerk"]
    assert counts == {"outside": 3, "outside_interval": 3}


def test_a_number_beyond_the_range_joins_the_last_class(mondrian: Saved) -> None:
    assert shown(mondrian, "99 111 cook") == (
        ["[60-64] 111 cook"],
        {"outside": 1, "out_of_range": 1, "outside_interval": 1},
    )


def test_a_value_that_the_class_does_not_span_is_counted(mondrian: Saved) -> None:
    texts, counts = shown(mondrian, "62 111 chief")
    assert texts in (["[60-64] 111 cook"], ["[30-34] 111 clerk"])
    assert counts == {"outside": 1, "outside_interval": 1}


def test_values_that_are_unknown_make_a_row_suppressed(mondrian: Saved) -> None:
    assert shown(mondrian, "22 111 pilot", "22 999 clerk", "22 111 clerk") == (
        ["* * *", "* * *", "[20-24] 111 clerk"],
        {"outside": 2, "unknown": 2, "suppressed": 2},
    )


def test_the_counts_name_the_attribute(mondrian: Saved) -> None:
    _, counts = recode_frame(mondrian, frame("99 111 pilot", "22 111 clerk"))
    assert counts.attributes["job"] == {"unknown": 1, "out_of_range": 0, "outside_interval": 0}
    assert counts.attributes["age"] == {"unknown": 0, "out_of_range": 1, "outside_interval": 0}
    assert (counts.rows, counts.outside) == (2, 1)


def test_a_new_zipcode_is_shown_where_its_mask_is(tmp_path: Path) -> None:
    rows = ["20 111 clerk", "20 112 clerk", "20 211 clerk", "20 222 clerk"]
    saved = made(tmp_path, [row.split() for row in rows])
    assert shown(saved, "20 119 clerk", "20 255 clerk", "20 311 clerk") == (
        ["20 11* clerk", "20 2** clerk", "* * *"],
        {"outside": 1, "unknown": 1, "suppressed": 1},
    )


FULL = ["21 111 clerk", "22 111 clerk", "31 111 cook", "38 111 waiter", "77 111 clerk", "88 111 cook"]
FULL_SPEC = SPEC.replace("{k: 2}", "{k: 2, suppression: 0.4}")


def test_full_domain_recoding_of_unseen_values(tmp_path: Path) -> None:
    saved = made(tmp_path, [row.split() for row in FULL], "samarati", FULL_SPEC)
    released = (tmp_path / "released.csv").read_text().splitlines()
    assert released[1:] == [
        "[20-29],111,Office,w0",
        "[20-29],111,Office,w1",
        "[30-39],111,Kitchen,w2",
        "[30-39],111,Kitchen,w3",
        "*,*,*,w4",
        "*,*,*,w5",
    ]
    assert shown(saved, "29 111 chief", "35 111 cook") == (["[20-29] 111 Office", "[30-39] 111 Kitchen"], {})
    assert shown(saved, "77 111 clerk") == (["* * *"], {"outside": 1, "suppressed": 1, "suppressed_class": 1})
    assert shown(saved, "25 111 cook") == (["[20-29] 111 Kitchen"], {"outside": 1, "new_combination": 1})
    assert shown(saved, "45 111 clerk", "25 112 clerk") == (
        ["* * *", "* * *"],
        {"outside": 2, "unknown": 2, "suppressed": 2},
    )


def test_at_the_root_every_value_is_known(tmp_path: Path) -> None:
    saved = made(tmp_path, [row.split() for row in ("21 111 clerk", "77 222 clerk")], "mingen")
    texts, counts = shown(saved, "-1000 ? clerk")
    assert texts == ["* * clerk"]
    assert counts == {}


def test_suppressed_rows_are_dropped_where_the_release_dropped_them(tmp_path: Path) -> None:
    spec = FULL_SPEC.replace("edges: tight", "suppressed_rows: drop")
    saved = made(tmp_path, [row.split() for row in FULL], "samarati", spec)
    released, counts = recode_frame(saved, frame("77 111 clerk", "21 111 clerk"))
    assert released.rows() == [("[20-29]", "111", "Office", "w1")]
    assert counts.suppressed == 1


def test_numbers_as_two_bounds(tmp_path: Path) -> None:
    saved = made(
        tmp_path, [row.split() for row in ROWS], spec=SPEC.replace("edges: tight", "numeric: bounds, edges: tight")
    )
    released, _ = recode_frame(saved, frame("22 111 clerk", "22 111 pilot"))
    assert released.columns == ["age_low", "age_high", "zip", "job", "ward"]
    assert released.rows() == [("20", "24", "111", "clerk", "w0"), ("*", "*", "*", "*", "w1")]


def test_typed_columns_and_nulls(tmp_path: Path) -> None:
    saved = made(tmp_path, [row.split() for row in [*ROWS, "? 111 cook", "? 111 cook"]])
    released, counts = recode_frame(
        saved, pl.DataFrame({"job": ["clerk", "cook"], "zip": ["111", "111"], "age": [21, None], "ward": [1.5, None]})
    )
    assert released.rows() == [("clerk", "111", "[20-24]", 1.5), ("cook", "111", None, None)]
    assert counts.outside == 0


def test_no_rows(mondrian: Saved) -> None:
    released, counts = recode_frame(mondrian, frame())
    assert released.height == counts.outside == 0
    assert released.columns == ["age", "zip", "job", "ward"]


def test_columns_are_checked(mondrian: Saved) -> None:
    rows = frame("22 111 clerk")
    with pytest.raises(DataError, match="has no column 'zip'"):
        recode_frame(mondrian, rows.drop("zip"))
    with pytest.raises(DataError, match="without a role in the recoding: a, b"):
        recode_frame(mondrian, rows.with_columns(a=1, b=2))
    with pytest.raises(DataError, match="'age': 1 value is not a number"):
        recode_frame(mondrian, rows.with_columns(age=pl.lit("old")))
    assert recode_frame(mondrian, rows.drop("ward"))[0].columns == ["age", "zip", "job"]
    assert recode_frame(mondrian, rows.with_columns(name=pl.lit("x")))[0].columns == ["age", "zip", "job", "ward"]


def test_what_cannot_be_saved_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    rows = [row.split() for row in ROWS]
    refused: dict[str, dict[str, Any]] = {"mondrian": {"relaxed": True}, "incognito": {"iterate": True}, "mu-argus": {}}
    for algorithm, options in refused.items():
        with pytest.raises(UsageError, match="may release equal values differently"):
            made(tmp_path, rows, algorithm, **options)
    assert not (tmp_path / "recoding.json").exists()
    assert not (tmp_path / "released.csv").exists()


def test_rows_suppressed_for_their_sensitive_value_cannot_be_saved(tmp_path: Path) -> None:
    spec = SPEC.replace("insensitive: [ward]", "sensitive: [ward]").replace("{k: 2}", "{l: 2, suppression: 0.7}")
    (tmp_path / "other").mkdir()
    lines = [f"n{at},{row.replace(' ', ',')},{'flu' if at != 3 else 'cold'}" for at, row in enumerate(ROWS)]
    spec = spec.replace("l: 2,", "models: [{model: frequency-l-diversity, attribute: ward, l: 2}],")
    (tmp_path / "table.csv").write_text("\n".join([",".join(HEADER), *lines]) + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match="rows suppressed because of values other than their quasi-identifiers: 4"):
        saved_by(tmp_path, spec=spec)
    assert not (tmp_path / "recoding.json").exists()


people = st.tuples(
    st.integers(0, 99).map(str), st.sampled_from(["111", "112", "121", "211", "221", "?"]), st.sampled_from([*JOBS])
).map(list)


@settings(max_examples=some(36), deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(people, min_size=2, max_size=30), st.lists(people, min_size=1, max_size=20), st.data())
def test_rows_are_outside_where_they_do_not_lie_in_what_they_show(
    tmp_path_factory: pytest.TempPathFactory, train: list[list[str]], test: list[list[str]], data: st.DataObject
) -> None:
    saved = made(tmp_path_factory.mktemp("split"), train)
    rows = frame(*(" ".join(row) for row in test))
    released, counts = recode_frame(saved, rows)
    outside = [not all(map(_within, row, cells)) for row, cells in zip(test, released.rows(), strict=True)]
    hidden = [cells[0] == "*" for cells in released.rows()]
    assert counts.outside_interval == sum(out and not gone for out, gone in zip(outside, hidden, strict=True))
    at = data.draw(st.integers(0, len(test) - 1))
    assert recode_frame(saved, rows[at : at + 1])[0].rows() == released.rows()[at : at + 1]


def _within(value: str, cell: str | None) -> bool:
    """Whether a value lies in what is released of it."""
    if cell in ("*", value) or (value == "?" and cell is None):
        return True
    if cell is None:
        return False
    if cell.startswith("["):
        low, _, high = cell.strip("[]").partition("-")
        return int(low) <= int(value) <= int(high)
    return JOBS.get(value) == cell or (cell.endswith("*") and value.startswith(cell.rstrip("*")))


def test_the_report_counts_and_shows_no_value(mondrian: Saved, tmp_path: Path) -> None:
    table(tmp_path / "new.csv", [row.split() for row in ("22 111 clerk", "99 111 pilot")])
    report = recode(Recode(str(tmp_path / "recoding.json"), str(tmp_path / "new.csv"), str(tmp_path / "new.out.csv")))
    assert report["outside"]["rows"] == report["outside"]["unknown"] == report["outside"]["out_of_range"] == 1
    assert report["output"]["rows"] == 2 and report["output"]["suppressed_rows"] == 1
    assert "not measured" in report["warnings"][0]
    assert "pilot" not in str(report)
