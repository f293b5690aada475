"""Twins of the steps that change values: what each of them promises, measured again from the input and the release.

A twin is a function from the settings of a step, what its manifest declares, and the columns before and after, row by
row, to figures, and to sentences about what is wrong. Numbers come as Float64, everything else as text, null where a
value is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

Settings: TypeAlias = Mapping[str, Any]


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


Twin: TypeAlias = Callable[[Settings, Settings, BothColumns], MeasuredTreatment]


def noise(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Missing values stay; what is bounded is; the mean and the spread of the noise."""
    figures: dict[str, Any] = {}
    wrong = []
    for name in columns.after:
        pair = columns.pair(name)
        if columns.missing_moved(name):
            wrong.append(f"{name}: missing values are not where they were")
        difference = pair["after"] - pair["before"]
        figures[name] = {
            "changed": columns.changed(name),
            "noise_mean": difference.mean(),
            "noise_deviation": difference.std(),
        }
    return MeasuredTreatment(figures, wrong)


TREATMENT_TWINS: dict[str, Twin] = {
    "noise": noise,
}
"""By the name of the method."""


def measure_treatment(
    method: str,
    settings: Settings,
    declared: Settings,
    before: Mapping[str, pl.Series],
    after: Mapping[str, pl.Series],
) -> MeasuredTreatment:
    """What a step comes to in the release. `before`: its columns in the input, also those that it only looks at;
    `after`: those that it changed, row by row. Raises KeyError for a method without a twin."""
    return TREATMENT_TWINS[method](settings, declared, BothColumns(before, after))
