"""What the order of rows leaves of their cells: running bounds worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from anonymize.verify import CellTemplates, Check, Ordering, OriginalRows, Verdict, measure
from anonymize.verify.order import Cells
from anonymize.verify.tighten import EVIDENCE, Ordered

TEMPLATES = CellTemplates(missing=["?"])
Ends = tuple[int | None, int | None]


def ordered(ends: Sequence[Ends], direction: Any = "ascending", runs: list[int] | None = None, **flags: Any) -> Ordered:
    """Cells with these ends, of keys from 0 to 9. `flags`: the numbers of cells that are `or_missing`, or `derived`."""
    marked = {name: [n in flags.get(name, ()) for n in range(len(ends))] for name in ("or_missing", "derived")}
    keys = pl.DataFrame(
        {"low": [low for low, _ in ends], "high": [high for _, high in ends], **marked},
        schema_overrides={"low": pl.Int64, "high": pl.Int64},
    )
    codes = pl.Series(range(len(ends)), dtype=pl.UInt32)
    of_runs = None if runs is None else pl.Series(runs, dtype=pl.UInt32)
    return Ordered(Cells("age", codes, keys, 9), direction, None, of_runs)


def bounds(of: Ordered) -> list[Ends]:
    return of.bounds.rows()


def test_no_value_is_below_a_cell_before_it_nor_above_one_behind_it() -> None:
    of = ordered([(0, 9), (4, 6), (0, 9), (5, 9)])
    assert bounds(of) == [(0, 6), (4, 6), (4, 9), (5, 9)]
    assert of.consistent and of.narrows and of.changed.to_list() == [True, False, True, False]


def test_where_rows_descend_it_is_the_other_way_round() -> None:
    of = ordered([(0, 9), (4, 6), (0, 9)], "descending")
    assert bounds(of) == [(4, 9), (4, 6), (0, 6)]


def test_bounds_that_contradict_each_other_are_not_in_order() -> None:
    assert not ordered([(5, 5), (4, 4)]).consistent
    assert ordered([(5, 5), (4, 4)], "descending").consistent and ordered([(5, 5), (5, 5)]).consistent


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("ascending", [(3, 5), (5, 5), (0, 1), (1, 9)]), ("descending", [(5, 9), (5, 5), (1, 9), (0, 1)])],
)
def test_bounds_start_anew_with_every_run(direction: str, expected: list[Ends]) -> None:
    """In both directions the cells of a run bound those of no other."""
    first: list[Ends] = [(3, 9), (5, 5)] if direction == "ascending" else [(0, 9), (5, 5)]
    second: list[Ends] = [(0, 1), (1, 9)] if direction == "ascending" else [(1, 9), (0, 1)]
    assert bounds(ordered([*first, *second], direction, [0, 0, 1, 1])) == expected


def test_a_missing_cell_bounds_nothing_and_is_bounded_by_nothing() -> None:
    assert bounds(ordered([(4, 4), (None, None), (0, 9)])) == [(4, 4), (None, None), (4, 9)]


def test_a_cell_that_may_be_missing_is_narrowed_and_narrows_none() -> None:
    of = ordered([(4, 4), (0, 6), (0, 9)], or_missing=[1])
    assert bounds(of) == [(4, 4), (4, 6), (4, 9)]


def test_the_summary_counts_cells_that_say_one_value() -> None:
    of = ordered([(4, 4), (0, 9), (4, 4), (7, 7)], derived=[3])
    summary = of.summary
    assert (summary.name, summary.direction, summary.within) == ("age", "ascending", None)
    assert (summary.exact_as_shown, summary.exact) == (2 / 4, 3 / 4)


def test_cells_with_the_same_ends_read_the_same_once_narrowed() -> None:
    """A label is a text of its own for as long as nothing narrows it."""
    of = ordered([(4, 4), (0, 4), (4, 9), (9, 9)])
    first, second, third, fourth = of.numbering.of_row.to_list()
    assert first == second and len({first, third, fourth}) == 3
    labels = ordered([(4, 6), (4, 6), (4, 9)], derived=[1])
    assert len(set(labels.numbering.of_row.to_list())) == 3


# --- of whole tables -------------------------------------------------------------------------------------------------


def measured(cells: list[str], original: list[str] | None = None, **more: list[str]) -> Verdict:
    truth = None if original is None else OriginalRows(pl.DataFrame({"q": original}).lazy(), None, ["?"])
    ordering = Ordering({"q": ["q"]}, TEMPLATES, original is not None, truth)
    frame = pl.DataFrame({"q": cells, **more})
    return measure(frame, ["q"], [Check("k-anonymity", None, {"k": 2})], ["?"], ordering=ordering)


def test_an_original_in_order_narrows_what_the_release_shows() -> None:
    """[1-9] between two cells of 4 can be 4 alone, and the last one is 4 or more: three read 4, one is alone."""
    found = measured(["4", "[1-9]", "4", "[1-9]"], ["4", "4", "4", "8"]).order
    assert found is not None and found.judged and not found.sorted
    (age,) = found.attributes
    assert (age.name, age.direction, age.exact_as_shown, age.exact) == ("q", "ascending", 0.5, 0.75)
    assert (found.rows, found.singled_out, found.singled_out_as_shown) == (4, 1, 0)
    assert [each.achieved for each in found.results] == [{"k": 1}]


def test_an_original_in_no_order_narrows_nothing() -> None:
    found = measured(["4", "[1-9]", "4", "[1-9]"], ["4", "9", "4", "1"]).order
    assert found is not None and found.attributes == () and found.results == ()


@pytest.mark.parametrize(("pairs", "narrows"), [(EVIDENCE, True), (EVIDENCE - 1, False)])
def test_an_order_within_runs_needs_evidence(pairs: int, narrows: bool) -> None:
    """Of a ward each: one step up within the rows of it, and a fall from every ward to the next."""
    wards = [f"w{n:03}" for n in range(pairs) for _ in range(2)]
    found = measured(["[1-9]", "5"] * pairs, ["1", "5"] * pairs, ward=wards).order
    assert found is not None and bool(found.attributes) is narrows
    if narrows:
        assert (found.attributes[0].within, found.attributes[0].direction) == ("ward", "ascending")


def test_rows_sorted_by_what_they_show_tell_nothing() -> None:
    found = measured(["[1-9]", "[10-19]"]).order
    assert found is not None and found.sorted and found.attributes == ()


def test_a_released_file_in_order_by_its_cells_alone_is_taken_to_be_in_order() -> None:
    """3, then [1-9], then 4 are in no order of texts, and contradict no order of values."""
    found = measured(["3", "[1-9]", "3", "4", "[2-9]", "4"]).order
    assert found is not None and not found.sorted and not found.judged
    assert [each.direction for each in found.attributes] == ["ascending"]
