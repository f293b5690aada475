"""Releases of rows that were drawn at random and generalized alike, under differential privacy: `safepub`."""

from __future__ import annotations

import numpy as np
import polars as pl

from anonymize import privacy, verify
from anonymize.algorithms.safepub import SampledRows
from anonymize.classes import Ints
from anonymize.dp import mechanisms, published
from anonymize.errors import Problem, UnsafeError, UsageError, refuse
from anonymize.families.base import Draft, Measured
from anonymize.meaning import Manifest
from anonymize.privacy import Requirement
from anonymize.publication import Files, ReleasePaths
from anonymize.records import dataclass
from anonymize.report.codebook import codebook, columns_of
from anonymize.report.data import Blocks, output_block, verdict_blocks
from anonymize.request import Request
from anonymize.risk import Text
from anonymize.spec import Spec
from anonymize.verify import Spent

PUBLISHED = ("sensitive", "insensitive", "target", "sampling-weight")
"""Roles of columns that would be published as they are."""


KEY = "make it a quasi-identifier with a declared domain, or an identifier, which is left out"


@dataclass(frozen=True)
class SampledDraft(Draft):
    """Rows that were drawn, each with the nodes of one level for each column."""

    result: SampledRows

    @staticmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        """Every model of the spec, as far as it has any. Raises UsageError for a spec without `privacy.differential`,
        or with something that is not covered by it, column by column."""
        if spec.privacy.differential is None:
            hint = "privacy: {differential: {epsilon: 1, delta: 1.0e-9}}"
            raise UsageError(Problem("safepub: the spec has no `privacy.differential`", hint=hint))
        problems = [
            Problem(f"safepub: column {name!r} is {role}, and would be published as it is", hint=KEY)
            for name, role in spec.roles().items()
            if role in PUBLISHED
        ]
        output = spec.output
        refused = {
            "treatments: the changed columns would be published in addition": bool(spec.treatments),
            "risk.attacks: attackers are tried on classes, and rows are missing here": bool(spec.risk.attacks),
            "output.numeric: only interval": output.numeric != "interval",
            "output.categorical: only node": output.categorical != "node",
            "output.suppressed: only a text": spec.hides,
            "output.row_order: keep: the input's order is in it": output.row_order == "keep",
        }
        problems += [Problem(f"safepub: {message}") for message, present in refused.items() if present]
        if problems:
            raise UsageError(problems)
        published.check_public(spec)
        return privacy.requirements_if_any(spec)

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        """One table. Raises UsageError where a seed, or a limit on memory, is given, and without opendp."""
        mechanisms.require()
        refused = {
            "--seed: what protects is that nobody can draw the same again": request.seed is not None,
            "--memory-limit: safepub holds the quasi-identifiers in memory": request.memory_limit is not None,
            "--save-risk: what it says of a row follows from all others": request.save_risk is not None,
            "--dry-run: nothing is drawn, so that there is nothing to report (-r)": request.dry_run and request.reports,
        }
        refuse(refused)
        return ReleasePaths([request.output])

    @property
    def names(self) -> list[str]:
        """The columns, in the order of the input."""
        own = {each.name for each in self.result.columns}
        return [name for name in self.table.columns if name in own]

    @property
    def columns(self) -> dict[str, list[str]]:
        """Those, in this order."""
        return {name: [name] for name in self.names}

    @property
    def drawn(self) -> Spent:
        """By the check's own formulas."""
        return verify.sampled_spent(self.result.search, self.result.beta, self.result.k)

    def manifest(self, files: Files) -> Manifest:
        """The manifest that follows from the spec."""
        return Manifest.of_spec(self.request.spec)

    def write(self, files: Files) -> None:
        """The table, in the order of the hierarchies' nodes, or shuffled."""
        rows = self.result.rows[self._order()]
        columns = {each.name: each for each in self.result.columns}
        series = [
            pl.Series(name, columns[name].texts).gather(columns[name].nodes[rows]).alias(name) for name in self.names
        ]
        self.written.add(rows.astype(np.uint32))
        files.table.write(iter([pl.DataFrame(series)]))

    def _order(self) -> Ints:
        rows = self.result.rows
        if self.request.spec.output.row_order == "shuffle":
            return np.random.default_rng().permutation(len(rows))
        keys = [each.nodes[rows] for each in reversed(self.result.columns)]
        order: Ints = np.lexsort(keys)
        return order

    def measure(self, files: Files) -> Measured:
        """The text of the table. Raises UnsafeError for a class of fewer rows than k."""
        shared = self.numbers(files)
        smallest = verify.smallest_group(shared.frame, self.names)
        if smallest is None or smallest < self.result.k:
            raise UnsafeError(f"safepub: a class of the file has fewer than {self.result.k} rows: this is a bug")
        verdict = self.verdict(files, shared)
        return Measured(self.passing_text(files, shared).with_combinations(verdict))

    def text(self, files: Files) -> Text:
        """The rows as they are released."""
        return self.class_text(files)

    def blocks(self, files: Files, measured: Measured) -> Blocks:
        """How many rows are left out, at random and because their classes are small, is in private reports alone."""
        left_out = self.table.rows - len(self.result.rows)
        rows = {"suppressed_cells": 0, "dropped_rows": left_out}
        return Blocks(
            output=output_block(files.table, measured.verdict) | rows,
            measured=verdict_blocks(measured.verdict),
            utility={},
            recoding=self.result.summary(),
            warnings=[*self.table.warnings, *measured.verdict.cautions],
            codebook=codebook(self.request.spec, columns_of(files.table), {}),
        )
