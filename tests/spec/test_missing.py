"""What means missing, by the spec's list and the format of a file."""

from __future__ import annotations

import polars as pl
import pytest

from anonymize.spec import Missing, make

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
