"""Recoding that treats all rows of a DataFrame alike, full-domain or single-dimensional: the engine counts
combinations, one machine searches, workers look up.

What a row reads follows from the codes of its quasi-identifiers, so that no row is moved before the last sort. Where
all classes are at the same levels, or show intervals of the same cuts, the codes are taken as the nodes of these
levels, or as these intervals, of which there are fewer combinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from anonymize.algorithms import ALGORITHMS, Context
from anonymize.classes import Codes, Ints
from anonymize.domain.numeric import Numeric
from anonymize.families.classes import must_drop
from anonymize.families.steps import suppression_limit
from anonymize.recoding import Levels, Recoding, Released, SingleDimensional, render
from anonymize.spark.codes import CodeBook
from anonymize.spark.columns import Columns, EngineColumns, ReleasedTexts, beside
from anonymize.spark.distinct import distinct_rows
from anonymize.spark.engine import DataFrame, read_otherwise
from anonymize.spark.learned import Learned
from anonymize.spark.outcome import EngineFrame, EngineOutcome, targets_of, with_targets
from anonymize.table import Attribute, Table

CLASS = "class"


@dataclass(frozen=True)
class FullDomain:
    """A search on counted combinations. `options`: the algorithm's own. `most`: combinations that the driver takes."""

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
        targets = targets_of(spec, self.algorithm, self.options)
        looked_at = [*(each.attribute for each in requirements), *targets]
        table = with_targets(distinct_rows(rows, learned, looked_at, self.most), targets)
        output = spec.output
        limit = suppression_limit(spec, learned.rows)
        context = Context(
            limit, suppressed=output.suppressed, published=output.suppressed_rows == "keep", output=output
        )
        recoding = ALGORITHMS[self.algorithm].run(table, requirements, self.options, context)
        assert isinstance(recoding, Levels | SingleDimensional)
        drop = must_drop(spec, table, recoding, requirements)
        released = render(recoding, table, output, drop=drop)
        book = ClassBook.of(table, recoding, released, learned.books)
        assert table.counts is not None
        left_out = int(table.counts[released.class_of < 0].sum())
        made = _made(rows, learned, book, known.layout, drops=left_out > 0)
        shared = _shared(recoding, table)
        return EngineOutcome(made, asdict(self.options), recoding.summary(), shared, left_out, recoding.labelled)


def _shared(recoding: Recoding, table: Table) -> list[tuple[int, int]] | None:
    """(level, height) of each quasi-identifier, where all classes are at the same levels."""
    if recoding.vector is None:
        return None
    return [(level, own.hierarchy.height) for level, own in zip(recoding.vector, table.attributes, strict=True)]


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
    def of(cls, table: Table, recoding: Recoding, released: Released, books: Sequence[CodeBook]) -> ClassBook:
        """That of what was found on a table of distinct rows."""
        count = len(table.attributes)
        nodes = [_nodes(recoding, own, place) for place, own in enumerate(table.attributes)]
        columns = [pl.Series(f"n{place}", nodes[place][own.codes]) for place, own in enumerate(table.attributes)]
        frame = pl.DataFrame([*columns, pl.Series(CLASS, released.class_of)]).unique()
        return cls(books[:count], nodes, frame, replace(released, class_of=np.zeros(0, np.int32)))

    def classes(self, keys: Sequence[Ints]) -> Ints:
        """(rows,) the class of each of some rows, by the keys (rows,) of the quasi-identifiers. Raises DataError for a
        combination that was not there when they were counted."""
        codes = [nodes[book.codes(own)] for nodes, book, own in zip(self.nodes, self.books, keys, strict=True)]
        names = [f"n{place}" for place in range(len(codes))]
        frame = pl.DataFrame([pl.Series(name, own) for name, own in zip(names, codes, strict=True)])
        classes = frame.join(self.frame, on=names, how="left", maintain_order="left")[CLASS]
        if classes.null_count():
            raise read_otherwise()
        return classes.to_numpy()


def _nodes(recoding: Recoding, attribute: Attribute, place: int) -> Codes:
    """(size,) what each code of an attribute is taken as, numbered from 0: the interval of its cut, or its node at the
    level of all classes; without either the code itself."""
    codes = np.arange(attribute.domain.size)
    if isinstance(recoding, SingleDimensional):
        cut = recoding.cuts[attribute.name]
        by_leaf = cut.labelled and isinstance(attribute.domain, Numeric)
        codes = cut.interval_of(attribute.generalization.leaf_of(codes) if by_leaf else codes)
    elif recoding.vector is not None:
        nodes = attribute.hierarchy.levels[recoding.vector[place], attribute.generalization.leaf_of(codes)]
        codes = np.unique(nodes, return_inverse=True)[1]
    return np.asarray(codes.astype(np.min_scalar_type(max(int(codes.max(initial=0)), 0))))


def _made(rows: DataFrame, learned: Learned, book: ClassBook, layout: EngineColumns, *, drops: bool) -> DataFrame:
    """The rows as they are released. `drops`: some are left out."""
    keyed = learned.keyed(rows, *(f"c{place}" for place in layout.passing))
    keys = [own.name for own in book.books]
    made = beside(keyed, keys, partial(_released, book, layout), {CLASS: "int", **layout.generalized})
    kept = made.filter(f"{CLASS} >= 0") if drops else made
    return kept.select(*(f"c{place}" for place in layout.released))


def _released(book: ClassBook, layout: EngineColumns, chunks: Iterable[Columns]) -> Iterator[pl.DataFrame]:
    """The class of the rows of a partition, and what their quasi-identifiers read as."""
    for keys in chunks:
        class_of = book.classes(keys)
        texts = ReleasedTexts.of_rows(len(class_of), layout)
        texts.put(book.released, layout, np.arange(len(class_of)), class_of)
        (frame,) = texts.frames(len(class_of))
        yield frame.with_columns(pl.Series(CLASS, class_of.astype(np.int32)))
