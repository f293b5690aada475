"""Names in a list of an option, parted by commas, in quotes where they have one."""

from __future__ import annotations

import pytest

from anonymize.files import as_listed, parted

LISTED = {
    "": [],
    " , ,": [],
    "a": ["a"],
    " a , b c,": ["a", "b c"],
    '"a,b",c': ["a,b", "c"],
    'c, "a, ""b""" ': ["c", 'a, "b"'],
    '" pad ",""': [" pad "],
    'stem "x", y': ['stem "x"', "y"],
    '"a"b,c': ['"a"b', "c"],
    '"a,b': ['"a', "b"],
    '"a\nb",c': ["a\nb", "c"],
}


@pytest.mark.parametrize("text", LISTED)
def test_a_text_is_parted(text: str) -> None:
    assert parted(text) == LISTED[text]


def test_several_texts_are_one_list() -> None:
    assert parted("a,b", '"c,d"') == ["a", "b", "c,d"]


@pytest.mark.parametrize("name", [name for names in LISTED.values() for name in names])
def test_a_name_is_listed_as_it_is_read(name: str) -> None:
    assert parted(as_listed(name)) == [name]
    assert parted(f"x,{as_listed(name)},y") == ["x", name, "y"]
