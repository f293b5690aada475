"""The private file of a series of releases: who was shown in which class, and with which sensitive values; and the
histories of people, carried on by a release and taken back with one."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from hmac import compare_digest
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize import __version__
from anonymize.classes import Bools, Integers, mixed_radix
from anonymize.errors import DataError, Problem, UsageError
from anonymize.key import Key, load_for
from anonymize.records import dataclass
from anonymize.series.kept import is_sound
from anonymize.table.files import reason

# --- the state --------------------------------------------------------------------------------------------------------
# The file is a ZIP archive without compression, of mode 0600. Its members:
#
# `series.json`: an object.
#     `format` "anonymize series", `format_version` 1, `tool` (version); `counter`: how often the series has been
#     written, by releases and otherwise; `undone`: the chains of releases that were taken back; `key`: the fingerprint
#     of the key of its pseudonyms (see `anonymize.key`); `person`: the columns that name a person; `departures`:
#     "unseen" or "deferred"; `fixed`: what of the spec must stay as it is, by key; `edges`: by numeric
#     quasi-identifier, the lowest and the highest number that may be the end of an interval, null where none may, for
#     those that have such bounds; `series`, where pseudonyms are published: a hash of the first input and of what was
#     asked for then; `values`: by sensitive attribute, the texts that the codes of `people.parquet` stand for (null:
#     missing); `releases`: a list, the oldest first, each an object: `path`, `sha256`, `rows` of the release as it was
#     written; `input` {`path`, `sha256`, `rows`}; `link` (path of the file of --save-link, or null); `date` (ISO 8601,
#     UTC); `algorithm`; `options`; `spec`: hash of what was asked for; `k`; `reserve`; `levels`: of each
#     quasi-identifier, the level at which those were shown who came with this release, null where classes are regions;
#     `people`: counts of this release, see `anonymize.series.record`; `counter`: that of the state when it was made;
#     `chain`: a hash of what was released, of what, when, and of the chain of the release before. The first one names
#     the series.
#
# `people.parquet`: one row a person who was in any input so far, in the order of `person`.
#     `person`: Binary, 16 bytes, the pseudonym. `history`: UInt32, a row of `histories.parquet`. `since`: UInt32, the
#     number (from 0) of the release of which the person was first in the input. For release number s and the i-th
#     of the attributes of `values`, in their order, `value_{s}_{i}`: UInt32, the code of the value released about the
#     person; null for one who was not in the release.
#
# `histories.parquet`: one row a history; row 0 is that of people who were in no release so far.
#     For release number s, `release_{s}`: Int32, the number of the class that people of this history were shown in; -1:
#     *not there*. Within a release, numbers are equal exactly for classes that read the same in every quasi-identifier.
#     Rows differ from one another, and each but row 0 is the history of somebody in `people.parquet`.
#
# `rows.parquet`, where departures are deferred: the people of the last release as they were last in an input, see
# `anonymize.series.kept`. `rows_before.parquet`: those of the release before it, as they were then; so that it can be
# continued if the last one is taken back. Not there for a release that was the first, or has been taken back to.
#
# `seal`: HMAC-SHA256 under the key of the series, in hexadecimal digits, of the SHA-256 of all other members, each
# after its name, its length and a line end. States of earlier versions have none, and are sealed by `anonymize series
# seal`.

FORMAT, FORMAT_VERSION = "anonymize series", 1
_ABOUT, _PEOPLE, _HISTORIES = "series.json", "people.parquet", "histories.parquet"
_ROWS, _ROWS_BEFORE = "rows.parquet", "rows_before.parquet"
_SEAL = "seal"
NOT_THERE = -1
ABOUT = ("counter", "undone", "key", "person", "departures", "fixed", "edges", "values")
"""What `series.json` has of the state, in addition to the releases."""


@dataclass(frozen=True)
class TableFile:
    """The input of a release, or the release."""

    path: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class SeriesRelease(TableFile):
    """A release of a series, as the state knows it; see the module. `people`: counts by name."""

    input: TableFile
    link: str | None
    date: str
    algorithm: str
    options: Mapping[str, Any]
    spec: str
    k: int
    reserve: int
    levels: tuple[int, ...] | None
    people: Mapping[str, int]
    counter: int = 0
    chain: str = ""

    def chained(self, before: str) -> SeriesRelease:
        """The release after one with another chain."""
        return replace(self, chain=chain_of(before, self.counter, self.sha256, self.input.sha256, self.date))


def chain_of(before: str, counter: int, release: str, input: str, date: str) -> str:
    """The chain of a release after one with another, by the hashes of both files; in hexadecimal digits."""
    return hashlib.sha256(json.dumps([before, counter, release, input, date]).encode()).hexdigest()


@dataclass(frozen=True)
class SeriesState:
    """A series of T releases of P people with H histories; see the module.

    `people`: the frame of `people.parquet`. `histories` (H, T) int32. `rows`, `rows_before`: those of the members of
    these names, None where there is none. `series`: what tells the published pseudonyms of this series from those of
    others.
    """

    key: str
    person: tuple[str, ...]
    departures: str
    fixed: Mapping[str, Any]
    edges: Mapping[str, tuple[float, float] | None]
    values: Mapping[str, tuple[str | None, ...]]
    releases: tuple[SeriesRelease, ...]
    people: pl.DataFrame
    histories: NDArray[np.int32]
    rows: pl.DataFrame | None = None
    rows_before: pl.DataFrame | None = None
    series: str = ""
    counter: int = 0
    undone: tuple[str, ...] = ()

    @property
    def history_of(self) -> NDArray[np.int64]:
        """(P,) the history of each person."""
        return self.people["history"].to_numpy().astype(np.int64)

    @property
    def seen_last(self) -> NDArray[np.bool_]:
        """(P,) who was in the last release and in its input."""
        there: NDArray[np.bool_] = self.histories[self.history_of, -1] >= 0
        if self.rows is not None:
            last = self.rows.filter(pl.col("release") == len(self.releases) - 1)["person"]
            there &= self.people["person"].is_in(last.implode()).to_numpy()
        return there

    @property
    def chains(self) -> tuple[str, ...]:
        """Of each release."""
        return tuple(release.chain for release in self.releases)

    @property
    def last_chain(self) -> str:
        """The chain of the last release, after which the next one follows; "" where there is none yet."""
        return self.releases[-1].chain if self.releases else ""

    def as_bytes(self, key: Key) -> bytes:
        """The file, sealed with the key of the series; the same for equal states, whatever the time is."""
        about = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "tool": __version__,
            **{name: getattr(self, name) for name in ABOUT},
            **({"series": self.series} if self.series else {}),
            "releases": [asdict(release) for release in self.releases],
        }
        members = {_ABOUT: json.dumps(about, ensure_ascii=False, indent=1).encode(), _PEOPLE: _parquet(self.people)}
        columns = {f"release_{number}": self.histories[:, number] for number in range(self.histories.shape[1])}
        members[_HISTORIES] = _parquet(pl.DataFrame(columns))
        frames = {_ROWS: self.rows, _ROWS_BEFORE: self.rows_before}
        members |= {name: _parquet(frame) for name, frame in frames.items() if frame is not None}
        members[_SEAL] = _seal(members, key)
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in members.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        return file.getvalue()


def value_column(release: int, attribute: int) -> str:
    """The column of `people.parquet` with the values of an attribute in a release."""
    return f"value_{release}_{attribute}"


def _seal(members: Mapping[str, bytes], key: Key) -> bytes:
    digest = hashlib.sha256()
    for name, content in members.items():
        if name != _SEAL:
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return key.sealed(digest.digest()).encode()


def _parquet(frame: pl.DataFrame) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file, compression="zstd", statistics=False)
    return file.getvalue()


def load(path: str | Path) -> SeriesState:
    """Reads a state. Raises UsageError without one, DataError for another version, or if it is damaged or
    unreadable."""
    return _read(path)[0]


def load_sealed(path: str | Path, key_path: str | Path, *, unsealed: bool = False) -> tuple[SeriesState, Key]:
    """Reads a state with the key of its series. Raises UsageError for another key, and for a state without a seal,
    unless `unsealed`; DataError where the seal is not that of the content; and what `load` raises."""
    state, members = _read(path)
    key = load_for(key_path, state.key)
    if _SEAL not in members and not unsealed:
        hint = "seal it once, if nobody else can have changed it: anonymize series seal STATE --key KEY"
        raise UsageError(Problem("is not sealed: an earlier version wrote it", os.fspath(path), hint=hint))
    if _SEAL in members and not compare_digest(members[_SEAL], _seal(members, key)):
        message = "has been changed since it was written: its seal is not that of its content"
        raise DataError(Problem(message, os.fspath(path), hint="take a copy of it that was not"))
    return state, key


def _read(path: str | Path) -> tuple[SeriesState, dict[str, bytes]]:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        hint = "the first release of a series is made with --start-series"
        raise UsageError(Problem("there is no series", os.fspath(path), hint=hint)) from None
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {reason(error)}", os.fspath(path))) from None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        return _state(members), members
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, pl.exceptions.PolarsError, RecursionError):
        message = f"is not a series of format_version {FORMAT_VERSION}, or is damaged"
        raise DataError(Problem(message, os.fspath(path))) from None


def _state(members: Mapping[str, bytes]) -> SeriesState:
    """Raises some exception for what is not a state of this version."""
    about = json.loads(members[_ABOUT])
    if (about["format"], about["format_version"]) != (FORMAT, FORMAT_VERSION):
        raise ValueError
    people = pl.read_parquet(members[_PEOPLE])
    frames = (pl.read_parquet(members[name]) if name in members else None for name in (_ROWS, _ROWS_BEFORE))
    histories = pl.read_parquet(members[_HISTORIES])
    state = SeriesState(
        key=about["key"],
        person=tuple(about["person"]),
        departures=about["departures"],
        fixed=about["fixed"],
        edges={name: None if ends is None else (ends[0], ends[1]) for name, ends in about["edges"].items()},
        values={name: tuple(texts) for name, texts in about["values"].items()},
        releases=tuple(_release(each) for each in about["releases"]),
        people=people,
        histories=histories.to_numpy().astype(np.int32).reshape(histories.height, -1),
        rows=next(frames),
        rows_before=next(frames),
        series=about.get("series", ""),
        counter=int(about.get("counter", 0)),
        undone=tuple(about.get("undone", ())),
    )
    _check(state)
    return state


def _release(content: Mapping[str, Any]) -> SeriesRelease:
    earlier = {"counter": 0, "chain": ""}
    values = {each.name: content[each.name] for each in fields(SeriesRelease) if each.name not in earlier}
    values |= {name: content.get(name, default) for name, default in earlier.items()}
    levels = None if values["levels"] is None else tuple(values["levels"])
    return SeriesRelease(**{**values, "input": TableFile(**content["input"]), "levels": levels})


def _check(state: SeriesState) -> None:
    """Raises ValueError for numbers that do not fit together."""
    columns = {"person": pl.Binary, "history": pl.UInt32, "since": pl.UInt32}
    releases = range(len(state.releases))
    columns |= {value_column(s, i): pl.UInt32 for s in releases for i in range(len(state.values))}
    fine = dict(state.people.schema) == {name: kind() for name, kind in columns.items()}
    fine &= state.histories.shape[1] == len(state.releases) > 0 and bool((state.histories[:1] == NOT_THERE).all())
    fine &= all(frame is None or is_sound(frame) for frame in (state.rows, state.rows_before))
    if not fine or state.history_of.max(initial=0) >= len(state.histories):
        raise ValueError


# --- histories --------------------------------------------------------------------------------------------------------
# People who share a history were shown in the same class, or were not there together, in every release so far. A
# release parts histories and never unites them: the new history is the pair of the old one and of the class now,
# NOT_THERE for who is not in the release.

NEVER = 0
"""The history of people who were in no release so far."""


def carried_on(
    histories: NDArray[np.int32], history_of: Integers, class_of: Integers
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """The histories after one more release, and (P,) which of them each person has.

    `histories` (H, T); `history_of` (P,) so far; `class_of` (P,) now, NOT_THERE for who is not released. In
    ascending order of the old history, then of the class, those without people left out; NEVER stays the first.

    >>> before, class_of = np.array([[-1], [4]], np.int32), np.array([7, 8, -1, 7])
    >>> histories, history_of = carried_on(before, np.array([1, 1, 0, 0]), class_of)
    >>> histories.tolist(), history_of.tolist()
    ([[-1, -1], [-1, 7], [4, 7], [4, 8]], [2, 3, 0, 1])
    """
    shift = class_of.astype(np.int64) - NOT_THERE
    size = int(shift.max(initial=0)) + 1
    keys = np.append(history_of.astype(np.int64) * size + shift, NEVER)
    pairs, number = np.unique(keys, return_inverse=True)
    old, now = np.divmod(pairs, size)
    longer = np.column_stack((histories[old], (now + NOT_THERE).astype(np.int32)))
    return longer.astype(np.int32), number[:-1].astype(np.uint32)


def without_last(state: SeriesState) -> SeriesState:
    """The state before its last release, of at least two; without people who were in no input before."""
    last = len(state.releases) - 1
    before = pl.Series(state.people["since"].to_numpy() < last)
    values = [value_column(last, index) for index in range(len(state.values))]
    people = state.people.filter(before).drop(values)
    shorter = replace(state, releases=state.releases[:-1], people=people, histories=state.histories[:, :-1])
    return renumbered(replace(shorter, rows=state.rows_before, rows_before=None))


def without_people(state: SeriesState, forgotten: Bools) -> SeriesState:
    """The state without some of its people (P,)."""
    gone = state.people["person"].filter(pl.Series(forgotten)).implode()
    rows, before = (
        None if frame is None else frame.filter(~pl.col("person").is_in(gone))
        for frame in (state.rows, state.rows_before)
    )
    people = state.people.filter(pl.Series(~forgotten))
    return renumbered(replace(state, people=people, rows=rows, rows_before=before))


def renumbered(state: SeriesState) -> SeriesState:
    """The state with each history once, and none but NEVER without people."""
    columns = [column.astype(np.int64) - NOT_THERE for column in state.histories.T]
    keys, _ = mixed_radix(columns, [int(column.max(initial=0)) + 1 for column in columns])
    key_of_person = keys[state.history_of]
    _, first, number = np.unique(np.append(key_of_person, keys[NEVER]), return_index=True, return_inverse=True)
    source = np.append(state.history_of, NEVER)[first]
    people = state.people.with_columns(pl.Series("history", number[:-1].astype(np.uint32)))
    return replace(state, people=people, histories=state.histories[source])
