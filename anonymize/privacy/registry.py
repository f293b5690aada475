"""The registry of privacy models, what a spec requires by them, and what that comes to for classes that are counted.

A new model is a new file and a line in `MODELS` (and its independent twin in `anonymize.verify`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.errors import Problem, SpecError
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
from anonymize.privacy.base import About, Achieved, Measured, Model, Needed, Parameters, Requirement
from anonymize.privacy.groups import Groups
from anonymize.records import dataclass
from anonymize.spec.base import Means

if TYPE_CHECKING:
    from anonymize.spec.columns import Sensitive
    from anonymize.spec.model import Spec


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
    if alike is None or not measured.size:
        return measured
    histograms = {**groups.histograms, requirement.attribute or "": alike}
    folded = model.measure(replace(groups, histograms=histograms), requirement.attribute, parameters)
    pairs = zip(model.limits, measured.reshape(len(measured), -1).T, folded.reshape(len(folded), -1).T, strict=True)
    worse = [(np.minimum if limit.worse == "lower" else np.maximum)(own, other) for limit, own, other in pairs]
    return np.stack(worse, axis=1).reshape(measured.shape)


# --- what a spec requires ---------------------------------------------------------------------------------------------
# What a spec requires of a release: privacy models, with their parameters and the attributes that they are about.


def requirements(spec: Spec) -> tuple[Requirement, ...]:
    """Everything the spec's `privacy` asks for, in its order: k, l of every sensitive attribute, then the models.

    A model without `attribute` stands for one requirement per sensitive attribute that it can be measured on. SpecError
    if nothing is asked for, or a model has no such attribute, names an unknown one or one of the wrong type: all
    problems at once.
    """
    collected: dict[Requirement, None] = {}
    problems: list[Problem] = []
    for model, attribute, parameters, line in _entries(spec):
        try:
            attributes = _attributes(spec, model, attribute, parameters)
        except ValueError as error:
            problems.append(Problem(f"{model}: {error}", file=_file(spec), line=line))
        else:
            collected.update(dict.fromkeys(Requirement(model, name, parameters, line) for name in attributes))
    privacy = spec.privacy
    further = privacy.combinations or privacy.differential or (privacy.passing and privacy.passing.bounds)
    changes_alone = not spec.quasi_identifiers  # such a spec has treatments, and may require nothing
    if not (collected or problems or further or changes_alone):
        problems.append(spec.problem(("privacy",), "privacy requires nothing", "set k, l or models"))
    if collected and changes_alone:
        hint = "list what others may know under quasi_identifiers"
        message = "privacy: the models are about classes of rows with the same quasi-identifiers, and there are none"
        problems.append(Problem(message, _file(spec), _line(spec, "k"), hint=hint))
    if problems:
        raise SpecError(problems)
    return tuple(collected)


def searched(spec: Spec) -> tuple[Requirement, ...]:
    """What a search is to meet so that the combinations of the spec have their k as well: the largest of these, of all
    quasi-identifiers together, which any of them then has."""
    required, k = requirements(spec), max((each.k for each in spec.privacy.combinations), default=0)
    own = (each.parameters.k for each in required if isinstance(each.parameters, k_anonymity.Parameters))
    if k <= max(own, default=0):
        return required
    model, line = k_anonymity.MODEL.id, _line(spec, "combinations")
    others = [each for each in required if each.model != model]
    return (Requirement(model, None, k_anonymity.Parameters(k=k), line), *others)


# --- what is asked where there are no classes: of anatomy and randomize -----------------------------------------------


def requirements_if_any(spec: Spec) -> tuple[Requirement, ...]:
    """Everything that the spec asks for, which may be nothing. Raises SpecError as `requirements` does else."""
    privacy = spec.privacy
    required = privacy.k is not None or privacy.l is not None or privacy.models or privacy.combinations
    return requirements(spec) if required else ()


def diversities(spec: Spec) -> tuple[Requirement, ...]:
    """What is asked of anatomy: diverse models on the one sensitive attribute. SpecError for anything else."""
    problems = list(_refused(spec, "anatomy", tuple(name for name, model in MODELS.items() if model.diverse)))
    if len(spec.sensitive) != 1:
        hint = "list one under sensitive, the others under insensitive or identifiers"
        message = f"anatomy takes one sensitive attribute, the spec has {len(spec.sensitive)}"
        problems.append(Problem(message, _file(spec), hint=hint))
    if problems:
        raise SpecError(problems)
    return requirements(spec)


def disclosures(spec: Spec) -> tuple[Requirement, ...]:
    """What is asked of randomize: models of a channel, and `privacy.l` as `disclosure`, of every sensitive
    attribute.

    SpecError where there is none, and for anything else that is asked for.
    """
    channel = models_about("channel")
    problems = list(_refused(spec, "randomize", channel))
    collected: dict[Requirement, None] = {}
    if spec.privacy.l is not None:
        line, parameters = _line(spec, "l"), disclosure.Parameters(l=spec.privacy.l)
        collected |= {Requirement(disclosure.MODEL.id, name, parameters, line): None for name in spec.sensitive}
    for entry in spec.privacy.models:
        if entry.model in channel:
            given = PARAMETERS[entry.model].model_validate(entry.parameters)
            names = list(spec.sensitive) if entry.attribute is None else [entry.attribute]
            collected.update(dict.fromkeys(Requirement(entry.model, name, given, entry.line) for name in names))
    if not collected and not problems:
        models = f"needs l, or one of the models {', '.join(channel)}"
        what = models if spec.sensitive else "needs a sensitive attribute"
        problems.append(Problem(f"randomize {what}", _file(spec), hint="set privacy.l and sensitive"))
    if problems:
        raise SpecError(problems)
    return tuple(collected)


def _refused(spec: Spec, algorithm: str, models: tuple[str, ...]) -> Iterator[Problem]:
    """What the algorithm cannot give: k, levels, and models of other kinds."""
    if spec.privacy.k is not None:
        place = spec.place("privacy", "k")
        hint = "leave k out, or use an algorithm that generalizes"
        message = f"k: {algorithm} gives no k-anonymity, only a bound on the sensitive attribute"
        yield Problem(message, _file(spec) if place else None, place[0] if place else None, hint=hint)
    for name in spec.missing_as_value:
        message = f"sensitive.{name}.missing: value: {algorithm} has no classes in which it would count"
        yield spec.problem(("sensitive", name, "missing"), message, "leave `missing` out")
    if spec.privacy.combinations:
        message = f"combinations: {algorithm} gives no k-anonymity, only a bound on the sensitive attribute"
        yield spec.problem(("privacy", "combinations"), message, "leave combinations out")
    if spec.privacy.missing == "wildcard":
        place = spec.place("privacy", "missing")
        message = f"missing: wildcard: {algorithm} makes no classes that a missing value could match"
        yield Problem(message, _file(spec) if place else None, place[0] if place else None, hint="leave missing out")
    for name, attribute in spec.quasi_identifiers.items():
        if attribute.has_levels:
            message = f"quasi_identifiers.{name}.levels: {algorithm} generalizes nothing, and shows the values"
            yield spec.problem(("quasi_identifiers", name, "levels"), message, "leave levels out")
    for entry in spec.privacy.models:
        if entry.model not in models:
            message = f"{entry.model}: {algorithm} takes {', '.join(models)} and l"
            yield Problem(message, _file(spec), entry.line)


# --- entries of a spec ------------------------------------------------------------------------------------------------


def _entries(spec: Spec) -> Iterator[tuple[str, str | None, Parameters, int | None]]:
    privacy = spec.privacy
    if privacy.k is not None:
        yield k_anonymity.MODEL.id, None, k_anonymity.Parameters(k=privacy.k), _line(spec, "k")
    if privacy.l is not None:
        yield distinct_l_diversity.MODEL.id, None, distinct_l_diversity.Parameters(l=privacy.l), _line(spec, "l")
    for entry in privacy.models:
        yield entry.model, entry.attribute, PARAMETERS[entry.model].model_validate(entry.parameters), entry.line


def _attributes(spec: Spec, model: str, attribute: str | None, parameters: Parameters) -> list[str | None]:
    """The attributes that a model is to be measured on; ValueError says why there is none."""
    if MODELS[model].about == "channel":
        raise ValueError("bounds a randomized table, and cannot be measured from equivalence classes: only `randomize`")
    if MODELS[model].sensitive == "none":
        if attribute is not None:
            raise ValueError("is about the quasi-identifiers, it takes no attribute")
        weighs = MODELS[model].weighs(parameters)
        if weighs:
            _check_uncoded(spec)
        if weighs or parameters.given(Means.POPULATION) is not None:
            _check_readable(spec)
        return [None]
    if attribute is not None and attribute not in spec.sensitive:
        raise ValueError(f"{attribute} is not a sensitive attribute of the spec")
    needs = MODELS[model].needs(parameters)
    able: list[str | None] = [name for name, column in spec.sensitive.items() if _has(column, needs)]
    if attribute is None and not able:
        raise ValueError(f"needs a sensitive attribute{NEEDS[needs]}, the spec has none")
    if attribute is not None and attribute not in able:
        raise ValueError(f"needs an attribute{NEEDS[needs]}, unlike {attribute}")
    return able if attribute is None else [attribute]


def _check_readable(spec: Spec) -> None:
    """Raises ValueError where a release does not show all that a class covers: nobody can be looked up in it, and no
    value."""
    output = spec.output
    for name, plain in (("numeric", ("interval", "bounds")), ("categorical", ("node",))):
        if getattr(output, name) not in plain:
            raise ValueError(f"values cannot be looked up where output.{name} is {getattr(output, name)}")


def _check_uncoded(spec: Spec) -> None:
    """Raises ValueError where values are coded before anything is searched: what a class keeps is counted in values of
    the input."""
    for name, each in spec.quasi_identifiers.items():
        ends = (*each.number_ends, *each.date_ends)
        if each.round is not None or each.least_level or any(end is not None for end in ends):
            raise ValueError(
                f"weighs what is kept of the values of the input, and those of {name} are rounded, coded at a level or "
                "cut off"
            )


NEEDS: dict[Needed, str] = {
    "any": "",
    "numeric": " that is numeric",
    "order": " that is numeric or has a hierarchy",
    "hierarchy": " that has a hierarchy",
}
"""How a message says what a model needs of a sensitive attribute."""


def _has(column: Sensitive, needed: Needed) -> bool:
    numeric, hierarchy = column.type == "numeric", column.hierarchy is not None
    return {"any": True, "numeric": numeric, "order": numeric or hierarchy, "hierarchy": hierarchy}[needed]


def _line(spec: Spec, key: str) -> int | None:
    place = spec.place("privacy", key)
    return place[0] if place else None


def _file(spec: Spec) -> str | None:
    return None if spec.path is None else str(spec.path)
