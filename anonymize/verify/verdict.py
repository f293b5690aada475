"""What is asked of a table, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from anonymize.spec import Spec

THRESHOLD = 0.2

Figures = dict[str, float | int | None]
Parameters = dict[str, float | int | str | None]
Given = Mapping[str, Any]
Tree = Mapping[str, tuple[str, ...]]
"""Of each leaf of a hierarchy, in their order, the labels from itself to the root. Of numbers, leaves are numbers."""
Subject = tuple[str | None, bool]
"""A sensitive attribute (None: no attribute), and whether its values are numbers."""


@dataclass(frozen=True)
class Check:
    """A privacy model to be measured. `numeric`: the values of the sensitive attribute are compared as numbers. `tree`:
    its hierarchy, where a distance needs one: of each leaf, in their order, the labels from itself to the root.

    Without `parameters` the table is measured and not judged; of the models here only recursive (c,l)-diversity cannot
    be measured without (its l).
    """

    model: str
    attribute: str | None
    parameters: Given
    numeric: bool = False
    tree: Tree | None = None
    people: Any = None
    """The population, where the model is about one: see `population.People`."""

    @property
    def needs_tree(self) -> bool:
        """Whether it is about a distance that a hierarchy says; of numbers, their order does."""
        distance = self.parameters.get("distance")
        return distance == "hierarchical" or (distance == "ordered" and not self.numeric)


def _listed(figures: Parameters) -> str:
    texts = {n: "none" if v is None else v if isinstance(v, str) else format(v, ".6g") for n, v in figures.items()}
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def checks_of(spec: Spec, requirements: Iterable[Any]) -> list[Check]:
    """The checks that measure requirements (model, attribute, required()) of a spec, in their order, without trees."""
    numeric = {name for name, attribute in spec.sensitive.items() if attribute.type == "numeric"}
    return [Check(each.model, each.attribute, each.required(), each.attribute in numeric) for each in requirements]


@dataclass(frozen=True)
class Result:
    """What a check found, over all rows. `satisfied` is None where nothing was required."""

    model: str
    attribute: str | None
    required: Parameters
    achieved: Parameters
    satisfied: bool | None
    failing_classes: int
    failing_rows: int

    def __str__(self) -> str:
        about = f" of {self.attribute}" if self.attribute else ""
        failing = f"{self.failing_rows} rows in {self.failing_classes} classes fail"
        return f"{self.model} ({_listed(self.required)}){about} is not met: {_listed(self.achieved)}; {failing}"


@dataclass(frozen=True)
class Wildcard:
    """The same once more, where a cell that is missing or suppressed matches anything: of each row, among the rows that
    are compatible with it. `failing_classes` of a result counts what reads the same as one."""

    results: tuple[Result, ...]
    risk: Figures


@dataclass(frozen=True)
class Verdict:
    """A table, measured.

    `classes` is about the classes that are not suppressed: count, min_size, mean_size, max_size (None of no classes);
    `suppressed_rows` are counted apart. `results` and `risk` are about all rows: to be suppressed is not to be safe.
    There a missing or suppressed cell is a value of its own; `wildcard` has the other figures, where they were asked
    for, and then they are what is judged. `blank`: every row reads as a suppressed one does; then none of them counts
    as suppressed.
    """

    rows: int
    suppressed_rows: int
    results: tuple[Result, ...]
    classes: Figures
    risk: Figures
    wildcard: Wildcard | None = None
    blank: bool = False

    @property
    def judged(self) -> tuple[Result, ...]:
        """The results by which the table is judged, in the meaning of missing that was declared."""
        return self.results if self.wildcard is None else self.wildcard.results

    @property
    def satisfied(self) -> bool | None:
        """Whether everything required is met; None where nothing is required."""
        return met(self.judged)

    @property
    def only_as_wildcard(self) -> tuple[Result, ...]:
        """What is met only if a missing or suppressed cell matches anything, as it is when such a cell is a value."""
        if self.wildcard is None:
            return ()
        pairs = zip(self.results, self.wildcard.results, strict=True)
        return tuple(own for own, other in pairs if own.satisfied is False and other.satisfied)

    @property
    def cautions(self) -> list[str]:
        """What the reader of a verdict has to know: that the rows say nothing, or what is met as a wildcard alone."""
        blank = ["every row is suppressed in every quasi-identifier: the table tells nothing about anybody"]
        hint = "only if a missing or suppressed cell matches anything, and an attacker may know better"
        met_so = [f"met {hint}: as a value of its own, {result}" for result in self.only_as_wildcard]
        return [*(blank if self.blank else []), *met_so]


def met(results: Iterable[Result]) -> bool | None:
    """Whether all results are met; None where nothing is required."""
    judged = [result.satisfied for result in results if result.satisfied is not None]
    return all(judged) if judged else None
