"""The page on the security model names tests: each is there, and so is each file."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security-model.md").read_text(encoding="utf-8")
SECURITY = ROOT / "tests" / "security"


def test_every_test_that_is_named_exists() -> None:
    defined = {
        name
        for path in SECURITY.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named and named <= defined


def test_every_file_of_tests_is_named() -> None:
    files = {path.name for path in SECURITY.glob("test_*.py")}
    assert files == set(re.findall(r"`(test_\w+\.py)`", PAGE))
