"""How categories appear where every class is a region of its own: as a node, as a set of values, or as two leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from anonymize.classes import Bools, Floats, Ints, Runs
from anonymize.domain.cells import escaped
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding.appearance import BOUNDS, InRegions
from anonymize.recoding.columns import ClassTexts, ReleasedColumn, released_columns


@dataclass(frozen=True)
class CategoricalRegions(InRegions):
    """A categorical quasi-identifier in regions."""

    domain: Taxonomy

    def columns(self) -> list[ReleasedColumn]:
        """The column, or the two, that the output's `categorical` asks for."""
        if self.output.categorical == "bounds":
            return released_columns(self.name, self._bounds(), BOUNDS, self.output.suppressed)
        one = self._sets() if self.output.categorical == "set" else self._nodes()
        return released_columns(self.name, [one], [""], self.output.suppressed)

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of the lowest node that covers each class, which is that of a set, too; of a label
        that several nodes have, those of the node that it is read as."""
        ncp, loss = self.domain.cost(self.low, self.high), self.domain.loss(self.low, self.high)
        if self.output.categorical == "node" and self.domain.twofold:
            labelled = self._labelled()
            ncp[labelled], loss[labelled] = self.domain.shown_cost(self.domain.lca(self.low, self.high)[labelled])
        return ncp, loss

    def _labelled(self) -> Bools:
        """(classes,) which classes read as a node."""
        return np.ones(len(self.low), np.bool_)

    def _nodes(self) -> ClassTexts:
        low, high, of_class = self._distinct()
        return self.domain.node_text(low, high), of_class

    def _bounds(self) -> list[ClassTexts]:
        """The first and the last leaf under each class's node."""
        low, high, of_class = self._distinct()
        node = self.domain.lca(low, high)
        return leaf_positions(self.domain, self.domain.start[node], self.domain.stop[node] - 1, of_class)

    def _sets(self) -> ClassTexts:
        """The values present in each class, in leaf order: `{a|b}`, or the one value alone.

        The distinct values of all classes are counted at once and come class by class in leaf order, so that joining
        the texts of each group gives its set.
        """
        labels = np.repeat(np.arange(self.partition.count), self.partition.sizes)
        codes = self.codes[self.partition.order]
        runs = Runs.count_values(labels, codes, self.partition.count, self.domain.size)
        leaves = pl.Series([escaped(text) for text in self.domain.leaf_text()])
        several = pl.col("count") > 1
        sets = (
            pl.DataFrame({"class": runs.classes, "text": leaves.gather(runs.codes)})
            .group_by("class", maintain_order=True)
            .agg(pl.col("text").str.join("|"), pl.len().alias("count"))
            .select(text=pl.when(several).then("{" + pl.col("text") + "}").otherwise("text"))
            .with_columns(number=pl.col("text").rank("dense") - 1)
        )
        return sets["text"].unique().sort().to_list(), sets["number"].cast(pl.Int64).to_numpy()


@dataclass(frozen=True)
class CategoricalIntervals(CategoricalRegions):
    """A categorical quasi-identifier whose classes are intervals of leaves that need not be nodes.

    An interval that is a node reads as the node, any other as the set of its values; as bounds it reads as its own
    ends, not as those of a node above it.
    """

    def _labelled(self) -> Bools:
        node = self.domain.lca(self.low, self.high)
        whole = (self.domain.start[node] == self.low) & (self.domain.stop[node] == self.high.astype(np.int64) + 1)
        return np.asarray(whole)

    def _nodes(self) -> ClassTexts:
        whole = self._labelled()
        labels, of_label = super()._nodes()
        if whole.all():
            return labels, of_label
        sets, of_set = self._sets()
        return labels + sets, np.where(whole, of_label, len(labels) + of_set)

    def _bounds(self) -> list[ClassTexts]:
        return leaf_positions(self.domain, *self._distinct())


def leaf_positions(domain: Taxonomy, first: Ints, last: Ints, of_class: Ints) -> list[ClassTexts]:
    """Two columns of leaves, counted from 0 in leaf order: the first and the last (n,) of each text.

    Both show the missing text where the missing leaf stands alone.
    """
    missing = (first == last) & (first == (-1 if domain.missing is None else domain.missing))
    columns: list[ClassTexts] = []
    for ends in domain.positions(first, last):
        texts = [str(leaf) for leaf in ends.tolist()]
        for index in np.flatnonzero(missing).tolist():
            texts[index] = domain.labels[int(first[index])]
        columns.append((texts, of_class))
    return columns
