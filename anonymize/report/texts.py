"""What the cells of a release cost, read from its text with the spec and the hierarchy files, and from nothing else.

A number costs the width of what its cell shows over the range of the column: the `domain` that the spec declares, or
else the range that the release itself shows. A category costs the share of its hierarchy's leaves that are under the
node of its label. Where the hierarchy is not a file, its leaves are the values of the input; then only what is shown as
it is, or not at all, has a cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats
from anonymize.domain import files
from anonymize.domain.cells import CellFormat, CellKind, ReadCells, members, numbers, read_cells, unescaped
from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy
from anonymize.spec import Spec
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.hierarchy import Flat


@dataclass(frozen=True)
class CellCosts:
    """What n cells cost: `ncp` and `loss` (n,); None where the release and the hierarchies do not tell. `relative_to`:
    what the costs are shares of. `level`: the level of the hierarchy that they all show, None if there is no such."""

    ncp: Floats | None
    loss: Floats | None
    relative_to: str | None
    level: int | None = None


UNKNOWN = CellCosts(None, None, None)


@dataclass(frozen=True)
class ShownColumn:
    """The distinct texts of a quasi-identifier. `low`, `high`: the same texts twice, or those of the two columns of
    bounds; null where that is missing. `labelled`: numbers are shown as labels of a hierarchy, or as they are."""

    name: str
    low: pl.Series
    high: pl.Series
    spec: Spec
    labelled: bool

    def costs(self) -> CellCosts:
        """What the cells cost."""
        if self.definition.type == "numeric":
            return self._numbers()
        return self._leaves() if isinstance(self.definition.hierarchy, Path) else self._flat()

    @property
    def definition(self) -> QuasiIdentifier:
        """What the spec says of it."""
        return self.spec.quasi_identifiers[self.name]

    @cached_property
    def cells(self) -> ReadCells:
        """The texts as cells."""
        written = CellFormat.of(self.spec.output, self.spec.input.missing)
        return read_cells(self.low, self.high, written, numeric=self.definition.type == "numeric")

    @cached_property
    def hidden(self) -> Bools:
        """(n,) which cells are suppressed."""
        return self.cells.of_kind(CellKind.SUPPRESSED)

    @cached_property
    def empty(self) -> Bools:
        """(n,) which cells are suppressed or missing."""
        return self.cells.of_kind(CellKind.SUPPRESSED, CellKind.MISSING)

    # --- numbers ---

    def _numbers(self) -> CellCosts:
        if self.spec.output.numeric in ("mean", "median") and not self.labelled:
            return UNKNOWN
        low, high = self.cells.closed()
        low, high = self._with_open_ends(low, high)
        labels = ~(self.cells.numeric | self.empty)
        if labels.any():
            low, high = self._of_labels(low, high, labels)
        some = ~self.empty
        if np.isnan(low[some]).any():
            return UNKNOWN
        width = self._width(low, high, some)
        relative_to = "range shown" if self.definition.domain is None else "domain"
        return CellCosts(width, width, relative_to)

    def _with_open_ends(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The ends of cells, those of the column in place of an end that is open."""
        numeric = self.cells.numeric
        for ends, texts, excluded in zip(
            (low, high), (self.cells.low, self.cells.high), self.cells.excluded, strict=True
        ):
            ends[excluded] = numbers(texts).to_numpy()[excluded]  # as it is written
        ends = np.concatenate((low[numeric], high[numeric]))
        ends = ends[np.isfinite(ends)]
        least, most = (ends.min(), ends.max()) if len(ends) else (np.nan, np.nan)
        return np.where(np.isfinite(low), low, least), np.where(np.isfinite(high), high, most)

    def _of_labels(self, low: Floats, high: Floats, labels: Bools) -> tuple[Floats, Floats]:
        """The ends with those of the labels of a hierarchy file: the numbers under them; nan where there are none."""
        low, high = np.where(labels, np.nan, low), np.where(labels, np.nan, high)
        if not isinstance(self.definition.hierarchy, Path):
            return low, high
        taxonomy = Taxonomy.of(
            self.name, files.read(self.definition.hierarchy, self.name, normalize=self.spec.input.normalize), None
        )
        leaves = numbers(pl.Series(taxonomy.leaf_text(), dtype=pl.String)).fill_null(np.nan).to_numpy()
        nodes = taxonomy.by_label
        for index in np.flatnonzero(labels).tolist():
            for node in nodes.get(self.low[index], []):
                under = leaves[taxonomy.start[node] : taxonomy.stop[node]]
                if not np.isnan(under).all():
                    low[index] = np.fmin(low[index], np.nanmin(under))
                    high[index] = np.fmax(high[index], np.nanmax(under))
        return low, high

    def _width(self, low: Floats, high: Floats, some: Bools) -> Floats:
        """(n,) width of each cell over the range of the column, 1 at most; quarters, so that none overflows."""
        if not some.any():
            return self.hidden.astype(np.float64)
        least, most = self.definition.domain or (float(low[some].min()), float(high[some].max()))
        with np.errstate(over="ignore", invalid="ignore"):
            share = (high / 4 - low / 4) / ((most / 4 - least / 4) or 1.0)
        return np.where(self.hidden, 1.0, np.where(some, np.minimum(share, 1.0), 0.0))

    # --- categories ---

    def _flat(self) -> CellCosts:
        """Without a file: what is shown as it is costs nothing, and of a flat hierarchy two values are all of it."""
        if not (isinstance(self.definition.hierarchy, Flat) or self.definition.hierarchy is None):
            hidden = self.hidden.astype(np.float64)
            return CellCosts(hidden, hidden, "values") if self.empty.all() else UNKNOWN
        several = self.cells.of_kind(CellKind.SET) | (~self.empty & self.low.ne_missing(self.high).to_numpy())
        cost = (self.hidden | several).astype(np.float64)
        return CellCosts(cost, cost, "values", None if several.any() else self._one_level(cost))

    def _one_level(self, cost: Floats) -> int | None:
        """The level of a flat hierarchy at which all cells are."""
        return int(cost[0]) if len(cost) and (cost == cost[0]).all() else None

    def _leaves(self) -> CellCosts:
        """By a file: the node that each label stands for, the lowest above the leaves of a set."""
        assert isinstance(self.definition.hierarchy, Path)
        absent = self.cells.of_kind(CellKind.MISSING)
        missing = self.spec.input.missing_text if absent.any() else None
        taxonomy = Taxonomy.of(
            self.name, files.read(self.definition.hierarchy, self.name, normalize=self.spec.input.normalize), missing
        )
        reading = _Labels(taxonomy, self.spec)
        pairs = zip(self.cells.kind.tolist(), self.low, self.high, strict=True)
        nodes = [reading.node(kind, low or "", high or "") for kind, low, high in pairs]
        if -1 in nodes:
            return UNKNOWN
        generalization = Generalization.plain(taxonomy)
        ncp, loss = generalization.ncp[nodes], generalization.loss[nodes]
        level = reading.level([node for node, hidden in zip(nodes, self.hidden.tolist(), strict=True) if not hidden])
        return CellCosts(np.where(self.hidden, 1.0, ncp), np.where(self.hidden, 1.0, loss), "hierarchy", level)


class _Labels:
    """The nodes of a hierarchy file by what a release shows of them."""

    def __init__(self, taxonomy: Taxonomy, spec: Spec) -> None:
        self.taxonomy, self.spec, self.by_label = taxonomy, spec, taxonomy.by_label
        self.leaves = {text: code for code, text in reversed(list(enumerate(taxonomy.leaf_text())))}

    def node(self, kind: int, low: str, high: str) -> int:
        """The node of a cell, the widest of several; -1 where there is none."""
        taxonomy = self.taxonomy
        if kind == CellKind.SUPPRESSED:
            return taxonomy.root
        if kind == CellKind.MISSING:
            return taxonomy.root if taxonomy.missing is None else taxonomy.missing
        if self.spec.output.categorical == "bounds" and low.isdecimal() and high.isdecimal():
            return self._above([int(low), int(high)])
        if kind == CellKind.SET:
            missing = () if taxonomy.missing is None else self.spec.input.missing
            return self._above(taxonomy.leaves_of(members(low), missing) or [-1])
        labelled = self.by_label.get(low, [])
        if labelled and low == high:
            return max(labelled, key=lambda node: float(taxonomy.node_cost[node]))
        return self._above([self._leaf(unescaped(low))]) if low == high else -1

    def level(self, nodes: Sequence[int]) -> int | None:
        """The one level on which all nodes stand; None where that is none or several."""
        taxonomy = self.taxonomy
        levels = [set(np.flatnonzero((taxonomy.levels == node).any(axis=1)).tolist()) for node in set(nodes)]
        common = set.intersection(*levels) if levels else set()
        return common.pop() if len(common) == 1 else None

    def _leaf(self, value: str) -> int:
        if value in self.spec.input.missing and self.taxonomy.missing is not None:
            return self.taxonomy.missing
        return self.leaves.get(value, -1)

    def _above(self, leaves: Sequence[int]) -> int:
        """The lowest node above some leaves."""
        if -1 in leaves or max(leaves) >= self.taxonomy.size:
            return -1
        return int(self.taxonomy.lca(np.array([min(leaves)]), np.array([max(leaves)]))[0])
