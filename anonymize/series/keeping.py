"""What is done to a series without a release: said, taken back, forgotten.

To take the last release back changes what the series knows, and not what others do: a release that somebody has seen
stays seen. It is for one that nobody got. To forget a person ends what is known of them here: the promise to the others
counts them no more, so that people of their history may become too few and be withheld, and if they come back they are
newcomers, whose new history an attacker can join with the old one. The releases in which they were stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from anonymize.errors import DataError, Problem, UsageError
from anonymize.series import key, state
from anonymize.series.histories import without_last, without_people
from anonymize.series.journal import locked
from anonymize.series.state import State
from anonymize.spec.missing import normalized
from anonymize.table import OutputFile


def summary(path: str | Path) -> dict[str, Any]:
    """What a series is, for people and programs; an interrupted run is finished first. No value, and no pseudonym."""
    with locked(Path(path)):
        series = state.load(path)
    return {
        "releases": [
            {
                "number": number,
                "path": release.path,
                "sha256": release.sha256,
                "date": release.date,
                "algorithm": release.algorithm,
                "k": release.k,
                "reserve": release.reserve,
                "input": release.input.path,
                "link": release.link,
                "people": dict(release.people),
            }
            for number, release in enumerate(series.releases, 1)
        ],
        "person": list(series.person),
        "departures": series.departures,
        "people": series.people.height,
        **_histories(series),
    }


def _histories(series: State) -> dict[str, int]:
    """Histories of people who were in the last release, and how many people the smallest has."""
    sizes = np.bincount(series.history_of, minlength=len(series.histories))
    there = sizes[(series.histories[:, -1] >= 0) & (sizes > 0)]
    return {"histories": len(there), "smallest_history": int(there.min()) if len(there) else 0}


def undo(path: str | Path) -> str:
    """Takes the last release back in the state; returns where it was written. Raises UsageError for the first one."""
    with locked(Path(path)) as journal:
        series = state.load(path)
        if len(series.releases) == 1:
            hint = "remove the state, and begin again with --start-series"
            raise UsageError(Problem("the first release of a series cannot be taken back", str(path), hint=hint))
        _replace(path, without_last(series))
        journal.end()
    return series.releases[-1].path


def forget(path: str | Path, key_path: str | Path, people: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Removes people, each by the texts of the columns that name a person; returns how many, and how many others have
    fewer than k people of their history left.

    Raises UsageError for another key and for texts that name nobody, DataError for people who are not in the series.
    """
    own = key.load(key_path)
    with locked(Path(path)):
        series = state.load(path)
        if series.key != own.fingerprint:
            raise UsageError(f"{key_path}: is not the key of the series {path}")
        if any(len(person) != len(series.person) for person in people):
            raise UsageError(f"a person is named by {', '.join(series.person)}, in this order")
        gone = set(own.pseudonyms([[normalized(text) for text in person] for person in people]))
        forgotten = np.array([person in gone for person in series.people["person"]], np.bool_)
        lacking = len(gone) - int(forgotten.sum())
        if lacking:
            raise DataError(Problem(f"{lacking} of {len(gone)} people are not in the series", str(path)))
        *others, last = series.releases
        again = replace(last, spec="")  # the same input does not make the same release any more
        left = replace(without_people(series, forgotten), releases=(*others, again))
        _replace(path, left)
    return len(gone), _in_small_company(left)


def _in_small_company(series: State) -> int:
    """People of the last release whose history has fewer than k people."""
    sizes = np.bincount(series.history_of, minlength=len(series.histories))
    small = (series.histories[:, -1] >= 0) & (sizes < series.releases[-1].k)
    return int(sizes[small].sum())


def _replace(path: str | Path, series: State) -> None:
    with OutputFile(path, force=True, private=True) as output:
        output.write_bytes(series.as_bytes())
        output.commit()
