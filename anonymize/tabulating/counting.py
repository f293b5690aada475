"""What a measure comes to in every cell: its value, who contributes to it, and the largest contributions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import run_starts
from anonymize.records import dataclass
from anonymize.spec import Privacy, QuasiIdentifier, Sensitive, Spec, Workload, tabulation
from anonymize.table import Table
from anonymize.tabulating.cells import Floats, Ints, TableGrid


def numbers_of(table: Table, column: str | None) -> Floats:
    """(rows,) what each row counts in tables of a column, nan where it has no number; 1 of tables of rows."""
    if column is None:
        return np.ones(table.rows)
    named = next(each for each in table.sensitive if each.name == column)
    assert named.values is not None
    return named.values[named.codes]


def reading(spec: Spec, settings: tabulation.Tabulation) -> Spec:
    """The spec of a reading: what tables group by is quasi-identifiers, what they sum is sensitive, and all else is
    left out, whatever the columns are in a release."""
    definitions = {**spec.sensitive, **spec.quasi_identifiers}

    def shared(name: str, keys: Iterable[str]) -> dict[str, Any]:
        return {key: getattr(definitions[name], key) for key in keys} if name in definitions else {}

    groups: dict[str, QuasiIdentifier] = {}
    for name in settings.grouped_by:
        definition = spec.quasi_identifiers.get(name)
        if definition is None:
            own = shared(name, Sensitive.model_fields.keys() - {"missing"})
            if not own and settings.mechanism == "dp" and spec.domain_of(name).low is not None:
                own = {"type": "numeric"}
            definition = QuasiIdentifier.model_construct(**own)
        groups[name] = definition
    written = ("decimal", "thousands", "unit_text")
    sums = {name: Sensitive.model_construct(**shared(name, written), type="numeric") for name in settings.measured}
    update = {
        "identifiers": (),
        "quasi_identifiers": groups,
        "sensitive": sums,
        "insensitive": (),
        "undecided": (),
        "others": "drop",
        "workload": Workload(),
        "privacy": Privacy(),
        "domains": {name: each for name, each in spec.domains.items() if name in groups or name in sums},
        "synthesize": None,
    }
    reading = spec.model_copy(update=update).located(spec.path, {})
    return reading.of_types(spec._typed)


MOST_DIGITS = 6
"""Decimals of numbers that are made whole."""


@dataclass(frozen=True)
class CellValues:
    """What a measure comes to in each of some cells.

    Attributes:
        cells: (cells,) sorted.
        value: (cells,) the rows of each, or the sum of a column times `scale`.
        contributors: (cells,) the individuals who are counted there.
        whole: (cells,) the sum of what each individual contributes, without signs.
        largest: (cells, several) the largest of these contributions, in falling order.
        sole: (cells,) who is the only one counted there; -1 where several are, or nobody.
        scale: by what numbers were multiplied so that they are whole; 1.0 of counts.
        signed: whether an individual contributes less than 0 anywhere.
    """

    cells: Ints
    value: Floats
    contributors: Ints
    whole: Floats
    largest: Floats
    sole: Ints
    scale: float = 1.0
    signed: bool = False

    def places(self, cells: Ints) -> Ints:
        return np.searchsorted(self.cells, cells)

    def published(self, value: Floats) -> list[float]:
        """Values as they are published: to fifteen digits that count, which all have whatever was added up. So how one
        reads does not depend on which other rows have a fraction."""
        return [float(f"{each / self.scale:.15g}") for each in value.tolist()]


def scaled(values: Floats) -> tuple[Floats, float]:
    """Numbers (nan: missing) times the smallest power of ten that makes them whole, and that power; as they are, and 1,
    where there is none."""
    present = values[~np.isnan(values)]
    for digits in range(MOST_DIGITS + 1):
        power = 10.0**digits
        whole = np.rint(present * power)
        small = not len(whole) or float(np.abs(whole).max()) < 2.0**53
        if small and np.allclose(present * power, whole, rtol=1e-12, atol=1e-9):
            return np.rint(values * power), power
    return values, 1.0


def summed(amounts: Floats, starts: Ints) -> Floats:
    """The sums of amounts from each start to the next one, rounded once, whatever their order: each amount is a
    multiple of a power of two, whose sums are exact, and a rest that is so small that rounding it is not seen."""
    unit = 2.0 ** (frexp(float(np.abs(amounts).max(initial=0.0)))[1] - 26)
    high = np.floor(amounts / unit)
    return np.asarray(np.add.reduceat(high, starts) * unit + np.add.reduceat(amounts - high * unit, starts))


def count(
    grid: TableGrid,
    groups: Sequence[Sequence[str]],
    values: Floats,
    units: NDArray[np.integer] | None,
    several: int,
    *,
    once: bool = False,
) -> CellValues:
    """What the rows come to in the cells of all tables that group by any of `groups`.

    `values`: (rows,) what each row counts, nan for nothing. `units`: (rows,) whom each row is about; None: somebody
    else each. `several`: how many of the largest contributions are kept. `once`: individuals are counted, each once in
    a cell, whatever their rows count.
    """
    numbers, scale = scaled(values)
    present = ~np.isnan(numbers)
    numbers, units = numbers[present], None if units is None else units[present]
    every = np.unique(np.concatenate([grid.cells(by).ravel() for by in groups]))
    shape = len(every)
    value, whole, largest = np.zeros(shape), np.zeros(shape), np.zeros((shape, several))
    contributors, sole, signed = np.zeros(shape, np.int64), np.full(shape, -1), False
    for by in groups:
        for cell in grid.rows_of(by):
            owners, amounts, whom = _contributions(cell[present], numbers, units)
            amounts = np.ones(len(amounts)) if once else amounts
            signed = signed or bool((amounts < 0).any())
            if not len(owners):
                continue
            order = np.lexsort((-np.abs(amounts), owners))
            owners, amounts, whom = owners[order], amounts[order], whom[order]
            starts = run_starts(owners)
            places, stops = np.searchsorted(every, owners[starts]), np.append(starts[1:], len(owners))
            value[places] = summed(amounts, starts)
            whole[places] = summed(np.abs(amounts), starts)
            contributors[places] = stops - starts
            sole[places] = np.where(stops - starts == 1, whom[starts], -1)
            for rank in range(several):
                reached = starts + rank < stops
                largest[places[reached], rank] = np.abs(amounts[(starts + rank)[reached]])
    return CellValues(every, value, contributors, whole, largest, sole, scale, signed)


def _contributions(cells: Ints, amounts: Floats, units: NDArray[np.integer] | None) -> tuple[Ints, Floats, Ints]:
    """What each individual contributes to each cell: the cell, the sum of the amounts of the individual's rows, and who
    that is, of rows about somebody else each the row's place."""
    if units is None or not len(units):
        return cells, amounts, np.arange(len(cells))
    order = np.lexsort((units, cells))
    cells, amounts, whom = cells[order], amounts[order], units[order]
    starts = np.flatnonzero(np.r_[True, (cells[1:] != cells[:-1]) | (whom[1:] != whom[:-1])])
    return cells[starts], summed(amounts, starts), whom[starts].astype(np.int64)


def key_sums(
    grid: TableGrid, groups: Sequence[Sequence[str]], cells: Ints, keys: Ints, units: NDArray[np.integer] | None
) -> Ints:
    """(cells,) the sum of the keys of the individuals in each of `cells` (sorted), each counted once.

    `keys`: (rows,) that of whom each row is about, below 2^32.
    """
    sums = np.zeros(len(cells), np.int64)
    for by in groups:
        for cell in grid.rows_of(by):
            places, own = np.searchsorted(cells, cell), keys
            if units is not None:
                _, first = np.unique(places * np.int64(units.max() + 1) + units, return_index=True)
                places, own = places[first], keys[first]
            fresh = np.zeros(len(cells), np.int64)
            np.add.at(fresh, places, own)
            sums[np.unique(places)] = fresh[np.unique(places)]
    return sums
