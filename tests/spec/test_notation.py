"""What means missing, by the spec's list and the format of a file."""

from __future__ import annotations

import polars as pl
import pytest

from anonymize.errors import SpecError
from anonymize.privacy import PARAMETERS
from anonymize.spec import Missing, Notation, make
from anonymize.verify.cells import with_point

QI = {"version": 1, "quasi_identifiers": ["age"]}


@pytest.mark.parametrize(
    ("texts", "form", "null", "null_text", "fill"),
    [
        (["", "?"], "csv", True, "", ""),
        (["?", ""], "csv.gz", True, "?", ""),
        (["?"], "csv", False, "", ""),
        (["?"], "csv.gz", False, "", ""),
        (["?"], "parquet", True, "?", None),
        (["", "?"], "arrow", True, "", ""),
        ([], "csv", False, "", ""),
        ([], "parquet", True, "", None),
    ],
)
def test_a_null(texts: list[str], form: str, null: bool, null_text: str, fill: str | None) -> None:
    spec = make(QI | {"input": {"missing": texts, "normalize": False}}, {})
    missing = spec.missing(form)
    assert (missing.texts, missing.null) == (tuple(texts), null)
    assert (missing.null_text, missing.fill) == (null_text, fill)
    assert missing.text == spec.input.missing_text == (texts[0] if texts else "")


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "arrow"])
@pytest.mark.parametrize(
    ("texts", "known"), [([], ("",)), (["?"], ("?", "")), ([" ? ", "", "\u200b"], ("?", "")), (["", "?"], ("", "?"))]
)
def test_a_blank_is_missing_where_texts_are_normalized(form: str, texts: list[str], known: tuple[str, ...]) -> None:
    spec = make(QI | {"input": {"missing": texts}}, {})
    missing = spec.missing(form)
    assert (missing.texts, missing.null, missing.fill) == (known, True, "")
    assert missing.text == missing.null_text == spec.input.missing_text == known[0]
    assert "\t\u2060" in missing
    assert (" ?\u00a0" in missing) == ("?" in known)


def test_texts_that_mean_missing() -> None:
    missing = Missing(("?", "-9"))
    assert "?" in missing and "-9" in missing and "" not in missing


def test_a_column_whose_nulls_all_mean_missing() -> None:
    frame = pl.DataFrame({"x": ["a", None, ""]})
    assert frame.select(Missing().filled(pl.col("x")))["x"].to_list() == ["a", None, ""]
    assert frame.select(Missing(("?",), null=False).filled(pl.col("x")))["x"].to_list() == ["a", "", ""]


# --- notation ---------------------------------------------------------------------------------------------------------

GERMAN = Notation(",", ".", "€")
CASES = [
    (Notation(), "1.5", 1.5),
    (Notation(","), "6461,64", 6461.64),
    (Notation(","), "8.984", None),
    (Notation(","), "1,5e3", 1500.0),
    (Notation(",", "."), "8.984", 8984.0),
    (Notation(",", "."), "1.234.567,8", 1234567.8),
    (Notation(",", "."), "1.23,4", None),
    (Notation(",", "."), "12.34", None),
    (Notation(".", ","), "12,34,567", 1234567.0),
    (Notation(".", "'"), "1\u2019234.5", 1234.5),
    (Notation(",", " "), "1\u00a0234,5", 1234.5),
    (GERMAN, "€ 1.234,56", 1234.56),
    (GERMAN, "-1.234,56 €", -1234.56),
    (GERMAN, "-€5", -5.0),
    (GERMAN, "1.234,56", 1234.56),
    (GERMAN, "$5", None),
    (Notation(unit_text="cm"), "165 cm", 165.0),
    (Notation(unit_text="cm"), "165\u00a0cm", 165.0),
    (Notation(unit_text="cm"), "1.65 m", None),
    (Notation(unit_text="%"), "\u221212%", -12.0),
    (Notation(unit_text="cm"), "cm", None),
]


@pytest.mark.parametrize(("notation", "text", "number"), CASES)
def test_search_and_check_read_the_same_number(notation: Notation, text: str, number: float | None) -> None:
    column = pl.DataFrame({"text": [text]})
    for read in (notation.with_point(pl.col("text")), with_point(pl.col("text"), notation)):
        assert column.select(read.cast(pl.Float64, strict=False)).item() == number


def test_whole_numbers_stay_whole() -> None:
    texts = pl.DataFrame({"text": ["1.234", "7"]}).select(GERMAN.with_point(pl.col("text"))).to_series()
    assert texts.to_list() == ["1234", "7"]


def test_texts_without_digits_stay_and_may_mean_missing() -> None:
    column = pl.DataFrame({"text": ["?", "", "n/a"]})
    assert column.select(GERMAN.with_point(pl.col("text"))).to_series().to_list() == ["?", "", "n/a"]
    assert column.select(with_point(pl.col("text"), GERMAN)).to_series().to_list() == ["?", "", "n/a"]


def spec_of(**keys: object) -> object:
    return make({"version": 1, "quasi_identifiers": {"a": {"type": "numeric"}}, **keys}, PARAMETERS)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"input": {"decimal": ",", "thousands": ","}}, "sign of decimals, too"),
        ({"quasi_identifiers": {"a": {"type": "numeric", "thousands": "."}}}, "sign of decimals, too"),
        ({"quasi_identifiers": {"a": {"unit_text": "cm"}}}, "add `type: numeric`"),
    ],
)
def test_what_cannot_be_meant_is_refused(keys: dict[str, object], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        spec_of(**keys)


def test_a_columns_own_decimal_sets_the_tables_thousands_aside() -> None:
    columns = {"a": {"type": "numeric", "decimal": "."}, "b": {"type": "numeric"}, "c": {}}
    spec = make({"version": 1, "input": {"decimal": ",", "thousands": "."}, "quasi_identifiers": columns}, PARAMETERS)
    assert [spec.notation(name) for name in "abc"] == [Notation(), Notation(",", "."), Notation()]
    assert spec.of_release().notation("b") == Notation()
