"""The text of a release whose rows may read the same, measured: what is required of classes, whatever made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import polars as pl

from anonymize import verify
from anonymize.families.base import Draft
from anonymize.people import with_people
from anonymize.publication import Files
from anonymize.recoding.typed import NumberColumns
from anonymize.table import Codes, OutputFile, Source
from anonymize.table.named import column
from anonymize.verify import SharedNumbers, Verdict
from anonymize.writing.rows import null_text, passing_column


@dataclass(frozen=True)
class ReleasedText:
    """The text of a draft that has been written.

    `columns`: the released ones of each quasi-identifier. `units` (released rows,): whom they are about, where the
    table knows it. `is_released` (rows of the input,): whether each was released; None: all were.
    """

    draft: Draft
    columns: Mapping[str, Sequence[str]]
    units: Codes | None = None
    is_released: pl.Series | None = None

    def verdict(self, files: Files, shared: SharedNumbers) -> Verdict:
        """What everything that is required comes to. `shared`: what has been read of the file."""
        spec, target = self.draft.request.spec, files.table
        names = [name for own in self.columns.values() for name in own]
        judged = self._judged(files.source, target, shared)
        with ExitStack() as opened:
            return verify.measure(
                judged.frame,
                names,
                with_people(spec, self.draft.checks(), self.columns, opened),
                spec.input.missing,
                suppressed=spec.output.suppressed,
                null_missing=spec.missing(target.format).null,
                missing_as=spec.privacy.missing,
                normalize=spec.input.normalize,
                exact=self._exact(),
                units=None if self.units is None else pl.Series(self.units),
                numbers=NumberColumns.of(spec, target.format).names,
                ordering=self._ordering(files),
                shared=judged,
            )

    def _judged(self, source: Source, target: OutputFile, shared: SharedNumbers) -> SharedNumbers:
        """The file as its models are measured: a sensitive column that a step of `treatments` has changed is measured
        as it was before, so that it is not the change that makes it diverse."""
        spec = self.draft.request.spec
        changed = [name for name in spec.sensitive if name in spec.treated]
        if not changed:
            return shared
        empty, rows = null_text(spec, source.format, target.format), self.draft.written.rows
        before = pl.concat(list(source.batches(changed)))
        original = [passing_column(before[name].gather(rows), empty).cast(pl.String).alias(name) for name in changed]
        names = shared.frame.collect_schema().names()
        others = shared.frame.select(column(name) for name in names if name not in changed)
        frame = others.collect(engine="streaming").with_columns(original).select(map(column, names))
        return SharedNumbers(frame.lazy(), ())

    def _exact(self) -> frozenset[str]:
        """The released columns whose texts are compared as they stand."""
        spec = self.draft.request.spec
        return frozenset(each for name in spec.exact for each in self.columns.get(name, [name]))

    def _ordering(self, files: Files) -> verify.Ordering | None:
        """Where rows are in the input's order, what they are in order by is read from the input's own text."""
        spec = self.draft.request.spec
        if spec.output.row_order != "keep":
            return None
        notations = {name: spec.notation(name) for name in spec.quasi_identifiers}
        original = verify.OriginalRows(files.source.scan(), self.is_released, spec.input.missing, notations)
        return verify.Ordering(self.columns, verify.CellTemplates.of(spec), judged=True, original=original)
