"""Steps of `treatments` on the road of a release: which requests can have them, and where their manifest goes."""

from __future__ import annotations

from dataclasses import replace

from anonymize.errors import Problem, UsageError
from anonymize.families import draft_of, family_of
from anonymize.families.steps import refuse_seed
from anonymize.files import manifest_beside
from anonymize.places import is_uri
from anonymize.publication import ReleasePaths
from anonymize.request import Request


def check_treatments(request: Request) -> None:
    """Raises UsageError for steps of `treatments` that cannot be made on this road."""
    spec, method = request.spec, request.algorithm
    family = family_of(method)
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


def release_paths(request: Request) -> ReleasePaths:
    """Where a release goes, with the manifest: where it is asked for, and beside a release whose columns mean more than
    the spec says of quasi-identifiers. Raises UsageError for outputs that the family cannot make."""
    paths = draft_of(request.algorithm).paths(request)
    if paths.texts:
        return paths
    output = paths.tables[0]
    aside = request.spec.treatments and output not in ("-", "/dev/stdout") and not is_uri(output)
    manifest = request.manifest or (manifest_beside(output) if aside else None)
    return paths if manifest is None else replace(paths, texts=[manifest])
