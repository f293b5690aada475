"""A table of which only counts are at hand: its different rows, as far as they are looked at, and how many of each.

So a table can be measured where its rows are not. What is measured class by class is measured of any classes that are
whole, by themselves (`measure_part`), and put together (`merged`): the worst figure is the worst of all, and what fails
adds up. What is measured of sizes alone needs no more than how many classes there are of each size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from anonymize.claims import Result, overall
from anonymize.records import dataclass
from anonymize.verify import columns, distances, measuring, numbering, twins
from anonymize.verify.risk import class_sizes, risk, size_ranges
from anonymize.verify.table import TextRows, TextTable, plain, plain_texts, read, values_of
from anonymize.verify.verdict import Check, Subject, Tree, Verdict

ROWS = "# rows"
"""The column of how many rows read so."""


@dataclass(frozen=True)
class TextReading:
    """How a table is read. `quasi_identifiers`: its columns as released; `attributes`: the column of each sensitive
    attribute that is looked at. `missing`: texts that mean missing.
    `null_missing`: a null means so, too; else it is the empty text. `numbers`: columns in which a suppressed cell is a
    null, where they have numbers. `normalize`: texts are compared without what cannot be seen."""

    quasi_identifiers: tuple[str, ...]
    attributes: Mapping[str, str]
    missing: tuple[str, ...]
    suppressed: str
    null_missing: bool = True
    normalize: bool = False
    numbers: frozenset[str] = frozenset()

    @property
    def compared(self) -> TextReading:
        """The reading of texts that have been made comparable."""
        if not self.normalize:
            return self
        (suppressed,), missing = plain_texts([self.suppressed]), plain_texts([*self.missing, ""])
        return replace(self, suppressed=suppressed, missing=tuple(missing), normalize=False)

    @property
    def fill(self) -> str | None:
        """What a null is read as."""
        return "" if not self.null_missing or "" in self.compared.missing else None

    def texts(self, frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        """Columns as texts that are equal where they are compared as equal."""
        kinds = frame.schema
        blank = frozenset(name for name in self.numbers if name in kinds and kinds[name].is_numeric())
        table = TextTable(frame.lazy(), (), (), self.fill, numbers=blank)
        texts = {name: table.text(name) for name in names}
        return frame.select(**{name: plain(text) if self.normalize else text for name, text in texts.items()})


@dataclass(frozen=True)
class CountedValues:
    """A sensitive attribute in the whole table, of `subject`: its different `texts`, without null, and the `rows` that
    have each. `tree`: see `Check`."""

    subject: Subject
    texts: pl.Series
    rows: pl.Series
    missing: tuple[str, ...]
    tree: Tree | None = None

    def overall(self) -> distances.Overall:
        """What classes are compared with."""
        one_class = pl.repeat(0, len(self.texts), dtype=pl.UInt32, eager=True)
        entries = self.entries(one_class, self.texts, self.rows)
        return distances.Overall(entries, self._rows(self.texts), self.subject, self.missing, self.tree)

    def entries(self, classes: pl.Series, texts: pl.Series, rows: pl.Series) -> pl.DataFrame:
        """The `table.entries_of` of rows that are in some classes, have these texts, and stand for so many rows: in the
        order of classes, then of values, numbered as in the whole table."""
        values = values_of(self._rows(texts), self.subject, self.missing)
        frame = pl.DataFrame([classes.alias("class"), values, rows.cast(pl.Int64).alias("count")])
        present = frame.drop_nulls("value")
        return present.group_by("class", "value").agg(pl.col("count").sum()).sort("class", "value")

    def _rows(self, texts: pl.Series) -> TextRows:
        places = pl.Series(range(1, len(self.texts) + 1), dtype=pl.UInt32)
        codes = texts.replace_strict(self.texts, places, default=None, return_dtype=pl.UInt32).fill_null(0)
        column = columns.NumberedColumn(numbering.Numbering(codes, len(self.texts) + 1), self.texts)
        return TextRows(numbering.Numbering(codes, 1), None, {self.subject.attribute or "": column}, None)


@dataclass(frozen=True)
class MeasuredPart:
    """Some classes of a table, measured. `sizes`: how many `classes` there are of each `size`, those that are
    `suppressed` apart. `results`: of the checks that are about attributes, in their order."""

    sizes: pl.DataFrame
    results: tuple[Result, ...]


def measure_part(
    frame: pl.DataFrame, reading: TextReading, checks: Sequence[Check], values: Mapping[Subject, CountedValues]
) -> MeasuredPart:
    """Measures classes that are whole, from their different rows: texts as `TextReading.texts` makes them, and `ROWS`.

    `checks`: those that are about attributes. `values`: of these, as they stand and with those that look alike as one.
    """
    names = reading.quasi_identifiers
    rows = read(TextTable(frame.lazy(), names, (), None), (), reading.suppressed)
    of_row = rows.classes.dense.of_row.cast(pl.UInt32)
    own_rows = pl.DataFrame([of_row.alias("class"), frame[ROWS].cast(pl.Int64).alias("rows"), _hidden(frame, reading)])
    classes = own_rows.group_by("class").agg(pl.col("rows").sum(), pl.col("suppressed").all()).sort("class")
    classes = classes.with_columns(size="rows")
    results: dict[int, Result] = {}

    def classed(subject: Subject, tree: Tree | None) -> tuple[measuring.Pieces, distances.Overall]:
        texts = frame[reading.attributes[subject.attribute or ""]]
        return [(classes, values[subject].entries(of_row, texts, frame[ROWS]))], values[subject].overall()

    for subject in dict.fromkeys(each.as_they_stand for each in values):
        mine = [place for place, check in enumerate(checks) if check.subject.as_they_stand == subject]
        measured = measuring.check_classes([checks[place] for place in mine], classed, classes)
        results |= dict(zip(mine, measured, strict=True))
    sizes = classes.group_by("size", "suppressed").agg(classes=pl.len().cast(pl.Int64))
    return MeasuredPart(sizes, tuple(results[place] for place in range(len(checks))))


def _hidden(frame: pl.DataFrame, reading: TextReading) -> pl.Series:
    """Whether every cell of a row reads as a suppressed one does."""
    blank = [name for name in reading.quasi_identifiers if name in reading.numbers]
    cells = [
        pl.col(name).is_null() if name in blank else (pl.col(name) == reading.suppressed).fill_null(False)
        for name in reading.quasi_identifiers
    ]
    return frame.select(suppressed=pl.all_horizontal(cells)).to_series()


def merged(parts: Sequence[Result]) -> Result:
    """One check, by its results on all parts of a table, of which each has a class."""
    first = parts[0]
    achieved = {
        name: value
        if name not in _BOUNDED[first.model]
        else _worst(first.model, name, [p.achieved[name] for p in parts])
        for name, value in first.achieved.items()
    }
    return replace(
        first,
        achieved=achieved,
        state=overall(each.state for each in parts),
        failing_classes=sum(each.failing_classes for each in parts),
        failing_rows=sum(each.failing_rows for each in parts),
        alike=max(each.alike for each in parts),
    )


_BOUNDED = {model: {bound.parameter: bound.compared for bound in bounds} for model, bounds in twins.TWINS.items()}


def _worst(model: str, parameter: str, figures: Sequence[object]) -> float | int | None:
    """The worst of figures; None where one is infinite, which no part can do better than where most is worst."""
    compared: Literal["at least", "at most", "below"] = _BOUNDED[model][parameter]
    known = [each for each in figures if isinstance(each, int | float)]
    if compared == "at least":
        return min(known, default=None)
    return max(known) if len(known) == len(figures) else None


def verdict_of(
    sizes: pl.DataFrame, checks: Sequence[Check], results: Mapping[int, Result], threshold: float
) -> tuple[Verdict, pl.Series]:
    """The table, and the sizes of its classes that are not suppressed. `sizes`: of all parts. `results`: of the checks
    that are about attributes, by their place; the others are measured here."""
    counts = sizes.group_by("size", "suppressed").agg(pl.col("classes").sum()).sort("size", "suppressed")
    blank = bool(counts["suppressed"].all())
    if blank:
        counts = counts.with_columns(suppressed=pl.lit(False))
    each = counts.select(pl.col("size", "suppressed").repeat_by("classes")).explode("size", "suppressed")
    classes = each.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("class"), "size", "suppressed", rows="size")
    alone = [place for place in range(len(checks)) if place not in results]
    own = dict(zip(alone, measuring.of_sizes(classes, [checks[place] for place in alone]), strict=True))
    seen = classes.filter(~pl.col("suppressed"))["size"]
    everything = {**results, **own}
    verdict = Verdict(
        rows=int(classes["rows"].sum()),
        suppressed_rows=int(classes.filter("suppressed")["rows"].sum()),
        results=tuple(everything[place] for place in range(len(checks))),
        classes=class_sizes(seen),
        sizes=size_ranges(seen),
        risk=risk(classes["size"], threshold),
        blank=blank,
    )
    return verdict, seen
