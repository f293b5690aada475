"""The answer to one question: do these rows, in these classes, meet the requirements?

A `Judge` knows the table, the requirements and the rows that are to be released. It alone builds classes from rows, and
so it alone counts the individuals that rows are about, their sensitive values, and the people of a population who look
like them. Searches that work on distinct rows take a `Tally` from it once and ask the tally.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Integers, Ints, Runs, first_of_each
from anonymize.errors import DataError, Problem
from anonymize.judging.tally import Tally, crowds_around
from anonymize.privacy import Groups, Histogram, Members, Requirement, Whole, check, granted
from anonymize.privacy.protected import Names, absent, values_of
from anonymize.table import SensitiveColumn, Table

HINT = "a value that is protected and misspelt would not be protected: write it as the table does, or leave it out"


def check_protected(table: Table, requirements: Iterable[Requirement]) -> None:
    """Raises DataError for protected values that their column does not have; they are named, as the spec names them."""
    columns = {column.name: column for column in table.sensitive}
    lacking: dict[tuple[str, str], None] = {}
    for requirement in requirements:
        column, values = columns.get(requirement.attribute or ""), values_of(requirement.parameters)
        if column is not None and values is not None:
            lacking |= dict.fromkeys((column.name, value) for value in absent(occurring(column), values))
    refuse_absent(lacking)


def refuse_absent(lacking: Iterable[tuple[str, str]]) -> None:
    """Raises DataError for values, each with its sensitive attribute, if there are any."""
    messages = [f"{name}: the protected value {value!r} does not occur in it" for name, value in lacking]
    if messages:
        raise DataError([Problem(message, hint=HINT) for message in messages])


def occurring(column: SensitiveColumn) -> Names:
    """The values of a column, but the missing one, as they are compared with those of a spec."""
    present = [code for code in range(column.size) if code != column.missing]
    return column.values[present] if column.values is not None else [column.texts[code] for code in present]


# --- the judge --------------------------------------------------------------------------------------------------------


class Extract(Protocol):
    """Some rows of a table (n,), with their codes laid out in the same order."""

    @property
    def rows(self) -> Integers | slice:
        """Their numbers in the table."""

    @property
    def columns(self) -> Sequence[Codes]:
        """(n,) codes of each quasi-identifier."""

    @property
    def sensitive(self) -> Sequence[Codes]:
        """(n,) codes of each sensitive attribute that the judge looks at."""


@dataclass(frozen=True)
class Picked:
    """An `Extract` whose codes are read from the table when they are needed."""

    judge: Judge
    rows: Integers | slice

    @property
    def columns(self) -> list[Codes]:
        """See `Extract`."""
        return [attribute.codes[self.rows] for attribute in self.judge.table.attributes]

    @property
    def sensitive(self) -> list[Codes]:
        """See `Extract`."""
        return [column.codes[self.rows] for column in self.judge.columns]


@dataclass(frozen=True)
class Judge:
    """What the requirements say of classes of a table's rows.

    `rows`: those that are released together, with which the classes are compared; None for all rows of the table.
    """

    table: Table
    requirements: Sequence[Requirement]
    rows: NDArray[np.uint32] | None = None

    @cached_property
    def columns(self) -> tuple[SensitiveColumn, ...]:
        """The sensitive attributes that requirements are about."""
        names = {requirement.attribute for requirement in self.requirements}
        return tuple(column for column in self.table.sensitive if column.name in names)

    @cached_property
    def wholes(self) -> dict[str, Whole]:
        """The sensitive attributes in all rows that are released."""
        table = self.table
        return {column.name: Whole.of(column, self.rows, table.units, table.counts) for column in self.columns}

    @property
    def everyone(self) -> Picked:
        """The rows that are released."""
        return self.pick(slice(None) if self.rows is None else self.rows)

    def pick(self, rows: Integers | slice) -> Picked:
        """Some rows of the table."""
        return Picked(self, rows)

    def meets(self, labels: Integers, count: int, among: Extract | None = None) -> Bools:
        """(count,) whether each class meets every requirement, given the class (n,) of each row.

        `among`: the rows; by default those that are released.
        """
        return check(self.groups(labels, count, among), self.requirements)

    def grants(self, labels: Integers, count: int) -> Bools:
        """As `meets`, of the rows that are released; but no class fails what the table as a whole meets."""
        return granted(self.groups(labels, count), self.requirements)

    def groups(self, labels: Integers, count: int, among: Extract | None = None) -> Groups:
        """The same classes as the privacy models see them."""
        extract = among or self.everyone
        groups = self._counted(labels, count, extract)
        if not self.table.populations:
            return groups
        return replace(groups, crowds=crowds_around(self.table.populations, extract.columns, labels, count))

    def one_class(self) -> Groups:
        """All rows that are released as one class that shows nothing: everybody of a population is under it."""
        rows = self.table.rows if self.rows is None else len(self.rows)
        return self._counted(np.zeros(rows, np.int64), 1, self.everyone).as_root(self.table.people)

    def _counted(self, labels: Integers, count: int, extract: Extract) -> Groups:
        """The classes without populations."""
        individuals = None if self.table.units is None else self.table.units[extract.rows]
        counts = self._counts(extract)
        histograms = {}
        for column, codes in zip(self.columns, extract.sensitive, strict=True):
            some = slice(None) if individuals is None else first_of_each(labels, codes, individuals)
            runs = Runs.count_values(labels[some], codes[some], count, column.size, counts)
            histograms[column.name] = Histogram.of(column, runs, count, self.wholes[column.name])
        return Groups(_sizes(labels, count, individuals, counts), histograms)

    def _counts(self, extract: Extract) -> Ints | None:
        """(n,) how many rows each of some rows stands for; None: itself alone."""
        return None if self.table.counts is None else self.table.counts[extract.rows]

    def tally(self, labels: Integers, count: int) -> Tally:
        """What is in each of `count` cells, given the cell (n,) of each row that is released."""
        if self.table.units is not None:
            members = Members.of_rows(self.columns, labels, count, self.table.units, self.rows)
            return Tally(self.requirements, np.bincount(labels, minlength=count), {}, members)
        cells = self._counted(labels, count, self.everyone)
        return Tally(self.requirements, cells.sizes, cells.histograms)


def _sizes(labels: Integers, count: int, individuals: Integers | None, counts: Integers | None) -> NDArray[np.int64]:
    """(count,) members of each class, given the class (n,) of each row, and the individual (n,) it is about or how many
    rows (n,) it stands for."""
    counted = labels if individuals is None else labels[first_of_each(labels, individuals)]
    return np.bincount(counted, counts, minlength=count).astype(np.int64, copy=False)
