"""gcp from the text of a release with `edges: tight` and flat hierarchies alone: nothing of the program is used.

python benchmarks/league/outside.py spec.yaml original.csv released.csv
"""

import csv
import re
import sys
from pathlib import Path

import yaml


def rows(path: str | Path) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file))


def gcp(spec_path: str | Path, original: str | Path, released: str | Path) -> float:
    spec = yaml.safe_load(Path(spec_path).read_text(encoding="utf8"))
    missing = set(spec.get("input", {}).get("missing", [""]))
    before, after = rows(original), rows(released)
    lost: float = (len(before) - len(after)) * len(spec["quasi_identifiers"])  # rows that were left out
    for name, about in spec["quasi_identifiers"].items():
        if about.get("type") != "numeric":  # a category costs nothing as it is, and everything as *
            lost += sum(row[name] == "*" for row in after)
            continue
        values = {float(row[name]) for row in before if row[name] not in missing}
        leaves, span = len(values) + any(row[name] in missing for row in before), max(values) - min(values)
        for row in after:
            text, _, either = row[name].partition(" or ")
            interval = re.fullmatch(r"\[(.+?)-(-?[^-]+)\]", text)
            width = float(interval[2]) - float(interval[1]) if interval else 0.0
            lost += 1.0 if text == "*" else min(width / (span or 1) + bool(either) / leaves, 1.0)
    return lost / (len(before) * len(spec["quasi_identifiers"]))


if __name__ == "__main__":
    print(repr(gcp(*sys.argv[1:4])))
