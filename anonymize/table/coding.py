"""Numeric quasi-identifiers that are rounded, or have a bottom or a top code: codes of what is left of their values."""

from __future__ import annotations

import numpy as np

from anonymize.domain.coding import Coding
from anonymize.domain.grid import Numbers
from anonymize.spec.columns import QuasiIdentifier
from anonymize.spec.model import Spec
from anonymize.table.columns import Codes
from anonymize.table.encode import code_type


def coding_of(spec: Spec, definition: QuasiIdentifier) -> Coding:
    """Where a quasi-identifier is cut off, and how that reads."""
    return Coding(definition.bottom, definition.top, spec.output.open_high, spec.output.open_low, definition.round)


def coded(coding: Coding, values: Numbers, codes: Codes, missing: int | None) -> tuple[Numbers, Codes, int | None]:
    """A column of sorted distinct values, of codes (rows,) and of the code of missing ones, cut off."""
    if coding.leaves_all:
        return values, codes, missing
    left, place = coding.applied(values)
    absent = None if missing is None else len(left)
    table = np.append(place, len(left)).astype(code_type(len(left) + (missing is not None)))
    return left, table[codes], absent
