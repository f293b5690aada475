"""Every privacy model once more, written from its definition.

A twin is one bound for each of the model's parameters: the figure of a class, and how it compares with the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import polars as pl

from anonymize.records import dataclass
from anonymize.verify import estimates
from anonymize.verify.numbering import summed
from anonymize.verify.verdict import THRESHOLD, Given

VALUE, COUNT, TOTAL, MEAN = pl.col("value"), pl.col("count"), pl.col("total"), pl.col("mean")
"""A class's different present sensitive values, and the rows that have each; rows and mean of all of them."""
OVERALL, KINDS = pl.col("overall"), pl.col("kinds")
"""A value's share of the whole table; how many values the table has."""
KEPT = pl.col("kept")
"""The share of the information that a class keeps, by what it shows, where that was counted."""
SIZE, WEIGHT = pl.col("size"), pl.col("weight")
"""A class's rows (those that an attacker cannot tell apart), and how many of them it stands for itself."""
OWN = frozenset(column.meta.output_name() for column in (VALUE, COUNT, TOTAL, MEAN, SIZE, WEIGHT, KEPT))
"""The columns that tell of one class and nothing else."""
PEOPLE = "people of "
"""Before the path of a population, the column of how many people of it lie under each class."""
TOLERANCE, NEGLIGIBLE = 1e-9, 1e-12

Compared = Literal["at least", "at most", "below"]


def guarded(given: Given) -> pl.Expr:
    """Which values of a class are protected: all, unless the check names some."""
    return VALUE.is_in(given["guarded"]) if "guarded" in given else pl.lit(True)


def _most(given: Given) -> pl.Expr:
    """The rows of the most frequent protected value of one class."""
    return COUNT.filter(guarded(given)).max().fill_null(0)


def crowd(given: Given) -> pl.Expr:
    """The people of the population under what one class shows."""
    return pl.col(f"{PEOPLE}{given['population']}")


def people_like(given: Given) -> pl.Expr:
    """The people of the population under what one class shows, or as many as its rows let expect."""
    if "fraction" not in given:
        return crowd(given)
    fraction, estimator = float(given["fraction"]), str(given.get("estimator", "zero-truncated"))
    significance = float(given.get("significance", 0.01))

    def expected(sizes: pl.Series) -> pl.Series:
        of_size = {rows: estimates.people_like(rows, fraction, estimator, significance) for rows in sizes.unique()}
        return sizes.replace_strict(of_size, return_dtype=pl.Int64)

    return SIZE.map_batches(expected, return_dtype=pl.Int64)


def _uniques(given: Given) -> pl.Expr:
    """The share of the table's population that is unique."""

    def share(columns: Sequence[pl.Series]) -> pl.Series:
        sizes = estimates.sizes_of(columns[0], columns[1])
        figure = estimates.unique_people(sizes, float(given["fraction"]), str(given.get("estimator", "dankar")))
        return pl.repeat(figure, len(columns[0]), dtype=pl.Float64, eager=True)

    return pl.map_batches([SIZE, WEIGHT], share, return_dtype=pl.Float64)


def outside(given: Given) -> pl.Expr:
    """People of the population under no class."""
    return pl.col(f"outside of {given['population']}")


@dataclass(frozen=True)
class TwinBound:
    """The figure that a parameter bounds.

    `whole`: it is a count. `people`: of individuals. `overflows`: it may be beyond all numbers, and says nothing then.
    `of_table`: it is one of the table, from the columns of classes; a
    class then fails, where the bound is not met, for `fails`.
    """

    parameter: str
    figure: Callable[[Given], pl.Expr]
    compared: Compared = "at least"
    whole: bool = False
    people: bool = False
    overflows: bool = False
    of_table: bool = False
    fails: Callable[[Given], pl.Expr] | None = None

    @property
    def worst(self) -> float:
        """The figure of a class that has no present value."""
        return 0 if self.compared == "at least" else float("inf")

    def failing(self, figures: pl.Expr, required: float) -> pl.Expr:
        if self.compared == "at least":
            return figures < required * (1 - TOLERANCE)
        if self.compared == "below":
            return figures >= required * (1 - TOLERANCE)
        return figures > required * (1 + TOLERANCE) + NEGLIGIBLE


def _perplexity(given: Given) -> pl.Expr:
    share = COUNT / TOTAL
    if "estimator" in given:
        logs = summed(COUNT * _substitute(COUNT)) / TOTAL.first()
        if given["estimator"] == "grassberger":
            return (TOTAL.first().log() - logs).exp()
        return pl.min_horizontal((_substitute(TOTAL).first() - logs).exp(), VALUE.len())
    return (-summed(share * share.log())).exp()


def _substitute(numbers: pl.Expr) -> pl.Expr:
    """What Grassberger takes for the logarithm of each number."""
    return numbers.map_batches(lambda each: each.cast(pl.Float64).map_elements(estimates.grassberger, pl.Float64))


def _top_to_rest(given: Given) -> pl.Expr:
    """How many rows have a protected value, for each row of all but it and the l - 2 most frequent others. These are
    among the l - 1 most frequent values, if it is one of them, else they are the l - 2 most frequent values, whichever
    have fewer rows."""
    most, l = _most(given), int(given["l"])  # noqa: E741
    rest = COUNT.sort(descending=True).slice(l - 1).sum()
    if "guarded" in given and l > 1:
        excluded = pl.min_horizontal(COUNT.top_k(l - 2).sum(), COUNT.top_k(l - 1).sum() - most)
        rest = COUNT.sum() - most - excluded
    return pl.when(most == 0).then(0.0).otherwise(most / rest)


def _spread(given: Given) -> pl.Expr:
    return summed(COUNT * (VALUE - MEAN).pow(2))


def _distance(given: Given) -> pl.Expr:
    """The equal distance is half the sum of what differs; of values that the class lacks, all that they have."""
    if given.get("distance", "equal") != "equal":
        return pl.col(str(given["distance"])).first()
    share = COUNT / TOTAL
    if "guarded" not in given:
        return (summed((share - OVERALL).abs()) + 1 - summed(OVERALL)) / 2
    mine = guarded(given)
    own, expected, whole = summed(share.filter(mine)), summed(OVERALL.filter(mine)), float(given["guarded share"])
    return (summed((share - OVERALL).filter(mine).abs()) + (whole - expected) + (own - whole).abs()) / 2


def _gain(given: Given) -> pl.Expr:
    return ((COUNT / TOTAL - OVERALL) / OVERALL).filter(guarded(given)).max().fill_null(0).clip(0)


def _capped_gain(given: Given) -> pl.Expr:
    """The largest relative gain of a value; infinite where one exceeds what no beta allows."""
    ratio = COUNT / TOTAL / OVERALL
    beyond = (ratio - 1) / (1 - OVERALL.log() - 1 + NEGLIGIBLE) > 1 + TOLERANCE
    broken = (beyond & (ratio > 1 + NEGLIGIBLE) & guarded(given)).any()
    gain = (ratio - 1).filter(guarded(given)).max().fill_null(0).clip(0)
    return pl.when(broken).then(float("inf")).otherwise(gain)


def _log_ratio(given: Given) -> pl.Expr:
    ratio = ((COUNT / TOTAL).log() - OVERALL.log()).abs()
    if "guarded" not in given:
        return pl.when(pl.len() < KINDS.first()).then(float("inf")).otherwise(ratio.max())
    mine = guarded(given)
    lacks = mine.sum() < len(given["guarded"])
    return pl.when(lacks).then(float("inf")).otherwise(ratio.filter(mine).max().fill_null(0))


def _riskier(than: Callable[[Given], float]) -> Callable[[Given], pl.Expr]:
    """Classes of a row that is found with a higher probability than it may be."""
    return lambda given: than(given) * (1 + TOLERANCE) + NEGLIGIBLE < 1 / SIZE


def _risk(parameter: str, figure: Callable[[Given], pl.Expr], than: str | None = None) -> TwinBound:
    """A bound of the table; where it is not met, classes are at fault whose risk is above the parameter of `than`."""
    allowed = than or parameter
    return TwinBound(parameter, figure, "at most", of_table=True, fails=_riskier(lambda given: float(given[allowed])))


def _highest(given: Given) -> pl.Expr:
    return (1 / SIZE).max()


def _among(given: Given) -> pl.Expr:
    """How many people the journalist looks among for the row of a class."""
    return crowd(given) if "population" in given else SIZE


def _try(given: Given) -> pl.Expr:
    """What a try at a record brings; nothing where attacks are allowed and the publisher can afford them."""
    brings = float(given["attacker_gain"]) / _among(given)
    if not given.get("allow_attack"):
        return brings
    benefit, loss = float(given["publisher_benefit"]), float(given["publisher_loss"])
    worth, lost = benefit * KEPT, loss / pl.max_horizontal(_among(given), pl.lit(1))
    return pl.when(lost - worth <= TOLERANCE * benefit + NEGLIGIBLE).then(0.0).otherwise(brings)


def _too_few(given: Given) -> pl.Expr:
    allowed = float(given["journalist_max"])
    return allowed * (1 + TOLERANCE) + NEGLIGIBLE < 1 / _among(given)


def _at_risk(given: Given) -> pl.Expr:
    threshold = given.get("threshold", THRESHOLD)
    return WEIGHT.filter(_riskier(lambda given: float(threshold))(given)).sum() / WEIGHT.sum()


TWINS: dict[str, tuple[TwinBound, ...]] = {
    "k-anonymity": (TwinBound("k", lambda given: SIZE, whole=True, people=True),),
    "alpha-k-anonymity": (
        TwinBound("alpha", lambda given: _most(given) / COUNT.sum(), "at most"),
        TwinBound("k", lambda given: SIZE, whole=True, people=True),
    ),
    "distinct-l-diversity": (TwinBound("l", lambda given: pl.len(), whole=True),),
    "entropy-l-diversity": (TwinBound("l", _perplexity),),
    "frequency-l-diversity": (TwinBound("l", lambda given: COUNT.sum() / _most(given)),),
    "recursive-cl-diversity": (TwinBound("c", _top_to_rest, "below"),),
    "squared-error-diversity": (TwinBound("error", _spread, overflows=True),),
    "p-sensitivity": (TwinBound("p", lambda given: VALUE.n_unique(), whole=True),),
    "k-e-anonymity": (
        TwinBound("k", lambda given: VALUE.n_unique(), whole=True),
        TwinBound("e", lambda given: VALUE.max() - VALUE.min(), overflows=True),
    ),
    "t-closeness": (TwinBound("t", _distance, "at most"),),
    "basic-beta-likeness": (TwinBound("beta", _gain, "at most"),),
    "enhanced-beta-likeness": (TwinBound("beta", _capped_gain, "at most"),),
    "delta-disclosure": (TwinBound("delta", _log_ratio, "below"),),
    "k-map": (TwinBound("k", people_like, whole=True, people=True),),
    "delta-presence": (
        TwinBound("min", lambda given: pl.when(outside(given) > 0).then(0.0).otherwise(SIZE / crowd(given))),
        TwinBound("max", lambda given: SIZE / crowd(given), "at most"),
    ),
    "risk": (
        _risk("prosecutor_max", _highest),
        TwinBound("journalist_max", lambda given: (1 / _among(given)).max(), "at most", of_table=True, fails=_too_few),
        _risk("marketer", lambda given: summed(WEIGHT / SIZE) / WEIGHT.sum()),
        _risk("records_at_risk", _at_risk, "threshold"),
    ),
    "profitability": (TwinBound("attacker_cost", _try, "at most"),),
    "sample-uniqueness": (
        TwinBound(
            "share",
            lambda given: WEIGHT.filter(SIZE == 1).sum() / WEIGHT.sum(),
            "at most",
            of_table=True,
            fails=lambda given: SIZE == 1,
        ),
    ),
    "population-uniqueness": (TwinBound("share", _uniques, "at most", of_table=True, fails=lambda given: SIZE == 1),),
}


def weighs(model: str, given: Given) -> bool:
    """Whether the figure of a class depends on what it keeps of the information."""
    return any("kept" in bound.figure(given).meta.root_names() for bound in TWINS[model] if bound.parameter in given)


def compares(model: str, given: Given) -> bool:
    """Whether the figure of a class depends on anything other than the class: a twin that reads another column."""
    read = (name for bound in TWINS[model] for name in bound.figure(given).meta.root_names())
    return not OWN.issuperset(read)
