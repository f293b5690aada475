"""What several columns show together: k-anonymity of combinations of quasi-identifiers, and rows that are alone, or
among few, in the columns that pass through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations

import polars as pl

from anonymize.claims import Basis, Parameters, Result, State, listed
from anonymize.records import dataclass
from anonymize.spec import Notation, Spec
from anonymize.verify.cells import number_of, with_point
from anonymize.verify.columns import NumberedColumn
from anonymize.verify.kept import PassingFigures, PassingResult, RowShares
from anonymize.verify.numbering import Numbering, numbers_below, pair, together
from anonymize.verify.table import TextTable, numbered, numbered_together, units_of
from anonymize.verify.verdict import COMBINATION, Verdict

# --- quasi-identifiers ------------------------------------------------------------------------------------------------
# k-anonymity of combinations is measured in the text of the table: the columns that show each of the named
# quasi-identifiers, or of every set of so many of them, side by side. Missing and suppressed cells are values, as they
# are where all quasi-identifiers are compared; rows about one individual count as one.


@dataclass(frozen=True)
class GroupFigures:
    """What groups of rows that read the same come to: the individuals of the smallest one, None without rows; and how
    many groups have fewer than are required, and how many individuals these have together."""

    least: int | None
    groups: int
    individuals: int


Sizes = Callable[[Sequence[str], int], GroupFigures]
"""The figures of the groups by some columns, of which each needs so many individuals."""


def with_combinations(verdict: Verdict, spec: Spec, columns_of: Mapping[str, Sequence[str]], sizes: Sizes) -> Verdict:
    """The verdict with the combinations that the spec requires something of. `columns_of`: those of each
    quasi-identifier."""
    results = []
    for rule in spec.privacy.combinations:
        sets = combinations(spec.quasi_identifiers, rule.size) if rule.size else [rule.columns or ()]
        figures = [sizes([column for name in some for column in columns_of[name]], rule.k) for some in sets]
        results.append(_result(figures, rule.name, rule.k))
    return replace(verdict, codes=(*verdict.codes, *results))


def sizes_in(table: TextTable, columns: Sequence[str]) -> Sizes:
    """How groups of a table are counted by some of its columns, each of which is read once."""
    numbers = dict(zip(columns, (each.numbers for each in numbered(table, columns)), strict=True))
    units = units_of(table, len(next(iter(numbers.values())).of_row))

    def sizes(some: Sequence[str], k: int) -> GroupFigures:
        groups = _groups([numbers[each] for each in some], units)
        failing = [size for size in groups if size < k]
        return GroupFigures(min(groups, default=None), len(failing), sum(failing))

    return sizes


def _groups(columns: Sequence[Numbering], units: Numbering | None) -> list[int]:
    """How many individuals each group of rows has."""
    numbering = together(columns)
    if units is None:
        return numbering.runs()["len"].to_list()
    joined, span = pair(numbering, units)
    return (joined.runs()["value"] // span).rle().struct.field("len").to_list()


def _result(figures: Sequence[GroupFigures], name: str, k: int) -> Result:
    """What the groups of all sets of columns come to."""
    least = min((each.least for each in figures if each.least is not None), default=None)
    rows, classes = max((each.individuals for each in figures), default=0), sum(each.groups for each in figures)
    return Result(COMBINATION, name, {"k": k}, {"k": least}, State.of(not classes), classes, rows, basis=Basis.MEASURED)


# --- columns that pass through ----------------------------------------------------------------------------------------
# Classes say nothing about these columns: three of them that are harmless one by one can single out nearly everybody,
# and whoever knows them needs no quasi-identifier. So rows are counted that no other row agrees with, and those in
# groups of fewer than k: in the columns that pass through, in these and the quasi-identifiers as released, and in these
# and the sensitive attributes as well. And the other way round, how many people the quasi-identifiers as released tell
# the value of such a column of, because all of their class have the same.


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
    message = f"sampling weight {name} ({listed(required)}) is not as declared: {count} rows show other weights"
    state, basis = State.of(not count), Basis.MEASURED
    return PassingResult("sampling-weight", name, required, achieved, state, count, count, basis=basis, message=message)


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
