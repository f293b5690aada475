"""Classes carved out of classes: some rows of a class that lie in a smaller box leave it, the others stay.

A cut puts all rows on its two sides into classes of their own. Carving leaves the rows around a crowd in one class,
whose box goes across that of the crowd: they lose what they lost before, and the crowd loses little. And where a model
asks for more than a number of rows, a class can seldom be cut in two: all rows on one side of a cut are too much of one
sensitive value, though each side has many rows. Carving takes from one side as many rows as make a class that meets the
models, and leaves the others with the rest, if the rest still meets them too. Where a number of rows is all that is
required, classes are divided as `dividing` has it.

Around rows drawn at random, boxes are drawn at random inside the box of the class. Of each box, all rows are weighed,
and ever fewer of the values that it has too many of: at most c times as many of each type (see `types`) as its weight,
for some c. What saves most, rows x (penalty of the class - penalty of the box), among all that leaves two classes which
meet every requirement, is carved; then both are carved again, until draws find nothing. Where types are of values that
stand for several, the rows that were drawn are asked as well, and what they do not meet is not carved.

All classes are worked on side by side, a draw of each at a time.

In every pass pools of neighbouring classes are one class for a moment, and carved anew. A pool whose new classes lose
less than its classes did takes them.
"""

from __future__ import annotations

import numpy as np

from anonymize.algorithms.deadline import Resources
from anonymize.algorithms.refining import Places, Singles
from anonymize.algorithms.refining.block import LEAST_GAIN, Block, BlockClasses, least_of
from anonymize.algorithms.refining.regrouping import PoolNeighbours, by_size, divided, numbers_of, pools
from anonymize.algorithms.refining.rows import RowTypes
from anonymize.classes import Bools, Floats, Ints, starts_of
from anonymize.records import dataclass

BOXES = 64
"""Boxes drawn of a class at a time."""
SHARES = np.linspace(0.15, 1, 8)
"""How many rows of a box are weighed: quantiles of the types' counts over their weights, at which they are capped; of
few types there are fewer."""
FAILS = 3
"""A class in which so many draws found nothing is carved no further."""
BOX_CELLS = 1 << 21
"""Cells of (boxes x rows) that are worked on at once."""
NEAR_CELLS = 1 << 18
"""Of these, cells that are compared at once."""


def carve(block: Block, types: RowTypes, among: Ints, labels: Ints, rng: np.random.Generator) -> Ints:
    """(rows,) labels once classes have been carved, each as far as draws find something; what stays keeps its label.

    `among`: rows of the block; `labels` (rows,): their classes, from 0, which meet every requirement; new labels follow
    on the highest. The boxes of what is carved and of what stays lie in the box of the class, so the NCP never rises.
    """
    after, count = labels.copy(), int(labels.max()) + 1
    fails = np.zeros(count, np.int64)
    while True:
        fails[np.bincount(after, minlength=count) < 2 * types.least] = FAILS  # too few rows for two classes
        rows = np.flatnonzero((fails < FAILS)[after])
        if not len(rows):
            return after
        rows = rows[np.argsort(after[rows], kind="stable")]
        names, sizes = np.unique(after[rows], return_counts=True)
        taken = _taken(block, types, among[rows], sizes, rng)
        if not types.exact:
            taken &= _met_by_rows(block, among[rows], after[rows], taken)
        fails[names] += 1
        sources = np.unique(after[rows[taken]])
        fails[sources] = 0
        after[rows[taken]] = count + np.searchsorted(sources, after[rows[taken]])
        count += len(sources)
        fails = np.append(fails, np.zeros(len(sources), np.int64))


def _met_by_rows(block: Block, rows: Ints, labels: Ints, taken: Bools) -> Bools:
    """(rows,) whether what is taken of each row's class meets every requirement, and what stays of it, too."""
    assert block.met is not None
    names, of = np.unique(labels, return_inverse=True)
    carved = np.zeros(len(names), np.bool_)
    carved[of[taken]] = True
    divided = carved[of]
    met = np.ones((len(names), 2), np.bool_)
    number = np.cumsum(carved) - 1
    groups = 2 * number[of[divided]] + taken[divided]
    met[carved] = block.met(rows[divided], groups, 2 * int(carved.sum())).reshape(-1, 2)
    return np.asarray(met.all(axis=1))[of]


def _taken(block: Block, types: RowTypes, rows: Ints, sizes: Ints, rng: np.random.Generator) -> Bools:
    """(rows,) which are carved by one draw of each class, given the rows class by class, and how many each has."""
    if types.alike:
        return divided(block, rows, sizes, rng)
    taken = np.zeros(len(rows), np.bool_)
    starts = starts_of(sizes)
    for some in by_size(sizes, BOX_CELLS // BOXES):
        width = np.arange(int(sizes[some[-1]]))
        there = width < sizes[some, None]
        places = np.where(there, starts[some, None] + width, starts[some, None])
        drawn = _Drawn.of(block, types, rows[places], there, rng)
        taken[places[there]] = drawn.best(types, rng)[there]
    return taken


@dataclass(frozen=True)
class _Drawn:
    """Boxes drawn of some classes.

    `rows`, `there` (classes, width): the rows of each class, and which cells hold one. `inside` (classes, width, boxes)
    rows in each box, `by_type` (classes, boxes, types) how many of each type. `saved` (classes, boxes): what each of
    them would lose less in the box than in its class.
    """

    rows: Ints
    there: Bools
    inside: Bools
    by_type: Ints
    saved: Singles

    @classmethod
    def of(cls, block: Block, types: RowTypes, rows: Ints, there: Bools, rng: np.random.Generator) -> _Drawn:
        """Boxes around random rows. Padding repeats the class's first row, and is never inside."""
        middle = (rng.random((len(rows), BOXES)) * there.sum(axis=1)[:, None]).astype(np.int64)
        middle += np.arange(len(rows))[:, None] * rows.shape[1]
        ends: tuple[list[Places], list[Places]] = ([], [])
        wholes: tuple[list[Places], list[Places]] = ([], [])
        compared = []
        for axis, own in zip(block.measure.axes, block.measure.places_of(rows), strict=True):
            low, high = own.min(axis=1), own.max(axis=1)
            left, right = axis.around(own.take(middle), low[:, None], high[:, None], rng)
            compared.append(_narrow(own, left, right))
            for both, new in ((wholes, (low, high)), (ends, (left, right))):
                both[0].append(new[0])
                both[1].append(new[1])
        inside = _inside(there, compared)
        kinds = types.of[rows][..., None] == np.arange(types.count)
        by_type = np.rint(np.swapaxes(kinds, 1, 2).astype(np.float32) @ inside.astype(np.float32)).astype(np.int64)
        saved = block.measure.cost(*wholes)[:, None] - block.measure.cost(*ends)
        return cls(rows, there, inside, np.ascontiguousarray(np.swapaxes(by_type, 1, 2)), saved)

    def best(self, types: RowTypes, rng: np.random.Generator) -> Bools:
        """(classes, width) the rows that are carved; none of a class where no box will do.

        Only boxes that hold enough rows and cost less than their class are weighed: no others can gain anything.
        """
        drawn, box = np.nonzero((self.by_type.sum(axis=2) >= types.least) & (self.saved > 0))
        counts = self._weighed(types, drawn, box)
        sizes = counts.sum(axis=2)
        gain = np.where(sizes >= types.least, sizes * self.saved[drawn, box, None], 0)
        number, share = np.nonzero(gain > LEAST_GAIN)
        carved = counts[number, share]
        fits = self._both_meet(types, drawn[number], carved)
        of_cell = np.zeros((*self.saved.shape, gain.shape[1]), gain.dtype)
        of_cell[drawn[number], box[number], share] = np.where(fits, gain[number, share], 0)
        cells = of_cell.reshape(len(self.rows), -1)
        chosen = cells.argmax(axis=1)
        some = np.flatnonzero(cells[np.arange(len(cells)), chosen] > LEAST_GAIN)
        box_of, share_of = np.divmod(chosen, gain.shape[1])
        wanted = np.zeros((len(cells), types.count), np.int64)
        wanted[some] = self._weighed(types, some, box_of[some])[np.arange(len(some)), share_of[some]]
        return self._drawn_rows(types, box_of, wanted, rng)

    def _both_meet(self, types: RowTypes, drawn: Ints, carved: Ints) -> Bools:
        """(n,) whether rows of each type (n, types), carved out of classes (n,), and what they leave meet all."""
        kinds = (types.of[self.rows][..., None] == np.arange(types.count)) & self.there[..., None]
        rest = kinds.sum(axis=1)[drawn] - carved
        fits: Bools = rest.sum(axis=1) >= types.least
        fits[fits] = types.meet(carved[fits])
        fits[fits] = types.meet(rest[fits])
        return fits

    def _weighed(self, types: RowTypes, drawn: Ints, box: Ints) -> Ints:
        """(n, shares, types) how many rows of each type are weighed, of some boxes (n,) of classes (n,)."""
        by_type = self.by_type[drawn, box]
        ratio: Floats = np.sort(by_type / types.weights, axis=1)
        cap = ratio[:, np.unique(((types.count - 1) * SHARES).astype(np.int64))]
        most = np.floor(cap[..., None] * types.weights + 1e-9).astype(np.int64)
        return np.minimum(by_type[:, None, :], most)

    def _drawn_rows(self, types: RowTypes, box: Ints, wanted: Ints, rng: np.random.Generator) -> Bools:
        """(classes, width) rows of a box (classes,), drawn at random: as many of each type as `wanted` (classes, types)
        says."""
        each = np.arange(len(box))
        inside = self.inside[each, :, box]
        kind = np.where(inside, types.of[self.rows], types.count)
        order = np.argsort(kind + rng.random(kind.shape), axis=1)
        arranged = np.take_along_axis(kind, order, 1)
        by_type = np.concatenate((self.by_type[each, box], np.zeros((len(box), 1), np.int64)), axis=1)
        first = np.cumsum(by_type, axis=1) - by_type
        rank = np.arange(kind.shape[1]) - np.take_along_axis(first, arranged, 1)
        most = np.concatenate((wanted, np.zeros((len(box), 1), np.int64)), axis=1)
        taken = np.zeros(kind.shape, np.bool_)
        np.put_along_axis(taken, order, rank < np.take_along_axis(most, arranged, 1), 1)
        return taken


def _inside(there: Bools, axes: list[list[Places]]) -> Bools:
    """(classes, width, boxes) which rows lie in which boxes, given of each axis the places of rows (classes, width),
    and the first and the last place in each box (classes, boxes). Some classes at a time, so that what is compared
    stays near the processor; and boxes are the last axis, as most classes have fewer rows than boxes."""
    inside = np.repeat(there[..., None], BOXES, axis=2)
    step = max(NEAR_CELLS // max(there.shape[1] * BOXES, 1), 1)
    for begin in range(0, len(there), step):
        some = slice(begin, begin + step)
        part = inside[some]
        compared = np.empty_like(part)
        for place, first, last in axes:
            part &= np.greater_equal(place[some, :, None], first[some, None], out=compared)
            part &= np.less_equal(place[some, :, None], last[some, None], out=compared)
    return inside


def _narrow(*places: Places) -> list[Places]:
    """Places of one axis in few bytes: they are compared many times. Positions of numbers stay as they are."""
    if places[0].dtype.kind == "f":
        return list(places)
    kind = np.int16 if max(int(each.max(initial=0)) for each in places) < 1 << 15 else np.int32
    return [each.astype(kind) for each in places]


POOL_ROWS = 1 << 14
"""Rows of pools that are worked on together, about."""
POOL_CLASSES = (3, 2, 4, 3)
"""Classes in a pool, for each of the times that pools are made in a pass."""
MORE_POOL_CLASSES = (5, 3, 6)
"""Classes in a pool of the further rounds, where k alone is required and is at least `LARGE_K`; fewer take less
time."""
LARGE_K = 20
NEAR_CLASSES = 12
"""How many of the classes near a class are asked."""
REORDERING = 0.05
"""How far chance reorders them, in shares of the mean rise of the NCP by a union."""
UNIONS_AT_ONCE = 1 << 20
"""Unions of two classes that are worked on at once."""
WEIGHED_FOR_EACH = 1 << 6
"""Where there are more classes than so many times `NEAR_CLASSES`, only so many are weighed for each: those whose
middles are nearest, or hardly farther."""
FARTHER_SHARE = 0.5
"""By this share of its distance, the last of them may be farther than one that is left out."""


def recarved(block: Block, types: RowTypes, labels: Ints, first: bool, resources: Resources) -> Ints:
    """(rows,) labels after one pass of carving; in the `first`, every class is carved before it is in any pool."""
    if first and not resources.deadline.passed:
        every = np.arange(len(labels))
        labels = carve(block, types, every, np.unique(labels, return_inverse=True)[1], resources.rng)
    for size in POOL_CLASSES + (MORE_POOL_CLASSES if types.alike and types.k >= LARGE_K else ()):
        if not resources.deadline.passed:
            around = partners(block, block.classes(labels), size, resources.rng)
            labels = recarve(block, types, labels, around, size, resources)
    return labels


def partners(block: Block, classes: BlockClasses, size: int, rng: np.random.Generator) -> PoolNeighbours:
    """Classes drawn by what they lose, enough for every other one to be in a pool of `size`, and for each those whose
    union with it raises the NCP least, but for chance; as rows, one of each class."""
    lost = classes.ncp
    if not lost.any():
        return PoolNeighbours(classes.order[:0], np.empty((0, 1), np.int64))
    drawn = rng.choice(classes.count, max(classes.count // (2 * size), 1), p=lost / lost.sum())
    close = _close(block, classes, drawn)
    step = max(UNIONS_AT_ONCE // close.shape[1], 1)
    parts = [slice(begin, begin + step) for begin in range(0, len(drawn), step)]
    near = [_nearest(block, classes, drawn[part], close if len(close) == 1 else close[part], rng) for part in parts]
    first = classes.order[classes.starts[:-1]]
    return PoolNeighbours(first[drawn], first[np.concatenate(near)])


def _close(block: Block, classes: BlockClasses, drawn: Ints) -> Ints:
    """(drawn or 1, close) the classes that are weighed for each that is drawn: all, or, of many, those whose boxes have
    their middles nearest. Others lose more in a union, but where a hierarchy makes far apart cost no more than near."""
    if classes.count <= WEIGHED_FOR_EACH * NEAR_CLASSES:
        return np.arange(classes.count)[None]
    from scipy.spatial import cKDTree  # takes half a second, which no release without refinement should wait for

    ends = zip(block.measure.axes, classes.low, classes.high, strict=True)
    middles = np.stack([axis.line(low) + axis.line(high) for axis, low, high in ends], axis=1)
    return np.asarray(cKDTree(middles).query(middles[drawn], WEIGHED_FOR_EACH, eps=FARTHER_SHARE)[1], np.int64)


def _nearest(block: Block, classes: BlockClasses, drawn: Ints, close: Ints, rng: np.random.Generator) -> Ints:
    """(drawn, near) those of the classes (drawn or 1, close) whose union with each that is drawn raises the NCP least;
    its own may be among them."""
    low = [np.minimum(end[drawn, None], end[close]) for end in classes.low]
    high = [np.maximum(end[drawn, None], end[close]) for end in classes.high]
    rise = block.measure.cost(low, high) * (classes.sizes[drawn, None] + classes.sizes[close]) - classes.ncp[close]
    rise -= classes.ncp[drawn, None]
    rise += rng.gumbel(size=rise.shape) * (REORDERING * np.abs(rise).mean(axis=1, keepdims=True))
    return least_of(rise, close, min(NEAR_CLASSES, close.shape[1]))


def recarve(
    block: Block, types: RowTypes, labels: Ints, around: PoolNeighbours, size: int, resources: Resources
) -> Ints:
    """(rows,) labels once pools of up to `size` classes around rows have been carved anew where that loses less.

    Pools are worked on in batches; one that begins after the deadline changes nothing.
    """
    classes = block.classes(labels)
    number = numbers_of(classes)
    pool = pools(classes, number, around, size)[number]
    names, of, counts = np.unique(pool, return_inverse=True, return_counts=True)
    counts[names < 0] = 0
    batch = np.cumsum(counts) // POOL_ROWS
    batch[names < 0] = -1
    chosen = [np.flatnonzero(batch[of] == each) for each in range(int(batch.max(initial=-1)) + 1)]
    chosen = [rows for rows in chosen if len(rows)]
    seeds = resources.rng.spawn(len(chosen))
    after, count = labels.copy(), int(labels.max()) + 1

    def work(index: int) -> Ints:
        rows = chosen[index]
        if resources.deadline.passed:
            return labels[rows]
        return _better(block, types, rows, of[rows], labels[rows], seeds[index])

    for rows, new in zip(chosen, resources.run(work, range(len(chosen))), strict=True):
        changed = new < 0
        after[rows[changed]] = count - 1 - new[changed]
        count += int(-new.min(initial=0))
    return after


def _better(block: Block, types: RowTypes, rows: Ints, pool: Ints, labels: Ints, rng: np.random.Generator) -> Ints:
    """(rows,) labels once each pool has been carved; what is new is numbered from -1 down."""
    names, of = np.unique(pool, return_inverse=True)
    carved = carve(block, types, rows, of, rng)
    kept, new = np.unique(labels, return_inverse=True)[1], np.unique(carved, return_inverse=True)[1]
    lost = [_lost(block, rows, each, of, len(names)) for each in (kept, new)]
    return np.where((lost[1] < lost[0] - LEAST_GAIN)[of], -1 - new, labels)


def _lost(block: Block, rows: Ints, classes: Ints, pool: Ints, count: int) -> Ints:
    """(pools,) weighted NCP of the classes (rows,) in each pool."""
    of = np.empty(int(classes.max()) + 1, np.int64)
    of[classes] = pool
    placed = np.zeros(block.measure.size, np.int64)
    placed[rows] = classes
    return np.bincount(of, block.classes(placed, rows).ncp, count)
