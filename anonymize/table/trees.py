"""Hierarchies of sensitive attributes, of any table: what a check needs for distances between their values."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from anonymize.domain import files
from anonymize.domain.build import build, numeric_hierarchy
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.spec.columns import Definition
from anonymize.spec.model import Spec
from anonymize.table.coding import cut_off, date_codes
from anonymize.table.encode import is_text
from anonymize.table.named import column
from anonymize.table.texts import compared

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
