"""Workbooks and files of SPSS and Stata: what is written is what is read, the same bytes at every run."""

from __future__ import annotations

import datetime as dt
import zipfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyreadstat
import pytest
import xlsxwriter

from anonymize.errors import DataError, UsageError, WriteError
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.model import Spec
from anonymize.table import Source, foreign
from anonymize.table.files import sha256_of
from anonymize.table.spool import output_table

FORMS = ("xlsx", "sav", "dta")
TABLE = pl.DataFrame(
    {
        "zip": ["02138", None, "=1+1", "https://example.org"],
        "n": [1, None, -3, 2**40],
        "f": [1.5, None, -0.1, 1e-12],
        "day": [dt.date(2020, 2, 29), None, dt.date(1999, 12, 31), dt.date(2024, 1, 1)],
        "time": [dt.datetime(2020, 1, 1, 3, 4, 5), None, dt.datetime(2021, 1, 1), dt.datetime(2022, 1, 1)],
        "text": ["é ü 中", " x", "1.0", "true"],
    }
)
ANY = Spec(version=1, quasi_identifiers={"a": QuasiIdentifier()})


def written(frame: pl.DataFrame, path: Path, *, force: bool = False) -> Path:
    with output_table(str(path), force=force) as output:
        output.write([frame])
        output.commit()
    return path


def reading(path: Path) -> pl.DataFrame:
    with Source.open(ANY, path) as source:
        return source.scan().collect()


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_what_is_read(form: str, tmp_path: Path) -> None:
    assert reading(written(TABLE, tmp_path / f"t.{form}")).cast({"time": pl.Datetime("us")}).equals(TABLE)
    assert [path.name for path in tmp_path.iterdir()] == [f"t.{form}"]


@pytest.mark.parametrize("form", FORMS)
def test_two_runs_write_the_same_bytes(form: str, tmp_path: Path) -> None:
    first, second = (written(TABLE, tmp_path / f"{name}.{form}").read_bytes() for name in "ab")
    assert first == second


def test_a_workbook_tells_neither_time_nor_author(tmp_path: Path) -> None:
    with zipfile.ZipFile(written(TABLE, tmp_path / "t.xlsx")) as parts:
        assert {part.date_time[:3] for part in parts.infolist()} == {(1980, 1, 31)}
        core = parts.read("docProps/core.xml").decode()
    assert core.count("2000-01-01T00:00:00Z") == 2
    assert "<dc:creator></dc:creator>" in core and "<cp:lastModifiedBy></cp:lastModifiedBy>" in core


def test_files_of_statistics_packages_have_a_fixed_time(tmp_path: Path) -> None:
    assert written(TABLE, tmp_path / "t.sav").read_bytes()[92:109] == b"01 Jan 0000:00:00"
    assert b"<timestamp>\x1101 Jan 2000 00:00</timestamp>" in written(TABLE, tmp_path / "t.dta").read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_types_that_a_file_does_not_have_become_text(form: str, tmp_path: Path) -> None:
    table = pl.DataFrame(
        {
            "id": pl.Series([2**60 + 1, 7], dtype=pl.Int64),
            "flag": [True, False],
            "kind": pl.Series(["a", "b"], dtype=pl.Categorical),
            "price": pl.Series(["1.50", "2.00"]).cast(pl.Decimal(8, 2)),
        }
    )
    again = reading(written(table, tmp_path / f"t.{form}"))
    assert again["id"].to_list() == ["1152921504606846977", "7"]
    assert again["flag"].to_list() == ["true", "false"]
    assert again["kind"].to_list() == ["a", "b"]
    assert again["price"].to_list() == ["1.50", "2.00"]


def test_days_before_excel_can_count_are_text(tmp_path: Path) -> None:
    again = reading(written(pl.DataFrame({"born": [dt.date(1890, 5, 6), dt.date(2000, 1, 1)]}), tmp_path / "t.xlsx"))
    assert again["born"].to_list() == ["1890-05-06", "2000-01-01"]


@pytest.mark.parametrize(
    ("form", "cells"),
    [("xlsx", ["", None, "x"]), ("sav", ["a ", "b"]), ("xlsx", ["x" * 40_000, "y"]), ("xlsx", [float("inf"), 1.0])],
)
def test_what_a_file_cannot_hold_is_refused_by_column_and_count(form: str, cells: list[object], tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"column note has 1 values that a \.\w+ file cannot hold"):
        written(pl.DataFrame({"note": cells}, strict=False), tmp_path / f"t.{form}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_names_that_a_statistics_package_does_not_have_are_listed(form: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [1], "marital-status": ["x"], "2nd": ["y"]})
    with pytest.raises(WriteError, match="not valid column names: marital-status, 2nd"):
        written(table, tmp_path / f"t.{form}")


def test_a_table_without_rows(tmp_path: Path) -> None:
    for form in FORMS:
        assert reading(written(TABLE.select("zip", "text").head(0), tmp_path / f"t.{form}")).shape == (0, 2)


def test_labels_are_read_in_place_of_values(tmp_path: Path) -> None:
    frame = pl.DataFrame({"sex": [1, 2, 1], "age": [31, -9, 40], "ward": [5, 6, 5], "score": [1, 2, 3]})
    labels: dict[str, dict[int | float, str]] = {
        "sex": {1: "male", 2: "female"},
        "age": {-9: "refused"},
        "ward": {5: "other", 6: "other"},
        "score": {99: "missing"},
    }
    for form, write in (("sav", pyreadstat.write_sav), ("dta", pyreadstat.write_dta)):
        write(frame, str(tmp_path / f"t.{form}"), variable_value_labels=labels)
        again = reading(tmp_path / f"t.{form}")
        assert again["sex"].to_list() == ["male", "female", "male"]
        assert again["age"].to_list() == ["31", "refused", "40"]
        assert again["ward"].to_list() == ["other (5)", "other (6)", "other (5)"]
        assert again["score"].to_list() == [1, 2, 3]


def test_old_files_of_stata_are_known_by_their_suffix(tmp_path: Path) -> None:
    pyreadstat.write_dta(pl.DataFrame({"a": [1, 2]}), str(tmp_path / "t.dta"), version=8)
    assert reading(tmp_path / "t.dta")["a"].to_list() == [1, 2]


def workbook(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    book = xlsxwriter.Workbook(path)
    sheet = book.add_worksheet()
    for number, row in enumerate(rows):
        sheet.write_row(number, 0, row)
    book.close()
    return path


def test_numbers_and_texts_of_one_column_are_text(tmp_path: Path) -> None:
    rows: list[Sequence[object]] = [["code"], *([number] for number in range(1200)), ["A7"]]
    again = reading(workbook(tmp_path / "t.xlsx", rows))["code"]
    assert again.to_list() == [*map(str, range(1200)), "A7"]


@pytest.mark.parametrize(
    ("names", "message"),
    [(["a", "a"], "columns 1 and 2 have the same name"), (["a", None, "b"], "column 2 has no name")],
)
def test_names_of_a_workbook_are_checked(names: list[object], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        reading(workbook(tmp_path / "t.xlsx", [names, [1, 2, 3]]))


@pytest.mark.parametrize("form", FORMS)
def test_what_only_begins_like_such_a_file_is_refused(form: str, tmp_path: Path) -> None:
    head = next(
        magic for magic, kind in {b"PK\3\4": "xlsx", b"$FL2": "sav", b"<stata_d": "dta"}.items() if kind == form
    )
    (tmp_path / "t.bin").write_bytes(head + b"CANARY" * 100)
    with pytest.raises(DataError, match=f"cannot be read as a file of the format {form}") as error:
        reading(tmp_path / "t.bin")
    assert "CANARY" not in str(error.value)
    (tmp_path / f"t.{form}").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match=f"is not a file of the format {form}"):
        reading(tmp_path / f"t.{form}")


def test_the_hash_is_that_of_the_file(tmp_path: Path) -> None:
    path = written(TABLE, tmp_path / "t.xlsx")
    with output_table(str(tmp_path / "u.xlsx")) as output, Source.open(ANY, path) as source:
        output.write([TABLE])
        source.check()
        assert source.sha256 == output.sha256 == sha256_of(path)


def test_an_extra_that_is_absent_is_named_with_its_command() -> None:
    kind = foreign.ForeignKind("an .xlsx file", "xlsx", "office", ("surely_not_installed",))
    with pytest.raises(UsageError, match=r"pip install 'anonymize-toolkit\[office\]'"):
        kind.require()
