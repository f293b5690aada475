"""What is published: all that a public report is made from; and what a report says of a table drawn under differential
privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from anonymize import verify
from anonymize.algorithms import ALGORITHMS, base
from anonymize.meaning import Manifest
from anonymize.privacy import Requirement
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.verify import Verdict, unclassed
from anonymize.verify.table import with_suppressed

BESIDE = ("", "_low", "_high", "_missing")
"""What the names of the columns that show a quasi-identifier end with."""


@dataclass(frozen=True)
class PublishedFile:
    """A released file as it was written."""

    path: Path
    form: str
    separator: str
    sha256: str | None
    hidden: Spec | None = None
    """The spec whose quasi-identifiers show suppressed cells as nothing, where they do."""

    @property
    def text(self) -> pl.LazyFrame:
        """The table in it, as text."""
        text = verify.text_of(self.path, self.form, self.separator)
        return text if self.hidden is None else with_suppressed(text, self.hidden, self.hidden.quasi_identifiers)


@dataclass(frozen=True)
class Published:
    """All that a public report is made from. `files`: the table with the rows first. `manifest`: what its columns mean.
    `algorithm`, `options`: what made it; None where that is not known."""

    files: Sequence[PublishedFile]
    spec: Spec
    manifest: Manifest
    algorithm: str | None = None
    options: Any = None

    @property
    def table(self) -> PublishedFile:
        """The table with the rows."""
        return self.files[0]

    @property
    def family(self) -> base.Family | None:
        """The algorithm's; None where that is not known."""
        return None if self.algorithm is None else ALGORITHMS[self.algorithm].NEEDS.family

    def sampling(self, requirements: Sequence[Requirement]) -> base.Sampling | None:
        """How rows were drawn at random, which follows from the spec and the options; None where all were released."""
        drawing = None if self.family is None else self.family.drawing
        return None if drawing is None else drawing(self.spec, self.options, requirements)

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the table."""
        return self.table.text.collect_schema().names()

    @cached_property
    def columns_of(self) -> dict[str, list[str]]:
        """The released columns of each quasi-identifier."""
        roles, present = self.spec.roles(), self.columns
        return {
            name: [c for c in (name + end for end in BESIDE) if c in present and (c == name or c not in roles)]
            for name in self.spec.quasi_identifiers
        }


def bucket_verdict(
    spec: Spec, files: Sequence[pl.LazyFrame], form: str, group: str, requirements: Sequence[Requirement]
) -> Verdict:
    """What a release in groups comes to. `files`: the text of the table, and that of the sensitive values where they
    have a table of their own; `form`: the format of both; `group`: the column of groups."""
    reading = unclassed.Reading(group, spec.input.missing, spec.missing(form).null, normalize=spec.input.normalize)
    values = files[1] if len(files) > 1 else None
    checks = verify.checks_of(spec, requirements)
    return unclassed.measure_bucketized(files[0], values, list(spec.quasi_identifiers), checks, reading)


# --- differential privacy ---------------------------------------------------------------------------------------------
# What a report says of a table that was drawn under differential privacy, before anything else.

COVERED = (
    "Whatever an attacker knows, whether one {individual} was in the table changes the probability of any output by at "
    "most a factor of e^epsilon, up to delta. What is true of a group can still be learned, and budgets add up."
)
"""The guarantee, in the words that every report has. `individual`: whom it is about."""
INVENTED = " Rows are invented; none is a person, although one may equal a person's."


def sentence(individual: str, *, invented: bool = True) -> str:
    """The guarantee of what was drawn. `individual`: the column that says whom rows are about; `row` without one."""
    whom = "row" if individual == "row" else f"individual (by {individual})"
    return COVERED.format(individual=whom) + (INVENTED if invented else "")


def differential_block(block: Mapping[str, Any]) -> dict[str, Any]:
    """The report's block `differential`, of that of a manifest: what is said, whom it is about, and what was spent."""
    keys = ("individual", "rows_per_unit", "count")
    return {
        "said": sentence(block["individual"]),
        **{key: block[key] for key in keys},
        **block["differential"],
    }
