"""Cuts for selections, against the imprecision of the regions of one class at a time; selections on leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.splitting.grow import grow
from anonymize.domain import Domain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import UsageError
from anonymize.spec.blocks import Condition
from anonymize.table import Selection, Table
from anonymize.table.model import leaves
from tests.algorithms.tables import (
    categorical,
    k_anonymity,
    numeric,
    rule_and_batch,
    table_of,
    tables,
    target,
    taxonomy,
    with_workload,
)
from tests.examples import some


def region(domain: Domain, codes: Sequence[int]) -> tuple[int, int]:
    """The leaves that a release shows for a class with these codes."""
    low, high = np.array([min(codes)]), np.array([max(codes)])
    if isinstance(domain, Taxonomy):
        node = int(domain.lca(low, high)[0])
        return int(domain.start[node]), int(domain.stop[node])
    return int(low[0]), int(high[0]) + 1


def overlapping(table: Table, rows: Sequence[int], selection: Selection, regions: list[tuple[int, int]]) -> bool:
    return all(bool(taken[slice(*regions[at])].any()) for at, taken in selection.leaves.items())


def imprecision(table: Table, parts: Sequence[Sequence[int]], regions: Sequence[list[tuple[int, int]]]) -> int:
    """Rows that overlap the selections, less those that are selected; the latter do not depend on the cut."""
    return sum(
        len(rows) * overlapping(table, rows, selection, boxes)
        for rows, boxes in zip(parts, regions, strict=True)
        for selection in table.selections
    )


def saved(table: Table, index: int, start: int, stop: int) -> tuple[int, int]:
    """What a cut of the whole table takes off the imprecision, the other attributes' regions as they are; and the rows
    of its smaller side."""
    codes = table.attributes[index].codes
    inside = (start <= codes) & (codes < stop)
    boxes = [region(attribute.domain, attribute.codes.tolist()) for attribute in table.attributes]
    parts = [np.flatnonzero(inside).tolist(), np.flatnonzero(~inside).tolist()]
    if not all(parts):
        return 0, 0
    regions = []
    for rows in parts:
        its = list(boxes)
        its[index] = region(table.attributes[index].domain, codes[rows].tolist())
        regions.append(its)
    every = list(range(table.rows))
    return imprecision(table, [every], [boxes]) - imprecision(table, parts, regions), min(map(len, parts))


def best(table: Table, minimum: int) -> int:
    """The most that a cut of the whole table can save: at any value of a number, of any child from the rest."""
    found = [0]
    for index, attribute in enumerate(table.attributes):
        domain = attribute.domain
        cuts = [(0, code) for code in range(1, domain.size)]
        if isinstance(domain, Taxonomy):
            low, high = attribute.codes.min(keepdims=True), attribute.codes.max(keepdims=True)
            node = int(domain.lca(low, high)[0])
            cuts = [(int(domain.start[n]), int(domain.stop[n])) for n in range(node) if domain.parent[n] == node]
        gains = [saved(table, index, start, stop) for start, stop in cuts]
        found += [gain for gain, least in gains if least >= minimum]
    return max(found)


@settings(max_examples=some(150))
@given(table=with_workload(tables(max_rows=30, max_attributes=3)), minimum=st.integers(1, 4))
def test_the_cut_that_saves_most_imprecision_is_made(table: Table, minimum: int) -> None:
    rule, batch = rule_and_batch("selection", table, minimum)
    wanted = best(table, minimum) if table.rows >= 2 * minimum else 0
    cuts = rule.choose(batch)
    if wanted:
        index = int(cuts.attribute[0])
        gain, least = saved(table, index, int(cuts.start[0]), int(cuts.stop[0]))
        assert (gain, cuts.ties.tolist()) == (wanted, [0]) and least >= minimum
    else:
        other, batch = rule_and_batch("widest", table, minimum)
        expected = other.choose(batch)
        assert (cuts.attribute.tolist(), cuts.stop.tolist()) == (expected.attribute.tolist(), expected.stop.tolist())


@settings(max_examples=some(40))
@given(table=with_workload(tables()), minimum=st.integers(1, 5))
def test_no_row_is_lost_and_every_class_is_large_enough(table: Table, minimum: int) -> None:
    rule, batch = rule_and_batch("selection", table, minimum)
    partition = grow(batch, rule, None, 1, lambda rows: None)
    assert sorted(partition.order.tolist()) == list(range(table.rows))
    assert partition.sizes.min() >= min(minimum, table.rows)


def selecting(table: Table, **taken: list[bool]) -> Table:
    at = {attribute.name: index for index, attribute in enumerate(table.attributes)}
    selection = Selection({at[name]: np.array(which) for name, which in taken.items()})
    return replace(table, selections=(selection,))


def test_men_over_forty_are_a_class_of_their_own() -> None:
    ages, sexes = [20, 25, 30, 41, 45, 50, 22, 28, 43, 47], list("MMMMMMFFFF")
    sex = taxonomy("F *", "M *", name="sex")
    table = table_of(numeric(ages, "age"), categorical(sexes, sex))
    table = selecting(table, age=[value > 40 for value in sorted(set(ages))], sex=[False, True])
    partition = mondrian.run(table, (k_anonymity(2),), mondrian.Options("selection"), Context()).partition
    selected = {3, 4, 5}
    classes = [set(rows.tolist()) for rows in np.split(partition.order, partition.starts[1:-1])]
    assert all(rows <= selected or not rows & selected for rows in classes)


def test_a_boundary_that_leaves_too_few_rows_is_not_cut() -> None:
    table = selecting(table_of(numeric([1, 2, 3, 4, 5, 6], "x")), x=[True] + [False] * 5)
    rule, batch = rule_and_batch("selection", table, 2)
    assert rule.choose(batch).stop.tolist() == [3], "the median of `widest`"


def test_a_refused_boundary_does_not_count_as_a_try_of_the_other_rule() -> None:
    table = selecting(table_of(numeric([1, 2, 3, 4, 5, 6, 7, 8], "x")), x=[True] * 2 + [False] * 6)
    rule, batch = rule_and_batch("selection", table, 2)
    stops = []
    for attempt in range(3):
        batch.attempts[0, 0] = attempt
        stops.append(int(rule.choose(batch).stop[0]))
    assert stops == [2, 4, 2] and batch.attempts[0, 0] == 2


def test_conditions_on_leaves() -> None:
    domain = taxonomy("a A *", "b A *", "c B *", missing="?")
    assert leaves(domain, Condition.model_validate({"in": ("A", "c")})).tolist() == [True, True, True, False]
    assert leaves(domain, Condition.model_validate({"in": ("?", "nothing")})).tolist() == [False, False, False, True]
    numbers = numeric([1, 2.5, 4, None]).domain
    assert leaves(numbers, Condition.model_validate({"from": 2, "to": 4})).tolist() == [False, True, True, False]
    assert leaves(numbers, Condition.model_validate({"from": 2})).tolist() == [False, True, True, False]
    assert leaves(numbers, Condition.model_validate({"in": (1.0, 3.0)})).tolist() == [True, False, False, False]


@pytest.mark.parametrize("cut", ["selection", "infogain", "lsd", "mixed"])
def test_without_a_workload_the_rule_is_refused(cut: str) -> None:
    with pytest.raises(UsageError, match=f"--cut {cut} needs"):
        mondrian.run(table_of(numeric([1, 2])), (k_anonymity(1),), mondrian.Options(cut), Context())


@pytest.mark.parametrize(
    ("labels", "numbers", "selections", "cut"),
    [
        (1, 0, False, "infogain"),
        (2, 0, True, "selection, infogain"),
        (0, 1, False, "lsd"),
        (1, 2, True, "selection, mixed"),
        (0, 0, True, "selection, rate"),
        (0, 0, False, "rate"),
    ],
)
def test_auto_takes_what_the_workload_asks_for(labels: int, numbers: int, selections: bool, cut: str) -> None:
    targets = [target(["a", "b"] * 3, f"l{n}") for n in range(labels)]
    targets += [target([1, 2, 3] * 2, f"n{n}") for n in range(numbers)]
    table = table_of(numeric(list(range(6)), "x"), targets=targets)
    table = selecting(table, x=[True] * 2 + [False] * 4) if selections else table
    assert mondrian.run(table, (k_anonymity(2),), mondrian.Options(), Context()).cut == cut
