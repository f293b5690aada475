"""A judge and its tally against counting by hand: rows, individuals, sensitive values and people of a population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.judging import Judge
from anonymize.privacy import Assessment, Requirement
from anonymize.table import Table
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of

CLASSES = 4
ROWS = st.lists(st.tuples(st.integers(0, CLASSES - 1), st.sampled_from("xyz"), st.integers(0, 5)), min_size=1)
"""Class, sensitive value and individual of each row."""
Rows = list[tuple[int, str, int]]
WANTED = (k_anonymity(2), requirement("distinct-l-diversity", "s0", l=2))


def table(rows: Rows, *, individuals: bool) -> Table:
    owners, values, whom = zip(*rows, strict=True)
    made = table_of(numeric(owners), sensitive=[sensitive(values, "s0")])
    return replace(made, units=np.array(whom, np.uint32)) if individuals else made


def by_hand(rows: Rows, classes: Sequence[Sequence[int]], *, individuals: bool) -> list[bool]:
    """Whether each class, given by the cells that it is made of, has two members and two values."""
    found = []
    for cells in classes:
        members = [(whom if individuals else number, value) for number, (cell, value, whom) in enumerate(rows)
                   if cell in cells]  # fmt: skip
        found.append(len({whom for whom, _ in members}) >= 2 and len({value for _, value in members}) >= 2)
    return found


@given(ROWS, st.booleans())
def test_classes_of_rows(rows: Rows, individuals: bool) -> None:
    labels = np.array([row[0] for row in rows])
    met = Judge(table(rows, individuals=individuals), WANTED).meets(labels, CLASSES)
    assert met.tolist() == by_hand(rows, [[cell] for cell in range(CLASSES)], individuals=individuals)


@given(ROWS, st.booleans(), st.data())
def test_some_of_the_rows(rows: Rows, individuals: bool, data: st.DataObject) -> None:
    """Rows in any order, each in whatever class it is put in."""
    picked = data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True, min_size=1))
    judge = Judge(table(rows, individuals=individuals), WANTED)
    some = [rows[number] for number in picked]
    met = judge.meets(np.array([row[0] for row in some]), CLASSES, judge.pick(np.array(picked)))
    assert met.tolist() == by_hand(some, [[cell] for cell in range(CLASSES)], individuals=individuals)


@given(ROWS, st.booleans(), st.lists(st.integers(-1, 2), min_size=CLASSES, max_size=CLASSES))
def test_classes_of_cells(rows: Rows, individuals: bool, into: list[int]) -> None:
    """Cells that go to -1 are in no class."""
    labels = np.array([row[0] for row in rows])
    tally = Judge(table(rows, individuals=individuals), WANTED).tally(labels, CLASSES)
    classes = [[cell for cell, to in enumerate(into) if to == number] for number in range(3)]
    assert tally.meets(np.array(into), 3).tolist() == by_hand(rows, classes, individuals=individuals)
    inside = [[number if not individuals else row[2] for number, row in enumerate(rows) if row[0] in cells]
              for cells in classes]  # fmt: skip
    assert tally.sizes(np.array(into), 3).tolist() == [len(set(members)) for members in inside]
    assert tally.merge(np.array(into), 3).counts.tolist() == [sum(row[0] in cells for row in rows) for cells in classes]


@given(ROWS, st.booleans(), st.data())
def test_one_class_of_the_rows_that_are_released(rows: Rows, individuals: bool, data: st.DataObject) -> None:
    picked = sorted(data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True, min_size=1)))
    judge = Judge(table(rows, individuals=individuals), WANTED, np.array(picked, np.uint32))
    groups = judge.one_class()
    some = [rows[number] for number in picked]
    assert [all(Assessment(groups, each).satisfied for each in WANTED)] == by_hand(
        some, [range(CLASSES)], individuals=individuals
    )


@pytest.mark.parametrize(("released", "distance"), [(None, 0.5), ([0, 1], 0.0)])
def test_classes_are_compared_with_the_rows_that_are_released(released: list[int] | None, distance: float) -> None:
    rows: Rows = [(0, "x", 0), (0, "x", 1), (1, "y", 2), (1, "y", 3)]
    asked: tuple[Requirement, ...] = (requirement("t-closeness", "s0", t=1.0, distance="equal"),)
    judge = Judge(table(rows, individuals=False), asked, None if released is None else np.array(released, np.uint32))
    groups = judge.groups(np.zeros(2, np.int64), 1, judge.pick(np.array([0, 1])))
    assert Assessment(groups, asked[0]).achieved["t"] == pytest.approx(distance)
