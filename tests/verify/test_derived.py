"""Columns that follow from a quasi-identifier, or give it away: each rule, and where it ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.verify import derived
from anonymize.verify.derived import derivations
from anonymize.verify.kept import Derivation
from anonymize.verify.numbering import Numbering
from anonymize.verify.table import TextTable


def found(
    columns: Mapping[str, Any],
    quasi_identifiers: Sequence[str] = ("x",),
    k: int | None = None,
    units: Sequence[int] | None = None,
) -> list[Derivation]:
    """What the columns other than the quasi-identifiers have to do with these; `?` is missing."""
    texts = pl.DataFrame({name: [str(value) for value in values] for name, values in columns.items()})
    people = None if units is None else pl.Series(units, dtype=pl.UInt32)
    table = TextTable(texts.lazy(), (), ("?",), "", people, normalize=True)
    kept = [name for name in columns if name not in quasi_identifiers]
    return derivations(table, quasi_identifiers, kept, texts.height, k)


def rules(derivations: Sequence[Derivation]) -> list[tuple[str, str, bool]]:
    return [(each.column, each.rule, each.follows) for each in derivations]


def letters(numbers: Sequence[int]) -> list[str]:
    """Texts that have no order."""
    return [f"n{number}" for number in numbers]


# --- copies ----------------------------------------------------------------------------------------------------------


def copied(groups: int, size: int = 2, alone: int = 0) -> dict[str, list[str]]:
    """Groups of `x` that have one value of `y` each, and further rows that nobody shares anything with."""
    x = letters([row // size for row in range(groups * size)] + list(range(1000, 1000 + alone)))
    return {"x": x, "y": [f"c{each}" for each in x]}


@pytest.mark.parametrize(
    ("groups", "alone", "is_copy"), [(10, 0, True), (9, 0, False), (10, 20, True), (10, 21, False)]
)
def test_a_copy_has_ten_groups_that_cover_half_of_the_table(groups: int, alone: int, is_copy: bool) -> None:
    assert bool(found(copied(groups, alone=alone))) is is_copy


def test_a_copy_has_no_group_with_two_values() -> None:
    columns = copied(20)
    columns["y"][0] = "other"
    assert rules(found(columns)) == [("y", "copy", False)]
    columns["y"][0] = columns["y"][2]
    assert rules(found(columns)) == []


@pytest.mark.parametrize(("same", "is_copy"), [(10, True), (11, False)])
def test_the_most_frequent_value_of_a_copy_has_half_of_the_rows_at_most(same: int, is_copy: bool) -> None:
    """And the other way round nothing follows: those who share that value have many values of `x`."""
    columns = copied(20)
    columns["y"][: 2 * same] = ["often"] * (2 * same)
    assert bool(found(columns)) is is_copy


def test_a_finer_column_gives_away_what_follows_from_it() -> None:
    fine = letters([row // 2 for row in range(60)])
    coarse = letters([row // 2 // 5 for row in range(60)])
    assert found({"x": coarse, "y": fine})[0] == Derivation("y", ("x",), False, "copy")
    assert str(found({"x": coarse, "y": fine})[0]) == "y gives x away"
    assert str(found({"x": fine, "y": coarse})[0]) == "y follows from x"


def test_rows_about_one_individual_are_no_group() -> None:
    """Each group has two rows, about one person or about two."""
    columns = copied(20)
    assert rules(found(columns, units=[row // 2 for row in range(40)])) == []
    assert rules(found(columns, units=list(range(40)))) == [("y", "copy", True)]


def test_an_individual_with_two_values_who_is_alone_in_a_group_refutes_nothing() -> None:
    columns = copied(20)
    columns["x"] += ["alone", "alone"]
    columns["y"] += ["cn0", "cn1"]
    assert rules(found(columns, units=[*range(40), 99, 99])) == [("y", "copy", True)]
    assert rules(found(columns, units=[*range(40), 98, 99])) == []


# --- predictions -----------------------------------------------------------------------------------------------------


def predicted(wrong: int, rows: int = 1000, values: int = 4) -> dict[str, list[str]]:
    """Ten groups that tell one of so many values, but for a few rows."""
    x, y = [row % 10 for row in range(rows)], [row % 10 % values for row in range(rows)]
    for row in range(wrong):
        y[row * 7 % rows] = (y[row * 7 % rows] + 1) % values
    return {"x": letters(x), "y": letters(y)}


def test_what_is_predicted_of_nearly_all_follows_by_the_lower_end_of_the_interval() -> None:
    """36 wrong of 1,000: Wilson's lower end is 0.9505; of 37 it is 0.9494."""
    (told,) = found(predicted(36))
    assert (told.rule, told.follows, told.figure) == ("predicted", True, 0.964)
    assert rules(found(predicted(37))) == []


def test_a_table_too_small_for_the_interval_tells_nothing() -> None:
    """All of 72 right: the lower end is 0.9493; of 74 it is 0.9506."""
    x = [row % 2 for row in range(80)]
    assert rules(found({"x": letters(x[:72]), "y": letters(x[:72])})) == []
    assert rules(found({"x": letters(x[:74]), "y": letters(x[:74])})) == [("y", "predicted", True)]


def test_what_hardly_varies_is_told_only_by_hardly_any_mistake() -> None:
    """Nine in ten have one value: it takes an accuracy of 0.99 to be told the others."""
    x = [row % 10 for row in range(2000)]
    y = [int(each == 0) for each in x]
    assert rules(found({"x": letters(x), "y": letters(y)})) == [("y", "predicted", True)]
    for row in range(0, 400, 10):
        y[row + 1] = 1
    assert rules(found({"x": letters(x), "y": letters(y)})) == []


@pytest.mark.parametrize(("k", "tells"), [(5, True), (100, True), (101, False)])
def test_groups_are_of_k_and_so_are_two_values(k: int, tells: bool) -> None:
    assert bool(found(predicted(5), k=k)) is tells


@pytest.mark.parametrize(("k", "tells"), [(100, True), (101, False)])
def test_what_only_one_value_of_has_k_rows_is_not_asked(k: int, tells: bool) -> None:
    """The larger group covers the table whatever k is."""
    x = ["few"] * 100 + ["many"] * 900
    assert bool(found({"x": x, "y": [each.upper() for each in x]}, k=k)) is tells


def test_two_values_as_frequent_as_each_other_are_no_guess() -> None:
    x = letters([row // 6 for row in range(600)])
    y = letters([row // 6 * 2 + row % 2 for row in range(600)])
    assert rules(found({"x": x, "y": y})) == [("y", "copy", False)]


# --- order -----------------------------------------------------------------------------------------------------------


def test_dates_of_birth_give_an_age_away_though_no_two_are_alike() -> None:
    ages = [18 + row % 70 for row in range(300)]
    drawn = Random(1)
    births = [date(2026, 1, 1) - timedelta(days=365 * age + drawn.randrange(365)) for age in ages]
    (told,) = found({"x": ages, "born": births})
    assert (told.rule, told.follows) == ("order", False) and told.figure is not None and told.figure < -0.99


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M:%S", "%d-%b-%Y"])
def test_dates_are_read_in_the_forms_in_which_they_are_written(form: str) -> None:
    days = [date(1950, 1, 1) + timedelta(days=97 * row) for row in range(200)]
    columns = {"x": [day.toordinal() for day in days], "y": [day.strftime(form) for day in days]}
    assert rules(found(columns)) == [("y", "order", True)]


def test_numbers_that_are_nearly_in_one_order_do_not_follow() -> None:
    drawn = Random(2)
    incomes = [drawn.gauss(0, 1) for _ in range(500)]
    near = [each + drawn.gauss(0, 0.05) for each in incomes]
    far = [each + drawn.gauss(0, 0.3) for each in incomes]
    assert rules(found({"x": incomes, "near": near, "far": far})) == [("near", "order", True)]


def test_an_order_is_of_the_rows_that_have_both_values_and_these_are_half() -> None:
    x: list[object] = list(range(100))
    y: list[object] = [2 * each for each in range(100)]
    assert rules(found({"x": x, "y": [*y[:50], *["?"] * 50]})) == [("y", "order", True)]
    assert rules(found({"x": x, "y": [*y[:49], *["?"] * 51]})) == []


def test_texts_among_numbers_have_no_order() -> None:
    assert rules(found({"x": range(100), "y": [*range(99), "many"]})) == []


# --- pairs, and tables -----------------------------------------------------------------------------------------------


def test_a_pair_is_tried_where_neither_of_it_suffices() -> None:
    drawn = Random(3)
    a, b = ([drawn.randrange(6) for _ in range(2000)] for _ in range(2))
    columns = {"a": letters(a), "b": letters(b)}
    both = letters([3 * x % 6 + (x + 2 * y) % 5 for x, y in zip(a, b, strict=True)])
    (told,) = found({**columns, "y": both}, ("a", "b"))
    assert told.sources == ("a", "b") and str(told) == "y follows from a and b"
    assert [each.sources for each in found({**columns, "y": letters(a)}, ("a", "b"))] == [("a",)]


def test_nothing_follows_where_there_is_nothing_to_follow() -> None:
    drawn = Random(4)
    columns = {name: letters([drawn.randrange(9) for _ in range(500)]) for name in "xyz"}
    assert found({**columns, "constant": ["c"] * 500}) == []
    assert found({"x": ["a"] * 500}) == [] and found({"y": ["a"] * 500}, ()) == []


def test_missing_values_are_one_value_that_may_be_told() -> None:
    """Whoever has no date of death is alive."""
    died = ["?" if row % 3 else f"d{row % 4}" for row in range(1200)]
    assert rules(found({"x": died, "alive": [each == "?" for each in died]})) == [("alive", "predicted", True)]


# --- sizes of groups -------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=60), st.integers(2, 4))
def test_sizes_of_groups_that_are_counted_in_parts(rows: list[tuple[int, int]], group: int) -> None:
    """Whatever the parts are, and if everybody has one row."""
    columns = [Numbering(pl.Series([row[place] for row in rows], dtype=pl.UInt32), 10) for place in (0, 1)]
    sizes = sorted(Counter(rows).values(), reverse=True)
    several, large = [size for size in sizes if size > 1], [size for size in sizes if size >= group]
    expected = (
        len(several) >= 10 and 2 * sum(several) >= len(rows),
        2 * sum(large) >= len(rows),
        sizes[0] / len(rows),
        sizes[1] if len(sizes) > 1 else 0,
        len(sizes),
    )
    everybody = pl.int_range(len(rows), dtype=pl.UInt32, eager=True)
    assert derived._Sizes.of(columns, everybody, group) == expected
    for piece in (1, 7, 1 << 20):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(derived, "PIECE", piece)
            assert derived._Sizes.of(columns, None, group) == expected
