"""What is counted over all rows, against counting by hand; and the sample."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.privacy import PARAMETERS
from anonymize.profiling.measure import BATCH, FEW_VALUES, SAMPLE, TableFacts, Thinned, _Tally, measure
from anonymize.spec import make
from anonymize.table import Source
from tests.examples import some

READING = make({"version": 1, "quasi_identifiers": ["a"]}, PARAMETERS)
CELLS = st.sampled_from(["", "a", "b", "1", "1.5", "NA", "none", "7"])


def facts_of(frame: pl.DataFrame, memory: int = 1 << 30) -> TableFacts:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        frame.write_csv(path)
        with Source.open(READING, path) as source:
            return measure(source, memory)


@settings(max_examples=some(40), deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=20))
def test_counts_are_those_of_all_rows(rows: list[tuple[str, str]]) -> None:
    facts = facts_of(pl.DataFrame(rows, schema=["x", "y"], orient="row"))
    for place, name in enumerate("xy"):
        own = facts.columns[name]
        words = {"", "NA"} | ({"none"} if own.numbers is not None else set())
        counts = Counter(row[place] for row in rows if row[place] not in words)
        assert own.missing == len(rows) - counts.total() and own.distinct == len(counts)
        assert own.singles == sum(count == 1 for count in counts.values())
        assert own.counts.tolist() == sorted(counts.values())
        numbers = [text for text in counts if text[0].isdigit()]
        assert (own.numbers is not None) == (bool(numbers) and len(numbers) == len(counts))


def test_a_table_too_large_for_memory_is_read_in_groups_of_columns() -> None:
    frame = pl.DataFrame(
        {name: [str(number % size) for number in range(500)] for name, size in zip("abc", (500, 7, 2), strict=True)}
    )
    whole, parted = facts_of(frame), facts_of(frame, 4_000)
    assert not parted.hashes and len(whole.hashes) == 3 and parted.rows == 500
    for name in "abc":
        one, other = whole.columns[name], parted.columns[name]
        assert (one.distinct, one.singles, one.texts) == (other.distinct, other.singles, other.texts)


@pytest.mark.parametrize("size", [5, FEW_VALUES + 5])
def test_values_are_counted_alike_in_one_piece_and_in_many(size: int) -> None:
    """Of few values and of many: values come again in later pieces, and new ones in each."""
    values = np.random.default_rng(1).integers(0, size, 3 * size) + np.arange(3 * size) // 4
    hashes = pl.Series(values).hash().to_numpy()
    tally = _Tally()
    for piece in np.array_split(hashes, 7):
        tally.add(piece)
    for found, expected in zip(tally.counted(), np.unique(hashes, return_counts=True), strict=True):
        assert np.array_equal(found, expected)


def test_a_value_is_new_in_the_first_piece_that_has_it() -> None:
    tally = _Tally()
    fresh = [tally.add(np.array(piece, np.uint64)) for piece in ([3, 1, 3], [1, 5, 5, 2], [5, 1, 3], [0])]
    assert fresh[0] is None and [each.tolist() for each in fresh[1:] if each is not None] == [[2, 5], [], [0]]


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=12))
def test_a_sample_has_rows_at_equal_distances(sizes: list[int]) -> None:
    thinned, start = Thinned(), 0
    for size in sizes:
        thinned.add(pl.DataFrame({"row": range(start, start + size)}, schema={"row": pl.Int64}))
        start += size
    rows = thinned.frame()["row"].to_list()
    assert len(rows) <= 2 * SAMPLE and (start <= 2 * SAMPLE) == (len(rows) == start)
    if rows:
        assert rows[0] == 0 and len(set(pl.Series(rows).diff().drop_nulls())) <= 1


def test_values_that_come_again_are_looked_at_once_and_all_others() -> None:
    """A column of few values, with one in its last row that is no number; and one of values that are all different."""
    few = [str(row % 7) for row in range(3 * BATCH)]
    table = pl.DataFrame({"few": few, "bad": [*few[:-1], "seven"], "many": range(3 * BATCH)})
    facts = facts_of(table).columns
    assert facts["few"].numbers is not None and facts["few"].numbers.largest == 6
    assert facts["bad"].numbers is None and facts["bad"].bad == 1
    assert facts["many"].numbers is not None and facts["many"].numbers.largest == 3 * BATCH - 1
