import os
from collections.abc import Callable
from pathlib import Path

import pytest

from anonymize.table import files as module
from anonymize.table.files import place

Step = Callable[[Path, Path], None]
STEPS: list[Step] = [place, module._rename, module._link, module._look_and_replace]


@pytest.mark.parametrize("step", STEPS)
def test_a_file_gets_its_name(step: Step, tmp_path: Path) -> None:
    source, target = tmp_path / "part", tmp_path / "öut"
    source.write_text("content")
    step(source, target)
    assert os.listdir(tmp_path) == ["öut"]
    assert target.read_text() == "content"


@pytest.mark.parametrize("step", STEPS)
def test_a_file_that_is_there_stays(step: Step, tmp_path: Path) -> None:
    source, target = tmp_path / "part", tmp_path / "out"
    source.write_text("content")
    target.write_text("before")
    with pytest.raises(FileExistsError):
        step(source, target)
    assert (source.read_text(), target.read_text()) == ("content", "before")


@pytest.mark.parametrize("step", STEPS)
def test_a_link_that_leads_nowhere_stays(step: Step, tmp_path: Path) -> None:
    source, target = tmp_path / "part", tmp_path / "out"
    source.write_text("content")
    target.symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        step(source, target)
    assert os.readlink(target) == "nowhere"


def test_what_the_system_refuses_is_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        place(tmp_path / "part", tmp_path / "out")
    assert os.listdir(tmp_path) == []
