"""Rows that change places between neighbouring classes, by chance: annealing in sweeps.

In a sweep, classes are paired with near ones. Of a pair, every exchange of one row for one row is weighed, and every
move of one row where the class it leaves stays large enough. One of them is drawn by what it saves: the best, but for
Gumbel noise of the temperature, which makes it a draw from the Gibbs distribution; to leave the pair as it is, is one
of the choices. The temperature falls from sweep to sweep, so that at first much is tried that costs something, and at
last nothing is done that does not pay.

What a class loses without one of its rows follows from the two lowest and the two highest places on each axis: a box
only shrinks if that row lies alone at an end, and then to the second from there. So all exchanges of a pair are weighed
from its ends at once, and all pairs side by side; no class is in two pairs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.refining.block import GAIN, Block, BlockClasses
from anonymize.algorithms.refining.measure import Places, Singles
from anonymize.algorithms.refining.regroup import Map
from anonymize.classes import Bools, Ints, concatenated_ranges

NEAR = 12
"""How many classes are near a class."""
FRESH = 8
"""Sweeps after which it is worked out again which these are."""
MATCHINGS = 3
"""Rounds in which classes look for a partner."""
WEIGHED = 12
"""Rows of a class that are weighed in a sweep, at most; drawn at random where it has more."""
LARGEST = 3
"""Classes of more rows than this many times k are left as they are."""
CELLS = 1 << 18
"""Exchanges that are weighed at once."""
NOISE = (8, 1 << 20)
"""Numbers of Gumbel noise, from which those of a batch are a run that begins at random: so many for each exchange that
a sweep weighs, and so many at most."""


def exchange(
    block: Block,
    labels: Ints,
    sweeps: int,
    heat: tuple[float, float],
    rng: np.random.Generator,
    deadline: float = np.inf,
    run: Map = map,
) -> Ints:
    """(rows,) labels after some sweeps, or as many as there is time for; the NCP may be higher than before.

    `heat`: the temperature of the first and of the last sweep but one, in shares of the median NCP of a class; of the
    last it is 0. Classes keep at least k rows, and every class still meets the requirements. `run`: a map, such as an
    executor's.
    """
    classes = block.classes(labels)
    used = np.flatnonzero((classes.sizes <= LARGEST * block.k) & (classes.ncp > 0))
    if len(used) < 2:
        return labels
    state = _Members.of(block, classes, used)
    unit = float(np.median(classes.ncp[used]))
    weighed = len(used) * (min(int(classes.sizes[used].max()), WEIGHED) + 1) ** 2 // 2
    noise = rng.gumbel(size=min(NOISE[0] * weighed, NOISE[1])).astype(np.float32)
    near = np.empty((0, 0), np.int64)
    for sweep in range(sweeps):
        if time.monotonic() >= deadline:
            break
        if sweep % FRESH == 0:
            near = state.near()
        pairs = _matched(near, rng)
        share = sweep / max(sweeps - 2, 1)
        temperature = 0.0 if sweep + 1 >= sweeps else unit * heat[0] * (heat[1] / heat[0]) ** share
        state.sweep(pairs, np.float32(temperature), noise, rng, run)
    after = labels.copy()
    there = state.there
    after[state.rows[there]] = np.repeat(classes.names[used], state.sizes)
    return after


def _matched(near: Ints, rng: np.random.Generator) -> Ints:
    """(pairs, 2) classes that are paired, each with one of its near ones (classes, near), and none twice.

    In rounds, every class that is free asks one drawn at random; of those who ask, or are asked by, one class, the
    request of the lowest lot is granted (Luby's matching).
    """
    classes = len(near)
    free, pairs = np.ones(classes, np.bool_), []
    for _ in range(MATCHINGS):
        asking = np.flatnonzero(free)
        partner = near[asking, rng.integers(0, near.shape[1], len(asking))]
        open_ = free[partner] & (partner != asking)
        asking, partner = asking[open_], partner[open_]
        lot = rng.permutation(len(asking))
        lowest = np.full(classes, len(asking))
        np.minimum.at(lowest, asking, lot)
        np.minimum.at(lowest, partner, lot)
        granted = (lowest[asking] == lot) & (lowest[partner] == lot)
        pairs.append(np.stack((asking[granted], partner[granted]), axis=1))
        free[pairs[-1]] = False
    return np.concatenate(pairs)


Changes = tuple[Ints, Ints, Ints, Ints]
"""(changes,) classes, other classes, and which place of the one's rows, and of the other's, goes; -1 for none."""


@dataclass
class _Members:
    """The rows of some classes, which change. `rows` (classes, width): as many as `sizes` (classes,) says; the places
    after them are padding, with a row of no meaning. `bounds`: the lowest and the highest place on each axis."""

    block: Block
    rows: NDArray[np.int64]
    sizes: Ints
    bounds: list[tuple[Any, Any]]

    @classmethod
    def of(cls, block: Block, classes: BlockClasses, used: Ints) -> _Members:
        """Those of some of the classes, with room for one more row in each, where sizes differ."""
        sizes = classes.sizes[used].copy()
        room = int(sizes.max()) + (1 if sizes.max() > block.k else 0)
        rows = np.zeros((len(used), room), np.int64)
        there = np.arange(room) < sizes[:, None]
        rows[there] = classes.order[concatenated_ranges(classes.starts[used], sizes)]
        return cls(block, rows, sizes, [(axis.places.min(), axis.places.max()) for axis in block.measure.axes])

    @property
    def there(self) -> Bools:
        """(classes, width) which places hold a row."""
        return np.arange(self.rows.shape[1]) < self.sizes[:, None]

    def near(self) -> Ints:
        """(classes, near) the classes whose boxes have their middles nearest, themselves left out.

        Axes become lines: on a hierarchy, from leaf to leaf it is as far as the lowest node above both costs.
        """
        from scipy.spatial import cKDTree  # takes half a second, which no release without refinement should wait for

        there, middles = self.there, []
        for axis in self.block.measure.axes:
            places = axis.places[self.rows]
            low = np.where(there, places, places[:, :1]).min(axis=1)
            high = np.where(there, places, places[:, :1]).max(axis=1)
            middles.append((axis.line(low) + axis.line(high)) / 2)
        centres = np.stack(middles, axis=1)
        return np.asarray(cKDTree(centres).query(centres, min(NEAR + 1, len(centres)))[1][:, 1:], np.int64)

    def sweep(self, pairs: Ints, temperature: np.float32, noise: Singles, rng: np.random.Generator, run: Map) -> None:
        """Makes the changes of one sweep."""
        batches = self._batches(pairs)
        rngs = rng.spawn(len(batches))

        def work(index: int) -> Changes:
            return self._changes(batches[index], temperature, noise, rngs[index])

        for changes in list(run(work, range(len(batches)))):
            self._make(*changes)

    def _batches(self, pairs: Ints) -> list[Ints]:
        """The pairs by the rows of the larger class, those of two classes of k rows by themselves."""
        large = self.sizes[pairs].max(axis=1)
        pairs, large = pairs[np.argsort(large, kind="stable")], np.sort(large)
        begin, least, batches = 0, int(np.searchsorted(large, self.block.k, side="right")), []
        while begin < len(pairs):
            weighed = min(int(large[begin]), WEIGHED) + 1
            end = min(begin + max(CELLS // weighed**2, 1), least if begin < least else len(pairs))
            batches.append(pairs[begin:end])
            begin = end
        return batches

    def _changes(self, pairs: Ints, temperature: np.float32, noise: Singles, rng: np.random.Generator) -> Changes:
        """The changes that are drawn of some pairs."""
        room = int(self.sizes[pairs].max())
        one, other = (_Side.of(self, pairs[:, side], room, rng) for side in (0, 1))
        change = _weighed(self.block, one, other)
        flat = change.reshape(len(pairs), -1)
        none = np.full(len(pairs), np.float32(-GAIN))
        if temperature > 0:
            begin = int(rng.integers(0, len(noise) - flat.size)) if flat.size < len(noise) else 0
            flat -= temperature * np.resize(noise[begin : begin + flat.size], flat.shape)
            none = -temperature * rng.gumbel(size=len(pairs)).astype(np.float32)
        chosen = flat.argmin(axis=1)
        yes = np.flatnonzero(flat[np.arange(len(pairs)), chosen] < none)
        out, back = np.divmod(chosen[yes], change.shape[2])
        changes = (pairs[yes, 0], pairs[yes, 1], one.place[yes, out], other.place[yes, back])
        if self.block.met is None or not len(yes):
            return changes
        met = self._meet(*changes)
        first, second, out, back = (each[met] for each in changes)
        return first, second, out, back

    def _meet(self, one: Ints, other: Ints, out: Ints, back: Ints) -> Bools:
        """(changes,) whether both classes meet every requirement once the change is made."""
        assert self.block.met is not None
        both = np.stack((one, other), axis=1).ravel()
        trial = _Members(self.block, self.rows[both], self.sizes[both], self.bounds)
        evens = np.arange(0, 2 * len(one), 2)
        trial._make(evens, evens + 1, out, back)
        there = trial.there
        met = self.block.met(trial.rows[there], np.repeat(np.arange(len(trial.sizes)), trial.sizes), len(trial.sizes))
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
class _Side:
    """One class of each of some pairs, and the rows of it that are weighed; the last of them may be none.

    `place` (pairs, weighed): where each stands in its class, -1 for none. `sizes` (pairs,); `full` (pairs,): whether it
    can take no more. `free`: whether there is padding, or none, among what is weighed. For each axis: `low`, `high`
    (pairs, weighed): the ends of the box without the row; `left`, `right` (pairs, weighed): where the row lies, or what
    joins no box; `ends` (2, pairs): of the box.
    """

    place: Ints
    sizes: Ints
    full: Bools
    free: bool
    low: list[Places]
    high: list[Places]
    left: list[Places]
    right: list[Places]
    ends: list[Places]

    @classmethod
    def of(cls, members: _Members, classes: Ints, room: int, rng: np.random.Generator) -> _Side:
        """Classes of at most `room` rows; where all have k of them, none is not weighed."""
        rows, sizes = members.rows[classes, :room], members.sizes[classes]
        there = np.arange(room) < sizes[:, None]
        place = np.where(there, np.arange(room), -2)
        if room > WEIGHED:
            place = (rng.random((len(rows), WEIGHED)) * sizes[:, None]).astype(np.int64)
        free = room > members.block.k
        if free:
            place = np.concatenate((place, np.full((len(rows), 1), -1)), axis=1)
        ends: tuple[list[Places], ...] = ([], [], [], [], [])
        for axis, bounds in zip(members.block.measure.axes, members.bounds, strict=True):
            for each, made in zip(ends, _ends(axis.places[rows], there, place, bounds), strict=True):
                each.append(made)
        return cls(place, sizes, sizes >= members.rows.shape[1], free, *ends)


def _ends(
    places: Places, there: Bools, place: Ints, bounds: tuple[Any, Any]
) -> tuple[Places, Places, Places, Places, Places]:
    """`low`, `high`, `left`, `right` and `ends` of one axis, see `_Side`; a low end that is not there is the highest
    place of all, and a high end the lowest, so that whatever comes has the say."""
    least, most = bounds
    none = place < 0
    own = np.take_along_axis(places, np.maximum(place, 0), 1)
    first, second = _two(np.where(there, places, most))
    last, before = _two(-np.where(there, places, least))
    low = np.where((own == first) & ~none, second, first)
    high = np.where((own == -last) & ~none, -before, -last)
    ends = np.stack((first[:, 0], -last[:, 0]))
    return low, high, np.where(none, most, own), np.where(none, least, own), ends


def _two(places: Places) -> tuple[Places, Places]:
    """(pairs, 1) the lowest and the second lowest of each; of one place, it twice."""
    two = np.partition(places, 1, axis=1) if places.shape[1] > 1 else np.repeat(places, 2, axis=1)
    return two[:, 0:1], two[:, 1:2]


def _weighed(block: Block, one: _Side, other: _Side) -> Singles:
    """(pairs, weighed, weighed) by how much each change raises the NCP; inf where it cannot be."""
    change = _lost(block, one, other)
    change += np.swapaxes(_lost(block, other, one), 1, 2)
    before = sum(block.measure.cost(*zip(*side.ends, strict=True)) * side.sizes for side in (one, other))
    change -= np.asarray(before, np.float32)[:, None, None]
    if one.free:
        leaves, comes = one.place[:, :, None], other.place[:, None, :]
        parts = (leaves > -2) & (comes > -2)
        parts &= (leaves >= 0) | ((other.sizes > block.k) & ~one.full)[:, None, None]
        parts &= (comes >= 0) | ((one.sizes > block.k) & ~other.full)[:, None, None]
        parts[:, -1, -1] = False
        change[~parts] = np.inf
    return change


def _lost(block: Block, own: _Side, other: _Side) -> Singles:
    """(pairs, weighed, weighed) NCP of a class once a row of its own is gone and one of the other has come.

    On an axis on which all rows of a pair agree, nothing is ever lost, and nothing is worked out, if it rests.
    """
    total = np.zeros((*own.place.shape, other.place.shape[1]), np.float32)
    for number, axis in enumerate(block.measure.axes):
        ends = np.concatenate((own.ends[number], other.ends[number]))
        mixed = np.flatnonzero((ends != ends[0]).any(axis=0))
        some = slice(None) if 2 * len(mixed) > len(total) or not axis.rests else mixed
        low, high = own.low[number][some, :, None], own.high[number][some, :, None]
        lows = np.minimum(low, other.left[number][some, None, :])
        highs = np.maximum(high, other.right[number][some, None, :])
        total[some] += axis.cost(lows, np.maximum(highs, lows, out=highs))
    if own.free:
        came = (other.place != -1)[:, None, :].astype(np.float32) - (own.place != -1)[:, :, None]
        total *= own.sizes[:, None, None].astype(np.float32) + came
    else:
        total *= own.sizes[:, None, None].astype(np.float32)
    return total
