"""Rows that go from their class to one that they cost less in; classes that give all their rows to others.

For every row the class whose NCP rises least when it joins is found, among all classes of the block. Then, in rounds,
transfers that lower the total NCP are made, the best first, as many as touch different classes; what is left is
measured again in the next round, against the classes as they are by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from anonymize.algorithms.refining import BoxAxis, Places, Singles
from anonymize.algorithms.refining.block import LEAST_GAIN, Block, BlockClasses
from anonymize.classes import Bools, Floats, Ints, concatenated_ranges, run_starts
from anonymize.records import dataclass

ROUNDS = 12
"""Rounds of single transfers after one search for targets."""
RINGS = 24
"""Axes along which several rows of a class are weighed together in a pass, drawn at random where there are more: each
is a look at all rows on all axes."""
TRANSFER_CELLS = 1 << 18
"""Cells of (rows x classes) that are worked on at once."""
HOPE = 0.5
"""A transfer that at first raises the NCP by no more than this is measured again, since other transfers may have made
it pay."""


Without = Callable[[Ints, Places], Places]


@dataclass(frozen=True)
class Targets:
    """For each row (rows,) the label of the class that it would best join, and by how much that raises its NCP."""

    label: Ints
    rise: Singles


def transfer(
    block: Block, classes: BlockClasses, labels: Ints, sections: Sequence[Ints], rng: np.random.Generator
) -> Ints:
    """(rows,) labels once rows have left their classes; the total NCP is never higher.

    `classes` are those of the labels, `sections` numbers of classes within which targets are looked for.
    """
    best = targets(block, classes, sections)
    labels = _parted(block, classes, labels, best, rng)
    rows = np.arange(len(labels))
    for number in range(ROUNDS):
        labels, rows = _moved(block, labels, rows, best.label, -LEAST_GAIN if number else HOPE)
        if not len(rows):
            break
    return labels


def targets(block: Block, classes: BlockClasses, sections: Sequence[Ints]) -> Targets:
    """The best class for each row other than its own, among the classes of its section; ties go to the first.

    A row of a section of one class has its own for a target, and a rise of inf.
    """
    best, rise = np.empty(block.measure.size, np.int64), np.empty(block.measure.size, np.float32)
    for section in sections:
        sizes = classes.sizes[section]
        rows = classes.order[concatenated_ranges(classes.starts[section], sizes)]
        own = np.repeat(np.arange(len(section)), sizes)
        low, high = [end[section] for end in classes.low], [end[section] for end in classes.high]
        scale, before = (sizes + 1).astype(np.float32), classes.ncp[section].astype(np.float32)
        rise_of = block.measure.crossing(low, high, scale, before)
        step = max(TRANSFER_CELLS // len(section), 1)
        for begin in range(0, len(rows), step):
            some, each = rows[begin : begin + step], np.arange(min(step, len(rows) - begin))
            cells = rise_of(some)
            cells[each, own[begin : begin + step]] = np.inf
            to = cells.argmin(axis=1)
            best[some], rise[some] = section[to], cells[each, to]
    return Targets(classes.names[best], rise)


def _apart(change: Floats, touches: list[tuple[Ints, Ints]], count: int) -> Bools:
    """(changes,) those that lower the NCP, and are the best of all that touch any of the classes that they touch.

    `touches`: (class, change that touches it), several times; `count`: classes. Ties go to the first change. Changes
    are compared by their ranks, which all differ, so the least rank at a class says which of its changes is the best.
    """
    rank = np.empty(len(change), np.int64)
    rank[np.argsort(change, kind="stable")] = np.arange(len(change))
    chosen = change < -LEAST_GAIN
    best = np.full(count, len(change))
    for touched, by in touches:
        worth = chosen[by]
        np.minimum.at(best, touched[worth], rank[by[worth]])
    for touched, by in touches:
        chosen[by[best[touched] != rank[by]]] = False
    return chosen


def _undone(block: Block, before: Ints, after: Ints) -> Ints:
    """The labels `after`, but for the changes that made a class break a requirement.

    What rows of one class did is one change; no class is touched by two.
    """
    if block.met is None:
        return after
    changed = np.flatnonzero(before != after)
    touched = np.zeros(int(max(before.max(), after.max())) + 1, np.bool_)
    touched[before[changed]] = touched[after[changed]] = True
    broken = block.breaking(after, touched)
    back = np.zeros(len(touched), np.bool_)
    back[before[changed[broken[before[changed]] | broken[after[changed]]]]] = True
    return np.where(back[before], before, after)


# --- several rows of a class at once ---


@dataclass(frozen=True)
class Parting:
    """Rows that are to leave their classes, each for its own target, all those of a class or none.

    `classes` (partings,): the class that each leaves, at most once an axis; `rows`, `of`: the rows and which parting
    each is part of; `saved` (partings,): by how much the NCP of what stays is below that of the class.
    """

    classes: Ints
    rows: Ints
    of: Ints
    saved: Floats


def _parted(block: Block, classes: BlockClasses, labels: Ints, best: Targets, rng: np.random.Generator) -> Ints:
    """(rows,) labels once rows have left their classes together, where that lowers the NCP.

    A class that is given several rows is measured with all of them.
    """
    axes = _some(block.measure.axes, rng)
    partings = [_whole(classes, best), *(_ring(block, classes, best, axis, rng) for axis in axes)]
    first = np.cumsum([0, *(len(parting.classes) for parting in partings)])
    rows = np.concatenate([parting.rows for parting in partings])
    if not len(rows):
        return labels
    of = np.concatenate([parting.of + begin for parting, begin in zip(partings, first, strict=False)])
    leaving = np.concatenate([parting.classes for parting in partings])
    change = -np.concatenate([parting.saved for parting in partings])
    to = np.searchsorted(classes.names, best.label[rows])
    by_pair = np.lexsort((to, of))
    rows, of, to = rows[by_pair], of[by_pair], to[by_pair]
    begins = run_starts(of * classes.count + to)
    source, to = of[begins], to[begins]
    sizes = np.diff(begins, append=len(rows)) + classes.sizes[to]
    rise = block.measure.cost(*_with(block, classes, rows, begins, to)) * sizes - classes.ncp[to]
    change += np.bincount(source, rise, len(leaving))
    chosen = _apart(change, [(leaving, np.arange(len(leaving))), (to, source)], classes.count)
    leaves = rows[chosen[of]]
    after = labels.copy()
    after[leaves] = best.label[leaves]
    return _undone(block, labels, after)


def _some(axes: Sequence[BoxAxis], rng: np.random.Generator) -> Sequence[BoxAxis]:
    """All axes, or so many of them that a pass takes as long a row, however many there are."""
    if len(axes) <= RINGS:
        return axes
    return [axes[index] for index in np.sort(rng.choice(len(axes), RINGS, replace=False))]


def _whole(classes: BlockClasses, best: Targets) -> Parting:
    """Classes that may be worth dissolving."""
    rise = np.add.reduceat(best.rise[classes.order].astype(np.float64), classes.starts[:-1])
    hoped = np.flatnonzero(rise - classes.ncp < -LEAST_GAIN)
    rows = classes.order[concatenated_ranges(classes.starts[hoped], classes.sizes[hoped])]
    return Parting(hoped, rows, np.repeat(np.arange(len(hoped)), classes.sizes[hoped]), classes.ncp[hoped])


def _ring(block: Block, classes: BlockClasses, best: Targets, axis: BoxAxis, rng: np.random.Generator) -> Parting:
    """Rows that lie farthest on an axis from a row of their class drawn at random, where losing them may be worth it.

    On a hierarchy these are all rows beyond the child of the class's node in which the drawn row lies.
    """
    drawn = classes.order[classes.starts[:-1] + (rng.random(classes.count) * classes.sizes).astype(np.int64)]
    pivot, places = axis.places[drawn][classes.number], axis.places[classes.order]
    distance = axis.cost(np.minimum(pivot, places), np.maximum(pivot, places))
    begins = classes.starts[:-1]
    farthest = np.maximum.reduceat(distance, begins)
    leaves = (distance == farthest[classes.number]) & (distance > 0)
    gone = np.add.reduceat(leaves, begins, dtype=np.int64)
    low, high = [], []
    for arranged, left, right in zip(block.measure.places_of(classes.order), classes.low, classes.high, strict=True):
        low.append(np.minimum.reduceat(np.where(leaves, right[classes.number], arranged), begins))
        high.append(np.maximum.reduceat(np.where(leaves, left[classes.number], arranged), begins))
    stays = classes.sizes - gone
    saved = classes.ncp - block.measure.cost(low, high) * stays
    rise = np.add.reduceat(np.where(leaves, best.rise[classes.order], 0.0), begins)
    hoped = np.flatnonzero((gone > 0) & (stays >= block.k) & (rise - saved < -LEAST_GAIN))
    place = np.full(classes.count, -1)
    place[hoped] = np.arange(len(hoped))
    leaves &= place[classes.number] >= 0
    return Parting(hoped, classes.order[leaves], place[classes.number[leaves]], saved[hoped])


def _with(block: Block, classes: BlockClasses, rows: Ints, begins: Ints, to: Ints) -> tuple[list[Places], list[Places]]:
    """The boxes of classes `to` once each has been joined by the rows that begin at `begins`."""
    low, high = [], []
    for places, left, right in zip(block.measure.places_of(rows), classes.low, classes.high, strict=True):
        low.append(np.minimum(np.minimum.reduceat(places, begins), left[to]))
        high.append(np.maximum(np.maximum.reduceat(places, begins), right[to]))
    return low, high


# --- single rows ---


def _moved(block: Block, labels: Ints, rows: Ints, target: Ints, hope: float) -> tuple[Ints, Ints]:
    """Labels after one round of moves to the targets, and the rows that are worth another look.

    A class gives or takes one row a round, and keeps at least k.
    """
    sizes = np.bincount(labels, minlength=int(target.max()) + 1)
    rows = rows[(sizes[labels[rows]] > block.k) & (target[rows] != labels[rows]) & (sizes[target[rows]] > 0)]
    if not len(rows):
        return labels, rows
    involved = np.zeros(len(sizes), np.bool_)
    involved[labels[rows]] = involved[target[rows]] = True
    classes = block.classes(labels, np.flatnonzero(involved[labels]))
    source, to = (np.searchsorted(classes.names, label[rows]) for label in (labels, target))
    change = _changes(block, classes, rows, source, to)
    kept = change < hope
    rows, source, to, change = rows[kept], source[kept], to[kept], change[kept]
    each = np.arange(len(rows))
    chosen = _apart(change, [(source, each), (to, each)], classes.count)
    moved = labels.copy()
    moved[rows[chosen]] = target[rows[chosen]]
    return _undone(block, labels, moved), rows[~chosen] if chosen.any() else rows[:0]


def _changes(block: Block, classes: BlockClasses, rows: Ints, source: Ints, to: Ints) -> Floats:
    """(rows,) how each row's move from class `source` to class `to` changes the total NCP."""
    measure, sizes, ncp = block.measure, classes.sizes, classes.ncp
    low, high = [], []
    ends = zip(measure.places_of(rows), measure.places_of(classes.order), classes.low, classes.high, strict=True)
    for places, arranged, left, right in ends:
        low.append(_without(classes, arranged, left, right, np.minimum)(source, places))
        high.append(_without(classes, arranged, right, left, np.maximum)(source, places))
    left_over = measure.cost(low, high) * (sizes[source] - 1.0)
    joined = measure.joined(
        [end[to] for end in classes.low], [end[to] for end in classes.high], measure.places_of(rows)
    )
    return np.asarray(left_over - ncp[source] + joined * (sizes[to] + 1.0) - ncp[to])


def _without(classes: BlockClasses, arranged: Places, end: Places, other: Places, ufunc: np.ufunc) -> Without:
    """Where an end of a class's box lies without one of its rows: a function of the class and place of rows.

    `arranged`: places in the order of the classes' rows; `end`, `other`: that end of each box, and the other one. A box
    only shrinks if a single row lies at its end, and then to the second row from there; so one second place per class
    is enough for all its rows.
    """
    at_end = arranged == end[classes.number]
    alone = np.add.reduceat(at_end, classes.starts[:-1], dtype=np.int64) == 1
    second = ufunc.reduceat(np.where(at_end, other[classes.number], arranged), classes.starts[:-1])

    def without(of: Ints, places: Places) -> Places:
        return np.where(alone[of] & (places == end[of]), second[of], end[of])

    return without
