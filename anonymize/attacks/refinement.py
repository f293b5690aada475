"""Refinement: narrows the wide classes of a release that was made in rounds by the narrow ones inside them.

Knows: that every round released all rows that it could, as the local recoding of ARX and `incognito --iterate` do.
Does: where the region of a class has that of another one inside, the other came first and took all of its region, so
that no row of the wider class lies there. Draws combinations of values of each wide class as frequent as they are in
the release, drops those that are in a class inside, spreads the rows over what is left so that no combination that an
earlier round could have released has k of them, and guesses for each cell the value that most rows have then.
Success: the value is that of the person whom the row is about. Cells that show one value are not attacked. If no class
is inside another nothing is guessed, and the excess is 0, without an interval; where some is, and it is not known whom
rows are about, it could not be measured.
Baseline: the most frequent value within what the cell shows. Control: none, as people who are not in the release have
no row.
Figures: the share of the targets' combinations that is ruled out (`ruled_out`), how many targets are in classes with
another inside (`nested`), and of how many of them k bounded how their rows are spread (`bounded`).
Limits: quasi-identifiers are taken to be independent, and each class is looked at by itself, where the linear program
of the source shares the rows of a combination among all later classes. Sizes are used where k is all that was asked,
and hierarchies have the classes' spans as nodes. The metric by which rounds were chosen is not used.
Source: Chhillar, Righi, Sutter and Kornaropoulos, Exposing privacy risks in anonymizing clinical data: combinatorial
refinement attacks on k-anonymity without auxiliary information, 2025.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from anonymize.attacks.rounds import SpreadPoints, spread
from anonymize.attacks.scene import Scene, ShownRows
from anonymize.attacks.success import Success
from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.leafsets import LeafSets

ID = "refinement"
KNOWS = "that the release was made in rounds, each of which released all that it could"
POINTS = 256
"""Combinations that are drawn of each class."""
CELLS = 1 << 22
"""Pairs of a combination and a class inside that are looked at together."""


def attack(scene: Scene) -> list[Success]:
    """A success for each quasi-identifier."""
    row_of = scene.targets.row_of
    rows = np.arange(scene.release.rows) if row_of is None else row_of
    classes, which = np.unique(scene.release.class_of[rows], return_inverse=True)
    inside = nested(scene.release, classes)
    count = np.diff(inside.indptr)
    if not count.any() or row_of is None:
        return [_untried(scene, name, bool(count.any())) for name in scene.attributes]
    drawn = PossiblePoints.of(scene, classes, inside)
    figures = {
        "nested": int((count[which] > 0).sum()),
        "ruled_out": float(1 - drawn.left.mean(axis=1)[which].mean()),
        "bounded": int(drawn.rows.bound[which].sum()),
    }
    return [_guessed(scene, drawn, which, column, figures) for column in range(len(scene.attributes))]


def _untried(scene: Scene, name: str, nests: bool) -> Success:
    """Nothing to narrow; or, where something `nests`, nobody to check it by."""
    nothing = np.zeros(0 if nests else len(scene.targets))
    return Success(nothing, nothing, about=name, complete=True, figures={} if nests else {"nested": 0})


def nested(release: ShownRows, classes: Ints) -> Any:
    """(some classes, classes) sparse, 1 where the region of the second is inside that of the first, and smaller: where
    both its corners are, and of a set all members."""
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
    return _sparse(wider[fits], within[fits], inside.shape)


def _covering(outer: LeafSets, inner: LeafSets) -> Bools:
    """(n,) whether cells that hold both ends of others hold all of these, code by code where either is a set."""
    fits = np.ones(len(outer.first), np.bool_)
    if outer.gapped is not None and inner.gapped is not None:
        codes = np.arange(outer.gapped.leaves.shape[1])[None, :]
        for some in np.array_split(outer.gapped.places, max(len(fits) * codes.size // CELLS, 1)):
            fits[some] = (outer.of_cells(some).holding(codes) | ~inner.of_cells(some).holding(codes)).all(axis=1)
    return fits


def _sparse(rows: Ints, columns: Ints, shape: tuple[int, ...]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


@dataclass(frozen=True)
class PossiblePoints:
    """Combinations of codes of some classes. `codes` (classes, POINTS, attributes); `left` (classes, POINTS): whether
    they are in no class inside; `rows`: how rows are spread over those. `shares`: of each attribute (size,) how
    frequent each code is."""

    codes: Ints
    left: Bools
    rows: SpreadPoints
    shares: tuple[Floats, ...]

    @classmethod
    def of(cls, scene: Scene, classes: Ints, inside: Any) -> PossiblePoints:
        """Drawn by how frequent codes are."""
        release, generator = scene.release, scene.generator(ID)
        shares = tuple(release.code_shares(column, size) for column, size in enumerate(scene.sizes))
        chances = generator.random((len(classes), POINTS, len(shares)))
        codes = np.empty(chances.shape, np.int64)
        for column, share in enumerate(shares):
            codes[:, :, column] = _drawn(release.cells(column).of_cells(classes), share, chances[:, :, column])
        left = _outside(codes, release, inside)
        required = scene.required
        if required is None or not required.only_k or not scene.levels:
            return cls(codes, left, SpreadPoints.evenly(left), shares)
        return cls(codes, left, spread(release, classes, inside, codes, left, scene.levels, required.k), shares)


def _drawn(cells: LeafSets, share: Floats, chances: Floats) -> Ints:
    """(classes, POINTS) codes of cells, by how frequent they are."""
    first, last = cells.first[:, None], cells.last[:, None]
    sums = np.concatenate([[0.0], share.cumsum()])
    aim = sums[first] + chances * (sums[last + 1] - sums[first])
    drawn = np.clip(np.searchsorted(sums, aim, side="right") - 1, first, last)
    if cells.gapped is not None:
        for place, held in zip(cells.gapped.places.tolist(), cells.gapped.of_places, strict=True):
            members = np.flatnonzero(held)
            below = share[members].cumsum()
            which = np.searchsorted(below, chances[place] * below[-1], side="right")
            drawn[place] = members[np.minimum(which, len(members) - 1)]
    return np.asarray(drawn)


def _outside(codes: Ints, release: ShownRows, inside: Any) -> Bools:
    """(classes, POINTS) whether combinations of each class are in none of those inside it; some pairs at a time."""
    left = np.ones(codes.shape[:2], np.bool_)
    wider = np.repeat(np.arange(len(codes)), np.diff(inside.indptr))
    step = max(CELLS // (POINTS * codes.shape[2]), 1)
    for start in range(0, len(wider), step):
        owner, within = wider[start : start + step], inside.indices[start : start + step]
        points = codes[owner]
        cells = (release.cells(column).of_cells(within) for column in range(codes.shape[2]))
        covered = reduce(np.logical_and, (each.holding(points[:, :, column]) for column, each in enumerate(cells)))
        starts = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
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
        left = np.bincount(which.ravel(), drawn.rows.weight.ravel())
        overall = drawn.left.mean(axis=1)[keys // size]
        weight = weight * (left + overall) / (all_drawn + 1)
    order = np.lexsort((keys, -weight, keys // size))
    starts = np.flatnonzero(np.concatenate([[True], np.diff(keys[order] // size) > 0]))
    return np.asarray(keys[order][starts] % size)
