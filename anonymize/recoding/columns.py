"""A released column: the distinct texts in it, and which of them each class shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from anonymize.classes import Ints

Shown: TypeAlias = tuple[list[str], Ints]
"""The distinct texts of a released column, and which of them each class shows (classes,)."""


@dataclass(frozen=True)
class ReleasedColumn:
    """One released column: `texts`, the distinct texts in it, and `of_class` (classes,) which one each class shows."""

    name: str
    attribute: str
    texts: list[str]
    of_class: Ints


def named(attribute: str, shown: list[Shown], suffixes: list[str], suppressed: str) -> list[ReleasedColumn]:
    """The columns, with the class of suppressed rows added after the others, and every text once."""
    columns = []
    for (texts, of_class), suffix in zip(shown, suffixes, strict=True):
        texts, of_class = [*texts, suppressed], np.append(of_class, len(texts))
        distinct = list(dict.fromkeys(texts))
        if len(distinct) < len(texts):
            number = {text: index for index, text in enumerate(distinct)}
            of_class = np.array([number[text] for text in texts])[of_class]
        columns.append(ReleasedColumn(attribute + suffix, attribute, distinct, of_class))
    return columns
