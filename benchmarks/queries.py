"""COUNT queries on releases of Adult, as in the experiments of Xu et al., KDD 2006, and what a weight does for them.

    python benchmarks/queries.py            # measures, and writes benchmarks/queries.md; some minutes

Relative errors of random queries by the number of attributes that they restrict; then queries on age alone, with the
weight of age at 1 and at 8.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from runs import DATA, HERE, ROOT, TABLES, Section, Tables, environment, tell

METHODS = ("mondrian", "mondrian --cut widest", "top-down --no-refine", "bottom-up --no-refine")
"""A default of the toolkit; then what the paper compares its two methods with, and these, as they were published."""
K = "10"
WEIGHT = 8
RANDOM = ("--queries", "1000", "--query-seeds", "3")
ON_AGE = (*RANDOM, "--query-attributes", "age")


def run(*arguments: str) -> None:
    """A command, in a fresh process."""
    subprocess.run([sys.executable, "-m", "anonymize", *arguments], check=True, cwd=ROOT, env=environment())


def errors(spec: Path, method: str, *asked: Sequence[str]) -> list[dict[str, Any]]:
    """The block `query_error` of a release, for each list of options about queries."""
    with tempfile.TemporaryDirectory(dir=TABLES) as folder:
        released = f"{folder}/released.csv"
        name, *options = method.split()
        run(name, str(spec), "-k", K, *options, "-o", released, "-q")
        blocks: list[dict[str, Any]] = []
        for queries in asked:
            report = f"{folder}/{len(blocks)}.json"
            run("evaluate", str(spec), released, *queries, "-q", "-r", report)
            blocks.append(json.loads(Path(report).read_text(encoding="utf8"))["utility"]["query_error"])
        tell(f"{method}, {spec.stem}: {[block['mean'] for block in blocks]}")
        return blocks


def weighted(spec: Path) -> Path:
    """The spec with the weight of age at 8."""
    content = yaml.safe_load(spec.read_text(encoding="utf8"))
    content["quasi_identifiers"]["age"]["weight"] = WEIGHT
    path = spec.with_name(f"{spec.stem}-age.yaml")
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf8")
    return path


def sections(spec: Path) -> list[Section]:
    """Errors by dimension, and on age by its weight."""
    plain = {method: errors(spec, method, RANDOM, ON_AGE) for method in METHODS}
    heavy = {method: errors(weighted(spec), method, ON_AGE)[0] for method in METHODS}
    rows = []
    for method, (block, _) in plain.items():
        for size, each in ({"any": block} | block["by_dimension"]).items():
            quantiles = [f"{value:.4f}" for value in each["quantiles"].values()]
            counts = [str(each["queries"]), str(each["empty"])]
            rows.append((method, size, *counts, f"{each['median']:.4f}", f"{each['mean']:.4f}", *quantiles))
    names = ("5 %", "25 %", "75 %", "95 %")
    header = ("method", "attributes", "queries", "count is 0", "median", "mean", *names)
    of_age = [(method, *_on_age(blocks[1]), *_on_age(heavy[method])) for method, blocks in plain.items()]
    weights = [f"{figure}, weight {weight}" for weight in (1, WEIGHT) for figure in ("median", "mean")]
    return [
        Section("Relative error by the number of attributes", header, rows),
        Section(f"Queries on age: relative error, weight of age 1 and {WEIGHT}", ("method", *weights), of_age),
    ]


def _on_age(block: dict[str, Any]) -> tuple[str, str]:
    """Median and mean, as text."""
    return f"{block['median']:.4f}", f"{block['mean']:.4f} ± {block['over_seeds']['mean_sd']:.4f}"


def commands(spec: Path) -> list[str]:
    """What was run."""
    where = spec.relative_to(ROOT)
    heavy = weighted(spec).relative_to(ROOT)
    lines = ["```sh"]
    for method in METHODS:
        name, *options = method.split()
        lines.append(f"anonymize {' '.join((name, str(where), '-k', K, *options))} -o released.csv")
    lines.append(f"anonymize evaluate {where} released.csv {' '.join(RANDOM)}")
    lines.append(f"anonymize evaluate {where} released.csv {' '.join(ON_AGE)}")
    lines.append(f"anonymize evaluate {heavy} released.csv {' '.join(ON_AGE)}   # of a release made with {heavy}")
    return [*lines, "```", ""]


def main() -> None:
    """Measures, and writes the page."""
    TABLES.mkdir(exist_ok=True)
    tables = Tables(DATA if DATA.is_dir() else None)
    spec = tables.adult()
    head = [
        "# COUNT queries",
        "",
        f"{tables.adult_name}, 8 quasi-identifiers, k = {K}. Made by [queries.py](queries.py), which runs these",
        "commands.",
        "The text of the paper that the project has ends before its experiments, so its figures cannot be set beside",
        "these; what it claims, that a weight on an attribute makes queries on it more accurate, can.",
        "",
    ]
    text = "\n".join([*head, *commands(spec), *(section.markdown() for section in sections(spec))])
    (HERE / "queries.md").write_text(text, encoding="utf8")


if __name__ == "__main__":
    main()
