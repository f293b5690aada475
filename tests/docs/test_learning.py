"""The code of docs/learning.md works on a release of the sample data."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "learning.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def learned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the page's first block defines."""
    spec = (ROOT / "configs" / "patients.yaml").read_text(encoding="utf-8").replace("../", f"{ROOT}/")
    changed = spec.replace("numeric: interval ", "numeric: bounds ").replace(
        "categorical: node ", "categorical: bounds "
    )
    (tmp_path / "spec.yaml").write_text(changed, encoding="utf-8")
    command = [sys.executable, "-m", "anonymize", "mondrian", "spec.yaml", "-o", "released.csv", "-q"]
    subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, check=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(BLOCKS[0], names)
    return names


def test_features_are_two_numbers_a_quasi_identifier(learned: dict[str, Any]) -> None:
    features, target = learned["X"], learned["y"]
    assert features.shape == (len(target), 14) and features.dtype == np.float64
    low, high = features[:, ::2], features[:, 1::2]
    both, one = ~np.isnan(low) & ~np.isnan(high), np.isnan(low) != np.isnan(high)
    assert (low <= high)[both].all() and one[:, 0].any() and not one[:, 1:].any()  # ages with an open end
    assert len(set(target)) > 1


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_a_tree_learns_from_them(learned: dict[str, Any]) -> None:
    exec(BLOCKS[1], learned)
    assert learned["model"].predict(learned["X"]).shape == (len(learned["y"]),)
