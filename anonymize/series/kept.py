"""What is kept from one release of a series to the next: what has to stay as it is, and people as they were last in
an input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from anonymize.classes import Bools
from anonymize.errors import DataError, Problem, UsageError
from anonymize.request import Request
from anonymize.spec import Rare, Spec, Zip3
from anonymize.spec.columns import WITHHELD
from anonymize.table import Source, files, spool
from anonymize.table.named import column
from anonymize.table.source import copied

# --- what has to stay -------------------------------------------------------------------------------------------------
# Free to change: weights, the algorithm's options, the workload, columns that pass through, a larger k or l, further
# models. Histories mean the same only as long as classes do, so that quasi-identifiers, their hierarchies and the
# output stay; and what was promised to those who are in the series is not taken back.

OUTPUT = ("interval", "open_high", "open_low", "numeric", "categorical", "suppressed", "edges")
RISING = ("k", "l")


def fixed_part(spec: Spec, *, by_levels: bool) -> dict[str, Any]:
    """What is kept in the state, as JSON has it. `by_levels`: whether classes are levels of whole hierarchies."""
    quasi = {name: [each.type, _hierarchy(each.hierarchy), each.round] for name, each in spec.quasi_identifiers.items()}
    pseudonym = {} if spec.output.pseudonym is None else {"pseudonym": spec.output.pseudonym}
    content = {
        "recoding": "levels" if by_levels else "regions",
        "quasi_identifiers": quasi,
        "sensitive": {name: [each.type, _hierarchy(each.hierarchy)] for name, each in spec.sensitive.items()},
        "missing": [list(spec.input.missing), spec.input.normalize],
        "output": {name: getattr(spec.output, name) for name in OUTPUT} | pseudonym,
        "departures": spec.series.departures,
        "k": spec.largest_k,
        "l": spec.privacy.l,
        "models": [
            {"model": entry.model, "attribute": entry.attribute}
            | entry.parameters.model_dump(mode="json", exclude_none=True)
            for entry in spec.privacy.models
        ],
    }
    return dict(json.loads(json.dumps(content, default=str)))


def _hierarchy(source: Any) -> Any:
    """A file by its hash, so that its content is fixed and not its path."""
    if isinstance(source, Path):
        return files.sha256_of(source)
    if isinstance(source, Zip3):
        return {"zip3": files.sha256_of(source.zip3)}
    return None if source is None else source.model_dump(mode="json")


def check_unchanged(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raises UsageError for everything that is not as it was when the series began, or when it was last raised."""
    problems = [
        Problem(f"{name}: {why}", hint="start a new series with --start-series") for name, why in _wrong(before, now)
    ]
    if problems:
        raise UsageError(problems)


def _wrong(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in before.items():
        if name in RISING:
            if value is not None and (now[name] is None or now[name] < value):
                yield name, f"is below {value}, the k of the earlier releases of the series"
        elif name == "models":
            if any(entry not in now[name] for entry in value):
                yield "privacy.models", "lacks what was required at earlier releases"
        elif value != now[name]:
            yield name, "not what it was at earlier releases of the series"


def refuse_differential(spec: Spec) -> None:
    """Raises UsageError for differential privacy, which releases that follow each other do not have."""
    if spec.privacy.differential is not None:
        message = "privacy.differential: releases of a series are made of what their people showed before"
        hint = "leave it out; a ledger, with --budget, adds up what private releases of the same people spend"
        raise UsageError(spec.problem(("privacy", "differential"), message, hint))


def check_possible(spec: Spec) -> None:
    """Raises UsageError for a spec that a series can do nothing with."""
    refuse_differential(spec)
    if spec.largest_k is None:
        raise UsageError(Problem("a series needs a k", hint="set privacy.k"))
    if names := spec.missing_as_value:
        message = f"sensitive.{names[0]}.missing: value: not in a series, whose histories contain only known values"
        raise UsageError(Problem(message, hint="leave `missing` out"))
    if spec.series.departures == "deferred" and spec.output.row_order == "keep":
        hint = "row_order: sorted, or shuffle"
        raise UsageError(Problem("departures: deferred: rows in the input's order show who is not in it", hint=hint))
    if spec.output.pseudonym is not None and spec.series.departures != "deferred":
        message = "output.pseudonym: recipients who follow people would see who leaves"
        raise UsageError(Problem(message, hint="series: {departures: deferred}"))
    if spec.weight_coding is not None and spec.weight_coding.bands:
        hint = "sampling_weight: {column: NAME, round: STEP} shows the same at every release"
        raise UsageError(Problem("sampling_weight: bands: their means change from release to release", hint=hint))
    rare = [name for name, each in spec.quasi_identifiers.items() if isinstance(each.hierarchy, Rare)]
    if rare:
        message = f"{', '.join(rare)}: which values are rare changes from release to release"
        hint = "write the hierarchy as a file with `anonymize hierarchy make`, so that it stays as it is"
        raise UsageError(Problem(message, hint=hint))


def fingerprint_of(request: Request, fixed: Mapping[str, Any]) -> str:
    """A hash of what was asked for, without the input: the same release follows from the same."""
    content = {
        "spec": request.spec.model_dump(mode="json", exclude={"input": {"path"}}),
        "fixed": fixed,
        "algorithm": request.algorithm,
        "options": asdict(request.options),
        "seed": request.seed,
        "format": request.output_format,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


# --- people as they were ----------------------------------------------------------------------------------------------
# Where departures are deferred the state has people as they were last in an input; they are put behind the rows of the
# next one. A frame of them has a row a person: `person` (Binary), `release` (UInt32, the number from 0 of the release
# of whose input the row was one), `row` (UInt32, which one it was there, from 0), and for each column that a release is
# made of `cell NAME`, as it was in the input. Columns that name people are not among them.

KEYS = {"person": pl.Binary, "release": pl.UInt32, "row": pl.UInt32}
_CELL = "cell "


def is_sound(frame: pl.DataFrame) -> bool:
    """Whether a frame is one of people as they were last."""
    names = frame.columns
    fine = all(frame.schema.get(name) == kind() for name, kind in KEYS.items())
    return fine and all(name.startswith(_CELL) for name in names[len(KEYS) :])


def cells_of(spec: Spec, source: Source) -> pl.DataFrame:
    """The rows of a source that has been read, without what names people."""
    roles = spec.roles()
    names = [name for name in source.columns if roles[name] not in WITHHELD]
    chosen = [column(name).alias(f"{_CELL}{name}") for name in names]
    return source.scan().select(chosen).collect(engine="streaming")


def next_rows(
    cells: pl.DataFrame, person: pl.Series, released: Bools, number: int, departed: pl.DataFrame | None
) -> pl.DataFrame:
    """The rows that are `released` (rows,) at release `number`. The last of the `cells` are of people who
    have `departed`."""
    row_numbers = pl.int_range(cells.height, dtype=pl.UInt32, eager=True).alias("row")
    number_of = pl.repeat(number, cells.height, dtype=pl.UInt32, eager=True).alias("release")
    frame = pl.DataFrame([person.alias("person"), number_of, row_numbers]).hstack(cells)
    if departed is not None:
        others = departed.select(list(KEYS)).hstack(cells.tail(departed.height))
        frame = pl.concat([frame.head(frame.height - departed.height), others])
    return frame.filter(pl.Series(released)).sort("person")


@contextmanager
def continued(source: Source, naming: Sequence[str], departed: pl.DataFrame, inputs: Sequence[str]) -> Iterator[Source]:
    """A checked source with people behind it who are not in it, named by hexadecimal pseudonyms, as an unnamed copy
    with its name and hash, as long as the block. `inputs`: the hash of each release's input. Raises DataError where the
    type of a column has changed, WriteError where there is no room."""
    named = departed["person"].bin.encode("hex")
    columns = [named.alias(name) if name in naming else _column(source, name, departed) for name in source.columns]
    texts = [column(name).cast(pl.String) if name in naming else column(name) for name in source.columns]
    earlier = tuple((inputs[number], row) for number, row in departed.select("release", "row").iter_rows())
    both_tables = pl.concat([source.scan().select(texts), pl.LazyFrame(columns)])
    with copied(both_tables, source) as path:
        form = source.format if source.format == "csv" else "arrow"
        source.unchanged()
        both = Source(spool.Opened(path, source.name, form, sha256=source.sha256), source.separator)
        both.earlier = earlier
        yield both


def _column(source: Source, name: str, departed: pl.DataFrame) -> pl.Series:
    """What a column has for people who are not in the source; missing where it had none then."""
    kind = source.schema[name]
    if f"{_CELL}{name}" not in departed.columns:
        return pl.Series(name, [None] * departed.height, dtype=kind)
    try:
        return departed[f"{_CELL}{name}"].cast(kind).alias(name)
    except pl.exceptions.PolarsError:
        message = f"column {name!r} has another type than in earlier releases"
        raise DataError(Problem(message, source.name)) from None
