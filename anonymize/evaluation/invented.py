"""Synthetic tables beside their original: how far the marginals of invented rows are from the true ones, and how well
they answer counts.

No row is anybody's, so that nothing here matches rows, and what is measured of classes or cells is not defined. All of
it takes the original: none of it has been paid for, no epsilon covers it, and it stands in private reports alone.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Floats, Ints
from anonymize.domain.cells import numbers
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Caution
from anonymize.evaluation import coded_alike, values_shown
from anonymize.fidelity import BothSides, ShownValues, total_variation
from anonymize.metrics import joint_measures
from anonymize.metrics.queries import Queries, estimated
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.table import Attribute, Table

UNPAID = Caution.of(
    "how near the synthetic table is to its original was measured by the original: no epsilon covers these figures, "
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
        error = joint_measures.query_figures(self.table, queries, answers)
        return {"utility": {joint_measures.QueryError.ID: error}, "variation": total_variation(self.sides())}


def _points(attribute: Attribute, texts: pl.Series) -> Floats:
    """(rows,) see `InventedTable.points`."""
    domain = attribute.domain
    if isinstance(domain, Numeric):
        return numbers(texts).cast(pl.Float64).fill_null(np.nan).to_numpy()
    assert isinstance(domain, Taxonomy)
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
