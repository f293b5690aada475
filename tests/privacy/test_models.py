"""What holds of every model of the registry."""

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from anonymize.privacy import MODELS, PARAMETERS, Crowd, Groups, Histogram, Requirement, Whole, assess, check
from anonymize.verify import TWINS

VALUES = np.array([-3.0, 0.0, 0.5, 7.0, 7.25, np.nan])
MISSING = 5
number = st.floats(1, 6, allow_nan=False)
PEOPLE = Path("people.csv")
PARAMETER_OF: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "k-anonymity": {"k": st.integers(1, 8)},
    "distinct-l-diversity": {"l": st.integers(1, 5)},
    "entropy-l-diversity": {"l": number},
    "frequency-l-diversity": {"l": number},
    "recursive-cl-diversity": {"c": st.floats(0.1, 6), "l": st.integers(1, 5)},
    "squared-error-diversity": {"error": st.floats(0, 200)},
    "alpha-k-anonymity": {"alpha": st.floats(0.2, 1), "k": st.integers(1, 8)},
    "p-sensitivity": {"p": st.integers(1, 5)},
    "k-e-anonymity": {"k": st.integers(1, 5), "e": st.floats(0, 12)},
    "t-closeness": {"t": st.floats(0, 0.6), "distance": st.sampled_from(["equal", "ordered", "hierarchical"])},
    "basic-beta-likeness": {"beta": st.floats(0.01, 4)},
    "enhanced-beta-likeness": {"beta": st.floats(0.01, 4)},
    "delta-disclosure": {"delta": st.floats(0.01, 3)},
    "risk": {"prosecutor_max": st.floats(0.1, 1), "marketer": st.floats(0.1, 1)},
    "sample-uniqueness": {"share": st.floats(0, 1)},
    "k-map": {"k": st.integers(1, 30), "population": st.just(PEOPLE)},
    "delta-presence": {"min": st.floats(0, 0.5), "max": st.floats(0.5, 1), "population": st.just(PEOPLE)},
}
TREE = np.array([[0, 1, 2, 3, 4, 5], [6, 6, 7, 7, 7, 8], [9, 9, 9, 9, 9, 9]], dtype=np.int32)
"""Nodes of the values on three levels: two, three and the missing one under a node each."""


def groups_of(classes: list[list[int]]) -> Groups:
    labels = np.repeat(np.arange(len(classes)), [len(rows) for rows in classes])
    codes = np.array([code for rows in classes for code in rows], dtype=np.uint8)
    counts = np.bincount(codes[codes != MISSING], minlength=len(VALUES))
    whole = Whole(counts, TREE)
    histogram = Histogram.from_rows(labels, codes, len(classes), len(VALUES), MISSING, VALUES, whole=whole)
    sizes = np.bincount(labels, minlength=len(classes))
    matched = sizes + np.arange(len(classes)) % 3 * sizes
    return Groups(sizes, {"s": histogram}, {str(PEOPLE): Crowd(matched, int(matched.sum()))})


def requirement(model: str, parameters: dict[str, Any]) -> Requirement:
    attribute = None if MODELS[model].SENSITIVE == "none" else "s"
    return Requirement(model, attribute, PARAMETERS[model](**parameters))


rows = st.lists(st.integers(0, MISSING), min_size=1, max_size=12)


@pytest.mark.parametrize("model", [name for name, model in MODELS.items() if model.MONOTONE])
@given(data=st.data(), classes=st.lists(rows, min_size=2, max_size=8))
def test_merging_never_breaks_a_monotone_model(model: str, data: st.DataObject, classes: list[list[int]]) -> None:
    wanted = requirement(model, data.draw(st.fixed_dictionaries(PARAMETER_OF[model])))
    groups = groups_of(classes)
    into = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(classes), max_size=len(classes))))
    fine = check(groups, [wanted])
    merged_fine = check(groups.merge(into, 3), [wanted])
    for target in set(into.tolist()):
        assert merged_fine[target] or not fine[into == target].all()


@pytest.mark.parametrize("model", [name for name, model in MODELS.items() if model.GROWING])
@given(data=st.data(), one=rows, more=rows)
def test_further_rows_never_break_a_growing_model(
    model: str, data: st.DataObject, one: list[int], more: list[int]
) -> None:
    wanted = requirement(model, data.draw(st.fixed_dictionaries(PARAMETER_OF[model])))
    assert check(groups_of([one + more]), [wanted])[0] or not check(groups_of([one]), [wanted])[0]


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data(), classes=st.lists(rows, min_size=1, max_size=8))
def test_rows_decide_as_far_as_a_model_says(model: str, data: st.DataObject, classes: list[list[int]]) -> None:
    wanted = requirement(model, data.draw(st.fixed_dictionaries(PARAMETER_OF[model])))
    enough = np.array([len(rows) for rows in classes]) >= MODELS[model].minimum_rows(wanted.parameters)
    fine = check(groups_of(classes), [wanted])
    assert (fine <= enough).all()
    assert not MODELS[model].BY_SIZE or (fine == enough).all()


@pytest.mark.parametrize("model", MODELS)
@given(data=st.data(), classes=st.lists(rows, min_size=1, max_size=8))
def test_what_is_enough_for_every_class_is_enough_for_the_table(
    model: str, data: st.DataObject, classes: list[list[int]]
) -> None:
    wanted = requirement(model, data.draw(st.fixed_dictionaries(PARAMETER_OF[model])))
    groups = groups_of(classes)
    if check(groups, [wanted]).all():
        assert assess(groups, wanted).satisfied
    if len(classes) == 1:
        assert assess(groups, wanted).satisfied == check(groups, [wanted])[0]


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


def test_the_registry_names_each_model_by_its_id_and_each_has_a_twin() -> None:
    assert all(name == model.ID for name, model in MODELS.items())
    assert set(TWINS) == set(MODELS) == set(PARAMETER_OF)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("section", ["Guarantees", "Formula", "Parameters", "Monotone", "Missing values", "Reference"])
def test_a_models_docstring_is_its_manual(model: str, section: str) -> None:
    assert f"\n{section}: " in (MODELS[model].__doc__ or "")


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
