"""BCF-anonymity of two releases of a growing table, by what their classes show and nothing else.

Everybody of the first release has a row in the second as well, with the same sensitive values, and the rows of the
second that are of nobody in the first are newcomers (Fung, Wang, Fu and Pei, EDBT 2008). Two classes may be about one
person where what they show can be true of one. For such a pair and each value s, let g1 and g2 rows have s:

*forward*, *cross*: of the g1 rows of the first class (forward), or the g2 of the second (cross), at most min(g1, g2)
    can be those of a person who is in both. What is left of either class is the sum over s of min(g1, g2): the two are
    one figure.
*backward*: a newcomer's class in the second release has g2 rows with s. All G1 rows with s of the classes of the first
    that may be about somebody in it are somewhere among the G2 rows with s of the classes of the second that may be
    about somebody in those. So at least G1 - (G2 - g2) of the g2 are no newcomer's.

Where people have left, or have another value, the assumption is wrong, and the figures are those of an attacker who
does not know that: he excludes rows that he should not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonymize.auditing.previous import MOST_PAIRS, classes, compatible, histogram
from anonymize.auditing.table import Audited

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Correspondence:
    """What is left of the smallest class to an attacker, forward and cross being one figure; of the sensitive attribute
    of which it is least. None where no two classes may be about one person, or there are too many of them."""

    forward: int | None
    backward: int | None

    def block(self) -> dict[str, Any]:
        """As it stands in a report."""
        return {"forward": self.forward, "cross": self.forward, "backward": self.backward}


def correspondence(before: Audited, now: Audited) -> Correspondence:
    """Measures two releases, the earlier one first."""
    first, second = classes(before), classes(now)
    if first.height * second.height > MOST_PAIRS:
        return Correspondence(None, None)
    pairs = compatible(now, second, first).rename({"class": "new", "previous": "old"})
    shape = (first.height, second.height)
    may_share = _matrix(pairs["old"], pairs["new"], np.ones(pairs.height), shape)
    figures = [_left(may_share, *counts) for counts in _counts(before, now, first, second)]
    measured = [each for each in figures if each is not None]
    if len(measured) < len(figures):
        return Correspondence(None, None)
    return Correspondence(min(each[0] for each in measured), min(each[1] for each in measured))


def _matrix(rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> csr_array:
    """Sparse, of entries of which each is at another place."""
    from scipy.sparse import csr_array

    return csr_array((values, (np.asarray(rows), np.asarray(columns))), shape=shape)


def _counts(
    before: Audited, now: Audited, first: pl.DataFrame, second: pl.DataFrame
) -> list[tuple[csr_array, csr_array]]:
    """(classes, values) of either release how many rows have each value, for each attribute; the rows of each class
    where there is none."""
    both = []
    for number in range(len(now.spec.sensitive)):
        mine, theirs = histogram(before, number), histogram(now, number)
        values = pl.concat([mine["value"], theirs["value"]]).unique()
        codes = pl.DataFrame({"value": values}).with_row_index("code")
        sized = [(mine, first.height), (theirs, second.height)]
        joined = [(each.join(codes, on="value"), height) for each, height in sized]
        both.append(tuple(_matrix(each["class"], each["code"], each["count"], (h, len(values))) for each, h in joined))
    if both:
        return both
    sizes = [(each["class"], pl.repeat(0, each.height, eager=True), each["size"]) for each in (first, second)]
    return [tuple(_matrix(rows, ones, size, (len(rows), 1)) for rows, ones, size in sizes)]


def _left(may_share: csr_array, old: csr_array, new: csr_array) -> tuple[int, int] | None:
    """What is left of the smallest class: forward, and backward; None where no two classes have a value in common. Two
    classes without one are about nobody in common, whatever they show.

    Column by column of values, so that what is reached from a class is a product of matrices of zeros and ones.
    """
    pairs = may_share.tocoo()
    common = old[pairs.row].minimum(new[pairs.col]).sum(axis=1)
    some = np.flatnonzero(common)
    if not len(some):
        return None
    may_share = _matrix(pairs.row[some], pairs.col[some], np.ones(len(some)), may_share.shape)
    cracked = np.zeros(new.shape[0])
    for value in range(old.shape[1]):
        held, mine = (each[:, [value]].toarray().ravel() for each in (old, new))
        having = np.flatnonzero(held)
        sharing = may_share[having]
        shared = sharing.T @ held[having]
        among = (sharing.T @ sharing).astype(bool).astype(float) @ mine
        cracked += np.where(shared > 0, np.clip(shared - (among - mine), 0, mine), 0)
    left = np.asarray(new.sum(axis=1)).ravel() - cracked
    return int(common[some].min()), int(left.min())
