"""k-anonymity of combinations of quasi-identifiers: what every group of rows that read the same in some of them has.

Measured in the text of the table: the columns that show each of the named quasi-identifiers, or of every set of so many
of them, side by side. Missing and suppressed cells are values, as they are where all quasi-identifiers are compared;
rows about one individual count as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from anonymize.claims import Basis, Result, State
from anonymize.spec import Spec
from anonymize.verify.numbering import Numbering, pair, together
from anonymize.verify.table import TextTable, numbered, units_of
from anonymize.verify.verdict import COMBINATION, Verdict


@dataclass(frozen=True)
class GroupFigures:
    """What groups of rows that read the same come to: the individuals of the smallest one, None without rows; and how
    many groups have fewer than are required, and how many individuals these have together."""

    least: int | None
    groups: int
    individuals: int


Sizes = Callable[[Sequence[str], int], GroupFigures]
"""The figures of the groups by some columns, of which each needs so many individuals."""


def with_combinations(verdict: Verdict, spec: Spec, columns_of: Mapping[str, Sequence[str]], sizes: Sizes) -> Verdict:
    """The verdict with the combinations that the spec requires something of. `columns_of`: those of each
    quasi-identifier."""
    results = []
    for rule in spec.privacy.combinations:
        sets = combinations(spec.quasi_identifiers, rule.size) if rule.size else [rule.columns or ()]
        figures = [sizes([column for name in some for column in columns_of[name]], rule.k) for some in sets]
        results.append(_result(figures, rule.name, rule.k))
    return replace(verdict, codes=(*verdict.codes, *results))


def sizes_in(table: TextTable, columns: Sequence[str]) -> Sizes:
    """How groups of a table are counted by some of its columns, each of which is read once."""
    numbers = dict(zip(columns, (each.numbers for each in numbered(table, columns)), strict=True))
    units = units_of(table, len(next(iter(numbers.values())).of_row))

    def sizes(some: Sequence[str], k: int) -> GroupFigures:
        groups = _groups([numbers[each] for each in some], units)
        failing = [size for size in groups if size < k]
        return GroupFigures(min(groups, default=None), len(failing), sum(failing))

    return sizes


def _groups(columns: Sequence[Numbering], units: Numbering | None) -> list[int]:
    """How many individuals each group of rows has."""
    numbering = together(columns)
    if units is None:
        return numbering.runs()["len"].to_list()
    joined, span = pair(numbering, units)
    return (joined.runs()["value"] // span).rle().struct.field("len").to_list()


def _result(figures: Sequence[GroupFigures], name: str, k: int) -> Result:
    """What the groups of all sets of columns come to."""
    least = min((each.least for each in figures if each.least is not None), default=None)
    rows, classes = max((each.individuals for each in figures), default=0), sum(each.groups for each in figures)
    return Result(COMBINATION, name, {"k": k}, {"k": least}, State.of(not classes), classes, rows, basis=Basis.MEASURED)
