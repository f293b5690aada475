"""What an algorithm, or a kind of release, can do nothing with: refused before anything is read."""

from __future__ import annotations

from anonymize.algorithms import ALGORITHMS, to_be_reusable, why_not_reusable, wrong_values
from anonymize.domain.numeric import included
from anonymize.errors import Problem, UsageError
from anonymize.privacy import MODELS
from anonymize.request import Request
from anonymize.spec import Spec, base


def check_request(request: Request) -> None:
    """Raises UsageError for what the algorithm, or its kind of release, can do nothing with."""
    check_needs(request)
    _check_treatments(request)
    if request.bound and not ALGORITHMS[request.algorithm].NEEDS.family.classes:
        raise UsageError(f"--bound: a release of {request.algorithm} has no equivalence classes")
    if request.bound and request.public:
        raise UsageError("--bound: depends on the input, and so cannot be in a public report")


def check_needs(request: Request) -> None:
    """Raises UsageError for a spec, or an option, that the algorithm can do nothing with: a value that the option does
    not take, individuals or a population that it does not count, no sensitive attribute or target where it needs one, a
    recoding that cannot be saved."""
    spec, algorithm = request.spec, ALGORITHMS[request.algorithm]
    if request.public and request.show_values:
        raise UsageError("--show-values: a public report has no value of the input")
    if wrong := wrong_values(request.options):
        raise UsageError(wrong)
    check_interval(spec)
    _check_exact(request)
    _check_limited(request)
    if spec.unit is not None and not algorithm.NEEDS.units:
        raise UsageError(_unable(request, ("unit",), "`unit`: {} counts rows, not individuals", "units"))
    if not algorithm.NEEDS.populations:
        for index, entry in enumerate(spec.privacy.models):
            if entry.parameters.given(base.Means.POPULATION) is not None:
                message = f"{entry.model}: {{}} does not look up people in a population"
                raise UsageError(_unable(request, ("privacy", "models", index), message, "populations"))
    if not algorithm.NEEDS.family.unmerged:
        _check_merges(request)
    coded = [name for name, each in spec.quasi_identifiers.items() if each.has_levels]
    if request.in_series and coded and not algorithm.NEEDS.levels:
        able = ", ".join(name for name, each in ALGORITHMS.items() if each.NEEDS.levels and each.NEEDS.family.followed)
        message = f"quasi_identifiers.{coded[0]}.levels: a series of {request.algorithm} does not keep to levels"
        raise UsageError(spec.problem(("quasi_identifiers", coded[0], "levels"), message, f"these do: {able}"))
    if algorithm.NEEDS.sensitive and not spec.sensitive:
        message = f"{request.algorithm} needs a sensitive attribute, and the spec names none"
        raise UsageError(Problem(message, hint="list what is to be protected under sensitive"))
    if algorithm.NEEDS.target and not spec.workload.targets:
        message = f"{request.algorithm} needs a target, and the spec names none"
        raise UsageError(Problem(message, hint="list what is to be predicted under workload: {targets: [...]}"))
    if request.save_recoding is not None:
        _check_reusable(request)


def _check_limited(request: Request) -> None:
    if request.save_risk is not None and request.memory_limit is not None:
        hint = "`audit --save-risk` measures the input and the release separately"
        raise UsageError(Problem("--save-risk: holds every record in memory, and --memory-limit does not", hint=hint))


def _check_merges(request: Request) -> None:
    for index, entry in enumerate(request.spec.privacy.models):
        if not MODELS[entry.model].merges(entry.parameters):
            hint = "incognito, samarati, mingen, datafly and research-value can"
            message = f"{entry.model}: {request.algorithm} cannot do with what merged classes may not keep"
            raise UsageError(request.spec.problem(("privacy", "models", index), message, hint))


def _check_reusable(request: Request) -> None:
    algorithm = ALGORITHMS[request.algorithm]
    if request.spec.weight_coding is not None:
        hint = "a saved recoding lets them through as they are"
        raise UsageError(Problem("--save-recoding: the sampling weights are rounded, or in bands", hint=hint))
    if reason := why_not_reusable(algorithm, request.options):
        message = f"--save-recoding: {reason}, so that its recoding is not a function of the values"
        able = ", ".join(name for name, each in ALGORITHMS.items() if each.NEEDS.reusable)
        hint = to_be_reusable(request.options) or f"leave it out, or take one that can: {able}"
        raise UsageError(Problem(message, hint=hint))


def check_interval(spec: Spec) -> None:
    """Raises UsageError for a template by which intervals of numbers leave an end out: what is released has both."""
    if all(attribute.type != "numeric" for attribute in spec.quasi_identifiers.values()):
        return
    if (ends := included(spec.output.interval)) != (True, True):
        says = "does not say whether intervals include" if ends is None else "leaves out"
        message = f"output.interval: this template {says} an end, and those of released intervals are included"
        hint = 'write "[{low}-{high}]"; a final ] automatically becomes ) where an upper end is excluded'
        raise UsageError(spec.problem(("output", "interval"), message, hint))


def _check_exact(request: Request) -> None:
    """Raises UsageError for quasi-identifiers that alone are compared as they stand, where all are compared alike."""
    named = [name for name in request.spec.quasi_identifiers if name in request.spec.exact]
    where = {"in a series": request.in_series, "--save-recoding": request.save_recoding is not None}
    if named and any(where.values()):
        place = next(each for each, wanted in where.items() if wanted)
        message = f"{named[0]}: `normalize: exact` of one quasi-identifier: not {place}"
        hint = "`input.normalize: exact` is of all columns"
        raise UsageError(request.spec.problem(("quasi_identifiers", named[0], "normalize"), message, hint))


def _unable(request: Request, path: tuple[str | int, ...], message: str, need: str) -> Problem:
    """That the algorithm cannot do what a place of the spec asks for, and which ones can."""
    able = [name for name, algorithm in ALGORITHMS.items() if getattr(algorithm.NEEDS, need)]
    return request.spec.problem(path, message.format(request.algorithm), f"these can: {', '.join(able)}")


def refuse_seed(request: Request) -> None:
    """Raises UsageError for a release that could be undone, or drawn again, by its seed, and would be published."""
    if request.public and request.seed is not None:
        hint = "leave --seed out: the system's random numbers are kept nowhere"
        raise UsageError(f"--public-report: a release with a --seed must not be published ({hint})")


def _check_treatments(request: Request) -> None:
    """Raises UsageError for steps of `treatments` that cannot be made on this road."""
    spec, method = request.spec, request.algorithm
    family = ALGORITHMS[method].NEEDS.family
    if not spec.quasi_identifiers and family.identified:
        hint = "`anonymize perturb` applies only the spec's treatments"
        raise UsageError(Problem(f"{method} needs quasi-identifiers, and the spec has none", hint=hint))
    if not spec.quasi_identifiers and request.save_risk is not None:
        raise UsageError("--save-risk: records are found by quasi-identifiers, and the spec has none")
    if not spec.treatments:
        return
    treated = list(spec.treated)
    refused = {
        "--save-recoding: rows that are recoded later would keep what a step of `treatments` changes": (
            request.save_recoding is not None
        ),
        "treatments: not in a series: values drawn again at each release average out": request.in_series,
        f"treatments: {method} has no meaning of its own sensitive attributes for a changed one": (
            not family.treats_sensitive and bool(set(spec.sensitive) & set(treated))
        ),
        f"treatments: {method} generalizes quasi-identifiers; `anonymize perturb` changes them": (
            not family.treats_quasi and bool(set(spec.quasi_identifiers) & set(treated))
        ),
    }
    if wrong := [each for each, present in refused.items() if present]:
        own = "`output: {numeric: mean}` shows the mean of a class; `perturb` can aggregate some and suppress others"
        hints = {each: own if "generalizes" in each else None for each in wrong}
        raise UsageError([spec.problem(("treatments",), each, hint) for each, hint in hints.items()])
    if any(entry.DRAWS for entry in spec.treatments):
        refuse_seed(request)
