"""Randomized response of a DataFrame: the driver chooses p from counts, workers draw.

What is drawn is drawn once: it is written before anything else looks at it, since a worker that is lost and replaced
would draw anew. Beside the distorted columns stand the original categories, `o0`, `o1`, ..., so that the distortion can
be counted in what was written; they are not part of what is returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anonymize.algorithms.randomize import Options, planned, unknown_values
from anonymize.classes import Codes
from anonymize.privacy import Requirement
from anonymize.randomization.draw import distorted, system_bits
from anonymize.randomized import Distorted, Randomized
from anonymize.spark.codes import CodeBook
from anonymize.spark.distinct import distinct_rows
from anonymize.spark.engine import DataFrame, chunks, struct
from anonymize.spark.learned import Learned
from anonymize.table import Attribute

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class DrawnColumn:
    """A column as workers draw it. `place`: of the column; `book`: the codes of its values; `of_code` (size,): the
    category of each; `texts`: how categories read; None where the column is left alone, which passes through."""

    place: str
    book: CodeBook
    of_code: Codes
    p: float
    texts: pl.Series | None

    @classmethod
    def of(cls, column: Distorted, book: CodeBook) -> DrawnColumn:
        """How a column is drawn, by the p that was chosen for it."""
        of_code = np.maximum(column.categories.of_code, 0).astype(np.min_scalar_type(max(column.size - 1, 0)))
        if column.released is None:
            return cls(book.column, book, of_code, 1.0, None)
        texts = pl.Series([text or None for text in column.categories.texts], dtype=pl.String)
        return cls(book.column, book, of_code, column.p, texts)

    def drawn(self, original: Codes) -> pl.Series | None:
        """What rows of these categories show; None: what they showed."""
        if self.texts is None:
            return None
        return self.texts.gather(distorted(original, self.p, len(self.texts), system_bits))


def chosen(
    rows: DataFrame, learned: Learned, requirements: tuple[Requirement, ...], options: Options, most: int
) -> Randomized:
    """The columns and their p. `released` of a column that is distorted has no rows: they are drawn by workers.

    Raises what `planned` raises, and DataError for more than `most` combinations of categories.
    """
    table = distinct_rows(rows, learned, [each.name for each in learned.sensitive], most, _taken_as(learned.attributes))
    columns, p = planned(table, requirements, options)
    none: Codes = np.zeros(0, np.uint8)
    released = tuple(
        replace(each, released=None if p[each.name] == 1 and not each.generalized else none, p=p[each.name])
        for each in columns
    )
    warnings = tuple(unknown_values(columns, requirements))
    return Randomized(options.on, released, False, bool(options.p.strip(" ,")), warnings)


def _taken_as(attributes: Sequence[Attribute]) -> dict[int, Codes]:
    """By their places, the quasi-identifiers that are distorted by category, and (size,) the first code of the category
    of each of their codes: what is counted is then the categories."""
    taken = {}
    for place, attribute in enumerate(attributes):
        if attribute.categorize is not None:
            _, first, category = np.unique(attribute.categories.of_code, return_index=True, return_inverse=True)
            taken[place] = first[category].astype(attribute.codes.dtype)
    return taken


def drawn_rows(df: DataFrame, columns: Sequence[DrawnColumn], released: Sequence[str]) -> DataFrame:
    """The distorted rows, and the original categories. `df`: its columns by their places; `released`: the places of
    those that are released."""
    fields = {field.name: field for field in df.schema.fields}
    changed = {column.place for column in columns if column.texts is not None}
    shape = struct({})
    for place in released:
        shape = shape.add(place, "string") if place in changed else shape.add(fields[place])
    for number in range(len(columns)):
        shape = shape.add(f"o{number}", "integer")
    keys = dict.fromkeys(column.book.expression for column in columns)
    return df.selectExpr(*released, *keys).mapInArrow(partial(_draw, tuple(columns), tuple(released)), shape)


def _draw(
    columns: Sequence[DrawnColumn], released: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition."""
    import pyarrow as pa

    for rows in chunks(batches):
        made = {place: rows[place] for place in released}
        originals = {}
        for number, column in enumerate(columns):
            original = column.of_code[column.book.codes(rows[column.book.name].to_numpy())]
            originals[f"o{number}"] = pa.array(original.astype(np.int32))
            texts = column.drawn(original)
            if texts is not None:
                made[column.place] = texts.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.string())
        yield from pa.table(made | originals).to_batches()
