"""Codes of what is left of the values of quasi-identifiers that are rounded or have a bottom or a top code; and
hierarchies of sensitive attributes, of any table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain import files
from anonymize.domain.build import build, moments_of, numeric_hierarchy
from anonymize.domain.grid import Coding, Numbers
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.text_levels import DateCodes
from anonymize.spec.columns import Definition, QuasiIdentifier
from anonymize.spec.hierarchy import Dates
from anonymize.spec.model import Spec
from anonymize.table.columns import Codes, compared
from anonymize.table.encode import code_type, is_text
from anonymize.table.named import column
from anonymize.table.scratch import Arrays

# --- coding -----------------------------------------------------------------------------------------------------------
# Codes of what is left of the values of quasi-identifiers that are rounded, have a bottom or a top code, or are coded
# at a level of their hierarchy.

PIECE = 1 << 20
"""Rows that are coded at once."""


def coding_of(spec: Spec, definition: QuasiIdentifier) -> Coding:
    """Where a quasi-identifier is cut off, and how that reads."""
    return Coding(*definition.number_ends, spec.output.open_high, spec.output.open_low, definition.round)


def date_codes(spec: Spec, definition: Definition) -> DateCodes:
    """Where the dates of a quasi-identifier are cut off, and how that reads."""
    ends = definition.date_ends if isinstance(definition, QuasiIdentifier) else (None, None)
    output = spec.output
    return DateCodes(*ends, output.open_low, output.open_high, output.suppressed)


def cut_off(source: object, codes: DateCodes, values: Sequence[str]) -> dict[str, str]:
    """What becomes of each value: of dates what stands for all beyond a code, of any other column itself."""
    if not isinstance(source, Dates) or (codes.bottom is None and codes.top is None):
        return {value: value for value in values}
    moments = moments_of(source, codes)
    return {value: moments.coded(value) for value in values}


def rounded(
    coding: Coding, values: Numbers, codes: Codes, missing: int | None, arrays: Arrays = np.empty
) -> tuple[Numbers, Codes, int | None]:
    """A column of sorted distinct values, of codes (rows,) and of the code of missing ones, rounded and cut off."""
    if coding.leaves_all:
        return values, codes, missing
    left, place = coding.applied(values)
    absent = None if missing is None else len(left)
    return left, recoded(codes, np.append(place, len(left)), len(left) + (missing is not None), arrays), absent


def recoded(codes: Codes, place: NDArray[np.int64], size: int, arrays: Arrays = np.empty) -> Codes:
    """(rows,) what each of the codes (rows,) has become, below `size`: `place` says it of every code."""
    table = place.astype(code_type(size))
    out: Codes = arrays(len(codes), table.dtype)
    for start in range(0, len(codes), PIECE):
        out[start : start + PIECE] = table[codes[start : start + PIECE]]
    return out


# --- hierarchies of sensitive attributes ------------------------------------------------------------------------------
# Hierarchies of sensitive attributes, of any table: what a check needs for distances between their values.

Paths = dict[str, tuple[str, ...]]
"""The labels from each leaf to the root, by the leaf's label, in the order of leaves."""


def trees(spec: Spec, frame: pl.LazyFrame, attributes: Iterable[str]) -> dict[str, Paths]:
    """The hierarchies of some sensitive attributes, of those that have one.

    That of a file as it stands there, whatever the table has; a built one over the values in `frame`, a table as text.
    Raises SpecError for a file that is wrong, DataError for values that a builder cannot take.
    """
    definitions = {name: spec.sensitive[name] for name in attributes}
    return {
        name: tree_of(spec, frame, name, definition).paths()
        for name, definition in definitions.items()
        if definition.hierarchy is not None
    }


def all_leaves(spec: Spec, frame: pl.LazyFrame | None, name: str) -> Paths:
    """The hierarchy of a quasi-identifier, the missing leaf included. `frame`: a table as text, over whose values a
    built one is; None where it is a file's."""
    taxonomy = tree_of(spec, pl.LazyFrame() if frame is None else frame, name, spec.quasi_identifiers[name])
    levels = [[taxonomy.labels[node] for node in level] for level in taxonomy.levels.tolist()]
    return {path[0]: path for path in zip(*levels, strict=True)}


def tree_of(spec: Spec, frame: pl.LazyFrame, name: str, definition: Definition) -> Taxonomy:
    """The hierarchy of one column."""
    normalize = spec.normalizes(name)
    if isinstance(definition.hierarchy, Path):
        tree = files.read(definition.hierarchy, name, normalize=normalize)
        return Taxonomy.of(name, tree, next((text for text in [spec.input.missing_text] if text in tree.leaves), None))
    texts = frame.select(column(name).cast(pl.String).unique().drop_nulls()).collect(engine="streaming").to_series()
    present = sorted(set(compared(texts, spec.missing("arrow", name)).drop_nulls()))
    if definition.type != "numeric":
        ends = date_codes(spec, definition)
        present = sorted(set(cut_off(definition.hierarchy, ends, present).values()))
        absent, suppressed = None if present else "", spec.output.suppressed
        return build(name, definition, present, absent, suppressed, normalize=normalize, codes=ends)
    written = pl.Series(present, dtype=pl.String).to_frame("text")
    if is_text(frame.collect_schema()[name]):
        written = written.select(spec.notation(name).with_point(pl.col("text")))
    numbers = Numeric(name, _numbers(written.to_series()).to_numpy())
    output = spec.output
    return numeric_hierarchy(definition, numbers, output.interval, output.suppressed, normalize=normalize).hierarchy


def _numbers(texts: pl.Series) -> pl.Series:
    """The different numbers among texts, ascending; any other text is left out, for the check to find."""
    bare = texts.str.strip_chars()
    whole, broken = bare.cast(pl.Int64, strict=False), bare.cast(pl.Float64, strict=False)
    numbers = whole if whole.null_count() == broken.null_count() else broken + 0.0
    return numbers.filter(broken.is_finite().fill_null(False)).unique().sort()
