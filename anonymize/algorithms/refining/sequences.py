"""Parts of a few classes, each cut by the best of many sequences of cuts.

The last cuts of Mondrian are taken one by one, though which is best depends on those that follow. Here a part of some
rows is cut in two at a multiple of k, near its middle, along each of the attributes that cost most; each side is cut in
the same way, and so on; and what loses least in the end is kept. Rows of equal value part as they come.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from anonymize.algorithms.refining.measure import BoxMeasure, Places, Singles
from anonymize.classes import Ints, Partition, concatenated_ranges
from anonymize.threads import mapped

AXES = 3
"""Along so many attributes a part is cut: those of highest cost."""
ROWS = 1 << 13
"""Rows of parts that are worked on together, about."""
MOST = 7
"""Classes that a part is cut into at most: sequences are many times as many with each more."""


def cut_best(measure: BoxMeasure, parts: Partition, k: int, threads: int) -> Partition:
    """The classes of at least k rows that the parts of the measure's rows, 0 ... n - 1, are cut into: k in each, but
    for one of each part. Parts of equal size are worked on together; those of more than `MOST` classes stay whole."""

    def work(some: Ints) -> tuple[Ints, Ints]:
        size = int(parts.sizes[some[0]])
        rows = parts.order[concatenated_ranges(parts.starts[some], parts.sizes[some])].astype(np.int64)
        if size // k > MOST:
            return rows.reshape(len(some), size), np.zeros(size, np.int64)
        numbers = np.ascontiguousarray(np.arange(len(rows)).reshape(len(some), size).T)
        arranged = _Places(measure, rows, k).best(numbers)[1]
        return rows[arranged.T], np.minimum(np.arange(size) // k, max(size // k, 1) - 1)

    labels, count = np.empty(len(parts.order), np.int64), 0
    for rows, group in mapped(work, list(_batches(parts.sizes)), threads):
        labels[rows] = count + np.arange(len(rows))[:, None] * (group[-1] + 1) + group
        count += len(rows) * (int(group[-1]) + 1)
    return Partition.of_labels(labels)


def _batches(sizes: Ints) -> Iterator[Ints]:
    """The numbers of parts that are worked on together."""
    by_size = np.argsort(sizes, kind="stable")
    for same in np.split(by_size, np.flatnonzero(np.diff(sizes[by_size])) + 1):
        step = max(ROWS // int(sizes[same[0]]), 1)
        yield from (same[begin : begin + step] for begin in range(0, len(same), step))


class _Places:
    """The places of some rows, numbered from 0; parts are the last axis of all arrays."""

    def __init__(self, measure: BoxMeasure, rows: Ints, k: int) -> None:
        self.measure, self.k = measure, k
        self.places = measure.places_of(rows)
        self.keys = np.stack([np.asarray(own, np.float32) for own in self.places])

    def best(self, rows: Ints) -> tuple[Singles, Ints]:
        """(parts,) what the classes of parts lose, and the rows (size, parts) arranged so that every k in turn are a
        class, and the last of them has what is left."""
        size, k = len(rows), self.k
        count = size // k
        places = [own[rows] for own in self.places]
        low, high = [own.min(axis=0) for own in places], [own.max(axis=0) for own in places]
        if count < 2:
            return self.measure.cost(low, high) * np.float32(size), rows
        least = np.full(rows.shape[1], np.inf, np.float32)
        kept = rows.copy()
        for axis in self._axes(low, high):
            order = np.argsort(self.keys[axis, rows], axis=0, kind="stable")
            arranged = np.take_along_axis(rows, order, 0)
            for middle in range(count // 2, count - count // 2 + 1):
                sides = self.best(arranged[: middle * k]), self.best(arranged[middle * k :])
                loss = sides[0][0] + sides[1][0]
                better = np.flatnonzero(loss < least)
                least[better] = loss[better]
                kept[: middle * k, better] = sides[0][1][:, better]
                kept[middle * k :, better] = sides[1][1][:, better]
        return least, kept

    def _axes(self, low: list[Places], high: list[Places]) -> Ints:
        """(axes, parts) those of each part along which it is cut."""
        costs = [axis.cost(*ends) for axis, *ends in zip(self.measure.axes, low, high, strict=True)]
        return np.argsort(-np.stack(costs), axis=0, kind="stable")[:AXES]
