"""Downcoding: singles somebody out by what a cell must hold because it is no narrower.

Knows: the release, and that its cells are as narrow as their classes allow: some row has each end that an interval
shows, and no single branch below a node has all rows. Of `77+` he knows one end, of `*` nothing.
Does: takes a class and one of its wide cells, and narrows the cell to an end of the interval, or to a branch below the
node: to whichever of all of them holds exactly one row with the highest chance, if the others are as frequent as they
are in the release and what is known of the ends and branches is so.
Success: exactly one person of the original meets the narrowed condition. Baseline: the chance that a condition as rare,
if columns were independent, isolates somebody. Control: the same conditions on as many people who are not in the
release.
Figures: how many classes have a cell to narrow (`narrowed`), and the chance that the attacker himself expects
(`expected`). Where every class is attacked the excess has no interval.
Limits: of the sensitive values nothing is used. Where cells are wider than they need be, as in a full-domain release,
what he takes for known is wrong, and he fails more often than he expects.
Remedy: ends that are not values (`output: {edges: rounded}`), or a release by level (`datafly`, `incognito`), whose
cells are wider than their classes.
Source: Cohen, Attacks on deidentification's defenses, USENIX Security 2022; Cohen and Nissim, PNAS 2020.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from anonymize.attacks.methods import isolating, spanned
from anonymize.attacks.scene import Scene, ShownRows, TargetPeople
from anonymize.attacks.success import Success
from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.leafsets import LeafSets
from anonymize.domain.taxonomy import Taxonomy

ID = "downcoding"
KNOWS = "the release, and that no cell is wider than it has to be"


def attack(scene: Scene) -> list[Success]:
    """As many classes as there are targets, drawn; none where every cell shows one value."""
    classes = scene.some_classes(ID)
    complete = len(classes) == len(scene.release.first)
    chance, narrowest = _narrowest(scene, classes)
    some = chance > 0
    if not some.any():
        nothing = np.zeros(len(classes))
        return [Success(nothing, nothing, complete=True, figures={"narrowed": 0})]
    drawn = narrowest.of_classes(np.flatnonzero(some))

    def meeting(people: TargetPeople) -> Ints:
        return np.asarray(drawn.candidates(people.codes).sum(axis=0)).ravel()

    figures = {"narrowed": int(some.sum()), "expected": float(chance[some].mean())}
    return [isolating(scene, ID, meeting, _weights(scene, drawn), complete=complete, figures=figures)]


def _weights(scene: Scene, drawn: ShownRows) -> Floats:
    """(conditions,) the share of people who would meet each if columns were independent."""
    codes, weights = scene.everybody.codes, np.ones(len(drawn.first))
    for column, size in enumerate(scene.sizes):
        weights *= spanned(codes[:, column], size, drawn.cells(column)) / max(len(codes), 1)
    return weights


def _narrowest(scene: Scene, classes: Ints) -> tuple[Floats, ShownRows]:
    """(classes,) the highest chance that a narrowed condition holds exactly one row, 0 where nothing can be narrowed;
    the classes with the spans of that condition. Ties go to the first attribute, and its first part."""
    release = scene.release
    first, last = release.first[classes], release.last[classes]
    best, low, high = np.zeros(len(classes)), first.copy(), last.copy()
    narrowed = np.full(len(classes), -1)
    for column, size in enumerate(scene.sizes):
        cells, shares = release.cells(column).of_cells(classes), release.code_shares(column, size)
        sums = np.concatenate([[0.0], shares.cumsum()])
        whole = np.maximum(cells.sums(shares), 1e-300)
        tree = scene.trees[column] if scene.trees else None
        hidden = [_hidden(each, classes, column) for each in (release.hidden_low, release.hidden_high)]
        for owner, start, stop in _parts(tree, cells, *hidden):
            share = np.clip((sums[stop + 1] - sums[start]) / whole[owner], 0.0, 1.0)
            chance = _alone(release.sizes[classes][owner], share, certain=tree is None)
            better = chance > best[owner]
            owner, start, stop = owner[better], start[better], stop[better]
            best[owner] = chance[better]
            low[owner], high[owner] = first[owner], last[owner]
            low[owner, column], high[owner, column] = start, stop
            narrowed[owner] = column
    gapped = {
        column: replace(each, which=np.where(narrowed == column, -1, each.which[classes]))
        for column, each in release.gapped.items()
    }
    return best, ShownRows(low, high, np.arange(len(classes)), gapped=gapped)


def _hidden(ends: Bools | None, classes: Ints, column: int) -> Bools:
    return np.zeros(len(classes), np.bool_) if ends is None else ends[classes, column]


def _parts(
    tree: Taxonomy | None, cells: LeafSets, hidden_low: Bools, hidden_high: Bools
) -> list[tuple[Ints, Ints, Ints]]:
    """What wide cells can be narrowed to: owners, and the first and the last code of a part, each owner at most once in
    each entry. For numbers these are the ends that are shown; for a node, the branches below it; for a set with gaps,
    the intervals that it is made of."""
    first, last = cells.first, cells.last
    if tree is None:
        shown_ends = ((first, hidden_low), (last, hidden_high))
        wide_ends = [(np.flatnonzero((first < last) & ~hidden), ends) for ends, hidden in shown_ends]
        return [(wide, ends[wide], ends[wide]) for wide, ends in wide_ends]
    wide = np.flatnonzero((first < last) & ~hidden_low & (cells.counts == last - first + 1))
    nodes = tree.lca(first[wide], last[wide])
    entries = []
    if cells.gapped is not None:
        owner, start, stop = (each[cells.gapped.which[cells.runs()[0]] >= 0] for each in cells.runs())
        nth = np.arange(len(owner)) - np.searchsorted(owner, owner)
        entries = [tuple(each[nth == n] for each in (owner, start, stop)) for n in range(int(nth.max(initial=-1)) + 1)]
    below = [np.flatnonzero(tree.parent == node) for node in np.unique(nodes)]
    most = max((len(each) for each in below), default=0)
    table = np.full((len(below), most), -1)
    for place, branches in enumerate(below):
        table[place, : len(branches)] = branches
    which = np.unique(nodes, return_inverse=True)[1]
    for branch in range(most):
        node = table[which, branch] if len(wide) else np.zeros(0, np.int64)
        some = node >= 0
        entries.append((wide[some], tree.start[node[some]], tree.stop[node[some]] - 1))
    return entries


def _alone(rows: Ints, share: Floats, *, certain: bool) -> Floats:
    """(n,) the chance that exactly one of so many rows is in a part, if each is with a probability of `share`; knowing
    that one is, if that is `certain`, else that they are not all in it."""
    none, every = (1 - share) ** rows, share**rows
    one = rows * share * (1 - share) ** np.maximum(rows - 1, 0)
    certainty = 1 - none if certain else 1 - every
    return np.asarray(np.divide(one, certainty, out=np.zeros_like(one), where=certainty > 1e-12))
