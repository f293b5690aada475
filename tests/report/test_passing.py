"""What passes through singles out: what is one value, and what are two."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from anonymize.audit import Audit, audit
from anonymize.privacy import PARAMETERS
from anonymize.spec import make


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
