"""Who has left, and in what company: counted by hand."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.series.people import CurrentPeople
from anonymize.series.record import deferred_counts, told_by_values
from anonymize.series.state import SeriesState, load, value_column
from tests.series.nights import QUASI, SPEC, Nights, somebody

LETTERS = "abcdefgh"


def state(histories: list[list[int]], of_person: list[int], last_seen: list[int | None], *values: str) -> SeriesState:
    """People a, b, ...: the history of each, and at which release each was last in the input (None: is not in the last
    release). `values`: one letter a person for each release."""
    columns = {value_column(number, 0): list(own) for number, own in enumerate(values)}
    people = pl.DataFrame({"person": list(LETTERS[: len(of_person)]), "history": of_person, **columns})
    there = [(letter, seen) for letter, seen in zip(LETTERS, last_seen, strict=False) if seen is not None]
    rows = pl.DataFrame(there, schema={"person": pl.String, "release": pl.Int64}, orient="row")
    releases: Any = (None,) * len(histories[0])
    known: Any = {"ill": ("x", "y")} if values else {}
    return SeriesState("", (), "deferred", {}, {}, known, releases, people, np.array(histories, np.int32), rows)


def current(state: SeriesState, people: str) -> CurrentPeople:
    return CurrentPeople.of(pl.Series(list(people)), state)


def absent(people: str, count: int) -> np.ndarray:
    return np.isin(list(LETTERS[:count]), list(people))


@pytest.mark.parametrize(("k", "small"), [(2, 0), (3, 2)])
def test_company_of_exactly_k_is_enough(k: int, small: int) -> None:
    """Of a history of four two are gone together: fewer than three, and not fewer than two."""
    base = state([[0]], [0, 0, 0, 0], [0, 0, 0, 0])
    counts = deferred_counts(base, current(base, "ab"), np.array([0, 0]), absent("cd", 4), k)
    assert counts == {"departed": 2, "in_small_company": small, "kept": 0}


def test_who_is_kept_is_in_no_company_of_those_who_are_gone() -> None:
    """c has left, and is shown all the same; d is gone alone."""
    base = state([[0]], [0, 0, 0, 0], [0, 0, 0, 0])
    counts = deferred_counts(base, current(base, "abc"), np.array([0, 0, 0]), absent("cd", 4), 2)
    assert counts == {"departed": 2, "in_small_company": 1, "kept": 1}


def test_who_is_in_the_input_and_not_released_is_company() -> None:
    """b is held back current: to whoever looks at the release he is gone like a."""
    base = state([[0]], [0, 0, 0, 0], [0, 0, 0, 0])
    counts = deferred_counts(base, current(base, "bcd"), np.array([-1, 0, 0]), absent("a", 4), 2)
    assert counts == {"departed": 1, "in_small_company": 0, "kept": 0}


def test_who_left_before_the_last_night_has_not_departed_since() -> None:
    base = state([[0, 0]], [0, 0, 0], [1, 0, 1])
    counts = deferred_counts(base, current(base, "a"), np.array([0]), absent("bc", 3), 1)
    assert counts["departed"] == 1


def test_company_is_that_of_the_own_history() -> None:
    base = state([[0], [1]], [0, 0, 1, 1], [0, 0, 0, 0])
    counts = deferred_counts(base, current(base, "ac"), np.array([0, 0]), absent("bd", 4), 2)
    assert counts["in_small_company"] == 2


def test_people_of_a_history_that_ended_before_are_no_company() -> None:
    base = state([[0, 0], [0, -1]], [0, 0, 1, 1], [1, 1, None, None])
    counts = deferred_counts(base, current(base, "a"), np.array([0]), absent("b", 4), 2)
    assert counts["in_small_company"] == 1


@pytest.mark.parametrize(("k", "told"), [(2, 0), (3, 1)])
def test_values_that_have_changed_since_tell_who_has_left(k: int, told: int) -> None:
    """a has left after the first release. Of his history b's value is the same since, and c's has changed."""
    assert told_by_values(state([[0, 0]], [0, 0, 0], [0, 1, 1], "xxx", "xxy"), k) == told


def test_values_before_somebody_left_do_not_matter() -> None:
    """Neither does who is not in the last release, nor who has not left."""
    base = state([[0, 0, 0]], [0, 0, 0, 0], [1, 2, 2, None], "xyxx", "xxxx", "xxxx")
    assert told_by_values(base, 3) == 0 and told_by_values(base, 4) == 1
    assert told_by_values(state([[0, 0]], [0, 0], [1, 1], "xx", "xy"), 9) == 0


# --- departures -------------------------------------------------------------------------------------------------------

DEFERRED = SPEC.replace("wait: 0, reserve: 2", "wait: 0, departures: deferred")
ALONE = DEFERRED.replace(", l: 2", "")
"""Without a model of values."""


def shown(nights: Nights) -> list[dict[str, tuple[tuple[str, ...], str]]]:
    """Of each release everybody who is in it, by the links alone, with the class and the disease shown."""
    inputs, releases = {}, []
    for name in nights.made:
        link = json.loads((nights.folder / f"{name}.link.json").read_text())
        rows = list(csv.DictReader((nights.folder / f"{name}.in.csv").read_text().splitlines()))
        inputs[link["input"]["sha256"]] = [row["name"] for row in rows]
        own = inputs[link["input"]["sha256"]]
        people = [own[number - 1] if number else "" for number in link["input_rows"]]
        for place, sha256, number in link.get("earlier", ()):
            people[place - 1] = inputs[sha256][number - 1]
        cells = csv.DictReader((nights.folder / f"{name}.csv").read_text().splitlines())
        shows = [(tuple(row[each] for each in QUASI), row["disease"]) for row in cells]
        assert len(set(people)) == len(people) and "" not in people
        releases.append(dict(zip(people, shows, strict=True)))
    return releases


def check(nights: Nights, k: int = 4, l: int = 2) -> None:  # noqa: E741
    """Everybody who was ever released shares a history with k people, those counted who are not there any more, and
    these have l diseases in every release in which they were."""
    releases = shown(nights)
    for night in range(1, len(releases) + 1):
        groups: dict[Any, list[str]] = defaultdict(list)
        for person in {person for each in releases[:night] for person in each}:
            groups[tuple(each[person][0] if person in each else None for each in releases[:night])].append(person)
        for group in groups.values():
            assert len(group) >= k
            for each in releases[:night]:
                assert group[0] not in each or len({each[person][1] for person in group}) >= l


def names(nights: Nights) -> set[str]:
    return {person[0] for person in nights.people}


def test_who_left_is_shown_as_last_until_enough_have_left(tmp_path: Path) -> None:
    nights, kept, gone = Nights(tmp_path, spec=ALONE), 0, 0
    nights.come(90)
    nights.release()
    for _ in range(7):
        nights.leave(12)
        nights.come(4)
        counts = nights.release()["series"]["people"]
        before, now = shown(nights)[-2:]
        kept += len(now.keys() - names(nights))
        gone += len(before.keys() - now.keys() - names(nights))
        assert counts["kept"] == len(now.keys() - names(nights)) and counts["in_small_company"] == 0
        assert all(now[who][1] == before[who][1] for who in now.keys() - names(nights))
        check(nights, l=1)
    assert kept and gone  # both happen, or nothing has been tested


def audited(nights: Nights, *options: str) -> int:
    state, key, spec = (str(nights.folder / name) for name in ("state", "key", "spec.yaml"))
    return int(outcome(lambda: run(["audit", spec, "--series", state, "--key", key, "-q", *options])))


def test_the_audit_finds_them_by_the_links_and_the_earlier_originals(tmp_path: Path) -> None:
    nights = Nights(tmp_path, spec=DEFERRED)
    nights.come(60)
    nights.release()
    for _ in range(3):
        nights.leave(4)
        nights.release()
    report = tmp_path / "audit.json"
    assert audited(nights, "-r", str(report)) == 0
    releases = json.loads(report.read_text())["series"]["verified"]["releases"]
    assert all(each["matches_state"] and each["origin"] == "original" for each in releases)
    (tmp_path / "night0.in.csv").unlink()
    assert audited(nights) == 1


def test_a_stray_departure_is_found(tmp_path: Path) -> None:
    """The same nights with departures unseen: the check of deferred ones does not pass, so that it can fail."""
    nights = Nights(tmp_path, spec=SPEC)
    nights.come(80)
    nights.release()
    nights.leave(3)
    nights.release()
    with pytest.raises(AssertionError):
        check(nights)


def test_the_order_of_the_input_would_show_who_is_not_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = Nights(tmp_path, spec=f"{DEFERRED}output: {{row_order: keep}}\n")
    nights.come(40)
    nights.release(refused=2)
    assert "show who is not in it" in capsys.readouterr().err


def test_the_same_input_is_the_same_release_and_one_can_be_taken_back(tmp_path: Path) -> None:
    nights = Nights(tmp_path, spec=DEFERRED)
    nights.come(60)
    nights.release()
    nights.leave(5)
    nights.release()
    nights.leave(2)
    before = load(tmp_path / "state")
    nights.release()
    second = (tmp_path / "night2.csv").read_bytes()
    assert nights.release("--force", name="night2")["series"]["again"] is True
    assert (tmp_path / "night2.csv").read_bytes() == second
    run(["series", "undo", str(tmp_path / "state"), "--key", str(tmp_path / "key"), "-q"])
    taken = (tmp_path / "state").read_bytes()
    rows = load(tmp_path / "state").rows
    assert rows is not None and before.rows is not None and rows.equals(before.rows)
    assert outcome(lambda: run(["series", "undo", str(tmp_path / "state"), "--key", str(tmp_path / "key"), "-q"])) == 2
    assert (tmp_path / "state").read_bytes() == taken
    nights.release("--force", name="night2")
    assert (tmp_path / "night2.csv").read_bytes() == second


def test_to_forget_somebody_breaks_the_promise_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = Nights(tmp_path, spec=DEFERRED)
    nights.come(63)
    nights.release()
    cells = nights.cells("night0")
    sizes = Counter(shows for shows, _ in cells.values())
    somebody = next(who for who, (shows, _) in cells.items() if sizes[shows] > 5)
    command = ["series", "forget", str(tmp_path / "state"), somebody, "--key", str(tmp_path / "key"), "-q"]
    assert outcome(lambda: run(command)) == 2
    assert "--force" in capsys.readouterr().err
    run([*command, "--force"])
    nights.people = [person for person in nights.people if person[0] != somebody]
    nights.release()
    assert somebody not in shown(nights)[1]
    assert audited(nights) == 1
    assert "who are not in it any more" in capsys.readouterr().err


@pytest.mark.parametrize("algorithm", ["mondrian", "incognito"])
def test_values_that_change_tell_who_left_and_are_counted(tmp_path: Path, algorithm: str) -> None:
    nights = Nights(tmp_path, algorithm, ALONE)
    nights.come(60)
    nights.release()
    nights.leave(1)
    assert nights.release()["series"]["people"]["told_by_values"] == 0
    nights.people = [(*person[:4], "new" + person[4]) for person in nights.people]
    counts = nights.release()["series"]["people"]
    assert counts["kept"] == 1 == counts["told_by_values"]
    check(nights, l=1)


def test_who_comes_back_is_one_of_the_input_again(tmp_path: Path) -> None:
    nights = Nights(tmp_path, spec=ALONE)
    nights.come(60)
    nights.release()
    gone = nights.people.pop(0)
    assert nights.release()["series"]["people"]["kept"] == 1
    nights.people.append((*gone[:4], "other"))
    assert nights.release()["series"]["people"]["kept"] == 0
    assert shown(nights)[-1][gone[0]][1] == "other"


def test_typed_tables_keep_their_types(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(DEFERRED + "insensitive: [seen]\n")
    run(["key", "make", str(tmp_path / "key"), "-q"])
    people = pl.DataFrame([somebody(number, random.Random(number)) for number in range(60)], orient="row")
    people.columns = ["name", *QUASI, "disease"]
    people = people.with_columns(seen=pl.lit(date(2026, 11, 22)))
    for night, series in enumerate(["--start-series", "--after"]):
        people.slice(night * 2).write_parquet(tmp_path / f"in{night}.parquet")
        files = ["-i", str(tmp_path / f"in{night}.parquet"), "-o", str(tmp_path / f"out{night}.parquet")]
        own = [series, str(tmp_path / "state"), "--key", str(tmp_path / "key"), "-q"]
        run(["mondrian", str(tmp_path / "spec.yaml"), *files, *own])
    first, second = (pl.read_parquet(tmp_path / f"out{night}.parquet") for night in (0, 1))
    assert first.schema == second.schema and second.height == 60


# --- what is shown does not depend on values --------------------------------------------------------------------------

WORLD = """\
version: 1
unit: name
quasi_identifiers: {sex: {}}
sensitive: {disease: {}}
privacy: {k: 10, l: 2}
series: {departures: DEPARTURES, reserve: 0}
"""
AGREEING = {"both of those who leave": {0, 1}, "one of them": {1, 2}, "two of those who stay": {2, 3}}
"""Who of twelve has the rare value: the first release is the same table."""


WHO_LEAVES = [("unseen", 2, 0), ("deferred", 2, 12), ("deferred", 12, 0), ("unseen", 0, 12)]
"""How departures are dealt with, how many of the twelve leave, and how many are shown then."""
OTHERS = sorted(name for name, each in ALGORITHMS.items() if each.NEEDS.family.followed and name != "mondrian")
SERIES = [("mondrian", *each) for each in WHO_LEAVES] + [(name, *WHO_LEAVES[0]) for name in OTHERS]
"""Every algorithm that a series takes: whom it shows again is decided before it runs, so that one case is enough."""
QUICK = {"top-down": ["--no-refine"], "bottom-up": ["--no-refine"]}


@pytest.mark.parametrize(("algorithm", "departures", "leave", "shown"), SERIES)
def test_who_is_shown_is_the_same_in_all_worlds_that_agree_with_what_was_published(
    tmp_path: Path, algorithm: str, departures: str, leave: int, shown: int
) -> None:
    """Ten of twelve have one value and two the other, and two leave: whether these are the two is not to be told."""
    counts, first = set(), set()
    for number, rare in enumerate([*AGREEING.values()][:: 1 if algorithm == "mondrian" else 2]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "spec.yaml").write_text(WORLD.replace("DEPARTURES", departures))
        run(["key", "make", str(folder / "key"), "-q"])
        others = [f"F{each},f,{'ab'[each % 2]}" for each in range(20)]
        twelve = [f"M{each},m,{'b' if each in rare else 'a'}" for each in range(12)]
        for night, people in enumerate([others + twelve, others + twelve[leave:]]):
            (folder / "in.csv").write_text("\n".join(["name,sex,disease", *people]) + "\n")
            series = [("--start-series", "--after")[night], str(folder / "state"), "--key", str(folder / "key")]
            files = ["-i", str(folder / "in.csv"), "-o", str(folder / f"out{night}.csv")]
            run([algorithm, str(folder / "spec.yaml"), *files, *series, *QUICK.get(algorithm, []), "-q"])
        first.add((folder / "out0.csv").read_text())
        counts.add((folder / "out1.csv").read_text().count("m,"))
    assert len(first) == 1 and counts == {shown}


def test_newcomers_of_a_class_that_is_not_diverse_wait_together(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(60)
    nights.release()
    alike = [(f"q{each}", 20, "m", "100", "flu") for each in range(8)]
    other = [(f"r{each}", 50, "f", "140", "gout" if each % 2 else "flu") for each in range(8)]
    nights.people += [*alike, *other]
    counts = nights.release()["series"]["people"]
    assert (counts["newcomers"], counts["held_back"]) == (8, 8)
    nights.check()
