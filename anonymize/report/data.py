"""The report as data: what was asked for, what was done, what was measured. No cell value of the input is in it."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

import numpy as np

from anonymize.algorithms import ALGORITHMS, feasibility
from anonymize.claims import State, overall
from anonymize.errors import Caution, counted
from anonymize.privacy import MODELS, Requirement
from anonymize.records import dataclass
from anonymize.report.head import Clock, TableSource, head, spec_path, table_block
from anonymize.report.section import INDIVIDUALS
from anonymize.request import Request
from anonymize.risk import Sizes, risk_before, sizes_before
from anonymize.spec import Spec, base
from anonymize.spec.blocks import Synthesis
from anonymize.table import Attribute, OutputFile, Table
from anonymize.verify import THRESHOLD, Verdict
from anonymize.verify.verdict import OrderVerdict

LEAST_COUNT = 5
"""Rows that a count of the input stands for at least, where no larger k is required."""


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


def with_heights(attributes: Iterable[Attribute], block: dict[str, Any]) -> dict[str, Any]:
    """The block `recoding`, with the height of each hierarchy where quasi-identifiers stand on levels of them."""
    if not isinstance(block.get("levels"), dict):
        return block
    return block | {"heights": {each.name: each.hierarchy.height for each in attributes}}


def release_report(request: Request, table: Table, clock: Clock, blocks: Blocks) -> dict[str, Any]:
    """The report of a release of any family; keys are fixed, in the contract's order."""
    weights = defined({"sampling_weight": dict(table.weights_shown)})
    completed = replace(blocks, measured=_with_before(blocks, table), utility=blocks.utility | defined(weights))
    rows = table.rows - len(table.source.earlier)
    return report_of(request, table_block(table.source, rows), clock, completed, asdict(request.options))


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
    """The blocks `memory` and `warnings`: the peak and the limit, and a warning where it is above."""
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
    """The measured blocks, with the risk of the input next to that of the release."""
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
    if other is not None:
        state = overall(result.state for result in other.results)
        again = {"satisfied": state.satisfied, "models": [result.as_dict() for result in other.results]}
        privacy["wildcard"], risk["wildcard"] = again, other.risk
    return {"privacy": privacy, **defined({"classes": classes, "risk": risk})}


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
    return {**spec_path(spec), "sha256": spec.sha256}


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
    thresholds = {entry.parameters.given(base.Means.DISTANCE) for entry in spec.privacy.models} - {None}
    values["t"] = thresholds.pop() if len(thresholds) == 1 else None
    return {name: {"value": value, "from": _origin(spec, name)} for name, value in values.items() if value is not None}


def _origin(spec: Spec, name: str) -> str:
    if name in spec.overridden:
        return "command line"
    return "spec" if name == "t" or spec.place("privacy", name) else "default"


def required_size(requirements: tuple[Requirement, ...]) -> int:
    """The largest size of a class that is required as such; without one, the fewest rows that a class may have."""
    required = [
        int(getattr(each.parameters, limit.parameter))
        for each in requirements
        for limit in MODELS[each.model].limits
        if limit.size
    ]
    return max(required, default=feasibility.minimum_size(requirements))


def left_out_warnings(spec: Spec, dropped: int, remedy: str) -> list[Caution]:
    """That suppressed rows were left out although the spec keeps such rows, and what keeps them."""
    if not dropped or spec.output.suppressed_rows == "drop":
        return []
    said = f"{counted(dropped, 'suppressed row')} left out: as a class of their own such rows would not be safe"
    return [Caution.of(said, remedy)]
