"""What is said where a night has nobody to release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.series.nights import SPEC, Nights


@pytest.mark.parametrize(
    ("wait", "newcomers", "hint"),
    [(1, 60, "newcomers wait by series.wait, and too few others are present"), (0, 1, "too few came")],
)
def test_what_helps_is_not_a_lower_k(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wait: int, newcomers: int, hint: str
) -> None:
    nights = Nights(tmp_path, spec=SPEC.replace("wait: 0", f"wait: {wait}"))
    nights.come(60)
    nights.release()
    nights.leave(60)
    nights.come(newcomers)
    nights.release(refused=4)
    message = capsys.readouterr().err
    assert f"nobody can be released this time ({hint})" in message and "lower k" not in message
