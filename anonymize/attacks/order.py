"""Order: narrows what each row shows by where it stands.

Knows: that the original was sorted by some column, upwards or downwards, and that the release kept its order.
Does: for each quasi-identifier takes the running maximum of the lower ends and, from behind, the running minimum of the
upper ends; if these contradict each other nowhere, in one direction, the column was sorted, and they are what each cell
can be. Then guesses the most frequent value within.
Success: the value is that of the person whom the row is about. Cells that show one value are not attacked. If nothing
is narrowed, or the rows are in the order of what they show, nothing is guessed, and the excess is 0, without an
interval; where something is, and it is not known whom rows are about, it could not be measured.
Baseline: the most frequent value within what the cell shows.
Control: none, as people who are not in the release have no place in it.
Figures: how many cells are narrowed.
Limits: columns that are sorted only within runs of others are not found; `anonymize audit` looks for these.
Remedy: sort the rows by what they show (`output: {row_order: sorted}`).
Source: the running bounds of `anonymize.verify.tighten`, written anew.
"""

from __future__ import annotations

import numpy as np

from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success
from anonymize.classes import Floats, Ints
from anonymize.domain.leafsets import LeafSets

CELLS = 1 << 23
"""Pairs of a row and a code that are looked at together."""

ID = "order"
KNOWS = "that the original was sorted"


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
            hits, before = (_frequent(shares, low[rows], high[rows], leaves) == truth for low, high in (narrow, spans))
            successes.append(Success(hits.astype(float), before.astype(float), about=name, figures=figures))
    return successes


def _attacked(scene: Scene, spans: tuple[Ints, Ints], column: int) -> Ints:
    """The people whose cell is attacked, as many as there are targets."""
    row_of = scene.everybody.row_of
    assert row_of is not None
    wide = (spans[0] < spans[1])[row_of] & (row_of >= 0) & (scene.everybody.codes[:, column] >= 0)
    people = np.flatnonzero(wide)
    count = len(scene.targets)
    return people if len(people) <= count else np.sort(scene.generator(ID).choice(people, count, replace=False))


def narrowed(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """(rows,) what each span can be if the column was sorted; the spans as they are, if it was not."""
    for backwards in (False, True):
        low, high = (ends[::-1] if backwards else ends for ends in (first, last))
        low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
        if (low <= high).all():
            return (low[::-1], high[::-1]) if backwards else (low, high)
    return first, last


def _frequent(shares: Floats, first: Ints, last: Ints, cells: LeafSets) -> Ints:
    """(rows,) the most frequent code within each span that the cell stands for, the lowest of those alike; some rows at
    a time."""
    codes, step = np.arange(len(shares)), max(CELLS // max(len(shares), 1), 1)
    parts = [
        np.where(
            (first[some, None] <= codes) & (codes <= last[some, None]) & cells.of_cells(some).holding(codes[None, :]),
            shares,
            -1.0,
        ).argmax(axis=1)
        for some in (slice(start, start + step) for start in range(0, len(first), step))
    ]
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
