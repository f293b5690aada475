"""Nodes of a taxonomy in each class of a batch, against one class at a time."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonymize.algorithms.cuts import Nodes
from anonymize.algorithms.cuts.unsupervised import FINE, Entropy, Ncp, Rate, Widest
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.classes import Runs
from anonymize.domain import Domain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.table import Attribute, Table
from tests.algorithms.tables import (
    batch_of,
    categorical,
    codes_by_class,
    cost,
    domains,
    nearest_below,
    numeric,
    one_attribute,
    random_taxonomy,
    seeds,
    table_of,
    tables,
    taxonomy,
    whole,
)
from tests.algorithms.tables import weights as weights_of
from tests.examples import some

batches = st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=8), min_size=1, max_size=5)


@given(seeds.map(random_taxonomy), batches, st.data())
def test_values_are_put_together_by_their_node(domain: Taxonomy, classes: list[list[int]], data: st.DataObject) -> None:
    codes = [sorted(code % domain.size for code in rows) for rows in classes]
    level = domain.levels[data.draw(st.integers(0, domain.height))]
    expected = [
        (number, group[0], group[-1], len(group))
        for number, rows in enumerate(codes)
        for group in (list(part) for _, part in itertools.groupby(rows, key=lambda code: level[code]))
    ]
    labels = np.repeat(np.arange(len(codes)), [len(rows) for rows in codes])
    runs = Runs.count_values(labels, np.concatenate(codes).astype(np.uint8), len(codes), domain.size)
    nodes = Nodes.of_runs(runs, level[runs.codes])
    columns = (nodes.owner, nodes.first, nodes.last, nodes.rows)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected
    owners = [owner for owner, *_ in expected]
    assert nodes.starts.tolist() == [owners.index(number) for number in range(len(codes))]
    assert nodes.first_marked(np.ones(len(owners), np.bool_)).tolist() == nodes.starts.tolist()


def test_the_first_marked_node_of_each_class() -> None:
    runs = Runs(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 2, 0, 2]), np.ones(5, np.int64))
    nodes = Nodes.of_runs(runs, runs.codes)
    assert nodes.first_marked(np.array([False, True, True, False, True])).tolist() == [1, 4]


# --- widest -----------------------------------------------------------------------------------------------------------


def grown(table: Table, minimum: int, ties: str = "leaves") -> list[list[int]]:
    """Rows of each class."""
    rule = Widest(domains(table), weights_of(table), minimum, ties=ties)
    partition = grow(whole(table), rule, None, 1, lambda rows: None)
    return [rows.tolist() for rows in np.split(partition.order, partition.starts[1:-1])]


def between_children(domain: Taxonomy, codes: list[int]) -> set[int]:
    """Codes before which one child of the lowest node over these codes ends and another one begins."""
    low, high = np.array([min(codes)]), np.array([max(codes)])
    covering = domain.lca(low, high)[0]
    children = [node for node in range(len(domain.labels)) if domain.parent[node] == covering]
    return {int(domain.start[child]) for child in children}


def cut_below(attribute: Attribute, codes: list[int], minimum: int) -> int | None:
    """Rows on the lower side of the cut that the rule makes of one class."""
    if isinstance(attribute.domain, Taxonomy):
        half = len(codes) / 2 - 0.25  # the lower boundary at a tie
        below = nearest_below(codes, half, minimum, between_children(attribute.domain, codes))
        if below is not None:
            return below
    return nearest_below(codes, len(codes) // 2, minimum)


def slow(table: Table, rows: Any, minimum: int, *, listed: bool = False) -> list[list[int]]:
    """Classes that Mondrian makes of some rows: the widest attribute that has an allowable cut is cut, and so on.
    `listed`: of equally wide ones that which is listed first, and not that of fewest leaves."""

    def width(attribute: Attribute) -> float:
        codes = attribute.codes[rows]
        return attribute.weight * float(attribute.domain.cost(codes.min(keepdims=True), codes.max(keepdims=True))[0])

    for attribute in sorted(table.attributes, key=lambda each: (-width(each), 0 if listed else each.domain.size)):
        codes = attribute.codes[rows]
        below = cut_below(attribute, codes.tolist(), minimum) if len(set(codes.tolist())) > 1 else None
        if below is not None:
            first = codes < np.sort(codes)[below]
            halves = (slow(table, half, minimum, listed=listed) for half in (rows[first], rows[~first]))
            return [each for half in halves for each in half]
    return [rows.tolist()]


@settings(max_examples=some(80))
@given(tables(), st.integers(1, 8))
def test_classes_are_those_of_the_textbook(table: Table, minimum: int) -> None:
    assert grown(table, minimum) == sorted(slow(table, np.arange(table.rows), minimum))
    assert grown(table, minimum, "listed") == sorted(slow(table, np.arange(table.rows), minimum, listed=True))


@settings(max_examples=some(40))
@given(one_attribute(), st.sampled_from([0.5, 3.0]))
def test_score_is_the_weighted_width(case: tuple[Domain, Batch], weight: float) -> None:
    domain, batch = case
    found = Widest([domain], [weight], 1).candidates(batch, 0, np.arange(batch.count))
    assert found.score.tolist() == pytest.approx([weight * cost(domain, codes) for codes in codes_by_class(batch)])


def patients(*order: str) -> Table:
    """The six patients of LeFevre et al., ICDE 2006, figure 1, quasi-identifiers in the given order."""
    columns = {
        "age": numeric([25, 25, 26, 27, 27, 28], "age"),
        "sex": categorical(["M", "F", "M", "M", "F", "M"], taxonomy("M *", "F *", name="sex")),
        "zip": numeric([53711, 53712, 53711, 53710, 53712, 53711], "zip"),
    }
    return table_of(*(columns[name] for name in order))


@pytest.mark.parametrize("order", list(permutations(("age", "sex", "zip"))))
def test_the_six_patients_of_the_paper(order: tuple[str, ...]) -> None:
    """Figure 3: two men of 25 and 26 in 53711, two of 27 and 28 in 53710 and 53711, two women in 53712. All three
    ranges are whole at first, and the attribute of two leaves is cut."""
    assert grown(patients(*order), 2) == [[0, 2], [1, 4], [3, 5]]


def test_the_patients_by_age_and_zip_alone() -> None:
    """Figure 4: the ZIP code, of three values, is cut before the age, of four."""
    assert grown(patients("age", "zip"), 2) == [[0, 2], [1, 4], [3, 5]]


def test_the_wider_attribute_is_cut_and_a_weight_turns_the_choice() -> None:
    narrow, wide = numeric([10, 40, 40, 60, 60, 70, 0, 100]), numeric([1, 2, 3, 4, 5, 6, 6, 7])
    part = np.arange(6, dtype=np.uint32)  # in which the one spans 60 of 100, the other 5 of 6
    for weight, chosen in (([1.0, 1.0], 1), ([2.0, 1.0], 0)):
        batch = Batch.whole(part, (narrow.codes, wide.codes), ())
        cuts = Widest([narrow.domain, wide.domain], weight, 2).choose(batch)
        assert cuts.attribute.tolist() == [chosen]


@pytest.mark.parametrize(
    ("leaves", "minimum", "stop"),
    [
        ("aaaabbcc", 2, 2),  # the boundary between A and B is off the median, but between two children
        ("aaabbbbc", 2, 1),  # where it leaves one row alone, the leaf boundary nearest the median
        ("aabbbbbb", 2, 1),  # under A alone, A's children
        ("abcd", 1, 2),
        ("aabcccdd", 3, 2),
    ],
)
def test_categories_are_cut_between_children(leaves: str, minimum: int, stop: int) -> None:
    table = table_of(categorical(list(leaves), taxonomy("a A *", "b A *", "c B *", "d B *")))
    cuts = Widest(domains(table), [1.0], minimum).choose(whole(table))
    assert (cuts.attribute.tolist(), cuts.start.tolist(), cuts.stop.tolist()) == ([0], [0], [stop])


def test_after_a_refusal_and_when_relaxed_categories_are_cut_by_rows() -> None:
    table = table_of(categorical(list("aaaaabbcccd"), taxonomy("a A *", "b A *", "c B *", "d B *")))
    batch = whole(table)
    relaxed = Widest(domains(table), [1.0], 2, relaxed=True).choose(batch)
    assert (relaxed.stop.tolist(), relaxed.ties.tolist()) == ([0], [5])
    batch.attempts[:] = 1
    refused = Widest(domains(table), [1.0], 2).choose(batch)
    assert refused.stop.tolist() == [1]


# --- entropy ----------------------------------------------------------------------------------------------------------


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


# --- ncp --------------------------------------------------------------------------------------------------------------


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


# --- rate -------------------------------------------------------------------------------------------------------------


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
