"""What the search knows of a table beforehand: the splits of each level of the hierarchies, and which splits a
multidimensional recoding would want most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.algorithms import mondrian
from anonymize.algorithms.base import Context
from anonymize.algorithms.optimize.cells import Splits
from anonymize.classes import Bools, Ints
from anonymize.errors import InfeasibleError
from anonymize.privacy import Requirement
from anonymize.table import Table


@dataclass(frozen=True)
class Outlook:
    """`levels`: per attribute, from its top level down to that which is searched, the splits of the level, among all
    splits. `stages`: the same for all attributes at once."""

    levels: Sequence[Sequence[Bools]]
    stages: Sequence[Bools]

    @classmethod
    def of(cls, table: Table, splits: Splits, level: int) -> Outlook:
        """That of a table whose splits are those of a level."""
        highest = max([level, *(attribute.hierarchy.height for attribute in table.attributes)])
        per_level = [
            [
                np.isin(of_attribute, places)
                for of_attribute, places in zip(splits.places, Splits.of_table(table, spot).places, strict=True)
            ]
            for spot in range(highest, level - 1, -1)
        ]
        begins = np.cumsum([0, *map(len, splits.places)])
        levels = [
            _distinct([_placed(each[number], begins[number], splits.count) for each in per_level])
            for number in range(len(splits.places))
        ]
        return cls(levels, _distinct([np.concatenate(each) for each in per_level]))

    def within(self, allset: Bools) -> list[list[Bools]]:
        """The levels that have no splits beyond a set."""
        none = np.zeros_like(allset)
        return [[none, *(mask for mask in masks if mask.any() and not (mask & ~allset).any())] for masks in self.levels]


def mondrian_splits(table: Table, requirements: tuple[Requirement, ...], splits: Splits, limit: int) -> Ints:
    """The splits at which Mondrian's classes begin, those of most rows first; none where it has no release."""
    try:
        partition = mondrian.run(table, requirements, mondrian.Options(cut="widest"), Context(limit)).partition
    except InfeasibleError:
        return np.zeros(0, np.int64)
    weights = []
    for attribute, places in zip(table.attributes, splits.places, strict=True):
        low = partition.boxes(attribute.codes)[0] if partition.count else np.zeros(0, np.int64)
        before = np.searchsorted(places, low, side="right")
        weights.append(np.bincount(before, partition.sizes, minlength=len(places) + 1)[1:])
    weight = np.concatenate(weights)
    ranks = np.argsort(-weight, kind="stable")
    return np.asarray(ranks[weight[ranks] > 0])


def _placed(mask: Bools, begin: int, count: int) -> Bools:
    whole = np.zeros(count, np.bool_)
    whole[begin : begin + len(mask)] = mask
    return whole


def _distinct(masks: Sequence[Bools]) -> list[Bools]:
    """Without those that are the same as the one before; one at least."""
    return [mask for spot, mask in enumerate(masks) if not spot or (mask != masks[spot - 1]).any()]
