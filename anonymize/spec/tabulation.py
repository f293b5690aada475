"""The spec's `tabulate`: which tables of counts, shares, sums and means are made, and by which mechanism."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from anonymize.spec.base import Entry, Positive, SpecPath, Text

Mechanism = Literal["dp", "cell-keys", "suppression"]
Measure = Literal["count", "share", "sum", "mean"]
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]


class TabulatedMeasure(Entry):
    """One table: the columns whose values its groups are, and what is given of each group."""

    by: Annotated[tuple[Text, ...], Field(min_length=1)]
    """The columns whose values, together, are the groups: all of their combinations, with the totals over each column
    and over the nodes of its hierarchy."""
    count: Literal[True] | None = None
    """The number in each group: of rows, or with a `unit` of individuals (`counted`)."""
    share: Literal[True] | None = None
    """The same as a share of the total."""
    sum: Text | None = None
    """The sum of this column of numbers in each group; missing numbers are left out."""
    mean: Text | None = None
    """The mean of this column of numbers in each group; missing numbers are left out."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What is given of each group: one measure, in a spec that is right."""
        given: dict[Measure, object] = {"count": self.count, "share": self.share, "sum": self.sum, "mean": self.mean}
        return tuple(name for name, value in given.items() if value is not None)

    @property
    def measure(self) -> Measure:
        """The one that it has."""
        return self.measures[0]

    @property
    def column(self) -> str | None:
        """The column of numbers; None of a table of counts or shares."""
        return self.sum or self.mean


def sums_called(column: str) -> str:
    """What the sums of a column are called beside counts: as the column is, unless a count is called so."""
    counted = column == "rows" or column.startswith("those with ") or column.endswith(" present")
    return f"{column} (sum)" if counted else column


class DominanceRule(Entry):
    """The (n, k) rule: a group is unsafe where its n largest contributions are more than k percent of the whole."""

    n: Annotated[int, Field(ge=1)]
    """How many of the largest contributions are added up."""
    k: Percent
    """The largest percentage of the group's value that their sum may be."""


class SuppressionRules(Entry):
    """When a group is unsafe, and how uncertain its value must stay."""

    minimum: Annotated[int, Field(ge=2)] | None = None
    """The smallest number of individuals in a safe group. Default: the largest k that is required, or 5."""
    dominance: DominanceRule | None = None
    """The (n, k) rule for sums and means: {n: 2, k: 85}."""
    p: Percent | None = None
    """The p % rule for sums and means: no other contributor may be able to estimate the largest contribution of a group
    to within p percent of it."""
    range: Percent = 10.0
    """The percentage of its value by which a sum of too few individuals must stay uncertain, on either side."""
    zeros: Literal["publish", "suppress"] = "publish"
    """Empty groups. publish: they show 0. suppress: the fact that they are empty is protected like a small count."""


class CellKeyNoise(Entry):
    """The noise of cell keys: a perturbation table of these parameters, or one that is given."""

    maximum: Annotated[int, Field(ge=1, le=50)] = 5
    """The largest change of a count."""
    variance: Positive = 2.0
    """The variance of the noise."""
    smallest: Annotated[int, Field(ge=0, le=20)] = 0
    """Counts from 1 up to this one never appear."""
    table: SpecPath | None = None
    """A perturbation table instead of these three: a CSV with the columns i (the count), v (the change) and p (its
    probability); the largest i stands for all larger counts."""
    record_key: Text | None = None
    """The column that has each row's record key, a number from 0 to below 1. Default: keys are made with --key."""


class PrivateTables(Entry):
    """What tables under differential privacy take beside `privacy.differential`."""

    rows_per_unit: Annotated[int, Field(ge=1)] = 1
    """With a `unit`: the largest number of rows of one individual that are counted, drawn at random."""


class Tabulation(Entry):
    """Tables of counts, shares, sums and means, which `tabulate` makes."""

    mechanism: Mechanism
    """dp: noise under differential privacy. cell-keys: noise that is the same wherever the same rows are counted.
    suppression: small and dominated groups are left blank, and others with them so that nobody can derive them from
    totals."""
    tables: Annotated[tuple[TabulatedMeasure, ...], Field(min_length=1)]
    """The tables: [{by: [region, sex], count: true}, {by: [region], mean: wage}]. Each has one of count, share, sum and
    mean."""
    counted: Literal["individuals", "rows"] = "individuals"
    """With a `unit`, what counts and shares count. individuals: an individual with several rows in a group counts once
    there. rows: each row counts. Sums and means are always of rows."""
    digits: Annotated[int, Field(ge=0, le=12)] | None = None
    """Decimals of shares and means. Default: for means, as many as give the largest of a table four significant digits;
    for shares, three, and more if the smallest above 0 would not have two digits; with `mechanism: dp`, one more than
    the first digit of the margin."""
    total: Text = "Total"
    """The label of a total over a whole column."""
    suppression: SuppressionRules | None = None
    """The rules of `mechanism: suppression`."""
    cell_keys: CellKeyNoise | None = None
    """The noise of `mechanism: cell-keys`."""
    dp: PrivateTables | None = None
    """The settings of `mechanism: dp`."""

    @property
    def rules(self) -> SuppressionRules:
        """Those of suppression, or the defaults."""
        return self.suppression or SuppressionRules()

    @property
    def noise(self) -> CellKeyNoise:
        """That of cell keys, or the default."""
        return self.cell_keys or CellKeyNoise()

    @property
    def rows_per_unit(self) -> int:
        """The most rows of one individual that count under differential privacy, or the default."""
        return 1 if self.dp is None else self.dp.rows_per_unit

    def once(self, unit: str | None) -> bool:
        """Whether individuals are counted, and not their rows. `unit`: the column that says whom rows are about."""
        return unit is not None and self.counted == "individuals"

    @property
    def grouped_by(self) -> tuple[str, ...]:
        """The columns that any table groups by, in the order in which they are first named."""
        return tuple(dict.fromkeys(name for table in self.tables for name in table.by))

    @property
    def counts(self) -> bool:
        """Whether any table is of counts or shares."""
        return any(table.column is None for table in self.tables)

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns of numbers that any table sums, each once."""
        return tuple(dict.fromkeys(table.column for table in self.tables if table.column is not None))
