"""Draws the pictures of the documentation from runs: `make figures`.

`lattice.svg` is drawn from a run each time. `ncp.svg` and `time.svg`, and the table of local-recoding.md, are drawn
from the figures in `figures.json`, which are measured anew where the Adult extract is at hand (see measured.py; some
ten minutes, best on a quiet machine). `--stored` draws from what is there; `--missing` measures only what is not.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import measured
import randomization_pages
from plots import Axis, Chart, Line, Panel, bars, panels

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
COLOURS = (
    *("#0b6e4f", "#1a4e8a", "#b3261e", "#e08e0b", "#2ca02c", "#4a90d9", "#e57368", "#7b4fa3", "#555555"),
    *("#8c564b", "#17a2b8", "#c2185b", "#7a8b00", "#3d5a1e"),
)
WHOLE_COLUMNS = {method.label for method in measured.LOSS if measured.FULL_DOMAIN[0] in method.options}
"""Labels of the methods that show every column at one level."""
WIDE, HIGH, RADIUS = 92, 64, 19
Vector = tuple[int, ...]
ATTACKED_METHODS = ("mondrian", "mondrian refine=true", "incognito iterate=true", "incognito", "datafly", "top-down")
ATTACKERS_DRAWN = ("prosecutor", "journalist", "linkability", "inference-majority", "inference-model", "downcoding")


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


def tutorial() -> dict[str, str]:
    """The pictures of the tutorial, from the reports of its three releases."""
    runs = {"mondrian": (), "mondrian --cut rate": ("--cut", "rate"), "top-down": ()}
    reports = {}
    with tempfile.TemporaryDirectory() as name:
        for label, options in runs.items():
            report = Path(name) / "report.json"
            files = ["-o", str(Path(name) / "released.csv"), "-r", str(report), "-q", "--force"]
            command = [sys.executable, "-m", "anonymize", label.partition(" ")[0], "configs/patients.yaml"]
            subprocess.run([*command, *options, *files], check=True, cwd=ROOT)
            reports[label] = json.loads(report.read_text(encoding="utf8"))
    sizes = {
        label: {f"{each['from']} to {each['to']}": each["rows"] for each in report["classes"]["sizes"]}
        for label, report in reports.items()
    }
    lost = {
        label: {name: cell["ncp"] for name, cell in report["utility"]["attributes"].items()}
        for label, report in reports.items()
    }
    return {
        "tutorial-classes.svg": bars("Rows in classes of so many rows", sizes, "rows"),
        "tutorial-loss.svg": bars("Loss by column", lost, "mean NCP of a cell"),
    }


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


def loss(figures: dict[str, Any]) -> Chart:
    """NCP against k; a method with a run that took too long is left out by name."""
    known = {label: points for label, points in figures["gcp"].items() if None not in points.values()}
    late = [label for label in figures["gcp"] if label not in known]
    notes = [
        "Adult, 30,162 rows, 8 quasi-identifiers, weights 1. Dashed: full-domain, up to 5 % of the rows suppressed."
    ]
    notes.append(measured.WITHOUT_FIGURE)
    if late:
        notes.append(f"Left out, as a run took more than {measured.LONGEST['gcp']} s: {', '.join(late)}.")
    return Chart(
        "Information loss against k",
        Axis("k", measured.SIZES),
        Axis("gcp: mean NCP of a cell", (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)),
        [Line(label, numbers(points), colour(label), label in WHOLE_COLUMNS) for label, points in known.items()],
        notes,
    )


def seconds(figures: dict[str, Any]) -> Chart:
    """Time against rows, as far as each method came."""
    longest = measured.LONGEST["seconds"]
    notes = [
        "6 quasi-identifiers, k = 10; whole processes: start, reading, search, writing, check, report.",
        f"{figures['measured']}. A line that ends early: more than {longest} s, or not run on more rows.",
    ]
    lines = [Line(label, numbers(points), colour(label)) for label, points in figures["seconds"].items()]
    return Chart(
        "Seconds against rows",
        Axis("rows", measured.ROWS),
        Axis("seconds", (0.5, 1, 2, 5, 10, 20, 50, 100, 200)),
        [line for line in lines if line.points],
        notes,
    )


def colour(label: str) -> str:
    """The colour of a method, the same in every picture."""
    labels = list(dict.fromkeys(method.label for method in (*measured.LOSS, *measured.TIME)))
    return COLOURS[labels.index(label) % len(COLOURS)] if label in labels else COLOURS[0]


def numbers(points: dict[str, float | None]) -> list[tuple[float, float]]:
    """The points of a line; those without a figure are not there."""
    return [(float(at), value) for at, value in points.items() if value is not None]


def table(figures: dict[str, Any]) -> str:
    """Loss at some k in Markdown: a line a method, this project's and of every other tool that has all of them."""
    columns = ("5", "10", "25", "50")
    rows = {
        f"`{' '.join((method.command, *method.options))}`": figures["gcp"].get(method.label)
        for method in measured.LOCAL
    }
    rows |= {name: points["adult"] for name, points in figures["peers"].items()}
    complete = {name: points for name, points in rows.items() if points and all(points.get(k) for k in columns)}
    cells = [[name, *(f"{points[k]:.4f}" for k in columns)] for name, points in complete.items()]
    return markdown(["method", *(f"k = {k}" for k in columns)], cells)


def choices(figures: dict[str, Any]) -> str:
    """Loss at some k in Markdown, the least at k = 10 first; other readings of `top-down` left out."""
    columns = ("5", "10", "50")
    known = {label: points for label, points in figures["gcp"].items() if "--join" not in label}
    cells = []
    for label, points in sorted(known.items(), key=lambda item: float(item[1]["10"])):
        whole = ", whole columns" if label in WHOLE_COLUMNS else ""
        cells.append([label + whole, *(f"{points[k]:.4f}" for k in columns)])
    return markdown(["method", *(f"gcp, k = {k}" for k in columns)], cells)


def durations(figures: dict[str, Any]) -> str:
    """Seconds by rows in Markdown, as far as every method has been run."""
    sizes = [rows for rows in map(str, measured.ROWS) if all(each.get(rows) for each in figures["seconds"].values())]
    ordered = sorted(figures["seconds"].items(), key=lambda item: float(item[1][sizes[-1]]))
    cells = [[label, *(f"{points[rows]:.1f} s" for rows in sizes)] for label, points in ordered]
    return markdown(["method", *(f"{int(rows):,} rows" for rows in sizes)], cells)


def peers(figures: dict[str, Any]) -> str:
    """This project and other tools at k = 10 in Markdown, on Adult and on the large table: the least on Adult first."""
    both = [("**anonymize** " + name, points) for name, points in figures["beside"].items()]
    both += [(name, points) for name, points in figures["peers"].items()]
    cells = [
        [name, *(f"{points[table]['10']:.4f}" if table in points else "" for table in ("adult", "large"))]
        for name, points in sorted(both, key=lambda item: float(item[1]["adult"]["10"]))
    ]
    return markdown(["tool and method", "Adult", "large"], cells)


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table."""
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])


def fill(path: Path, name: str, made: str) -> None:
    """Puts a text between the marks of a page."""
    text = path.read_text(encoding="utf8")
    marked = re.compile(rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    path.write_text(marked.sub(lambda found: f"{found[1]}{made}\n{found[2]}", text), encoding="utf8")


def attacked() -> str:
    """The excess of some attackers against k, on Adult, from the figures that benchmarks/attacks.py keeps."""
    stored = json.loads((ROOT / "benchmarks" / "attacks.json").read_text(encoding="utf8"))
    cells: dict[str, dict[int, Any]] = {}
    for key, result in stored.items():
        table, label, privacy = key.split(" | ")
        required = json.loads(privacy)
        if table == "Adult" and label in ATTACKED_METHODS and "attacks" in result and "models" not in required:
            cells.setdefault(label, {})[required["k"]] = result["attacks"]
    labels = [label for label in ATTACKED_METHODS if len(cells.get(label, {})) == 3]
    drawn = []
    for attacker in ATTACKERS_DRAWN:
        excesses = {label: {k: each[attacker] for k, each in sorted(cells[label].items())} for label in labels}
        lines = [
            Line(label, [(k, each["value"], each["high"] - each["value"]) for k, each in points.items()])
            for label, points in excesses.items()
        ]
        drawn.append(Panel(attacker, lines))
    return panels(drawn, "k")


TABLES = {"adult": "Adult", "cps91": "cps91", "bwght": "bwght"}
"""The tables that benchmarks/k_or_epsilon.py compares, by what the page calls them."""


def bounded() -> dict[str, list[dict[str, Any]]]:
    """The figures that benchmarks/k_or_epsilon.py keeps: of each table its releases, from the largest k to the largest
    epsilon."""
    stored = json.loads((ROOT / "benchmarks" / "k_or_epsilon.json").read_text(encoding="utf8"))
    return {name: sorted(stored[name], key=_looseness) for name in TABLES}


def _looseness(row: dict[str, Any]) -> tuple[bool, bool, int, bool, float]:
    """Releases with classes first, refined ones behind the others, from the largest k to the largest epsilon; `aim`
    behind `mst`."""
    return "epsilon" in row, "refine" in row, -row.get("k", 0), row.get("method") == "aim", row.get("epsilon", 0.0)


def bound(row: dict[str, Any], epsilon: str = "epsilon = ") -> str:
    """What bounds a release, and the method of a synthetic table."""
    refined = ", refined" if "refine" in row else ""
    return f"k = {row['k']}{refined}" if "k" in row else f"{row['method']}, {epsilon}{row['epsilon']:g}"


def k_or_epsilon() -> str:
    """The mean total variation of marginals of two columns, at each k and each epsilon."""
    series = {TABLES[name]: {bound(row, ""): row["variation_2"] for row in rows} for name, rows in bounded().items()}
    return bars("Marginals of two columns: mean total variation from the original", series, "share of the rows")


def bounds() -> str:
    """All figures of the releases."""
    names = ("variation_1", "variation_2", "variation_3", "query_error")
    header = ["table", "bound", "one column", "two", "three", "counts: median relative error"]
    rows = [
        [TABLES[name], bound(row), *(f"{row[figure]:.3f}" for figure in names)]
        for name, each in bounded().items()
        for row in each
    ]
    return markdown(header, rows)


KEPT_ORDER = ("original", "mondrian --refine", "mondrian", "independent", "mst", "aim")
"""The tables that benchmarks/dp.py measures, as the page lists them."""


def synthetic() -> str:
    """What tables keep of Adult, with the standard deviation of their draws, and what they take."""
    stored = json.loads((ROOT / "benchmarks" / "dp.json").read_text(encoding="utf8"))
    header = ["table", "draws", "AUC", "one column", "two", "three", "CPU seconds", "MB"]
    ordered = sorted(stored, key=lambda row: (KEPT_ORDER.index(row["method"]), row.get("epsilon", 0.0)))
    return markdown(header, [_of_synthetic(row) for row in ordered])


def _of_synthetic(row: dict[str, Any]) -> list[str]:
    label = f"{row['method']}, k = {row['k']}" if "k" in row else bound(row) if "epsilon" in row else row["method"]
    figures = [_with_spread(row, figure) for figure in ("AUC", "TV1", "TV2", "TV3")]
    return [
        label,
        str(row.get("draws", "")),
        *figures,
        *(f"{row[name]:.0f}" if name in row else "" for name in ("CPU s", "peak MB")),
    ]


def _with_spread(row: dict[str, Any], figure: str) -> str:
    if figure not in row:
        return ""
    spread = f" ± {row[f'{figure} sd']:.4f}" if f"{figure} sd" in row else ""
    return f"{row[figure]:.4f}{spread}"


CHOOSING = {"choose": choices, "seconds": durations, "peers": peers}
"""The tables of choose.md."""


def main() -> None:
    """Writes every picture, and the tables."""
    parser = argparse.ArgumentParser(description="Draws the pictures of the documentation.")
    parser.add_argument("--stored", action="store_true", help="measure nothing")
    parser.add_argument("--missing", action="store_true", help="measure what has no figure yet")
    given = parser.parse_args()
    (HERE / "lattice.svg").write_text(draw(lattice()), encoding="utf8")
    for name, picture in tutorial().items():
        (HERE / name).write_text(picture, encoding="utf8")
    randomization_pages.write(measure=not given.stored)
    adult = (measured.DATA / "adult.csv").exists()
    if not adult:
        measured.tell("the Adult extract is not at hand: ncp.svg and time.svg are drawn from the stored figures")
    figures = measured.stored() if given.stored or not adult else measured.measure(given.missing)
    (HERE / "ncp.svg").write_text(loss(figures).svg(), encoding="utf8")
    (HERE / "time.svg").write_text(seconds(figures).svg(), encoding="utf8")
    (HERE / "attacked.svg").write_text(attacked(), encoding="utf8")
    (HERE / "k-or-epsilon.svg").write_text(k_or_epsilon(), encoding="utf8")
    fill(HERE / "k-or-epsilon.md", "bounds", bounds())
    fill(HERE / "synthetic.md", "synthetic", synthetic())
    fill(HERE / "local-recoding.md", "loss", table(figures))
    for name, made in CHOOSING.items():
        fill(HERE / "choose.md", name, made(figures))


if __name__ == "__main__":
    main()
