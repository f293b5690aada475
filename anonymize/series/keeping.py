"""What is done to a series without a release: said, taken back, forgotten.

To take the last release back changes what the series knows, and not what others do: a release that somebody has seen
stays seen. It is for one that nobody got. To forget a person ends what is known of them here: the promise to the others
counts them no more, so that people of their history may become too few and be withheld, and if they come back they are
newcomers, whose new history an attacker can join with the old one. The releases in which they were stay as they are.
Where departures are deferred, who is forgotten is gone at once, however few leave with them: the two are incompatible.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonymize.errors import DataError, Problem, UsageError
from anonymize.journal import Journal, lock_of, locked
from anonymize.key import Key
from anonymize.link import FORMAT
from anonymize.records import dataclass
from anonymize.series import state
from anonymize.series.record import DEFERRED
from anonymize.series.state import SeriesRelease, SeriesState, without_last, without_people
from anonymize.spec.notation import identified
from anonymize.table import OutputFile

# --- the last state ---------------------------------------------------------------------------------------------------
# An older state that was put back would fork its series, and nobody would see.
#
# Every state has a counter, and every release a chain (see `anonymize.series.state`). Both are recorded in a second and
# a third place: in the file of the lock next to the state, and in the private link of each release. A record there of a
# later state, or of a release that the state neither has nor took back, is a fork. A state that was copied to a machine
# which has neither cannot be distinguished from the last one.

HEAD_BYTES = 4096
"""Bytes at the beginning of a link, in which its record is."""
_RECORD = re.compile(r'"series": (\{[^{}]*\})')


def kept_link(state: Path, number: int) -> Path:
    """Where the link of a release is kept that is written nowhere else."""
    return state.with_name(f".{state.name}.link-{number}.json")


@dataclass(frozen=True)
class StateRecord:
    """The record of a state: the `series` by its first release's chain, the `counter`, the last release's `chain`."""

    series: str
    counter: int
    chain: str

    @classmethod
    def of(cls, state: SeriesState) -> StateRecord:
        """The record of a state."""
        return cls(state.chains[0], state.counter, state.last_chain)


def check_last(state: SeriesState, path: Path) -> None:
    """Raises UsageError where a record next to the state, or in a link of its releases, is of a later state or of a
    release that it does not know."""
    known = {*state.chains, *state.undone}
    for file, record in _records(state, path):
        if record.series != state.chains[0]:
            continue
        if record.counter > state.counter:
            message = f"{os.fspath(file)} belongs to a later state of the series: this one is older, and would fork it"
            raise UsageError(Problem(message, os.fspath(path), hint="take the last state"))
        if record.chain not in known:
            message = f"{os.fspath(file)} belongs to a release that this state does not know: the series was forked"
            raise UsageError(Problem(message, os.fspath(path), hint="take the state that made it"))


def _records(state: SeriesState, path: Path) -> Iterator[tuple[Path, StateRecord]]:
    folders = {path.parent.resolve(), *(Path(each.link).parent for each in state.releases if each.link is not None)}
    links = (file for folder in sorted(folders) for each in ("*.json", "*.csv") for file in sorted(folder.glob(each)))
    for file in (lock_of(path), *(file for file in links if file.is_file())):
        record = _record(file)
        if record is not None:
            yield file, record


def _record(file: Path) -> StateRecord | None:
    """The record in the head of a file; None where there is none."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        with file.open("rb") as opened:
            head = opened.read(HEAD_BYTES).decode("utf-8", "replace")
        match = _RECORD.search(head) if FORMAT in head or file.name.endswith(".lock") else None
        content: dict[str, Any] = json.loads(match[1]) if match else {}
        return StateRecord(str(content["series"]), int(content["counter"]), str(content["chain"])) if content else None
    return None


def summary(path: str | Path) -> dict[str, Any]:
    """What a series is, for people and programs; an interrupted run is finished first. No value, and no pseudonym."""
    with locked(Path(path)):
        series = state.load(path)
    sizes = np.bincount(series.history_of, minlength=len(series.histories))
    of_last = sizes[(series.histories[:, -1] >= 0) & (sizes > 0)]
    return {
        "releases": [
            {
                "number": number,
                **{name: getattr(release, name) for name in ("path", "sha256", "date", "algorithm", "k", "reserve")},
                "input": release.input.path,
                "link": release.link,
                "people": dict(release.people),
            }
            for number, release in enumerate(series.releases, 1)
        ],
        "person": list(series.person),
        "departures": series.departures,
        "people": series.people.height,
        "histories": len(of_last),
        "smallest_history": int(of_last.min()) if len(of_last) else 0,
    }


def undo(path: str | Path, key_path: str | Path) -> str:
    """Takes the last release back; returns its path. Raises UsageError for the first one, and for another key."""
    with locked(Path(path)) as journal:
        series, series_key = _last(path, key_path)
        if len(series.releases) == 1:
            hint = "remove the state, and begin again with --start-series"
            raise UsageError(Problem("the first release of a series cannot be taken back", str(path), hint=hint))
        if series.departures == DEFERRED and series.rows_before is None:
            message = "departures are deferred: two releases cannot be taken back one after the other"
            hint = "the people of the release before are not on record as they were then"
            raise UsageError(Problem(message, str(path), hint=hint))
        shorter = replace(without_last(series), undone=(*series.undone, series.last_chain))
        _replace(journal, shorter, series_key)
        journal.end()
        _remove_links(journal.state, [len(series.releases)])
    return series.releases[-1].path


def rotate(path: str | Path, key_path: str | Path, new: str | Path, *, force: bool = False) -> None:
    """Puts the state under a new key, which is written to `new`; both take their places together, or neither.

    Raises UsageError for another key than that of the series, and for a file that exists unless `force`.
    """
    if os.path.realpath(new) == os.path.realpath(path):
        raise UsageError(f"{new}: is the state of the series")
    with locked(Path(path)) as journal, ExitStack() as stack:
        series, series_key = _last(path, key_path)
        successor = series_key.successor()
        file = stack.enter_context(OutputFile(new, force=force, private=True))
        output = stack.enter_context(OutputFile(path, force=True, private=True))
        journal.begin([file, output])
        stack.callback(journal.end)
        file.write_text(successor.text)
        moved = replace(_under(successor, series), counter=series.counter + 1)
        output.write_bytes(moved.as_bytes(successor))
        journal.commit([file, output])
        journal.record("series", asdict(StateRecord.of(moved)))


def _under(successor: Key, series: SeriesState) -> SeriesState:
    """The state with the pseudonyms of the key that replaces its own."""
    people, rows, before = (
        None if frame is None else _renamed(successor, frame)
        for frame in (series.people, series.rows, series.rows_before)
    )
    assert people is not None
    *others, last = series.releases
    if series.series:
        last = replace(last, spec="")  # the same input does not make the same release any more
    releases = (*others, last)
    return replace(series, key=successor.fingerprint, releases=releases, people=people, rows=rows, rows_before=before)


def _renamed(successor: Key, frame: pl.DataFrame) -> pl.DataFrame:
    person = pl.Series("person", successor.of_messages(frame["person"].to_list()), dtype=pl.Binary)
    return frame.with_columns(person).sort("person")


def forget(
    path: str | Path, key_path: str | Path, people: Sequence[Sequence[str]], *, force: bool = False
) -> tuple[int, int]:
    """Removes people, each by the texts of the columns that name a person; returns how many, and how many others have
    fewer than k people of their history left.

    Raises UsageError for another key, for texts that name nobody, and unless `force` where departures are deferred;
    DataError for people who are not in the series.
    """
    with locked(Path(path)) as journal:
        series, series_key = _last(path, key_path)
        if series.departures == DEFERRED and not force:
            message = "departures are deferred: from the next release on, it shows that a forgotten person is gone"
            hint = "--force forgets them nevertheless; the guarantee about departures then does not hold for them"
            raise UsageError(Problem(message, str(path), hint=hint))
        if any(len(person) != len(series.person) for person in people):
            raise UsageError(f"a person is named by {', '.join(series.person)}, in this order")
        gone = set(series_key.pseudonyms([[identified(text) for text in person] for person in people]))
        forgotten = np.array([person in gone for person in series.people["person"]], np.bool_)
        lacking = len(gone) - int(forgotten.sum())
        if lacking:
            raise DataError(Problem(f"{lacking} of {len(gone)} people are not in the series", str(path)))
        *others, last = series.releases
        again = replace(last, spec="")  # the same input does not make the same release any more
        left = replace(without_people(series, forgotten), releases=(*others, again))
        _replace(journal, left, series_key)
        _remove_links(journal.state, range(1, len(series.releases) + 1))
    return len(gone), _in_small_company(left)


def _in_small_company(series: SeriesState) -> int:
    """People of the last release whose history has fewer than k people."""
    sizes = np.bincount(series.history_of, minlength=len(series.histories))
    small = (series.histories[:, -1] >= 0) & (sizes < series.releases[-1].k)
    return int(sizes[small].sum())


def seal(path: str | Path, key_path: str | Path) -> bool:
    """Seals a state that an earlier version wrote; whether it had no seal. Raises UsageError for another key, DataError
    where it has a seal that is not that of its content."""
    with locked(Path(path)) as journal:
        series, series_key = state.load_sealed(path, key_path, unsealed=True)
        if series.counter:
            return False
        releases: list[SeriesRelease] = []
        for number, release in enumerate(series.releases, 1):
            before = releases[-1].chain if releases else ""
            releases.append(replace(release, counter=number).chained(before))
        _replace(journal, replace(series, releases=tuple(releases), counter=len(releases) - 1), series_key)
    return True


def _last(path: str | Path, key_path: str | Path) -> tuple[SeriesState, Key]:
    """The state with its key, and not an older one."""
    series, series_key = state.load_sealed(path, key_path)
    check_last(series, Path(path))
    return series, series_key


def _replace(journal: Journal, series: SeriesState, series_key: Key) -> None:
    written = replace(series, counter=series.counter + 1)
    with OutputFile(journal.state, force=True, private=True) as output:
        output.write_bytes(written.as_bytes(series_key))
        output.commit()
    journal.record("series", asdict(StateRecord.of(written)))


def _remove_links(path: Path, numbers: Iterable[int]) -> None:
    """Removes the links of some releases that are kept next to the state."""
    for number in numbers:
        kept_link(path, number).unlink(missing_ok=True)
