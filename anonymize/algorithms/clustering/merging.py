"""Groups merge, each with the group that makes the union of least NCP, found exactly and for many groups at once.

Groups are laid in blocks of similar ones. What a group has in common with every member of a block bounds the penalty of
its union with any of them from below, so most blocks are never looked into. Pruning changes nothing in the result.

In a round each group merges at its turn. The nearest groups are looked up once, for all groups of the round at their
start. A union never has less NCP with a third group than either of its parts would, and it has more rows; so at a
group's turn, the only thing that can beat its first unchanged neighbour is a union that has taken in a neighbour ahead
of that one. Those few are measured again. The result is that of scanning all groups at every turn.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from anonymize.algorithms.clustering import Corners, GroupBoxes, Penalty, UnionPenalties
from anonymize.algorithms.cuts import RULES
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.classes import Floats, Ints, Partition, concatenated_ranges
from anonymize.records import dataclass
from anonymize.table.encode import code_type

BLOCK = 24
"""The fewest groups of a block."""
QUERIES = 48
"""The most groups that are searched for together."""
FIRST_LOOK = 160
"""How many groups of the nearest blocks set the first bound."""


@dataclass(frozen=True)
class NearestGroups:
    """The nearest groups of some groups, best first.

    `groups` (queries, m) int64, -1 where there are fewer others; `ncp` (queries, m) of the unions, inf there. Ties go
    to the group of fewer rows, then to the lower number.
    """

    groups: Ints
    ncp: Floats


def nearest(penalty: Penalty, boxes: GroupBoxes, queries: Ints, m: int, threads: int = 1) -> NearestGroups:
    """The m groups whose union with each of `queries` (q,) has the least NCP, summed over its rows."""
    m = min(m, max(boxes.count - 1, 1))
    search = BlockSearch(penalty, boxes, m)
    chunks = search.chunks(queries)
    groups, ncp = np.full((len(queries), m), -1), np.full((len(queries), m), np.inf)
    with ThreadPoolExecutor(threads) as pool:
        for chunk, best in zip(chunks, pool.map(lambda chunk: search.run(queries[chunk]), chunks), strict=True):
            groups[chunk], ncp[chunk] = best
    return NearestGroups(groups, ncp)


class BlockSearch:
    """Blocks of groups, with what all members of each have in common."""

    def __init__(self, penalty: Penalty, boxes: GroupBoxes, m: int) -> None:
        self.penalty, self.boxes, self.m = penalty, boxes, m
        self.pairs = UnionPenalties(penalty, boxes)
        self.blocks = _blocks(penalty, boxes)
        order, starts = self.blocks.order, self.blocks.starts[:-1]
        self.core_low: Corners = np.maximum.reduceat(boxes.low[:, order], starts, axis=1)
        self.core_high: Corners = np.minimum.reduceat(boxes.high[:, order], starts, axis=1)
        self.least = np.minimum.reduceat(boxes.sizes[order], starts)

    def chunks(self, queries: Ints) -> list[Ints]:
        """Positions among the queries, those of one block together."""
        block = self.blocks.class_of(self.boxes.count)[queries]
        order = np.argsort(block, kind="stable")
        edges = np.flatnonzero(np.diff(block[order], prepend=-1))
        runs = np.split(order, edges[1:])
        return [run[begin : begin + QUERIES] for run in runs for begin in range(0, len(run), QUERIES)]

    def run(self, queries: Ints) -> tuple[Ints, Floats]:
        """(q, m) the nearest groups and the NCP of their unions with each query."""
        bounds = self._bounds(queries)
        first = self._members(self._near(bounds.min(axis=0)))
        limit = self._limit(self._ncp(queries, first))
        candidates = self._members(np.flatnonzero((bounds <= limit[:, None]).any(axis=0)))
        ncp = self._ncp(queries, candidates)
        query, candidate = np.nonzero((ncp <= limit[:, None]) & (ncp < np.inf))
        return self._best(query, candidates[candidate], ncp[query, candidate], len(queries))

    def _bounds(self, queries: Ints) -> Floats:
        """(q, blocks) what the union of each query with any group of each block costs at least."""
        low = np.minimum(self.boxes.low[:, queries, None], self.core_low[:, None, :])
        high = np.maximum(self.boxes.high[:, queries, None], self.core_high[:, None, :])
        bound: Floats = self.penalty(low, high) * (self.boxes.sizes[queries, None] + self.least)
        return bound

    def _near(self, bounds: Floats) -> Ints:
        """The blocks of lowest bound (blocks,), enough of them for a first look."""
        order = np.argsort(bounds, kind="stable")
        enough = np.searchsorted(np.cumsum(self.blocks.sizes[order]), max(FIRST_LOOK, 4 * self.m)) + 1
        return order[:enough]

    def _members(self, blocks: Ints) -> Ints:
        sizes = self.blocks.sizes[blocks]
        return self.blocks.order[concatenated_ranges(self.blocks.starts[blocks], sizes)].astype(np.int64)

    def _ncp(self, queries: Ints, candidates: Ints) -> Floats:
        """(q, c) NCP of each union; inf for a group with itself."""
        ncp = self.pairs(queries, candidates)
        ncp *= self.boxes.sizes[queries, None] + self.boxes.sizes[candidates]
        ncp[queries[:, None] == candidates] = np.inf
        return ncp

    def _limit(self, ncp: Floats) -> Floats:
        """(q,) the m-th lowest NCP of each query's candidates (q, c)."""
        if ncp.shape[1] < self.m:
            return np.full(len(ncp), np.inf)
        return np.asarray(np.partition(ncp, self.m - 1, axis=1)[:, self.m - 1])

    def _best(self, query: Ints, group: Ints, ncp: Floats, queries: int) -> tuple[Ints, Floats]:
        """The m best candidates of each query; the candidates are given in parallel arrays."""
        order = np.lexsort((group, self.boxes.sizes[group], ncp, query))
        query, group, ncp = query[order], group[order], ncp[order]
        rank = np.arange(len(query)) - np.searchsorted(query, query)
        keep = rank < self.m
        groups, costs = np.full((queries, self.m), -1), np.full((queries, self.m), np.inf)
        groups[query[keep], rank[keep]], costs[query[keep], rank[keep]] = group[keep], ncp[keep]
        return groups, costs


def _blocks(penalty: Penalty, boxes: GroupBoxes) -> Partition:
    """Blocks of similar groups: by their lows, as Mondrian cuts rows."""
    columns = tuple(low.astype(code_type(domain.size)) for low, domain in zip(boxes.low, penalty.domains, strict=True))
    everyone = np.arange(boxes.count, dtype=np.uint32)
    rule = RULES["widest"](domains=list(penalty.domains), weights=list(penalty.weights), minimum=BLOCK, relaxed=False)
    return grow(Batch.whole(everyone, columns, ()), rule, None, 1, lambda rows: None)


# --- a round ----------------------------------------------------------------------------------------------------------

NEIGHBOURS = 24
"""How many nearest groups are looked up for each; a group that finds none of them left scans all groups."""


class Merging:
    """Groups during a round. A union has the number of the lower of its parts.

    `low`, `high` (attributes, groups), `sizes` (groups,): as they are now. `changed` (groups,): has merged or taken
    rows in this round. `closed` (groups,): has given rows in this round. `_open` (groups,): may be merged with.
    `turns`: the groups of the round in order of the NCP of their best union at its start, then by number.
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
        self.turns: list[int] = queries[np.argsort(neighbourhoods.ncp[:, 0], kind="stable")].tolist()
        self._all = neighbourhoods.groups.shape[1] >= boxes.count - 1

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
