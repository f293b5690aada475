"""What a spec's `privacy` asks for where a release has no equivalence classes of similar people: of `anatomy`, whose
groups only have to be diverse, and of `randomize`, whose models bound what a distorted
table tells."""

from __future__ import annotations

from collections.abc import Iterator

from anonymize.errors import Problem, SpecError
from anonymize.privacy import MODELS, PARAMETERS, RANDOMIZED, Requirement, disclosure, requirements
from anonymize.spec.model import Spec


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
    """What is asked of randomize: models of randomized tables, and `privacy.l` as `disclosure`, of every sensitive
    attribute.

    SpecError where there is none, and for anything else that is asked for.
    """
    problems = list(_refused(spec, "randomize", tuple(RANDOMIZED)))
    collected: dict[Requirement, None] = {}
    if spec.privacy.l is not None:
        line = (spec.place("privacy", "l") or (None,))[0]
        parameters = disclosure.Parameters(l=spec.privacy.l)
        collected.update(
            dict.fromkeys(Requirement(disclosure.MODEL.id, name, parameters, line) for name in spec.sensitive)
        )
    for entry in spec.privacy.models:
        if entry.model in RANDOMIZED:
            given = PARAMETERS[entry.model].model_validate(entry.parameters)
            names = list(spec.sensitive) if entry.attribute is None else [entry.attribute]
            collected.update(dict.fromkeys(Requirement(entry.model, name, given, entry.line) for name in names))
    if not collected and not problems:
        models = f"needs l, or one of the models {', '.join(RANDOMIZED)}"
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


def _file(spec: Spec) -> str | None:
    return None if spec.path is None else str(spec.path)
