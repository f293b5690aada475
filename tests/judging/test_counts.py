"""Rows that stand for several are judged as so many rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.feasibility import no_generalization
from anonymize.judging import Judge
from anonymize.metrics.research_value import leaf_rows
from anonymize.table import Table
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of

CELLS = 3
ROWS = st.lists(
    st.tuples(st.integers(0, CELLS - 1), st.sampled_from(["x", "y", "z", None]), st.integers(1, 5)),
    min_size=1,
    max_size=9,
)
"""Cell, sensitive value, and how many rows have both."""
WANTED = (k_anonymity(3), requirement("t-closeness", "s0", t=0.3), requirement("entropy-l-diversity", "s0", l=2))


def both(rows: list[tuple[int, str | None, int]]) -> tuple[Table, Table, list[int]]:
    """A table in which rows have counts, the same one written out, and which row each of its rows is."""
    cells, values, counts = zip(*rows, strict=True)
    short = table_of(numeric(cells), sensitive=[sensitive(values, "s0")])
    of_row = np.repeat(np.arange(len(rows)), counts).tolist()
    counted = tuple(replace(each, counts=np.array(counts)) for each in short.attributes)
    long = replace(
        short,
        rows=len(of_row),
        attributes=tuple(replace(each, codes=each.codes[of_row]) for each in short.attributes),
        sensitive=tuple(replace(each, codes=each.codes[of_row]) for each in short.sensitive),
    )
    return replace(short, attributes=counted), long, of_row


@given(ROWS)
def test_same_as_written_out(rows: list[tuple[int, str | None, int]]) -> None:
    short, long, of_row = both(rows)
    one, other = Judge(short, WANTED), Judge(long, WANTED)
    cells = np.array([cell for cell, _, _ in rows])
    assert one.meets(cells, CELLS).tolist() == other.meets(cells[of_row], CELLS).tolist()
    tallies = one.tally(cells, CELLS), other.tally(cells[of_row], CELLS)
    assert tallies[0].counts.tolist() == tallies[1].counts.tolist()
    merged = np.array([0, 0, 1])
    assert tallies[0].meets(merged, 2).tolist() == tallies[1].meets(merged, 2).tolist()
    assert one.one_class().sizes.tolist() == [len(of_row)]
    some = np.arange(len(rows), dtype=np.uint32)[::2]
    written_out = np.flatnonzero(np.isin(of_row, some)).astype(np.uint32)
    parts = Judge(short, WANTED, some), Judge(long, WANTED, written_out)
    assert parts[0].grants(cells[some], CELLS).tolist() == parts[1].grants(cells[of_row][written_out], CELLS).tolist()
    assert leaf_rows(short.attributes[0]).tolist() == leaf_rows(long.attributes[0]).tolist()


def test_why_nothing_is_safe() -> None:
    """Rows that stand for several are not counted one by one, nor is it said that some could be suppressed alone."""
    short, _, _ = both([(0, "x", 4), (1, "x", 5)])
    error = no_generalization(short, (k_anonymity(10),), 0)
    assert "nearest feasible: k=9" in str(error.problems[0]) and "mondrian" not in str(error.problems[0])
