"""Risk against a population: the journalist's and the marketer's, by a table of it; and how many who are unique in a
sample are unique in it, by a log-linear model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from anonymize.classes import Floats
from anonymize.risk.frequency import TextFrequencySet
from anonymize.risk.sample import Text
from anonymize.table.columns import tidy
from anonymize.verify import People

# --- by a table -------------------------------------------------------------------------------------------------------
# The journalist's and the marketer's risk against a table of the population.
#
# An attacker who does not know whether a person is in the table has to choose among the F people of the population who
# lie under what the person's class shows, not among the f rows of the table. For a class, the journalist's risk is
# 1 / F, and the marketer's expected correct links are f / F.
#
# F. Dankar, K. El Emam, "A method for evaluating marketer re-identification risk", PAIS 2010.


def journalist(table: Text, people: People, threshold: float) -> dict[str, Any]:
    """The risks of a table whose columns are those by which people are looked up; missing is a separate value. Where
    several rows may be about one individual, the table's individuals are counted.

    `population`: its rows. `journalist_max`: the highest 1 / F. `marketer`: the share of rows expected to be linked
    correctly. `records_at_risk`: the share of rows with 1 / F above the threshold. `absent`: rows of the table that
    show what nobody in the population shows; they enter these figures only through the number of rows.
    """
    texts, sizes = _classes(table)
    classes = pl.DataFrame({"size": sizes, "all": people.under(texts)[0]}).sort("size", "all")
    matched, rows = classes.filter(pl.col("all") > 0), int(classes["size"].sum())
    risks = 1 / matched["all"]
    at_risk = int(matched.filter(risks > threshold)["size"].sum())
    return {
        "population": people.count(),
        "journalist_max": float(risks.to_numpy().max(initial=0.0)),
        "marketer": math.fsum(matched["size"] / matched["all"]) / rows,
        "records_at_risk": at_risk / rows,
        "absent": rows - int(matched["size"].sum()),
    }


def _classes(text: Text) -> tuple[pl.DataFrame, pl.Series]:
    """One row per class: the text of each column; and (classes,) the sizes."""
    names = {f"q{number}": name for number, name in enumerate(name for columns in text.columns for name in columns)}
    units = [] if text.units is None else [pl.lit(text.units.cast(pl.String)).alias("unit")]
    count = pl.col("unit").n_unique() if units else pl.len()
    frame = text.frame.select(*(text.text(name).alias(key) for key, name in names.items()), *units)
    if text.spec.input.normalize:
        frame = frame.with_columns(pl.col(list(names)).map_batches(tidy, return_dtype=pl.String))
    classes = frame.group_by(list(names)).agg(size=count.cast(pl.Int64)).collect(engine="streaming")
    return classes.drop("size").rename(names), classes["size"]


# --- by a log-linear model --------------------------------------------------------------------------------------------
# Global risk by a log-linear model: how many who are unique in a sample are unique in the population.
#
# The population of a cell (a combination of quasi-identifiers) is Poisson with a mean that a log-linear model smooths
# over the cells; the sample is a share p of it. Fitted to the counts f of the sample, the model has the mean m of each
# cell, and the rest of the population there is Poisson with v = m (1 - p) / p. Over the cells with f = 1:
#
#     tau1 = sum of exp(-v)              sample uniques that are expected to be unique in the population
#     tau2 = sum of (1 - exp(-v)) / v    matches with sample uniques that are expected to be correct
#
# `main` has the main effects alone: attributes are independent, and m is the product of their shares. `pairs` has every
# pair of attributes as well, fitted to their two-way tables by iterative proportional fitting, which gives the maximum
# of the likelihood. Independence makes most combinations seem rarer than they are, so that the risk comes out too high
# where attributes are associated; Skinner and Shlomo recommend pairs to begin with. `fit`, see `global_risk`, shows it.
#
# C. Skinner, N. Shlomo, "Assessing identification risk in survey microdata using log-linear models", JASA 103, 2008; C.
# Skinner, D. Holmes, "Estimating the re-identification risk per record in microdata", JOS 14, 1998. (sdcMicro's
# `modRisk` has v = m (1 - p), without the division by p, which m needs where it is a mean of the sample; and p by cell,
# from the weights.)

Terms: TypeAlias = Literal["main", "pairs"]
TERMS: tuple[str, ...] = get_args(Terms)
FITTED_CELLS = 1 << 24
"""The most cells of a table that pairs are fitted to."""
ROUNDS, CLOSE = 500, 1e-9
"""Rounds of fitting at most, and the largest relative change of a margin with which it ends."""


def global_risk(frequency: TextFrequencySet, terms: Terms, fraction: float) -> dict[str, Any]:
    """The global risk of a sample by a log-linear model: how many who are unique in it are unique in the population.

    `audit --log-linear main` has the main effects alone, as if attributes were independent; `pairs` also has all pairs
    of attributes, fitted to their two-way tables. `sampling_fraction`: the share of the population that the sample
    is. `population_uniques`: the sample uniques that are expected to be unique in the population. `correct_matches`:
    the matches with sample uniques that are expected to be correct.

    `fit` says whether to believe them. With f the rows and m the model's mean of each cell, it is the sum over all
    cells of (f - m)^2 - f, divided by the sum of m^2. Counts that are Poisson with the model's means differ from these
    by f on average, so that it is near 0 for a model that fits. Above 0, say 0.1 or more, the counts spread more than
    the model allows: it fits too little, attributes are associated in ways that it lacks, and its risk is mostly too
    high; take `pairs` in place of `main`, or fewer attributes. Clearly below 0 it follows chance in the sample, and
    its risk is mostly too low; take `main`. There is no figure without rows.

    Source: Skinner and Shlomo, Assessing identification risk in survey microdata using log-linear models, 2008.
    ValueError for a fraction that is not in (0, 1], and for pairs over more than `FITTED_CELLS` cells.
    """
    if not 0 < fraction <= 1:
        raise ValueError("a sampling fraction is above 0 and at most 1")
    means, squares = _independent(frequency) if terms == "main" else _of_pairs(frequency)
    counts = frequency.counts
    others = means[counts == 1] * (1 - fraction) / fraction
    matches = -np.expm1(-others) / np.where(others > 0, others, 1)
    # The cells that nobody has add m^2 to the first sum, which is what all cells add less those that somebody has.
    spread = math.fsum((counts - means) ** 2 - counts) + squares - math.fsum(means**2)
    return {
        "terms": terms,
        "sampling_fraction": fraction,
        "uniques": int(np.count_nonzero(counts == 1)),
        "population_uniques": math.fsum(np.exp(-others)),
        "correct_matches": math.fsum(np.where(others > 0, matches, 1.0)),
        "fit": spread / squares if frequency.rows else None,
    }


def _independent(frequency: TextFrequencySet) -> tuple[Floats, float]:
    """(C,) the means of the cells that somebody has, and the sum of the squares of all."""
    means, squares, rows = np.full(len(frequency.counts), float(frequency.rows)), float(frequency.rows) ** 2, 1.0
    for codes, span in zip(frequency.codes, frequency.spans, strict=True):
        shares = np.bincount(codes, frequency.counts, minlength=span) / max(frequency.rows, rows)
        means *= shares[codes]
        squares *= float((shares**2).sum())
    return means, squares


def _of_pairs(frequency: TextFrequencySet) -> tuple[Floats, float]:
    """A log-linear fit with all pairs: margins of two attributes as they are. Raises ValueError for too many cells."""
    numbered = [np.unique(codes, return_inverse=True) for codes in frequency.codes]
    codes, shape = [codes for _, codes in numbered], tuple(len(values) for values, _ in numbered)
    cells = math.prod(shape)
    if cells > FITTED_CELLS:
        raise ValueError(f"pairs are fitted to at most {FITTED_CELLS} cells, and these quasi-identifiers have {cells}")
    table = np.full(shape, frequency.rows / max(cells, 1))
    margins = list(_margins(frequency, codes, shape))
    for _ in range(ROUNDS):
        changed = 0.0
        for others, margin in margins:
            fitted = table.sum(axis=others, keepdims=True)
            factors = np.divide(margin, fitted, out=np.zeros_like(margin), where=fitted > 0)
            table *= factors
            changed = max(changed, float(np.abs(fitted - margin).max(initial=0.0)))
        if changed <= CLOSE * max(frequency.rows, 1):
            break
    return table[tuple(codes)], float((table**2).sum())


def _margins(frequency: TextFrequencySet, codes: list[Any], shape: tuple[int, ...]) -> Iterator[tuple[Any, Floats]]:
    """Every two-way table, one-way where there is one attribute: the axes that it sums over, and its counts."""
    for axes in combinations(range(len(shape)), min(2, len(shape))):
        sizes = tuple(shape[axis] for axis in axes)
        flat = np.ravel_multi_index(tuple(codes[axis] for axis in axes), sizes)
        counts = np.bincount(flat, frequency.counts, minlength=math.prod(sizes)).astype(np.float64)
        whole = tuple(shape[axis] if axis in axes else 1 for axis in range(len(shape)))
        yield tuple(axis for axis in range(len(shape)) if axis not in axes), counts.reshape(whole)
