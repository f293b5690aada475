"""How far the sensitive values of each class are from those of the whole table, by distances that need an order or a
tree of the values: the earth mover's distance, each written from its definition.

`entries`: of each class, its different present values (`class`, `value`, `count`), ascending.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import polars as pl

from anonymize.errors import RowsError, counted
from anonymize.records import dataclass
from anonymize.verify.cells import as_number
from anonymize.verify.numbering import summed
from anonymize.verify.table import TextRows, numbered_values, plain_texts, values_of
from anonymize.verify.verdict import Subject, Tree


@dataclass(frozen=True)
class Overall:
    """A sensitive attribute in the table as a whole. `entries`: of its classes; `rows`: of the table, with what means
    `missing`; `tree`: its hierarchy."""

    entries: pl.DataFrame
    rows: TextRows
    subject: Subject
    missing: Sequence[str]
    tree: Tree | None

    @property
    def attribute(self) -> str:
        return self.subject.attribute or ""

    @cached_property
    def texts(self) -> pl.Series | None:
        """How its values read, in the order of values; None of numbers. Values are numbers of texts, from 1."""
        return None if self.subject.numeric else texts_of(self.rows, self.subject, self.missing)

    @cached_property
    def uncounted(self) -> int:
        """How many of its different texts look like another one or read as unknown; 0 of numbers."""
        return 0 if self.subject.numeric else uncounted(self.rows, self.subject._replace(alike=True), self.missing)

    def codes_of(self, values: Sequence[str]) -> dict[str, float | None]:
        """What `entries` calls each of some values; None for one that the table does not have."""
        if self.texts is None:
            known = {number: number for number in self.counts["value"]}  # whole ones stay whole
            return {value: known.get(as_number(value)) for value in values}
        places = dict(ranked_texts(self.rows, self.subject, self.missing).iter_rows())
        return {value: places.get(value, places.get(plain_texts([value])[0])) for value in values}

    @cached_property
    def counts(self) -> pl.DataFrame:
        """Its different values, in the order of values (`value`, `count`)."""
        return self.entries.group_by("value").agg(pl.col("count").sum()).sort("value")

    def guarded(self, values: Sequence[str]) -> dict[str, object]:
        """What figures need to know of protected values: what `entries` calls those that occur, and their share of the
        table."""
        codes = [code for code in self.codes_of(values).values() if code is not None]
        mine = self.counts.filter(pl.col("value").is_in(codes))
        share = mine["count"].to_numpy().sum() / max(self.counts["count"].to_numpy().sum(), 1)
        return {"guarded": mine["value"].to_list(), "guarded share": float(share)}

    @property
    def shares(self) -> pl.DataFrame:
        """`value`, its share (`overall`), and how many there are (`kinds`)."""
        share = pl.col("count") / pl.col("count").sum()
        return self.counts.select("value", overall=share, kinds=pl.len())

    def ordered(self, entries: pl.DataFrame) -> pl.DataFrame:
        """The ordered distance of each class; without a tree in the order of values, else in that of its leaves."""
        if self.tree is None or self.texts is None:
            return ordered(entries, self.counts)
        place = {leaf: number for number, leaf in enumerate(self.tree)}
        return ordered(entries, self.counts[pl.Series([place[leaf] for leaf in self._leaves]).arg_sort()])

    def hierarchical(self, entries: pl.DataFrame) -> pl.DataFrame:
        tree = self.tree or {}
        return hierarchical(entries, self.counts, [tree[leaf] for leaf in self._leaves])

    @cached_property
    def _leaves(self) -> list[str]:
        """The leaf of each value of `counts`. Raises RowsError for values that are none."""
        known: Mapping[object, str] = {leaf: leaf for leaf in self.tree or {}}
        if self.texts is None:
            known = {number: leaf for leaf in reversed(list(known.values())) if (number := as_number(leaf)) is not None}
            leaves = [known.get(value) for value in self.counts["value"]]
        else:
            leaves = [known.get(self.texts[value - 1]) for value in self.counts["value"]]
        if unknown := [value for value, leaf in zip(self.counts["value"], leaves, strict=True) if leaf is None]:
            rows = values_of(self.rows, self.subject, self.missing).is_in(unknown).fill_null(False)
            message = f"column {self.attribute}: {len(unknown)} of its values are not leaves of its hierarchy"
            raise RowsError(f"{message}, in {counted(int(rows.sum()), 'row')}", rows.arg_max() or 0)
        return [leaf for leaf in leaves if leaf is not None]


def texts_of(rows: TextRows, subject: Subject, missing: Sequence[str]) -> pl.Series:
    """The different present texts of a categorical attribute: the value n of `entries_of` is the n-th, from 1."""
    return ranked_texts(rows, subject, missing).unique("rank", keep="first", maintain_order=True)["text"]


def ranked_texts(rows: TextRows, subject: Subject, missing: Sequence[str]) -> pl.DataFrame:
    """Every present `text` of a categorical attribute, and its `rank`: the value that `entries_of` calls it. In the
    order of both; texts of one rank look alike."""
    column, values = numbered_values(rows, subject, missing)
    return pl.DataFrame([column.by_number, values["rank"]]).filter(pl.col("rank") > 0).sort("rank", "text")


def uncounted(rows: TextRows, subject: Subject, missing: Sequence[str]) -> int:
    """How many different present texts of a categorical attribute do not count by themselves."""
    ranked = ranked_texts(rows, subject, missing)
    return ranked_texts(rows, subject._replace(alike=False), missing).height - ranked["rank"].n_unique()


def ordered(entries: pl.DataFrame, overall: pl.DataFrame) -> pl.DataFrame:
    """The ordered distance of each class (`class`, `ordered`).

    `overall`: the values of the table, in their order, and how many rows have each (`value`, `count`).

    What is moved goes from the u-th part of the class to the u-th part of the table, u from 0 to 1, which of all ways
    is the shortest. A value of the class takes a stretch of u, from `before` to `upto`. The ranks of the table over
    such a stretch rise: those up to the value's own rank lie below it, the others above.
    """
    last = overall.height - 1
    ladder = overall.with_columns(upto=pl.col("count").cum_sum() / pl.col("count").sum())
    rank = ladder.select("value", rank=pl.int_range(pl.len(), dtype=pl.Int64), own=pl.col("upto"))
    stretches = entries.join(rank, on="value").sort("class", "rank").with_columns(_stretch())
    middle = stretches.select(pl.col("own").clip(pl.col("before"), pl.col("upto"))).to_series()
    at_before, at_middle, at_upto = (
        _ranks_up_to(ladder["upto"], points) for points in (stretches["before"], middle, stretches["upto"])
    )
    own = stretches["rank"]
    moved = own * (middle - stretches["before"]) - (at_middle - at_before)
    moved += (at_upto - at_middle) - own * (stretches["upto"] - middle)
    work = stretches.select("class", work=moved).group_by("class").agg(summed(pl.col("work")))
    return work.select("class", ordered=pl.col("work") / max(last, 1))


def _stretch() -> list[pl.Expr]:
    """Where each value of a class begins and ends, of its class."""
    total, upto = pl.col("count").sum().over("class"), pl.col("count").cum_sum().over("class")
    return [((upto - pl.col("count")) / total).alias("before"), (upto / total).alias("upto")]


def _ranks_up_to(upto: pl.Series, points: pl.Series) -> pl.Series:
    """The ranks of the table, which are steps that end at `upto`, summed over the stretch from 0 to each point."""
    step = pl.Series(upto.search_sorted(points, side="left")).cast(pl.Int64).clip(0, len(upto) - 1)
    begins = upto.shift(1, fill_value=0.0)
    area = ((upto - begins) * pl.int_range(len(upto), eager=True)).cum_sum().shift(1, fill_value=0.0)
    return area.gather(step) + (points - begins.gather(step)) * step


def hierarchical(entries: pl.DataFrame, overall: pl.DataFrame, paths: Sequence[Sequence[str]]) -> pl.DataFrame:
    """The hierarchical distance of each class (`class`, `hierarchical`).

    `paths`: of each value of `overall`, the labels of its nodes from the leaf to the root. A node is its label and
    those above it. Under every node of the height h, what children have too much goes to those that have too little,
    as far as it is enough: the smaller of the two costs h over the height of the tree. A class has too much under a
    node only of values that it has.
    """
    height = max(map(len, paths), default=1) - 1
    if height < 1:
        return entries.select(pl.col("class").unique()).with_columns(hierarchical=pl.lit(0.0))
    full = [(*[path[0]] * (height + 1 - len(path)), *path) for path in paths]
    number: dict[tuple[str, ...], int] = {}
    nodes = {f"n{h}": [number.setdefault(path[h:], len(number)) for path in full] for h in range(height + 1)}
    tree = overall.with_columns(pl.DataFrame(nodes)).with_columns(share=pl.col("count") / pl.col("count").sum())
    own = entries.with_columns(share=pl.col("count") / pl.col("count").sum().over("class")).drop("count")
    own = own.join(tree.drop("share", "count"), on="value")
    moved = [_moved_under(own, tree, h).with_columns(pl.col("moved") * h / height) for h in range(1, height + 1)]
    return pl.concat(moved).group_by("class").agg(hierarchical=summed(pl.col("moved")))


def _moved_under(own: pl.DataFrame, tree: pl.DataFrame, h: int) -> pl.DataFrame:
    """What goes from child to child under the nodes of a height, in each class (`class`, `moved`)."""
    child, node, extra = f"n{h - 1}", f"n{h}", pl.col("share") - pl.col("table")
    table = tree.group_by(child).agg(table=summed(pl.col("share")))
    whole = tree.group_by(node).agg(table=summed(pl.col("share")))
    children = own.group_by("class", node, child).agg(summed(pl.col("share")))
    surplus = children.join(table, on=child).group_by("class", node)
    nodes = surplus.agg(summed(pl.col("share")), surplus=summed(extra.clip(0)))
    lack = pl.col("surplus") - extra
    surpluses = nodes.join(whole, on=node).with_columns(moved=pl.min_horizontal("surplus", lack))
    return surpluses.group_by("class").agg(summed(pl.col("moved")).clip(0))
