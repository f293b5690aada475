"""Quasi-identifiers as a saved recoding has them: how their values are parted, and what classes of them span."""

from __future__ import annotations

import numpy as np

from anonymize.classes import Codes, Ints
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding.saved.model import Box, Builder, CategoricalAttribute, Number, NumericAttribute
from anonymize.recoding.saved.places import MISSING
from anonymize.spec import Dates, Mask, Output, Prefix, QuasiIdentifier
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
    low, high = number_range(domain)
    return NumericAttribute(name=attribute.name, low=low, high=high, cuts=cuts, missing=missing)


def cut_hierarchy(
    name: str, hierarchy: Taxonomy, edges: Ints, definition: QuasiIdentifier, *, any: bool = False
) -> CategoricalAttribute:
    """A categorical attribute whose segments begin at these leaves, besides 0."""
    return CategoricalAttribute(
        name=name,
        labels=tuple(hierarchy.labels),
        parents=tuple(hierarchy.parent.tolist()),
        leaves=hierarchy.size,
        missing=hierarchy.missing,
        cuts=tuple(edges.tolist()),
        builder=_builder(hierarchy, definition),
        any=any,
    )


def number_range(domain: Numeric) -> tuple[Number | None, Number | None]:
    """Lowest and highest number; None where there is none."""
    if not len(domain.values):
        return None, None
    return domain.values[0].item(), domain.values[-1].item()


def box(attribute: Attribute, low: Codes | Ints, high: Codes | Ints, output: Output) -> Box:
    """What classes span, from their lowest and highest codes (classes,).

    A class that is released as suppressed has no ends, since nothing lies outside it.
    """
    domain = attribute.domain
    if isinstance(domain, Taxonomy):
        node = domain.lca(low, high)
        nodes = np.full(len(node), -1) if output.categorical == "set" else node
        first, last = domain.start[node].tolist(), (domain.stop[node] - 1).tolist()
        return Box(low=tuple(first), high=tuple(last), nodes=tuple(nodes.tolist()))
    assert isinstance(domain, Numeric)
    values = [*domain.values.tolist(), MISSING]
    open_ended = domain.suppressed(low, high).tolist()
    ends = (
        tuple(None if ended else values[code] for code, ended in zip(codes.tolist(), open_ended, strict=True))
        for codes in (low, high)
    )
    return Box(low=next(ends), high=next(ends))


def _between(domain: Numeric, code: int) -> Number:
    """Half way between a value and the one before it, where nearer numbers part; above the lower one at least."""
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
    return Builder(dates=source.dates) if isinstance(source, Dates) else None
