"""Large hierarchy files in CSV whose lines are all alike, read column by column.

A file of a million leaves takes seconds so, where line by line takes half a minute. It has to be plain: no quotes, in
every line as many fields, none of them empty, no label that is not compared as it stands, and a hierarchy without a
fault. Whatever is not is left to the reader of lines, which knows how to say what is wrong.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from anonymize.domain.tree import Level, Tree
from anonymize.spec.missing import ODD, normalized

if TYPE_CHECKING:
    import polars as pl

LARGE = 1 << 20
"""Characters from which on a file is worth the import of polars."""


def read_plain(text: str, separator: str, *, normalize: bool = True, large: int = LARGE) -> Tree | None:
    """The tree of a hierarchy in CSV, the one that its lines make; None where the text has fewer than `large`
    characters, or is not plain."""
    if len(text) < large or any(part in text for part in ('"', "\r", "\n\n", "\0")) or text[:1] == "\n":
        return None
    frame = _frame(text, separator)
    if frame is None or frame.width < 2 or not _is_hierarchy(frame):
        return None
    if not all(_stands(column.unique(), normalize) for column in frame):
        return None
    leaves, *above = frame.get_columns()
    levels = [_level(column) for column in above]
    return Tree((Level(np.arange(frame.height, dtype=np.intp), leaves.to_list()), *levels))


def _frame(text: str, separator: str) -> pl.DataFrame | None:
    """The fields as they stand; None where lines differ in how many they have, or one is empty."""
    import polars as pl

    try:
        frame = pl.read_csv(text.encode(), has_header=False, separator=separator, quote_char=None, infer_schema=False)
    except pl.exceptions.PolarsError:
        return None
    lines = text.count("\n") + (not text.endswith("\n"))
    return None if frame.height != lines or any(frame.null_count().row(0)) else frame


def _is_hierarchy(frame: pl.DataFrame) -> bool:
    """Whether every leaf stands once, there is one root, and every label of a level has one parent."""
    names = frame.columns
    once = frame[names[0]].n_unique() == frame.height and frame[names[-1]].n_unique() == 1
    pairs = pairwise(names[1:])
    return once and all(frame[low].n_unique() == frame.select(low, high).n_unique() for low, high in pairs)


def _stands(labels: pl.Series, normalize: bool) -> bool:
    """Whether labels are compared as they stand, and none is blank."""
    odd = labels.filter(labels.str.contains(ODD)).to_list()
    return not any(not label.strip() or (normalize and normalized(label) != label) for label in odd)


def _level(column: pl.Series) -> Level:
    """The groups of equal labels, numbered in the order in which they first stand."""
    labels = column.unique(maintain_order=True)
    numbers = labels.alias("label").to_frame().with_row_index("group")
    group = column.alias("label").to_frame().join(numbers, on="label", how="left", maintain_order="left")["group"]
    return Level(group.to_numpy().astype(np.intp), labels.to_list())
