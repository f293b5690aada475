"""The models that a release is tried with, from scikit-learn. One model, one line in `LEARNERS`.

Decision trees split by entropy, stop at two rows, and are pruned of splits that tell little. Naive Bayes counts the
parts into which each feature falls where it tells most of the label. A random forest has 40 trees. The support vector
machine is linear, on standardized features, as is the regression; a regression tree stops at four rows. `baseline` and
`median` look at no feature: they predict the most frequent label, and the median.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats
from anonymize.errors import Problem, UsageError

PARTS = 8
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
            criterion="entropy", max_leaf_nodes=PARTS, ccp_alpha=PRUNED, random_state=self.seed
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


def _baseline(seed: int) -> Any:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="most_frequent")


def _median(seed: int) -> Any:
    from sklearn.dummy import DummyRegressor

    return DummyRegressor(strategy="median")


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, ccp_alpha=PRUNED, random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=40, random_state=seed, n_jobs=1)


def _svm(seed: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    return make_pipeline(StandardScaler(), LinearSVC(dual=False, max_iter=10_000, random_state=seed))


def _linear(seed: int) -> Any:
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LinearRegression())


def _regression_tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(min_samples_leaf=4, random_state=seed)


@dataclass(frozen=True)
class Learner:
    """A kind of model: what it predicts, and what makes one from a seed."""

    predicts: Literal["categorical", "numeric"]
    make: Callable[[int], Any]


LEARNERS: dict[str, Learner] = {
    "baseline": Learner("categorical", _baseline),
    "decision_tree": Learner("categorical", _tree),
    "naive_bayes": Learner("categorical", DiscretizedBayes),
    "random_forest": Learner("categorical", _forest),
    "linear_svm": Learner("categorical", _svm),
    "median": Learner("numeric", _median),
    "linear_regression": Learner("numeric", _linear),
    "regression_tree": Learner("numeric", _regression_tree),
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
    model = (_baseline if single else learner.make)(seed).fit(x if x.shape[1] else np.zeros((len(y), 1)), y)
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
