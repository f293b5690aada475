"""Columns by their names. To polars a text is a pattern: `*` is every column, `^a.*$` all that begin with an a."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars import selectors


def column(name: str) -> pl.Expr:
    """The column of exactly this name.

    >>> pl.DataFrame({"a": [1], "^a$": [2], "*": [3]}).select(column("^a$"), column("*")).row(0)
    (2, 3)
    """
    return selectors.by_name(name).as_expr()


def unnamed(series: pl.Series) -> pl.Series:
    """The same values under no name: most methods of a series look it up by its name, which is a pattern there as well.

    >>> unnamed(pl.Series("*", ["a", None])).fill_null("b").to_list()
    ['a', 'b']
    """
    return series.alias("")


def cells_at(cells: pl.Series, places: NDArray[np.integer[Any]]) -> pl.Series:
    """The cells at some places, none of which is negative. Numbers of polars' own type for places are taken as they
    are, in half the time.

    >>> cells_at(pl.Series("*", ["a", None, "b"]), np.array([2, 1, 2])).to_list()
    ['b', None, 'b']
    """
    return cells.gather(pl.Series(places.astype(np.uint32, copy=False)))
