"""Bounds on what any release of the league's tables loses under k-anonymity, from `mondrian --bound`.

python benchmarks/league/bounds.py TABLES [--only census,attrition] [-k 5,25] -o bounds.json
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from league import tables


def main() -> None:
    """Writes the bound of each table at each k; what is there already is not worked out again."""
    options, bounds = tables.measuring(__doc__)
    for name, k in product(options.only.split(","), options.k.split(",")):
        file = tables.file_of(name, options.tables, options.reference)
        if f"{name} {k}" not in bounds and file is not None:
            bounds[f"{name} {k}"] = _bound(name, file, k)
            options.output.write_text(json.dumps(bounds, indent=1) + "\n", encoding="utf8")


def _bound(name: str, table: Path, k: str) -> dict[str, float | None]:
    """The report's block."""
    with tempfile.TemporaryDirectory() as folder:
        report, spec = Path(folder) / "report.json", Path(folder) / "spec.yaml"
        tables.written(tables.releasing_spec(name), spec)
        words = ["mondrian", str(spec), "-i", str(table), "-k", k, "--bound", "--dry-run", "-q", "-r", str(report)]
        subprocess.run([sys.executable, "-m", "anonymize", *words], check=True, stdout=subprocess.DEVNULL)
        block: dict[str, float | None] = json.loads(report.read_text())["utility"]["bound"]
        return block


if __name__ == "__main__":
    main()
