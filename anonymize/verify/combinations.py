"""k-anonymity of combinations of quasi-identifiers: what every group of rows that read the same in some of them has.

Measured in the text of the table: the columns that show each of the named quasi-identifiers, or of every set of so many
of them, side by side. Missing and suppressed cells are values, as they are where all quasi-identifiers are compared;
rows about one individual count as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from anonymize.claims import Basis, Result, State
from anonymize.spec import Spec
from anonymize.verify.numbering import Numbering, pair, together
from anonymize.verify.table import TextTable, numbered, units_of
from anonymize.verify.verdict import COMBINATION, Verdict


def with_combinations(
    verdict: Verdict, table: TextTable, spec: Spec, columns_of: Mapping[str, Sequence[str]]
) -> Verdict:
    """The verdict with the combinations that the spec requires something of. `columns_of`: those of each
    quasi-identifier."""
    required = spec.privacy.combinations
    if not required:
        return verdict
    names = [name for columns in columns_of.values() for name in columns]
    numbers = dict(zip(names, (each.numbers for each in numbered(table, names)), strict=True))
    units = units_of(table, len(next(iter(numbers.values())).of_row))
    results = []
    for rule in required:
        sets = combinations(spec.quasi_identifiers, rule.size) if rule.size else [rule.columns or ()]
        groups = [_groups([numbers[each] for name in some for each in columns_of[name]], units) for some in sets]
        results.append(_result(groups, rule.name, rule.k))
    return replace(verdict, codes=(*verdict.codes, *results))


def _groups(columns: Sequence[Numbering], units: Numbering | None) -> list[int]:
    """How many individuals each group of rows has."""
    numbering = together(columns)
    if units is None:
        return numbering.runs()["len"].to_list()
    joined, span = pair(numbering, units)
    return (joined.runs()["value"] // span).rle().struct.field("len").to_list()


def _result(groups: Sequence[Sequence[int]], name: str, k: int) -> Result:
    """What the groups of all sets of columns come to."""
    least = min((size for sizes in groups for size in sizes), default=None)
    failing = [[size for size in sizes if size < k] for sizes in groups]
    rows, classes = max(map(sum, failing), default=0), sum(map(len, failing))
    return Result(COMBINATION, name, {"k": k}, {"k": least}, State.of(not classes), classes, rows, basis=Basis.MEASURED)
