"""Points with counts, arranged so that those within many boxes are counted at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
LEAF = 16
"""Points that are looked at one by one, at most."""


@dataclass(frozen=True)
class BoxTree:
    """Points in a tree of boxes, each parted in two along one axis after the other. On every level `starts`: where the
    points of each box begin; `low`, `high` (boxes, axes): its extent; `sums`: what its points count."""

    points: Ints
    counts: Ints
    levels: tuple[tuple[Ints, Ints, Ints, Ints], ...]

    @classmethod
    def of(cls, points: Ints, counts: Ints) -> BoxTree:
        """The tree of points (P, axes) that count for `counts` (P,).

        Sorting by box, and within a box along one axis, lets one sort halve all boxes of a level at once.
        """
        order, starts = np.arange(len(points)), np.zeros(1, np.int64)
        bounds: list[Ints] = [starts]
        for depth in range(max(int(np.ceil(np.log2(max(len(points) / LEAF, 1)))), 0)):
            sizes = np.diff(np.append(starts, len(points)))
            box = np.repeat(np.arange(len(starts)), sizes)
            order = order[np.lexsort((points[order, depth % points.shape[1]], box))]
            starts = np.column_stack((starts, starts + sizes // 2)).ravel()
            bounds.append(starts)
        arranged, counted = points[order], counts[order]
        levels = tuple(
            (
                each,
                np.minimum.reduceat(arranged, each),
                np.maximum.reduceat(arranged, each),
                np.add.reduceat(counted, each),
            )
            for each in bounds
        )
        return cls(arranged, counted, levels)

    def count(self, starts: Ints, stops: Ints) -> Ints:
        """(C,) what the points count in the boxes from `starts` to `stops` (C, axes), both included.

        A box of the tree that lies within a query counts whole, and one apart from it not at all; only the others are
        looked into. All queries go down a level together.
        """
        totals = np.zeros(len(starts), np.int64)
        query, box = np.arange(len(starts)), np.zeros(len(starts), np.int64)
        for number, (_, low, high, sums) in enumerate(self.levels):
            apart = ((high[box] < starts[query]) | (low[box] > stops[query])).any(axis=1)
            inside = ~apart & ((low[box] >= starts[query]) & (high[box] <= stops[query])).all(axis=1)
            np.add.at(totals, query[inside], sums[box[inside]])
            open_ = ~apart & ~inside
            query, box = query[open_], box[open_]
            if number < len(self.levels) - 1:
                query, box = np.repeat(query, 2), np.column_stack((2 * box, 2 * box + 1)).ravel()
        self._single(totals, query, box, starts, stops)
        return totals

    def _single(self, totals: Ints, query: Ints, box: Ints, starts: Ints, stops: Ints) -> None:
        """Adds the points, one by one, of the last boxes that are partly within a query."""
        begins = self.levels[-1][0]
        ends = np.append(begins[1:], len(self.points))
        sizes = (ends - begins)[box]
        point = np.repeat(begins[box] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        whose = np.repeat(query, sizes)
        within = ((self.points[point] >= starts[whose]) & (self.points[point] <= stops[whose])).all(axis=1)
        np.add.at(totals, whose[within], self.counts[point[within]])
