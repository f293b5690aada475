"""Builders: the levels that they make, what they refuse, and that the order of values does not count."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.domain import build
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import DataError, SpecError
from anonymize.spec.columns import QuasiIdentifier, Sensitive
from anonymize.spec.hierarchy import Dates, Flat, Intervals, Mask, Prefix
from tests.examples import some

Source = Path | Intervals | Mask | Prefix | Dates | Flat | None


def built(source: Source, values: list[str], missing: str | None = None) -> Taxonomy:
    return build.build("x", QuasiIdentifier.model_construct(hierarchy=source), values, missing, "*")


def path(domain: Taxonomy, leaf: str) -> list[str]:
    """The labels from a leaf to the root, level by level."""
    return [domain.labels[node] for node in domain.levels[:, domain.leaf_text().index(leaf)]]


@pytest.mark.parametrize("source", [None, Flat(flat=True)])
def test_flat(source: Source) -> None:
    domain = built(source, ["b", "a"], "?")
    assert domain.labels == ["a", "b", "?", "*"] and domain.height == 1


def test_a_sensitive_attribute_is_flat_by_default() -> None:
    assert build.build("x", Sensitive(), ["b", "a"], None, "hidden").labels == ["a", "b", "hidden"]


def test_mask_right() -> None:
    domain = built(Mask(mask="right"), ["02138", "02139", "13053"], "")
    assert path(domain, "02138") == ["02138", "0213*", "021**", "02***", "0****", "*"]
    assert path(domain, "") == [""] * 5 + ["*"]


def test_mask_left() -> None:
    domain = built(Mask(mask="left"), ["138", "238", "199"])
    assert path(domain, "138") == ["138", "*38", "**8", "*"]
    assert domain.leaf_text() == ["138", "238", "199"]


def test_mask_lines_up_values_at_the_masked_end() -> None:
    right = built(Mask(mask="right"), ["5", "12", "138"])
    assert path(right, "12") == ["12", "_1*", "_**", "*"] and path(right, "5") == ["5", "__*", "_**", "*"]
    left = built(Mask(mask="left"), ["5", "12", ""])
    assert path(left, "5") == ["5", "*_", "*"] and path(left, "") == ["", "*_", "*"]


@pytest.mark.parametrize("values", [["a", "b"], [""]])
def test_mask_of_one_character_is_flat(values: list[str]) -> None:
    assert built(Mask(mask="right"), values).height == 1


@pytest.mark.parametrize(("count", "width"), [(1, 1 << 15), (1 << 12, 1 << 9)])
def test_texts_are_not_masked(count: int, width: int) -> None:
    with pytest.raises(DataError, match=f"column 'x': {count} distinct values of up to {width} characters") as caught:
        built(Mask(mask="right"), [f"{number:0{width}}" for number in range(count)])
    assert "prefix" in str(caught.value)


def test_prefix() -> None:
    domain = built(Prefix(prefix=(3, 1)), ["02138", "0214", "02", "13", ""])
    assert path(domain, "02138") == ["02138", "021*", "0*", "*"]
    assert path(domain, "02") == ["02", "02*", "0*", "*"]
    assert path(domain, "") == ["", "", "", "*"]


def test_dates() -> None:
    source = Dates(dates=("day", "month", "quarter", "year", "decade"))
    domain = built(source, ["2024-05-03", "2024-12-31T23:59:59.5Z", "2019-01-01 08:00"], "?")
    assert path(domain, "2024-05-03") == ["2024-05-03", "2024-05-03", "2024-05", "2024-Q2", "2024", "2020s", "*"]
    assert path(domain, "2024-12-31T23:59:59.5Z")[1:4] == ["2024-12-31", "2024-12", "2024-Q4"]
    assert path(domain, "2019-01-01 08:00")[1:] == ["2019-01-01", "2019-01", "2019-Q1", "2019", "2010s", "*"]
    assert domain.leaf_text()[0] == "2019-01-01 08:00"


@pytest.mark.parametrize(
    "value",
    ["2024-02-30", "2024-13-01", "2024-1-1", "20240101", "2024-01", "01/02/2024", "2024-01-01x", "2024-01-01 noon", ""],
)
def test_no_dates(value: str) -> None:
    with pytest.raises(DataError, match=r"column 'x': 1 of 2 distinct values are not ISO dates") as caught:
        built(Dates(dates=("year",)), [value, "2024-01-01"])
    assert not value or value not in str(caught.value)


def test_a_column_without_values() -> None:
    assert built(Mask(mask="right"), [], "?").labels == ["?", "*"]
    with pytest.raises(DataError, match="column 'x' has no values"):
        built(None, [])


def test_intervals_are_for_numbers() -> None:
    with pytest.raises(SpecError, match=r"column 'x': intervals need numbers .*numeric"):
        built(Intervals(intervals=(5.0,)), ["1"])


def test_file(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("a;g;Any\nb;g;Any\nc;h;Any\n?;h;Any\n")
    assert built(file, ["b", "a"], "?").labels == ["a", "b", "c", "?", "g", "h", "Any"]
    assert built(file, ["b"], "").missing == 4
    assert built(file, ["b"], "?").missing == 3
    assert built(file, ["b", "?"]).missing is None


def test_values_that_no_leaf_covers_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "h.csv"
    file.write_text("a;g;*\nb;g;*\n")
    with pytest.raises(
        DataError, match=r"column 'x': 2 of 3 distinct values are not leaves of the hierarchy"
    ) as caught:
        built(file, ["a", "SECRET", "g"])
    assert "SECRET" not in str(caught.value) and caught.value.problems[0].file == str(file)


@settings(max_examples=some(40))
@given(st.lists(st.text("ab_*", max_size=4), unique=True, min_size=1, max_size=12), st.randoms(use_true_random=False))
@pytest.mark.parametrize("source", [None, Mask(mask="right"), Mask(mask="left"), Prefix(prefix=(3, 2, 1))])
def test_the_order_of_values_does_not_count(source: Source, values: list[str], shuffler: random.Random) -> None:
    domain = built(source, values, "?")
    shuffled = shuffler.sample(values, len(values))
    again = built(source, shuffled, "?")
    assert again.labels == domain.labels and np.array_equal(again.levels, domain.levels)
    assert sorted(domain.leaf_text()) == sorted([*values, "?"])


# --- intervals ------------------------------------------------------------------------------------------------------


def intervals(values: list[float], widths: tuple[float, ...], missing: str | None = None) -> Taxonomy:
    return build.intervals(Numeric("x", np.array(values), missing), widths, "[{low}-{high}]", "*")


def test_intervals_of_whole_numbers() -> None:
    domain = intervals([-1, 5, 9, 10, 27], (5, 10, 20), "?")
    assert path(domain, "9") == ["9", "[5-9]", "[0-9]", "[0-19]", "*"]
    assert path(domain, "-1") == ["-1", "[-5--1]", "[-10--1]", "[-20--1]", "*"]
    assert path(domain, "?") == ["?"] * 4 + ["*"]
    assert domain.missing == 5 and domain.leaf_text() == ["-1", "5", "9", "10", "27", "?"]


def test_intervals_of_whole_floats_read_as_whole_numbers() -> None:
    assert path(intervals([5.0, 9.0], (5.0,)), "9") == ["9", "[5-9]", "*"]


def test_intervals_of_width_one_are_the_value() -> None:
    domain = intervals([5, 9], (1, 5))
    assert domain.labels == ["5", "9", "[5-9]", "*"] and domain.height == 3


def test_intervals_of_other_numbers_are_half_open() -> None:
    assert path(intervals([5.0, 9.5], (5, 10)), "5") == ["5", "[5-10)", "[0-10)", "*"]
    assert path(intervals([5, 9], (2.5, 5)), "9") == ["9", "[7.5-10)", "[5-10)", "*"]


def test_intervals_begin_at_the_number_that_they_say() -> None:
    domain = intervals([0.1, 0.2, 0.3, 0.7], (0.1,))
    assert [path(domain, leaf)[1] for leaf in domain.leaf_text()] == [
        "[0.1-0.2)",
        "[0.2-0.3)",
        "[0.3-0.4)",
        "[0.7-0.8)",
    ]


@given(
    st.lists(st.integers(-1000, 1000), unique=True, min_size=1).map(sorted),
    st.integers(1, 50),
    st.integers(2, 5),
    st.booleans(),
)
def test_intervals_hold_their_values(values: list[int], width: int, factor: int, whole: bool) -> None:
    scale = 1 if whole else 8
    widths = (width / scale, width * factor / scale)
    domain = intervals([value / scale if not whole else value for value in values], widths)
    for code, value in enumerate(domain.leaf_text()):
        for level in (1, 2):
            start = float(value) // widths[level - 1] * widths[level - 1]
            members = {float(leaf) for leaf in domain.leaf_text() if start <= float(leaf) < start + widths[level - 1]}
            node = domain.levels[level, code]
            under = domain.leaf_text()[domain.start[node] : domain.stop[node]]
            assert {float(leaf) for leaf in under} == members


def test_a_missing_text_that_reads_like_a_number_is_a_leaf_of_its_own() -> None:
    domain = intervals([-99, 5], (10,), "-99")
    assert (domain.size, domain.missing) == (3, 2)


def test_widths_too_small_to_count() -> None:
    with pytest.raises(SpecError, match=r"column 'x': its values are too large .* \(use larger widths\)"):
        intervals([1e300], (5,))
