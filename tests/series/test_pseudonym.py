"""`output.pseudonym`: people who can be followed by recipients."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.key import load as load_key
from anonymize.series.state import load
from anonymize.table.files import sha256_of
from tests.series.nights import QUASI, SPEC, Nights
from tests.series.test_record import DEFERRED, audited, check, shown

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
    nights = several(tmp_path, 5, leaving=8)
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


def replaced(nights: Nights, name: str, rows: list[dict[str, str]]) -> None:
    """Writes other rows under the name of a release, and their hash into the state and the link."""
    path, before = nights.folder / f"{name}.csv", sha256_of(nights.folder / f"{name}.csv")
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    link = nights.folder / f"{name}.link.json"
    link.write_text(link.read_text().replace(before, sha256_of(path)))
    state = load(nights.folder / "state")
    own = [each.path == str(path) for each in state.releases]
    releases = [
        replace(each, sha256=sha256_of(path)) if it else each for each, it in zip(state.releases, own, strict=True)
    ]
    (nights.folder / "state").write_bytes(
        replace(state, releases=tuple(releases)).as_bytes(load_key(nights.folder / "key"))
    )


def exchanged(nights: Nights, name: str) -> None:
    """Exchanges the pseudonyms of the first two rows of a release."""
    rows = list(csv.DictReader((nights.folder / f"{name}.csv").read_text().splitlines()))
    rows[0]["who"], rows[1]["who"] = rows[1]["who"], rows[0]["who"]
    replaced(nights, name, rows)


def measured(nights: Nights) -> tuple[int, list[Any]]:
    """The exit code of an audit of the series, and what it says of the pseudonyms of each release."""
    report = nights.folder / "series.json"
    code = audited(nights, "-r", str(report), "--force")
    releases = json.loads(report.read_text())["series"]["verified"]["releases"]
    return code, [each["pseudonym"]["wrong_rows"] for each in releases]


def test_an_audit_holds_pseudonyms_against_whom_rows_are_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nights = several(tmp_path, 2)
    assert measured(nights) == (0, [0, 0])
    exchanged(nights, "night1")
    assert measured(nights) == (1, [0, 2])
    assert "night1.csv: in 2 rows who is not the pseudonym of the person the row is about" in capsys.readouterr().err


def test_a_release_without_its_pseudonyms_is_seen(tmp_path: Path) -> None:
    nights = several(tmp_path, 1)
    rows = list(csv.DictReader((tmp_path / "night0.csv").read_text().splitlines()))
    replaced(nights, "night0", [{name: text for name, text in row.items() if name != "who"} for row in rows])
    assert measured(nights) == (1, [len(rows)])


def test_pseudonyms_from_before_a_key_was_rotated_are_right(tmp_path: Path) -> None:
    nights = several(tmp_path, 1)
    run(["key", "rotate", str(tmp_path / "state"), str(tmp_path / "new"), "--key", str(tmp_path / "key"), "-q"])
    (tmp_path / "new").rename(tmp_path / "key")
    nights.leave(3)
    nights.release()
    assert measured(nights) == (0, [0, 0])
    exchanged(nights, "night0")
    assert measured(nights) == (1, [2, 0])


def test_without_originals_it_is_not_shown_and_strangers_are_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nights = several(tmp_path, 1)
    (tmp_path / "night0.in.csv").unlink()
    assert measured(nights) == (1, [None])
    assert "could not be shown" in capsys.readouterr().err
    rows = list(csv.DictReader((tmp_path / "night0.csv").read_text().splitlines()))
    replaced(nights, "night0", [{**rows[0], "who": "0" * 32}, *rows[1:]])
    assert measured(nights) == (1, [1])
