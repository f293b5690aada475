"""From a recoding to what is written: for every row its class, for every class what it shows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Ints, mixed_radix, run_starts
from anonymize.recoding.appearance import Appearance
from anonymize.recoding.base import Recoding
from anonymize.recoding.columns import Released, ReleasedColumn
from anonymize.spec import Output
from anonymize.table import Table
from anonymize.threads import mapped, meanwhile, worth


def render(recoding: Recoding, table: Table, output: Output, *, drop: bool, threads: int = 1) -> Released:
    """How a recoding reads under the spec's `output`; `drop` leaves the suppressed rows out of the release. Attributes
    are worked on in several threads where the table is large."""
    partition, threads = recoding.partition, worth(threads, table.rows)
    classes = meanwhile(partial(_class_of, recoding, table, drop=drop), threads)
    attributes = mapped(_attribute, recoding.appearances(table, output), threads)
    released = Released(
        class_of=classes(),
        columns=tuple(column for columns, _ in attributes for column in columns),
        sizes=partition.sizes,
        ncp=tuple(ncp for _, (ncp, _) in attributes),
        loss=tuple(loss for _, (_, loss) in attributes),
        suppressed_rows=len(recoding.suppressed),
        dropped_rows=len(recoding.suppressed) if drop else 0,
        left_out=table.rows - len(partition.order) - len(recoding.suppressed),
    )
    return _united(released)


def _class_of(recoding: Recoding, table: Table, *, drop: bool) -> NDArray[np.int32]:
    """(rows,) the class of each row; suppressed ones are in the last, or in none where they are left out."""
    class_of = recoding.partition.class_of(table.rows)
    if not drop:
        class_of[recoding.suppressed] = recoding.partition.count
    return class_of


def _attribute(appearance: Appearance) -> tuple[list[ReleasedColumn], tuple[Floats, Floats]]:
    """What an attribute is released as, and what that costs."""
    return appearance.columns(), appearance.costs()


def _united(released: Released) -> Released:
    """The release with classes that read the same put together; the first of them gives the number.

    Classes are put side by side by their new number, so that sizes and costs are sums over runs; those that read as
    suppressed rows do get the last number, and leave the sums.
    """
    count = len(released.sizes)
    key = _reading(released)
    visible = np.flatnonzero(key[:-1] != key[-1])
    if not len(visible):
        return _one_class(released)
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

    representative = np.append(order[starts], count)
    return replace(
        released,
        class_of=np.append(number, -1).astype(np.int32)[released.class_of],
        columns=tuple(replace(column, of_class=column.of_class[representative]) for column in released.columns),
        sizes=sizes,
        ncp=tuple(mean(ncp) for ncp in released.ncp),
        loss=tuple(mean(loss) for loss in released.loss),
        suppressed_rows=released.suppressed_rows + int(released.sizes.sum() - sizes.sum()),
    )


def _one_class(released: Released) -> Released:
    """The release in which all rows that are published read as suppressed ones do."""
    published = released.class_of >= 0
    rows = int(np.count_nonzero(published))
    if not rows:
        return released

    def mean(of_class: Floats) -> Floats:
        hidden = rows - int(released.sizes.sum())  # which cost 1
        return np.array([(float(of_class @ released.sizes) + hidden) / rows])

    return replace(
        released,
        class_of=np.where(published, 0, -1).astype(np.int32),
        columns=tuple(replace(column, of_class=column.of_class[[-1, -1]]) for column in released.columns),
        sizes=np.array([rows], np.int64),
        ncp=tuple(mean(ncp) for ncp in released.ncp),
        loss=tuple(mean(loss) for loss in released.loss),
        suppressed_rows=released.dropped_rows,
    )


def _reading(released: Released) -> Ints:
    """(classes + 1,) a number for how each class reads, the suppressed one last: the same for the same texts."""
    columns = released.columns
    return mixed_radix([column.of_class for column in columns], [len(column.texts) for column in columns])[0]
