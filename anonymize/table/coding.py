"""Codes of what is left of the values of quasi-identifiers that are rounded, have a bottom or a top code, or are coded
at a level of their hierarchy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anonymize.domain.build import moments_of
from anonymize.domain.coding import Coding
from anonymize.domain.grid import Numbers
from anonymize.domain.moments import DateCodes
from anonymize.spec.columns import Definition, QuasiIdentifier
from anonymize.spec.hierarchy import Dates
from anonymize.spec.model import Spec
from anonymize.table.columns import Codes
from anonymize.table.encode import code_type
from anonymize.table.scratch import Arrays

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
