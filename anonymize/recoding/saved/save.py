"""From what an algorithm found to a saved recoding."""

from __future__ import annotations

from typing import Protocol

from anonymize import __version__
from anonymize.recoding.columns import Released
from anonymize.recoding.saved.contents import Contents
from anonymize.recoding.saved.model import OutputBlock, Saved, TableBlock
from anonymize.spec import POINT, Spec
from anonymize.spec.columns import WITHHELD
from anonymize.table import Table


class Savable(Protocol):
    """A recoding that knows what is saved of it."""

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """What depends on its kind. Raises UsageError where it cannot be saved."""


def save(recoding: Savable, table: Table, released: Released, spec: Spec, algorithm: str, *, drop: bool) -> Saved:
    """The recoding of a release as a function of the values of its quasi-identifiers.

    `released` is what it was rendered as, `drop` what `render` was given. The rows of the table, recoded with what is
    saved, show the same texts as in the release. Raises UsageError where no function of the values does that.
    """
    contents = recoding.contents(table, released, spec)
    return Saved(
        tool=__version__,
        algorithm=algorithm,
        table=_table(spec),
        output=OutputBlock(
            suppressed=spec.output.suppressed,
            suppressed_rows="drop" if drop else "keep",
            row_order=spec.output.row_order,
            numeric=spec.output.numeric,
            interval=spec.output.interval,
            open_high=spec.output.open_high,
            open_low=spec.output.open_low,
        ),
        **vars(contents),
    )


def _table(spec: Spec) -> TableBlock:
    roles = spec.roles()
    others = [name for name, role in roles.items() if role != "quasi-identifier" and role not in WITHHELD]
    table, notations = spec.input, {name: spec.notation(name) for name in spec.quasi_identifiers}
    return TableBlock(
        separator=table.separator,
        missing=table.missing,
        encoding=table.encoding,
        identifiers=tuple(name for name, role in roles.items() if role in WITHHELD),
        others=tuple(others),
        normalize=table.normalize,
        header=table.header,
        numbers={name: each.settings for name, each in notations.items() if each != POINT},
    )
