"""K-Optimize: equal to trying every set of splits; its bound is below all of them; what it says of its search."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, combinations
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonymize.algorithms import k_optimize
from anonymize.algorithms.base import Context
from anonymize.algorithms.k_optimize import check_splits
from anonymize.algorithms.optimize import Splits, halves
from anonymize.algorithms.optimize.costs import BestSplits
from anonymize.algorithms.optimize.moves import cells_of
from anonymize.algorithms.optimize.sized_view import SizedView
from anonymize.algorithms.optimize.stages import LevelSplits, begin, mondrian_splits
from anonymize.algorithms.optimize.tree import SplitTree, explore
from anonymize.errors import InfeasibleError, UsageError
from anonymize.parallel import workers
from anonymize.privacy import Requirement
from anonymize.recoding import SingleDimensional
from anonymize.table import Attribute, Table
from anonymize.table.model import subset
from tests.algorithms.splits import SMALL, problem_of, target
from tests.algorithms.tables import (
    categorical,
    k_anonymity,
    narrow,
    numeric,
    requirement,
    seeds,
    sensitive,
    table_of,
    taxonomy,
)
from tests.examples import some

MODELS = [
    (k_anonymity(2),),
    (k_anonymity(5),),
    (k_anonymity(2), requirement("distinct-l-diversity", "s0", l=2)),
    (requirement("entropy-l-diversity", "s0", l=1.7),),
    (k_anonymity(3), requirement("recursive-cl-diversity", "s0", c=2, l=2)),
    (requirement("squared-error-diversity", "s0", error=4.0),),
]


def run(table: Table, wanted: tuple[Requirement, ...], limit: int = 0, **options: Any) -> SingleDimensional:
    return k_optimize.run(table, wanted, k_optimize.Options(**options), Context(limit))


# --- every set of splits ----------------------------------------------------------------------------------------------


def places(attribute: Attribute) -> list[int]:
    """Codes that occur, but the first."""
    return sorted(set(attribute.codes.tolist()))[1:]


def subsets(attribute: Attribute) -> Iterator[tuple[int, ...]]:
    codes = places(attribute)
    return chain.from_iterable(combinations(codes, size) for size in range(len(codes) + 1))


def classes(table: Table, cuts: tuple[tuple[int, ...], ...]) -> list[list[int]]:
    found = defaultdict(list)
    for row in range(table.rows):
        key = tuple(sum(a.codes[row] >= p for p in cut) for a, cut in zip(table.attributes, cuts, strict=True))
        found[key].append(row)
    return list(found.values())


def meets(table: Table, rows: list[int], wanted: tuple[Requirement, ...]) -> bool:
    """Whether some rows are a class; where rows are about units, a unit counts once, and once for each value."""
    whom = list(range(table.rows)) if table.units is None else table.units.tolist()
    for each in wanted:
        required = cast(dict[str, float], each.required())
        counts = []
        if each.attribute:
            column = next(c for c in table.sensitive if c.name == each.attribute)
            held = sorted({(int(column.codes[row]), whom[row]) for row in rows})
            codes = [code for code, _ in held if code != column.missing]
            counts = sorted(Counter(codes).values(), reverse=True)
        match each.model:
            case "k-anonymity":
                fine = len({whom[row] for row in rows}) >= required["k"]
            case "distinct-l-diversity":
                fine = len(counts) >= required["l"]
            case "entropy-l-diversity":
                entropy = -sum(n / sum(counts) * math.log(n / sum(counts)) for n in counts)
                fine = bool(counts) and math.exp(entropy) >= required["l"] * (1 - 1e-9)
            case "recursive-cl-diversity":
                rest = sum(counts[int(required["l"]) - 1 :])
                fine = bool(rest) and counts[0] < required["c"] * rest * (1 - 1e-9)
            case _:
                assert column.values is not None
                values = column.values[codes]
                fine = bool(counts) and ((values - values.mean()) ** 2).sum() >= required["error"] * (1 - 1e-9)
        if not fine:
            return False
    return True


def cost(table: Table, rows: list[int], kept: bool, kind: str) -> int:
    if kind == "discernibility":
        return len(rows) * (len(rows) if kept else table.rows)
    if not kept:
        return len(rows) * len(table.targets)
    return sum(len(rows) - max(Counter(t.codes[rows].tolist()).values()) for t in table.targets)


def best(table: Table, wanted: tuple[Requirement, ...], limit: int, kind: str) -> int | None:
    """The least cost of all sets that suppress no more than the limit, and not everything."""
    costs = []
    sets: list[tuple[tuple[int, ...], ...]] = [()]
    for attribute in table.attributes:
        sets = [(*cuts, cut) for cuts in sets for cut in subsets(attribute)]
    known: dict[tuple[int, ...], tuple[bool, int]] = {}
    for cuts in sets:
        total = lost = 0
        for rows in classes(table, cuts):
            key = tuple(rows)
            if key not in known:
                kept = meets(table, rows, wanted)
                known[key] = kept, cost(table, rows, kept, kind)
            total += known[key][1]
            lost += 0 if known[key][0] else len(rows)
        if lost <= limit and lost < table.rows:
            costs.append(total)
    return min(costs, default=None)


def released_cost(table: Table, found: SingleDimensional, kind: str) -> int:
    parts = np.split(found.partition.order, found.partition.starts[1:-1]) if found.partition.count else []
    total = sum(cost(table, part.tolist(), True, kind) for part in parts)
    return total + cost(table, found.suppressed.tolist(), False, kind)


@given(SMALL, st.sampled_from(MODELS), seeds, st.data())
def test_equals_every_set_of_splits(table: Table, wanted: Any, rng: np.random.Generator, data: st.DataObject) -> None:
    assume(sum(len(places(attribute)) for attribute in table.attributes) <= 8)
    table = replace(
        table, targets=(target(rng.integers(0, 3, table.rows)), target(rng.integers(0, 2, table.rows), "u"))
    )
    limit = data.draw(st.sampled_from([0, 1, table.rows // 4, table.rows]))
    kind = data.draw(st.sampled_from(["discernibility", "classification"]))
    least = best(table, wanted, limit, kind)
    if least is None:
        with pytest.raises(InfeasibleError):
            run(table, wanted, limit, cost=kind)
        return
    found = run(table, wanted, limit, cost=kind)
    summary = found.summary()
    assert summary["optimal"] and summary["gap"] == 0
    assert summary["cost"] == summary["lower_bound"] == least == released_cost(table, found, kind)
    assert len(found.suppressed) <= limit


# --- the machinery ----------------------------------------------------------------------------------------------------


@st.composite
def grids(draw: st.DrawFn) -> Table:
    """Many splits, and units that are in many classes."""
    rng = draw(seeds)
    columns = [numeric(rng.integers(0, 4, 30).tolist(), f"q{at}") for at in range(3)]
    table = table_of(*columns, sensitive=[sensitive(rng.integers(0, 4, 30).tolist(), "s0")])
    return replace(table, units=narrow(rng.integers(0, rng.integers(2, 12), 30)))


@given(SMALL | grids(), st.sampled_from(MODELS), seeds)
def test_figures_of_one_split_more_or_less(table: Table, wanted: Any, rng: np.random.Generator) -> None:
    table = replace(table, targets=(target(rng.integers(0, 3, table.rows)),))
    problem = problem_of(table, wanted, 0, str(rng.choice(["discernibility", "classification"])))
    head = rng.random(problem.splits.count) < 0.3
    allset = head | (rng.random(problem.splits.count) < 0.6)
    view, own = problem.view(head, allset), problem.view(head, head)
    added, without, (removed, freed) = view.additions(), view.exclusions(), own.removals()
    for at in np.flatnonzero(allset & ~head).tolist():
        more, rest = head.copy(), allset.copy()
        more[at], rest[at] = True, False
        after = problem.view(more, allset)
        assert after.cost - view.cost == added.cost[at]
        assert after.suppressed - view.suppressed == added.suppressed[at]
        assert after.ruled_out - view.ruled_out == added.ruled_out[at]
        assert after.bound - view.bound == added.bound[at]
        apart = (view.classes.counts**2).sum() - (after.classes.counts**2).sum()
        assert apart == 2 * added.apart[at]
        assert problem.view(head, rest).bound - view.bound == without[at]
    for at in np.flatnonzero(head).tolist():
        less = head.copy()
        less[at] = False
        after = problem.view(less, less)
        assert (after.cost - own.cost, after.suppressed - own.suppressed) == (removed[at], freed[at])


@given(SMALL, st.sampled_from(MODELS), seeds)
def test_the_bound_is_below_every_set_at_every_step(table: Table, wanted: Any, rng: np.random.Generator) -> None:
    assume(sum(len(places(attribute)) for attribute in table.attributes) <= 7)
    table = replace(table, targets=(target(rng.integers(0, 3, table.rows)),))
    kind, limit = str(rng.choice(["discernibility", "classification"])), int(rng.choice([0, 2, table.rows]))
    least = best(table, wanted, limit, kind)
    known = BestSplits()
    problem = problem_of(table, wanted, limit, kind)
    tree = SplitTree(np.ones(problem.splits.count, np.bool_), known)  # without the local search
    while not tree.finished:
        assert tree.bound is not None and (least is None or tree.bound <= least)
        tree.round(lambda tasks: [explore(problem, task) for task in tasks], nodes=1)
    assert known.cost == least


def scattered() -> Table:
    """Rows that no million of numbers is enough to search."""
    rng = np.random.default_rng(3)
    return table_of(*(numeric(rng.integers(0, 12, 100).tolist(), f"x{at}") for at in range(3)))


def test_what_is_not_finished_says_so() -> None:
    table = scattered()
    found = run(table, (k_anonymity(5),), 10, work=1).summary()
    assert not found["optimal"] and 0 < found["lower_bound"] < found["cost"]
    assert found["gap"] == pytest.approx(1 - found["lower_bound"] / found["cost"])


def test_rows_that_stand_for_several_are_as_if_they_came_as_often() -> None:
    alike, counts = scattered(), np.random.default_rng(4).integers(1, 6, 100)
    counted, every = (
        replace(table, attributes=tuple(replace(each, counts=own) for each in table.attributes))
        for table, own in ((alike, counts), (subset(alike, np.repeat(np.arange(100, dtype=np.uint32), counts)), None))
    )
    found, expected = (run(table, (k_anonymity(9),), 30, nodes=1) for table in (counted, every))
    assert found.summary() | {"suppressed_rows": counts[found.suppressed].sum()} == expected.summary()
    splits = Splits.of_table(counted, 0)
    begun = [mondrian_splits(table, (k_anonymity(9),), splits, 30).tolist() for table in (counted, every)]
    assert begun[0] == begun[1] != []
    large = replace(counted, attributes=tuple(replace(each, counts=counts << 20) for each in counted.attributes))
    assert not len(mondrian_splits(large, (k_anonymity(9),), splits, 0))


def test_bound_and_cost_close_in_while_it_searches() -> None:
    told: list[tuple[int, int]] = []
    context = Context(10, bounding=lambda bound, cost: told.append((bound, cost)))
    found = k_optimize.run(scattered(), (k_anonymity(5),), k_optimize.Options(work=2), context).summary()
    bounds, costs = zip(*told, strict=True)
    assert list(bounds) == sorted(bounds) and list(costs) == sorted(costs, reverse=True)
    assert found["lower_bound"] >= bounds[-1] and found["cost"] <= costs[-1] < costs[0]


def test_values_are_summed_up_in_batches_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    table = table_of(
        *(numeric(rng.integers(0, 9, 80).tolist(), f"x{at}") for at in range(3)),
        sensitive=(sensitive(rng.integers(0, 4, 80).tolist(), "s0"),),
    )
    for model in (requirement("distinct-l-diversity", "s0", l=2), requirement("entropy-l-diversity", "s0", l=1.7)):
        problem = problem_of(table, (k_anonymity(2), model), 8, "discernibility")
        mask = rng.random(problem.splits.count) < 0.3
        found = []
        for batch in (halves.BATCH, 7):
            monkeypatch.setattr(halves, "BATCH", batch)
            added = problem.view(mask, np.ones_like(mask)).additions()
            found.append(np.stack([added.cost, added.suppressed, added.ruled_out, added.bound, added.useful]))
        assert (found[0] == found[1]).all() and found[0].any()


def summary(table: Table, limit: int, **options: Any) -> dict[str, Any]:
    return run(table, (k_anonymity(3),), limit, **options).summary()


@settings(max_examples=2)
@given(seeds, st.sampled_from(["discernibility", "classification"]))
def test_never_worse_than_a_stricter_spec_a_coarser_level_or_a_smaller_budget(rng: Any, kind: str) -> None:
    rows, limit = 26, 9
    names = [f"v{code:02}" for code in range(8)]
    tree = taxonomy(*(f"{name} g{at // 2} h{at // 4} *" for at, name in enumerate(names)), name="job")
    table = table_of(
        categorical([names[code] for code in rng.integers(0, 8, rows)], tree),
        *(numeric(rng.integers(0, 6, rows).tolist(), f"x{at}") for at in range(2)),
    )
    table = replace(table, targets=(target(rng.integers(0, 3, rows)),))
    found = summary(table, limit, cost=kind, nodes=2)
    others = [
        summary(table, 0, cost=kind, nodes=2),
        summary(table, limit, cost=kind, nodes=2, level=1),
        summary(table, 0, cost=kind, nodes=2, level=2),
        summary(table, limit, cost=kind, nodes=1),
    ]
    assert all(found["cost"] <= other["cost"] for other in others)
    assert found["lower_bound"] >= others[-1]["lower_bound"]


@settings(max_examples=some(10))
@given(SMALL, seeds, st.sampled_from([0, 6]))
def test_never_worse_than_what_it_begins_with(table: Table, rng: Any, limit: int) -> None:
    problem = problem_of(table, (k_anonymity(2),), limit, "discernibility")
    splits, every = Splits.of_table(table, 0), np.ones(problem.splits.count, np.bool_)
    known = BestSplits()
    ranks = mondrian_splits(table, (k_anonymity(2),), splits, limit)
    levels = LevelSplits.of(table, splits, 0).within(every)
    begin(problem, every, known, ranks, levels, lambda: True)
    assume(known.cost is not None)
    late = BestSplits()
    begin(problem, every, late, ranks, levels, lambda: False)
    assert late.cost is not None and late.work <= known.work
    found = run(table, (k_anonymity(2),), limit, nodes=1).summary()
    assert known.mask is not None and known.cost is not None and found["cost"] <= known.cost
    view = problem.full(known.mask, known.mask)
    assert (view.cost, view.suppressed <= limit) == (known.cost, True)


@given(SMALL, seeds, st.sampled_from(["discernibility", "classification"]), st.sampled_from([0, 9]))
def test_all_attributes_at_once_are_the_same_as_one_by_one(table: Table, rng: Any, kind: str, limit: int) -> None:
    table = replace(table, units=None, targets=(target(rng.integers(0, 3, table.rows)),))
    problem = problem_of(table, (k_anonymity(3),), limit, kind)
    head = rng.random(problem.splits.count) < 0.3
    allset = head | (rng.random(problem.splits.count) < 0.6)
    above = problem.view(head, np.ones_like(head))
    quick, slow = problem.view(head, allset, cells_of(above)), problem.full(head, allset)
    assert [isinstance(each, SizedView) for each in (quick, slow)] == [True, False]
    assert (quick.cost, quick.suppressed, quick.ruled_out, quick.bound) == (
        slow.cost,
        slow.suppressed,
        slow.ruled_out,
        slow.bound,
    )
    one, other, open_ = quick.additions(), slow.additions(), allset & ~head
    for name in ("cost", "suppressed", "ruled_out", "bound", "useful", "apart"):
        assert (getattr(one, name) == getattr(other, name)).all()
    assert (one.within >= other.within)[open_].all() and quick.floor >= slow.floor
    assert (quick.exclusions() == slow.exclusions())[open_].all()
    assert all((left == right).all() for left, right in zip(quick.removals(), slow.removals(), strict=True))


@pytest.mark.parametrize("limit", [0, 40])
def test_any_number_of_processes_finds_the_same(limit: int) -> None:
    rng = np.random.default_rng(8)
    table = table_of(*(numeric(rng.integers(0, 30, 300).tolist(), f"x{at}") for at in range(4)))
    problem = problem_of(table, (k_anonymity(4),), limit, "discernibility")
    trees = []
    for processes in (1, 2):
        tree = SplitTree(np.ones(problem.splits.count, np.bool_), BestSplits())
        with workers(processes, k_optimize._problems, problem) as pool:
            for _ in range(3):
                tree.round(partial(pool.map, partial(k_optimize._task, limit)), nodes=4)
        trees.append(tree)
    assert trees[0].nodes == trees[1].nodes and trees[0]._open == trees[1]._open
    assert (trees[0].best.cost, trees[0].bound) == (trees[1].best.cost, trees[1].bound)


def test_level_keeps_nodes_whole() -> None:
    job = categorical(list("aabbccddee"), taxonomy("a A *", "b A *", "c C *", "d C *", "e E *", name="job"))
    found = run(table_of(job, numeric([1] * 5 + [2] * 5)), (k_anonymity(2),), level=1)
    assert found.cuts["job"].starts.tolist() == [0, 2, 4]
    assert found.cuts["x"].starts.tolist() == [0]
    assert found.summary()["splits"] == 2


def test_splits_prefer_nodes_where_values_do_not_occur() -> None:
    job = categorical(list("aaccdd"), taxonomy("a A *", "b A *", "c C *", "d C *", name="job"))
    assert run(table_of(job), (k_anonymity(2),)).cuts["job"].starts.tolist() == [0, 2, 3]


def test_classification_needs_a_target() -> None:
    with pytest.raises(UsageError, match="needs a target"):
        run(table_of(numeric([1, 2])), (k_anonymity(1),), cost="classification")


def test_the_fewest_rows_of_a_class_are_no_number_of_persons() -> None:
    """One person with several values is diverse by squared error, which wants at least two rows."""
    table = replace(table_of(numeric([0, 0, 1, 1]), sensitive=[sensitive([0, 9, 0, 9])]), units=np.zeros(4, np.uint8))
    found = run(table, (requirement("squared-error-diversity", "s", error=4),))
    assert found.partition.count == 2


def test_more_splits_than_can_be_begun_with_are_refused() -> None:
    check_splits(156, 30_162, 8)
    with pytest.raises(UsageError, match=r"200 quasi-identifiers leave 10000 splits.*--level"):
        check_splits(10_000, 2_000, 200)
