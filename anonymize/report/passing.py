"""What the columns that pass through give away, measured from a file: of a release, of an audited table, and for a
public report, which has nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from anonymize.risk.passing import singling_out
from anonymize.spec import Missing, Spec
from anonymize.threads import meanwhile
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

    def read(self) -> None:
        """Reads the columns into what is shared; else `measured` does when it is called."""
        columns = self._columns()
        if self.shared is not None and columns.passing:
            self.shared.side_by_side(self._text, columns.generalized, (*columns.passing, *columns.sensitive))

    def measured(self, threads: int = 1) -> Uniqueness:
        """The figures, with the smallest sets that single rows out, which are looked for in a thread of their own where
        there are several."""
        columns = self._columns()
        if not columns.passing:
            nothing = {"smallest": [], "max_size": 0, "left_out": []}
            return Uniqueness((), 0, 0.0, 0.0, 0.0, columns.most, sets=nothing)
        numbers = numbers_of(self._text, columns)
        codes = pl.DataFrame([column.of_row.alias(name) for name, column in numbers.passing.items()])
        sets = meanwhile(partial(singling_out, codes.lazy(), columns.passing, units=self.units), threads)
        figures = uniqueness(numbers, columns, self.units)
        return replace(figures, sets=sets())

    @property
    def _text(self) -> TextTable:
        normalize = self.spec.input.normalize
        fill = "" if normalize or not self.missing.null or "" in self.missing.texts else None
        columns = {name: self.columns_of.get(name, [name]) for name in self.spec.exact}
        exact = frozenset(each for own in columns.values() for each in own)
        return TextTable(self.frame, (), (), fill, normalize=normalize, shared=self.shared, exact=exact)

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
