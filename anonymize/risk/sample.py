"""The risk of a table that is a sample, from its text and its sampling weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from anonymize.risk.frequency import TextFrequencySet
from anonymize.risk.individual import estimate
from anonymize.spec import Missing, Spec
from anonymize.table import named
from anonymize.table.encode import is_text


@dataclass(frozen=True)
class Text:
    """A table as it is written. `columns`: those of each quasi-identifier; `missing`: what means missing in it; `units`
    (rows,): the individual that each row is about, None where every row is about a different one."""

    frame: pl.LazyFrame
    columns: Sequence[Sequence[str]]
    spec: Spec
    missing: Missing
    units: pl.Series | None = None

    def text(self, column: str) -> pl.Expr:
        """A column as text."""
        text = named.column(column).cast(pl.String)
        return text if self._fill is None else text.fill_null(self._fill)

    @property
    def _fill(self) -> str | None:
        return self.missing.fill

    def frequency(self) -> TextFrequencySet:
        """The frequency set in which missing is a value of its own, with weights where the spec has them."""
        return self._of(self.columns, ())

    def wild_frequency(self) -> TextFrequencySet:
        """The same, each column by itself and a missing or suppressed cell as the code 0."""
        columns = [[name] for names in self.columns for name in names]
        wild = [*self.missing.texts, self.spec.output.suppressed]
        return self._of(columns, wild)

    @property
    def _weight(self) -> pl.Expr | None:
        """The sampling weights as texts of numbers."""
        name = self.spec.weight_column
        if name is None:
            return None
        text, kind = named.column(name).cast(pl.String), self.frame.collect_schema()[name]
        return self.spec.notation(name).with_point(text) if is_text(kind) else text

    def _of(self, columns: Sequence[Sequence[str]], wild: Sequence[str]) -> TextFrequencySet:
        return TextFrequencySet.of(
            self.frame,
            columns,
            fill=self._fill,
            wild=wild,
            weight=self._weight,
            units=self.units,
            normalize=self.spec.input.normalize,
        )


def sampled(text: Text, threshold: float, frequency: TextFrequencySet | None = None) -> dict[str, Any]:
    """What sampling weights add to the report's block `risk`: `sample`, and under `wildcard` the same in that meaning
    of missing, where the spec declares it. Nothing without weights. `frequency`: that of the text, if it is known."""
    if text.spec.weight_column is None:
        return {}
    figures = {"sample": estimate(text.frequency() if frequency is None else frequency, threshold).as_dict()}
    if text.spec.privacy.missing != "wildcard":
        return figures
    return figures | {"wildcard": {"sample": estimate(text.wild_frequency(), threshold, wildcard=True).as_dict()}}


def merged(risk: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    """The block `risk` with these figures added."""
    block = {**risk, **figures}
    if "wildcard" in figures:
        block["wildcard"] = {**risk["wildcard"], **figures["wildcard"]}
    return block
