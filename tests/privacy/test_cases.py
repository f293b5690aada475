"""The cases of cases.yaml, measured by the models and by their twins."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from anonymize.privacy import (
    MODELS,
    PARAMETERS,
    Assessment,
    Crowd,
    Groups,
    Histogram,
    Requirement,
    Whole,
    check,
    models_about,
)
from anonymize.verify import CellTemplates, Check, People, Result, Shown, measure
from tests.privacy.examples import Example, examples

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8"))
EXPECTED = {"model", "achieved", "failing"}


def each_model() -> list[Any]:
    return [
        pytest.param(case, model, id=f"{case['name']} / {model['model']} {number}")
        for case in CASES
        for number, model in enumerate(case["models"])
    ]


def rows_of(case: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Class and sensitive value of each row; classes take turns, so that no code can rely on their order."""
    pairs = [(at, name, value) for name, values in case["classes"].items() for at, value in enumerate(values)]
    return [name for _, name, _ in sorted(pairs)], [value for *_, value in sorted(pairs)]


def groups_of(case: dict[str, Any]) -> Groups:
    names, values = rows_of(case)
    numbers = sorted({float(value) for value in values if value}) if case.get("numeric") else None
    kinds: list[Any] = numbers or list(case.get("tree", sorted(set(values) - {""})))
    codes = [kinds.index(float(value) if numbers else value) if value else len(kinds) for value in values]
    classes = np.array([list(case["classes"]).index(name) for name in names], dtype=np.int64)
    count = len(case["classes"])
    histogram = Histogram.from_rows(
        classes,
        np.array(codes, dtype=np.uint8),
        count,
        len(kinds) + 1,
        missing=len(kinds),
        values=np.array([*numbers, np.nan]) if numbers else None,
        whole=Whole(
            np.bincount(codes, minlength=len(kinds) + 1) * (np.arange(len(kinds) + 1) < len(kinds)),
            nodes(case),
            np.array([*numbers, np.nan]) if numbers else [*kinds, ""],
        ),
    )
    return Groups(np.bincount(classes, minlength=count), {"s": histogram}, crowds(case), kept=kept(case))


def kept(case: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """What each class keeps, of which `leaves` says for how many values it may stand."""
    leaves = case.get("leaves", {})
    return 1 - np.log([leaves[name] for name in case["classes"]]) / np.log(sum(leaves.values())) if leaves else None


def domains(case: dict[str, Any]) -> tuple[People, ...]:
    """The values of the one quasi-identifier, each under the class that shows it."""
    tree = {f"{name}{at}": (f"{name}{at}", name) for name, count in case["leaves"].items() for at in range(count)}
    return (People(pl.LazyFrame({"q": list(tree)}), [Shown("q", ["q"], False, tree)], CellTemplates()),)


def crowds(case: dict[str, Any]) -> dict[str, Crowd]:
    people = case.get("population", {})
    return {"people.csv": Crowd(np.array([people.get(name, 0) for name in case["classes"]]), sum(people.values()))}


def parameters_of(case: dict[str, Any], model: dict[str, Any]) -> Any:
    named = {"population": Path("people.csv")} if "population" in case else {}
    given = {key: tuple(value) if isinstance(value := model[key], list) else value for key in model.keys() - EXPECTED}
    return PARAMETERS[model["model"]](**given, **named)


def nodes(case: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.int32]] | None:
    """Node of each value, and of the missing one, on each level of the tree."""
    paths = [tuple(path) for path in case.get("tree", {}).values()]
    above = (
        [[path[level:] for path in (*paths, ("", *paths[0][1:]))] for level in range(len(paths[0]))] if paths else []
    )
    known = {node: number for number, node in enumerate(dict.fromkeys(node for level in above for node in level))}
    return np.array([[known[node] for node in level] for level in above], dtype=np.int32) if paths else None


def each_example() -> list[Any]:
    """The classes of the manuals, as cases."""
    return [
        pytest.param(*_as_case(name, example), id=f"{name} {'passes' if example.passes else 'fails'}")
        for name, model in MODELS.items()
        if model.about != "channel"
        for example in examples(model)
    ]


def _as_case(name: str, example: Example) -> tuple[dict[str, Any], dict[str, Any], bool]:
    case: dict[str, Any] = {"classes": {"A": example.values} | ({"B": example.others} if example.others else {})}
    if MODELS[name].sensitive == "numeric":
        case["numeric"] = True
    if example.people is not None:
        case["population"] = {"A": example.people}
    return case, {"model": name, **example.given}, example.passes


@pytest.mark.parametrize(("case", "model", "passes"), each_example())
def test_examples_are_true_of_the_model(case: dict[str, Any], model: dict[str, Any], passes: bool) -> None:
    requirement = required(case, model)
    assert check(groups_of(case), [requirement])[0] == passes
    assert Assessment(groups_of(case), requirement).satisfied == passes


@pytest.mark.parametrize(("case", "model", "passes"), each_example())
def test_examples_are_true_of_the_twin(case: dict[str, Any], model: dict[str, Any], passes: bool) -> None:
    assert twin(case, model).satisfied == passes


def required(case: dict[str, Any], model: dict[str, Any]) -> Requirement:
    attribute = None if MODELS[model["model"]].sensitive == "none" else "s"
    return Requirement(model["model"], attribute, parameters_of(case, model))


@pytest.mark.parametrize(("case", "model"), each_model())
def test_model(case: dict[str, Any], model: dict[str, Any]) -> None:
    requirement, groups = required(case, model), groups_of(case)
    found = Assessment(groups, requirement)
    failing = [name for name, passed in zip(case["classes"], check(groups, [requirement]), strict=True) if not passed]
    assert agrees(found.achieved, model["achieved"])
    assert failing == model["failing"] or (MODELS[requirement.model].about == "table" and found.satisfied)
    assert found.satisfied == (not model["failing"])
    assert found.failing_rows == sum(len(case["classes"][name]) for name in model["failing"])


def agrees(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Equality, of numbers as far as they are exact."""
    near = {name: pytest.approx(value) if isinstance(value, int | float) else value for name, value in expected.items()}
    return found == near


def twin(case: dict[str, Any], model: dict[str, Any]) -> Result:
    """What the twin says of the case."""
    names, values = rows_of(case)
    frame = pl.DataFrame({"q": names, "s": values}, schema={"q": pl.String, "s": pl.String})
    wanted = required(case, model)
    everybody = [name for name, count in case.get("population", {}).items() for _ in range(count)]
    people = People(pl.LazyFrame({"q": everybody}), [Shown("q", ["q"], False, None)], CellTemplates())
    tree = {leaf: tuple(path) for leaf, path in case["tree"].items()} if "tree" in case else None
    checks = [Check(wanted.model, wanted.attribute, wanted.required(), case.get("numeric", False), tree)]
    if "population" in case:
        checks = [replace(checks[0], people=people)]
    if "leaves" in case:
        checks = [replace(checks[0], domains=domains(case))]
    return measure(frame, ["q"], checks).results[0]


@pytest.mark.parametrize(("case", "model"), each_model())
def test_twin(case: dict[str, Any], model: dict[str, Any]) -> None:
    found = twin(case, model)
    assert agrees(found.achieved, model["achieved"])
    assert found.satisfied == (not model["failing"])
    assert found.failing_classes == len(model["failing"])
    assert found.failing_rows == sum(len(case["classes"][name]) for name in model["failing"])


def test_every_model_has_a_case() -> None:
    assert {model["model"] for case in CASES for model in case["models"]} == set(models_about("classes", "table"))
