"""How the result of a check is printed: one form, one file. `FORMATS` is the registry; the options of `audit` are made
from it.

A form renders a `Checked` to a stream. Nothing heavy is imported before something is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO

from anonymize.formats import forms
from anonymize.formats.forms import Checked, Concluded, Finding, privacy_block, state_of

__all__ = ["AUTO", "FORMATS", "Checked", "Concluded", "Finding", "chosen", "privacy_block", "state_of"]

AUTO = "auto"

FORMATS: dict[str, Callable[[Checked, IO[str], str], None]] = {
    "text": forms.render_text,
    "json": forms.render_json,
    "github": forms.render_github,
    "sarif": forms.render_sarif,
    "junit": forms.render_junit,
    "markdown": forms.render_markdown,
    "html": forms.render_html,
}
"""Name -> (what was checked, where to write it, colours: auto, always or never)."""


def chosen(name: str, environment: Mapping[str, str]) -> str:
    """The form that a name stands for: `auto` is github in a workflow of GitHub Actions, and text anywhere else. That
    includes GitLab, which reads what it shows beside a merge request from a file (`--format junit > audit.xml`).
    """
    if name != AUTO:
        return name
    return "github" if environment.get("GITHUB_ACTIONS") == "true" else "text"
