"""The pages for readers, each done from top to bottom in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import reader

ROOT = reader.ROOT
ELSEWHERE = {
    "docs/signed.md": "test_signed.py does what it says, and looks at what comes out",
    "docs/patterns.md": "it needs a download, and figures of the whole table",
}
WRITTEN = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/recipes/*.md")]
PAGES = {str(page.relative_to(ROOT)): page for page in sorted(WRITTEN) if any(reader.steps(page))}


@pytest.mark.parametrize("name", sorted(PAGES.keys() - ELSEWHERE))
def test_every_line_of_a_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for line, code in reader.follow(PAGES[name]):
        assert code in reader.promised(line), f"{line}: ended with {code}\n{capfd.readouterr().err}"


def test_pages_that_people_read_first_are_run() -> None:
    first = {"README.md", *(f"docs/{name}.md" for name in ("start", "tutorial", "choose", "faq", "pipelines"))}
    assert first <= PAGES.keys() - ELSEWHERE


def test_what_a_page_promises_is_read() -> None:
    assert reader.promised("anonymize audit x   # ends with 1: not safe") == {1}
    assert reader.promised("anonymize audit x   # ends with 0 or 1") == {0, 1}
    assert reader.promised("anonymize audit x   # why") == {0}
