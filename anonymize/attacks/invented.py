"""Attackers of invented rows, as in Anonymeter: such a table has no rows of real people to find. What it reveals about
them shows only in comparison with what it reveals in the same way about people who are not in the original.

`singled_out` and `linked` are the versions of singling out and linkability for invented rows.

Source: Giomi, Boenisch, Wehmeyer and Tasnádi, A unified framework for quantifying privacy risk in synthetic data,
PoPETs 2023, and its library, Anonymeter.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from anonymize.attacks.methods import Capabilities, Success, guessed, isolating, prior
from anonymize.attacks.points import Conditions, PointRows
from anonymize.attacks.scene import Scene, TargetPeople
from anonymize.classes import Bools, Floats, Ints

MOST_COMPARED = 50_000
"""The most invented rows that people are compared with, and the most people that rows are compared with: of more, a
sample is drawn."""
CONDITION_COLUMNS = 3
"""Columns that a condition is about."""
TRIES_PER_CONDITION = 20
"""Conditions that are looked at for each that is wanted, at most."""
MOST_CELLS_COMPARED = 1 << 30
"""Cells that conditions are compared with, at most."""
TOLERANCE = 0.05
"""How far off a guessed number may be, as a share of the true one."""
EQUAL_DISTANCE = 1e-6
"""Up to which mean distance rows are equal."""


def _points(people: TargetPeople) -> Floats:
    assert people.points is not None
    return people.points


def singled_out(scene: Scene, rows: PointRows, name: str) -> Success:
    """Conditions on three columns that exactly one invented row meets, put to the people."""
    conditions = _isolating_rows(rows, len(scene.targets), scene.generator(f"{name}-conditions"))
    figures = {"conditions": len(conditions.columns)}
    weights = conditions.weights(_points(scene.everybody))

    def count(people: TargetPeople) -> Ints:
        return conditions.counts(_points(people))

    return isolating(scene, name, count, weights, figures=figures)


def _isolating_rows(rows: PointRows, wanted: int, generator: np.random.Generator) -> Conditions:
    """Up to `wanted` different conditions that only the row meets of which each is made."""
    number, columns = rows.points.shape
    parts = min(CONDITION_COLUMNS, columns)
    tries = min(TRIES_PER_CONDITION * wanted, MOST_CELLS_COMPARED // max(number * parts, 1))
    drawn = generator.integers(0, max(number, 1), tries if number and parts else 0)
    places = np.sort(generator.random((len(drawn), columns)).argsort(axis=1)[:, :parts], axis=1)
    values = rows.points[drawn[:, None], places]
    _, firsts = np.unique(np.hstack([places, np.nan_to_num(values, nan=np.inf)]), axis=0, return_index=True)
    firsts = np.sort(firsts)
    every = Conditions(places[firsts], values[firsts], rows)
    alone = np.flatnonzero(every.counts(rows.points) == 1)[:wanted]
    return every.of(np.isin(np.arange(len(firsts)), alone))


def linked(scene: Scene, rows: PointRows, name: str) -> list[Success]:
    """Whether both halves of a person's quasi-identifiers are nearest to the same invented row; in a tie, to any."""
    if rows.known < 2:
        return []
    drawn = rows.drawn(MOST_COMPARED, scene.generator(name))
    halves = [range(start, rows.known, 2) for start in (0, 1)]

    def chances(people: TargetPeople) -> Floats:
        same = np.zeros(len(people))
        for (batch, _, first), (_, _, second) in zip(
            *(drawn.nearest(_points(people), half) for half in halves), strict=True
        ):
            either = first.sum(axis=1, dtype=np.float64) * second.sum(axis=1)
            same[batch] = (first & second).sum(axis=1) / np.maximum(either, 1)
        return same

    control = None if scene.control is None else chances(scene.control)
    baseline = np.full(len(scene.targets), 1 / max(len(drawn.points), 1))
    return [Success(chances(scene.targets), baseline, control)]


class NearestInference:
    """Inference by the nearest row: guesses the sensitive value of the invented row that is most similar to the person.

    Knows: the quasi-identifiers of one person.
    Does: finds the invented row at the smallest distance (Gower's: numbers as shares of their range, categories equal
    or not), any of them in a tie, and guesses its sensitive value.
    Success: the value is the person's; a number is right within 5 %.
    Baseline: the most frequent value of all invented rows; for numbers, the value of one drawn at random.
    Control: the same attack on people who are not in the original; success there comes from general patterns, and not
    from the person's data.
    Figures: for categories DCAP, WEAP, TCAP and RAPID, see docs/attacks.md.
    Limits: at most 50,000 invented rows, drawn.
    Remedy: a smaller epsilon (`privacy: {differential: {epsilon: 0.5}}`) bounds what one person can change.
    Source: Giomi and others, PoPETs 2023, section 4.3.
    """

    ID = "inference-nearest"
    KNOWS = "the quasi-identifiers of a person"
    CAPABILITIES = Capabilities(released=False, invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """A success for each sensitive attribute."""
        rows = scene.invented
        if rows is None or not rows.known or not scene.sensitive:
            return []
        drawn = rows.drawn(MOST_COMPARED, scene.generator(NearestInference.ID))
        people = [_points(each) for each in scene.attacked]
        guesses = [_guesses(drawn, each, scene.sensitive) for each in people]
        successes = []
        for name, size in scene.sensitive.items():
            column = rows.names.index(name)
            offered, truths = [each[name] for each in guesses], [each[:, column] for each in people]
            if rows.numeric[column]:
                successes.append(_numbers_guessed(drawn.points[:, column], offered, truths, name))
            else:
                codes = [each.astype(np.int64) for each in truths]
                successes.append(guessed(offered, codes, prior(scene.release, name, size), name))
        return successes


def _guesses(rows: PointRows, points: Floats, sizes: Mapping[str, int]) -> dict[str, Floats]:
    """Of each sensitive column what the rows nearest to each person offer: of categories (people, size) the share of
    each value, of numbers (people,) the share that is right. Ties are counted batch by batch, and none is kept."""
    columns = {name: rows.names.index(name) for name in sizes}
    guesses = {
        name: np.zeros(len(points) if rows.numeric[column] else (len(points), sizes[name]))
        for name, column in columns.items()
    }
    for batch, _, near in rows.nearest(points, range(rows.known)):
        for name, column in columns.items():
            values = rows.points[:, column]
            number = np.maximum(near.sum(axis=1), 1)
            if rows.numeric[column]:
                truths = points[batch, column][:, None]
                close = np.abs(values - truths) <= TOLERANCE * np.abs(truths)
                guesses[name][batch] = (near & close).sum(axis=1) / number
            else:
                codes = values.astype(np.int64) + 1  # 0 where a row has no value
                counts = [np.bincount(codes[each], minlength=sizes[name] + 1)[1:] for each in near]
                guesses[name][batch] = np.array(counts) / number[:, None]
    return guesses


def _numbers_guessed(values: Floats, right: list[Floats], truths: list[Floats], about: str) -> Success:
    """The success of guessing numbers, from how likely each guess is `right`; missing numbers are not attacked."""
    hits = [each[~np.isnan(truth)] for each, truth in zip(right, truths, strict=True)]
    known = truths[0][~np.isnan(truths[0])]
    ordered = np.sort(values[~np.isnan(values)])
    reach = TOLERANCE * np.abs(known)
    within = np.searchsorted(ordered, known + reach, side="right") - np.searchsorted(ordered, known - reach)
    return Success(hits[0], within / max(len(values), 1), hits[1] if len(hits) > 1 else None, about)


class ClosestRecord:
    """Closest record: measures whether invented rows lie closer to the people of the original than to others.

    Knows: nothing of anybody; it is a measure of whether rows were copied.
    Does: finds the nearest person for each invented row, by all columns (Gower's distance: numbers as shares of their
    range, categories equal or not), among everybody in the original and the control; any of them in a tie. Everybody
    who is nearest to some row counts once.
    Success: the nearest person is of the original.
    Baseline: the share of the original among all people compared, which is the rate expected if rows are just as close
    to people whom the model never had.
    Control: none other than the baseline, for which people who are not in the original are needed; without them there
    is nothing to attack.
    Figures: the medians of the distances to either group (`closest`, `closest_control`), and how many of the rows equal
    somebody (`equal`, `equal_control`); the distance to the smaller group is larger because of its size alone.
    Limits: at most 50,000 people each, drawn.
    Remedy: a smaller epsilon (`privacy: {differential: {epsilon: 0.5}}`) bounds what one person can change.
    Source: Platzer and Reutterer, Holdout-based empirical assessment of mixed-type synthetic data, Frontiers in Big
    Data 2021.
    """

    ID = "closest-record"
    KNOWS = "nothing of anybody"
    CAPABILITIES = Capabilities(control=True, released=False, invented=None)

    @staticmethod
    def attack(scene: Scene) -> list[Success]:
        """One success, by as many rows as there are targets; none without a control."""
        if scene.invented is None or scene.outsiders is None:
            return []
        generator = scene.generator(ClosestRecord.ID)
        rows = scene.invented.drawn(len(scene.targets), generator)
        original, others = (
            _points(each.drawn(MOST_COMPARED, generator)) for each in (scene.everybody, scene.outsiders)
        )
        points, own = np.concatenate([original, others]), np.arange(len(original) + len(others)) < len(original)
        mixed = generator.permutation(len(points))  # so that the first of several as near is any of them
        nearest, distances = _closest(rows, points[mixed], own[mixed])
        hits = own[mixed][np.unique(nearest)].astype(float)
        return [Success(hits, np.full(len(hits), own.mean()), figures=_figures(*distances))]


def _closest(rows: PointRows, points: Floats, own: Bools) -> tuple[Ints, tuple[Floats, Floats]]:
    """(rows,) who of some people is nearest, the first of several; and the distances, a mean over the columns, to the
    nearest of those who are of the original (people,), and of the others."""
    least = {True: np.full(len(rows.points), np.inf), False: np.full(len(rows.points), np.inf)}
    nearest = np.zeros(len(rows.points), np.int64)
    for batch, apart in rows.distances(points, range(len(rows.names))):
        first = apart.argmin(axis=0)
        closer = apart[first, np.arange(len(first))] < np.minimum(*least.values())
        nearest = np.where(closer, batch.start + first, nearest)
        for group, distances in least.items():
            of_group = apart[own[batch] == group].min(axis=0, initial=np.inf)
            least[group] = np.minimum(distances, of_group)
    columns = max(len(rows.names), 1)
    return nearest, (least[True] / columns, least[False] / columns)


def _figures(own: Floats, other: Floats) -> dict[str, float | int | None]:
    def median(distances: Floats) -> float | None:
        return float(np.median(distances)) if len(distances) else None

    return {
        "closest": median(own),
        "equal": int((own <= EQUAL_DISTANCE).sum()),
        "closest_control": median(other),
        "equal_control": int((other <= EQUAL_DISTANCE).sum()),
    }
