"""Synthetic releases: invented rows, with a manifest of everything that the mechanism released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import polars as pl

from anonymize import verify
from anonymize.algorithms.synthesize import Synthesized
from anonymize.declared import synthetic_faults
from anonymize.errors import Caution, Problem, SpecError, UnsafeError, refuse
from anonymize.families.base import Draft, Measured
from anonymize.fidelity import DISTRIBUTIONS
from anonymize.files import manifest_beside
from anonymize.meaning import Manifest, kinds
from anonymize.metrics import METRICS, undefined
from anonymize.places import is_uri
from anonymize.privacy import Requirement
from anonymize.publication import Files, ReleasePaths
from anonymize.records import dataclass
from anonymize.report import data, head, published
from anonymize.report.codebook import codebook, columns_of
from anonymize.request import Request
from anonymize.spec import Spec
from anonymize.table import forms, named
from anonymize.verify import Verdict, synthetic

INVENTED = "invented"
"""What every column means."""


def _refused(spec: Spec) -> Iterator[Problem]:
    """What a spec requires or asks for that invented rows cannot have."""
    privacy = spec.privacy
    of_classes = {
        "k": privacy.k is not None,
        "l": privacy.l is not None,
        "models": bool(privacy.models),
        "combinations": bool(privacy.combinations),
        "passing": privacy.passing is not None,
    }
    for name in (name for name, present in of_classes.items() if present):
        message = f"{name}: synthesize invents rows, and their classes are not classes of people"
        yield spec.problem(("privacy", name), message, "leave it out")
    for name, each in spec.quasi_identifiers.items():
        for key in (key for key in ("round", "top", "bottom", "levels") if getattr(each, key) is not None):
            message, hint = f"{name}.{key}: synthesize keeps to the public domain instead", f"domains: {{{name}: ...}}"
            yield spec.problem(("quasi_identifiers", name, key), message, f"{hint} says what may be shown")
    if spec.treatments:
        message = "synthesize: treatments: there is nothing of the input left to change"
        yield spec.problem(("treatments",), message, "leave it out")
    if spec.risk.attacks:
        message = "synthesize: risk.attacks: no budget pays for what is measured by the original; use `attack`"
        yield spec.problem(("risk", "attacks"), message, "leave it out")
    if spec.weight_coding is not None:
        yield spec.problem(("sampling_weight",), "sampling_weight: synthesize neither rounds nor bands it")


@dataclass(frozen=True)
class SyntheticDraft(Draft):
    """Invented rows."""

    made: Synthesized

    @staticmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        """None but differential privacy. Raises SpecError where the spec does not require it, or requires or asks for
        what invented rows cannot have."""
        privacy = spec.privacy
        if privacy.differential is None:
            hint = "privacy: {differential: {epsilon: 1, delta: 1e-9}}"
            raise SpecError(spec.problem(("privacy",), "synthesize: the spec requires no differential privacy", hint))
        if problems := list(_refused(spec)):
            raise SpecError(problems)
        return ()

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        """The table, and its manifest next to it, unless the table goes to standard output or a database and the
        manifest is given no path. Raises UsageError for what a synthetic table cannot have."""
        refused = {
            "--seed: the noise is the system's; anyone who knew the seed could remove it": request.seed is not None,
            "--save-link: no released row belongs to a person": request.save_link is not None,
            "--save-risk: no released row belongs to a person": request.save_risk is not None,
            "--show-values: values of the input are not paid for": request.show_values,
            "--memory-limit: counts and model are held in memory; --model-size bounds the model": (
                request.memory_limit is not None
            ),
            "--start-series, --after: synthetic tables of the same people add up; a series does not count that": (
                request.in_series
            ),
            "--dry-run: nothing is drawn, so that there is nothing to report (-r)": request.dry_run and request.reports,
        }
        refuse(refused, "synthesize: ")
        output = str(request.output)
        own = None if output in ("-", "/dev/stdout") or is_uri(output) else manifest_beside(output)
        manifest = request.manifest or own
        return ReleasePaths([output], [] if manifest is None else [manifest])

    def manifest(self, files: Files) -> Manifest:
        """Every column is invented; and how."""
        return Manifest(dict.fromkeys(self.made.frame.columns, kinds.Named(INVENTED)), synthetic=self.made.block)

    @cached_property
    def declared(self) -> synthetic.SyntheticManifest:
        """What the manifest says, as the check reads it."""
        return synthetic.SyntheticManifest.of(self.made.block)

    @property
    def drawn(self) -> verify.Spent:
        """Epsilon and delta, as the check adds them up."""
        return self.declared.spent

    @property
    def invented(self) -> pl.DataFrame:
        """All of them."""
        return self.made.frame

    def write(self, files: Files) -> None:
        """The table, its numbers with the decimal sign of the input; what is missing is a null wherever the format has
        one."""
        spec, form, frame = self.request.spec, files.table.format, self.made.frame
        signs = {name: spec.notation(name).decimal for name in frame.columns}
        frame = frame.with_columns(
            named.column(name).str.replace(".", sign, literal=True) for name, sign in signs.items() if sign != "."
        )
        text = spec.missing(form).text if form in forms.CSV else ""
        frame = frame if not text else frame.fill_null(text)
        files.table.write(iter([frame]))

    def measure(self, files: Files) -> Measured:
        """The written table and what the manifest declares, against each other and the public domain.

        Raises UnsafeError where they do not agree.
        """
        form = files.table.format
        if wrong := synthetic_faults(self.request.spec, self.declared, self.table_text(files), form):
            raise UnsafeError(wrong)
        return Measured(Verdict(len(self.made.frame), 0, (), {}, {}))

    def blocks(self, files: Files, measured: Measured) -> data.Blocks:
        """What was spent, first of all; nothing of the input is in them but what that paid for."""
        first = published.differential_block(self.made.block)
        return data.Blocks(
            output=data.output_block(files.table, measured.verdict),
            measured={"differential": first, **data.verdict_blocks(measured.verdict)},
            utility={},
            left_out=undefined({**METRICS, **DISTRIBUTIONS}, {INVENTED}),
            recoding=self.made.summary(),
            warnings=[*self.table.warnings, *head.unused(self.request), *warnings(self.made.block)],
            codebook=codebook(self.request.spec, columns_of(files.table), self.made.meanings()),
        )


def warnings(block: Mapping[str, Any]) -> Iterator[Caution]:
    """A delta that is no small share of the individuals, by the noisy count of rows."""
    delta, rows = block["differential"]["delta"], block["sampler"]["rows"]
    if delta * rows > 1:
        said = f"delta is {delta:g}, more than one in {rows:,}, the rows that there are: one row may be shown as it is"
        yield Caution.of(said, "`privacy: {differential: {delta: 1e-9}}`, or another well below that")
