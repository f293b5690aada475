"""What the cells of a released column stand for: from the distinct texts of one quasi-identifier to regions of its
domain.

`domain.cells` reads the texts; here they are looked up among the values and the hierarchy of the original. What a text
costs follows from the region alone, so that the release of any tool is measured alike.

Some texts have two meanings: `5..10` may be a node of the hierarchy, which ends below 10, or an interval that ends with
it. A column of which every interval is a label is read as labels. If several nodes have one label, the widest is taken.
`ambiguous` counts the texts whose meanings cost differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain import Gapped, LeafSets, taxonomy
from anonymize.domain.cells import CellFormat, CellKind, ReadCells, numbers, read_cells
from anonymize.domain.grid import texts as grid_texts
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError, Problem
from anonymize.parallel import mapped, worth
from anonymize.reading import CategoryReader, LabelledNodes
from anonymize.recoding.appearance import MISSING
from anonymize.records import dataclass
from anonymize.spec import POINT, Output, Spec
from anonymize.table import Attribute
from anonymize.table.named import category_texts


@dataclass(frozen=True)
class TextRegions:
    """The regions that `n` distinct texts of a quasi-identifier stand for.

    `first`, `last` (n,) int64: the codes that the region spans. `start`, `stop` (n,): its ends as values, of a category
    the positions of leaves; nan for a missing number. `ncp`, `loss` (n,); nan where `summary` says that the text is one
    number for a class, a mean or a median, which does not give the width. `levels` (n, height + 1): at which levels of
    the hierarchy the text may stand, nowhere if it is not a node. `suppressed` (n,). `ambiguous`: texts with meanings
    of different costs. `open_low`, `open_high` (n,): whether the text says no such end, as `77+` does. `gapped`: the
    sets that leave out codes between their first and last; None where there are none. `named` (n,): how many values a
    set names, 0 for other texts; None of numbers. `ends` (n,) twice: see `ShownRows`; None of categories.
    """

    first: Ints
    last: Ints
    start: Floats
    stop: Floats
    ncp: Floats
    loss: Floats
    levels: Bools
    suppressed: Bools
    summary: Bools
    ambiguous: int
    open_low: Bools
    open_high: Bools
    gapped: Gapped | None = None
    named: Ints | None = None
    ends: tuple[Ints, Ints] | None = None

    def of_sets(self, size: int) -> Floats:
        """(n,) the NCP, of a set by the number of its values, in a domain of `size` leaves."""
        return self.ncp if self.named is None else np.where(self.named > 0, self.named / size, self.ncp)


@dataclass(frozen=True)
class DistinctTexts:
    """The distinct texts of a quasi-identifier. `low`, `high`: one and the same list, or the texts of the two columns
    of bounds. A null in them is a missing value. `missing`: the texts that mean missing. `maybe`: what the column
    next to bounds says of missing values, where there is one. `declared`: whether the spec has a hierarchy for it."""

    attribute: Attribute
    low: Sequence[str | None]
    high: Sequence[str | None]
    output: Output
    missing: frozenset[str]
    maybe: Sequence[str | None] | None = None
    declared: bool = True

    def regions(self) -> TextRegions:
        """The regions. Raises DataError for texts that mean nothing under the spec; says how many, not which."""
        domain = self.attribute.domain
        meanings = _Numbers(self, domain) if isinstance(domain, Numeric) else _Categories(self)
        unknown = int(np.count_nonzero(~meanings.readable))
        if unknown:
            texts = "1 distinct text is" if unknown == 1 else f"{unknown} distinct texts are"
            message = f"column {self.attribute.name!r}: {texts} neither a value nor an interval or label under the spec"
            raise DataError(Problem(message, hint="output.interval and output.suppressed say how cells read"))
        return meanings.regions()

    @cached_property
    def cells(self) -> ReadCells:
        """The texts as cells."""
        low = pl.Series(self.low, dtype=pl.String)
        high = low if self.low is self.high else pl.Series(self.high, dtype=pl.String)
        maybe = None if self.maybe is None else pl.Series(self.maybe, dtype=pl.String)
        written = CellFormat.of(self.output, self.missing)
        return read_cells(low, high, written, numeric=isinstance(self.attribute.domain, Numeric), maybe=maybe)

    @cached_property
    def hidden(self) -> Bools:
        """(n,) whether the texts read suppressed."""
        return self.cells.of_kind(CellKind.SUPPRESSED)

    @cached_property
    def absent(self) -> Bools:
        """(n,) whether the texts mean missing."""
        return self.cells.of_kind(CellKind.MISSING)

    @cached_property
    def nodes(self) -> LabelledNodes:
        """The nodes of the hierarchy by label, which is made where it is asked for."""
        return LabelledNodes(self.attribute.generalization)


def read_regions(
    spec: Spec,
    attributes: Sequence[Attribute],
    frame: pl.DataFrame,
    columns: Mapping[str, tuple[str, str]],
    threads: int = 1,
) -> tuple[tuple[TextRegions, ...], Ints]:
    """What the cells of quasi-identifiers stand for: the regions of the distinct texts of each, and (attributes, rows)
    which of them each row shows. `threads` that columns are read in, of a large table. Raises DataError, with the
    problems of all columns."""
    missing = frozenset(spec.missing("arrow").texts)
    text_of = np.zeros((len(attributes), frame.height), np.int64)

    def column_of(index: int) -> TextRegions | DataError:
        attribute = attributes[index]
        low, high, maybe, text_of[index] = distinct_texts(frame, attribute.name, *columns[attribute.name])
        if low is high:
            low = high = _with_point(low, attribute, spec, missing)
        try:
            definition = spec.quasi_identifiers.get(attribute.name)
            declared = definition is None or definition.hierarchy is not None
            return DistinctTexts(attribute, low, high, spec.output, missing, maybe, declared).regions()
        except DataError as error:
            return error

    read = mapped(column_of, range(len(attributes)), worth(threads, frame.height))
    if problems := [problem for each in read if isinstance(each, DataError) for problem in each.problems]:
        raise DataError(problems)
    return tuple(each for each in read if not isinstance(each, DataError)), text_of


def distinct_texts(
    frame: pl.DataFrame, name: str, low: str, high: str
) -> tuple[list[str | None], list[str | None], list[str | None] | None, Ints]:
    """The distinct pairs of texts of two columns, what is said of missing values next to bounds, if anything is, and
    (rows,) which of them each row has."""
    if low == high:
        low_texts, codes = _texts_of(frame[low])
        return low_texts, low_texts, None, codes
    further = name + MISSING
    third = {"maybe": frame[further]} if further in frame.columns else {}
    cells = pl.DataFrame({"low": frame[low], "high": frame[high], **third})
    distinct = cells.unique(maintain_order=True).with_row_index("text")
    texts = cells.join(distinct, on=cells.columns, how="left", nulls_equal=True, maintain_order="left")["text"]
    maybe = distinct["maybe"].to_list() if third else None
    return distinct["low"].to_list(), distinct["high"].to_list(), maybe, texts.to_numpy().astype(np.int64)


def _texts_of(cells: pl.Series) -> tuple[list[str | None], Ints]:
    """The distinct texts of a column, null last where there is one, and (rows,) which of them each row has."""
    categories = pl.Categories.random()  # they last as long as a column has them
    coded = cells.alias("text").cast(pl.Categorical(categories))  # its own name may read as a pattern
    from_one = (coded.to_physical() + 1).fill_null(0).to_numpy().astype(np.int64)
    texts: list[str | None] = category_texts(categories, int(from_one.max(initial=0))).to_list()
    codes = np.where(from_one > 0, from_one - 1, len(texts))
    return [*texts, None] if cells.null_count() else texts, codes


def _with_point(texts: list[str | None], attribute: Attribute, spec: Spec, missing: Set[str]) -> list[str | None]:
    """The distinct texts of a quasi-identifier, with a point if all of its numbers are values in the notation of the
    table, as where a release keeps a column: what was generalized has a point already, and stays as it is."""
    domain, notation = attribute.domain, spec.notation_of_table(attribute.name)
    if notation == POINT or not isinstance(domain, Numeric):
        return texts
    written = pl.Series("text", texts, dtype=pl.String)
    numerals = written.filter(~written.is_in([*missing, str(spec.output.suppressed)])).drop_nulls().to_frame()
    pointed = numerals.select(notation.with_point(pl.col("text"))).to_series()
    kept = not _all_values(numerals["text"], domain) and _all_values(pointed, domain)
    return written.replace(numerals["text"], pointed).to_list() if kept else texts


def _all_values(texts: pl.Series, domain: Numeric) -> bool:
    """Whether all texts are numbers with a point, and values of a domain."""
    return bool(np.isin(numbers(texts).to_numpy(), domain.values).all())


def gapped_columns(regions: Sequence[TextRegions], texts: Ints) -> dict[int, Gapped]:
    """Where some cells are sets that leave values out; `texts` (attributes, n): which text each of n rows shows."""
    pairs = enumerate(zip(regions, texts, strict=True))
    return {index: each.gapped.of_cells(which) for index, (each, which) in pairs if each.gapped is not None}


# --- numbers ---------------------------------------------------------------------------------------------------------


class _Numbers:
    def __init__(self, texts: DistinctTexts, domain: Numeric) -> None:
        self.texts, self.domain = texts, domain
        self.interval = texts.cells.numeric
        self.low, self.high = (
            self._closed(ends, code) for ends, code in ((texts.cells.low, 0), (texts.cells.high, -1))
        )
        self.node, self.several = self._labels()
        wide = self.interval & ~self.point
        labelled = bool(wide.any() and (self.node[wide] >= 0).all())
        empty = texts.hidden | texts.absent
        self.as_node = ~empty & (self.node >= 0) & (~self.interval | (labelled & wide))
        self.as_interval = ~empty & ~self.as_node & self.interval
        impossible = texts.absent & (self.domain.missing is None)
        self.readable = (empty & ~impossible) | self.as_node | self.as_interval

    def _closed(self, ends: pl.Series, code: int) -> pl.Series:
        """The ends of intervals; an open one is that of the column, and is written as its value is."""
        if not len(self.domain.values):
            return ends
        extreme = grid_texts(self.domain.values[code:][:1])[0]
        return pl.select(pl.when(pl.lit(pl.Series(self.interval))).then(pl.lit(ends).fill_null(extreme))).to_series()

    @cached_property
    def point(self) -> Bools:
        """(n,) whether the two ends are one text."""
        return (self.low == self.high).fill_null(False).to_numpy()

    @cached_property
    def _unlabelled(self) -> bool:
        """Whether there is nothing above numbers as they are written but a root, which no text shows."""
        coded = self.domain.bands is not None or self.domain.lowest_open or self.domain.highest_open
        return not (self.texts.declared or coded or self.texts.cells.of_kind(CellKind.LABEL).any())

    def _labels(self) -> tuple[Ints, Bools]:
        """(n,) the node of each label, -1 for none, and whether another node of that label costs something else."""
        pairs = list(zip(self.texts.low, self.texts.high, strict=True))
        nodes, several = np.full(len(pairs), -1, np.int64), np.zeros(len(pairs), np.bool_)
        labels = {} if self._unlabelled else self.texts.nodes.by_label
        for index, (low, high) in enumerate(pairs):
            if low == high and (low or "") in labels:
                nodes[index], several[index] = self.texts.nodes.widest(low)
        return nodes, several

    def regions(self) -> TextRegions:
        texts, missing = self.texts, self.domain.missing
        first, last, start, stop, width = self._spans()
        summary = self.as_interval & self.point & (texts.output.numeric in ("mean", "median"))
        width = np.minimum(width + texts.cells.maybe / max(self.domain.size, 1), 1.0)
        ncp = np.where(self.as_interval, np.where(summary, np.nan, width), 0.0)
        ncp[texts.hidden] = 1.0
        twice = self.several & self.as_node
        if missing is not None:
            first[texts.absent] = last[texts.absent] = missing
            start[texts.absent] = stop[texts.absent] = np.nan
        for index in np.flatnonzero(self.as_node).tolist():
            node = int(self.node[index])
            ncp[index] = self.texts.nodes.generalization.ncp[node]
            first[index], last[index] = self._under(node)
            if not self.interval[index]:
                start[index], stop[index] = self._values(first[index], last[index])
            twice[index] |= bool(self.interval[index]) and abs(width[index] - ncp[index]) > 1e-9
        ambiguous = int(np.count_nonzero(twice))
        sides = texts.cells.low, texts.cells.high
        open_low, open_high = (self.as_interval & side.is_null().to_numpy() for side in sides)
        ends = self._ends_shown(sides[0], 0), self._ends_shown(sides[1], 1)
        figures = first, last, start, stop, ncp, ncp, self._levels(), texts.hidden, summary, ambiguous
        return TextRegions(*figures, open_low, open_high, ends=ends)

    def _ends_shown(self, numbers: pl.Series, side: int) -> Ints:
        """(n,) the code of what an interval shows as its lower (0) or upper (1) end; see `ShownRows.ends`."""
        present = self.interval & ~self.point & numbers.is_not_null().to_numpy() & ~self.texts.cells.excluded[side]
        some, codes = np.flatnonzero(present), np.full(len(present), -1)
        code, exact = self._code(numbers, some, ("left", "right")[side])
        codes[some] = np.where(exact, code, self.domain.size)
        return codes

    def _spans(self) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """Codes and ends of each interval, and its width over the column's; all of the domain where there is none."""
        values, count = self.domain.values, len(self.texts.low)
        first, last = np.zeros(count, np.int64), np.full(count, self.domain.size - 1)
        start, stop = (numbers(ends).fill_null(0.0).to_numpy().copy() for ends in (self.low, self.high))
        least, most = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
        some = np.flatnonzero(self.interval)
        first[some], exact_low = self._code(self.low, some, "left")
        last[some], exact_high = self._code(self.high, some, "right")
        # Ends that are not values have no codes to take a width from; quarters, as the difference of two ends near the
        # largest float would overflow.
        width = np.zeros(count)
        width[some] = np.minimum((stop[some] / 4 - start[some] / 4) / ((most / 4 - least / 4) or 0.25), 1.0)
        exact = some[exact_low & exact_high]
        width[exact] = self.domain.cost(first[exact], last[exact])
        without_low, without_high = self.texts.cells.excluded
        first[some] += without_low[some] & exact_low
        last[some] -= without_high[some] & exact_high
        # An interval between two neighbouring values has its codes the wrong way round: it may be about either.
        empty = some[first[some] > last[some]]
        first[empty], last[empty] = last[empty], first[empty]
        top = max(len(values) - 1, 0)
        first[some], last[some] = np.clip(first[some], 0, top), np.clip(last[some], 0, top)
        start[~self.interval], stop[~self.interval] = least, most
        return first, last, start, stop, np.maximum(width, 0.0)

    def _code(self, texts: pl.Series, rows: Ints, side: str) -> tuple[Ints, Bools]:
        """First code from a number on (left), last code up to it (right); and whether the number is a value."""
        values, chosen = self.domain.values, texts.gather(rows)
        whole = chosen.cast(pl.Int64, strict=False)
        ends = (whole if values.dtype.kind == "i" and not whole.null_count() else numbers(chosen)).to_numpy()
        codes = np.searchsorted(values, ends, "left") if side == "left" else np.searchsorted(values, ends, "right") - 1
        exact = values.take(codes, mode="clip") == ends if len(values) else np.zeros(len(codes), np.bool_)
        return codes, exact

    def _under(self, node: int) -> tuple[int, int]:
        """The codes of the numbers under a node, all codes where there are none."""
        generalization, domain = self.texts.nodes.generalization, self.domain
        leaves = generalization.leaf_of(np.arange(domain.size))
        under = (self.texts.nodes.hierarchy.start[node] <= leaves) & (leaves < self.texts.nodes.hierarchy.stop[node])
        codes = np.flatnonzero(under)
        return (int(codes[0]), int(codes[-1])) if len(codes) else (0, domain.size - 1)

    def _values(self, first: int, last: int) -> tuple[float, float]:
        """The numbers of two codes; nan where the first is no number's."""
        values, top = self.domain.values, len(self.domain.values) - 1
        return (np.nan, np.nan) if first > top else (float(values[first]), float(values[min(last, top)]))

    def _levels(self) -> Bools:
        """Numbers that are values stand where their leaf does, labels where their nodes do."""
        texts = self.texts
        hierarchy = None if self._unlabelled else texts.nodes.hierarchy
        places = ~texts.hidden & (self.as_node | texts.absent | (self.as_interval & self.point))
        levels = np.zeros((len(places), 2 if hierarchy is None else hierarchy.height + 1), np.bool_)
        for index in np.flatnonzero(places).tolist():
            code = self._value(index)
            if hierarchy is None:
                levels[index, 0] = code is not None
                continue
            nodes = list(texts.nodes.by_label.get(texts.low[index] or "", [])) if self.as_node[index] else []
            if code is not None:
                nodes.append(int(texts.nodes.generalization.leaf_of(np.array([code]))[0]))
            levels[index] = texts.nodes.levels_of(nodes)
        return levels

    def _value(self, index: int) -> int | None:
        """The code of a text that is one value, or missing; None for any other."""
        if self.texts.absent[index]:
            return self.domain.missing
        if self.as_node[index] or not self.point[index] or self.texts.cells.maybe[index]:
            return None
        code, exact = self._code(self.low, np.array([index]), "left")
        return int(code[0]) if exact[0] else None


# --- categories ------------------------------------------------------------------------------------------------------


class _Categories:
    def __init__(self, texts: DistinctTexts) -> None:
        assert isinstance(texts.attribute.domain, taxonomy.Taxonomy)
        self.texts, self.domain = texts, texts.attribute.domain
        reader = CategoryReader(self.domain, texts.nodes, texts.missing, texts.output.categorical)
        pairs = zip(texts.cells.kind.tolist(), texts.low, texts.high, strict=True)
        self.meanings = [reader.category(kind, low or "", high or "") for kind, low, high in pairs]
        self.first = np.array([meaning.first for meaning in self.meanings], np.int64)
        self.last = np.array([meaning.last for meaning in self.meanings], np.int64)
        self.readable = self.first >= 0

    def regions(self) -> TextRegions:
        hidden, nodes = self.texts.hidden, self.texts.nodes
        ncp, loss = self.domain.cost(self.first, self.last), self.domain.loss(self.first, self.last)
        for index, meaning in enumerate(self.meanings):  # a root over one leaf costs 1 where its own label is shown
            if len(meaning.nodes) == 1 and self.texts.output.categorical != "bounds":
                costs = nodes.generalization
                ncp[index], loss[index] = costs.ncp[meaning.nodes[0]], costs.loss[meaning.nodes[0]]
        levels = np.array([nodes.levels_of(meaning.nodes) for meaning in self.meanings], np.bool_)
        sets = self.texts.cells.of_kind(CellKind.SET) & ~np.array(
            [bool(each.nodes) for each in self.meanings], np.bool_
        )
        return TextRegions(
            first=self.first,
            last=self.last,
            start=self.first.astype(np.float64),
            stop=self.last.astype(np.float64),
            ncp=np.where(hidden, 1.0, ncp),
            loss=np.where(hidden, 1.0, loss),
            levels=levels.reshape(len(self.meanings), self.domain.height + 1),
            suppressed=hidden,
            summary=np.zeros(len(hidden), np.bool_),
            ambiguous=sum(meaning.ambiguous for meaning in self.meanings),
            open_low=np.zeros(len(hidden), np.bool_),
            open_high=np.zeros(len(hidden), np.bool_),
            gapped=(gapped := Gapped.of([meaning.members for meaning in self.meanings], self.domain.size)),
            named=np.where(sets, LeafSets(self.first, self.last, gapped).counts, 0),
        )
