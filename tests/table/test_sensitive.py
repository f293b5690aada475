"""Sensitive attributes as codes: in the order of their values, with the nodes of a hierarchy where there is one."""

from pathlib import Path
from typing import Any

import pytest

from anonymize.errors import DataError
from anonymize.privacy import PARAMETERS
from anonymize.spec import make
from anonymize.table import SensitiveColumn, Source, read
from anonymize.table.roles import trees

TREE = "ulcer;stomach;*\nflu;lung;*\ncold;lung;*\n"


def spec(folder: Path, **definition: Any) -> Any:
    (folder / "tree.csv").write_text(TREE)
    (folder / "numbers.csv").write_text("10;ten;*\n1;few;*\n2;few;*\n")
    values = {"version": 1, "quasi_identifiers": ["q"], "sensitive": {"s": definition}, "privacy": {"k": 1}}
    return make(values, PARAMETERS)


def column(folder: Path, texts: list[str], **definition: Any) -> SensitiveColumn:
    (folder / "table.csv").write_text("q,s\n" + "".join(f"a,{text}\n" for text in texts))
    wanted = spec(folder, **definition)
    with Source.open(wanted, folder / "table.csv") as source:
        return read(wanted, source).sensitive[0]


def test_codes_follow_the_leaves_of_the_hierarchy(tmp_path: Path) -> None:
    found = column(tmp_path, ["flu", "ulcer", "", "flu"], hierarchy=tmp_path / "tree.csv")
    assert found.codes.tolist() == [1, 0, 3, 1] and (found.size, found.missing) == (4, 3)
    assert found.levels is not None and found.levels.shape == (3, 4)
    assert found.levels[1, 1] == found.levels[1, 2] != found.levels[1, 0]
    assert found.paths == {
        "ulcer": ("ulcer", "stomach", "*"),
        "flu": ("flu", "lung", "*"),
        "cold": ("cold", "lung", "*"),
    }


def test_without_a_hierarchy_codes_follow_the_texts(tmp_path: Path) -> None:
    found = column(tmp_path, ["b", "a", "b"])
    assert found.codes.tolist() == [1, 0, 1] and found.levels is None and found.paths is None


def test_numbers_keep_their_order_whatever_the_order_of_the_file(tmp_path: Path) -> None:
    found = column(tmp_path, ["10", "1", "2.0", ""], type="numeric", hierarchy=tmp_path / "numbers.csv")
    assert found.codes.tolist() == [2, 0, 1, 3] and found.values is not None and found.values[:3].tolist() == [1, 2, 10]
    assert found.levels is not None and found.levels[1, 0] == found.levels[1, 1] != found.levels[1, 2]


def test_numbers_in_intervals(tmp_path: Path) -> None:
    found = column(tmp_path, ["3", "12", "14"], type="numeric", hierarchy={"intervals": [10]})
    assert found.levels is not None and found.levels[1, 1] == found.levels[1, 2] != found.levels[1, 0]
    assert found.paths == {"3": ("3", "[0-9]", "*"), "12": ("12", "[10-19]", "*"), "14": ("14", "[10-19]", "*")}


@pytest.mark.parametrize(
    ("texts", "definition"),
    [(["flu", "plague"], {"hierarchy": "tree.csv"}), (["1", "3"], {"type": "numeric", "hierarchy": "numbers.csv"})],
)
def test_a_value_outside_its_hierarchy_is_refused_and_not_shown(
    tmp_path: Path, texts: list[str], definition: dict[str, Any]
) -> None:
    with pytest.raises(DataError, match="of the hierarchy") as caught:
        column(tmp_path, texts, **definition | {"hierarchy": tmp_path / definition["hierarchy"]})
    assert caught.value.exit_code == 3 and "plague" not in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "definition"),
    [
        (["flu", "ulcer", ""], {"hierarchy": "tree.csv"}),
        (["flu", "ulcer"], {"hierarchy": {"mask": "right"}}),
        (["1", "2", "10", ""], {"type": "numeric", "hierarchy": "numbers.csv"}),
        (["3", "12", "", "14"], {"type": "numeric", "hierarchy": {"intervals": [10]}}),
    ],
)
def test_a_check_of_any_table_has_the_tree_that_a_release_has(
    tmp_path: Path, texts: list[str], definition: dict[str, Any]
) -> None:
    if isinstance(definition["hierarchy"], str):
        definition = definition | {"hierarchy": tmp_path / definition["hierarchy"]}
    own = column(tmp_path, texts, **definition)
    wanted = spec(tmp_path, **definition)
    with Source.open(wanted, tmp_path / "table.csv") as source:
        assert trees(wanted, source.scan(), ["s"]) == {"s": own.paths}
