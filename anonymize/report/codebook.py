"""How the columns of a release read: the block `codebook`, from which recipients write their import.

It is a function of the spec, of the names of the released columns, and of what the algorithm does to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from anonymize.domain.cells import BLANK
from anonymize.spec import Spec
from anonymize.spec.columns import WITHHELD

ENDS = {"_low": "lower bound", "_high": "upper bound", "_missing": "whether the value may be missing: no, maybe, yes"}
"""What the columns beside a bounded number hold, by the end of their names."""

NUMBERS = {"interval": "a number, or an interval", "mean": "mean of the class", "median": "median of the class"}
"""What the column of a number holds, by `output.numeric`."""
ORIGINAL = "as in the original table"

ColumnMeanings: TypeAlias = Mapping[str, Mapping[str, str]]
"""By a column of the input, those that it became, with what each holds. Any other column is released as it is."""


def codebook(spec: Spec, columns: Sequence[str], meanings: ColumnMeanings, group: str | None = None) -> dict[str, Any]:
    """The released columns in order, with role and meaning, and how special cells read.

    `columns`: of the input, in order. `group`: the column of the group that each row is in.
    """
    roles, output = spec.roles(), spec.output
    entries = [
        {"name": column, "role": roles[name], "meaning": meaning}
        for name in columns
        if roles[name] not in WITHHELD
        for column, meaning in meanings.get(name, {name: ORIGINAL}).items()
    ]
    if group is not None:
        entries.append({"name": group, "role": "group", "meaning": "the number of the row's group"})
    if output.pseudonym is not None:
        meaning = "the same for one person in all releases of the series, under one key"
        entries.append({"name": output.pseudonym, "role": "pseudonym", "meaning": meaning})
    return {
        "columns": entries,
        "missing": spec.input.missing_text,
        "suppressed": output.suppressed,
        "interval": output.interval,
        "open_high": output.open_high,
        "open_low": output.open_low,
        "or_missing": f"{output.interval} or {spec.input.missing_text or BLANK}",
    }


def generalized(spec: Spec, released: Mapping[str, Sequence[str]], *, labels: bool) -> ColumnMeanings:
    """The quasi-identifiers of a release with equivalence classes.

    `released`: the columns that each became; itself where absent. `labels`: numbers, too, are shown as nodes of their
    hierarchies.
    """
    return {
        name: {column: _meaning(spec, name, column, labels=labels) for column in released.get(name, [name])}
        for name in spec.quasi_identifiers
    }


def _meaning(spec: Spec, name: str, column: str, *, labels: bool) -> str:
    """What a column of a quasi-identifier holds, in a few words."""
    if column != name:
        return f"{name}: {ENDS.get(column.removeprefix(name), 'generalized')}"
    definition = spec.quasi_identifiers[name]
    if definition.type == "numeric" and not labels:
        return NUMBERS.get(spec.output.numeric, "generalized")
    sets = spec.output.categorical == "set" and not labels
    return "a set of values" if sets else "a value, or a label of its hierarchy"
