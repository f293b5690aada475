"""Bucketized releases: quasi-identifiers with the number of a group, and the sensitive values of each group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from anonymize.algorithms.anatomy import Bucketized
from anonymize.classes import Runs, mixed_radix
from anonymize.errors import Caution, UsageError
from anonymize.families.base import Draft, Measured
from anonymize.families.checks import refuse_seed
from anonymize.fidelity import BothSides, fidelity
from anonymize.files import pair_of
from anonymize.meaning import Manifest
from anonymize.metrics import View, utility
from anonymize.privacy import Requirement, diversities
from anonymize.publication import Files, ReleasePaths
from anonymize.records import dataclass
from anonymize.report import data, head, published
from anonymize.report.codebook import codebook, columns_of
from anonymize.request import Request
from anonymize.risk import guessing, merged, sampled
from anonymize.spec import Spec
from anonymize.table import SensitiveColumn, Table, named
from anonymize.table.write import check_table, refuse_uri
from anonymize.verify import text_of
from anonymize.writing import cell_ranks, columns, rows

DEALT_OUT = "a value of the row's group, dealt out at random"
"""What the column of the sensitive attribute holds where it stands in the table; with two files it does not."""


@dataclass(frozen=True)
class BucketizedDraft(Draft):
    """Rows with the group that each is in."""

    buckets: Bucketized

    @staticmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        """The l-diversities of the spec."""
        return diversities(spec)

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        """The table with its groups, and, unless they are joined, that of the sensitive values.

        Raises UsageError for two files on standard output, for a suffix that is not a format's, and for groups to be
        published that could be drawn again.
        """
        refuse_seed(request)
        output = str(request.output)
        if request.options.joined:
            return ReleasePaths([output])
        if output in ("-", "/dev/stdout"):
            raise UsageError("two files cannot go to standard output: give --output, or --joined for one file")
        refuse_uri(output, "two tables, which a database would not take as one; --joined makes one")
        check_table(output, request.output_format)
        return ReleasePaths(pair_of(output))

    def manifest(self, files: Files) -> Manifest:
        """The sensitive attribute is detached from the rows."""
        other = next((str(each.part) for each in files.release[1:]), None)
        return Manifest.of_buckets(self.request.spec, self.buckets.name, other)

    def write(self, files: Files) -> None:
        """The table; of two files the sensitive values of each group, too."""
        table, buckets, form = self.table, self.buckets, files.table.format
        (column,) = table.sensitive
        names = [name for name in table.columns if name not in self.request.spec.identifiers]
        dealt: dict[str, columns.HeldColumn] = {}
        if buckets.joined:  # the text of another row of the group
            original = named.unnamed(pl.concat([batch[column.name] for batch in table.source.batches([column.name])]))
            texts = columns.passing_column(original, columns.null_text(self.request.spec, table.source.format, form))
            dealt[column.name] = columns.hold_column(texts).of(np.maximum(buckets.mixed, 0))
        released = [name for name in names if name in dealt or name != column.name]
        groups = rows.RowGroups(buckets.name, buckets.group, buckets.count)
        files.table.write(rows.unclassed_frames(self.request, table, released, dealt, form, self.written, groups))
        for output in files.release[1:]:
            empty = columns.null_text(self.request.spec, files.source.format, output.format)
            values = _sensitive_table(buckets, column, empty if empty == "" else None)
            output.write(iter([values]))

    def measure(self, files: Files) -> Measured:
        """The text of the files, group by group."""
        texts = [text_of(output.part, output.format, output.separator) for output in files.release]
        group, form = self.request.options.group, files.table.format
        verdict = published.bucket_verdict(self.request.spec, texts, form, group, self.requirements)
        return Measured(replace(verdict, passing=self.passing_text(files).measured()), sampled(self.class_text(files)))

    def blocks(self, files: Files, measured: Measured) -> data.Blocks:
        """Groups lose rows, and how values go together; the quasi-identifiers lose nothing."""
        table, buckets = self.table, self.buckets
        output = data.output_block(files.table, measured.verdict)
        output |= {"suppressed_rows": buckets.left_out, "dropped_rows": buckets.left_out, "suppressed_cells": 0}
        for each in files.release[1:]:
            output |= {"sensitive_path": each.name, "sensitive_sha256": each.sha256}
        lost = [np.zeros(buckets.count) for _ in table.attributes]
        view = View(table.attributes, lost, lost, buckets.sizes, buckets.left_out, buckets.l, None, table.weights)
        blocks = data.verdict_blocks(measured.verdict)
        risk = merged(blocks["risk"], measured.by_weights)
        sensitive = table.sensitive[0].name
        if not self.request.public:
            risk |= {"attacker": {sensitive: _attacker(table, buckets)}}
        return data.Blocks(
            output=output,
            measured=blocks | {"risk": risk},
            utility=utility(view),
            recoding=buckets.summary(),
            warnings=[*_warnings(self.request, table, buckets), *measured.verdict.cautions],
            codebook=codebook(
                self.request.spec,
                columns_of(files.table),
                {sensitive: {sensitive: DEALT_OUT} if buckets.joined else {}},
                group=buckets.name,
            ),
            distributions=self._distributions(),
        )

    def _distributions(self) -> dict[str, Any]:
        if self.request.public or not self.request.reports:
            return {}
        table, groups = self.table.as_read, self.buckets.group
        codes = {each.name: each.codes for each in table.attributes}
        sides = BothSides.of_groups(table, self.request.spec, groups, codes, table.sensitive[0].codes)
        return fidelity(sides, data.LEAST_COUNT, values=self.request.show_values)


def _sensitive_table(buckets: Bucketized, column: SensitiveColumn, empty: str | None) -> pl.DataFrame:
    """The ST: of each group every sensitive value and its rows, by group, then value, in the order of a sorted
    release. Groups count from 1.

    `empty`: what an empty text is written as.
    """
    grouped = buckets.group >= 0
    runs = Runs.count_values(buckets.group[grouped], column.codes[grouped], buckets.count, column.size)
    texts = pl.Series([text or empty for text in column.texts], dtype=pl.String)
    values = texts.gather(runs.codes).alias(column.name)
    order = np.lexsort((cell_ranks(texts)[runs.codes], runs.classes))
    table = pl.DataFrame([pl.Series(buckets.name, runs.classes + 1), values, pl.Series("count", runs.counts)])
    return table[order]


# --- the report ------------------------------------------------------------------------------------------------------


def _attacker(table: Table, buckets: Bucketized) -> guessing.Guesses:
    """The success of an ordinary attacker, which is measured by the original and is nobody else's to know."""
    grouped, (column,) = buckets.group >= 0, table.sensitive
    codes = [attribute.codes[grouped] for attribute in table.attributes]
    combinations, _ = mixed_radix(codes, [attribute.domain.size for attribute in table.attributes])
    present, groups = np.unique(combinations, return_inverse=True)
    people = guessing.Subjects(groups, column.codes[grouped], len(present), column.size, column.missing)
    return guessing.of_buckets(people, buckets.group[grouped])


def _warnings(request: Request, table: Table, buckets: Bucketized) -> list[Caution]:
    warnings = [*table.warnings, *head.unused(request), *head.order_warnings(request.spec)]
    if request.seed is not None:
        said = "groups were drawn with a given seed: anybody who knows it and the table's order can draw them again"
        warnings.append(Caution.of(said, "release without `--seed`"))
    if buckets.left_out:
        left_out = f"{buckets.left_out} rows were left out: their sensitive values are too frequent"
        warnings.append(Caution.of(left_out, "a smaller l keeps more of them: `-l 2`"))
    return warnings
