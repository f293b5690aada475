"""An earlier release of the same people: what the two give away together.

Whoever knows somebody's quasi-identifiers finds one class in each release, and that individual's row is in both. What
is hidden is hidden in what the two classes have in common, which can be far less than either.

With rows that are matched, by position where row n of both is about the same individual, the intersection of two
classes is known row by row, and it is measured as any table is, its classes being what the quasi-identifiers of both
releases show. Only the caller can know that positions match: two tables of one length need have nothing in common.

By what the classes show, where rows cannot be matched: two classes may be about the same person if what they show can
be true of one individual. At most so many rows are in both as have a sensitive value that both have: the sum over the
values of the smaller count, the least of it over the sensitive attributes; without one, the smaller size. At least so
many are in both as are left of a class when each other class that it may share rows with has taken as many as it can.
A requirement is shown to be met by the second bound alone, never by the first; what cannot be shown is said to be so.
It is assumed that an individual's sensitive values are the same in both, and that who is in the table was in the
earlier one, if what both show allows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from anonymize.auditing import Audited
from anonymize.claims import State
from anonymize.classes import Bools, Floats
from anonymize.domain import files, generalization
from anonymize.domain.cells import cells_of
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Caution, UsageError
from anonymize.reading import CategoryReader, LabelledNodes
from anonymize.records import dataclass
from anonymize.spec import Flat, Spec
from anonymize.table.named import column
from anonymize.verify import Check, Result, Verdict

MOST_PAIRS = 20_000_000
"""Pairs of classes that are compared at most."""

NOT_MATCHED = "rows of the two releases are not matched, and what their classes show leaves it open"

Span = tuple[float, float]
"""Lowest and highest number, or first and last leaf."""
EVERYTHING: Span = (-math.inf, math.inf)


@dataclass(frozen=True)
class Bounds:
    """`pairs`: of classes that may be about one individual. `smallest`: the least that two of them have in common at
    most; `certain`: at least. `rows_at_risk`: rows in classes that may have fewer rows than k in common with another;
    None without a k. `one_to_one`: each class can share rows with one class alone, and all of its rows with that: then
    everybody's rows in common are those of the class itself."""

    pairs: int
    smallest: int | None
    certain: int | None
    rows_at_risk: int | None
    one_to_one: bool = field(default=False, repr=False)


@dataclass(frozen=True)
class Together:
    """What two releases give away together: the verdict on the intersections where rows were matched, else the bounds.

    `joined_by`: position, link or classes. `results`: one for each requirement; without any, none.
    """

    name: str
    rows: int
    joined_by: Literal["position", "link", "classes"]
    verdict: Verdict | None
    bounds: Bounds | None
    results: tuple[Result, ...]

    @property
    def warnings(self) -> list[Caution]:
        """What the reader has to know of it."""
        if self.bounds is None or not self.bounds.rows_at_risk:
            return []
        said = (
            f"together with the previous release, up to {self.bounds.rows_at_risk} rows may be in fewer than k: of two "
            f"classes that may be about one individual at most {self.bounds.smallest} rows are in both, and at least "
            f"{self.bounds.certain}"
        )
        remedy = "make both in one series (`--start-series STATE`, then `--after STATE`), or give their links"
        return [Caution.of(said, f"{remedy} (`--link`, `--previous-link`)")]

    def block(self) -> dict[str, Any]:
        """The report's block `previous`."""
        block: dict[str, Any] = {"path": self.name, "rows": self.rows}
        models = [result.as_dict() for result in self.results]
        if self.verdict is None:
            bounds = asdict(self.bounds) if self.bounds else {}
            bounds.pop("one_to_one", None)
            return block | {"joined_by": self.joined_by, **bounds, "models": models}
        judged = [result.failing_rows for result in self.results if result.satisfied is not None]
        smallest = round(1 / highest) if (highest := self.verdict.risk["prosecutor_max"]) else None
        matched = {
            "joined_by": self.joined_by,
            "pairs": None,
            "smallest": smallest,
            "rows_at_risk": max(judged, default=None),
        }
        return block | matched | {"models": models, "risk": self.verdict.risk}


Matching: TypeAlias = Literal["position"] | tuple[pl.Series, pl.Series]
"""Which rows of two releases are about the same individual: those of the same position, or those of the same number,
(rows,) of this release, and (rows,) of the earlier one, each number once."""


def together(
    now: Audited, before: Audited, checks: Sequence[Check], latest: Verdict, threshold: float, matching: Matching | None
) -> Together:
    """What two releases tell together. `latest`: the verdict on this one alone. `matching`: None where rows cannot be
    matched.

    Raises UsageError for rows that cannot be matched by position.
    """
    rows = before.source.rows or 0
    if matching is not None:
        if matching == "position":
            _check_positions(now, before)
        verdict = _joined(now, before, checks, threshold, matching)
        joined_by: Literal["position", "link"] = "position" if matching == "position" else "link"
        return Together(before.source.name, rows, joined_by, verdict, None, verdict.results)
    bounds = _bounded(now, before, now.spec.largest_k)
    results = [
        _result(check, result, bounds, units=now.units is not None)
        for check, result in zip(checks, latest.results, strict=True)
        if result.state is not State.NOTHING_REQUIRED
    ]
    return Together(before.source.name, rows, "classes", None, bounds, tuple(results))


def _check_positions(now: Audited, before: Audited) -> None:
    order = now.spec.output.row_order
    if now.declared and not now.order_kept:
        raise UsageError(
            f"--by-position: the spec says output.row_order: {order}, so rows are not in the input's order"
        )
    if now.source.rows != before.source.rows:
        raise UsageError(
            f"--by-position: {now.source.name} has {now.source.rows} rows, and {before.source.name} has "
            f"{before.source.rows}: rows cannot be matched by position"
        )


def _result(check: Check, result: Result, bounds: Bounds, *, units: bool) -> Result:
    """What can be said of a requirement by what the classes show: that of the table alone, where classes share their
    rows one to one; else, of k-anonymity, that enough are in common for certain; else nothing."""
    if result.state is State.UNKNOWN or bounds.one_to_one:
        return result
    certain, k = bounds.certain, check.parameters.get("k")
    if check.model == "k-anonymity" and not units and certain is not None and k is not None and certain >= k:
        reached = result.achieved["k"]
        assert isinstance(reached, int)
        return replace(result, achieved={"k": min(certain, reached)})
    return replace(result.unshown(NOT_MATCHED), achieved={}, failing_classes=0, failing_rows=0)


def _joined(now: Audited, before: Audited, checks: Sequence[Check], threshold: float, matching: Matching) -> Verdict:
    """The intersections of the classes of two releases of the same rows, measured as one table.

    Rows of this release that are about nobody of the earlier one show nothing there.
    """
    sensitive = map(column, now.spec.sensitive)
    released_rows, others = now.frame, before.frame
    # Both releases have columns of the same names; no column is called what these are.
    names = {name: f"\0previous {number}" for number, name in enumerate(before.columns)}
    names_now = {name: f"\0now {number}" for number, name in enumerate(now.columns)}
    first = released_rows.select(*(_plain(now, name).alias(new) for name, new in names_now.items()), *sensitive)
    second = others.select(_plain(before, name).alias(new) for name, new in names.items())
    if matching != "position":
        mine, theirs = matching
        second = second.with_columns(theirs.alias("\0individual"))
        first = first.with_columns(mine.alias("\0individual"))
        frame = first.join(second, on="\0individual", how="left", maintain_order="left").drop("\0individual")
    else:
        frame = pl.concat([first, second], how="horizontal")
    return now.measured(checks, threshold, frame, [*names_now.values(), *names.values()])


def _plain(table: Audited, name: str) -> pl.Expr:
    """A column as text; a null as what means missing, which it is wherever it may be one."""
    return column(name).cast(pl.String).fill_null(table.missing.null_text)


# --- by what the classes show -----------------------------------------------------------------------------------------


def _bounded(now: Audited, before: Audited, k: int | None) -> Bounds:
    """Bounds what two releases tell, rows not being matched. Raises UsageError for more pairs of classes than are
    compared."""
    first, second = classes(now), classes(before)
    if first.height * second.height > MOST_PAIRS:
        raise UsageError(
            f"--previous: {first.height} and {second.height} classes are too many to compare unless rows are matched"
            " (--by-position, where row n of both is about the same individual)"
        )
    common = _common(now, before, compatible(now, first, second))
    shared = _certain(first, common.filter(pl.col("common") > 0))
    at_risk = None
    if k is not None:
        exposed = shared.filter(pl.col("certain") < k).select("class").unique()
        at_risk = int(first.join(exposed, on="class", how="semi")["size"].sum())
    low, certain = (
        int(least) if isinstance(least := shared[name].min(), int) else None for name in ("common", "certain")
    )
    # Where nothing is shared, either the releases are not about the same people or one of them is misread.
    alone = shared.height > 0 and shared["class"].is_unique().all() and (shared["certain"] == shared["size"]).all()
    return Bounds(shared.height, low, certain, at_risk, bool(alone))


def _certain(classes: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs with the `size` of the class, and how many of its rows are in both for certain: what is left once every
    other class that shares rows with it has taken what it can; none where all of them cannot take the whole class."""
    sizes = classes.select("class", pl.col("size").cast(pl.Int64))
    totals = pairs.group_by("class").agg(total=pl.col("common").sum())
    rest = pl.col("size") - (pl.col("total") - pl.col("common"))
    certain = pl.when(pl.col("total") >= pl.col("size")).then(pl.max_horizontal(rest, 0)).otherwise(0)
    return (
        pairs.join(sizes, on="class").join(totals, on="class").with_columns(certain=certain).sort("class", "previous")
    )


def _keyed(table: Audited) -> pl.LazyFrame:
    """The quasi-identifiers as text (q0, q1, ..., and of two bounds q0_high) and the sensitive attributes (s0, ...)."""
    texts = []
    for number, names in enumerate(table.columns_of.values()):
        key, beside = f"q{number}", names[2:] if len(names) == 3 and names[-1].endswith("_missing") else names[3:]
        ends = zip((key, f"{key}_high"), names[: len(names) - len(beside)][-2:], strict=False)
        texts += [_plain(table, name).alias(f"{key}_missing") for name in beside]
        texts += [_plain(table, name).alias(end) for end, name in ends]
    sensitive = [_plain(table, name).alias(f"s{number}") for number, name in enumerate(table.spec.sensitive)]
    return table.frame.select(*texts, *sensitive)


def _keys(frame: pl.LazyFrame) -> list[str]:
    return [name for name in frame.collect_schema() if name.startswith("q")]


def classes(table: Audited) -> pl.DataFrame:
    """One row a class: `class`, what it shows, its `size`."""
    keyed = _keyed(table)
    names = _keys(keyed)
    return keyed.group_by(names).agg(size=pl.len()).sort(names).collect(engine="streaming").with_row_index("class")


def compatible(now: Audited, first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """`class` and `previous` of every two classes that may be about one individual, and the smaller of their sizes."""
    left, right = first.select("class", "size"), second.select(previous="class", other="size")
    pairs = left.join(right, how="cross")
    for number, name in enumerate(now.spec.quasi_identifiers):
        (texts, of_class), (others, of_previous) = (_texts(frame, number) for frame in (first, second))
        mine, theirs = np.nonzero(_agree(now, name, texts, others))
        agreeing = pl.DataFrame({"a": mine, "b": theirs}, schema={"a": pl.UInt32, "b": pl.UInt32})
        pairs = (
            pairs.join(of_class.rename({"text": "a"}), on="class")
            .join(of_previous.rename({"class": "previous", "text": "b"}), on="previous")
            .join(agreeing, on=["a", "b"], how="semi")
            .select("class", "size", "previous", "other")
        )
    return pairs.select("class", "previous", common=pl.min_horizontal("size", "other").cast(pl.Int64))


def _texts(frame: pl.DataFrame, number: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What classes show of a quasi-identifier: the distinct `low` and `high`, of one column the same text twice, and
    `says`, what the column for missing values says, numbered `text`; and of each `class` its `text`."""
    low = f"q{number}"
    high = f"{low}_high" if f"{low}_high" in frame.columns else low
    says = pl.col(f"{low}_missing") if f"{low}_missing" in frame.columns else pl.lit("")
    cells = frame.select("class", low=low, high=high, says=says)
    texts = cells.select("low", "high", "says").unique().sort("low", "high", "says").with_row_index("text")
    return texts, cells.join(texts, on=["low", "high", "says"]).select("class", "text")


def _agree(now: Audited, name: str, mine: pl.DataFrame, theirs: pl.DataFrame) -> Bools:
    """(mine, theirs) whether two texts of a quasi-identifier can stand for one value. In doubt they can: where no spec
    says what is above what, any two labels."""
    spec = now.spec
    attribute, hidden = spec.quasi_identifiers[name], spec.output.suppressed
    # What may be anything spans everything, so that two comparisons of ends say for all pairs at once who overlaps.
    everything = np.ones((mine.height, theirs.height), np.bool_)
    if not now.declared:
        return everything
    if attribute.type == "numeric":
        (ends, may_lack), (others, may_lack_too) = (_numbers(spec, texts) for texts in (mine, theirs))
        agree = _overlap(ends, others) | may_lack[:, None] & may_lack_too
    elif spec.output.categorical == "set" or any((texts["low"] != texts["high"]).any() for texts in (mine, theirs)):
        return everything
    elif isinstance(attribute.hierarchy, Path):
        taxonomy = Taxonomy.of(name, files.read(attribute.hierarchy, name, normalize=spec.input.normalize))
        labelled = LabelledNodes(generalization.Generalization.plain(taxonomy))
        reader = CategoryReader(taxonomy, labelled, spec.input.missing, spec.output.categorical)
        agree = _overlap(*(_spans(spec, reader, texts["low"]) for texts in (mine, theirs)))
    elif attribute.hierarchy is None or isinstance(attribute.hierarchy, Flat):
        agree = (mine["low"] == hidden).to_numpy()[:, None] | (theirs["low"] == hidden).to_numpy()
    else:
        agree = np.array([[_may_hide(a, b, hidden) for b in theirs["low"]] for a in mine["low"]], np.bool_)
        agree = agree.reshape(everything.shape)
    same = mine.join(theirs, on=["low", "high"])
    agree[same["text"], same["text_right"]] = True
    return agree


def _overlap(mine: tuple[Floats, Floats], theirs: tuple[Floats, Floats]) -> Bools:
    """(mine, theirs) whether two spans have something in common, of the lowest and highest numbers in them."""
    return np.asarray((mine[0][:, None] <= theirs[1]) & (theirs[0] <= mine[1][:, None]))


def _numbers(spec: Spec, texts: pl.DataFrame) -> tuple[tuple[Floats, Floats], Bools]:
    """(n,) the ends of what cells show, and whether it may be missing instead; what shows no number may be any."""
    cells = cells_of(spec, texts["low"], texts["high"], numeric=True)
    return cells.closed(), cells.maybe | (texts["says"] == "maybe").to_numpy()


def _spans(spec: Spec, reader: CategoryReader, texts: pl.Series) -> tuple[Floats, Floats]:
    """(n,) the first and last leaf under each label; an unknown one, and one in several places, may be anywhere."""
    cells = zip(cells_of(spec, texts, texts, numeric=False).kind.tolist(), texts, strict=True)
    categories = [reader.category(kind, text or "", text or "") for kind, text in cells]
    spans = [EVERYTHING if c.first < 0 or len(c.nodes) > 1 else (c.first, c.last) for c in categories]
    ends = np.array(spans, np.float64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _may_hide(a: str, b: str, hidden: str) -> bool:
    """Whether labels that a builder cuts or masks agree wherever neither shows the suppressed text."""
    if hidden in (a, b):
        return True
    if len(a) == len(b):
        return all(one == other or hidden in (one, other) for one, other in zip(a, b, strict=True))
    short, long = sorted((a.rstrip(hidden), b.rstrip(hidden)), key=len)
    return long.startswith(short)


def _common(now: Audited, before: Audited, pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs with how many rows both classes have in common at most."""
    for number in range(len(now.spec.sensitive)):
        mine = histogram(now, number).rename({"count": "mine"})
        others = histogram(before, number).rename({"class": "previous", "count": "others"})
        both = pairs.select("class", "previous").join(mine, on="class").join(others, on=["previous", "value"])
        shared = both.group_by("class", "previous").agg(shared=pl.min_horizontal("mine", "others").sum())
        pairs = pairs.join(shared, on=["class", "previous"], how="left").select(
            "class", "previous", common=pl.min_horizontal("common", pl.col("shared").fill_null(0)).cast(pl.Int64)
        )
    return pairs


def histogram(table: Audited, number: int) -> pl.DataFrame:
    """`class`, `value`, `count` of a sensitive attribute; a missing value is a value, for it is what both show."""
    keyed = _keyed(table)
    names = _keys(keyed)
    counts = keyed.group_by(*names, value=f"s{number}").agg(count=pl.len()).collect(engine="streaming")
    return counts.join(classes(table), on=names).select("class", "value", "count")
