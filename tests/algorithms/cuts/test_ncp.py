"""The NCP rule, against the NCP of the two parts of one class at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonymize.algorithms.cuts.ncp import Ncp
from anonymize.algorithms.splitting.batch import Batch
from anonymize.domain.base import Domain
from tests.algorithms.tables import (
    codes_by_class,
    cost,
    domains,
    nearest_below,
    numeric,
    one_attribute,
    table_of,
    whole,
)
from tests.examples import some


@settings(max_examples=some(60))
@given(one_attribute(), st.sampled_from([0.5, 1.0, 3.0]), st.integers(1, 5))
def test_score_is_the_weighted_ncp_that_the_nearest_cut_saves(
    case: tuple[Domain, Batch], weight: float, minimum: int
) -> None:
    domain, batch = case
    large = np.flatnonzero(batch.sizes >= 2 * minimum)
    assume(len(large))
    found = Ncp([domain], [weight], minimum).candidates(batch, 0, large)
    classes = codes_by_class(batch)
    for number, score in zip(large.tolist(), found.score.tolist(), strict=True):
        codes = sorted(classes[number])
        below = nearest_below(codes, len(codes) // 2, minimum)
        if below is None:
            assert score < 0
        else:
            parts = codes[:below], codes[below:]
            saved = len(codes) * cost(domain, codes) - sum(len(part) * cost(domain, part) for part in parts)
            assert score == pytest.approx(weight * saved)
    assert not found.stop.any()


def test_the_cut_that_saves_more_is_made_unless_another_weighs_more() -> None:
    even, lumped = numeric([1, 2, 3, 4, 5, 6]), numeric([1, 1, 1, 9, 9, 9])
    table = table_of(even, lumped)
    for weights, chosen in (([1.0, 1.0], 1), ([3.0, 1.0], 0)):
        assert Ncp(domains(table), weights, 2).choose(whole(table)).attribute.tolist() == [chosen]


def test_an_attribute_that_cannot_be_cut_is_taken_last() -> None:
    table = table_of(numeric([1, 9, 9, 9, 9, 9]), numeric([1, 5, 5, 5, 6, 6]))
    batch = whole(table)
    assert Ncp(domains(table), [9.0, 1.0], 2).choose(batch).attribute.tolist() == [1]
