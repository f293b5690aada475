"""What Python users hand over and get back: frames as files, as long as a command reads them, and reports that a
notebook shows as pages."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from functools import partial
from html import escape
from typing import Any, TypeAlias

import polars as pl

from anonymize import files
from anonymize._validate import Validated
from anonymize.claims import State
from anonymize.errors import AnonymizeError, DataError, Problem, UsageError
from anonymize.files import FRAME, MANIFEST, manifest_beside, pair_of, parameters_beside, split
from anonymize.guarding import guarded
from anonymize.publication import report_files
from anonymize.records import dataclass
from anonymize.report import RENDERERS
from anonymize.spec import Spec
from anonymize.table import commit, named, source, spool
from anonymize.table.files import spooled
from anonymize.table.write import check_table

__all__ = ["Attacked", "AuditReport", "ComparedReleases", "Evaluated", "RecodedTable", "Release", "Validated"]


# --- frames as files --------------------------------------------------------------------------------------------------
# Tables of Python users: frames as files, as long as a command reads them, and files as the kind of frame that came.
#
# A frame is held in a file that has no name, where the system allows it, and messages call it `<frame>`. All frames
# come in by `polars_of`, as a library may quote a cell that it cannot convert: a column that cannot be converted has no
# values behind that door, and is refused by its name wherever one of its values is wanted.

Frame: TypeAlias = Any
"""A polars DataFrame or LazyFrame, or whatever exports an Arrow stream: a frame of pandas, a table of pyarrow."""


@contextmanager
def table_of(data: Frame | str | os.PathLike[str] | None, *, shared: bool = False) -> Iterator[str | None]:
    """The table as a path, as long as the block. A frame is held in a file that has no name, where the system allows
    it, so that nothing of it is left, however the process ends; in one of a name if it is `shared` with processes."""
    if data is None or isinstance(data, str | os.PathLike):
        yield path_of(data)
        return
    frame = polars_of(data)
    with ExitStack() as stack:
        write = partial(frame.write_ipc, compression="uncompressed")
        if shared:
            held = stack.enter_context(files.folder()) / "frame.arrow"
            write(held)
        else:
            held = spooled(write)
        stack.callback(files.remove, held)
        try:
            yield str(held)
        except AnonymizeError as error:
            about_frame(error, str(held))
            raise


def about_frame(error: AnonymizeError, path: str) -> None:
    """Makes an error speak of a frame, and not of the file that it is held in."""
    error.problems = tuple(
        replace(each, file=FRAME if each.file == path else each.file, message=each.message.replace(path, FRAME))
        for each in error.problems
    )
    error.args = ("\n".join(map(str, error.problems)),)


def polars_of(data: Frame) -> pl.DataFrame:
    """The frame as one of polars. Raises UsageError for what is no table, and DataError for one that cannot be read."""
    if not isinstance(data, pl.LazyFrame) and not hasattr(data, "__arrow_c_stream__"):
        kind = f"{type(data).__module__}.{type(data).__qualname__}"
        hint = "a path, or a frame of polars, pandas 2.2 or newer, or pyarrow"
        raise UsageError(Problem(f"{kind} is not a table", hint=hint))
    lazy = isinstance(data, pl.LazyFrame)
    frame = _tried(data.collect) if lazy else _tried(lambda: pl.DataFrame(data))
    if frame is None and (hasattr(data, "iloc") or hasattr(data, "column_names")):
        frame = _by_columns(data)
    if frame is None:
        advice = "collect it, and look at what polars says" if lazy else None
        raise DataError(Problem("cannot be read as a table", file=FRAME, hint=advice))
    objects = [pl.lit(None, source.UNREAD).alias(name) for name, kind in frame.schema.items() if kind == pl.Object]
    return frame.with_columns(objects) if objects else frame


def _by_columns(data: Any) -> pl.DataFrame:
    """A frame of pandas or a table of pyarrow, column by column. Raises DataError for columns of the same name."""
    pandas = hasattr(data, "iloc")
    names = [str(name) for name in (data.columns if pandas else data.column_names)]
    named.check_names(names, FRAME)
    unread = pl.Series([None] * len(data), dtype=source.UNREAD).to_frame()
    columns = []
    for place, name in enumerate(names):
        column = data.iloc[:, [place]] if pandas else data.select([place])
        part = _tried(partial(pl.DataFrame, column))
        columns.append((unread if part is None else part).to_series().alias(name))
    return pl.DataFrame(columns)


def _tried(convert: Callable[[], pl.DataFrame]) -> pl.DataFrame | None:
    """What a library makes of a frame; None for one that it refuses, whose cell it may quote."""
    try:
        return convert()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # a panic of polars is not an Exception
        return None


_KINDS: dict[str, Callable[[pl.DataFrame], Frame]] = {
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}


def of_kind(frame: pl.DataFrame, data: Frame) -> Frame:
    """A frame as the kind that the data came as."""
    convert = _KINDS.get(type(data).__module__.partition(".")[0])
    return frame if convert is None else convert(frame)


@contextmanager
def saved_at(recoding: Mapping[str, Any] | str | os.PathLike[str]) -> Iterator[str]:
    """A saved recoding as a path, as long as the block. Raises UsageError for what is none."""
    if isinstance(recoding, str | os.PathLike):
        yield os.fspath(recoding)
        return
    with files.folder() as folder:
        path = folder / "recoding.json"
        path.write_text(_json(recoding))
        yield str(path)


def _json(recoding: Mapping[str, Any]) -> str:
    """Raises UsageError for what is not a mapping, or has values that JSON does not have."""
    try:
        if isinstance(recoding, Mapping):
            return json.dumps(recoding)
    except (TypeError, ValueError):
        pass
    kind = f"{type(recoding).__module__}.{type(recoding).__qualname__}"
    hint = "a path, or the `recoding` of a Release, None where classes are not a function of the values"
    raise UsageError(Problem(f"{kind} is not a saved recoding", hint=hint))


def kept_at(output: str | os.PathLike[str] | None, *, in_series: bool) -> str | None:
    """Where a release is kept, as text; None for one that is not. Raises UsageError for a release of a series that is
    kept nowhere, and for a file that cannot be read as a frame."""
    if output is None and in_series:
        raise UsageError(Problem("a release of a series is a file", hint="name it with output"))
    path = path_of(output)
    if path is not None and split(path)[1].lower() not in _READ:
        raise UsageError(Problem("is not of a kind that can be read again", path, hint=f"one of {', '.join(_READ)}"))
    return path


def written(path: str, spec: Spec) -> pl.DataFrame:
    """A release that was written; a CSV as text, with nulls where it has empty fields."""
    return _READ[split(path)[1].lower()](path, spec.input.separator)


def _csv(path: str, separator: str) -> pl.DataFrame:
    return pl.read_csv(path, separator=separator, infer_schema=False)


_READ: dict[str, Callable[[str, str], pl.DataFrame]] = {
    ".csv": _csv,
    ".csv.gz": _csv,
    ".parquet": lambda path, separator: pl.read_parquet(path),
    ".arrow": lambda path, separator: pl.read_ipc(path),
}
"""How a release is read, by its suffix."""


def path_of(path: str | os.PathLike[str] | None) -> str | None:
    """A path as text; None for none."""
    return None if path is None else os.fspath(path)


def without_paths(report: dict[str, Any], data: Frame) -> dict[str, Any]:
    """The report without names of files that are gone."""
    report = dict(report)
    for block in ("input", "output"):
        gone = block == "output" or not isinstance(data, str | os.PathLike)
        if gone and "path" in report.get(block, {}):
            report[block] = {**report[block], "path": FRAME}
    return report


# --- results ----------------------------------------------------------------------------------------------------------
# What Python users get back: frames, and reports that a notebook shows as pages.


@dataclass(frozen=True, repr=False)
class Reported:
    """A result with a report, which notebooks show: the verdict and the figures first, the page folded beneath."""

    report: dict[str, Any]

    @property
    def private(self) -> bool:
        """Whether the report tells more than what is published does, and is as confidential as the input."""
        return bool(self.report["private"])

    @guarded
    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the report; a private one is readable by its owner alone.

        Args:
            path: its form is by its suffix: .json, .md or .html (with the extra `html`).
            force: replace a file that exists.

        Raises:
            UsageError: another suffix, or the file exists.
            WriteError: it cannot be written.
        """
        with report_files([os.fspath(path)], force=force) as publish:
            publish(self.report)

    @guarded
    def to_html(self) -> str:
        """The report as a page that needs no other file. Raises UsageError without the extra `html`."""
        return RENDERERS[".html"](self.report)

    def summary(self) -> str:
        """The verdict, the figures on which it rests, what is not met, and warnings, as text."""
        from anonymize.report.page import page

        about = page(self.report)
        figures = {name: f"{number}{meaning}" for name, number, meaning in about.figures}
        width = max(map(len, figures), default=0)
        lines = [f"{about.verdict[0].upper()}{about.verdict[1:]}."]
        lines += [f"{name:{width}}  {text}" for name, text in figures.items()] or filter(None, [about.summary])
        lines += [f"{about.problems_title}: {problem}" for problem in about.problems]
        return "\n".join([*lines, *(f"Warning: {warning}" for warning in about.warnings)])

    def __repr__(self) -> str:
        from anonymize.report.page import page

        return f"<{type(self).__name__}: {page(self.report).verdict}>"

    def _repr_html_(self) -> str:
        """The summary, and the page folded beneath, in a frame of its own, so that its style stays there; Markdown
        where the extra `html` is absent."""
        try:
            page = RENDERERS[".html"](self.report)
            style = "width:100%;height:40rem;border:0"
            whole = f'<iframe title="Anonymization report" style="{style}" srcdoc="{escape(page)}"></iframe>'
        except UsageError:
            whole = f"<pre>{escape(RENDERERS['.md'](self.report))}</pre>"
        summary = f"<pre>{escape(self.summary())}</pre>"
        return f"{summary}<details><summary>The whole report</summary>{whole}</details>"


@dataclass(frozen=True, repr=False)
class Tabled(Reported):
    """A result with a table, of the kind of frame that went in (polars for a file)."""

    frame: Frame

    @guarded
    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the table or the report, by the suffix: .csv, .csv.gz, .parquet, .arrow, .xlsx; .json, .md, .html.

        The other tables of a release take their places beside it: `released.st.csv` beside `released.qit.csv`.

        Args:
            path: where to; a CSV has the separator of the input.
            force: replace files that exist.

        Raises:
            UsageError: a suffix that is none of these, or the file exists.
            WriteError: it cannot be written.
        """
        name = os.fspath(path)
        if os.path.splitext(name)[1].lower() in RENDERERS:
            super().save(path, force=force)
            return
        with ExitStack() as stack:
            outputs = []
            for target, content in self._files(name).items():
                check_table(target, None, (".json",))
                output = stack.enter_context(spool.output_table(target, force=force, separator=self._separator))
                if isinstance(content, Mapping):
                    output.write_text(json.dumps(content, ensure_ascii=False, indent=1))
                else:
                    output.write([polars_of(content)])
                outputs.append(output)
            commit(outputs)
        files.warn_of_foreign(name, self._files(name))

    def _files(self, path: str) -> dict[str, Any]:
        return {path: self.frame}

    @property
    def _separator(self) -> str:
        return ","


@dataclass(frozen=True, repr=False)
class Release(Tabled):
    """A release that was verified.

    Attributes:
        frame: its rows, of the kind of frame that went in (polars for a file).
        report: the report, as the JSON has it.
        recoding: the saved recoding, for `recode`; None where an algorithm's recoding is not a function of the values.
            It is private.
        further: the other files of the release by their names: the sensitive table of `anatomy` as a frame, what
            channels are undone with as a mapping.
        separator: that of the input, with which a CSV is written.
    """

    recoding: dict[str, Any] | None = None
    further: Mapping[str, Any] = field(default_factory=dict)
    separator: str = ","

    @property
    def _separator(self) -> str:
        return self.separator

    def _files(self, path: str) -> dict[str, Any]:
        texts = {name: each for name, each in self.further.items() if isinstance(each, Mapping)}
        tables = [each for each in self.further.values() if not isinstance(each, Mapping)]
        names = pair_of(path) if tables else (path,)
        return dict(zip(names, [self.frame, *tables], strict=True)) | {
            manifest_beside(path) if name.endswith(MANIFEST) else parameters_beside(path): each
            for name, each in texts.items()
        }


@dataclass(frozen=True, repr=False)
class RecodedTable(Tabled):
    """Rows that a saved recoding was applied to. Nothing was measured."""


@dataclass(frozen=True, repr=False)
class ReleasedTables(Reported):
    """Tables of counts, shares, sums and means. `frames`: by the name of the file, each with its groups and values;
    `manifest`: what stands where, and what protects it."""

    frames: dict[str, Any]
    manifest: dict[str, Any]


@dataclass(frozen=True, repr=False)
class JudgedReport(Reported):
    """What was judged. `problems`: what is not met or could not be shown."""

    state: State
    problems: tuple[str, ...]

    @property
    def satisfied(self) -> bool | None:
        return self.state.satisfied


class AuditReport(JudgedReport):
    """A table that was measured."""


class Attacked(JudgedReport):
    """A release that was attacked. What is required is a `max_excess`."""


@dataclass(frozen=True, repr=False)
class Evaluated(Reported):
    """A release compared with its original."""


@dataclass(frozen=True, repr=False)
class ComparedReleases(Reported):
    """Releases side by side."""

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each release: its `label`, `k`, exit `code` and figures; null for what it does not have."""
        from anonymize.report.verdict import as_rows

        return pl.DataFrame(as_rows(self.report), infer_schema_length=None)
