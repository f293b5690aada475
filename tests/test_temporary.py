"""Temporary files: private, and gone at the end whatever happened in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from anonymize import temporary


def test_a_file_is_new_empty_and_private(tmp_path: Path) -> None:
    paths = [temporary.create(".t.", ".csv", tmp_path) for _ in range(3)]
    assert len(set(paths)) == 3 and all(path.name.startswith(".t.") and path.suffix == ".csv" for path in paths)
    assert [(path.stat().st_size, path.stat().st_mode & 0o777) for path in paths] == [(0, 0o600)] * 3
    temporary.remove(paths[0])
    temporary.remove(paths[0])
    assert sorted(tmp_path.iterdir()) == sorted(paths[1:])
    temporary.remove_all()
    assert not list(tmp_path.iterdir())


def test_an_interruption_right_after_it_was_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.close

    def interrupted(handle: int) -> None:
        real(handle)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        temporary.create(".t.", "", tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    temporary.remove_all()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        temporary.create(".t.", "", tmp_path / "none")
