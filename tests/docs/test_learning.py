"""The code of docs/learning.md works on a release of the sample data."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "learning.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the release."""
    folder = tmp_path_factory.mktemp("learning")
    spec = (ROOT / "configs" / "patients.yaml").read_text(encoding="utf-8").replace("../", f"{ROOT}/")
    changed = spec.replace("numeric: interval ", "numeric: bounds ").replace(
        "categorical: node ", "categorical: bounds "
    )
    (folder / "spec.yaml").write_text(changed, encoding="utf-8")
    command = ["mondrian", str(folder / "spec.yaml"), "-o", str(folder / "released.csv"), "-q"]
    assert outcome(lambda: run(command)) == 0
    return folder


@pytest.fixture
def learned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the page's first block defines."""
    monkeypatch.chdir(folder)
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
