"""A recoding made into what is written: for every row its class, for every class what it shows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Ints, mixed_radix, run_starts
from anonymize.recoding.columns import ReleasedColumn
from anonymize.recoding.generalized import Generalized
from anonymize.recoding.levels import Levels
from anonymize.recoding.regions import Regions
from anonymize.recoding.showing import Showing
from anonymize.recoding.single import ByInterval, SingleDimensional
from anonymize.spec import Output
from anonymize.table import Table

Recoding: TypeAlias = Regions | Levels | SingleDimensional


@dataclass(frozen=True)
class Released:
    """A release before it is written.

    Classes of the recoding that read the same are one class here, as they are to whoever reads the release. `class_of`
    (rows,) int32: class of each row of the input, -1 for a row that is dropped. `columns`: of each quasi-identifier one
    released column, or two. `sizes` (classes,). `ncp`, `loss`: per quasi-identifier, (classes,) unweighted normalized
    certainty penalty and Iyengar's loss of a cell of the class (the mean over its rows).

    Rows that are published suppressed, and classes that read the same, are one class after these, numbered
    `len(sizes)`; `suppressed_rows` counts them and the dropped ones, `dropped_rows` the latter.
    """

    class_of: NDArray[np.int32]
    columns: tuple[ReleasedColumn, ...]
    sizes: Ints
    ncp: tuple[Floats, ...]
    loss: tuple[Floats, ...]
    suppressed_rows: int
    dropped_rows: int

    def columns_of(self, attribute: str) -> list[ReleasedColumn]:
        """The released columns that a quasi-identifier became."""
        return [column for column in self.columns if column.attribute == attribute]


def render(recoding: Recoding, table: Table, output: Output, *, drop: bool) -> Released:
    """How a recoding reads under the spec's `output`; `drop` leaves the suppressed rows out of the release."""
    partition = recoding.partition
    class_of = partition.class_of(table.rows)
    if not drop:
        class_of[recoding.suppressed] = partition.count
    shown = _shown(recoding, table, output)
    costs = [each.costs() for each in shown]
    released = Released(
        class_of=class_of,
        columns=tuple(column for each in shown for column in each.columns()),
        sizes=partition.sizes,
        ncp=tuple(ncp for ncp, _ in costs),
        loss=tuple(loss for _, loss in costs),
        suppressed_rows=len(recoding.suppressed),
        dropped_rows=len(recoding.suppressed) if drop else 0,
    )
    return _united(released)


def _shown(recoding: Recoding, table: Table, output: Output) -> list[Showing | Generalized | ByInterval]:
    """What shows each quasi-identifier."""
    partition = recoding.partition
    if isinstance(recoding, Regions):
        return [Showing(a, partition, *partition.boxes(a.codes), output) for a in table.attributes]
    if isinstance(recoding, SingleDimensional):
        return [ByInterval.of(a, recoding.cuts[a.name], partition, output) for a in table.attributes]
    first = partition.order[partition.starts[:-1]]
    return [
        Generalized(attribute, attribute.codes[first], level, output)
        for attribute, level in zip(table.attributes, recoding.levels.T, strict=True)
    ]


def _united(released: Released) -> Released:
    """The release with classes that read the same put together; the first of them gives the number."""
    count = len(released.sizes)
    key = _reading(released)
    visible = np.flatnonzero(key[:-1] != key[-1])
    _, first, inverse = np.unique(key[visible], return_index=True, return_inverse=True)
    if len(first) == count:
        return released
    number = np.full(count + 1, len(first))
    number[visible] = np.argsort(np.argsort(first))[inverse]
    order = np.argsort(number, kind="stable")
    starts = run_starts(number[order])[: len(first)]
    rows = np.append(released.sizes, 0)[order]
    sizes = np.add.reduceat(rows, np.append(starts, len(visible)))[:-1]

    def mean(of_class: Floats) -> Floats:
        sums = np.add.reduceat(np.append(of_class, 0)[order] * rows, np.append(starts, len(visible)))[:-1]
        return np.asarray(sums / sizes)

    shown = np.append(order[starts], count)
    return replace(
        released,
        class_of=np.append(number, -1).astype(np.int32)[released.class_of],
        columns=tuple(replace(column, of_class=column.of_class[shown]) for column in released.columns),
        sizes=sizes,
        ncp=tuple(mean(ncp) for ncp in released.ncp),
        loss=tuple(mean(loss) for loss in released.loss),
        suppressed_rows=released.suppressed_rows + int(released.sizes.sum() - sizes.sum()),
    )


def _reading(released: Released) -> Ints:
    """(classes + 1,) a number for how each class reads, the suppressed one last: the same for the same texts."""
    columns = released.columns
    return mixed_radix([column.of_class for column in columns], [len(column.texts) for column in columns])[0]
