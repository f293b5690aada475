"""A series that is shown, whose last release is taken back, and in which people are forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.errors import DataError, UsageError
from anonymize.series.state import load
from tests.series.nights import SPEC, Nights


def two(folder: Path) -> Nights:
    nights = Nights(folder)
    nights.come(80)
    nights.release()
    nights.leave(2)
    nights.come(12)
    nights.release()
    return nights


def test_it_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = two(tmp_path)
    run(["series", "show", str(tmp_path / "state"), "--json"])
    content = json.loads(capsys.readouterr().out)
    assert [each["people"]["departed"] for each in content["releases"]] == [0, 2]
    assert content["smallest_history"] >= 4 and content["people"] == 92
    run(["series", "show", str(tmp_path / "state"), "--color", "never"])
    text = capsys.readouterr().out
    assert "night1.csv" in text and not any(person[0] in text.split() for person in nights.people)


def test_what_is_taken_back_is_as_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = Nights(tmp_path)
    nights.come(80)
    nights.release()
    before = load(tmp_path / "state")
    nights.come(12)
    nights.release()
    first = (tmp_path / "night1.csv").read_bytes()
    capsys.readouterr()
    run(["series", "undo", str(tmp_path / "state"), "--key", str(tmp_path / "key")])
    assert "took back the release" in (error := capsys.readouterr().err) and "night1.csv" in error
    after = load(tmp_path / "state")
    assert after.people.equals(before.people) and (after.histories == before.histories).all()
    assert after.releases == before.releases
    nights.release("--force", name="night1")
    assert (tmp_path / "night1.csv").read_bytes() == first
    nights.check()


def test_the_first_release_stays(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(80)
    nights.release()
    with pytest.raises(UsageError, match="first release"):
        run(["series", "undo", str(tmp_path / "state"), "--key", str(tmp_path / "key")])


def test_a_person_is_forgotten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = two(tmp_path)
    name = next(person[0] for person in nights.people if person[0] in nights.cells("night0"))
    arguments = ["series", "forget", str(tmp_path / "state"), "--key", str(tmp_path / "key")]
    run([*arguments, json.dumps([name])])
    assert load(tmp_path / "state").people.height == 91
    error = capsys.readouterr().err
    assert "forgot 1" in error and name not in error
    with pytest.raises(DataError, match="1 of 1 people are not in the series"):
        run([*arguments, name])
    counts = nights.release()["series"]["people"]
    assert counts["held_back"] == 1


def test_only_with_the_key(tmp_path: Path) -> None:
    two(tmp_path)
    run(["key", "make", str(tmp_path / "other"), "-q"])
    with pytest.raises(UsageError, match="not the key"):
        run(["series", "forget", str(tmp_path / "state"), "p1", "--key", str(tmp_path / "other")])
    with pytest.raises(UsageError, match="named by name"):
        run(["series", "forget", str(tmp_path / "state"), '["p1", "x"]', "--key", str(tmp_path / "key")])
    for name in ("[p1", "[1]", "{}"):
        with pytest.raises(DataError, match="1 of 1 people are not in the series"):
            run(["series", "forget", str(tmp_path / "state"), name, "--key", str(tmp_path / "key")])


# --- an older state ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["the lock", "a link"])
def test_an_older_state_that_is_put_back_is_refused(
    tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would make a second release after the first one, and nobody would see that the series has two ends."""
    nights = two(tmp_path)
    older = (tmp_path / "state").read_bytes()
    nights.come(3)
    nights.release()
    (tmp_path / "state").write_bytes(older)
    gone = tmp_path / (f"{nights.made[-1]}.link.json" if where == "the lock" else ".state.lock")
    gone.unlink()
    nights.release(name="fork", refused=2)
    assert "belongs to a later state of the series" in capsys.readouterr().err
    assert not (tmp_path / "fork.csv").exists()
    for command in (["undo"], ["forget", nights.people[0][0]]):
        own = [command[0], str(tmp_path / "state"), *command[1:], "--key", str(tmp_path / "key")]
        with pytest.raises(UsageError, match="later state"):
            run(["series", *own])


def test_a_series_that_was_forked_elsewhere_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two states made a release each after the same one: their counters agree, and their chains do not."""
    nights = two(tmp_path)
    older = (tmp_path / "state").read_bytes()
    nights.come(3)
    nights.release(name="fork")
    (tmp_path / "fork.link.json").rename(tmp_path / "elsewhere.json")
    (tmp_path / "state").write_bytes(older)
    (tmp_path / ".state.lock").unlink()
    hidden = (tmp_path / "elsewhere.json").rename(tmp_path / "elsewhere")
    nights.made.remove("fork")
    nights.come(3)
    nights.release()
    hidden.rename(tmp_path / "elsewhere.json")
    nights.come(3)
    nights.release(refused=2)
    assert "to a release that this state does not know" in capsys.readouterr().err


def test_what_was_taken_back_is_no_fork(tmp_path: Path) -> None:
    nights = two(tmp_path)
    run(["series", "undo", str(tmp_path / "state"), "--key", str(tmp_path / "key"), "-q"])
    undone = nights.made.pop()
    nights.come(4)
    nights.release(name="instead")
    assert (tmp_path / f"{undone}.link.json").exists()
    nights.come(4)
    nights.release("--dry-run", name="dry")
    nights.release()
    run(["key", "rotate", str(tmp_path / "state"), str(tmp_path / "new"), "--key", str(tmp_path / "key"), "-q"])
    (tmp_path / "new").rename(tmp_path / "key")
    nights.come(4)
    nights.release()


def test_links_are_kept_beside_the_state_where_none_are_asked_for(tmp_path: Path) -> None:
    """So that the audit needs no option of the release; and they go when somebody is forgotten."""
    nights = Nights(tmp_path)
    nights.come(70)
    for night in range(2):
        nights.write(f"night{night}")
        arguments = nights.arguments(f"night{night}", "--after" if night else "--start-series")
        place = arguments.index("--save-link")
        run([*arguments[:place], *arguments[place + 2 :]])
        nights.come(9)
    links = sorted(tmp_path.glob(".state.link-*.json"))
    assert [link.name for link in links] == [".state.link-1.json", ".state.link-2.json"]
    assert {link.stat().st_mode & 0o777 for link in links} == {0o600}
    state, key = str(tmp_path / "state"), str(tmp_path / "key")
    assert outcome(lambda: run(["audit", str(tmp_path / "spec.yaml"), "--series", state, "--key", key, "-q"])) == 0
    run(["series", "forget", state, nights.people[0][0], "--key", key, "-q"])
    assert not list(tmp_path.glob(".state.link-*.json"))


def test_a_published_release_keeps_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = two(tmp_path)
    published = (tmp_path / "night0.csv").read_bytes()
    nights.come(3)
    nights.release("--force", name="night0", refused=2)
    assert "release 1 of the series as it was published" in capsys.readouterr().err
    assert (tmp_path / "night0.csv").read_bytes() == published


def test_the_input_of_an_earlier_release_is_recognized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = Nights(tmp_path)
    nights.come(80)
    nights.release()
    first = list(nights.people)
    nights.come(12)
    nights.release()
    nights.people = first
    nights.release(name="late", refused=2)
    assert "is the input of release 1 of the series" in capsys.readouterr().err


@pytest.mark.parametrize(("known", "code"), [("", 3), ("known: 0, ", 0), ("known: 0.5, ", 3)])
def test_people_who_were_given_other_names_are_not_taken_for_others(
    tmp_path: Path, known: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    nights = Nights(tmp_path, spec=SPEC.replace("series: {", f"series: {{{known}"))
    nights.come(80)
    for _ in range(3):
        nights.release()
        nights.come(3)
    nights.people = [(f"x{person[0]}", *person[1:]) for person in nights.people]
    nights.release(refused=code)
    assert ("people of the last release are in it: were they" in capsys.readouterr().err) == (code == 3)


def test_a_release_is_judged_by_the_k_that_it_was_made_for(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(80)
    nights.release()
    (tmp_path / "spec.yaml").write_text(SPEC.replace("k: 4", "k: 8"))
    nights.come(30)
    nights.release()
    audit = ["audit", str(tmp_path / "spec.yaml"), "--series", str(tmp_path / "state"), "--key", str(tmp_path / "key")]
    assert outcome(lambda: run([*audit, "-q"])) == 0
    assert outcome(lambda: run([*audit, "-q", "-k", "8"])) == 1
