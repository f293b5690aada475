"""The kinds of saved recodings: multidimensional ones, a tree whose cuts part the values of each attribute into
segments; single-dimensional and full-domain ones, segments of values that read the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Ints, Partition
from anonymize.domain.grid import Grid, Numbers
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import CodedTaxonomy, Taxonomy
from anonymize.recoding.columns import CutTree, Released
from anonymize.recoding.saved import Box, CategoricalAttribute, Indices, Number, NumericAttribute, Range, SavedTree
from anonymize.recoding.saved.attributes import (
    box,
    cut_attribute,
    cut_hierarchy,
    number_attribute,
    number_box,
    number_range,
    shown_window,
)
from anonymize.recoding.saved.recoder import Contents, refusal, saved_columns
from anonymize.recoding.spans import Spans, Tails
from anonymize.records import dataclass
from anonymize.spec import Intervals, NumberBands, QuasiIdentifier, Spec
from anonymize.table import Attribute, Table, encode

# --- a tree of cuts ---------------------------------------------------------------------------------------------------
# A multidimensional recoding, saved: a tree whose cuts part the values of each attribute into segments.


def contents_of_tree(tree: CutTree, partition: Partition, table: Table, released: Released, spec: Spec) -> Contents:
    """What is saved of the classes of a partition that a tree of cuts leads to."""
    edges = [_edges(tree, index, attribute.domain.size) for index, attribute in enumerate(table.attributes)]
    tails = Tails.of(table)
    of_class = released.class_of[partition.order[partition.starts[:-1]]].astype(np.int64)
    return Contents(
        kind="regions",
        attributes=tuple(
            cut_attribute(attribute, cuts, spec.quasi_identifiers[attribute.name])
            for attribute, cuts in zip(table.attributes, edges, strict=True)
        ),
        columns=saved_columns(released, lambda _: of_class),
        boxes={a.name: box(a, partition, spec.output, tails) for a in table.attributes},
        tree=_over_segments(tree, edges, [attribute.domain.size for attribute in table.attributes]),
    )


def _edges(tree: CutTree, attribute: int, size: int) -> Ints:
    cut = tree.attribute == attribute
    edges = np.unique(np.concatenate((tree.start[cut], tree.stop[cut])))
    return edges[(edges > 0) & (edges < size)]


def _over_segments(tree: CutTree, edges: Sequence[Ints], sizes: Sequence[int]) -> SavedTree:
    """The tree over segments instead of codes.

    Every end of a cut is an edge of its attribute, so that the number of edges up to it is the segment that begins
    there; an end at or beyond the size of the domain closes the last segment, which has no edge of its own.
    """
    start, stop = tree.start.copy(), tree.stop.copy()
    for index, (cuts, size) in enumerate(zip(edges, sizes, strict=True)):
        cut = tree.attribute == index
        start[cut] = np.searchsorted(cuts, tree.start[cut], side="right")
        stop[cut] = np.searchsorted(cuts, tree.stop[cut], side="right") + (tree.stop[cut] >= size)
    parts = {"attribute": tree.attribute, "start": start, "stop": stop, "first": tree.first, "second": tree.second}
    return SavedTree(**{name: tuple(part.tolist()) for name, part in parts.items()})


# --- segments of values -----------------------------------------------------------------------------------------------
# A single-dimensional or full-domain recoding, saved: segments of values that read the same, and which combinations of
# them are released or suppressed.


@dataclass(frozen=True)
class SegmentedAttribute:
    """An attribute in segments: `of_code` (domain.size,) the segment of each code of the domain."""

    attribute: NumericAttribute | CategoricalAttribute
    of_code: Ints
    box: Box | None


# --- one attribute ----------------------------------------------------------------------------------------------------


def at_level(attribute: Attribute, level: int, spec: Spec) -> SegmentedAttribute:
    """Segments that are the nodes of a level of the attribute's hierarchy."""
    nodes = attribute.hierarchy.levels[level]
    starts = np.flatnonzero(np.diff(nodes, prepend=-1))
    return _of_hierarchy(attribute, starts, np.full(len(starts), level), nodes[starts], spec)


def of_leaves(attribute: Attribute, starts: Ints, spec: Spec) -> SegmentedAttribute:
    """Segments of the hierarchy's leaves that begin at `starts`; each reads as a node if it is one, else as a set."""
    hierarchy = attribute.hierarchy
    last = np.append(starts[1:], hierarchy.size) - 1
    covering = hierarchy.lca(starts, last)
    is_node = (hierarchy.start[covering] == starts) & (hierarchy.stop[covering] == last + 1)
    nodes = np.where(is_node & (spec.output.categorical != "set"), covering, -1)
    return _of_hierarchy(attribute, starts, hierarchy.level[covering], nodes, spec)


def of_numbers(
    attribute: Attribute, starts: Ints, spec: Spec, partition: Partition, tails: Tails
) -> SegmentedAttribute:
    """Numbers that are parted at codes, and read as intervals. `partition`: the classes whose rows are shown."""
    size = attribute.domain.size
    of_code = np.searchsorted(starts, np.arange(size), side="right") - 1
    last = np.append(starts[1:], size) - 1
    parted = cut_attribute(attribute, starts[1:], spec.quasi_identifiers[attribute.name])
    window = shown_window(attribute, partition, spec.output, tails)
    domain = attribute.domain
    assert isinstance(domain, Numeric)
    return SegmentedAttribute(parted, of_code, number_box(Spans.of(domain, starts, last, None, window), spec.output))


def _of_hierarchy(
    attribute: Attribute, starts: Ints, levels: NDArray[np.integer], nodes: NDArray[np.integer], spec: Spec
) -> SegmentedAttribute:
    """Segments of the hierarchy's leaves: of each, where it starts, the level of the lowest node above it, and the node
    that it reads as, -1 for none. All (segments,)."""
    hierarchy, definition = attribute.hierarchy, spec.quasi_identifiers[attribute.name]
    of_leaf = np.searchsorted(starts, np.arange(hierarchy.size), side="right") - 1
    of_code = of_leaf[attribute.generalization.leaf_of(np.arange(attribute.domain.size))]
    everything = bool(levels[0] == hierarchy.height)
    if not isinstance(attribute.domain, Taxonomy):
        labelled = _labelled(attribute, of_leaf, levels, everything, definition)
        return SegmentedAttribute(labelled, of_code, None)
    last = np.append(starts[1:], hierarchy.size) - 1
    spanned = Box(low=tuple(starts.tolist()), high=tuple(last.tolist()), nodes=tuple(nodes.tolist()))
    return SegmentedAttribute(
        cut_hierarchy(attribute.name, hierarchy, starts[1:], definition, any=everything), of_code, spanned
    )


# --- numbers as labels of a hierarchy ---------------------------------------------------------------------------------


def _labelled(
    attribute: Attribute,
    of_leaf: Ints,
    levels: NDArray[np.integer],
    everything: bool,
    definition: QuasiIdentifier,
) -> NumericAttribute:
    """Numbers that read as nodes of a hierarchy: only numbers that lie under one have a segment."""
    domain = attribute.domain
    assert isinstance(domain, Numeric)
    missing = None
    if domain.missing is not None:
        missing = int(of_leaf[attribute.generalization.leaf_of(np.array([domain.missing]))[0]])
    if everything:
        low, high = number_range(domain)
        return NumericAttribute(name=attribute.name, low=low, high=high, missing=missing, any=True)
    ranges = _ranges(attribute, of_leaf, levels, definition)
    return number_attribute(attribute.name, domain, ranges=ranges, missing=missing)


def _ranges(
    attribute: Attribute, of_leaf: Ints, levels: NDArray[np.integer], definition: QuasiIdentifier
) -> tuple[Range, ...]:
    """The numbers of each segment: whole intervals where the hierarchy was made of intervals, else single numbers."""
    domain = attribute.domain
    assert isinstance(domain, Numeric)
    source = definition.hierarchy
    widths = source.intervals if isinstance(source, Intervals) else ()
    if domain.bands is not None and not isinstance(source, Intervals | NumberBands):
        segments = of_leaf[attribute.generalization.leaf_of(np.arange(len(domain.values)))].tolist()
        ends = zip(domain.values.tolist(), domain.ends_at.tolist(), segments, strict=True)
        return tuple(Range(low=low, high=high, segment=number) for low, high, number in ends)
    values, leaves = _numbers_of(attribute, domain)
    segment = of_leaf[leaves]
    if isinstance(attribute.hierarchy, CodedTaxonomy):
        levels = np.maximum(levels, attribute.hierarchy.coded)
    ranges = set()
    for level in np.unique(levels[segment]).tolist():
        of_level = levels[segment] == level
        if isinstance(source, NumberBands):
            lows, highs = _band_ends(values[of_level], source.bands, level, whole=domain.whole)
        else:
            lows, highs = _interval_ends(values[of_level], widths, level, whole=domain.whole)
        ranges |= set(zip(lows, highs, segment[of_level].tolist(), strict=True))
    return tuple(Range(low=low, high=high, segment=number) for low, high, number in sorted(ranges))


def _numbers_of(attribute: Attribute, domain: Numeric) -> tuple[Numbers, Ints]:
    """The numbers that a hierarchy has, in ascending order, and the leaf of each."""
    numbers = attribute.generalization.numbers
    assert numbers is not None
    if attribute.leaves is None:
        return domain.values, np.arange(len(domain.values))
    leaves = np.flatnonzero(~np.isnan(numbers))
    leaves = leaves[np.argsort(numbers[leaves], kind="stable")]
    return numbers[leaves], leaves


def _band_ends(
    values: Numbers, levels: Sequence[Sequence[float]], level: int, *, whole: bool
) -> tuple[list[Number], list[Number]]:
    """Ends of the band that each value lies in at a level, those of open bands as far as numbers go; at level 0 the
    value itself."""
    if not 1 <= level <= len(levels):
        return values.tolist(), values.tolist()
    bounds = np.array([-encode.LARGEST, *levels[level - 1], encode.LARGEST])
    place = np.searchsorted(bounds[1:-1], values, side="right")
    lows, ends = bounds[place], bounds[place + 1]
    highs = np.where(ends < encode.LARGEST, np.ceil(ends) - 1 if whole else np.nextafter(ends, -np.inf), ends)
    return lows.tolist(), highs.tolist()


def _interval_ends(
    values: Numbers, widths: Sequence[float], level: int, *, whole: bool
) -> tuple[list[Number], list[Number]]:
    """Ends of the interval that each value lies in at a level; at level 0, or without intervals, the value itself.

    Each width is a multiple of the first one, so that the intervals of every level are runs of the first one's.
    """
    if not 1 <= level <= len(widths):
        return values.tolist(), values.tolist()
    grid, ratio = Grid.of(widths[0]), round(widths[level - 1] / widths[0])
    index = grid.floor(values) // ratio * ratio
    if whole and grid.whole:
        step = grid.mantissa * 10**grid.exponent
        return [point * step for point in index.tolist()], [(point + ratio) * step - 1 for point in index.tolist()]
    below = np.nextafter(grid.points(index + ratio), -np.inf)
    return grid.points(index).tolist(), below.tolist()


# --- all of them ------------------------------------------------------------------------------------------------------


def contents(
    parted: Sequence[SegmentedAttribute],
    partition: Partition,
    suppressed: NDArray[np.uint32],
    table: Table,
    released: Released,
) -> Contents:
    """What is saved of the classes of a partition, each of which is one combination of segments.

    Raises UsageError where rows of one combination are released and suppressed.
    """
    first = partition.order[partition.starts[:-1]]
    shown_combinations, lost = _combinations(parted, table, first), _combinations(parted, table, suppressed)
    lost = np.unique(lost, axis=0)
    classes = {tuple(row) for row in shown_combinations.tolist()}
    torn = any(tuple(row) in classes for row in lost.tolist())
    if torn or len(classes) < len(shown_combinations):
        raise refusal("some rows are suppressed while others with the same values are released")
    names = {attribute.name: index for index, attribute in enumerate(table.attributes)}

    def class_of(attribute: str) -> Ints:
        """(segments,) a class that shows each segment, -1 for none."""
        index = names[attribute]
        of_segment = np.full(parted[index].attribute.segments, -1, np.int64)
        of_segment[shown_combinations[:, index]] = released.class_of[first]
        return of_segment

    return Contents(
        kind="segments",
        attributes=tuple(each.attribute for each in parted),
        columns=saved_columns(released, class_of),
        boxes={each.attribute.name: each.box for each in parted if each.box is not None},
        classes=_by_attribute(shown_combinations),
        suppressed=_by_attribute(lost),
    )


def _combinations(parted: Sequence[SegmentedAttribute], table: Table, rows: NDArray[np.uint32]) -> Ints:
    """(rows, attributes) the segments that the values of some rows lie in."""
    pairs = zip(parted, table.attributes, strict=True)
    return np.stack([each.of_code[attribute.codes[rows]] for each, attribute in pairs], axis=1)


def _by_attribute(rows: Ints) -> tuple[Indices, ...]:
    return tuple(tuple(column) for column in rows.T.tolist())
