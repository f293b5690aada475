"""What Python users get back: frames, and reports that a notebook shows as pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anonymize.claims import State
from anonymize.errors import UsageError
from anonymize.frames import Frame


@dataclass(frozen=True, repr=False)
class Reported:
    """A result with a report, which notebooks show as the page that `-r report.html` writes."""

    report: dict[str, Any]

    @property
    def private(self) -> bool:
        """Whether the report tells more than what is published does, and is as confidential as the input."""
        return bool(self.report["private"])

    def __repr__(self) -> str:
        from anonymize.report.page import page

        return f"<{type(self).__name__}: {page(self.report).verdict}>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style stays there; Markdown where the extra `html` is absent."""
        from html import escape

        from anonymize.report import RENDERERS

        try:
            page = RENDERERS[".html"](self.report)
        except UsageError:
            return f"<pre>{escape(RENDERERS['.md'](self.report))}</pre>"
        style = "width:100%;height:40rem;border:0"
        return f'<iframe title="Anonymization report" style="{style}" srcdoc="{escape(page)}"></iframe>'


@dataclass(frozen=True, repr=False)
class Release(Reported):
    """A release that was verified.

    `frame`: its rows, of the kind of frame that went in (polars for a file). `recoding`: the saved recoding, for
    `recode`; None where an algorithm's recoding is not a function of the values. It is private. `further`: the other
    files of the release by their names: the sensitive table of `anatomy` as a frame, the parameters of `randomize` as
    a mapping."""

    frame: Frame
    recoding: dict[str, Any] | None = None
    further: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class RecodedTable(Reported):
    """Rows that a saved recoding was applied to. Nothing was measured."""

    frame: Frame


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
