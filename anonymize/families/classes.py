"""Releases with equivalence classes: rows that read the same in every quasi-identifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize import privacy, recoding, verify
from anonymize.classes import Bools
from anonymize.declared import declared
from anonymize.errors import UsageError, have
from anonymize.families import steps
from anonymize.families.base import Draft, DraftText, Measured
from anonymize.judging import Judge, withheld
from anonymize.meaning import Manifest
from anonymize.parallel import ahead, meanwhile, worth
from anonymize.privacy import Requirement
from anonymize.publication import SAVE_RECODING, Files
from anonymize.recoding import Levels, Recoding, Released
from anonymize.records import dataclass
from anonymize.report.classed import Beside, ClassedFacts, classed_blocks
from anonymize.report.data import Blocks
from anonymize.report.passing import PASSING
from anonymize.request import Request
from anonymize.risk import Text, sampled
from anonymize.spec import Spec
from anonymize.table import Table
from anonymize.table.scratch import Arrays, copied
from anonymize.writing.columns import PIECE
from anonymize.writing.rows import frames


@dataclass(frozen=True)
class ClassedDraft(Draft):
    """Rows with the class that each is in. `drop`: suppressed rows are left out."""

    recoding: Recoding
    released: Released
    drop: bool

    @staticmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        """Every model of the spec; with combinations, what makes classes that meet them."""
        return privacy.searched(spec)

    @classmethod
    def of(cls, request: Request, requirements: tuple[Requirement, ...], table: Table, result: Recoding) -> Self:
        """How each class reads, and whether the suppressed rows are published.

        Classes may read as suppressed rows do. Where these are more than may be suppressed, all rows are shown as one
        class; raises InfeasibleError where that cannot be, or they are too many even so.
        """
        _check_hidden(request.spec, table)
        drawn = cls._rendered(request, requirements, table, result)
        if drawn.released.suppressed_rows > steps.suppression_limit(request.spec, table.rows):
            whole = result.whole()
            drawn = drawn if whole is None else cls._rendered(request, requirements, table, whole)
        steps.check_suppression(request, table.rows, drawn.released.suppressed_rows)
        return drawn

    @classmethod
    def _rendered(cls, request: Request, requirements: tuple[Requirement, ...], table: Table, result: Recoding) -> Self:
        drop = must_drop(request.spec, table, result, requirements)
        requirements = privacy.requirements(request.spec) if request.spec.privacy.combinations else requirements
        threads = steps.threads_at_once(request, table)
        released = recoding.render(result, table, request.spec.output, drop=drop, threads=threads)
        return cls(request, requirements, table, result, released, drop)

    def held(self, arrays: Arrays) -> ClassedDraft:
        """The draft, with the class of each row and the rows of regions moved to where `arrays` are."""
        if arrays is np.empty:
            return self
        released = replace(self.released, class_of=copied(self.class_of, arrays))
        return replace(self, released=released, recoding=self.recoding.held(arrays))

    @property
    def class_of(self) -> NDArray[np.int32]:
        """(rows,) the class of each row as it is rendered, -1 for one that is not released."""
        return self.released.class_of

    def manifest(self, files: Files) -> Manifest:
        """Quasi-identifiers span values, and all else passed through."""
        return Manifest.of_spec(self.request.spec, labels=self.recoding.KIND == Levels.KIND)

    def write(self, files: Files) -> None:
        """The table, and the recoding where it is saved."""
        if SAVE_RECODING in files.private:
            from anonymize.recoding.saved.recoder import save  # half the time that it takes to import recodings

            saved = save(
                self.recoding, self.table, self._relabelled, self.request.spec, self.request.algorithm, drop=self.drop
            )
            files.private[SAVE_RECODING].write_text(saved.as_json())
        request = self.request
        traced = self.table.units is not None or request.save_link is not None or bool(request.spec.risk.attacks)
        traced |= request.show_values or request.save_risk is not None or bool(request.spec.treatments)
        written = self.written if traced or request.in_series else None
        target = files.table
        if not request.public:
            _ = self._beside
        pieces = frames(self.request, self.table, self._relabelled, target.format, written, target.separator)
        target.write(ahead(pieces, request.threads if self.table.rows > PIECE else 1))

    def measure(self, files: Files) -> Measured:
        """The text of the table, class by class; what passes through is measured meanwhile, from the same reading."""
        columns = self.columns
        own = [name for names in columns.values() for name in names]
        shared = steps.numbers_of(files.table, self._measured(columns), self.request.spec, own)
        text = steps.passing_text(self.request, files.table, columns, self.units, shared)
        text.read()
        threads = worth(steps.threads_at_once(self.request, self.table), self.table.rows)
        passing = meanwhile(partial(text.measured, threads), threads)
        verdict = self._released_text(columns).verdict(files, shared)
        declarations = declared(self.request.spec, columns, files.source.scan())
        verdict = verify.measure_codes(verdict, shared.frame, self.request.spec, declarations)
        verdict = text.with_combinations(verdict)
        return Measured(
            replace(verdict, passing=passing()),
            sampled(self.text(files)),
            shared.texts_of([name for names in columns.values() for name in names]),
        )

    def text(self, files: Files) -> Text:
        """The rows as they are released."""
        return steps.text_shown(self.request, files.table, list(self.columns.values()), self.units)

    def blocks(self, files: Files, measured: Measured) -> Blocks:
        facts = ClassedFacts(
            self.request,
            self.requirements,
            self.table,
            self.recoding,
            self.released,
            files.table,
            measured.verdict,
            self._beside(),
            measured.by_weights,
            measured.texts,
        )
        return classed_blocks(facts)

    @cached_property
    def _relabelled(self) -> Released:
        """The release with labels as they are written; in a series they are as they are compared, which never
        changes."""
        written = {} if self.request.in_series else {each.name: each.written for each in self.table.attributes}
        return self.released.written_as({name: each for name, each in written.items() if each})

    @cached_property
    def _beside(self) -> Callable[[], Beside]:
        """What the report has beside the release: of a large table begun when this is first asked for."""
        threads = worth(steps.threads_at_once(self.request, self.table), self.table.rows)
        facts = self.request, self.requirements, self.table, self.released
        work = partial(Beside.of, *facts, may_overlap=self.recoding.regions is not None)
        return meanwhile(work, threads)

    def _released_text(self, columns: Mapping[str, Sequence[str]]) -> DraftText:
        some = self.released.dropped_rows or self.released.left_out
        is_released = pl.Series(self.released.class_of >= 0) if some else None
        return DraftText(self, columns, is_released)

    @property
    def columns(self) -> dict[str, list[str]]:
        """The released columns of each quasi-identifier: one, or the two ends of what it shows."""
        names = self.request.spec.quasi_identifiers
        return {name: [column.name for column in self.released.columns_of(name)] for name in names}

    def _measured(self, columns: dict[str, list[str]]) -> list[str]:
        """The released columns that are looked at where columns pass through; then all but the weights are."""
        roles = self.request.spec.roles()
        others = [name for name in self.table.columns if roles[name] in (*PASSING, "sensitive")]
        passing = any(roles[name] in PASSING for name in others)
        return [*(name for names in columns.values() for name in names), *others] if passing else []


# --- suppressed rows -------------------------------------------------------------------------------------------------


def must_drop(spec: Spec, table: Table, result: Recoding, requirements: tuple[Requirement, ...]) -> bool:
    """Whether suppressed rows are left out: because the spec says so, or because as a class they would not be safe.

    The other classes are measured with them: published rows count in what the distributions are compared with. Where
    there is a population, everybody in it is under them, and they are left out; so they are where a model weighs what
    each class keeps.
    """
    rows = result.suppressed
    if result.withheld and len(rows):
        return True
    if spec.output.suppressed_rows == "drop" or not len(rows):
        return spec.output.suppressed_rows == "drop"
    if withheld(table, requirements):
        return True
    published = _passing(table, result, requirements, without=False)
    passes = _passing(table, result, requirements, without=True)
    return not published[-1] or bool((passes & ~published[:-1]).any())


def _passing(table: Table, result: Recoding, requirements: tuple[Requirement, ...], *, without: bool) -> Bools:
    """Whether each class is safe where the suppressed rows are withheld, (classes,), or published: (classes + 1,), as
    one class that comes last."""
    partition = result.partition
    if without:
        return Judge(table, requirements, partition.order).grants(partition.labels, partition.count)
    class_of = partition.class_of(table.rows)
    class_of[result.suppressed] = partition.count
    return Judge(table, requirements).grants(class_of, partition.count + 1)


def _check_hidden(spec: Spec, table: Table) -> None:
    """Raises UsageError where suppressed cells are written as nothing, and cannot be told from missing ones."""
    lacking = [each.name for each in table.as_read.attributes if each.domain.missing is not None]
    if spec.hides and lacking:
        missing = f"{have(lacking)} missing values"
        message = f"`output.suppressed: null`: {missing}, which are empty as well"
        raise UsageError(spec.problem(("output", "suppressed"), message, "choose a text for suppressed cells"))
