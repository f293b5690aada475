"""What the quasi-identifiers of some rows read, put in part by part."""

import numpy as np
import polars as pl
import pytest

from anonymize.recoding import Released
from anonymize.recoding.columns import RecodedColumn
from anonymize.spark.growing import CellTexts, EngineColumns

LAYOUT = EngineColumns({"age": "c0", "ill": "c1"}, {"age": "quasi-identifier", "ill": "sensitive"})


def part(name: str, classes: int, kind: type[np.unsignedinteger]) -> Released:
    """A part of as many classes as rows, each with a text of its own."""
    texts = pl.Series([f"{name}{number}" for number in range(classes)])
    column = RecodedColumn("age", "age", texts, np.arange(classes).astype(kind))
    none = (np.zeros(classes),)
    return Released(np.arange(classes, dtype=np.int32), (column,), np.ones(classes, np.int64), none, none, 0, 0)


@pytest.mark.parametrize(("classes", "kind"), [(200, np.uint8), (300, np.uint16)])
def test_parts_have_more_texts_together_than_their_numbers_count(classes: int, kind: type[np.unsignedinteger]) -> None:
    """Two hundred texts are numbered in a byte, and six hundred are not."""
    texts = CellTexts.of_rows(3 * classes, LAYOUT)
    for place, name in enumerate("abc"):
        rows = np.arange(place, 3 * classes, 3)
        texts.put(part(name, classes, kind), LAYOUT, rows, np.arange(classes))
    shown = pl.concat(texts.frames())["c0"].to_list()
    assert shown == [f"{name}{number}" for number in range(classes) for name in "abc"]
