"""Perturbed releases: every row, with the columns that steps of `treatments` have changed, and the rest as it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl

from anonymize import privacy, verify
from anonymize.algorithms.base import Found
from anonymize.errors import Problem, UsageError
from anonymize.families.base import Draft, Measured, ReleasedText
from anonymize.families.steps import by_weights, check_suppression, numbers_of, passing_text, text_shown
from anonymize.fidelity import DISTRIBUTIONS
from anonymize.meaning import Manifest
from anonymize.metrics import METRICS, undefined
from anonymize.privacy import Requirement
from anonymize.publication import Files, ReleasePaths
from anonymize.report.codebook import codebook, columns_of
from anonymize.report.data import Blocks, output_block, verdict_blocks
from anonymize.report.head import order_warnings, unused
from anonymize.request import Request
from anonymize.risk import Text, merged
from anonymize.spec import Spec
from anonymize.spec.columns import WITHHELD
from anonymize.table import Table
from anonymize.table.named import column
from anonymize.unclassed import Unchanged
from anonymize.verify import Verdict
from anonymize.writing.rows import unclassed_frames


def requirements(spec: Spec) -> tuple[Requirement, ...]:
    """Every model of the spec, as far as it has any; there may be nothing to meet."""
    return privacy.requirements_if_any(spec)


def paths(request: Request) -> ReleasePaths:
    """One table. Raises UsageError where no step changes anything."""
    if not request.spec.treatments:
        hint = (
            "treatments: [{method: noise, columns: [COLUMN], scale: 0.1}]; `anonymize explain treatments` has the rest"
        )
        raise UsageError(Problem("perturb: the spec has no `treatments`", hint=hint))
    return ReleasePaths([request.output])


def draft(request: Request, requirements: tuple[Requirement, ...], table: Table, result: Found) -> Draft:
    """The rows as they are."""
    assert isinstance(result, Unchanged)
    return PerturbedDraft(request, requirements, table)


@dataclass(frozen=True)
class PerturbedDraft(Draft):
    """Rows without classes of their own."""

    def manifest(self, files: Files) -> Manifest:
        """As the spec has it: a value that is shown as it is spans itself."""
        return Manifest.of_spec(self.request.spec)

    def write(self, files: Files) -> None:
        """The table."""
        files.table.write(self._frames(files.table.format))

    def _frames(self, form: str) -> Iterator[pl.DataFrame]:
        roles = self.request.spec.roles()
        names = [name for name in self.table.columns if roles[name] not in WITHHELD]
        return unclassed_frames(self.request, self.table, names, {}, form, self.written)

    def measure(self, files: Files) -> Measured:
        """The text of the table: rows that read the same are a class, whatever made them so."""
        request, columns = self.request, {name: [name] for name in self.request.spec.quasi_identifiers}
        shared = numbers_of(files.table, spec=request.spec, hidden=self._suppressed)
        text = passing_text(request, files.table, columns, self.units, shared)
        if not columns:
            return Measured(Verdict(len(self.written.rows), 0, (), {}, {}, passing=text.measured()))
        verdict = text.with_combinations(ReleasedText(self, columns).verdict(files, shared))
        if self._suppressed:
            check_suppression(request, self.table.rows, verdict.suppressed_rows)
        return Measured(replace(verdict, passing=text.measured()), by_weights(self._classes(files)))

    @property
    def _suppressed(self) -> list[str]:
        """The quasi-identifiers of which a step suppresses cells."""
        spec = self.request.spec
        return [name for name in spec.quasi_identifiers if name in spec.treated and spec.treated[name].KIND == "spans"]

    def _hidden(self, files: Files) -> int:
        """How many cells of quasi-identifiers are suppressed."""
        spec, names = self.request.spec, self._suppressed
        if not names:
            return 0
        texts = verify.text_of(files.table.part, files.table.format, files.table.separator).select(map(column, names))
        read = verify.table.with_suppressed(texts, spec, names)
        cells = read.select((column(name).cast(pl.String) == str(spec.output.suppressed)).sum() for name in names)
        return int(cells.collect(engine="streaming").sum_horizontal().item())

    def text(self, files: Files) -> Text | None:
        """The rows as they are released; None where there are no quasi-identifiers."""
        return self._classes(files) if self.request.spec.quasi_identifiers else None

    def _classes(self, files: Files) -> Text:
        columns = [[name] for name in self.request.spec.quasi_identifiers]
        return text_shown(self.request, files.table, columns, self.units)

    def blocks(self, files: Files, measured: Measured) -> Blocks:
        """No row is left out, and no cell generalized."""
        spec, blocks = self.request.spec, verdict_blocks(measured.verdict)
        hidden = {"suppressed_rows": measured.verdict.suppressed_rows, "suppressed_cells": self._hidden(files)}
        risk = merged(blocks.get("risk", {}), measured.by_weights)
        kinds = frozenset(entry.KIND for entry in spec.treatments)
        return Blocks(
            output=output_block(files.table, measured.verdict) | hidden,
            measured=blocks | ({"risk": risk} if risk else {}),
            utility={},
            left_out=undefined({**METRICS, **DISTRIBUTIONS}, kinds),
            recoding=Unchanged().summary(),
            warnings=[
                *self.table.warnings,
                *unused(self.request),
                *order_warnings(spec),
                *measured.verdict.cautions,
            ],
            codebook=codebook(spec, columns_of(files.table), {}),
        )
