"""Attackers who link a person to a row: the prosecutor, who knows that the person is in the release, with or without
the kept columns; the journalist, who does not; the marketer, who links everybody at once; an attacker who links entries
of two lists, and one who finds the class of somebody covered by several classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.attacks.invented import linked
from anonymize.attacks.methods import Capabilities, Success, at_risk, picked, shares_of, weighed
from anonymize.attacks.scene import Scene, ShownRows, TargetPeople
from anonymize.classes import Floats, Ints
from anonymize.risk.records import CoveredPeople


def _of_rows(hits: Floats, release: ShownRows, figures: dict[str, Any] | None = None) -> Success:
    """The success of finding rows, over that of picking one at random. `figures`: None for `at_risk`."""
    baseline = np.full(len(hits), 1 / max(release.rows, 1))
    return Success(hits, baseline, figures=at_risk(hits) if figures is None else figures)


class Prosecutor:
    """Prosecutor: finds the row of somebody who is known to be in the release.

    Knows: the quasi-identifiers of one person, and that the person is in the release.
    Does: finds the classes whose cells could all be about the person, by overlapping regions rather than equal text,
    and picks a row of the class that stands for the fewest combinations of values.
    Success: the row is the person's: one over the rows of the class, if the class is right. If it is not known which
    row is the person's, the probability is the one that the attacker assumes.
    Baseline: a row picked at random. Control: none, as people who are not in the release have no row.
    Figures: the highest chance of any target, and the share of targets whose chance is above 0.2.
    Remedy: a larger k makes classes larger (`-k`), and so do fewer quasi-identifiers.
    Source: Dankar and El Emam, A method for evaluating marketer re-identification risk, PAIS 2010; by regions, because
    with overlapping cells more rows than those of one class remain possible.
    """

    ID = "prosecutor"
    KNOWS = "the quasi-identifiers of a person in the release"
    CAPABILITIES = Capabilities()

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """The chance of each target's row."""
        shares = shares_of(weighed(scene.candidates, scene.release))
        return [_of_rows(picked(shares, scene.targets, scene.release), scene.release)]


class RetainedProsecutor:
    """Prosecutor who knows kept columns: finds the row of somebody whose kept columns are also known.

    Knows: the quasi-identifiers of one person, the columns that the release keeps as they are (insensitive, targets,
    the sampling weight as it is released), and that the person is in the release.
    Does: finds the rows whose cells could all be about the person, as the prosecutor does; of these, keeps the rows
    that show the person's values in every kept column, and picks one of those that stand for the fewest combinations of
    values.
    Success: the row is the person's: one over the remaining rows, if it is among them. If it is not known which row is
    the person's, the probability is the one that the attacker assumes.
    Baseline: a row picked at random. Control: none, as people who are not in the release have no row.
    Figures: the highest chance of any target, and the share of targets whose chance is above 0.2.
    Limits: k-anonymity gives no protection against this attacker, who is judged by `--max-excess` or `risk.max_excess`
    only if named.
    Remedy: bound what is kept (`privacy: {passing: {uniques: 0}}`), or make quasi-identifiers of the kept columns.
    Source: Dankar and El Emam, PAIS 2010, as for the prosecutor; that kept columns single people out like
    quasi-identifiers, Narayanan and Shmatikov, Myths and fallacies of "personally identifiable information", CACM 2010.
    """

    ID = "prosecutor-retained"
    KNOWS = "the quasi-identifiers and the kept columns of a person in the release"
    CAPABILITIES = Capabilities(only_named=True)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """The chance of each target's row; nothing where no column is kept."""
        from scipy.sparse import csr_array

        release, targets = scene.release, scene.targets
        if release.kept is None or targets.kept is None:
            return []
        size = int(max(release.kept.max(initial=0), targets.kept.max(initial=0))) + 1
        parts, part_of = np.unique(release.class_of * size + release.kept, return_inverse=True)
        classes = parts // size
        finer = release.of_classes(classes, part_of)
        # A pair of a target and a class becomes a pair with the part of the class that shows the target's values.
        who = np.repeat(np.arange(len(targets)), np.diff(scene.candidates.indptr))
        wanted = scene.candidates.indices.astype(np.int64) * size + targets.kept[who]
        place = np.minimum(np.searchsorted(parts, wanted), len(parts) - 1)
        there = parts[place] == wanted
        pairs = csr_array((np.ones(there.sum()), (who[there], place[there])), shape=(len(targets), len(parts)))
        return [_of_rows(picked(shares_of(weighed(pairs, finer)), targets, finer), release)]


class JournalistAttacker:
    """Journalist: finds the person whom a released row is about, without knowing who is in the release.

    Knows: the quasi-identifiers of everybody in a list of people: those of the original, and all of the control.
    Does: takes a released row, lists the people whom it could be about, by overlapping regions, and picks one at
    random.
    Success: the row is about that person; the chance is one over the people whom it could be about.
    Baseline: a person of the list picked at random. Control: none, as only rows of the release are attacked.
    Figures: the highest chance of any row that was tried.
    Remedy: a larger k makes classes larger (`-k`), and so do fewer quasi-identifiers.
    Source: El Emam and Dankar, Protecting privacy using k-anonymity, JAMIA 2008.
    """

    ID = "journalist"
    KNOWS = "the quasi-identifiers of everybody, and not who is in the release"
    CAPABILITIES = Capabilities()

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """The chance of each of as many released rows as there are targets. Only classes that were drawn are compared
        with everybody."""
        release = scene.release
        count = min(len(scene.targets), release.rows)
        rows = scene.generator(JournalistAttacker.ID).choice(release.rows, count, replace=False)
        classes, which = np.unique(release.class_of[rows], return_inverse=True)
        drawn = release.of_classes(classes)
        lists = [scene.everybody] + ([] if scene.outsiders is None else [scene.outsiders])
        counts = [np.asarray(drawn.candidates(each.codes).sum(axis=0)).ravel() for each in lists]
        people = np.sum(counts, axis=0)[which]
        hits = np.divide(1.0, people, out=np.zeros(len(rows)), where=people > 0)
        baseline = np.full(len(hits), 1 / max(sum(len(each) for each in lists), 1))
        return [Success(hits, baseline, figures={"max": float(hits.max(initial=0))})]


MATCHED_PEOPLE = 50_000
"""People up to whom shares are made to add up over all of them at once."""
ROUNDS = 20
"""Times that the shares of people and of classes are scaled in turn."""


def _balanced(weights: Any, sizes: Ints) -> Any:
    """(people, classes) shares, scaled in turn so that every person is one and every class has its rows."""
    shares = shares_of(weights)
    for _ in range(ROUNDS):
        in_class = np.maximum(np.bincount(shares.indices, shares.data, shares.shape[1]), 1e-300)
        shares.data *= (sizes / in_class)[shares.indices]
        shares = shares_of(shares)
    return shares


class Marketer:
    """Marketer: links everybody to a row at once.

    Knows: the quasi-identifiers of all people in the release.
    Does: finds for each person the classes that could be theirs, by overlapping regions, and how probable each is,
    given that every person has a row and every row a person: shares are balanced in turn over people and classes
    (Sinkhorn). Then links each person to a row of the class whose rows are the most probable.
    Success: the row is the person's. If it is not known which row that is, the chance is given by the balanced shares.
    Baseline: rows assigned at random. Control: none, as people who are not in the release have no row.
    Figures: whether shares were balanced (1).
    Limits: with more than 50,000 people only the targets are linked, and nothing is balanced.
    Remedy: a larger k makes classes larger (`-k`), and so do fewer quasi-identifiers.
    Source: Dankar and El Emam, A method for evaluating marketer re-identification risk, PAIS 2010; Sinkhorn, Diagonal
    equivalence to matrices with prescribed row and column sums, 1967.
    """

    ID = "marketer"
    KNOWS = "the quasi-identifiers of everybody in the release"
    CAPABILITIES = Capabilities()

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """How many of the people find their rows."""
        release, people = scene.release, scene.everybody
        whole = len(people) <= MATCHED_PEOPLE
        if whole:
            people = people.released()
            shares = _balanced(weighed(release.candidates(people.codes), release), release.sizes)
        else:
            people, shares = scene.targets, shares_of(weighed(scene.candidates, release))
        return [_of_rows(picked(shares, people, release), release, {"balanced": int(whole)})]


MOST_PEOPLE = 1000


def _chances(scene: Scene, people: TargetPeople) -> Floats:
    """(people,) the chance that the right entry of the second list is taken for each of the first."""
    some = people.spaced(MOST_PEOPLE)
    if not len(some):
        return np.zeros(0)
    columns = range(len(scene.attributes))
    first, second = (scene.release.candidates(some.codes, columns[start::2]) for start in (0, 1))
    weights = scene.release.sizes * scene.release.density
    expected = np.asarray((second * weights).sum(axis=1)).ravel()
    first.data *= weights[first.indices]
    # Sparse, so that only classes that span an entry of each list count.
    score = np.asarray((first @ second.T).toarray()) / np.maximum(expected, 1e-300)
    best = score >= score.max(axis=1, keepdims=True) * (1 - 1e-9)
    return np.asarray(best.diagonal() / best.sum(axis=1))


class Linkability:
    """Linkability: finds out which entries of two lists are about the same person.

    Knows: half of the quasi-identifiers of the targets in one list and the other half in another, without names that
    would link them; the first list has every second quasi-identifier of the spec.
    Does: for each pair of an entry of the first list and one of the second, adds up the probability that both are about
    one person, over the released classes that span both; a class that stands for fewer combinations counts more.
    Compares this with the sum expected if the halves were unrelated, and takes the most probable entry.
    Success: it is the right one; among identical entries, the chance is one over their number.
    Baseline: an entry picked at random. Control: the same attack on people who are not in the release.
    Invented: the halves are linked if the same row is nearest to both, by Gower's distance; in a tie, any of them.
    Limits: at most 1,000 targets, as every entry is compared with every other one.
    Remedy: a larger k (`-k`), or some of the quasi-identifiers coarser (`levels: {min: 1}`).
    Source: Giomi and others, PoPETs 2023, section 4.2; by regions instead of nearest neighbours.
    """

    ID = "linkability"
    KNOWS = "two halves of the quasi-identifiers, in lists that do not name people"
    CAPABILITIES = Capabilities(invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """One success; none where there are not two quasi-identifiers."""
        if scene.invented is not None:
            return linked(scene, scene.invented, Linkability.ID)
        if len(scene.attributes) < 2:
            return []
        targets = _chances(scene, scene.targets)
        control = None
        if scene.control is not None:
            control = _chances(scene, scene.control.of(np.arange(min(len(scene.control), len(targets)))))
        return [Success(targets, np.full(len(targets), 1 / max(len(targets), 1)), control)]


def covered(release: ShownRows, pairs: Any, class_of: Ints | None) -> CoveredPeople:
    """The people whom classes cover, by sparse `pairs` (people, classes); `class_of` (people,): the class of
    each, None where that is not known."""
    who = np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))
    return CoveredPeople.of(pairs.shape[0], (who, pairs.indices), release.sizes, release.density, class_of)


class SmallestRegion:
    """Smallest region: finds the class of somebody whom several classes cover.

    Knows: the quasi-identifiers of a person in the release, and that the method assigns people to classes that lose
    little.
    Does: finds the classes whose regions cover the person, and picks the one that stands for the fewest combinations of
    values; among several such classes, in proportion to their rows.
    Success: the person is in that class. If it is not known which row is the person's, the chance is the attacker's own
    belief, in which a class counts more the more rows it has and the fewer combinations it stands for.
    Baseline: a class picked among all that cover the person, in proportion to its rows. Control: none, as people who
    are not in the release have no class.
    Figures: the median over the targets of the rows that may be theirs, by regions alone (`by_regions`) and in the
    smallest of these regions (`by_method`).
    Limits: a class that is found still has as many rows as required, so no privacy model bounds this attacker, who is
    judged by `--max-excess` or `risk.max_excess` only if named. If no regions overlap there is nothing to find, and the
    excess is 0.
    Remedy: a larger k (`-k`), as the rows of the class remain possible, or a release by level (`incognito`), whose
    classes do not overlap.
    Source: the prosecutor of Dankar and El Emam, PAIS 2010, looking for the class instead of the row.
    """

    ID = "smallest-region"
    KNOWS = "the quasi-identifiers of a person in the release, and that the method puts people where they lose little"
    CAPABILITIES = Capabilities(only_named=True)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """The class of each target."""
        row_of, class_of = scene.targets.row_of, scene.release.class_of
        each = covered(scene.release, scene.candidates, None if row_of is None else class_of[row_of])
        placed, every = np.maximum(each.by_method, 1.0), np.maximum(each.by_regions, 1.0)
        if row_of is None:
            return [Success(each.belief, each.by_method / every, figures=each.medians())]
        return [Success(each.own_smallest * each.own / placed, each.own / every, figures=each.medians())]
