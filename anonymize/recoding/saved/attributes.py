"""Quasi-identifiers as a saved recoding has them: how their values are parted, and what classes of them span."""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.classes import Ints, Partition
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import CodedTaxonomy, Taxonomy
from anonymize.recoding.saved.model import Box, Builder, CategoricalAttribute, Number, NumericAttribute
from anonymize.recoding.saved.places import MISSING
from anonymize.recoding.spans import Spans
from anonymize.recoding.window import Tails, Window
from anonymize.spec import Codes, Mask, Output, Parts, Prefix, QuasiIdentifier, Rare, Zip3
from anonymize.spec.codes import large_areas
from anonymize.table import Attribute


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
    if isinstance(source, Codes):
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
