"""The values that a channel is over: an attribute's own, those of a level of its hierarchy, or bins of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.base import Domain
from anonymize.domain.build import check_half_open
from anonymize.domain.cells import CellFormat, CellKind, numbers, read_cells
from anonymize.domain.generalization import Generalization
from anonymize.domain.grid import texts
from anonymize.domain.numeric import Numeric, template
from anonymize.errors import Problem, SpecError

Bounds = tuple[float | None, float | None]
"""Lowest and highest number of a category; None: without an end."""


@dataclass(frozen=True)
class Categories:
    """Different texts, and which of them each code of a domain is.

    `of_code` (domain.size,) int64. `bounds`: what each category of numbers spans, None for one that is neither a
    number nor an interval (missing, suppressed); None where the attribute is categorical. `half_open`: the upper ends
    do not belong to the categories.
    """

    texts: tuple[str, ...]
    of_code: NDArray[np.int64]
    bounds: tuple[Bounds | None, ...] | None = None
    half_open: bool = False

    @classmethod
    def of(cls, labels: Sequence[str]) -> Categories:
        """From a label of each code; codes of the same label are one category, in the order of codes."""
        number: dict[str, int] = {}
        of_code = np.array([number.setdefault(label, len(number)) for label in labels], np.int64)
        return cls(tuple(number), of_code)

    def occurring(self, present: NDArray[np.bool_]) -> Categories:
        """The categories of some codes (domain.size,) alone; codes of any other category are -1."""
        present_codes = np.unique(self.of_code[present])
        number = np.full(len(self.texts), -1)
        number[present_codes] = np.arange(len(present_codes))
        bounds = None if self.bounds is None else tuple(self.bounds[index] for index in present_codes.tolist())
        kept_texts = tuple(self.texts[index] for index in present_codes.tolist())
        return Categories(kept_texts, number[self.of_code], bounds, self.half_open)


def of_domain(domain: Domain) -> Categories:
    """One category for each leaf; the bounds of a number are the number itself, unless it is a code."""
    leaves = Categories.of(domain.leaf_text())
    if not isinstance(domain, Numeric):
        return leaves
    bounds: list[Bounds | None] = [(value, value) for value in domain.values.astype(np.float64).tolist()]
    if domain.lowest_open:
        bounds[0] = (None, float(domain.values[0]))
    if domain.highest_open:
        bounds[-1] = (float(domain.values[-1]), None)
    return Categories(leaves.texts, leaves.of_code, (*bounds, *[None] * (domain.size - len(bounds))))


def of_level(generalization: Generalization, level: int, interval: str) -> Categories:
    """The nodes at a level of the hierarchy. Raises SpecError for a level that it does not have.

    What an interval of numbers spans is read from its label, which is written with the template `interval`.
    """
    domain, hierarchy = generalization.domain, generalization.hierarchy
    if level > hierarchy.height:
        message = f"quasi_identifiers.{domain.name}.level: {level}, and the root of its hierarchy is {hierarchy.height}"
        raise SpecError(Problem(message, hint=f"choose one from 0 to {hierarchy.height - 1}"))
    codes = np.arange(domain.size)
    nodes = Categories.of(generalization.text_of(codes, hierarchy.levels[level][generalization.leaf_of(codes)]))
    if not isinstance(domain, Numeric):
        return nodes
    missing, coding = frozenset(filter(None, [domain.missing_text])), domain.coding
    written = CellFormat(interval, None, missing, coding.open_high, coding.open_low)
    bounds, half_open = _bounds(nodes.texts, written)
    return Categories(nodes.texts, nodes.of_code, bounds, half_open)


def of_bins(domain: Numeric, edges: Sequence[float], interval: str) -> Categories:
    """Bins that begin at each edge, and one below the first: `<18`, `[18-29]`, `>=30`.

    On numbers that are not whole, and between edges that are not, intervals are half-open: `[18-30)`.
    """
    whole = domain.whole and all(edge == int(edge) for edge in edges)
    names = texts(np.array(edges, np.int64) if whole else np.array(edges, np.float64))
    check_half_open(domain.name, interval, whole=whole)
    fill = template(interval, half_open=not whole)
    labels = [f"<{names[0]}"]
    bounds: list[Bounds] = [(None, edges[0] - whole)]
    for low, high in pairwise(range(len(edges))):
        last = str(int(edges[high]) - 1) if whole else names[high]
        labels.append(names[low] if names[low] == last else fill(names[low], last))
        bounds.append((edges[low], edges[high] - whole))
    labels.append(f">={names[-1]}")
    bounds.append((edges[-1], None))
    of_code = np.searchsorted(np.array(edges, np.float64), domain.values.astype(np.float64), side="right")
    if domain.missing is None:
        return Categories(tuple(labels), of_code, tuple(bounds), not whole)
    of_code = np.append(of_code, len(labels))
    return Categories((*labels, domain.missing_text or ""), of_code, (*bounds, None), not whole)


def _bounds(labels: Sequence[str], written: CellFormat) -> tuple[tuple[Bounds | None, ...], bool]:
    """What each label spans, None for one that is neither a number nor an interval; whether some are half-open."""
    column = pl.Series(labels, dtype=pl.String)
    cells = read_cells(column, column, written, numeric=True)
    pairs = zip(numbers(cells.low), numbers(cells.high), strict=True)
    bounds = tuple(None if low is None and high is None else (low, high) for low, high in pairs)
    return bounds, bool(cells.of_kind(CellKind.HALF_OPEN).any())
