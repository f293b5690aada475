"""What `release` loses on the league's tables by effort, and the seconds of the processor that it takes.

python benchmarks/league/efforts.py TABLES [--only census,attrition] [-k 5,25] -o efforts.json

A release is a process of its own, whose start counts. Models of sensitive values are those of run.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from league import run, tables

EFFORTS = ("low", "normal", "high")


def main() -> None:
    """Writes loss and seconds of each line at each effort; what is there already is not measured again."""
    options, losses = tables.measuring(__doc__)
    for model, name, k, effort in product(run.MODELS, options.only.split(","), options.k.split(","), EFFORTS):
        key, file = f"{name} {k} {model} {effort}", tables.file_of(name, options.tables, options.reference)
        if key not in losses and file is not None:
            losses[key] = [float(f"{figure:.6g}") for figure in _measured(name, file, int(k), model, effort)]
            options.output.write_text(json.dumps(losses, indent=1) + "\n", encoding="utf8")


def _measured(name: str, table: Path, k: int, model: str, effort: str) -> tuple[float, float]:
    """The release's gcp, and its seconds, user and system."""
    spec = tables.releasing_spec(name) | {"privacy": run.required(tables.releasing_spec(name), model, k, 0.0)}
    with tempfile.TemporaryDirectory() as folder:
        path, report = tables.written(spec, Path(folder) / "spec.yaml"), Path(folder) / "report.json"
        words = ["release", str(path), "-i", str(table), "--effort", effort, "-q", "-r", str(report)]
        before = run.seconds_used()
        subprocess.run(
            [sys.executable, "-m", "anonymize", *words, "-o", str(Path(folder) / "released.csv")], check=True
        )
        return float(json.loads(report.read_text(encoding="utf8"))["utility"]["gcp"]), run.seconds_used() - before


if __name__ == "__main__":
    main()
