"""What a family of releases is: a draft, which is made, written, measured and reported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize import verify
from anonymize.declared import with_people
from anonymize.meaning import Manifest
from anonymize.privacy import Requirement
from anonymize.publication import Files, ReleasePaths
from anonymize.recoding.appearance import NumberColumns
from anonymize.records import dataclass
from anonymize.report import data, passing
from anonymize.request import Request
from anonymize.risk import Text
from anonymize.spec import Spec
from anonymize.table import OutputFile, Source, Table, named, scratch
from anonymize.verify import Check, SharedNumbers, Verdict, checks_of, kept, text_of
from anonymize.verify.table import with_suppressed
from anonymize.writing.columns import null_text, passing_column
from anonymize.writing.rows import Written


@dataclass(frozen=True)
class Measured:
    """What was measured of a release from its files as they were written.

    `by_weights`: what sampling weights add to the block `risk` of the report; nothing where there are none. `texts`:
    the different texts of columns that show generalized values.
    """

    verdict: Verdict
    by_weights: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, pl.Series] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft(ABC):
    """A release that has been made and not yet published: a table, and what the search returned for it."""

    request: Request
    requirements: tuple[Requirement, ...]
    table: Table
    written: Written = field(default_factory=Written, kw_only=True)
    """The rows of the input that have been written; complete after `write`."""

    @staticmethod
    @abstractmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        """What the release has to meet. Raises SpecError for a spec that the family can do nothing with."""

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        """Where the release goes: one table. Raises UsageError for outputs that the family cannot make."""
        return ReleasePaths([request.output])

    @classmethod
    def of(cls, request: Request, requirements: tuple[Requirement, ...], table: Table, result: Any) -> Self:
        """The release that follows from what the algorithm returned, the last of its fields."""
        made: Callable[..., Self] = cls
        return made(request, requirements, table, result)

    @abstractmethod
    def manifest(self, files: Files) -> Manifest:
        """What the columns of the release mean, with the files as they are before they are published."""

    @property
    def local(self) -> dict[str, float | None]:
        """By column, the epsilon of values that the family distorts one by one; None for one without bound."""
        return {}

    @property
    def drawn(self) -> verify.Spent | str:
        """What the release has spent of differential privacy; or why it is not differentially private."""
        return verify.UNDRAWN

    @property
    def units(self) -> pl.Series | None:
        """Whom the written rows are about, where the table knows it; the release does not show it."""
        return None if self.table.units is None else pl.Series(self.table.units[self.written.rows])

    @property
    def is_released(self) -> pl.Series | None:
        """(rows of the input,) whether each was released; None: all were."""
        return None

    @property
    def columns(self) -> dict[str, list[str]]:
        """The released columns of each quasi-identifier."""
        return {name: [name] for name in self.request.spec.quasi_identifiers}

    def table_text(self, files: Files) -> pl.LazyFrame:
        """The table as it was written, as text."""
        return text_of(files.table.part, files.table.format, files.table.separator)

    def checks(self) -> list[Check]:
        """What the release is checked for, with the hierarchies of sensitive attributes where a distance needs one."""
        checks = checks_of(self.request.spec, self.requirements)
        attributes = {check.attribute for check in checks if check.needs_tree}
        trees = {each.name: each.paths for each in self.table.sensitive if each.name in attributes}
        return [replace(check, tree=trees.get(check.attribute or "")) for check in checks]

    def moved_to(self, arrays: scratch.Arrays) -> Draft:
        """The draft, with what it has of each row moved to where `arrays` are."""
        return self

    @abstractmethod
    def write(self, files: Files) -> None:
        """Writes the files of the release, and those that stay private."""

    @abstractmethod
    def measure(self, files: Files) -> Measured:
        """Measures the files of the release by code that shares nothing with the search.

        Raises UnsafeError for a release that is not what it claims to be, whatever its requirements are.
        """

    def text(self, files: Files) -> Text | None:
        """The rows as they are released, by which people may be recognized; None where they have no classes."""
        return None

    def class_text(self, files: Files) -> Text:
        """The quasi-identifiers as they were written, and whom the rows are about."""
        spec, columns = self.request.spec, list(self.columns.values())
        frame = with_suppressed(self.table_text(files), spec, [name for names in columns for name in names])
        return Text(frame, columns, spec, spec.missing(files.table.format), self.units)

    def numbers(self, files: Files, columns: Sequence[str] = (), hidden: Sequence[str] = ()) -> SharedNumbers:
        """The file as it was written, whose columns are read once for all that is measured of it. `columns`: those that
        will all be looked at; `hidden`: those in which the spec may write suppressed cells as nothing."""
        return SharedNumbers(with_suppressed(self.table_text(files), self.request.spec, hidden), columns)

    def passing_text(self, files: Files, shared: SharedNumbers | None = None) -> passing.PassingText:
        """What measures the columns that pass through, from the file as it was written. `shared`: what has been read of
        it."""
        shared, spec = self.numbers(files) if shared is None else shared, self.request.spec
        missing = spec.missing(files.table.format)
        return passing.PassingText(shared.frame, spec, self.columns, missing, self.units, shared=shared)

    def verdict(self, files: Files, shared: SharedNumbers) -> Verdict:
        """What everything that is required comes to where rows that read the same are a class, whatever made them so.
        `shared`: what has been read of the file."""
        spec, target = self.request.spec, files.table
        judged = self._judged(files.source, target, shared)
        with ExitStack() as opened:
            verdict = verify.measure(
                judged.frame,
                [name for names in self.columns.values() for name in names],
                with_people(spec, self.checks(), self.columns, opened, files.source),
                spec.input.missing,
                suppressed=spec.output.suppressed,
                null_missing=spec.missing(target.format).null,
                missing_as=spec.privacy.missing,
                normalize=spec.input.normalize,
                exact=passing.exact_columns(spec, self.columns),
                units=self.units,
                numbers=NumberColumns.of(spec, target.format).names,
                ordering=self._ordering(files),
                shared=judged,
            )
        results = (replace(each, before_treatment=each.attribute in spec.treated) for each in verdict.results)
        return replace(verdict, results=tuple(results))

    def _judged(self, source: Source, target: OutputFile, shared: SharedNumbers) -> SharedNumbers:
        """The file as its models are measured: a sensitive column that a step of `treatments` has changed is measured
        as it was before, so that it is not the change that makes it diverse."""
        spec = self.request.spec
        changed = [name for name in spec.sensitive if name in spec.treated]
        if not changed:
            return shared
        empty = null_text(spec, source.format, target.format)
        before, rows = pl.concat(list(source.batches(changed))), self.written.rows
        original = [passing_column(before[name].gather(rows), empty).cast(pl.String).alias(name) for name in changed]
        names = shared.frame.collect_schema().names()
        others = shared.frame.select(named.column(name) for name in names if name not in changed)
        frame = others.collect(engine="streaming").with_columns(original).select(map(named.column, names))
        return SharedNumbers(frame.lazy(), ())

    def _ordering(self, files: Files) -> verify.Ordering | None:
        """Where rows are in the input's order, what they are in order by is read from the input's own text."""
        spec = self.request.spec
        if spec.output.row_order != "keep":
            return None
        notations = {name: spec.notation(name) for name in spec.quasi_identifiers}
        original = verify.OriginalRows(files.source.scan(), self.is_released, spec.input.missing, notations)
        return verify.Ordering(self.columns, verify.CellTemplates.of(spec), judged=True, original=original)

    @abstractmethod
    def blocks(self, files: Files, measured: Measured) -> data.Blocks:
        """The blocks of the report that depend on the family."""

    @property
    def invented(self) -> pl.DataFrame | None:
        """The rows, where they are nobody's."""
        return None

    def derived(self, derivations: tuple[kept.Derivation, ...]) -> tuple[kept.Derivation, ...]:
        """Which of the columns that follow from others give away something that the release does not show."""
        return derivations

    @property
    def class_of(self) -> NDArray[np.int32]:
        """(rows,) the class of each row of the input, -1 for one that is not released."""
        raise NotImplementedError(f"{self.request.algorithm} makes no classes: this is probably a bug")
