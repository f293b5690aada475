"""Synthetic tables next to their original: how far the marginals of invented rows are from the true ones, how well they
answer counts, and what attackers see of them.

No row is anybody's, so that nothing here matches rows, and what is measured of classes or cells is not defined. All of
it takes the original: none of it has been paid for, no epsilon covers it, and it stands in private reports alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from anonymize.attacks import ChannelRows, ShownRows
from anonymize.classes import Floats, Ints, Partition
from anonymize.domain import cells, taxonomy
from anonymize.domain.numeric import Numeric
from anonymize.errors import Caution
from anonymize.evaluation import coded_alike, values_shown
from anonymize.fidelity import BothSides, ShownValues, total_variation
from anonymize.metrics import measures
from anonymize.metrics.queries import Queries
from anonymize.metrics.queries.answers import estimated
from anonymize.reading import SourceTexts
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table import Attribute, Table

UNPAID = Caution.of(
    "the synthetic table was measured by its original: no epsilon covers these figures, "
    "and whatever is chosen or published by them tells of the people in it",
    "keep this report private; a public one (`--public-report`) has nothing of it",
)
UNSEEN = -1.0
"""The position of a category that the original's column does not have."""


@dataclass(frozen=True)
class InventedTable:
    """A synthetic table, `texts` with null where a value is missing, and the table that it was made of, with its
    workload."""

    spec: Spec
    table: Table
    texts: pl.DataFrame

    @cached_property
    def points(self) -> Floats:
        """(rows, attributes) what each row has of each quasi-identifier: a number, or the position of a leaf; nan where
        a number is missing, `UNSEEN` for a category that the original does not have."""
        columns = [_points(each, self.texts[each.name]) for each in self.table.attributes]
        return np.stack(columns, axis=1) if columns else np.zeros((self.texts.height, 0))

    @property
    def training(self) -> tuple[Floats, pl.DataFrame]:
        """The rows as models are trained on them: the quasi-identifiers, and the frame that has the targets."""
        return self.points, self.texts

    def sides(self) -> BothSides:
        """What is compared of distributions: of the quasi-identifiers, the sensitive attributes and the targets."""
        attributes = enumerate(self.table.attributes)
        exact = {each.name: _values_of(each, self.points[:, place]) for place, each in attributes}
        passing = values_shown(self.table, coded_alike(self.spec, self.table, self.texts))
        every = np.zeros(self.texts.height, np.int64)
        return BothSides(self.table, self.spec, every, 1, exact=exact, passing=passing)

    def blocks(self, queries: Queries) -> dict[str, Any]:
        """The blocks `variation`, and `utility` with `query_error`."""
        answers = estimated(self.points, self.points, np.ones(self.texts.height, np.int64), queries)
        error = measures.query_figures(self.table, queries, answers)
        return {"utility": {measures.QueryError.ID: error}, "variation": total_variation(self.sides())}


def _points(attribute: Attribute, texts: pl.Series) -> Floats:
    """(rows,) see `InventedTable.points`."""
    domain = attribute.domain
    if isinstance(domain, Numeric):
        return cells.numbers(texts).cast(pl.Float64).fill_null(np.nan).to_numpy()
    assert isinstance(domain, taxonomy.Taxonomy)
    leaves = domain.leaf_text()
    present = [code for code in range(len(leaves)) if code != domain.missing]
    codes = texts.cast(pl.String).replace_strict(
        [leaves[code] for code in present], present, default=UNSEEN, return_dtype=pl.Float64
    )
    absent = UNSEEN if domain.missing is None else domain.missing
    return pl.select(pl.when(texts.is_null()).then(float(absent)).otherwise(codes)).to_series().to_numpy()


def _values_of(attribute: Attribute, points: Floats) -> ShownValues:
    """A quasi-identifier as codes of the original's leaves: a number counts as the next one that the original has, and
    what is at no leaf as one more."""
    domain, size = attribute.domain, attribute.domain.size
    if isinstance(domain, Numeric):
        last = max(len(domain.values) - 1, 0)
        codes = np.minimum(np.searchsorted(domain.values, np.nan_to_num(points)), last)
        codes = np.where(np.isnan(points), size if domain.missing is None else domain.missing, codes)
    else:
        codes = np.where(points == UNSEEN, size, points)
    released: Ints = codes.astype(np.int64)
    more = int(released.max(initial=0) >= size)
    return ShownValues(attribute.name, attribute.codes, released, size + more, isinstance(domain, Numeric))


# --- to be attacked ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadRelease:
    """A release that has been read as text, of any family."""

    file: SourceTexts

    @property
    def channels(self) -> ChannelRows | None:
        """What a release through channels shows; None: cells went through none."""
        return None

    def as_rows(self, attributes: Sequence[Attribute], values: Mapping[str, Ints]) -> ShownRows:
        """Its rows by class; `values`: their sensitive values."""
        raise NotImplementedError


@dataclass(frozen=True)
class InventedRelease(ReadRelease):
    """Invented rows, as attackers read them. `numeric`: the columns that are numbers, as the manifest says."""

    table: InventedTable
    numeric: frozenset[str]

    def as_rows(self, attributes: Sequence[Attribute], values: Mapping[str, Ints]) -> ShownRows:
        """Its rows as if they were of people, by class: rows that have the same codes. A number is that of the original
        which is nearest; rows with a category or a missing value that the original does not know are left out."""
        columns = [_nearest_codes(*each) for each in zip(attributes, self.table.points.T, strict=True)]
        codes = np.stack(columns, axis=1) if columns else np.zeros((self.file.rows, 0), np.int64)
        some = np.flatnonzero((codes >= 0).all(axis=1))
        partition = Partition.of_labels(np.unique(codes[some], axis=0, return_inverse=True)[1].ravel())
        classes = codes[some][partition.order[partition.starts[:-1]]]
        class_of = partition.class_of(len(some)).astype(np.int64)
        return ShownRows(classes, classes, class_of, {name: each[some] for name, each in values.items()})


def _nearest_codes(attribute: Attribute, points: Floats) -> Ints:
    """(rows,) the code that is nearest to each value, -1 where there is none."""
    domain = attribute.domain
    if not isinstance(domain, Numeric):
        return np.where(points == UNSEEN, -1, points).astype(np.int64)
    absent = -1 if domain.missing is None else domain.missing
    if not len(domain.values):
        return np.where(np.isnan(points), absent, -1)
    known = np.asarray(domain.values, np.float64)
    above = np.minimum(np.searchsorted(known, np.nan_to_num(points)), len(known) - 1)
    below = np.maximum(above - 1, 0)
    closer = np.abs(known[below] - points) < np.abs(known[above] - points)
    return np.where(np.isnan(points), absent, np.where(closer, below, above)).astype(np.int64)


def points_of(attribute: Attribute) -> Floats:
    """(people,) the values of a quasi-identifier, as those of `InventedTable.points`."""
    if not isinstance(attribute.domain, Numeric):
        return attribute.codes.astype(np.float64)
    return np.append(np.asarray(attribute.domain.values, np.float64), np.nan)[attribute.codes]
