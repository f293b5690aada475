"""People and a release of them that any version of Python draws alike: what outside tools and this one are tried on.

    python tests/oracles/people.py > tests/oracles/anonymeter.json

with Anonymeter, which needs another numpy than this project, in an environment of its own, makes the figures of
`anonymeter.json`: of the release with every interval replaced by its middle, as Anonymeter reads synthetic rows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

COUNT = 600
COLUMNS = ("age", "income", "weight", "height")
Person = tuple[float, ...]
COUNTS = ((500, 120, 60), (500, 60, 120), (40, 40, 0), (2000, 300, 290), (100, 0, 0))
"""Attacks, successes, and successes on the control, of which the risk is compared."""


def people(seed: int) -> tuple[list[Person], list[str]]:
    """Four numbers of each, and a secret that follows from the age for most."""
    draw = random.Random(seed)
    rows, secrets = [], []
    for _ in range(COUNT):
        age = draw.randrange(20, 80)
        rows.append((float(age), *(float(draw.randrange(1000, 9999)) for _ in COLUMNS[1:])))
        secrets.append("abc"[(age // 20 - 1) if draw.random() < 0.7 else draw.randrange(3)])
    return rows, secrets


def classes(rows: Sequence[Person], size: int) -> list[int]:
    """The class of each: so many at a time by age."""
    order = sorted(range(len(rows)), key=lambda each: rows[each])
    return [place // size for _, place in sorted((each, place) for place, each in enumerate(order))]


def spans(rows: Sequence[Person], of: Sequence[int]) -> list[list[tuple[float, float]]]:
    """What each row shows: the interval of its class, in every column."""
    members: dict[int, list[Person]] = {}
    for row, each in zip(rows, of, strict=True):
        members.setdefault(each, []).append(row)
    ends = {each: [(min(c), max(c)) for c in zip(*held, strict=True)] for each, held in members.items()}
    return [ends[each] for each in of]


def _figures() -> dict[str, object]:
    import pandas as pd
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator
    from anonymeter.stats.confidence import EvaluationResults

    tables = []
    for seed in (0, 1):
        rows, secrets = people(seed)
        tables.append(pd.DataFrame(rows, columns=list(COLUMNS)).assign(secret=secrets))
    own, others = tables
    figures: dict[str, object] = {"risks": []}
    for attacks, successes, control in COUNTS:
        risk = EvaluationResults(attacks, successes, successes, control).risk()
        figures["risks"].append([risk.value, *risk.ci])  # type: ignore[attr-defined]
    rows = list(own[list(COLUMNS)].itertuples(index=False, name=None))
    for size in (1, 5, 50):
        middles = [[(low + high) / 2 for low, high in each] for each in spans(rows, classes(rows, size))]
        released = pd.DataFrame(middles, columns=list(COLUMNS)).assign(secret=own["secret"])
        inference = InferenceEvaluator(
            own, released, aux_cols=["age"], secret="secret", n_attacks=COUNT, control=others
        )
        halves = (list(COLUMNS[::2]), list(COLUMNS[1::2]))
        linkability = LinkabilityEvaluator(own, released, aux_cols=halves, n_attacks=COUNT, control=others)
        for name, evaluator in (("inference", inference), ("linkability", linkability)):
            result = evaluator.evaluate(n_jobs=1).results()
            rates = {"rate": result.attack_rate.value, "control": result.control_rate.value}
            figures[f"{name}, classes of {size}"] = rates
    return figures


if __name__ == "__main__":
    print(json.dumps(_figures(), indent=1, sort_keys=True))
