"""The order of rows: what is sorted, and what running bounds leave of each cell; the second by counting every row."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.verify import CellTemplates, Check, Ordering, OriginalRows, Verdict, measure
from anonymize.verify.cells import ends_of
from anonymize.verify.order import is_sorted
from anonymize.verify.table import TextTable, read

K = Check("k-anonymity", None, {"k": 2})
TEMPLATES = CellTemplates(missing=["", "?"])


def in_order(
    columns: dict[str, list[str | None]],
    quasi_identifiers: list[str],
    fill: str | None = None,
    normalize: bool = False,
) -> bool:
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).lazy()
    table = TextTable(frame, tuple(quasi_identifiers), ("",), fill, normalize=normalize)
    return is_sorted(table, read(table, [], "*", keep=True).columns, TEMPLATES)


def measured(
    cells: list[str | None], original: list[str] | None = None, kept: list[bool] | None = None, **more: list[str]
) -> Verdict:
    """A column `q`, and `more` that pass through."""
    rows = None if original is None else pl.DataFrame({"q": original}).lazy()
    truth = None if rows is None else OriginalRows(rows, None if kept is None else pl.Series(kept), ["", "?"])
    ordering = Ordering({"q": ["q"]}, TEMPLATES, original is not None, truth)
    frame = pl.DataFrame({"q": cells, **more}, schema_overrides={"q": pl.String})
    return measure(frame, ["q"], [K], ["", "?"], ordering=ordering)


# --- cells -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("5", 5, 5),
        (" -7.5 ", -7.5, -7.5),
        ("1e3", 1000, 1000),
        ("[5-9]", 5, 9),
        ("[-9--5]", -9, -5),
        ("[0.5-1e1)", 0.5, 10),
        ("77+", 77, float("inf")),
        ("12-", float("-inf"), 12),
        ("[20-60] or missing", 20, 60),
        ("[20-60) or ?", 20, 60),
        ("77+ or ?", 77, float("inf")),
        ("[20-60] or -9", None, None),
        ("[20-60] or ", None, None),
        ("*", None, None),
        ("inf", None, None),
        ("[5-]", None, None),
        ("x[5-9]", None, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_ends(text: str | None, low: float | None, high: float | None) -> None:
    row = ends_of(pl.Series([text], dtype=pl.String), TEMPLATES).row(0, named=True)
    assert (row["low"], row["high"]) == (low, high)
    assert row["without_high"] is bool(text and ")" in text)
    assert row["or_missing"] is bool(low is not None and text and " or " in text)


def test_ends_of_another_template() -> None:
    templates = CellTemplates(interval="{low}..{high}", open_high=">={low}", missing=["?"])
    frame = ends_of(pl.Series(["1..2", ">=7", "3..4 or ?", "[1-2]"]), templates)
    assert frame["low"].to_list() == [1, 7, 3, None] and frame["high"].to_list() == [2, float("inf"), 4, None]


# --- the order of what is shown --------------------------------------------------------------------------------------


def test_cells_are_sorted_null_first_then_numbers_then_texts() -> None:
    cells = [None, "-9", "2", "[2-3]", "[2-10)", "[2-10]", "10", "77+", "*", "?", "A", "a", "é"]
    assert in_order({"q": cells}, ["q"])
    for place in range(len(cells) - 1):
        swapped = [*cells]
        swapped[place], swapped[place + 1] = cells[place + 1], cells[place]
        assert not in_order({"q": swapped}, ["q"]), place


def test_intervals_are_texts_where_they_identify_nobody() -> None:
    assert in_order({"q": ["a"] * 3, "s": ["3", "[10-11]", "[2-3]"]}, ["q"])
    assert not in_order({"q": ["a"] * 3, "s": ["3", "[2-3]", "[10-11]"]}, ["q"])


def test_quasi_identifiers_come_first_in_the_order_of_the_file() -> None:
    columns: dict[str, list[str | None]] = {"s": ["2", "1", "1"], "p": ["a", "a", "b"], "q": ["1", "2", "1"]}
    assert in_order(columns, ["q", "p"])
    assert not in_order(columns, ["q"])


def test_the_rest_of_the_row_is_compared_where_all_before_is_alike() -> None:
    assert in_order({"q": ["a", "a", "b"], "s": ["1", "10", "2"], "u": ["z", "y", "x"]}, ["q"])
    assert not in_order({"q": ["a", "a", "b"], "s": ["10", "9", "2"]}, ["q"])
    rest: dict[str, list[str | None]] = {f"s{n}": ["x", "x"] for n in range(7)}
    assert in_order({"q": ["a", "a"], **rest, "t": ["1", "2"]}, ["q"])
    assert not in_order({"q": ["a", "a"], **rest, "t": ["2", "1"]}, ["q"])
    assert not in_order({"q": ["a", "a"], "s": ["", None]}, ["q"]) and in_order(
        {"q": ["a", "a"], "s": [None, ""]}, ["q"]
    )


def test_nulls_that_were_read_as_the_empty_text() -> None:
    assert in_order({"q": [None, "2", "a"]}, ["q"], fill="")
    assert in_order({"q": ["2", "", "a"]}, ["q"], fill="")
    assert not in_order({"q": ["2", "a", ""]}, ["q"], fill="")


def test_texts_are_sorted_as_they_stand_even_where_they_are_compared_without_what_cannot_be_seen() -> None:
    cells: list[str | None] = ["e\u0301a", "z", "\u00e9a"]  # the same letter, in two and in one character
    assert in_order({"q": cells}, ["q"], normalize=True)
    assert not in_order({"q": ["z", "e\u0301a", "z"]}, ["q"], normalize=True)


def test_columns_whose_names_look_like_patterns() -> None:
    assert in_order({"q": ["a", "a"], "*": ["1", "2"], "^.*$": ["2", "1"]}, ["q"])
    assert not in_order({"q": ["a", "a"], "*": ["1", "1"], "^.*$": ["2", "1"]}, ["q"])


def test_one_row_and_none() -> None:
    assert in_order({"q": ["a"]}, ["q"]) and in_order({"q": []}, ["q"])


ROW = st.tuples(*[st.sampled_from([None, "", "2", "10", "[2-3]", "[1-9]", "*", "b"])] * 3)


def slow_key(row: tuple[str | None, ...]) -> list[tuple[Any, ...]]:
    """As defined; of `p` and `q`, which identify, then of `s`."""
    numbers = {"2": (2, 2), "10": (10, 10)}
    intervals = {"[2-3]": (2, 3), "[1-9]": (1, 9)}
    known = [numbers | intervals, numbers | intervals, numbers]
    return [
        (0,) if cell is None else (1, *ends[cell], cell.encode()) if cell in ends else (2, cell.encode())
        for cell, ends in zip(row, known, strict=True)
    ]


@given(st.lists(ROW, min_size=2, max_size=4), st.booleans())
def test_as_python_sorts(rows: list[tuple[str | None, ...]], ordered: bool) -> None:
    rows = sorted(rows, key=slow_key) if ordered else rows
    columns = {name: [row[place] for row in rows] for place, name in enumerate("pqs")}
    assert in_order(columns, ["p", "q"]) is (rows == sorted(rows, key=slow_key))


# --- running bounds --------------------------------------------------------------------------------------------------


def narrowed(cells: list[tuple[int, int]], *, descending: bool) -> list[tuple[int, int]]:
    """Each cell once no value is on the wrong side of one before or after it."""
    if descending:
        cells = cells[::-1]
    ends = [(max(low for low, _ in cells[: n + 1]), min(high for _, high in cells[n:])) for n in range(len(cells))]
    return ends[::-1] if descending else ends


CELL = st.tuples(st.integers(0, 9), st.integers(0, 4), st.integers(0, 4))


@given(st.lists(CELL, min_size=2, max_size=12), st.booleans())
def test_every_cell_is_what_all_before_and_after_it_leave(drawn: list[tuple[int, int, int]], descending: bool) -> None:
    drawn = sorted(drawn, reverse=descending)
    values = [value for value, _, _ in drawn]
    cells = [(value - below, value + above) for value, below, above in drawn]
    texts = [str(low) if low == high else f"[{low}-{high}]" for low, high in cells]
    order = measured(list(texts), [str(value) for value in values]).order
    assert order is not None
    if len(set(values)) == 1:
        assert order.attributes == ()
        return
    ends = narrowed(cells, descending=descending)
    if ends == cells:
        assert order.attributes == ()
        return
    (attribute,) = order.attributes
    assert attribute.direction == ("descending" if descending else "ascending")
    assert attribute.exact == pytest.approx(sum(low == high for low, high in ends) / len(ends))
    assert attribute.exact_as_shown == pytest.approx(sum(low == high for low, high in cells) / len(ends))
    assert order.singled_out == sum(ends.count(each) == 1 for each in ends)
    assert order.results[0].satisfied is (min(ends.count(each) for each in ends) >= 2)


def test_without_the_original_contradictions_show_that_there_is_no_order() -> None:
    order = measured(["[5-9]", "[1-3]", "[5-9]", "[1-3]"]).order
    assert order is not None and order.attributes == () and not order.sorted and not order.judged


def test_cells_that_may_all_be_one_value_say_nothing_of_an_order() -> None:
    order = measured(["[1-9]", "[5-7]", "*", "[1-9]"]).order
    assert order is not None and order.attributes == ()


def test_a_suppressed_cell_lies_between_those_around_it() -> None:
    order = measured(["[1-3]", "3", "*", "3", "[3-5]", "7", "[6-9]"]).order
    assert order is not None and order.attributes[0].exact == pytest.approx(4 / 7)  # 3, 3, 3, 7


def test_missing_values_bound_nothing_and_are_not_bounded() -> None:
    order = measured(["[1-2]", "?", None, "[3-9]", "[2-5]"]).order
    assert order is not None and order.attributes[0].name == "q"
    assert order.singled_out == 3 and order.rows == 5  # the last two read [3-5]


def test_a_cell_that_may_be_missing_is_narrowed_and_narrows_none() -> None:
    order = measured(["1", "[3-9] or missing", "[2-5]", "6", "[6-8]"]).order
    assert order is not None and [each.exact for each in order.attributes] == [0.4]


def test_labels_are_what_was_under_them() -> None:
    """North is B and C, South D and E: a North between two of C is C, and which of the two a South is, is not known."""
    original = ["A", "B", "C", "C", "C", "D", "E"]
    order = measured(["A", "North", "C", "North", "C", "South", "South"], original).order
    assert order is not None
    assert order.attributes[0].exact_as_shown == pytest.approx(3 / 7) and order.attributes[0].exact == pytest.approx(
        4 / 7
    )


def test_means_are_what_was_under_them() -> None:
    order = measured(["2", "2", "4", "2"], ["1", "2", "3", "3"]).order
    assert order is not None and order.attributes[0].direction == "ascending"


def test_numbers_that_are_sorted_as_texts() -> None:
    order = measured(["[10-9]", "100", "[10-9]", "9"], ["10", "100", "20", "9"]).order
    assert order is not None and [each.name for each in order.attributes] == ["q"]


def test_in_order_within_runs_of_another_column() -> None:
    values = [*range(30), *range(30)]
    cells = [f"[{value - 5}-{value + 5}]" if value % 2 else str(value) for value in values]
    runs = ["a"] * 30 + ["b"] * 30
    order = measured(list(cells), [str(value) for value in values], r=runs).order
    assert order is not None and (order.attributes[0].within, order.attributes[0].direction) == ("r", "ascending")
    assert measured(list(cells), [str(value) for value in values], r=["a", "b"] * 30).order.attributes == ()  # type: ignore[union-attr]


def test_a_few_steps_within_runs_are_chance() -> None:
    cells = ["[1-5]", "[3-9]", "[1-5]", "[3-9]"]
    assert measured(list(cells), ["2", "7", "2", "7"], r=["a", "a", "b", "b"]).order.attributes == ()  # type: ignore[union-attr]


def test_rows_that_were_dropped_are_left_out_of_the_original() -> None:
    order = measured(["[1-5]", "[3-9]", "[1-5]"], ["2", "0", "4", "5"], [True, False, True, True]).order
    assert order is not None and len(order.attributes) == 1


def test_bounds_are_read_from_two_columns() -> None:
    frame = pl.DataFrame({"q_low": ["1", "4", "3", None], "q_high": ["9", "5", "7", "6"]})
    ordering = Ordering({"q": ["q_low", "q_high"]}, TEMPLATES, True)
    verdict = measure(frame, ["q_low", "q_high"], [K], ordering=ordering)
    assert verdict.order is not None and [each.direction for each in verdict.order.attributes] == []
    frame = pl.DataFrame({"q_low": ["1", "4", "3", "8"], "q_high": ["9", "5", "7", None]})
    verdict = measure(frame, ["q_low", "q_high"], [K], ordering=ordering)
    assert verdict.order is not None and [each.direction for each in verdict.order.attributes] == ["ascending"]
    assert verdict.satisfied is False


def test_what_is_judged_is_part_of_the_verdict() -> None:
    verdict = measured(["[1-5]", "[1-5]", "[4-9]", "[4-9]"], ["1", "5", "5", "9"])
    assert verdict.satisfied is True
    verdict = measured(["[1-5]", "[4-9]", "[1-5]", "[4-9]"], ["1", "4", "5", "9"])
    assert verdict.satisfied is False and verdict.unmet[0].endswith("given what the order of the rows discloses")
