"""What rounded ends cost on the league's tables under k-anonymity, where the league's own are tight.

python benchmarks/league/rounded.py TABLES [--only census,attrition] [-k 5,25] -o rounded.json
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from league import tables

import anonymize

RELEASES: dict[str, dict[str, Any]] = {
    "mondrian": {"algorithm": "mondrian"},
    "release --effort low": {"algorithm": "release", "effort": "low"},
}
"""Label -> how it is made."""


def main() -> None:
    """Writes the losses of each table at each k, tight and rounded; what is there already is not measured again."""
    options, losses = tables.measuring(__doc__)
    for label, name, k in product(RELEASES, options.only.split(","), options.k.split(",")):
        file = tables.file_of(name, options.tables, options.reference)
        if f"{name} {k} {label}" not in losses and file is not None:
            pair = [_loss(name, file, int(k), label, edges) for edges in ("tight", "rounded")]
            losses[f"{name} {k} {label}"] = [float(f"{loss:.6g}") for loss in pair]
            options.output.write_text(json.dumps(losses, indent=1) + "\n", encoding="utf8")


def _loss(name: str, table: Path, k: int, label: str, edges: str) -> float:
    """The release's gcp."""
    spec = tables.releasing_spec(name) | {"privacy": {"k": k}, "output": {"edges": edges}}
    return float(anonymize.release(str(table), spec, allow_unsafe=True, **RELEASES[label]).report["utility"]["gcp"])


if __name__ == "__main__":
    main()
