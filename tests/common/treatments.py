"""One step of treatment made on a small table, and measured by its twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from anonymize import verify
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.table.source import Source
from anonymize.treatments import TREATMENTS, Change, InputColumn, Step
from anonymize.verify.moved import MeasuredTreatment

KEY = b"a key of the tests"
Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Made:
    """What a step made of a table. `before`, `after`: all columns, as their twin compares them; `texts`: the changed
    ones as they are written."""

    entry: Any
    change: Change
    before: dict[str, pl.Series]
    after: dict[str, pl.Series]
    texts: dict[str, list[str | None]]
    weights: pl.Series | None = None

    def measured(self, **other: Sequence[Any]) -> MeasuredTreatment:
        """What its twin says of it; `other`: columns of the release that are not those that the step made."""
        after = self.after | {
            name: pl.Series(list(values), dtype=self.after[name].dtype) for name, values in other.items()
        }
        return verify.measure_treatment(
            self.entry.method, self.entry.model_dump(), self.change.declared, self.before, after, self.weights
        )


def make_step(
    columns: Columns,
    /,
    *,
    seed: int = 1,
    key: bytes | None = KEY,
    form: str = "csv",
    missing: Sequence[str] = ("",),
    weights: Sequence[float] | None = None,
    output: Mapping[str, Any] | None = None,
    **entry: Any,
) -> Made:
    """A step on a table with these columns, and sampling weights. Raises what the step raises. A cell is missing where
    it is None, or one of the texts that are `missing`."""
    weighted = None if weights is None else np.array(weights, float)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{form}"
        frame = pl.DataFrame(dict(columns), strict=False)
        frame.write_csv(path) if form == "csv" else frame.write_parquet(path)
        spec = make(
            {
                "version": 1,
                "input": {"path": str(path), "missing": list(missing)},
                "others": "insensitive",
                "treatments": [entry],
                "output": dict(output or {}),
            },
            PARAMETERS,
        )
        with Source.open(spec) as source:
            step = spec.treatments[0]
            whole = pl.concat(list(source.batches(list(columns))))
            own = {name: InputColumn.of(spec, source, whole[name]) for name in (*step.treated, *step.read)}
            random = np.random.Generator(np.random.Philox(seed))
            change = TREATMENTS[step.method].run(step, Step(own, random, key, weighted, spec))
    released = {name: column.cells.gather(column.codes) for name, column in change.columns.items()}
    texts = {name: cells.cast(pl.String).to_list() for name, cells in released.items()}
    numeric = step.treated if step.NUMBERS else ()
    before = {name: compared(whole[name], name in numeric) for name in own}
    after = {name: compared(cells, name in numeric) for name, cells in released.items()}
    after |= {name: before[name] for name in step.counted}
    return Made(step, change, before, after, texts, None if weights is None else pl.Series(weighted))


def compared(cells: pl.Series, numeric: bool) -> pl.Series:
    """Cells as twins compare them."""
    text = cells.cast(pl.String).replace(["", "?"], None)
    return text.cast(pl.Float64) if numeric else text
