"""Twin of PRAM: the moves from value to value in the release, against the matrices that the manifest declares.

How far a frequency may be off follows from the Chernoff bound, n KL(k / n, p), which holds for any number of rows; all
of these together are broken by a sound release once in 10^8. A move with no probability is never one of chance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from anonymize.verify.both import SURPRISE, BothColumns, MeasuredTreatment, Settings, numbered

_CLOSE = 1e-9
_INVARIANT = 1e-12


def pram(settings: Settings, declared: Settings, columns: BothColumns) -> MeasuredTreatment:
    """Missing values stay, moves are as likely as declared, and the matrices are what the step is."""
    figures: dict[str, Any] = {}
    wrong = [
        f"{name}: missing values are not where they were" for name in settings["columns"] if columns.missing_moved(name)
    ]
    variables = [list(settings["columns"])] if settings["joint"] else [[name] for name in settings["columns"]]
    parts = () if settings["matrix"] is not None else settings["by"]
    for names in variables:
        own = [each for each in declared["channels"] if each["columns"] == names]
        cells = _declared_cells(own, parts, len(names))
        moves, still = _moves(columns, parts, names)
        said = [*_matrix_faults(settings, cells, len(names)), *_faults(cells, moves, parts, len(names))]
        if settings["invariant"]:
            said += _variance(cells, moves, parts, len(names))
        if still:
            said.append(f"{still} rows that lack a value have changed")
        wrong += [f"{', '.join(names)}: {each}" for each in said]
        changed = {name: columns.changed(name) for name in names}
        figures[" and ".join(names)] = {"changed": changed, "matrices": len(own), "cells": cells.height}
    return MeasuredTreatment(figures, wrong)


def _declared_cells(channels: Sequence[Mapping[str, Any]], parts: Sequence[str], width: int) -> pl.DataFrame:
    """Each cell of the matrices: its part, the value before and after, and the probability `chance`."""
    frames = []
    for channel in channels:
        values, matrix = channel["values"], channel["matrix"]
        size = len(values)
        own: dict[str, Any] = {}
        for place in range(width):
            texts = [value[place] for value in values]
            own[f"b{place}"] = pl.Series([text for text in texts for _ in range(size)], dtype=pl.String)
            own[f"a{place}"] = pl.Series(texts * size, dtype=pl.String)
        own["chance"] = pl.Series(list(itertools.chain.from_iterable(matrix)), dtype=pl.Float64)
        frame = pl.DataFrame(own)
        part = [pl.lit(channel["part"][name], pl.String).alias(f"p{place}") for place, name in enumerate(parts)]
        frames.append(frame.with_columns(part))
    schema = dict.fromkeys([*numbered("b", width), *numbered("a", width), *numbered("p", len(parts))], pl.String)
    return pl.concat(frames) if frames else pl.DataFrame(schema={**schema, "chance": pl.Float64})


def _moves(columns: BothColumns, parts: Sequence[str], names: Sequence[str]) -> tuple[pl.DataFrame, int]:
    """How many rows (`len`) of each part went from each value to each; and how many changed that lack a value."""
    before, after = numbered("b", len(names)), numbered("a", len(names))
    frame = columns.frame(parts, names)
    lacking = pl.any_horizontal(pl.col(name).is_null() for name in before)
    different = pl.any_horizontal(pl.col(b).ne_missing(pl.col(a)) for b, a in zip(before, after, strict=True))
    still = frame.filter(lacking & different).height
    return frame.filter(~lacking).group_by(*numbered("p", len(parts)), *before, *after).len(), still


def _faults(cells: pl.DataFrame, moves: pl.DataFrame, parts: Sequence[str], width: int) -> Iterator[str]:
    """Moves that are none of the matrix, or not as frequent as it says."""
    own, before = numbered("p", len(parts)), numbered("b", width)
    keys = [*own, *before, *numbered("a", width)]
    unknown = moves.join(cells, on=keys, how="anti", nulls_equal=True)
    if unknown.height:
        yield f"{int(unknown['len'].sum())} rows moved to or from values that the matrix does not have"
    rows = moves.group_by(*own, *before).agg(rows=pl.col("len").sum())
    tests = cells.join(rows, on=[*own, *before], nulls_equal=True)
    tests = tests.join(moves, on=keys, how="left", nulls_equal=True).with_columns(pl.col("len").fill_null(0))
    forbidden = tests.filter((pl.col("chance") <= 0) & (pl.col("len") > 0))
    if forbidden.height:
        yield f"{int(forbidden['len'].sum())} rows made moves that have no probability"
    share = pl.col("len") / pl.col("rows")
    divergence = _part(share, pl.col("chance")) + _part(1 - share, 1 - pl.col("chance"))
    allowed = SURPRISE + math.log(2 * max(tests.height, 1))
    off = tests.filter((pl.col("chance") > 0) & (divergence * pl.col("rows") > allowed)).height
    if off:
        yield f"{off} of {tests.height} frequencies of moves are not those of the matrix"


def _part(share: pl.Expr, chance: pl.Expr) -> pl.Expr:
    """One of the two terms of the divergence between shares."""
    safe = pl.when(chance > 1e-15).then(chance)
    return (
        pl.when(share <= 0)
        .then(0.0)
        .otherwise((share * (share / safe).log()).fill_null(pl.when(share > 1e-12).then(math.inf).otherwise(0.0)))
    )


def _matrix_faults(settings: Settings, cells: pl.DataFrame, width: int) -> Iterator[str]:
    """How the matrices are not what the step says."""
    before, after = numbered("b", width), numbered("a", width)
    parts = [name for name in cells.columns if name.startswith("p")]
    sums = cells.group_by(*parts, *before).agg(pl.col("chance").sum(), values=pl.len())
    if sums.filter((pl.col("chance") - 1).abs() > _CLOSE).height or cells.filter(pl.col("chance") < -_CLOSE).height:
        yield "rows of the matrix are no probabilities"
    for one, other in settings["forbidden"]:
        barred = pl.any_horizontal(
            (pl.col(b) == one) & (pl.col(a) == other) for b, a in zip(before, after, strict=True)
        )
        if cells.filter(barred & (pl.col("chance") > 0)).height:
            yield "a forbidden move has a probability in the matrix"
    stay = pl.all_horizontal(pl.col(b) == pl.col(a) for b, a in zip(before, after, strict=True))
    if settings["keep"] is not None and not settings["invariant"]:
        kept = (pl.col("chance") - settings["keep"]).abs() <= _CLOSE
        if cells.filter(stay & ~kept & (pl.col("chance") < 1)).height:
            yield "values stay with another probability than `keep`"
    if settings["matrix"] is not None:
        given = settings["matrix"]
        if any(
            abs(given[b].get(a, 0) - chance) > _CLOSE for b, a, chance in cells.select("b0", "a0", "chance").iter_rows()
        ):
            yield "the matrix is not the one of the spec"


def _variance(cells: pl.DataFrame, moves: pl.DataFrame, parts: Sequence[str], width: int) -> Iterator[str]:
    """Where the shares of values would not stay as they are, p R = p."""
    own, before, after = numbered("p", len(parts)), numbered("b", width), numbered("a", width)
    rows = moves.group_by(*own, *before).agg(rows=pl.col("len").sum())
    reached = cells.join(rows, on=[*own, *before], nulls_equal=True)
    expected = reached.group_by(*own, *after).agg(expected=(pl.col("chance") * pl.col("rows")).sum())
    both = rows.join(
        expected, left_on=[*own, *before], right_on=[*own, *after], how="left", nulls_equal=True
    ).with_columns(pl.col("expected").fill_null(0.0))
    total = pl.col("rows").sum()
    error = (pl.col("expected") - pl.col("rows")).abs() / (total.over(own) if own else total)
    if both.select((error > _INVARIANT).any()).item():
        yield "the matrix is not invariant: expected counts are others than those before"
