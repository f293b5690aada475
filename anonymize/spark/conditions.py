"""Upper cuts as an expression of the engine: where they are few, no row has to go through a worker to get its part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from anonymize.algorithms.splitting.histograms import UpperStep
from anonymize.classes import Bools, Ints
from anonymize.spark.codes import CodeBook

MOST_CUTS = 64
"""Cuts in an expression, which an engine compiles."""
MOST_LISTED = 64
"""Keys that an expression lists one by one."""


def label_expression(books: Sequence[CodeBook], steps: Sequence[UpperStep]) -> str | None:
    """The class that cuts put a row into, by its keys; as `labels_of` has it, for keys that are known. None where cuts,
    or the keys on one side of a cut, are too many."""
    cuts = {int(step.whole[place]): (step, place) for step in steps for place in range(len(step.whole))}
    if len(cuts) > MOST_CUTS:
        return None
    conditions = {number: _condition(books, step, place) for number, (step, place) in cuts.items()}
    if None in conditions.values():
        return None
    sides = {number: (int(step.first[place]), int(step.second[place])) for number, (step, place) in cuts.items()}
    return _below(0, conditions, sides)


def _below(number: int, conditions: Mapping[int, str | None], sides: Mapping[int, tuple[int, int]]) -> str:
    """The expression for the rows of one class."""
    if number not in sides:
        return str(number)
    inside, outside = (_below(side, conditions, sides) for side in sides[number])
    return f"case when {conditions[number]} then {inside} else {outside} end"


def _condition(books: Sequence[CodeBook], step: UpperStep, place: int) -> str | None:
    """Whether a row is on the first side of a cut."""
    book = books[int(step.attribute[place])]
    inside = (book.own >= step.start[place]) & (book.own < step.stop[place])
    return _among(book.name, book.keys, inside) or _negated(_among(book.name, book.keys, ~inside))


def _negated(condition: str | None) -> str | None:
    return None if condition is None else f"not ({condition})"


def _among(name: str, keys: Ints, chosen: Bools) -> str | None:
    """Whether a key is among those that are chosen: in a row of neighbours, or few."""
    places = np.flatnonzero(chosen)
    if not len(places):
        return "false"
    if places[-1] - places[0] + 1 == len(places):
        return f"{name} between {_literal(keys[places[0]])} and {_literal(keys[places[-1]])}"
    if len(places) > MOST_LISTED:
        return None
    return f"{name} in ({', '.join(map(_literal, keys[places]))})"


def _literal(key: np.integer) -> str:
    """A number of 64 bits: the least has no literal of its own."""
    return f"cast('{int(key)}' as bigint)"
