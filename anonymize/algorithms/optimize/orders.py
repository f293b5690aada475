"""Orders of siblings: which values an interval of categories may hold together.

A hierarchy says what lies under one node, and not which of the nodes under it come side by side. The search takes them
as they are listed; another order of the same hierarchies has other intervals, of which some may cost less. The orders
that are tried: as listed; by their rows, the most frequent first; by their labels; then at random, by fixed seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from anonymize.classes import Codes, Ints
from anonymize.domain.taxonomy import Taxonomy
from anonymize.table import Attribute, Table

LISTED = "listed"
"""The order that a hierarchy's file has."""


def orders(table: Table, count: int) -> Iterator[tuple[str, Table]]:
    """So many orders, each by name with the table in it; those that change nothing are left out, but the first."""
    yield LISTED, table
    names = ["rows", "labels", *(f"random {seed}" for seed in range(count))]
    for name in names[: count - 1]:
        attributes = tuple(_reordered(each, name) for each in table.attributes)
        if any(one is not other for one, other in zip(attributes, table.attributes, strict=True)):
            yield name, replace(table, attributes=attributes)


def _reordered(attribute: Attribute, name: str) -> Attribute:
    """The attribute with its siblings in another order, or itself where that is the order that they have."""
    domain = attribute.domain
    if not isinstance(domain, Taxonomy):
        return attribute
    ranks = _ranks(domain, attribute.codes, name)
    leaves = np.lexsort([ranks[nodes] for nodes in domain.levels])  # the root's children decide first, the leaves last
    if (leaves == np.arange(domain.size)).all():
        return attribute
    place = np.empty(domain.size, np.int32)
    place[leaves] = np.arange(domain.size, dtype=np.int32)
    return replace(attribute, codes=place.astype(attribute.codes.dtype)[attribute.codes], domain=_moved(domain, leaves))


def _ranks(domain: Taxonomy, codes: Codes, name: str) -> Ints:
    """(nodes,) by what siblings are ordered; no two are equal."""
    count = len(domain.labels)
    if name.startswith("random"):
        return np.random.default_rng(int(name.split()[1])).permutation(count)
    rank = np.empty(count, np.int64)
    by_label = sorted(range(count), key=lambda node: (domain.labels[node], node))
    rank[by_label] = np.arange(count)
    if name == "rows":
        rows = np.append(0, np.cumsum(np.bincount(codes, minlength=domain.size)))
        frequent = np.lexsort([rank, rows[domain.start] - rows[domain.stop]])
        rank[frequent] = np.arange(count)
    return rank


def _moved(domain: Taxonomy, leaves: Ints) -> Taxonomy:
    """The same hierarchy with its leaves in another order, in which those under a node stay side by side."""
    nodes = np.arange(len(domain.labels))
    nodes[leaves] = np.arange(domain.size)
    old = np.argsort(nodes)
    missing = None if domain.missing is None else int(nodes[domain.missing])
    labels = [domain.labels[node] for node in old.tolist()]
    levels = nodes[domain.levels[:, leaves]].astype(np.int32)
    return Taxonomy(domain.name, levels, labels, missing, domain.weights[old])
