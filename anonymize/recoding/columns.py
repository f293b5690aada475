"""What a recoding is made of: the columns that are written of a release, with their distinct texts and which of them
each class shows; and the tree of cuts that gives the region in which any row lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.classes import Bools, Floats, Integers, Ints
from anonymize.domain.cells import escaped, members
from anonymize.records import dataclass

# --- trees of cuts ----------------------------------------------------------------------------------------------------
# A tree of cuts, which gives the region of a multidimensional recoding that any row lies in, seen or not.

PIECE = 1 << 17
"""Rows that go down the tree together."""


@dataclass(frozen=True)
class CutTree:
    """N cuts; the leaves of the tree are classes. Without a cut all rows belong to class 0.

    All arrays are (N,). `attribute`: which quasi-identifier is cut. Rows with `start` <= code < `stop` go to the
    `first` child, the others to the `second`: the number of a cut, which is higher than that of its parent, or -1 - c
    for class c. Cut 0 is the root; cuts are numbered level by level.
    """

    attribute: Ints
    start: Ints
    stop: Ints
    first: Ints
    second: Ints

    def classes_of(self, columns: Sequence[Integers] | Integers) -> Ints:
        """(rows,) class of each row, from the codes (rows,) of every quasi-identifier."""
        rows = len(columns[0])
        classes = np.zeros(rows, np.int64)
        if len(self.attribute):
            for start in range(0, rows, PIECE):
                piece = np.stack([codes[start : start + PIECE] for codes in columns])
                classes[start : start + PIECE] = self._piece(piece)
        return classes

    def _piece(self, codes: Integers) -> Ints:
        """(rows,) class of each of some rows, from their codes (attributes, rows).

        All rows go down one level of the tree in each round. Those that have reached a class, a number below 0, drop
        out, so that the work is the sum of the depths at which rows end.
        """
        place = np.zeros(codes.shape[1], np.int64)
        left = np.arange(codes.shape[1])
        while len(left):
            cut = place[left]
            code = codes[self.attribute[cut], left]
            inside: Bools = (code >= self.start[cut]) & (code < self.stop[cut])
            place[left] = into = np.where(inside, self.first[cut], self.second[cut])
            left = left[into >= 0]
        return -1 - place


# --- columns ----------------------------------------------------------------------------------------------------------

ClassTexts: TypeAlias = tuple[list[str] | pl.Series, Ints]
"""Distinct texts, and which of them each class shows (classes,)."""


@dataclass(frozen=True)
class RecodedColumn:
    """One released column: `texts`, the distinct texts in it, and `of_class` (classes,) which one each class shows, in
    few bytes."""

    name: str
    attribute: str
    texts: pl.Series
    of_class: Integers


@dataclass(frozen=True)
class Released:
    """A release before it is written.

    Classes of the recoding that read the same are one class here, as they are to whoever reads the release. `class_of`
    (rows,) int32: class of each row of the input, -1 for a row that is dropped. `columns`: one or two released columns
    for each quasi-identifier. `sizes` (classes,). `ncp`, `loss`: per quasi-identifier, (classes,) unweighted normalized
    certainty penalty and Iyengar's loss of a cell of the class (the mean over its rows).

    Rows that are published suppressed, and classes that read the same as they do, form one more class, numbered
    `len(sizes)`; `suppressed_rows` counts them and the dropped ones, `dropped_rows` the latter. Where all rows that are
    published read so, everything is generalized and none of them is suppressed: they are the one class. `left_out`:
    rows that are in no class and were not given up either; they are not in the release.
    """

    class_of: NDArray[np.int32]
    columns: tuple[RecodedColumn, ...]
    sizes: Ints
    ncp: tuple[Floats, ...]
    loss: tuple[Floats, ...]
    suppressed_rows: int
    dropped_rows: int
    left_out: int = 0

    def written_as(self, labels: Mapping[str, Mapping[str, str]]) -> Released:
        """What is released with other texts for labels, by quasi-identifier; members of sets are labels, too."""
        columns = (
            replace(each, texts=_written(each.texts, labels[each.attribute])) if each.attribute in labels else each
            for each in self.columns
        )
        return replace(self, columns=tuple(columns))

    def columns_of(self, attribute: str) -> list[RecodedColumn]:
        """The released columns that a quasi-identifier became."""
        return [column for column in self.columns if column.attribute == attribute]


def _written(texts: pl.Series, labels: Mapping[str, str]) -> pl.Series:
    """Distinct texts with other ones for labels."""
    in_sets = {escaped(label): escaped(written) for label, written in labels.items()}

    def relabelled(text: str) -> str:
        if text in labels:
            return labels[text]
        if not (text.startswith("{") and text.endswith("}")):
            return in_sets.get(text, text)
        return "{" + "|".join(in_sets.get(each, each) for each in map(escaped, members(text))) + "}"

    return pl.Series(texts.name, [relabelled(text) for text in texts], dtype=pl.String)


def released_columns(
    attribute: str, contents: list[ClassTexts], suffixes: list[str], suppressed: str
) -> list[RecodedColumn]:
    """The columns, with the class of suppressed rows added after the others, and every text once."""
    columns = []
    for (texts, of_class), suffix in zip(contents, suffixes, strict=True):
        cells = pl.Series("text", texts, dtype=pl.String).append(pl.Series([suppressed], dtype=pl.String))
        distinct, of_class = cells.unique(maintain_order=True), np.append(of_class, len(texts))
        if len(distinct) < len(cells):
            numbers = distinct.to_frame().with_row_index("number")
            of_text = cells.to_frame().join(numbers, on="text", how="left", maintain_order="left")["number"]
            of_class = of_text.to_numpy().astype(np.int64)[of_class]
        narrow = of_class.astype(np.min_scalar_type(len(distinct)))
        columns.append(RecodedColumn(attribute + suffix, attribute, distinct.alias(""), narrow))
    return columns
