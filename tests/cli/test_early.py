"""What polars is told about memory before it is imported."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from anonymize.cli import early

TELLING = "import os, anonymize.cli.main as m; m.early.spare_memory(); import sys; print('polars' in sys.modules)"


def test_variables_that_are_set_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"_RJEM_MALLOC_CONF": "own"})
    early.spare_memory()
    assert os.environ == {"_RJEM_MALLOC_CONF": "own", "POLARS_CSV_CHUNK_SIZE": "2000000"}


def test_they_are_set_before_polars_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", TELLING], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
