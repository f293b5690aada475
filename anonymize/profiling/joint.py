"""What columns give away together: how many rows are alone with what they say in several of them.

Counted over all rows, by hashes of the columns that are mixed into one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from anonymize.profiling.measure import Hashes, Pieces

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
MOST = 4
"""So many columns are in the largest set that is shown."""
WORK = 12_000_000
"""So many rows are sorted, of all sets together; but three columns are tried in any case."""


BLOCK = 1 << 15
"""So many rows at a time are mixed: what fits into a processor's cache."""


@dataclass(frozen=True)
class Singled:
    """A set of columns, and the share of the rows that are alone in it."""

    columns: tuple[str, ...]
    share: float


def together(hashes: Mapping[str, Pieces], columns: Sequence[str], *further: Sequence[str]) -> tuple[float, ...]:
    """The share of the rows that are alone with what they say in some columns; in these and the first of further ones;
    and so on."""
    mixed = _mixed([hashes[name] for name in columns])
    shares = [_alone(mixed)]
    for more in further:
        mixed = _mixed([hashes[name] for name in more], mixed) if more else mixed
        shares.append(_alone(mixed) if more else shares[-1])
    return tuple(shares)


def growing(hashes: Mapping[str, Pieces], columns: Sequence[str]) -> list[Singled]:
    """Sets of one column, two, and more, each the one before and the column with which most rows are alone;
    sets with which no more are than with the one before are left out.

    Where there are many columns, the first are tried, as many as `WORK` allows.
    """
    sets: list[Singled] = []
    chosen: list[str] = []
    mixed: Pieces | None = None
    rows = max(sum(map(len, hashes[columns[0]])), 1) if columns else 1
    left = list(columns[: min(max(WORK // rows // MOST, 3), 12)])
    while left and len(chosen) < MOST and (not sets or sets[-1].share < 0.9):
        tried = {name: _mixed([hashes[name]], mixed) for name in left}
        shares = {name: _alone(each) for name, each in tried.items()}
        best = max(left, key=lambda name: shares[name])
        chosen.append(best)
        left.remove(best)
        mixed = tried[best]
        sets.append(Singled(tuple(chosen), shares[best]))
    return [each for before, each in zip([None, *sets], sets, strict=False) if not before or each.share > before.share]


def constant_within(hashes: Mapping[str, Pieces], by: str, columns: Sequence[str]) -> tuple[list[str], bool]:
    """The columns that say the same in all rows with one value of `by`; and whether such rows follow each other."""
    keys = np.concatenate(hashes[by])
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    alike = ordered[1:] == ordered[:-1]
    together_in_file = np.count_nonzero(keys[1:] != keys[:-1]) == np.count_nonzero(~alike)
    constant = []
    for name in columns:
        values = np.concatenate(hashes[name])[order]
        if not (alike & (values[1:] != values[:-1])).any():
            constant.append(name)
    return constant, bool(together_in_file)


def _mixed(columns: Sequence[Pieces], before: Pieces | None = None) -> Pieces:
    """One hash of several for each row, and of those `before` them; the order of columns counts, so that two equal
    columns do not cancel."""
    first = [np.zeros_like(piece) for piece in columns[0]] if before is None else [piece.copy() for piece in before]
    for number, mixed in enumerate(first):
        for start in range(0, len(mixed), BLOCK):
            block = mixed[start : start + BLOCK]
            for each in columns:
                block ^= each[number][start : start + BLOCK]
                block *= _ODD
                block ^= block >> _SHIFT
    return first


def _alone(hashes: Pieces) -> float:
    """The share of values that stand once: those that differ from both neighbours in order."""
    ordered: Hashes = np.concatenate(hashes)
    ordered.sort()
    changes = np.concatenate(([True], ordered[1:] != ordered[:-1], [True]))
    return float((changes[1:] & changes[:-1]).sum() / max(len(ordered), 1))
