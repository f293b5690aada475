"""The notebooks and the page about Python run from the first cell to the last; notebooks are kept without outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    notebook = json.loads(path.read_text(encoding="utf8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 3 and not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    names: dict[str, Any] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), f"{path.name}, {cell['id']}", "exec"), names)


def test_the_page_about_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(encoding="utf8"), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "python.md", "exec"), names)
    assert len(blocks) > 1 and (tmp_path / "released.csv").exists()
    public = set(vars(names["anonymize"])["__all__"])
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf8")
    assert [name for name in sorted(public) if f"`{name}" not in page] == []
