"""The report of a release on an engine: the same blocks as on one machine, from the released DataFrame. What was not
measured there is null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from anonymize.algorithms import ALGORITHMS
from anonymize.classes import Floats
from anonymize.metrics import View, utility
from anonymize.reading.regions import DistinctTexts
from anonymize.recoding import Regions
from anonymize.report import Clock
from anonymize.report.cautions import unused_parts
from anonymize.report.codebook import FileCells, codebook, generalized
from anonymize.report.data import (
    peak_mb,
    required_size,
    settings,
    spec_block,
    verdict_blocks,
    with_heights,
)
from anonymize.report.head import head as begun
from anonymize.spark.checking import DATAFRAME
from anonymize.spark.counts import COUNT, VALUE, CountedRows
from anonymize.spark.engine import DataFrame
from anonymize.spark.outcome import EngineFrame, EngineOutcome
from anonymize.spark.searches import EngineSearch
from anonymize.spec import Spec
from anonymize.spec.patterns import left_over_warnings
from anonymize.table import Attribute
from anonymize.verify import Verdict
from anonymize.verify.counted import TextReading


@dataclass(frozen=True)
class EngineFacts:
    """Everything that the report is made from. `df`: the input. `sizes`: of the classes that are not suppressed."""

    known: EngineFrame
    df: DataFrame
    search: EngineSearch
    outcome: EngineOutcome
    verdict: Verdict
    sizes: pl.Series
    reading: TextReading

    @property
    def dropped_rows(self) -> int:
        """Rows of the input that are not in the release."""
        return self.known.learned.rows - self.verdict.rows

    @property
    def suppressed_rows(self) -> int:
        """Those, and the rows that read as suppressed."""
        return self.verdict.suppressed_rows + self.dropped_rows


@dataclass(frozen=True)
class Marginals(View):
    """A release of which the distribution of each column is known: `sums`, per quasi-identifier, of NCP and of loss
    over all rows."""

    sums: Sequence[tuple[float, float]] = ()

    @cached_property
    def attribute_ncp(self) -> Floats:
        """See `View`."""
        return np.array([ncp for ncp, _ in self.sums])

    @cached_property
    def attribute_loss(self) -> Floats:
        """See `View`."""
        return np.array([loss for _, loss in self.sums])


def release_report(facts: EngineFacts, counts: CountedRows, clock: Clock) -> dict[str, Any]:
    """The report. `counts`: of the release, its columns by their places."""
    spec, verdict, learned = facts.known.spec, facts.verdict, facts.known.learned
    blocks, marginals = verdict_blocks(verdict), [counts.marginals[name] for name in facts.reading.quasi_identifiers]
    unused = unused_parts(spec, facts.search.algorithm, facts.search.options)
    hidden = {
        "suppressed_rows": facts.suppressed_rows,
        "dropped_rows": facts.dropped_rows,
        "suppressed_cells": sum(_suppressed(each, spec) for each in marginals),
    }
    return {
        **head(spec, facts.df, clock, learned.rows),
        "output": output_block(verdict.rows, hidden),
        "algorithm": algorithm_block(facts.search.algorithm, facts.outcome.options, facts.search.seed),
        "settings": settings(spec),
        **blocks,
        "risk": {**blocks["risk"], "before": None},
        "utility": utility(_view(facts, marginals)),
        "recoding": _recoding(facts),
        "codebook": _codebook(facts, marginals),
        **foot(facts.df, clock),
        "warnings": [*left_over_warnings(spec), *unused, *verdict.remarks, *verdict.cautions],
    }


def _codebook(facts: EngineFacts, marginals: Sequence[pl.DataFrame]) -> dict[str, Any]:
    spec, layout = facts.known.spec, facts.known.layout
    cells = FileCells(spec, {name: own[VALUE] for name, own in zip(spec.quasi_identifiers, marginals, strict=True)})
    meanings = generalized(cells, {name: [name] for name in cells.texts}, labels=facts.outcome.labelled)
    return codebook(spec, [layout.names[place] for place in layout.released], meanings, cells)


def head(spec: Spec, df: DataFrame, clock: Clock, rows: int) -> dict[str, Any]:
    """The first blocks of any report of a release on an engine. `df`: the input; `rows`: how many it has."""
    return {
        **begun(clock),
        "spec": spec_block(spec),
        "input": {"path": DATAFRAME, "sha256": None, "rows": rows, "columns": len(df.columns)},
    }


def output_block(rows: int, hidden: Mapping[str, int]) -> dict[str, Any]:
    """The block of a release of so many rows. `hidden`: counts of what it does not show."""
    return {"path": DATAFRAME, "sha256": None, "rows": rows, **hidden}


def algorithm_block(name: str, options: Mapping[str, Any], seed: int | None = None) -> dict[str, Any]:
    """The block of an algorithm."""
    return {"name": name, "family": ALGORITHMS[name].NEEDS.family, "options": dict(options), "seed": seed}


def foot(df: DataFrame, clock: Clock) -> dict[str, Any]:
    """The last blocks, but for warnings."""
    return {
        "timing": clock.timing(),
        "memory": {"peak_mb": peak_mb()},
        "engine": {"version": str(df.sparkSession.version)},
    }


def _recoding(facts: EngineFacts) -> dict[str, Any]:
    """What was found; rows are those of the DataFrame."""
    regions = {"regions": facts.verdict.classes["count"]} if facts.outcome.recoding["kind"] == Regions.KIND else {}
    suppressed = {"suppressed_rows": facts.suppressed_rows}
    return with_heights(facts.known.learned.attributes, {**facts.outcome.recoding, **regions, **suppressed})


def _suppressed(counted: pl.DataFrame, spec: Spec) -> int:
    """The cells of a column that show the suppressed text. `counted`: how many rows have each text."""
    return int(counted.filter(pl.col(VALUE) == spec.output.suppressed)[COUNT].sum())


def _view(facts: EngineFacts, marginals: Sequence[pl.DataFrame]) -> View:
    attributes = facts.known.learned.attributes
    return Marginals(
        attributes=attributes,
        ncp=(),
        loss=(),
        sizes=facts.sizes.to_numpy().astype(np.int64),
        suppressed_rows=facts.suppressed_rows,
        k=required_size(facts.known.requirements),
        levels=facts.outcome.levels,
        weights=facts.known.spec.weights,
        sums=[_sums(facts, own, counted) for own, counted in zip(attributes, marginals, strict=True)],
    )


def _sums(facts: EngineFacts, attribute: Attribute, counted: pl.DataFrame) -> tuple[float, float]:
    """NCP and loss of an attribute over all rows, as its released texts say."""
    spec = facts.known.spec
    texts, rows = counted[VALUE].to_list(), counted[COUNT].to_numpy()
    missing = frozenset(spec.missing("arrow").texts)
    regions = DistinctTexts(attribute, texts, texts, spec.output, missing).regions()
    hidden = facts.dropped_rows  # a row that is left out costs as much as one that shows nothing
    return float(regions.ncp @ rows) + hidden, float(regions.loss @ rows) + hidden
