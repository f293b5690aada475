"""Releases that follow each other, made by the command and checked from the files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from tests.series.nights import SPEC, Nights

ALGORITHMS = ("mondrian", "top-down", "incognito", "datafly")


def three(folder: Path, algorithm: str = "mondrian", spec: str = SPEC) -> Nights:
    """Three nights with people who come and go."""
    nights = Nights(folder, algorithm, spec)
    nights.come(130)
    nights.release()
    for _ in range(2):
        nights.leave(6)
        nights.come(16)
        nights.release()
    return nights


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    """Three nights, which tests leave as they found them."""
    return three(tmp_path_factory.mktemp("followed"))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_history_is_shared_and_diverse(tmp_path: Path, followed: Nights, algorithm: str) -> None:
    nights = followed if algorithm == "mondrian" else three(tmp_path, algorithm)
    assert 4 <= nights.check() < 20
    assert all(len(nights.cells(name)) > 100 for name in nights.made)


def test_two_releases_that_do_not_follow_each_other_would_not_pass(followed: Nights) -> None:
    nights = replace(followed, people=[*followed.people], made=[])
    before, state = followed.made, (followed.folder / "state")
    state.rename(followed.folder / "first")
    nights.release(name="alone")
    nights.made = [*before, "alone"]
    (followed.folder / "first").rename(state)
    with pytest.raises(AssertionError):
        nights.check()


def test_the_report_counts_who_is_there(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(100)
    first = nights.release()["series"]
    assert first["number"] == 1 and first["people"]["newcomers"] == first["people"]["released"]
    nights.leave(5)
    nights.come(3)
    second = nights.release()["series"]["people"]
    assert second["departed"] == 5 == second["in_small_company"]
    assert second["held_back"] == 3 and second["newcomers"] == 0
    assert second["released"] + second["withheld"] + 3 == len(nights.people)
    assert second["before"] == first["people"]["released"]


def test_newcomers_are_held_back_until_they_are_enough(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(80)
    nights.release()
    counts = []
    for _ in range(3):
        nights.come(4)
        counts.append(nights.release()["series"]["people"])
    assert [each["held_back"] for each in counts] == [4, 0, 4]
    nights.check()


def test_newcomers_wait_for_others(tmp_path: Path) -> None:
    nights = Nights(tmp_path, spec=SPEC.replace("wait: 0", "wait: 2"))
    nights.come(80)
    nights.release()
    counts = []
    for _ in range(4):
        nights.come(8)
        counts.append(nights.release()["series"]["people"])
    assert [each["held_back"] for each in counts] == [8, 16, 0, 8]
    nights.check()


def test_who_is_left_in_a_small_history_is_withheld_and_comes_back(tmp_path: Path) -> None:
    nights = Nights(tmp_path, spec=SPEC.replace("reserve: 2", "reserve: 0"))
    nights.come(60)
    nights.release()
    classes: dict[object, list[str]] = {}
    for person, (cell, _) in nights.cells("night0").items():
        classes.setdefault(cell, []).append(person)
    small = min(classes.values(), key=len)
    whole = list(nights.people)
    nights.people = [person for person in whole if person[0] not in small[: len(small) - 3]]
    assert nights.release()["series"]["people"]["withheld"] == 3
    nights.people = whole
    nights.come(1)
    assert nights.release()["series"]["people"]["withheld"] == 0
    nights.check()


def test_whose_values_change_stays_with_the_others(tmp_path: Path) -> None:
    for algorithm in ("mondrian", "incognito"):
        folder = tmp_path / algorithm
        folder.mkdir()
        nights = Nights(folder, algorithm)
        nights.come(120)
        nights.release()
        name, _, *rest = nights.people[0]
        nights.people[0] = (name, 59 if nights.people[0][1] < 40 else 19, *rest)  # type: ignore[assignment]
        assert nights.release()["series"]["people"]["withheld"] == 0
        nights.check()


def test_the_same_input_again_is_the_same_release(followed: Nights) -> None:
    files = [followed.folder / name for name in ("state", "night2.csv")]
    before = [path.read_bytes() for path in files]
    report = followed.release("--force", name="night2")
    assert report["series"]["again"] is True and report["series"]["number"] == 3
    assert [path.read_bytes() for path in files] == before


def test_the_first_release_can_be_made_again(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(60)
    nights.release()
    released = (tmp_path / "night0.csv").read_bytes()
    assert nights.release("--force", name="night0")["series"]["again"] is True
    assert (tmp_path / "night0.csv").read_bytes() == released


def test_a_dry_run_leaves_the_state(followed: Nights) -> None:
    nights = replace(followed, people=[*followed.people])
    state = (nights.folder / "state").read_bytes()
    nights.come(10)
    nights.release("--dry-run", name="dry")
    assert (nights.folder / "state").read_bytes() == state and not (nights.folder / "dry.csv").exists()


def test_the_state_is_private_and_names_nobody(followed: Nights) -> None:
    tmp_path = followed.folder
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob(".state.journal*"))
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO((tmp_path / "state").read_bytes())) as archive:
        people = archive.read("people.parquet")
    import polars as pl

    assert all(len(person) == 16 for person in pl.read_parquet(people)["person"])


# --- refused ---------------------------------------------------------------------------------------------------------


CHANGES = {
    "k": SPEC.replace("k: 4", "k: 3"),
    "privacy.l": SPEC.replace("l: 2, ", ""),
    "a hierarchy": SPEC.replace("[5, 20]", "[5, 10]"),
    "output": SPEC + "output: {edges: tight}\n",
    "a quasi-identifier": SPEC.replace("  sex: {}\n", "").replace("[name]\nquasi", "[name, sex]\nquasi"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_may_not_change(tmp_path: Path, change: str, capsys: pytest.CaptureFixture[str]) -> None:
    nights = Nights(tmp_path)
    nights.come(60)
    nights.release()
    (tmp_path / "spec.yaml").write_text(CHANGES[change])
    nights.release(refused=2)
    error = capsys.readouterr().err
    assert "earlier releases" in error or "were promised" in error


def test_what_may_change(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(60)
    nights.release()
    spec = SPEC.replace("k: 4", "k: 5").replace("sex: {}", "sex: {weight: 3}")
    (tmp_path / "spec.yaml").write_text(spec)
    report = nights.release("--cut", "widest")
    assert report["series"]["k"] == 5 and report["classes"]["min_size"] >= 5
    (tmp_path / "spec.yaml").write_text(SPEC)
    nights.release(refused=2)


OPEN = SPEC + "output: {edges: open}\n"


def test_a_series_keeps_its_edges_where_the_spec_names_none(tmp_path: Path) -> None:
    """One that was begun with others than today's default goes on with them, and refuses another choice."""
    texts = {}
    for name, later in {"named": OPEN, "unnamed": SPEC}.items():
        (tmp_path / name).mkdir()
        nights = Nights(tmp_path / name, spec=OPEN)
        nights.come(120)
        nights.release()
        (nights.folder / "spec.yaml").write_text(later)
        nights.come(40)
        nights.release()
        assert nights.release("--force", name="night1")["series"]["again"]
        texts[name] = (nights.folder / "night1.csv").read_text()
    assert texts["named"] == texts["unnamed"]
    (nights.folder / "spec.yaml").write_text(SPEC + "output: {edges: rounded}\n")
    nights.come(40)
    nights.release(refused=2)


REFUSED = {
    "no key": (["--start-series", "new"], "--key"),
    "standard output": (["--start-series", "new", "--key", "key", "-o", "-"], "-o"),
    "unsafe": (["--start-series", "new", "--key", "key", "-o", "x.csv", "--allow-unsafe"], "--allow-unsafe"),
    "both": (["--start-series", "new", "--after", "new", "--key", "key", "-o", "x.csv"], "exclude"),
    "no state": (["--after", "stat", "--key", "key", "-o", "x.csv"], "there is no series"),
    "a state": (["--start-series", "state", "--key", "key", "-o", "x.csv"], "exists already"),
    "another key": (["--after", "state", "--key", "other", "-o", "x.csv"], "not the key"),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a series of one release, and of another key."""
    nights = Nights(tmp_path_factory.mktemp("begun"))
    nights.come(60)
    nights.release()
    run(["key", "make", str(nights.folder / "other"), "-q"])
    return nights.folder


@pytest.mark.parametrize("case", REFUSED)
def test_a_series_is_refused(
    begun: Path, case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(begun)
    arguments, message = REFUSED[case]
    before = {path: path.read_bytes() for path in begun.iterdir()}
    assert outcome(lambda: run(["mondrian", "spec.yaml", "-i", "night0.in.csv", *arguments])) == 2
    assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in begun.iterdir()} == before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (SPEC.replace("person: [name], ", ""), "whom each row is about"),
        (SPEC.replace("person: [name]", "person: [disease]"), "not among the identifiers"),
        (SPEC.replace("k: 4, ", ""), "needs a k"),
    ],
)
def test_a_spec_that_no_series_can_be_made_of(
    tmp_path: Path, spec: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nights = Nights(tmp_path, spec=spec)
    nights.come(60)
    nights.release(refused=2)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "state").exists()


def test_two_rows_of_a_person_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights = Nights(tmp_path)
    nights.come(60)
    nights.people.append(("p3", *nights.people[7][1:]))
    nights.release(refused=2)
    error = capsys.readouterr().err
    assert "1 rows are about somebody who has another row" in error and "p3" not in error


def test_the_unit_names_a_person(tmp_path: Path) -> None:
    spec = SPEC.replace("identifiers: [name]", "unit: name").replace("person: [name], ", "")
    three(tmp_path, spec=spec).check()


@pytest.mark.parametrize("algorithm", ["anatomy", "mu-argus", "k-optimize"])
def test_algorithms_that_make_no_series(tmp_path: Path, algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    nights = replace(Nights(tmp_path), algorithm=algorithm)
    nights.come(60)
    nights.release(refused=2)
    assert "these can: " in capsys.readouterr().err
