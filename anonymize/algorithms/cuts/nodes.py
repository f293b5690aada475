"""The nodes of a taxonomy that occur in each class of a batch: what categorical cuts are chosen among."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Ints, Runs


@dataclass(frozen=True)
class Nodes:
    """Nodes that occur in m classes, sorted by class, then leaf order; one of each class at least.

    `owner` (nodes,) class of each; `starts` (m,) the first node of each class; `first`, `last` (nodes,) lowest and
    highest leaf code that occurs under it; `rows` (nodes,) rows of the class under it.
    """

    owner: Ints
    starts: Ints
    first: Ints
    last: Ints
    rows: Ints

    @classmethod
    def of_runs(cls, runs: Runs, node: NDArray[np.integer[Any]]) -> Nodes:
        """The values of each class put together by their node (runs,)."""
        new_class = np.ones(len(node), np.bool_)
        np.not_equal(runs.classes[1:], runs.classes[:-1], out=new_class[1:])
        begins = new_class.copy()
        begins[1:] |= node[1:] != node[:-1]
        starts = np.flatnonzero(begins)
        last = runs.codes[np.append(starts[1:], len(node)) - 1]
        rows = np.add.reduceat(runs.counts, starts)
        return cls(runs.classes[starts], np.flatnonzero(new_class[starts]), runs.codes[starts], last, rows)

    def first_marked(self, marked: Bools) -> Ints:
        """(m,) the first marked node of each class; every class has one."""
        places = np.flatnonzero(marked)
        owner = self.owner[places]
        return places[np.concatenate(([True], owner[1:] != owner[:-1]))]
