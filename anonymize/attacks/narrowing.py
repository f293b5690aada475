"""Attackers who narrow what a row shows: by its position, or by narrow classes inside the wide ones of a release that
was made in rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from anonymize.attacks.methods import NO_CELLS, Capabilities, Success
from anonymize.attacks.scene import Scene, ShownRows
from anonymize.classes import Bools, Floats, Ints, mixed_radix, run_starts
from anonymize.domain import LeafSets
from anonymize.records import dataclass

CODE_PAIRS = 1 << 23
"""Pairs of a row and a code that are looked at together."""


def _attacked(scene: Scene, spans: tuple[Ints, Ints], column: int) -> Ints:
    """The people whose cell is attacked, as many as there are targets."""
    row_of = scene.everybody.row_of
    assert row_of is not None
    wide = (spans[0] < spans[1])[row_of] & (row_of >= 0) & (scene.everybody.codes[:, column] >= 0)
    people = np.flatnonzero(wide)
    return people[scene.drawn(len(people), RowOrder.ID)]


def narrowed(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """(rows,) what each span can be if the column was sorted; the spans as they are, if it was not."""
    for backwards in (False, True):
        low, high = (ends[::-1] if backwards else ends for ends in (first, last))
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        if (low <= high).all():
            return (low[::-1], high[::-1]) if backwards else (low, high)
    return first, last


def _frequent(shares: Floats, first: Ints, last: Ints, cells: LeafSets) -> Ints:
    """(rows,) the most frequent code within each span that the cell stands for; in a tie, the lowest."""
    codes, step = np.arange(len(shares)), max(CODE_PAIRS // max(len(shares), 1), 1)
    frequent = np.zeros(len(first), np.int64)
    for some in (slice(start, start + step) for start in range(0, len(first), step)):
        inside = (first[some, None] <= codes) & (codes <= last[some, None])
        inside &= cells.of_cells(some).holding(codes[None, :])
        frequent[some] = np.where(inside, shares, -1.0).argmax(axis=1)
    return frequent


class RowOrder:
    """Row order: narrows what each row shows by its position.

    Knows: that the original was sorted by some column, upwards or downwards, and that the release kept its order.
    Does: for each quasi-identifier, computes the running maximum of the lower ends and, from the end, the running
    minimum of the upper ends. If these nowhere contradict each other in one direction, the column was sorted, and they
    bound each cell. Then guesses the most frequent value within these bounds.
    Success: the value is that of the person whom the row is about. Cells that show one value are not attacked. If
    nothing is narrowed, or the rows are sorted by what they show, nothing is guessed, and the excess is 0, without an
    interval. If something is narrowed but it is not known whom rows are about, it could not be measured.
    Baseline: the most frequent value within what the cell shows. Control: none, as people who are not in the release
    have no place in it.
    Figures: how many cells are narrowed.
    Limits: columns that are sorted only within runs of others are not found; `anonymize audit` looks for these.
    Remedy: sort the rows by what they show (`output: {row_order: sorted}`).
    Source: the running bounds of `anonymize.verify.tighten`, written anew.
    """

    ID = "order"
    KNOWS = "that the original was sorted"
    CAPABILITIES = Capabilities(invented="reads the order of the original's rows, which invented rows do not have")

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each quasi-identifier."""
        release, row_of = scene.release, scene.everybody.row_of
        successes = []
        for column, name in enumerate(scene.attributes):
            spans = release.first[release.class_of, column], release.last[release.class_of, column]
            narrow = narrowed(*spans)
            cells = int(np.count_nonzero((spans[0] != narrow[0]) | (spans[1] != narrow[1])))
            if cells and scene.in_order():
                narrow, cells = spans, 0
            figures = {"narrowed": cells}
            if not cells:
                nothing = np.zeros(release.rows)
                successes.append(Success(nothing, nothing, about=name, complete=True, figures=figures))
            elif row_of is None:
                successes.append(Success(np.zeros(0), np.zeros(0), about=name, figures=figures))
            else:
                people = _attacked(scene, spans, column)
                rows, truth = row_of[people], scene.everybody.codes[people, column]
                shares = release.code_shares(column, scene.sizes[column])
                leaves = release.cells(column).of_cells(release.class_of[rows])
                hits, before = (
                    _frequent(shares, low[rows], high[rows], leaves) == truth for low, high in (narrow, spans)
                )
                successes.append(Success(hits.astype(float), before.astype(float), about=name, figures=figures))
        return successes


# --- refinement -------------------------------------------------------------------------------------------------------
# How the rows of a class are spread over its region, as far as earlier rounds tell: none of them took the class.
#
# A release in rounds recodes all rows that are left to some level of every hierarchy, publishes the classes that have k
# rows, and goes on with the others at another level. So once a round is over, fewer than k rows of each of its
# combinations are left. A later class of n rows whose region has a few of these combinations is spread over them: none
# can hold more than (k - 1) / n of its rows, and where two are left, one frequent and one rare, the rare one holds far
# more than its share. With models of sensitive values a combination may have been left with any number of rows, and
# nothing follows.
#
# The levels of a round are read from its classes: the lowest level of each hierarchy that has a node of just that span.
# Where the round's own level is higher, its nodes are the same there and unions elsewhere, so that the bound holds for
# the lower level, too.
#
# Source: Chhillar, Righi, Sutter and Kornaropoulos, 2025, whose linear program has the same bounds. Here each class is
# looked at by itself, by one round: that a combination's few rows may be shared by several later classes is not used.


def round_levels(release: ShownRows, levels: Sequence[Ints]) -> Ints:
    """(classes, attributes) the lowest level of each hierarchy that has a node of just what a class shows, -1 where
    none has. `levels`: of each attribute (levels, size) the node of each code."""
    lowest = np.full(release.first.shape, -1)
    for column, nodes in enumerate(levels):
        first, last = release.first[:, column], release.last[:, column]
        interval = release.cells(column).counts == last - first + 1
        for level, node in reversed(list(enumerate(nodes))):
            edge = np.ones(len(node) + 1, np.bool_)
            edge[1:-1] = node[1:] != node[:-1]
            just = interval & (node[first] == node[last]) & edge[first] & edge[last + 1]
            lowest[just, column] = level
    return lowest


def spread(scene: Scene, classes: Ints, inside: Any, points: Ints, left: Bools) -> tuple[Floats, Bools]:
    """The `weight` and `bound` of `PossiblePoints`: combinations (classes, points, attributes) that are `left`, spread
    so that none of an earlier round stands for more than k - 1 of the rows; evenly where k was not all that was
    required. If several rounds come before a class, the one that leaves it the fewest combinations counts; ties go to
    the one of the lowest levels."""
    weight, bound, required = left.astype(float), np.zeros(len(classes), np.bool_), scene.required
    if required is None or not required.only_k or not scene.levels:
        return weight, bound
    chosen = np.full(left.shape, -1)
    fewest = np.full(len(classes), left.shape[1] + 1)
    for vector, wider in _rounds(scene.release, inside, scene.levels):
        nodes = [of_level[level] for of_level, level in zip(scene.levels, vector, strict=True)]
        cells, counts = _cells(points[wider], left[wider], nodes)
        better = counts < fewest[wider]
        chosen[wider[better]], fewest[wider[better]] = cells[better], counts[better]
    most = (required.k - 1) / np.maximum(scene.release.sizes[classes], 1)
    some = np.flatnonzero((fewest <= left.shape[1]) & left.any(axis=1))
    weight[some], bound[some] = _levelled(chosen[some], left[some], most[some])
    return weight, bound


def _rounds(release: ShownRows, inside: Any, levels: Sequence[Ints]) -> list[tuple[Ints, Ints]]:
    """The levels of each round that has a class inside others, and these others (places in `inside`), in the order of
    the levels; rounds whose spans are not nodes are left out."""
    vectors, round_of = np.unique(round_levels(release, levels), axis=0, return_inverse=True)
    which = round_of.ravel()[inside.indices]
    owner = np.repeat(np.arange(inside.shape[0]), np.diff(inside.indptr))
    return [
        (vectors[place], np.unique(owner[which == place])) for place in np.unique(which) if (vectors[place] >= 0).all()
    ]


def _cells(points: Ints, left: Bools, nodes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """(classes, points) the combination of nodes that each point has, numbered from 0 in each class, those that are not
    left behind the others; (classes,) how many different ones are left."""
    owner = np.repeat(np.arange(len(points)), points.shape[1])
    node_of = [node[points[:, :, column]].ravel() for column, node in enumerate(nodes)]
    sizes = [len(points), 2, *(int(node.max(initial=0)) + 1 for node in nodes)]
    keys, _ = mixed_radix([owner, (~left).ravel().astype(np.int64), *node_of], sizes)
    dense = np.unique(keys, return_inverse=True)[1].reshape(left.shape)
    numbered = dense - dense.min(axis=1, keepdims=True)
    return numbered, np.where(left, numbered + 1, 0).max(axis=1)


def _levelled(cells: Ints, left: Bools, most: Floats) -> tuple[Floats, Bools]:
    """(classes, points) weights of the points that are left, in sum their number, such that no cell has more than the
    share `most` (classes,) of its class; (classes,) whether that changed any. Where too few cells were drawn for that,
    all of them have the same. What is cut off goes to the other cells as they are frequent, so that of all ways to meet
    the bounds it is the one nearest to the frequencies (least relative entropy)."""
    classes, points = cells.shape
    count = np.zeros((classes, points))
    np.add.at(count, (np.broadcast_to(np.arange(classes)[:, None], cells.shape)[left], cells[left]), 1.0)
    total = count.sum(axis=1)
    share = count / total[:, None]
    most = np.maximum(most, 1 / np.maximum((count > 0).sum(axis=1), 1))[:, None]
    full = np.zeros(share.shape, np.bool_)
    while True:
        left_over = 1 - (full * most).sum(axis=1, keepdims=True)
        rest = np.where(full, 0.0, share).sum(axis=1, keepdims=True)
        scaled = share * np.divide(left_over, rest, out=np.zeros_like(left_over), where=rest > 0)
        over = ~full & (scaled > most + 1e-12)
        if not over.any():
            break
        full |= over
    weight = np.where(full, most, scaled) / np.maximum(count, 1) * total[:, None]
    return np.where(left, np.take_along_axis(weight, cells, axis=1), 0.0), np.asarray(full.any(axis=1))


POINTS = 256
"""Combinations that are drawn of each class."""
REFINEMENT_CELLS = 1 << 22
"""Pairs of a combination and a class inside that are looked at together."""


def nested(release: ShownRows, classes: Ints) -> Any:
    """(some classes, classes) sparse, 1 where the region of the second is inside that of the first, and smaller: where
    both its corners are, and of a set all members."""
    from scipy.sparse import csr_array

    some = release.of_classes(classes)
    corners = [some.candidates(ends).T.tocsr() for ends in (release.first, release.last)]
    inside = corners[0].multiply(corners[1]).tocoo()
    wider, within = inside.coords
    fits = np.ones(len(wider), np.bool_)
    same = fits.copy()
    for column in range(release.first.shape[1]):
        outer, inner = (release.cells(column).of_cells(each) for each in (classes[wider], within))
        same &= (outer.first == inner.first) & (outer.last == inner.last) & (outer.counts == inner.counts)
        fits &= _covering(outer, inner)
    fits &= ~same
    return csr_array((np.ones(int(fits.sum())), (wider[fits], within[fits])), shape=inside.shape)


def _covering(outer: LeafSets, inner: LeafSets) -> Bools:
    """(n,) whether cells that hold both ends of others hold all of these, code by code where either is a set."""
    fits = np.ones(len(outer.first), np.bool_)
    if outer.gapped is not None and inner.gapped is not None:
        codes = np.arange(outer.gapped.leaves.shape[1])[None, :]
        for some in np.array_split(outer.gapped.places, max(len(fits) * codes.size // REFINEMENT_CELLS, 1)):
            fits[some] = (outer.of_cells(some).holding(codes) | ~inner.of_cells(some).holding(codes)).all(axis=1)
    return fits


@dataclass(frozen=True)
class PossiblePoints:
    """Combinations of codes of some classes. `codes` (classes, POINTS, attributes); `left` (classes, POINTS): whether
    they are in no class inside. `weight` (classes, POINTS): how many of those that are left each stands for; it sums up
    to their number. `bound` (classes,): whether a round's bound changed it. `shares`: of each attribute (size,) how
    frequent each code is."""

    codes: Ints
    left: Bools
    weight: Floats
    bound: Bools
    shares: tuple[Floats, ...]

    @classmethod
    def of(cls, scene: Scene, classes: Ints, inside: Any) -> PossiblePoints:
        """Drawn by how frequent codes are."""
        release, generator = scene.release, scene.generator(RoundsAttacker.ID)
        shares = tuple(release.code_shares(column, size) for column, size in enumerate(scene.sizes))
        chances = generator.random((len(classes), POINTS, len(shares)))
        codes = np.empty(chances.shape, np.int64)
        for column, share in enumerate(shares):
            codes[:, :, column] = _drawn(release.cells(column).of_cells(classes), share, chances[:, :, column])
        left = _outside(codes, release, inside)
        return cls(codes, left, *spread(scene, classes, inside, codes, left), shares)


def _drawn(cells: LeafSets, share: Floats, chances: Floats) -> Ints:
    """(classes, POINTS) codes of cells, by how frequent they are."""
    first, last = cells.first[:, None], cells.last[:, None]
    sums = np.concatenate([[0.0], share.cumsum()])
    aim = sums[first] + chances * (sums[last + 1] - sums[first])
    drawn = np.clip(np.searchsorted(sums, aim, side="right") - 1, first, last)
    if cells.gapped is not None:
        for place, leaves in zip(cells.gapped.places.tolist(), cells.gapped.of_places, strict=True):
            members = np.flatnonzero(leaves)
            below = share[members].cumsum()
            which = np.searchsorted(below, chances[place] * below[-1], side="right")
            drawn[place] = members[np.minimum(which, len(members) - 1)]
    return np.asarray(drawn)


def _outside(codes: Ints, release: ShownRows, inside: Any) -> Bools:
    """(classes, POINTS) whether combinations of each class are in none of those inside it; some pairs at a time."""
    left = np.ones(codes.shape[:2], np.bool_)
    wider = np.repeat(np.arange(len(codes)), np.diff(inside.indptr))
    step = max(REFINEMENT_CELLS // (POINTS * codes.shape[2]), 1)
    for start in range(0, len(wider), step):
        owner, within = wider[start : start + step], inside.indices[start : start + step]
        points = codes[owner]
        cells = (release.cells(column).of_cells(within) for column in range(codes.shape[2]))
        covered = reduce(np.logical_and, (each.holding(points[:, :, column]) for column, each in enumerate(cells)))
        starts = run_starts(owner)
        left[owner[starts]] &= ~np.logical_or.reduceat(covered, starts, axis=0)
    return left


def _guessed(scene: Scene, drawn: PossiblePoints, which: Ints, column: int, figures: dict[str, Any]) -> Success:
    release, people = scene.release, scene.targets
    class_of = release.class_of[people.row_of]
    first, last, truth = release.first[class_of, column], release.last[class_of, column], people.codes[:, column]
    some = (first < last) & (truth >= 0)
    ways = [_likeliest(scene, drawn, column, refined) for refined in (True, False)]
    hits, before = ((way[which] == truth)[some].astype(float) for way in ways)
    return Success(hits, before, about=scene.attributes[column], complete=not some.any(), figures=figures)


def _likeliest(scene: Scene, drawn: PossiblePoints, column: int, refined: bool) -> Ints:
    """(classes,) the code of each class's span that most of the combinations have, by how frequent it is and, if
    `refined`, how many rows those drawn and left stand for; the lowest of those alike."""
    size, classes = scene.sizes[column], len(drawn.codes)
    codes = drawn.codes[:, :, column]
    keys, which = np.unique(np.arange(classes)[:, None] * size + codes, return_inverse=True)
    weight = drawn.shares[column][keys % size]
    if refined:
        all_drawn = np.bincount(which.ravel())
        left = np.bincount(which.ravel(), drawn.weight.ravel())
        overall = drawn.left.mean(axis=1)[keys // size]
        weight = weight * (left + overall) / (all_drawn + 1)
    order = np.lexsort((keys, -weight, keys // size))
    starts = run_starts(keys[order] // size)
    return np.asarray(keys[order][starts] % size)


class RoundsAttacker:
    """Refinement: narrows the wide classes of a release that was made in rounds by the narrow ones inside them.

    Knows: that every round released all rows that it could, as the local recoding of ARX and `incognito --iterate` do.
    Does: if the region of a class contains that of another one, the inner class came first and took all rows of its
    region, so that no row of the wider class lies there. Draws combinations of values of each wide class by their
    frequencies in the release, and drops those that are in a class inside. Spreads the rows over the rest so that no
    combination that an earlier round could have released has k of them, and guesses for each cell the value that most
    rows then have.
    Success: the value is that of the person whom the row is about. Cells that show one value are not attacked. If no
    class is inside another nothing is guessed, and the excess is 0, without an interval. If some class is but it is not
    known whom rows are about, it could not be measured.
    Baseline: the most frequent value within what the cell shows. Control: none, as people who are not in the release
    have no row.
    Figures: the share of the targets' combinations that is ruled out (`ruled_out`), how many targets are in classes
    with another inside (`nested`), and for how many of them k limited how their rows are spread (`bounded`).
    Limits: quasi-identifiers are taken to be independent, and each class is treated separately, whereas the linear
    program of the source divides the rows of a combination among all later classes. Sizes are used if only k was
    required and the hierarchies have the classes' spans as nodes. The metric by which rounds were chosen is not used.
    Remedy: make the release again with `--mask-minimality`, or by level (`incognito`).
    Source: Chhillar, Righi, Sutter and Kornaropoulos, Exposing privacy risks in anonymizing clinical data:
    combinatorial refinement attacks on k-anonymity without auxiliary information, 2025.
    """

    ID = "refinement"
    KNOWS = "that the release was made in rounds, each of which released as much as possible"
    CAPABILITIES = Capabilities(invented=NO_CELLS)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each quasi-identifier."""
        row_of = scene.targets.row_of
        rows = np.arange(scene.release.rows) if row_of is None else row_of
        classes, which = np.unique(scene.release.class_of[rows], return_inverse=True)
        inside = nested(scene.release, classes)
        count = np.diff(inside.indptr)
        if not count.any() or row_of is None:  # nothing to narrow; or nobody to check it by
            nothing, known = np.zeros(0 if count.any() else len(scene.targets)), {} if count.any() else {"nested": 0}
            return [Success(nothing, nothing, about=each, complete=True, figures=known) for each in scene.attributes]
        drawn = PossiblePoints.of(scene, classes, inside)
        figures = {
            "nested": int((count[which] > 0).sum()),
            "ruled_out": float(1 - drawn.left.mean(axis=1)[which].mean()),
            "bounded": int(drawn.bound[which].sum()),
        }
        return [_guessed(scene, drawn, which, column, figures) for column in range(len(scene.attributes))]
