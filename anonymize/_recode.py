"""The road of rows that a saved recoding has never seen: what it shows for them, and how many fall outside.

saved, input ─▶ columns   the quasi-identifiers, by their distinct values
columns      ─▶ recoded   which class each row falls into, what that reads, and what is outside
recoded      ─▶ file      together with what passes through; a temporary file, renamed when the report is there too

Nothing is measured here: whether the new rows are safe to publish, `anonymize.audit` says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Any

import polars as pl

from anonymize.errors import Caution, DataError, Problem
from anonymize.families.checks import check_interval
from anonymize.files import OutputFormat
from anonymize.publication import Files, Paths, ReleasePaths, opened
from anonymize.recoding.saved import FORMAT_VERSION, Saved, load
from anonymize.recoding.saved.recoder import Counts, Recoded, recoder
from anonymize.records import dataclass
from anonymize.report import Clock
from anonymize.report.head import head, table_block
from anonymize.request import Progress, Request
from anonymize.spec import Spec, make
from anonymize.table import Table, roles
from anonymize.table.read import encode_frame, read_columns
from anonymize.writing import rows


@dataclass(frozen=True)
class Recode:
    """What `recode` was asked for: paths of the recoding, the table (`-`: standard input) and its output (`-`), and of
    reports, the kind by suffix. `seed`: of the shuffle, where the release was shuffled."""

    recoding: str
    input: str
    output: str = "-"
    output_format: OutputFormat | None = None
    reports: Sequence[str] = ()
    seed: int | None = None
    force: bool = False
    progress: Progress = field(default=lambda stage, count, total: None)


def recode(request: Recode) -> dict[str, Any]:
    """Walks the road; returns the report that was written.

    Raises what `load` raises; DataError where the table lacks a quasi-identifier, has columns without a role, or is not
    sound; UsageError and WriteError for outputs. Then nothing has been written.
    """
    clock, saved = Clock(), load(request.recoding)
    outputs, kind = ReleasePaths([request.output]), request.output_format
    paths = Paths(request.input, outputs, request.reports, output_format=kind, force=request.force)
    paths.check([request.recoding, request.input])
    # How the input is read, before its columns are known.
    reading = make({"version": 1, "input": _input(saved), "quasi_identifiers": {"any": {}}}, {})
    with opened(reading, paths) as files:
        source = files.source
        spec = spec_of(saved, source.columns, source.name)
        with clock("read"):
            columns = read_columns(spec, source)
        with clock("recode"):
            recoded = recoder(saved, columns)
        with clock("write"):
            table = Table(source.rows or 0, (), (), source.columns, source, ())
            written = Request(spec, saved.algorithm, None, seed=request.seed, progress=request.progress)
            target = files.table
            frames = rows.frames(written, table, recoded.released, target.format, separator=target.separator)
            target.write(frames)
        report = _report(request.recoding, saved, files, recoded, clock)
        files.publish(report)
    return report


def recode_frame(saved: Saved, frame: pl.DataFrame) -> tuple[pl.DataFrame, Counts]:
    """Recodes a table in memory, in which a null is a missing value; returns what is released, in order, and the
    counts.

    What passes through comes out as it is, of any type. Raises DataError as `recode` does.

    >>> import tempfile
    >>> from anonymize.algorithms import ALGORITHMS
    >>> from anonymize.privacy import PARAMETERS
    >>> from anonymize.recoding.saved import load
    >>> from anonymize._release import release
    >>> folder = tempfile.mkdtemp()
    >>> pl.DataFrame({"age": [31, 34, 52, 58]}).write_csv(f"{folder}/table.csv")
    >>> content = {"version": 1, "input": {"path": f"{folder}/table.csv"}, "privacy": {"k": 2}}
    >>> spec = make(content | {"quasi_identifiers": {"age": {"type": "numeric"}}}, PARAMETERS)
    >>> files = {"output": f"{folder}/released.csv", "save_recoding": f"{folder}/recoding.json"}
    >>> _ = release(Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), **files))
    >>> recoded, counts = recode_frame(load(f"{folder}/recoding.json"), pl.DataFrame({"age": [33, 57]}))
    >>> recoded["age"].to_list()
    ['34-', '52+']
    """
    spec = spec_of(saved, frame.columns, "the table")
    recoded = recoder(saved, encode_frame(spec, frame))
    hidden = spec.output.suppressed if spec.hides else None
    reading = rows.RowLayout(recoded.released, spec.roles(), tuple(frame.columns), hidden=hidden)
    return reading.piece(frame, recoded.released.class_of), recoded.counts


def spec_of(saved: Saved, columns: Sequence[str], name: str) -> Spec:
    """The roles of a table's columns. Raises DataError for quasi-identifiers that it lacks, and columns that it has
    and the recoding does not know; other columns may be absent. Raises UsageError for a template by which intervals
    leave an end out."""
    numbers = saved.table.numbers
    quasi = {each.name: {"type": each.type, **numbers.get(each.name, {})} for each in saved.attributes}
    columns_of_recoding = {*quasi, *saved.table.identifiers, *saved.table.others}
    problems = [
        Problem(f"has no column {column!r}, which the recoding needs", name)
        for column in quasi
        if column not in columns
    ]
    strange = [column for column in columns if column not in columns_of_recoding]
    if len(strange) == len(columns):
        raise DataError(
            Problem(f"no column of the recoding is in it: {roles.columns_in(columns, columns_of_recoding)}", name)
        )
    if strange:
        hint = "leave them out: the recoding knows the columns of the table that it was made from"
        problems.append(Problem(f"columns without a role in the recoding: {', '.join(strange)}", name, hint=hint))
    if problems:
        raise DataError(problems)
    spec = make(
        {
            "version": 1,
            "input": _input(saved),
            "identifiers": [column for column in saved.table.identifiers if column in columns],
            "quasi_identifiers": quasi,
            "insensitive": [column for column in saved.table.others if column in columns],
            "output": saved.output.model_dump(),
        },
        {},
    )
    check_interval(spec)
    return spec


def _input(saved: Saved) -> dict[str, Any]:
    table = saved.table
    settings = {name: getattr(table, name) for name in ("separator", "encoding", "normalize", "header", "unnamed")}
    return settings | {"missing": list(table.missing)}


def _report(path: str, saved: Saved, files: Files, recoded: Recoded, clock: Clock) -> dict[str, Any]:
    counts = asdict(recoded.counts)
    attributes, total = counts.pop("attributes"), counts.pop("rows")
    source, released = files.source, recoded.released
    warnings = [
        Caution.of("the table was not measured", "`anonymize audit SPEC -i RECODED` says whether it is safe to publish")
    ]
    return {
        **head(clock),
        "recoding": {
            "path": path,
            "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest(),
            "format_version": FORMAT_VERSION,
            "algorithm": saved.algorithm,
            "kind": saved.kind,
        },
        "input": table_block(source, total),
        "output": {
            "path": files.table.name,
            "sha256": files.table.sha256,
            "rows": total - released.dropped_rows,
            "suppressed_rows": released.suppressed_rows,
            "dropped_rows": released.dropped_rows,
        },
        "outside": {"rows": counts.pop("outside"), **counts, "attributes": attributes},
        "timing": clock.timing(),
        "warnings": warnings,
    }
