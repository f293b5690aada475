"""The public report: a function of what is published, and of nothing else.

Its arguments are the released files, the spec as it is published (with the hierarchy files that it names), and the
settings: the algorithm and its options. Neither the input nor anything that was computed from it is within reach here,
so that two inputs with the same release have the same public report. What needs more is absent, or null: rows that were
left out, individuals, populations, the risk before, time, memory, seed, paths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import polars as pl

from anonymize import privacy, verify
from anonymize.algorithms.base import Sampling
from anonymize.claims import State, overall
from anonymize.classes import Ints
from anonymize.declared import declared
from anonymize.metrics import METRICS, undefined
from anonymize.privacy import Requirement, disclosures, diversities, requirements_if_any
from anonymize.report.data import Blocks, defined, required_size, settings, spec_block, verdict_blocks
from anonymize.report.head import beside_steps, head, order_warnings, unused_parts
from anonymize.report.passing import PassingText, bounds_of, exact_columns
from anonymize.report.published import Published, bucket_verdict, differential_block
from anonymize.report.shown import ShownClasses
from anonymize.risk import Text, merged, sampled
from anonymize.spec import Spec
from anonymize.table.named import column
from anonymize.table.roles import trees
from anonymize.verify import Check, Verdict, synthetic
from anonymize.verify.risk import classes_block
from anonymize.verify.verdict import NOTHING_ASKED


def public_report(published: Published) -> dict[str, Any]:
    """The report; what is not known from the arguments is not in it."""
    blocks = _maker(published)(published)
    spec, options, name = published.spec, published.options, str(published.algorithm)
    family = "" if published.family is None else published.family.name
    return {
        **public_head(spec),
        "output": {"sha256": published.table.sha256, **blocks.output},
        "algorithm": {"name": name, "family": family, "options": without_paths(options)},
        "settings": settings(spec, name),
        **blocks.measured,
        **defined({"utility": blocks.utility, "left_out": blocks.left_out}),
        "recoding": blocks.recoding,
        **defined({"treatments": [each.block() for each in spec.treatments]}),
        "warnings": [*blocks.warnings, *order_warnings(spec), *unused_parts(spec, name, options)],
    }


def _maker(published: Published) -> Callable[[Published], Blocks]:
    """What makes the blocks of a release, by what its columns mean."""
    manifest, spec = published.manifest, published.spec
    if manifest.synthetic is not None:
        return _invented
    if manifest.detached is not None:
        return _bucketized
    true = not manifest.channels and not manifest.unread.keys() & {*spec.quasi_identifiers, *spec.sensitive}
    return _classed if true and manifest.spans else _untrue


def public_evaluation(published: Published) -> dict[str, Any]:
    """The public report of `evaluate`: what a release has lost as far as it shows that itself, whoever made it."""
    detached, sizes = published.manifest.detached, None
    if detached is not None:
        sizes = _group_sizes(published, detached.by)
        output, lost = {"rows": int(sizes.sum())}, _nothing_lost(published.spec, sizes.to_numpy())
    elif not published.manifest.spans:
        output, lost = {"rows": _rows(published)}, {}
    else:
        classes = ShownClasses.of(published)
        sizes, output = classes.sizes(), classes.output()
        lost = classes.utility(required_size(requirements_if_any(published.spec)))
    return {
        **public_head(published.spec),
        "output": {"sha256": published.table.sha256, **output},
        **({} if sizes is None else {"classes": classes_block(sizes)}),
        **defined({"utility": lost}),
        "left_out": _undefined(published),
    }


def _undefined(published: Published) -> dict[str, str]:
    return undefined(METRICS, published.manifest.kinds([*published.spec.quasi_identifiers, *published.spec.sensitive]))


def public_head(spec: Spec) -> dict[str, Any]:
    """How every public report begins."""
    return {**head(private=False), "public": True, "spec": {"sha256": spec_block(spec)["sha256"]}}


def without_paths(options: Any) -> dict[str, Any]:
    """The options of an algorithm, but for those that are files of the machine."""
    paths = {each.name for each in fields(options) if each.metadata["file"] or each.metadata["path"]}
    return {name: value for name, value in asdict(options).items() if name not in paths}


# --- classes ---------------------------------------------------------------------------------------------------------


def _classed(published: Published) -> Blocks:
    """The report of a release with equivalence classes."""
    requirements = privacy.requirements_if_any(published.spec)
    classes = ShownClasses.of(published)
    sampling = published.sampling(requirements)
    verdict = _with_passing(published, _measured(published, _checks(published, requirements), sampling))
    levels = {name: costs.level for name, costs in classes.costs.items() if costs.level is not None}
    kind = published.family.recoding if published.family else None
    unlike = published.manifest.replaced.keys() & published.spec.quasi_identifiers.keys()
    rows = {"rows": verdict.rows, "suppressed_rows": verdict.suppressed_rows, "suppressed_cells": classes.hidden}
    drawn = {} if sampling is None else {"k": sampling.k, "beta": sampling.beta}
    # What is required and not shown by the release has no check, and is required all the same.
    cautions = [each for each in verdict.cautions if not requirements or each != NOTHING_ASKED]
    return Blocks(
        output={name: value for name, value in rows.items() if not drawn or name != "suppressed_rows"},
        measured=_with_unknown(published, verdict, requirements),
        utility={} if unlike else classes.utility(required_size(requirements)),
        left_out=_undefined(published) if unlike else {},
        recoding=defined({"kind": kind, "levels": levels if kind == "levels" else None}) | drawn,
        warnings=[*beside_steps(published.spec, cautions), *verdict.remarks],
    )


def _checks(published: Published, requirements: Iterable[Requirement]) -> list[Check]:
    """The checks of what the release shows: rows, not individuals, and nobody of a population."""
    spec = published.spec
    if spec.unit is not None:
        return []
    checks = verify.checks_of(spec, [each for each in requirements if _why(published, each) is None])
    attributes = dict.fromkeys(check.attribute for check in checks if check.attribute and check.needs_tree)
    hierarchies = trees(spec, published.table.text, attributes)
    return [replace(check, tree=hierarchies.get(check.attribute or "")) for check in checks]


def _measured(published: Published, checks: Sequence[Check], sampling: Sampling | None) -> Verdict:
    spec, table = published.spec, published.table
    verdict = verify.measure(
        table.text,
        [each for columns in published.columns_of.values() for each in columns],
        checks,
        spec.input.missing,
        suppressed=spec.output.suppressed,
        null_missing=spec.missing(table.form).null,
        missing_as=spec.privacy.missing,
        normalize=spec.input.normalize,
        exact=exact_columns(spec, published.columns_of),
        ordering=_ordering(published),
    )
    verdict = verify.measure_codes(verdict, table.text, spec, declared(spec, published.columns_of, None))
    verdict = verify.with_differential(verdict, spec, _spent(published, sampling))
    return _text_of(published).with_combinations(verdict) if spec.unit is None else verdict


def _spent(published: Published, sampling: Sampling | None) -> verify.Spent | str:
    """What a release with classes has spent of differential privacy, by its smallest one; or why it has none."""
    bound = published.spec.privacy.differential
    if sampling is None or bound is None:
        return verify.UNDRAWN
    smallest = verify.smallest_group(published.table.text, list(published.spec.quasi_identifiers))
    spent = verify.sampled_spent(sampling.search, -math.expm1(sampling.search - bound.epsilon), smallest or 1)
    return verify.Spent(spent.epsilon, max(spent.delta, bound.delta))


def _with_passing(published: Published, verdict: Verdict) -> Verdict:
    """The verdict with what the columns that pass through give away; not judged where rows are not individuals."""
    passing = _text_of(published).measured()
    return replace(verdict, passing=passing if published.spec.unit is None else replace(passing, bounds={}))


def _text_of(published: Published) -> PassingText:
    spec, table = published.spec, published.table
    return PassingText(table.text, spec, published.columns_of, spec.missing(table.form))


def _by_rows(spec: Spec, passing: Mapping[str, Any]) -> dict[str, Any]:
    """The block `passing` where the release does not show whom rows are about. Rows about one individual that agree
    are not alone, so that individuals may be singled out more often: what is required of it is not shown."""
    bounds = bounds_of(spec)
    return {**passing, "counts": "rows", **({"required": bounds, "satisfied": None} if bounds else {})}


def _ordering(published: Published) -> verify.Ordering | None:
    """Where rows are in the input's order: what that tells whoever has the release alone. It is not judged here."""
    if published.spec.output.row_order != "keep":
        return None
    return verify.Ordering(published.columns_of, verify.CellTemplates.of(published.spec), judged=False)


def _with_unknown(published: Published, verdict: Verdict, requirements: Sequence[Requirement]) -> dict[str, Any]:
    """The blocks `privacy`, `classes` and `risk`, and null for each requirement that the release does not show."""
    spec = published.spec
    blocks = verdict_blocks(verdict)
    blocks_of_models = iter(blocks["privacy"]["models"])
    reasons = [_why(published, each) for each in requirements]
    models = [
        next(blocks_of_models) if why is None else _unknown(each, why)
        for each, why in zip(requirements, reasons, strict=True)
    ]
    models += blocks_of_models  # levels and codes
    privacy_block, risk = blocks["privacy"] | {"models": models}, dict(blocks["risk"])
    if hidden := [each for each in models if each.get("unknown")]:
        privacy_block |= _stated(overall([verdict.state, State.UNKNOWN]))
        privacy_block["unknown"] = [*blocks["privacy"].get("unknown", []), *map(_sentence, hidden)]
        if any(each.population is not None for each in requirements):
            risk.pop("journalist_max")
    measured = {**blocks, "privacy": privacy_block}
    if spec.unit is not None:
        return {**measured, "risk": {"passing": _by_rows(spec, risk["passing"])}}
    return measured | {"risk": merged(risk, sampled(_text(published)))}


def _text(published: Published) -> Text:
    spec, table = published.spec, published.table
    return Text(table.text, list(published.columns_of.values()), spec, spec.missing(table.form))


def _unknown(requirement: Requirement, why: str) -> dict[str, Any]:
    """The entry of a requirement of which the release does not show whether it is met."""
    required = {name: value for name, value in requirement.required().items() if name != "population"}
    named = {"model": requirement.model, "attribute": requirement.attribute}
    return {**named, "required": required, "achieved": {}, "satisfied": None, "basis": "unknown", "unknown": why}


def _stated(state: State) -> dict[str, Any]:
    return {"satisfied": state.satisfied, "state": str(state)}


def _sentence(entry: Mapping[str, Any]) -> str:
    about = f" of {entry['attribute']}" if entry["attribute"] else ""
    return f"{entry['model']}{about} could not be shown: {entry['unknown']}"


def _why(published: Published, requirement: Requirement) -> str | None:
    """Why the release does not show whether a requirement is met; None where it does."""
    spec, changed = published.spec, published.manifest.changed
    if requirement.population is not None:
        return "it is about a population, which is not in the release"
    if requirement.attribute in changed:
        return f"{requirement.attribute} was changed by {changed[requirement.attribute].method}"
    return None if spec.unit is None else "it is about individuals, and the release shows rows"


# --- groups and channels --------------------------------------------------------------------------------------


def _bucketized(published: Published) -> Blocks:
    """The report of a release in groups: its quasi-identifiers lose nothing."""
    spec, files, detached = published.spec, published.files, published.manifest.detached
    assert detached is not None
    requirements = diversities(spec)
    texts = [each.text for each in files]
    verdict = bucket_verdict(spec, texts, published.table.form, detached.by, requirements)
    verdict = verify.with_differential(_with_passing(published, verdict), spec, verify.UNDRAWN)
    blocks = verdict_blocks(verdict)
    sizes = _group_sizes(published, detached.by)
    kind = {"kind": "buckets", "files": "one" if len(texts) == 1 else "two", "groups": len(sizes)}
    weighed = sampled(_text(published))
    return Blocks(
        output={"rows": verdict.rows, **({"sensitive_sha256": files[1].sha256} if len(files) > 1 else {})},
        measured={**blocks, "risk": merged(blocks["risk"], weighed)},
        utility=_nothing_lost(spec, sizes.to_numpy()),
        recoding=kind,
        warnings=verdict.cautions,
    )


def _group_sizes(published: Published, group: str) -> pl.Series:
    named = published.table.text.select(column(group).alias("group"))
    return named.group_by("group").agg(rows=pl.len()).collect(engine="streaming")["rows"].cast(pl.Int64)


def _rows(published: Published) -> int:
    return int(published.table.text.select(pl.len()).collect(engine="streaming").item())


def _nothing_lost(spec: Spec, sizes: Ints) -> dict[str, Any]:
    attributes = {
        name: {"ncp": 0.0, "loss": 0.0, "weight": attribute.weight, "relative_to": "values"}
        for name, attribute in spec.quasi_identifiers.items()
    }
    nothing = dict.fromkeys(("gcp", "ncp", "ncp_weighted"), 0.0)
    return {**nothing, "discernibility": int((sizes**2).sum()), "loss": 0.0, "attributes": attributes}


def _untrue(published: Published) -> Blocks:
    """The report of cells that may show anything. What they disclose depends on the original, and is not measured
    here."""
    spec, channels = published.spec, published.manifest.channels
    requirements = disclosures(spec) if channels else requirements_if_any(spec)
    rows = _rows(published)
    models = [_unknown(each, "it depends on the original, which is not in the release") for each in requirements]
    passing = _text_of(published).measured()
    bare = Verdict(rows, 0, (), {}, {}, passing=passing)
    verdict = verify.with_differential(bare, spec, verify.LOCAL if channels else verify.UNDRAWN)
    models += [result.as_dict() for result in verdict.codes]
    unread = [State.UNKNOWN] if requirements or published.manifest.unread else []
    block = {
        **_stated(overall([*unread, verdict.state])),
        "verified": True,
        "missing": "own-category",
        "models": models,
    }
    if requirements:
        block["unknown"] = [_sentence(each) for each in models if each.get("unknown")]
    return Blocks(
        output={"rows": rows},
        measured={"privacy": block, "risk": {"passing": passing.block()}},
        utility={},
        left_out=_undefined(published),
        recoding=published.manifest.recoding,
        warnings=passing.cautions,
    )


def _invented(published: Published) -> Blocks:
    """The report of invented rows, by what their manifest declares: all of it has been paid for."""
    drawn = published.manifest.synthetic
    assert drawn is not None
    bare = Verdict(_rows(published), 0, (), {}, {})
    verdict = verify.with_differential(bare, published.spec, synthetic.SyntheticManifest.of(drawn).spent)
    return Blocks(
        output={"rows": verdict.rows},
        measured={"differential": differential_block(drawn), **verdict_blocks(verdict)},
        utility={},
        left_out=_undefined(published),
        recoding=defined({"kind": drawn["kind"], "method": drawn["method"]}),
        warnings=[*verdict.cautions],
    )
