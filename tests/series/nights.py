"""A small table that changes from night to night, the commands that release it, and a check of its own: it reads the
released files, the links and the inputs, and shares nothing with the product but the format of the link."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anonymize.cli.exits import outcome
from anonymize.cli.main import run

QUASI = ("age", "sex", "city")
SPEC = """\
version: 1
identifiers: [name]
quasi_identifiers:
  age: {type: numeric, hierarchy: {intervals: [5, 20]}}
  sex: {}
  city: {hierarchy: {mask: right}}
sensitive: {disease: {}}
privacy: {k: 4, l: 2, suppression: 0.2}
series: {person: [name], wait: 0, reserve: 2}
"""
LITTLE = {name: ["--passes", "1", "--sweeps", "1"] for name in ("mondrian", "top-down")}
"""Who is shown together is searched with little effort: what a series promises holds whatever is lost."""
Person = tuple[str, int, str, str, str]


def somebody(number: int, draw: random.Random) -> Person:
    disease = draw.choice(("flu", "cold", "cough", "gout"))
    return (f"p{number}", draw.randint(18, 60), draw.choice("fm"), str(draw.randint(100, 140)), disease)


@dataclass
class Nights:
    """`people`: those of the table now. `made`: names of the releases so far."""

    folder: Path
    algorithm: str = "mondrian"
    spec: str = SPEC
    draw: random.Random = field(default_factory=lambda: random.Random(5))
    people: list[Person] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    born: int = 0

    def __post_init__(self) -> None:
        (self.folder / "spec.yaml").write_text(self.spec)
        if not (self.folder / "key").exists():
            run(["key", "make", str(self.folder / "key"), "-q"])

    def come(self, count: int) -> None:
        self.people += [somebody(number, self.draw) for number in range(self.born, self.born + count)]
        self.born += count

    def leave(self, count: int) -> None:
        for _ in range(count):
            self.people.pop(self.draw.randrange(len(self.people)))

    def release(self, *options: str, name: str | None = None, refused: int = 0) -> dict[str, Any]:
        """The report of the next release; of one that is refused with an exit code, nothing."""
        name = name or f"night{len(self.made)}"
        self.write(name)
        series = "--after" if self.made else "--start-series"
        code = outcome(lambda: run([*self.arguments(name, series), *options]))
        assert code == refused
        if code or "--dry-run" in options:
            return {}
        if name not in self.made:
            self.made.append(name)
        return dict(json.loads((self.folder / f"{name}.json").read_text()))

    def arguments(self, name: str, series: str) -> list[str]:
        here = self.folder
        files = ["-i", f"{here}/{name}.in.csv", "-o", f"{here}/{name}.csv", "-r", f"{here}/{name}.json"]
        files += ["--save-link", f"{here}/{name}.link.json", "--key", f"{here}/key", series, f"{here}/state"]
        return [self.algorithm, f"{here}/spec.yaml", *files, "-q", "--threads", "1", *LITTLE.get(self.algorithm, [])]

    def write(self, name: str) -> None:
        with (self.folder / f"{name}.in.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("name", *QUASI, "disease"), *self.people])

    def cells(self, name: str) -> dict[str, tuple[tuple[str, ...], str]]:
        """Of everybody in a release, the class and the disease that it shows."""
        rows = list(csv.DictReader((self.folder / f"{name}.csv").read_text().splitlines()))
        names = [row["name"] for row in csv.DictReader((self.folder / f"{name}.in.csv").read_text().splitlines())]
        link = json.loads((self.folder / f"{name}.link.json").read_text())["input_rows"]
        cells = [(tuple(row[each] for each in QUASI), row["disease"]) for row in rows]
        return {names[number - 1]: cell for number, cell in zip(link, cells, strict=True)}

    def check(self, k: int = 4, l: int = 2) -> int:  # noqa: E741
        """Everybody shares a history with k people, who have l diseases in every release so far; the smallest group."""
        releases, smallest = [self.cells(name) for name in self.made], 10**6
        for night in range(len(releases)):
            groups: dict[Any, list[str]] = defaultdict(list)
            for person in releases[night]:
                groups[tuple(each[person][0] if person in each else None for each in releases[: night + 1])].append(
                    person
                )
            for group in groups.values():
                assert len(group) >= k
                for each in releases[: night + 1]:
                    assert group[0] not in each or len({each[person][1] for person in group}) >= l
                smallest = min(smallest, len(group))
            assert all(cell != ("*",) * len(QUASI) for cell, _ in releases[night].values())
        return smallest
