"""Measures how often the 95 % intervals of `reconstruct --where` hold the true count, for `randomization_pages.py`.

Each case draws tables with a cell of a given count, distorts them, and asks for that cell: its interval, and the normal
one, estimate ± 1.96 standard errors within 0 and the number of rows. Kept in randomization_intervals.json.

    python docs/randomization_intervals.py     measures anew; a minute of processor time
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.channels import Bits, Floats, estimate, replaced, seeded_bits
from anonymize.channels.estimate import interval

KEPT = Path(__file__).resolve().parent / "randomization_intervals.json"
COUNTS = (0, 1, 2, 5, 10, 50)
TABLES = 300
CONFIDENCE, REACH = 0.95, 1.959963984540054


@dataclass(frozen=True)
class Case:
    """Tables of so many rows, whose attributes have `shape` values and the parameters `p`."""

    rows: int
    shape: tuple[int, ...]
    p: tuple[float, ...]
    about: estimate.About = "table"


CASES = (
    Case(1000, (5,), (0.8,)),
    Case(300, (6, 5, 4), (0.9, 0.9, 0.9)),
    Case(5000, (16, 7, 2, 5), (0.82, 0.87, 0.92, 0.94)),
)


def drawn(case: Case, count: int, random: np.random.Generator, bits: Bits) -> Floats:
    """The observed distribution of one table, the first cell of which has the count, or is expected to have it."""
    pi = random.dirichlet(np.full(int(np.prod(case.shape)), 0.5))
    pi[0] = 0
    pi /= pi.sum()
    if case.about == "table":
        counts = random.multinomial(case.rows - count, pi)
        counts[0] = count
    else:
        pi *= 1 - count / case.rows
        pi[0] = count / case.rows
        counts = random.multinomial(case.rows, pi)
    original = np.unravel_index(np.repeat(np.arange(len(counts)), counts), case.shape)
    axes = zip(original, case.p, case.shape, strict=True)
    shown = [replaced(codes.astype(np.uint8), p, size, bits) for codes, p, size in axes]
    place = np.ravel_multi_index([codes.astype(np.int64) for codes in shown], case.shape)
    return np.bincount(place, minlength=len(counts)).reshape(case.shape) / case.rows


def intervals(case: Case, observed: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    """The normal interval of the first cell, and that which `reconstruct` gives."""
    cell = [np.eye(size)[0] for size in case.shape]
    answer = estimate.count(observed, case.p, cell, case.rows, case.about)
    reach = REACH * answer.standard_error
    low, high = (min(max(end, 0.0), float(case.rows)) for end in (answer.estimate - reach, answer.estimate + reach))
    return (low, high), interval(observed, case.p, cell, case.rows, case.about, CONFIDENCE)


def coverage(case: Case, count: int, tables: int = TABLES, seed: int = 1) -> dict[str, dict[str, float]]:
    """Of both intervals: how often they hold the count, how often they are a single point, and their mean width."""
    random, bits = np.random.default_rng([seed, count]), seeded_bits(seed)
    ends = np.array([intervals(case, drawn(case, count, random, bits)) for _ in range(tables)])
    low, high = ends[..., 0], ends[..., 1]
    figures = {"holds": (low <= count) & (count <= high), "points": high == low, "width": high - low}
    return {
        name: {figure: round(float(each[:, at].mean()), 4) for figure, each in figures.items()}
        for at, name in enumerate(("normal", "interval"))
    }


@cache
def kept() -> list[dict[str, Any]]:
    """What was measured last."""
    cases: list[dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf8"))["cases"]
    return cases


def measure() -> dict[str, Any]:
    """Every case at every count."""
    cases = [{**case.__dict__, "count": count, **coverage(case, count)} for case in CASES for count in COUNTS]
    return {"tables": TABLES, "cases": cases}


if __name__ == "__main__":
    KEPT.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf8")
