"""Steps of `treatments` against the spec around them."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.errors import SpecError
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.spec.treatments import METHODS

BASE = {"version": 1, "identifiers": ["id"], "insensitive": ["wage", "tax", "job"], "unit": "person"}


def spec(*steps: dict[str, Any], **more: Any) -> Any:
    return make({**BASE, **more, "treatments": list(steps)}, PARAMETERS)


def made(*steps: dict[str, Any], **more: Any) -> Any:
    """A spec whose rows are each about somebody else."""
    return spec(*steps, insensitive=["wage", "tax", "job", "person"], unit=None, **more)


def suppress(**more: Any) -> dict[str, Any]:
    return {"method": "suppress", "columns": ["wage", "job"], **more}


def noise(*columns: str, **more: Any) -> dict[str, Any]:
    return {"method": "noise", "columns": list(columns), "scale": 0.1, **more}


def shifted(form: str) -> dict[str, Any]:
    return {"method": "date-shift", "columns": ["wage"], "by": ["person"], "days": 9, "format": form}


def test_steps_are_known_by_the_columns_that_they_change() -> None:
    made = spec(noise("wage"), {"method": "random-swap", "columns": ["job"]})
    assert {name: step.method for name, step in made.treated.items()} == {"wage": "noise", "job": "random-swap"}


def test_numbers_of_a_treated_column_are_written_as_the_input_says() -> None:
    made = spec(noise("wage"), input={"decimal": ","})
    assert made.notation("wage").decimal == "," and made.notation("tax").decimal == "."


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([noise("wage"), noise("tax", "wage")], "treated by step 1 (noise) already"),
        ([noise("wagge")], "has no role"),
        ([noise("id")], "left out"),
        ([noise("person")], "left out"),
        ([noise("wage", by=["wage"])], "goes by as well"),
        ([{"method": "microaggregation", "columns": ["wage", "tax"], "k": 3, "grouping": "univariate"}], "one column"),
        ([{"method": "microaggregation", "columns": ["wage"], "k": 3, "weighted": True}], "no sampling weight"),
        ([{"method": "pram", "columns": ["job"]}], "expected `keep`, or a `matrix`"),
        ([{"method": "pram", "columns": ["job"], "matrix": {"a": {"a": 0.5}}}], "must sum to 1"),
        ([{"method": "pram", "columns": ["job"], "matrix": {"a": {"b": 1}}}], "no row for `b`"),
        ([noise("wage", "wage")], "is listed twice"),
        ([{"method": "record-swap", "move": ["job"], "carry": ["job"]}], "is listed twice"),
        ([{"method": "pram", "columns": ["job"], "keep": 0.5, "alpha": 0.5}], "is of an `invariant` matrix"),
        ([{"method": "pram", "columns": ["job"], "keep": 0.5, "forbidden": [["a", "a"]]}], "forbidden to stay"),
        ([{"method": "pram", "columns": ["job"], "keep": 0.5, "by": ["id"]}], "the release does not show"),
        ([noise("wage", kind="romm", least=0)], "which `least` would change"),
        ([noise("wage", kind="romm", keep_zero=True)], "which `keep_zero` would change"),
        ([noise("wage", kind="romm", only="outliers")], "which `only` would change"),
        ([noise("wage", whole=True, round=0.5)], "not all `whole`"),
        ([shifted("day")], "no format of a date"),
        ([shifted("%H:%M")], "no format of a date"),
        ([shifted("%Y-%m-%d %H:%M %z")], "no format of a date"),
    ],
)
def test_steps_that_cannot_be(steps: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(SpecError, match=said.replace("(", r"\(").replace(")", r"\)")):
        spec(*steps)


def test_parts_that_only_a_release_without_classes_shows_may_part_a_matrix_there_alone() -> None:
    quasi, step = {"age": {"type": "numeric"}}, {"method": "pram", "columns": ["job"], "keep": 0.5, "by": ["age"]}
    assert spec(step, quasi_identifiers=quasi).treated["job"].by == ("age",)
    with pytest.raises(SpecError, match="the release does not show"):
        spec(step, quasi_identifiers=quasi, privacy={"k": 3})


GROUPS = {"method": "microaggregation", "columns": ["tax"], "k": 3}


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([suppress()], "expected `k`, `combinations` or `risk`"),
        ([suppress(k=3, risk=0.1)], "in place of `k`"),
        ([suppress(k=3, never=["tax"])], "`never` names `tax`"),
        ([suppress(k=3, importance={"tax": 2})], "`importance` names `tax`"),
        ([suppress(k=3, ghosts={"tax": ["person"]})], "`ghosts` names `tax`"),
        ([suppress(k=3, never=["wage", "job"])], "no column is left"),
        ([suppress(k=3, never=["job"], ghosts={"job": ["tax"]})], "takes nothing with it"),
        ([suppress(k=3, ghosts={"job": ["wage"]})], "is listed twice"),
        ([suppress(risk=0.1, small="pool")], "`pool` is of strata"),
        ([suppress(combinations=[{"k": 3}])], "expected one of `columns` and `size`"),
        ([suppress(combinations=[{"columns": ["tax"], "k": 3}])], "`combinations` names `tax`"),
        ([suppress(combinations=[{"size": 3, "k": 3}])], "`combinations` of 3 columns"),
        ([noise("tax"), suppress(columns=["job", "tax"], k=3, never=["tax"])], "is changed by noise"),
        ([suppress(columns=["job", "tax"], k=3, never=["tax"]), GROUPS], "is changed by microaggregation"),
    ],
)
def test_suppression_that_cannot_be(steps: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(SpecError, match=said.replace("(", r"\(").replace(")", r"\)")):
        made(*steps)


def test_suppression_counts_what_an_earlier_microaggregation_shows_and_no_individuals() -> None:
    step = suppress(columns=["job", "tax"], k=3, never=["tax"])
    assert list(made(GROUPS, step).treated) == ["tax", "job"]
    with pytest.raises(SpecError, match="counts rows, not individuals"):
        spec(suppress(k=3))


def test_a_quasi_identifier_counts_for_k_after_microaggregation_and_suppression_alone() -> None:
    quasi = {"age": {"type": "numeric"}}
    grouped = {"method": "microaggregation", "columns": ["age"], "k": 3}
    assert spec(grouped, quasi_identifiers=quasi, privacy={"k": 3}).treated["age"].COUNTS
    hidden = {"method": "suppress", "columns": ["age"]}
    assert made(hidden, quasi_identifiers=quasi, privacy={"k": 3}).treated["age"].COUNTS
    assert spec(noise("age"), quasi_identifiers=quasi).treated["age"].method == "noise"
    with pytest.raises(SpecError, match="do not count for k"):
        spec(noise("age"), quasi_identifiers=quasi, privacy={"k": 3})


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_what_a_changed_cell_holds(method: str) -> None:
    settings: dict[str, dict[str, Any]] = {
        "microaggregation": {"k": 3},
        "pram": {"keep": 0.8},
        "noise": {"scale": 0.1},
        "shuffle": {"given": ["tax"]},
        "date-shift": {"by": ["person"], "days": 30},
        "record-swap": {"move": ["job"]},
        "suppress": {"k": 3},
    }
    own = settings.get(method, {})
    columns = {} if method == "record-swap" else {"columns": ["wage"]}
    (step,) = (made if method == "suppress" else spec)({"method": method, **columns, **own}).treatments
    assert step.says and step.KIND in ("aggregate", "channel", "moved", "spans")
