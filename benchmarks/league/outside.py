"""Losses from the text of a release with `edges: tight`: nothing of the program is used.

python benchmarks/league/outside.py spec.yaml original.csv released.csv
"""

import csv
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

Rows = list[dict[str, str]]


def rows(path: str | Path, separator: str) -> Rows:
    with Path(path).open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file, delimiter=separator))


def losses(spec_path: str | Path, original: str | Path, released: str | Path) -> dict[str, float]:
    """Of each quasi-identifier the mean loss of a cell; a row that was left out is lost."""
    spec = yaml.safe_load(Path(spec_path).read_text(encoding="utf8"))
    given = spec.get("input", {})
    missing, separator = set(given.get("missing", [""])), given.get("separator", ",")
    before, after = rows(original, separator), rows(released, separator)
    found = {}
    for name, about in spec["quasi_identifiers"].items():
        shown = Counter(row[name] for row in after)
        if about.get("type") == "numeric":
            cost = numeric(Counter(row[name] for row in before), missing)
        else:
            cost = categorical(about.get("hierarchy"))
        lost = len(before) - len(after) + sum(count * cost(text) for text, count in shown.items())
        found[name] = lost / len(before)
    return found


def numeric(values: Mapping[str, int], missing: set[str]) -> Callable[[str], float]:
    """The cost of a text: the width of its interval over the range, and a leaf's share if it may be missing as well."""
    numbers = {float(text) for text in values if text not in missing}
    leaves, span = len(numbers) + any(text in missing for text in values), max(numbers) - min(numbers)

    def cost(text: str) -> float:
        first, _, either = text.partition(" or ")
        interval = re.fullmatch(r"\[(.+?)-(-?[^-]+)\]", first)
        width = float(interval[2]) - float(interval[1]) if interval else 0.0
        return 1.0 if first == "*" else min(width / (span or 1) + bool(either) / leaves, 1.0)

    return cost


def categorical(hierarchy: str | None) -> Callable[[str], float]:
    """The cost of a text: nothing as it is, else the leaves under it over all leaves."""
    lines = [] if hierarchy is None else Path(hierarchy).read_text(encoding="utf8").splitlines()
    paths = [line.split(";") for line in lines]
    under = Counter(label for path in paths for label in set(path[1:]) - {path[0]})
    return lambda text: 1.0 if text == "*" else under[text] / max(len(paths), 1)


def gcp(spec_path: str | Path, original: str | Path, released: str | Path) -> float:
    return mean(losses(spec_path, original, released))


def mean(found: Mapping[str, float]) -> float:
    return sum(found.values()) / len(found)


def weighted(spec_path: str | Path, found: Mapping[str, float]) -> float:
    """The mean of such losses, each by its weight in the spec."""
    spec = yaml.safe_load(Path(spec_path).read_text(encoding="utf8"))
    weights = {name: about.get("weight", 1) for name, about in spec["quasi_identifiers"].items()}
    return float(sum(weights[name] * lost for name, lost in found.items()) / sum(weights.values()))


if __name__ == "__main__":
    print(repr(gcp(*sys.argv[1:4])))
