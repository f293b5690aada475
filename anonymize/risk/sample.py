"""The risk of a table that is a sample: population uniqueness, and individual risk by the sampling weights.

**Population uniqueness**: the share of a population that is unique on the quasi-identifiers, estimated from a sample.

Two estimators, Zayatz and Pitman, which `anonymize.privacy.uniques` has. Which one is better depends on the fraction;
the rule is that of Dankar and others: Pitman up to a tenth, if its fit converges, else Zayatz. (For larger fractions
their rule takes the smaller one of Zayatz and the shifted negative binomial. Here Zayatz alone answers, on the safe
side; the model population-uniqueness has the whole rule, and each estimator by itself.)

F. Dankar, K. El Emam, A. Neisa, T. Roffey, "Estimating the re-identification risk of clinical data sets", BMC Medical
Informatics and Decision Making 12, 2012.

**Individual risk**: the chance that a record's class holds the person it was linked to. The class of a record has f
rows in the sample and F, which is not known, in the population. After Benedetti and Franconi, F given f is negative
binomial: P(F = h | f) = C(h - 1, f - 1) p^f (1 - p)^(h - f) for h >= f, and p is estimated by f over the sum of the
sampling weights of the class. The individual risk is the mean of 1 / F:

    r = p^f / f * 2F1(f, f; f + 1; q) = p / f * 2F1(1, 1; f + 1; q) = p * I(f),    q = 1 - p
    I(f) = integral from 0 to 1 of s^(f - 1) / (p + q s) ds

The second form, by Euler's transformation, is a series of positive terms, in which nothing cancels or underflows. It
falls by a half or more a term where q is at most 1/2, and as 1 / binomial(f + j, j) wherever f is large. What is left,
few rows of a small share of the population, follows from I(1) = -ln(p) / q and I(f + 1) = (1 / f - p I(f)) / q, which
does not amplify errors there. Where the weights say that the whole class is in the sample (p >= 1) the risk is 1 / f.

R. Benedetti, L. Franconi, "Statistical and technological solutions for controlled data dissemination", NTTS 1998;
S. Polettini, "Some remarks on the individual risk methodology", 2003; L. Franconi, S. Polettini, "Individual risk
estimation in mu-Argus: a review", PSD 2004.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Floats, Ints
from anonymize.privacy.uniques import SMALL_FRACTION, share_of_uniques
from anonymize.records import dataclass
from anonymize.risk.frequency import TextFrequencySet
from anonymize.spec import Missing, Spec
from anonymize.table import encode, named
from anonymize.verify.risk import matching
from anonymize.verify.verdict import THRESHOLD


def population_uniques(counts: Ints, fraction: float) -> dict[str, Any]:
    """The share of the population that is unique (`uniques`), from the rows of each class of a sample, `counts` (C,),
    and the share of the population that it is, in (0, 1]; and the `estimator`: zayatz, pitman, or `none` where the
    sample has no uniques. ValueError for another fraction.
    """
    if not 0 < fraction <= 1:
        raise ValueError("a sampling fraction is above 0 and at most 1")
    share, estimator = share_of_uniques(counts, fraction, "pitman" if fraction <= SMALL_FRACTION else "zayatz")
    return {"sampling_fraction": fraction, "uniques": share, "estimator": estimator}


SERIES_ROWS = 50
"""Rows from which the series is used whatever the share;"""
HALF = 0.5
"""the q up to which it is used whatever the rows;"""
TERMS = 60
"""and its terms, after which nothing is left of either."""


def individual_risk(counts: Ints, weights: Floats) -> Floats:
    """(C,) the mean of 1 / F of each class, in (0, 1], from the rows `counts` (C,) and the sum of weights (C,)."""
    size = counts.astype(np.float64)
    p = np.minimum(size / weights, 1.0)
    q = ((weights - size) / weights).clip(0.0)
    quick = (q <= HALF) | (size >= SERIES_ROWS)
    risk = np.empty_like(p)
    risk[quick] = p[quick] / size[quick] * _series(size[quick], q[quick])
    risk[~quick] = p[~quick] * _recurrence(counts[~quick], p[~quick], q[~quick])
    return risk


def _series(size: Floats, q: Floats) -> Floats:
    """2F1(1, 1; f + 1; q)."""
    term, total = np.ones_like(q), np.ones_like(q)
    for step in range(TERMS):
        term = term * ((step + 1) / (size + 1 + step) * q)
        total += term
    return total


def _recurrence(size: Ints, p: Floats, q: Floats) -> Floats:
    """I(f), f below `SERIES_ROWS` and q above `HALF`."""
    value = -np.log(p) / q
    for step in range(1, int(size.max(initial=1))):
        value = np.where(size > step, (1 / step - p * value) / q, value)
    return value


def matched(frequency: TextFrequencySet) -> tuple[Ints, Floats]:
    """(C,) rows compatible with each combination, and the sum of their weights."""
    columns = [f"q{number}" for number in range(len(frequency.codes))]
    keys = pl.DataFrame(dict(zip(columns, frequency.codes, strict=True))).select(
        pl.when(pl.col(name) != 0).then(pl.col(name)).alias(name) for name in columns
    )
    classes = keys.with_row_index("class").with_columns(rows=frequency.counts, weight=frequency.weights)
    sums = matching(classes, columns, ["rows", "weight"])
    return sums["rows"].to_numpy().astype(np.int64), sums["weight"].to_numpy().astype(np.float64)


def estimate(frequency: TextFrequencySet, threshold: float, *, wildcard: bool = False) -> dict[str, float]:
    """The risks of a sample from its frequency set, which has weights.

    `population`: the sum of the weights. `journalist_max`: the largest 1 / (sum of weights) of a class, at most 1.
    `individual_max`, `individual_mean`: of the rows; `expected`: re-identifications expected if every record is linked,
    the sum of the individual risks. `records_at_risk`: the share of rows whose individual risk is above the threshold.

    `wildcard`: the code 0 matches any other; each combination is then measured by the rows compatible with it.
    """
    assert frequency.weights is not None
    counts, weights = matched(frequency) if wildcard else (frequency.counts, frequency.weights)
    risks, in_sample, rows = individual_risk(counts, weights), frequency.counts, max(frequency.rows, 1)
    expected = math.fsum(risks * in_sample)
    return {
        "population": math.fsum(frequency.weights),
        "journalist_max": min(1.0, float((1 / weights).max(initial=0.0))),
        "individual_max": float(risks.max(initial=0.0)),
        "individual_mean": expected / rows,
        "expected": expected,
        "records_at_risk": int(in_sample[risks > threshold].sum()) / rows,
    }


@dataclass(frozen=True)
class Text:
    """A table as it is written. `columns`: those of each quasi-identifier; `missing`: what means missing in it; `units`
    (rows,): the individual that each row is about, None where every row is about a different one."""

    frame: pl.LazyFrame
    columns: Sequence[Sequence[str]]
    spec: Spec
    missing: Missing
    units: pl.Series | None = None

    def text(self, column: str) -> pl.Expr:
        """A column as text."""
        text = named.column(column).cast(pl.String)
        return text if self.missing.fill is None else text.fill_null(self.missing.fill)

    def frequency(self, *, wild: bool = False, by_row: bool = False) -> TextFrequencySet:
        """The frequency set, with weights where the spec has them. Missing is a separate value; or, with `wild`, each
        column is taken by itself, and a missing or suppressed cell is the code 0. `by_row`: with the combination of
        each row."""
        return TextFrequencySet.of(
            self.frame,
            [[name] for names in self.columns for name in names] if wild else self.columns,
            fill=self.missing.fill,
            wild=[*self.missing.texts, self.spec.output.suppressed] if wild else (),
            weight=self._weight,
            units=self.units,
            normalize=self.spec.input.normalize,
            by_row=by_row,
        )

    @property
    def _weight(self) -> pl.Expr | None:
        """The sampling weights as texts of numbers."""
        name = self.spec.weight_column
        if name is None:
            return None
        text, kind = named.column(name).cast(pl.String), self.frame.collect_schema()[name]
        return self.spec.notation(name).with_point(text) if encode.is_text(kind) else text


def sampled(text: Text, threshold: float = THRESHOLD, frequency: TextFrequencySet | None = None) -> dict[str, Any]:
    """What sampling weights add to the report's block `risk`: `sample`, and under `wildcard` the same in that meaning
    of missing, where the spec declares it. Nothing without weights. `frequency`: that of the text, if it is known."""
    if text.spec.weight_column is None:
        return {}
    figures = {"sample": estimate(text.frequency() if frequency is None else frequency, threshold)}
    if text.spec.privacy.missing != "wildcard":
        return figures
    return figures | {"wildcard": {"sample": estimate(text.frequency(wild=True), threshold, wildcard=True)}}


def merged(risk: Mapping[str, Any], figures: Mapping[str, Any]) -> dict[str, Any]:
    """The block `risk` with these figures added."""
    block = {**risk, **figures}
    if "wildcard" in figures:
        block["wildcard"] = {**risk["wildcard"], **figures["wildcard"]}
    return block
