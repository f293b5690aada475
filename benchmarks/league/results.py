"""The league's results: a cell is one release, and a line of the file. Floats have six digits: so ties are ties."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LINE = ("table", "model", "suppression", "k")
FIGURES = ("code", "gcp", "gcp_weighted", "query_error", "accuracy_lost", "suppressed_rows", "cpu_seconds", "apart")
"""`code`: exit code. `accuracy_lost`: of a model, trained on the release in place of the original. `apart`: how far the
losses are from those that another script reads in the text. None of what there is not."""
FIELDS = (*LINE, "label", *FIGURES)

Cell = Mapping[str, Any]


def load(path: Path) -> list[dict[str, Any]]:
    """The cells, in the order in which they were measured; none where there is no file."""
    if not path.exists():
        return []
    stored = json.loads(path.read_text(encoding="utf8"))
    return [dict(zip(stored["fields"], values, strict=True)) for values in stored["cells"]]


def save(path: Path, cells: Iterable[Cell]) -> None:
    """Puts all cells into the file, whole or not at all."""
    rows = [json.dumps([_short(cell.get(name)) for name in FIELDS], separators=(",", ":")) for cell in cells]
    part = path.with_suffix(".part")
    head = json.dumps({"fields": FIELDS}, separators=(",", ":"))[:-1]
    part.write_text(head + ',"cells":[\n' + ",\n".join(rows) + "\n]}\n", encoding="utf8")
    part.replace(path)


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
