"""The release that ARX makes of a case, as text, and what `anonymize audit` says of it.

ARX publishes every row with the labels of its node; rows of the classes that fail its own checks, made of the classes
that have rows alone, read `*`. Which ones fail is computed here by the definitions, not by the toolkit.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from anonymize.cli.main import cli
from anonymize.errors import AnonymizeError
from tests.oracles.arx import DATA, header, lines, members_of, spec

Shown = tuple[str, ...]
Rows = Sequence[Sequence[str]]
Fails = Callable[[Shown, Rows], bool]


def labels(name: str, level: int) -> dict[str, str]:
    """What each value of a column reads at a level."""
    with open(DATA / f"adult_hierarchy_{name}.csv", encoding="utf-8") as file:
        return {values[0]: values[level] for values in csv.reader(file, delimiter=";")}


def generalized(case: dict[str, Any], rows: Rows) -> list[Shown]:
    """The quasi-identifiers of each row at ARX's node."""
    of = [
        (header().index(name), labels(name, level))
        for name, level in zip(case["qi_order"], case["expected_transformation"], strict=True)
    ]
    return [tuple(label[row[place]] for place, label in of) for row in rows]


def failing(case: dict[str, Any]) -> set[Shown] | None:
    """The classes that ARX suppresses; None where they are not known."""
    rows = [line.split(";") for line in lines(members_of(case))]
    of_class: dict[Shown, list[list[str]]] = defaultdict(list)
    for shown, row in zip(generalized(case, rows), rows, strict=True):
        of_class[shown].append(row)
    checks = [check(case, model, rows) for model in case["models"]]
    if None in checks:
        return None
    return {shown for shown, own in of_class.items() if any(fails(shown, own) for fails in checks if fails)}


def check(case: dict[str, Any], model: dict[str, Any], rows: Rows) -> Fails | None:
    """Whether a class fails a model."""
    match model["model"]:
        case "KAnonymity":
            return lambda shown, own: len(own) < model["k"]
        case "DPresence":
            people = Counter(generalized(case, [line.split(";") for line in lines(None)]))
            return lambda shown, own: not model["delta_min"] <= len(own) / people[shown] <= model["delta_max"]
        case "RecursiveCLDiversity":
            column = header().index(model["attribute"])
            return lambda shown, own: not recursive([row[column] for row in own], model["c"], model["l"])
        case "HierarchicalDistanceTCloseness":
            place = header().index(model["attribute"])
            paths = tree(model["hierarchy_file"])
            return lambda shown, own: (
                distance(paths, [row[place] for row in own], [row[place] for row in rows]) > model["t"]
            )
    return None


def recursive(values: Sequence[str], c: float, least: int) -> bool:
    """Machanavajjhala et al. 2007: the most frequent value has fewer rows than c times those from the l-th on."""
    counts = sorted(Counter(values).values(), reverse=True)
    return counts[0] < c * sum(counts[int(least) - 1 :])


def tree(name: str) -> dict[str, list[str]]:
    """The path of each value to the root."""
    with open(DATA / name, encoding="utf-8") as file:
        return {values[0]: values for values in csv.reader(file, delimiter=";")}


def distance(paths: dict[str, list[str]], own: Sequence[str], whole: Sequence[str]) -> float:
    """Li, Li and Venkatasubramanian 2007: what has to be moved between the children of each node, times its height as a
    share of the whole tree's."""
    height = len(next(iter(paths.values()))) - 1
    ours, theirs = Counter(own), Counter(whole)
    extra = {(0, value): ours[value] / len(own) - theirs[value] / len(whole) for value in paths}
    total = 0.0
    for level in range(1, height + 1):
        parts: dict[tuple[int, str], list[float]] = defaultdict(list)
        for value in {path[level - 1]: path[level] for path in paths.values()}.items():
            parts[level, value[1]].append(extra[level - 1, value[0]])
        for node, each in parts.items():
            given, wanted = sum(part for part in each if part > 0), -sum(part for part in each if part < 0)
            total += level / height * min(given, wanted)
            extra[node] = sum(each)
    return total


def write(case: dict[str, Any], path: Path) -> int | None:
    """Writes the release; how many rows are suppressed, None where that is not known."""
    lost = failing(case)
    if lost is None:
        return None
    rows = [line.split(";") for line in lines(members_of(case))]
    places = [header().index(name) for name in case["qi_order"]]
    suppressed = 0
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(header())
        for shown, row in zip(generalized(case, rows), rows, strict=True):
            suppressed += shown in lost
            for place, text in zip(places, ["*"] * len(shown) if shown in lost else shown, strict=True):
                row[place] = text
            writer.writerow(row)
    return suppressed


def audited(case: dict[str, Any], folder: Path) -> str | None:
    """What `audit` says of the release, in a few words."""
    release, path, report = folder / "theirs.csv", folder / "audit.yaml", folder / "audit.json"
    suppressed = write(case, release)
    if suppressed is None:
        return None
    path.write_text(json.dumps(spec(case, folder, 1.0)), encoding="utf-8")
    command = ["audit", str(path), "-i", str(release), "-r", str(report), "-q"]
    result = CliRunner().invoke(cli, command)
    code = result.exception.exit_code if isinstance(result.exception, AnonymizeError) else result.exit_code
    rows = f"{suppressed} rows suppressed"
    if code == 0:
        return f"audit accepts ARX's release, {rows}"
    return f"audit of ARX's release ({rows}): exit code {code}{failures(report)}"


def failures(report: Path) -> str:
    """The models that the report says are not met, with what is achieved."""
    if not report.is_file():
        return ""
    results = json.loads(report.read_text(encoding="utf-8"))["privacy"]["models"]
    return "".join(f"; {each['model']}: {each['achieved']}" for each in results if not each["satisfied"])
