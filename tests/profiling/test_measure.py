"""What is counted over all rows, against counting by hand; and the sample."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.privacy import PARAMETERS
from anonymize.profiling.measure import BATCH, SAMPLE, TableFacts, Thinned, measure
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
