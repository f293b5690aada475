"""From what an algorithm found to a saved recoding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from anonymize import __version__
from anonymize.classes import Bools, Codes, Ints
from anonymize.domain.grid import Grid, Numbers
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Problem, UsageError
from anonymize.recoding.levels import Levels
from anonymize.recoding.regions import Regions
from anonymize.recoding.released import Recoding, Released
from anonymize.recoding.saved.model import (
    Box,
    Builder,
    CategoricalAttribute,
    Column,
    Cuts,
    Number,
    NumericAttribute,
    OutputBlock,
    Range,
    Saved,
    TableBlock,
)
from anonymize.recoding.saved.places import MISSING
from anonymize.recoding.single import SingleDimensional
from anonymize.recoding.tree import Tree
from anonymize.spec import Dates, Intervals, Mask, Output, Prefix, QuasiIdentifier, Spec
from anonymize.spec.model import WITHHELD
from anonymize.table import Attribute, Table


def save(recoding: Recoding, table: Table, released: Released, spec: Spec, algorithm: str, *, drop: bool) -> Saved:
    """The recoding of a release as a function of the values of its quasi-identifiers.

    `released` is what it was rendered as, `drop` as it was told to `render`. The rows of the table, recoded with what
    is saved, show the same texts as in the release. Raises UsageError where no function of the values does that.
    """
    if isinstance(recoding, Regions):
        kind = _regions(recoding, table, released, spec)
    else:
        kind = _segmented(recoding, table, released, spec)
    return Saved(
        tool=__version__,
        algorithm=algorithm,
        table=_table(spec),
        output=OutputBlock(
            suppressed=spec.output.suppressed,
            suppressed_rows="drop" if drop else "keep",
            row_order=spec.output.row_order,
        ),
        **kind,
    )


def refuse(message: str) -> UsageError:
    """That a recoding cannot be saved."""
    return UsageError(Problem(f"the recoding cannot be saved: {message}", hint="leave out --save-recoding"))


def _table(spec: Spec) -> TableBlock:
    roles = spec.roles()
    others = [name for name, role in roles.items() if role != "quasi-identifier" and role not in WITHHELD]
    table = spec.input
    return TableBlock(
        separator=table.separator,
        missing=table.missing,
        encoding=table.encoding,
        identifiers=tuple(name for name, role in roles.items() if role in WITHHELD),
        others=tuple(others),
    )


# --- multidimensional -------------------------------------------------------------------------------------------------


def _regions(recoding: Regions, table: Table, released: Released, spec: Spec) -> dict[str, Any]:
    """A tree, whose cuts part the leaves of each attribute into segments."""
    if recoding.tree is None:
        raise refuse("its regions were not found by cuts that part all rows alike")
    if len(recoding.suppressed):
        raise refuse(f"{len(recoding.suppressed)} rows are suppressed for what they have beside quasi-identifiers")
    attributes, edges = [], []
    for index, attribute in enumerate(table.attributes):
        edges.append(_edges(recoding.tree, index, attribute.domain.size))
        attributes.append(_cut(attribute, edges[-1], spec))
    of_class = released.class_of[recoding.partition.order[recoding.partition.starts[:-1]]].astype(np.int64)
    return {
        "kind": "regions",
        "attributes": attributes,
        "columns": _columns(released, lambda _: of_class),
        "boxes": {a.name: _box(a, *recoding.partition.boxes(a.codes), spec.output) for a in table.attributes},
        "tree": _tree(recoding.tree, edges, [attribute.domain.size for attribute in table.attributes]),
    }


def _edges(tree: Tree, attribute: int, size: int) -> Ints:
    """The codes at which an attribute is cut anywhere."""
    cut = tree.attribute == attribute
    edges = np.unique(np.concatenate((tree.start[cut], tree.stop[cut])))
    return edges[(edges > 0) & (edges < size)]


def _tree(tree: Tree, edges: Sequence[Ints], sizes: Sequence[int]) -> Cuts:
    """The tree over segments."""
    start, stop = tree.start.copy(), tree.stop.copy()
    for index, (cuts, size) in enumerate(zip(edges, sizes, strict=True)):
        cut = tree.attribute == index
        start[cut] = np.searchsorted(cuts, tree.start[cut], side="right")
        stop[cut] = np.searchsorted(cuts, tree.stop[cut], side="right") + (tree.stop[cut] >= size)
    parts = {"attribute": tree.attribute, "start": start, "stop": stop, "first": tree.first, "second": tree.second}
    return Cuts(**{name: tuple(part.tolist()) for name, part in parts.items()})


def _cut(attribute: Attribute, edges: Ints, spec: Spec) -> NumericAttribute | CategoricalAttribute:
    """An attribute whose segments begin at these codes, beside 0."""
    domain = attribute.domain
    if isinstance(domain, Taxonomy):
        return _categorical(attribute.name, domain, edges, _definition(spec, attribute))
    assert isinstance(domain, Numeric)
    inner = edges[edges < len(domain.values)]
    missing = None if domain.missing is None else int(np.searchsorted(edges, domain.missing, side="right"))
    cuts = tuple(_between(domain, code) for code in inner.tolist())
    low, high = _range(domain)
    return NumericAttribute(name=attribute.name, low=low, high=high, cuts=cuts, missing=missing)


def _between(domain: Numeric, code: int) -> Number:
    """Half way between a value and the one before it, where nearer numbers part; above the lower one at least."""
    low, high = (float(value) for value in domain.values[code - 1 : code + 1])
    if domain.values.dtype.kind == "i":
        below, above = domain.values[code - 1 : code + 1].tolist()
        return int(above - (above - below) // 2)
    middle = low / 2 + high / 2
    return middle if low < middle <= high else high


def _range(domain: Numeric) -> tuple[Number | None, Number | None]:
    """Lowest and highest number; None of none."""
    if not len(domain.values):
        return None, None
    return domain.values[0].item(), domain.values[-1].item()


def _box(attribute: Attribute, low: Codes | Ints, high: Codes | Ints, output: Output) -> Box:
    """The values of classes; nothing is outside of what is released as suppressed."""
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


# --- single-dimensional -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Segments:
    """An attribute in segments: `of_code` (domain.size,) the one of each code of the domain."""

    attribute: NumericAttribute | CategoricalAttribute
    of_code: Ints
    box: Box | None


def _segmented(recoding: Levels | SingleDimensional, table: Table, released: Released, spec: Spec) -> dict[str, Any]:
    """Segments that read the same, and which combinations of them are released or suppressed."""
    found = [_segments(recoding, index, a, spec) for index, a in enumerate(table.attributes)]
    partition = recoding.partition
    first = partition.order[partition.starts[:-1]]
    kept, lost = (
        np.stack([each.of_code[a.codes[rows]] for each, a in zip(found, table.attributes, strict=True)], axis=1)
        for rows in (first, recoding.suppressed)
    )
    lost = np.unique(lost, axis=0)
    classes = {tuple(row) for row in kept.tolist()}
    torn = sum(tuple(row) in classes for row in lost.tolist())
    if torn or len(classes) < len(kept):
        raise refuse("some rows are suppressed of which others with the same values are released")
    names = {attribute.name: index for index, attribute in enumerate(table.attributes)}

    def class_of(attribute: str) -> Ints:
        """(segments,) a class that shows each segment, -1 for none."""
        index = names[attribute]
        shown = np.full(found[index].attribute.segments, -1, np.int64)
        shown[kept[:, index]] = released.class_of[first]
        return shown

    return {
        "kind": "segments",
        "attributes": [each.attribute for each in found],
        "columns": _columns(released, class_of),
        "boxes": {each.attribute.name: each.box for each in found if each.box is not None},
        "classes": _by_attribute(kept),
        "suppressed": _by_attribute(lost),
    }


def _by_attribute(rows: Ints) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(column) for column in rows.T.tolist())


def _segments(recoding: Levels | SingleDimensional, index: int, attribute: Attribute, spec: Spec) -> _Segments:
    hierarchy = attribute.hierarchy
    leaves = attribute.generalization.leaf_of(np.arange(attribute.domain.size))
    if isinstance(recoding, Levels):
        vector = recoding.vector
        if vector is None:
            raise refuse("its classes stand on different levels, or there are none")
        nodes = hierarchy.levels[vector[index]]
        starts = np.flatnonzero(np.diff(nodes, prepend=-1))
        levels = np.full(len(starts), vector[index])
    else:
        cut = recoding.cuts[attribute.name]
        if not cut.labelled and isinstance(attribute.domain, Numeric):
            return _intervals(attribute, cut.starts, spec)
        starts = cut.starts
        levels = hierarchy.level[hierarchy.lca(starts, cut.stops(hierarchy.size) - 1)]
    of_leaf = np.searchsorted(starts, np.arange(hierarchy.size), side="right") - 1
    everything = bool(levels[0] == hierarchy.height)
    if isinstance(attribute.domain, Taxonomy):
        made = _categorical(attribute.name, hierarchy, starts[1:], _definition(spec, attribute), any=everything)
        return _Segments(made, of_leaf[leaves], _nodes(recoding, index, hierarchy, starts, spec.output))
    return _Segments(_labelled(attribute, of_leaf, levels, everything, spec), of_leaf[leaves], None)


def _nodes(recoding: Levels | SingleDimensional, index: int, hierarchy: Taxonomy, starts: Ints, output: Output) -> Box:
    """The leaves of segments, and the node that each reads as, if it is one."""
    last = np.append(starts[1:], hierarchy.size) - 1
    if isinstance(recoding, Levels):
        assert recoding.vector is not None
        nodes = hierarchy.levels[recoding.vector[index], starts]
    else:
        nodes = hierarchy.lca(starts, last)
        is_node = (hierarchy.start[nodes] == starts) & (hierarchy.stop[nodes] == last + 1)
        nodes = np.where(is_node & (output.categorical != "set"), nodes, -1)
    return Box(low=tuple(starts.tolist()), high=tuple(last.tolist()), nodes=tuple(nodes.tolist()))


def _intervals(attribute: Attribute, starts: Ints, spec: Spec) -> _Segments:
    """Numbers that are parted at codes, and read as intervals."""
    domain = attribute.domain
    assert isinstance(domain, Numeric)
    of_code = np.searchsorted(starts, np.arange(domain.size), side="right") - 1
    stops = np.append(starts[1:], domain.size) - 1
    return _Segments(_cut(attribute, starts[1:], spec), of_code, _box(attribute, starts, stops, spec.output))


def _labelled(attribute: Attribute, of_leaf: Ints, levels: Ints, everything: bool, spec: Spec) -> NumericAttribute:
    """Numbers that read as nodes of a hierarchy: only those have a segment that lie under one."""
    domain = attribute.domain
    assert isinstance(domain, Numeric)
    low, high = _range(domain)
    missing = None
    if domain.missing is not None:
        missing = int(of_leaf[attribute.generalization.leaf_of(np.array([domain.missing]))[0]])
    if everything:
        return NumericAttribute(name=attribute.name, low=low, high=high, missing=missing, any=True)
    values, leaves = _numbers_of(attribute)
    segment = of_leaf[leaves]
    source = _definition(spec, attribute).hierarchy
    widths = source.intervals if isinstance(source, Intervals) else ()
    ranges = []
    for level in np.unique(levels[segment]).tolist():
        of_level = levels[segment] == level
        between = _interval_ends(values[of_level], widths, level, whole=domain.whole)
        ranges += [
            Range(low=a, high=b, segment=s) for a, b, s in zip(*between, segment[of_level].tolist(), strict=True)
        ]
    distinct = {(each.low, each.high, each.segment): each for each in ranges}
    ordered = tuple(sorted(distinct.values(), key=lambda each: each.low))
    return NumericAttribute(name=attribute.name, low=low, high=high, ranges=ordered, missing=missing)


def _numbers_of(attribute: Attribute) -> tuple[Numbers, Ints]:
    """The numbers that a hierarchy has, in ascending order, and the leaf of each."""
    domain, numbers = attribute.domain, attribute.generalization.numbers
    assert isinstance(domain, Numeric) and numbers is not None
    if attribute.leaves is None:
        return domain.values, np.arange(len(domain.values))
    leaves = np.flatnonzero(~np.isnan(numbers))
    leaves = leaves[np.argsort(numbers[leaves], kind="stable")]
    return numbers[leaves], leaves


def _interval_ends(
    values: Numbers,
    widths: Sequence[float],
    level: int,
    *,
    whole: bool,
) -> tuple[list[Number], list[Number]]:
    """Ends of the interval of a level that each value lies in; of level 0, or without intervals, the value itself."""
    if not 1 <= level <= len(widths):
        return values.tolist(), values.tolist()
    grid, ratio = Grid.of(widths[0]), round(widths[level - 1] / widths[0])
    index = grid.floor(values) // ratio * ratio
    if whole and grid.whole:
        step = grid.mantissa * 10**grid.exponent
        return [at * step for at in index.tolist()], [(at + ratio) * step - 1 for at in index.tolist()]
    below = np.nextafter(grid.points(index + ratio), -np.inf)
    return grid.points(index).tolist(), below.tolist()


# --- both -------------------------------------------------------------------------------------------------------------


def _definition(spec: Spec, attribute: Attribute) -> QuasiIdentifier:
    return spec.quasi_identifiers[attribute.name]


def _categorical(
    name: str, hierarchy: Taxonomy, edges: Ints, definition: QuasiIdentifier, *, any: bool = False
) -> CategoricalAttribute:
    source = definition.hierarchy
    texts = hierarchy.leaf_text()
    builder = None
    if isinstance(source, Mask):
        present = [text for code, text in enumerate(texts) if code != hierarchy.missing]
        builder = Builder(mask=source.mask, width=max(map(len, present), default=0))
    elif isinstance(source, Prefix):
        builder = Builder(prefix=source.prefix)
    elif isinstance(source, Dates):
        builder = Builder(dates=source.dates)
    return CategoricalAttribute(
        name=name,
        labels=tuple(hierarchy.labels),
        parents=tuple(hierarchy.parent.tolist()),
        leaves=hierarchy.size,
        missing=hierarchy.missing,
        cuts=tuple(edges.tolist()),
        builder=builder,
        any=any,
    )


def _columns(released: Released, class_of: Callable[[str], Ints]) -> list[Column]:
    """The released columns; `class_of` an attribute gives the class of the release that each entry reads as, or -1."""
    columns = []
    for column in released.columns:
        classes = class_of(column.attribute)
        none: Bools = classes < 0
        shown = np.where(none, -1, column.of_class[classes])
        columns.append(
            Column(name=column.name, attribute=column.attribute, texts=tuple(column.texts), shown=tuple(shown.tolist()))
        )
    return columns
