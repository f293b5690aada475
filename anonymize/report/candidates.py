"""Rows that may be somebody's where regions overlap, in the report of a release."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Ints
from anonymize.domain import LeafSets
from anonymize.errors import DataError
from anonymize.reading import as_text, columns_of
from anonymize.reading.regions import gapped_columns, read_regions
from anonymize.recoding import Released
from anonymize.risk.records import covered
from anonymize.spec import Spec
from anonymize.table import Table

PEOPLE = 1000
"""Rows that are looked at, at most; the median of so many is near enough."""


def candidate_rows(spec: Spec, table: Table, released: Released) -> dict[str, Any]:
    """The figures of people drawn at random, always the same ones: the median of rows that may be theirs, and how often
    the class is theirs that an attacker takes, by region (`right`) or by its rows (`right_by_rows`). Nothing where
    nobody is released, or some cell is one that nobody could read."""
    present = np.flatnonzero(released.class_of >= 0)
    if not len(present):
        return {}
    rows = np.sort(np.random.default_rng(0).permutation(present)[:PEOPLE])
    try:
        columns = _cells(spec, table, released)
    except DataError:
        return {}
    sizes = np.bincount(released.class_of[present], minlength=len(columns[0].first))
    each = covered(_codes(table, rows), released.class_of[rows].astype(np.int64), columns, sizes)
    right = each.own_smallest * each.own / np.maximum(each.by_method, 1)
    by_rows = each.own / np.maximum(each.by_regions, 1)
    return {
        "people": len(rows),
        **each.medians(),
        "right": float(right.mean()),
        "right_by_rows": float(by_rows.mean()),
    }


def _codes(table: Table, rows: Ints) -> Ints:
    """(rows, attributes) codes of some rows, -1 where missing."""
    columns = []
    for attribute in table.attributes:
        codes, missing = attribute.codes[rows].astype(np.int64), attribute.domain.missing
        columns.append(codes if missing is None else np.where(codes == missing, -1, codes))
    return np.stack(columns, axis=1)


def _cells(spec: Spec, table: Table, released: Released) -> list[LeafSets]:
    """Of each quasi-identifier the cells of all classes, as whoever reads the release sees them."""
    own = spec.of_release()
    texts = pl.DataFrame([each.texts.gather(each.of_class).alias(each.name) for each in released.columns])
    texts = texts.select(as_text(each, own, "csv") for each in texts.iter_columns())
    regions, which = read_regions(own, table.attributes, texts, columns_of(own, texts.columns, "the release"))
    gapped, cells = gapped_columns(regions, which), []
    for column, (attribute, each, text) in enumerate(zip(table.attributes, regions, which, strict=True)):
        wide = each.summary[text]
        first = np.where(wide, 0, each.first[text])
        cells.append(LeafSets(first, np.where(wide, attribute.domain.size - 1, each.last[text]), gapped.get(column)))
    return cells
