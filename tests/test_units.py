"""Several rows of one person count as one: in the search, in the check of a release, in an audit."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.algorithms import ALGORITHMS
from anonymize.classes import first_of_each
from anonymize.judging import Judge
from anonymize.privacy import Histogram, Whole
from anonymize.table import SensitiveColumn
from anonymize.verify import Check, measure
from tests.algorithms.tables import requirement, table_of
from tests.cli.conftest import Call, Desk, call, desk
from tests.common.budgets import limits_of
from tests.examples import first

__all__ = ["call", "desk"]

SPEC = """\
version: 1
input: {{path: table.csv}}
unit: person
quasi_identifiers:
  age: {{type: numeric, hierarchy: {{intervals: [2, 4]}}}}
  town: {{}}
sensitive:
  illness: {{}}
insensitive: [row]
privacy: {privacy}
output: {output}
"""
HEADER = ["person", "age", "town", "illness", "row"]
Rows = list[list[str]]


def table(seed: int, rows: int = 120, people: int = 30) -> Rows:
    """Visits: some people have one, some have many."""
    chance = random.Random(seed)
    found = []
    for row in range(rows):
        person = int(people * chance.random() ** 2)
        town = "abc"[person % 3]
        found.append([f"p{person}", str(20 + person % 7 + chance.randint(0, 1)), town, chance.choice("xyzw"), str(row)])
    return found


def write(folder: Path, rows: Rows, privacy: str, output: str = "{}") -> None:
    with (folder / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    (folder / "spec.yaml").write_text(SPEC.format(privacy=privacy, output=output))


def classes(released: Path, rows: Rows) -> list[list[list[str]]]:
    """The original rows of each class of a release, which the column `row` leads to."""
    with released.open(newline="") as file:
        header, *shown = csv.reader(file)
    assert header == ["age", "town", "illness", "row"]
    found: dict[tuple[str, ...], Rows] = defaultdict(list)
    for age, town, illness, row in shown:
        assert illness == rows[int(row)][3]
        found[age, town].append(rows[int(row)])
    return list(found.values())


def persons(members: Rows) -> set[str]:
    return {member[0] for member in members}


def counted(members: Rows) -> dict[str, int]:
    """How many persons have each illness."""
    pairs = {(member[0], member[3]) for member in members}
    return {illness: sum(each == illness for _, each in pairs) for illness in sorted({each for _, each in pairs})}


def distance(members: Rows, everybody: Rows) -> Fraction:
    """The earth mover's distance of equally far values."""
    mine, all_ = counted(members), counted(everybody)
    far = (
        Fraction(mine.get(each, 0), sum(mine.values())) - Fraction(n, sum(all_.values())) for each, n in all_.items()
    )
    return sum(map(abs, far), Fraction(0)) / 2


# --- releases --------------------------------------------------------------------------------------------------------


NEEDING = {name: each.NEEDS for name, each in ALGORITHMS.items()}
COUNTING = [name for name, each in NEEDING.items() if each.units and each.guarantees and not each.domains]


def with_target(folder: Path, algorithm: str) -> None:
    """The spec with a target where the algorithm needs one."""
    if ALGORITHMS[algorithm].NEEDS.target:
        text = (folder / "spec.yaml").read_text()
        (folder / "spec.yaml").write_text(text.replace("insensitive: [row]", "workload: {targets: [row]}"))


OUTPUTS = ["{}", "{row_order: shuffle, suppressed_rows: drop}"]


@pytest.mark.parametrize(
    ("algorithm", "output"), [(name, OUTPUTS[place % 2]) for place, name in enumerate(COUNTING)], ids=COUNTING
)
@pytest.mark.parametrize("seed", first(range(3), 1))
def test_every_class_of_a_release_has_k_persons(desk: Desk, call: Call, algorithm: str, seed: int, output: str) -> None:
    rows = table(seed)
    models = "[{model: frequency-l-diversity, l: 1.6}, {model: t-closeness, t: 0.4}]"
    write(desk.folder, rows, f"{{k: 4, l: 2, suppression: 0.1, models: {models}}}", output)
    with_target(desk.folder, algorithm)
    assert call(algorithm, "spec.yaml", *limits_of(algorithm), "-o", "out.csv", "-r", "r.json").code == 0
    found = classes(desk.folder / "out.csv", rows)
    shown = [row for members in found for row in members]
    report = json.loads((desk.folder / "r.json").read_text())
    assert len(found) > 1 and all(len(persons(members)) >= 4 for members in found)
    reached: dict[str, float | Fraction] = {
        "k": min(len(persons(members)) for members in found),
        "l": min(len(counted(members)) for members in found),
        "most": min(Fraction(sum(counted(m).values()), max(counted(m).values())) for m in found),
        "t": max(distance(members, shown) for members in found),
    }
    assert reached["l"] >= 2 and reached["most"] >= Fraction("1.6") and reached["t"] <= Fraction("0.4")
    achieved = [next(iter(model["achieved"].values())) for model in report["privacy"]["models"]]
    assert achieved == pytest.approx([float(figure) for figure in reached.values()])


@pytest.mark.parametrize("algorithm", COUNTING)
def test_rows_are_not_enough(desk: Desk, call: Call, algorithm: str) -> None:
    """Six rows of two persons are no class for k = 3, though they are for whoever counts rows."""
    rows = [["p1", "1", "a", "x", str(n)] for n in range(5)] + [["p2", "1", "a", "x", "5"]]
    rows += [[f"p{n}", "9", "b", "x", str(n + 3)] for n in range(3, 6)]
    write(desk.folder, rows, "{k: 3}")
    with_target(desk.folder, algorithm)
    assert call(algorithm, "spec.yaml", *limits_of(algorithm), "-o", "out.csv").code == 0
    assert len(classes(desk.folder / "out.csv", rows)) == 1
    text = (desk.folder / "spec.yaml").read_text()
    (desk.folder / "spec.yaml").write_text(text.replace("unit: person", "identifiers: [person]"))
    assert call(algorithm, "spec.yaml", *limits_of(algorithm), "-o", "out.csv", "--force").code == 0
    assert len(classes(desk.folder / "out.csv", rows)) == 2


@pytest.mark.parametrize("algorithm", COUNTING)
def test_more_persons_than_there_are_cannot_be_had(desk: Desk, call: Call, algorithm: str) -> None:
    write(desk.folder, table(1, people=5), "{k: 6}")
    with_target(desk.folder, algorithm)
    ended = call(algorithm, "spec.yaml", *limits_of(algorithm), "-o", "out.csv")
    assert ended.code == 4 and "k=5" in ended.err


@pytest.mark.parametrize("algorithm", COUNTING)
def test_one_row_a_person_changes_nothing(desk: Desk, call: Call, algorithm: str) -> None:
    cut = ["--cut", "rate"] if algorithm == "mondrian" else limits_of(algorithm)
    rows = [[f"p{number}", *row[1:]] for number, row in enumerate(table(3))]
    write(desk.folder, rows, "{k: 4, l: 2}")
    with_target(desk.folder, algorithm)
    assert call(algorithm, "spec.yaml", *cut, "-o", "out.csv").code == 0
    text = (desk.folder / "spec.yaml").read_text()
    (desk.folder / "spec.yaml").write_text(text.replace("unit: person", "identifiers: [person]"))
    assert call(algorithm, "spec.yaml", *cut, "-o", "plain.csv").code == 0
    assert (desk.folder / "out.csv").read_bytes() == (desk.folder / "plain.csv").read_bytes()


@pytest.mark.parametrize("algorithm", ["anatomy", "randomize"])
def test_an_algorithm_that_counts_rows_refuses(desk: Desk, call: Call, algorithm: str) -> None:
    write(desk.folder, table(1), "{k: 2}")
    ended = call(algorithm, "spec.yaml", *limits_of(algorithm), "-o", "out.csv")
    assert ended.code == 2 and "spec.yaml:3" in ended.err and "mondrian" in ended.err
    assert not (desk.folder / "out.csv").exists()


def test_a_row_that_is_about_nobody_is_refused(desk: Desk, call: Call) -> None:
    write(desk.folder, [["", "1", "a", "x", "0"], ["p", "1", "a", "x", "1"]], "{k: 1}")
    ended = call("mondrian", "spec.yaml", "-o", "out.csv")
    assert ended.code == 3 and "'person' is missing" in ended.err


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("insensitive: [row]", "insensitive: [row, person]"),
        ("insensitive: [row]", "insensitive: [row]\nidentifiers: [person]"),
        ("unit: person", "unit: [person]"),
    ],
    ids=["two-roles", "identifier", "a-list"],
)
def test_a_spec_that_makes_no_sense(desk: Desk, call: Call, old: str, new: str) -> None:
    write(desk.folder, table(1), "{k: 2}")
    text = (desk.folder / "spec.yaml").read_text()
    (desk.folder / "spec.yaml").write_text(text.replace(old, new))
    assert text != (desk.folder / "spec.yaml").read_text()
    ended = call("validate", "spec.yaml")
    assert ended.code == 2 and "unit" in ended.err


# --- audits ----------------------------------------------------------------------------------------------------------


def test_an_audit_of_a_release_wants_to_know_whom_rows_are_about(desk: Desk, call: Call) -> None:
    write(desk.folder, table(2), "{k: 4, l: 2}")
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "r.json", "--save-link", "l.csv").code == 0
    ended = call("audit", "spec.yaml", "-i", "out.csv")
    assert ended.code == 2 and "--unit-from" in ended.err
    ended = call("audit", "spec.yaml", "-i", "out.csv", "--unit-from", "table.csv")
    assert ended.code == 2 and "give --link" in ended.err
    original = ("--unit-from", "table.csv", "--link", "l.csv")
    ended = call("audit", "spec.yaml", "-i", "out.csv", *original, "--json")
    released = json.loads((desk.folder / "r.json").read_text())
    found = json.loads(ended.out)["privacy"]
    assert ended.code == 0 and found.pop("order")["sorted"] is True
    assert found == released["privacy"]
    risks = [each["risk"] for each in (released, json.loads(ended.out))]
    assert risks[0]["household"] == risks[1]["household"] and risks[0]["counts"] == risks[1]["counts"] == "individuals"
    assert call("audit", "spec.yaml", "-i", "out.csv", *original, "-k", 9).code == 1
    (desk.folder / "kept.yaml").write_text(SPEC.format(privacy="{k: 2}", output="{row_order: keep}"))
    for spec, more, joined in (("spec.yaml", (), "classes"), ("kept.yaml", ("--by-position",), "position")):
        ended = call("audit", spec, "-i", "out.csv", *original, "--previous", "out.csv", *more, "--json")
        assert json.loads(ended.out)["previous"]["joined_by"] == joined


def test_an_audit_without_a_spec(desk: Desk, call: Call) -> None:
    write(desk.folder, [["p", "1", "a", "x", "0"], ["p", "1", "a", "y", "1"], ["q", "1", "a", "x", "2"]], "{k: 2}")
    columns = ("-i", "table.csv", "--qi", "age,town", "--sensitive", "illness", "--json")
    plain, whom = (json.loads(call("audit", *columns, *more).out) for more in ((), ("--unit", "person")))
    assert [each["privacy"]["models"][0]["achieved"] for each in (plain, whom)] == [{"k": 3}, {"k": 2}]
    # x is had by two persons and y by one
    assert whom["privacy"]["models"][3]["achieved"] == {"l": 1.5} == plain["privacy"]["models"][3]["achieved"]
    assert whom["risk"]["prosecutor_max"] == 0.5 and whom["input"]["rows"] == 3


def test_a_table_that_shows_the_unit_is_not_safe(desk: Desk, call: Call) -> None:
    write(desk.folder, table(2), "{k: 1}")
    ended = call("audit", "spec.yaml")
    assert ended.code == 1 and "person is a direct identifier" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["spec.yaml", "--unit", "person"], 2, "--unit: cannot be given together with a spec"),
        (["kept.yaml", "-i", "out.csv", "--unit-from", "short.csv"], 3, "rows cannot be matched"),
        (["kept.yaml", "-i", "out.csv", "--unit-from", "out.csv"], 3, "has no column person"),
        (["spec.yaml", "-i", "out.csv", "--unit-from", "table.csv"], 2, "give --link"),
        (["spec.yaml", "-i", "out.csv"], 2, "--unit-from table.csv --link LINK"),
        (["spec.yaml", "--link", "l.json"], 2, "needs --unit-from"),
        (["spec.yaml", "-i", "out.csv", "--link", "l.json"], 0, ""),
        (["spec.yaml", "-i", "out.csv", "--unit-from", "short.csv", "--link", "l.json"], 3, "about another input"),
        (["spec.yaml", "-i", "table.csv", "--unit-from", "table.csv", "--link", "table.csv"], 1, "direct identifier"),
        (["spec.yaml", "-i", "out.csv", "--unit-from", "table.csv", "--link", "table.csv"], 3, "is not a link"),
        (["-i", "out.csv", "--qi", "age", "--unit-from", "table.csv"], 2, "there is no unit"),
        (["kept.yaml", "-i", "out.csv", "--unit-from", "nobody.csv"], 3, "2 rows have no unit"),
    ],
    ids=[
        *("twice", "short", "no-column", "unmatched", "unlinked", "link-alone", "of-the-spec"),
        *("other", "own", "no-link", "no-unit", "nobody"),
    ],
)
def test_units_that_cannot_be_had(desk: Desk, call: Call, arguments: list[str], code: int, told: str) -> None:
    rows = table(2)
    write(desk.folder, rows, "{k: 2}")
    (desk.folder / "kept.yaml").write_text(SPEC.format(privacy="{k: 2}", output="{row_order: keep}"))
    lines = (desk.folder / "table.csv").read_text().splitlines()
    (desk.folder / "short.csv").write_text("\n".join(lines[:-1]) + "\n")
    blank = [line[line.index(",") :] if at in (3, 5) else line for at, line in enumerate(lines)]
    (desk.folder / "nobody.csv").write_text("\n".join(blank) + "\n")
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "--save-link", "l.json").code == 0
    ended = call("audit", *arguments)
    assert ended.code == code and told in ended.err


# --- against a count by hand -----------------------------------------------------------------------------------------

CELLS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz?"), st.sampled_from("pqrs")), min_size=1)
Cell = tuple[str, str, str]


def by_hand(cells: list[Cell]) -> dict[str, tuple[int, dict[str, int]]]:
    """Of each class, its persons and how many of them have each present value."""
    found = {}
    for key in sorted({key for key, _, _ in cells}):
        pairs = {(value, person) for own, value, person in cells if own == key and value != "?"}
        values = sorted({value for value, _ in pairs})
        people = {person for own, _, person in cells if own == key}
        found[key] = len(people), {value: sum(value == each for each, _ in pairs) for value in values}
    return found


@given(CELLS)
def test_the_check_counts_persons(cells: list[Cell]) -> None:
    frame = pl.DataFrame(cells, schema=["q", "s", "person"], orient="row")
    checks = [Check("k-anonymity", None, {"k": 2}), Check("frequency-l-diversity", "s", {"l": 2})]
    found = measure(frame, ["q"], checks, ["?"], units=frame["person"])
    expected = by_hand(cells)
    assert found.results[0].achieved["k"] == min(people for people, _ in expected.values())
    shares = [sum(n.values()) / max(n.values()) if n else 0 for _, n in expected.values()]
    assert found.results[1].achieved["l"] == pytest.approx(min(shares))
    bad = [key for key, share in zip(expected, shares, strict=True) if share < 2]
    assert found.results[1].failing_rows == sum(key in bad for key, _, _ in cells)
    assert found.rows == len(cells)


@given(CELLS)
def test_the_search_counts_persons(cells: list[Cell]) -> None:
    keys, values, people = (np.unique(column, return_inverse=True) for column in zip(*cells, strict=True))
    names = values[0].tolist()
    missing = names.index("?") if "?" in names else None
    column = SensitiveColumn("s", values[1].astype(np.uint8), len(names), missing, None)
    table = replace(table_of(sensitive=[column]), units=people[1].astype(np.uint32))
    groups = Judge(table, [requirement("distinct-l-diversity", "s", l=2)]).groups(keys[1], len(keys[0]))
    expected = by_hand(cells)
    assert groups.sizes.tolist() == [count for count, _ in expected.values()]
    histogram: Histogram = groups.of("s")
    counts: list[dict[str, int]] = [{} for _ in expected]
    for owner, code, count in zip(histogram.classes, histogram.codes, histogram.counts, strict=True):
        counts[owner][names[code]] = int(count)
    assert counts == [each for _, each in expected.values()]
    everybody = by_hand([("all", value, person) for _, value, person in cells])["all"][1]
    whole = Whole.of(column, units=people[1])
    assert [int(n) for n, name in zip(whole.counts, names, strict=True) if name != "?"] == [
        everybody.get(name, 0) for name in names if name != "?"
    ]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40), st.integers(0, 2)), min_size=1), st.booleans())
def test_first_of_each(rows: list[tuple[int, ...]], far: bool) -> None:
    """Also where the keys together do not fit into 64 bits."""
    keys: list[Any] = [np.array(key) * (2**20 if far else 1) for key in zip(*rows, strict=True)]
    assert first_of_each(*keys).tolist() == [at for at, row in enumerate(rows) if row not in rows[:at]]
