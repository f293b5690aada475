"""What classes of numbers show: intervals, open ends, or missing."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.grid import Coding
from anonymize.domain.numeric import Numeric
from anonymize.errors import SpecError
from anonymize.recoding.spans import Spans, Tails, Window
from anonymize.spec import Output

AGES = np.array([17, 20, 41, 90])
LOW, HIGH = np.array([0, 1, 2, 4, 3]), np.array([1, 1, 3, 4, 4])


def ages(missing: str = "?", coding: Coding = Coding()) -> Numeric:  # noqa: B008
    return Numeric("age", AGES, missing, (), coding)


def tight(edges: Literal["open", "tight", "rounded"] = "tight", **more: Any) -> Output:
    return Output(edges=edges, **more)


def bounds(spans: Spans, output: Output) -> list[list[str]]:
    return [side.to_list() for side in spans.bounds(output)]


def test_intervals_read_tight() -> None:
    spans = Spans.of(ages(), LOW, HIGH)
    assert spans.intervals(tight()).to_list() == ["[17-20]", "20", "[41-90]", "?", "90 or ?"]
    assert spans.intervals(tight(interval="{low} to {high}")).to_list()[::2] == ["17 to 20", "41 to 90", "90 or ?"]
    assert Spans.of(ages(""), LOW, HIGH).intervals(tight()).to_list()[3:] == ["", "90 or missing"]


def test_intervals_read_rounded() -> None:
    spans = Spans.of(ages(), np.append(LOW, 0), np.append(HIGH, 3))
    assert spans.intervals(tight("rounded")).to_list() == ["[16-21]", "20", "[40-99]", "?", "90 or ?", "[10-99]"]
    assert bounds(spans, tight("rounded"))[:2] == [
        ["16", "20", "40", "?", "90", "10"],
        ["21", "20", "99", "?", "90", "99"],
    ]


HEIGHTS = np.array([1.5, 1.625, 1.75, 2.0])


@pytest.mark.parametrize("at_once", [1, 2, 1 << 17])
def test_rounded_intervals_of_decimals_leave_their_upper_end_out(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many texts are made at once."""
    monkeypatch.setattr("anonymize.recoding.spans.TEXTS_AT_ONCE", at_once)
    spans = Spans.of(Numeric("x", HEIGHTS), np.array([0, 2, 3]), np.array([2, 3, 3]))
    assert spans.intervals(tight("rounded")).to_list() == ["[1.5-1.8)", "[1.75-2.05)", "2"]
    assert bounds(spans, tight("rounded", numeric="bounds")) == [["1.5", "1.75", "2"], ["1.8", "2.05", "2"]]
    wide = Spans.of(Numeric("x", HEIGHTS * 16), np.array([0]), np.array([2]))
    assert bounds(wide, tight("rounded", numeric="bounds")) == [["24"], ["29"]]  # whole numbers, all of them
    wide = Spans.of(Numeric("x", np.array([24, 28.5])), np.array([0]), np.array([1]))
    assert bounds(wide, tight("rounded", numeric="bounds")) == [["24.0"], ["29.0"]]
    with pytest.raises(SpecError, match="cannot show that"):
        spans.intervals(tight("rounded", interval="{low} to {high}"))
    texts = Spans.of(ages(), LOW[:3], HIGH[:3]).intervals(tight("rounded", interval="{low} to {high}"))
    assert texts.to_list() == ["16 to 21", "20", "40 to 99"]


def test_rounded_ends_follow_from_the_width_within_the_window() -> None:
    """An end that is that of the window alone stays; beside an open end the other is rounded."""
    values = np.array([3, 20, 28, 41, 90, 1000])
    low, high = np.array([0, 1, 1, 4, 3, 2, 0]), np.array([1, 3, 5, 5, 5, 4, 2])
    spans = Spans.of(Numeric("x", values), low, high, None, Window(1, 4))
    expected = ["20-", "[20-44]", "20+", "90+", "40+", "[20-99]", "29-"]
    assert spans.intervals(tight("rounded")).to_list() == expected
    further = Spans.of(Numeric("x", np.append(values[:-1], 10**6)), low, high, None, Window(1, 4))
    assert further.intervals(tight("rounded")).to_list() == expected


def test_rounded_ends_do_not_cross_codes_and_are_multiples_of_what_numbers_are_rounded_to() -> None:
    domain = Numeric("x", np.array([18, 25, 41, 56, 57]), None, (), Coding(18, 57))
    spans = Spans.of(domain, np.array([1, 0, 2]), np.array([3, 2, 4]))
    assert spans.intervals(tight("rounded")).to_list() == ["[25-56]", "44-", "40+"]
    spans = Spans.of(Numeric("x", np.array([20, 35, 60, 95]), None, (), Coding(step=5)), LOW[:3], np.array([1, 1, 3]))
    assert spans.intervals(tight("rounded")).to_list() == ["[20-39]", "35", "[60-99]"]


def test_bounds_have_a_third_column_where_a_class_mixes() -> None:
    lows, highs, missing = bounds(Spans.of(ages(), LOW, HIGH), tight())
    assert (lows, highs) == (["17", "20", "41", "?", "90"], ["20", "20", "90", "?", "90"])
    assert missing == ["no", "no", "no", "yes", "maybe"]
    assert len(bounds(Spans.of(ages(), LOW[:4], HIGH[:4]), tight())) == 2


def test_negative_intervals_keep_their_signs() -> None:
    spans = Spans.of(Numeric("x", np.array([-5, -1])), np.array([0]), np.array([1]))
    assert spans.intervals(tight()).to_list() == ["[-5--1]"]


def test_no_number_reads_as_what_means_missing() -> None:
    """Of what is released alone; an end within an interval is read as no cell."""
    domain = Numeric("x", np.array([98.0, 99.0, 99.5]), "99", ["99", "99.0", "99.5"])
    spans = Spans.of(domain, np.array([1, 2, 3, 0]), np.array([1, 2, 3, 1]))
    assert spans.intervals(tight()).to_list() == ["99.00", "99.50", "99", "[98-99]"]
    assert bounds(spans, tight()) == [["99.00", "99.50", "99", "98"], ["99.00", "99.50", "99", "99.00"]]
    rounded = Spans.of(Numeric("x", np.array([9, 31]), None, ["34"]), np.array([0]), np.array([1]))
    assert rounded.intervals(tight("rounded")).to_list() == ["[5-34]"]
    assert bounds(rounded, tight("rounded")) == [["5"], ["34.0"]]


def test_ends_beyond_the_window_are_open() -> None:
    """Also the end of a class that lies beyond it with both: `90` reads `41+`."""
    low, high = np.array([1, 1, 3, 0, 0, 2, 0]), np.array([2, 3, 3, 0, 2, 4, 3])
    spans = Spans.of(ages(), low, high, np.array([2, 3, 3, 0, 2, 3, 3]), Window(1, 2))
    expected = ["[20-41]", "20+", "41+", "20-", "41-", "41+ or ?", "*"]
    assert spans.intervals(tight("open")).to_list() == expected
    lows, highs, missing = bounds(spans, tight("open"))
    assert lows == ["20", "20", "41", "", "", "41", "*"] and highs == ["41", "", "", "20", "41", "", "*"]
    assert missing == ["no"] * 5 + ["maybe", "*"]
    assert set(Spans.of(ages(), low, high, None, Window(3, 2)).intervals(tight("open"))) == {"*"}


def test_an_open_end_costs_as_far_as_the_column_goes() -> None:
    spans = Spans.of(ages(), np.array([1, 3, 0, 1, 4, 0]), np.array([2, 3, 0, 4, 4, 3]), None, Window(1, 2))
    expected = [21 / 73, 49 / 73, 3 / 73, 70 / 73 + 1 / 5, 0, 1]
    assert spans.costs() == pytest.approx(np.minimum(expected, 1))


def test_codes_are_open_whatever_the_edges() -> None:
    coding = Coding(17, 90, "from {low}", "to {high}")
    low, high = np.array([0, 1, 3, 0, 1, 0]), np.array([0, 2, 3, 2, 3, 3])
    expected = ["to 17", "[20-41]", "from 90", "to 41", "from 20", "*"]
    assert Spans.of(ages(coding=coding), low, high).intervals(tight()).to_list() == expected


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(1, 9), st.booleans())
def test_a_window_has_enough_people_at_or_beyond_its_ends(values: list[int], least: int, persons: bool) -> None:
    distinct, codes = np.unique(values, return_inverse=True)
    units = np.arange(len(values)) // (2 if persons else 1)
    rows = np.arange(len(values), dtype=np.uint32)
    tails = Tails(units.astype(np.uint8) if persons else None, least)
    window = tails.window(codes.astype(np.uint8), rows, len(distinct))
    low = [code for code in range(len(distinct)) if len({*units[codes <= code]}) >= least]
    high = [code for code in range(len(distinct)) if len({*units[codes >= code]}) >= least]
    assert (window.low, window.high) == (min(low, default=len(distinct)), max(high, default=-1))


def test_spans_that_are_alike_are_one() -> None:
    low, high = np.array([1, 0, 1, 4, 0, 1]), np.array([2, 4, 2, 4, 3, 3])
    spans = Spans.of(ages(), low, high, highest=np.array([2, 3, 2, 4, 3, 3]))
    different, of_class = spans.distinct()
    assert len(different.low) == 5 and of_class[0] == of_class[2]
    for name in ("low", "high", "below", "above", "missing", "empty"):
        assert getattr(different, name)[of_class].tolist() == getattr(spans, name).tolist()
