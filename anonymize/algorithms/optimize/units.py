"""The same ways to part classes as in `halves`, where several rows may be about one individual: an individual in
several intervals counts once in each half."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from anonymize.algorithms.optimize.halves import Halves, HeadRuns, batches, sides
from anonymize.algorithms.optimize.judge import SplitJudge
from anonymize.classes import Floats, Ints
from anonymize.privacy import Groups, Histogram, Whole
from anonymize.privacy.members import Members


def halves_of_units(
    judge: SplitJudge, rows: Ints, head: Ints, runs: Members, codes: Mapping[str, int]
) -> Iterator[Halves]:
    """Every way to part a head between its runs: the runs up to each, and those after it.

    `rows`, `head` (r,): rows and head of each run, all heads, ascending; `runs`: the individuals that each is about.
    `codes`: of each sensitive attribute, how many. In batches; halves at the last run of a head mean nothing.
    """
    leading, trailing = (Groups.of_members(members) for members in runs.ends(head))
    for _, picked, head_runs in batches(head, max([codes[name] for name in leading.histograms], default=1)):
        before, after = sides(rows[picked], head_runs)
        left = judge.verdict(_summed(leading, picked, head_runs, codes, 0))
        right = judge.verdict(_summed(trailing, picked, head_runs, codes, 1))
        yield picked, head_runs, ((before, *left), (after, *right))


def _summed(groups: Groups, picked: slice, head_runs: HeadRuns, codes: Mapping[str, int], side: int) -> Groups:
    """The halves on one side of each run, summed."""
    histograms = {name: _half(each, picked, head_runs, codes[name], side) for name, each in groups.histograms.items()}
    return Groups(sides(groups.sizes[picked], head_runs)[side], histograms)


def _half(histogram: Histogram, picked: slice, head_runs: HeadRuns, size: int, side: int) -> Histogram:
    entries = slice(int(histogram.starts[picked.start]), int(histogram.starts[picked.stop]))
    dense = np.zeros((picked.stop - picked.start, size), np.int64)
    dense[histogram.classes[entries] - picked.start, histogram.codes[entries]] = histogram.counts[entries]
    values = None
    if histogram.values is not None:
        values = np.full(size, np.nan)
        values[histogram.codes[entries]] = histogram.values[entries]
    return _sparse(sides(dense, head_runs)[side], values, histogram.given)


def _sparse(dense: Ints, values: Floats | None, whole: Whole | None) -> Histogram:
    classes, codes = np.nonzero(dense)
    starts = np.searchsorted(classes, np.arange(len(dense) + 1))
    numbers = None if values is None else values[codes]
    return Histogram(classes, codes, dense[classes, codes], starts, numbers, whole)
