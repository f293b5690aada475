"""Refinement of top-down and bottom-up begins at Mondrian's classes where these come to less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from anonymize.algorithms import bottom_up, clustered, mondrian, top_down
from anonymize.algorithms.base import Context
from anonymize.algorithms.clustering.ncp import GroupBoxes, Penalty, codes_of
from anonymize.algorithms.refining.resources import Refinable
from anonymize.algorithms.starts import Best, Start, Trial, starts_by_name
from anonymize.recoding import Regions
from anonymize.table import Table
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of


def wide(rows: int = 200) -> Table:
    """Many skewed numbers, and a sensitive one: clustering by one penalty begins badly here."""
    rng = np.random.default_rng(4)
    columns = [numeric((rng.integers(0, 40, rows) ** 2).tolist(), f"x{number}") for number in range(9)]
    return replace(table_of(*columns), sensitive=(sensitive((rng.integers(0, 60, rows) * 1.5).tolist(), "s"),))


def lost(table: Table, regions: Regions) -> float:
    boxes = GroupBoxes.of(codes_of(table.attributes), regions.partition)
    return float(boxes.ncp(Penalty.of(table.attributes)).sum())


@pytest.mark.parametrize("method", [bottom_up, top_down])
def test_no_more_is_lost_than_by_refining_what_mondrian_cuts(method: ModuleType) -> None:
    table, wanted = wide(), (k_anonymity(5), requirement("distinct-l-diversity", "s", l=2))
    cut = mondrian.classes_to_refine(table, wanted, Context())
    found = method.run(table, wanted, method.Options(passes=2, sweeps=10), Context())
    assert lost(table, found) < lost(table, cut)
    assert found.refinement is not None
    assert found.refinement["ncp_weighted_after"] == pytest.approx(lost(table, found))
    assert found.refinement["ncp_weighted_before"] >= found.refinement["ncp_weighted_after"]


def test_chance_in_the_groups_of_a_method_is_that_of_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are gone through several times: whichever method is asked for, the same is searched."""
    table, wanted, given = wide(), (k_anonymity(5),), dict[str, Start]()

    def noted(trial: Trial, starts: Mapping[str, Start]) -> Best:
        given.update(starts)
        return Trial.best(replace(trial, options=Refinable(passes=1, sweeps=1)), dict(list(starts.items())[:1]))

    monkeypatch.setattr(clustered, "Trial", lambda *parts: SimpleNamespace(best=partial(noted, Trial(*parts))))
    top_down.run(table, wanted, top_down.Options(), Context(seed=3))
    all_rows, none = np.arange(table.rows, dtype=np.uint32), np.empty(0, np.uint32)
    usual = starts_by_name(table, wanted, all_rows, none)[top_down.ID]
    found = [[start(Context(seed=seed)) for seed in (3, 4)] for start in (given[top_down.ID], usual)]
    orders = [[regions.partition.order.tolist() for regions in each] for each in found]
    assert orders[0] == orders[1]
    assert orders[0][0] != orders[0][1]
