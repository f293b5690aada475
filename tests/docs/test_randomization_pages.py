"""Pictures and tables that are drawn from measured figures are those of the figures that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(DOCS)
    import randomization_pages

    return randomization_pages


def test_pictures_are_drawn_from_what_is_kept(pages: Any) -> None:
    for name, picture in pages.pictures().items():
        assert (DOCS / name).read_text(encoding="utf8") == picture, f"make figures draws {name} anew"
        ElementTree.fromstring(picture)


def test_tables_are_those_of_what_is_kept(pages: Any) -> None:
    text = (DOCS / "randomization.md").read_text(encoding="utf8")
    assert pages.filled(text) == text, "make figures writes the tables anew"


def test_every_picture_is_shown(pages: Any) -> None:
    text = (DOCS / "randomization.md").read_text(encoding="utf8")
    assert all(f"]({name})" in text for name in pages.pictures())


@pytest.mark.parametrize("figure", ["kl", "chi_squared", "euclidean", "total_variation", "hellinger"])
def test_what_the_page_says_of_the_second_data_set(pages: Any, figure: str) -> None:
    randomized = pages.points("ESGRO", "RR-QI", figure)
    assert [bound for bound, _, _ in randomized] == list(range(2, 8))
    for method in ("anatomy", "l-diversity"):
        for own, other in zip(randomized, pages.points("ESGRO", method, figure), strict=True):
            assert own[1] + 3 * own[2] < other[1]
