"""Missing as a wildcard: published examples, cases by hand, and every pair of rows compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.claims import State
from anonymize.verify import Check, Result, Verdict, measure, risk
from anonymize.verify.risk import matching
from tests.examples import some

MISSING = ("", "?")
WILD = {"", "?", "*", None}
K = Check("k-anonymity", None, {"k": 2})
CHECKS = [
    K,
    Check("distinct-l-diversity", "s", {"l": 2}),
    Check("entropy-l-diversity", "s", {"l": 1.5}),
    Check("frequency-l-diversity", "s", {"l": 1.5}),
    Check("recursive-cl-diversity", "s", {"c": 2.0, "l": 2}),
    Check("squared-error-diversity", "n", {"error": 3.0}, numeric=True),
]
Cell = str | None
CELL = st.sampled_from(["a", "b", "a", "?", "*", "", None])
ROW = st.tuples(CELL, CELL, CELL, st.sampled_from(["x", "y", "z", "?"]), st.sampled_from(["1", "2", "9", ""]))
COLUMNS = ["q", "r", "t", "s", "n"]


def table(rows: list[tuple[Any, ...]], columns: list[str] | None = None) -> pl.DataFrame:
    names = columns or [f"q{at}" for at in range(len(rows[0]))]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def measured(rows: list[tuple[Any, ...]], checks: list[Check] | None = None, **more: Any) -> Verdict:
    frame = table(rows)
    return measure(frame, frame.columns, checks or [K], MISSING, missing_as="wildcard", **more)


def compatible(one: tuple[Cell, ...], other: tuple[Cell, ...]) -> bool:
    return all(a in WILD or b in WILD or a == b for a, b in zip(one, other, strict=True))


# --- published examples ----------------------------------------------------------------------------------------------

EXAMPLES = {
    "sex and zip": (
        ["M 4711", "M 4711", "M 4711", "* 4711", "* 4711", "F 4712", "F *", "M *"],
        [6, 6, 6, 7, 7, 2, 4, 6],
    ),
    "age, sex and region": (
        ["* F N", "68 F N", "68 * N", "* * N", "* * N", "* * N", "68 F *", "68 * S", "68 F S", "68 F S"],
        [7, 7, 7, 7, 7, 7, 10, 4, 4, 4],
    ),
    "weight and code": (
        ["73 7", "73 7", "* 7", "* 7", "* 2", "67 2", "67 2", "67 7", "67 7", "67 7"],
        [4, 4, 7, 7, 3, 3, 3, 5, 5, 5],
    ),
    "three keys of a survey": (
        ["2 3 1", "3 3 3", "2 3 *", "2 3 2", "3 3 1", "3 3 1", "1 4 *", "* 3 1"],
        [3, 1, 4, 2, 3, 3, 1, 5],
    ),
}


@pytest.mark.parametrize(("texts", "counts"), EXAMPLES.values(), ids=list(EXAMPLES))
def test_published_counts(texts: list[str], counts: list[int]) -> None:
    rows = [tuple(text.split()) for text in texts]
    assert [sum(compatible(one, other) for other in rows) for one in rows] == counts
    found = measured(rows).wildcard
    assert found is not None
    assert found.results[0].achieved == {"k": min(counts)}
    assert found.results[0].failing_rows == sum(count < 2 for count in counts)
    assert found.risk["prosecutor_max"] == 1 / min(counts)
    assert found.risk["prosecutor_mean"] == found.risk["marketer"]
    assert found.risk["marketer"] == pytest.approx(sum(1 / count for count in counts) / len(counts), abs=1e-16)
    assert found.risk["uniques"] == counts.count(1)


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_both_meanings_are_told_and_what_is_shown_decides() -> None:
    found = measured([("a", "1"), ("a", "*"), ("b", "2"), ("b", "2")])
    assert found.wildcard is not None
    assert [result.achieved for result in found.results] == [{"k": 1}] and found.results[0].satisfied is False
    assert [result.achieved for result in found.wildcard.results] == [{"k": 2}] and found.state is State.UNMET
    assert found.risk["uniques"] == 2 and found.wildcard.risk["uniques"] == 0


def test_as_a_value_of_its_own_there_is_no_second_figure() -> None:
    frame = table([("a",), ("*",)])
    found = measure(frame, ["q0"], [K], MISSING)
    assert found.wildcard is None and found.state is State.UNMET


def test_a_few_blank_rows_hide_nobody() -> None:
    """They match everybody, so that each of many single rows has company, and each of them would need its own."""
    found = measured(
        [*((str(each), "x") for each in range(50)), ("*", "*"), ("?", "*")], [Check("k-anonymity", None, {"k": 3})]
    )
    assert found.wildcard is not None and found.wildcard.results[0].state is State.MET
    assert found.state is State.UNMET and found.results[0].failing_rows == 52


def test_a_wholly_suppressed_row_matches_everything() -> None:
    found = measured([("a", "1"), ("b", "2"), ("*", "?")])
    assert found.wildcard is not None and found.wildcard.results[0].achieved == {"k": 2}
    assert found.wildcard.risk["marketer"] == pytest.approx((1 / 2 + 1 / 2 + 1 / 3) / 3)


def test_a_table_without_wildcards_is_the_same_in_both() -> None:
    found = measured([("a", "1"), ("a", "1"), ("b", "2")])
    assert found.wildcard is not None
    assert found.wildcard.results == found.results and found.wildcard.risk == found.risk


def test_a_person_in_several_classes_is_once_in_the_table_in_both() -> None:
    frame = table([("a", "x"), ("b", "x"), ("b", "y")], ["q", "s"])
    check, people = Check("t-closeness", "s", {"t": 0.3, "distance": "equal"}), pl.Series(["p", "p", "q"])
    found = measure(frame, ["q"], [check], MISSING, missing_as="wildcard", units=people)
    assert found.results[0].achieved["t"] == pytest.approx(1 / 2)  # as many of x as of y
    assert found.wildcard is not None and found.wildcard.results == found.results


def test_a_null_that_is_a_text_is_no_wildcard() -> None:
    frame = table([("a",), (None,)])
    found = measure(frame, ["q0"], [K], ("?",), null_missing=False, missing_as="wildcard")
    assert found.wildcard is not None and found.wildcard.results[0].achieved == {"k": 1}
    found = measure(frame, ["q0"], [K], ("?",), missing_as="wildcard")
    assert found.wildcard is not None and found.wildcard.results[0].achieved == {"k": 2}


def test_a_part_of_a_label_is_no_wildcard() -> None:
    found = measured([("021**",), ("02138",)])
    assert found.wildcard is not None and found.wildcard.results[0].achieved == {"k": 1}


def test_what_was_diverse_may_not_be_among_more_rows() -> None:
    rows = [("a", "x"), ("a", "y"), *[("*", "x")] * 8]
    frame = table(rows, ["q", "s"])
    check = Check("entropy-l-diversity", "s", {"l": 1.9})
    found = measure(frame.head(2), ["q"], [check], missing_as="wildcard")
    assert found.satisfied is True
    found = measure(frame, ["q"], [check], missing_as="wildcard")
    assert found.wildcard is not None and found.results[0].failing_rows == 8
    assert found.wildcard.results[0].failing_rows == 10


def test_no_rows() -> None:
    frame = pl.DataFrame({"q": [], "s": []}, schema={"q": pl.String, "s": pl.String})
    found = measure(frame, ["q"], [K, Check("distinct-l-diversity", "s", {"l": 2})], missing_as="wildcard")
    assert found.wildcard is not None and found.wildcard.risk["marketer"] == 0 and found.satisfied is True


def test_more_columns_than_a_number_has_bits() -> None:
    rows = [("a",) * 69 + ("c",), ("a",) * 69 + ("b",), ("*",) + ("a",) * 68 + ("c",)]
    found = measured(rows)
    assert found.wildcard is not None
    assert [found.wildcard.results[0].achieved, found.wildcard.risk["uniques"]] == [{"k": 1}, 1]


# --- every pair of rows ----------------------------------------------------------------------------------------------


def weakest(check: Check, results: list[Result]) -> dict[str, Any]:
    """The achieved parameters over several tables: None, which is infinite, counts as the weakest."""
    name = {"k-anonymity": "k", "recursive-cl-diversity": "c", "squared-error-diversity": "error"}.get(check.model, "l")
    figures = [result.achieved[name] for result in results]
    if check.model != "recursive-cl-diversity":
        return {**check.parameters, name: min(figure for figure in figures if figure is not None)}
    worst = None if None in figures else max(figure for figure in figures if figure is not None)
    return {**check.parameters, name: worst}


def by_pairs(rows: list[tuple[Cell, ...]], units: list[str] | None) -> list[list[Result]]:
    """Of each check, a result for each row: measured on a table of the compatible rows, as one class."""
    found: list[list[Result]] = [[] for _ in CHECKS]
    for one in rows:
        near = [at for at, other in enumerate(rows) if compatible(one[:3], other[:3])]
        frame = table([("same", *rows[at][3:]) for at in near], ["q", "s", "n"])
        people = None if units is None else pl.Series([units[at] for at in near])
        verdict = measure(frame, ["q"], CHECKS, MISSING, units=people)
        for place, result in enumerate(verdict.results):
            found[place].append(result)
    return found


def close(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return found.keys() == expected.keys() and all(
        found[name] == (expected[name] if expected[name] is None else pytest.approx(expected[name])) for name in found
    )


@pytest.mark.parametrize("pieces", [10**6, 1], ids=["in one piece", "class by class"])
@pytest.mark.parametrize("persons", [False, True], ids=["rows", "units"])
@settings(max_examples=some(12))
@given(rows=st.lists(ROW, min_size=1, max_size=10), data=st.data())
def test_the_same_as_comparing_every_pair(
    rows: list[tuple[Cell, ...]], data: st.DataObject, persons: bool, pieces: int
) -> None:
    units = data.draw(st.lists(st.sampled_from("1234"), min_size=len(rows), max_size=len(rows))) if persons else None
    before, risk.ENTRIES = risk.ENTRIES, pieces
    try:
        verdict = measure(
            table(rows, COLUMNS),
            COLUMNS[:3],
            CHECKS,
            MISSING,
            units=None if units is None else pl.Series(units),
            missing_as="wildcard",
        )
    finally:
        risk.ENTRIES = before
    assert verdict.wildcard is not None
    for check, result, expected in zip(CHECKS, verdict.wildcard.results, by_pairs(rows, units), strict=True):
        assert close(result.achieved, weakest(check, expected))
        assert result.failing_rows == sum(each.satisfied is False for each in expected)
        assert result.satisfied is all(each.satisfied for each in expected)


@given(st.lists(ROW, min_size=1, max_size=12))
def test_what_counts_only_rises(rows: list[tuple[Cell, ...]]) -> None:
    verdict = measure(table(rows, COLUMNS), COLUMNS[:3], CHECKS, MISSING, missing_as="wildcard")
    assert verdict.wildcard is not None
    for own, other in list(zip(verdict.results, verdict.wildcard.results, strict=True))[:2]:
        assert other.failing_rows <= own.failing_rows
    plain, wild = verdict.risk["uniques"], verdict.wildcard.risk["uniques"]
    assert plain is not None and wild is not None and wild <= plain


FURTHER = [
    Check("alpha-k-anonymity", "s", {}),
    Check("p-sensitivity", "s", {}),
    Check("k-e-anonymity", "n", {}, numeric=True),
    Check("t-closeness", "s", {"distance": "equal"}),
    Check("t-closeness", "n", {"distance": "ordered"}, numeric=True),
    Check("basic-beta-likeness", "s", {}),
    Check("enhanced-beta-likeness", "s", {}),
    Check("delta-disclosure", "s", {}),
    Check("risk", None, {"threshold": 0.2}),
    Check("sample-uniqueness", None, {}),
]


@settings(max_examples=some(40))
@given(st.lists(ROW, min_size=1, max_size=14))
def test_compatible_rows_are_whole_classes_and_a_monotone_model_that_all_meet_stays_met(
    rows: list[tuple[Cell, ...]],
) -> None:
    """The search and the check of a release may require a model of classes: what it promises then holds in both."""
    frame, names = table(rows, COLUMNS), COLUMNS[:3]
    found = measure(frame, names, [*CHECKS[:4], *FURTHER], MISSING)
    reached = [
        replace(check, parameters={**check.parameters, **{n: v for n, v in result.achieved.items() if v is not None}})
        for check, result in zip([*CHECKS[:4], *FURTHER], found.results, strict=True)
    ]
    both = measure(frame, names, reached, MISSING, missing_as="wildcard")
    assert both.wildcard is not None and both.results[0].satisfied
    for own, other in zip(both.results, both.wildcard.results, strict=True):
        assert other.satisfied or not own.satisfied, other


@given(st.lists(st.tuples(CELL, CELL, st.floats(0.1, 9)), min_size=1, max_size=12), st.randoms())
def test_sums_of_weights(rows: list[tuple[Cell, Cell, float]], shuffle: Any) -> None:
    keys = [(None if a in WILD else a, None if b in WILD else b, weight) for a, b, weight in rows]
    frame = pl.DataFrame(keys, schema={"a": pl.String, "b": pl.String, "w": pl.Float64}, orient="row")
    frame = frame.with_row_index("class")
    found = matching(frame, ["a", "b"], ["w"])
    expected = [sum(other[2] for other in rows if compatible(one[:2], other[:2])) for one in rows]
    assert found["class"].to_list() == list(range(len(rows))) and found["w"].to_list() == pytest.approx(expected)
    shuffled = frame.sample(fraction=1, shuffle=True, seed=shuffle.randint(0, 99))
    assert matching(shuffled, ["a", "b"], ["w"]).equals(found)
