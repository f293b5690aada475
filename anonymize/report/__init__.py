"""Reports: the data first (JSON), every other form rendered from it. `RENDERERS` is the registry of forms."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from anonymize.errors import UsageError, visible
from anonymize.report.data import release_report
from anonymize.report.head import Clock

__all__ = ["RENDERERS", "SCHEMA", "Clock", "as_json", "kind_of", "release_report"]

SCHEMA = Path(__file__).with_name("report.schema.json")
"""The JSON Schema of reports; a test holds it against real ones of every command."""


def as_json(report: dict[str, Any]) -> str:
    """The report as indented JSON, keys in the contract's order."""
    return visible(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False), lines=True) + "\n"


def _markdown(report: dict[str, Any]) -> str:
    from anonymize.report.rendering import markdown

    return markdown(report)


def _html(report: dict[str, Any]) -> str:
    from anonymize.report.rendering import html

    return html(report)


RENDERERS: dict[str, Callable[[dict[str, Any]], str]] = {".json": as_json, ".md": _markdown, ".html": _html}
"""By suffix. The page and its templates are imported when one is rendered."""


def kind_of(path: str) -> str:
    """The form that a path's suffix asks for. Raises UsageError for any other suffix, and for HTML where the library
    that draws its pictures is not installed."""
    suffix = Path(path).suffix.lower()
    if suffix not in RENDERERS:
        raise UsageError(f"{path}: a report is one of {', '.join(RENDERERS)} by its suffix")
    if suffix == ".html" and find_spec("lets_plot") is None:
        from anonymize.report.rendering import missing_library

        raise missing_library()
    return suffix
