"""What a search on an engine goes by, the targets of a workload included, and what it comes to, in any algorithm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anonymize.algorithms import ALGORITHMS, reads_workload
from anonymize.privacy import Requirement
from anonymize.spark.columns import EngineColumns
from anonymize.spark.engine import DataFrame
from anonymize.spark.learned import Learned
from anonymize.spec import Spec
from anonymize.spec.columns import Sensitive
from anonymize.table import Table, TargetColumn
from anonymize.table.read import as_target


def targets_of(spec: Spec, algorithm: str, options: Any) -> list[str]:
    """The targets that a search looks at."""
    return list(spec.targets()) if reads_workload(ALGORITHMS[algorithm], options) else []


def coded(spec: Spec, targets: Iterable[str]) -> Spec:
    """The spec of what is coded: its targets are sensitive attributes, unless they are quasi-identifiers."""
    kinds = spec.targets()
    own = {name: Sensitive(type=kinds[name]) for name in targets if name not in spec.quasi_identifiers}
    return spec.model_copy(update={"sensitive": {**own, **spec.sensitive}})


def with_targets(table: Table, targets: Iterable[str]) -> Table:
    """The table with its targets, each of which it has as a quasi-identifier or as a sensitive attribute."""
    known = {each.name: as_target(each) for each in table.attributes}
    for own in table.sensitive:
        known[own.name] = TargetColumn(own.name, own.codes, own.size, own.missing, own.values, own.texts)
    return replace(table, targets=tuple(known[name] for name in targets))


@dataclass(frozen=True)
class EngineFrame:
    """What a search goes by, and what a release is measured by."""

    spec: Spec
    learned: Learned
    requirements: tuple[Requirement, ...]
    layout: EngineColumns


@dataclass(frozen=True)
class EngineOutcome:
    """What was found. `rows`: the released rows, in any order, their columns by their places.

    `options`, `recoding`: what the report says of the search, and of what it found. `levels`: the pairs (level, height)
    of a generalization that is the same for all rows. `left_out`: rows of the input that are not among those of the
    release. `labelled`: numbers are shown as labels of their hierarchy. `small`: no class has more rows than a worker
    holds at once. `as_one_class`: the rows as one class, where that is released instead once too many read as
    suppressed.
    """

    rows: DataFrame
    options: Mapping[str, Any]
    recoding: Mapping[str, Any]
    levels: Sequence[tuple[int, int]] | None = None
    left_out: int = 0
    labelled: bool = False
    small: bool = False
    as_one_class: Callable[[], DataFrame] | None = None
