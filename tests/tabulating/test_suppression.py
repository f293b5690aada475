"""Suppression: which groups are unsafe, by hand; and what an attacker can tell of them, by another linear program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from anonymize.errors import InfeasibleError
from anonymize.spec.tabulation import DominanceRule, SuppressionRules, TabulatedMeasure
from anonymize.tabulating import secondary
from anonymize.tabulating.cells import Bools, TableGrid
from anonymize.tabulating.counting import CellValues, count
from anonymize.tabulating.suppression import COUNTS, Blanks, _layer, is_count, protection, suppress
from tests.tabulating.systems import flat, paired, random_system, tables, values_of

BOTH = TabulatedMeasure(by=("a", "b"), count=True)


def cell(*contributions: float) -> CellValues:
    """A group of these contributions alone."""
    grid = TableGrid((flat("a", np.zeros(len(contributions), np.int64)),))
    values = count(grid, [("a",)], np.array(contributions, np.float64), None, 3)
    first = slice(0, 1)
    return CellValues(
        values.cells[first],
        values.value[first],
        values.contributors[first],
        values.whole[first],
        values.largest[first],
        values.sole[first],
    )


def needed(rules: SuppressionRules, *contributions: float) -> tuple[bool, float, float]:
    result = protection(cell(*contributions), rules, rules.minimum or 5, counts=False)
    return bool(result.unsafe[0]), float(result.upper[0]), float(result.lower[0])


def test_the_p_percent_rule_asks_for_what_is_lacking_to_p_percent_of_the_largest() -> None:
    rules = SuppressionRules(minimum=2, p=10)
    # 1000 - 700 - 250 = 50 < 70: the second contributor tells the first to within 50.
    assert needed(rules, 700, 250, 50) == (True, 20, 20)
    assert needed(rules, 700, 230, 70) == (False, 0, 0)


def test_dominance_asks_for_a_value_of_which_the_largest_are_k_percent() -> None:
    rules = SuppressionRules(minimum=2, dominance=DominanceRule(n=2, k=80))
    # (600 + 300) / 0.8 = 1125.
    assert needed(rules, 600, 300, 100) == (True, 125, 125)
    assert needed(rules, 500, 300, 200) == (False, 0, 0)


def test_a_sum_of_too_few_individuals_stays_uncertain_by_a_share_of_it() -> None:
    assert needed(SuppressionRules(minimum=4, range=25), 50, 40, 30) == (True, 30, 30)


def test_a_lone_individual_with_nothing_is_protected_as_well() -> None:
    assert needed(SuppressionRules(minimum=3), 0.0) == (True, 1, 0)


def test_a_count_may_be_anything_up_to_the_minimum() -> None:
    result = protection(cell(1, 1, 1), SuppressionRules(minimum=5), 5, counts=True)
    assert (result.unsafe[0], result.upper[0], result.lower[0]) == (True, 2, 3)


def test_rows_of_one_individual_are_one_contribution() -> None:
    grid = TableGrid((flat("a", np.zeros(6, np.int64)),))
    values = count(grid, [("a",)], np.ones(6), np.array([0, 0, 0, 0, 1, 1]), 2)
    assert (values.value[0], values.contributors[0], values.largest[0].tolist()) == (6, 2, [4, 2])


# --- what an attacker can tell ----------------------------------------------------------------------------------------


def intervals(
    grid: TableGrid, values: CellValues, blank: np.ndarray, groupings: list[tuple[str, ...]], known: int | None = None
) -> Iterator[tuple[int, float, float]]:
    """The least and the most of each blank cell. Unlike the program and its check, this one has the finest cells as its
    variables and no equations between totals: every value that is published is a sum over them."""
    finest = np.array([[column.leaf.max() + 1] for column in grid.columns]).ravel()
    leaves = np.indices(tuple(finest)).reshape(len(finest), -1)
    members = np.zeros((len(values.cells), leaves.shape[1]))
    for by in groupings:
        cells, shape = grid.cells(by), None
        for place in np.ndindex(cells.shape):
            shape = np.ones(leaves.shape[1], bool)
            for axis, name in enumerate(by):
                index = next(n for n, each in enumerate(grid.columns) if each.name == name)
                above = np.array([place[axis] in column for column in grid.columns[index].levels.T])
                shape &= above[leaves[index]]
            members[np.searchsorted(values.cells, cells[place])] = shape
    sure = ~blank if known is None else ~blank | (np.arange(len(blank)) == known)
    for number in np.flatnonzero(blank):
        ends = [
            linprog(sign * members[number], A_eq=members[sure], b_eq=values.value[sure], bounds=(0, None))
            for sign in (1, -1)
        ]
        yield int(number), ends[0].fun, -ends[1].fun if ends[1].status == 0 else np.inf


@pytest.mark.parametrize("seed", range(20))
def test_intervals_are_as_wide_as_the_rules_ask(seed: int) -> None:
    grid, tabulate, numbers = random_system(seed)
    values = values_of(grid, tabulate, numbers)
    blanks = suppress(grid, tabulate, 4, values)
    assert all(pattern.proved for pattern in blanks.patterns)
    for name in values:
        check_wide(grid, values[name], blanks, name, [each.by for each in tabulate.tables])


def check_wide(
    grid: TableGrid, values: CellValues, blanks: Blanks, name: str, groupings: list[tuple[str, ...]]
) -> None:
    rules = SuppressionRules(minimum=4, p=15)
    needs = protection(values, rules, 4, counts=is_count(name))
    own = [by for by in groupings if np.isin(grid.cells(by), values.cells).all()]
    assert blanks.blank[name][needs.unsafe].all()
    for number, low, high in intervals(grid, values, blanks.blank[name], own):
        if needs.unsafe[number]:
            assert high >= values.value[number] + needs.upper[number] - 1e-4
            assert low <= values.value[number] - needs.lower[number] + 1e-4


def test_who_is_alone_in_a_group_does_not_learn_another_from_it() -> None:
    """Two lone individuals in one row: blank alone, they would learn each other's number from the total."""
    a = np.array([0, 0, *[1] * 12, *[2] * 12])
    b = np.array([0, 1, *[0, 1, 2] * 8])
    grid = TableGrid((flat("a", a), flat("b", b)))
    tabulate = tables(TabulatedMeasure(by=("a", "b"), sum="x"), minimum=2)
    numbers = np.array([100.0, 300.0, *[50.0] * 24])
    values = values_of(grid, tabulate, numbers)["x"]
    blanks = suppress(grid, tabulate, 2, {"x": values})
    lone = np.flatnonzero(values.contributors == 1)
    first, second = (int(np.flatnonzero(values.cells == grid.cells(("a", "b"))[0, n])[0]) for n in (0, 1))
    assert {first, second} <= set(lone.tolist())
    for target, knows in ((first, second), (second, first)):
        told = {n: (low, high) for n, low, high in intervals(grid, values, blanks.blank["x"], [("a", "b")], knows)}
        low, high = told[target]
        assert high - low >= 0.2 * values.value[target] - 1e-6


def test_the_least_that_has_to_be_blank_is() -> None:
    """One unsafe cell in a table of three by three: it and three others, which make a rectangle, the cheapest."""
    counts = np.array([[2, 30, 9], [8, 40, 50], [20, 60, 70]])
    a, b = (np.repeat(each.ravel(), counts.ravel()) for each in np.indices((3, 3)))
    grid = TableGrid((flat("a", a), flat("b", b)))
    tabulate = tables(BOTH, minimum=5)
    blanks = suppress(grid, tabulate, 5, values_of(grid, tabulate, np.ones(len(a))))
    cells = grid.cells(("a", "b"))
    values = values_of(grid, tabulate, np.ones(len(a)))[COUNTS]
    blank = {tuple(np.argwhere(cells == values.cells[n])[0].tolist()) for n in np.flatnonzero(blanks.blank[COUNTS])}
    assert blank == {(0, 0), (0, 2), (1, 0), (1, 2)} or blank == {(0, 0), (0, 2), (2, 0), (2, 2)}
    assert blanks.patterns[0].proved and blanks.patterns[0].cost == pytest.approx((9 + 8 + 50) / counts.sum() + 0.003)


def test_without_a_search_everything_is_protected_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables that are too large for integer programming."""
    grid, tabulate, numbers = random_system(7)
    values = values_of(grid, tabulate, numbers)
    least = suppress(grid, tabulate, 4, values)
    monkeypatch.setattr(secondary, "EXACT_CELLS", 0)
    blanks = suppress(grid, tabulate, 4, values)
    assert not any(pattern.proved for pattern in blanks.patterns if pattern.blank.any())
    assert sum(each.cost for each in blanks.patterns) >= sum(each.cost for each in least.patterns)
    for name in values:
        check_wide(grid, values[name], blanks, name, [each.by for each in tabulate.tables])


def test_a_mean_is_blank_where_the_count_or_the_sum_is() -> None:
    grid, tabulate, numbers = random_system(1)
    tabulate = tables(BOTH, TabulatedMeasure(by=("a", "b"), mean="x"), minimum=4)
    values = values_of(grid, tabulate, numbers)
    blank = suppress(grid, tabulate, 4, values).blank
    assert len(blank) == 3 and all(np.array_equal(each, blank[COUNTS]) for each in blank.values())


def test_what_cannot_be_protected_is_said() -> None:
    """Two lone individuals under a total that everybody knows: each learns the other's number."""
    grid = TableGrid((flat("a", np.array([0, 1])),))
    tabulate = tables(TabulatedMeasure(by=("a",), sum="x"), minimum=2)
    with pytest.raises(InfeasibleError, match="sums of x: 2 unsafe groups can be derived"):
        suppress(grid, tabulate, 2, values_of(grid, tabulate, np.array([10.0, 20.0])))


def test_the_total_over_everything_is_published() -> None:
    grid, tabulate, numbers = random_system(4)
    values = values_of(grid, tabulate, numbers)
    blank = suppress(grid, tabulate, 4, values).blank
    assert not any(blank[name][each.cells == grid.whole].any() for name, each in values.items())


def test_hierarchies_make_totals() -> None:
    leaf = np.array([0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3])
    grid = TableGrid((paired("b", leaf),))
    tabulate = tables(TabulatedMeasure(by=("b",), count=True), minimum=5)
    values = values_of(grid, tabulate, np.ones(20))
    assert values[COUNTS].value.tolist() == [2, 6, 6, 6, 8, 12, 20]
    blank = suppress(grid, tabulate, 5, values).blank[COUNTS]
    assert blank.tolist() == [True, True, False, False, False, False, False]


def test_a_sum_of_nobody_does_not_say_that_nobody_is_there() -> None:
    """Where that is protected: the count and the sum of the same groups are blank together."""
    a, b = np.array([0] * 9 + [1] * 9 + [2] * 9), np.array([0, 1, 2] * 3 + [0, 1] * 4 + [0] + [0, 1, 2] * 3)
    grid = TableGrid((flat("a", a), flat("b", b)))
    tabulate = tables(BOTH, TabulatedMeasure(by=("a", "b"), sum="x"), minimum=2, zeros="suppress")
    values = values_of(grid, tabulate, np.full(27, 50.0))
    blank = suppress(grid, tabulate, 2, values).blank
    empty = values[COUNTS].contributors == 0
    assert empty.sum() == 1 and blank[COUNTS][empty].all() and blank["x"][empty].all()


def test_sums_of_any_size_cost_no_more_than_counts() -> None:
    """A solver does not see costs that are millions of times smaller than others."""
    random = np.random.default_rng(5)
    grid = TableGrid((flat("a", random.integers(0, 4, 160)), flat("b", random.integers(0, 5, 160))))
    mean = TabulatedMeasure(by=("a", "b"), mean="x")
    tabulate = tables(BOTH, mean, minimum=5)
    small, large = (suppress(grid, tabulate, 5, values_of(grid, tabulate, np.full(160, size))) for size in (1.0, 1e9))
    for name, blank in small.blank.items():
        assert blank.tolist() == large.blank[name].tolist()


def counts_layer(seed: int) -> secondary.Layer:
    grid, tabulate, numbers = random_system(seed)
    values = values_of(grid, tabulate, numbers)
    need = protection(values[COUNTS], tabulate.rules, 4, counts=True)
    return _layer(grid, tabulate, COUNTS, values[COUNTS], need, values[COUNTS].cells)


def unprotected(layer: secondary.Layer, blank: Bools) -> list[Any]:
    """The targets that some blanks do not protect, nothing else being known."""
    program = secondary._Program(layer, blank, secondary.KnownChanges(layer))
    return [target for target in layer.targets if not target.met_by(program.reach(target).far)]


def test_known_changes_prove_what_the_linear_programs_prove() -> None:
    layer, random = counts_layer(0), np.random.default_rng(3)
    known, proved = secondary.KnownChanges(layer), 0
    for share in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5) * 3:
        blank = layer.unsafe | (random.random(len(layer.cells)) < share)
        alone = secondary._Program(layer, blank, secondary.KnownChanges(layer))
        proved += sum(known.of(target, blank) is not None for target in layer.targets)
        reached = [secondary._Program(layer, blank, known).reach(target) for target in layer.targets]
        assert [target.met_by(each.far) for target, each in zip(layer.targets, reached, strict=True)] == [
            target.met_by(alone._solved(target).far) for target in layer.targets
        ]
        assert all(not each.change[~blank].any() for each in reached)
    assert proved


def test_what_the_others_make_superfluous_is_published() -> None:
    layer = counts_layer(0)
    cost, everything = np.ones(len(layer.cells)), np.ones(len(layer.cells), np.bool_)
    blank = secondary._thinned([layer], cost, everything, layer.unsafe)
    assert layer.unsafe.any() and (layer.unsafe <= blank).all()
    assert not unprotected(layer, blank)
    for cell in np.flatnonzero(blank & ~layer.unsafe):
        without = blank.copy()
        without[cell] = False
        assert unprotected(layer, without)
