"""Full-domain generalization of a DataFrame: the engine counts combinations, one machine searches, workers look up.

What a row reads follows from the codes of its quasi-identifiers, so that no row is moved before the last sort. Where
all classes are at the same levels, the codes are taken as the nodes of these levels, of which there are fewer
combinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from anonymize.algorithms import ALGORITHMS, Context
from anonymize.classes import Codes, Ints
from anonymize.families.classes import must_drop
from anonymize.families.steps import suppression_limit
from anonymize.recoding import Levels, Released, render
from anonymize.spark.distinct import distinct_rows
from anonymize.spark.engine import DataFrame, chunks, read_otherwise
from anonymize.spark.growing import EngineColumns, as_released, released_schema
from anonymize.spark.learned import CodeBook
from anonymize.spark.outcome import EngineFrame, EngineOutcome
from anonymize.table import Attribute, Table

if TYPE_CHECKING:
    import pyarrow as pa

CLASS = "class"


@dataclass(frozen=True)
class FullDomain:
    """A full-domain search. `options`: the algorithm's own. `most`: combinations that the driver takes."""

    drops: ClassVar[bool] = True
    seed: ClassVar[None] = None
    algorithm: str
    options: Any
    most: int

    def check(self) -> None:
        """See `EngineSearch`."""

    def outcome(self, rows: DataFrame, known: EngineFrame) -> EngineOutcome:
        """What it finds. Raises InfeasibleError where no node is safe, and as `distinct_rows` does."""
        spec, learned, requirements = known.spec, known.learned, known.requirements
        table = distinct_rows(rows, learned, [each.attribute for each in requirements], self.most)
        output = spec.output
        limit = suppression_limit(spec, learned.rows)
        context = Context(
            limit, suppressed=output.suppressed, published=output.suppressed_rows == "keep", output=output
        )
        levels = ALGORITHMS[self.algorithm].run(table, requirements, self.options, context)
        assert isinstance(levels, Levels)
        drop = must_drop(spec, table, levels, requirements)
        book = ClassBook.of(table, levels, render(levels, table, output, drop=drop), learned.books)
        schema = released_schema(rows, known.layout)
        made = rows.mapInArrow(partial(_released, book, known.layout), schema)
        return EngineOutcome(made, asdict(self.options), levels.summary(), _shared(levels, table))


def _shared(levels: Levels, table: Table) -> list[tuple[int, int]] | None:
    """(level, height) of each quasi-identifier, where all classes are at the same levels."""
    if levels.vector is None:
        return None
    return [(level, own.hierarchy.height) for level, own in zip(levels.vector, table.attributes, strict=True)]


@dataclass(frozen=True)
class ClassBook:
    """The class of each combination of values, and how it reads.

    `books`: the codes of each quasi-identifier. `nodes`: of each (size,), what its codes are taken as. `frame`: these
    combinations, `n0`, `n1`, ..., and the `CLASS` of each; -1: its rows are left out.
    """

    books: Sequence[CodeBook]
    nodes: Sequence[Codes]
    frame: pl.DataFrame
    released: Released

    @classmethod
    def of(cls, table: Table, levels: Levels, released: Released, books: Sequence[CodeBook]) -> ClassBook:
        """That of what was found on a table of distinct rows."""
        vector = levels.vector
        count = len(table.attributes)
        nodes = [_nodes(own, None if vector is None else vector[place]) for place, own in enumerate(table.attributes)]
        columns = [pl.Series(f"n{place}", nodes[place][own.codes]) for place, own in enumerate(table.attributes)]
        frame = pl.DataFrame([*columns, pl.Series(CLASS, released.class_of)]).unique()
        return cls(books[:count], nodes, frame, replace(released, class_of=np.zeros(0, np.int32)))

    def classes(self, rows: pl.DataFrame) -> Ints:
        """(rows,) the class of each of some rows. Raises DataError for a combination that was not there when they were
        counted."""
        codes = [nodes[book.codes(rows)] for nodes, book in zip(self.nodes, self.books, strict=True)]
        names = [f"n{place}" for place in range(len(codes))]
        frame = pl.DataFrame([pl.Series(name, own) for name, own in zip(names, codes, strict=True)])
        classes = frame.join(self.frame, on=names, how="left", maintain_order="left")[CLASS]
        if classes.null_count():
            raise read_otherwise()
        return classes.to_numpy()


def _nodes(attribute: Attribute, level: int | None) -> Codes:
    """(size,) the node of each code at a level, numbered from 0; without one the code itself."""
    codes = np.arange(attribute.domain.size)
    if level is not None:
        nodes = attribute.hierarchy.levels[level, attribute.generalization.leaf_of(codes)]
        codes = np.unique(nodes, return_inverse=True)[1]
    return np.asarray(codes.astype(np.min_scalar_type(max(int(codes.max(initial=0)), 0))))


def _released(book: ClassBook, layout: EngineColumns, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a partition as they are released."""
    for rows in chunks(batches):
        class_of = book.classes(pl.DataFrame(rows))
        kept = class_of >= 0
        if not kept.all():
            rows, class_of = rows.filter(kept), class_of[kept]
        yield from as_released(book.released, layout, class_of, rows).to_batches()
