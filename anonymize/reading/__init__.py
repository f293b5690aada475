"""What the cells of a release say, the one reader of released text outside the second opinion, which has its own: a
file becomes columns of text, and a label the leaves under it. The distinct texts of a quasi-identifier become
regions of its domain in `regions`. How a cell is taken apart, `anonymize.domain.cells` says; nothing of how the
release was made is used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.channels import Floats
from anonymize.classes import Bools, mixed_radix
from anonymize.domain.cells import CellKind, members, unescaped
from anonymize.domain.generalization import Generalization
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import DataError, Problem, UsageError
from anonymize.meaning import Channel
from anonymize.recoding.appearance import MISSING, NumberColumns
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table import Source
from anonymize.table.columns import compared, tidy
from anonymize.table.encode import is_text
from anonymize.table.named import column, unnamed
from anonymize.table.roles import columns_in, refuse_lacking

# --- columns of text --------------------------------------------------------------------------------------------------
# Released files as columns of text, with the spec of their original.


@dataclass(frozen=True)
class SourceTexts:
    """`texts`: all columns as text, null where missing. `columns`: in which each quasi-identifier is shown."""

    source: Source
    texts: pl.DataFrame
    columns: Mapping[str, tuple[str, str]]

    @property
    def rows(self) -> int:
        """Released rows."""
        return self.texts.height


def read_file(original: Spec, path: str, stack: ExitStack, *, invented: bool = False) -> SourceTexts:
    """Reads a release: UTF-8, with the input's separator. `invented`: its numbers are written as those of the input.
    Raises DataError for what cannot be read, and for quasi-identifiers of which there is no column."""
    spec = original.of_copy() if invented else original.of_release()
    source = stack.enter_context(Source.open(spec, path))
    source.check_types(source.columns)
    columns = columns_of(spec, source.columns, source.name)
    batches = list(source.examine([column(name) for name in source.columns]))
    frame = pl.concat(batches) if batches else pl.DataFrame(schema=dict.fromkeys(source.columns, pl.String))
    texts = frame.select(as_text(each, spec, source.format) for each in frame.iter_columns())
    numbers = NumberColumns.of(spec, source.format).of_type(source.schema)
    return SourceTexts(source, _with_suppressed(spec, texts, columns, numbers), columns)


def _with_suppressed(
    spec: Spec, texts: pl.DataFrame, columns: Mapping[str, tuple[str, str]], numbers: NumberColumns
) -> pl.DataFrame:
    """The cells of a release as text, with the suppressed text for nulls of `numbers` that show nothing.

    A null is a missing value where the column next to it says so. Otherwise it may be one or the other, and is taken
    for what has lost more.
    """
    texts_of = {column.name: unnamed(column) for column in texts.iter_columns()}
    for name in columns if spec.hides else ():
        texts_of[name] = texts_of[name].fill_null(str(spec.output.suppressed))
    for name, ends in columns.items():
        if not numbers.names.issuperset(ends):
            continue
        blank = texts_of[ends[0]].is_null() & texts_of[ends[1]].is_null()
        if name + MISSING in texts_of:
            blank &= texts_of[name + MISSING].ne_missing(pl.Series(["yes"]))
        for end in dict.fromkeys(ends):
            text = pl.when(pl.lit(blank)).then(pl.lit(spec.output.suppressed)).otherwise(pl.lit(texts_of[end]))
            texts_of[end] = pl.select(text).to_series()
    return pl.DataFrame(texts_of)


def as_text(column: pl.Series, spec: Spec, form: str) -> pl.Series:
    """A column as text, numbers with a point, null where it is missing; `form` of the file, which says whether a null
    is."""
    missing, present = spec.missing(form), pl.col("text")
    if is_text(column.dtype):
        present = (
            pl.when(present.is_in(missing.texts))
            .then(present)
            .otherwise(spec.notation(column.name).with_point(present))
        )
    text = column.cast(pl.String).to_frame("text").select(missing.filled(present))
    texts = compared(text.to_series(), missing).alias(column.name)
    return texts.fill_null(spec.input.missing_text) if spec.counts_missing(column.name) else texts


def columns_of(spec: Spec, present: Sequence[str], file: str) -> dict[str, tuple[str, str]]:
    """The columns in which each quasi-identifier is shown: its own twice, or NAME_low and NAME_high.

    Raises DataError for quasi-identifiers of which there are none.
    """
    columns: dict[str, tuple[str, str]] = {}
    for name in spec.quasi_identifiers:
        pair = (f"{name}_low", f"{name}_high")
        if name in present:
            columns[name] = (name, name)
        elif all(column in present for column in pair):
            columns[name] = pair
    lacking = [name for name in spec.quasi_identifiers if name not in columns]
    if lacking:
        hint = columns_in(
            present,
            [*spec.roles(), *(end for name in spec.quasi_identifiers for end in (f"{name}_low", f"{name}_high"))],
        )
        raise DataError([Problem(f"has no column {name}", file=file, hint=hint) for name in lacking])
    return columns


def raw_texts(source: Source, names: Sequence[str], spec: Spec, *, keep_empty: bool = False) -> pl.DataFrame:
    """Columns as text, numbers as written; null where a cell is missing, or, with `keep_empty`, the empty text."""
    refuse_lacking(names, source.columns, source.name, spec.roles())
    source.check()
    frame = source.scan().select([column(name).cast(pl.String) for name in names]).collect(engine="streaming")
    if spec.input.normalize:
        frame = frame.select(tidy(texts) for texts in frame.get_columns())
    empty = keep_empty or not spec.missing(source.format).null
    return frame.select(pl.all().fill_null("")) if empty else frame


# --- labels -----------------------------------------------------------------------------------------------------------
# What the text of a category stands for: the leaves under a label, the values of a set, a value that stands alone.
#
# Whatever reads a category in released text asks here, whether it has the domain of the original or the hierarchy
# file alone. If several nodes have one label, the widest is taken.


class LabelledNodes:
    """The nodes of a hierarchy by label, with what a cell that shows one costs."""

    def __init__(self, generalization: Generalization) -> None:
        self.generalization, self.hierarchy = generalization, generalization.hierarchy
        self.by_label = self.hierarchy.by_label
        above = np.where(self.hierarchy.parent >= 0, self.hierarchy.level[self.hierarchy.parent], 0)
        self._until = np.where(self.hierarchy.parent >= 0, above - 1, self.hierarchy.height)

    def widest(self, label: str | None) -> tuple[int, bool]:
        """The node of a label, -1 for none; whether another of the same label costs something else."""
        nodes = self.by_label.get(label or "", [])
        if not nodes:
            return -1, False
        costs = self.generalization.ncp[nodes]
        return nodes[int(costs.argmax())], bool(costs.max() > costs.min())

    def common_level(self, nodes: Sequence[int]) -> int | None:
        """The one level on which all nodes are; None where there is none or several, or there are no nodes."""
        of_nodes = [self.levels_of([node]) for node in set(nodes)]
        levels = np.flatnonzero(np.all(of_nodes, axis=0)).tolist() if of_nodes else []
        return levels[0] if len(levels) == 1 else None

    def levels_of(self, nodes: Sequence[int]) -> Bools:
        """(height + 1,) at which levels any of the nodes is."""
        every = np.arange(self.hierarchy.height + 1)
        of_nodes = [(self.hierarchy.level[node] <= every) & (every <= self._until[node]) for node in nodes]
        return np.any(of_nodes, axis=0) if of_nodes else np.zeros(len(every), np.bool_)


@dataclass(frozen=True)
class Category:
    """What one text of a category stands for: first and last leaf, the nodes that it may be (none if it is not a
    node), whether these cost differently, and the leaves of a set that leaves some out between its first and last.
    `node`: the one that is taken of several, -1 where there is none."""

    first: int
    last: int
    nodes: Sequence[int] = ()
    ambiguous: bool = False
    members: Sequence[int] | None = None
    node: int = -1


UNKNOWN = Category(-1, -1)


@dataclass(frozen=True)
class CategoryReader:
    """Texts of a categorical quasi-identifier. `missing`: those that mean it; `shows`: as `categorical` of a spec's
    output."""

    domain: Taxonomy
    nodes: LabelledNodes
    missing: Collection[str]
    shows: str

    def category(self, kind: int, text: str, other: str) -> Category:
        """What a cell of a kind stands for; `other`: the same text, or that of the second of two bounds."""
        missing = self.domain.missing
        if kind == CellKind.SUPPRESSED:
            return Category(0, self.domain.size - 1)
        if kind == CellKind.MISSING:
            return UNKNOWN if missing is None else Category(missing, missing, [missing], node=missing)
        if self.shows == "bounds" and text.isdecimal() and other.isdecimal():
            return self._positions(int(text), int(other))
        if text != other:
            return UNKNOWN
        if kind == CellKind.SET:
            return self._several(members(text)) or self._label(text) or UNKNOWN
        values = self._value(unescaped(text))
        return (values if self.shows == "set" else None) or self._label(text) or values or UNKNOWN

    @cached_property
    def _codes(self) -> Mapping[str, int]:
        return {text: code for code, text in enumerate(self.domain.leaf_text())}

    def _positions(self, first: int, last: int) -> Category:
        if not 0 <= first <= last < self.domain.size:
            return UNKNOWN
        same = np.flatnonzero((self.domain.start == first) & (self.domain.stop == last + 1))
        costs = self.nodes.generalization.ncp[same]
        return Category(first, last, same.tolist(), bool(costs.max(initial=0.0) > costs.min(initial=1.0)))

    def _label(self, text: str) -> Category | None:
        node, several = self.nodes.widest(text)
        if node < 0:
            return None
        first, stop = int(self.domain.start[node]), int(self.domain.stop[node])
        return Category(first, stop - 1, self.nodes.by_label[text], several, node=node)

    def _value(self, text: str) -> Category | None:
        code = self.domain.missing if text in self.missing else self._codes.get(text)
        if code is None:
            return None
        node, _ = self.nodes.widest(text)  # the label of a node that costs something reads so, too
        ambiguous = node >= 0 and bool(self.nodes.generalization.ncp[node] > 0)
        return Category(code, code, [code], ambiguous, node=code)

    def _several(self, names: Sequence[str]) -> Category | None:
        """The leaves of what a set names; None where it names something else."""
        leaves = self.domain.leaves_of(names, self.missing)
        if leaves is None:
            return None
        first, last = leaves[0], leaves[-1]
        return Category(first, last, members=leaves if len(leaves) < last - first + 1 else None)


# --- joint distributions ----------------------------------------------------------------------------------------------
# What is observed of columns with distorted values, and of those that were left alone: counts of all their values.

MOST_CELLS = 50_000_000
PIECE = 500_000
"""Cells of a piece of a joint table, and rows of a piece of a released one."""


@dataclass(frozen=True)
class Observed:
    """The joint distribution of some attributes in the released table: an axis for each, with its values."""

    attributes: tuple[Channel, ...]
    values: tuple[tuple[str, ...], ...]
    shares: Floats
    rows: int

    @property
    def p(self) -> list[float]:
        """The parameter of each attribute."""
        return [each.p for each in self.attributes]


def observe(source: Source, attributes: Sequence[Channel]) -> Observed:
    """The joint distribution of some attributes in a table that has been checked.

    Raises UsageError where the joint table is too large; DataError for other values than the parameters say.
    """
    values = [_values(source, each) for each in attributes]
    cells = int(np.prod([len(each) for each in values], dtype=np.float64))
    if cells > MOST_CELLS:
        raise UsageError(f"the joint table has {cells:.3g} cells, at most {MOST_CELLS:.3g}: name fewer --attributes")
    rows = source.rows or 0
    shares = _counted(source, attributes, values)
    shares /= rows
    return Observed(tuple(attributes), tuple(values), shares, rows)


def _text(attribute: Channel) -> pl.Expr:
    """The column as text; missing is the empty text, as which it is written."""
    return column(attribute.name).cast(pl.String).fill_null("")


def _values(source: Source, attribute: Channel) -> tuple[str, ...]:
    """The attribute's values; of one that was left alone those of the table, sorted."""
    if attribute.values is not None:
        return attribute.values
    distinct = source.scan().select(_text(attribute).unique().sort()).collect(engine="streaming")
    return tuple(distinct.to_series().to_list())


def _counted(source: Source, attributes: Sequence[Channel], values: Sequence[tuple[str, ...]]) -> Floats:
    shape = [len(each) for each in values]
    counts = np.zeros(int(np.prod(shape)))
    codes = [
        _text(attribute).cast(pl.Enum(each), strict=False).to_physical().cast(pl.Int64).alias(str(axis))
        for axis, (attribute, each) in enumerate(zip(attributes, values, strict=True))
    ]
    for batch in source.scan().select(codes).collect_batches(chunk_size=PIECE):
        unknown = [attributes[axis].name for axis, series in enumerate(batch.get_columns()) if series.null_count()]
        if unknown:
            message = f"{', '.join(unknown)}: has values that are not among those of its parameters"
            raise DataError(Problem(message, file=source.name))
        place, _ = mixed_radix([series.to_numpy() for series in batch.get_columns()], shape)
        if counts.size > PIECE:
            np.add.at(counts, place, 1.0)
        else:
            counts += np.bincount(place, minlength=counts.size)
    return counts.reshape(shape)
