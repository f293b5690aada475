"""Perturbed releases: every row, with the columns that steps of `treatments` have changed, and the rest as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Self

import numpy as np
import polars as pl

from anonymize import privacy
from anonymize.algorithms.perturb import Unchanged
from anonymize.classes import Bools
from anonymize.errors import Problem, UsageError
from anonymize.families.base import Draft, Measured
from anonymize.families.steps import check_suppression
from anonymize.fidelity import DISTRIBUTIONS
from anonymize.judging import Judge, withheld
from anonymize.meaning import Manifest
from anonymize.metrics import METRICS, undefined
from anonymize.privacy import Requirement
from anonymize.publication import Files, ReleasePaths
from anonymize.records import dataclass
from anonymize.report import data, head
from anonymize.report.codebook import codebook, columns_of
from anonymize.request import Request
from anonymize.risk import Text, merged, sampled
from anonymize.spec import Spec, columns
from anonymize.table import Table, named
from anonymize.verify import Verdict, kept
from anonymize.verify.table import with_suppressed
from anonymize.writing.rows import RowGroups, unclassed_frames

MORE_KEPT = "require less in the step that suppresses, or pool its strata"
"""What leaves fewer rows suppressed."""


def _suppressed(spec: Spec) -> list[str]:
    """The quasi-identifiers of which a step suppresses cells."""
    return [name for name in spec.quasi_identifiers if name in spec.treated and spec.treated[name].KIND == "spans"]


def _left_out(spec: Spec, requirements: tuple[Requirement, ...], table: Table) -> Bools | None:
    """(rows,) the rows of which every quasi-identifier is suppressed, where the spec leaves such rows out, or where as
    a class they would not meet what is required; None: no row is left out."""
    names = _suppressed(spec)
    if not names or len(names) < len(spec.quasi_identifiers):
        return None
    hidden = {name: _hidden_cells(spec, table, name) for name in names}
    blank: Bools = np.logical_and.reduce(list(hidden.values()))
    if not blank.any() or blank.all():
        return None
    unsafe = withheld(table, requirements) or not Judge(table, requirements).grants(blank.astype(np.int64), 2)[1]
    if spec.output.suppressed_rows == "drop" or unsafe or _short_of_combinations(spec, hidden):
        return blank
    return None


def _hidden_cells(spec: Spec, table: Table, name: str) -> Bools:
    """(rows,) which cells of a column are suppressed, as its step has made them."""
    made = table.kept[name]
    hidden = made.cells.is_null() if spec.hides else made.cells.cast(pl.String).eq_missing(str(spec.output.suppressed))
    cells: Bools = hidden.to_numpy()
    return cells[made.codes]


def _short_of_combinations(spec: Spec, hidden: Mapping[str, Bools]) -> bool:
    """Whether too few rows are suppressed in all columns of some combination of which the spec requires a k."""
    for rule in spec.privacy.combinations:
        for some in combinations(hidden, rule.size) if rule.size else [rule.columns or ()]:
            if np.count_nonzero(np.logical_and.reduce([hidden[name] for name in some])) < rule.k:
                return True
    return False


@dataclass(frozen=True)
class PerturbedDraft(Draft):
    """Rows without classes of their own. `left_out` (rows,): those that are not released; None: all are."""

    left_out: Bools | None = None

    @staticmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        """Every model of the spec, as far as it has any; there may be nothing to meet."""
        return privacy.requirements_if_any(spec)

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        """One table. Raises UsageError where no step changes anything."""
        if not request.spec.treatments:
            step = "treatments: [{method: noise, columns: [COLUMN], scale: 0.1}]"
            hint = f"{step}; `anonymize explain treatments` has the rest"
            raise UsageError(Problem("perturb: the spec has no `treatments`", hint=hint))
        return ReleasePaths([request.output])

    @classmethod
    def of(cls, request: Request, requirements: tuple[Requirement, ...], table: Table, result: Unchanged) -> Self:
        """The rows as they are."""
        return cls(request, requirements, table, _left_out(request.spec, requirements, table))

    def manifest(self, files: Files) -> Manifest:
        """The manifest that follows from the spec: a value that is shown as it is spans itself."""
        return Manifest.of_spec(self.request.spec)

    def write(self, files: Files) -> None:
        """The table."""
        roles = self.request.spec.roles()
        names = [name for name in self.table.columns if roles[name] not in columns.WITHHELD]
        groups = None if self.left_out is None else RowGroups(None, -self.left_out.astype(np.int32), 1)
        form = files.table.format
        files.table.write(unclassed_frames(self.request, self.table, names, {}, form, self.written, groups))

    def measure(self, files: Files) -> Measured:
        """The text of the table: rows that read the same are a class, whatever made them so."""
        hidden = _suppressed(self.request.spec)
        shared = self.numbers(files, hidden=hidden)
        text = self.passing_text(files, shared)
        if not self.columns:
            return Measured(Verdict(len(self.written.rows), 0, (), {}, {}, passing=text.measured()))
        verdict = text.with_combinations(self.verdict(files, shared))
        if hidden:
            hidden_rows = verdict.suppressed_rows + self._dropped
            check_suppression(self.request, self.table.rows, hidden_rows, MORE_KEPT)
        return Measured(replace(verdict, passing=text.measured()), sampled(self.class_text(files)))

    @property
    def is_released(self) -> pl.Series | None:
        """All but those that are left out."""
        return None if self.left_out is None else pl.Series(~self.left_out)

    def derived(self, derivations: tuple[kept.Derivation, ...]) -> tuple[kept.Derivation, ...]:
        """Derivations from columns that a step changes: what is not treated is there to be read anyway."""
        return tuple(each for each in derivations if self.request.spec.treated.keys() & set(each.sources))

    @property
    def _dropped(self) -> int:
        return self.table.rows - len(self.written.rows)

    def _hidden(self, files: Files) -> dict[str, int]:
        """Of each quasi-identifier of which cells are suppressed how many are."""
        spec, names = self.request.spec, _suppressed(self.request.spec)
        if not names:
            return {}
        read = with_suppressed(self.table_text(files).select(map(named.column, names)), spec, names)
        cells = read.select((named.column(name).cast(pl.String) == str(spec.output.suppressed)).sum() for name in names)
        return {name: int(number) for name, number in cells.collect(engine="streaming").row(0, named=True).items()}

    def _utility(self, hidden: Mapping[str, int]) -> dict[str, Any]:
        """What of the precision of the quasi-identifiers is lost, where they are as they were or suppressed: a
        suppressed cell, and a cell of a row that is left out, costs 1; nothing where other steps have changed some."""
        quasi, rows = self.request.spec.quasi_identifiers, self.table.rows
        if not hidden or not rows or quasi.keys() & self.request.spec.treated.keys() - hidden.keys():
            return {}
        lost = {name: (hidden.get(name, 0) + self._dropped) / rows for name in quasi}
        own = {name: {"ncp": lost[name], "loss": lost[name], "weight": each.weight} for name, each in quasi.items()}
        return {"gcp": sum(lost.values()) / len(lost), "attributes": own}

    def text(self, files: Files) -> Text | None:
        """The rows as they are released; None where there are no quasi-identifiers."""
        return self.class_text(files) if self.request.spec.quasi_identifiers else None

    def blocks(self, files: Files, measured: Measured) -> data.Blocks:
        """No cell is generalized, and no row left out but such as are suppressed as a whole."""
        spec, blocks, dropped = self.request.spec, data.verdict_blocks(measured.verdict), self._dropped
        rows = {"suppressed_rows": measured.verdict.suppressed_rows + dropped, "dropped_rows": dropped}
        hidden = self._hidden(files)
        risk = merged(blocks.get("risk", {}), measured.by_weights)
        kinds = frozenset(entry.KIND for entry in spec.treatments)
        return data.Blocks(
            output=data.output_block(files.table, measured.verdict) | rows | {"suppressed_cells": sum(hidden.values())},
            measured=blocks | ({"risk": risk} if risk else {}),
            utility=self._utility(hidden),
            left_out=undefined({**METRICS, **DISTRIBUTIONS}, kinds),
            recoding=Unchanged().summary(),
            warnings=[
                *self.table.warnings,
                *head.unused(self.request),
                *head.order_warnings(spec),
                *head.beside_steps(spec, measured.verdict.cautions),
                *data.left_out_warnings(spec, dropped, "`small: pool` of the step, or a lower k, keeps more of them"),
            ],
            codebook=codebook(spec, columns_of(files.table), {}),
        )
