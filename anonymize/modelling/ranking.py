"""Which quasi-identifier tells most of a target, by itself."""

from __future__ import annotations

import numpy as np

from anonymize.classes import Ints
from anonymize.domain.numeric import Numeric
from anonymize.metrics.targets import conditional_entropy, squared_error
from anonymize.table import Attribute, Table

PARTS = 10
"""Numbers are divided into so many parts of about equally many rows."""


def by_information(table: Table, target: str) -> list[int]:
    """The quasi-identifiers but the target, most telling first; of ties the first in the spec.

    A category tells by its leaves, a number by the part that it lies in. What is left to guess is the conditional
    entropy of a label, or the squared error of a number around its mean.
    """
    column = next(each for each in table.targets if each.name == target)
    some = np.ones(table.rows, np.bool_)
    values = None
    if column.values is not None:
        values = column.values[column.codes]
        some = ~np.isnan(values)
    left = {}
    for index, attribute in enumerate(table.attributes):
        if attribute.name == target:
            continue
        parts = _parts(attribute)[some]
        if not some.any():
            left[index] = 0.0
        elif values is not None:
            left[index] = squared_error(parts, values[some])
        else:
            left[index] = conditional_entropy(parts, column.codes, int(parts.max()) + 1, column.size)
    return sorted(left, key=lambda index: (left[index], index))


def _parts(attribute: Attribute) -> Ints:
    """(rows,) which part of the domain each row lies in."""
    codes = attribute.codes.astype(np.int64)
    if not isinstance(attribute.domain, Numeric) or attribute.domain.size <= PARTS:
        return codes
    edges = np.unique(np.quantile(codes, np.arange(1, PARTS) / PARTS, method="lower"))
    return np.searchsorted(edges, codes, "left").astype(np.int64)
