"""A recoding found on some rows, and what it makes of these and of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anonymize import privacy, recoding, temporary
from anonymize.algorithms import ALGORITHMS, Context, reads_workload, why_not_reusable
from anonymize.errors import Problem, UsageError
from anonymize.evaluation.released import as_text, columns_of, read_cells
from anonymize.modelling.features import RegionEnds
from anonymize.recode import recode_frame
from anonymize.recoding.saved import Counts, Saved
from anonymize.recoding.saved import save as saved_recoding
from anonymize.spec import Spec
from anonymize.table import Source, Table, read


def check_algorithm(algorithm: str, options: Any) -> None:
    """Raises UsageError for one whose recoding is not a function of the values, and cannot be applied to other rows."""
    reason = why_not_reusable(ALGORITHMS[algorithm], options)
    if reason:
        raise UsageError(f"--algorithm: {reason}, so that it cannot be applied to the test part")


@dataclass(frozen=True)
class Recoder:
    """A recoding of the rows of `table`, whose file may be gone. Rows that it suppresses are shown suppressed."""

    spec: Spec
    table: Table
    saved: Saved

    @classmethod
    def of(cls, spec: Spec, frame: pl.DataFrame, algorithm: str, options: Any, seed: int, threads: int) -> Recoder:
        """What an algorithm finds on the rows of a frame, of texts with null for missing. Raises what it raises."""
        path = temporary.unnamed("anonymize-", ".parquet")
        try:
            frame.write_parquet(path)
            with Source.open(spec.of_release(), path) as source:
                at_levels = not ALGORITHMS[algorithm].NEEDS.levels
                workload = reads_workload(ALGORITHMS[algorithm], options)
                table = read(spec, source, workload=workload, at_levels=at_levels)
        finally:
            temporary.remove(path)
        limit = int(np.floor(spec.privacy.suppression * table.rows + 1e-9))
        context = Context(suppression_limit=limit, seed=seed, threads=threads, save=True)
        result = ALGORITHMS[algorithm].run(table, privacy.requirements(spec), options, context)
        assert isinstance(result, recoding.Recoding)
        released = recoding.render(result, table, spec.output, drop=False)
        try:
            return cls(spec, table.as_read, saved_recoding(result, table, released, spec, algorithm, drop=False))
        except UsageError as error:
            message = error.problems[0].message
            raise UsageError(Problem(f"--algorithm {algorithm}: {message}", hint="try --suppression 0")) from None

    def recode(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Counts]:
        """Rows as they are released, as text with null for missing; and how many are outside."""
        recoded, counts = recode_frame(self.saved, frame)
        return recoded.select(
            as_text(column, self.spec.of_release(), "parquet") for column in recoded.iter_columns()
        ), counts

    def boxes(self, frame: pl.DataFrame) -> tuple[RegionEnds, Counts]:
        """The same as regions."""
        recoded, counts = self.recode(frame)
        columns = columns_of(self.spec, recoded.columns, "the release")
        return RegionEnds.of_cells(*read_cells(self.spec, self.table.attributes, recoded, columns)), counts
