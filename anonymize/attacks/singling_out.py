"""Attackers who single somebody out: by one column, by several, by a number shown as the end of an interval, or by what
a cell must contain because it is no narrower.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from anonymize.attacks.invented import singled_out
from anonymize.attacks.methods import NO_CELLS, Capabilities, Success, isolating, spanned
from anonymize.attacks.scene import Scene, ShownRows, TargetPeople
from anonymize.classes import Bools, Floats, Ints
from anonymize.domain import LeafSets, taxonomy


def _spans(scene: Scene, people: TargetPeople) -> list[Ints]:
    """For each quasi-identifier, how many people meet each condition on it."""
    counts = []
    for column, size in enumerate(scene.sizes):
        cells = scene.release.cells(column)
        ends = np.stack([cells.first, cells.last], axis=1)
        if cells.gapped is not None:
            _, sets = np.unique(cells.gapped.which, return_index=True)
            sets = sets[cells.gapped.which[sets] >= 0]
            counts.append(spanned(people.codes[:, column], size, cells.of_cells(sets)))
            ends = ends[cells.gapped.which < 0]
        if len(cells.first):
            tails = [[0, cells.last.min()], [cells.first.max(), size - 1]]
            ends = np.unique(np.concatenate([ends, tails]), axis=0)
        counts.append(spanned(people.codes[:, column], size, LeafSets(ends[:, 0], ends[:, 1])))
    return counts


def _values(scene: Scene, people: TargetPeople) -> list[Ints]:
    """For each sensitive attribute, how many people have each value that the release shows."""
    counts = []
    for name, size in scene.sensitive.items():
        release, occurring = scene.release.values[name], people.values[name]
        present = np.unique(release[release >= 0])
        counts.append(spanned(occurring, size, LeafSets(present, present)))
    return counts


class Univariate:
    """Singling out by one column: finds a condition on one column that exactly one person meets.

    Knows: the release alone.
    Does: tries every span of a quasi-identifier that the release shows, the tails that its outermost spans leave, and
    every sensitive value.
    Success: exactly one person of the original meets the condition.
    Baseline: the chance that an equally rare condition isolates somebody.
    Control: the same conditions on people who are not in the release, scaled to the same number of people.
    Figures: how many of the conditions isolate somebody. Every condition is tried, so that the excess has no interval.
    Remedy: round or band the column (`round: 10`), or list it as a quasi-identifier.
    Source: Giomi and others, PoPETs 2023, section 4.1; Article 29 Working Party, Opinion 05/2014; Cohen and Nissim,
    PNAS 2020.
    """

    ID = "singling-out-univariate"
    KNOWS = "the release alone"
    CAPABILITIES = Capabilities(invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """One success for all columns; none where no column gives a condition."""
        if not scene.sizes and not scene.sensitive:
            return []

        def count(people: TargetPeople) -> Ints:
            return np.concatenate([*_spans(scene, people), *_values(scene, people)])

        success = isolating(scene, Univariate.ID, count, None, complete=True)
        return [replace(success, figures={"isolating": int(success.hits.sum())})]


def _meeting(scene: Scene, rows: Ints, people: TargetPeople) -> Ints:
    """(rows,) how many people lie in all spans of each released row and have its sensitive values."""
    from scipy.sparse import csr_array

    release = scene.release
    classes, which = np.unique(release.class_of[rows], return_inverse=True)
    drawn = release.of_classes(classes)
    own = _joint([people.values[name] for name in scene.sensitive], len(people))
    theirs = _joint([release.values[name] for name in scene.sensitive], release.rows)[rows]
    codes = np.unique(np.concatenate([own, theirs], axis=0), axis=0, return_inverse=True)[1].ravel()
    values = csr_array(
        (np.ones(len(own)), (np.arange(len(own)), codes[: len(own)])), shape=(len(own), codes.max(initial=0) + 1)
    )
    meeting = (drawn.candidates(people.codes).T.tocsr() @ values).tocsr()
    return np.asarray(meeting[which, codes[len(own) :]]).ravel() if len(rows) else np.zeros(0, np.int64)


def _joint(values: list[Ints], rows: int) -> Ints:
    """(rows, attributes) sensitive codes side by side."""
    return np.stack(values, axis=1) if values else np.zeros((rows, 1), np.int64)


def _weights(scene: Scene, regions: ShownRows) -> Floats:
    """(classes,) the share of people who would lie in all spans of each if columns were independent."""
    codes, weights = scene.everybody.codes, np.ones(len(regions.first))
    for column, size in enumerate(scene.sizes):
        weights *= spanned(codes[:, column], size, regions.cells(column)) / max(len(codes), 1)
    return weights


def _weights_of_rows(scene: Scene, rows: Ints) -> Floats:
    """(rows,) the share of people who would meet the condition of each released row if columns were independent."""
    everybody, weights = scene.everybody, _weights(scene, scene.release.of_classes(scene.release.class_of[rows]))
    for name, size in scene.sensitive.items():
        value = scene.release.values[name][rows]
        people = np.where(value < 0, len(everybody), spanned(everybody.values[name], size, LeafSets(value, value)))
        weights *= people / max(len(everybody), 1)
    return weights


class SinglingOut:
    """Singling out by all columns: finds a condition on several columns that exactly one person meets.

    Knows: the release alone.
    Does: takes a released row, and looks for people who lie in all of its spans and have its sensitive values.
    Success: exactly one person of the original does. Baseline: the chance that an equally rare condition isolates
    somebody, if columns were independent. Control: the same conditions on people who are not in the release, scaled to
    the same number of people.
    Invented: draws three columns of a row, takes a category as it is and a number as at least or at most that, and
    keeps a condition that exactly one invented row meets; `conditions` is their number.
    Limits: the sensitive values single out people of one class if these differ in them; k-anonymity alone does not
    prevent this, as Cohen and Nissim show.
    Remedy: fewer columns that are released as they are (`identifiers` leaves one out), as these distinguish people of
    one class; a larger k (`-k`) limits what the other columns reveal.
    Source: Giomi and others, PoPETs 2023, section 4.1; Cohen and Nissim, PNAS 2020.
    """

    ID = "singling-out"
    KNOWS = "the release alone"
    CAPABILITIES = Capabilities(invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success of as many rows as there are targets, drawn."""
        if scene.invented is not None:
            return [singled_out(scene, scene.invented, SinglingOut.ID)]
        rows = scene.drawn(scene.release.rows, SinglingOut.ID)
        return [isolating(scene, SinglingOut.ID, partial(_meeting, scene, rows), _weights_of_rows(scene, rows))]


def _of_column(scene: Scene, column: int, classes: Ints, codes: Ints, within: Ints) -> Success:
    """`codes`, `within`: of each person in the region of one of the classes, the code and which class that is."""
    release, stride = scene.release, scene.sizes[column] + 1
    known = codes >= 0
    keys, people = np.unique(within[known] * stride + codes[known], return_counts=True)
    alone = keys[people == 1]
    cells = release.cells(column).of_cells(classes)
    by_chance = np.bincount(alone // stride, minlength=len(classes)) / cells.counts
    hits, baseline = [], []
    for ends in release.ends or ():
        some = np.flatnonzero(ends[classes, column] >= 0)
        hits.append(np.isin(some * stride + ends[classes[some], column], alone).astype(float))
        baseline.append(by_chance[some])
    rates = [float(each.mean()) if len(each) else None for each in hits]
    about, figures = scene.attributes[column], {"low_ends": rates[0], "high_ends": rates[1]}
    complete = len(classes) == len(release.first)
    return Success(np.concatenate(hits), np.concatenate(baseline), about=about, complete=complete, figures=figures)


class PublishedEnd:
    """Singling out by a published end: finds one person by a number that is shown as the end of an interval.

    Knows: the release alone.
    Does: takes a class and an end of one of its intervals of numbers, and looks for people who lie in all spans of the
    class and have exactly that number. `77+` has one end; an upper end that is excluded, as in `[20-25)`, does not
    count.
    Success: exactly one person of the original does. Baseline: the same with a number from within the interval, drawn
    at random among those that occur in the column. Control: none, as the baseline is the same condition without the
    information of the end.
    Figures: the rate of the lower ends and that of the upper ones; null where no class has one.
    Limits: a rounded end may be a number that nobody has; such a condition is tried as well, and isolates nobody.
    Remedy: leave ends open or round (`output: {edges: rounded}`).
    Source: Cohen, Attacks on deidentification's defenses, USENIX Security 2022; Cohen and Nissim, PNAS 2020.
    """

    ID = "singling-out-end"
    KNOWS = "the release alone"
    CAPABILITIES = Capabilities(invented=NO_CELLS)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each quasi-identifier that shows ends: of as many classes as there are targets, drawn."""
        release = scene.release
        if release.ends is None:
            return []
        classes = scene.drawn(len(release.first), PublishedEnd.ID)
        who, within = release.of_classes(classes).candidates(scene.everybody.codes).nonzero()
        return [
            _of_column(scene, column, classes, scene.everybody.codes[who, column], within)
            for column in range(len(scene.attributes))
            if any((ends[:, column] >= 0).any() for ends in release.ends)
        ]


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
        ends = (release.hidden_low, release.hidden_high)
        hidden = [np.zeros(len(classes), np.bool_) if each is None else each[classes, column] for each in ends]
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


def _parts(
    tree: taxonomy.Taxonomy | None, cells: LeafSets, hidden_low: Bools, hidden_high: Bools
) -> list[tuple[Ints, Ints, Ints]]:
    """What wide cells can be narrowed to: owners, each at most once in each entry, and the first and the last code of a
    part: the ends that numbers show, the branches below a node, the intervals of a set with gaps."""
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
    distinct, which = np.unique(nodes, return_inverse=True)
    below = [np.flatnonzero(tree.parent == node) for node in distinct]
    for nth_branch in range(max((len(each) for each in below), default=0)):
        branches = np.array([each[nth_branch] if nth_branch < len(each) else -1 for each in below])
        node = branches[which]
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


class Downcoding:
    """Downcoding: singles somebody out by what a cell must contain because it is no narrower.

    Knows: the release, and that its cells are as narrow as their classes allow: each end that an interval shows occurs
    in some row, and no single branch below a node contains all rows. For `77+` one end is known, for `*` none.
    Does: takes a class, and narrows one of its wide cells to an end of the interval, or to a branch below the node. Of
    all these it chooses the one that contains exactly one row with the highest chance, given the frequencies of values
    in the release and what is known of the ends and branches.
    Success: exactly one person of the original meets the narrowed condition.
    Baseline: the chance that an equally rare condition isolates somebody, if columns were independent.
    Control: the same conditions on people who are not in the release, scaled to the same number of people.
    Figures: how many classes have a cell to narrow (`narrowed`), and the success rate that the attacker expects
    (`expected`). If every class is attacked the excess has no interval.
    Limits: the sensitive values are not used. If cells are wider than they need be, as in a full-domain release, the
    assumption is wrong, and the attack fails more often than expected.
    Remedy: ends that are not values (`output: {edges: rounded}`), or a release by level (`datafly`, `incognito`), whose
    cells are wider than their classes.
    Source: Cohen, Attacks on deidentification's defenses, USENIX Security 2022; Cohen and Nissim, PNAS 2020.
    """

    ID = "downcoding"
    KNOWS = "the release, and that no cell is wider than it has to be"
    CAPABILITIES = Capabilities(invented=NO_CELLS)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success of as many classes as there are targets, drawn; none where every cell shows one value."""
        classes = scene.drawn(len(scene.release.first), Downcoding.ID)
        complete = len(classes) == len(scene.release.first)
        chance, narrowest = _narrowest(scene, classes)
        some = chance > 0
        if not some.any():
            nothing = np.zeros(len(classes))
            return [Success(nothing, nothing, complete=True, figures={"narrowed": 0})]
        drawn = narrowest.of_classes(np.flatnonzero(some))

        def meeting(people: TargetPeople) -> Ints:
            return np.asarray(drawn.candidates(people.codes).sum(axis=0)).ravel()

        weights, figures = _weights(scene, drawn), {"narrowed": drawn.rows, "expected": float(chance[some].mean())}
        return [isolating(scene, Downcoding.ID, meeting, weights, complete=complete, figures=figures)]
