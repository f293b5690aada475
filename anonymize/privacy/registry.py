"""The registry of privacy models, and what a requirement comes to for classes that have been counted.

A new model is a new file and a line in `MODELS` (and its independent twin in `anonymize.verify`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.privacy import (
    alpha_k_anonymity,
    amplification,
    basic_beta_likeness,
    delta_disclosure,
    delta_presence,
    disclosure,
    distinct_l_diversity,
    enhanced_beta_likeness,
    entropy_l_diversity,
    frequency_l_diversity,
    k_anonymity,
    k_e_anonymity,
    k_map,
    local_dp,
    p_sensitivity,
    population_uniqueness,
    profitability,
    recursive_cl_diversity,
    risk,
    sample_uniqueness,
    squared_error_diversity,
    t_closeness,
)
from anonymize.privacy.base import About, Achieved, Measured, Model, Parameters, Requirement
from anonymize.privacy.groups import Groups
from anonymize.records import dataclass

Bools: TypeAlias = NDArray[np.bool_]

MODELS: dict[str, Model] = {
    module.MODEL.id: module.MODEL
    for module in (
        k_anonymity,
        alpha_k_anonymity,
        distinct_l_diversity,
        entropy_l_diversity,
        frequency_l_diversity,
        recursive_cl_diversity,
        squared_error_diversity,
        p_sensitivity,
        k_e_anonymity,
        t_closeness,
        basic_beta_likeness,
        enhanced_beta_likeness,
        delta_disclosure,
        delta_presence,
        k_map,
        risk,
        profitability,
        sample_uniqueness,
        population_uniqueness,
        disclosure,
        amplification,
        local_dp,
    )
}
"""Every model that a spec may name; what it is about, it says."""

PARAMETERS: dict[str, type[Parameters]] = {name: model.parameters for name, model in MODELS.items()}


def models_about(*about: About) -> tuple[str, ...]:
    """The names of the models that are about one of these."""
    return tuple(name for name, model in MODELS.items() if model.about in about)


@dataclass(frozen=True)
class Assessment:
    """A requirement, measured for classes: which of them meet it, and what they achieve together. Groups have a
    histogram of the attribute that it names."""

    groups: Groups
    requirement: Requirement

    @property
    def model(self) -> Model:
        """The model that is required."""
        return MODELS[self.requirement.model]

    @cached_property
    def measured(self) -> Measured:
        """The figures of the classes; of how diverse values are, the worse one of what is counted as it stands and with
        those that look alike as one."""
        return _measured(self.groups, self.requirement)

    @cached_property
    def passed(self) -> Bools:
        """(C,) whether each class meets the requirement."""
        return self.model.satisfied(self.measured, self.requirement.parameters)

    @property
    def necessary(self) -> Bools:
        """(C,) whether each class meets what is asked of every class; what is asked of the table is left out."""
        return self.model.necessary(self.measured, self.requirement.parameters)

    @property
    def granted(self) -> Bools:
        """(C,) as `passed`; but no class fails what the table as a whole meets."""
        whole = self.model.asks_table(self.requirement.parameters) and self.within
        return self.necessary if whole else self.passed

    @cached_property
    def achieved(self) -> Achieved:
        """The strongest parameters that all classes meet."""
        return self.model.achieved(self.measured, self.requirement.parameters)

    @cached_property
    def within(self) -> bool:
        """Whether the classes together, as a table, meet the requirement."""
        return self.model.within(self.achieved, self.requirement.parameters)

    @cached_property
    def failing(self) -> Bools:
        """(C,) the classes that do not meet it; none where the table does that it is about."""
        whole = self.model.about == "table" and self.within
        return np.zeros_like(self.passed) if whole else ~self.passed

    @property
    def satisfied(self) -> bool:
        """Whether it is met."""
        return not self.failing.any()

    @property
    def failing_classes(self) -> int:
        """How many classes do not meet it."""
        return int(np.count_nonzero(self.failing))

    @property
    def failing_rows(self) -> int:
        """How many rows are in them."""
        return int(self.groups.sizes[self.failing].sum())


def check(
    groups: Groups,
    requirements: Iterable[Requirement],
    sense: Literal["passed", "necessary", "granted"] = "passed",
) -> Bools:
    """(C,) whether each class meets all requirements. `sense`: in which, a property of `Assessment`."""
    met = np.ones(groups.sizes.size, dtype=np.bool_)
    for requirement in requirements:
        met &= getattr(Assessment(groups, requirement), sense)
    return met


def weigh(requirements: Iterable[Requirement]) -> bool:
    """Whether some of them look at how much of the information each class keeps."""
    return any(MODELS[each.model].weighs(each.parameters) for each in requirements)


def _measured(groups: Groups, requirement: Requirement) -> Measured:
    model, parameters = MODELS[requirement.model], requirement.parameters
    measured = model.measure(groups, requirement.attribute, parameters)
    alike = groups.of(requirement.attribute).alike if model.alike else None
    if alike is None:
        return measured
    histograms = {**groups.histograms, requirement.attribute or "": alike}
    folded = model.measure(replace(groups, histograms=histograms), requirement.attribute, parameters)
    pairs = zip(model.limits, measured.reshape(len(measured), -1).T, folded.reshape(len(folded), -1).T, strict=True)
    worse = [(np.minimum if limit.worse == "lower" else np.maximum)(own, other) for limit, own, other in pairs]
    return np.stack(worse, axis=1).reshape(measured.shape)
