"""Sizes of the classes, and the risk that somebody is found in them."""

from __future__ import annotations

import math

import polars as pl

from anonymize.verify.table import whole
from anonymize.verify.verdict import Figures


def class_sizes(sizes: pl.Series) -> Figures:
    if sizes.is_empty():
        return {"count": 0, "min_size": None, "mean_size": None, "max_size": None}
    rows = int(sizes.sum())
    smallest, largest = sizes.min(), sizes.max()
    assert isinstance(smallest, int) and isinstance(largest, int)
    return {"count": len(sizes), "min_size": smallest, "mean_size": rows / len(sizes), "max_size": largest}


def risk(sizes: pl.Series, threshold: float) -> Figures:
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


def wildcard_risk(classes: pl.DataFrame, threshold: float) -> Figures:
    """The same where a missing cell matches anything: 1 / `size`, the compatible rows, for each of a class's `own`.

    The marketer's is the mean: the share of rows that an attacker is expected to link correctly who picks one of the
    compatible rows.
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
