"""What is published: all that a public report is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from anonymize import verify
from anonymize.algorithms import ALGORITHMS
from anonymize.meaning import Manifest
from anonymize.spec import Spec
from anonymize.verify.table import with_suppressed

KINDS = {
    "full-domain": "levels",
    "full-domain and cell suppression": "levels",
    "single-dimensional": "single-dimensional",
    "multidimensional": "regions",
    "local": "regions",
}
"""What the recoding of each family of algorithms is."""
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
    def exact(self) -> frozenset[str]:
        """The released columns whose texts are compared as they stand."""
        return frozenset(each for name in self.spec.exact for each in self.columns_of.get(name, [name]))

    @property
    def table(self) -> PublishedFile:
        """The table with the rows."""
        return self.files[0]

    @property
    def family(self) -> str:
        """The algorithm's recoding model; empty where that is not known."""
        return "" if self.algorithm is None else ALGORITHMS[self.algorithm].NEEDS.family

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
