"""The road of rows that a saved recoding has never seen: what it shows for them, and how many fall outside.

saved, input ─▶ columns   the quasi-identifiers, by their distinct values
columns      ─▶ recoded   which class each row falls into, what that reads, and what is outside
recoded      ─▶ file      beside what passes through; a temporary file, renamed when the report is there too

Nothing is measured here: whether the new rows are safe to publish, `anonymize.audit` says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from anonymize import __version__, rows
from anonymize.errors import DataError, Problem
from anonymize.recoding.saved import FORMAT_VERSION, Counts, Recoded, Saved, load, recoder
from anonymize.report import RENDERERS, Clock, kind_of
from anonymize.report.data import SCHEMA_VERSION
from anonymize.request import Progress, Request, refuse_twice
from anonymize.spec import Spec, make
from anonymize.table import Output, Source, Table, commit
from anonymize.table.read import encode_frame, read_columns
from anonymize.table.write import OutputFormat


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
    progress: Progress = field(default=lambda stage, done, total: None)


def recode(asked: Recode) -> dict[str, Any]:
    """Walks the road; returns the report that was written.

    Raises what `load` raises; DataError where the table lacks a quasi-identifier, has columns without a role, or is not
    sound; UsageError and WriteError for outputs. Then nothing has been written.
    """
    clock, saved = Clock(), load(asked.recoding)
    for path in asked.reports:
        kind_of(path)
    refuse_twice([asked.recoding, asked.input, asked.output, *asked.reports])
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(_reading(saved), asked.input))
        target = stack.enter_context(
            Output(asked.output, force=asked.force, form=asked.output_format, separator=source.separator)
        )
        reports = [stack.enter_context(Output(path, force=asked.force)) for path in asked.reports]
        spec = spec_of(saved, source.columns, source.name)
        with clock("read"):
            columns = read_columns(spec, source)
        with clock("recode"):
            found = recoder(saved, columns)
        with clock("write"):
            table = Table(source.rows or 0, (), (), source.columns, source, ())
            request = Request(spec, saved.algorithm, None, seed=asked.seed, progress=asked.progress)
            target.write(rows.frames(request, table, found.released, target.format))
        report = _report(asked, saved, source, target, found, clock)
        for output in reports:
            output.write_text(RENDERERS[kind_of(output.name)](report))
        source.unchanged()
        commit([*reports, target])
    return report


def recode_frame(saved: Saved, frame: pl.DataFrame) -> tuple[pl.DataFrame, Counts]:
    """The same of a table in memory, in which a null is a missing value: what is released, in order, and the counts.

    What passes through comes out as it is, of any type. Raises DataError as `recode` does.

    >>> import tempfile
    >>> from anonymize.algorithms import ALGORITHMS
    >>> from anonymize.privacy import PARAMETERS
    >>> from anonymize.recoding.saved import load
    >>> from anonymize.release import release
    >>> folder = tempfile.mkdtemp()
    >>> pl.DataFrame({"age": [31, 34, 52, 58]}).write_csv(f"{folder}/table.csv")
    >>> content = {"version": 1, "input": {"path": f"{folder}/table.csv"}, "privacy": {"k": 2}}
    >>> spec = make(content | {"quasi_identifiers": {"age": {"type": "numeric"}}}, PARAMETERS)
    >>> files = {"output": f"{folder}/released.csv", "save_recoding": f"{folder}/recoding.json"}
    >>> _ = release(Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), **files))
    >>> recoded, counts = recode_frame(load(f"{folder}/recoding.json"), pl.DataFrame({"age": [33, 57]}))
    >>> recoded["age"].to_list()
    ['[31-34]', '[52-58]']
    """
    spec = spec_of(saved, frame.columns, "the table")
    found = recoder(saved, encode_frame(spec, frame))
    shown = rows.Shown(found.released, spec.roles(), tuple(frame.columns))
    return shown.piece(frame, found.released.class_of), found.counts


def spec_of(saved: Saved, columns: Sequence[str], name: str) -> Spec:
    """The roles of a table's columns. Raises DataError for quasi-identifiers that it lacks, and columns that it has
    and the recoding does not know; other columns may be absent."""
    quasi = {attribute.name: {"type": attribute.type} for attribute in saved.attributes}
    known = {*quasi, *saved.table.identifiers, *saved.table.others}
    problems = [
        Problem(f"has no column {column!r}, which the recoding needs", name)
        for column in quasi
        if column not in columns
    ]
    strange = [column for column in columns if column not in known]
    if strange:
        hint = "leave them out: the recoding knows the columns of the table that it was made from"
        problems.append(Problem(f"columns without a role in the recoding: {', '.join(strange)}", name, hint=hint))
    if problems:
        raise DataError(problems)
    return make(
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


def _reading(saved: Saved) -> Spec:
    """A spec that says how the input is read, before its columns are known."""
    return make({"version": 1, "input": _input(saved), "quasi_identifiers": {"any": {}}}, {})


def _input(saved: Saved) -> dict[str, Any]:
    table = saved.table
    return {"separator": table.separator, "missing": list(table.missing), "encoding": table.encoding}


def _report(
    asked: Recode, saved: Saved, source: Source, target: Output, found: Recoded, clock: Clock
) -> dict[str, Any]:
    counts = asdict(found.counts)
    attributes, total = counts.pop("attributes"), counts.pop("rows")
    lost = found.released
    warnings = ["the table was not measured: `anonymize audit` says whether it is safe to publish"]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "anonymize", "version": __version__},
        "started_at": clock.started_at.isoformat(timespec="seconds"),
        "recoding": {
            "path": asked.recoding,
            "sha256": hashlib.sha256(Path(asked.recoding).read_bytes()).hexdigest(),
            "format_version": FORMAT_VERSION,
            "algorithm": saved.algorithm,
            "kind": saved.kind,
        },
        "input": {"path": source.name, "sha256": source.sha256, "rows": total, "columns": len(source.columns)},
        "output": {
            "path": target.name,
            "sha256": target.sha256,
            "rows": total - lost.dropped_rows,
            "suppressed_rows": lost.suppressed_rows,
            "dropped_rows": lost.dropped_rows,
        },
        "outside": {"rows": counts.pop("outside"), **counts, "attributes": attributes},
        "timing": clock.timing(),
        "warnings": warnings,
    }
