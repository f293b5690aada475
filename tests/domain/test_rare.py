"""Pools of rare values: what is in them, and that they never stand for one value or for too few rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.domain.build import build
from anonymize.domain.rare import frequent, frequent_in
from anonymize.errors import DataError
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.hierarchy import Pool, Rare

COUNTS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 12), min_size=1, max_size=12)


@given(COUNTS, st.integers(2, 15))
def test_a_pool_has_enough_rows_and_values(counts: dict[str, int], below: int) -> None:
    shown = frequent(counts, below)
    pooled = counts.keys() - shown
    assert all(counts[value] >= below for value in shown)
    if pooled and shown:
        assert len(pooled) > 1 and sum(counts[value] for value in pooled) >= below
        assert max(counts[value] for value in pooled) < min(counts[value] for value in shown)


@given(COUNTS, st.integers(2, 15))
def test_names_of_values_do_not_decide(counts: dict[str, int], below: int) -> None:
    renamed = {f"{100 - number}{value}": counts[value] for number, value in enumerate(counts)}
    old = [value in frequent(counts, below) for value in counts]
    assert old == [value in frequent(renamed, below) for value in renamed]


def hierarchy(label: str = "Other") -> QuasiIdentifier:
    return QuasiIdentifier(hierarchy=Rare(rare=Pool(below=5, label=label)))


def test_the_hierarchy_has_the_pool_between_rare_values_and_the_root() -> None:
    counts = {"cook": 9, "clerk": 8, "nun": 3, "judge": 2}
    made = build("x", hierarchy(), list(counts), "?", "*", frequent=frequent(counts, 5))
    assert made.paths() == {
        "clerk": ("clerk", "clerk", "*"),
        "cook": ("cook", "cook", "*"),
        "judge": ("judge", "Other", "*"),
        "nun": ("nun", "Other", "*"),
    }
    assert set(frequent_in(made)) == {"clerk", "cook", "?"}


def test_a_label_that_is_a_value_is_refused_without_being_shown() -> None:
    with pytest.raises(DataError) as caught:
        build("x", hierarchy("nun"), ["nun", "cook"], None, "*", frequent=("cook",))
    assert "nun" not in str(caught.value)
