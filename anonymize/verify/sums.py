"""Sums of fractions that are the same to the last digit in every run.

A sum of fractions depends on the order in which they are added. The engine parts long columns among its threads and
adds up what each of them has, so that last digits change with the number of threads, with where a group lies in its
column, and from run to run. Fractions in ascending order, each group by itself, have one sum.
"""

from __future__ import annotations

import polars as pl


def summed(fractions: pl.Expr) -> pl.Expr:
    """The sum of a group's fractions, smallest first.

    For eager frames only: of a lazy query polars drops the sort, which it takes to change no sum, and its streaming
    engine parts a group wherever a piece of the column ends.
    """
    return fractions.sort().sum()
