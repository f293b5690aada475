"""K-Optimize on Adult: cost, proved bound, gap and time by k, both costs, with and without suppression.

What Bayardo and Agrawal (ICDE 2005) measure, as far as public data allow: eight quasi-identifiers of the 30,162 rows
without missing values and the splits that their values make. Suppression without a limit is their setting. Nodes end a
search, not seconds, so that the costs and bounds are the same on every machine; the seconds are of the processor, in
one process. The paper has charts, of another extract of the census with its own order of the categories: no numbers of
theirs stand beside these.

With `--files` the order of the categories is that of other hierarchies: `adult_hierarchy_NAME.csv` of that folder.
The order decides what a set of splits can part, so that costs of two orders are those of two problems.

    python benchmarks/k_optimize.py --data FOLDER --nodes 4000 > benchmarks/k_optimize.md
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from anonymize import privacy, spec
from anonymize.algorithms import Context, k_optimize
from anonymize.privacy import k_anonymity
from anonymize.table import Source, Table, read

HOME = Path(__file__).resolve().parent.parent
SIZES = (1000, 500, 250, 100, 50, 25, 10, 5)
HEADER = ("cost of", "level", "suppression", "k", "cost", "lower bound", "gap", "proved", "nodes", "CPU s")


def rows(data: Path, options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """A line of figures for each search."""
    table = adult(data, options.files)
    for kind in options.cost:
        for level in options.level:
            for share in options.suppression:
                for k in options.k:
                    chosen = k_optimize.Options(cost=kind, level=level, nodes=options.nodes)
                    yield kind, str(level), f"{share:g}", str(k), *figures(table, k, share, chosen)


def figures(table: Table, k: int, share: float, options: k_optimize.Options) -> tuple[str, ...]:
    """What one search finds."""
    requirements = (privacy.Requirement("k-anonymity", None, k_anonymity.Parameters(k=k), None),)
    begin = time.process_time()
    found = k_optimize.run(table, requirements, options, Context(int(share * table.rows))).summary()
    seconds = time.process_time() - begin
    numbers = (f"{found['cost']:,}", f"{found['lower_bound']:,}", f"{found['gap']:.1%}")
    return *numbers, "yes" if found["optimal"] else "no", f"{found['nodes']:,}", f"{seconds:.1f}"


def adult(data: Path, files: Path | None = None) -> Table:
    """The eight quasi-identifiers, with the salary class as the target; `files`: a folder of other hierarchies."""
    values: dict[str, Any] = yaml.safe_load((HOME / "configs" / "adult.yaml").read_text(encoding="utf8"))
    for name, each in values["quasi_identifiers"].items():
        if files:
            each["hierarchy"] = str((files / f"adult_hierarchy_{name}.csv").resolve())
        elif isinstance(each["hierarchy"], str):
            each["hierarchy"] = str(HOME / "configs" / each["hierarchy"])
    values["input"]["path"] = str(data / "adult.csv")
    values["workload"] = {"targets": ["salary-class"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.yaml"
        path.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf8")
        loaded = spec.load(path, privacy.PARAMETERS)
        with Source.open(loaded, None) as source:
            return read(loaded, source, workload=True)


def main() -> None:
    """Prints a Markdown table, line by line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, required=True, help="a folder with adult.csv")
    parser.add_argument("--files", type=Path, help="a folder with adult_hierarchy_NAME.csv, in place of the project's")
    parser.add_argument("--nodes", type=int, default=4000)
    parser.add_argument("--k", type=int, nargs="*", default=SIZES)
    parser.add_argument("--level", type=int, nargs="*", default=(2, 1, 0))
    parser.add_argument("--suppression", type=float, nargs="*", default=(0.0, 1.0))
    parser.add_argument("--cost", nargs="*", default=("discernibility", "classification"))
    options = parser.parse_args()
    print("|", " | ".join(HEADER), "|\n|" + "---|" * len(HEADER))
    for line in rows(options.data, options):
        print("|", " | ".join(line), "|", flush=True)


if __name__ == "__main__":
    main()
