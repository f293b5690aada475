"""What models and selections gain when a release is made for them: the tables of LeFevre, DeWitt and Ramakrishnan,
Workload-aware anonymization, KDD 2006, measured again.

    python benchmarks/workload_models.py                            # 100 tables, as in the paper; some 30 minutes
    python benchmarks/workload_models.py --tables 10 --folds 3      # a quick look

Figure 10: tables of seven labels, anonymized for the first 1 to 7 of them. Figure 8: the algorithms compared on one
label, by four kinds of models. Figure 11: the imprecision of a selection. Figure 9: real tables, see
`workload_real.py`; those whose data is not there are left out. Recodings are found on the training part alone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from workload_common import COMPARED, accuracy, compared, markdown, recoded, rivals, share
from workload_real import adult_by_k, adult_by_model, contraceptive_choices, earnings, projections, random_groups

from anonymize._evaluate import Evaluate, evaluate
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.generate import agrawal, files
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import Spec, load
from anonymize.spec.blocks import Workload

RESULTS = Path(__file__).with_name("workload_models.md")
ROWS = 1000

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
MODELS = ("decision_tree", "naive_bayes", "random_forest", "linear_svm")
SELECTION = (
    {"age": {"to": 39}, "salary": {"from": 50_000, "to": 100_000}},
    {"age": {"from": 40, "to": 59}, "salary": {"from": 75_000, "to": 125_000}},
    {"age": {"from": 60}, "salary": {"from": 25_000, "to": 75_000}},
)
KS = (2, 5, 10, 25, 50, 100)
SELECTED_TABLES = 20
SELECTED = ("age", "salary")
CURVES = ("Selection", "Median of age and salary", "Median", "Median, listed")
CUTS = (("selection", "leaves"), ("widest", "leaves"), ("widest", "leaves"), ("widest", "listed"))
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


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
        *markdown(
            ("made for", *"abcdefg"),
            [
                ("{" + ",".join("abcdefg"[: at + 1]) + "}", *map(share, row))
                for at, row in reversed(list(enumerate(mean)))
            ],
        ),
        "",
        f"- A model is more accurate wherever it is included than wherever it is not, in {_columns(mean, included)} "
        f"of 6 columns (a is always included). On average {share(mean[included].mean())} against "
        f"{share(mean[~included].mean())}.",
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


def algorithms(tables: int) -> list[str]:
    """Figure 8."""
    rows: dict[str, list[list[str]]] = {model: [] for model in MODELS}
    for function in ALONE:
        with generated([function]) as spec:
            figures = rivals(spec, "group", (halves(table, [function]) for table in range(tables)), MODELS)
        for model in MODELS:
            rows[model].append(compared(f"function {function}", figures[model]))
    note = "Constants of functions 2, 4 and 6 are random. p is of a paired, one-sided t-test over the tables."
    lines = [f"## One target (figure 8): {tables} tables, k = 25, accuracy", "", note, ""]
    for model, of_model in rows.items():
        lines += [f"### {model.replace('_', ' ').capitalize()}", "", *markdown(COMPARED, of_model), ""]
    return lines


def selection(tables: int) -> list[str]:
    """Figure 11."""
    figures = np.zeros((len(KS), len(CURVES), tables))
    with generated([2]) as spec, tempfile.TemporaryDirectory() as folder:
        paths = [_selecting(Path(str(spec.path)), restricted) for restricted in (False, True, False, False)]
        for table in range(tables):
            pl.concat(list(agrawal.frames(ROWS, table, [2]))).write_csv(f"{folder}/table.csv")
            for place, k in enumerate(KS):
                for curve, (path, cut) in enumerate(zip(paths, CUTS, strict=True)):
                    figures[place, curve, table] = _imprecision(path, Path(folder), k, cut)
    below = (figures[:, :1] < figures[:, 1:]).sum(axis=2)
    rows = [
        (str(k), *(f"{mean:.1f}" for mean in figures[place].mean(axis=1)), *map(str, below[place]))
        for place, k in enumerate(KS)
    ]
    return [
        f"## Selection (figure 11): {tables} tables, function 2 as three rectangles, rows of imprecision",
        "",
        "The sum over the rectangles: a row whose region overlaps two of them counts for both. The last columns: in "
        f"how many of the {tables} tables Selection is below.",
        "",
        *markdown(("k", *CURVES, "below the second", "below the third", "below the fourth"), rows),
        "",
    ]


def _selecting(path: Path, restricted: bool) -> Path:
    """A spec with the selections; `restricted`: only the attributes that these are about are quasi-identifiers."""
    values = yaml.safe_load(path.read_text(encoding="utf8"))
    values["workload"]["selections"] = list(SELECTION)
    if restricted:
        others = [name for name in values["quasi_identifiers"] if name not in SELECTED]
        values["insensitive"] = [*values.get("insensitive", []), *others]
        values["quasi_identifiers"] = {name: values["quasi_identifiers"][name] for name in SELECTED}
    written = path.with_name(f"selecting-{restricted}.yaml")
    written.write_text(yaml.safe_dump(values), encoding="utf8")
    return written


def _imprecision(path: Path, folder: Path, k: int, cut: tuple[str, str]) -> float:
    from anonymize.spec import override

    spec = override(load(path, PARAMETERS), k=k)
    table, out = str(folder / "table.csv"), str(folder / "out.csv")
    options = ALGORITHMS["mondrian"].Options(cut=cut[0], ties=cut[1])
    release(Request(spec, "mondrian", options, input=table, output=out, force=True))
    return float(evaluate(Evaluate(spec, out, table, queries=0))["utility"]["imprecision"]["total"])


# --- the page --------------------------------------------------------------------------------------------------------


def main() -> None:
    """Measures, and writes the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--tables", type=int, default=100, help="independent tables of figures 8 and 10")
    parser.add_argument("--folds", type=int, default=10, help="folds of figure 9")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of adult.csv and its hierarchies")
    parser.add_argument("--only", action="append", help="figures to print, such as 8; nothing is written then")
    given = parser.parse_args()
    parts: dict[str, Callable[[], list[str]]] = {
        "10": lambda: several_targets(given.tables),
        "8": lambda: algorithms(given.tables),
        "11": lambda: selection(min(given.tables, SELECTED_TABLES)),
        "9f": lambda: contraceptive_choices(given.folds),
        "9ade": lambda: adult_by_k(given.data, given.folds),
        "9bc": lambda: adult_by_model(given.data, given.folds),
        "9g": lambda: random_groups(given.data, given.folds),
        "9h": lambda: projections(given.data, given.folds),
        "9i": lambda: earnings(given.folds),
    }
    lines: list[str] = []
    for name in given.only or parts:
        started = time.process_time()
        made = [*parts[name](), f"({time.process_time() - started:.0f} s of CPU)"]
        lines += [*made, ""]
        print("\n".join(made), flush=True)
    if not given.only:
        head = ["# Releases made for a workload", "", "Measured by [workload_models.py](workload_models.py).", ""]
        RESULTS.write_text("\n".join([*head, *lines]), encoding="utf8")


if __name__ == "__main__":
    main()
