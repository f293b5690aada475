"""What differs from one kind of recoding to another in a saved recoding, and the refusal to save one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from anonymize.classes import Bools, Ints
from anonymize.errors import Problem, UsageError
from anonymize.recoding.columns import Released
from anonymize.recoding.saved.model import Attribute, Box, Indices, SavedColumn, SavedTree


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
