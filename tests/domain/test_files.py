"""Hierarchy files: both formats, and every way in which they can be wrong."""

from pathlib import Path

import pytest

from anonymize.domain import files
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import SpecError


def taxonomy(folder: Path, text: str | bytes, name: str = "h.csv") -> Taxonomy:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Taxonomy.of("x", files.read(path, "x"))


def problems(folder: Path, text: str | bytes, name: str = "h.csv") -> list[tuple[int | None, str]]:
    """Line and message of each problem of a file; every one has to name file and column, and none a label."""
    with pytest.raises(SpecError) as caught:
        taxonomy(folder, text, name)
    for problem in caught.value.problems:
        assert problem.file == str(folder / name)
        assert "SECRET" not in f"{problem.message} {problem.hint}"
    return [(problem.line, problem.message.removeprefix("hierarchy of 'x': ")) for problem in caught.value.problems]


def rows(domain: Taxonomy) -> list[str]:
    """Each leaf's path, as text."""
    return ["/".join(domain.labels[node] for node in column) for column in domain.levels.T]


# --- CSV ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a;g;*\nb;g;*\nc;h;*\n",
        "a,g,*\nb,g,*\nc,h,*",
        "a;g;*\r\nb;g;*\r\nc;h;*\r\n",
        '"a";"g";"*"\nb;g;*\nc;h;*\n',
        b"\xef\xbb\xbfa;g;*\nb;g;*\nc;h;*\n",
        "a;g;*\nc;h;*\nb;g;*\n",
    ],
    ids=["semicolon", "comma", "crlf", "quoted", "bom", "scattered"],
)
def test_csv(tmp_path: Path, text: str | bytes) -> None:
    assert rows(taxonomy(tmp_path, text)) == ["a/g/*", "b/g/*", "c/h/*"]


def test_csv_labels_are_normalized_unless_they_are_taken_as_they_stand(tmp_path: Path) -> None:
    text = '"a;1, ""x""\ny"; g ;*\n02138; g ;*\n'
    assert rows(taxonomy(tmp_path, text)) == ['a;1, "x" y/g/*', "02138/g/*"]
    (tmp_path / "h.csv").write_text(text)
    assert [*files.read(tmp_path / "h.csv", normalize=False).leaves] == ['a;1, "x"\ny', "02138"]
    assert [*files.read(tmp_path / "h.csv").leaves] == ['a;1, "x" y', "02138"]


def test_leaves_that_are_one_when_normalized_are_refused(tmp_path: Path) -> None:
    assert problems(tmp_path, "SECRET;*\nb;*\nSECRET\u200b;*\n") == [
        (3, "the leaf occurs in line 1 already, on the same path")
    ]


def test_csv_separators(tmp_path: Path) -> None:
    assert rows(taxonomy(tmp_path, "Fishing, hunting;Primary;*\nb;Primary;*\n"))[0] == "Fishing, hunting/Primary/*"
    assert rows(taxonomy(tmp_path, '"a;b",g,*\nc,g,*\n')) == ["a;b/g/*", "c/g/*"]


def test_csv_uneven_depths_are_padded_with_the_leaf(tmp_path: Path) -> None:
    assert rows(taxonomy(tmp_path, "a;g;h;*\nb;*\nc;h;*\n")) == ["a/g/h/*", "c/c/h/*", "b/b/b/*"]
    assert taxonomy(tmp_path, "a;a;*\nb;g;*\n").labels == ["a", "b", "g", "*"]


def test_csv_the_leaf_may_be_empty(tmp_path: Path) -> None:
    assert taxonomy(tmp_path, ";g;*\na;g;*\n").leaf_text() == ["", "a"]


def test_csv_a_label_may_stand_on_two_levels(tmp_path: Path) -> None:
    assert rows(taxonomy(tmp_path, "other;g;*\nb;other;*\n")) == ["other/g/*", "b/other/*"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [(None, "the file has no leaves")]),
        ("\n", [(1, "the line is empty")]),
        ("SECRET;*\n\nb;*\n  \n;;\n", [(2, "the line is empty"), (4, "the line is empty"), (5, "the line is empty")]),
        ("SECRET;*\nb\n", [(2, "the line has one field, and needs a leaf and a root at least")]),
        ("SECRET;*;\nb;;*\n", [(1, "field 3 is empty"), (2, "field 2 is empty")]),
        ("a;SECRET;*\na;SECRET;*\n", [(2, "the leaf occurs in line 1 already, on the same path")]),
        ("SECRET;g;*\nb;g;*\nSECRET;h;*\n", [(3, "the leaf occurs in line 1 already, under another parent")]),
        ("SECRET;g;*\nb;g;*\nSECRET;*\n", [(3, "the leaf occurs in line 1 already, under another parent")]),
        ("code;SECRET;root\na;g;*\nb;g;*\n", [(1, "the root is not that of most lines")]),
        ("a;g;*\nb;g;SECRET\n", [(2, "the root is not that of most lines")]),
        (
            "a;SECRET;h;*\nb;SECRET;i;*\nc;SECRET;i;*\n",
            [(2, "the label on level 1 above the leaf has another parent in line 1")],
        ),
        (
            "a;f;SECRET;X;*\nb;g;SECRET;Y;*\n",
            [(2, "the label on level 2 above the leaf has another parent in line 1")],
        ),
        (
            "SECRET;x;*\nb;SECRET;y;*\n",
            [(2, "the label on level 1 above the leaf has another parent in line 1")],
        ),
        ('a;g;*\n"SECRET;g;*\nc;g;*\n', [(2, "a field is not quoted as CSV: unexpected end of data")]),
        ('a;g;*\n"SECRET"x;g;*\n', [(2, "a field is not quoted as CSV: ';' expected after '\"'")]),
        (b"a;g;*\nSECRET\xe9;g;*\n", [(2, "the file is not UTF-8")]),
        ("SECRET;*\n".encode("utf-16"), [(None, "the file is UTF-16")]),
    ],
)
def test_csv_problems(tmp_path: Path, text: str | bytes, expected: list[tuple[int | None, str]]) -> None:
    assert problems(tmp_path, text) == expected


def test_all_problems_are_found_at_once_in_the_order_of_lines(tmp_path: Path) -> None:
    text = "a;g;h;*\nb;g;i;*\n\na;g;h;*\nc;g;h;?\nd\n"
    assert [line for line, _ in problems(tmp_path, text)] == [2, 3, 4, 5, 6]


def test_many_problems_are_counted(tmp_path: Path) -> None:
    found = problems(tmp_path, "a;*\n" + "a;*\n" * 50)
    assert len(found) == files.LISTED_PROBLEMS + 1
    assert found[-1] == (None, "30 more problems in this file")


def test_lines_after_a_quoted_line_break_are_counted_as_in_an_editor(tmp_path: Path) -> None:
    assert problems(tmp_path, '"a\nb";*\nc;*\nc;*\n')[0][0] == 4


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(
            SpecError, match=r"hierarchy of 'x': the file cannot be read: (No such file|Is a directory)"
        ):
            files.read(path, "x")


def test_a_column_need_not_be_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.csv: the file cannot be read"):
        files.read(tmp_path / "none.csv")


# --- YAML -----------------------------------------------------------------------------------------------------------

TREE = """
# a comment
"*":
  g:
    - a
    - b
  h: {i: [c], d: }
  e:
"""


def test_yaml_nested_mappings_and_lists(tmp_path: Path) -> None:
    assert rows(taxonomy(tmp_path, TREE, "h.yaml")) == ["a/a/g/*", "b/b/g/*", "c/i/h/*", "d/d/h/*", "e/e/e/*"]


@pytest.mark.parametrize(
    "text",
    [
        '"*": [{g: [a, b]}, {h: [{i: [c]}, d]}, e]',
        '"*":\n- g: [a, b]\n  h: [{i: [c]}, d]\n- e\n',
        '{label: "*", children: [{label: g, children: [a, b]}, {label: h, children: {i: [c], d: }}, {label: e}]}',
    ],
)
def test_yaml_other_ways_to_write_the_same(tmp_path: Path, text: str) -> None:
    assert rows(taxonomy(tmp_path, text, "h.yml")) == rows(taxonomy(tmp_path, TREE, "h.yaml"))


def test_yaml_labels_are_texts_as_written(tmp_path: Path) -> None:
    text = 'any: [02138, 1.0, no, 1e3, 2024-01-02, null, "", "null", ~x, label]'
    leaves = ["02138", "1.0", "no", "1e3", "2024-01-02", "null", "", "~x", "label"]
    assert taxonomy(tmp_path, text.replace(' "null",', ""), "h.yaml").leaf_text() == leaves


def test_yaml_weights(tmp_path: Path) -> None:
    text = (
        '{label: "*", weight: 1, children: [{label: g, weight: 2.5, children: [{label: a, weight: 1}, b]}, '
        "{label: h, weight: 0.5, children: [c, d]}]}"
    )
    domain = taxonomy(tmp_path, text, "h.yaml")
    weights = dict(zip(domain.labels, domain.weights.tolist(), strict=True))
    assert weights == {"a": 1, "b": 1, "c": 1, "d": 1, "g": 2.5, "h": 0.5, "*": 1}


@pytest.mark.parametrize(
    ("below", "above", "fine"),
    [(1, 1, True), (1.5, 1, True), (1.6, 1, False), (1.6, 1.1, True), (1, 0.6, False), (2, 2, True), (1e308, 1, False)],
)
def test_yaml_weights_grow_towards_the_root(tmp_path: Path, below: float, above: float, fine: bool) -> None:
    text = (
        f'"*":\n- label: SECRET\n  weight: {above}\n  children:\n'
        f"  - {{label: SECRET2, weight: {below}, children: [a, b]}}\n  - c\n- d\n"
    )
    if fine:
        assert taxonomy(tmp_path, text, "h.yaml").weights.tolist() == [1, 1, 1, 1, below, above, 1]
    else:
        told = "weight x leaves of the node are more than those of the node above it, in line 2"
        assert problems(tmp_path, text, "h.yaml") == [(5, told)]


def test_yaml_a_weight_of_one_leaf_does_not_count(tmp_path: Path) -> None:
    domain = taxonomy(tmp_path, '"*": [{g: [{label: h, weight: 9, children: [a]}, b]}, c]', "h.yaml")
    assert domain.node_cost.tolist() == pytest.approx([0, 0, 0, 0, 2 / 3, 1])


def test_yaml_the_weight_that_would_do_is_told(tmp_path: Path) -> None:
    text = '"*": [{g: [{label: h, weight: 4, children: [a, b]}, c]}, d]'
    with pytest.raises(SpecError) as caught:
        taxonomy(tmp_path, text, "h.yaml")
    assert caught.value.problems[0].hint == "the node in line 1 needs a weight of 2.66667 or more"


def test_yaml_a_node_called_label(tmp_path: Path) -> None:
    text = '"*": [{label: label, children: [a]}, {label: weight, children: [b]}]'
    assert rows(taxonomy(tmp_path, text, "h.yaml")) == ["a/label/*", "b/weight/*"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [(None, "the file has no leaves")]),
        ("# SECRET\n", [(None, "the file has no leaves")]),
        ("[SECRET, b]", [(1, "the file is not one root with children below it")]),
        ("SECRET", [(1, "the file is not one root with children below it")]),
        ("SECRET:", [(1, "the file is not one root with children below it")]),
        ("SECRET: [a]\nb: [c]\n", [(1, "the file is not one root with children below it")]),
        ("any:\n  g: SECRET\n", [(2, "a text instead of a list of children")]),
        ("any:\n  SECRET: []\n", [(2, "the list of children is empty")]),
        ("any:\n  SECRET: {}\n", [(2, "the list of children is empty")]),
        ("any:\n- SECRET\n- \n", [(3, "a node has no label")]),
        ("any:\n- SECRET\n- [b]\n", [(3, "a node has no label")]),
        ("any:\n- SECRET\n- {[b]: c}\n", [(3, "a node has no label")]),
        ('any:\n  "": [SECRET]\n', [(2, "a node with children has an empty label")]),
        ("any:\n- SECRET\n- b\n- SECRET\n", [(4, "the node occurs in line 2 already")]),
        ("any:\n  SECRET: [a]\n  h: [b]\n  SECRET: [c]\n", [(4, "the node occurs in line 2 already")]),
        ("any:\n  g: [SECRET]\n  h: [SECRET]\n", [(3, "the leaf occurs in line 2 already, under another parent")]),
        (
            "any:\n  g: {SECRET: [a]}\n  h:\n    SECRET: [b]\n",
            [(4, "the label on level 1 above the leaf has another parent in line 2")],
        ),
        ("any:\n  g: &x [SECRET]\n  h: *x\n", [(2, "an alias repeats a part of the tree")]),
        ("any: &x\n- SECRET\n- g: *x\n", [(1, "an alias repeats a part of the tree")]),
        (
            "any:\n- {label: SECRET, kids: [a]}\n",
            [(2, "a node with 'label' may have 'weight' and 'children', once each")],
        ),
        (
            "any:\n- {label: SECRET, label: b}\n",
            [(2, "a node with 'label' may have 'weight' and 'children', once each")],
        ),
        ("any:\n- {label: SECRET, weight: 0}\n", [(2, "the weight is not a number above 0")]),
        ("any:\n- {label: SECRET, weight: heavy}\n", [(2, "the weight is not a number above 0")]),
        ("any:\n- {label: SECRET, weight: [1]}\n", [(2, "the weight is not a number above 0")]),
        ("any:\n- {label: SECRET, weight: .inf}\n", [(2, "the weight is not a number above 0")]),
        ("any:\n- {label: SECRET, weight: 2}\n", [(2, "the weight of a leaf has no effect: a leaf costs nothing")]),
        (
            "{label: SECRET, weight: 2, children: [a]}\n",
            [(1, "the root has a weight: it costs 1, as a suppressed cell does")],
        ),
        (
            "any:\n- label: SECRET\n  weight: 2\n  children:\n  - {SECRET: [a, b]}\n",
            [(5, "the node is one with that in line 2, which has another weight")],
        ),
    ],
)
def test_yaml_problems(tmp_path: Path, text: str, expected: list[tuple[int | None, str]]) -> None:
    assert problems(tmp_path, text, "h.yaml") == expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("any:\n  g: [a\n  h: [b]\n", 3),
        ("any:\n  g: [a]\n h: [b]\n", 3),
        ("*: [a]\n", 1),
        ("any: [*SECRET]\n", 1),
        ("any: [a]\n---\nany: [b]\n", 2),
        ("any: [\x07]\n", None),
    ],
)
def test_yaml_that_is_none(tmp_path: Path, text: str, line: int | None) -> None:
    found = problems(tmp_path, text, "h.yaml")
    assert [place for place, _ in found] == [line]
    assert found[0][1].startswith("the file is not YAML: ")


def test_yaml_nested_too_deeply(tmp_path: Path) -> None:
    assert problems(tmp_path, "\n" + "[" * 200_000, "h.yaml") == [(2, "the tree has more than 100 levels")]


@pytest.mark.parametrize("text", ["{}\n", "{}\nb,*\n", "a,*\n{}\n"])
def test_a_line_of_csv_has_no_more_levels_than_a_tree(tmp_path: Path, text: str) -> None:
    levels = ",".join(f"n{level}" for level in range(200_000))
    found = problems(tmp_path, text.format(levels))
    assert (text.count("\n", 0, text.index("{")) + 1, "the line has more than 100 levels") in found


def test_a_large_plain_file_has_no_more_levels_either(tmp_path: Path) -> None:
    above = ",".join(f"n{level}" for level in range(100))
    lines = "\n".join(f"leaf{number},{above}" for number in range(5_000)) + "\n"
    assert len(lines) > 1 << 20
    assert problems(tmp_path, lines)[0] == (1, "the line has more than 100 levels")
