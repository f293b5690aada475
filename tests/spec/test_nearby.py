"""The spec that is meant where none is named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anonymize.spec.nearby import NAME, spec_above


def test_the_nearest_folder_counts(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / NAME).write_text("")
    assert spec_above(below) == Path("../..") / NAME
    (below / NAME).write_text("")
    assert spec_above(below) == Path(NAME)


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="takes root to give a file away")
def test_a_file_of_somebody_else_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("")
    os.chown(tmp_path / NAME, 12345, 12345)
    assert spec_above(tmp_path) != Path(NAME)
