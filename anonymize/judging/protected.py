"""Whether a table has the sensitive values that its requirements protect."""

from __future__ import annotations

from collections.abc import Iterable

from anonymize.errors import DataError, Problem
from anonymize.privacy import Requirement
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
