"""Whether a model holds of any so many people of a history: beside every choice of them, tried one by one."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import UsageError
from anonymize.privacy import MODELS, PARAMETERS, Groups, Histogram, Requirement, Whole, check
from anonymize.series.guarantee import PublishedValues, check_kept, latest_codes, per_class
from anonymize.series.state import SeriesState, value_column
from anonymize.table import SensitiveColumn
from tests.common.budgets import OF_EVERY_MODEL
from tests.privacy.strategies import NAMES, parameters

MISSING = len(NAMES)
NUMBERS = np.array([*[float(number**2) for number in range(len(NAMES))], np.nan])


def kept(model: str) -> bool:
    own = MODELS[model]
    return own.about == "classes" and not own.compares and "population" not in own.parameters.model_fields


def column(values: list[int], numeric: bool) -> SensitiveColumn:
    """The sensitive attribute of people, of whom each has one of the names of the strategies, their squares or none."""
    codes = np.array(values, np.uint32)
    return SensitiveColumn(
        "s", codes, MISSING + 1, MISSING, NUMBERS if numeric else None, (*NAMES, ""), alike=not numeric
    )


def published(of: SensitiveColumn, requirement: Requirement) -> PublishedValues:
    """All people have one history."""
    people = pl.DataFrame({"history": np.ones(len(of.codes), np.uint32)})
    state: Any = SeriesState("", (), "unseen", {}, {}, {}, (), people, np.array([[-1], [0]], np.int32))
    return PublishedValues(state, [requirement], (of,))


def brute(of: SensitiveColumn, requirement: Requirement, size: int) -> bool:
    """Whether it holds of every choice of so many people."""
    whole = Whole.of(of)
    for chosen in combinations(range(len(of.codes)), size):
        codes = of.codes[list(chosen)]
        zeros = np.zeros(size, np.int64)
        histogram = Histogram.from_rows(zeros, codes, 1, of.size, of.missing, of.values, whole=whole)
        if not check(Groups(np.array([size]), {"s": histogram}), [requirement])[0]:
            return False
    return True


@pytest.mark.parametrize("model", [name for name in MODELS if kept(name)])
@OF_EVERY_MODEL
@given(data=st.data(), values=st.lists(st.integers(0, MISSING), min_size=1, max_size=7))
def test_it_holds_where_it_holds_of_every_choice(model: str, data: st.DataObject, values: list[int]) -> None:
    numeric = MODELS[model].sensitive == "numeric"
    requirement = Requirement(model, "s", data.draw(parameters(PARAMETERS[model])))
    if not MODELS[model].merges(requirement.parameters):
        return
    size = data.draw(st.integers(1, len(values)))
    of = column(values, numeric)
    held = published(of, requirement).hold(np.array([1, 1]), np.array([size, 0]))
    assert held.tolist() == [brute(of, requirement, size), False]


def test_histories_are_judged_side_by_side() -> None:
    """One of three who have a, a, b, and one of two who have a, b: two of the first may be alike."""
    people = pl.DataFrame({"history": np.array([1, 2, 1, 2, 1], np.uint32)})
    state: Any = SeriesState("", (), "unseen", {}, {}, {}, (), people, np.array([[-1], [0], [1]], np.int32))
    required = per_class([Requirement("distinct-l-diversity", "s", PARAMETERS["distinct-l-diversity"](**{"l": 2}))], 2)
    own = PublishedValues(state, required, (column([0, 0, 0, 1, 1], numeric=False),))
    assert own.hold(np.array([1, 1, 2, 2]), np.array([2, 3, 2, 1])).tolist() == [False, True, True, False]


def test_values_are_those_last_published() -> None:
    columns = {value_column(0, 0): [0, 1, None], value_column(1, 0): [2, None, None]}
    people = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.UInt32))
    releases: Any = (None, None)
    state = SeriesState("", (), "unseen", {}, {}, {"s": ("x", "y", "z")}, releases, people, np.zeros((1, 2), np.int32))
    assert latest_codes(state, "s").tolist() == [2, 1, -1]


@pytest.mark.parametrize("model", [name for name, each in MODELS.items() if each.compares])
def test_what_compares_with_the_whole_table_is_refused(model: str) -> None:
    fields = PARAMETERS[model].model_fields
    given_values = {name: 0.5 for name in ("t", "beta", "delta") if name in fields}
    with pytest.raises(UsageError, match="not in a series"):
        check_kept([Requirement(model, "s", PARAMETERS[model](**given_values))])
