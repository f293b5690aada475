"""Classes of a series, shown as those of an algorithm are, and cut further where the people of every part are
enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms import mondrian
from anonymize.algorithms.cuts import RULES, CutRule
from anonymize.algorithms.splitting import Batch
from anonymize.algorithms.splitting.grow import grow
from anonymize.classes import Bools, Codes, Ints, Partition, concatenated_ranges
from anonymize.domain.numeric import Numeric
from anonymize.recoding import Levels, Regions
from anonymize.recoding.appearance import Appearance
from anonymize.recoding.base import region_appearance
from anonymize.recoding.spans import Tails, Window
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.series.guarantee import PublishedValues
from anonymize.spec import Output
from anonymize.table import Attribute, Table

# --- how classes are shown --------------------------------------------------------------------------------------------
# Classes of a series, shown as those of an algorithm are: regions around people, or levels of hierarchies.
#
# Rows that are in no class are held back or withheld; nobody is shown as suppressed. Which ends of intervals may be
# shown is fixed by the first release, so that a departure does not move them.

Edges = Mapping[str, tuple[float, float] | None]
"""By numeric attribute, the lowest and the highest number that may be the end of an interval; None where none may."""
NOBODY = np.empty(0, np.uint32)


@dataclass(frozen=True)
class FixedTails(Tails):
    """Tails whose window is never wider than what `fixed` says."""

    fixed: Window = field(kw_only=True)

    def window(self, codes: Codes, rows: NDArray[np.uint32], count: int) -> Window:
        narrow = super().window(codes, rows, count)
        return Window(max(narrow.low, self.fixed.low), min(narrow.high, self.fixed.high))


@dataclass(frozen=True)
class SeriesRegions(Regions):
    """Regions of a release in a series. `edges`: those of the first one."""

    edges: Edges = field(default_factory=dict)

    def whole(self) -> None:
        """There is no other release of these people."""
        return None

    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        tails = Tails.of(table)
        return [
            region_appearance(each, self.partition, output, _fixed(tails, each, self.edges))
            for each in table.attributes
        ]


def _fixed(tails: Tails, attribute: Attribute, edges: Edges) -> Tails:
    """The tails of an attribute within its edges, where it has any."""
    domain = attribute.domain
    if attribute.name not in edges or not isinstance(domain, Numeric):
        return tails
    ends = edges[attribute.name]
    nothing = Window(len(domain.values), -1)
    window = nothing if ends is None else Window(*_within(domain, *ends))
    return FixedTails(tails.units, tails.least, tails.counts, fixed=window)


def _within(domain: Numeric, low: float, high: float) -> tuple[int, int]:
    """The codes of the first and the last number between two."""
    first, stop = np.searchsorted(domain.values, low), np.searchsorted(domain.values, high, side="right")
    return int(first), int(stop) - 1


def edges_of(table: Table, rows: NDArray[np.uint32], output: Output) -> dict[str, tuple[float, float] | None]:
    """What the first release fixes; nothing where ends are tight, as those of declared levels are."""
    if output.edges == "tight":
        return {}
    tails = Tails.of(table)
    edges: dict[str, tuple[float, float] | None] = {}
    for attribute in table.attributes:
        domain = attribute.domain
        if isinstance(domain, Numeric) and domain.bands is None:
            window = tails.window(attribute.codes, rows, len(domain.values))
            low, high = (None, None) if window.empty else (domain.values[window.low], domain.values[window.high])
            edges[attribute.name] = None if low is None or high is None else (float(low), float(high))
    return edges


def levels_around(table: Table, partition: Partition, wished: NDArray[np.int16]) -> NDArray[np.int16]:
    """(classes, attributes) the levels of classes, at least the `wished` ones (classes, attributes), and as high as it
    takes for all people of a class to share the node that it shows.

    People who share a node share those above it, so that the lowest level at which they do is enough.
    """
    levels = wished.copy()
    for index, attribute in enumerate(table.attributes):
        leaves = attribute.generalization.leaf_of(attribute.codes[partition.order])
        unsettled = np.ones(partition.count, np.bool_)
        for level, nodes in enumerate(attribute.hierarchy.levels):
            node_of = nodes[leaves]
            low, high = (each.reduceat(node_of, partition.starts[:-1]) for each in (np.minimum, np.maximum))
            settled = unsettled & (low == high)
            levels[settled, index] = np.maximum(levels[settled, index], level)
            unsettled &= ~settled
            if not unsettled.any():
                break
    return levels


def levelled(table: Table, partition: Partition, of_row: NDArray[np.int16]) -> Levels:
    """Classes at the levels (rows, attributes) that their people have had so far."""
    wished = of_row[partition.order[partition.starts[:-1]]]
    return Levels(partition, levels_around(table, partition, wished), NOBODY, {"levels": "by class"}, withheld=True)


def joined(partitions: Sequence[Partition]) -> Partition:
    """The classes of several partitions of different rows."""
    return Partition.of_blocks([each.order for each in partitions], [each.sizes for each in partitions])


def without_rows(partition: Partition, dropped: NDArray[np.bool_]) -> Partition:
    """The classes without some rows (rows of the table,)."""
    staying = ~dropped[partition.order]
    labels = partition.labels[staying]
    sizes = np.bincount(labels, minlength=partition.count)
    return Partition.of_blocks([partition.order[staying]], [sizes[sizes > 0]])


# --- classes that are cut further -------------------------------------------------------------------------------------
# Classes of a release, cut further where the people of every part are enough: Mondrian from the cuts so far.
#
# Each class is of one history. Its parts have to meet the guarantee, and to have the reserve beside k: a class that has
# become small is left as it is.

ROWS_REFINED = 125_000
"""Rows that are looked at when new classes are refined, over all passes."""
PASSES = 20
"""Passes, where the request leaves them to the search."""


Rule: TypeAlias = Callable[..., CutRule]
"""Makes a rule by which classes are cut, of what all rules are made with."""


def further_cut(request: Request) -> Rule | None:
    """What makes the rule by which classes of the release before are cut; None where they are taken as they were.
    In place of one that looks at more than the quasi-identifiers it is the first of those that do not."""
    if request.algorithm != mondrian.ID or request.options.mask_minimality:
        return None
    cut = request.options.cut if request.options.cut in mondrian.CANDIDATES else mondrian.CANDIDATES[0]
    return partial(RULES[cut], **mondrian.ties_of(cut, request.options.ties))


def lasting(request: Request, people: int) -> Request:
    """The request as it is run on people who come. Their classes last for as long as the series, so that Mondrian's are
    refined, in as many passes as `ROWS_REFINED` allows: classes of a series lie among each other in any case."""
    options = request.options
    if request.algorithm != mondrian.ID or options.mask_minimality or options.refine:
        return request
    passes = min(options.passes or PASSES, ROWS_REFINED // people)
    return request if not passes else replace(request, options=replace(options, refine=True, passes=passes))


def finer(
    table: Table, published: PublishedValues, history: Ints, partition: Partition, cut: Rule, minimum: int
) -> Partition:
    """The classes that a rule, made by `cut`, cuts the larger ones of a partition into, beside the smaller ones.
    `history` (rows,): of each row of the table. A part is allowed where the models hold of any so many people of its
    history, so that no cut depends on who of them has which value."""
    large = partition.sizes >= 2 * minimum
    if not large.any():
        return partition
    rule = cut(
        domains=[attribute.domain for attribute in table.attributes],
        weights=[attribute.weight for attribute in table.attributes],
        minimum=minimum,
        relaxed=False,
    )

    def allowed(batch: Batch, part: Ints, parts: int) -> Bools:
        of_part = np.zeros(parts, np.int64)
        of_part[part] = history[batch.rows]
        return published.hold(of_part, np.bincount(part, minlength=parts))

    parts = grow(_batch(table, partition, np.flatnonzero(large)), rule, allowed, 1, lambda rows: None)
    rest = np.repeat(~large, partition.sizes)
    return Partition.of_blocks([parts.order, partition.order[rest]], [parts.sizes, partition.sizes[~large]])


def _batch(table: Table, partition: Partition, classes: Ints) -> Batch:
    """Some classes of a partition, none of them cut yet."""
    sizes = partition.sizes[classes]
    rows = partition.order[concatenated_ranges(partition.starts[:-1][classes], sizes)]
    shape = (len(classes), len(table.attributes))
    columns = tuple(attribute.codes[rows] for attribute in table.attributes)
    return Batch(rows, columns, (), sizes, np.zeros(shape, np.bool_), np.zeros(shape, np.uint8))
