"""The rate rule, against its formulas for one class at a time."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonymize.algorithms.cuts.rate import FINE, Rate
from anonymize.algorithms.splitting.batch import Batch
from anonymize.domain.base import Domain
from anonymize.domain.taxonomy import Taxonomy
from tests.algorithms.tables import (
    batch_of,
    categorical,
    codes_by_class,
    cost,
    domains,
    numeric,
    one_attribute,
    table_of,
    taxonomy,
    whole,
)
from tests.examples import some


def entropy(shares: list[float]) -> float:
    return -sum(share * math.log2(share) for share in shares)


def capacity(rows: int, minimum: int) -> float:
    return rows * math.log2(max(rows // minimum, 1))


def node_rates(domain: Taxonomy, codes: list[int], minimum: int) -> tuple[float, dict[tuple[int, ...], float]]:
    """The best of parting a whole level, and what parting each node of any level from the rest brings."""
    was, at_once = cost(domain, codes), 0.0
    rates: dict[tuple[int, ...], float] = {}
    for level in range(domain.height):
        groups = defaultdict(list)
        for code in codes:
            groups[int(domain.levels[level][code])].append(code)
        if len(groups) == 1:
            continue
        saved = sum(len(group) * (was - cost(domain, group)) for group in groups.values()) / len(codes)
        at_once = max(at_once, saved / entropy([len(group) / len(codes) for group in groups.values()]))
        for node, group in groups.items():
            rest = [code for other, part in groups.items() if other != node for code in part]
            if min(len(group), len(rest)) < minimum:
                continue
            saved = len(group) * (was - cost(domain, group))
            saved += len(rest) * (was - cost(domain, rest)) if len(groups) == 2 else 0
            bits = capacity(len(codes), minimum) - capacity(len(group), minimum) - capacity(len(rest), minimum)
            key = tuple(sorted(group))
            rates[key] = max(rates.get(key, 0.0), saved / bits)
    return at_once, rates


@settings(max_examples=some(120))
@given(one_attribute(), st.sampled_from([0.5, 1.0, 3.0]), st.integers(1, 5))
def test_scores_and_cuts(case: tuple[Domain, Batch], weight: float, minimum: int) -> None:
    domain, batch = case
    large = np.flatnonzero(batch.sizes >= 2 * minimum)
    assume(len(large))
    found = Rate([domain], [weight], minimum).candidates(batch, 0, large)
    intervals = zip(found.start.tolist(), found.stop.tolist(), strict=True)
    for number, score, (start, stop) in zip(large.tolist(), found.score.tolist(), intervals, strict=True):
        codes = codes_by_class(batch)[number]
        parted = tuple(sorted(code for code in codes if start <= code < stop))
        if isinstance(domain, Taxonomy):
            at_once, rates = node_rates(domain, codes, minimum)
            best = max(rates.values(), default=0.0)
            assert score == pytest.approx(weight * max(at_once, best))
            assert (best == 0 and not parted) or rates[parted] == pytest.approx(best)
        else:
            assert score == pytest.approx(weight * cost(domain, codes) / 2)
            assert not parted


@settings(max_examples=some(40))
@given(one_attribute())
def test_after_a_refusal_the_place_is_left_to_the_median(case: tuple[Domain, Batch]) -> None:
    domain, batch = case
    batch.attempts[:] = 1
    found = Rate([domain], [1.0], 1).candidates(batch, 0, np.arange(batch.count))
    assert not found.stop.any()
    for codes, score in zip(codes_by_class(batch), found.score.tolist(), strict=True):
        expected = node_rates(domain, codes, 1)[0] if isinstance(domain, Taxonomy) else cost(domain, codes) / 2
        assert score == pytest.approx(expected)


@pytest.mark.parametrize(("rows", "lower"), [(20, 10), (35, 10), (40, 20), (59, 20), (FINE * 10 + 1, FINE * 10 // 2)])
def test_the_lower_side_holds_whole_multiples_of_the_minimum(rows: int, lower: int) -> None:
    table = table_of(numeric(list(range(rows))))
    assert Rate(domains(table), [1.0], 10).choose(whole(table)).stop.tolist() == [lower]


def test_a_node_of_any_level_is_parted_from_the_rest() -> None:
    """Of eight rows, with room for four classes of two. Parting the four of `a` saves them their NCP of 1, for a bit a
    row. Parting A from B saves 1 for two rows and 1/2 for six, and leaves six rows room for three classes."""
    domain = taxonomy("a A *", "b A *", "c B *", "d B *")
    table = table_of(categorical(list("aaaabbcc"), domain))
    rates = node_rates(domain, table.attributes[0].codes.tolist(), 2)[1]
    assert rates[(0, 0, 0, 0)] == pytest.approx(4 / 8)
    assert rates[(0, 0, 0, 0, 1, 1)] == pytest.approx((2 + 6 / 2) / (16 - 6 * math.log2(3)))
    cuts = Rate(domains(table), [1.0], 2).choose(whole(table))
    assert (cuts.start.tolist(), cuts.stop.tolist()) == ([0], [2])


def test_a_node_between_others_is_parted_from_both() -> None:
    table = table_of(categorical(list("abbbbbbbc"), taxonomy("a *", "b *", "c *")))
    cuts = Rate(domains(table), [1.0], 2).choose(whole(table))
    assert (cuts.start.tolist(), cuts.stop.tolist()) == ([1], [2])


def test_missing_values_come_last() -> None:
    """Apart from the numbers where the median lies there; they cost no more than one of several leaves."""
    holes: list[float | None] = [1, 2, 2, None, None, None]
    table = table_of(numeric(holes))
    cuts = Rate(domains(table), [1.0], 2).choose(whole(table))
    assert (cuts.attribute.tolist(), cuts.stop.tolist()) == ([0], [2])


def test_classes_of_a_batch_are_scored_apart() -> None:
    domain = taxonomy("a A *", "b A *", "c *")
    alone = batch_of([0] * 4, np.array([0, 0, 1, 1], np.uint8))
    beside = batch_of([0] * 4 + [1] * 5, np.array([0, 0, 1, 1, 2, 2, 2, 0, 1], np.uint8))
    rule = Rate([domain], [1.0], 2)
    first, both = (rule.candidates(batch, 0, np.arange(batch.count)) for batch in (alone, beside))
    assert both.score[0] == first.score[0] and both.stop[0] == first.stop[0]
