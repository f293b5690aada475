"""From a spec's privacy to requirements."""

from pathlib import Path
from typing import Any

import pytest

from anonymize.errors import SpecError
from anonymize.privacy import PARAMETERS, requirements, searched
from anonymize.spec import load, make

SPEC = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric"}},
    "sensitive": {"diagnosis": {}, "charges": {"type": "numeric"}},
}


def wanted(privacy: dict[str, Any], **changes: Any) -> list[str]:
    return [str(each) for each in requirements(make(SPEC | changes | {"privacy": privacy}, PARAMETERS))]


def test_k_then_l_of_every_attribute_then_models() -> None:
    models = [
        {"model": "entropy-l-diversity", "attribute": "diagnosis", "l": 2.5},
        {"model": "recursive-cl-diversity", "c": 2, "l": 3},
    ]
    assert wanted({"k": 5, "l": 3, "models": models}) == [
        "k-anonymity (k=5)",
        "distinct-l-diversity (l=3) of diagnosis",
        "distinct-l-diversity (l=3) of charges",
        "entropy-l-diversity (l=2.5) of diagnosis",
        "recursive-cl-diversity (c=2, l=3) of diagnosis",
        "recursive-cl-diversity (c=2, l=3) of charges",
    ]


@pytest.mark.parametrize(
    ("privacy", "k"),
    [
        ({"k": 3, "combinations": [{"size": 1, "k": 5}]}, 5),
        ({"models": [{"model": "k-anonymity", "k": 10}], "combinations": [{"size": 1, "k": 5}]}, 10),
        ({"k": 3, "models": [{"model": "k-anonymity", "k": 4}], "combinations": [{"size": 1, "k": 5}]}, 5),
    ],
)
def test_a_search_is_to_meet_the_largest_k_of_all(privacy: dict[str, Any], k: int) -> None:
    parameters = [each.parameters for each in searched(make(SPEC | {"privacy": privacy}, PARAMETERS))]
    assert max(getattr(each, "k", 0) for each in parameters) == k


def test_without_an_attribute_squared_error_is_about_the_numeric_ones() -> None:
    assert wanted({"models": [{"model": "squared-error-diversity", "error": 10}]}) == [
        "squared-error-diversity (error=10) of charges"
    ]


def test_a_distance_is_about_the_attributes_that_have_what_it_needs() -> None:
    models = [{"model": "t-closeness", "t": 0.2, "distance": distance} for distance in ("equal", "ordered")]
    assert wanted({"models": models}) == [
        "t-closeness (t=0.2, distance=equal) of diagnosis",
        "t-closeness (t=0.2, distance=equal) of charges",
        "t-closeness (t=0.2, distance=ordered) of charges",
    ]


def test_of_the_risks_only_what_is_given_is_required() -> None:
    assert wanted({"models": [{"model": "risk", "prosecutor_max": 0.2, "marketer": 0.1}]}) == [
        "risk (prosecutor_max=0.2, marketer=0.1)"
    ]


def test_what_is_asked_twice_is_required_once() -> None:
    assert wanted({"k": 5, "models": [{"model": "k-anonymity", "k": 5}, {"model": "k-anonymity", "k": 6}]}) == [
        "k-anonymity (k=5)",
        "k-anonymity (k=6)",
    ]


@pytest.mark.parametrize(
    ("privacy", "changes", "message"),
    [
        ({}, {}, "privacy requires nothing"),
        ({"models": [{"model": "k-anonymity", "attribute": "diagnosis", "k": 2}]}, {}, "takes no attribute"),
        (
            {"models": [{"model": "squared-error-diversity", "attribute": "diagnosis", "error": 2}]},
            {},
            "needs an attribute that is numeric, unlike diagnosis",
        ),
        ({"models": [{"model": "squared-error-diversity", "error": 2}]}, {"sensitive": {"diagnosis": {}}}, "numeric"),
        ({"models": [{"model": "entropy-l-diversity", "l": 2}]}, {"sensitive": {}}, "the spec has none"),
        (
            {"models": [{"model": "t-closeness", "attribute": "diagnosis", "t": 0.2, "distance": "ordered"}]},
            {},
            "that is numeric or has a hierarchy, unlike diagnosis",
        ),
        (
            {"models": [{"model": "t-closeness", "t": 0.2, "distance": "hierarchical"}]},
            {},
            "needs a sensitive attribute that has a hierarchy, the spec has none",
        ),
    ],
)
def test_refused(privacy: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        wanted(privacy, **changes)


def test_all_problems_at_once_each_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(
        "version: 1\n"
        "quasi_identifiers: [age]\n"
        "sensitive: [diagnosis]\n"
        "privacy:\n"
        "  models:\n"
        "    - {model: k-anonymity, attribute: diagnosis, k: 2}\n"
        "    - {model: squared-error-diversity, error: 2}\n"
    )
    with pytest.raises(SpecError) as caught:
        requirements(load(path, PARAMETERS))
    assert [(problem.file, problem.line) for problem in caught.value.problems] == [(str(path), 6), (str(path), 7)]


def test_a_requirement_knows_its_line(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("version: 1\nquasi_identifiers: [age]\nsensitive: [diagnosis]\nprivacy:\n  k: 5\n  l: 2\n")
    assert [each.line for each in requirements(load(path, PARAMETERS))] == [5, 6]
