"""The risk against a population: by hand, and against counting."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.risk import Journalist, Text
from anonymize.risk import journalist as measured
from anonymize.spec import Missing, QuasiIdentifier, Spec
from anonymize.verify import CellTemplates, People, Shown

SPEC = Spec(version=1, quasi_identifiers={"q": QuasiIdentifier()})
CELL = st.sampled_from(["a", "b", "c", None])


def text(values: Sequence[str | None], units: list[str] | None = None) -> Text:
    frame = pl.DataFrame({"q": values}, schema={"q": pl.String}).lazy()
    return Text(frame, [["q"]], SPEC, Missing(), None if units is None else pl.Series(units))


def journalist(table: Text, population: Text, threshold: float) -> Journalist:
    people = People(population.frame, [Shown("q", ["q"], False, None)], CellTemplates())
    return measured(table, people, threshold)


def test_by_hand() -> None:
    found = journalist(text(["a", "a", "b"]), text(["a"] * 10 + ["b"] * 4 + ["c"]), 0.2)
    assert (found.population, found.absent) == (15, 0)
    assert found.journalist_max == 1 / 4 and found.records_at_risk == 1 / 3
    assert found.marketer == pytest.approx((2 / 10 + 1 / 4) / 3)


def test_the_table_is_its_own_population() -> None:
    found = journalist(text(["a", "a", "b"]), text(["a", "a", "b"]), 0.2)
    assert found.journalist_max == 1.0 and found.marketer == pytest.approx(2 / 3)


def test_who_is_not_in_the_population_is_told() -> None:
    found = journalist(text(["a", "x", "x"]), text(["a"]), 0.2)
    assert found.absent == 2 and found.journalist_max == 1.0
    assert journalist(text(["x"]), text(["a"]), 0.2).journalist_max == 0.0


def test_persons_are_counted() -> None:
    found = journalist(text(["a", "a", "b"], ["one", "one", "one"]), text(["a"] * 4 + ["b"] * 2), 0.2)
    assert found.marketer == pytest.approx((1 / 4 + 1 / 2) / 2)


def test_labels_have_people_under_them() -> None:
    tree = {"a": ("a", "vowel", "*"), "e": ("e", "vowel", "*"), "b": ("b", "other", "*")}
    everybody = pl.DataFrame({"q": ["a", "e", "e", "b"]}).lazy()
    people = People(everybody, [Shown("q", ["q"], False, tree)], CellTemplates())
    found = measured(text(["vowel", "vowel", "*"]), people, 0.2)
    assert (found.journalist_max, found.absent) == (1 / 3, 0)
    assert found.marketer == pytest.approx((2 / 3 + 1 / 4) / 3)


@given(st.lists(CELL, min_size=1, max_size=20), st.lists(CELL, max_size=20))
def test_the_same_as_counting(sample: list[str | None], rest: list[str | None]) -> None:
    cells, whole = ([cell or "" for cell in each] for each in (sample, sample + rest))
    found = journalist(text(sample), text(sample + rest), 0.3)
    sizes = [whole.count(cell) for cell in cells]
    assert found.journalist_max == 1 / min(sizes) and found.absent == 0
    assert found.marketer == pytest.approx(sum(1 / size for size in sizes) / len(sizes))
    assert found.records_at_risk == sum(1 / size > 0.3 for size in sizes) / len(sizes)
