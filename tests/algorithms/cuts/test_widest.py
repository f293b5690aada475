"""The textbook rule, against a recursion over one class at a time, and on the example of the paper."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.cuts.widest import Widest
from anonymize.algorithms.splitting.batch import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.domain.base import Domain
from anonymize.domain.taxonomy import Taxonomy
from anonymize.table import Attribute, Table
from tests.algorithms.tables import (
    categorical,
    codes_by_class,
    cost,
    domains,
    nearest_below,
    numeric,
    one_attribute,
    table_of,
    tables,
    taxonomy,
    weights,
    whole,
)
from tests.examples import some


def grown(table: Table, minimum: int, ties: str = "leaves") -> list[list[int]]:
    """Rows of each class."""
    rule = Widest(domains(table), weights(table), minimum, ties=ties)
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
