"""How a report of a release begins: what made it, when and of which files, and what it warns of, settings that tell
something or have no effect."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

import numpy as np

from anonymize import __version__
from anonymize.algorithms import ALGORITHMS, draws, without_effect
from anonymize.domain.numeric import Numeric
from anonymize.errors import Caution
from anonymize.recoding import Released
from anonymize.report.verdict import STEPS_REQUIRE
from anonymize.request import Request
from anonymize.spec import Spec, treatments
from anonymize.table import Attribute, Table
from anonymize.verify.verdict import NOTHING_ASKED

# --- head -------------------------------------------------------------------------------------------------------------
# How every report begins: what made it, when, and of which files.

SCHEMA_VERSION = 1
STAGES = ("read", "search", "recode", "verify", "write")


class TableSource(Protocol):
    """Where a table comes from."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def sha256(self) -> str | None:
        """The hash of its bytes; None where it has none."""

    @property
    def columns(self) -> Sequence[str]:
        """Their names."""


class Clock:
    """Wall seconds of each stage, and since the start."""

    def __init__(self) -> None:
        self.started_at = datetime.now(UTC)
        self._start = time.perf_counter()
        self._stages = dict.fromkeys(STAGES, 0.0)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Adds the time of the block to a stage: one of `STAGES`, or one that only some releases have."""
        start = time.perf_counter()
        yield
        self._stages[stage] = self._stages.get(stage, 0.0) + time.perf_counter() - start

    def timing(self) -> dict[str, float]:
        """The report's `timing` block."""
        total = time.perf_counter() - self._start
        return {f"{stage}_s": round(seconds, 4) for stage, seconds in (self._stages | {"total": total}).items()}


def head(clock: Clock | None = None, *, private: bool = True) -> dict[str, Any]:
    """The first blocks of a report; with a clock, when it was started. `private`: it tells more than what is published
    does, so that only its owner may read it."""
    block = {"schema_version": SCHEMA_VERSION, "tool": {"name": "anonymize", "version": __version__}}
    started = {} if clock is None else {"started_at": clock.started_at.isoformat(timespec="seconds")}
    return {**block, **started, "private": private}


def spec_path(spec: Spec) -> dict[str, str | None]:
    """The block `spec` where the report is not about how a release was made."""
    return {"path": None if spec.path is None else str(spec.path)}


def table_block(source: TableSource, rows: int | None) -> dict[str, Any]:
    """A table of so many rows as it was read."""
    return {"path": source.name, "sha256": source.sha256, "rows": rows, "columns": len(source.columns)}


# --- cautions ---------------------------------------------------------------------------------------------------------
# What a report of a release warns of: settings that tell something, or that have no effect. Each warning says what to
# do about it.


def late(recoding: Mapping[str, Any]) -> Iterator[Caution]:
    """A warning where the time or somebody ended the search, with the gap where one is known."""
    why = {"time": "the time of the search was up", "interrupted": "the search was interrupted"}
    if recoding.get("stopped") in why:
        gap = recoding.get("gap")
        away = "" if gap is None else f" (gap {gap:.6g}: another may be better by at most this)"
        best = f"{why[recoding['stopped']]}: this is the best release that it found{away}"
        yield Caution.of(best, "a longer `--time-limit`, or an `--effort` that ends without one")


def order_warnings(spec: Spec) -> list[Caution]:
    """A warning where the release keeps the order of the input."""
    if spec.output.row_order != "keep":
        return []
    said = (
        "rows are in the input's order: two releases of the same rows can be joined by position, and what somebody who "
        "knows the input's order learns from a row's position is not bounded"
    )
    return [Caution.of(said, "`output: {row_order: sorted}`")]


def ambiguous(spec: Spec, attributes: Sequence[Attribute]) -> list[Caution]:
    """Quasi-identifiers of which a value reads as a suppressed cell does, or as a node over several or other values."""
    suppressed = spec.output.suppressed
    categorical = [each for each in attributes if each.domain.kind == "categorical"]
    hidden = [each.name for each in categorical if suppressed in each.domain.leaf_text()]
    twofold = [each.name for each in categorical if each.hierarchy.twofold and each.name not in hidden]
    borrowed = [each.name for each in categorical if each.hierarchy.borrowed]
    other = f"nodes of {', '.join(borrowed)} read as other values do, and are taken for these"
    named = f"values of {', '.join(twofold)} read as nodes over several do, and are taken for these"
    another = '`output: {suppressed: "(suppressed)"}`, or another text that no value has'
    return [
        *([Caution.of(named, "rename the nodes in the `hierarchy`")] if twofold else []),
        *([Caution.of(other, "rename the nodes in the `hierarchy`")] if borrowed else []),
        *(Caution.of(f"a value of {name} reads as a suppressed cell does", another) for name in hidden),
    ]


def lone_values(spec: Spec, table: Table, released: Released) -> Iterator[Caution]:
    """How many sets name a value that one row of the class has, where numbers are not shown so exactly."""
    output, class_of = spec.output, released.class_of
    if output.categorical != "set" or output.edges == "tight":
        return
    rows = np.flatnonzero((class_of >= 0) & (class_of < len(released.sizes)))
    for attribute in [each for each in table.attributes if each.domain.kind == "categorical"]:
        keys = class_of[rows].astype(np.int64) * attribute.domain.size + attribute.codes[rows]
        named, key_of = np.unique(keys, return_inverse=True)
        counts = np.bincount(key_of, None if table.counts is None else table.counts[rows])
        of_set = named // attribute.domain.size
        sets = np.flatnonzero(np.bincount(of_set) > 1)
        lone = np.isin(sets, of_set[counts == 1])
        if lone.any():
            yield Caution.of(
                f"{attribute.name}: {lone.mean():.0%} of the sets of several values name one that a single row of the "
                "class has, as a tight end does",
                "`output: {categorical: node}` shows less",
            )


def signed(spec: Spec, attributes: Sequence[Attribute]) -> list[Caution]:
    """A hint where the hyphen of the template stands before negative numbers."""
    output = spec.output
    if output.numeric != "interval" or "-{high}" not in output.interval:
        return []
    domains = [attribute.domain for attribute in attributes]
    names = [each.name for each in domains if isinstance(each, Numeric) and (each.values[:1] < 0).any()]
    if not names:
        return []
    said = f"{', '.join(names)}: intervals of negative numbers read as [-5--1] does"
    return [Caution.of(said, '`output: {interval: "[{low}, {high}]"}` is easier to read')]


def beside_steps(spec: Spec, cautions: Iterable[Caution]) -> list[Caution]:
    """The cautions of a verdict; that nothing is required is said otherwise where a step has requirements of its own,
    without which the release would not have been written."""
    steps = [step for step in spec.treatments if isinstance(step, treatments.Suppress)]
    return [STEPS_REQUIRE if each == NOTHING_ASKED and steps else each for each in cautions]


def unused(request: Request) -> list[Caution]:
    """Warnings of the parts of the spec that the algorithm does not use, and of options that change nothing."""
    algorithm = ALGORITHMS[request.algorithm]
    warnings = unused_parts(request.spec, request.algorithm, request.options)
    shuffled = request.spec.output.row_order == "shuffle"
    steps = any(step.DRAWS for step in request.spec.treatments)
    if request.seed is not None and not (shuffled or steps or draws(algorithm, request.options)):
        idle = "--seed has no effect: nothing is drawn at random with these options, and rows are not shuffled"
        warnings.append(Caution.of(idle, "leave out `--seed`"))
    return warnings


def unused_parts(spec: Spec, name: str, options: Any) -> list[Caution]:
    """The warnings that follow from the spec and the options, whatever the table and the seed are."""
    unused = [part for part in _given(spec) if part not in ALGORITHMS[name].NEEDS.uses]
    if not unused:
        return list(without_effect(options))
    users = [each for each, algorithm in ALGORITHMS.items() if algorithm.NEEDS.uses.issuperset(unused)]
    by = f", or release by one of {', '.join(users[:3])}" if users else ""
    idle = Caution.of(f"in the spec, but without effect on {name}: {', '.join(unused)}", f"remove it{by}")
    return [idle, *without_effect(options)]


def of_labels(spec: Spec, algorithm: str, sets: bool) -> list[Caution]:
    """The settings of the output that mean nothing where cells show nodes of their hierarchies; `sets`: categories may
    be shown as sets of values."""
    output = spec.output
    numeric = any(attribute.type == "numeric" for attribute in spec.quasi_identifiers.values())
    idle = {
        f"output.numeric: {output.numeric}": numeric and output.numeric != "interval",
        "output.edges: rounded": numeric and output.edges == "rounded" and "edges" in output.model_fields_set,
        "output.categorical: set": output.categorical == "set" and not sets,
    }
    labels = f"has no effect on {algorithm}, which shows labels"
    return [Caution.of(f"{name} {labels}", "remove it") for name, present in idle.items() if present]


def _given(spec: Spec) -> list[str]:
    """The parts of the spec that only some algorithms use."""
    parts = {
        "rules": any(attribute.rules for attribute in spec.quasi_identifiers.values()),
        "identifying": any(attribute.identifying for attribute in spec.quasi_identifiers.values()),
        "weights: correlation": spec.weights == "correlation",
        "workload": bool(spec.workload.targets or spec.workload.selections),
        "level or bins": any(a.level is not None or a.bins for a in spec.quasi_identifiers.values()),
    }
    return [name for name, present in parts.items() if present]
