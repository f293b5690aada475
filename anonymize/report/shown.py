"""The equivalence classes that a release shows, and what their cells cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints
from anonymize.report.published import Published
from anonymize.report.texts import CellCosts, ShownColumn
from anonymize.table.named import column
from anonymize.table.texts import tidy


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
        """(n, columns) which cells are suppressed."""
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
