"""Twins of the treatments that move cells between rows or dates in time: rank-swap, random-swap, record-swap,
shuffle and date-shift; with what every twin of a treatment is given and returns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import polars as pl

from anonymize.records import dataclass

# --- what twins are given ---------------------------------------------------------------------------------------------

Settings: TypeAlias = Mapping[str, Any]
SURPRISE = math.log(1e8)
"""All tests of a column together are broken by a sound release with a probability of at most exp(-this)."""


MOST_DECIMALS = 9
"""Beyond this many decimals numbers are taken to have all digits there are."""


def decimals_of(numbers: pl.Series) -> int | None:
    """The fewest decimals to which rounding changes none of some numbers; None where none of `MOST_DECIMALS` will
    do."""
    present = numbers.drop_nulls().unique()
    return next((many for many in range(MOST_DECIMALS + 1) if (present.round(many) == present).all()), None)


@dataclass(frozen=True)
class MeasuredTreatment:
    """`figures`: what a step comes to, for a private report. `wrong`: how the release is not what the step makes."""

    figures: Mapping[str, Any] = field(default_factory=dict)
    wrong: Sequence[str] = ()


@dataclass(frozen=True)
class BothColumns:
    """Columns before and after a step, (rows,) in the same order, and sampling weights, where there are any."""

    before: Mapping[str, pl.Series]
    after: Mapping[str, pl.Series]
    weights: pl.Series | None = None

    def pair(self, name: str) -> pl.DataFrame:
        """A treated column, `before` and `after`."""
        return pl.DataFrame({"before": self.before[name], "after": self.after[name]})

    def changed(self, name: str) -> float:
        """The share of rows in which a treated column has changed."""
        pair = self.pair(name)
        different = pair.select(pl.col("before").ne_missing(pl.col("after")).mean()).item()
        return 0.0 if different is None else float(different)

    def missing_moved(self, name: str) -> bool:
        """Whether another row is missing than before."""
        return not self.before[name].is_null().equals(self.after[name].is_null())

    def misplaced(self, names: Sequence[str]) -> list[str]:
        """What is wrong where another row is missing than before."""
        return [f"{name}: missing values are not where they were" for name in names if self.missing_moved(name)]

    def frame(self, parts: Sequence[str], treated: Sequence[str]) -> pl.DataFrame:
        """The columns by number: `p0`, ... of the parts, `b0`, ... and `a0`, ... of treated ones before and after."""
        own = {f"p{place}": self.before[name] for place, name in enumerate(parts)}
        for place, name in enumerate(treated):
            own |= {f"b{place}": self.before[name], f"a{place}": self.after[name]}
        return pl.DataFrame(own)


Twin: TypeAlias = Callable[[Settings, Settings, BothColumns], MeasuredTreatment]


def numbered(letter: str, count: int) -> list[str]:
    """The first names of columns with a letter: those of `BothColumns.frame`."""
    return [f"{letter}{place}" for place in range(count)]


def differs(count: int) -> pl.Expr:
    """Whether any of so many treated columns of `BothColumns.frame` has changed."""
    return pl.any_horizontal(pl.col(f"b{place}").ne_missing(pl.col(f"a{place}")) for place in range(count))


def same_multiset(frame: pl.DataFrame, by: Sequence[str], before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether some columns have the same combinations of cells as others, as often, in each part."""
    renamed = frame.select(*by, **dict(zip(before, after, strict=True)))
    own = frame.select(*by, *before)
    return own.sort(own.columns).equals(renamed.sort(own.columns))


# --- moved between rows -----------------------------------------------------------------------------------------------
# All of these steps keep the cells of their columns, in every part, as often as they were: that is compared. In
# addition, each bounds which rows may have got which cells.

_NEAR = 1e-9


def rank_swap(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Each column by itself: the same cells in each part, missing ones where they were, and none from further away than
    `distance` of the part's numbers by rank; of equal numbers, the nearest."""
    figures: dict[str, Any] = {}
    wrong = []
    by = numbered("p", len(settings["by"]))
    for name in settings["columns"]:
        if misplaced := columns.misplaced([name]):
            wrong.extend(misplaced)
            continue
        frame = columns.frame(settings["by"], [name]).drop_nulls("b0")
        if not same_multiset(frame, by, ["b0"], ["a0"]):
            wrong.append(f"{name}: not the same values as before")
            continue
        moved = _rank_moves(frame, by)
        beyond = moved.filter(pl.col("move") > settings["distance"] * pl.col("rows") + _NEAR).height
        if beyond:
            wrong.append(f"{name}: {beyond} values come from further away than `distance`")
        largest = moved.select((pl.col("move") / pl.col("rows")).max()).item()
        correlation = _spearman(frame, "b0", "a0")
        figures[name] = {
            "changed": columns.changed(name),
            "largest_move": largest,
            "rank_correlation": correlation,
        }
    return MeasuredTreatment(figures, wrong)


def _rank_moves(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """For each row how many ranks there are at least between its number and the one before (`move`), and how many
    numbers its part has (`rows`)."""
    values = frame.group_by(*by, "b0").len().sort(*by, "b0")
    last = pl.col("len").cum_sum()
    rows = pl.col("len").sum()
    ranked = values.with_columns(last=last.over(by) if by else last, rows=rows.over(by) if by else rows)
    ranked = ranked.with_columns(pl.col("len", "last").cast(pl.Int64))
    ranked = ranked.with_columns(first=pl.col("last") - pl.col("len") + 1).drop("len")
    there = ranked.select(*by, pl.col("b0").alias("a0"), first_after="first", last_after="last")
    both = frame.join(ranked, on=[*by, "b0"], nulls_equal=True).join(there, on=[*by, "a0"], nulls_equal=True)
    gaps = (pl.col("first") - pl.col("last_after"), pl.col("first_after") - pl.col("last"))
    return both.select("rows", move=pl.max_horizontal(pl.lit(0, pl.Int64), *gaps))


def random_swap(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """The same combinations of cells in each part, rows that lack one as they were, and no more rows changed than are
    drawn."""
    names, wrong = settings["columns"], []
    by, before, after = numbered("p", len(settings["by"])), numbered("b", len(names)), numbered("a", len(names))
    frame = columns.frame(settings["by"], names).with_columns(different=differs(len(names)))
    lacking = pl.any_horizontal(pl.col(name).is_null() for name in before)
    touched = frame.filter(lacking & pl.col("different")).height
    if touched:
        wrong.append(f"{', '.join(names)}: {touched} rows that lack a value have changed")
    complete = frame.filter(~lacking)
    if not same_multiset(complete, by, before, after):
        wrong.append(f"{', '.join(names)}: not the same values as before")
    parts = complete.group_by(by or pl.lit(0)).agg(rows=pl.len(), changed=pl.col("different").sum())
    beyond = sum(
        changed > max(math.ceil(settings["rate"] * rows - _NEAR), 2)
        for rows, changed in parts.select("rows", "changed").iter_rows()
    )
    if beyond:
        wrong.append(f"{', '.join(names)}: more rows than `rate` says have changed, in {beyond} parts")
    return MeasuredTreatment({"changed": frame["different"].mean()}, wrong)


def record_swap(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """The same places of the same combinations of `alike` (and `by`); households in one place each; and how many have
    moved, those at risk among them."""
    names = [*settings["move"], *settings["carry"]]
    profiles = [each for each in settings["alike"] if not isinstance(each, str)] or [settings["alike"]]
    common = [name for name in profiles[0] if all(name in profile for profile in profiles)]
    same = list(dict.fromkeys((*settings["by"], *common)))
    by, before, after = numbered("p", len(same)), numbered("b", len(names)), numbered("a", len(names))
    units = columns.frame(same, names).with_columns(_risks(settings, columns), different=differs(len(names)))
    figures: dict[str, Any] = {}
    wrong = []
    if settings["households"] is not None:
        homes = units.with_columns(household=columns.before[settings["households"]]).group_by("household")
        parted = homes.agg(places=pl.struct(after).n_unique()).filter(pl.col("places") > 1).height
        if parted:
            wrong.append(f"{parted} households are no longer in one place")
        units = homes.agg(pl.col(*by, *before, *after).first(), pl.col("different", "^r.$").any())
    if not same_multiset(units, by, before, after):
        wrong.append(f"{', '.join(names)}: not the same places as before for those that are alike")
    figures["swapped"] = units["different"].mean()
    for place, name in enumerate(settings["move"] if settings["risk"] else ()):
        own = units.filter(pl.col(f"r{place}"))
        figures[f"at_risk_in_{name}"] = {"units": own.height, "swapped": int(own["different"].sum())}
    return MeasuredTreatment(figures, wrong)


def _risks(settings: Settings, columns: BothColumns) -> list[pl.Series]:
    """`r0`, ...: whether a row is one of fewer than k of its combination of the columns of risk in its region, for the
    regions of each level."""
    move, risk = settings["move"], settings["risk"]
    if not risk:
        return []
    frame = pl.DataFrame({f"c{place}": columns.before[name] for place, name in enumerate((*risk, *move))})
    return [
        frame.select(
            (pl.len().over(numbered("c", len(risk) + level + 1)) < settings["k"]).alias(f"r{level}")
        ).to_series()
        for level in range(len(move))
    ]


def shuffle(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """The same cells of each column in each part, missing ones where they were; and rank correlations, before and
    after, with the given columns and among the shuffled ones."""
    figures: dict[str, Any] = {}
    wrong = []
    by = numbered("p", len(settings["by"]))
    for name in settings["columns"]:
        frame = columns.frame(settings["by"], [name]).drop_nulls("b0")
        if misplaced := columns.misplaced([name]):
            wrong.extend(misplaced)
        elif not same_multiset(frame, by, ["b0"], ["a0"]):
            wrong.append(f"{name}: not the same values as before")
        figures[name] = {"changed": columns.changed(name), "rank_correlations": {}}
        for other in settings["given"]:
            known = columns.before[other].cast(pl.Float64, strict=False)
            both = columns.pair(name).with_columns(given=known).drop_nulls()
            figures[name]["rank_correlations"][other] = {
                "before": _spearman(both, "before", "given"),
                "after": _spearman(both, "after", "given"),
            }
    for one, other in itertools.combinations(settings["columns"], 2):
        both = columns.frame((), [one, other]).drop_nulls()
        own = {"before": _spearman(both, "b0", "b1"), "after": _spearman(both, "a0", "a1")}
        figures[one]["rank_correlations"][other] = own
    return MeasuredTreatment(figures, wrong)


def _spearman(frame: pl.DataFrame, one: str, other: str) -> float | None:
    """Spearman's correlation; None where a column is constant."""
    value = frame.select(pl.corr(pl.col(one).rank(), pl.col(other).rank())).item()
    return None if value is None or math.isnan(value) else float(value)


# --- moved in time ----------------------------------------------------------------------------------------------------
_ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f")
"""How dates of a typed table read."""


def date_shift(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Missing dates stay; the others have moved by whole days, the same for all dates of a person, at most `days` and
    never none."""
    wrong, moves = [], []
    people = {f"p{place}": columns.before[name] for place, name in enumerate(settings["by"])}
    for name in settings["columns"]:
        if columns.missing_moved(name):
            wrong.append(f"{name}: missing dates are not where they were")
            continue
        frame = pl.DataFrame({**people, "before": columns.before[name], "after": columns.after[name]})
        present = frame.drop_nulls(["before", "after"])
        dated = present.with_columns(
            _moment(present[side], settings["format"]).alias(side) for side in ("before", "after")
        )
        unread = dated.filter(pl.col("before").is_null() | pl.col("after").is_null()).height
        if unread:
            wrong.append(f"{name}: {unread} cells are no dates")
        moved = dated.select(*people, move=(pl.col("after") - pl.col("before")).dt.total_microseconds())
        moves.append(moved.drop_nulls("move"))
    every = pl.concat(moves) if moves else pl.DataFrame(schema={**dict.fromkeys(people, pl.String), "move": pl.Int64})
    day = 86_400_000_000
    limits = {
        "have not moved by whole days": pl.col("move") % day != 0,
        "have not moved": pl.col("move") == 0,
        "have moved by more than `days`": pl.col("move").abs() > settings["days"] * day,
    }
    for text, rule in limits.items():
        count = every.filter(rule).height
        if count:
            wrong.append(f"{count} dates {text}")
    by_person = every.group_by(numbered("p", len(people))).agg(pl.col("move").n_unique())
    parted = by_person.filter(pl.col("move") > 1).height
    if parted:
        wrong.append(f"the dates of {parted} persons have not all moved alike")
    return MeasuredTreatment({"persons": by_person.height, "dates": every.height}, wrong)


def _moment(cells: pl.Series, form: str) -> pl.Series:
    """The cells as moments; null for one that is none in the format, nor a date of a typed table."""
    text = cells.cast(pl.String)
    readings = [text.str.strptime(pl.Datetime("us"), each, strict=False) for each in (form, *_ISO)]
    own = pl.DataFrame({f"m{place}": each for place, each in enumerate(readings)})
    return own.select(pl.coalesce(own.columns)).to_series()
