"""Cuts for targets, against the impurity of the two parts of every candidate cut of one class at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonymize.algorithms.cuts import BY_TARGET
from anonymize.algorithms.cuts import candidates as module
from anonymize.algorithms.cuts.supervised import LABELS_IN_TURN, ByTarget, InfoGain, LabelImpurity
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.domain import Domain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.table import Table, TargetColumn
from tests.algorithms.tables import (
    batch_of,
    categorical,
    numeric,
    rule_and_batch,
    table_of,
    tables,
    target,
    taxonomy,
    with_workload,
)
from tests.examples import some

COUNTS = {"infogain": (True, False), "lsd": (False, True), "mixed": (True, True)}


def entropy(labels: Sequence[Any]) -> float:
    """Bits, times the rows."""
    return -sum(n * math.log2(n / len(labels)) for n in Counter(labels).values())


def squared_error(numbers: Sequence[float]) -> float:
    present = [number for number in numbers if not math.isnan(number)]
    return sum((number - sum(present) / len(present)) ** 2 for number in present)


def impurity(rule: str, column: TargetColumn, rows: Sequence[int]) -> float:
    """What a rule calls the impurity of some rows, by its formula."""
    labels, numbers = COUNTS[rule]
    every = range(len(column.codes))
    if column.numeric and numbers and column.values is not None:
        cells = column.values[column.codes]
        whole = squared_error(cells.tolist()) / max(int((~np.isnan(cells)).sum()), 1)
        return squared_error(cells[list(rows)].tolist()) / (whole or 1.0)
    if not column.numeric and labels:
        whole = entropy(column.codes.tolist()) / len(every) if rule == "mixed" else 1.0
        return entropy(column.codes[list(rows)].tolist()) / (whole or 1.0)
    return 0.0


def sides(domain: Domain, codes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Every candidate interval of codes that is parted from the rest."""
    present = sorted(set(codes))
    if not isinstance(domain, Taxonomy):
        yield from ((0, code) for code in present[1:])
        return
    covering = int(domain.lca(np.array(present[:1]), np.array(present[-1:]))[0])
    children = [node for node in range(covering) if domain.parent[node] == covering]
    spans = [(int(domain.start[node]), int(domain.stop[node])) for node in children]
    spans = sorted(span for span in spans if any(span[0] <= code < span[1] for code in present))
    yield from ((0, start) for start, _ in spans[1:])
    yield from spans


def best_gain(rule: str, table: Table, rows: Sequence[int], minimum: int) -> float:
    """The largest share of the impurity of some rows that a candidate cut of the first attribute saves."""
    attribute = table.attributes[0]
    codes = attribute.codes[list(rows)].tolist()
    before = sum(impurity(rule, column, rows) for column in table.targets)
    before = before if before > 1e-9 else 0.0
    best = 0.0
    for start, stop in sides(attribute.domain, codes):
        parts = [[r for r, c in zip(rows, codes, strict=True) if (start <= c < stop) == side] for side in (True, False)]
        if min(map(len, parts)) >= minimum and before > 0:
            after = sum(impurity(rule, column, part) for column in table.targets for part in parts)
            best = max(best, (before - after) / before)
    return best


@st.composite
def classes_with_targets(draw: st.DrawFn) -> tuple[Table, list[list[int]]]:
    """A table of one attribute, and classes of its rows in each of which it has two values at least."""
    table = draw(with_workload(tables(max_attributes=1)))
    labels = np.random.default_rng(draw(st.integers(0, 99))).integers(0, draw(st.integers(1, 4)), table.rows)
    groups = [np.flatnonzero(labels == label).tolist() for label in range(4)]
    groups = [rows for rows in groups if len(set(table.attributes[0].codes[rows].tolist())) > 1]
    assume(groups)
    return table, groups


def batch_of_groups(table: Table, groups: list[list[int]], columns: tuple[np.ndarray[Any, Any], ...]) -> Batch:
    rows = [row for group in groups for row in group]
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    found = batch_of(labels.tolist(), table.attributes[0].codes[rows])
    return replace(found, targets=tuple(codes[rows] for codes in columns))


@pytest.mark.parametrize("rule", BY_TARGET)
@pytest.mark.parametrize("dense", [True, False])
@settings(max_examples=some(60))
@given(case=classes_with_targets(), minimum=st.integers(1, 5))
def test_the_best_of_all_candidate_cuts_is_found(
    rule: str, dense: bool, case: tuple[Table, list[list[int]]], minimum: int
) -> None:
    table, groups = case
    groups = [rows for rows in groups if len(rows) >= 2 * minimum]
    assume(groups)
    chooser, whole = rule_and_batch(rule, table, minimum)
    batch = batch_of_groups(table, groups, whole.targets)
    with patch.object(module, "DENSE", 1 << 16 if dense else 0), patch.object(module, "DENSE_PER_ROW", 4 * dense):
        found = chooser.candidates(batch, 0, np.arange(batch.count))
    for number, rows in enumerate(groups):
        wanted = best_gain(rule, table, rows, minimum)
        if wanted <= 1.1e-6:
            assert found.score[number] < 0
            continue
        assert found.score[number] == pytest.approx(wanted, abs=1e-8)
        codes = table.attributes[0].codes[rows]
        inside = (found.start[number] <= codes) & (codes < found.stop[number])
        parts = [[row for row, its in zip(rows, inside, strict=True) if its == side] for side in (True, False)]
        assert min(map(len, parts)) >= minimum
        before = sum(impurity(rule, column, rows) for column in table.targets)
        after = sum(impurity(rule, column, part) for column in table.targets for part in parts)
        assert (before - after) / before == pytest.approx(wanted, abs=1e-8)


def test_information_gain_of_a_table_worked_by_hand() -> None:
    """Six rows, labels - - + + + -, k = 2: 1 bit before; after two rows 2/3 of 0.811 bits, after four 4/6 of 1."""
    table = table_of(numeric([1, 2, 3, 4, 5, 6]), targets=[target(["-", "-", "+", "+", "+", "-"])])
    rule, batch = rule_and_batch("infogain", table, 2)
    found = rule.candidates(batch, 0, np.array([0]))
    assert (found.start.tolist(), found.stop.tolist()) == ([0], [2])
    assert found.score[0] == pytest.approx(1 - 4 / 6 * entropy("+++-") / 4)


def test_least_squares_of_a_table_worked_by_hand() -> None:
    """1, 1, 1, 9, 9, 9 and a row without a number: cut after the third row, nothing is left of the error."""
    table = table_of(numeric([1, 2, 3, 4, 5, 6, 7]), targets=[target([1, 1, 1, 9, None, 9, 9])])
    rule, batch = rule_and_batch("lsd", table, 2)
    found = rule.candidates(batch, 0, np.array([0]))
    assert (found.stop.tolist(), found.score.tolist()) == ([3], [1.0])


def test_the_unit_of_a_number_does_not_matter() -> None:
    first, second = [1, 2, 3, 8, 9, 10], [3, 1, 2, 1, 3, 9]
    stops = []
    for unit in (1, 1000):
        targets = [target(first, "a"), target([unit * value for value in second], "b")]
        rule, batch = rule_and_batch("lsd", table_of(numeric([1, 2, 3, 4, 5, 6]), targets=targets), 1)
        stops.append(rule.candidates(batch, 0, np.array([0])).stop.tolist())
    assert stops[0] == stops[1]


def test_where_no_change_of_label_is_allowed_the_nearest_place_is_cut() -> None:
    """The one change of label leaves too few rows; of the three places that are allowed the last saves most."""
    table = table_of(numeric(list(range(8))), targets=[target(["-"] * 7 + ["+"])])
    rule, batch = rule_and_batch("infogain", table, 2)
    cuts = rule.choose(batch)
    assert (cuts.attribute.tolist(), cuts.stop.tolist()) == ([0], [6])


def test_a_child_in_the_middle_is_parted_from_its_siblings() -> None:
    domain = taxonomy("a *", "b *", "c *")
    table = table_of(categorical(list("aabbcc"), domain), targets=[target(list("--++--"))])
    rule, batch = rule_and_batch("infogain", table, 2)
    cuts = rule.choose(batch)
    assert (cuts.attribute.tolist(), cuts.start.tolist(), cuts.stop.tolist()) == ([0], [1], [2])


def test_the_attribute_that_gains_is_cut_whatever_the_weights() -> None:
    wide, telling = numeric([1, 9, 2, 8], "wide", weight=9.0), numeric([1, 1, 2, 2], "telling")
    rule, batch = rule_and_batch("infogain", table_of(wide, telling, targets=[target(["-", "-", "+", "+"])]), 2)
    assert rule.choose(batch).attribute.tolist() == [1]


def test_where_nothing_gains_the_widest_range_is_cut() -> None:
    narrow, wide = numeric([1, 1, 2, 2, 9], "narrow"), numeric([1, 2, 8, 9, 9], "wide")
    table = table_of(replace(narrow, weight=0.5), wide, targets=[target(["-"] * 5)])
    rule, batch = rule_and_batch("infogain", table, 2)
    assert rule.choose(batch).attribute.tolist() == [1]


def test_after_a_refusal_a_quarter_of_the_rows_stays_on_either_side() -> None:
    labels = ["+", "+", *"-" * 5, "+", *"-" * 8]
    table = table_of(numeric(list(range(16))), targets=[target(labels)])
    rule, batch = rule_and_batch("infogain", table, 2)
    stops = []
    for attempt in range(rule.tries):
        batch.attempts[0, 0] = attempt
        stops.append(int(rule.choose(batch).stop[0]))
    assert stops == [2, 8, 12, 8, 4]


@settings(max_examples=some(40))
@given(st.data())
def test_few_labels_and_many_are_counted_alike(data: st.DataObject) -> None:
    table, groups = data.draw(classes_with_targets())
    labels = tuple(column for column in table.targets if not column.numeric and column.size <= LABELS_IN_TURN)
    assume(labels)
    table = replace(table, targets=labels)
    chooser, whole = rule_and_batch("infogain", table, 1)
    assert isinstance(chooser, InfoGain)
    one_by_one = [each for each in chooser.targets if isinstance(each, LabelImpurity)]
    all_at_once = replace(chooser, targets=[replace(each, few=0) for each in one_by_one])
    few, many = (
        rule.candidates(batch_of_groups(table, groups, whole.targets), 0, np.arange(len(groups)))
        for rule in (chooser, all_at_once)
    )
    np.testing.assert_allclose(few.score, many.score, atol=1e-8)


@settings(max_examples=some(30))
@given(with_workload(tables()), st.sampled_from(list(BY_TARGET)), st.integers(1, 5), st.integers(4, 16))
def test_large_classes_are_judged_by_a_sample_and_still_cut_soundly(
    table: Table, rule: str, minimum: int, limit: int
) -> None:
    chooser, batch = rule_and_batch(rule, table, minimum)
    sampling = replace(cast(ByTarget, chooser), exact=False)
    with patch.object(module, "SAMPLE", limit), patch.object(module, "BINS_BITS", 1):
        partition = grow(batch, sampling, None, 1, lambda rows: None)
    assert sorted(partition.order.tolist()) == list(range(table.rows))
    assert partition.sizes.min() >= min(minimum, table.rows)
