"""Randomized releases: the table with distorted values, along with the parameters that its recipient needs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Self

import polars as pl

from anonymize import verify
from anonymize.algorithms.randomize import Distorted, Randomized
from anonymize.channels.problem import epsilon
from anonymize.errors import Caution, UnsafeError, UsageError
from anonymize.families import base, checks
from anonymize.fidelity import DISTRIBUTIONS
from anonymize.files import parameters_beside
from anonymize.meaning import Manifest
from anonymize.metrics import DRAWN, METRICS, undefined
from anonymize.privacy import Requirement, disclosure, disclosures
from anonymize.publication import Files, ReleasePaths
from anonymize.records import dataclass
from anonymize.report import data, head
from anonymize.report.codebook import codebook, columns_of
from anonymize.request import Request
from anonymize.risk import guessing
from anonymize.spec import Spec
from anonymize.table import OutputFile, Table
from anonymize.table.write import refuse_uri
from anonymize.verify import Verdict
from anonymize.verify.unclassed import Bound, RatioBound, measure_distorted
from anonymize.writing.columns import HeldColumn, null_text
from anonymize.writing.rows import unclassed_frames


@dataclass(frozen=True)
class RandomizedDraft(base.Draft):
    """Rows with distorted values. `parameters`: the text of the recipient's file."""

    distorted: Randomized
    parameters: str

    @staticmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        """The bounds on disclosure of the spec."""
        return disclosures(spec)

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        """The table, and its parameters unless the table goes to standard output and they are given no path.

        Raises UsageError for a release that could be undone, and would be published.
        """
        checks.refuse_seed(request)
        if request.manifest is not None and request.options.parameters:
            raise UsageError("--manifest and --parameters name the same file: give one of them")
        output, parameters = str(request.output), request.manifest or str(request.options.parameters)
        if not parameters:
            refuse_uri(output, "a table and its parameters: name a file for them with --parameters")
        if not parameters and output not in ("-", "/dev/stdout"):
            parameters = parameters_beside(output)
        return ReleasePaths([output], [parameters] if parameters else [])

    @classmethod
    def of(cls, request: Request, requirements: tuple[Requirement, ...], table: Table, result: Randomized) -> Self:
        """The rows, and the text of the parameters."""
        parameters = json.dumps(result.parameters(table.rows, table.source.separator), ensure_ascii=False, indent=1)
        return cls(request, requirements, table, result, parameters)

    def manifest(self, files: Files) -> Manifest:
        """The manifest of the recipient's file, whether that is written or not."""
        channels = {each.name: each.channel for each in self.distorted.columns}
        path = files.texts[0].name if files.texts else None
        return Manifest(channels, self.table.rows, self.table.source.separator, path)

    @property
    def local(self) -> dict[str, float | None]:
        """Of the columns that are distorted."""
        distorted = [each for each in self.distorted.columns if each.released is not None]
        return {each.name: epsilon(each.p, each.size) for each in distorted}

    @property
    def drawn(self) -> str:
        """Each value of some columns by itself, and the others not."""
        return verify.LOCAL

    def write(self, files: Files) -> None:
        """The table, and the parameters where there is a file for them."""
        spec, table, form = self.request.spec, self.table, files.table.format
        empty = "" if null_text(spec, table.source.format, form) == "" else None
        drawn = {
            each.name: HeldColumn(
                pl.Series([text or empty for text in each.categories.texts], dtype=pl.String), each.released
            )
            for each in self.distorted.columns
            if each.released is not None
        }
        names = [name for name in table.columns if name not in spec.identifiers]
        files.table.write(unclassed_frames(self.request, table, names, drawn, form, self.written))
        for output in files.texts:
            output.write_text(self.parameters + "\n")

    def measure(self, files: Files) -> base.Measured:
        """The text of the table and of the parameters, against the values before the distortion.

        Raises UnsafeError where the table cannot have come about by these parameters.
        """
        rows, bounds = self.written.rows, bounds_of(self.distorted.columns, self.requirements)
        original = pl.DataFrame({each.name: each.original[rows] for each in self.distorted.columns})
        parameters = json.loads(self.parameters)
        verdict, wrong = measure_distorted(self.table_text(files), original, parameters, bounds)
        if wrong:
            raise UnsafeError(wrong)
        return base.Measured(replace(verdict, passing=self.passing_text(files).measured()))

    def blocks(self, files: Files, measured: base.Measured) -> data.Blocks:
        """The success of an ordinary attacker is measured by the original, and is nobody else's to know."""
        blocks = distorted_blocks(
            self.request.spec, self.distorted, files.table, columns_of(files.table), measured.verdict
        )
        risk = {} if self.request.public else {"risk": blocks.measured.get("risk", {}) | {"attacker": self._attacker()}}
        warnings = _warnings(self.request, self.table, self.distorted, written=bool(files.texts))
        return replace(
            blocks,
            measured=blocks.measured | risk,
            left_out=undefined({**METRICS, **DISTRIBUTIONS}, DRAWN),
            warnings=[*warnings, *measured.verdict.cautions],
        )

    def _attacker(self) -> dict[str, guessing.Guesses | None]:
        seen = {
            each.name: guessing.Seen(
                each.original, each.original if each.released is None else each.released, each.size, each.p
            )
            for each in self.distorted.columns
        }
        quasi = [seen[each.name] for each in self.distorted.columns if each.role == "quasi-identifier"]
        sensitive = [each for each in self.distorted.columns if each.role == "sensitive"]
        return {each.name: guessing.of_channels(quasi, seen[each.name], each.missing) for each in sensitive}


def distorted_blocks(
    spec: Spec, distorted: Randomized, output: OutputFile | head.TableSource, columns: list[str], verdict: Verdict
) -> data.Blocks:
    """The blocks of a distorted release of some columns, wherever it was made: no row is lost, and the metrics of
    generalized cells do not apply."""
    return data.Blocks(
        output=data.output_block(output, verdict) | dict.fromkeys(("suppressed_rows", "suppressed_cells"), 0),
        measured=data.verdict_blocks(verdict),
        utility={},
        left_out=undefined(METRICS, DRAWN),
        recoding=distorted.summary(),
        codebook=codebook(spec, columns, distorted.meanings()),
        warnings=[],
    )


def bounds_of(columns: Sequence[Distorted], requirements: Sequence[Requirement]) -> list[Bound | RatioBound]:
    """What is required of some columns, with values as codes."""
    by_name = {column.name: column for column in columns}
    bounds: list[Bound | RatioBound] = []
    for requirement in requirements:
        column, given = by_name[requirement.attribute or ""], requirement.parameters
        if not isinstance(given, disclosure.Parameters):
            bounds.append(RatioBound(requirement.model, column.name, given.model_dump()))
            continue
        texts = column.categories.texts
        named = {code: given.values[text] for code, text in enumerate(texts) if text in given.values}
        bounds.append(Bound(column.name, given.l, named, column.missing))
    return bounds


def _warnings(request: Request, table: Table, distorted: Randomized, *, written: bool) -> list[Caution]:
    """`written`: the parameters have a file."""
    warnings = [*table.warnings, *distorted.warnings, *head.unused(request), *head.order_warnings(request.spec)]
    if distorted.seeded:
        said = "unsafe to publish: the values were drawn with a given seed, and anybody who knows it can undo them"
        warnings.append(Caution.of(said, "release without `--seed`"))
    if not written:
        warnings.append(Caution.of("the recipient's parameters were not written", "`--parameters FILE`"))
    return [*warnings, *warnings_of_spec(request.spec)]


def warnings_of_spec(spec: Spec) -> Iterator[Caution]:
    """Warnings that follow from the spec alone."""
    if spec.privacy.suppression:
        yield Caution.of("privacy.suppression has no effect on randomize: no row is left out", "remove it")
    if spec.sampling_weight is not None:
        idle = "sampling_weight has no effect on randomize: distorted quasi-identifiers do not distinguish people"
        yield Caution.of(idle, "remove it")
    untouched = [name for name, role in spec.roles().items() if role in ("insensitive", "target")]
    if untouched:
        as_they_are = f"released unchanged, together with distorted columns: {', '.join(untouched)}"
        yield Caution.of(as_they_are, f"`identifiers: [{', '.join(untouched)}]` leaves them out")
