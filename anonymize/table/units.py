"""The column that says whom each row is about."""

from __future__ import annotations

import numpy as np
import polars as pl

from anonymize.errors import Caution, DataError, Problem
from anonymize.spec.missing import Missing
from anonymize.table.columns import Codes
from anonymize.table.encode import Field, TextColumn
from anonymize.table.named import column
from anonymize.table.source import Source
from anonymize.table.texts import look_alikes, tidy


class UnitColumn(TextColumn):
    """The unit as text: after the last batch, a code for each row."""

    def __init__(self, field: Field, key: str) -> None:
        super().__init__(field, key)
        self.name = field.name
        self.warnings: list[Caution] = []

    def encode(self, source: Source) -> Codes:
        """(rows,) codes; the same for texts that look alike. Raises DataError where a row does not say whom it is
        about."""
        texts, missing = self.distinct()
        if missing:
            hint = "every row needs one; rows about nobody known need one each"
            raise DataError(Problem(f"unit {self.name!r} is missing in some rows", source.name, hint=hint))
        stands = look_alikes(texts, known=False) if self._missing.normalize else None
        if stands is not None:
            people, whom = np.unique(stands, return_inverse=True)
            alike = len(texts) - len(people)
            look = "unit looks like another one, and is" if alike == 1 else "units look like others, and are"
            said = f"column {self.name!r}: {alike} {look} not counted apart"
            self.warnings.append(Caution.of(said, "`input: {normalize: exact}` counts them, if they are different"))
            return self.codes(dict(zip(texts, whom.tolist(), strict=True)), None, len(people))
        return self.codes({text: code for code, text in enumerate(texts)}, None, len(texts))


def units_of(table: pl.LazyFrame, name: str, missing: Missing) -> pl.Series:
    """(rows,) the unit of every row, as text, null where there is none; normalized where texts are. Without the name of
    its column."""
    texts = table.select(column(name).cast(pl.String).alias("")).collect(engine="streaming").to_series()
    return tidy(texts).replace("", None) if missing.normalize else texts
