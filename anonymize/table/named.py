"""Columns by their names. To polars a text is a pattern: `*` is every column, `^a.*$` all that begin with an a."""

from __future__ import annotations

import polars as pl
from polars import selectors


def column(name: str) -> pl.Expr:
    """The column of exactly this name.

    >>> pl.DataFrame({"a": [1], "^a$": [2], "*": [3]}).select(column("^a$"), column("*")).row(0)
    (2, 3)
    """
    return selectors.by_name(name).as_expr()
