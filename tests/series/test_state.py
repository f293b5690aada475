"""The private file of a series: written, read again, and refused where it is damaged."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anonymize.errors import DataError, UsageError
from anonymize.key import Key
from anonymize.key import load as load_key
from anonymize.series.keeping import seal
from anonymize.series.state import (
    SeriesRelease,
    SeriesState,
    TableFile,
    carried_on,
    load,
    load_sealed,
    without_last,
    without_people,
)

KEY = Key(bytes(range(0, 256, 8)))


def release(number: int) -> SeriesRelease:
    return SeriesRelease(
        path=f"{number}.csv",
        sha256=str(number) * 64,
        rows=3,
        input=TableFile("in.csv", "a" * 64, 4),
        link=None,
        date="2026-11-22T00:00:00+00:00",
        algorithm="mondrian",
        options={"cut": "auto"},
        spec="b" * 64,
        k=2,
        reserve=1,
        levels=None,
        people={"released": 3},
    )


def state(
    histories: list[list[int]], history_of: list[int], since: list[int], codes: list[list[int | None]]
) -> SeriesState:
    """One sensitive attribute; `codes`: those of each release."""
    frame = {
        "person": pl.Series([bytes([number]) * 16 for number in range(len(history_of))], dtype=pl.Binary),
        "history": pl.Series(history_of, dtype=pl.UInt32),
        "since": pl.Series(since, dtype=pl.UInt32),
    }
    frame |= {f"value_{number}_0": pl.Series(own, dtype=pl.UInt32) for number, own in enumerate(codes)}
    return SeriesState(
        key="c" * 64,
        person=("id",),
        departures="unseen",
        fixed={"quasi_identifiers": ["age"]},
        edges={"age": (17.0, 90.0), "pay": None},
        values={"disease": ("flu", None, "ü")},
        releases=tuple(release(number) for number in range(len(codes))),
        people=pl.DataFrame(frame),
        histories=np.array(histories, np.int32),
    )


TWO = state([[-1, -1], [-1, 0], [3, 0], [3, -1]], [2, 0, 3, 1], [0, 1, 0, 1], [[0, None, 1, None], [2, None, None, 0]])


def saved(folder: Path, content: bytes) -> Path:
    path = folder / "state"
    path.write_bytes(content)
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    again = load(saved(tmp_path, TWO.as_bytes(KEY)))
    assert again.as_bytes(KEY) == TWO.as_bytes(KEY)
    assert again.releases == TWO.releases and again.values == TWO.values
    assert again.people.equals(TWO.people) and (again.histories == TWO.histories).all()
    assert again.edges == TWO.edges


def test_a_path_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no series"):
        load(tmp_path / "stat")


def changed(name: str, change: object, of: SeriesState = TWO, key: Key = KEY) -> bytes:
    """The file of a state with another member, or with other keys of the first, or without it."""
    file, source = io.BytesIO(), zipfile.ZipFile(io.BytesIO(of.as_bytes(key)))
    with zipfile.ZipFile(file, "w") as archive:
        for member in source.namelist():
            content = source.read(member)
            if member == name:
                if change is None:
                    continue
                content = change if isinstance(change, bytes) else json.dumps(json.loads(content) | change).encode()
            archive.writestr(member, content)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        TWO.as_bytes(KEY)[:-40],
        changed("series.json", {"format_version": 2}),
        changed("series.json", {"format": "x"}),
        changed("series.json", {"releases": []}),
        changed("series.json", {"values": {}}),
        changed("people.parquet", b"PAR1"),
        changed("histories.parquet", b""),
    ],
)
def test_what_is_no_state_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(DataError, match="is not a series of format_version 1, or is damaged"):
        load(saved(tmp_path, content))


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    key = Key.new()
    path = tmp_path / "key"
    path.write_text(key.text)
    path.chmod(0o600)
    return path


def own(key_file: Path) -> SeriesState:
    return replace(TWO, key=load_key(key_file).fingerprint)


@pytest.mark.parametrize("change", [{"fixed": {}}, {"counter": 9}, {"departures": "deferred"}])
def test_a_state_that_somebody_without_the_key_has_changed_is_refused(
    tmp_path: Path, key_file: Path, change: dict[str, object]
) -> None:
    mine, key = own(key_file), load_key(key_file)
    assert load_sealed(saved(tmp_path, mine.as_bytes(key)), key_file)[0].as_bytes(key) == mine.as_bytes(key)
    assert load(saved(tmp_path, changed("series.json", change, mine, key))).people.equals(mine.people)
    with pytest.raises(DataError, match="has been changed since it was written"):
        load_sealed(tmp_path / "state", key_file)


def test_people_who_were_removed_from_a_state_are_missed(tmp_path: Path, key_file: Path) -> None:
    mine, key = own(key_file), load_key(key_file)
    file = io.BytesIO()
    mine.people.head(2).write_parquet(file)
    saved(tmp_path, changed("people.parquet", file.getvalue(), mine, key))
    with pytest.raises(DataError, match="has been changed"):
        load_sealed(tmp_path / "state", key_file)


def test_a_state_without_a_seal_is_sealed_once(tmp_path: Path, key_file: Path) -> None:
    mine, key = own(key_file), load_key(key_file)
    path = saved(tmp_path, changed("seal", None, mine, key))
    with pytest.raises(UsageError, match="is not sealed"):
        load_sealed(path, key_file)
    assert seal(path, key_file) and not seal(path, key_file)
    sealed, _ = load_sealed(path, key_file)
    assert sealed.counter == 2 and len(set(sealed.chains)) == 2 and sealed.people.equals(mine.people)


def test_a_history_that_is_not_there_is_damage(tmp_path: Path) -> None:
    wrong = state([[-1], [0]], [2], [0], [[0]])
    with pytest.raises(DataError, match="damaged"):
        load(saved(tmp_path, wrong.as_bytes(KEY)))


# --- histories --------------------------------------------------------------------------------------------------------

ONE = state([[-1], [3]], [1, 1], [0, 0], [[0, 1]])
"""TWO before its last release: two people who were shown in class 3."""


def test_a_release_parts_histories() -> None:
    before, of = np.array([[-1], [3]], np.int32), np.array([1, 0, 1, 0])
    histories, after = carried_on(before, of, np.array([0, -1, -1, 0]))
    assert histories[after].tolist() == [[3, 0], [-1, -1], [3, -1], [-1, 0]]
    assert histories[0].tolist() == [-1, -1] and len(histories) == 4


def test_never_stays_the_first_history_where_nobody_has_it() -> None:
    histories, after = carried_on(np.array([[-1], [3]], np.int32), np.array([1, 1]), np.array([0, 0]))
    assert histories.tolist() == [[-1, -1], [3, 0]] and after.tolist() == [1, 1]


def test_the_last_release_is_taken_back() -> None:
    back = without_last(TWO)
    kept = TWO.people.filter(pl.Series([True, False, True, False]))["person"]
    assert back.people["person"].equals(kept)
    expected = ONE.people.with_columns(kept)
    assert back.people.equals(expected) and (back.histories == ONE.histories).all()
    assert back.releases == ONE.releases


def test_a_person_is_forgotten_with_a_history_that_nobody_else_has() -> None:
    less = without_people(TWO, np.array([True, False, False, False]))
    assert less.histories[less.history_of].tolist() == [[-1, -1], [3, -1], [-1, 0]]
    assert len(less.histories) == 3 and less.histories[0].tolist() == [-1, -1]
