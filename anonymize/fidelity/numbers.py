"""What a release keeps of numbers whose values were changed: moments, correlations, regressions, weighted totals.

Differences are in standard deviations of the original column, so that no figure is a value of it. A missing cell counts
nowhere; figures of several columns are of the rows in which none is missing, on either side by itself.

References. Mateo-Sanz, Domingo-Ferrer, Sebé: Probabilistic information loss measures in confidentiality protection of
continuous microdata, 2005 (IL1s: Yancey, Winkler, Creecy 2002); Karr, Kohnen, Oganian, Reiter, Sanil: A framework for
evaluating the utility of data altered to protect confidentiality, 2006 (overlap of confidence intervals).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from anonymize.classes import Floats
from anonymize.errors import DataError, Problem
from anonymize.fidelity.moments import COLLINEAR, SampleMoments, why_not, why_not_together, without_noise
from anonymize.meaning import Changed
from anonymize.records import dataclass
from anonymize.spec.notation import Notation
from anonymize.table.named import unnamed

Channels: TypeAlias = Sequence[Mapping[str, Any]]
"""Channels as a manifest has them: the columns and the part that each is of, its values, and its matrix."""
DECILES = np.arange(1, 10) / 10
NORMAL_95 = 1.96
"""Half the width of an interval with 95 % confidence, in standard errors."""


@dataclass(frozen=True)
class NumbersBoth:
    """Columns of numbers before and after, by name, nan where missing. `matched`: row i of both is about the same
    record. `weights`, `weights_after`: sampling weights. `known`: what the manifest says of columns that steps
    changed."""

    before: Mapping[str, Floats]
    after: Mapping[str, Floats]
    matched: bool = False
    weights: Floats | None = None
    weights_after: Floats | None = None
    known: Mapping[str, Changed] = field(default_factory=dict)

    def block(self) -> dict[str, Any]:
        """The block `numbers` of a report; empty where no column has two different numbers."""
        known = {name: values[~np.isnan(values)] for name, values in self.before.items()}
        names = [name for name, values in known.items() if len(values) > 1 and values.min() < values.max()]
        if not names:
            return {}
        block: dict[str, Any] = {"columns": {name: self._column(name) for name in names}}
        if self.matched:
            block["il1s"] = float(np.mean([each["il1s"] for each in block["columns"].values()]))
        if len(names) > 1:
            block |= self._together(names)
        return block

    def _column(self, name: str) -> dict[str, Any]:
        """One column: its mean, variance and deciles, and its weighted total."""
        before, after = self.before[name], self.after[name]
        spread = float(np.nanstd(before, ddof=1))
        known, present = before[~np.isnan(before)], after[~np.isnan(after)]
        if not len(present):
            return {"missing_after": 1.0}
        moved = np.abs(np.quantile(present, DECILES) - np.quantile(known, DECILES)) / spread
        figures: dict[str, Any] = {
            "mean_change": float(present.mean() - known.mean()) / spread,
            "variance_ratio": float(present.var(ddof=1)) / spread**2 if len(present) > 1 else None,
            "decile_change_max": float(moved.max()),
        }
        if name in self.known and why_not(self.known[name]) is None and len(present) > 1:
            corrected = without_noise(SampleMoments.of([name], present[:, None]), self.known)
            figures["variance_ratio_corrected"] = float(corrected.covariances[0, 0]) / spread**2
        if self.matched:
            # IL1s: how far cells moved, in standard deviations by the square root of two; a mean over cells.
            moved = np.abs(before - after) / (np.sqrt(2) * spread)
            figures["il1s"] = float(np.nanmean(moved)) if (~np.isnan(moved)).any() else 0.0
        return figures | self._total(name)

    def _total(self, name: str) -> dict[str, Any]:
        """The weighted total: its change, and that in its own standard errors as of a sample with replacement."""
        if self.weights is None or self.weights_after is None:
            return {}
        before, error = weighted_total(self.before[name], self.weights)
        after, _ = weighted_total(self.after[name], self.weights_after)
        relative = (after - before) / abs(before) if before else None
        return {"total_change": relative, "total_change_in_errors": (after - before) / error if error else None}

    def _together(self, names: list[str]) -> dict[str, Any]:
        """Several columns: covariances in standard deviations of both, correlations, eigenvalues, regressions."""
        before, after = (_complete(side, names) for side in (self.before, self.after))
        if min(len(before), len(after)) < 3:
            return {}
        own, other = (SampleMoments.of(names, each) for each in (before, after))
        values, others = (np.sort(np.linalg.eigvalsh(each.correlations))[::-1] for each in (own, other))
        counted = values > COLLINEAR  # the others are those of columns that follow from each other
        change = float((np.abs(values - others)[counted] / values[counted]).sum())
        block = {
            **_moved(own, other),
            "eigenvalues": {"change": change, "counted": int(counted.sum())},
            "regression_overlap": _overlap(before, after),
        }
        reasons = {name: why_not(self.known.get(name)) or why_not_together(name, names, self.known) for name in names}
        corrected = [name for name in names if name in self.known and reasons[name] is None]
        if not corrected:
            return block
        block |= {f"{key}_corrected": each for key, each in _moved(own, without_noise(other, self.known)).items()}
        return block | {"corrected": corrected, "not_corrected": {name: why for name, why in reasons.items() if why}}


def _moved(before: SampleMoments, after: SampleMoments) -> dict[str, Any]:
    """How far covariances are from what they were, in standard deviations of both columns, correlations, and regression
    coefficients, in standard deviations of the two; these are None where columns are collinear."""
    spread = np.sqrt(np.diag(before.covariances))
    spread[spread == 0] = 1
    pairs = np.triu_indices(len(spread), 1)
    changes = {
        "covariance_change": np.abs(before.covariances - after.covariances)[pairs] / np.outer(spread, spread)[pairs],
        "correlation_change": np.abs(before.correlations - after.correlations)[pairs],
    }
    slopes, others = before.coefficients, after.coefficients
    figures: dict[str, Any] = {
        name: {"mean": float(each.mean()), "max": float(each.max())} for name, each in changes.items()
    }
    if slopes is None or others is None:
        return figures | {"coefficient_change": None}
    moved = np.abs(slopes - others) * spread / spread[:, None]
    return figures | {"coefficient_change": {"mean": float(np.nanmean(moved)), "max": float(np.nanmax(moved))}}


def weighted_total(values: Floats, weights: Floats) -> tuple[float, float]:
    """The total of values (rows,) by sampling weights (rows,), and its standard error as if rows were drawn
    independently with replacement: the root of n / (n - 1) times the sum of squared deviations of weighted values."""
    own = (values * weights)[~np.isnan(values)]
    n = len(own)
    error = float(np.sqrt(n / (n - 1) * np.square(own - own.mean()).sum())) if n > 1 else 0.0
    return float(own.sum()), error


def _complete(side: Mapping[str, Floats], names: list[str]) -> Floats:
    """(rows, columns) the rows in which no column is missing."""
    values = np.column_stack([side[name] for name in names])
    return np.asarray(values[~np.isnan(values).any(axis=1)])


def _overlap(before: Floats, after: Floats) -> dict[str, Any] | None:
    """How much the confidence intervals of regression coefficients overlap, of each column on all others: the mean of
    the shares that the overlap has of both (1: the same; below 0: apart), and the least; None of collinear ones."""
    shares = []
    for index in range(before.shape[1]):
        own, other = (_fitted(values, index) for values in (before, after))
        if own is None or other is None:
            return None
        coefficients, errors = np.stack((own, other), axis=1)
        low, high = (coefficients + sign * NORMAL_95 * errors for sign in (-1, 1))
        widths = 2 * NORMAL_95 * errors
        if (widths == 0).any():
            return None
        shares.append(((high.min(axis=0) - low.max(axis=0)) / widths).mean(axis=0))
    flat = np.concatenate(shares)
    return {"mean": float(flat.mean()), "min": float(flat.min())}


def _fitted(values: Floats, index: int) -> tuple[Floats, Floats] | None:
    """Coefficients of a column on all others by least squares, without the intercept, and their standard errors; None
    where the others are collinear, or as many as the rows."""
    target, others = values[:, index], np.delete(values, index, axis=1)
    design = np.column_stack((np.ones(len(values)), others))
    left = len(values) - design.shape[1]
    if left < 1 or np.linalg.matrix_rank(design) < design.shape[1]:
        return None
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ target
    variance = float(np.square(target - design @ coefficients).sum()) / left
    return coefficients[1:], np.sqrt(variance * np.diag(inverse))[1:]


def categories_kept(
    before: Sequence[str | None],
    after: Sequence[str | None],
    channels: Channels,
    parts: Sequence[tuple[str | None, ...]] = (),
) -> dict[str, float]:
    """What is left of the frequencies of a column that went through a channel: the total variation between before and
    after (0: the same; 1: nothing in common), and that once the matrices of the channels have been undone, part by
    part, where the column is by itself. A missing value is one like any other, which no channel changes. `parts` (rows
    after,): the cells that say in which part a row is, none without parts."""
    own, other = Counter(before), Counter(after)
    figures = {"total_variation": _variation(own, other)}
    if not channels or any(len(each["columns"]) != 1 or (each["part"] and not parts) for each in channels):
        return figures
    together = Counter(zip(parts or [()] * len(after), after, strict=True))
    undone: Counter[str | None] = Counter()
    for each in channels:
        part, values = tuple(each["part"].values()), [value for (value,) in each["values"]]
        matrix = np.array(each["matrix"])
        if np.linalg.matrix_rank(matrix) < len(values):
            return figures
        counts = np.array([together.pop((part, value), 0) for value in values], np.float64)
        undone.update(dict(zip(values, np.linalg.solve(matrix.T, counts).tolist(), strict=True)))
    for (_, value), count in together.items():  # what no matrix changes
        undone[value] += count
    figures["total_variation_corrected"] = _variation(own, undone)
    return figures


def _variation(own: Mapping[str | None, float], other: Mapping[str | None, float]) -> float:
    """Half the sum of absolute differences of shares."""
    whole, rest = max(sum(own.values()), 1), max(sum(other.values()), 1)
    return sum(abs(own.get(each, 0) / whole - other.get(each, 0) / rest) for each in {*own, *other}) / 2


# --- how numbers are written ------------------------------------------------------------------------------------------
# Nothing says how the numbers of a table such as a release are written, so it is inferred from what its cells show.
#
# A column has a decimal point or a decimal comma, and no sign between thousands. Where that is in doubt nothing is
# read: `1,234` next to `999` may be thousands, and so may `1.234`; a comma that is not followed by exactly three
# digits, in some cell of the column, is a decimal one. A text without a digit is a missing value.

GROUPED = "^[+\u2212-]?[1-9]\\d{{0,2}}{sign}\\d{{3}}$"
"""A number with one sign that may part its thousands, as a template of a pattern."""
SHORT = "^[+\u2212-]?\\d{1,3}$"
"""A whole number too small for a sign between thousands."""
REMEDY = "write all of its numbers with one decimal sign, with the same number of decimals, and none between thousands"

Counts = Mapping[str, int]


def read_numbers(cells: pl.DataFrame, ungrouped: Collection[str], file: str) -> pl.DataFrame:
    """The columns as floats, null where a value is missing. `ungrouped`: columns that are known to have no sign between
    thousands. Raises DataError, with a count and no value, for columns that mix decimal signs, may have signs between
    thousands, or have cells with digits that are no numbers."""
    texts = {each.name: _stripped(each) for each in cells if not each.dtype.is_numeric()}
    counts = {name: _counted(each) for name, each in texts.items()}
    commas = any(each["comma"] > (0 if name in ungrouped else each["comma_grouped"]) for name, each in counts.items())
    doubts = {name: _doubt(each, commas=commas, grouped=name not in ungrouped) for name, each in counts.items()}
    numbers = [
        _numbers(texts[each.name], counts[each.name]) if each.name in texts else each.cast(pl.Float64).fill_nan(None)
        for each in cells
    ]
    for name, own in zip(cells.columns, numbers, strict=True):
        if not doubts.get(name) and (wrong := int(own.is_infinite().sum())):
            doubts[name] = f"{wrong:,} of {len(own):,} cells cannot be read as a number"
    problems = [Problem(f"{name}: {doubt}", file=file, hint=REMEDY) for name, doubt in doubts.items() if doubt]
    if problems:
        raise DataError(problems)
    return pl.DataFrame([own.alias(name) for name, own in zip(cells.columns, numbers, strict=True)])


def _stripped(cells: pl.Series) -> pl.DataFrame:
    """The texts of a column that have a digit, null in place of others, as a frame without a name."""
    text = pl.col("").cast(pl.String).str.strip_chars()
    return unnamed(cells).to_frame().select(pl.when(text.str.contains(r"\d")).then(text))


def _counted(texts: pl.DataFrame) -> Counts:
    """How many numbers there are, have a sign, have it several times, and may have it between thousands."""
    text = pl.col("")
    counts = {"numbers": text.is_not_null(), "short": text.str.contains(SHORT)}
    for sign, mark in (("comma", ","), ("point", ".")):
        signs = text.str.count_matches(mark, literal=True)
        grouped = text.str.contains(GROUPED.format(sign=f"[{mark}]"))
        counts |= {sign: signs > 0, f"{sign}_several": signs > 1, f"{sign}_grouped": grouped}
    return texts.select(each.sum().alias(key) for key, each in counts.items()).row(0, named=True)


def _doubt(counts: Counts, *, commas: bool, grouped: bool) -> str | None:
    """Why it is not known what the signs of a column mean; None where it is. `commas`: whether some column has decimal
    commas; `grouped`: whether there may be signs between thousands."""
    numbers = f"of {counts['numbers']:,} numbers"
    if counts["comma"] and counts["point"]:
        return f"{counts['comma']:,} {numbers} have a comma, and {counts['point']:,} a point"
    for sign in ("comma", "point"):
        if counts[f"{sign}_several"]:
            return f"{counts[f'{sign}_several']:,} {numbers} have several {sign}s"
        doubtful = sign == "comma" or commas or counts["short"] > 0
        if grouped and doubtful and 0 < counts[sign] == counts[f"{sign}_grouped"]:
            return f"{counts[sign]:,} {numbers} have a {sign} before three digits, which may part thousands or decimals"
    return None


def _numbers(texts: pl.DataFrame, counts: Counts) -> pl.Series:
    """Texts as numbers, infinite where one cannot be read."""
    bare = Notation(decimal="," if counts["comma"] else ".").with_point(pl.col(""))
    read = bare.cast(pl.Float64, strict=False).fill_nan(None).fill_null(float("inf"))
    return texts.select(pl.when(pl.col("").is_not_null()).then(read)).to_series()
