"""Plain hierarchy files read column by column: the same tree as line by line, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.domain import files
from anonymize.domain.tree import Tree, read_plain
from anonymize.errors import SpecError
from tests.examples import some

ODD = ["é", "e\u0301", " a", "", '"', "\t", "\r"]
LABELS = st.sampled_from(["a", "b", "c", "d", "*", "-", "#x", "NA", "1.0", "01", *ODD])


def contents(tree: Tree) -> list[tuple[list[int], list[str]]]:
    return [(level.group.tolist(), level.labels) for level in tree.levels]


def by_lines(folder: Path, text: str, normalize: bool) -> Tree | None:
    path = folder / "h.csv"
    path.write_bytes(text.encode())
    try:
        return files.read(path, normalize=normalize)
    except SpecError:
        return None


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_plain_file_has_the_tree_of_its_lines(tmp_path: Path, end: str) -> None:
    text = "\n".join(f"leaf {i};{i * 7 % 5};{i * 7 % 5 % 2};*" for i in range(30)) + end
    tree, slow = read_plain(text, ";", large=0), by_lines(tmp_path, text, True)
    assert tree is not None and slow is not None
    assert contents(tree) == contents(slow)


@settings(max_examples=some(100))
@given(st.lists(st.lists(LABELS, min_size=1, max_size=3), max_size=4), st.sampled_from(["*", "a"]), st.booleans())
def test_what_is_read_column_by_column_is_what_the_lines_mean(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]], root: str, normalize: bool
) -> None:
    text = "\n".join(";".join([*line, root]) for line in lines)
    tree = read_plain(text, ";", normalize=normalize, large=0)
    if tree is not None:
        slow = by_lines(tmp_path_factory.getbasetemp(), text, normalize)
        assert slow is not None
        assert contents(tree) == contents(slow)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a;*",  # small
        "a;x;*\na;x;*",  # a leaf twice
        "a;x;*\nb;x;+",  # two roots
        "a;x;y;*\nb;x;z;*",  # two parents
        "a;x;*\nb;*",  # a short line
        "a;*\nb;x;*",  # a long one
        "a;x;*\n\nb;x;*",
        '"a";x;*\nb;x;*',
        ";x;*\nb;x;*",
        " a;x;*\nb;x;*",
        "a\nb",
    ],
)
def test_what_is_not_plain_is_left_to_the_reader_of_lines(text: str) -> None:
    assert read_plain(text, ";", large=5) is None


def test_small_files_are_not_worth_it(tmp_path: Path) -> None:
    assert read_plain("a;x;*\nb;x;*", ";") is None
    assert read_plain("a;x;*\nb;x;*", ";", large=0) is not None
