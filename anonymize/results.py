"""What Python users get back: frames, and reports that a notebook shows as pages."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import escape
from typing import Any

import polars as pl

from anonymize._validate import Validated
from anonymize.claims import State
from anonymize.errors import UsageError
from anonymize.frames import Frame, polars_of
from anonymize.guarding import guarded
from anonymize.names import MANIFEST, manifest_beside, pair_of, parameters_beside
from anonymize.publication import report_files
from anonymize.report import RENDERERS
from anonymize.table import commit
from anonymize.table.outputs import output_table
from anonymize.table.write import check_table

__all__ = ["Attacked", "AuditReport", "ComparedReleases", "Evaluated", "RecodedTable", "Release", "Validated"]


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
                output = stack.enter_context(output_table(target, force=force, separator=self._separator))
                if isinstance(content, Mapping):
                    output.write_text(json.dumps(content, ensure_ascii=False, indent=1))
                else:
                    output.write([polars_of(content)])
                outputs.append(output)
            commit(outputs)

    def _files(self, path: str) -> dict[str, Any]:
        """By path, what is written there: a frame, or a mapping as JSON."""
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
class JudgedReport(Reported):
    """What was held against something. `problems`: what is not met or could not be shown."""

    state: State
    problems: tuple[str, ...]

    @property
    def satisfied(self) -> bool | None:
        """See `State.satisfied`."""
        return self.state.satisfied


class AuditReport(JudgedReport):
    """A table that was measured."""


class Attacked(JudgedReport):
    """A release that was attacked. What is required is a `max_excess`."""


@dataclass(frozen=True, repr=False)
class Evaluated(Reported):
    """A release beside its original."""


@dataclass(frozen=True, repr=False)
class ComparedReleases(Reported):
    """Releases side by side."""

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each release: its `label`, `k`, exit `code` and figures; null for what it does not have."""
        from anonymize.report.compared import as_rows

        return pl.DataFrame(as_rows(self.report), infer_schema_length=None)
