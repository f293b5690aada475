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


GROUPED = {"decimal": ",", "thousands": "."}


@pytest.mark.parametrize(
    ("cells", "notation", "first", "last"),
    [
        (["19,8", "30,25", "19,80"], {"decimal": ","}, [0, 1, 0], [0, 1, 0]),  # kept as the table has them
        (["19.8", "30.25", "[19.8-30.25]"], {"decimal": ","}, [0, 1, 0], [0, 1, 1]),  # generalized
        (["*", "30,25", "*"], {"decimal": ","}, [0, 1, 0], [1, 1, 1]),
        (["1.980", "3.025", "1980"], GROUPED, [0, 1, 0], [0, 1, 0]),
        (["1980", "3025", "[1980-3025]"], GROUPED, [0, 1, 0], [0, 1, 1]),
    ],
)
def test_numbers_are_read_as_the_table_has_them_or_with_a_point(
    cells: list[str], notation: dict[str, str], first: list[int], last: list[int]
) -> None:
    definition = {"type": "numeric", **notation}
    spec = make({"version": 1, "quasi_identifiers": {"size": definition}}, PARAMETERS).of_release()
    sizes = numeric([1980, 3025] if notation == GROUPED else [19.8, 30.25], "size")
    (regions,), (codes,) = read_regions(spec, [sizes], pl.DataFrame({"size": cells}), {"size": ("size", "size")})
    assert regions.first[codes].tolist() == first and regions.last[codes].tolist() == last


def test_commas_of_a_number_that_is_no_value_are_refused() -> None:
    content = {"version": 1, "quasi_identifiers": {"size": {"type": "numeric", "decimal": ","}}}
    frame = pl.DataFrame({"size": ["19,8", "20,1"]})
    with pytest.raises(DataError, match="2 distinct texts"):
        read_regions(
            make(content, PARAMETERS).of_release(), [numeric([19.8, 30.25], "size")], frame, {"size": ("size", "size")}
        )
