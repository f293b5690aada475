"""What a report says of a table that was drawn under differential privacy, before anything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COVERED = (
    "Whatever anyone knows, whether one {individual} was in the table changes the chance of any output by at most a "
    "factor e^epsilon, but for delta. It says nothing about what is true of groups, and it adds up."
)
"""The guarantee, in the words that every report has. `individual`: whom it is about."""
INVENTED = " Rows are invented; none is a person, one may equal a person's."


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
