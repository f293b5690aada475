"""How a released cell lies over the bins of its column, read from its text.

A reader who knows nothing else takes every value under a label, and every place in an interval, for equally likely: a
cell counts in each bin with the share of its leaves, or of its width, that lies there. Whole numbers are as wide as the
unit: `[18-19]` is two of them. An open end reaches to the extreme of the column. A number that may be missing counts as
a number. What is suppressed is in no bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.cells import CellFormat, CellKind, ReadCells, members, read_cells, unescaped
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.fidelity.bins import Bins
from anonymize.spec import Spec
from anonymize.table import Attribute


@dataclass(frozen=True)
class Spread:
    """How n distinct texts lie over bins. `shares` (n, bins): rows add up to 1, or to 0 where nothing is shown.
    `hidden` (n,): nothing is."""

    shares: Floats
    hidden: Bools


def spread(attribute: Attribute, low: Sequence[str], high: Sequence[str], bins: Bins, spec: Spec) -> Spread:
    """How distinct cells lie over the bins; `low` and `high` (n,) are the same texts twice, or those of two bounds."""
    cells = _Cells(attribute, pl.Series(low, dtype=pl.String), pl.Series(high, dtype=pl.String), bins, spec)
    shares = cells.of_numbers() if isinstance(attribute.domain, Numeric) else cells.of_categories()
    total = shares.sum(axis=1, keepdims=True)
    return Spread(np.divide(shares, total, out=np.zeros_like(shares), where=total > 0), total[:, 0] == 0)


@dataclass(frozen=True)
class _Cells:
    attribute: Attribute
    low: pl.Series
    high: pl.Series
    bins: Bins
    spec: Spec

    @cached_property
    def read(self) -> ReadCells:
        """The cells as what they are."""
        output = self.spec.output
        missing = frozenset(self.spec.input.missing)
        written = CellFormat(output.interval, output.suppressed, missing, output.open_high, output.open_low)
        return read_cells(self.low, self.high, written, numeric=isinstance(self.attribute.domain, Numeric))

    # --- numbers ---

    def of_numbers(self) -> Floats:
        """(n, bins) the width that each cell has in each bin; a single number is all in its own."""
        domain, bins = self.attribute.domain, self.bins
        assert isinstance(domain, Numeric)
        if bins.edges is None:
            return self._by_leaves(*self._codes(domain))
        least, most = float(domain.values[0]), float(domain.values[-1])
        low, high = (np.clip(ends, least, most) for ends in self._ends())
        shares = np.zeros((len(low), bins.count))
        shares[:, : len(bins.edges) + 1] = _widths(low, high, bins.edges, 1.0 if domain.whole else 0.0)
        shares[~self._shows()] = 0.0
        if bins.missing is not None:
            shares[self.read.of_kind(CellKind.MISSING), bins.missing] = 1.0
        return shares

    def _ends(self) -> tuple[Floats, Floats]:
        """(n,) the two ends of each cell; those of a label are the numbers under its node."""
        low, high = self.read.closed()
        labels = self.read.of_kind(CellKind.LABEL)
        if labels.any():
            numbers, taxonomy = self.attribute.generalization.numbers, self.attribute.hierarchy
            assert numbers is not None
            for index in np.flatnonzero(labels).tolist():
                node = self._nodes.get(self.low[index], taxonomy.root)
                under = numbers[taxonomy.start[node] : taxonomy.stop[node]]
                low[index], high[index] = np.fmin.reduce(under, initial=np.inf), np.fmax.reduce(under, initial=-np.inf)
        return low, high

    def _shows(self) -> Bools:
        root = pl.lit(self.attribute.hierarchy.labels[self.attribute.hierarchy.root])
        top = self.low.to_frame("low").select((pl.col("low") == root).fill_null(False)).to_series().to_numpy()
        nothing = self.read.of_kind(CellKind.SUPPRESSED, CellKind.MISSING) | (self.read.of_kind(CellKind.LABEL) & top)
        return np.asarray(~nothing)

    def _codes(self, domain: Numeric) -> tuple[Ints, Ints]:
        """(n,) the leaves from `first` to before `stop` under each cell; none where nothing is shown."""
        low, high = self._ends()
        first = np.searchsorted(domain.values, low, "left")
        stop = np.searchsorted(domain.values, high, "right")
        # The mean of a class is no value of the column: it counts as the value that follows it.
        between = stop <= first
        first = np.where(between, np.minimum(first, len(domain.values) - 1), first)
        stop = np.where(between, first + 1, stop)
        absent = self.read.of_kind(CellKind.MISSING)
        if domain.missing is not None:
            first, stop = np.where(absent, domain.missing, first), np.where(absent, domain.missing + 1, stop)
        shows = self._shows() | (absent & (domain.missing is not None))
        return np.where(shows, first, 0), np.where(shows, stop, 0)

    # --- categories ---

    def of_categories(self) -> Floats:
        """(n, bins) the leaves that each cell has in each bin."""
        taxonomy = self.attribute.domain
        assert isinstance(taxonomy, Taxonomy)
        bounds = [
            self._leaves(taxonomy, *cell) for cell in zip(self.read.kind.tolist(), self.low, self.high, strict=True)
        ]
        first, stop = (np.array([bound[side] for bound in bounds], np.int64) for side in (0, 1))
        shares = self._by_leaves(first, stop)
        for index in np.flatnonzero(self.read.of_kind(CellKind.SET)).tolist():
            leaves = [self._leaf_codes.get(value, -1) for value in members(self.low[index])]
            shares[index] = np.bincount(
                self.bins.of_leaf[[each for each in leaves if each >= 0]], minlength=self.bins.count
            )
        return shares

    def _leaves(self, taxonomy: Taxonomy, kind: int, low: str | None, high: str | None) -> tuple[int, int]:
        """The leaves from the first to before the second; (0, 0) where nothing is shown."""
        if kind == CellKind.MISSING:
            return (0, 0) if taxonomy.missing is None else (taxonomy.missing, taxonomy.missing + 1)
        if kind in (CellKind.SUPPRESSED, CellKind.SET):
            return 0, 0
        ends = [self._leaf_codes.get(unescaped(each or ""), -1) for each in (low, high)]
        node = self._nodes.get(low, -1) if low == high else -1
        if node == taxonomy.root and node >= taxonomy.size:
            return 0, 0
        if node >= 0:
            return int(taxonomy.start[node]), int(taxonomy.stop[node])
        if self.spec.output.categorical == "bounds" and low and high and low.isdecimal() and high.isdecimal():
            ends = [int(low), int(high)]
        return (0, 0) if min(ends) < 0 else (min(ends), max(ends) + 1)

    @cached_property
    def _nodes(self) -> dict[str | None, int]:
        """The widest node of each label: a parent's number is above its children's."""
        return {label: node for node, label in enumerate(self.attribute.hierarchy.labels)}

    @cached_property
    def _leaf_codes(self) -> dict[str, int]:
        return {text: code for code, text in reversed(list(enumerate(self.attribute.domain.leaf_text())))}

    def _by_leaves(self, first: Ints, stop: Ints) -> Floats:
        """(n, bins) leaves in each bin of those from `first` to before `stop`.

        One running count of leaves per bin answers all intervals: what is below the one end less what is below the
        other.
        """
        is_in = np.zeros((len(self.bins.of_leaf) + 1, self.bins.count))
        is_in[np.arange(1, len(is_in)), self.bins.of_leaf] = 1.0
        below = is_in.cumsum(axis=0)
        return np.asarray(below[stop] - below[first])


def _widths(low: Floats, high: Floats, edges: Floats, unit: float) -> Floats:
    """(n, bins) what of each interval [low, high] lies in each bin; 1 in its own where an interval has no width."""
    begins, ends = np.concatenate(([-np.inf], edges)), np.concatenate((edges, [np.inf]))
    width = np.minimum(high[:, None] + unit, ends) - np.maximum(low[:, None], begins)
    shares = np.maximum(width, 0.0)
    points = high + unit <= low
    shares[points] = 0.0
    shares[np.flatnonzero(points), np.searchsorted(edges, low[points], "right")] = 1.0
    return np.asarray(shares)
