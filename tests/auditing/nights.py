"""A series of releases laid out in a folder by hand: originals, releases, links, a key and a state that fits them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl

from anonymize.key import Key
from anonymize.link import Link, LinkedFile
from anonymize.series.state import SeriesRelease, SeriesState, TableFile, carried_on, value_column
from anonymize.table.files import sha256_of

SECRET = sha256(b"a key of these nights").digest()

Night = Mapping[str, tuple[str, str]]
"""Of each person the class shown and the sensitive value."""

SPEC = """\
version: 1
unit: id
quasi_identifiers: {area: {hierarchy: areas.csv}}
sensitive: {ill: {}}
privacy: {k: 3, l: 2}
output: {row_order: sorted}
"""
AREAS = "a1;A;*\na2;A;*\nb1;B;*\nb2;B;*\nc1;C;*\nc2;C;*\n"


def laid_out(
    folder: Path, nights: Sequence[Night], *, links: bool = True, areas: Mapping[str, str] | None = None
) -> SeriesState:
    """Writes `spec.yaml`, `key.json`, `state`, and of each night N from 0 `in.N.csv`, `out.N.csv`, `link.N.json`. The
    rows of a release are in the order of what they show, people of a class in that of their names backwards.
    `areas`: where people live; otherwise in one of the two areas of the class that they are shown in."""
    key = Key(SECRET)
    (folder / "spec.yaml").write_text(SPEC)
    (folder / "areas.csv").write_text(AREAS)
    (folder / "key.json").write_text(key.text)
    (folder / "key.json").chmod(0o600)
    state = state_of(nights, key, [_night(folder, number, night, links, areas) for number, night in enumerate(nights)])
    (folder / "state").write_bytes(state.as_bytes(key))
    return state


def _night(folder: Path, number: int, night: Night, links: bool, areas: Mapping[str, str] | None) -> SeriesRelease:
    original, released, link = (folder / name.format(number) for name in ("in.{}.csv", "out.{}.csv", "link.{}.json"))
    names = sorted(night)
    lives = areas or {who: f"{night[who][0].lower()}{1 + place % 2}" for place, who in enumerate(names)}
    rows = [f"{who},{lives[who]},{night[who][1]}" for who in names]
    original.write_text("\n".join(["id,area,ill", *rows]) + "\n")
    order = sorted(range(len(names)), key=lambda row: (night[names[row]][0], -row))
    released.write_text("\n".join(["area,ill", *(",".join(night[names[row]]) for row in order)]) + "\n")
    files = [LinkedFile(sha256_of(path), len(names)) for path in (original, released)]
    if links:
        link.write_text(Link(files[0], files[1], np.array(order)).text(link.name))
    return SeriesRelease(
        path=released.name,
        sha256=files[1].sha256,
        rows=len(names),
        input=TableFile(original.name, files[0].sha256, len(names)),
        link=link.name if links else None,
        date="2026-11-22T00:00:00+00:00",
        algorithm="mondrian",
        options={},
        spec="0" * 64,
        k=3,
        reserve=0,
        levels=None,
        people={},
    )


def state_of(nights: Sequence[Night], key: Key, releases: Sequence[SeriesRelease]) -> SeriesState:
    """What is on record after these nights."""
    everybody = sorted({who for night in nights for who in night}, key=lambda who: key.pseudonyms([[who]])[0])
    texts = sorted({value for night in nights for _, value in night.values()})
    histories, history_of = np.zeros((1, 0), np.int32), np.zeros(len(everybody), np.uint32)
    columns = {}
    for number, night in enumerate(nights):
        classes = sorted({shown for shown, _ in night.values()}, reverse=True)
        class_of = np.array([classes.index(night[who][0]) if who in night else -1 for who in everybody])
        histories, history_of = carried_on(histories, history_of.astype(np.int64), class_of)
        codes = [texts.index(night[who][1]) if who in night else None for who in everybody]
        columns[value_column(number, 0)] = pl.Series(codes, dtype=pl.UInt32)
    people = {
        "person": pl.Series(key.pseudonyms([[who] for who in everybody]), dtype=pl.Binary),
        "history": pl.Series(history_of, dtype=pl.UInt32),
        "since": pl.Series([0] * len(everybody), dtype=pl.UInt32),
    }
    return SeriesState(
        key=key.fingerprint,
        person=("id",),
        departures="unseen",
        fixed={},
        edges={},
        values={"ill": tuple(texts)},
        releases=tuple(releases),
        people=pl.DataFrame(people | columns),
        histories=histories,
    )


def night(people: str, classes: str, values: str) -> dict[str, tuple[str, str]]:
    """People of one letter each, with the class and the value of each; a dot for who is not there."""
    return {who: (shown, value) for who, shown, value in zip(people, classes, values, strict=True) if shown != "."}
