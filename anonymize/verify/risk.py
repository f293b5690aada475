"""Sizes of the classes, and the risk that somebody is re-identified in them."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

import polars as pl

from anonymize.verify.numbering import whole
from anonymize.verify.verdict import Figures

WORSE: dict[str, Literal["higher", "lower"]] = {
    "prosecutor_max": "higher",
    "prosecutor_mean": "higher",
    "journalist_max": "higher",
    "marketer": "higher",
    "records_at_risk": "higher",
    "uniques": "higher",
}
"""The figures of a risk, and the direction in which each gets worse."""
GIVEN = "threshold"
"""The parameter that stands beside them: the risk above which a record counts as at risk."""


SIZES = (1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Where the ranges of class sizes begin; the last one has no end."""

SizeRange: TypeAlias = dict[str, int | None]
"""`from` and `to` (None: no end), and the `classes` and `rows` that are of such sizes."""


def class_sizes(sizes: pl.Series) -> Figures:
    """How many classes there are, and how large they are."""
    if sizes.is_empty():
        return {"count": 0, "min_size": None, "mean_size": None, "max_size": None}
    rows = int(sizes.sum())
    smallest, largest = sizes.min(), sizes.max()
    assert isinstance(smallest, int) and isinstance(largest, int)
    return {"count": len(sizes), "min_size": smallest, "mean_size": rows / len(sizes), "max_size": largest}


def size_ranges(sizes: pl.Series) -> list[SizeRange]:
    """The ranges from that of the smallest class to that of the largest; none of no classes."""
    if sizes.is_empty():
        return []
    ends = [*(begin - 1 for begin in SIZES[1:]), None]
    within = [sizes.filter(sizes.is_between(low, high or sizes.max())) for low, high in zip(SIZES, ends, strict=True)]
    filled = [index for index, some in enumerate(within) if len(some)]
    return [
        {"from": SIZES[index], "to": ends[index], "classes": len(within[index]), "rows": int(within[index].sum())}
        for index in range(filled[0], filled[-1] + 1)
    ]


def classes_block(sizes: pl.Series) -> dict[str, Any]:
    """Number and sizes of the classes, and how many there are of each range of sizes, if there are any."""
    ranges = size_ranges(sizes)
    return {**class_sizes(sizes), **({"sizes": ranges} if ranges else {})}


def risk(sizes: pl.Series, threshold: float) -> Figures:
    """The risk of the rows, suppressed ones included. The prosecutor knows that the person is in the table: 1 / class
    size.

    Without a population the journalist, who does not know it, is assumed to be as well off. The marketer's is the share
    of rows that are expected to be linked correctly, which is the mean of the prosecutor's: classes / rows.
    """
    rows = int(sizes.sum())
    if not rows:
        return dict.fromkeys(WORSE, 0) | {GIVEN: threshold}
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


def wildcard_risk(classes: pl.DataFrame, threshold: float) -> Figures:
    """The same where a missing cell matches anything: 1 / `size`, the compatible rows, for each of a class's `own`.

    The marketer's is the mean: the share of rows that an attacker who picks one of the compatible rows is expected to
    link correctly.
    """
    rows = int(classes["own"].sum())
    if not rows:
        return risk(classes["size"], threshold)
    own, sizes = classes["own"], classes["size"]
    highest, mean = 1 / whole(sizes.min()), math.fsum(own / sizes) / rows
    return {
        "prosecutor_max": highest,
        "prosecutor_mean": mean,
        "journalist_max": highest,
        "marketer": mean,
        "records_at_risk": int(own.filter(1 / sizes > threshold).sum()) / rows,
        "uniques": int(own.filter(sizes == 1).sum()),
        "threshold": threshold,
    }
