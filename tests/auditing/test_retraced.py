"""The files of a series: where they are found, what they are compared with, and what is missing where they are not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anonymize import privacy
from anonymize.auditing.retraced import FollowedRows, RetracedRelease, SeriesFiles, lacking
from anonymize.auditing.series import SeriesAudit, audit_series
from anonymize.key import Key
from anonymize.link import LinkedFile
from anonymize.link import load as load_link
from anonymize.series.state import SeriesRelease, SeriesState, without_people
from anonymize.spec import load
from anonymize.table.files import sha256_of
from anonymize.verify.histories import published
from tests.auditing.nights import SECRET, laid_out, night, state_of

KEY = Key(SECRET)
PEOPLE = "abcdefghi"
GOOD = [night(PEOPLE, "AAAAAABBB", "xyxyxyxyx"), night(PEOPLE, "AAABBBBBB", "xyxyxyxyx")]


def files_of(folder: Path, state: SeriesState) -> SeriesFiles:
    return SeriesFiles(load(folder / "spec.yaml", privacy.PARAMETERS), state, KEY.secrets, folder)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def retraced(folder: Path, state: SeriesState, stack: ExitStack) -> list[RetracedRelease]:
    return files_of(folder, state).releases(stack)


def test_a_file_is_found_where_it_was_or_beside_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = laid_out(tmp_path, GOOD[:1])
    files, wanted = files_of(tmp_path, state), sha256_of(tmp_path / "out.0.csv")
    assert files.located("out.0.csv", wanted) == tmp_path / "out.0.csv"
    assert files.located("gone/out.0.csv", wanted) == tmp_path / "out.0.csv"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    Path("out.0.csv").write_text("another file of this name\n")
    assert files.located("out.0.csv", wanted) == tmp_path / "out.0.csv"
    assert files.located("out.0.csv", None) == Path("out.0.csv")
    assert files.located("out.0.csv", "0" * 64) is None
    assert files.located("elsewhere", None) is None  # a folder is no file


def test_what_is_lacking_is_counted_by_kind(tmp_path: Path, stack: ExitStack) -> None:
    state = laid_out(tmp_path, GOOD)
    assert list(lacking(retraced(tmp_path, state, stack))) == []
    for name in ("in.0.csv", "in.1.csv", "link.1.json"):
        (tmp_path / name).unlink()
    ends = "of 2 releases could not be found, or is another file than the hash on record says: the state is believed"
    releases = retraced(tmp_path, state, stack)
    assert [each.lacking for each in releases] == [("original",), ("link", "original")]
    assert [each.text for each in lacking(releases)] == [f"the link of 1 {ends}", f"the original of 2 {ends}"]


def test_without_links_classes_are_not_compared_where_people_were_forgotten(tmp_path: Path, stack: ExitStack) -> None:
    state = laid_out(tmp_path, GOOD, links=False)
    gone = KEY.pseudonyms([["a"]])[0]
    less = without_people(state, np.array([person == gone for person in state.people["person"]]))
    assert [each.matches for each in retraced(tmp_path, state, stack)] == [True, True]
    assert [each.matches for each in retraced(tmp_path, less, stack)] == [None, None]


def test_rows_of_an_earlier_original_are_about_its_people(tmp_path: Path, stack: ExitStack) -> None:
    """Who has left the table may stay in a release for some time: the link says in which original the row stands."""
    moved = {who: (shown, {"x": "y", "y": "x"}[value]) for who, (shown, value) in GOOD[1].items()}
    state = laid_out(tmp_path, [*GOOD, moved])
    link, before = load_link(tmp_path / "link.2.json"), sha256_of(tmp_path / "in.1.csv")
    rows = link.rows.copy()
    left = (4, before, int(rows[4]))
    rows[4] = -1
    (tmp_path / "link.2.json").write_text(dataclasses.replace(link, rows=rows, earlier=[left]).text("link.2.json"))
    kept = retraced(tmp_path, state, stack)[2]
    assert (kept.people.origin, kept.matches, kept.lacking) == ("original", True, ())
    (tmp_path / "in.1.csv").unlink()
    assert retraced(tmp_path, state, stack)[2].lacking == ("original",)


def test_a_value_that_is_missing_is_on_record_as_missing(tmp_path: Path, stack: ExitStack) -> None:
    """In the file it is a text that means so; in the state it is none of the values."""
    state = laid_out(tmp_path, [night(PEOPLE, "AAAAAABBB", "x?xyxyxyx")])
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec.read_text() + 'input: {missing: ["?"]}\n')
    assert state.values["ill"] == ("?", "x", "y")
    code = pl.col("value_0_0").cast(pl.Int64) - 1
    people = state.people.with_columns(pl.when(code >= 0).then(code).cast(pl.UInt32).alias("value_0_0"))
    state = dataclasses.replace(state, values={"ill": ("x", "y")}, people=people)
    [read] = retraced(tmp_path, state, stack)
    assert read.matches is True
    known = dataclasses.replace(state, people=people.with_columns(pl.col("value_0_0").fill_null(1)))
    [read] = retraced(tmp_path, known, stack)
    assert read.matches is False


def test_classes_that_part_people_otherwise_than_the_state_do_not_match(tmp_path: Path, stack: ExitStack) -> None:
    """One class for what the state has as two, and two for what it has as one."""
    state = laid_out(tmp_path, GOOD[:1])
    for shown in ("A" * 9, "AAABBBCCC"):
        other = laid_out(tmp_path, [night(PEOPLE, shown, "xyxyxyxyx")])
        [read] = retraced(tmp_path, dataclasses.replace(state, releases=other.releases), stack)
        assert (read.people.origin, read.matches) == ("original", False)


def test_a_release_has_all_people_on_record_and_may_have_more(tmp_path: Path, stack: ExitStack) -> None:
    state = laid_out(tmp_path, GOOD[:1])
    gone = np.array([person == KEY.pseudonyms([["b"]])[0] for person in state.people["person"]])
    [read] = retraced(tmp_path, without_people(state, gone), stack)
    assert read.matches is True
    unknown = pl.Series([*state.people["person"][:-1], b"\0" * 16], dtype=pl.Binary)
    [read] = retraced(tmp_path, dataclasses.replace(state, people=state.people.with_columns(person=unknown)), stack)
    assert read.matches is False


# --- pseudonyms by which recipients follow people --------------------------------------------------------------------


def followable(folder: Path, release: SeriesRelease, key: Key, series: str) -> SeriesRelease:
    """The release with a column `p` of the pseudonyms that its people have under a key."""
    path, link = folder / release.path, load_link(folder / str(release.link))
    people = pl.Series(key.pseudonyms([[PEOPLE[row]] for row in link.rows]), dtype=pl.Binary)
    column = published(people, key.secret, series).alias("p")
    pl.read_csv(path, infer_schema=False).with_columns(column).write_csv(path)
    file = LinkedFile(sha256_of(path), release.rows)
    (folder / str(release.link)).write_text(dataclasses.replace(link, release=file).text(str(release.link)))
    return dataclasses.replace(release, sha256=file.sha256)


@pytest.fixture
def followed(tmp_path: Path) -> tuple[SeriesState, Key]:
    """Two releases with pseudonyms, between which the key was rotated."""
    laid = laid_out(tmp_path, GOOD)
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec.read_text().replace("row_order: sorted", "row_order: sorted, pseudonym: p"))
    rotated = Key(SECRET[::-1], before=KEY.secrets)
    keys = zip(laid.releases, (KEY, rotated), strict=True)
    releases = [followable(tmp_path, release, key, laid.series) for release, key in keys]
    return dataclasses.replace(state_of(GOOD, rotated, releases), series=laid.series), rotated


def of_key(folder: Path, state: SeriesState, key: Key, stack: ExitStack) -> list[FollowedRows | None]:
    files = SeriesFiles(load(folder / "spec.yaml", privacy.PARAMETERS), state, key.secrets, folder)
    return [each.followed for each in files.releases(stack)]


def test_pseudonyms_are_right_under_the_key_that_a_release_was_made_with(
    tmp_path: Path, followed: tuple[SeriesState, Key], stack: ExitStack
) -> None:
    assert of_key(tmp_path, *followed, stack) == [FollowedRows("p", 0)] * 2


def test_the_column_of_pseudonyms_is_that_of_the_state_where_the_spec_names_none(
    tmp_path: Path, followed: tuple[SeriesState, Key], stack: ExitStack
) -> None:
    state, key = followed
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec.read_text().replace(", pseudonym: p", ""))
    assert of_key(tmp_path, state, key, stack) == [None, None]
    named = dataclasses.replace(state, fixed={"output": {"pseudonym": "p"}})
    assert of_key(tmp_path, named, key, stack) == [FollowedRows("p", 0)] * 2
    other = dataclasses.replace(state, fixed={"output": {"pseudonym": "q"}})
    assert of_key(tmp_path, other, key, stack) == [FollowedRows("q", 9)] * 2


def test_without_links_pseudonyms_are_held_against_those_on_record(
    tmp_path: Path, followed: tuple[SeriesState, Key], stack: ExitStack
) -> None:
    state, key = followed
    for number in range(2):
        (tmp_path / f"link.{number}.json").unlink()
    assert of_key(tmp_path, state, key, stack) == [FollowedRows("p", None)] * 2
    alone = dataclasses.replace(state_of(GOOD, KEY, state.releases), series=state.series)
    first, second = of_key(tmp_path, alone, KEY, stack)
    assert (first, second) == (FollowedRows("p", None), FollowedRows("p", 9))


def test_pseudonyms_that_could_not_be_shown_to_be_right_are_neither_met_nor_failed(
    tmp_path: Path, followed: tuple[SeriesState, Key]
) -> None:
    state, key = followed
    (tmp_path / "state").write_bytes(state.as_bytes(key))
    (tmp_path / "key.json").write_text(key.text)
    for number in range(2):
        (tmp_path / f"link.{number}.json").unlink()
    spec = load(tmp_path / "spec.yaml", privacy.PARAMETERS)
    result = audit_series(SeriesAudit(spec, str(tmp_path / "state"), str(tmp_path / "key.json"), {}))
    unshown = [each for each in result.checked.findings if each.rule == "series-pseudonym"]
    assert [each.known for each in unshown] == [False, False] and "could not be shown" in unshown[0].message
    assert result.satisfied is None
