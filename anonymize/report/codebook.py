"""How the columns of a release read: the block `codebook`, from which recipients write their import.

It is a function of the spec and of the names of the released columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anonymize.domain.cells import BLANK
from anonymize.spec import Spec
from anonymize.spec.columns import WITHHELD

ENDS = {"_low": "lower bound", "_high": "upper bound", "_missing": "whether the value may be missing: no, maybe, yes"}
"""What the columns beside a bounded number hold, by the end of their names."""

NUMBERS = {"interval": "a number, or an interval", "mean": "mean of the class", "median": "median of the class"}
"""What the column of a number holds, by `output.numeric`."""


def codebook(
    spec: Spec, columns: Sequence[str], released: Mapping[str, Sequence[str]], *, labels: bool
) -> dict[str, Any]:
    """The released columns in order, with role and meaning, and how special cells read.

    `columns`: of the input, in order. `released`: the columns that each quasi-identifier became; itself where absent.
    `labels`: the algorithm shows nodes of hierarchies for numbers as well.
    """
    roles, output = spec.roles(), spec.output
    entries = []
    for name in columns:
        role = roles[name]
        if role in WITHHELD:
            continue
        for column in released.get(name, [name]):
            entries.append({"name": column, "role": role, "meaning": _meaning(spec, name, column, role, labels=labels)})
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


def _meaning(spec: Spec, name: str, column: str, role: str, *, labels: bool) -> str:
    """What a column holds, in a few words."""
    if role != "quasi-identifier":
        return "as in the original table"
    if column != name:
        return f"{name}: {ENDS.get(column.removeprefix(name), 'generalized')}"
    definition = spec.quasi_identifiers[name]
    if definition.type == "numeric" and not labels:
        return NUMBERS.get(spec.output.numeric, "generalized")
    sets = spec.output.categorical == "set" and not labels
    return "a set of values" if sets else "a value, or a label of its hierarchy"
