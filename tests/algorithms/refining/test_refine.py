"""Refinement as a whole: never worse, never unsafe, the same for any number of threads; near the optimum where the
optimum is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms import bottom_up, mondrian, top_down
from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering import GroupBoxes, Penalty, codes_of
from anonymize.algorithms.clustering.run import met_by
from anonymize.algorithms.deadline import Refinable
from anonymize.algorithms.refining import block as blocks_of
from anonymize.algorithms.refining import refine as module
from anonymize.algorithms.refining.block import CARE, HASTE, Block, Effort
from anonymize.algorithms.refining.refine import refined
from anonymize.classes import Partition
from anonymize.errors import InfeasibleError
from anonymize.recoding import Regions
from anonymize.table import Table
from tests.algorithms.clustering.slow import optimum, shown_of
from tests.algorithms.tables import k_anonymity, numeric, requirement, seeds, sensitive, table_of, tables
from tests.examples import some

Rng = np.random.Generator


def random_regions(table: Table, k: int, rng: Rng) -> Regions:
    labels = rng.permutation(np.arange(table.rows) * max(table.rows // k, 1) // table.rows)
    return Regions(Partition.of_labels(labels), np.empty(0, np.uint32))


def lost(table: Table, regions: Regions) -> float:
    partition = regions.partition
    return sum(shown_of(table, rows.tolist()) for rows in np.split(partition.order, partition.starts[1:-1]))


def spread(rows: int = 600) -> Table:
    columns = np.random.default_rng(7).integers(0, 90, (3, rows)).tolist()
    return table_of(*(numeric(column, name) for column, name in zip(columns, "xyz", strict=True)))


@settings(max_examples=some(60))
@given(tables(max_rows=60), st.integers(1, 6), seeds)
def test_it_is_never_worse_and_keeps_rows_and_sizes(table: Table, k: int, rng: Rng) -> None:
    if table.rows < k:
        return
    before = random_regions(table, k, rng)
    after = refined(table, (k_anonymity(k),), before, Refinable(passes=2), Context(seed=1))
    assert sorted(after.partition.order) == list(range(table.rows))
    assert after.partition.sizes.min() >= k
    assert lost(table, after) <= lost(table, before) + 1e-9


@settings(max_examples=some(40))
@given(tables(max_rows=60), st.integers(1, 4), seeds)
def test_every_model_still_holds(table: Table, k: int, rng: Rng) -> None:
    column = sensitive((rng.integers(0, 4, table.rows) * 2.5).tolist(), "s")
    table = replace(table, sensitive=(column,))
    wanted = (
        k_anonymity(k),
        requirement("distinct-l-diversity", "s", l=2),
        requirement("entropy-l-diversity", "s", l=1.5),
    )
    try:
        after = mondrian.run(table, wanted, mondrian.Options(passes=2, refine=True), Context()).partition
    except InfeasibleError:
        return
    groups = np.repeat(np.arange(after.count), after.sizes)
    every = np.arange(table.rows, dtype=np.uint32)
    assert met_by(table, wanted, every)(after.order.astype(np.int64), groups, after.count).all()


def test_on_small_tables_most_of_the_gap_to_the_optimum_is_closed() -> None:
    """Of tables of nine rows: what random classes lose beyond the best of all partitions, before and after."""
    before = after = 0.0
    for seed in range(some(80)):
        rng = np.random.default_rng(seed)
        table = table_of(*(numeric(rng.integers(0, 30, 9).tolist(), name) for name in "xy"))
        start, best = random_regions(table, 3, rng), optimum(table, 3)
        found = refined(table, (k_anonymity(3),), start, Refinable(passes=8), Context(seed=seed))
        assert lost(table, found) >= best - 1e-6
        before, after = before + lost(table, start) - best, after + lost(table, found) - best
    assert after <= 0.1 * before


@pytest.mark.parametrize("method", [top_down, bottom_up])
def test_the_methods_come_nearer_to_the_optimum(method: object) -> None:
    """What they lose beyond the best of all partitions, with and without refinement, on tables of nine rows."""
    gaps = {True: 0.0, False: 0.0}
    for seed in range(some(24)):
        rng = np.random.default_rng(seed)
        table = table_of(*(numeric(rng.integers(0, 30, 9).tolist(), name) for name in "xy"))
        best = optimum(table, 3)
        for refine in gaps:
            options = method.Options(refine=refine)  # type: ignore[attr-defined]
            found = method.run(table, (k_anonymity(3),), options, Context(seed=seed))  # type: ignore[attr-defined]
            gaps[refine] += lost(table, found) - best
    assert gaps[True] <= 0.5 * gaps[False]


@pytest.mark.parametrize("rows", [1 << 16, 128])
def test_threads_do_not_show(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(blocks_of, "BLOCK_ROWS", rows)
    monkeypatch.setattr(blocks_of, "PASS_PAIRS", rows * 8)
    monkeypatch.setattr(blocks_of, "SECTION_CLASSES", 4)
    table, start = spread(), random_regions(spread(), 5, np.random.default_rng(2))
    found = [
        refined(table, (k_anonymity(5),), start, Refinable(passes=3), Context(seed=4, threads=threads))
        for threads in (1, 3)
    ]
    assert np.array_equal(found[0].partition.order, found[1].partition.order)
    assert np.array_equal(found[0].partition.starts, found[1].partition.starts)
    assert found[0].refinement == found[1].refinement
    assert lost(table, found[0]) < 0.6 * lost(table, start)


@pytest.mark.parametrize(("rows", "effort"), [(1 << 16, CARE), (128, HASTE)])
def test_partners_are_less_work_where_there_are_several_blocks(
    monkeypatch: pytest.MonkeyPatch, rows: int, effort: Effort
) -> None:
    asked = set[Effort]()

    def exchange(block: Block, labels: np.ndarray, *given: Any) -> np.ndarray:
        asked.add(given[-1])
        return labels

    monkeypatch.setattr(blocks_of, "BLOCK_ROWS", rows)
    monkeypatch.setattr(module, "exchange", exchange)
    table, start = spread(), random_regions(spread(), 5, np.random.default_rng(2))
    refined(table, (k_anonymity(5),), start, Refinable(passes=1), Context(seed=4))
    assert asked == {effort}


def test_another_seed_finds_others() -> None:
    table, start = spread(), random_regions(spread(), 5, np.random.default_rng(2))
    found = [refined(table, (k_anonymity(5),), start, Refinable(passes=1), Context(seed=seed)) for seed in (1, 2)]
    assert not np.array_equal(found[0].partition.order, found[1].partition.order)


def test_the_report_says_what_was_gained() -> None:
    table, start = spread(), random_regions(spread(), 5, np.random.default_rng(2))
    after = refined(table, (k_anonymity(5),), start, Refinable(passes=2), Context())
    told = after.summary()["refinement"]
    assert told == {
        "passes": 2,
        "ncp_weighted_before": pytest.approx(lost(table, start)),
        "ncp_weighted_after": pytest.approx(lost(table, after)),
        "stopped_by_time": False,
    }


def test_when_the_time_is_up_what_was_found_is_kept() -> None:
    """A processor that is busy with others may come to nothing in the shortest time."""
    table, start = spread(), random_regions(spread(), 5, np.random.default_rng(2))
    found = []
    for seconds in (0.2, 2, 20):
        after = refined(table, (k_anonymity(5),), start, Refinable(passes=1000, time_limit=seconds), Context())
        assert after.refinement is not None and after.refinement["stopped_by_time"]
        assert after.refinement["passes"] < 1000
        assert after.partition.sizes.min() >= 5
        found.append(lost(table, after))
        if found[-1] < lost(table, start):
            break
    assert found[-1] < lost(table, start)


def test_weights_decide_what_is_kept_precise() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 50, (2, 200)).tolist()
    start, shares = random_regions(table_of(numeric(x, "x")), 5, rng), []
    for weight in (1.0, 4.0):
        table = table_of(numeric(x, "x", weight), numeric(y, "y"))
        found = refined(table, (k_anonymity(5),), start, Refinable(passes=8), Context())
        codes = codes_of(table.attributes)
        boxes = GroupBoxes.of(codes, found.partition)
        one = Penalty.of([replace(table.attributes[0], weight=1.0)])
        shares.append(float((one(boxes.low[:1], boxes.high[:1]) * boxes.sizes).sum()))
    assert shares[1] < 0.8 * shares[0]


def test_blocks_cover_every_class_once() -> None:
    table, start = spread(), random_regions(spread(), 5, np.random.default_rng(2))
    codes = codes_of(table.attributes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_of, "BLOCK_ROWS", 100)
        found = blocks_of.blocks(codes, start.partition, np.random.default_rng(0))
    assert len(found) == 8
    assert sorted(np.concatenate(found).tolist()) == list(range(start.partition.count))
    assert max(map(len, found)) - min(map(len, found)) <= 1
    assert len(blocks_of.blocks(codes, start.partition, np.random.default_rng(0))) == 1
