"""One round in which groups merge, each with the group that makes the union of least NCP at its turn.

The nearest groups are looked up once, for all groups of the round at their start. A union never has less NCP with a
third group than either of its parts would, and it has more rows; so at a group's turn, the only thing that can beat its
first unchanged neighbour is a union that has taken in a neighbour ahead of that one. Those few are measured again. The
result is that of scanning all groups at every turn.
"""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.clustering.ncp import Corners, GroupBoxes, Penalty
from anonymize.algorithms.clustering.nearest import nearest
from anonymize.classes import Floats, Ints

NEIGHBOURS = 24
"""How many nearest groups are looked up for each; a group that finds none of them left scans all groups."""


class Merging:
    """Groups during a round. A union has the number of the lower of its parts.

    `low`, `high` (attributes, groups), `sizes` (groups,): as they are now. `changed` (groups,): has merged or taken
    rows in this round. `closed` (groups,): has given rows in this round. `_open` (groups,): may be merged with.
    """

    def __init__(self, penalty: Penalty, boxes: GroupBoxes, queries: Ints, threads: int) -> None:
        self.penalty = penalty
        self.low, self.high, self.sizes = boxes.low.copy(), boxes.high.copy(), boxes.sizes.copy()
        self._open = np.ones(boxes.count, np.bool_)
        self.changed = [False] * boxes.count
        self.closed = [False] * boxes.count
        self._into = list(range(boxes.count))
        neighbourhoods = nearest(penalty, boxes, queries, NEIGHBOURS, threads)
        neighbours = zip(neighbourhoods.groups.tolist(), neighbourhoods.ncp.tolist(), strict=True)
        self._near = dict(zip(queries.tolist(), neighbours, strict=True))
        self._turns: list[int] = queries[np.argsort(neighbourhoods.ncp[:, 0], kind="stable")].tolist()
        self._all = neighbourhoods.groups.shape[1] >= boxes.count - 1

    def turns(self) -> list[int]:
        """The groups of the round in order of the NCP of their best union at its start, then by number."""
        return self._turns

    def now(self, group: int) -> int:
        """The group that a group is part of by now."""
        into = self._into
        while into[group] != group:
            into[group] = into[into[group]]
            group = into[group]
        return group

    def labels(self) -> Ints:
        """(groups,) the group that each is part of by now."""
        return np.array([self.now(group) for group in range(len(self._into))], np.int64)

    def partner(self, group: int) -> tuple[float, int] | None:
        """NCP and number of the group that makes the union of least NCP with one that has not changed in this round.

        Ties go to the group of fewer rows, then to the lower number. Closed groups are passed over. None if no group is
        left.
        """
        last, unchanged, unions = 0.0, None, []
        for other, ncp in zip(*self._near[group], strict=True):
            if other < 0:
                break
            last, root = ncp, self.now(other)
            if self.closed[root]:
                continue
            if not self.changed[root]:
                unchanged = (ncp, int(self.sizes[root]), root)
                break
            if root not in unions:
                unions.append(root)
        best = self._least(group, np.array(unions, np.int64)) if unions else None
        if unchanged is not None:
            best = unchanged if best is None else min(best, unchanged)
        elif not self._all and (best is None or best[0] >= last):
            others = np.flatnonzero(self._open)
            best = self._least(group, others[others != group])
        return None if best is None else (best[0], best[2])

    def merge(self, group: int, other: int) -> int:
        """Merges two groups; the number of the union."""
        keep, gone = min(group, other), max(group, other)
        self.low[:, keep] = np.minimum(self.low[:, keep], self.low[:, gone])
        self.high[:, keep] = np.maximum(self.high[:, keep], self.high[:, gone])
        self.sizes[keep] += self.sizes[gone]
        self._open[gone], self._into[gone] = False, keep
        self.changed[keep] = True
        return keep

    def touched(self, group: int) -> bool:
        """Whether a group has changed since the start of the round."""
        return self.closed[group] or self.changed[group] or self._into[group] != group

    def give(self, giver: int, group: int, codes: Corners) -> None:
        """Moves rows, by their codes (attributes, rows), to another group; the giver is left alone from now on."""
        self.low[:, group] = np.minimum(self.low[:, group], codes.min(axis=1))
        self.high[:, group] = np.maximum(self.high[:, group], codes.max(axis=1))
        self.sizes[group] += codes.shape[1]
        self.changed[group] = self.closed[giver] = True
        self._open[giver] = False

    def _least(self, group: int, others: Ints) -> tuple[float, int, int] | None:
        """NCP, rows and number of the best of some groups for a union."""
        if not len(others):
            return None
        low = np.minimum(self.low[:, others], self.low[:, group, None])
        high = np.maximum(self.high[:, others], self.high[:, group, None])
        sizes = self.sizes[others]
        ncp: Floats = self.penalty(low, high) * (sizes + self.sizes[group])
        tied = np.flatnonzero(ncp == ncp.min())
        size, number = min(zip(sizes[tied].tolist(), others[tied].tolist(), strict=True))
        return float(ncp.min()), size, number
