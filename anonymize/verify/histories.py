"""Releases that follow each other, measured: the next one of a series before it is published, m-invariance, and who
is who in them, computed anew from the columns that name a person."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial, reduce
from operator import or_
from typing import Any

import polars as pl

from anonymize.errors import DataError
from anonymize.records import dataclass
from anonymize.verify.columns import NumberedColumn
from anonymize.verify.distances import Overall
from anonymize.verify.numbering import Numbering, paired, whole
from anonymize.verify.series import (
    Followed,
    MeasuredRelease,
    Past,
    SeriesTable,
    SeriesVerdict,
    ValuesResult,
    compared,
    over_time,
    results_of,
)
from anonymize.verify.table import TextRows, TextTable, entries_of, numbered
from anonymize.verify.twins import compares
from anonymize.verify.verdict import Check, Subject, Tree

# --- who is who -------------------------------------------------------------------------------------------------------
# A second writing of what the state's definition says (docs/over-time.md), so that a mistake of the one is seen by the
# other.

LENGTH = 16


def pseudonyms(
    table: pl.LazyFrame, columns: Sequence[pl.Expr], secrets: Sequence[bytes], *, normalize: bool
) -> pl.Series:
    """(rows,) 16 bytes each: the beginning of HMAC-SHA256 under the first of the `secrets` of the texts of `columns` as
    a JSON array, and under each further one of the 16 bytes so far.

    Raises DataError where a row does not say whom it is about.
    """
    texts = [column.cast(pl.String).alias(str(number)) for number, column in enumerate(columns)]
    named = table.select(_as_named(text) if normalize else text for text in texts).collect(engine="streaming")
    lacking = named.select(pl.any_horizontal(pl.all().is_null() | (pl.all() == ""))).to_series()
    if lacking.any():
        raise DataError(f"{lacking.sum()} rows do not say which individual they are about")
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    digests = [encode(row).encode() for row in named.iter_rows()]
    for secret in secrets:
        digests = [hmac.digest(secret, message, "sha256")[:LENGTH] for message in digests]
    return pl.Series(digests, dtype=pl.Binary)


def _as_named(text: pl.Expr) -> pl.Expr:
    """A text as it names somebody, which never changes: any space being a space, none at the ends, in NFC, and without
    control characters and four more that are not seen."""
    spaced = text.str.replace_all(r"[\t-\r\x{85}\x{2028}\x{2029}\p{Zs}]", " ")
    visible = spaced.str.replace_all(r"[\p{Cc}\x{AD}\x{200B}\x{2060}\x{FEFF}]", "")
    return visible.str.strip_chars(" ").str.normalize("NFC")


def published(people: pl.Series, secret: bytes, series: str) -> pl.Series:
    """(rows,) what recipients follow people by: 32 hexadecimal digits, the first 16 bytes of HMAC-SHA256 under `secret`
    of the text of the `series`, a space, and the person's pseudonym; null for null."""
    about = series.encode() + b" "
    texts = [None if each is None else hmac.digest(secret, about + each, "sha256")[:LENGTH].hex() for each in people]
    return pl.Series(texts, dtype=pl.String)


# --- m-invariance -----------------------------------------------------------------------------------------------------
# A release is m-unique if each class has at least m rows, all with different values; a series of m-unique releases is
# m-invariant if the values of somebody's class are the same set in every release that they are in (Xiao and Tao, SIGMOD
# 2007). Beside the verdict stand the figures that it is made of: a release of another model fails the first of the two
# nearly everywhere, and what an attacker gains by intersecting sets of values is the second alone.


@dataclass(frozen=True)
class Invariance:
    """How the releases of a series hold one attribute together. `m`: the largest m for which the series is m-invariant,
    0 where there is none. `distinct`: the share of classes whose values all differ. `invariant`: the share of people,
    of those who are in several releases, whose classes have the same set of values in all of them; None of nobody.
    `common`: the fewest values that the classes of one person have in common, over all people."""

    attribute: str
    m: int
    distinct: float
    invariant: float | None
    common: int

    def block(self) -> dict[str, Any]:
        return asdict(self)


def invariance(releases: Sequence[SeriesTable], attribute: str) -> Invariance:
    """Measures a sensitive attribute; a missing value is none. Values are those of the text, also of numbers."""
    followed = Followed(releases, ())
    pasts = followed.trajectories()
    signatures = [_signatures(release, attribute) for release in releases]
    sizes = pl.concat([each.group_by("class").agg(pl.col("count").sum(), values=pl.len()) for each in signatures])
    every = [release.rows.classes.dense.runs()["len"] for release in releases]
    rows = pl.concat(every).sum()
    classes = sum(len(each) for each in every)
    distinct = sizes.filter(pl.col("values") == pl.col("count"))
    known = pl.concat(signatures)["count"].sum() == rows
    common, same, several = _kept(pasts, signatures)
    unique = known and distinct.height == classes
    m = min(whole(each.min()) for each in every) if unique and same == several else 0
    return Invariance(attribute, m, distinct.height / classes, same / several if several else None, common)


def _signatures(release: SeriesTable, attribute: str) -> pl.DataFrame:
    """The values of each class as texts, with how often each occurs: `class`, `value`, `count`."""
    entries = entries_of(release.rows, Subject(attribute), release.missing)
    texts = release.texts(attribute)
    return entries.select("class", value=texts.gather(entries["value"] - 1), count="count")


def _kept(pasts: pl.DataFrame, signatures: Sequence[pl.DataFrame]) -> tuple[int, int, int]:
    """The fewest values in common, the people whose set of values never changes, and those in several releases.

    A value is in all classes of a trajectory if it is in as many of its releases as the trajectory has.
    """
    names = [name for name in pasts.columns if name != "people"]
    rows = pasts.with_row_index("trajectory")
    classes = (rows.select("trajectory", pl.col(name).alias("class")).drop_nulls() for name in names)
    joined = (own.join(each, on="class") for own, each in zip(classes, signatures, strict=True))
    parts = [each.select("trajectory", "value") for each in joined]
    times = pl.concat(parts).group_by("trajectory", "value").len("times")
    there = rows.select("trajectory", "people", there=pl.sum_horizontal(pl.col(names).is_not_null()))
    by_trajectory = there.join(times, on="trajectory", how="left").group_by("trajectory")
    in_all = by_trajectory.agg(
        pl.col("people", "there").first(),
        common=(pl.col("times") == pl.col("there")).fill_null(False).sum(),
        values=pl.col("value").count(),
    )
    repeated = in_all.filter(pl.col("there") > 1)
    same = repeated.filter(pl.col("common") == pl.col("values"))["people"].sum()
    return whole(in_all["common"].cast(pl.Int64).min()), int(same), int(repeated["people"].sum())


# --- the next release -------------------------------------------------------------------------------------------------
# What `series` does from the files of all releases, this does for the last one alone: classes and values now are read
# from the file's text, and those of earlier releases, which were measured so in their turn, are what the caller has on
# record of its people.

THIS = "this release"
NOT_THERE = -1


def measure_next(
    people: pl.DataFrame,
    released: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    checks: Sequence[Check],
    all_values: Mapping[str, pl.Series],
    *,
    absent: pl.DataFrame | None = None,
    names: Sequence[str] = (),
    missing: Sequence[str] = ("",),
    null_missing: bool = True,
    suppressed: str = "*",
    normalize: bool = False,
) -> SeriesVerdict:
    """Measures the people of a release by history.

    `released`: its text, one row a person. `people`: the same rows; of each earlier release s, from 0, `release_{s}`,
    whole numbers that are equal for one class, -1 for who was not in it, and for the i-th of the `sensitive` attributes
    `value_{s}_{i}`, the text released then, null where it was missing or there was none; beside them `recorded`, if the
    classes that will be on record of it are to be those of the text. `all_values`: by the same names the values of
    everybody in the earlier release. `absent`: the same as `people`, of everybody who was ever released and is not in
    this one; those of them whose history others have who are in it are measured by themselves; None: nothing is said of
    them. `names`: of the earlier releases. The rest is as `measure` has it.

    Raises RuntimeError where `recorded` parts people otherwise than the text does.
    """
    reading = {"missing": missing, "null_missing": null_missing, "suppressed": suppressed, "normalize": normalize}
    everybody = pl.int_range(released.height, dtype=pl.UInt32, eager=True)
    current = SeriesTable.of_text(THIS, released, everybody, quasi_identifiers, sensitive, **reading)  # type: ignore[arg-type]
    classes = current.rows.classes
    if "recorded" in people.columns:
        _check_recorded(classes, people["recorded"])
    earlier = sum(name.startswith("release_") for name in people.columns)
    recorded = [people[f"release_{s}"] for s in range(earlier)]
    history = paired([classes.dense, *map(_of_record, recorded)])
    there = [each != NOT_THERE for each in recorded]
    texts = compared(missing, normalize=normalize)
    called = list(names) or [f"release {s + 1}" for s in range(earlier)]
    pasts = [Past(THIS, pl.repeat(True, released.height, eager=True), current.rows.values, texts, current.overall)]
    bounded = [check for check in checks if over_time(check)]
    past = partial(_past, sensitive=sensitive, all_values=all_values, missing=texts, normalize=normalize)
    for s in reversed(range(earlier)):
        same = all(_unchanged(current, name, people[f"value_{s}_{i}"], there[s]) for i, name in enumerate(sensitive))
        if same and not any(compares(check.model, check.parameters) for check in bounded):
            continue  # of the same people the same values: what they show is what they show now
        own = people.filter(there[s])
        pasts.append(past(called[s], own, there[s], s=s))
    before = reduce(or_, there, pl.repeat(False, released.height, eager=True))
    verdict = _verdict(history, results_of(history, pasts, bounded), whole((~before).sum()))
    if absent is not None:
        verdict = replace(verdict, departed=_departed(people, absent, called, past, bounded))
    return SeriesVerdict((verdict,), tuple(dict.fromkeys(each.model for each in checks if not over_time(each))))


def _departed(
    people: pl.DataFrame, absent: pl.DataFrame, names: Sequence[str], past: Callable[..., Past], checks: Sequence[Check]
) -> tuple[ValuesResult, ...]:
    """The results of those who are `absent`, by history, where somebody has this history who is not."""
    columns = [name for name in people.columns if name.startswith("release_")]
    if not columns:
        return ()
    others = absent.join(people.select(columns).unique(), on=columns, how="semi", maintain_order="left")
    if not others.height:
        return ()
    nothing = Numbering(pl.repeat(0, others.height, dtype=pl.UInt32, eager=True), 1)
    history, pasts = paired([nothing, *(_of_record(others[name]) for name in columns)]), []
    for s in reversed(range(len(columns))):
        there = others[f"release_{s}"] != NOT_THERE
        pasts.append(past(names[s], others.filter(there), there, s=s))
    return results_of(history, pasts, checks, gone=True)


def _unchanged(current: SeriesTable, attribute: str, values: pl.Series, there: pl.Series) -> bool:
    """Whether those who were in an earlier release have the values now that they had then, as text."""
    column = current.rows.values[attribute]
    now = column.by_number.gather(column.numbers.of_row)
    return now.filter(there).equals(values.alias("").filter(there), null_equal=True)


def _verdict(history: Numbering, results: tuple[ValuesResult, ...], first_time: int) -> MeasuredRelease:
    sizes = history.runs()["len"]
    return MeasuredRelease(THIS, whole(sizes.sum()), len(sizes), whole(sizes.min()), first_time, None, results)


def _of_record(numbers: pl.Series) -> Numbering:
    """Class numbers from -1 on as numbers from 0 on."""
    shifted = (numbers.cast(pl.Int64) - NOT_THERE).cast(pl.UInt32)
    return Numbering(shifted, whole(shifted.max()) + 1)


def _check_recorded(classes: Numbering, recorded: pl.Series) -> None:
    """Classes on record and those of the text are the same if they are as many, and as many taken together."""
    own, other = classes.of_row.n_unique(), recorded.n_unique()
    both = paired([classes, _of_record(recorded)]).of_row.n_unique()
    if not own == other == both:
        raise RuntimeError("what is on record of the release is not what its text shows: this is probably a bug")


def _past(
    name: str,
    people: pl.DataFrame,
    there: pl.Series,
    *,
    s: int,
    sensitive: Sequence[str],
    all_values: Mapping[str, pl.Series],
    missing: Sequence[str],
    normalize: bool,
) -> Past:
    """What an earlier release said of the people of this one who were in it."""
    own = {attribute: people[f"value_{s}_{i}"].alias("") for i, attribute in enumerate(sensitive)}
    others = {attribute: all_values[f"value_{s}_{i}"].alias("") for i, attribute in enumerate(sensitive)}
    mine, everybody = {}, {}
    for attribute in sensitive:
        both = pl.concat([own[attribute], others[attribute]]).cast(pl.String).to_frame(attribute).lazy()
        column = numbered(TextTable(both, (), tuple(missing), None, normalize=normalize), [attribute])[0]
        mine[attribute] = _sliced(column, 0, people.height)
        everybody[attribute] = _sliced(column, people.height, None)
    rows = len(next(iter(everybody.values())).numbers.of_row) if everybody else 0
    of_all = TextRows(Numbering(pl.repeat(0, rows, dtype=pl.UInt32, eager=True), 1), None, everybody, None)

    def overall(subject: Subject, tree: Tree | None) -> Overall:
        return Overall(entries_of(of_all, subject, missing), of_all, subject, missing, tree)

    return Past(name, there, mine, missing, overall)


def _sliced(column: NumberedColumn, start: int, length: int | None) -> NumberedColumn:
    return NumberedColumn(Numbering(column.numbers.of_row.slice(start, length), column.numbers.span), column.texts)
