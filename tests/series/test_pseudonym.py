"""`output.pseudonym`: people who can be followed by recipients."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.series.state import load
from tests.series.nights import QUASI, SPEC, Nights
from tests.series.test_departures import DEFERRED, audited, check, shown

FOLLOWED = f"{DEFERRED}output: {{pseudonym: who}}\n"


def followed(nights: Nights, name: str) -> list[str]:
    """The pseudonyms of a release, row by row."""
    return [row["who"] for row in csv.DictReader((nights.folder / f"{name}.csv").read_text().splitlines())]


def several(folder: Path, nights: int = 4, leaving: int = 5) -> Nights:
    made = Nights(folder, spec=FOLLOWED)
    made.come(70)
    made.release()
    for _ in range(nights - 1):
        made.leave(leaving)
        made.come(3)
        made.release()
    return made


def test_one_person_has_one_pseudonym_in_all_releases(tmp_path: Path) -> None:
    nights = several(tmp_path)
    pseudonyms: dict[str, set[str]] = defaultdict(set)
    for name, release in zip(nights.made, shown(nights), strict=True):
        for who, pseudonym in zip(release, followed(nights, name), strict=True):
            pseudonyms[who].add(pseudonym)
    assert all(len(each) == 1 and len(min(each)) == 32 for each in pseudonyms.values())
    assert len(set.union(*pseudonyms.values())) == len(pseudonyms) > 70
    check(nights)
    assert audited(nights) == 0


def test_a_chain_that_ends_is_one_of_k(tmp_path: Path) -> None:
    """What a recipient sees without anything else: the courses of classes of pseudonyms, ended ones among them."""
    nights = several(tmp_path, 8, leaving=8)
    courses: dict[str, list[Any]] = defaultdict(lambda: [None] * len(nights.made))
    for number, name in enumerate(nights.made):
        for row in csv.DictReader((nights.folder / f"{name}.csv").read_text().splitlines()):
            courses[row["who"]][number] = tuple(row[each] for each in QUASI)
    sizes: dict[Any, int] = defaultdict(int)
    for course in courses.values():
        sizes[tuple(course)] += 1
    assert min(sizes.values()) >= 4
    assert any(course[-1] is None and course[0] is not None for course in courses.values())


def test_pseudonyms_are_none_of_the_state_nor_of_another_series(tmp_path: Path) -> None:
    nights = several(tmp_path, 1)
    own = set(followed(nights, "night0"))
    assert not own & {each.hex() for each in load(tmp_path / "state").people["person"]}
    run(["key", "rotate", str(tmp_path / "state"), str(tmp_path / "new"), "--key", str(tmp_path / "key"), "-q"])
    key = (tmp_path / "key").read_bytes()
    (tmp_path / "new").rename(tmp_path / "key")
    nights.release()
    assert not own & set(followed(nights, "night1"))
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "state").unlink()
    nights.made = []
    nights.come(1)
    nights.release(name="other")
    assert not own & set(followed(nights, "other"))


@pytest.mark.parametrize(
    ("spec", "series"), [(f"{SPEC}output: {{pseudonym: who}}\n", True), (FOLLOWED, False)], ids=["unseen", "alone"]
)
def test_it_is_refused_where_a_departure_would_show(tmp_path: Path, spec: str, series: bool) -> None:
    nights = Nights(tmp_path, spec=spec)
    nights.come(40)
    if series:
        nights.release(refused=2)
        return
    nights.write("night")
    command = ["mondrian", str(tmp_path / "spec.yaml"), "-i", str(tmp_path / "night.in.csv")]
    assert outcome(lambda: run([*command, "-o", str(tmp_path / "out.csv")])) == 2


def test_its_name_is_no_column_of_the_table(tmp_path: Path) -> None:
    nights = Nights(tmp_path, spec=FOLLOWED.replace("who", "age_low"))
    nights.come(40)
    nights.release(refused=2)


def test_a_release_with_pseudonyms_can_be_audited_and_attacked(tmp_path: Path) -> None:
    several(tmp_path, 2)
    spec, released, original = (str(tmp_path / name) for name in ("spec.yaml", "night1.csv", "night1.in.csv"))
    report = tmp_path / "audit.json"
    run(["audit", spec, "-i", released, "-q", "-r", str(report)])
    assert json.loads(report.read_text())["risk"]["passing"]["columns"] == []
    run(["attack", spec, released, "-i", original, "-q", "--series", f"{tmp_path}/state", "--key", f"{tmp_path}/key"])
    run(["evaluate", spec, released.replace("night1", "night0"), "-i", original.replace("night1", "night0"), "-q"])
    assert outcome(lambda: run(["evaluate", spec, released, "-i", original, "-q"])) == 3  # it has more people
    book = json.loads((tmp_path / "night1.json").read_text())["codebook"]["columns"]
    assert [each["name"] for each in book] == [*QUASI, "disease", "who"]
    run(["series", "show", f"{tmp_path}/state"])
