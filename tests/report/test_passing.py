"""What passes through singles out: what is one value, and what are two."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._audit import audit
from anonymize.auditing.request import Audit
from anonymize.privacy import PARAMETERS
from anonymize.report.passing import PassingText
from anonymize.spec import Missing, make
from anonymize.verify.kept import PassingFigures
from anonymize.verify.table import SharedNumbers


@pytest.mark.parametrize(
    ("settings", "uniques"),
    [({}, 0), ({"normalize": False, "missing": ["?"]}, 2), ({"normalize": False}, 0)],
    ids=["normalized", "as they stand", "both mean missing"],
)
def test_an_empty_text_and_a_null_are_one_value_unless_texts_are_compared_as_they_stand(
    settings: dict[str, object], uniques: int, tmp_path: Path
) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"age": ["1"] * 6, "ward": ["a"] * 4 + ["", None]}).write_parquet(path)
    content = {"version": 1, "input": {"path": str(path), **settings}, "quasi_identifiers": {"age": {}}}
    spec = make({**content, "insensitive": ["ward"], "privacy": {"k": 2}}, PARAMETERS)
    passing = audit(Audit(spec)).report["risk"]["passing"]
    assert passing["uniques"] * 6 == pytest.approx(uniques)


def passing_text(frame: pl.LazyFrame, insensitive: list[str], **given: Any) -> PassingText:
    """Of a table with an age and an illness; `p` is the column of pseudonyms."""
    content = {"version": 1, "quasi_identifiers": {"age": {}}, "sensitive": {"ill": {}}, "privacy": {"k": 2}}
    spec = make({**content, "insensitive": insensitive, "output": {"pseudonym": "p"}}, PARAMETERS)
    missing = Missing(texts=("",), null=True)
    return PassingText(frame, spec, {"age": ["age", "age_to"]}, missing, **given)


def measured(frame: dict[str, list[str]], insensitive: list[str], **given: Any) -> PassingFigures:
    return passing_text(pl.LazyFrame(frame), insensitive, **given).measured()


PEOPLE = {
    "age": ["1", "1", "1", "2"],
    "ill": ["a", "b", "b", "b"],
    "ward": ["x", "x", "x", "x"],
    "p": ["1", "2", "3", "4"],
    "group": ["5", "6", "7", "8"],
}


def test_rows_are_alone_by_what_passes_then_by_age_as_well_and_then_by_illness() -> None:
    figures = measured(PEOPLE, ["ward"])
    assert figures.columns == ("ward",) and figures.rows == 4
    assert astuple(figures.uniques) == (0, 0.25, 0.5) and astuple(figures.below) == (0, 0.25, 0.5)
    assert figures.k == 2 and figures.apart == ("p",)


def test_a_column_that_the_spec_does_not_know_passes_where_it_is_strange() -> None:
    assert measured(PEOPLE, ["ward"], strange=True).columns == ("ward", "group")
    assert measured(PEOPLE, ["ward"], strange=True, besides=["group"]).columns == ("ward",)


def test_every_column_of_a_quasi_identifier_is_one_of_it() -> None:
    """And what it was released as may be fewer columns than it could be."""
    ends = PEOPLE | {"age_to": ["1", "2", "2", "2"]}
    figures = measured(ends, ["ward"], strange=True, besides=["group"])
    assert figures.columns == ("ward",) and figures.uniques.with_quasi_identifiers == 0.5


def test_columns_are_read_ahead_where_they_are_shared_and_once() -> None:
    """Where nothing passes, nobody will ask for them."""
    read: list[int] = []

    def looked_at(frame: pl.DataFrame) -> pl.DataFrame:
        read.append(frame.height)
        return frame

    frame = pl.LazyFrame(PEOPLE).map_batches(looked_at, schema=pl.Schema(dict.fromkeys(PEOPLE, pl.String)))
    times = []
    for shared, insensitive in ((None, ["ward"]), (SharedNumbers(frame), []), (SharedNumbers(frame), ["ward"])):
        text = passing_text(frame, insensitive, shared=shared)
        text.read()
        times.append(len(read))
    assert times[:2] == [0, 0] and times[2] > 0
    assert text.measured().uniques.with_sensitive == 0.5 and len(read) == times[2]


def test_where_nothing_passes_nobody_is_alone() -> None:
    nothing = {"smallest": [], "max_size": 0, "left_out": []}
    assert measured(PEOPLE, []) == PassingFigures((), k=2, sets=nothing, apart=("p",))
