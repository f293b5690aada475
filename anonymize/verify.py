"""The second opinion: privacy and risk measured from the text of a table, by code that shares nothing with the search.

Nothing is imported from the rooms that make a release, and nothing is known of hierarchies, codes or intervals: rows
are in one class when the texts of their quasi-identifiers are the same texts. `01234` is not `1234`, a missing value is
a value, and rows that are suppressed altogether are a class like any other. Every privacy model has its twin here,
written from its definition.

How ten million rows fit: one streaming `group_by` over the texts finds the classes and keeps a 64-bit number of each;
that no two classes have the same number is checked, not hoped for. A second streaming pass then needs to keep numbers
only: that of each row's class, and a code of its sensitive value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from anonymize.errors import DataError
from anonymize.spec import Spec

THRESHOLD = 0.2
_TOLERANCE = 1e-9
_SEEDS = range(8)

Figures = dict[str, float | int | None]
Given = Mapping[str, float]
Subject = tuple[str | None, bool]
"""A sensitive attribute (None: no attribute), and whether its values are numbers."""


CSV = ("csv", "csv.gz")
"""The formats in which a null is an empty field."""


def text_of(path: Path, form: str, separator: str) -> pl.LazyFrame:
    """A table as it was written, by a plain reader; of a CSV, the text."""
    if form not in CSV:
        scan = pl.scan_parquet if form == "parquet" else pl.scan_ipc
        return scan(path, glob=False, hive_partitioning=False)
    return pl.scan_csv(
        path,
        infer_schema=False,
        separator=separator,
        with_column_names=lambda names: [name.replace('""', '"') for name in names],  # which polars leaves as they are
        glob=False,
    )


@dataclass(frozen=True)
class Check:
    """A privacy model to be measured. `numeric`: the values of the sensitive attribute are compared as numbers.

    Without `parameters` the table is measured and not judged; of the models here only recursive (c,l)-diversity cannot
    be measured without (its l).
    """

    model: str
    attribute: str | None
    parameters: Given
    numeric: bool = False


def _told(figures: Figures) -> str:
    return ", ".join(f"{name}={'none' if value is None else format(value, '.6g')}" for name, value in figures.items())


def checks_of(spec: Spec, asked: Iterable[Any]) -> list[Check]:
    """The checks that measure requirements (model, attribute, required()) of a spec, in their order."""
    numeric = {name for name, attribute in spec.sensitive.items() if attribute.type == "numeric"}
    return [Check(each.model, each.attribute, each.required(), each.attribute in numeric) for each in asked]


@dataclass(frozen=True)
class Result:
    """What a check found, over all rows. `satisfied` is None where nothing was required."""

    model: str
    attribute: str | None
    required: Figures
    achieved: Figures
    satisfied: bool | None
    failing_classes: int
    failing_rows: int

    def __str__(self) -> str:
        about = f" of {self.attribute}" if self.attribute else ""
        failing = f"{self.failing_rows} rows in {self.failing_classes} classes fail"
        return f"{self.model} ({_told(self.required)}){about} is not met: {_told(self.achieved)}; {failing}"


@dataclass(frozen=True)
class Verdict:
    """A table, measured.

    `classes` is about the classes that are not suppressed: count, min_size, mean_size, max_size (None of no classes);
    `suppressed_rows` are counted apart. `results` and `risk` are about all rows: to be suppressed is not to be safe.
    """

    rows: int
    suppressed_rows: int
    results: tuple[Result, ...]
    classes: Figures
    risk: Figures

    @property
    def satisfied(self) -> bool | None:
        """Whether everything required is met; None where nothing is required."""
        judged = [result.satisfied for result in self.results if result.satisfied is not None]
        return all(judged) if judged else None


# --- the twins of the privacy models ---------------------------------------------------------------------------------

VALUE, COUNT, TOTAL, MEAN = pl.col("value"), pl.col("count"), pl.col("total"), pl.col("mean")
"""Of one class: its different present sensitive values, the rows that have each; rows and mean of all of them."""


@dataclass(frozen=True)
class Twin:
    """A privacy model once more: the figure of one class, and how it compares with the parameter of that name."""

    parameter: str
    figure: Callable[[Given], pl.Expr]
    below: bool = False
    """The figure has to be below the parameter, not at least as large."""
    whole: bool = False
    """The figure is a count."""


def _perplexity(given: Given) -> pl.Expr:
    share = COUNT / TOTAL
    return (-(share * share.log()).sum()).exp()


def _top_to_rest(given: Given) -> pl.Expr:
    return COUNT.max() / COUNT.sort(descending=True).slice(int(given["l"]) - 1).sum()


TWINS: dict[str, Twin] = {
    "k-anonymity": Twin("k", lambda given: pl.col("size"), whole=True),
    "distinct-l-diversity": Twin("l", lambda given: pl.len(), whole=True),
    "entropy-l-diversity": Twin("l", _perplexity),
    "frequency-l-diversity": Twin("l", lambda given: COUNT.sum() / COUNT.max()),
    "recursive-cl-diversity": Twin("c", _top_to_rest, below=True),
    "squared-error-diversity": Twin("error", lambda given: (COUNT * (VALUE - MEAN).pow(2)).sum()),
}


# --- measuring -------------------------------------------------------------------------------------------------------


def measure(
    frame: pl.LazyFrame | pl.DataFrame,
    quasi_identifiers: Sequence[str],
    checks: Sequence[Check],
    missing: Sequence[str] = ("",),
    *,
    suppressed: str = "*",
    threshold: float = THRESHOLD,
    null_missing: bool = True,
) -> Verdict:
    """Measures a table from its text.

    `quasi_identifiers`: columns as released (both columns of a number that was released as bounds), at least one.
    `missing`: texts that mean missing. A null means missing too, unless `null_missing` is False: then it is the empty
    text (an empty field of a CSV for which "" is not declared missing). `suppressed`: text of a suppressed cell.
    `threshold`: a record is at risk when its risk is higher. Raises DataError if a numeric attribute has other values.
    """
    fill = "" if not null_missing or "" in missing else None
    table = _Table(frame.lazy(), tuple(quasi_identifiers), tuple(missing), fill)
    classes, seed = _classes(table, suppressed)
    subjects = list(dict.fromkeys((check.attribute, check.numeric) for check in checks))
    rows = _sensitive(table, seed, subjects, classes)
    results: dict[int, Result] = {}
    for subject in subjects:
        mine = [at for at, check in enumerate(checks) if (check.attribute, check.numeric) == subject]
        entries = None if subject[0] is None else _entries(rows, f"v{subjects.index(subject)}")
        results |= zip(mine, _judged(classes, entries, [checks[at] for at in mine]), strict=True)
    shown = classes.filter(~pl.col("suppressed"))["size"]
    return Verdict(
        rows=int(classes["size"].sum()),
        suppressed_rows=int(classes["size"].sum()) - int(shown.sum()),
        results=tuple(results[at] for at in range(len(checks))),
        classes=_sizes(shown),
        risk=_risk(classes["size"], threshold),
    )


@dataclass(frozen=True)
class _Table:
    """What is measured: rows, the quasi-identifiers' columns, what means missing, and what a null is read as."""

    frame: pl.LazyFrame
    quasi_identifiers: tuple[str, ...]
    missing: tuple[str, ...]
    fill: str | None

    def text(self, column: str) -> pl.Expr:
        text = pl.col(column).cast(pl.String)
        return text if self.fill is None else text.fill_null(self.fill)

    def keys(self) -> list[pl.Expr]:
        """The quasi-identifiers as text, under names that clash with nothing."""
        return [self.text(name).alias(f"q{at}") for at, name in enumerate(self.quasi_identifiers)]

    def key_number(self, seed: int) -> pl.Expr:
        """A 64-bit number of each row's quasi-identifiers, from the columns of `keys`."""
        return pl.struct(self.key_names()).hash(seed).alias("class")

    def key_names(self) -> list[str]:
        return [f"q{at}" for at in range(len(self.quasi_identifiers))]


def _classes(table: _Table, suppressed: str) -> tuple[pl.DataFrame, int]:
    """One row a class: its number, its size, whether it is suppressed; and the seed with which the numbers are made.

    The texts are compared as texts; a seed for which two classes would have the same number is not used.
    """
    names = table.key_names()
    hidden = pl.all_horizontal((pl.col(name) == suppressed).fill_null(False) for name in names)
    sizes = table.frame.select(table.keys()).group_by(names).agg(pl.len().cast(pl.Int64).alias("size"))
    for seed in _SEEDS:
        query = sizes.select(table.key_number(seed), "size", hidden.alias("suppressed"))
        classes = query.collect(engine="streaming")
        if classes["class"].n_unique() == classes.height:
            return classes, seed
    raise RuntimeError("no numbering of the classes is unique: this is probably a bug")


def _sensitive(table: _Table, seed: int, subjects: Sequence[Subject], classes: pl.DataFrame) -> pl.DataFrame:
    """The number of each row's class, and the sensitive value of each subject (v0, v1, ...): null where missing."""
    values = [expr for at, subject in enumerate(subjects) for expr in _values(table, at, *subject)]
    if not values:
        return pl.DataFrame()
    query = table.frame.select(*table.keys(), *values).select(table.key_number(seed), pl.exclude(table.key_names()))
    rows = query.collect(engine="streaming")
    if rows.height != classes["size"].sum():
        raise _changed()
    numbers = [_as_numbers(rows, f"v{at}", name) for at, (name, numeric) in enumerate(subjects) if name and numeric]
    return rows.with_columns(numbers).select("class", pl.col(r"^v\d+$"))


def _values(table: _Table, at: int, attribute: str | None, numeric: bool) -> list[pl.Expr]:
    """A code for each text; or the number as a float, nan for what is none, and exactly where it is a whole one."""
    if attribute is None:
        return []
    text = table.text(attribute)
    present = pl.when(~text.is_in(table.missing)).then(text)
    if not numeric:
        return [present.cast(pl.Categorical(pl.Categories.random())).to_physical().alias(f"v{at}")]
    bare = present.str.strip_chars()
    number = bare.cast(pl.Float64, strict=False)
    number = pl.when(number.is_finite().fill_null(False)).then(number).otherwise(float("nan"))
    return [
        pl.when(bare.is_not_null()).then(number).alias(f"v{at}"),
        bare.cast(pl.Int64, strict=False).alias(f"whole{at}"),
    ]


def _as_numbers(rows: pl.DataFrame, column: str, attribute: str) -> pl.Series:
    """The column as whole numbers if all of its values are. Raises DataError if some are no numbers."""
    numbers, whole = rows[column], rows[column.replace("v", "whole")]
    wrong = int(numbers.is_nan().sum())
    if wrong:
        raise DataError(f"column {attribute} is numeric, and {wrong} of its values are not numbers")
    return whole.alias(column) if whole.null_count() == numbers.null_count() else numbers


def _entries(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """How often each present value of a sensitive attribute occurs in each class: class, value, count."""
    values = rows.lazy().select("class", value=column).drop_nulls("value")
    return values.group_by("class", "value").agg(pl.len().cast(pl.Int64).alias("count")).collect(engine="streaming")


def _figures(entries: pl.DataFrame, figures: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """The figures of every class that has entries; TOTAL and MEAN are added to these only where a figure needs them."""
    query = entries.lazy()
    if {"total", "mean"} & {name for figure in figures.values() for name in figure.meta.root_names()}:
        mean = (VALUE.cast(pl.Float64) * COUNT).sum() / COUNT.sum()
        query = query.join(query.group_by("class").agg(total=COUNT.sum(), mean=mean), on="class")
    return query.group_by("class").agg(**figures).collect(engine="streaming")


def _changed() -> DataError:
    return DataError("the table changed while it was being verified")


def _judged(classes: pl.DataFrame, entries: pl.DataFrame | None, checks: Sequence[Check]) -> list[Result]:
    """The checks that are about one attribute (or none), measured in one go."""
    figures = {f"f{at}": TWINS[check.model].figure(check.parameters) for at, check in enumerate(checks)}
    if entries is None:
        measured = classes.select("size", **figures)
    else:
        found = _figures(entries, figures)
        measured = classes.join(found, on="class", how="left")
        if measured["f0"].null_count() != classes.height - found.height:
            raise _changed()
    return [_result(check, measured["size"], measured[name]) for check, name in zip(checks, figures, strict=True)]


def _result(check: Check, sizes: pl.Series, figures: pl.Series) -> Result:
    """From the figure of every class, null for a class without a present value, to what the table achieves."""
    twin = TWINS[check.model]
    figures = figures.fill_null(float("inf") if twin.below else 0)
    required = check.parameters.get(twin.parameter)
    failing = pl.Series([], dtype=pl.Int64)
    if required is not None:
        bound = required * (1 - _TOLERANCE)
        failing = sizes.filter(figures >= bound if twin.below else figures < bound)
    return Result(
        model=check.model,
        attribute=check.attribute,
        required=dict(check.parameters),
        achieved={**check.parameters, twin.parameter: _weakest(twin, figures)},
        satisfied=None if required is None else failing.is_empty(),
        failing_classes=len(failing),
        failing_rows=int(failing.sum()),
    )


def _weakest(twin: Twin, figures: pl.Series) -> float | int | None:
    """What all classes meet: the worst figure; None of no classes, and where it is infinite."""
    worst = figures.max() if twin.below else figures.min()
    if not isinstance(worst, int | float) or worst == float("inf"):
        return None
    return int(worst) if twin.whole else float(worst)


def _sizes(sizes: pl.Series) -> Figures:
    if sizes.is_empty():
        return {"count": 0, "min_size": None, "mean_size": None, "max_size": None}
    rows = int(sizes.sum())
    smallest, largest = sizes.min(), sizes.max()
    assert isinstance(smallest, int) and isinstance(largest, int)
    return {"count": len(sizes), "min_size": smallest, "mean_size": rows / len(sizes), "max_size": largest}


def _risk(sizes: pl.Series, threshold: float) -> Figures:
    """Of the rows, suppressed ones included. The prosecutor knows that the person is in the table: 1 / class size.

    Without a population the journalist, who does not know it, is assumed to be as well off. The marketer's is the share
    of rows that are expected to be linked correctly, which is the mean of the prosecutor's: classes / rows.
    """
    rows = int(sizes.sum())
    if not rows:
        names = ("prosecutor_max", "prosecutor_mean", "journalist_max", "marketer", "records_at_risk", "uniques")
        return dict.fromkeys(names, 0) | {"threshold": threshold}
    smallest = sizes.min()
    assert isinstance(smallest, int)
    return {
        "prosecutor_max": 1 / smallest,
        "prosecutor_mean": len(sizes) / rows,
        "journalist_max": 1 / smallest,
        "marketer": len(sizes) / rows,
        "records_at_risk": int(sizes.filter(1 / sizes > threshold).sum()) / rows,
        "uniques": int((sizes == 1).sum()),
        "threshold": threshold,
    }
