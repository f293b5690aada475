"""What the columns that pass through give away, measured from a file: of a release, of an audited table, and for a
public report, which has nothing else."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from anonymize.parallel import meanwhile
from anonymize.records import dataclass
from anonymize.risk.subsets import singling_out
from anonymize.spec import Missing, Spec
from anonymize.table.kept import as_released, units_of
from anonymize.verify.columns import looking_alike
from anonymize.verify.combinations import (
    PassingColumns,
    figures_of,
    numbers_of,
    sizes_in,
    weights_as_declared,
    with_combinations,
)
from anonymize.verify.derived import derivations
from anonymize.verify.kept import Derivation, PassingFigures, PassingResult
from anonymize.verify.table import SharedNumbers, TextTable, numbered
from anonymize.verify.verdict import Verdict

PASSING = ("insensitive", "target", "sampling-weight")
"""The roles of columns that pass through."""


@dataclass(frozen=True)
class PassingText:
    """The text of a file whose columns are measured. `columns_of`: the columns of each quasi-identifier. `missing`:
    what means missing in it. `units`: whom its rows are about. `besides`: columns that are neither, such as the number
    of a group; `strange`: columns without a role pass through as well. `shared`: what has been read of the frame."""

    frame: pl.LazyFrame
    spec: Spec
    columns_of: Mapping[str, Sequence[str]]
    missing: Missing
    units: pl.Series | None = None
    besides: Sequence[str] = ()
    strange: bool = False
    shared: SharedNumbers | None = None

    def read(self) -> None:
        """Reads the columns into what is shared; else `measured` does when it is called."""
        columns = self._columns()
        if self.shared is not None and columns.passing:
            self.shared.side_by_side(self._text, columns.generalized, (*columns.passing, *columns.sensitive))

    def measured(self, threads: int = 1) -> PassingFigures:
        """The figures, with the smallest sets that single rows out, which are looked for in a thread of their own where
        there are several."""
        columns = self._columns()
        if not columns.passing:
            nothing = {"smallest": [], "max_size": 0, "left_out": []}
            return replace(columns.nothing(), sets=nothing)
        numbers = numbers_of(self._text, columns)
        codes = pl.DataFrame([column.of_row.alias(name) for name, column in numbers.passing.items()])
        sets = meanwhile(partial(singling_out, codes.lazy(), columns.passing, units=self.units), threads)
        figures = replace(figures_of(numbers, columns, self.units), weights=self._weights(columns.passing))
        return replace(figures, sets=sets())

    def with_combinations(self, verdict: Verdict) -> Verdict:
        """A verdict on the file, with the combinations of quasi-identifiers that the spec requires something of."""
        if not self.spec.privacy.combinations:
            return verdict
        names = [name for columns in self.columns_of.values() for name in columns]
        sizes = sizes_in(replace(self._text, units=self.units), names)
        return with_combinations(verdict, self.spec, self.columns_of, sizes)

    def _weights(self, present: Sequence[str]) -> PassingResult | None:
        """Whether the sampling weights are rounded, or in bands, as the spec declares."""
        coding = self.spec.weight_coding
        if coding is None or coding.column not in present:
            return None
        (column,) = numbered(self._text, [coding.column])
        notation = self.spec.notation(coding.column)
        return weights_as_declared(column, coding.column, coding.round, coding.bands, notation)

    @property
    def _text(self) -> TextTable:
        exact = exact_columns(self.spec, self.columns_of)
        return replace(_table(self.frame, self.spec, self.missing), shared=self.shared, exact=exact)

    def _columns(self) -> PassingColumns:
        """The columns of the file, by what becomes of them."""
        present, roles = self.frame.collect_schema().names(), self.spec.roles()
        generalized = [name for columns in self.columns_of.values() for name in columns if name in present]
        changed = [name for name in self.spec.treated if roles.get(name) in PASSING]
        apart = [name for name in present if name in (*self.besides, self.spec.output.pseudonym, *changed)]
        others = [name for name in present if name not in (*generalized, *apart)]
        passing = [n for n in others if roles.get(n) in PASSING or (self.strange and n not in roles)]
        sensitive = [name for name in others if roles.get(name) == "sensitive"]
        k, bounds = self.spec.fewest, bounds_of(self.spec)
        return PassingColumns(tuple(passing), tuple(generalized), tuple(sensitive), k, bounds, tuple(apart))


def derived(
    frame: pl.LazyFrame, rows: int, spec: Spec, missing: Missing, released: Container[str]
) -> tuple[Derivation, ...]:
    """What columns that pass through have to do with quasi-identifiers in the original table that a release is made of,
    `frame`, of so many rows. `missing`: what means missing in it; `released`: the columns of the release."""
    present, roles = frame.collect_schema().names(), spec.roles()
    kept = [name for name in present if name in released and roles.get(name, "insensitive") in PASSING]
    kept = [name for name in kept if name not in spec.treated]
    units = units_of(frame, spec.unit, missing) if spec.unit in present else None
    if units is not None and spec.input.normalize:
        units = looking_alike(units)
    table = replace(_table(as_released(spec, frame), spec, missing), units=units, exact=spec.exact)
    passing = spec.privacy.passing
    accepted = () if passing is None else passing.accept_derived
    quasi_identifiers = [name for name in spec.quasi_identifiers if name in present]
    notations = {name: spec.notation(name) for name in (*quasi_identifiers, *kept)}
    measured = derivations(table, quasi_identifiers, kept, rows, spec.largest_k, notations)
    return tuple(replace(each, accepted=each.column in accepted) for each in measured)


def _table(frame: pl.LazyFrame, spec: Spec, missing: Missing) -> TextTable:
    """The texts of a frame. A null is read as the empty text, unless texts are compared as they stand, and both
    differ."""
    fill = "" if spec.input.normalize or not missing.null or "" in missing.texts else None
    return TextTable(frame, (), missing.texts, fill, normalize=spec.input.normalize)


def exact_columns(spec: Spec, columns_of: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The released columns whose texts are compared as they stand. `columns_of`: those of each quasi-identifier."""
    return frozenset(each for name in spec.exact for each in columns_of.get(name, [name]))


def bounds_of(spec: Spec) -> dict[str, float]:
    """What the spec allows of rows that are alone, or in small groups, by what passes through."""
    return {} if spec.privacy.passing is None else spec.privacy.passing.bounds
