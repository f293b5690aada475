"""Rows that may be somebody's where regions overlap: by all regions that cover the person, and by the smallest one.

A class has as many rows as was required. Whoever reads its cells alone has to take the rows of every class whose cells
could be about the person. Whoever knows that a method puts people where they lose little takes the smallest region, and
is mostly right: of what overlapping adds, little is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from anonymize.attacks import ShownRows, TargetPeople
from anonymize.attacks.smallest_region import covered
from anonymize.classes import Ints
from anonymize.reading.files import as_text, columns_of
from anonymize.reading.regions import gapped_columns, read_regions
from anonymize.recoding import Released
from anonymize.spec import Spec
from anonymize.table import Table

PEOPLE = 1000
"""Rows that are looked at, at most; the median of so many is near enough."""


def candidate_rows(spec: Spec, table: Table, released: Released) -> dict[str, Any]:
    """The figures of people drawn at random, always the same ones: the median of rows that may be theirs, and how often
    the class is theirs that an attacker takes, by region (`right`) or by its rows (`right_by_rows`). Nothing where
    nobody is released."""
    present = np.flatnonzero(released.class_of >= 0)
    if not len(present):
        return {}
    rows = np.sort(np.random.default_rng(0).permutation(present)[:PEOPLE])
    release = _classes_of(spec, table, released, released.class_of[present].astype(np.int64))
    people = TargetPeople(_codes(table, rows), {}, np.searchsorted(present, rows))
    each = covered(release, people, release.candidates(people.codes))
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


def _classes_of(spec: Spec, table: Table, released: Released, class_of: Ints) -> ShownRows:
    """The classes as whoever reads the release sees them."""
    own = spec.of_release()
    texts = pl.DataFrame([each.texts.gather(each.of_class).alias(each.name) for each in released.columns])
    texts = texts.select(as_text(each, own, "csv") for each in texts.iter_columns())
    regions, which = read_regions(own, table.attributes, texts, columns_of(own, texts.columns, "the release"))
    first, last = [], []
    for attribute, each, text in zip(table.attributes, regions, which, strict=True):
        wide = each.summary[text]
        first.append(np.where(wide, 0, each.first[text]))
        last.append(np.where(wide, attribute.domain.size - 1, each.last[text]))
    return ShownRows(np.stack(first, axis=1), np.stack(last, axis=1), class_of, gapped=gapped_columns(regions, which))
