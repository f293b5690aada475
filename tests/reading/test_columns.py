"""What the cells of a release stand for, column by column."""

from __future__ import annotations

import polars as pl
import pytest

from anonymize.errors import DataError
from anonymize.parallel import SMALL
from anonymize.privacy import PARAMETERS
from anonymize.reading.regions import read_regions
from anonymize.spec import make
from tests.algorithms.tables import categorical, numeric, taxonomy

SPEC = make({"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}}, PARAMETERS)
JOBS = taxonomy("cook *", "clerk *", "vet *", name="job")
ATTRIBUTES = (numeric([31, 34, 58], "age"), categorical(["cook", "clerk", "vet"], JOBS))
COLUMNS = {"age": ("age", "age"), "job": ("job", "job")}


def release(age: str, job: str) -> pl.DataFrame:
    """One more row than is read in one thread."""
    rows = SMALL + 1
    return pl.DataFrame({"age": ["34", age, "[31-34]"] * (rows // 3 + 1), "job": ["cook", job, "*"] * (rows // 3 + 1)})


def test_threads_do_not_show() -> None:
    frame = release("58", "vet")
    alone, codes = read_regions(SPEC, ATTRIBUTES, frame, COLUMNS, 1)
    beside, same = read_regions(SPEC, ATTRIBUTES, frame, COLUMNS, 3)
    assert (codes == same).all() and codes[0].max() == codes[1].max() == 2
    for one, other in zip(alone, beside, strict=True):
        assert one.ncp.tolist() == other.ncp.tolist() and one.ncp[0] < one.ncp[2]


@pytest.mark.parametrize("threads", [1, 3])
def test_problems_of_all_columns_are_raised(threads: int) -> None:
    with pytest.raises(DataError) as raised:
        read_regions(SPEC, ATTRIBUTES, release("old", "pilot"), COLUMNS, threads)
    assert [str(problem).split()[1] for problem in raised.value.problems] == ["'age':", "'job':"]
