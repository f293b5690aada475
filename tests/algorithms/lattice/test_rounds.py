from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms.deadline import Deadline
from anonymize.algorithms.lattice.rounds import Rounds
from anonymize.algorithms.lattice.scores import METRICS, PAYOUT, Scorer
from anonymize.recoding import Levels
from tests.algorithms.full_domain import shown
from tests.algorithms.lattice.cases import Case, small_cases
from tests.algorithms.test_mondrian import passes


def iterated(case: Case, metric: str, share: float, seconds: float = 0.0) -> Levels | None:
    checker = case.checker()
    return Rounds(Scorer(checker, metric, None, 0.5), share, Deadline(seconds)).run()


cases = (small_cases(max_rows=40), st.sampled_from(sorted({*METRICS} - {PAYOUT})), st.sampled_from([0.01, 0.3, 1.0]))


@given(*cases)
def test_every_row_is_in_a_safe_class_or_suppressed(case: Case, metric: str, share: float) -> None:
    found = iterated(case, metric, share)
    everyone = np.arange(case.table.rows)
    if found is None:
        assert not passes(case.table, everyone, list(case.wanted))
        return
    rows = [found.partition.order[a:b] for a, b in pairwise(found.partition.starts)]
    assert sorted(np.concatenate([*rows, found.suppressed]).tolist()) == everyone.tolist()
    assert len(found.suppressed) <= case.limit
    assert all(passes(case.table, each, list(case.wanted)) for each in rows)
    assert len(found.levels) == len(rows)
    for each, vector in zip(rows, found.levels.tolist(), strict=True):
        keys = shown(case.table, tuple(vector))
        assert len({keys[row] for row in each.tolist()}) == 1


@given(*cases)
def test_classes_of_one_vector_read_differently(case: Case, metric: str, share: float) -> None:
    found = iterated(case, metric, share)
    if found is None or not case.checker().growing:
        return
    seen: dict[tuple[int, ...], set[tuple[Any, ...]]] = defaultdict(set)
    firsts = found.partition.order[found.partition.starts[:-1]].tolist()
    for row, vector in zip(firsts, map(tuple, found.levels.tolist()), strict=True):
        key = shown(case.table, vector)[row]
        assert key not in seen[vector]
        seen[vector].add(key)


@given(small_cases(max_rows=40))
def test_rounds_end_at_once_when_time_is_up(case: Case) -> None:
    found = iterated(case, "loss", 0.01, seconds=1e-9)
    if found is not None:
        assert found.summary()["rounds"] == 1
