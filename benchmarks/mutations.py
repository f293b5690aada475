"""What can be changed in a file so that a test should notice: its mutations, one small change each.

A comparison takes in its bound or leaves it out, or says the opposite; `and` becomes `or`; a condition is turned round
or left out; sums, products and sets are exchanged; a number grows by one; a truth is turned round; a function returns
nothing; a call that is a statement is left out; a text reads otherwise, if that is asked for. Docstrings, annotations
and `strict=`, `frozen=` stay: no behaviour hangs on them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
Node = TypeVar("Node", bound=ast.expr | ast.stmt)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Mutation:
    """One change: of which node, counted as `ast.walk` meets them, and which of the changes there are of that node."""

    path: Path
    node: int
    variant: int
    line: int
    statement: int
    """The line at which its statement begins."""
    change: str
    in_function: bool

    def tree(self) -> ast.Module:
        """The file with the change made."""
        tree = ast.parse(self.path.read_bytes())
        changed = list(ast.walk(tree))[self.node]
        replacement = list(changes(changed))[self.variant]
        for parent in ast.walk(tree):
            for name, value in ast.iter_fields(parent):
                if value is changed:
                    setattr(parent, name, replacement)
                elif isinstance(value, list) and changed in value:
                    value[value.index(changed)] = replacement
        return ast.fix_missing_locations(tree)

    @property
    def source(self) -> str:
        """The line that it is in."""
        return self.path.read_text(encoding="utf8").splitlines()[self.line - 1].strip()


def mutations(path: Path, *, texts: bool = False) -> Iterator[Mutation]:
    """Every mutation of a file, from its top to its end; of its texts as well, or of all but these."""
    tree = ast.parse(path.read_bytes())
    kept, inner, statements = set(_kept(tree)), set(_inner(tree)), _statements(tree)
    found = [
        Mutation(path, index, variant, node.lineno, statements[node], _change(node, replacement), node in inner)
        for index, node in enumerate(ast.walk(tree))
        if node not in kept and isinstance(node, ast.expr | ast.stmt) and (texts or not _is_text(node))
        for variant, replacement in enumerate(changes(node))
    ]
    return iter(sorted(found, key=lambda each: each.line))


def changes(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """What may stand instead of a node; the nodes below it are shared with it."""
    match node:
        case ast.Compare(left, [operator], comparators):
            yield _like(ast.Compare(left, [COMPARISONS[type(operator)]()], comparators), node)
        case ast.BoolOp(operator, values):
            yield _like(ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values), node)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield _like(ast.BinOp(left, OPERATORS[type(operator)](), right), node)
        case ast.AugAssign(target, operator, value) if type(operator) in OPERATORS:
            yield _like(ast.AugAssign(target, OPERATORS[type(operator)](), value), node)
        case ast.IfExp(test, body, other):
            yield _like(ast.IfExp(_denied(test), body, other), node)
        case ast.If(test, body, other) | ast.While(test, body, other) if isinstance(test, ast.Name | ast.Call):
            yield _like(type(node)(_denied(test), body, other), node)
        case ast.Return(value) if value and not (isinstance(value, ast.Constant) and value.value is None):
            yield _like(ast.Return(ast.Constant(None)), node)
        case ast.Expr(ast.Call()):
            yield _like(ast.Pass(), node)
        case ast.Constant(bool() | int() | float() | str() as value):
            yield _like(ast.Constant(_other(value)), node)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            yield from _unfiltered(node)


def _unfiltered(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Iterator[ast.expr]:
    """The same with a condition left out, for every condition."""
    fields = {name: value for name, value in ast.iter_fields(node) if name != "generators"}
    for index, each in enumerate(node.generators):
        if each.ifs:
            every = [*node.generators]
            every[index] = ast.comprehension(each.target, each.iter, [], each.is_async)
            yield _like(type(node)(**fields, generators=every), node)


def _like(new: Node, node: ast.expr | ast.stmt) -> Node:
    return ast.copy_location(new, node)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _denied(test: ast.expr) -> ast.expr:
    return _like(ast.UnaryOp(ast.Not(), test), test)


def _other(value: bool | float | str) -> bool | float | str:
    if isinstance(value, bool):
        return not value
    return "mutated" if isinstance(value, str) else value + 1


def _change(node: ast.AST, replacement: ast.AST) -> str:
    return f"{_short(node)} -> {_short(replacement)}"


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) < 60 else f"{text[:40]} ... {text[-15:]}"


def _kept(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that are not changed."""
    for node in ast.walk(tree):
        spared: list[ast.AST | None] = []
        match node:
            case ast.Expr(ast.Constant()) | ast.keyword(arg="strict" | "frozen"):
                spared = [node]
            case ast.If(ast.Name("TYPE_CHECKING")):
                spared = [node]
            case ast.AnnAssign() | ast.arg():
                spared = [node.annotation]
            case ast.FunctionDef():
                spared = [node.returns]
            case ast.Call(ast.Name("cast"), [kind, *_]):
                spared = [kind]
        for each in filter(None, spared):
            yield from ast.walk(each)


def _statements(tree: ast.Module) -> dict[ast.AST, int]:
    """The line at which the innermost statement around each node begins."""
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return {node: statement.lineno for statement in around for node in ast.walk(statement)}


def _inner(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that run when a function is called, and not when the file is imported."""
    for node in ast.walk(tree):
        if isinstance(node, SCOPES):
            for each in node.body if isinstance(node.body, list) else [node.body]:
                yield from ast.walk(each)
