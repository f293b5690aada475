"""Noisy counts and sums with consistent totals: least squares over all that was drawn, then whole numbers.

Source: M. Hay et al., Boosting the accuracy of differentially private histograms through consistency, VLDB 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from anonymize.dp.estimation import nearest_counts
from anonymize.records import dataclass
from anonymize.tabulating.cells import Floats, Ints, TableGrid


@dataclass(frozen=True)
class ConsistentValues:
    """The values of a measure in all cells of its tables, by least squares of what was drawn. `cells`: sorted."""

    cells: Ints
    value: Floats

    def of(self, cells: Ints) -> Floats:
        return self.value[np.searchsorted(self.cells, cells)]


def consistent(
    grid: TableGrid, groups: Sequence[Sequence[str]], drawn: Floats, weight: Floats, cells: Ints
) -> ConsistentValues:
    """The values nearest to those that were drawn, weighted, in which totals are sums. `weight`: of each one drawn."""
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.linalg import lsmr

    equations = grid.equations(groups, cells)
    if not equations.count:
        return ConsistentValues(cells, drawn)
    matrix = csr_array((equations.sign, (equations.row, equations.place)), shape=(equations.count, len(cells)))
    spread = 1 / np.sqrt(weight)
    solved = lsmr(matrix @ diags_array(spread), matrix @ drawn, atol=1e-14, btol=1e-14, maxiter=20 * len(cells))
    return ConsistentValues(cells, drawn - spread * solved[0])


@dataclass(frozen=True)
class DrawnValues:
    """Values of cells that were drawn, some of them more than once, weighted by their variance."""

    cells: Ints
    total: Floats
    weight: Floats

    @classmethod
    def over(cls, grid: TableGrid, groups: Sequence[Sequence[str]]) -> DrawnValues:
        """Of all cells of tables that group by these columns, before any is drawn."""
        cells = np.unique(np.concatenate([grid.cells(by).ravel() for by in groups]))
        return cls(cells, np.zeros(len(cells)), np.zeros(len(cells)))

    def add(self, cells: Ints, values: Ints, sigma: float) -> None:
        """Takes values that were drawn with noise of a standard deviation."""
        places = np.searchsorted(self.cells, cells)
        self.total[places] += values / sigma**2
        self.weight[places] += 1 / sigma**2

    def estimate(self, grid: TableGrid, groups: Sequence[Sequence[str]]) -> ConsistentValues:
        """The values nearest to what was drawn in which totals are sums."""
        weight = self.weight / self.weight.max()
        return consistent(grid, groups, self.total / self.weight, weight, self.cells)


def whole_counts(values: Floats, total: int) -> Ints:
    """Whole numbers that are not negative and come to `total`, a negative one counting as 0, near to some values: what
    lies below 0 is taken from all others alike, then all are rounded as in `whole_sums`."""
    if not len(values):
        return np.zeros(0, np.int64)
    total = max(0, total)
    return whole_sums(nearest_counts(values, total) if total else np.zeros(len(values)), total)


def whole_sums(values: Floats, total: int) -> Ints:
    """Whole numbers that come to `total`, each within 1 of values that do so but for rounding: rounded down, then up
    from the largest remainder on, of equal ones the first."""
    whole: Ints = np.floor(values + 1e-9).astype(np.int64)
    order = np.argsort(-(values - whole), kind="stable")
    whole[order[: total - int(whole.sum())]] += 1
    return whole


@dataclass(frozen=True)
class Finest:
    """The tables over the largest sets of columns, whose finest groups all other groups are sums of."""

    grid: TableGrid
    groups: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, grid: TableGrid, groups: Sequence[tuple[str, ...]]) -> Finest:
        """Those that are in no other."""
        sets = list(dict.fromkeys(tuple(sorted(by)) for by in groups))
        return cls(grid, tuple(by for by in sets if not any(set(by) < set(other) for other in sets)))

    def of_table(self, by: Sequence[str]) -> tuple[str, ...]:
        """The one that a table is read from: the first that has all of its columns."""
        return next(each for each in self.groups if set(by) <= set(each))

    def whole(
        self, estimate: ConsistentValues, split: Callable[[Floats, int], Ints]
    ) -> dict[tuple[str, ...], dict[int, int]]:
        """By set of columns and cell the value, as a whole number. `split`: the values of the finest groups, as those
        that come to a total: `whole_counts` or `whole_sums`."""
        total = round(float(estimate.of(np.array([self.grid.whole]))[0]))
        named = {each.name: each for each in self.grid.columns}
        made = {}
        for by in self.groups:
            cells = self.grid.cells(by)
            finest = cells[np.ix_(*(named[name].levels[0] for name in by))]
            table = split(estimate.of(finest.ravel()), total).reshape(finest.shape)
            made[by] = dict(self._sums(by, cells, table))
        return made

    def _sums(self, by: Sequence[str], cells: Ints, table: Ints) -> Iterator[tuple[int, int]]:
        """Every cell of a table with the sum of the finest groups in it."""
        named = {each.name: each for each in self.grid.columns}
        for axis, name in enumerate(by):
            column = named[name]
            inside = np.zeros((column.size, column.levels.shape[1]), np.int64)
            for level in column.levels:
                inside[level, np.arange(len(level))] = 1
            table = np.moveaxis(np.tensordot(inside, table, axes=(1, axis)), 0, axis)
        yield from zip(cells.ravel().tolist(), table.ravel().tolist(), strict=True)
