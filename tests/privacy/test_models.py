"""What holds of every model of the registry."""

import math
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from anonymize.privacy import (
    MODELS,
    PARAMETERS,
    Assessment,
    Crowd,
    Groups,
    Histogram,
    Limit,
    Requirement,
    Whole,
    check,
    models_about,
)
from anonymize.spec.base import Means
from anonymize.verify import TWINS
from tests.common.budgets import OF_EVERY_MODEL
from tests.privacy.strategies import PEOPLE
from tests.privacy.strategies import parameters as parameters_of

OF_CLASSES = models_about("classes", "table")


VALUES = np.array([-3.0, 0.0, 0.5, 7.0, 7.25, np.nan])
MISSING = 5
KINDS = ("flu", "cold", "ulcer", "cancer", "edema", "")
TREE = np.array([[0, 1, 2, 3, 4, 5], [6, 6, 7, 7, 7, 8], [9, 9, 9, 9, 9, 9]], dtype=np.int32)
"""Nodes of the values on three levels: two, three and the missing one under a node each."""


def groups_of(classes: list[list[int]]) -> Groups:
    labels = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes])
    codes = np.array([code for rows in classes for code in rows], dtype=np.uint8)
    counts = np.bincount(codes[codes != MISSING], minlength=len(VALUES))
    whole = Whole(counts, TREE, KINDS)
    histogram = Histogram.from_rows(labels, codes, len(classes), len(VALUES), MISSING, VALUES, whole=whole)
    sizes = np.bincount(labels, minlength=len(classes))
    matched = sizes + np.arange(len(classes)) % 3 * sizes
    kept = 1 / (1 + np.arange(len(classes)) % 3)
    return Groups(sizes, {"s": histogram}, {str(PEOPLE): Crowd(matched, int(matched.sum()))}, kept=kept)


def requirement(model: str, parameters: dict[str, Any]) -> Requirement:
    return _on(model, PARAMETERS[model](**parameters))


def requirements(model: str) -> st.SearchStrategy[Requirement]:
    """The model with any parameters that it takes."""
    return parameters_of(MODELS[model].parameters).map(lambda drawn: _on(model, drawn))


def _on(model: str, parameters: Any) -> Requirement:
    return Requirement(model, None if MODELS[model].sensitive == "none" else "s", parameters)


rows = st.lists(st.integers(0, MISSING), min_size=1, max_size=12)


@pytest.mark.parametrize("model", OF_CLASSES)
@OF_EVERY_MODEL
@given(data=st.data(), classes=st.lists(rows, min_size=2, max_size=8))
def test_merging_never_breaks_a_model(model: str, data: st.DataObject, classes: list[list[int]]) -> None:
    wanted = data.draw(requirements(model))
    assume(MODELS[model].merges(wanted.parameters))
    groups = groups_of(classes)
    into = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(classes), max_size=len(classes))))
    fine = check(groups, [wanted])
    merged_fine = check(groups.merge(into, 3), [wanted])
    for target in set(into.tolist()):
        assert merged_fine[target] or not fine[into == target].all()


@pytest.mark.parametrize("model", [name for name, model in MODELS.items() if model.grows])
@OF_EVERY_MODEL
@given(data=st.data(), one=rows, more=rows)
def test_further_rows_never_break_a_growing_model(
    model: str, data: st.DataObject, one: list[int], more: list[int]
) -> None:
    wanted = data.draw(requirements(model))
    assume(MODELS[model].growing(wanted.parameters))
    assert check(groups_of([one + more]), [wanted])[0] or not check(groups_of([one]), [wanted])[0]


@pytest.mark.parametrize("model", OF_CLASSES)
@OF_EVERY_MODEL
@given(data=st.data(), classes=st.lists(rows, min_size=1, max_size=8))
def test_rows_decide_as_far_as_a_model_says(model: str, data: st.DataObject, classes: list[list[int]]) -> None:
    wanted = data.draw(requirements(model))
    enough = np.array([len(rows) for rows in classes]) >= MODELS[model].minimum_rows(wanted.parameters)
    fine = check(groups_of(classes), [wanted])
    assert (fine <= enough).all()
    assert not MODELS[model].sized(wanted.parameters) or wanted.population is not None or (fine == enough).all()


@pytest.mark.parametrize("model", OF_CLASSES)
@OF_EVERY_MODEL
@given(data=st.data(), classes=st.lists(rows, min_size=1, max_size=8))
def test_what_is_enough_for_every_class_is_enough_for_the_table(
    model: str, data: st.DataObject, classes: list[list[int]]
) -> None:
    wanted = data.draw(requirements(model))
    groups = groups_of(classes)
    if check(groups, [wanted]).all():
        assert Assessment(groups, wanted).satisfied
    if len(classes) == 1:
        assert Assessment(groups, wanted).satisfied == check(groups, [wanted])[0]


@given(classes=st.lists(rows, min_size=1, max_size=8), into=st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_merging_adds_the_rows_up(classes: list[list[int]], into: list[int]) -> None:
    target = np.array(into[: len(classes)])
    merged = groups_of(classes).merge(target, 3)
    for label in range(3):
        together = [code for rows, t in zip(classes, target, strict=True) if t == label for code in rows]
        histogram = merged.histograms["s"]
        entries = slice(histogram.starts[label], histogram.starts[label + 1])
        counted = dict(zip(histogram.codes[entries].tolist(), histogram.counts[entries].tolist(), strict=True))
        assert merged.sizes[label] == len(together)
        assert counted == Counter(code for code in together if code != MISSING)
        assert histogram.values is not None and np.array_equal(histogram.values[entries], VALUES[list(counted)])


def test_check_needs_all_requirements_of_a_class() -> None:
    groups = groups_of([[0, 0, 0], [0, 1], [0, 1, 2]])
    wanted = [requirement("k-anonymity", {"k": 3}), requirement("distinct-l-diversity", {"l": 2})]
    assert check(groups, wanted).tolist() == [False, False, True]
    assert check(groups, []).tolist() == [True, True, True]


@pytest.mark.parametrize("model", OF_CLASSES)
@OF_EVERY_MODEL
@given(data=st.data())
def test_no_classes_are_judged_one_by_one_also_where_values_look_alike(model: str, data: st.DataObject) -> None:
    groups = groups_of([[0, 1, 1]])
    own = groups.of("s")
    given = replace(own.whole, together=np.array([0, 0, 2, 3, -1, -1]))
    groups = replace(groups, histograms={"s": replace(own, given=given)}).subset(np.array([False]))
    assert check(groups, [data.draw(requirements(model))]).shape == (0,)


def test_the_registry_names_each_model_by_its_id_and_each_has_a_twin() -> None:
    assert all(name == model.id for name, model in MODELS.items())
    assert set(TWINS) == set(OF_CLASSES)


@pytest.mark.parametrize("model", OF_CLASSES)
@pytest.mark.parametrize(
    "section", ["Guarantees", "Formula", "Parameters", "Example", "Monotone", "Missing values", "Reference"]
)
def test_a_models_docstring_is_its_manual(model: str, section: str) -> None:
    assert f"\n{section}: " in MODELS[model].manual


@pytest.mark.parametrize("model", MODELS)
def test_a_manual_says_what_its_model_does_not_bound(model: str) -> None:
    """Right behind what it guarantees, and at least in a sentence or two."""
    paragraphs = MODELS[model].manual.split("\n\n")
    leads = [paragraph.partition(": ")[0] for paragraph in paragraphs]
    assert leads[1:3] == ["Guarantees", "Does not bound"]
    assert len(paragraphs[2].split()) > 30


@pytest.mark.parametrize("model", MODELS)
def test_every_parameter_is_compared_or_given(model: str) -> None:
    """Or it is the population that it is about, or other limits for single values."""
    own = MODELS[model]
    limits = [limit.parameter for limit in own.limits]
    about = {own.parameters.name_of(Means.POPULATION), *({"values"} if model == "disclosure" else ())} - {None}
    assert sorted([*limits, *own.given, *about]) == sorted(own.parameters.model_fields)


def test_what_a_parameter_means_is_said_by_its_type() -> None:
    """The k of (k,e)-anonymity, and the p of p-sensitivity, count values."""
    found = {
        meaning: {name for name, model in MODELS.items() if model.parameters.name_of(meaning)} for meaning in Means
    }
    assert found[Means.PEOPLE] == {"k-anonymity", "alpha-k-anonymity", "k-map"}
    assert found[Means.DISTANCE] == {"t-closeness"}
    assert found[Means.POPULATION] == {"k-map", "delta-presence", "risk", "profitability"}
    given = {name for name in OF_CLASSES if "values" in MODELS[name].parameters.model_fields}
    assert found[Means.PROTECTED] == given


@pytest.mark.parametrize("model", TWINS)
def test_the_check_knows_by_itself_which_parameter_counts_people(model: str) -> None:
    assert [bound.parameter for bound in TWINS[model] if bound.people] == [
        name for name in [MODELS[model].parameters.name_of(Means.PEOPLE)] if name
    ]


@pytest.mark.parametrize("model", [name for name, model in MODELS.items() if model.diverse])
@OF_EVERY_MODEL
@given(data=st.data())
def test_the_least_values_of_a_diverse_model_meet_it(model: str, data: st.DataObject) -> None:
    wanted = data.draw(requirements(model))
    least = MODELS[model].least_values(wanted.parameters)
    assume(least < 1000)

    def meets(number: int) -> bool:
        codes = np.arange(number)
        whole = Whole(np.ones(number, np.int64), names=[*KINDS[:5], *map(str, codes)][:number])
        histogram = Histogram.from_rows(np.zeros(number, np.int64), codes, 1, number, whole=whole)
        return bool(check(Groups(np.array([number]), {"s": histogram}), [wanted])[0])

    assert meets(least) and meets(least + 1)
    assert wanted.parameters.given(Means.PROTECTED) or not (least > 1 and meets(least - 1))


@pytest.mark.parametrize("model", OF_CLASSES)
@OF_EVERY_MODEL
@given(data=st.data(), classes=st.lists(rows, min_size=1, max_size=8))
def test_what_is_achieved_is_met(model: str, data: st.DataObject, classes: list[list[int]]) -> None:
    """And a release that reaches worse than that does not meet it, the way that the limits say is worse."""
    wanted = data.draw(requirements(model))
    groups = groups_of(classes)
    found = Assessment(groups, wanted)
    for limit in MODELS[model].limits:
        reached = found.achieved.get(limit.parameter)
        if not isinstance(reached, int | float) or limit.comparison == "below":
            continue
        assert limit.meets(np.array(float(reached)), reached)
        harder = reached + 1 if limit.worse == "lower" else reached - 1
        assert not limit.meets(np.array(float(reached)), harder)


@given(
    figures=st.lists(st.floats(0, 9) | st.integers(0, 9) | st.just(math.inf), min_size=1, max_size=5),
    limit=st.sampled_from([Limit("a"), Limit("a", "at most"), Limit("a", "below"), Limit("a", count=True)]),
)
def test_a_worse_figure_never_meets_what_a_better_one_does_not(figures: list[float], limit: Limit) -> None:
    if limit.count:
        figures = [float(round(figure)) for figure in figures if figure < math.inf]
    ordered = np.array(sorted(figures, reverse=limit.worse == "lower"), np.float64)
    for required in (0, 1, 3, 4.5):
        met = limit.meets(ordered, required)
        assert not (~met[:-1] & met[1:]).any()
    reached = limit.strongest(ordered)
    assert reached is None or reached == ordered[-1]


def test_the_tiniest_share_needs_more_rows_than_there_are() -> None:
    assert (
        MODELS["alpha-k-anonymity"].minimum_rows(requirement("alpha-k-anonymity", {"alpha": 5e-324, "k": 1}).parameters)
        > 2**40
    )


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("k-anonymity", {"k": 0}),
        ("k-anonymity", {"k": "5"}),
        ("k-anonymity", {"k": True}),
        ("k-anonymity", {"k": 5, "l": 2}),
        ("distinct-l-diversity", {"l": 2.5}),
        ("entropy-l-diversity", {"l": 0.5}),
        ("entropy-l-diversity", {"l": float("inf")}),
        ("frequency-l-diversity", {"l": float("nan")}),
        ("recursive-cl-diversity", {"c": 0, "l": 2}),
        ("recursive-cl-diversity", {"c": 2}),
        ("squared-error-diversity", {"error": -1}),
        ("alpha-k-anonymity", {"alpha": 0, "k": 2}),
        ("alpha-k-anonymity", {"alpha": 0.5}),
        ("t-closeness", {"t": 1.5}),
        ("t-closeness", {"t": 0.5, "distance": "euclidean"}),
        ("delta-disclosure", {"delta": 0}),
        ("risk", {}),
        ("risk", {"records_at_risk": 0.1}),
        ("risk", {"threshold": 0.1, "marketer": 0.1}),
        ("risk", {"prosecutor_max": 0}),
        ("sample-uniqueness", {"share": 1.1}),
        ("profitability", {"attacker_gain": 300, "attacker_cost": 0}),
        ("profitability", {"attacker_gain": 300, "attacker_cost": 4, "allow_attack": True}),
        ("profitability", {"attacker_gain": 300, "attacker_cost": 4, "population": "people.csv"}),
    ],
)
def test_parameters_refuse_what_makes_no_sense(model: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        PARAMETERS[model](**parameters)


def test_squared_error_of_texts_is_a_bug_not_a_zero() -> None:
    histogram = Histogram.from_rows(np.array([0]), np.array([0]), 1, 1)
    with pytest.raises(TypeError):
        check(Groups(np.array([1]), {"s": histogram}), [requirement("squared-error-diversity", {"error": 1})])


def test_importing_the_room_does_not_import_polars() -> None:
    code = "import sys, anonymize.privacy; sys.exit('polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
