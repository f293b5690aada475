"""What the keys of the spec mean: docstrings under the attributes of its models, asked for by the JSON Schema alone.

With `use_attribute_docstrings` pydantic reads them itself, as each class is made: a third more CPU time before any
command does anything.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise


def descriptions(model: type, root: type) -> dict[str, str]:
    """Attribute -> its docstring on one line, from the classes between `root` and the model as well."""
    classes = [base for base in reversed(model.__mro__) if issubclass(base, root) and base is not root]
    texts: dict[str, str] = {}
    for each in classes:
        texts |= _documented(each.__module__).get(each.__name__, {})
    return texts


@cache
def _documented(module: str) -> dict[str, dict[str, str]]:
    """Class -> attribute -> docstring, for the classes at the top of a module; none where there is no source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    return {node.name: _attributes(node.body) for node in tree.body if isinstance(node, ast.ClassDef)}


def _attributes(body: list[ast.stmt]) -> dict[str, str]:
    texts = {}
    for statement, after in pairwise(body):
        match statement, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
    return texts
