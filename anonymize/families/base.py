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
from anonymize.report.data import Blocks
from anonymize.request import Request
from anonymize.risk import Text
from anonymize.spec import Spec
from anonymize.table import Codes, OutputFile, Source, Table
from anonymize.table.named import column
from anonymize.table.scratch import Arrays
from anonymize.verify import Check, SharedNumbers, Verdict, checks_of, text_of
from anonymize.verify.kept import Derivation
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
    def units(self) -> Codes | None:
        """Whom the written rows are about, where the table knows it; the release does not show it."""
        return None if self.table.units is None else self.table.units[self.written.rows]

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

    def held(self, arrays: Arrays) -> Draft:
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

    @abstractmethod
    def blocks(self, files: Files, measured: Measured) -> Blocks:
        """The blocks of the report that depend on the family."""

    @property
    def invented(self) -> pl.DataFrame | None:
        """The rows, where they are nobody's."""
        return None

    def derived(self, derivations: tuple[Derivation, ...]) -> tuple[Derivation, ...]:
        """Which of the columns that follow from others give away something that the release does not show."""
        return derivations

    @property
    def class_of(self) -> NDArray[np.int32]:
        """(rows,) the class of each row of the input, -1 for one that is not released."""
        raise NotImplementedError(f"{self.request.algorithm} makes no classes: this is probably a bug")


# --- the measured text ------------------------------------------------------------------------------------------------
# The text of a release whose rows may read the same, measured: what is required of classes, whatever made them.


@dataclass(frozen=True)
class DraftText:
    """The text of a draft that has been written.

    `columns`: the released ones of each quasi-identifier. `is_released` (rows of the input,): whether each was
    released; None: all were.
    """

    draft: Draft
    columns: Mapping[str, Sequence[str]]
    is_released: pl.Series | None = None

    def verdict(self, files: Files, shared: SharedNumbers) -> Verdict:
        """What everything that is required comes to. `shared`: what has been read of the file."""
        spec, target = self.draft.request.spec, files.table
        names = [name for own in self.columns.values() for name in own]
        judged = self._judged(files.source, target, shared)
        with ExitStack() as opened:
            verdict = verify.measure(
                judged.frame,
                names,
                with_people(spec, self.draft.checks(), self.columns, opened, files.source),
                spec.input.missing,
                suppressed=spec.output.suppressed,
                null_missing=spec.missing(target.format).null,
                missing_as=spec.privacy.missing,
                normalize=spec.input.normalize,
                exact=self._exact(),
                units=None if self.draft.units is None else pl.Series(self.draft.units),
                numbers=NumberColumns.of(spec, target.format).names,
                ordering=self._ordering(files),
                shared=judged,
            )
        before = [replace(each, before_treatment=each.attribute in spec.treated) for each in verdict.results]
        return replace(verdict, results=tuple(before))

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
