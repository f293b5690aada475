"""How a quasi-identifier reads where every class is a region of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from anonymize.classes import Codes, Floats, Ints, Partition, Runs
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.recoding.columns import ReleasedColumn, Shown, named
from anonymize.spec import Output
from anonymize.table import Attribute


@dataclass(frozen=True)
class Showing:
    """One quasi-identifier under the spec's `output`, with the ends (classes,) of the classes' regions."""

    attribute: Attribute
    partition: Partition
    low: Codes
    high: Codes
    output: Output

    def columns(self) -> list[ReleasedColumn]:
        """The column, or the two, that the attribute is released as."""
        domain = self.attribute.domain
        if isinstance(domain, Taxonomy):
            if self.output.categorical == "bounds":
                return self._named(self._positions(domain), ["_low", "_high"])
            shown = [self._sets(domain) if self.output.categorical == "set" else self._nodes(domain)]
            return self._named(shown, [""])
        assert isinstance(domain, Numeric)
        if self.output.numeric == "bounds":
            return self._named(self._bounds(domain), ["_low", "_high"])
        if self.output.numeric == "interval":
            return self._named([self._interval(domain)], [""])
        points = _means if self.output.numeric == "mean" else _medians
        return self._named([self._points(domain, points(domain, self.attribute.codes, self.partition))], [""])

    def costs(self) -> tuple[Floats, Floats]:
        """(classes,) NCP and loss of each class's region; of the widened one where edges are shown, and rounded."""
        domain, shows_edges = self.attribute.domain, self.output.numeric in ("interval", "bounds")
        if isinstance(domain, Numeric) and shows_edges and self.output.edges == "rounded":
            width = domain.rounded_cost(self.low, self.high)
            return width, width
        return domain.cost(self.low, self.high), domain.loss(self.low, self.high)

    def _named(self, shown: list[Shown], suffixes: list[str]) -> list[ReleasedColumn]:
        return named(self.attribute.name, shown, suffixes, self.output.suppressed)

    def _distinct(self) -> tuple[Ints, Ints, Ints]:
        """The ends of the distinct regions, and which of them each class has."""
        keys, of_class = np.unique(self.low.astype(np.uint64) << np.uint64(32) | self.high, return_inverse=True)
        return (keys >> np.uint64(32)).astype(np.int64), (keys & np.uint64(0xFFFFFFFF)).astype(np.int64), of_class

    def _nodes(self, domain: Taxonomy) -> Shown:
        low, high, of_class = self._distinct()
        return domain.node_text(low, high), of_class

    def _positions(self, domain: Taxonomy) -> list[Shown]:
        """The first and the last leaf under each class's node."""
        low, high, of_class = self._distinct()
        node = domain.lca(low, high)
        return positions(domain, domain.start[node], domain.stop[node] - 1, of_class)

    def _interval(self, domain: Numeric) -> Shown:
        low, high, of_class = self._distinct()
        output = self.output
        return domain.interval_text(low, high, output.interval, output.edges, output.suppressed), of_class

    def _bounds(self, domain: Numeric) -> list[Shown]:
        low, high, of_class = self._distinct()
        return [(texts, of_class) for texts in domain.bounds_text(low, high, self.output.edges, self.output.suppressed)]

    def _sets(self, domain: Taxonomy) -> Shown:
        """The values present in each class, in leaf order: `{a|b}`, or the one value alone."""
        labels = np.repeat(np.arange(self.partition.count), self.partition.sizes)
        codes = self.attribute.codes[self.partition.order]
        runs = Runs.count_values(labels, codes, self.partition.count, domain.size)
        leaves = pl.Series([escaped(text) for text in domain.leaf_text()])
        several = pl.col("count") > 1
        shown = (
            pl.DataFrame({"class": runs.classes, "text": leaves.gather(runs.codes)})
            .group_by("class", maintain_order=True)
            .agg(pl.col("text").str.join("|"), pl.len().alias("count"))
            .select(text=pl.when(several).then("{" + pl.col("text") + "}").otherwise("text"))
            .with_columns(number=pl.col("text").rank("dense") - 1)
        )
        return shown["text"].unique().sort().to_list(), shown["number"].cast(pl.Int64).to_numpy()

    def _points(self, domain: Numeric, points: Floats) -> Shown:
        """One number a class; suppressed or missing where the interval is."""
        numbers, of_class = np.unique(points, return_inverse=True)
        texts = domain.spelled([format_number(number) for number in numbers.tolist()])
        texts += [self.output.suppressed, domain.missing_text or ""]
        of_class = np.where(domain.suppressed(self.low, self.high), len(texts) - 2, of_class)
        if domain.missing is not None:
            of_class = np.where(self.low == domain.missing, len(texts) - 1, of_class)
        return texts, of_class


def positions(domain: Taxonomy, first: Ints, last: Ints, of_class: Ints) -> list[Shown]:
    """Two columns of leaves, counted from 0 in leaf order: the first and the last (n,) of each text; the missing text
    where that leaf is all."""
    missing = (first == last) & (first == (-1 if domain.missing is None else domain.missing))
    shown = []
    for ends in (first, last):
        texts = [str(leaf) for leaf in ends.tolist()]
        for at in np.flatnonzero(missing).tolist():
            texts[at] = domain.labels[int(first[at])]
        shown.append((texts, of_class))
    return shown


def escaped(text: str) -> str:
    """A value as it stands in a set: backslash, `|`, `{` and `}` behind a backslash."""
    return text.translate({ord(character): "\\" + character for character in "\\|{}"})


def format_number(number: float) -> str:
    """At most six decimals, without an exponent, a trailing zero or a bare decimal point.

    >>> format_number(1e6), format_number(2.50), format_number(-0.0000001)
    ('1000000', '2.5', '0')
    """
    text = np.format_float_positional(number, precision=6, unique=True, fractional=True, trim="-")
    return "0" if text == "-0" else text


def _values(domain: Numeric) -> Floats:
    values = domain.values.astype(np.float64)
    return values if domain.missing is None else np.append(values, 0.0)


def _means(domain: Numeric, codes: Codes, partition: Partition) -> Floats:
    """(classes,) mean of each class, of distances from its first row so that sums do not overflow or lose digits.

    A class with missing values has one too, which is not shown.
    """
    values = _values(domain)[codes[partition.order]]
    first = values[partition.starts[:-1]]
    with np.errstate(over="ignore", invalid="ignore"):
        offsets = (values - np.repeat(first, partition.sizes)) / np.repeat(partition.sizes, partition.sizes)
    return np.asarray(first + np.add.reduceat(offsets, partition.starts[:-1]))


def _medians(domain: Numeric, codes: Codes, partition: Partition) -> Floats:
    """(classes,) median of each class: the mean of the two middle values where their number is even."""
    labels = np.repeat(np.arange(partition.count, dtype=np.uint64), partition.sizes)
    arranged = np.sort(labels << np.uint64(32) | codes[partition.order]) & np.uint64(0xFFFFFFFF)
    values = _values(domain)
    lower = partition.starts[:-1] + (partition.sizes - 1) // 2
    upper = partition.starts[:-1] + partition.sizes // 2
    return np.asarray((values[arranged[lower].astype(np.int64)] + values[arranged[upper].astype(np.int64)]) / 2)
