"""Cuts for a workload against the median: CPU seconds of the search alone, side by side in one process.

`widest`, the textbook rule of medians, is the yardstick; every other rule takes turns with it on the same table, in one
thread, and the best time of each counts. The workload: the salary class for `infogain`, the income for `lsd`, both for
`mixed`, twenty random selections for `selection`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from anonymize import privacy, spec
from anonymize.algorithms import Context, mondrian
from anonymize.table import Source, Table, read

YARDSTICK = "widest"
RULES = ("infogain", "lsd", "mixed", "selection")
SELECTIONS = 20
HEADER = ("rule", "search, CPU s", "the median's, CPU s", "ratio", "classes")


def rows(base: Path, runs: int) -> Iterator[tuple[str, ...]]:
    """A line of figures for each rule; `base` is a spec without a workload, whose table has the columns named above."""
    values = yaml.safe_load(base.read_text(encoding="utf8"))
    for rule in RULES:
        path = base.with_name(f"workload-{rule}.yaml")
        path.write_text(yaml.safe_dump(with_workload(values, rule), sort_keys=False), encoding="utf8")
        loaded = spec.load(path, privacy.PARAMETERS)
        with Source.open(loaded, None) as source:
            table = read(loaded, source, workload=True)
        pairs = [(seconds(table, loaded, YARDSTICK), seconds(table, loaded, rule)) for _ in range(runs)]
        median, its = min(pair[0][0] for pair in pairs), min(pair[1][0] for pair in pairs)
        yield f"`--cut {rule}`", f"{its:.2f}", f"{median:.2f}", f"{its / median:.1f}", f"{pairs[0][1][1]:,}"


def seconds(table: Table, loaded: spec.Spec, rule: str) -> tuple[float, int]:
    """CPU seconds of one search, and the classes found."""
    requirements = privacy.requirements(loaded)
    begin = time.process_time()
    found = mondrian.run(table, requirements, mondrian.Options(cut=rule), Context())
    return time.process_time() - begin, found.partition.count


def with_workload(values: dict[str, Any], rule: str) -> dict[str, Any]:
    """The spec with what a rule is for; a target that passes through stays among the insensitive columns."""
    label, number = "salary-class", {"income": {"type": "numeric"}}
    targets: dict[str, Sequence[Any]] = {"infogain": [label], "lsd": [number], "mixed": [label, number]}
    workload = {"targets": targets[rule]} if rule in targets else {"selections": list(selections())}
    return values | {"workload": workload}


def selections() -> Iterator[dict[str, Any]]:
    """Selections of two conditions each, the same every time."""
    rng = random.Random(1)
    for _ in range(SELECTIONS):
        age, zipcode, income = rng.randint(17, 70), rng.randint(0, 80_000), rng.randint(0, 80_000)
        conditions = {
            "age": {"from": age, "to": age + rng.randint(5, 25)},
            "zipcode": {"from": zipcode, "to": zipcode + 20_000},
            "income": {"from": income, "to": income + 30_000},
            "sex": {"in": [rng.choice(["Male", "Female"])]},
            "race": {"in": [rng.choice(["White", "Black"])]},
        }
        yield {name: conditions[name] for name in rng.sample(sorted(conditions), 2)}
