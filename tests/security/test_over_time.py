"""Somebody who has every release of a series, and is told which rows belong together."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run

SPEC = """\
version: 1
unit: id
quasi_identifiers: {age: {type: numeric}, zip: {type: numeric}}
sensitive: {ill: {}}
privacy: {k: 3, l: 2}
"""
NIGHTS = 3
Chains = dict[str, list[tuple[str, str, str] | None]]
"""Of everybody the row of each release."""


def person(draw: random.Random, name: str, ill: str | None = None) -> str:
    return f"{name},{draw.randrange(20, 80)},{draw.randrange(1000, 9999)},{ill or draw.choice(['flu', 'gout'])}"


def chains(folder: Path) -> Chains:
    """Of everybody the row of each release, by the links: what the attacker is told."""
    told_rows: Chains = defaultdict(lambda: [None] * NIGHTS)
    for night in range(NIGHTS):
        people = [line.split(",")[0] for line in (folder / f"in{night}.csv").read_text().splitlines()[1:]]
        rows = list(csv.reader((folder / f"out{night}.csv").read_text().splitlines()))[1:]
        link = json.loads((folder / f"l{night}.json").read_text())["input_rows"]
        for number, (age, code, ill) in zip(link, rows, strict=True):
            told_rows[people[number - 1]][night] = (age, code, ill)
    return told_rows


@pytest.fixture(scope="module")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Chains:
    """Sixty people; a tenth leaves and moves every night, and others come."""
    folder, draw = tmp_path_factory.mktemp("nights"), random.Random(3)
    (folder / "spec.yaml").write_text(SPEC)
    here = str(folder) + "/"
    assert outcome(lambda: run(["key", "make", f"{here}key.json", "-q"])) == 0
    rows = [person(draw, f"p{number}") for number in range(60)]
    for night in range(NIGHTS):
        (folder / f"in{night}.csv").write_text("\n".join(["id,age,zip,ill", *rows]) + "\n")
        start = "--start-series" if night == 0 else "--after"
        files = [f"{here}spec.yaml", "-i", f"{here}in{night}.csv", "-o", f"{here}out{night}.csv"]
        own = [start, f"{here}state", "--key", f"{here}key.json", "--save-link", f"{here}l{night}.json", "-q"]
        assert outcome(lambda: run(["mondrian", *files, *own])) == 0  # noqa: B023
        rows = [row for row in rows if draw.random() < 0.95]
        rows = [person(draw, *row.split(",")[::3]) if draw.random() < 0.05 else row for row in rows]
        rows += [person(draw, f"n{night}.{number}") for number in range(6)]
    return chains(folder)


@pytest.mark.parametrize("night", range(NIGHTS))
def test_nobody_has_fewer_than_k_of_one_history_and_no_history_one_value(everybody: Chains, night: int) -> None:
    alike = defaultdict(list)
    for rows in everybody.values():
        if rows[night] is not None:
            alike[tuple(row and row[:2] for row in rows[: night + 1])].append(rows)
    assert alike and min(map(len, alike.values())) >= 3
    for history, group in alike.items():
        for release, region in enumerate(history):
            assert region is None or len({row[2] for rows in group if (row := rows[release])}) >= 2


def test_somebody_stays_and_somebody_leaves(everybody: Chains) -> None:
    stays = [all(rows) for rows in everybody.values()]
    assert 10 < sum(stays) < len(stays)
