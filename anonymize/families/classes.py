"""Releases with equivalence classes: rows that read the same in every quasi-identifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize import privacy, recoding, verify
from anonymize.algorithms.bound import loss_bound
from anonymize.classes import Bools, Floats, Ints
from anonymize.declared import declared
from anonymize.domain.cells import CellKind, cells_of, members
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Caution, UsageError, have
from anonymize.families import base, steps
from anonymize.fidelity import BothSides, fidelity
from anonymize.judging import Judge, withheld
from anonymize.meaning import Manifest
from anonymize.metrics import View, utility
from anonymize.parallel import ahead, meanwhile, worth
from anonymize.privacy import Requirement
from anonymize.publication import SAVE_RECODING, Files
from anonymize.recoding import Levels, Recoding, Released
from anonymize.records import dataclass
from anonymize.report import data
from anonymize.report import head as cautions
from anonymize.report.codebook import FileCells, codebook, columns_of, generalized
from anonymize.report.passing import PASSING
from anonymize.request import Request
from anonymize.risk import Sizes, Text, merged, records, sampled, sizes_before
from anonymize.spec import Spec
from anonymize.table import Table, scratch
from anonymize.writing.columns import PIECE
from anonymize.writing.rows import frames


@dataclass(frozen=True)
class OriginalFigures:
    """Marginals and associations before and after (`distributions`), which nobody reads where there is no report; how
    many classes of each size the input has; and the rows that may be somebody's (`candidates`), where regions may
    overlap."""

    distributions: Mapping[str, Any]
    sizes: Sizes
    candidates: Mapping[str, Any]


@dataclass(frozen=True)
class ClassedDraft(base.Draft):
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

    def moved_to(self, arrays: scratch.Arrays) -> ClassedDraft:
        """The draft, with the class of each row and the rows of regions moved to where `arrays` are."""
        if arrays is np.empty:
            return self
        released = replace(self.released, class_of=scratch.copied(self.class_of, arrays))
        return replace(self, released=released, recoding=self.recoding.moved_to(arrays))

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
            _ = self._original
        pieces = frames(self.request, self.table, self._relabelled, target.format, written, target.separator)
        target.write(ahead(pieces, request.threads if self.table.rows > PIECE else 1))

    def measure(self, files: Files) -> base.Measured:
        """The text of the table, class by class; what passes through is measured meanwhile, from the same reading."""
        names = [name for columns in self.columns.values() for name in columns]
        shared = self.numbers(files, self._looked_at(names), names)
        text = self.passing_text(files, shared)
        text.read()
        threads = worth(steps.threads_at_once(self.request, self.table), self.table.rows)
        passing = meanwhile(partial(text.measured, threads), threads)
        spec, verdict = self.request.spec, self.verdict(files, shared)
        verdict = verify.measure_codes(verdict, shared.frame, spec, declared(spec, self.columns, files.source.scan()))
        verdict = replace(text.with_combinations(verdict), passing=passing())
        return base.Measured(verdict, sampled(self.class_text(files)), shared.texts_of(names))

    def text(self, files: Files) -> Text:
        """The rows as they are released."""
        return self.class_text(files)

    def blocks(self, files: Files, measured: base.Measured) -> data.Blocks:
        """The figures of the classes, next to those of the input."""
        spec, released, original = self.request.spec, self.released, self._original()
        blocks = data.verdict_blocks(measured.verdict)
        risk = merged(blocks["risk"], measured.by_weights) | data.defined({"candidates": original.candidates})
        rows = {"suppressed_rows": released.suppressed_rows, "dropped_rows": released.dropped_rows}
        cells = FileCells(spec, measured.texts)
        meanings = generalized(cells, self.columns, labels=self.recoding.labelled)
        return data.Blocks(
            output=data.output_block(files.table, measured.verdict)
            | rows
            | {"suppressed_cells": self._suppressed_cells()},
            measured=blocks | {"risk": risk},
            utility=self._utility(),
            recoding=data.with_heights(self.table.attributes, self.recoding.summary()),
            warnings=self._warnings(measured.verdict),
            distributions=original.distributions,
            codebook=codebook(spec, columns_of(files.table), meanings, cells),
            sizes=original.sizes,
        )

    def _utility(self) -> dict[str, Any]:
        """The metrics, with the bound on gcp where that is asked for; its figures are null in too large a table."""
        table, released, vector = self.table, self.released, self.recoding.vector
        heights = [each.hierarchy.height for each in table.attributes]
        view = View(
            attributes=table.attributes,
            ncp=released.ncp,
            loss=released.loss,
            sizes=released.sizes,
            suppressed_rows=released.suppressed_rows,
            k=data.required_size(self.requirements),
            levels=None if vector is None else list(zip(vector, heights, strict=True)),
            weights=table.weights,
            partition=self.recoding.regions,
            ncp_set=self._costs_of_sets() if self.recoding.SETS and self.recoding.regions is None else None,
        )
        block = utility(view)
        if not self.request.bound:
            return block
        bound = loss_bound(table, self.requirements, suppressing=self.request.spec.privacy.suppression > 0)
        return block | {"bound": bound.block(block["gcp"])}

    def _costs_of_sets(self) -> list[Floats]:
        """(classes,) of each quasi-identifier the NCP of a cell, a set of categories by the number of values that it
        names."""
        costs = []
        for attribute, ncp in zip(self.table.attributes, self.released.ncp, strict=True):
            column = self.released.columns_of(attribute.name)[0]
            if attribute.domain.kind == "categorical":
                named = _named(self.request.spec, attribute.hierarchy, column.texts)[column.of_class[:-1]]
                ncp = np.where(named > 0, named / attribute.domain.size, ncp)
            costs.append(ncp)
        return costs

    def _suppressed_cells(self) -> int:
        """Cells of quasi-identifiers that show the suppressed text: in classes, and in suppressed rows that are
        published."""
        released = self.released
        published = (released.suppressed_rows - released.dropped_rows) * len(self.table.attributes)
        for attribute in self.table.attributes:
            column = released.columns_of(attribute.name)[0]
            hidden = (column.texts == self.request.spec.output.suppressed).to_numpy()[column.of_class[:-1]]
            published += int(released.sizes[hidden].sum())
        return published

    def _warnings(self, verdict: verify.Verdict) -> list[Caution]:
        request, spec, table = self.request, self.request.spec, self.table
        warnings = [*table.warnings, *verdict.cautions, *cautions.order_warnings(spec)]
        if request.seed is not None and spec.output.row_order == "shuffle":
            shuffled = "the rows were shuffled with a given seed: anybody who knows it can undo the shuffle"
            warnings.append(Caution.of(shuffled, "release without `--seed`, or with `output: {row_order: sorted}`"))
        keeps = "`--suppression 0` generalizes them as well"
        warnings += data.left_out_warnings(spec, self.released.dropped_rows, keeps)
        if self.recoding.labelled:
            warnings += cautions.of_labels(spec, request.algorithm, sets=self.recoding.SETS)
        warnings += [*cautions.late(self.recoding.summary()), *cautions.ambiguous(spec, table.attributes)]
        warnings += [*cautions.signed(spec, table.attributes), *cautions.lone_values(spec, table, self.released)]
        return [*warnings, *cautions.unused(request)]

    @cached_property
    def _relabelled(self) -> Released:
        """The release with labels as they are written; in a series they are as they are compared, which never
        changes."""
        written = {} if self.request.in_series else {each.name: each.written for each in self.table.attributes}
        return self.released.written_as({name: each for name, each in written.items() if each})

    @cached_property
    def _original(self) -> Callable[[], OriginalFigures]:
        """What the report says of the input: of a large table begun when this is first asked for."""
        threads = worth(steps.threads_at_once(self.request, self.table), self.table.rows)
        return meanwhile(self._figures_of_input, threads)

    def _figures_of_input(self) -> OriginalFigures:
        request, read = self.request, self.table.as_read
        smallest = max(data.required_size(self.requirements), data.LEAST_COUNT)
        sides = BothSides.of(read, self.released, request.spec)
        distributions = fidelity(sides, smallest, values=request.show_values) if request.reports else {}
        may_overlap = self.recoding.regions is not None
        candidates = records.candidate_rows(request.spec, self.table, self.released) if may_overlap else {}
        return OriginalFigures(distributions, sizes_before(read), candidates)

    @property
    def is_released(self) -> pl.Series | None:
        """All but those that are in no class."""
        some = self.released.dropped_rows or self.released.left_out
        return pl.Series(self.released.class_of >= 0) if some else None

    @property
    def columns(self) -> dict[str, list[str]]:
        """The released columns of each quasi-identifier: one, or the two ends of what it shows."""
        names = self.request.spec.quasi_identifiers
        return {name: [column.name for column in self.released.columns_of(name)] for name in names}

    def _looked_at(self, names: Sequence[str]) -> list[str]:
        """The released columns that are looked at where columns pass through: all but the weights. `names`: those of
        quasi-identifiers."""
        roles = self.request.spec.roles()
        others = [name for name in self.table.columns if roles[name] in (*PASSING, "sensitive")]
        return [*names, *others] if any(roles[name] in PASSING for name in others) else []


def _named(spec: Spec, taxonomy: Taxonomy, texts: pl.Series) -> Ints:
    """(n,) how many values each text names, 0 where it is no set."""
    sets = cells_of(spec, texts, texts, numeric=False).of_kind(CellKind.SET)
    named = np.zeros(len(texts), np.int64)
    for index in np.flatnonzero(sets).tolist():
        named[index] = len(taxonomy.leaves_of(members(texts[index])) or ())
    return named


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
