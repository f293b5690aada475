"""The entropy rule, against the entropy of one class at a time."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.cuts.entropy import Entropy
from anonymize.algorithms.splitting.batch import Batch
from anonymize.domain.base import Domain
from tests.algorithms.tables import codes_by_class, domains, numeric, one_attribute, table_of, whole
from tests.examples import some


@settings(max_examples=some(50))
@given(one_attribute(), st.sampled_from([0.5, 1.0, 3.0]))
def test_score_is_the_entropy_over_the_weight(case: tuple[Domain, Batch], weight: float) -> None:
    domain, batch = case
    found = Entropy([domain], [weight], 1).candidates(batch, 0, np.arange(batch.count))
    for codes, score in zip(codes_by_class(batch), found.score.tolist(), strict=True):
        shares = [count / len(codes) for count in Counter(codes).values()]
        assert score == pytest.approx(sum(share * math.log2(share) for share in shares) / weight)
    assert not found.stop.any()


def test_the_uneven_attribute_is_cut_first_unless_another_weighs_more() -> None:
    table = table_of(numeric([1, 1, 2, 2, 3, 3]), numeric([1, 1, 1, 1, 2, 2]))
    for weights, chosen in (([1.0, 1.0], 1), ([3.0, 1.0], 0)):
        assert Entropy(domains(table), weights, 2).choose(whole(table)).attribute.tolist() == [chosen]
