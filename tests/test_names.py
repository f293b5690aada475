"""What the house asks of names and sizes: names say what a thing is, a class has one owner, functions are short."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
VAGUE = {"asked", "at", "found", "shown", "told"}
"""What these name, every other name could name as well."""
SHARED = {"Options", "Parameters", "Spec"}
"""Each algorithm, metric or model has its own, by the contract of its room; and Python users make a spec of what they
have."""
MOST_RELEASES = 5
"""Classes whose names begin with Release: nearly all of the package is about one."""
LONGEST = 40
"""Lines of a body, the docstring not counted."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def sources() -> dict[str, ast.Module]:
    """The modules of the product, by path."""
    paths = sorted((ROOT / "anonymize").rglob("*.py"))
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    """All of a tree, walked through once for all tests, and in a third of the time that `ast.walk` takes."""
    found, waiting = [], [tree]
    while waiting:
        found.append(node := waiting.pop())
        for each in vars(node).values():
            own = each if isinstance(each, list) else [each]
            waiting += [inner for inner in own if isinstance(inner, ast.AST)]
    return found


def names_of(node: ast.AST) -> Iterator[str]:
    """What a node gives names to: variables, arguments, attributes, fields, functions, classes and imported modules."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
            yield name


def vague(modules: Mapping[str, ast.Module]) -> list[str]:
    """Where something has a name that says nothing."""
    return [
        f"{path}:{getattr(node, 'lineno', 0)}: {name}"
        for path, tree in modules.items()
        for node in nodes(tree)
        for name in names_of(node)
        if name.lstrip("_") in VAGUE
    ]


def owned_twice(modules: Mapping[str, ast.Module]) -> dict[str, list[str]]:
    """Names of classes, each with the modules that define one, where these are several."""
    owners: dict[str, list[str]] = defaultdict(list)
    for path, tree in modules.items():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef) and node.name not in SHARED:
                owners[node.name].append(path)
    return {name: paths for name, paths in owners.items() if len(paths) > 1}


def defined_twice(modules: Mapping[str, ast.Module]) -> list[str]:
    """What a module defines twice: the second definition is the one that all of its functions see."""
    twice = []
    for path, tree in modules.items():
        defined: set[str] = set()
        for node in tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [node]
            for name in (name for target in targets for name in names_of(target)):
                twice += [f"{path}:{node.lineno}: {name}"] if name in defined else []
                defined.add(name)
    return twice


def length(function: Function) -> int:
    """Lines of the body, from the first statement behind the docstring to the last."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return 0 if not body else (body[-1].end_lineno or 0) - body[0].lineno + 1


def too_long(modules: Mapping[str, ast.Module]) -> list[str]:
    """Functions that nobody reads at one sight."""
    return [
        f"{path}:{node.lineno}: {node.name} has {length(node)} lines"
        for path, tree in modules.items()
        for node in nodes(tree)
        if isinstance(node, Function) and length(node) > LONGEST
    ]


def kinds_compared(modules: Mapping[str, ast.Module]) -> list[str]:
    """Where the family of a release is compared with another, and its record not asked what can be done with it."""
    return [
        f"{path}:{node.lineno}"
        for path, tree in modules.items()
        for node in nodes(tree)
        if isinstance(node, ast.Compare)
        if not isinstance(node.comparators[0], ast.Constant) or node.comparators[0].value is not None
        if any(".family" in ast.unparse(side) for side in (node.left, *node.comparators))
    ]


def test_names_say_what_a_thing_is(sources: dict[str, ast.Module]) -> None:
    assert vague(sources) == []


def test_a_class_has_one_owner(sources: dict[str, ast.Module]) -> None:
    assert owned_twice(sources) == {}


def test_nothing_is_defined_twice(sources: dict[str, ast.Module]) -> None:
    assert defined_twice(sources) == []


def test_what_comes_after_an_algorithm_does_not_compare_families(sources: dict[str, ast.Module]) -> None:
    assert kinds_compared(sources) == []


def test_few_classes_are_called_after_the_release(sources: dict[str, ast.Module]) -> None:
    named = {node.name for tree in sources.values() for node in nodes(tree) if isinstance(node, ast.ClassDef)}
    assert len({name for name in named if name.startswith("Release")}) <= MOST_RELEASES


def test_functions_are_short(sources: dict[str, ast.Module]) -> None:
    assert too_long(sources) == []


@pytest.mark.parametrize(
    "text",
    [
        "found = 1",
        "for told in []: pass",
        "(a, *shown) = range(3)",
        "def f(*, at=None): pass",
        "lambda asked: 0",
        "[a for at in []]",
        "self.shown = 1",
        "class A:\n    shown: int",
        "with open('') as found: pass",
        "if (found := 1): pass",
        "def found(): pass",
        "def _found(): pass",
        "self._at = 0",
        "match a:\n    case [told, *_]: pass",
        "match a:\n    case [*told]: pass",
        "match a:\n    case {**told}: pass",
        "try: pass\nexcept ValueError as found: pass",
        "import numpy as at",
    ],
)
def test_every_way_to_give_a_name_is_looked_at(text: str) -> None:
    assert len(vague({"a.py": ast.parse(text)})) == 1


def test_what_has_such_a_name_elsewhere_may_be_called() -> None:
    assert vague({"a.py": ast.parse("import numpy as np\nnp.add.at(x, i, 1)\nf(shown=2)\nprint(found)")}) == []


def test_two_owners_are_named() -> None:
    trees = {path: ast.parse("class Cells: pass\nclass Options: pass") for path in ("a.py", "b.py")}
    assert owned_twice(trees) == {"Cells": ["a.py", "b.py"]}


def test_a_long_function_is_named_and_its_manual_does_not_count() -> None:
    manual = '    """' + "line\n" * 60 + '    """\n'
    fits, not_fits = ("def f():\n" + manual + "    a = 1\n" * lines for lines in (LONGEST, LONGEST + 1))
    assert too_long({"a.py": ast.parse(fits)}) == []
    assert too_long({"a.py": ast.parse(not_fits)}) == [f"a.py:1: f has {LONGEST + 1} lines"]
    assert too_long({"a.py": ast.parse("def f():\n    '''All of it.'''")}) == []


@pytest.mark.parametrize(
    "text",
    ["NEEDS.family == 'local'", "each.family.name in ('local', 'levels')", "'a' != x.family", "A is not b.family"],
)
def test_every_way_to_compare_a_family_is_looked_at(text: str) -> None:
    assert kinds_compared({"a.py": ast.parse(text)}) == ["a.py:1"]
    assert kinds_compared({"a.py": ast.parse("x.family is None or x.family.followed")}) == []
