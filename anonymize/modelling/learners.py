"""The models that a release is tried with, from scikit-learn, one line each in `LEARNERS`; and regions as the
numbers that they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Bools, Floats, Ints
from anonymize.domain import GappedColumns, LeafSets
from anonymize.domain import chosen as of_cells
from anonymize.domain.numeric import Numeric
from anonymize.errors import Problem, UsageError
from anonymize.reading.regions import TextRegions, gapped_columns
from anonymize.records import dataclass
from anonymize.table import Table

# --- regions as numbers -----------------------------------------------------------------------------------------------
# Each quasi-identifier becomes two numbers, its ends. For a number these are the ends of its interval; for a category,
# the positions of the first and the last leaf under its node, in the order of the hierarchy. What is missing may be any
# number: it spans all of the training part. Where both ends are equal in every training row, as they are in an original
# table, one of them is left out. For a released set `{a|c}` the leaves that some set leaves out between its ends are
# further numbers: 1 where a row may be about that leaf.
#
# Source: LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, section 4.2.


@dataclass(frozen=True)
class RegionEnds:
    """Rows as regions: `start`, `stop` (rows, attributes), nan for a missing number. `gapped`: the categories that are
    sets of leaves with others between them."""

    start: Floats
    stop: Floats
    gapped: GappedColumns = field(default_factory=dict)

    @classmethod
    def of_original(cls, table: Table) -> RegionEnds:
        """Every value as the region of itself."""
        columns = []
        for attribute in table.attributes:
            domain = attribute.domain
            values = np.arange(domain.size, dtype=np.float64)
            if isinstance(domain, Numeric):
                values = np.append(domain.values.astype(np.float64), [] if domain.missing is None else [np.nan])
            columns.append(values[attribute.codes])
        points = np.stack(columns, axis=1)
        return cls(points, points)

    @classmethod
    def of_cells(cls, regions: Sequence[TextRegions], text_of: Ints) -> RegionEnds:
        """The regions of a released table; see `read_regions`."""
        pairs = list(zip(regions, text_of, strict=True))
        start = np.stack([column.start[texts] for column, texts in pairs], axis=1)
        stop = np.stack([column.stop[texts] for column, texts in pairs], axis=1)
        return cls(start, stop, gapped_columns(regions, text_of))

    def rows(self, chosen: Ints | Bools) -> RegionEnds:
        """Some of the rows."""
        return RegionEnds(self.start[chosen], self.stop[chosen], of_cells(self.gapped, chosen))

    def without(self, attributes: Sequence[int]) -> RegionEnds:
        """All but some of the attributes."""
        left = [index for index in range(self.start.shape[1]) if index not in attributes]
        gapped = {place: self.gapped[index] for place, index in enumerate(left) if index in self.gapped}
        return RegionEnds(self.start[:, left], self.stop[:, left], gapped)

    def held(self, attribute: int, leaves: Ints) -> Floats:
        """(rows, leaves) 1 where the cell of a category may be about a leaf, else 0."""
        first, last = (ends[:, attribute].astype(np.int64) for ends in (self.start, self.stop))
        return LeafSets(first, last, self.gapped.get(attribute)).holding(leaves[None, :]).astype(np.float64)


def matrices(train: RegionEnds, test: RegionEnds) -> tuple[Floats, Floats]:
    """(training rows, features) and (test rows, features)."""
    with_ends = np.append(train.start, train.stop, axis=0)
    some = ~np.isnan(with_ends)
    least = np.where(some, with_ends, np.inf).min(axis=0, initial=np.inf)
    most = np.where(some, with_ends, -np.inf).max(axis=0, initial=-np.inf)
    least, most = np.where(np.isinf(least), 0.0, least), np.where(np.isinf(most), 0.0, most)
    filled = [(_filled(part.start, least), _filled(part.stop, most)) for part in (train, test)]
    apart = (filled[0][0] != filled[0][1]).any(axis=0)
    gaps = _gaps(train)
    first, second = (
        np.hstack([start, stop[:, apart], *(part.held(index, leaves) for index, leaves in gaps.items())])
        for part, (start, stop) in zip((train, test), filled, strict=True)
    )
    return first, second


def _gaps(train: RegionEnds) -> dict[int, Ints]:
    """By attribute, the leaves that some training row leaves out between its ends."""
    every = {index: gapped.leaves[np.unique(gapped.which[gapped.places])] for index, gapped in train.gapped.items()}
    within = {
        index: np.logical_or.accumulate(sets, axis=1) & np.logical_or.accumulate(sets[:, ::-1], axis=1)[:, ::-1] & ~sets
        for index, sets in every.items()
    }
    return {index: np.flatnonzero(between.any(axis=0)) for index, between in within.items()}


def _filled(ends: Floats, absent: Floats) -> Floats:
    return np.where(np.isnan(ends), absent, ends)


# --- learners ---------------------------------------------------------------------------------------------------------
# Decision trees split by entropy, stop at two rows, and are pruned of splits that tell little. Naive Bayes counts the
# parts into which each feature falls where it tells most of the label. A random forest has 40 trees. The support vector
# machine is linear, on standardized features, as is the regression; a regression tree stops at four rows. `baseline`
# and `median` look at no feature: they predict the most frequent label, and the median.

FEATURE_BINS = 8
"""Into which naive Bayes parts a feature, at most."""
PRUNED = 0.002
"""Bits of entropy, over all rows, that a split has to save for each leaf that it adds."""


def check_installed() -> None:
    """Raises UsageError where scikit-learn is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        hint = "pip install 'anonymize-toolkit[ml]'"
        raise UsageError(Problem("models need scikit-learn, which is not installed", hint=hint)) from None


class DiscretizedBayes:
    """Naive Bayes over categories: each feature is parted at the thresholds of a small tree of its own."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.cuts: list[Floats] = []
        self.bayes: Any = None

    def fit(self, x: Floats, y: NDArray[Any]) -> DiscretizedBayes:
        """Finds the parts, and counts labels in them."""
        from sklearn.naive_bayes import CategoricalNB

        self.cuts = [self._cuts(column, y) for column in x.T]
        self.bayes = CategoricalNB(min_categories=[len(cuts) + 1 for cuts in self.cuts]).fit(self._parts(x), y)
        return self

    def _cuts(self, column: Floats, y: NDArray[Any]) -> Floats:
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(
            criterion="entropy", max_leaf_nodes=FEATURE_BINS, ccp_alpha=PRUNED, random_state=self.seed
        )
        grown = tree.fit(column[:, None], y).tree_
        return np.sort(grown.threshold[grown.feature >= 0])

    def _parts(self, x: Floats) -> NDArray[np.int64]:
        parts = [np.searchsorted(cuts, column, "left") for cuts, column in zip(self.cuts, x.T, strict=True)]
        return np.stack(parts, axis=1).astype(np.int64)

    def predict(self, x: Floats) -> NDArray[Any]:
        """(rows,) labels."""
        return np.asarray(self.bayes.predict(self._parts(x)))

    def predict_proba(self, x: Floats) -> Floats:
        """(rows, labels) their probabilities."""
        return np.asarray(self.bayes.predict_proba(self._parts(x)))

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, sorted."""
        return np.asarray(self.bayes.classes_)


@dataclass(frozen=True)
class Learner:
    """A kind of model. `of`: its class in scikit-learn, with its settings, or what makes one from a seed. `scaled`:
    features are standardized first."""

    predicts: Literal["categorical", "numeric"]
    of: str | Callable[[int], Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    scaled: bool = False

    def make(self, seed: int) -> Any:
        """A model that is not trained yet."""
        if not isinstance(self.of, str):
            return self.of(seed)
        module, _, name = self.of.partition(".")
        model = getattr(import_module(f"sklearn.{module}"), name)(**self.settings)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        if not self.scaled:
            return model
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), model)


BASELINE = Learner("categorical", "dummy.DummyClassifier", {"strategy": "most_frequent"})
_TREE = {"criterion": "entropy", "min_samples_leaf": 2, "ccp_alpha": PRUNED}

LEARNERS: dict[str, Learner] = {
    "baseline": BASELINE,
    "decision_tree": Learner("categorical", "tree.DecisionTreeClassifier", _TREE),
    "naive_bayes": Learner("categorical", DiscretizedBayes),
    "random_forest": Learner("categorical", "ensemble.RandomForestClassifier", {"n_estimators": 40, "n_jobs": 1}),
    "linear_svm": Learner("categorical", "svm.LinearSVC", {"dual": False, "max_iter": 10_000}, scaled=True),
    "median": Learner("numeric", "dummy.DummyRegressor", {"strategy": "median"}),
    "linear_regression": Learner("numeric", "linear_model.LinearRegression", scaled=True),
    "regression_tree": Learner("numeric", "tree.DecisionTreeRegressor", {"min_samples_leaf": 4}),
}


def scores(learner: Learner, seed: int, train: tuple[Floats, Any], test: tuple[Floats, Any]) -> dict[str, float | None]:
    """How a model trained on (features, target) does on others: `accuracy` and `auc`, or `mean_absolute_error`.

    Where the training part has a single label, so has the prediction.
    """
    (x, y), (unseen, truth) = train, test
    if learner.predicts == "numeric":
        predicted = learner.make(seed).fit(x, y).predict(unseen)
        return {"mean_absolute_error": float(np.abs(predicted - truth).mean())}
    single = len(np.unique(y)) == 1 or not x.shape[1]
    model = (BASELINE if single else learner).make(seed).fit(x if x.shape[1] else np.zeros((len(y), 1)), y)
    unseen = unseen if unseen.shape[1] else np.zeros((len(truth), 1))
    return {"accuracy": float((model.predict(unseen) == truth).mean()), "auc": _auc(model, unseen, truth)}


def _auc(model: Any, x: Floats, truth: NDArray[Any]) -> float | None:
    """Area under the curve; with several labels, the mean over each against the rest, weighted by rows. A label that
    the model has never seen, or that all rows or none have, has no curve; None where no label has one."""
    labels = model.classes_
    decided = model.predict_proba(x) if hasattr(model, "predict_proba") else model.decision_function(x)
    if decided.ndim == 1:
        decided = np.stack([-decided, decided], axis=1)
    areas, weights = [], []
    for index, label in enumerate(labels):
        is_label = truth == label
        if 0 < is_label.sum() < len(is_label):
            areas.append(area(decided[:, index], is_label))
            weights.append(int(is_label.sum()))
    return float(np.average(areas, weights=weights)) if areas else None


def area(score: Floats, is_label: NDArray[np.bool_]) -> float:
    """The probability that a row of the label has a higher score than another; a tie counts half. Both (rows,)."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(is_label, score))
