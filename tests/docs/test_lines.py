"""The command lines of the pages for readers, run one after the other as a reader would, in a folder of their own.

The sample data are cut down to their first rows, which takes a small part of the time.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from tests.docs.test_pages import PEOPLE

ROOT = Path(__file__).parents[2]
RUN = ("start", "tutorial", "choose", "faq", "from-arx", "from-sdcmicro")
"""Pages of docs/ whose every line is run."""
ROWS = 240
CALL = re.compile(r"^anonymize (?P<arguments>[^#\n]*)(?:# (?P<note>.*))?$", re.MULTILINE)


def lines(page: str) -> list[tuple[list[str], set[int]]]:
    """The arguments of every call in the blocks of a page, and the exit codes that a note promises: "ends with 1"."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf8")
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    found = []
    for call in CALL.finditer(blocks):
        promised = re.search(r"ends with (\d+)(?: or (\d+))?", call["note"] or "")
        codes = {int(code) for code in promised.groups() if code} if promised else {0}
        found.append((shlex.split(call["arguments"]), codes))
    return found


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a checkout has, and the table and the spec of the README."""
    for folder in ("configs", "hierarchies", "sample_data"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    sample = tmp_path / "sample_data" / "patients.csv"
    sample.write_text("".join(sample.read_text(encoding="utf8").splitlines(keepends=True)[: ROWS + 1]), encoding="utf8")
    readme = (ROOT / "README.md").read_text(encoding="utf8")
    (tmp_path / "spec.yaml").write_text(readme.partition("```yaml\n")[2].partition("```")[0], encoding="utf8")
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", RUN)
def test_every_line_of_a_page_runs(page: str, desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    calls = lines(page)
    assert calls, "the page has no command lines"
    for arguments, codes in calls:
        ended = outcome(lambda arguments=arguments: run(arguments))  # type: ignore[misc]
        assert ended in codes, f"{shlex.join(arguments)}: {capfd.readouterr().err}"


@pytest.mark.parametrize("page", RUN)
def test_no_line_is_left_out(page: str) -> None:
    """A pipe or a redirection would hide from the test what a reader runs."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf8")
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert [line for line in blocks.splitlines() if "anonymize " in line and not CALL.match(line)] == []
    assert [argument for call, _ in lines(page) for argument in call if argument in ("|", ">", "&&", "||")] == []
