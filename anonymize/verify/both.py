"""What the twins of treatments are given, and what they return."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

Settings: TypeAlias = Mapping[str, Any]
SURPRISE = math.log(1e8)
"""All tests of a column together are broken by a sound release with a probability of at most exp(-this)."""


@dataclass(frozen=True)
class MeasuredTreatment:
    """`figures`: what a step comes to, for a private report. `wrong`: how the release is not what the step makes."""

    figures: Mapping[str, Any] = field(default_factory=dict)
    wrong: Sequence[str] = ()


@dataclass(frozen=True)
class BothColumns:
    """Columns before and after a step, (rows,) in the same order."""

    before: Mapping[str, pl.Series]
    after: Mapping[str, pl.Series]

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


def same_multiset(frame: pl.DataFrame, by: Sequence[str], before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether some columns have the same combinations of cells as others, as often, in each part."""
    renamed = frame.select(*by, **dict(zip(before, after, strict=True)))
    own = frame.select(*by, *before)
    return own.sort(own.columns).equals(renamed.sort(own.columns))
