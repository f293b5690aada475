"""The cases of cases.yaml, measured by the models and by their twins."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from anonymize.privacy import MODELS, PARAMETERS, Groups, Histogram, Requirement, assess, check
from anonymize.verify import Check, measure

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
    kinds = numbers or sorted(set(values) - {""})
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
    )
    return Groups(np.bincount(classes, minlength=count), {"s": histogram})


@pytest.mark.parametrize(("case", "model"), each_model())
def test_model(case: dict[str, Any], model: dict[str, Any]) -> None:
    parameters = PARAMETERS[model["model"]](**{key: model[key] for key in model.keys() - EXPECTED})
    attribute = None if MODELS[model["model"]].SENSITIVE == "none" else "s"
    requirement = Requirement(model["model"], attribute, parameters)
    groups = groups_of(case)
    found = assess(groups, requirement)
    failing = [name for name, passed in zip(case["classes"], check(groups, [requirement]), strict=True) if not passed]
    assert found.achieved == pytest.approx(model["achieved"])
    assert failing == model["failing"]
    assert found.satisfied == (not failing)
    assert found.failing_rows == sum(len(case["classes"][name]) for name in failing)


@pytest.mark.parametrize(("case", "model"), each_model())
def test_twin(case: dict[str, Any], model: dict[str, Any]) -> None:
    names, values = rows_of(case)
    frame = pl.DataFrame({"q": names, "s": values}, schema={"q": pl.String, "s": pl.String})
    parameters = {key: model[key] for key in model.keys() - EXPECTED}
    attribute = None if MODELS[model["model"]].SENSITIVE == "none" else "s"
    checks = [Check(model["model"], attribute, parameters, case.get("numeric", False))]
    (found,) = measure(frame, ["q"], checks).results
    assert found.achieved == pytest.approx(model["achieved"])
    assert found.satisfied == (not model["failing"])
    assert found.failing_classes == len(model["failing"])
    assert found.failing_rows == sum(len(case["classes"][name]) for name in model["failing"])


def test_every_model_has_a_case() -> None:
    assert {model["model"] for case in CASES for model in case["models"]} == set(MODELS)
