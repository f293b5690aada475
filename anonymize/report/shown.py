"""The equivalence classes that a release shows, and what their cells cost, read from its text with the spec and the
hierarchy files, and from nothing else.

A number costs the width of what its cell shows over the range of the column: the `domain` that the spec declares, or
else the range that the release itself shows. A category costs the share of its hierarchy's leaves that are under the
node of its label. Where the hierarchy is not a file, its leaves are the values of the input; then only what is shown as
it is, or not at all, has a cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain import files
from anonymize.domain.cells import CellKind, ReadCells, cells_of, numbers
from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy
from anonymize.reading import CategoryReader, LabelledNodes
from anonymize.records import dataclass
from anonymize.report.published import Published
from anonymize.spec import Spec, hierarchy
from anonymize.spec.columns import QuasiIdentifier
from anonymize.table.columns import tidy
from anonymize.table.named import column


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
        return cells_of(self.spec, self.low, self.high, numeric=self.definition.type == "numeric")

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
        if not (isinstance(self.definition.hierarchy, hierarchy.Flat) or self.definition.hierarchy is None):
            hidden = self.hidden.astype(np.float64)
            return CellCosts(hidden, hidden, "values") if self.empty.all() else UNKNOWN
        several = self.cells.of_kind(CellKind.SET) | (~self.empty & self.low.ne_missing(self.high).to_numpy())
        cost = (self.hidden | several).astype(np.float64)
        one_level = len(cost) and not several.any() and (cost == cost[0]).all()
        return CellCosts(cost, cost, "values", int(cost[0]) if one_level else None)

    def _leaves(self) -> CellCosts:
        """By a file: the node that each label stands for, the lowest above the leaves of a set."""
        assert isinstance(self.definition.hierarchy, Path)
        absent = self.cells.of_kind(CellKind.MISSING)
        missing = self.spec.input.missing_text if absent.any() else None
        taxonomy = Taxonomy.of(
            self.name, files.read(self.definition.hierarchy, self.name, normalize=self.spec.input.normalize), missing
        )
        generalization = Generalization.plain(taxonomy)
        labelled = LabelledNodes(generalization)
        reader = CategoryReader(taxonomy, labelled, self.spec.input.missing, self.spec.output.categorical)
        cells = zip(self.cells.kind.tolist(), self.low, self.high, strict=True)
        categories = [reader.category(kind, low or "", high or "") for kind, low, high in cells]
        if any(each.first < 0 for each in categories):
            return UNKNOWN
        above = taxonomy.lca(
            *(np.array([getattr(each, end) for each in categories], np.int64) for end in ("first", "last"))
        )
        nodes = np.array([each.node for each in categories], np.int64)
        nodes = np.where(nodes < 0, above, nodes)
        ncp, loss = generalization.ncp[nodes], generalization.loss[nodes]
        level = labelled.common_level(nodes[~self.hidden].tolist())
        return CellCosts(np.where(self.hidden, 1.0, ncp), np.where(self.hidden, 1.0, loss), "hierarchy", level)


@dataclass(frozen=True)
class ShownClasses:
    """The different readings of the quasi-identifiers: `frame`, their texts and how many rows each has (`rows`), null
    where missing; `costs`, of each quasi-identifier in them."""

    published: Published
    frame: pl.DataFrame
    costs: Mapping[str, CellCosts]

    @classmethod
    def of(cls, published: Published) -> ShownClasses:
        """Read from the release. A column called `rows` would clash, so columns go by number."""
        spec, table, columns_of = published.spec, published.table, published.columns_of
        missing = spec.missing(table.form)
        names = [each for columns in columns_of.values() for each in columns]
        number = {name: str(index) for index, name in enumerate(names)}
        texts = [missing.filled(column(name).cast(pl.String)).alias(number[name]) for name in names]
        counted = table.text.select(texts).group_by(list(number.values())).agg(rows=pl.len())
        frame = counted.sort(list(number.values())).collect(engine="streaming")
        costs = {}
        for name, columns in columns_of.items():
            low, high = (frame[number[each]] for each in (columns[0], columns[-1 if len(columns) < 3 else 1]))
            if spec.normalizes(name):
                low, high = tidy(low), tidy(high)
            costs[name] = ShownColumn(name, low, high, spec, name in published.manifest.labelled).costs()
        return cls(published, frame, costs)

    @property
    def _sizes(self) -> Ints:
        return self.frame["rows"].to_numpy().astype(np.int64)

    def output(self) -> dict[str, int]:
        """What the block `output` counts."""
        suppressed = int(self._sizes[self._suppressed].sum())
        return {"rows": int(self._sizes.sum()), "suppressed_rows": suppressed, "suppressed_cells": self.hidden}

    def sizes(self) -> pl.Series:
        """The rows of each class, without those that are suppressed."""
        return self.frame["rows"].filter(pl.Series(~self._suppressed))

    @property
    def _suppressed(self) -> Bools:
        """(n,) which of the readings are suppressed rows; none where all are."""
        hidden = np.asarray(self._hides(self.frame.columns[:-1]).all(axis=1))
        return np.zeros_like(hidden) if hidden.all() else hidden

    def _hides(self, columns: Sequence[str]) -> Bools:
        text = self.published.spec.output.suppressed
        return np.column_stack([(self.frame[name] == text).fill_null(False).to_numpy() for name in columns])

    @property
    def hidden(self) -> int:
        """Cells of quasi-identifiers that read as suppressed."""
        begins = np.cumsum([0, *(len(columns) for columns in self.published.columns_of.values())])[:-1]
        return int(self._hides([self.frame.columns[index] for index in begins]).sum(axis=1) @ self._sizes)

    def utility(self, k: int) -> dict[str, Any]:
        """The block `utility`: totals are null where an attribute's costs are."""
        sizes, suppressed, spec = self._sizes, self._suppressed, self.published.spec
        rows, shown_sizes = int(sizes.sum()), sizes[~suppressed]
        hidden = int(sizes[suppressed].sum())
        weight = {name: attribute.weight for name, attribute in spec.quasi_identifiers.items()}
        ncp = {name: _total(costs.ncp, sizes) for name, costs in self.costs.items()}
        loss = {name: _total(costs.loss, sizes) for name, costs in self.costs.items()}
        cells = rows * len(ncp)
        return {
            "gcp": _over(_sum(ncp.values()), cells),
            "ncp": _sum(ncp.values()),
            "ncp_weighted": _sum(None if cost is None else cost * weight[name] for name, cost in ncp.items()),
            "discernibility": int((shown_sizes**2).sum()) + rows * hidden,
            "c_avg": float(shown_sizes.sum()) / (len(shown_sizes) * k) if len(shown_sizes) else None,
            "loss": _over(_sum(loss.values()), cells),
            "suppression": hidden / rows if rows else 0.0,
            "attributes": {
                name: {
                    "ncp": _over(ncp[name], rows),
                    "loss": _over(loss[name], rows),
                    "weight": weight[name],
                    "relative_to": costs.relative_to,
                }
                for name, costs in self.costs.items()
            },
        }


def _total(costs: Floats | None, sizes: Ints) -> float | None:
    return None if costs is None else float(costs @ sizes)


def _sum(parts: Iterable[float | None]) -> float | None:
    """The sum; None where a part is."""
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total


def _over(total: float | None, number: int) -> float | None:
    return None if total is None or not number else total / number
