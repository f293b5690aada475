"""What the columns that pass through give away together: rows that are alone, or among few, in all that they show.

Classes say nothing about these columns: three of them that are harmless one by one can single out nearly everybody,
and whoever knows them needs no quasi-identifier. So rows are counted that no other row agrees with, and those in groups
of fewer than k: in the columns that pass through, in these and the quasi-identifiers as released, and in these and the
sensitive attributes as well. And the other way round, how many people the quasi-identifiers as released tell the value
of such a column of, because all of their class have the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from anonymize.claims import Basis, Parameters, State, said
from anonymize.spec import Notation
from anonymize.verify.cells import number_of, with_point
from anonymize.verify.columns import NumberedColumn
from anonymize.verify.kept import PassingFigures, PassingResult, RowShares
from anonymize.verify.numbering import Numbering, numbers_below, together
from anonymize.verify.table import TextTable, numbered, numbered_together


@dataclass(frozen=True)
class PassingColumns:
    """The columns of a table by what becomes of them: `passing` through untouched, quasi-identifiers as released
    (`generalized`), `sensitive` attributes; `apart`: neither, such as a pseudonym. `k`: individuals of a group that is
    not small; `bounds`: see `PassingFigures`."""

    passing: tuple[str, ...]
    generalized: tuple[str, ...]
    sensitive: tuple[str, ...]
    k: int = 5
    bounds: Mapping[str, float] = field(default_factory=dict)
    apart: tuple[str, ...] = ()

    def nothing(self) -> PassingFigures:
        """What is measured where no column passes through."""
        return PassingFigures((), k=self.k, bounds=self.bounds, apart=self.apart)


@dataclass(frozen=True)
class PassingNumbers:
    """The columns of a table as numbers, equal where texts are compared as equal, group by group. `passing`: each by
    its name; `generalized`: what all of these show together, None where there are none; `sensitive`: each."""

    passing: Mapping[str, Numbering]
    generalized: Numbering | None
    sensitive: Sequence[Numbering]


def numbers_of(table: TextTable, columns: PassingColumns) -> PassingNumbers:
    """The texts of the columns as numbers."""
    first = list(dict.fromkeys((*columns.passing, *columns.sensitive)))
    numbers = {name: column.numbers for name, column in zip(first, numbered(table, first), strict=True)}
    return PassingNumbers(
        {name: numbers[name] for name in columns.passing},
        numbered_together(table, columns.generalized) if columns.generalized else None,
        [numbers[name] for name in columns.sensitive],
    )


def figures_of(numbers: PassingNumbers, columns: PassingColumns, units: pl.Series | None = None) -> PassingFigures:
    """Measures a table by the numbers of its texts. Rows about one individual (`units`) count as one."""
    if not columns.passing:
        return columns.nothing()
    passing = list(numbers.passing.values())
    rows, own = len(passing[0].of_row), [] if numbers.generalized is None else [numbers.generalized]
    counts: list[list[int]] = []
    so_far: list[Numbering] = []
    for group in (passing, own, numbers.sensitive):
        so_far += group
        counts.append(_below(so_far, (2, columns.k), units) if group else counts[-1])
    uniques, below = (RowShares(*(count / max(rows, 1) for count in each)) for each in zip(*counts, strict=True))
    made = replace(columns.nothing(), columns=columns.passing, rows=rows, uniques=uniques, below=below)
    return made if numbers.generalized is None else replace(made, certain=_certain(numbers, units))


def weights_as_declared(
    column: NumberedColumn, name: str, step: float | None, bands: int | None, notation: Notation
) -> PassingResult:
    """Whether sampling weights are what the spec declares: multiples of a `step`, or so many different ones at most."""
    rows = column.numbers.of_row.value_counts(name="rows")
    numbers = column.texts.to_frame("text").select(number_of(with_point(pl.col("text"), notation))).to_series()
    weights = rows.select("rows", weight=numbers.gather(rows.to_series(0).cast(pl.Int64) - 1))
    required: Parameters = {"bands": bands} if step is None else {"round": step}
    achieved: Parameters = {"bands": weights.height}
    count = 0 if bands is None or weights.height <= bands else len(column.numbers.of_row)
    if step is not None:
        times = pl.col("weight") / step
        wrong = weights.filter(~((times - times.round()).abs() < 1e-6).fill_null(False))
        count = int(wrong["rows"].sum())
        achieved = {"share": 1 - count / max(len(column.numbers.of_row), 1)}
    declared = ", ".join(f"{key}={said(value)}" for key, value in required.items())
    message = f"sampling weight {name} ({declared}) is not as declared: {count} rows show other weights"
    return PassingResult(
        "sampling-weight",
        name,
        required,
        achieved,
        State.of(not count),
        count,
        count,
        basis=Basis.MEASURED,
        message=message,
    )


def _below(columns: Sequence[Numbering], limits: Sequence[int], units: pl.Series | None) -> list[int]:
    """How many rows are in groups, of rows that agree in all columns, of fewer individuals than each of the limits."""
    if units is None:
        return numbers_below(columns, limits)
    rows = pl.DataFrame([together(columns).of_row.alias("key"), units.alias("unit")])
    of_key = rows.group_by("key").agg(pl.len(), people=pl.col("unit").n_unique())
    return [int(of_key.filter(pl.col("people") < limit)["len"].sum()) for limit in limits]


def _certain(numbers: PassingNumbers, units: pl.Series | None) -> dict[str, float]:
    """Of each column of several values, the share of the people who are in a class where all have one."""
    columns = {name: column.of_row for name, column in numbers.passing.items() if column.of_row.n_unique() > 1}
    if numbers.generalized is None or not columns:
        return {}
    own = {str(place): column for place, column in enumerate(columns.values())}
    rows = pl.DataFrame({"class": numbers.generalized.of_row, **own} | ({} if units is None else {"unit": units}))
    one_value = [(pl.col(name).min() == pl.col(name).max()).alias(name) for name in own]
    people = pl.len() if units is None else pl.col("unit").n_unique()
    classes = rows.group_by("class").agg(*one_value, people=people)
    total = int(classes["people"].sum())
    shares = classes.select(pl.col("people").filter(pl.col(name)).sum().alias(name) for name in own).row(0)
    return {name: share / total for name, share in zip(columns, shares, strict=True)}
