"""The link between a release and its input: written, read again, and refused where it does not fit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from anonymize.errors import DataError, UsageError
from anonymize.link import Link, LinkedFile, load, released_row_of
from anonymize.publication import Paths

LINK = Link(LinkedFile("a" * 64, 5), LinkedFile("b" * 64, 3), np.array([4, 0, 2]))


def saved(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text(LINK.text(name), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["link.json", "link.csv", "link.CSV", "link"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    link = load(saved(tmp_path, name))
    assert (link.input, link.release, link.rows.tolist()) == (LINK.input, LINK.release, [4, 0, 2])


def test_rows_count_from_1_in_the_file() -> None:
    assert json.loads(LINK.text("link.json"))["input_rows"] == [5, 1, 3]
    assert LINK.text("link.csv").split("\n")[1:] == ["input_row", "5", "1", "3", ""]


def test_a_link_of_no_rows(tmp_path: Path) -> None:
    (tmp_path / "link.csv").write_text(Link(LINK.input, LinkedFile("b", 0), np.zeros(0, np.int64)).text("link.csv"))
    assert not len(load(tmp_path / "link.csv").rows)


def test_it_fits_its_own_files_alone() -> None:
    LINK.check("link.json", input="a" * 64, release="b" * 64)
    with pytest.raises(DataError, match="is about another release"):
        LINK.check("link.json", input="a" * 64, release="c" * 64)
    with pytest.raises(DataError, match="another input"):
        LINK.check("link.json", input="c" * 64, release="b" * 64)


@pytest.mark.parametrize(
    "change",
    [
        {"input_rows": [5, 1]},
        {"input_rows": [5, 1, 6]},
        {"input_rows": [5, 1, 0]},
        {"input_rows": [5, 1, 1]},
        {"input_rows": ["x", 1, 2]},
        {"input_rows": [5, 1, 10**30]},
        {"input_rows": None},
        {"input_rows": {"a": 1}},
        {"format": "x"},
        {"format_version": 2},
        {"input": None},
        {"input": {}},
    ],
)
def test_what_is_damaged_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    path = saved(tmp_path, "link.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError, match="is not a link"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"#", b"# {}\ninput_row\n", b"\xff", b"input_row\n1\n", b"1"])
def test_what_is_no_link_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "link").write_bytes(content)
    with pytest.raises(DataError, match="is not a link"):
        load(tmp_path / "link")


def test_what_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load(tmp_path / "link.json")


@pytest.mark.parametrize(("option", "path"), [("save-link", "link.txt"), ("save-recoding", "recoding.csv")])
def test_suffixes_are_those_of_the_option(option: str, path: str) -> None:
    with pytest.raises(UsageError, match="by its suffix"):
        Paths(None, private={option: path}).check([])


@pytest.mark.parametrize("path", ["link.json", "link.csv", "link"])
def test_a_link_is_json_or_a_csv(path: str) -> None:
    Paths(None, private={"save-link": path}).check([])


def test_a_link_does_not_go_to_standard_output() -> None:
    with pytest.raises(UsageError, match="--save-link: is a file"):
        Paths(None, private={"save-link": "-"}).check([])


def test_rows_of_people_who_are_not_in_the_input_are_told_apart(tmp_path: Path) -> None:
    files = LinkedFile("a" * 64, 3), LinkedFile("b" * 64, 4)
    link = Link(*files, np.array([2, -1, 0, -1]), [(1, "c" * 64, 7), (3, "d" * 64, 0)])
    for name in ("link.json", "link.csv"):
        path = tmp_path / name
        path.write_text(link.text(name))
        again = load(path, with_earlier=True)
        assert again.rows.tolist() == link.rows.tolist() and again.earlier == link.earlier
        assert released_row_of(again.rows, 3).tolist() == [2, -1, 0]
        with pytest.raises(DataError, match="2 of 4 rows are about people who are not in the input any more"):
            load(path)
        path.write_text(link.text(name).replace("[4, ", "[3, "))
        with pytest.raises(DataError, match="damaged"):
            load(path, with_earlier=True)
