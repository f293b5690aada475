"""A saved recoding reads the same on an engine as on one machine."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import anonymize
from anonymize import spark
from anonymize.errors import DataError

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric"}, "job.title": {}},
    "insensitive": ["id"],
    "privacy": {"k": 4},
}


def people(seed: int, rows: int) -> pl.DataFrame:
    """Rows of which some have values that other seeds do not draw."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(20, 60 + 10 * seed, rows)
    jobs = rng.choice(["cook", "clerk", *(["vet"] if seed > 1 else ["nurse"])], rows)
    return pl.DataFrame({"id": np.arange(rows), "age": ages, "job.title": jobs})


def test_same_as_on_one_machine(frame_of: Any) -> None:
    recoding = anonymize.release(people(1, 300), SPEC, "mondrian").recoding
    assert recoding is not None
    others = people(2, 400)
    own = anonymize.recode(others, recoding)
    recoded, report = spark.recode(frame_of(others), recoding)
    assert pl.DataFrame(recoded.toArrow()).sort("id").equals(own.frame.sort("id"))
    assert report["outside"] == own.report["outside"] and report["outside"]["rows"] > 0
    measured = ("rows", "suppressed_rows", "dropped_rows")
    assert {name: report["output"][name] for name in measured} == {
        name: own.report["output"][name] for name in measured
    }


def test_refusals(frame_of: Any) -> None:
    recoding = anonymize.release(people(1, 50), SPEC, "mondrian").recoding
    assert recoding is not None
    with pytest.raises(DataError, match="no rows"):
        spark.recode(frame_of(people(1, 5).clear(), 1), recoding)
    with pytest.raises(DataError, match="age"):
        spark.recode(frame_of(people(1, 5).drop("age")), recoding)
