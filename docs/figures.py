"""Draws the pictures of the documentation from runs: `make figures`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import randomization_pages

HERE = Path(__file__).parent
ROOT = HERE.parent
SPEC = """\
version: 1
input: {{path: {root}/sample_data/patients.csv, missing: ["", "?"]}}
identifiers: [name, ssn, note]
quasi_identifiers:
  age: {{type: numeric, hierarchy: {{intervals: [5, 10, 20]}}}}
  zipcode: {{hierarchy: {{prefix: [4, 3]}}}}
  sex:
insensitive: [marital_status, education, occupation, admission_date, ward, diagnosis, charges, readmitted]
privacy: {{k: 5, suppression: 0.01}}
"""
WIDE, HIGH, RADIUS = 92, 64, 19
Vector = tuple[int, ...]


def lattice() -> dict[str, Any]:
    """The lattice of the sample data, as Incognito writes it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "spec.yaml").write_text(SPEC.format(root=ROOT), encoding="utf8")
        options = ["-o", str(folder / "released.csv"), "--output-lattice", str(folder / "lattice.json"), "-q"]
        command = [sys.executable, "-m", "anonymize", "incognito", str(folder / "spec.yaml"), *options]
        subprocess.run(command, check=True, cwd=ROOT)
        found: dict[str, Any] = json.loads((folder / "lattice.json").read_text(encoding="utf8"))
        return found


def places(nodes: list[dict[str, Any]]) -> dict[Vector, tuple[int, int]]:
    """Where each node is drawn: its height from the bottom, centred among those of the same height."""
    rows: dict[int, list[Vector]] = {}
    for node in nodes:
        rows.setdefault(node["height"], []).append(tuple(node["levels"]))
    widest = max(map(len, rows.values()))
    return {
        vector: (WIDE * (2 * at + 1 + widest - len(row)) // 2, HIGH * (len(rows) - height) - HIGH // 2)
        for height, row in rows.items()
        for at, vector in enumerate(row)
    }


def draw(found: dict[str, Any]) -> str:
    """The lattice as SVG."""
    at = places(found["nodes"])
    best = min((node for node in found["nodes"] if node["safe"]), key=lambda node: node["score"])
    width, height = max(x for x, _ in at.values()) + WIDE // 2, max(y for _, y in at.values()) + HIGH // 2
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for low, high in product(at, at):
        if sum(high) == sum(low) + 1 and all(a <= b for a, b in zip(low, high, strict=True)):
            (x1, y1), (x2, y2) = at[low], at[high]
            lines.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#bbb"/>')
    lines += [shape(node, *at[tuple(node["levels"])], ring=node is best) for node in found["nodes"]]
    return "\n".join([*lines, "</svg>", ""])


def shape(node: dict[str, Any], x: int, y: int, ring: bool) -> str:
    """A node: green where it is safe, with a ring where it is the best."""
    fill = "#9fd8a4" if node["safe"] else "#dddddd"
    edge = 'stroke="#b3261e" stroke-width="3"' if ring else 'stroke="#666"'
    text = ",".join(map(str, node["levels"]))
    return (
        f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="{fill}" {edge}/>'
        f'<text x="{x}" y="{y + 4}" text-anchor="middle">{text}</text>'
    )


def main() -> None:
    """Writes every picture."""
    (HERE / "lattice.svg").write_text(draw(lattice()), encoding="utf8")
    randomization_pages.write()


if __name__ == "__main__":
    main()
