"""A DataFrame that is released, what a search of it comes to, in any algorithm, and the release once it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import polars as pl

from anonymize.algorithms import ALGORITHMS, reads_workload
from anonymize.privacy import Requirement
from anonymize.records import dataclass
from anonymize.report.data import Blocks
from anonymize.request import Request
from anonymize.spark.checking import FrameReading, reading_of
from anonymize.spark.engine import DataFrame, held, in_order, named_by_place, places_of
from anonymize.spark.growing import EngineColumns
from anonymize.spark.learned import MOST_COMBINATIONS, MOST_VALUES, Learned, learn
from anonymize.spec import Spec
from anonymize.spec.columns import Sensitive
from anonymize.table import Table, TargetColumn
from anonymize.table.model import as_target
from anonymize.verify import Verdict


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
class EngineLimits:
    """How an engine works. `checkpoint`: a folder that it and its workers can write to. `part_rows`: rows that a worker
    searches at once; None: what is usual with the algorithm. `most_values`, `most_combinations`: different values of a
    column, and combinations of them, that the driver takes."""

    checkpoint: str
    part_rows: int | None = None
    most_values: int = MOST_VALUES
    most_combinations: int = MOST_COMBINATIONS


@dataclass(frozen=True)
class EngineFrame:
    """A DataFrame that is released: its `rows`, their columns by their places, and what the driver has `learned`."""

    request: Request
    limits: EngineLimits
    requirements: tuple[Requirement, ...]
    rows: DataFrame
    layout: EngineColumns
    learned: Learned

    @classmethod
    def read(
        cls, df: DataFrame, request: Request, requirements: tuple[Requirement, ...], limits: EngineLimits
    ) -> EngineFrame:
        """Counts the values of the columns that count; raises as `learn` does."""
        spec, needs = request.spec, ALGORITHMS[request.algorithm].NEEDS
        layout, rows = EngineColumns(places_of(df.columns), spec.roles()), named_by_place(df)
        known = cls(request, limits, requirements, rows, layout, None)  # type: ignore[arg-type]  # it is learned next
        learned = learn(
            rows,
            layout.places,
            coded(spec, known.targets),
            requirements,
            limits.most_values,
            at_levels=not needs.levels,
        )
        return replace(known, learned=learned)

    @property
    def spec(self) -> Spec:
        """What is released, and how."""
        return self.request.spec

    @property
    def targets(self) -> list[str]:
        """The targets that the search looks at."""
        request = self.request
        return list(request.spec.targets()) if reads_workload(ALGORITHMS[request.algorithm], request.options) else []

    @property
    def places(self) -> dict[str, str]:
        """The places of the columns that are released, by their names."""
        return self.layout.released

    @property
    def reading(self) -> FrameReading:
        """How the release is measured."""
        columns = {name: [self.places[name]] for name in self.spec.quasi_identifiers}
        reading = reading_of(self.spec, [place for (place,) in columns.values()], self.places)
        return FrameReading(self.spec, reading, self.places, columns)

    def written(self, released: DataFrame, *, together: bool = False) -> DataFrame:
        """The released rows, in order, as they were written to the checkpoint. `together`: see `in_order`."""
        order = self.spec.output.row_order
        groups = [*self.layout.made], self.layout.passing
        ordered = in_order(released, order, groups, self.learned.rows, together)
        return held(ordered, self.limits.checkpoint, f"release-{uuid4().hex}")


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


@dataclass(frozen=True)
class EngineDraft:
    """A release that has been written and measured. `rows`: what is published, its columns by their places. `kept`: the
    places of the columns that are those of the input; `apart`: see `CountedRows`. `blocks`: those of the report that
    depend on the family, by the verdict; `options`: what the report says of the search. `left_out`: as `EngineOutcome`
    has it. `parameters`: of the recipient of a distorted release."""

    rows: DataFrame
    verdict: Verdict
    kept: Sequence[str]
    blocks: Callable[[Verdict], Blocks]
    options: Mapping[str, Any]
    left_out: int = 0
    apart: pl.DataFrame | None = None
    parameters: dict[str, Any] | None = None
