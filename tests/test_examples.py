"""The examples in the docstrings of public functions give what they say."""

from __future__ import annotations

import doctest
import importlib
import tempfile
from pathlib import Path

import pytest

MODULES = (
    "_audit",
    "_recode",
    "_release",
    "classes",
    "domain.numeric",
    "guarding",
    "channels.estimate",
    "meaning.kinds",
    "recoding.appearance",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module = importlib.import_module(f"anonymize.{name}")
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted
    assert not outcome.failed
