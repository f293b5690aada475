"""The file of a saved recoding: it comes back as it was, and what is not one is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anonymize.errors import DataError, SpecError
from anonymize.recoding.saved import Saved, load

AGE = {"type": "numeric", "name": "age", "low": 1, "high": 9, "cuts": [4.5]}
SEX = {"type": "categorical", "name": "sex", "labels": ["F", "M", "*"], "parents": [2, 2, -1], "leaves": 2, "cuts": [1]}
TREE = {"attribute": [0, 1], "start": [0, 0], "stop": [1, 1], "first": [-1, -2], "second": [1, -3]}
REGIONS: dict[str, Any] = {
    "tool": "1",
    "algorithm": "mondrian",
    "kind": "regions",
    "table": {"separator": ",", "missing": [""], "encoding": "utf8", "identifiers": [], "others": []},
    "output": {"suppressed": "*", "suppressed_rows": "keep", "row_order": "keep"},
    "attributes": [AGE, SEX],
    "columns": [
        {"name": "age", "attribute": "age", "texts": ["[1-3]", "[5-9]"], "shown": [0, 1, 1]},
        {"name": "sex", "attribute": "sex", "texts": ["*", "F", "M"], "shown": [0, 1, 2]},
    ],
    "boxes": {"age": {"low": [1, 5, None], "high": [3, 9, None]}},
    "tree": TREE,
}
SEGMENTS = {
    **REGIONS,
    "kind": "segments",
    "tree": None,
    "columns": [
        {"name": "age", "attribute": "age", "texts": ["a"], "shown": [0, -1]},
        {"name": "sex", "attribute": "sex", "texts": ["b"], "shown": [0, 0]},
    ],
    "boxes": {},
    "classes": [[0], [0]],
    "suppressed": [[], []],
}
WHOLE = {"format": "anonymize recoding", "format_version": 1, **REGIONS}


@pytest.mark.parametrize("content", [REGIONS, SEGMENTS], ids=["regions", "segments"])
def test_it_comes_back_as_it_was(tmp_path: Path, content: dict[str, Any]) -> None:
    saved = Saved.model_validate(content)
    (tmp_path / "r.json").write_text(saved.as_json(), encoding="utf-8")
    assert load(tmp_path / "r.json") == saved
    assert json.loads(saved.as_json())["format_version"] == 1


def test_whole_numbers_stay_whole(tmp_path: Path) -> None:
    content = {**REGIONS, "attributes": [AGE | {"low": 2**60 + 1, "high": 2**61, "cuts": [2**60 + 3]}, SEX]}
    (tmp_path / "r.json").write_text(Saved.model_validate(content).as_json(), encoding="utf-8")
    assert load(tmp_path / "r.json").attributes[0].model_dump()["cuts"] == (2**60 + 3,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "is not a saved recoding"),
        ('{"format": "something"}', "is not a saved recoding"),
        (json.dumps(WHOLE | {"format_version": 2}), "format_version that is not 1"),
        (json.dumps(WHOLE | {"kind": "unheard of"}), "damaged at kind"),
        (json.dumps(WHOLE | {"more": 1}), "damaged at more"),
        (json.dumps(WHOLE | {"attributes": []}), "damaged at attributes"),
    ],
    ids=["empty", "deep", "list", "format", "version", "kind", "unknown key", "no attributes"],
)
def test_what_is_not_a_saved_recoding_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=said):
        load(tmp_path / "r.json")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load(tmp_path / "none.json")


@pytest.mark.parametrize(
    "change",
    [
        {"attributes": [AGE, AGE]},
        {"tree": TREE | {"second": [0, -3]}},
        {"tree": TREE | {"second": [1, 1]}},
        {"tree": TREE | {"second": [1, -4]}},
        {"tree": TREE | {"attribute": [0, 2]}},
        {"tree": TREE | {"start": [0]}},
        {"tree": None},
        {"columns": REGIONS["columns"][:1]},
        {"columns": [REGIONS["columns"][0] | {"shown": [0, 1, 2]}, REGIONS["columns"][1]]},
        {"columns": [REGIONS["columns"][0] | {"shown": [0, 1]}, REGIONS["columns"][1]]},
        {"boxes": {"age": {"low": [1], "high": [3]}}},
        {"attributes": [AGE, SEX | {"parents": [2, 0, -1]}]},
        {"attributes": [AGE, SEX | {"cuts": [2]}]},
        {"attributes": [AGE, SEX | {"missing": 2}]},
        {"kind": "segments", "tree": None},
    ],
    ids=str,
)
def test_numbers_that_point_nowhere_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    (tmp_path / "r.json").write_text(json.dumps(WHOLE | change), encoding="utf-8")
    with pytest.raises(SpecError, match="damaged"):
        load(tmp_path / "r.json")
