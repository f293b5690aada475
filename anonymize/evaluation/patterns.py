"""The first splits of a decision tree on the original and on the release, and which patterns survived.

Every row is a region: an original value is the region of itself. A condition holds of a row where it holds of all of
its region: `from 28` where the region begins at 28 or later, `in Office` where it lies under that node. The tree asks,
at most three times in a row, the condition that tells most of the target (information gain); of ties the first
attribute's, and its lowest. A part is not split where fewer than a hundredth of the rows would be on one side, or fewer
than two. The label of a numeric target is whether it lies above its median.

A pattern is the way to a leaf of the original's tree, with the label that most of its rows have. It survived if the
release still shows it: at least half as many rows, and at least one, have regions that lie within the pattern as a
whole, and most of these have that label.

Source: Morton, Mahoui, Gibson, Yechuri, An enhanced utility-driven data anonymization method, section 6.2.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Integers, Ints
from anonymize.domain.base import Domain
from anonymize.domain.cells import numbers
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import DataError
from anonymize.evaluation.released import ReleasedTable, as_text
from anonymize.table.named import unnamed

DEPTH = 3
LEAST_SHARE = 0.01
SURVIVES = 0.5
"""Of a pattern's rows, so many have to be left for it to survive."""


@dataclass(frozen=True)
class RegionCondition:
    """That a region lies within the codes `first` to `last` of a quasi-identifier, or that it does not (`negated`)."""

    attribute: int
    first: int
    last: int
    negated: bool = False

    def holds(self, rows: LabelledRegions) -> Bools:
        """(rows,) of which it holds."""
        inside = (rows.first[:, self.attribute] >= self.first) & (rows.last[:, self.attribute] <= self.last)
        return ~inside if self.negated else inside

    def within(self, rows: LabelledRegions) -> Bools:
        """(rows,) of which it holds all over the region: a region that is partly inside is not outside."""
        if not self.negated:
            return self.holds(rows)
        return (rows.last[:, self.attribute] < self.first) | (rows.first[:, self.attribute] > self.last)


@dataclass(frozen=True)
class LabelledRegions:
    """Rows as regions of codes, `first` and `last` (rows, attributes), with `labels` (rows,) of `size` kinds."""

    first: Ints
    last: Ints
    labels: Ints
    size: int

    def chosen(self, rows: Bools) -> LabelledRegions:
        """Some of them."""
        return LabelledRegions(self.first[rows], self.last[rows], self.labels[rows], self.size)

    @property
    def counts(self) -> Ints:
        """(size,) rows of each label."""
        return np.bincount(self.labels, minlength=self.size)


@dataclass(frozen=True)
class Leaf:
    """A way down the tree, and how many rows of each label it leads to."""

    path: tuple[RegionCondition, ...]
    counts: Ints

    @property
    def label(self) -> int:
        """That of most rows; of ties the first."""
        return int(self.counts.argmax())


def compare(released: ReleasedTable, target: str) -> dict[str, Any]:
    """The block `tree`: the leaves of either tree, and the patterns of the original with what became of each.

    Raises DataError where the release does not tell the values of the target.
    """
    table = released.table
    if target not in released.targets():
        raise DataError(f"--tree {target}: {released.why_apart or 'it is not in the release'}")
    before, after, labels = _labels(released, target)
    skipped = [index for index, attribute in enumerate(table.attributes) if attribute.name == target]
    codes = np.stack([attribute.codes.astype(np.int64) for attribute in table.attributes], axis=1)
    evidence = released.evidence()
    first, last = evidence.first[evidence.class_of], evidence.last[evidence.class_of]
    domains = [attribute.domain for attribute in table.attributes]
    pairs = [LabelledRegions(codes, codes, before, len(labels)), LabelledRegions(first, last, after, len(labels))]
    sides = [rows.chosen(rows.labels >= 0) for rows in pairs]
    trees = [list(_grow(rows, domains, skipped, rows, ())) for rows in sides]
    names = [attribute.name for attribute in table.attributes]
    described = [[_described(leaf, names, domains, labels) for leaf in tree] for tree in trees]
    patterns = [_became(leaf, sides[1]) for leaf in trees[0]]
    return {
        "target": target,
        "original": described[0],
        "release": described[1],
        "patterns": [leaf | became for leaf, became in zip(described[0], patterns, strict=True)],
        "survived": sum(became["survived"] for became in patterns),
    }


def _labels(released: ReleasedTable, target: str) -> tuple[Ints, Ints, list[str]]:
    """(rows,) label of each row of the original and of the release, -1 for none, and how labels read."""
    source, spec = released.table.source, released.spec
    original = as_text(pl.concat(list(source.batches([target])))[target], spec, source.format)
    original = unnamed(original)
    there = original.gather(released.rows) if target in spec.quasi_identifiers else unnamed(released.frame[target])
    if spec.targets()[target] == "numeric":
        values = [numbers(column).fill_null(np.nan).to_numpy() for column in (original, there)]
        middle = float(np.nanmedian(values[0])) if not np.isnan(values[0]).all() else 0.0
        before, after = (np.where(np.isnan(each), -1, each > middle).astype(np.int64) for each in values)
        return before, after, [f"at most {middle:g}", f"above {middle:g}"]
    labels = sorted(original.fill_null("").unique().to_list())
    code_of = {label: code for code, label in enumerate(labels)}
    codes = [
        np.array([code_of.get(label, -1) for label in column.fill_null("")], np.int64) for column in (original, there)
    ]
    return codes[0], codes[1], [label or "(missing)" for label in labels]


# --- the tree --------------------------------------------------------------------------------------------------------


def _grow(
    rows: LabelledRegions,
    domains: Sequence[Domain],
    skipped: Sequence[int],
    every: LabelledRegions,
    path: tuple[RegionCondition, ...],
) -> Iterator[Leaf]:
    """The leaves below some rows; first those of which a condition holds."""
    best = None if len(path) == DEPTH else _best(rows, domains, skipped, max(2, int(LEAST_SHARE * len(every.labels))))
    if best is None:
        yield Leaf(path, rows.counts)
        return
    holds = best.holds(rows)
    for negated, part in ((False, holds), (True, ~holds)):
        side = RegionCondition(best.attribute, best.first, best.last, negated)
        yield from _grow(rows.chosen(part), domains, skipped, every, (*path, side))


def _best(
    rows: LabelledRegions, domains: Sequence[Domain], skipped: Sequence[int], least: int
) -> RegionCondition | None:
    """The condition that tells most; None where none tells anything."""
    whole = _entropy(rows.counts[None])[0]
    best, gained = None, 1e-9 * (whole + 1)
    for index, domain in enumerate(domains):
        if index in skipped:
            continue
        for first, last, inside in _candidates(rows, index, domain):
            gains = _gains(inside, rows.counts, whole, least)
            if len(gains) and gains.max() > gained:
                which = int(gains.argmax())
                best, gained = RegionCondition(index, int(first[which]), int(last[which])), float(gains[which])
    return best


def _candidates(rows: LabelledRegions, index: int, domain: Domain) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Conditions on one attribute: first and last code of each, and (conditions, labels) rows of which it holds.

    Of numbers, those that begin at a value or later; of categories, those under each node but the root.
    """
    first, last = rows.first[:, index], rows.last[:, index]
    if isinstance(domain, Numeric):
        top = domain.size - 1 if domain.missing is None else domain.size - 2
        present = last <= top
        counts = _table(first[present], rows.labels[present], domain.size, rows.size)
        inside = counts[::-1].cumsum(axis=0)[::-1]
        starts = np.flatnonzero(counts.any(axis=1))[1:]
        yield starts, np.full(len(starts), top), inside[starts]
        return
    assert isinstance(domain, Taxonomy)
    inside = _table(domain.lca(first, last), rows.labels, len(domain.labels), rows.size)
    for node in range(domain.root):  # a parent's number is above its children's
        inside[domain.parent[node]] += inside[node]
    nodes = np.flatnonzero(inside[:-1].any(axis=1))
    yield domain.start[nodes], domain.stop[nodes] - 1, inside[nodes]


def _table(codes: Integers, labels: Ints, size: int, kinds: int) -> Ints:
    return np.bincount(codes.astype(np.int64) * kinds + labels, minlength=size * kinds).reshape(size, kinds)


def _gains(inside: Ints, counts: Ints, whole: float, least: int) -> Floats:
    """(conditions,) bits by which each lowers the entropy; nothing where a side has fewer than `least` rows."""
    outside = counts - inside
    sizes = inside.sum(axis=1), outside.sum(axis=1)
    left = (_entropy(inside) * sizes[0] + _entropy(outside) * sizes[1]) / max(int(counts.sum()), 1)
    return np.where(np.minimum(*sizes) >= least, whole - left, 0.0)


def _entropy(counts: Ints) -> Floats:
    """(n,) entropy in bits of each row of counts (n, labels)."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1))


# --- as it reads ------------------------------------------------------------------------------------------------------


def _became(leaf: Leaf, released: LabelledRegions) -> dict[str, Any]:
    """What the release shows of a pattern."""
    within = np.ones(len(released.labels), np.bool_)
    for condition in leaf.path:
        within &= condition.within(released)
    counts = released.chosen(within).counts
    rows, label = int(counts.sum()), leaf.label
    survived = rows >= max(1.0, SURVIVES * float(leaf.counts.sum())) and int(counts.argmax()) == label
    share = float(counts[label] / rows) if rows else None
    return {"rows_in_release": rows, "share_in_release": share, "survived": bool(survived)}


def _described(leaf: Leaf, names: Sequence[str], domains: Sequence[Domain], labels: Sequence[str]) -> dict[str, Any]:
    rows = int(leaf.counts.sum())
    return {
        "conditions": [_read(condition, names, domains) for condition in _needed(leaf.path, domains)],
        "rows": rows,
        "label": labels[leaf.label] if labels else "",
        "share": float(leaf.counts[leaf.label] / rows) if rows else None,
    }


def _needed(path: Sequence[RegionCondition], domains: Sequence[Domain]) -> list[RegionCondition]:
    """The conditions without those that follow from others: of numbers, the last of either side says it all."""
    last = {(each.attribute, each.negated): index for index, each in enumerate(path)}
    numeric = [isinstance(domain, Numeric) for domain in domains]
    return [
        each
        for index, each in enumerate(path)
        if not numeric[each.attribute] or last[each.attribute, each.negated] == index
    ]


def _read(condition: RegionCondition, names: Sequence[str], domains: Sequence[Domain]) -> str:
    """A condition as people read it. Missing numbers are on the side of what is not."""
    domain, name = domains[condition.attribute], names[condition.attribute]
    if isinstance(domain, Numeric):
        value = domain.leaf_text()[condition.first]
        return f"{name} {'not ' if condition.negated else ''}from {value}"
    assert isinstance(domain, Taxonomy)
    label = domain.node_text(np.array([condition.first]), np.array([condition.last]))[0]
    return f"{name} {'not ' if condition.negated else ''}in {label}"
