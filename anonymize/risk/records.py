"""Risk row by row: the risk of every record, as a private table of numbers; and which classes cover whom, where
regions overlap, in the report of a release as well."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Floats, Integers, Ints
from anonymize.domain import LeafSets, densities
from anonymize.errors import DataError
from anonymize.reading import as_text, columns_of, regions
from anonymize.recoding import RecodedColumn, Released
from anonymize.records import dataclass
from anonymize.risk import sample, subsets
from anonymize.risk.frequency import TextFrequencySet
from anonymize.spec import Spec
from anonymize.table import Table

# --- covering ---------------------------------------------------------------------------------------------------------
# A class has as many rows as was required. Whoever reads its cells alone has to take the rows of every class whose
# cells could be about the person. Whoever knows that a method puts people where they lose little takes the smallest
# region, and is mostly right: of what overlapping adds, little is left.

PAIRS = 1 << 20
"""Pairs of a person and a class that are looked at together, or those of one person."""
TIE = 1e-12
"""Regions that are this much smaller than another are as small."""


@dataclass(frozen=True)
class CoveredPeople:
    """Whom which classes cover. `by_regions` (people,): the rows of all classes that cover each; `by_method` (people,):
    those of the smallest of these; `own` (people,): those of the person's class, `own_smallest` whether it is one of
    the smallest; `belief` (people,): how likely the attacker thinks the smallest ones are. 0 where nothing is known."""

    by_regions: Floats
    by_method: Floats
    own: Floats
    own_smallest: Floats
    belief: Floats

    @classmethod
    def of(
        cls, people: int, pairs: tuple[Ints, Ints], sizes: Ints, of_class: Floats, class_of: Ints | None
    ) -> CoveredPeople:
        """`pairs`: of a person and a class that covers the person. `sizes`, `of_class` (classes,): rows of each, and
        its density; `class_of` (people,): where each is, None where that is not known."""
        who, classes = pairs
        rows, density = sizes[classes].astype(float), of_class[classes]
        highest = np.zeros(people)
        np.maximum.at(highest, who, density)
        smallest = density >= highest[who] * (1 - TIE)
        is_own = np.zeros(len(who), np.bool_) if class_of is None else classes == class_of[who]

        def summed(weights: Any) -> Floats:
            return np.bincount(who, weights, people).astype(float)

        likely = summed(rows * density * smallest) / np.maximum(summed(rows * density), 1e-300)
        return cls(summed(rows), summed(rows * smallest), summed(rows * is_own), summed(is_own & smallest), likely)

    def medians(self) -> dict[str, float | None]:
        """The rows that may be somebody's, by the median person."""
        sizes = {"by_regions": self.by_regions, "by_method": self.by_method}
        return {name: float(np.median(each)) if len(each) else None for name, each in sizes.items()}


def covering(codes: Ints, columns: Sequence[LeafSets]) -> tuple[Ints, Ints]:
    """Pairs of a person and a class that covers the person, in their order. `codes` (people, attributes), -1 where
    missing, which every class covers; `columns`: of each attribute the cells of the classes.

    Of each person only the classes are looked at that span the code in the attribute in which fewest do.
    """
    spanning = [_spanning(codes[:, column], cells) for column, cells in enumerate(columns)]
    fewest = np.argmin(spanning, axis=0)
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for column, cells in enumerate(columns):
        own = np.flatnonzero(fewest == column)
        order = np.argsort(cells.first, kind="stable")
        first, last = cells.first[order], cells.last[order]
        pairs = np.cumsum(spanning[column][own])
        for some in np.split(own, np.searchsorted(pairs, np.arange(PAIRS, pairs.max(initial=0), PAIRS))):
            code, of_person = np.unique(codes[some, column], return_inverse=True)
            reached = [order if each < 0 else _reached(each, first, last, order) for each in code.tolist()]
            by_person = [reached[each] for each in of_person.tolist()]
            which = np.concatenate([np.zeros(0, np.int64), *by_person])
            parts.append(_covered_of(codes, columns, np.repeat(some, [len(each) for each in by_person]), which))
    people, which = (np.concatenate(each) for each in zip(*parts, strict=True))
    in_order = np.lexsort((which, people))
    return people[in_order], which[in_order]


def _spanning(codes: Ints, cells: LeafSets) -> Ints:
    """(people,) how many cells span the code of each: all but those that begin later, or end before."""
    begun = np.searchsorted(np.sort(cells.first), codes, "right")
    ended = np.searchsorted(np.sort(cells.last), codes, "left")
    return np.where(codes < 0, len(cells.first), begun - ended)


def _reached(code: int, first: Ints, last: Ints, order: Ints) -> Ints:
    """The cells that span a code, of cells that are ordered by where they begin."""
    begun = np.searchsorted(first, code, "right")
    return np.asarray(order[:begun][last[:begun] >= code])


def _covered_of(codes: Ints, columns: Sequence[LeafSets], who: Ints, which: Ints) -> tuple[Ints, Ints]:
    """Those of the pairs of a person and a class in which the class covers the person."""
    for column, cells in enumerate(columns):
        code = codes[who, column]
        covers = (code < 0) | cells.of_cells(which).holding(code)
        who, which = who[covers], which[covers]
    return who, which


def covered(codes: Ints, class_of: Ints, columns: Sequence[LeafSets], sizes: Ints) -> CoveredPeople:
    """People in classes of which each is a region, by what these show. `class_of` (people,)."""
    return CoveredPeople.of(len(codes), covering(codes, columns), sizes, densities(columns, len(sizes)), class_of)


def record_risks(
    text: sample.Text,
    names: Sequence[str],
    frequency: TextFrequencySet | None = None,
    analysis: subsets.Analysis | None = None,
    fraction: float | None = None,
) -> pl.DataFrame:
    """The risk of every record: a private table of numbers, with a line for each row.

    `row`: the data row, from 1, without the header. `fk`: the rows in its equivalence class, or the individuals where
    there is a unit. `Fk`: how many those are of the population, the sum of their sampling weights; without weights the
    table is its own population, and Fk is fk. `rk`: the individual risk, the mean of 1 / F after Benedetti and Franconi
    (`anonymize.risk.sample`); 1 / fk without weights. `suda`: SUDA's score. `dis`: DIS, by the sampling fraction that
    was given, else by rows / sum of the weights, else by 0.01. `household`, where there is a unit: the chance that at
    least one of its rows is linked correctly, 1 - product of (1 - rk) over them. `fk_wildcard`, `Fk_wildcard` and
    `rk_wildcard`, where `privacy.missing` is wildcard: the same figures of all rows that are compatible. `suda_NAME`,
    for every quasi-identifier: the part of the row's score that comes from minimal subsets with this cell. Their sum
    over the rows that have a value, divided by the sum of `suda`, is what the value contributes. There are no cell
    values.

    A release writes the rows of its input in their order, with these figures for the quasi-identifiers of the input.
    Where it has classes, `released` is the row of the release that each became, empty for one that was left out, and
    `fk_after`, `Fk_after`, `rk_after`, `suda_after`, `dis_after` and `household_after` are the figures of that row, as
    the text that was written has them. Whoever has `released` knows which row is whose: the file is as private as a
    link.

    `names`: of the quasi-identifiers. `frequency`: that of the text, by row; `analysis`: of its subsets, with cells;
    None where they are still to be counted. `fraction`: the share of the population that the table is, None where
    at most the weights know it.
    """
    frequency = text.frequency(by_row=True) if frequency is None else frequency
    assert frequency.of_row is not None
    analysis = subsets.analyse(frequency, names, cells=True) if analysis is None else analysis
    assert analysis.cells is not None
    row, population = frequency.of_row, None if frequency.weights is None else float(frequency.weights.sum())
    if fraction is None:
        fraction = subsets.DIS_FRACTION if not population else min(frequency.rows / population, 1.0)
    sizes = _sizes(frequency, frequency.counts, frequency.weights)
    columns: dict[str, Ints | Floats] = {"row": np.arange(1, len(row) + 1), **sizes}
    columns["suda"] = analysis.scores[row]
    columns["dis"] = subsets.dis(analysis.scores, frequency.counts, len(names), fraction)[row]
    if text.units is not None:
        columns["household"] = _of_households(sizes["rk"], text.units)
    if text.spec.privacy.missing == "wildcard":
        wild = text.frequency(wild=True, by_row=True)
        columns |= {f"{name}_wildcard": figures for name, figures in _sizes(wild, *sample.matched(wild)).items()}
    columns |= {f"suda_{name}": cells[row] for name, cells in zip(names, analysis.cells, strict=True)}
    return pl.DataFrame(columns)


def _sizes(frequency: TextFrequencySet, counts: Ints, weights: Floats | None) -> dict[str, Ints | Floats]:
    """fk, Fk and rk of each row, of combinations that are measured by so many rows and weights."""
    risks = 1 / counts if weights is None else sample.individual_risk(counts, weights)
    by_class = {"fk": counts, "Fk": counts if weights is None else weights, "rk": risks}
    return {name: figures[frequency.of_row] for name, figures in by_class.items()}


def _of_households(risks: NDArray[Any], units: pl.Series) -> Floats:
    """(rows,) the chance that at least one row of each row's unit is linked correctly."""
    rows = pl.DataFrame({"missed": 1 - risks, "unit": units})
    return rows.select(1 - pl.col("missed").product().over("unit")).to_series().to_numpy()


def households(frequency: TextFrequencySet, units: pl.Series, threshold: float) -> dict[str, Any]:
    """The risk of units in a report: `units`, how many there are; `max` and `mean` of the chance that at least one row
    of a unit is linked correctly; `expected`, how many units that is; `at_risk`, the share above the threshold."""
    risks = _of_households(_sizes(frequency, frequency.counts, frequency.weights)["rk"], units)
    each = pl.DataFrame({"unit": units, "risk": risks}).unique("unit", keep="first", maintain_order=True)["risk"]
    count = max(len(each), 1)
    return {
        "units": len(each),
        "max": float(each.to_numpy().max(initial=0.0)),
        "mean": math.fsum(each) / count,
        "expected": math.fsum(each),
        "at_risk": int((each > threshold).sum()) / count,
    }


def before_and_after(before: pl.DataFrame, after: pl.DataFrame, written: Ints) -> pl.DataFrame:
    """The rows of an input with what became of them. `written` (released rows,): the row of the input, from 0, that
    each is; what is beyond the input is none of it."""
    figures = [name for name in after.columns[1:] if not name.startswith("suda_")]
    released = after.select(
        pl.Series("row", written + 1, pl.Int64),
        pl.col("row").alias("released"),
        *(pl.col(name).alias(f"{name}_after") for name in figures),
    )
    return before.join(released, on="row", how="left", maintain_order="left")


PIECE = 1 << 22
"""Rows that are counted at once."""
PEOPLE = 1000
"""Rows that are looked at, at most; the median of so many is near enough."""


def candidate_rows(spec: Spec, table: Table, released: Released) -> dict[str, Any]:
    """The figures of people drawn with a fixed seed: the median of rows that may be theirs, and how often the class
    that an attacker picks by region (`right`) or by its rows (`right_by_rows`) is theirs. Nothing without people, or
    with a cell that cannot be read."""
    rows = _drawn(released.class_of)
    if not len(rows):
        return {}
    try:
        columns = _cells(spec, table, released)
    except DataError:
        return {}
    sizes = _sizes_of(released.class_of, len(columns[0].first))
    each = covered(_codes(table, rows), released.class_of[rows].astype(np.int64), columns, sizes)
    right = each.own_smallest * each.own / np.maximum(each.by_method, 1)
    by_rows = each.own / np.maximum(each.by_regions, 1)
    return {
        "people": len(rows),
        **each.medians(),
        "right": float(right.mean()),
        "right_by_rows": float(by_rows.mean()),
    }


def _drawn(class_of: Integers) -> Ints:
    """Some rows that are in a class, ascending."""
    present = np.concatenate([np.zeros(0, np.uint32), *(rows for rows, _ in _present(class_of))])
    return np.sort(np.random.default_rng(0).permutation(present)[:PEOPLE]).astype(np.int64)


def _sizes_of(class_of: Integers, classes: int) -> Ints:
    """(classes,) how many rows each class has."""
    sizes = np.zeros(classes, np.int64)
    for _, own in _present(class_of):
        sizes += np.bincount(own, minlength=classes)
    return sizes


def _present(class_of: Integers) -> Iterator[tuple[NDArray[np.uint32], Integers]]:
    """The rows that are in a class, and the class of each, a piece at a time: a row of all takes four bytes, and eight
    for each number that numpy works with in between."""
    for first in range(0, len(class_of), PIECE):
        own = class_of[first : first + PIECE]
        rows = np.flatnonzero(own >= 0)
        yield (rows + first).astype(np.uint32), own[rows]


def _codes(table: Table, rows: Ints) -> Ints:
    """(rows, attributes) codes of some rows, -1 where missing."""
    columns = []
    for attribute in table.attributes:
        codes, missing = attribute.codes[rows].astype(np.int64), attribute.domain.missing
        columns.append(codes if missing is None else np.where(codes == missing, -1, codes))
    return np.stack(columns, axis=1)


def _cells(spec: Spec, table: Table, released: Released) -> list[LeafSets]:
    """Of each quasi-identifier the cells of all classes, as whoever reads the release sees them."""
    own = spec.of_release()
    columns = columns_of(own, [each.name for each in released.columns], "the release")
    cells = []
    for attribute in table.attributes:
        texts, of_class = _cell_texts(released.columns_of(attribute.name))
        texts = texts.select(as_text(each, own, "csv") for each in texts.iter_columns())
        (region,), (read_as,) = regions.read_regions(own, [attribute], texts, columns)
        text = read_as[of_class]
        wide, gapped = region.summary[text], None if region.gapped is None else region.gapped.of_cells(text)
        first = np.where(wide, 0, region.first[text])
        cells.append(LeafSets(first, np.where(wide, attribute.domain.size - 1, region.last[text]), gapped))
    return cells


def _cell_texts(columns: Sequence[RecodedColumn]) -> tuple[pl.DataFrame, Integers | slice]:
    """Texts of a quasi-identifier, and (classes,) which each class shows: distinct ones, or of several columns all."""
    if len(columns) == 1:
        return columns[0].texts.alias(columns[0].name).to_frame(), columns[0].of_class
    return pl.DataFrame([each.texts.gather(each.of_class).alias(each.name) for each in columns]), slice(None)
