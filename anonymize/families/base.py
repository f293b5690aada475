"""What a family of releases is: the protocol that its module follows, and the draft of a release that it makes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import polars as pl

from anonymize.algorithms.base import Found
from anonymize.meaning import Manifest
from anonymize.privacy import Requirement
from anonymize.publication import Files, ReleasePaths
from anonymize.report.data import Blocks
from anonymize.request import Request
from anonymize.risk import Text
from anonymize.spec import Spec
from anonymize.table import Table
from anonymize.table.scratch import Arrays
from anonymize.verify import Check, Verdict, checks_of, text_of
from anonymize.writing.rows import Written


@dataclass(frozen=True)
class Measured:
    """What was measured of a release from its files as they were written.

    `by_weights`: what sampling weights add to the block `risk` of the report; nothing where there are none. `texts`:
    the different texts of columns that show generalized values.
    """

    verdict: Verdict
    by_weights: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, pl.Series] = field(default_factory=dict)


@dataclass(frozen=True)
class Draft(ABC):
    """A release that has been made and not yet published: a table, and what the search returned for it."""

    request: Request
    requirements: tuple[Requirement, ...]
    table: Table
    written: Written = field(default_factory=Written, kw_only=True)
    """The rows of the input that have been written; complete after `write`."""

    @abstractmethod
    def manifest(self, files: Files) -> Manifest:
        """What the columns of the release mean, with the files as they are before they are published."""

    def table_text(self, files: Files) -> pl.LazyFrame:
        """The table as it was written, as text."""
        return text_of(files.table.part, files.table.format, files.table.separator)

    def checks(self) -> list[Check]:
        """What the release is checked for, with the hierarchies of sensitive attributes where a distance needs one."""
        checks = checks_of(self.request.spec, self.requirements)
        attributes = {check.attribute for check in checks if check.needs_tree}
        trees = {each.name: each.paths for each in self.table.sensitive if each.name in attributes}
        return [replace(check, tree=trees.get(check.attribute or "")) for check in checks]

    def held(self, arrays: Arrays) -> Draft:
        """The same, with what it has of each row where `arrays` are."""
        return self

    @abstractmethod
    def write(self, files: Files) -> None:
        """Writes the files of the release, and those that stay private."""

    @abstractmethod
    def measure(self, files: Files) -> Measured:
        """Measures the files of the release by code that shares nothing with the search.

        Raises UnsafeError for a release that is not what it claims to be, whatever its requirements are.
        """

    def text(self, files: Files) -> Text | None:
        """The rows as they are released, by which people may be recognized; None where they have no classes."""
        return None

    @abstractmethod
    def blocks(self, files: Files, measured: Measured) -> Blocks:
        """The blocks of the report that depend on the family."""


class Family(Protocol):
    """A module of this room."""

    def requirements(self, spec: Spec, /) -> tuple[Requirement, ...]:
        """What the release has to meet. Raises SpecError for a spec that the family can do nothing with."""

    def paths(self, request: Request, /) -> ReleasePaths:
        """Where the release goes. Raises UsageError for outputs that the family cannot make."""

    def draft(self, request: Request, requirements: tuple[Requirement, ...], table: Table, result: Found, /) -> Draft:
        """The release that follows from what the search returned."""
