"""What the cells of a released column say: from the distinct texts of one quasi-identifier to regions of its domain.

A text is, in this order: suppressed, missing, a number or a set of values, an interval by the spec's template, the
label of a node. Bounds come as two texts. What a text costs follows from the region alone, so that the release of any
tool is measured alike.

Some texts have two meanings: `5..10` may be a node of the hierarchy, which ends below 10, or an interval that ends with
it. A column of which every interval is a label is read as labels. Of several nodes with one label the widest is taken.
`ambiguous` counts the texts whose meanings cost differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain.generalization import Generalization
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import DataError, Problem
from anonymize.spec import Output
from anonymize.table import Attribute

_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_PART = re.compile(r"((?:[^\\|]|\\.)*)(?:\||\Z)", re.DOTALL)


@dataclass(frozen=True)
class Reading:
    """What `n` distinct texts of a quasi-identifier say.

    `first`, `last` (n,) int64: the codes that the region spans. `start`, `stop` (n,): its ends as values, of a category
    the positions of leaves; nan for a missing number. `ncp`, `loss` (n,); nan where `summary` says that the text is one
    number for a class, a mean or a median, of which it does not tell the width. `levels` (n, height + 1): at which
    levels of the hierarchy the text may stand, nowhere for what is no node. `suppressed` (n,). `ambiguous`: texts with
    meanings of different costs.
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


@dataclass(frozen=True)
class Cells:
    """The distinct texts of a quasi-identifier. `low`, `high`: one and the same list, or the texts of the two columns
    of bounds. A null in them is a missing value. `missing`: the texts that mean missing."""

    attribute: Attribute
    low: Sequence[str | None]
    high: Sequence[str | None]
    output: Output
    missing: frozenset[str]

    def read(self) -> Reading:
        """The reading. Raises DataError for texts that say nothing under the spec; says how many, not which."""
        reader = _Numbers(self) if isinstance(self.attribute.domain, Numeric) else _Categories(self)
        unknown = int(np.count_nonzero(~reader.known))
        if unknown:
            texts = "1 distinct text is" if unknown == 1 else f"{unknown} distinct texts are"
            message = f"column {self.attribute.name!r}: {texts} no value, interval or label under the spec"
            raise DataError(Problem(message, hint="output.interval and output.suppressed say how cells read"))
        return reader.reading()

    @cached_property
    def hidden(self) -> Bools:
        """(n,) whether the texts read suppressed."""
        return self._both(lambda text: text == self.output.suppressed)

    @cached_property
    def absent(self) -> Bools:
        """(n,) whether the texts mean missing."""
        return self._both(lambda text: text is None or text in self.missing) & ~self.hidden

    @cached_property
    def equal(self) -> Bools:
        """(n,) whether there is one text and not two."""
        return np.array([a == b for a, b in zip(self.low, self.high, strict=True)], np.bool_)

    def _both(self, test: object) -> Bools:
        assert callable(test)
        return np.array([test(a) and test(b) for a, b in zip(self.low, self.high, strict=True)], np.bool_)


class _Nodes:
    """The nodes of a hierarchy by label, with what a cell that shows one costs."""

    def __init__(self, generalization: Generalization) -> None:
        self.generalization, self.hierarchy = generalization, generalization.hierarchy
        self.by_label: dict[str, list[int]] = {}
        for node, label in enumerate(self.hierarchy.labels):
            self.by_label.setdefault(label, []).append(node)
        above = np.where(self.hierarchy.parent >= 0, self.hierarchy.level[self.hierarchy.parent], 0)
        self._until = np.where(self.hierarchy.parent >= 0, above - 1, self.hierarchy.height)

    def widest(self, label: str | None) -> tuple[int, bool]:
        """The node of a label, -1 for none; whether another of the same label costs something else."""
        found = self.by_label.get(label or "", [])
        if not found:
            return -1, False
        costs = self.generalization.ncp[found]
        return found[int(costs.argmax())], bool(costs.max() > costs.min())

    def levels_of(self, nodes: Sequence[int]) -> Bools:
        """(height + 1,) at which levels any of the nodes stands."""
        every = np.arange(self.hierarchy.height + 1)
        found = [(self.hierarchy.level[node] <= every) & (every <= self._until[node]) for node in nodes]
        return np.any(found, axis=0) if found else np.zeros(len(every), np.bool_)


# --- numbers ---------------------------------------------------------------------------------------------------------


class _Numbers:
    """Texts of a numeric quasi-identifier."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        domain = cells.attribute.domain
        assert isinstance(domain, Numeric)
        self.domain = domain
        self.nodes = _Nodes(cells.attribute.generalization)
        self.low, self.high, self.interval = self._numbers()
        self.node, self.several = self._labels()
        texts = self.interval & ~self.point
        self.labelled = bool(np.all(self.node[texts] >= 0)) if texts.any() else False
        shown = cells.hidden | cells.absent
        self.as_node = ~shown & (self.node >= 0) & (~self.interval | (self.labelled & texts))
        self.as_interval = ~shown & ~self.as_node & self.interval
        gone = cells.absent & (domain.missing is None)
        self.known = (shown & ~gone) | self.as_node | self.as_interval

    def _numbers(self) -> tuple[pl.Series, pl.Series, Bools]:
        """The ends as texts of numbers, and (n,) whether there are two."""
        low, high = pl.Series(self.cells.low, dtype=pl.String), pl.Series(self.cells.high, dtype=pl.String)
        head, middle, tail = _template(self.cells.output.interval)
        tails = [re.escape(tail), re.escape(f"{tail[:-1]})")] if tail.endswith("]") else [re.escape(tail)]
        pattern = f"(?s)^{re.escape(head)}{_NUMBER}{re.escape(middle)}{_NUMBER}(?:{'|'.join(tails)})$"
        ends = low.str.extract_groups(pattern).struct.unnest()
        equal = pl.Series(self.cells.equal)
        plain = [text.str.strip_chars().str.extract(f"^{_NUMBER}$") for text in (low, high)]
        frame = pl.DataFrame({"a": plain[0], "b": plain[1], "c": ends[:, 0], "d": ends[:, 1], "equal": equal})
        both = pl.col("a").is_not_null() & pl.col("b").is_not_null()
        spread = pl.col("equal") & ~both
        found = frame.select(
            low=pl.when(both).then("a").when(spread).then("c"), high=pl.when(both).then("b").when(spread).then("d")
        )
        return found["low"], found["high"], found["low"].is_not_null().to_numpy()

    @cached_property
    def point(self) -> Bools:
        """(n,) whether the two ends are one text."""
        return (self.low == self.high).fill_null(False).to_numpy()

    def _labels(self) -> tuple[Ints, Bools]:
        found = [
            self.nodes.widest(text) if same else (-1, False)
            for text, same in zip(self.cells.low, self.cells.equal.tolist(), strict=True)
        ]
        return np.array([node for node, _ in found], np.int64), np.array([more for _, more in found], np.bool_)

    def reading(self) -> Reading:
        cells, domain = self.cells, self.domain
        first, last, start, stop, width = self._spans()
        summary = self.as_interval & self.point & (cells.output.numeric in ("mean", "median"))
        ncp = np.where(self.as_interval, np.where(summary, np.nan, width), 0.0)
        ncp[cells.hidden] = 1.0
        twice = self.several & self.as_node
        if domain.missing is not None:
            first[cells.absent] = last[cells.absent] = domain.missing
            start[cells.absent] = stop[cells.absent] = np.nan
        for at in np.flatnonzero(self.as_node).tolist():
            node = int(self.node[at])
            ncp[at] = self.nodes.generalization.ncp[node]
            first[at], last[at] = self._under(node)
            if not self.interval[at]:
                start[at], stop[at] = self._values(first[at], last[at])
            twice[at] |= bool(self.interval[at]) and abs(width[at] - ncp[at]) > 1e-9
        return Reading(
            first, last, start, stop, ncp, ncp, self._levels(), cells.hidden, summary, int(np.count_nonzero(twice))
        )

    def _spans(self) -> tuple[Ints, Ints, Floats, Floats, Floats]:
        """Codes and ends of each interval, and its width over the column's; all of the domain where there is none."""
        values, count = self.domain.values, len(self.cells.low)
        first, last = np.zeros(count, np.int64), np.full(count, self.domain.size - 1)
        ends = [
            series.cast(pl.Float64, strict=False).fill_null(0.0).to_numpy().copy() for series in (self.low, self.high)
        ]
        start, stop = ends
        least, most = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
        some = np.flatnonzero(self.interval)
        first[some], exact_low = self._code(self.low, some, "left")
        last[some], exact_high = self._code(self.high, some, "right")
        width = np.zeros(count)
        width[some] = np.minimum((stop[some] / 4 - start[some] / 4) / ((most / 4 - least / 4) or 0.25), 1.0)
        exact = some[exact_low & exact_high]
        width[exact] = self.domain.cost(first[exact], last[exact])
        empty = some[first[some] > last[some]]
        first[empty], last[empty] = last[empty], first[empty]
        top = max(len(values) - 1, 0)
        first[some], last[some] = np.clip(first[some], 0, top), np.clip(last[some], 0, top)
        start[~self.interval], stop[~self.interval] = least, most
        return first, last, start, stop, np.maximum(width, 0.0)

    def _code(self, texts: pl.Series, at: Ints, side: str) -> tuple[Ints, Bools]:
        """First code from a number on (left), last code up to it (right); and whether the number is a value."""
        values, chosen = self.domain.values, texts.gather(at)
        whole = chosen.cast(pl.Int64, strict=False)
        exact = values.dtype.kind == "i" and not whole.null_count()
        numbers = (whole if exact else chosen.cast(pl.Float64)).to_numpy()
        left, right = np.searchsorted(values, numbers, "left"), np.searchsorted(values, numbers, "right")
        return (left if side == "left" else right - 1), right > left

    def _under(self, node: int) -> tuple[int, int]:
        """The codes of the numbers under a node, all codes where there are none."""
        generalization, domain = self.nodes.generalization, self.domain
        leaves = generalization.leaf_of(np.arange(domain.size))
        under = (self.nodes.hierarchy.start[node] <= leaves) & (leaves < self.nodes.hierarchy.stop[node])
        codes = np.flatnonzero(under)
        return (int(codes[0]), int(codes[-1])) if len(codes) else (0, domain.size - 1)

    def _values(self, first: int, last: int) -> tuple[float, float]:
        top = len(self.domain.values) - 1
        if top < 0 or first > top:
            return np.nan, np.nan
        return float(self.domain.values[first]), float(self.domain.values[min(last, top)])

    def _levels(self) -> Bools:
        """Numbers that are values stand where their leaf does, labels where their nodes do."""
        cells, generalization = self.cells, self.nodes.generalization
        found = np.zeros((len(cells.low), generalization.hierarchy.height + 1), np.bool_)
        for at in np.flatnonzero(~cells.hidden).tolist():
            nodes = list(self.nodes.by_label.get(cells.low[at] or "", [])) if self.as_node[at] else []
            code = self.domain.missing if cells.absent[at] else self._value(at) if self.as_interval[at] else None
            if code is not None:
                nodes.append(int(generalization.leaf_of(np.array([code]))[0]))
            found[at] = self.nodes.levels_of(nodes)
        return found

    def _value(self, at: int) -> int | None:
        if not self.point[at]:
            return None
        code, exact = self._code(self.low, np.array([at]), "left")
        return int(code[0]) if exact[0] else None


def _template(interval: str) -> tuple[str, str, str]:
    head, _, rest = interval.partition("{low}")
    middle, _, tail = rest.partition("{high}")
    return head, middle, tail


# --- categories ------------------------------------------------------------------------------------------------------


class _Categories:
    """Texts of a categorical quasi-identifier."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        domain = cells.attribute.domain
        assert isinstance(domain, Taxonomy)
        self.domain = domain
        self.nodes = _Nodes(cells.attribute.generalization)
        self.codes: Mapping[str, int] = {text: code for code, text in enumerate(domain.leaf_text())}
        found = [self._one(at) for at in range(len(cells.low))]
        self.first = np.array([first for first, _, _, _ in found], np.int64)
        self.last = np.array([last for _, last, _, _ in found], np.int64)
        self.shown = [nodes for _, _, nodes, _ in found]
        self.ambiguous = sum(more for _, _, _, more in found)
        self.known = self.first >= 0

    def _one(self, at: int) -> tuple[int, int, list[int], bool]:
        """First and last leaf, the nodes that the text may be (none: it is no node), whether they cost differently."""
        cells, missing = self.cells, self.domain.missing
        if cells.hidden[at]:
            return 0, self.domain.size - 1, [], False
        if cells.absent[at]:
            return (-1, -1, [], False) if missing is None else (missing, missing, [missing], False)
        text, other = cells.low[at] or "", cells.high[at] or ""
        if cells.output.categorical == "bounds" and text.isdecimal() and other.isdecimal():
            return self._positions(int(text), int(other))
        if text != other:
            return -1, -1, [], False
        sets = self._set(text) if cells.output.categorical == "set" else None
        return sets or self._label(text) or self._set(text) or (-1, -1, [], False)

    def _positions(self, first: int, last: int) -> tuple[int, int, list[int], bool]:
        if not 0 <= first <= last < self.domain.size:
            return -1, -1, [], False
        same = np.flatnonzero((self.domain.start == first) & (self.domain.stop == last + 1))
        costs = self.nodes.generalization.ncp[same]
        return first, last, same.tolist(), bool(costs.max(initial=0.0) > costs.min(initial=1.0))

    def _label(self, text: str) -> tuple[int, int, list[int], bool] | None:
        node, several = self.nodes.widest(text)
        if node < 0:
            return None
        return int(self.domain.start[node]), int(self.domain.stop[node]) - 1, self.nodes.by_label[text], several

    def _set(self, text: str) -> tuple[int, int, list[int], bool] | None:
        """The leaves that a set, or one value, of escaped texts names; None where it names something else."""
        if text.startswith("{") and text.endswith("}"):
            body = text[1:-1]
            parts = [found for found in _PART.findall(body)][: len(re.findall(r"(?<!\\)(?:\\\\)*\|", body)) + 1]
        else:
            parts = [text]
        names = [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in parts]
        codes = [self.domain.missing if name in self.cells.missing else self.codes.get(name) for name in names]
        known = [code for code in codes if code is not None]
        if len(known) < len(codes):
            return None
        return min(known), max(known), [known[0]] if len(known) == 1 else [], self._also_label(text, known)

    def _also_label(self, text: str, codes: Sequence[int]) -> bool:
        """Whether what reads as one value is the label of a node that costs something, too."""
        node, _ = self.nodes.widest(text)
        return len(codes) == 1 and node >= 0 and bool(self.nodes.generalization.ncp[node] > 0)

    def reading(self) -> Reading:
        cells, hidden = self.cells, self.cells.hidden
        ncp, loss = self.domain.cost(self.first, self.last), self.domain.loss(self.first, self.last)
        generalization = self.nodes.generalization
        for at, nodes in enumerate(self.shown):  # a root over one leaf costs 1 where it is shown by its own label
            if len(nodes) == 1 and cells.output.categorical != "bounds":
                ncp[at], loss[at] = generalization.ncp[nodes[0]], generalization.loss[nodes[0]]
        return Reading(
            first=self.first,
            last=self.last,
            start=self.first.astype(np.float64),
            stop=self.last.astype(np.float64),
            ncp=np.where(hidden, 1.0, ncp),
            loss=np.where(hidden, 1.0, loss),
            levels=np.array([self.nodes.levels_of(nodes) for nodes in self.shown], np.bool_).reshape(
                len(self.shown), self.domain.height + 1
            ),
            suppressed=hidden,
            summary=np.zeros(len(hidden), np.bool_),
            ambiguous=self.ambiguous,
        )
