"""Which rows have to go so that a table can be released at all, against trying every cap on the frequent values."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.algorithms.base import Context
from anonymize.algorithms.feasibility import minimum_size, rows_to_suppress
from anonymize.errors import InfeasibleError
from anonymize.privacy import PARAMETERS, Requirement
from anonymize.table import Table
from anonymize.table.population import Population
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of
from tests.examples import some

Values = Sequence[float | None]
values = st.lists(st.sampled_from([1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 9.0, None]), min_size=1, max_size=40)


def table(*columns: Values) -> Table:
    """A table of some sensitive columns, s0, s1 ..."""
    named = [sensitive(list(column), f"s{index}") for index, column in enumerate(columns)]
    return table_of(numeric([0.0] * len(columns[0])), sensitive=named)


def suppress(limit: int, wanted: Sequence[Requirement], *columns: Values) -> list[int]:
    return list(rows_to_suppress(table(*columns), tuple(wanted), Context(suppression_limit=limit)).tolist())


def holds(wanted: Requirement, present: Values) -> bool:
    """Whether the rows with these values meet a requirement as one class."""
    required = cast(dict[str, float], wanted.required())
    if wanted.model == "k-anonymity":
        return len(present) >= required["k"]
    counts = sorted(Counter(value for value in present if value is not None).values(), reverse=True)
    n = sum(counts)
    if wanted.model == "distinct-l-diversity":
        return len(counts) >= required["l"]
    if wanted.model == "frequency-l-diversity":
        return n > 0 and n / counts[0] >= required["l"] * (1 - 1e-9)
    if wanted.model == "entropy-l-diversity":
        entropy = -sum(count / n * math.log(count / n) for count in counts)
        return n > 0 and math.exp(entropy) >= required["l"] * (1 - 1e-9)
    assert wanted.model == "recursive-cl-diversity"
    rest = sum(counts[int(required["l"]) - 1 :])
    return rest > 0 and counts[0] / rest < required["c"] * (1 - 1e-9)


def kept_under(cap: int, present: Values) -> list[float | None]:
    """The values of the rows that stay when at most `cap` of each value do; missing ones all stay."""
    counts = Counter(value for value in present if value is not None)
    return [None] * list(present).count(None) + [v for v, n in counts.items() for _ in range(min(n, cap))]


def fewest(wanted: Requirement, present: Values) -> int | None:
    """Rows to give up under the highest cap that is enough; None where none is."""
    for cap in range(len(present), 0, -1):
        if holds(wanted, kept_under(cap, present)):
            return len(present) - len(kept_under(cap, present))
    return None


MODELS = [
    requirement("frequency-l-diversity", "s0", l=1.5),
    requirement("frequency-l-diversity", "s0", l=3.0),
    requirement("entropy-l-diversity", "s0", l=2.5),
    requirement("recursive-cl-diversity", "s0", c=1.5, l=2),
    requirement("recursive-cl-diversity", "s0", c=0.8, l=3),
    requirement("distinct-l-diversity", "s0", l=3),
    k_anonymity(12),
]


@pytest.mark.parametrize("wanted", MODELS, ids=str)
@settings(max_examples=some(60))
@given(present=values)
def test_as_few_rows_go_as_a_cap_allows(wanted: Requirement, present: Values) -> None:
    expected = fewest(wanted, present)
    if expected is None:
        with pytest.raises(InfeasibleError, match="cannot be met"):
            suppress(len(present), [wanted], present)
        return
    gone = suppress(expected, [wanted], present)
    assert len(gone) == expected and gone == sorted(set(gone))
    assert holds(wanted, [value for row, value in enumerate(present) if row not in gone])
    assert all(present[row] is not None for row in gone)
    if expected:
        with pytest.raises(InfeasibleError):
            suppress(expected - 1, [wanted], present)


def nearest_share(error: InfeasibleError) -> float:
    """The share of rows that the message says would have to go; it reads as a number in YAML too."""
    found = re.search(r"privacy\.suppression of ([0-9.]+)", str(error.problems[0].hint))
    assert found
    return float(found[1].rstrip("."))


def limit_of(share: float, rows: int) -> int:
    """How many rows a share is, as a release counts them."""
    return int(np.floor(share * rows + 1e-9))


@pytest.mark.parametrize("wanted", MODELS[:5], ids=str)
@settings(max_examples=some(40))
@given(present=values)
def test_the_suppression_that_is_named_as_nearest_is_enough(wanted: Requirement, present: Values) -> None:
    needed = fewest(wanted, present)
    if not needed:
        return
    with pytest.raises(InfeasibleError) as caught:
        suppress(0, [wanted], present)
    share = nearest_share(caught.value)
    assert len(suppress(limit_of(share, len(present)), [wanted], present)) == needed
    assert f"suppressing {needed} rows" in caught.value.problems[0].message


def test_a_small_share_of_many_rows_is_enough_and_reads_as_a_number() -> None:
    present = [1.0] * 12_002 + [2.0] * 12_000
    wanted = [requirement("frequency-l-diversity", "s0", l=2.0)]
    with pytest.raises(InfeasibleError) as caught:
        suppress(1, wanted, present)
    share = nearest_share(caught.value)
    assert share == 0.000084 and limit_of(share, len(present)) == 2
    assert len(suppress(2, wanted, present)) == 2


def alternative(error: InfeasibleError, wanted: Requirement) -> Requirement:
    """The requirement with the parameters that the message names as the nearest."""
    parameters: dict[str, Any] = dict(wanted.required())
    for name, above, number in re.findall(r"\b([a-z_]+)(=| above )(\d[\d.e+]*)", str(error.problems[0].hint)):
        whole = isinstance(wanted.required()[name], int)
        parameters[name] = int(number) if whole else float(number) * (1 + 1e-6 if above != "=" else 1)
    return Requirement(wanted.model, wanted.attribute, PARAMETERS[wanted.model](**parameters))


@pytest.mark.parametrize("wanted", MODELS, ids=str)
@settings(max_examples=some(40))
@given(present=values)
def test_the_parameters_that_are_named_as_nearest_are_met_by_the_whole_table(
    wanted: Requirement, present: Values
) -> None:
    if holds(wanted, present):
        return
    with pytest.raises(InfeasibleError) as caught:
        suppress(0, [wanted], present)
    assert str(wanted) in caught.value.problems[0].message
    hint = str(caught.value.problems[0].hint)
    if all(value is None for value in present) and wanted.attribute:
        assert hint == "no setting of it is feasible"
    else:
        assert suppress(0, [alternative(caught.value, wanted)], present) == []


BEYOND = {
    "k-anonymity (k=50)": ("k", 1),
    "alpha-k-anonymity (alpha=0.3, k=10)": ("alpha", -0.001),
    "alpha-k-anonymity (alpha=0.9, k=50)": ("k", 1),
    "p-sensitivity (p=9)": ("p", 1),
    "k-e-anonymity (k=2, e=500)": ("e", 0.001),
    "k-e-anonymity (k=9, e=1)": ("k", 1),
    "distinct-l-diversity (l=9)": ("l", 1),
    "entropy-l-diversity (l=4.5)": ("l", 0.001),
    "frequency-l-diversity (l=4)": ("l", 0.001),
    "recursive-cl-diversity (c=0.5, l=2)": ("c", -0.001),
    "squared-error-diversity (error=5000)": ("error", 0.001),
    "risk (prosecutor_max=0.01)": ("prosecutor_max", -0.001),
    "risk (marketer=0.01)": ("marketer", -0.001),
}
"""Requirements that eleven rows do not meet, and a step beyond what they do meet."""


@pytest.mark.parametrize("told", BEYOND)
def test_what_is_named_as_nearest_succeeds_and_a_step_beyond_it_fails(told: str) -> None:
    present: list[float | None] = [1.0] * 5 + [2.0] * 3 + [4.0] * 2 + [None]
    model, given = re.fullmatch(r"(\S+) \((.*)\)", told).groups()  # type: ignore[union-attr]
    pairs = [pair.split("=") for pair in given.split(", ")]
    parameters = {name: int(text) if text.isdigit() and name in "kpl" else float(text) for name, text in pairs}
    if model in ("entropy-l-diversity", "frequency-l-diversity"):
        parameters["l"] = float(parameters["l"])
    attribute = None if model in ("k-anonymity", "risk") else "s0"
    wanted = requirement(model, attribute, **parameters)
    with pytest.raises(InfeasibleError) as caught:
        suppress(0, [wanted], present)
    nearest = alternative(caught.value, wanted)
    assert suppress(0, [nearest], present) == []
    name, step = BEYOND[told]
    assert nearest.required() != wanted.required()
    assert {key for key, value in nearest.required().items() if value != wanted.required()[key]} == {name}
    required = cast(dict[str, float], nearest.required())
    beyond = required | {name: required[name] + step}
    with pytest.raises(InfeasibleError):
        suppress(0, [requirement(model, attribute, **beyond)], present)


def test_where_there_are_fewer_than_l_values_a_smaller_l_is_the_nearest() -> None:
    wanted = requirement("recursive-cl-diversity", "s0", c=3.0, l=4)
    with pytest.raises(InfeasibleError) as caught:
        suppress(0, [wanted], [1.0, 1.0, 2.0])
    assert caught.value.problems[0].hint == "nearest feasible: l=2"


def test_without_any_present_value_no_distance_will_do() -> None:
    with pytest.raises(InfeasibleError) as caught:
        suppress(0, [requirement("t-closeness", "s0", t=0.5)], [None, None])
    (problem,) = caught.value.problems
    assert problem.hint == "no setting of it is feasible" and "all 2 rows as one class reach t=none" in problem.message


def test_the_entropy_of_one_value_is_1_whatever_its_rounding() -> None:
    with pytest.raises(InfeasibleError) as caught:
        suppress(0, [requirement("entropy-l-diversity", "s0", l=2.5)], [1.0] * 6)
    assert caught.value.problems[0].hint == "nearest feasible: l=1"


def test_more_rows_wanted_than_there_are() -> None:
    with pytest.raises(InfeasibleError) as caught:
        suppress(7, [k_anonymity(10)], [1.0] * 7)
    (problem,) = caught.value.problems
    assert problem.message == "k-anonymity (k=10) cannot be met: all 7 rows as one class reach k=7"
    assert problem.hint == "nearest feasible: k=7" and caught.value.exit_code == 4


def test_every_requirement_that_cannot_be_met_is_named() -> None:
    wanted = [k_anonymity(10), requirement("distinct-l-diversity", "s0", l=3), k_anonymity(2)]
    with pytest.raises(InfeasibleError) as caught:
        suppress(7, wanted, [1.0] * 4 + [None] * 3)
    assert [str(problem).split(" cannot")[0] for problem in caught.value.problems] == [str(r) for r in wanted[:2]]


def test_a_requirement_that_suppression_for_another_breaks_is_named_with_the_rows_that_are_left() -> None:
    wanted = [k_anonymity(7), requirement("frequency-l-diversity", "s0", l=2.0)]
    present = [1.0] * 5 + [2.0] * 3
    with pytest.raises(InfeasibleError) as caught:
        suppress(0, wanted, present)
    (problem,) = caught.value.problems
    assert problem.message.startswith("k-anonymity (k=7) cannot be met: the 6 of 8 rows that are left")
    assert problem.hint == "nearest feasible: k=6 with privacy.suppression of 0.25"
    assert len(suppress(limit_of(0.25, 8), [k_anonymity(6), wanted[1]], present)) == 2


@settings(max_examples=some(80))
@given(st.lists(st.tuples(st.sampled_from([1.0, 1.0, 2.0, 3.0]), st.sampled_from([7.0, 7.0, 8.0, None])), min_size=1))
def test_several_requirements_hold_together_or_it_says_so(rows: list[tuple[float, float | None]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    wanted = [requirement("frequency-l-diversity", f"s{index}", l=2.0) for index in (0, 1)]
    try:
        gone = set(suppress(len(rows), [*wanted, k_anonymity(4)], *columns))
    except InfeasibleError:
        return
    left = [row for row in range(len(rows)) if row not in gone]
    assert len(left) >= 4
    assert all(holds(r, [column[row] for row in left]) for r, column in zip(wanted, columns, strict=True))


def test_what_goes_for_one_attribute_can_break_another_that_is_then_mended_too() -> None:
    """Ones and twos are balanced until two rows of seven go, and eights less than sevens once a one goes for that."""
    columns = [1, 2, 1, 2, 2, 2, 2, 1, 1, 1], [8, 7, 7, 8, 7, 7, 7, 7, 8, 8]
    gone = suppress(10, [requirement("frequency-l-diversity", name, l=2.0) for name in ("s0", "s1")], *columns)
    left = [Counter(value for row, value in enumerate(column) if row not in gone) for column in columns]
    assert left == [{1: 3, 2: 3}, {7: 3, 8: 3}]


def test_rows_that_go_are_spread_over_the_table() -> None:
    gone = suppress(60, [requirement("frequency-l-diversity", "s0", l=2.0)], [1.0, 1.0, 1.0, 2.0] * 30)
    assert len(gone) == 60
    thirds = Counter(row * 3 // 120 for row in gone)
    assert thirds == {0: 20, 1: 20, 2: 20}


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ([], 1),
        ([k_anonymity(5)], 5),
        ([k_anonymity(2), requirement("distinct-l-diversity", "s0", l=3)], 3),
        ([requirement("entropy-l-diversity", "s0", l=2.2)], 3),
        ([requirement("squared-error-diversity", "s0", error=50.0)], 2),
    ],
)
def test_fewest_rows_of_a_class(wanted: list[Requirement], rows: int) -> None:
    assert minimum_size(wanted) == rows


# --- populations -----------------------------------------------------------------------------------------------------

PEOPLE = Path("people.csv")


def among(people: int, rows: int) -> Table:
    """A table of some rows, of a population of some people."""
    return replace(table([1.0] * rows), populations={str(PEOPLE): Population((), np.array([people]))})


def about(model: str, **parameters: Any) -> Requirement:
    return requirement(model, **parameters, population=PEOPLE)


def shares(highest: float) -> Requirement:
    return about("delta-presence", min=0.0, max=highest)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0, 1))
def test_as_few_rows_go_as_a_share_of_the_population_allows(rows: int, others: int, highest: float) -> None:
    people = rows + others
    most = max(number for number in range(rows + 1) if number <= people * highest * (1 + 1e-9) + people * 1e-12)
    wanted = (shares(highest),)
    if not most:
        with pytest.raises(InfeasibleError, match="cannot be met"):
            rows_to_suppress(among(people, rows), wanted, Context(suppression_limit=rows))
        return
    given_up = rows_to_suppress(among(people, rows), wanted, Context(suppression_limit=rows - most))
    assert len(given_up) == rows - most
    if most < rows:
        with pytest.raises(InfeasibleError, match=f"suppressing {rows - most} rows would fix it") as caught:
            rows_to_suppress(among(people, rows), wanted, Context(suppression_limit=rows - most - 1))
        nearest = float(re.findall(r"or max=([0-9.e-]+)", str(caught.value))[0])
        assert (
            len(rows_to_suppress(among(people, rows), (about("delta-presence", min=0.0, max=nearest),), Context())) == 0
        )
        with pytest.raises(InfeasibleError):
            rows_to_suppress(among(people, rows), (about("delta-presence", min=0.0, max=nearest - 1e-6),), Context())


def test_fewer_rows_do_not_raise_a_share_that_is_too_low() -> None:
    with pytest.raises(InfeasibleError, match=r"cannot be met.*nearest feasible: min=0.2"):
        rows_to_suppress(among(10, 2), (about("delta-presence", min=0.3, max=0.9),), Context(suppression_limit=2))


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        (about("k-map", k=11), "k=10"),
        (about("risk", journalist_max=0.09), "journalist_max=0.1"),
    ],
    ids=["k-map", "journalist"],
)
def test_the_whole_population_is_the_most_that_is_under_a_class(wanted: Requirement, nearest: str) -> None:
    with pytest.raises(InfeasibleError, match=rf"nearest feasible: {nearest}\)$") as caught:
        rows_to_suppress(among(10, 4), (wanted,), Context(suppression_limit=4))
    name, figure = re.findall(r"nearest feasible: (\w+)=([0-9.]+)", str(caught.value))[0]
    feasible = about(wanted.model, **{name: type(wanted.required()[name])(figure)})
    assert len(rows_to_suppress(among(10, 4), (feasible,), Context())) == 0
