"""How many people of a population lie under what each class shows, from the texts of both.

A released cell is read as it stands. The suppressed text shows everything; a label, all leaves that have it above
them; an interval, written by the template of the spec or in two columns, the numbers in it, and all beyond where an
end is open; what reads `or` missing, missing values as well; any other text, itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from anonymize.records import dataclass
from anonymize.verify import table, verdict
from anonymize.verify.cells import LEFT_OUT, CellTemplates, as_number, ends_of, is_clear, number_of

PIECE = 20_000
"""How many different people of the population are looked up at a time; people who are alike count once."""


@dataclass(frozen=True)
class Shown:
    """How a quasi-identifier reads: its released columns (two are the ends of intervals, and a third one
    says whether a value may be missing), whether it is a number, and its hierarchy over the values of the population,
    if it has one."""

    name: str
    columns: Sequence[str]
    numeric: bool
    tree: verdict.Tree | None


@dataclass(frozen=True)
class People:
    """A population as text, and how cells of the release are read."""

    frame: pl.LazyFrame
    columns: Sequence[Shown]
    templates: CellTemplates
    null: str | None = None
    """What a null of the population is read as; None: missing."""
    normalize: bool = False
    """Whether texts are compared as `table.plain` has them; those of the release are already."""

    @property
    def is_clear(self) -> bool:
        """Whether intervals of numbers say whether they include their ends, where there are any numbers."""
        return is_clear(self.templates.interval) or not any(each.numeric for each in self.columns)

    def count(self) -> int:
        return int(self.frame.select(pl.len()).collect().item())

    def under(self, classes: pl.DataFrame) -> tuple[pl.Series, int]:
        """(classes,) how many people lie under each, and how many under none. `classes`: the text of every column."""
        names = [f"q{number}" for number in range(len(self.columns))]
        absent = self.templates.missing[0] if self.templates.missing else ""

        def texts(column: pl.Expr, null: str) -> pl.Expr:
            return column.cast(pl.String).fill_null(null).replace(list(self.templates.missing), absent)

        null, columns = absent if self.null is None else self.null, table.by_position(self.frame)
        own = [texts(columns[each.name], null).alias(name) for each, name in zip(self.columns, names, strict=True)]
        classes = classes.select(texts(column, absent) for column in table.by_position(classes).values())
        people = self.frame.select(own).group_by(names).agg(pl.len().alias("people")).collect(engine="streaming")
        if self.normalize:
            texts_of = [table.plain(pl.col(name)).replace("", absent) for name in names]
            people = people.with_columns(texts_of).group_by(names).agg(pl.col("people").sum())
        people = people.with_row_index("person")
        covers = [
            self._covers(each, classes, people[name].unique(), absent)
            for each, name in zip(self.columns, names, strict=True)
        ]
        steps = _prefixes(classes, self.columns)
        reached = [_reached(piece, names, covers, steps) for piece in people.iter_slices(PIECE)]
        pairs = pl.concat(reached).join(people.select("person", "people"), on="person")
        sums = pairs.group_by("step").agg(pl.col("people").sum())
        last = classes.select(step=pl.int_range(pl.len(), dtype=pl.Int64))
        matched = last.join(sums, on="step", how="left", maintain_order="left")["people"].fill_null(0).cast(pl.Int64)
        inside = people.join(pairs.select(pl.col("person").unique()), on="person", how="semi")
        return matched, int(people["people"].sum()) - int(inside["people"].sum())

    def _covers(self, attribute: Shown, classes: pl.DataFrame, values: pl.Series, absent: str) -> pl.DataFrame:
        """Which texts of the release each value lies under: `value`, and the released texts (`t0`, `t1`)."""
        texts = pl.DataFrame({f"t{number}": classes[name] for number, name in enumerate(attribute.columns)}).unique()
        hidden = texts.filter(pl.all_horizontal(pl.all() == self.templates.suppressed))
        parts = [values.to_frame("value").join(hidden, how="cross"), _labels(attribute, texts, values, absent)]
        if attribute.numeric:
            parts.append(self._numbers(texts, values, absent))
        return pl.concat([part.select("value", *texts.columns) for part in parts]).unique()

    def _numbers(self, texts: pl.DataFrame, values: pl.Series, absent: str) -> pl.DataFrame:
        """Numbers in intervals; a value that is missing under the text of missing values, and under intervals that may
        be missing instead."""
        ends = self._ends(texts, absent)
        numbers = pl.DataFrame({"value": values}).with_columns(
            number=pl.when(pl.col("value") != absent).then(number_of(pl.col("value")))
        )
        inside = numbers.drop_nulls().join_where(
            ends.drop_nulls(["low", "high"]), pl.col("low") <= pl.col("number"), pl.col("number") <= pl.col("high")
        )
        for left_out, end in zip(LEFT_OUT, ("low", "high"), strict=True):
            inside = inside.filter(~pl.col(left_out) | (pl.col("number") != pl.col(end)))
        empty = pl.all_horizontal(pl.col(name) == absent for name in texts.columns[:2])
        gone = ends.filter(empty | pl.col("or_missing"))
        nobody = numbers.filter(pl.col("value") == absent).join(gone, how="cross")
        return pl.concat([part.select("value", *texts.columns) for part in (inside, nobody)])

    def _ends(self, texts: pl.DataFrame, absent: str) -> pl.DataFrame:
        """The texts with the ends of the interval that each is, as `cells.ends_of` has them. Of a template that does
        not say whether these are included, they are left out."""
        if texts.width == 1:
            ends = ends_of(texts["t0"], self.templates).drop("text")
            unclear = pl.lit(not self.is_clear) & (pl.col("low") < pl.col("high")) & pl.col("low").is_finite()
            return texts.hstack(ends.with_columns(pl.col(name) | unclear for name in LEFT_OUT))
        low, high = (number_of(pl.col(name)) for name in ("t0", "t1"))
        left_out = self.templates.leaves_out_high(texts["t0"], texts["t1"])
        no_low, no_high = (pl.col(name).str.strip_chars().is_in(["", absent]) for name in ("t0", "t1"))
        return texts.with_columns(
            low=pl.when(no_low & high.is_not_null()).then(-math.inf).otherwise(low),
            high=pl.when(no_high & low.is_not_null()).then(math.inf).otherwise(high),
            or_missing=pl.col("t2") == "maybe" if texts.width == 3 else pl.lit(False),
            without_low=pl.lit(False),
            without_high=pl.lit(left_out) & (low < high).fill_null(False),
        )


def texts_of_classes(rows: table.TextRows, names: Sequence[str]) -> pl.DataFrame:
    """One row a class, in their order: the text of each quasi-identifier, or null."""
    first = rows.classes.firsts
    own = zip(names, rows.columns, strict=True)
    return pl.DataFrame({name: each.by_number.gather(each.numbers.of_row.gather(first)) for name, each in own})


def kept(domains: Sequence[People], classes: pl.DataFrame) -> pl.Series:
    """(classes,) the share of the information that each keeps: 1 less the logarithm of the combinations of values that
    it may stand for over that of all there are; 0 where a cell stands for no value that is known.

    `domains`: of each quasi-identifier its different values, as a population of that column alone. `classes`: the text
    of every column.
    """
    lost, whole, unknown = pl.zeros(len(classes), pl.Float64, eager=True), 0.0, pl.lit(False)
    for each in domains:
        under = each.under(classes.select(table.by_position(classes)[name] for name in each.columns[0].columns))[0]
        unknown |= under == 0
        lost += under.clip(1).cast(pl.Float64).log(2)
        whole += math.log2(max(each.count(), 1))
    shares = lost.to_frame("lost").select(pl.when(unknown).then(1.0).otherwise(pl.col("lost") / (whole or 1.0)))
    return (1 - shares.to_series()).clip(0, 1)


def _labels(attribute: Shown, texts: pl.DataFrame, values: pl.Series, absent: str) -> pl.DataFrame:
    """Values under their own text, and under the labels above them in the hierarchy; where there are two columns, in
    both alike.

    Numbers are under the labels alone: `05` is not shown as `5`, but it lies in the interval that `5` is.
    """
    tree: Mapping[str, tuple[str, ...]] = attribute.tree or {}
    if attribute.numeric:
        by_number = {number: path for leaf, path in tree.items() if (number := as_number(leaf)) is not None}
        numbers = ((value, as_number(value)) for value in values)
        paths = [(value,) if number is None else by_number.get(number, ())[1:] for value, number in numbers]
    else:
        root = next((path[-1:] for path in tree.values()), ())
        paths = [tree.get(value, (value, *(root if value == absent else ()))) for value in values]
    labels = pl.Series([list(path) for path in paths], dtype=pl.List(pl.String))
    above = pl.DataFrame({"value": values, "label": labels})
    same = texts.filter(pl.all_horizontal(pl.col(name) == pl.col("t0") for name in texts.columns))
    return above.explode("label").join(same, left_on="label", right_on="t0", coalesce=False)


def _prefixes(classes: pl.DataFrame, attributes: Sequence[Shown]) -> list[pl.DataFrame]:
    """Attribute by attribute, from what classes show so far (`before`) and next (`t0`, `t1`) to what they show then
    (`step`); the last step is the class."""
    so_far = pl.zeros(classes.height, dtype=pl.Int64, eager=True)
    steps = []
    for number, each in enumerate(attributes):
        texts = [classes[name].alias(f"t{n}") for n, name in enumerate(each.columns)]
        frame = pl.DataFrame([so_far.alias("before"), *texts])
        if number == len(attributes) - 1:
            so_far = pl.int_range(classes.height, dtype=pl.Int64, eager=True)
        else:
            so_far = frame.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64)).to_series()
        steps.append(frame.with_columns(so_far.alias("step")).unique())
    return steps


def _reached(
    people: pl.DataFrame, names: Sequence[str], covers: Sequence[pl.DataFrame], steps: Sequence[pl.DataFrame]
) -> pl.DataFrame:
    """The classes (`step`) under which each person (`person`) lies."""
    reached = people.select("person", pl.lit(0, pl.Int64).alias("step"))
    for name, cover, step in zip(names, covers, steps, strict=True):
        texts = [column for column in step.columns if column.startswith("t")]
        values = people.select("person", value=pl.col(name))
        covered = reached.rename({"step": "before"}).join(values, on="person").join(cover, on="value")
        reached = covered.join(step, on=["before", *texts]).select("person", "step")
    return reached
