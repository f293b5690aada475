"""A release next to its original: its text read as regions, and what these have lost or give away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints, Partition, mixed_radix
from anonymize.domain.cells import numbers
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError
from anonymize.fidelity import BothSides, ColumnCells, ShownValues
from anonymize.link import released_row_of
from anonymize.metrics import View
from anonymize.metrics.evidence import Evidence, Shared
from anonymize.metrics.queries import Queries
from anonymize.reading import as_text, columns_of
from anonymize.reading.regions import TextRegions, distinct_texts, gapped_columns, read_regions
from anonymize.recoding.spans import Spans
from anonymize.records import dataclass
from anonymize.spec import Missing, Spec
from anonymize.spec.columns import WITHHELD
from anonymize.table import Attribute, Table, TargetColumn
from anonymize.table.columns import CodedColumn
from anonymize.table.encode import DistinctValues, Field, NumberColumn, TextColumn
from anonymize.table.named import unnamed

# --- regions of a release ---------------------------------------------------------------------------------------------
# A released table as equivalence classes, read from its text with the spec and the original's domains.
#
# Nothing of how the release was made is used. The release's private link tells which row of the original each of its
# rows is. Without one, its rows are those of the original, in the same order, only where the spec keeps the order,
# there are as many, and all that passes through is the same in every row. Rows of which this is known *correspond*.


@dataclass(frozen=True)
class RegionRows:
    """The rows of a release. `regions`: what the distinct texts of each quasi-identifier stand for, `text_of`
    (attributes, rows) which of them each row shows. `frame`: all columns as text, null where missing. `linked` (rows,):
    the row of the original that each row is, by the private link, if there is one."""

    spec: Spec
    table: Table
    frame: pl.DataFrame
    regions: tuple[TextRegions, ...]
    text_of: Ints
    linked: Ints | None = None

    @cached_property
    def partition(self) -> Partition:
        """Rows that read the same in every quasi-identifier."""
        return Partition.of_labels(mixed_radix([*self.text_of], [max(len(each.first), 1) for each in self.regions])[0])

    @cached_property
    def text_of_class(self) -> Ints:
        """(attributes, classes) which text each class shows."""
        return self.text_of[:, self.partition.order[self.partition.starts[:-1]]]

    @cached_property
    def suppressed(self) -> Bools:
        """(classes,) whether every quasi-identifier reads suppressed; none where all classes read so."""
        pairs = zip(self.regions, self.text_of_class, strict=True)
        hidden = np.asarray(np.all([column.suppressed[which] for column, which in pairs], axis=0))
        return np.zeros_like(hidden) if hidden.all() else hidden

    @property
    def suppressed_rows(self) -> int:
        """Rows that are published suppressed or left out."""
        published = int(self.partition.sizes[self.suppressed].sum())
        return published + self.table.rows - self.frame.height

    @cached_property
    def why_apart(self) -> str | None:
        """Why rows cannot be matched with the original's; None where they can."""
        if self.linked is not None:
            return None
        if self.spec.output.row_order != "keep":
            return "rows are not in the original's order, and there is no --link"
        if self.frame.height != self.table.rows:
            return f"the release has {self.frame.height:,} rows, the original {self.table.rows:,}"
        if self._others_differ():
            return "columns that pass through differ from the original's, row by row"
        return None

    @property
    def rows(self) -> Ints:
        """(rows,) the row of the original that each row is, where they correspond."""
        return np.arange(self.frame.height) if self.linked is None else self.linked

    def positions(self, rows: Ints) -> Ints:
        """The released ones of some rows of the original, in their order, where rows correspond."""
        position = released_row_of(self.rows, self.table.rows)
        return position[rows][position[rows] >= 0]

    def _others_differ(self) -> bool:
        roles, coding = self.spec.roles(), self.spec.weight_coding
        coded = None if coding is None else coding.column
        names = [
            name
            for name in self.table.columns
            if roles[name] not in {*WITHHELD, "quasi-identifier"} and name in self.frame.columns and name != coded
        ]
        start = 0
        for batch in self.table.source.batches(names) if names else ():
            batch_released = self.frame[start : start + batch.height]
            for name in names:
                here = unnamed(as_text(batch[name], self.spec, self.table.source.format))
                if not here.eq_missing(batch_released[name]).all():
                    return True
            start += batch.height
        return False

    @cached_property
    def summaries(self) -> list[int]:
        """The quasi-identifiers of which some class shows a mean or a median, which does not tell how much is lost."""
        pairs = enumerate(zip(self.regions, self.text_of_class, strict=True))
        return [index for index, (column, which) in pairs if column.summary[which].any()]

    def view(self, k: int) -> View:
        """What metrics see. Where cells show means, the widths are those of the original rows; nan, if these do not
        correspond."""
        keep = ~self.suppressed
        costs = [self._costs(index) for index in range(len(self.regions))]
        return View(
            attributes=self.table.attributes,
            ncp=[ncp[keep] for ncp, _ in costs],
            loss=[loss[keep] for _, loss in costs],
            sizes=self.partition.sizes[keep],
            suppressed_rows=self.suppressed_rows,
            k=k,
            levels=self.levels(),
            weights=self.table.weights,
            ncp_set=self._of_sets(costs, keep),
        )

    def _of_sets(self, costs: Sequence[tuple[Floats, Floats]], keep: Bools) -> list[Floats] | None:
        """The NCP of the cells that are kept, sets by their members; None of a release that is written without sets."""
        named = [column.named is not None and column.named.any() for column in self.regions]
        if self.spec.output.categorical != "set" and not any(named):
            return None
        of_texts = [each.of_sets(a.domain.size) for each, a in zip(self.regions, self.table.attributes, strict=True)]
        parts = zip(named, of_texts, self.text_of_class, costs, strict=True)
        return [(of_text[which] if sets else ncp)[keep] for sets, of_text, which, (ncp, _) in parts]

    def _costs(self, index: int) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of a cell of each class."""
        column, which = self.regions[index], self.text_of_class[index]
        ncp, loss = column.ncp[which], column.loss[which]
        if index not in self.summaries or self.why_apart is not None:
            return ncp, loss
        attribute = self.table.attributes[index]
        assert isinstance(attribute.domain, Numeric)
        codes = attribute.codes[self.rows]
        low, high = self.partition.boxes(codes)
        present = np.where(codes == attribute.domain.missing, 0, codes)
        width = Spans.of(attribute.domain, low, high, self.partition.boxes(present)[1]).costs()
        return np.where(np.isnan(ncp), width, ncp), np.where(np.isnan(loss), width, loss)

    def levels(self) -> list[tuple[int, int]] | None:
        """(level, height) of each quasi-identifier, where all its cells are nodes of one level and of no other."""
        of_attributes = []
        for column, which, attribute in zip(self.regions, self.text_of_class, self.table.attributes, strict=True):
            texts = np.unique(which[~self.suppressed])
            levels = column.levels[texts].copy()
            levels[column.suppressed[texts], -1] = True  # a suppressed cell is the root
            common = np.flatnonzero(levels.all(axis=0))
            if len(common) != 1 or not len(texts):
                return None
            of_attributes.append((int(common[0]), attribute.hierarchy.height))
        return of_attributes

    def evidence(self, queries: Queries | None = None) -> Evidence:
        """What measures see."""
        pairs = list(zip(self.regions, self.text_of_class, strict=True))
        gapped = gapped_columns(self.regions, self.text_of_class)
        return Evidence(
            table=self.table,
            first=np.stack([column.first[which] for column, which in pairs], axis=1),
            last=np.stack([column.last[which] for column, which in pairs], axis=1),
            start=np.stack([column.start[which] for column, which in pairs], axis=1),
            stop=np.stack([column.stop[which] for column, which in pairs], axis=1),
            sizes=self.partition.sizes,
            class_of=self.partition.class_of(self.frame.height).astype(np.int64),
            targets=self.targets(),
            shared=self.shared(),
            queries=queries,
            gapped=gapped,
        )

    def sides(self) -> BothSides:
        """What is compared of distributions, before and after: of the quasi-identifiers, and of what passes through."""
        one_of_each = self.frame[self.partition.order[self.partition.starts[:-1]]]  # a row of each class
        columns = columns_of(self.spec, self.frame.columns, "")

        def cells(attribute: Attribute) -> ColumnCells:
            low, high, _, of_class = distinct_texts(one_of_each, attribute.name, *columns[attribute.name])
            first, second = (pl.Series(texts, dtype=pl.String) for texts in (low, high))
            return ColumnCells.of_texts(attribute, first, second if high is not low else first, of_class, self.spec)

        class_of = self.partition.class_of(self.frame.height).astype(np.int32)
        return BothSides(self.table.as_read, self.spec, class_of, self.partition.count, cells, passing=self.passing)

    @cached_property
    def passing(self) -> list[ShownValues]:
        """The sensitive attributes and targets that pass through, as far as they are released."""
        return values_shown(self.table, self.shared())

    def shared(self) -> dict[str, Shared]:
        """What passes through and is sensitive or a target, see `coded_alike`."""
        return coded_alike(self.spec, self.table, self.frame)

    def targets(self) -> dict[str, CodedColumn]:
        """The targets of the released rows: as they pass through, of quasi-identifiers from the original rows."""
        columns: dict[str, CodedColumn] = {}
        for target in self.table.targets:
            if target.name in self.spec.quasi_identifiers:
                if self.why_apart is None:
                    columns[target.name] = replace(target, codes=target.codes[self.rows])
            elif target.name in self.frame.columns:
                columns[target.name] = coded(self.frame[target.name], numeric=target.numeric)
        return columns


def coded_alike(spec: Spec, table: Table, frame: pl.DataFrame) -> dict[str, Shared]:
    """The sensitive attributes and targets of a table and its release, coded alike in both, numbers by what they are.
    `frame`: the release as text, null where missing.

    Raises DataError for released cells that are not numbers where they should be.
    """
    roles = ("sensitive", "target")
    names = [name for name, role in spec.roles().items() if role in roles and name in frame.columns]
    parts = list(table.source.batches(names)) if names else []
    columns = {}
    for name in names:
        here = [as_text(part[name], spec, table.source.format) for part in parts]
        values = unnamed(_values(table, pl.concat([*here, frame[name]])))
        codes = _ranks(values).fill_null(0).to_numpy().astype(np.int64)
        codes -= codes.min()
        sides = codes[: table.rows], codes[table.rows :]
        columns[name] = Shared(*sides, int(codes.max()) + 1, missing=values.null_count() > 0)
    return columns


def values_shown(table: Table, shared: Mapping[str, Shared]) -> list[ShownValues]:
    """Columns that are coded alike, as they are compared before and after."""
    numeric = {each.name: each.numeric for each in (*table.targets, *table.sensitive)}
    columns = []
    for name, column in shared.items():
        # The code of missing values comes behind all others.
        both = column.original, column.released
        before, after = ((codes - 1) % column.size if column.missing else codes for codes in both)
        columns.append(ShownValues(name, before, after, column.size, numeric[name]))
    return columns


def _values(table: Table, texts: pl.Series) -> pl.Series:
    """Texts of a column that passes through; as numbers where it is numeric."""
    if not any(each.numeric and each.name == texts.name for each in (*table.sensitive, *table.targets)):
        return texts
    values = numbers(texts)
    wrong = values.null_count() - texts.null_count()
    if wrong:
        raise DataError(f"{texts.name}: {wrong} cells of the release are not numbers")
    return values


def _ranks(values: pl.Series) -> pl.Series:
    """Dense ranks, from 1; of texts, which are few in most columns, those of the distinct ones are looked up."""
    if values.dtype != pl.String:
        return values.rank("dense")
    texts = values.drop_nulls().unique().sort()
    return values.replace_strict(texts, pl.int_range(1, len(texts) + 1, eager=True), default=None)


def coded(column: pl.Series, *, numeric: bool) -> TargetColumn:
    """A column of texts as codes of its sorted distinct values. Raises DataError for texts that are not numbers."""
    field = Field(column.name, column.dtype, Missing((), normalize=False))
    encoder = NumberColumn(field, "value") if numeric else TextColumn(field, "value")
    encoder.add(column.to_frame().select(encoder.expressions))
    if isinstance(encoder, NumberColumn) and encoder.bad.count:
        raise DataError(f"numeric column {column.name!r}: {encoder.bad.count} values are not numbers")
    distinct = DistinctValues.of(encoder)
    size = len(distinct.values) + (distinct.missing is not None)
    if not numeric:
        return TargetColumn(column.name, distinct.codes, size, distinct.missing, None)
    values = np.asarray(distinct.values, np.float64)
    known = np.append(values, [] if distinct.missing is None else [np.nan])
    return TargetColumn(column.name, distinct.codes, size, distinct.missing, known)


def read_released(
    spec: Spec,
    table: Table,
    frame: pl.DataFrame,
    columns: Mapping[str, tuple[str, str]],
    linked: Ints | None = None,
    threads: int = 1,
) -> RegionRows:
    """The release of a table. `frame`: all of its columns as text, null where missing; `columns` as of `columns_of`;
    `linked` as of `RegionRows`; `threads`: as of `read_regions`.

    Raises DataError for more rows than the original has, and for cells that say nothing under the spec.
    """
    if frame.height > table.rows:
        raise DataError(f"the release has {frame.height:,} rows, the original {table.rows:,}")
    regions, text_of = read_regions(spec, table.attributes, frame, columns, threads)
    return RegionRows(spec, table, frame, regions, text_of, linked)
