"""COUNT queries: against loops over rows and regions, by hand, and by what they were asked to be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.classes import Floats, Ints
from anonymize.errors import SpecError, UsageError
from anonymize.metrics import measures
from anonymize.metrics.queries import Queries, QueryPlan, drawn, listed
from anonymize.metrics.queries.answers import counted, estimated, summed
from anonymize.metrics.queries.spreads import ONE_DIGIT, PrefixBits, Spreads, positions, ranks, rows_within
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.spec.blocks import Condition
from anonymize.spec.load import load_queries
from anonymize.table import Source, Table, read

ROWS = 300


@pytest.fixture
def people(tmp_path: Path) -> tuple[Any, Table]:
    """Ages, one in ten missing; heights that are no whole numbers; towns under counties."""
    random = np.random.default_rng(2)
    ages = [str(age) if random.random() > 0.1 else "?" for age in random.integers(20, 60, ROWS)]
    heights, towns = random.normal(170, 9, ROWS).round(1), random.choice(["a", "b", "c", "d"], ROWS)
    lines = [f"{age},{height},{town}" for age, height, town in zip(ages, heights, towns, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["age,height,town", *lines]) + "\n")
    (tmp_path / "towns.csv").write_text("a;north;*\nb;south;*\nc;north;*\nd;south;*\n")
    quasi = {
        "age": {"type": "numeric"},
        "height": {"type": "numeric"},
        "town": {"hierarchy": str(tmp_path / "towns.csv")},
    }
    given = {"path": str(tmp_path / "people.csv"), "missing": ["?"]}
    spec = make({"version": 1, "input": given, "quasi_identifiers": quasi}, PARAMETERS)
    with Source.open(spec, None) as source:
        return spec, read(spec, source)


def rows_of(table: Table, queries: Queries) -> list[int]:
    """By a loop over the boxes."""
    counts = [0] * queries.count
    for box, query in enumerate(queries.query.tolist()):
        inside = np.ones(table.rows, np.bool_)
        for index in np.flatnonzero(queries.restricted[box]).tolist():
            codes = table.attributes[index].codes
            inside &= (codes >= queries.first[box, index]) & (codes <= queries.last[box, index])
        counts[query] += int(inside.sum())
    return counts


def expected_of(start: Any, stop: Any, sizes: Any, queries: Queries) -> list[float]:
    """By a loop over boxes and regions, from the definition."""
    expected = [0.0] * queries.count
    for box, query in enumerate(queries.query.tolist()):
        for region, rows in enumerate(sizes.tolist()):
            share = float(rows)
            for index in np.flatnonzero(queries.restricted[box]).tolist():
                low, high = queries.low[box, index], queries.high[box, index]
                begin, end, unit = start[region, index], stop[region, index], float(queries.whole[index])
                common, width = min(end, high) - max(begin, low) + unit, end - begin + unit
                share *= min(max(common, 0) / width, 1) if width > 0 else float(low <= begin <= high)
                share = 0.0 if np.isnan(begin) else share
            expected[query] += share
    return expected


def columns(table: Table) -> list[Any]:
    return [attribute.codes for attribute in table.attributes]


PLANS = {
    "ranges": QueryPlan(200, seed=1),
    "points": QueryPlan(200, seed=1, points=True),
    "selectivity": QueryPlan(200, selectivity=0.1),
    "seeds": QueryPlan(60, repeats=3, dimensions=(2,), attributes=("age", "town")),
}


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_counts_are_those_of_a_loop(people: tuple[Any, Table], plan: QueryPlan) -> None:
    queries = drawn(people[1], plan)
    assert queries.count == plan.number * plan.repeats
    for block, cells in ((77, 1), (64, 200), (1000, 1), (1000, 10_000), (100, 1 << 20)):
        assert counted(columns(people[1]), queries, block, cells).tolist() == rows_of(people[1], queries)
    in_threads = replace(queries, threads=3)
    assert counted(columns(people[1]), in_threads, 64, 1).tolist() == rows_of(people[1], queries)


@pytest.mark.parametrize("cells", [1, 200, 1 << 20])
def test_leaves_that_no_row_has_are_counted_as_none(people: tuple[Any, Table], cells: int) -> None:
    """Of the rows that have none of the last leaves."""
    queries = drawn(people[1], QueryPlan(200, seed=1))
    few = np.all([codes < np.median(codes) for codes in columns(people[1])], axis=0)
    own = [codes[few] for codes in columns(people[1])]
    table = replace(
        people[1],
        attributes=tuple(
            replace(attribute, codes=codes) for attribute, codes in zip(people[1].attributes, own, strict=True)
        ),
        rows=int(few.sum()),
    )
    assert table.rows > 10
    assert counted(own, queries, cells=cells).tolist() == rows_of(table, queries)


@pytest.mark.parametrize("thresholds", [1, 5, ONE_DIGIT - 1, ONE_DIGIT, 1000])
def test_items_below_a_threshold(thresholds: int) -> None:
    """With one digit, and with two."""
    ranked = np.random.default_rng(3).integers(0, thresholds + 1, 150)
    made = PrefixBits.of(ranked, thresholds)
    assert (made.lower is None) == (thresholds < ONE_DIGIT)
    for threshold in range(thresholds):
        assert positions(made.below(threshold)).tolist() == np.flatnonzero(ranked <= threshold).tolist()


@pytest.mark.parametrize("values", [[3, 0, 1, 1, 2], [7, 0], [2.5, 1.0], [-1, 3, 3, 0]])
def test_ranks_are_counts_of_thresholds(values: list[float]) -> None:
    assert ranks(np.array(values), np.array([1, 3])).tolist() == [
        sum(end <= value for end in (1, 3)) for value in values
    ]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_estimates_are_those_of_a_loop(people: tuple[Any, Table], plan: QueryPlan) -> None:
    random, queries = np.random.default_rng(7), drawn(people[1], plan)
    start = np.stack([random.integers(15, 60, 90), random.normal(170, 9, 90), random.integers(0, 4, 90)], axis=1) * 1.0
    stop = start + np.stack([random.integers(0, 20, 90), random.choice([0.0, 4.5], 90), np.zeros(90)], axis=1)
    start[:9, 0] = stop[:9, 0] = np.nan
    sizes = random.integers(1, 9, 90)
    for block in (33, 1000):
        found = estimated(start, stop, sizes, queries, block)
        np.testing.assert_allclose(found, expected_of(start, stop, sizes, queries), atol=1e-9)
        assert estimated(start, stop, sizes, replace(queries, threads=3), block).tolist() == found.tolist()


@pytest.fixture
def halves(tmp_path: Path) -> tuple[Any, Table]:
    """One row of each half from 1 to 3."""
    (tmp_path / "halves.csv").write_text("size\n1\n1.5\n2\n2.5\n3\n")
    quasi = {"size": {"type": "numeric"}}
    spec = make({"version": 1, "input": {"path": str(tmp_path / "halves.csv")}, "quasi_identifiers": quasi}, PARAMETERS)
    with Source.open(spec, None) as source:
        return spec, read(spec, source)


def test_a_decimal_is_asked_for_with_all_that_rounds_to_it(halves: tuple[Any, Table]) -> None:
    """Of five rows between 1 and 3 a quarter has 2, half as many each end; where cells show values, each is found."""
    one, whole = (np.array([[1.0]]), np.array([[3.0]])), np.array([[1.0], [1.5], [2.0], [2.5], [3.0]])
    queries = drawn(halves[1], QueryPlan(60, points=True))
    found = dict(zip(queries.first[:, 0].tolist(), estimated(*one, np.array([5]), queries).tolist(), strict=True))
    assert found == {0: 0.625, 1: 1.25, 2: 1.25, 3: 1.25, 4: 0.625} and sum(found.values()) == 5
    assert (
        estimated(whole, whole, np.ones(5, np.int64), queries).tolist() == counted(columns(halves[1]), queries).tolist()
    )


def test_a_decimal_that_is_listed_is_a_point_as_well(halves: tuple[Any, Table]) -> None:
    (spec, table) = halves
    selections = [
        {"size": Condition.model_validate({"in": (2,)})},
        {"size": Condition.model_validate({"from": 1.5, "to": 2})},
    ]
    queries = listed(spec, table, selections)
    assert estimated(np.array([[1.0]]), np.array([[3.0]]), np.array([5]), queries).tolist() == [1.25, 1.25]
    assert counted(columns(table), queries).tolist() == [1, 2]


def test_sums_of_a_joint_table_are_counts_of_its_rows(people: tuple[Any, Table]) -> None:
    table, queries = people[1], drawn(people[1], QueryPlan(100))
    shape = [attribute.domain.size for attribute in table.attributes]
    counts = np.zeros(shape)
    np.add.at(counts, tuple(codes.astype(np.int64) for codes in columns(table)), 1)
    np.testing.assert_allclose(summed(counts, queries), counted(columns(table), queries), atol=1e-6)


def test_queries_are_as_they_were_asked_for(people: tuple[Any, Table]) -> None:
    table = people[1]
    queries = drawn(table, QueryPlan(300, dimensions=(1, 3)))
    assert set(queries.dimensions.tolist()) == {1, 3} == set(queries.restricted.sum(axis=1).tolist())
    queries = drawn(table, QueryPlan(300, attributes=("town",)))
    assert queries.restricted.sum(axis=0).tolist() == [0, 0, 300]
    queries = drawn(table, QueryPlan(300, selectivity=0.25, dimensions=(2,), attributes=("age", "height")))
    length = (queries.last - queries.first + 1)[:, :2]
    leaves = [len(attribute.domain.values) for attribute in table.attributes[:2]]  # type: ignore[attr-defined]
    assert (length == np.rint(0.5 * np.array(leaves))).all()
    assert (queries.last[:, 0] < leaves[0]).all() and queries.first[:, 0].min() == 0
    queries = drawn(table, QueryPlan(300, points=True, attributes=("height", "town")))
    assert (queries.first == queries.last).all() and counted(columns(table), queries).min() > 0


def test_queries_follow_from_their_seeds(people: tuple[Any, Table]) -> None:
    several = drawn(people[1], QueryPlan(40, seed=4, repeats=2))
    alone = [drawn(people[1], QueryPlan(40, seed=seed)) for seed in (4, 5)]
    assert (several.first == np.concatenate([each.first for each in alone])).all()
    assert (alone[0].first != alone[1].first).any() and several.repeat.tolist() == [0] * 40 + [1] * 40


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (QueryPlan(attributes=("shoe",)), "--query-attributes shoe: is not a quasi-identifier"),
        (QueryPlan(dimensions=(4,)), "--query-dimensions 4: queries are over 3"),
        (QueryPlan(dimensions=(2,), attributes=("age",)), "--query-dimensions 2: queries are over 1"),
    ],
)
def test_queries_that_cannot_be_asked(people: tuple[Any, Table], plan: QueryPlan, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        drawn(people[1], plan)


# --- listed -----------------------------------------------------------------------------------------------------------


LISTED = """\
- {age: {from: 30, to: 39.5}}
- {age: {in: [25, 26, 99]}, town: {in: [a, d]}}
- {town: {in: [north]}, height: {from: 170.25}}
- {height: {to: 1}}
"""


def test_listed_queries_are_what_they_say(people: tuple[Any, Table], tmp_path: Path) -> None:
    spec, table = people
    (tmp_path / "queries.yaml").write_text(LISTED)
    queries = listed(spec, table, load_queries(spec, tmp_path / "queries.yaml"))
    rows = [line.split(",") for line in (tmp_path / "people.csv").read_text().splitlines()[1:]]
    truth = [
        sum(age != "?" and 30 <= int(age) <= 39 for age, _, _ in rows),
        sum(age in ("25", "26") and town in "ad" for age, _, town in rows),
        sum(town in "ac" and float(height) >= 170.25 for _, height, town in rows),
        0,
    ]
    assert counted(columns(table), queries).tolist() == truth == rows_of(table, queries)
    whole_region = np.array([[20.0, 160.0, 0.0]]), np.array([[59.0, 180.5, 3.0]])
    found = estimated(*whole_region, np.array([80]), queries)
    shares = [10 / 40, 2 / 40 * 2 / 4, (180.5 - 170.25) / 20.5 * 2 / 4, 0]
    np.testing.assert_allclose(found, 80 * np.array(shares))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age: {from: 3}\n", "is not a list of queries"),
        ("- {age: {form: 3}}\n", "query 1, `age`: no condition"),
        ("- {town: {in: [a]}}\n- {age: {from: old}}\n", "query 2, `age`: no condition"),
        ("- {shoe: {in: [a]}}\n", "column `shoe` has no role"),
        ("- {town: {from: 3}}\n", "are for numeric attributes"),
        ("- {age: {from: 3\n", "is no YAML"),
    ],
)
def test_lists_that_are_none(people: tuple[Any, Table], tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "queries.yaml").write_text(text)
    with pytest.raises(SpecError, match=message) as raised:
        load_queries(people[0], tmp_path / "queries.yaml")
    assert "queries.yaml" in str(raised.value)


def test_a_file_that_is_not_there(people: tuple[Any, Table], tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read"):
        load_queries(people[0], tmp_path / "none.yaml")


# --- figures ----------------------------------------------------------------------------------------------------------


def test_a_sanity_bound_leaves_no_query_out(people: tuple[Any, Table], tmp_path: Path) -> None:
    """True counts 0 and some; answers of 3 more."""
    spec, table = people
    (tmp_path / "queries.yaml").write_text("- {height: {to: 1}}\n- {town: {in: [a]}}\n")
    asked = load_queries(spec, tmp_path / "queries.yaml")
    truth = counted(columns(table), listed(spec, table, asked))
    plain = measures.query_figures(table, listed(spec, table, asked), np.asarray(truth + 3.0, np.float64))
    bound = measures.query_figures(table, listed(spec, table, asked, 10), np.asarray(truth + 3.0, np.float64))
    assert plain is not None and bound is not None
    assert plain["mean"] == pytest.approx(3 / truth[1]) and plain["empty"] == 1
    assert bound["mean"] == pytest.approx((0.3 + 3 / truth[1]) / 2) and bound["empty"] == 1
    assert bound["settings"] == {"listed": True, "bound": 10}


def off(truth: Ints, queries: Queries) -> Floats:
    """Answers that are wrong by a half for queries over two attributes, by a quarter for others."""
    return np.asarray(truth * np.where(queries.dimensions == 2, 1.5, 1.25), np.float64)


def test_figures_by_dimension_and_over_seeds(people: tuple[Any, Table]) -> None:
    queries = drawn(people[1], QueryPlan(80, repeats=3))
    truth = counted(columns(people[1]), queries)
    block = measures.query_figures(people[1], queries, off(truth, queries))
    assert block is not None
    assert block["by_dimension"]["2"]["mean"] == pytest.approx(0.5)
    assert block["by_dimension"]["1"]["quantiles"] == pytest.approx(
        dict.fromkeys(("0.05", "0.25", "0.75", "0.95"), 0.25)
    )
    assert sum(each["queries"] for each in block["by_dimension"].values()) == block["queries"] == 240
    parts = [block_of_seed["mean"] for block_of_seed in _alone(people[1])]
    assert block["over_seeds"]["seeds"] == 3 and block["over_seeds"]["median_sd"] is not None
    assert block["over_seeds"]["mean_sd"] == pytest.approx(np.std(parts, ddof=1))


def _alone(table: Table) -> list[dict[str, Any]]:
    blocks = []
    for seed in range(3):
        queries = drawn(table, QueryPlan(80, seed=seed))
        truth = counted(columns(table), queries)
        block = measures.query_figures(table, queries, off(truth, queries))
        assert block is not None and "over_seeds" not in block
        blocks.append(block)
    return blocks


def test_regions_that_are_points_are_spread_over_nothing(people: tuple[Any, Table]) -> None:
    """One that is no whole number among whole ones is spread all the same."""
    queries = drawn(people[1], QueryPlan(200, seed=3))
    points = np.array([[25.0, 170.1, 1.0], [40.0, 165.2, 2.0], [40.0, 171.5, 0.0]])
    sizes = np.array([3, 4, 5])
    for start in (points, points + np.array([0.5, 0.0, 0.0])):
        found = estimated(start, start, sizes, queries)
        np.testing.assert_allclose(found, expected_of(start, start, sizes, queries), atol=1e-9)


@pytest.mark.parametrize("distinct", [5, 400])
@pytest.mark.parametrize("step", [1, 7])
def test_regions_near_each_other_and_far_apart_have_the_same_shares(distinct: int, step: int) -> None:
    random = np.random.default_rng(distinct)
    start = random.integers(0, distinct, 500).astype(np.float64)
    start[::50] = np.nan
    stop = start + random.integers(0, 9, 500)
    weights = random.integers(1, 9, 500).astype(np.float64)
    low, high = 0.3 * distinct, 0.7 * distinct
    met = np.flatnonzero((start <= high) & (stop >= low))[::step]
    spreads = Spreads.of(start, stop, weights, whole=False)
    width = stop - start
    shares = (np.minimum(stop, high) - np.maximum(start, low)) / np.where(width > 0, width, 1.0) + (width == 0)
    expected = (weights * shares * shares)[met]
    within = [(spreads, low, high, int(spreads.before(low, high)))] * 2
    np.testing.assert_allclose(rows_within(weights, met, within), expected, rtol=1e-12)
    every = (start <= high) & (stop >= low)
    assert spreads.expected(low, high) == pytest.approx((weights * shares)[every].sum())
