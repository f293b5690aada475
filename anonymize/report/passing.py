"""What the columns that pass through give away, measured from a file: of a release, of an audited table, and for a
public report, which has nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from anonymize.risk.passing import singling_out
from anonymize.spec import Missing, Spec
from anonymize.verify.passing import PassingColumns, numbers_of, uniqueness
from anonymize.verify.table import SharedNumbers, TextTable
from anonymize.verify.verdict import Uniqueness

PASSING = ("insensitive", "target")
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

    def measured(self) -> Uniqueness:
        """The figures, with the smallest sets that single rows out."""
        columns, normalize = self._columns(), self.spec.input.normalize
        fill = "" if normalize or not self.missing.null or "" in self.missing.texts else None
        if not columns.passing:
            nothing = {"smallest": [], "max_size": 0, "left_out": []}
            return Uniqueness((), 0, 0.0, 0.0, 0.0, columns.most, sets=nothing)
        text = TextTable(self.frame, (), (), fill, normalize=normalize, shared=self.shared)
        numbers = numbers_of(text, columns)
        codes = pl.DataFrame([column.of_row.alias(name) for name, column in numbers.passing.items()])
        sets = singling_out(codes.lazy(), columns.passing, units=self.units)
        return replace(uniqueness(numbers, columns, self.units), sets=sets)

    def _columns(self) -> PassingColumns:
        """Those that the file has, by what becomes of them."""
        present, roles = self.frame.collect_schema().names(), self.spec.roles()
        generalized = [name for columns in self.columns_of.values() for name in columns if name in present]
        others = [
            name
            for name in present
            if name not in generalized and name not in (*self.besides, self.spec.output.pseudonym)
        ]
        passing = [n for n in others if roles.get(n) in PASSING or (self.strange and n not in roles)]
        sensitive = [name for name in others if roles.get(name) == "sensitive"]
        most = None if self.spec.privacy.passing is None else self.spec.privacy.passing.uniques
        return PassingColumns(tuple(passing), tuple(generalized), tuple(sensitive), most)
