from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import ConfigDict, Field

from anonymize.errors import Problem, SpecError
from anonymize.spec import Spec, load
from anonymize.spec.base import Means, ModelParameters

Models = dict[str, type[ModelParameters]]
Read = Callable[[str], Spec]
Problems = Callable[[str], tuple[Problem, ...]]
One = Callable[[str], Problem]


class Parameters(ModelParameters):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class K(Parameters):
    k: Annotated[int, Means.PEOPLE] = Field(ge=1, description="rows")


class Entropy(Parameters):
    l: Annotated[float, Field(ge=1)]  # noqa: E741


class Closeness(Parameters):
    t: Annotated[float, Field(ge=0, le=1), Means.DISTANCE]
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"


class KMap(Parameters):
    k: Annotated[int, Means.PEOPLE]
    population: Annotated[Path, Means.POPULATION]


MODELS: Models = {
    "k-anonymity": K,
    "entropy-l-diversity": Entropy,
    "t-closeness": Closeness,
    "k-map": KMap,
}


@pytest.fixture
def models() -> Models:
    return MODELS


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Loads a spec from its text."""

    def from_text(text: str) -> Spec:
        path = tmp_path / "spec.yaml"
        path.write_text(text, encoding="utf-8")
        return load(path, MODELS)

    return from_text


@pytest.fixture
def problems(read: Read) -> Problems:
    """What is wrong with a spec's text."""

    def of_text(text: str) -> tuple[Problem, ...]:
        with pytest.raises(SpecError) as caught:
            read(text)
        return caught.value.problems

    return of_text


@pytest.fixture
def problem(problems: Problems) -> One:
    """The one thing that is wrong with a spec's text."""

    def of_text(text: str) -> Problem:
        found = problems(text)
        assert len(found) == 1, [str(each) for each in found]
        return found[0]

    return of_text
