"""From what an algorithm found to a saved recoding: what differs between kinds, and the refusal to save one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np

from anonymize import __version__
from anonymize.classes import Bools, Ints
from anonymize.errors import Problem, UsageError
from anonymize.recoding.columns import Released
from anonymize.recoding.saved import (
    Attribute,
    Box,
    Indices,
    OutputBlock,
    Saved,
    SavedColumn,
    SavedTree,
    TableBlock,
)
from anonymize.records import dataclass
from anonymize.spec import POINT, Spec
from anonymize.spec.columns import WITHHELD
from anonymize.table import Table


@dataclass(frozen=True)
class Contents:
    """The keys of `Saved` that depend on the kind of recoding."""

    kind: Literal["regions", "segments"]
    attributes: tuple[Attribute, ...]
    columns: tuple[SavedColumn, ...]
    boxes: dict[str, Box]
    tree: SavedTree | None = None
    classes: tuple[Indices, ...] = ()
    suppressed: tuple[Indices, ...] = ()


def refusal(reason: str) -> UsageError:
    """The error for a recoding that cannot be saved."""
    return UsageError(Problem(f"the recoding cannot be saved: {reason}", hint="leave out --save-recoding"))


def saved_columns(released: Released, class_of: Callable[[str], Ints]) -> tuple[SavedColumn, ...]:
    """The released columns; `class_of` an attribute gives the class of the release that each entry reads as, or -1."""
    columns = []
    for column in released.columns:
        classes = class_of(column.attribute)
        none: Bools = classes < 0
        texts = np.where(none, -1, column.of_class[classes].astype(np.int64))
        columns.append(
            SavedColumn(
                name=column.name,
                attribute=column.attribute,
                texts=tuple(column.texts.to_list()),
                shown=tuple(texts.tolist()),
            )
        )
    return tuple(columns)


# --- saving -----------------------------------------------------------------------------------------------------------


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
        unnamed=table.unnamed,
        numbers={name: each.settings for name, each in notations.items() if each != POINT},
    )
