"""Research values, against the paper's examples and sums over single rows; and the weights by correlation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from anonymize.domain.build import intervals
from anonymize.domain.generalization import EVERYTHING, NESTED, UNKNOWN, Apart, Generalization, Kept, resolve
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.metrics import METRICS, View
from anonymize.metrics.research_value import (
    association,
    associations,
    independence_weights,
    kept_share,
    research_values,
)
from anonymize.spec import Rule, RuleRange
from anonymize.table import Attribute, Table
from tests.algorithms.tables import categorical, numeric, table_of, tables, taxonomy


def rule(first: Any, second: Any, importance: float = 1.0) -> Rule:
    return Rule(keep_apart=(first, second), importance=importance)


def grouped(attribute: Attribute, *groups: list[list[float]]) -> Attribute:
    """A numeric attribute with levels of groups of its values; a missing value has its own place below the root."""
    assert isinstance(attribute.domain, Numeric)
    texts = attribute.domain.leaf_text()[: len(attribute.domain.values)]
    steps = [[next(i for i, group in enumerate(level) if float(text) in group) for text in texts] for level in groups]
    paths = [
        " ".join([text, *(f"g{n}.{step[at]}" for n, step in enumerate(steps)), "*"]) for at, text in enumerate(texts)
    ]
    made = Generalization.over(attribute.domain, taxonomy(*paths, missing=attribute.domain.missing_text))
    return replace(attribute, generalize=lambda: made)


# --- the paper ------------------------------------------------------------------------------------------------------


def test_the_worked_example_of_a_number() -> None:
    """Three groups of 25, 45 and 55 rows that span 10, 15 and 25 values, half of the rules broken, weight 0.2."""
    spans, sizes = [range(10), range(10, 25), range(25, 50)], [25, 45, 55]
    values = [float(span[row % len(span)]) for span, size in zip(spans, sizes, strict=True) for row in range(size)]
    x = grouped(numeric(values, "x", weight=0.2), [[float(value) for value in span] for span in spans])
    x = replace(x, rules=(rule(9.0, 10.0, 50), rule(4.0, 5.0, 50)))
    other = replace(numeric([1.0] * 125, "y"), weight=0.8)
    assert x.domain.size == 50
    found = research_values(table_of(x, other))[0]
    assert found[1] == pytest.approx(0.2 * 125 / (25 * 10 + 45 * 15 + 55 * 25) * 50 / 100)
    assert round(float(found[1]), 4) == 0.0054
    assert found[0] == pytest.approx(0.2)
    assert found[2] == 0, "the root keeps nothing apart"


RACE = ("Hispanic HB *", "Black HB *", "White White *", "Asian Asian *")


def race(*rules: Rule) -> Attribute:
    return replace(categorical(["Hispanic", "Black", "White", "Asian"], taxonomy(*RACE, name="race")), rules=rules)


def test_the_worked_example_of_rules() -> None:
    """White and Hispanic 5, White and Black 20, Hispanic and Black 10, Hispanic and Asian 5: 30/40 without the 10."""
    rules = (
        rule("White", "Hispanic", 5),
        rule("White", "Black", 20),
        rule("Hispanic", "Black", 10),
        rule("Hispanic", "Asian", 5),
    )
    attribute = race(*rules)
    assert kept_share(attribute.generalization, rules).tolist() == [1, 0.75, 0]
    assert research_values(table_of(attribute))[0].tolist() == [1, 3 / 4 * 0.75, 0]


# --- rules ----------------------------------------------------------------------------------------------------------


def test_categories_are_leaves_or_nodes() -> None:
    domain = taxonomy("a A AB *", "b A AB *", "c B AB *", "d D D *")
    rules = [rule("a", "c"), rule("A", "B"), rule("c", "A"), rule("D", "AB"), rule("a", "A"), rule("a", "e")]
    found = resolve(rules, Generalization.plain(domain))
    assert found[4:] == [NESTED, UNKNOWN]
    broken = [each.broken(domain).tolist() for each in found[:4] if isinstance(each, Apart)]
    assert broken == [[False, False, True, True]] * 3 + [[False, False, False, True]]


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        ((20.0, 21.0), True),  # neither occurs: 19 and 22 are apart
        ((21.0, 20.0), True),
        ((15.0, 19.0), False),
        ((16.0, 18.0), False),  # 15 and 19
        ((19.0, 22.0), True),
        ((15.0, 30.0), True),
    ],
)
def test_numbers_are_the_sides_of_a_boundary(values: tuple[float, float], kept: bool) -> None:
    x = grouped(numeric([15, 19, 22, 30, None]), [[15, 19], [22, 30]])
    (found,) = resolve([rule(*values)], x.generalization)
    assert isinstance(found, Apart)
    assert found.broken(x.hierarchy).tolist() == [False, not kept, True]


def test_a_boundary_that_parts_nothing_has_no_effect() -> None:
    x = grouped(numeric([15, 19, None]), [[15, 19]])
    rules = (rule(19.5, 30.0), rule(1.0, 2.0))
    assert resolve(rules, x.generalization) == [UNKNOWN, UNKNOWN]
    assert kept_share(x.generalization, rules).tolist() == [1, 1, 1]


def together(*values: Any, importance: float = 1.0) -> Rule:
    return Rule(keep_together=values, importance=importance)


def test_a_set_or_a_range_holds_as_a_whole_or_not_at_all() -> None:
    domain = taxonomy("a A AB *", "b A AB *", "c B AB *", "d D D *")
    rules = [together("a", "b"), together("A"), together("a", "d"), Rule(keep="d"), Rule(keep="c"), Rule(keep="D")]
    found = resolve([*rules, together("AB", "d"), together("a", "e")], Generalization.plain(domain))
    assert found[6:] == [EVERYTHING, UNKNOWN]
    broken = [each.broken(domain).tolist() for each in found[:6] if isinstance(each, Kept)]
    kept_to_a = [False, False, True, True]
    assert broken == [
        kept_to_a,
        kept_to_a,
        [False, True, True, True],
        [False, False, False, True],
        [False, False, True, True],
        [False, False, False, True],
    ]


@pytest.mark.parametrize(
    ("low", "high", "kept"),
    [(12, 18, True), (11.5, 21, True), (12, 22, False), (0, 11, True), (15, 15, False), (22, 30, True)],
)
def test_a_range_of_numbers_is_kept_where_both_ends_are(low: float, high: float, kept: bool) -> None:
    """12 to 18 is a group, and so is 11.5 to 21, as nothing else occurs. One importance counts for both ends."""
    x = grouped(numeric([1, 11, 12, 15, 18, 22, 30, None]), [[1, 11], [12, 15, 18], [22, 30]])
    rules = (Rule(keep_together=RuleRange(**{"from": low, "to": high}), importance=3), rule(11, 12, 1))
    share = kept_share(x.generalization, rules).tolist()
    assert share == [1, 1 if kept else 0.25, 0]


def test_a_range_without_a_number_has_no_effect() -> None:
    x = grouped(numeric([1, 11, 12]), [[1, 11], [12]])
    ranges = [RuleRange(**{"from": a, "to": b}) for a, b in ((2, 10), (1, 12))]
    assert resolve([Rule(keep_together=each) for each in ranges], x.generalization) == [UNKNOWN, EVERYTHING]
    assert resolve([Rule(keep=5)], x.generalization) == [UNKNOWN]


# --- an expert's values, and the range of numbers --------------------------------------------------------------------


def test_the_values_of_an_expert_are_taken_as_they_are() -> None:
    """The paper's table 3: race is worth 0.95, 0.72, 0.58, 0.10, gender 0.85, 0.65, and the roots nothing."""
    race = taxonomy("W W W W *", "B B B O *", "L L O O *", "A O O O *", "O O O O *", name="race")
    gender = taxonomy("M M *", "F F *", "O U *", name="gender")
    first = replace(categorical(["W", "B"], race, weight=7), research_value=(0.95, 0.72, 0.58, 0.1))
    other = replace(categorical(["M", "F"], gender), research_value=(0.85, 0.65, 0))
    plain = replace(numeric([1.0, 2.0], "x"), weight=3.0)
    found = research_values(table_of(first, other, plain))
    assert [each.tolist() for each in found] == [[0.95, 0.72, 0.58, 0.1, 0], [0.85, 0.65, 0], [3, 1.5]]
    correlated = research_values(replace(table_of(first, other, plain), weights="correlation"))
    assert correlated[0].tolist() == [0.95, 0.72, 0.58, 0.1, 0] and correlated[2][0] == pytest.approx(1)


def test_the_range_is_a_width_and_not_what_else_a_file_lists() -> None:
    """The same rows and groups, with leaves that do not occur and without: only a range of leaves tells them apart."""
    values = [10.0, 12.0, 19.0, 40.0]
    few = grouped(numeric(values), [[10, 12, 19], [40]])
    listed = [*values, *range(100, 200)]
    paths = [f"{each:g} {'low' if each <= 19 else 'high'} *" for each in sorted(listed)]
    wide = taxonomy(*paths, name="x")
    numbers = np.array(sorted(listed))
    leaves = np.searchsorted(numbers, values)
    many = replace(few, generalize=lambda: Generalization(few.domain, wide, leaves, numbers))
    expected = 4 / (3 * (19 - 10 + 1) + 1)
    for attribute in (few, many):
        assert research_values(table_of(attribute))[0][1] == pytest.approx(expected)
    by_leaves = [research_values(table_of(replace(each, range="leaves")))[0][1] for each in (few, many)]
    assert by_leaves == pytest.approx([4 / (3 * 3 + 1), 4 / (3 * 3 + 101)])


def test_labels_that_are_intervals_say_how_wide_they_are() -> None:
    domain = numeric([3, 4, 17]).domain
    assert isinstance(domain, Numeric)
    made = intervals(domain, [5, 10], "[{low}-{high}]", "*")
    widths = np.full(len(made.labels), np.nan)
    widths[made.size :] = [4, 4, 9, 9, np.nan][: len(widths) - made.size]
    x = replace(numeric([3, 4, 17]), generalize=lambda: Generalization.over(domain, made, widths))
    assert research_values(table_of(x))[0].tolist() == pytest.approx([1, 3 / 15, 3 / 30, 3 / (3 * 15)])


# --- every level ----------------------------------------------------------------------------------------------------


def slow(attribute: Attribute, weight: float) -> list[float]:
    """From single rows and nodes; labels are no intervals here."""
    hierarchy, found = attribute.hierarchy, []
    for level in hierarchy.levels:
        if attribute.domain.kind == "categorical":
            found.append(weight * len(set(level.tolist())) / hierarchy.size)
        else:
            spans = [span(attribute, level, code) for code in attribute.codes.tolist()]
            found.append(weight * len(spans) / sum(spans))
    return found


def span(attribute: Attribute, level: Any, code: int) -> float:
    """How many numbers the node of a row spans: those that occur in it, from the lowest to the highest, in units."""
    assert isinstance(attribute.domain, Numeric)
    values = attribute.domain.values.tolist()
    if attribute.range == "leaves":
        return int((level == level[code]).sum())
    inside = [
        values[each] for each in set(attribute.codes.tolist()) if each < len(values) and level[each] == level[code]
    ]
    whole = all(float(value).is_integer() for value in values)
    unit = 1.0 if whole else min((b - a for a, b in pairwise(values)), default=1.0)
    return (max(inside) - min(inside)) / unit + 1 if inside else 1.0


@given(tables())
def test_values_follow_the_formulas_and_never_rise(table: Table) -> None:
    first, *others = table.attributes
    table = replace(table, attributes=(replace(first, range="leaves"), *others))
    total = sum(attribute.weight for attribute in table.attributes)
    for attribute, found in zip(table.attributes, research_values(table), strict=True):
        assert found.tolist() == pytest.approx(slow(attribute, attribute.weight / total))
        assert (np.diff(found) <= 1e-15).all()
        assert found[0] == pytest.approx(attribute.weight / total)


@given(tables())
def test_the_metric_is_the_sum_of_the_levels(table: Table) -> None:
    heights = [attribute.hierarchy.height for attribute in table.attributes]
    none: list[Any] = [np.zeros(1)] * len(heights)
    for weights in ("given", "correlation"):
        view = View(table.attributes, none, none, np.array([table.rows]), 0, 1, weights=weights)
        assert METRICS["research_value"].compute(view) is None
        raw = replace(view, levels=[(0, height) for height in heights])
        assert METRICS["research_value"].compute(raw) == pytest.approx(1)
        top = replace(view, levels=[(height, height) for height in heights])
        values = research_values(replace(table, weights=weights))
        assert METRICS["research_value"].compute(top) == pytest.approx(sum(each[-1] for each in values))


# --- correlation ----------------------------------------------------------------------------------------------------

LETTERS = taxonomy("a *", "b *", "c *", "d *")


def test_what_determines_each_other_is_fully_associated() -> None:
    numbers, letters = [1, 2, 3, 4] * 5, list("abcd") * 5
    x, c = numeric(numbers, "x"), categorical(letters, LETTERS)
    assert association(x, numeric([-2 * each for each in numbers], "y")) == pytest.approx(1)
    assert association(c, categorical(letters[::-1], LETTERS)) == pytest.approx(1)
    assert association(x, c) == association(c, x) == pytest.approx(1)


def test_what_is_independent_is_not_associated() -> None:
    x, y = numeric([1, 2] * 8, "x"), numeric([1, 1, 2, 2] * 4, "y")
    c, d = categorical(list("aabb") * 4, LETTERS), categorical(list("ab") * 8, LETTERS)
    for one, other in ((x, y), (c, d), (x, c)):
        assert association(one, other) == pytest.approx(0, abs=1e-9)


def test_many_values_are_no_association() -> None:
    """Without the corrections, a column of nearly unique values would go with everything."""
    rng = np.random.default_rng(1)
    names = [f"v{number}" for number in range(400)]
    many = categorical(rng.choice(names, 600).tolist(), taxonomy(*(f"{name} *" for name in names)))
    few = categorical(rng.choice(list("ab"), 600).tolist(), LETTERS)
    number = numeric(rng.normal(size=600).tolist())
    assert association(many, few) < 0.3
    assert association(many, number) < 0.3


def test_missing_numbers_are_left_out_and_missing_categories_are_one() -> None:
    x, y = numeric([1, 2, 3, None, None], "x"), numeric([2, 4, 6, 0, 100], "y")
    assert association(x, y) == pytest.approx(1)
    gone = taxonomy("a *", "b *", missing="?")
    c = categorical(["a", "a", "?", "?"] * 4, gone)
    assert association(c, categorical(["a", "a", "b", "b"] * 4, LETTERS)) == pytest.approx(1)


def test_the_less_an_attribute_correlates_the_more_it_weighs() -> None:
    rng = np.random.default_rng(3)
    base = rng.normal(size=200)
    x, y = numeric(base.tolist(), "x"), numeric((base + rng.normal(size=200) / 10).tolist(), "y")
    z = numeric(rng.normal(size=200).tolist(), "z")
    found = independence_weights([x, y, z])
    assert found.sum() == pytest.approx(1)
    assert found[2] > 1.5 * max(found[0], found[1])
    pearson = np.abs(np.corrcoef([base, y.domain.values[y.codes], z.domain.values[z.codes]]))  # type: ignore[attr-defined]
    expected = 1 - (pearson.sum(axis=1) - 1) / 2
    assert found.tolist() == pytest.approx((expected / expected.sum()).tolist())


@pytest.mark.parametrize("attributes", [[numeric([1, 2])], [numeric([1, 2, 3], "x"), numeric([2, 4, 6], "y")]])
def test_weights_of_one_attribute_and_of_twins_are_equal(attributes: list[Attribute]) -> None:
    assert independence_weights(attributes).tolist() == pytest.approx([1 / len(attributes)] * len(attributes))


@given(tables())
def test_associations_are_shares(table: Table) -> None:
    found = associations(table.attributes)
    assert ((found >= 0) & (found <= 1)).all() and np.array_equal(found, found.T)
    weights = independence_weights(table.attributes)
    assert weights.sum() == pytest.approx(1) and (weights >= -1e-12).all()


def test_constant_columns_go_with_nothing() -> None:
    assert not associations([numeric([3, 3, 3]), numeric([1, 2, 3]), categorical(list("aaa"), LETTERS)]).any()


def test_taxonomies_have_as_many_values_as_nodes() -> None:
    domain: Taxonomy = taxonomy("a A *", "b A *", "c *")
    assert research_values(table_of(categorical(["a", "a"], domain)))[0].tolist() == pytest.approx([1, 2 / 3, 1 / 3])
