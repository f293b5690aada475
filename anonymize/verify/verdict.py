"""What is asked of a table, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anonymize.spec import Spec

THRESHOLD = 0.2

Figures = dict[str, float | int | None]
Given = Mapping[str, float]
Subject = tuple[str | None, bool]
"""A sensitive attribute (None: no attribute), and whether its values are numbers."""


@dataclass(frozen=True)
class Check:
    """A privacy model to be measured. `numeric`: the values of the sensitive attribute are compared as numbers.

    Without `parameters` the table is measured and not judged; of the models here only recursive (c,l)-diversity cannot
    be measured without (its l).
    """

    model: str
    attribute: str | None
    parameters: Given
    numeric: bool = False


def _told(figures: Figures) -> str:
    return ", ".join(f"{name}={'none' if value is None else format(value, '.6g')}" for name, value in figures.items())


def checks_of(spec: Spec, asked: Iterable[Any]) -> list[Check]:
    """The checks that measure requirements (model, attribute, required()) of a spec, in their order."""
    numeric = {name for name, attribute in spec.sensitive.items() if attribute.type == "numeric"}
    return [Check(each.model, each.attribute, each.required(), each.attribute in numeric) for each in asked]


@dataclass(frozen=True)
class Result:
    """What a check found, over all rows. `satisfied` is None where nothing was required."""

    model: str
    attribute: str | None
    required: Figures
    achieved: Figures
    satisfied: bool | None
    failing_classes: int
    failing_rows: int

    def __str__(self) -> str:
        about = f" of {self.attribute}" if self.attribute else ""
        failing = f"{self.failing_rows} rows in {self.failing_classes} classes fail"
        return f"{self.model} ({_told(self.required)}){about} is not met: {_told(self.achieved)}; {failing}"


@dataclass(frozen=True)
class Verdict:
    """A table, measured.

    `classes` is about the classes that are not suppressed: count, min_size, mean_size, max_size (None of no classes);
    `suppressed_rows` are counted apart. `results` and `risk` are about all rows: to be suppressed is not to be safe.
    """

    rows: int
    suppressed_rows: int
    results: tuple[Result, ...]
    classes: Figures
    risk: Figures

    @property
    def satisfied(self) -> bool | None:
        """Whether everything required is met; None where nothing is required."""
        judged = [result.satisfied for result in self.results if result.satisfied is not None]
        return all(judged) if judged else None
