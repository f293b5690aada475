"""The public report: a function of what is published, and of nothing else.

Its arguments are the released files, the spec as it is published (with the hierarchy files that it names), and the
settings: the algorithm and its options. Neither the input nor anything that was computed from it is within reach here,
so that two inputs with the same release have the same public report. What needs more is absent, or null: rows that were
left out, individuals, populations, the risk before, time, memory, seed, paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl

from anonymize import __version__, privacy, verify
from anonymize.classes import Ints
from anonymize.privacy import Requirement
from anonymize.privacy.asked import disclosures, diversities
from anonymize.randomization import kronecker
from anonymize.randomization.parameters import Parameters
from anonymize.report.data import (
    SCHEMA_VERSION,
    order_warnings,
    required_k,
    settings,
    spec_block,
    unused_parts,
    verdict_blocks,
)
from anonymize.report.published import KINDS, Published
from anonymize.report.shown import ShownClasses
from anonymize.risk import Text, merged, sampled
from anonymize.spec import Spec
from anonymize.table.trees import trees
from anonymize.verify import Check, Verdict
from anonymize.verify.bucketized import Reading, measure_bucketized


@dataclass(frozen=True)
class PublicBlocks:
    """The blocks that depend on the family."""

    output: Mapping[str, Any]
    measured: Mapping[str, Any]
    utility: Mapping[str, Any]
    recoding: Mapping[str, Any]
    warnings: Sequence[str]


def public_report(published: Published) -> dict[str, Any]:
    """The report; what is not known from the arguments is not in it."""
    makers = {"bucketization": _bucketized, "randomization": _randomized}
    blocks = makers.get(published.family, _classed)(published)
    spec, options = published.spec, published.options
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "anonymize", "version": __version__},
        "public": True,
        "spec": {"sha256": spec_block(spec)["sha256"]},
        "output": {"sha256": published.table.sha256, **blocks.output},
        "algorithm": {"name": published.algorithm, "family": published.family, "options": _without_paths(options)},
        "settings": settings(spec),
        **blocks.measured,
        "utility": blocks.utility,
        "recoding": blocks.recoding,
        "warnings": [*blocks.warnings, *order_warnings(spec), *unused_parts(spec, published.algorithm, options)],
    }


def _without_paths(options: Any) -> dict[str, Any]:
    paths = {each.name for each in fields(options) if each.metadata["file"] or each.metadata["path"]}
    return {name: value for name, value in asdict(options).items() if name not in paths}


# --- classes ---------------------------------------------------------------------------------------------------------


def _classed(published: Published) -> PublicBlocks:
    """Of a release with equivalence classes."""
    requirements = privacy.requirements(published.spec)
    shown = ShownClasses.of(published)
    verdict = _measured(published, _checks(published, requirements))
    levels = {name: costs.level for name, costs in shown.costs.items() if costs.level is not None}
    kind = KINDS[published.family]
    return PublicBlocks(
        output={"rows": verdict.rows, "suppressed_rows": verdict.suppressed_rows, "suppressed_cells": shown.hidden},
        measured=_with_unknown(published, verdict, requirements),
        utility=shown.utility(required_k(requirements)),
        recoding={"kind": kind, **({"levels": levels} if kind == "levels" and levels else {})},
        warnings=[*verdict.cautions, *_unmeasured(published.spec, requirements)],
    )


def _checks(published: Published, requirements: Iterable[Requirement]) -> list[Check]:
    """The checks of what the release shows: rows, not individuals, and nobody of a population."""
    spec = published.spec
    if spec.unit is not None:
        return []
    checks = verify.checks_of(spec, [each for each in requirements if each.population is None])
    attributes = dict.fromkeys(check.attribute for check in checks if check.attribute and check.needs_tree)
    hierarchies = trees(spec, published.table.text, attributes)
    return [replace(check, tree=hierarchies.get(check.attribute or "")) for check in checks]


def _measured(published: Published, checks: Sequence[Check]) -> Verdict:
    spec, table = published.spec, published.table
    return verify.measure(
        table.text,
        [column for columns in published.columns_of.values() for column in columns],
        checks,
        spec.input.missing,
        suppressed=spec.output.suppressed,
        null_missing=spec.missing(table.form).null,
        missing_as=spec.privacy.missing,
    )


def _with_unknown(published: Published, verdict: Verdict, requirements: Sequence[Requirement]) -> dict[str, Any]:
    """The blocks `privacy`, `classes` and `risk`, and null for each requirement that the release does not show."""
    spec = published.spec
    blocks = verdict_blocks(verdict)
    known = iter(blocks["privacy"]["models"])
    apart = [each.population is not None or spec.unit is not None for each in requirements]
    models = [_unknown(each) if hidden else next(known) for each, hidden in zip(requirements, apart, strict=True)]
    satisfied = None if any(apart) and verdict.satisfied is not False else verdict.satisfied
    risk = dict(blocks["risk"])
    if any(apart):
        risk.pop("journalist_max")
    weighed = sampled(_text(published), verify.THRESHOLD)
    measured = {**blocks, "privacy": blocks["privacy"] | {"satisfied": satisfied, "models": models}}
    if spec.unit is not None:
        return {name: block for name, block in measured.items() if name != "risk"}
    return measured | {"risk": merged(risk, weighed)}


def _text(published: Published) -> Text:
    spec, table = published.spec, published.table
    return Text(table.text, list(published.columns_of.values()), spec, spec.missing(table.form))


def _unknown(requirement: Requirement) -> dict[str, Any]:
    """The entry of a requirement of which the release does not show whether it is met."""
    required = {name: value for name, value in requirement.required().items() if name != "population"}
    return {
        "model": requirement.model,
        "attribute": requirement.attribute,
        "required": required,
        "achieved": {},
        "satisfied": None,
    }


def _unmeasured(spec: Spec, requirements: Sequence[Requirement]) -> list[str]:
    """Why some figures are absent."""
    warnings = []
    if spec.unit is not None:
        warnings.append(
            "what is required is about individuals, and the release shows rows: it is not measured here, and classes "
            "are counted in rows"
        )
    elif any(each.population is not None for each in requirements):
        warnings.append("what is required about a population cannot be measured from the release")
    return warnings


# --- groups and distorted values --------------------------------------------------------------------------------------


def _bucketized(published: Published) -> PublicBlocks:
    """Of a release in groups: the quasi-identifiers lose nothing."""
    spec, files, options = published.spec, published.files, published.options
    requirements = diversities(spec)
    texts = [each.text for each in files]
    reading = Reading(options.group, spec.input.missing, spec.missing(published.table.form).null)
    checks = verify.checks_of(spec, requirements)
    verdict = measure_bucketized(
        texts[0], texts[1] if len(texts) > 1 else None, list(spec.quasi_identifiers), checks, reading
    )
    blocks = verdict_blocks(verdict)
    group = published.column(options.group).alias("group")
    sizes = texts[0].select(group).group_by("group").agg(rows=pl.len()).collect(engine="streaming")["rows"].to_numpy()
    kind = {"kind": "buckets", "files": "one" if len(texts) == 1 else "two", "groups": len(sizes)}
    weighed = sampled(_text(published), verify.THRESHOLD)
    return PublicBlocks(
        output={"rows": verdict.rows, **({"sensitive_sha256": files[1].sha256} if len(files) > 1 else {})},
        measured={**blocks, "risk": merged(blocks["risk"], weighed)},
        utility=_nothing_lost(spec, sizes.astype(np.int64)),
        recoding=kind,
        warnings=verdict.cautions,
    )


def _nothing_lost(spec: Spec, sizes: Ints) -> dict[str, Any]:
    attributes = {
        name: {"ncp": 0.0, "loss": 0.0, "weight": attribute.weight, "relative_to": "values"}
        for name, attribute in spec.quasi_identifiers.items()
    }
    nothing = dict.fromkeys(("gcp", "ncp", "ncp_weighted"), 0.0)
    return {**nothing, "discernibility": int((sizes**2).sum()), "loss": 0.0, "attributes": attributes}


def _randomized(published: Published) -> PublicBlocks:
    """Of distorted values. What they disclose depends on the original, so that nothing of it is measured here."""
    spec = published.spec
    requirements = disclosures(spec)
    rows = int(published.table.text.select(pl.len()).collect(engine="streaming").item())
    models = [_unknown(each) for each in requirements]
    block = {"satisfied": None, "verified": True, "missing": "own-category", "models": models}
    distortion = {name: figures for each in published.files[1:] for name, figures in _distortion(str(each.path))}
    return PublicBlocks(
        output={"rows": rows},
        measured={"privacy": block},
        utility={"attributes": {}},
        recoding={"kind": "randomized", **({"distortion": distortion} if distortion else {})},
        warnings=["what distorted values disclose depends on the original: it cannot be measured from the release"],
    )


def _distortion(path: str) -> Iterator[tuple[str, dict[str, float]]]:
    """What the recipient's parameters say of each attribute that is distorted."""
    for each in Parameters.read(path).attributes:
        if each.values is not None:
            size = len(each.values)
            yield each.name, {"p": each.p, "q": kronecker.other(each.p, size), "values": size}
