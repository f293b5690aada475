"""TDS: specializations worked by hand, the guarantee, and that none is left at the end."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms import tds
from anonymize.algorithms.base import Context
from anonymize.algorithms.single import LabelCounts, children
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import InfeasibleError, UsageError
from anonymize.privacy import Requirement
from anonymize.recoding import SingleDimensional
from anonymize.table import Table, TargetColumn
from tests.algorithms.splits import target
from tests.algorithms.tables import (
    categorical,
    k_anonymity,
    narrow,
    numeric,
    seeds,
    table_of,
    tables,
    taxonomy,
    units_or_not,
)
from tests.algorithms.test_k_optimize import MODELS, meets

JOBS = taxonomy("a Blue *", "b Blue *", "c White *", "d White *", name="job")


def run(table: Table, wanted: tuple[Requirement, ...], limit: int = 0, score: str = "2005") -> SingleDimensional:
    return tds.run(table, wanted, tds.Options(score), Context(limit))


def cut(found: SingleDimensional, name: str) -> list[int]:
    return list(found.cuts[name].starts.tolist())


def with_target(table: Table, codes: Any, *more: Any) -> Table:
    return replace(table, targets=tuple(target(each, f"t{at}") for at, each in enumerate((codes, *more))))


def test_the_number_is_split_where_the_gain_is_highest() -> None:
    ages = [20, 21, 22, 30, 31, 32, 40, 41]
    table = with_target(table_of(numeric(ages, "age")), [0, 0, 0, 1, 1, 1, 1, 1])
    assert cut(run(table, (k_anonymity(3),)), "age") == [0, 3]
    assert cut(run(table, (k_anonymity(4),)), "age") == [0]  # the best place is not allowed, no other is tried


def test_after_the_first_the_other_is_not_valid() -> None:
    # Both part 4 of 8 rows from 4: the job tells all, 1 bit for 4 rows lost, and the age nothing.
    ages, jobs, labels = [1, 1, 1, 1, 2, 2, 2, 2], "aaccaacc", [0, 0, 1, 1, 0, 0, 1, 1]
    table = with_target(table_of(numeric(ages, "age"), categorical(list(jobs), JOBS)), labels)
    found = run(table, (k_anonymity(4),))
    assert cut(found, "job") == [0, 2]
    assert cut(found, "age") == [0]
    assert found.summary()["specializations"] == 1 and found.summary()["anonymity"] == 4


@pytest.mark.parametrize("score", ["2005", "2007"])
def test_what_tells_more_for_a_row_comes_first(score: str) -> None:
    # Of 12 rows, x parts 5 from 7: all 0.98 bits, and 7 rows are lost. y parts 6 from 6: 0.69 bits for 6. With both, a
    # class of one row would be left.
    table = table_of(numeric([1] * 6 + [2] * 6, "y"), numeric([1] * 5 + [2] * 7, "x"))
    found = run(with_target(table, [0] * 5 + [1] * 7), (k_anonymity(5),), score=score)
    assert (cut(found, "x"), cut(found, "y")) == ([0, 1], [0])


@pytest.mark.parametrize(("units", "first"), [(None, "x"), ([0, 0, 1, 1, 2, 3, 2, 3], "y")], ids=["rows", "units"])
@pytest.mark.parametrize("score", ["2005", "2007"])
def test_what_costs_fewer_units_comes_first(score: str, units: list[int] | None, first: str) -> None:
    # Both part 4 of 8 rows from 4 and tell as much. x leaves two of four units, y three. With both, one would be left.
    table = table_of(numeric([1, 1, 1, 1, 2, 2, 2, 2], "x"), numeric([1, 1, 2, 2, 1, 1, 2, 2], "y"))
    table = replace(with_target(table, [0, 0, 0, 0, 0, 0, 1, 1]), units=None if units is None else narrow(units))
    found = run(table, (k_anonymity(2 if units else 4),), score=score)
    assert [name for name in "xy" if len(cut(found, name)) == 2] == [first]
    assert found.summary()["anonymity"] == (3 if units else 4)


def test_where_nothing_is_lost_2005_takes_the_gain_alone() -> None:
    assert tds._score(0.5, 0, "2005") == 0.5
    assert tds._score(0.5, 4, "2005") == 0.125
    assert tds._score(0.5, 0, "2007") == 0.5
    assert tds._score(0.5, 4, "2007") == 0.1


def test_gains_are_entropies() -> None:
    table = with_target(table_of(categorical(list("aabbccdd"), JOBS)), [0, 0, 0, 1, 1, 1, 1, 1])
    labels = LabelCounts.of(table.attributes[0].codes, 4, table.targets, np.arange(8, dtype=np.uint32))
    share = np.array([3, 5]) / 8
    whole = -(share * np.log2(share)).sum()
    blue = -(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25))
    assert labels.gain([0, 2, 4]) == pytest.approx(whole - blue / 2)
    assert labels.gain([0, 1, 2]) == pytest.approx(blue - 0.5)
    at, gain = labels.best_split(0, 4)
    assert at == 2 and gain == pytest.approx(whole - blue / 2)
    assert not labels.mixed(2, 4) and labels.mixed(0, 2)


def test_gains_of_several_targets_are_summed() -> None:
    codes = [0, 0, 0, 1, 1, 1, 1, 1]
    table = with_target(table_of(categorical(list("aabbccdd"), JOBS)), codes, codes)
    rows = np.arange(8, dtype=np.uint32)
    one, two = (LabelCounts.of(table.attributes[0].codes, 4, table.targets[:n], rows) for n in (1, 2))
    assert two.gain([0, 2, 4]) == pytest.approx(2 * one.gain([0, 2, 4]))


def test_children_are_those_of_the_lowest_node_above() -> None:
    deep = taxonomy("a A AA *", "b A AA *", "c C *")
    assert children(deep, 0, deep.size).tolist() == [0, 2, 3]
    assert children(deep, 0, 2).tolist() == [0, 1, 2]


def test_a_numeric_target_is_refused() -> None:
    table = table_of(numeric([1, 2], "x"))
    number = TargetColumn("y", np.array([0, 1], np.uint8), 2, None, np.array([1.0, 2.0]))
    with pytest.raises(UsageError, match=r"^tds needs categorical targets, y is numeric \("):
        run(replace(table, targets=(number,)), (k_anonymity(1),))


SMALL = units_or_not(tables(max_rows=50, sensitive_columns=1))


@given(SMALL, st.sampled_from(MODELS), seeds, st.sampled_from(["2005", "2007"]))
def test_safe_and_no_specialization_is_left(table: Table, wanted: Any, rng: np.random.Generator, score: str) -> None:
    table = with_target(table, rng.integers(0, 3, table.rows))
    try:
        found = run(table, wanted, table.rows // 4, score)
    except InfeasibleError:
        return
    kept = np.sort(found.partition.order)
    columns = [found.cuts[a.name].interval_of(a.codes) for a in table.attributes]
    assert all(meets(table, rows, wanted) for rows in _classes(columns, kept))
    for index, attribute in enumerate(table.attributes):
        labels = LabelCounts.of(attribute.codes, attribute.domain.size, table.targets, kept.astype(np.uint32))
        starts = [*cut(found, attribute.name), attribute.domain.size]
        for start, stop in pairwise(starts):
            if stop - start > 1 and labels.mixed(start, stop):
                edges = (
                    children(attribute.domain, start, stop)[1:-1]
                    if isinstance(attribute.domain, Taxonomy)
                    else [labels.best_split(start, stop)[0]]
                )
                finer = np.sort(np.append(starts[:-1], edges))
                changed = [*columns]
                changed[index] = np.searchsorted(finer, attribute.codes, side="right")
                assert not all(meets(table, rows, wanted) for rows in _classes(changed, kept))


def _classes(columns: list[Any], kept: Any) -> list[list[int]]:
    found: dict[Any, list[int]] = {}
    for row in kept.tolist():
        found.setdefault(tuple(int(column[row]) for column in columns), []).append(row)
    return list(found.values())
