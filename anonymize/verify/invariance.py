"""m-invariance of a series of releases, measured: whether everybody keeps the same set of sensitive values about them.

A release is m-unique if each class has at least m rows, all with different values; a series of m-unique releases is
m-invariant if the values of somebody's class are the same set in every release that they are in (Xiao and Tao, SIGMOD
2007). Beside the verdict stand the figures that it is made of: a release of another model fails the first of the two
nearly everywhere, and what an attacker gains by intersecting sets of values is the second alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from anonymize.verify.numbering import whole
from anonymize.verify.series import Followed, ReleasedAt
from anonymize.verify.table import entries_of
from anonymize.verify.verdict import Subject


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
        """As it stands in a report."""
        return asdict(self)


def invariance(releases: Sequence[ReleasedAt], attribute: str) -> Invariance:
    """Measures a sensitive attribute; a missing value is none. Values are those of the text, also of numbers."""
    followed = Followed(releases, ())
    pasts = followed.trajectories()
    signatures = [_signatures(release, attribute) for release in releases]
    sizes = pl.concat(
        [each.group_by("class").agg(pl.len().alias("values"), pl.col("count").sum()) for each in signatures]
    )
    every = [release.rows.classes.dense.runs()["len"] for release in releases]
    rows = pl.concat(every).sum()
    classes = sum(len(each) for each in every)
    distinct = sizes.filter(pl.col("values") == pl.col("count"))
    known = pl.concat(signatures)["count"].sum() == rows
    common, same, several = _kept(pasts, signatures)
    invariant = 1.0 if not several else same / several
    unique = known and distinct.height == classes
    least = min(whole(each.min()) for each in every)
    m = least if unique and same == several else 0
    return Invariance(attribute, m, distinct.height / classes, invariant if several else None, common)


def _signatures(release: ReleasedAt, attribute: str) -> pl.DataFrame:
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
    parts = [
        rows.select("trajectory", pl.col(name).alias("class"))
        .drop_nulls()
        .join(each, on="class")
        .drop("class", "count")
        for name, each in zip(names, signatures, strict=True)
    ]
    held = pl.concat(parts).group_by("trajectory", "value").len("held")
    there = rows.select("trajectory", "people", there=pl.sum_horizontal(pl.col(names).is_not_null()))
    in_all = (
        there.join(held, on="trajectory", how="left")
        .group_by("trajectory")
        .agg(
            pl.col("people", "there").first(),
            common=(pl.col("held") == pl.col("there")).fill_null(False).sum(),
            values=pl.col("value").count(),
        )
    )
    repeated = in_all.filter(pl.col("there") > 1)
    same = repeated.filter(pl.col("common") == pl.col("values"))["people"].sum()
    return whole(in_all["common"].cast(pl.Int64).min()), int(same), int(repeated["people"].sum())
