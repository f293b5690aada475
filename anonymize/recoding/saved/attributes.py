"""Quasi-identifiers as a saved recoding has them: how their values are parted, and what classes of them span."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Codes, Floats, Ints, Partition
from anonymize.domain.build import mask, prefix
from anonymize.domain.grid import Coding
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import CodedTaxonomy, Taxonomy
from anonymize.domain.text_levels import DateCodes, Moments, code_steps, zip_steps
from anonymize.recoding.saved import Box, Builder, CategoricalAttribute, Number, NumericAttribute, OutputBlock
from anonymize.recoding.spans import Spans, Tails, Window
from anonymize.records import dataclass
from anonymize.spec import Codes as PublishedCodes
from anonymize.spec import Mask, Output, Parts, Prefix, QuasiIdentifier, Rare, Zip3
from anonymize.spec.codes import large_areas
from anonymize.table import Attribute
from anonymize.table.encode import DistinctValues

# --- places of values -------------------------------------------------------------------------------------------------
# Where the values of a column lie among the segments of a saved recoding.

MISSING = sys.float_info.max
"""Where a missing number lies: beyond all others."""
UNKNOWN = -1
NAMES = ("segment", "low", "high", "beyond", "near", "node")


@dataclass(frozen=True)
class Places:
    """Where n distinct values lie; all arrays are (n,).

    `segment`: the segment of each value, UNKNOWN where the recoding has none for it. `low`, `high`: the values that it
    may stand for, as a `Box` has them; for a value that the hierarchy lacks, but whose ancestor it has, the leaves
    under that ancestor. `beyond`: whether it is a number below or above all that the recoding was made from. `near`:
    whether the hierarchy has only an ancestor of it, which is `node`; -1 for the others.
    """

    segment: Ints
    low: Floats
    high: Floats
    beyond: Bools
    near: Bools
    node: Ints

    def of_rows(self, codes: Codes) -> Places:
        """The places of rows (rows,), from the number of each row's value."""
        return Places(*(getattr(self, name)[codes] for name in NAMES))


def places(attribute: NumericAttribute | CategoricalAttribute, column: DistinctValues, output: OutputBlock) -> Places:
    """Where the distinct values of a column lie, the missing one after the others where there is one."""
    if isinstance(attribute, NumericAttribute):
        return _numbers(attribute, column)
    return _categories(attribute, column, output)


# --- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(attribute: NumericAttribute, column: DistinctValues) -> Places:
    values = Coding(attribute.bottom, attribute.top, step=attribute.step).clipped(np.asarray(column.values))
    segment, beyond = _segments(attribute, values), np.zeros(len(values), np.bool_)
    if attribute.low is not None and attribute.high is not None and attribute.ranges is None and not attribute.any:
        beyond = (values < attribute.low) | (values > attribute.high)
    position = values.astype(np.float64)
    if column.missing is not None:
        missing_segment = UNKNOWN if attribute.missing is None else attribute.missing
        segment = np.append(segment, 0 if attribute.any else missing_segment)
        position, beyond = np.append(position, MISSING), np.append(beyond, False)
    return Places(segment, position, position, beyond, np.zeros_like(beyond), np.full(len(segment), -1))


def _segments(attribute: NumericAttribute, values: NDArray[np.float64 | np.int64]) -> Ints:
    """(n,) the segment of each number, UNKNOWN where there is none.

    Ranges and cuts ascend, so that a binary search finds the last one that begins at or below a number; a range holds
    the number if it does not end below it.
    """
    if attribute.any:
        return np.zeros(len(values), np.int64)
    if attribute.ranges is not None:
        low, high = (np.array([getattr(each, end) for each in attribute.ranges]) for end in ("low", "high"))
        segment_of = np.array([each.segment for each in attribute.ranges] + [UNKNOWN])
        index = np.searchsorted(low, values, side="right") - 1
        inside = (index >= 0) & (values <= np.append(high, 0)[index])
        return np.asarray(segment_of[np.where(inside, index, -1)])
    if attribute.low is None:
        return np.full(len(values), UNKNOWN)
    return np.searchsorted(np.array(attribute.cuts), values, side="right").astype(np.int64)


# --- categories -------------------------------------------------------------------------------------------------------


def _categories(attribute: CategoricalAttribute, column: DistinctValues, output: OutputBlock) -> Places:
    """A value that is not a leaf of a hierarchy made by a builder is near where the builder puts it."""
    leaf_of = {text: code for code, text in enumerate(attribute.labels[: attribute.leaves])}
    if attribute.values:
        leaf_of = dict(zip(attribute.values, attribute.leaf_of, strict=True))
    low = np.array([leaf_of.get(str(text), UNKNOWN) for text in column.values], np.int64)
    high, node = low.copy(), np.full(len(low) + (column.missing is not None), -1)
    unknown = np.flatnonzero(low < 0)
    if attribute.any:
        low[unknown], high[unknown] = 0, attribute.leaves - 1
    elif attribute.builder is not None and len(unknown):
        texts = [str(column.values[index]) for index in unknown]
        node[unknown] = _ancestors(attribute, _steps(attribute.builder, output), texts)
        first, last = _extents(attribute)
        low[unknown] = np.where(node[unknown] < 0, UNKNOWN, first[node[unknown]])
        high[unknown] = np.where(node[unknown] < 0, UNKNOWN, last[node[unknown]])
    if column.missing is not None:
        missing_place = UNKNOWN if attribute.missing is None else attribute.missing
        missing_place = 0 if attribute.any and missing_place == UNKNOWN else missing_place
        low, high = np.append(low, missing_place), np.append(high, missing_place)
    segment = np.searchsorted(np.array(attribute.cuts, np.int64), low, side="right")
    segment = np.where(low < 0, UNKNOWN, segment)
    none = np.zeros(len(low), np.bool_)
    return Places(segment, low.astype(np.float64), high.astype(np.float64), none, node >= 0, node)


def _ancestors(attribute: CategoricalAttribute, built: Built, texts: Sequence[str]) -> Ints:
    """(n,) the lowest ancestor below the root that the hierarchy has for each text, or -1."""
    steps, fits = built
    inner = range(0 if attribute.values else attribute.leaves, len(attribute.labels) - 1)
    node_of = {attribute.labels[node]: node for node in reversed(inner)}
    nodes = []
    for text in texts:
        labels = (step(text) for step in steps) if fits(text) else ()
        nodes.append(next((node_of[label] for label in labels if label in node_of), -1))
    return np.array(nodes, np.int64)


Built: TypeAlias = tuple[Sequence[Callable[[str], str]], Callable[[str], bool]]


def _steps(builder: Builder, output: OutputBlock) -> Built:
    """What a builder makes of a value, level by level, and whether it can make anything of one."""
    if builder.mask is not None:
        return mask(builder.mask, builder.width), lambda text: len(text) <= builder.width
    if builder.codes is not None or builder.zip3 is not None:
        fits, steps = zip_steps(builder.zip3 or ()) if builder.codes is None else code_steps(builder.codes)
        return steps, fits
    if builder.rare is not None:
        label = builder.rare
        return [lambda text: label], lambda text: True
    if builder.dates is not None or builder.times is not None:
        levels: Sequence[str] = (builder.times if builder.dates is None else builder.dates) or ()
        codes = DateCodes(builder.bottom, builder.top, output.open_low, output.open_high, output.suppressed)
        noun: Literal["dates", "times"] = "times" if builder.dates is None else "dates"
        moments = Moments(noun, levels, builder.format, utc=builder.utc, codes=codes)
        return [moments.coded, *moments.steps], moments.fits
    return prefix(builder.prefix or ()), lambda text: True


def _extents(attribute: CategoricalAttribute) -> tuple[Ints, Ints]:
    """(nodes,) first and last leaf under each node.

    Every leaf climbs one edge in each round and leaves its number at the node that it reaches; a leaf that has passed
    the root drops out.
    """
    parents = np.array(attribute.parents)
    first = np.full(len(parents), attribute.leaves, np.int64)
    last = np.full(len(parents), -1, np.int64)
    leaf = node = np.arange(attribute.leaves)
    while len(node):
        np.minimum.at(first, node, leaf)
        np.maximum.at(last, node, leaf)
        node = parents[node]
        leaf, node = leaf[node >= 0], node[node >= 0]
    return first, last


# --- quasi-identifiers ------------------------------------------------------------------------------------------------


def cut_attribute(
    attribute: Attribute, edges: Ints, definition: QuasiIdentifier
) -> NumericAttribute | CategoricalAttribute:
    """An attribute whose segments begin at these codes of its domain, besides 0."""
    domain = attribute.domain
    if isinstance(domain, Taxonomy):
        return cut_hierarchy(attribute.name, domain, edges, definition)
    assert isinstance(domain, Numeric)
    inner = edges[edges < len(domain.values)]
    missing = None if domain.missing is None else int(np.searchsorted(edges, domain.missing, side="right"))
    cuts = tuple(_between(domain, code) for code in inner.tolist())
    return number_attribute(attribute.name, domain, cuts=cuts, missing=missing)


def number_attribute(name: str, domain: Numeric, **segments: Any) -> NumericAttribute:
    """A numeric attribute with the range and the coding of its domain; `segments`: how its values are parted."""
    low, high = number_range(domain)
    coding = domain.coding
    return NumericAttribute(
        name=name, low=low, high=high, bottom=coding.bottom, top=coding.top, step=coding.step, **segments
    )


def cut_hierarchy(
    name: str, hierarchy: Taxonomy, edges: Ints, definition: QuasiIdentifier, *, any: bool = False
) -> CategoricalAttribute:
    """A categorical attribute whose segments begin at these leaves, besides 0."""
    declared, missing = hierarchy, hierarchy.missing
    values: tuple[str, ...] = ()
    leaf_of: tuple[int, ...] = ()
    if isinstance(hierarchy, CodedTaxonomy):
        declared = hierarchy.declared
        values, leaf_of = tuple(declared.leaf_text()), tuple(hierarchy.of_leaf.tolist())
        missing = None if declared.missing is None else leaf_of[declared.missing]
    return CategoricalAttribute(
        name=name,
        labels=tuple(hierarchy.labels),
        parents=tuple(hierarchy.parent.tolist()),
        leaves=hierarchy.size,
        missing=missing,
        cuts=tuple(edges.tolist()),
        builder=_builder(declared, definition),
        any=any or hierarchy.root == 0,
        values=values,
        leaf_of=leaf_of,
    )


def number_range(domain: Numeric) -> tuple[Number | None, Number | None]:
    """Lowest and highest number; None where there is none."""
    if not len(domain.values):
        return None, None
    return domain.values[0].item(), domain.ends_at[-1].item()


def box(attribute: Attribute, partition: Partition, output: Output, tails: Tails) -> Box:
    """What the classes of a partition span."""
    domain = attribute.domain
    low, high = partition.boxes(attribute.codes)
    if isinstance(domain, Taxonomy):
        node = domain.lca(low, high)
        nodes = np.full(len(node), -1) if output.categorical == "set" else node
        first, last = domain.start[node].tolist(), (domain.stop[node] - 1).tolist()
        return Box(low=tuple(first), high=tuple(last), nodes=tuple(nodes.tolist()))
    assert isinstance(domain, Numeric)
    highest = None
    if domain.missing is not None:
        codes = attribute.codes
        _, highest = partition.boxes(np.where(codes == domain.missing, 0, codes).astype(codes.dtype))
    return number_box(Spans.of(domain, low, high, highest, shown_window(attribute, partition, output, tails)), output)


def shown_window(attribute: Attribute, partition: Partition, output: Output, tails: Tails) -> Window | None:
    """The ends of intervals that a release shows; None: all, or none are shown."""
    domain = attribute.domain
    assert isinstance(domain, Numeric)
    if output.edges == "tight" or domain.bands is not None or output.numeric not in ("interval", "bounds"):
        return None
    return tails.window(attribute.codes, partition.order, len(domain.values))


def number_box(spans: Spans, output: Output) -> Box:
    """What classes span of numbers, as far as it is shown. An open end is None, since nothing lies outside it."""
    lows, highs = (
        np.append(numbers, numbers.dtype.type(0))[codes]  # where there are only missing values
        for numbers, codes in ((spans.domain.values, spans.low), (spans.domain.ends_at, spans.high))
    )
    if output.edges == "rounded" and spans.rounded is not None and output.numeric in ("interval", "bounds"):
        lows, highs = spans.rounded.closed()
    ends = [
        tuple(
            None if ended else MISSING if empty else number
            for number, ended, empty in zip(numbers.tolist(), is_open.tolist(), spans.empty.tolist(), strict=True)
        )
        for numbers, is_open in ((lows, spans.below), (highs, spans.above))
    ]
    missing = (spans.missing | spans.hidden).astype(int).tolist()
    return Box(low=ends[0], high=ends[1], missing=tuple(missing))


def _between(domain: Numeric, code: int) -> Number:
    """Half way between a value and the one before it, where nearer numbers part; above the lower one at least. Between
    intervals that numbers are coded to, where the second begins."""
    if domain.bands is not None:
        begin: Number = domain.values[code].item()
        return begin
    if domain.values.dtype.kind == "i":
        below, above = domain.values[code - 1 : code + 1].tolist()
        return int(above - (above - below) // 2)
    low, high = (float(value) for value in domain.values[code - 1 : code + 1])
    middle = low / 2 + high / 2
    return middle if low < middle <= high else high


def _builder(hierarchy: Taxonomy, definition: QuasiIdentifier) -> Builder | None:
    """The builder that made a hierarchy, for values that it has not got."""
    source = definition.hierarchy
    if isinstance(source, Mask):
        present = [text for code, text in enumerate(hierarchy.leaf_text()) if code != hierarchy.missing]
        return Builder(mask=source.mask, width=max(map(len, present), default=0))
    if isinstance(source, Prefix):
        return Builder(prefix=source.prefix)
    if isinstance(source, PublishedCodes):
        return Builder(codes=source.codes)
    if isinstance(source, Zip3):
        return Builder(zip3=tuple(sorted(large_areas(source.zip3))))
    if isinstance(source, Rare):
        return Builder(rare=source.rare.label)
    if isinstance(source, Parts):
        bottom, top = definition.date_ends
        own = {source.KEY: source.levels, "format": source.format, "utc": source.utc, "bottom": bottom, "top": top}
        return Builder.model_validate(own)
    return None
