"""The private link between a release and the table that it was made of: which row of the input each released row is.

A release in sorted or random order does not tell it. Its owner needs it where rows have to be matched, and nobody else
may have it: whoever holds the link and the input knows whom every released row is about. It names both files by their
hashes, and fits no others.

In a series that defers departures some rows are of people who are not in the input any more: of these the link says
which row of which earlier input each is. A link of a series also says of which, and when: an older state that is put
back is known by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from anonymize import __version__
from anonymize.errors import DataError, Problem
from anonymize.records import dataclass
from anonymize.table.files import reason

if TYPE_CHECKING:
    from anonymize.table import Source

SAVE_LINK = "save-link"
"""The option that names the file."""
SUFFIXES: tuple[str, ...] = (".json", ".csv")
FORMAT, FORMAT_VERSION = "anonymize link", 1
_COLUMN = "input_row"


def released_row_of(rows: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """(count,) the released row that each row of the input is, -1 for none; `rows`: see `Link`."""
    row_of, placed = np.full(count, -1), np.flatnonzero(rows >= 0)
    row_of[rows[placed]] = placed
    return row_of


@dataclass(frozen=True)
class LinkedFile:
    """A file that a link is about."""

    sha256: str
    rows: int


@dataclass(frozen=True)
class Link:
    """`rows` (released rows,): the row of the input, from 0, that each released row is; -1 for one of an earlier input,
    of which `earlier` says: the released row, the hash of that input, and the row there, from 0. `series`: what the
    state of a series had on record then, see `anonymize.series.keeping`."""

    input: LinkedFile
    release: LinkedFile
    rows: NDArray[np.int64]
    earlier: Sequence[tuple[int, str, int]] = ()
    series: Mapping[str, Any] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """The file. Rows count from 1 there: JSON, or by its name a CSV of one column after a comment with the rest."""
        header = {"format": FORMAT, "format_version": FORMAT_VERSION, "tool": __version__}
        header |= {"series": self.series} if self.series else {}
        header |= {"input": asdict(self.input), "release": asdict(self.release)}
        if self.earlier:
            header["earlier"] = [[place + 1, sha256, row + 1] for place, sha256, row in self.earlier]
        numbers = (self.rows + 1).tolist()
        if name.lower().endswith(".csv"):
            return "\n".join([f"# {json.dumps(header)}", _COLUMN, *map(str, numbers), ""])
        return json.dumps(header | {f"{_COLUMN}s": numbers}) + "\n"

    def check(self, path: str | Path, *, input: str, release: str) -> None:
        """Raises DataError where the link is about other files than those with these hashes."""
        pairs = {"input": (self.input.sha256, input), "release": (self.release.sha256, release)}
        problems = [
            Problem(f"is about another {name}: its hash is not that of the file", str(path))
            for name, (recorded, given) in pairs.items()
            if recorded != given
        ]
        if problems:
            raise DataError(problems)


def link_of(source: Source, rows: int, release: str, written: NDArray[np.int64]) -> Link:
    """The link of a release with this hash; `written`: which of so many `rows` of the source each of its rows is."""
    count = rows - len(source.earlier)
    places = np.flatnonzero(written >= count)
    earlier = [(int(place), *source.earlier[row]) for place, row in zip(places, written[places] - count, strict=True)]
    files = LinkedFile(source.sha256, count), LinkedFile(release, len(written))
    return Link(*files, np.where(written < count, written, -1), earlier)


def load(path: str | Path, *, with_earlier: bool = False) -> Link:
    """Reads a link. Raises DataError where it cannot be read, or is damaged; and, unless `with_earlier`, where it has
    rows of people who are not in the input."""
    link = _loaded(path)
    if link.earlier and not with_earlier:
        message = f"{len(link.earlier)} of {link.release.rows} rows are about people who are not in the input any more"
        raise DataError(
            Problem(message, str(path), hint="rows of a release with deferred departures cannot be matched")
        )
    return link


def linked_rows(path: str | Path, *, input: str, release: str, with_earlier: bool = False) -> NDArray[np.int64]:
    """The `rows` of a link between the files with these hashes. Raises DataError as `load` and `Link.check` do."""
    link = load(path, with_earlier=with_earlier)
    link.check(path, input=input, release=release)
    return link.rows


def _loaded(path: str | Path) -> Link:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {reason(error)}", file=str(path))) from None
    except UnicodeDecodeError:
        raise _damaged(path) from None
    try:
        return _link(*_parts(text))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        raise _damaged(path) from None


def _parts(text: str) -> tuple[dict[str, Any], list[int]]:
    """The header, and the rows from 1."""
    if not text.startswith("#"):
        header = json.loads(text)
        return header, header[f"{_COLUMN}s"]
    first, column, *numbers = text.splitlines()
    if column != _COLUMN:
        raise ValueError
    return json.loads(first[1:]), [int(number) for number in numbers]


def _link(header: dict[str, Any], numbers: list[int]) -> Link:
    """Raises ValueError, KeyError or TypeError for what is not a link of this version."""
    files = [LinkedFile(str(header[name]["sha256"]), int(header[name]["rows"])) for name in ("input", "release")]
    rows = np.array(numbers, np.int64).reshape(-1) - 1
    is_ours = (header["format"], header["format_version"]) == (FORMAT, FORMAT_VERSION)
    earlier = [(int(place) - 1, str(sha256), int(row) - 1) for place, sha256, row in header.get("earlier", ())]
    placed = rows[rows >= 0]
    within = min((row for *_, row in earlier), default=0) >= 0
    within &= not len(rows) or (rows.min() >= -1 and rows.max() < files[0].rows)
    fits = np.flatnonzero(rows < 0).tolist() == [place for place, _, _ in earlier]
    if not is_ours or len(rows) != files[1].rows or not within or len(np.unique(placed)) < len(placed) or not fits:
        raise ValueError
    return Link(files[0], files[1], rows, earlier)


def _damaged(path: str | Path) -> DataError:
    hint = f"one is written with --{SAVE_LINK}"
    return DataError(Problem(f"is not a link of format_version {FORMAT_VERSION}, or is damaged", str(path), hint=hint))
