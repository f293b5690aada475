"""The report as data: what was asked for, what was done, what was measured. No cell value of the input is in it."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

import numpy as np
import polars as pl

from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.bound import loss_bound
from anonymize.algorithms.feasibility import minimum_size
from anonymize.claims import State, overall
from anonymize.classes import Floats, Ints
from anonymize.domain.cells import CellKind, cells_of, members
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Caution, counted
from anonymize.fidelity import BothSides, fidelity
from anonymize.metrics import View, utility
from anonymize.privacy import MODELS, Requirement
from anonymize.recoding import Recoding, Released
from anonymize.records import dataclass
from anonymize.report import head as cautions
from anonymize.report.codebook import FileCells, codebook, columns_of, generalized
from anonymize.report.head import Clock, TableSource, head, table_block
from anonymize.report.section import INDIVIDUALS
from anonymize.request import Request
from anonymize.risk import Sizes, merged, risk_before, sizes_before
from anonymize.risk.records import candidate_rows
from anonymize.spec import Spec
from anonymize.spec.base import Means
from anonymize.spec.blocks import Synthesis
from anonymize.table import Attribute, OutputFile, Table
from anonymize.verify import THRESHOLD, Verdict
from anonymize.verify.verdict import OrderVerdict

LEAST_COUNT = 5
"""Rows that a count of the input stands for at least, where no larger k is required."""


@dataclass(frozen=True)
class ClassedFacts:
    """Everything that a report of a release with equivalence classes is made from."""

    request: Request
    requirements: tuple[Requirement, ...]
    table: Table
    recoding: Recoding
    released: Released
    output: OutputFile
    verdict: Verdict
    beside: Beside
    by_weights: Mapping[str, Any] = field(default_factory=dict)
    """What sampling weights add to the block `risk`."""
    texts: Mapping[str, pl.Series] = field(default_factory=dict)
    """The different texts of the columns that show quasi-identifiers, in the file."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of a report that depend on the family of the release. `measured`: as `verdict_blocks` makes them.
    `distributions`: what is left of the distributions. `left_out`: the metrics that are not defined for what the
    columns mean, by name, and why. `sample`: a few rows, as `report.sample` makes them."""

    output: dict[str, Any]
    measured: dict[str, Any]
    utility: dict[str, Any]
    recoding: dict[str, Any]
    warnings: list[Caution]
    distributions: Mapping[str, Any] = field(default_factory=dict)
    codebook: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sizes | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    sample: Mapping[str, Any] = field(default_factory=dict)


def defined(blocks: Mapping[str, Any]) -> dict[str, Any]:
    """The blocks in which there is anything."""
    return {name: block for name, block in blocks.items() if block}


def classed_blocks(facts: ClassedFacts) -> Blocks:
    """The blocks of a release with equivalence classes."""
    released, blocks = facts.released, verdict_blocks(facts.verdict)
    risk = merged(blocks["risk"], facts.by_weights) | defined({"candidates": facts.beside.candidates})
    output = output_block(facts.output, facts.verdict) | {
        "suppressed_rows": released.suppressed_rows,
        "dropped_rows": released.dropped_rows,
        "suppressed_cells": _suppressed_cells(facts),
    }
    return Blocks(
        output=output,
        measured=blocks | {"risk": risk},
        utility=_with_bound(facts, utility(_view(facts))),
        recoding=with_heights(facts.table.attributes, facts.recoding.summary()),
        warnings=_warnings(facts),
        distributions=facts.beside.distributions,
        codebook=_codebook(facts),
        sizes=facts.beside.sizes,
    )


def _codebook(facts: ClassedFacts) -> dict[str, Any]:
    spec, names = facts.request.spec, [each.name for each in facts.table.attributes]
    released = {name: [column.name for column in facts.released.columns_of(name)] for name in names}
    cells = FileCells(spec, facts.texts)
    meanings = generalized(cells, released, labels=facts.recoding.labelled)
    return codebook(spec, columns_of(facts.output), meanings, cells)


def with_heights(attributes: Iterable[Attribute], block: dict[str, Any]) -> dict[str, Any]:
    """The block `recoding`, with the height of each hierarchy where quasi-identifiers stand on levels of them."""
    if not isinstance(block.get("levels"), dict):
        return block
    return block | {"heights": {each.name: each.hierarchy.height for each in attributes}}


def _with_bound(facts: ClassedFacts, block: dict[str, Any]) -> dict[str, Any]:
    """The block `utility`, with the bound on gcp where that is asked for; its figures are null in too large a table."""
    if not facts.request.bound:
        return block
    suppressing = facts.request.spec.privacy.suppression > 0
    bound = loss_bound(facts.table, facts.requirements, suppressing=suppressing)
    return block | {"bound": bound.block(block["gcp"])}


def release_report(request: Request, table: Table, clock: Clock, blocks: Blocks) -> dict[str, Any]:
    """The report of a release of any family; keys are fixed, in the contract's order."""
    weights = defined({"sampling_weight": dict(table.weights_shown)})
    beside = replace(blocks, measured=_with_before(blocks, table), utility=blocks.utility | defined(weights))
    rows = table.rows - len(table.source.earlier)
    return report_of(request, table_block(table.source, rows), clock, beside, asdict(request.options))


def report_of(
    request: Request, table: Mapping[str, Any], clock: Clock, blocks: Blocks, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The report of a release, wherever it was made. `table`: the block about the input; `options`: of the algorithm,
    as they were used."""
    recoding = dict(blocks.recoding)
    chosen = {"recommended": recoding.pop("recommended")} if "recommended" in recoding else {}
    return {
        **head(clock),
        "spec": spec_block(request.spec),
        "input": table,
        "output": blocks.output,
        "algorithm": {
            "name": request.algorithm,
            "family": ALGORITHMS[request.algorithm].NEEDS.family.name,
            "options": dict(options),
            "seed": request.seed,
            **chosen,
        },
        "settings": settings(request.spec, request.algorithm),
        **blocks.measured,
        **defined({"utility": blocks.utility}),
        **defined({"left_out": blocks.left_out}),
        **blocks.distributions,
        "recoding": recoding,
        "codebook": blocks.codebook,
        **defined({"sample": blocks.sample}),
        "timing": clock.timing(),
        **_memory(request, blocks.warnings),
    }


def _memory(request: Request, warnings: Sequence[Caution]) -> dict[str, Any]:
    """The blocks `memory` and `warnings`: the peak beside the limit, and a warning where it is above."""
    peak, limit = peak_mb(), request.memory_limit
    if limit is None:
        return {"memory": {"peak_mb": peak}, "warnings": warnings}
    most = limit / 1e6
    took = f"--memory-limit: the process took {peak:,.0f} MB at its peak, more than the {most:,.0f} MB of the limit"
    above = Caution.of(took, "a higher `--memory-limit`, or fewer `--threads`")
    return {
        "memory": {"peak_mb": peak, "limit_mb": round(most, 1)},
        "warnings": [*warnings, above] if peak > most else warnings,
    }


def _with_before(blocks: Blocks, table: Table) -> dict[str, Any]:
    """The measured blocks, the risk of the input beside that of the release."""
    risk = blocks.measured.get("risk", {})
    alone = {} if blocks.left_out else {"unique_values": _unique_values(table)}
    if not table.attributes:
        return {**blocks.measured, **defined({"risk": {**risk, **defined(alone)}})}
    sizes = sizes_before(table) if blocks.sizes is None else blocks.sizes
    before = risk_before(sizes, risk.get("threshold") or THRESHOLD)
    return {**blocks.measured, "risk": {**risk, **defined(alone), "before": before}}


def _unique_values(table: Table) -> dict[str, float]:
    """The share of rows whose value no other row has, of each sensitive attribute that is released as it is."""
    untouched = [each for each in table.sensitive if each.name not in table.kept]
    counts = {each.name: np.bincount(each.codes, table.counts, minlength=each.size) for each in untouched}
    return {name: float((each == 1).sum() / max(table.rows, 1)) for name, each in counts.items()}


def output_block(output: OutputFile | TableSource, verdict: Verdict) -> dict[str, Any]:
    """The table that was written."""
    return {"path": output.name, "sha256": output.sha256, "rows": verdict.rows}


def verdict_blocks(verdict: Verdict) -> dict[str, Any]:
    """The blocks `privacy`, `classes` and `risk`: what was measured from the text of a table. The latter two are absent
    where nothing spans values, but for what the columns that pass through give away.

    Where missing is a wildcard, `privacy` and `risk` have the figures of that meaning too, as `wildcard`; they do not
    decide.
    """
    other, passing = verdict.wildcard, verdict.passing
    classes = {**verdict.classes, **({"sizes": list(verdict.sizes)} if verdict.sizes else {})}
    risk: dict[str, Any] = {**verdict.risk, **({"counts": INDIVIDUALS} if verdict.individuals else {})}
    risk |= {} if passing is None else {"passing": passing.block()}
    privacy: dict[str, Any] = {
        "satisfied": verdict.satisfied,
        "state": str(verdict.state),
        "verified": True,
        "missing": "own-category" if other is None else "wildcard",
        "models": [result.as_dict() for result in (*verdict.results, *verdict.codes)],
    }
    judged = (*verdict.results, *verdict.codes, *verdict.by_order)
    if unknown := [result for result in judged if result.state is State.UNKNOWN]:
        privacy["unknown"] = [str(result) for result in unknown]
    if verdict.order is not None:
        privacy["order"] = _order_block(verdict.order)
    if other is None:
        return {"privacy": privacy, **({"classes": classes} if classes else {}), **({"risk": risk} if risk else {})}
    state = overall(result.state for result in other.results)
    again = {"satisfied": state.satisfied, "models": [result.as_dict() for result in other.results]}
    return {
        "privacy": privacy | {"wildcard": again},
        "classes": classes,
        "risk": risk | {"wildcard": other.risk},
    }


def _order_block(order: OrderVerdict) -> dict[str, Any]:
    """What the order of rows tells; `models` are about the rows as it narrows them."""
    block: dict[str, Any] = {"sorted": order.sorted, "judged": order.judged, "position": "not bounded"}
    if order.sorted:
        return block | {"position": "tells nothing", "attributes": {}}
    attributes = {
        each.name: {name: v for name, v in asdict(each).items() if name != "name"} for each in order.attributes
    }
    block |= {"attributes": attributes}
    if not order.attributes:
        return block
    rows = {"singled_out": order.singled_out / order.rows, "singled_out_rows": order.singled_out}
    return block | rows | {"models": [result.as_dict() for result in order.results]}


def peak_mb() -> float:
    """Peak resident memory of the process, in MB (10^6 bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)


def spec_block(spec: Spec) -> dict[str, Any]:
    """The spec's file, as it was read."""
    return {"path": None if spec.path is None else str(spec.path), "sha256": spec.sha256}


def settings(spec: Spec, algorithm: str = "") -> dict[str, Any]:
    """The values that the command line can replace, and where each came from; t where all models have the same. Of
    invented rows, those of the block `synthesize`."""
    if algorithm and ALGORITHMS[algorithm].NEEDS.domains:
        drawing = spec.synthesize or Synthesis()
        return {
            name: {"value": getattr(drawing, name), "from": "spec" if name in drawing.model_fields_set else "default"}
            for name in ("method", "count", "rows_per_unit")
        }
    values: dict[str, float | None] = {name: getattr(spec.privacy, name) for name in ("k", "l", "suppression")}
    thresholds = {entry.parameters.given(Means.DISTANCE) for entry in spec.privacy.models} - {None}
    values["t"] = thresholds.pop() if len(thresholds) == 1 else None
    return {name: {"value": value, "from": _origin(spec, name)} for name, value in values.items() if value is not None}


def _origin(spec: Spec, name: str) -> str:
    if name in spec.overridden:
        return "command line"
    return "spec" if name == "t" or spec.place("privacy", name) else "default"


def _view(facts: ClassedFacts) -> View:
    released = facts.released
    return View(
        attributes=facts.table.attributes,
        ncp=released.ncp,
        loss=released.loss,
        sizes=released.sizes,
        suppressed_rows=released.suppressed_rows,
        k=required_size(facts.requirements),
        levels=_levels(facts),
        weights=facts.table.weights,
        partition=facts.recoding.regions,
        ncp_set=_of_sets(facts) if facts.recoding.SETS and facts.recoding.regions is None else None,
    )


def _of_sets(facts: ClassedFacts) -> list[Floats]:
    """(classes,) of each quasi-identifier the NCP of a cell, a set of categories by the number of values that it
    names."""
    costs = []
    for attribute, ncp in zip(facts.table.attributes, facts.released.ncp, strict=True):
        column = facts.released.columns_of(attribute.name)[0]
        if attribute.domain.kind == "categorical":
            named = _named(facts.request.spec, attribute.hierarchy, column.texts)[column.of_class[:-1]]
            ncp = np.where(named > 0, named / attribute.domain.size, ncp)
        costs.append(ncp)
    return costs


def _named(spec: Spec, taxonomy: Taxonomy, texts: pl.Series) -> Ints:
    """(n,) how many values each text names, 0 where it is no set."""
    sets = cells_of(spec, texts, texts, numeric=False).of_kind(CellKind.SET)
    named = np.zeros(len(texts), np.int64)
    for index in np.flatnonzero(sets).tolist():
        named[index] = len(taxonomy.leaves_of(members(texts[index])) or ())
    return named


def _levels(facts: ClassedFacts) -> list[tuple[int, int]] | None:
    """(level, height) of each quasi-identifier, where all classes share one level vector."""
    vector = facts.recoding.vector
    if vector is None:
        return None
    return [(level, a.hierarchy.height) for level, a in zip(vector, facts.table.attributes, strict=True)]


def required_size(requirements: tuple[Requirement, ...]) -> int:
    """The largest size of a class that is required as such; without one, the fewest rows that a class may have."""
    required = [
        int(getattr(each.parameters, limit.parameter))
        for each in requirements
        for limit in MODELS[each.model].limits
        if limit.size
    ]
    return max(required, default=minimum_size(requirements))


def _suppressed_cells(facts: ClassedFacts) -> int:
    """Cells of quasi-identifiers that show the suppressed text, in rows that are not suppressed or dropped as a whole,
    and those of suppressed rows that are published."""
    released = facts.released
    published = (released.suppressed_rows - released.dropped_rows) * len(facts.table.attributes)
    suppressed = facts.request.spec.output.suppressed
    for attribute in facts.table.attributes:
        column = released.columns_of(attribute.name)[0]
        hidden = (column.texts == suppressed).arg_true().to_list()
        classes = sum((column.of_class[:-1] == index for index in hidden), start=released.sizes * 0)
        published += int((classes * released.sizes).sum())
    return published


def left_out_warnings(spec: Spec, dropped: int, remedy: str) -> list[Caution]:
    """That suppressed rows were left out although the spec keeps such rows, and what keeps them."""
    if not dropped or spec.output.suppressed_rows == "drop":
        return []
    said = f"{counted(dropped, 'suppressed row')} left out: as a class of their own such rows would not be safe"
    return [Caution.of(said, remedy)]


def _warnings(facts: ClassedFacts) -> list[Caution]:
    request, released, table = facts.request, facts.released, facts.table
    spec = request.spec
    warnings = [*table.warnings, *facts.verdict.cautions, *cautions.order_warnings(spec)]
    if request.seed is not None and spec.output.row_order == "shuffle":
        shuffled = "the rows were shuffled with a given seed: anybody who knows it can undo the shuffle"
        warnings.append(Caution.of(shuffled, "release without `--seed`, or with `output: {row_order: sorted}`"))
    warnings += left_out_warnings(spec, released.dropped_rows, "`--suppression 0` generalizes them as well")
    if facts.recoding.labelled:
        warnings += cautions.of_labels(spec, request.algorithm, sets=facts.recoding.SETS)
    warnings += [*cautions.late(facts.recoding.summary()), *cautions.ambiguous(spec, table.attributes)]
    warnings += [*cautions.signed(spec, table.attributes), *cautions.lone_values(spec, table, released)]
    return [*warnings, *cautions.unused(request)]


# --- the input beside the release -------------------------------------------------------------------------------------
# What a report says of the input beside the release.
#
# Nothing of it depends on what is measured of the released file, so that it is worked out while that is written and
# read.


@dataclass(frozen=True)
class Beside:
    """Marginals and associations (`distributions`), which nobody reads where there is no report; how many classes of
    each size the input has; and the rows that may be somebody's (`candidates`), where regions may overlap."""

    distributions: Mapping[str, Any]
    sizes: Sizes
    candidates: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        request: Request,
        requirements: tuple[Requirement, ...],
        table: Table,
        released: Released,
        *,
        may_overlap: bool,
    ) -> Beside:
        """What stands beside the figures of a release, in a private report."""
        smallest, read = max(required_size(requirements), LEAST_COUNT), table.as_read
        sides = BothSides.of(read, released, request.spec)
        distributions = fidelity(sides, smallest, values=request.show_values) if request.reports else {}
        candidates = candidate_rows(request.spec, table, released) if may_overlap else {}
        return cls(distributions, sizes_before(read), candidates)
