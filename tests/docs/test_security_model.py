"""Pages on what is promised name the tests that hold it: each is there, and no section promises without one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("over-time", "attacks", "attacked", "security-model")
SECURITY = ROOT / "tests" / "security"
CLAIM = re.compile(
    r"\bat least k\b|\bnever\b|\bcannot\b|\bat most\b|\bbound(s|ed)?\b|\bguarantee[sd]?\b", re.IGNORECASE
)
"""Words of a sentence that promises something, or says that it is not promised."""
NAMED = re.compile(r"^\*Tests\.\* .*|(?<=\. )\*Tests\.\* .*", re.MULTILINE)
INHERIT = frozenset({"attacked"})
"""Pages of tables: what their head names holds for all of them."""


def text_of(page: str) -> str:
    """What is written by hand: without made blocks, code and tables."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    text = re.sub(r"<!-- made: .*?<!-- end -->|^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^\|.*$", "", text, flags=re.MULTILINE)


def sections(page: str) -> Iterator[tuple[str, str]]:
    """The heading and the text of each section."""
    for part in re.split(r"(?m)^(?=#{1,3} )", text_of(page)):
        heading, _, text = part.partition("\n")
        yield heading, text


def promising(page: str) -> list[str]:
    """The headings of sections that promise something and name no test."""
    head = any(NAMED.search(text) for heading, text in sections(page) if heading.startswith("# "))
    return [
        heading
        for heading, text in sections(page)
        if CLAIM.search(text) and not NAMED.search(text) and not (head and page in INHERIT)
    ]


@cache
def defined() -> dict[str, set[str]]:
    """The tests of each file, by its path."""
    paths = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    names = {path: re.findall(r"^def (test_\w+)", text, re.MULTILINE) for path, text in paths.items()}
    return {str(path.relative_to(ROOT)): set(tests) for path, tests in names.items()}


@pytest.mark.parametrize("page", PAGES)
def test_every_section_that_promises_something_names_a_test(page: str) -> None:
    assert promising(page) == []


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page: str) -> None:
    text = text_of(page)
    every = set().union(*defined().values())
    files = {name if "/" in name else f"tests/security/{name}" for name in re.findall(r"`([\w/]*test_\w+\.py)`", text)}
    assert files and files <= defined().keys()
    assert set(re.findall(r"`(test_\w+)`", text)) <= every


def test_every_file_of_tests_is_named() -> None:
    files = {path.name for path in SECURITY.glob("test_*.py")}
    assert files == set(re.findall(r"`(test_\w+\.py)`", text_of("security-model")))
