"""What the figures of a workload have in common: the rivals, what models make of them, and tables in Markdown."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import ttest_rel

from anonymize.algorithms import ALGORITHMS
from anonymize.metrics.measures import conditional_entropy
from anonymize.modelling import Recoder
from anonymize.modelling.learners import LEARNERS, RegionEnds, matrices, scores
from anonymize.spec import Spec
from anonymize.table import Source, read

TREE = ("decision_tree",)
RIVALS: dict[str, tuple[str, dict[str, Any]]] = {
    "InfoGain": ("mondrian", {"cut": "infogain"}),
    "TDS": ("tds", {}),
    "Median": ("mondrian", {"cut": "widest"}),
}
SAMPLED, LISTED = "InfoGain, sampled", "Median, listed"
MADE = {
    **RIVALS,
    SAMPLED: ("mondrian", {"cut": "infogain", "exact": False}),
    LISTED: ("mondrian", {"cut": "widest", "ties": "listed"}),
}
Folds = Iterator[tuple[pl.DataFrame, pl.DataFrame]]
Features = tuple[Any, Any]
Figures = dict[str, dict[str, list[float]]]
"""By model, or measure of the training part, then by what it is made of: a figure for each pair of parts."""


def recoder(spec: Spec, rival: str, train: pl.DataFrame) -> Recoder:
    """What a rival finds on the training part."""
    algorithm, options = MADE[rival]
    return Recoder.of(spec, train, algorithm, ALGORITHMS[algorithm].Options(**options), 0, 1)


def recoded(spec: Spec, rival: str, train: pl.DataFrame, test: pl.DataFrame) -> Features:
    """Features of both parts, recoded by what was found on the first."""
    finder = recoder(spec, rival, train)
    return matrices(finder.boxes(train)[0], finder.boxes(test)[0])


def accuracy(features: Features, train: pl.DataFrame, test: pl.DataFrame, target: str, model: str = TREE[0]) -> float:
    """Of a model, on the test part."""
    y, truth = (part[target].to_numpy().astype(str) for part in (train, test))
    result = scores(LEARNERS[model], 0, (features[0], y), (features[1], truth))["accuracy"]
    assert result is not None
    return result


def rivals(
    spec: Spec, target: str, parts: Folds, models: Sequence[str] = TREE, names: Sequence[str] = (*RIVALS, LISTED)
) -> Figures:
    """Accuracies of models by what was made of the same training and test parts; with `entropy`, H(C|P) of the training
    part's classes in bits, and `size`, their average rows."""
    figures: Figures = {name: {} for name in (*models, "entropy", "size")}
    for train, test in parts:
        both = pl.concat([train, test])
        points = _points(spec, both)
        seen, unseen = points.rows(np.arange(len(train))), points.rows(np.arange(len(train), len(both)))
        _weigh(figures, "original", models, target, (seen, unseen), (train, test))
        for rival in names:
            finder = recoder(spec, rival, train)
            regions = finder.boxes(train)[0], finder.boxes(test)[0]
            _weigh(figures, rival, models, target, regions, (train, test))
    return figures


def _weigh(
    figures: Figures,
    name: str,
    models: Sequence[str],
    target: str,
    regions: tuple[RegionEnds, RegionEnds],
    parts: tuple[pl.DataFrame, pl.DataFrame],
) -> None:
    features = matrices(*regions)
    measured = {model: accuracy(features, *parts, target, model) for model in models}
    ends = np.hstack([regions[0].start, regions[0].stop])
    classes = np.unique(ends, axis=0, return_inverse=True)[1].ravel()
    _, labels = np.unique(parts[0][target].to_numpy().astype(str), return_inverse=True)
    count = int(classes.max()) + 1
    measured["entropy"] = conditional_entropy(classes, labels, count, int(labels.max()) + 1)
    measured["size"] = len(classes) / count
    for figure, value in measured.items():
        figures[figure].setdefault(name, []).append(value)


def _points(spec: Spec, frame: pl.DataFrame) -> RegionEnds:
    with tempfile.TemporaryDirectory() as folder:
        frame.write_parquet(f"{folder}/table.parquet")
        with Source.open(spec, f"{folder}/table.parquet") as source:
            return RegionEnds.of_original(read(spec, source))


def folds(frame: pl.DataFrame, count: int) -> Folds:
    """Training and test parts of cross-validation."""
    order = np.random.default_rng(0).permutation(frame.height)
    for part in np.array_split(order, count):
        yield frame[np.setdiff1d(order, part)], frame[np.sort(part)]


def compared(title: str, figures: dict[str, list[float]]) -> list[str]:
    """A row of accuracies and the paired t-tests of neighbours, by figures of the same tables or folds."""
    cells = [title, *(share(np.mean(each)) for each in figures.values())]
    first, second, third = (figures[name] for name in RIVALS)
    pairs = ((first, second), (second, third), (first, third))
    return [*cells, *(f"{ttest_rel(*pair, alternative='greater').pvalue:.1e}" for pair in pairs)]


COMPARED = ("data", "original", *RIVALS, LISTED, "p: InfoGain > TDS", "p: TDS > Median", "p: InfoGain > Median")


def share(value: Any) -> str:
    """A share or an accuracy, as text."""
    return f"{float(value):.4f}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table's lines."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]
