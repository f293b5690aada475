"""What all cut rules share, the attribute of highest score is cut, and the next one where it cannot be; cuts for
selections, against the imprecision of the regions of one class at a time; selections on leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.cuts import BY_TARGET, RULES, Candidates, CutRule, rounded
from anonymize.algorithms.cuts.supervised import ByTarget
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting.grow import AGAIN, FINISHED, grow
from anonymize.classes import Ints
from anonymize.domain import Domain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import UsageError
from anonymize.records import dataclass
from anonymize.spec.blocks import Condition
from anonymize.table import Selection, Table
from anonymize.table.model import leaves
from tests.algorithms.tables import (
    categorical,
    domains,
    k_anonymity,
    numeric,
    rule_and_batch,
    table_of,
    tables,
    target,
    taxonomy,
    weights,
    whole,
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


# --- what all rules share ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fixed(CutRule):
    """Attributes in order of their weights."""

    ID: ClassVar[str] = "fixed"

    def candidates(self, batch: Batch, attribute: int, classes: Ints) -> Candidates:
        return Candidates.near_median(np.full(len(classes), self.weights[attribute]))


def fixed(
    minimum: int, *columns: list[float | None], weight: list[float], relaxed: bool = False
) -> tuple[Fixed, Batch]:
    table = table_of(*(numeric(values, f"q{at}", weight[at]) for at, values in enumerate(columns)))
    return Fixed(domains(table), weights(table), minimum, relaxed), whole(table)


def test_registered_rules_are_known_by_their_id() -> None:
    assert all(name == rule.ID for name, rule in RULES.items())


def test_the_highest_score_is_cut_and_the_first_attribute_at_a_tie() -> None:
    values: list[float | None] = [1, 2, 3, 4]
    for weight, chosen in (([1.0, 2.0, 1.0], 1), ([1.0, 1.0, 1.0], 0), ([1.0, 2.0, 2.0], 1)):
        rule, batch = fixed(2, values, values, values, weight=weight)
        assert rule.choose(batch).attribute.tolist() == [chosen]


def test_where_the_best_cannot_be_cut_it_is_closed_and_the_next_is_taken() -> None:
    rule, batch = fixed(2, [1, 2, 2, 2], [1, 1, 2, 2], weight=[2.0, 1.0])
    assert rule.choose(batch).attribute.tolist() == [AGAIN]
    assert batch.closed.tolist() == [[True, False]]
    assert rule.choose(batch).attribute.tolist() == [1]


@pytest.mark.parametrize(
    ("values", "minimum"), [([1, 1, 1, 1], 2), ([1, 2, 3], 2), ([None, None], 1), ([1], 1), ([5, 5], 1)]
)
def test_nothing_to_cut_is_finished(values: list[float | None], minimum: int) -> None:
    rule, batch = fixed(minimum, values, weight=[1.0])
    assert rule.choose(batch).attribute.tolist() == [FINISHED]


def test_after_refusals_other_places_are_tried_and_then_other_attributes() -> None:
    rule, batch = fixed(2, list(range(16)), list(range(16)), weight=[2.0, 1.0])
    places = []
    for attempt in range(rule.tries):
        batch.attempts[0, 0] = attempt
        cuts = rule.choose(batch)
        assert cuts.attribute.tolist() == [0]
        places.append(int(cuts.stop[0]))
    assert places == [8, 4, 12] and not batch.closed.any()
    batch.attempts[0, 0] = rule.tries
    assert rule.choose(batch).attribute.tolist() == [1]


def test_a_place_that_leaves_too_few_rows_closes_nothing_after_the_median_was_refused() -> None:
    rule, batch = fixed(6, list(range(16)), weight=[1.0])
    batch.attempts[0, 0] = 1
    assert rule.choose(batch).attribute.tolist() == [AGAIN]
    assert not batch.closed.any() and batch.attempts.tolist() == [[2]]


def test_relaxed_parts_equal_values_in_the_middle() -> None:
    rule, batch = fixed(2, [1, 2, 2, 2, 2, 3], weight=[1.0], relaxed=True)
    cuts = rule.choose(batch)
    assert (cuts.attribute.tolist(), cuts.stop.tolist(), cuts.ties.tolist()) == ([0], [1], [2])


def test_scores_that_differ_by_the_last_digits_alone_are_equal() -> None:
    """Of a tenth added up ten times, of infinities and of zero; what differs in the twelfth digit stays different."""
    added = np.add.accumulate(np.full(10, 0.1))[-1]
    scores = np.array([added, 1.0, np.inf, -np.inf, 0.0, -added, 1 + 1e-11, 1e300 * added, 1e-300])
    made = rounded(scores)
    assert added != 1.0 and made[0] == made[1] == -made[5] == 1.0
    assert made[6] > 1.0 and made[7] == rounded(np.array([1e300]))[0]
    assert made[2:5].tolist() == [np.inf, -np.inf, 0.0] and made[8] == pytest.approx(1e-300, rel=1e-11)


# --- registry ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_the_id_by_which_it_is_known(name: str) -> None:
    assert name == RULES[name].ID and RULES[name] is RULES[name]


def test_rules_of_targets() -> None:
    assert set(BY_TARGET) == {name for name, rule in RULES.items() if issubclass(rule, ByTarget)}


def test_what_is_no_rule() -> None:
    assert "none" not in RULES and len(RULES) == len(list(RULES))
    with pytest.raises(KeyError):
        RULES["none"]
