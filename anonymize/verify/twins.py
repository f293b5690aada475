"""Every privacy model once more, written from its definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from anonymize.verify.verdict import Given

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
