"""Rows that change places between neighbouring classes, by chance: annealing in sweeps.

In a sweep, classes are paired with near ones. Of a pair, every exchange of one row for one row is weighed, and every
move of one row where the class it leaves stays large enough. One of them is drawn by what it saves: the best, but for
Gumbel noise of the temperature, which makes it a draw from the Gibbs distribution; to leave the pair as it is, is one
of the choices. The temperature falls from sweep to sweep, so that at first much is tried that costs something, and at
last nothing is done that does not pay.

The loss is whatever `Losses` weighs: the weighted NCP here, sums of squares where values are microaggregated. What a
class loses of the NCP without one of its rows follows from the two lowest and the two highest places on each axis: a
box only shrinks if that row lies alone at an end, and then to the second from there. So all exchanges of a pair are
weighed from its ends at once, and all pairs side by side; no class is in two pairs."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.deadline import Resources
from anonymize.algorithms.refining import Places, Singles
from anonymize.algorithms.refining.block import CARE, LEAST_GAIN, Block, Effort, Met, partners
from anonymize.classes import Bools, Integers, Ints, concatenated_ranges
from anonymize.records import dataclass

FIRST_ASKED = 2.0
"""The power of a random number that says which of them a class asks: how much more often the first than the last."""
MATCHINGS = 3
"""Rounds in which classes look for a partner."""
WEIGHED = 12
"""Rows of a class that are weighed in a sweep, at most. Where it has more, half of them are those whose leaving shrinks
its box most, for of an exchange that saves anything one row is such; the other half are drawn at random, as all are
under models beyond a size, which refuse most of the best changes."""
MOST_EXCHANGED = 3
"""Classes of more rows than this many times k are left as they are."""
NOISE = (8, 1 << 20)
"""Numbers of Gumbel noise, from which those of a batch are a run that begins at random: so many for each exchange that
a sweep weighs, and so many at most."""


def exchange(
    block: Block,
    labels: Ints,
    sweeps: int,
    heat: tuple[float, float],
    resources: Resources,
    effort: Effort = CARE,
) -> Ints:
    """(rows,) labels after some sweeps, or as many as there is time for; the NCP may be higher than before.

    `heat`: the temperature of the first and of the last sweep but one, in shares of the median penalty of a row; of
    the last it is 0. Classes keep at least k rows, and every class still meets the requirements.
    """
    classes = block.classes(labels)
    used = np.flatnonzero((classes.sizes <= MOST_EXCHANGED * block.k) & (classes.ncp > 0))
    if len(used) < 2:
        return labels
    boxes, free = _Boxes.of(block), block.met is None
    room = int(classes.sizes[used].max())
    state = ClassRows.of(boxes, classes, used, room + (1 if room > block.k else 0))
    unit = float(np.median(classes.cost[used]))
    noise = state.noise(resources.rng)
    near, fresh = np.empty((0, 0), np.int64), effort.fresh_after(len(used), free)
    for sweep in range(sweeps):
        if resources.deadline.passed:
            break
        if sweep % fresh == 0:
            near = partners(block.measure, *boxes.ends(state), state.sizes, free, effort)
        pairs = matched(near, resources.rng)
        share = sweep / max(sweeps - 2, 1)
        temperature = 0.0 if sweep + 1 >= sweeps else unit * heat[0] * (heat[1] / heat[0]) ** share
        state.sweep(pairs, np.full(len(pairs), temperature, np.float32), noise, resources, effort.at_once)
    after = labels.copy()
    there = state.there
    after[state.rows[there]] = np.repeat(classes.names[used], state.sizes)
    return after


def matched(near: Ints, rng: np.random.Generator, others: int = 1) -> Ints:
    """(pairs, 2) classes that are paired, each with one of its near ones (classes, near), and none twice; with more
    `others` (triples, 3), and so on.

    In rounds, every class that is free asks some drawn at random; of those who ask, or are asked by, one class, the
    request of the lowest lot is granted (Luby's matching).
    """
    classes = len(near)
    free, made = np.ones(classes, np.bool_), []
    for _ in range(MATCHINGS):
        asking = np.flatnonzero(free)[:, None]
        which = (rng.random((len(asking), others)) ** FIRST_ASKED * near.shape[1]).astype(np.int64)
        some = np.concatenate((asking, near[asking, which]), axis=1)
        differ = (np.diff(np.sort(some, axis=1), axis=1) != 0).all(axis=1)
        some = some[free[some].all(axis=1) & differ]
        lot = rng.permutation(len(some))
        lowest = np.full(classes, len(some))
        for column in some.T:
            np.minimum.at(lowest, column, lot)
        made.append(some[(lowest[some] == lot[:, None]).all(axis=1)])
        free[made[-1]] = False
    return np.concatenate(made)


Changes = tuple[Ints, Ints, Ints, Ints]
"""(changes,) classes, other classes, and which place of the one's rows, and of the other's, goes; -1 for none."""


class Losses(Protocol):
    """What exchanges are weighed by."""

    @property
    def k(self) -> int:
        """The fewest rows of a class."""

    @property
    def met(self) -> Met | None:
        """Which classes meet the other requirements; None where nothing is."""

    def weighed(self, members: ClassRows, pairs: Ints, rng: np.random.Generator) -> tuple[Singles, Ints, Ints]:
        """(weighed, weighed, pairs) by how much each exchange between two classes raises the loss, inf where it cannot
        be; and (weighed, pairs) the places of the rows of the one class, and of the other, that go, -1 for none."""


class ClassList(Protocol):
    """Classes class by class, as `BlockClasses` has them."""

    @property
    def order(self) -> Integers:
        """(rows,)"""

    @property
    def starts(self) -> Ints:
        """(classes + 1,)"""

    @property
    def sizes(self) -> Ints:
        """(classes,)"""


@dataclass
class ClassRows:
    """The rows of some classes, which change. `rows` (classes, width): as many as `sizes` (classes,) says; the places
    after them are padding, with a row of no meaning."""

    losses: Losses
    rows: NDArray[np.int64]
    sizes: Ints

    @classmethod
    def of(cls, losses: Losses, classes: ClassList, used: Ints, width: int) -> ClassRows:
        """The rows of some of the classes."""
        sizes = classes.sizes[used].copy()
        rows = np.zeros((len(used), width), np.int64)
        there = np.arange(width) < sizes[:, None]
        rows[there] = classes.order[concatenated_ranges(classes.starts[used], sizes)]
        return cls(losses, rows, sizes)

    @property
    def there(self) -> Bools:
        """(classes, width) which places hold a row."""
        return np.arange(self.rows.shape[1]) < self.sizes[:, None]

    def noise(self, rng: np.random.Generator) -> Singles:
        """Gumbel noise for sweeps (see `NOISE`)."""
        weighed = len(self.sizes) * (min(int(self.sizes.max()), WEIGHED) + 1) ** 2 // 2
        return rng.gumbel(size=min(NOISE[0] * weighed, NOISE[1])).astype(np.float32)

    def sweep(self, pairs: Ints, temperature: Singles, noise: Singles, resources: Resources, at_once: int) -> None:
        """Makes the changes of one sweep, given the temperature of each pair, so many of which are weighed at once."""
        batches = self._batches(pairs, at_once)
        rngs = resources.rng.spawn(len(batches))

        def work(index: int) -> Changes:
            return self._changes(pairs[batches[index]], temperature[batches[index]], noise, rngs[index])

        for changes in list(resources.run(work, range(len(batches)))):
            self._make(*changes)

    def _batches(self, pairs: Ints, at_once: int) -> list[Ints]:
        """The numbers of pairs by the rows of the larger class, those of two classes of k rows by themselves."""
        large = self.sizes[pairs].max(axis=1)
        by_size, large = np.argsort(large, kind="stable"), np.sort(large)
        begin, least, batches = 0, int(np.searchsorted(large, self.losses.k, side="right")), []
        while begin < len(pairs):
            weighed = min(int(large[begin]), WEIGHED) + 1
            end = min(begin + max(at_once // weighed**2, 1), least if begin < least else len(pairs))
            batches.append(by_size[begin:end])
            begin = end
        return batches

    def _changes(self, pairs: Ints, temperature: Singles, noise: Singles, rng: np.random.Generator) -> Changes:
        """The changes that are drawn of some pairs."""
        change, one, other = self.losses.weighed(self, pairs, rng)
        flat = change.reshape(-1, len(pairs))
        none = np.full(len(pairs), np.float32(-LEAST_GAIN))
        if temperature.any():
            begin = int(rng.integers(0, len(noise) - flat.size)) if flat.size < len(noise) else 0
            flat -= temperature * np.resize(noise[begin : begin + flat.size], flat.shape)
            none = -temperature * rng.gumbel(size=len(pairs)).astype(np.float32)
        least = flat.min(axis=0)
        yes = np.flatnonzero(least < none)
        chosen = (flat[:, yes] == least[yes]).argmax(axis=0)
        out, back = np.divmod(chosen, change.shape[1])
        changes = (pairs[yes, 0], pairs[yes, 1], one[out, yes], other[back, yes])
        if self.losses.met is None or not len(yes):
            return changes
        met = self._meet(*changes)
        first, second, out, back = (each[met] for each in changes)
        return first, second, out, back

    def _meet(self, one: Ints, other: Ints, out: Ints, back: Ints) -> Bools:
        """(changes,) whether both classes meet every requirement once the change is made."""
        assert self.losses.met is not None
        both = np.stack((one, other), axis=1).ravel()
        trial = ClassRows(self.losses, self.rows[both], self.sizes[both])
        evens = np.arange(0, 2 * len(one), 2)
        trial._make(evens, evens + 1, out, back)
        there = trial.there
        met = self.losses.met(trial.rows[there], np.repeat(np.arange(len(trial.sizes)), trial.sizes), len(trial.sizes))
        return np.asarray(met.reshape(-1, 2).all(axis=1))

    def _make(self, one: Ints, other: Ints, out: Ints, back: Ints) -> None:
        """Makes changes of different classes: what goes only one way leaves its place to the last of its class."""
        both = (out >= 0) & (back >= 0)
        a, b, i, j = (each[both] for each in (one, other, out, back))
        self.rows[a, i], self.rows[b, j] = self.rows[b, j], self.rows[a, i]
        for source, to, place, gone in ((one, other, out, back < 0), (other, one, back, out < 0)):
            some = gone & (place >= 0)
            a, b, i = source[some], to[some], place[some]
            self.rows[b, self.sizes[b]] = self.rows[a, i]
            self.rows[a, i] = self.rows[a, self.sizes[a] - 1]
            self.sizes[b] += 1
            self.sizes[a] -= 1


@dataclass(frozen=True)
class _Boxes:
    """What exchanges change of the weighted NCP. `bounds`: the lowest and the highest place on each axis."""

    block: Block
    bounds: list[tuple[Any, Any]]

    @classmethod
    def of(cls, block: Block) -> _Boxes:
        """The boxes of the rows of a block."""
        return cls(block, [(axis.places.min(), axis.places.max()) for axis in block.measure.axes])

    @property
    def k(self) -> int:
        return self.block.k

    @property
    def met(self) -> Met | None:
        return self.block.met

    def ends(self, members: ClassRows) -> tuple[list[Places], list[Places]]:
        """The ends of all classes, (classes,) on each axis."""
        rows = np.ascontiguousarray(np.where(members.there, members.rows, members.rows[:, :1]).T)
        places = [axis.places[rows] for axis in self.block.measure.axes]
        return [own.min(axis=0) for own in places], [own.max(axis=0) for own in places]

    def weighed(self, members: ClassRows, pairs: Ints, rng: np.random.Generator) -> tuple[Singles, Ints, Ints]:
        room = int(members.sizes[pairs].max())
        one, other = (_Side.of(self, members, pairs[:, side], room, rng) for side in (0, 1))
        return _weighed(self.block, one, other), one.place, other.place


@dataclass(frozen=True)
class _Side:
    """One class of each of some pairs, and the rows of it that are weighed; the last of them may be none.

    Pairs are the last axis, so that all that is done to one cell of them is done to a run of memory. `place` (weighed,
    pairs): where each stands in its class, -1 for none. `sizes` (pairs,); `full` (pairs,): whether it can take no more.
    `free`: whether there is padding, or none, among what is weighed. For each axis: `low`, `high` (weighed, pairs): the
    ends of the box without the row; `own` (rows weighed, pairs): where the row lies, none left out; `ends` (2, pairs):
    of the box.
    """

    place: Ints
    sizes: Ints
    full: Bools
    free: bool
    low: list[Places]
    high: list[Places]
    own: list[Places]
    ends: list[Places]

    @classmethod
    def of(cls, boxes: _Boxes, members: ClassRows, classes: Ints, room: int, rng: np.random.Generator) -> _Side:
        """Classes of at most `room` rows; where all have k of them, none is not weighed."""
        rows, sizes = np.ascontiguousarray(members.rows[classes, :room].T), members.sizes[classes]
        filled = np.arange(room)[:, None] < sizes
        place = np.where(filled, np.arange(room)[:, None], -2)
        known = None if (sizes == room).all() else filled
        measure, free = boxes.block.measure, room > boxes.k
        axes = [
            _ends(axis.places[rows], known, bounds) for axis, bounds in zip(measure.axes, boxes.bounds, strict=True)
        ]
        low, high, own, ends = ([axis[part] for axis in axes] for part in range(4))
        if room > WEIGHED:
            place = drawn(None if boxes.met else measure.cost(low, high), filled, rng)
            low, high, own = ([np.take_along_axis(each, place, 0) for each in some] for some in (low, high, own))
        if free:
            place = np.append(place, np.full((1, len(classes)), -1), 0)
            low = [np.append(each, end[:1], 0) for each, end in zip(low, ends, strict=True)]
            high = [np.append(each, end[1:], 0) for each, end in zip(high, ends, strict=True)]
        return cls(place, sizes, sizes >= members.rows.shape[1], free, low, high, own, ends)


def drawn(left: Singles | None, filled: Bools, rng: np.random.Generator) -> Ints:
    """(WEIGHED, pairs) places of the rows of each class that are weighed: first those without which it costs least,
    `left` (room, pairs), equal ones by chance, then some at random; all at random without `left`. -2 where a class has
    no more rows."""
    shrinking = 0 if left is None else WEIGHED // 2
    others: Ints = (rng.random((WEIGHED - shrinking, filled.shape[1])) * filled.sum(axis=0)).astype(np.int64)
    if left is None:
        return others
    left = np.where(filled, left + np.float32(LEAST_GAIN) * rng.random(left.shape, np.float32), np.inf)
    first = np.argpartition(left, shrinking - 1, axis=0)[:shrinking]
    return np.concatenate((np.where(np.take_along_axis(filled, first, 0), first, -2), others))


def _ends(places: Places, filled: Bools | None, bounds: tuple[Any, Any]) -> tuple[Places, Places, Places, Places]:
    """`low`, `high`, `own` and `ends` of one axis, see `_Side`, of `places` (room, pairs), none left out; a low end
    that is not there is the highest place of all, and a high end the lowest, so that whatever comes has the say."""
    least, most = bounds
    lows, highs = (places, places) if filled is None else (np.where(filled, places, x) for x in (most, least))
    first, second = _two(lows, np.minimum, np.maximum, most)
    last, before = _two(highs, np.maximum, np.minimum, least)
    low, high = np.where(places == first, second, first), np.where(places == last, before, last)
    return low, high, places, np.stack((first, last))


def _two(places: Places, nearer: np.ufunc, farther: np.ufunc, none: Any) -> tuple[Places, Places]:
    """(pairs,) the place at one end and the next to it of each (room, pairs); `none` where there is no other."""
    first, second = places[0].copy(), np.full_like(places[0], none)
    for each in places[1:]:
        nearer(second, farther(first, each), out=second)
        nearer(first, each, out=first)
    return first, second


def _weighed(block: Block, one: _Side, other: _Side) -> Singles:
    """(weighed, weighed, pairs) by how much each change raises the NCP; inf where it cannot be."""
    change = _lost(block, one, other)
    change += np.swapaxes(_lost(block, other, one), 0, 1)
    for side in (one, other):
        change -= block.measure.cost(*zip(*side.ends, strict=True)) * side.sizes.astype(np.float32)
    if one.free:
        places, sizes = (one.place, other.place), (one.sizes, other.sizes)
        change[~possible(places, sizes, (one.full, other.full), block.k)] = np.inf
    return change


def possible(places: tuple[Ints, Ints], sizes: tuple[Ints, Ints], full: tuple[Bools, Bools], k: int) -> Bools:
    """(weighed, weighed, pairs) which exchanges there are between the two classes of pairs, the last of either being to
    give no row: the places hold rows, and classes keep k of them and take no more than they can."""
    leaves, comes = places[0][:, None], places[1][None]
    parts: Bools = (leaves > -2) & (comes > -2)
    parts[-1] &= (sizes[1] > k) & ~full[0]
    parts[:, -1] &= (sizes[0] > k) & ~full[1]
    parts[-1, -1] = False
    return parts


def _lost(block: Block, own: _Side, other: _Side) -> Singles:
    """(weighed, weighed, pairs) NCP of a class once a row of its own is gone and one of the other has come.

    On an axis on which all rows of a pair agree, nothing is ever lost, and nothing is worked out, if it rests.
    """
    come = len(other.own[0])
    total = np.zeros((len(own.place), len(other.place), len(own.sizes)), np.float32)
    rows, nothing, stays = total[:, :come], total[:, come:], total[-1]
    work = np.empty(rows.shape, np.float32)
    for number, axis in enumerate(block.measure.axes):
        low, high, came = own.low[number], own.high[number], other.own[number]
        ends = np.concatenate((own.ends[number], other.ends[number]))
        mixed = np.flatnonzero((ends != ends[0]).any(axis=0))
        if 2 * len(mixed) > total.shape[2] or not axis.rests:
            axis.join(rows, low[:, None], high[:, None], came[None], work)
            if other.free:
                nothing += axis.cost(low, high)[:, None]
        elif len(mixed):
            low, high, came = low[:, mixed], high[:, mixed], came[:, mixed]
            rows[..., mixed] += axis.joined(low[:, None], high[:, None], came[None])
            if other.free:
                nothing[..., mixed] += axis.cost(low, high)[:, None]
    sizes = own.sizes.astype(np.float32)
    total *= sizes
    if own.free:
        stays *= (sizes + 1) / sizes
        nothing *= (sizes - 1) / sizes
    return total
