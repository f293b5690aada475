"""Growing part by part: the classes of the whole search, row for row, whatever the parts, chunks and threads."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.cuts import RULES
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting.grow import FINISHED, grow
from anonymize.algorithms.splitting.parts import CodedRows, Histograms, grow_by_parts, upper_parts
from anonymize.classes import Runs
from anonymize.table import Table
from tests.algorithms.tables import rule_and_batch, tables
from tests.examples import some

COUNTED = [name for name, rule in RULES.items() if rule.BY_COUNTS]
minimums = st.one_of(st.integers(1, 5), st.integers(5, 40))


def sizes_of(table: Table) -> tuple[int, ...]:
    return tuple(attribute.domain.size for attribute in table.attributes)


def test_the_rules_of_one_attribute_at_a_time_cut_by_counts() -> None:
    assert COUNTED == ["rate", "widest", "entropy", "ncp"]


@pytest.mark.parametrize("rule", COUNTED)
@settings(max_examples=some(120))
@given(table=tables(), minimum=minimums, limit=st.integers(1, 200), threads=st.integers(1, 3))
def test_classes_are_those_of_the_whole_search(rule: str, table: Table, minimum: int, limit: int, threads: int) -> None:
    chooser, batch = rule_and_batch(rule, table, minimum, False)
    done: list[int] = []
    whole = grow(batch, chooser, None, 1, lambda rows: None)
    chooser, batch = rule_and_batch(rule, table, minimum, False)
    parted = grow_by_parts(batch, sizes_of(table), chooser, threads, done.append, limit)
    assert np.array_equal(parted.order, whole.order)
    assert np.array_equal(parted.starts, whole.starts)
    assert sum(done) == table.rows


@settings(max_examples=some(80))
@given(table=tables(), minimum=minimums, chunk=st.integers(1, 50), cells=st.integers(1, 30), limit=st.integers(1, 100))
def test_neither_chunks_nor_passes_show(table: Table, minimum: int, chunk: int, cells: int, limit: int) -> None:
    columns, sizes = tuple(attribute.codes for attribute in table.attributes), sizes_of(table)
    outcomes = []
    for source in (CodedRows(columns, sizes), CodedRows(columns, sizes, chunk, cells)):
        chooser, _ = rule_and_batch("rate", table, minimum, False)
        parts = upper_parts(source, chooser, len(sizes), limit)
        order, starts = source.scattered(parts.numbers)
        outcomes.append((parts.numbers.tolist(), parts.sizes.tolist(), order.tolist(), starts.tolist()))
    assert outcomes[0] == outcomes[1]


@settings(max_examples=some(80))
@given(table=tables(), minimum=minimums, limit=st.integers(1, 100))
def test_a_part_that_is_larger_than_the_limit_is_cut_no_further(table: Table, minimum: int, limit: int) -> None:
    chooser, _ = rule_and_batch("rate", table, minimum, False)
    source = CodedRows(tuple(attribute.codes for attribute in table.attributes), sizes_of(table))
    parts = upper_parts(source, chooser, len(table.attributes), limit)
    large = np.sort(parts.numbers[parts.sizes > limit])
    known = parts.taken(np.flatnonzero(np.isin(parts.numbers, large))[np.argsort(parts.numbers[parts.sizes > limit])])
    if len(large):
        again = Histograms(source.counts(large), known.sizes, known.closed, known.attempts)
        assert (chooser.choose(cast(Batch, again)).attribute == FINISHED).all()


def test_counts_say_the_boxes_and_the_codes_of_some_classes() -> None:
    runs = Runs(np.array([0, 0, 1, 2, 2]), np.array([3, 7, 5, 0, 9]), np.array([2, 1, 4, 1, 1]))
    shape = (3, 1)
    classes = Histograms((runs,), np.array([3, 4, 2]), np.zeros(shape, np.bool_), np.zeros(shape, np.uint8))
    assert classes.low.tolist() == [[3], [5], [0]]
    assert classes.high.tolist() == [[7], [5], [9]]
    some = classes.runs_of(0, np.array([0, 2]), 10)
    assert (some.classes.tolist(), some.codes.tolist()) == ([0, 0, 1, 1], [3, 7, 0, 9])
    code, below, upto = classes.ranked(0, np.array([0, 2]), 10, np.array([2, 0]))
    assert (code.tolist(), below.tolist(), upto.tolist()) == ([7, 0], [2, 0], [3, 1])


@settings(max_examples=20)
@given(table=tables(), cells=st.integers(1, 30))
def test_some_attributes_are_counted_as_all_are(table: Table, cells: int) -> None:
    source = CodedRows(tuple(attribute.codes for attribute in table.attributes), sizes_of(table), cells=cells)
    every, some = source.counts(np.zeros(1, np.int64)), list(reversed(range(len(table.attributes))))
    for attribute, runs in zip(some, source.counts(np.zeros(1, np.int64), some), strict=True):
        assert np.array_equal(runs.codes, every[attribute].codes)
        assert np.array_equal(runs.counts, every[attribute].counts)
        assert np.array_equal(runs.counts, np.unique(table.attributes[attribute].codes, return_counts=True)[1])
