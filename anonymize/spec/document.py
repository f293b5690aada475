"""A YAML file as plain values, with the line and column of each of its keys and values.

Scalars are read as YAML 1.2's core schema has it: only `true` and `false` are booleans (`yes` and `NO` are text), there
are neither dates nor base-60 numbers, and `0o17` is octal where `017` is seventeen. Where the spec wants text, a plain
scalar is the text as it is written: `02138`, `1.0`, `true`, `null`. A key that stands twice, a tag, a merge key, an
alias to itself and a key without a value are errors. Reference: https://yaml.org/spec/1.2.2/#103-core-schema
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped,unused-ignore]

from anonymize.errors import Problem, SpecError
from anonymize.files import content_of, split
from anonymize.records import dataclass
from anonymize.spec.base import KeyPath, Place
from anonymize.spec.messages import Shape, misspelt, of_spec, unknown_key

SPEC_BYTES = 1 << 22
"""Bytes of a spec, or of a file of queries, at most."""
_CORE = "tag:yaml.org,2002:"
_NULL, _BOOL, _INT, _FLOAT, _STR = (_CORE + name for name in ("null", "bool", "int", "float", "str"))
_TABLES = (b"PAR1", b"ARROW1", b"\x1f\x8b")
_TABLE_HINT = "a table is named with --input, or as input.path in the spec"
_HEAD = 1 << 16  # bytes of a file that tell a table from a spec
_COLLECTIONS = {_CORE + "map", _CORE + "seq"}
_LARGEST = 100_000  # values in one file, aliases expanded
_DEEPEST = 50  # keys and list positions on the way to a value
_RESOLVERS = (
    (_NULL, r"null|Null|NULL|~|", ["n", "N", "~", ""]),
    (_BOOL, r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    (_INT, r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    (
        _FLOAT,
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
)


class _CoreLoader(yaml.BaseLoader):  # type: ignore[misc,unused-ignore]
    """PyYAML's scanner and parser, with the tags of the core schema. Only composes: builds no objects."""


for _tag, _pattern, _first in _RESOLVERS:
    _CoreLoader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), _first)


@dataclass
class Document:
    """A file's values, and where they stand. Paths are tuples of keys and list positions."""

    file: str
    values: dict[str, Any] = field(default_factory=dict)
    keys: dict[KeyPath, Place] = field(default_factory=dict)  # of a key, or of a list item
    places: dict[KeyPath, Place] = field(default_factory=dict)  # of a value
    sha256: str | None = None  # of the file, as it was read
    texts: dict[KeyPath, str] = field(default_factory=dict)  # of scalars, as written
    problems: list[Problem] = field(default_factory=list)
    broken: set[KeyPath] = field(default_factory=set)  # values that a problem was reported for already

    def report(self, path: KeyPath, message: str, hint: str | None = None, place: Place | None = None) -> None:
        """Adds a problem, at the value of `path` unless a place is given."""
        line, column = place or self.places.get(path, (1, 1))
        self.problems.append(Problem(message, self.file, line, column, hint))
        self.broken.add(path)


def read(path: Path, shape: Shape) -> Document:
    """The values of a YAML file whose root is a mapping, texts decided by `shape`.

    Raises SpecError for a file that cannot be read, is a table, is not UTF-8 or not YAML, is empty or holds no mapping;
    other problems are collected in the document.
    """
    document = Document(str(path))
    _refuse_table(path, shape)
    content = _content(path)
    document.sha256 = hashlib.sha256(content).hexdigest()
    root = compose(_decoded(content, path), document.file)
    if root is None:
        raise SpecError(Problem("the spec is empty", document.file, 1, 1, "it begins with `version: 1`"))
    if not isinstance(root, yaml.MappingNode):
        message, hint = "a spec is a mapping of keys to values", "it begins with `version: 1`"
        raise SpecError(Problem(message, document.file, *_place(root), hint))
    document.values = _Reader(document).value(root, (), shape)
    return document


def value_of(text: str, name: str, shape: Shape) -> Any:
    """The value of a key of a spec file, written as there. Raises SpecError for what is none."""
    document = Document("")
    value = _Reader(document).value(compose(text, document.file), ("", name), shape)
    if document.problems:
        raise SpecError(document.problems)
    return value


def _refuse_table(path: Path, shape: Shape) -> None:
    """Raises SpecError for a table in place of a spec: one with the first bytes of Parquet, Arrow or gzip, or a text
    without any key of a spec that is named as a table or parted into fields."""
    if not path.is_file():  # a pipe can be read only once
        return
    with suppress(OSError), path.open("rb") as file:
        head = file.read(_HEAD)
        key = rf"""(?:^|[{{,\s])["']?(?:{"|".join(shape.names)})["']?\s*:"""
        text = head.decode("latin-1")
        named = split(path.name)[1] != ""
        if head.startswith(_TABLES) or (head and not re.search(key, text, re.M) and (named or _has_fields(text))):
            raise SpecError(Problem("is a table, where the spec is expected", str(path), hint=_TABLE_HINT))


def _has_fields(text: str) -> bool:
    """Whether the first two lines have equally many separators of a CSV, if they have any."""
    lines = text.splitlines()[:2]
    return len(lines) == 2 and any(lines[0].count(mark) == lines[1].count(mark) > 0 for mark in ",;\t|")


def _content(path: Path) -> bytes:
    """What is in a file. Raises SpecError if it cannot be read or is too large for a spec."""
    try:
        return content_of(path, SPEC_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise SpecError(Problem(f"cannot read the file: {reason}", str(path))) from None


def _decoded(content: bytes, path: Path) -> str:
    """A file's text, without a byte order mark. Raises SpecError if it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        column = error.start - before.rfind(b"\n")
        hint = "save it in that encoding"
        raise SpecError(Problem("not UTF-8", str(path), before.count(b"\n") + 1, column, hint)) from None


def compose(text: str, file: str) -> Any:
    """The one YAML document of a text as PyYAML nodes, tagged by the core schema; None if there is none.

    Raises SpecError with line and column if it is not YAML.
    """
    try:
        loader = _CoreLoader(text)
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        what = ", ".join(part for part in (error.context, error.problem) if part)
        hint = _syntax_hint(error, mark)
        raise SpecError(Problem(f"not valid YAML: {what}", file, mark.line + 1, mark.column + 1, hint)) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = before.count("\n") + 1, error.position - before.rfind("\n")
        raise SpecError(Problem("a character that YAML does not allow", file, *place)) from None
    except RecursionError:
        raise SpecError(Problem("nested too deeply", file)) from None


def _syntax_hint(error: Any, mark: Any) -> str | None:
    marks = [each for each in (error.problem_mark, error.context_mark) if each is not None]
    characters = {each.buffer[each.pointer : each.pointer + 1] for each in marks if each.buffer}
    if "\t" in characters:
        return "indent with spaces, not with tabs"
    if characters & set("*&!%@`,"):
        return "text that begins with one of * & ! % @ ` , must be in quotes"
    lines = marks[0].buffer.splitlines() if marks and marks[0].buffer else []
    braces = mark.line < len(lines) and "{low}" in lines[mark.line]
    return "text with braces or brackets belongs in quotes" if braces else None


def _place(node: Any) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1


class _Reader:
    """Turns nodes into values, writing places, texts and problems into a document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.count = 0
        self.open: set[int] = set()

    def refuse(self, path: KeyPath, message: str, hint: str | None = None, place: Place | None = None) -> Any:
        """Reports a problem; None stands in for the value."""
        self.document.report(path, message, hint, place)
        return None

    def value(self, node: Any, path: KeyPath, shape: Shape) -> Any:
        self.count += 1
        if self.count > _LARGEST:
            raise SpecError(Problem(f"more than {_LARGEST:,} values", self.document.file, *_place(node)))
        if len(path) > _DEEPEST:
            raise SpecError(Problem("nested too deeply", self.document.file, *_place(node)))
        self.document.places[path] = _place(node)
        self.document.keys.setdefault(path, _place(node))
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, path, shape)
        if node.tag not in _COLLECTIONS:
            return self.refuse(path, "tags (!...) are not supported")
        return self.collection(node, path, shape)

    def collection(self, node: Any, path: KeyPath, shape: Shape) -> Any:
        if id(node) in self.open:
            return self.refuse(path, "an alias that contains itself")
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return dict(self.pairs(node, path, shape))
            if len(path) == 1 and shape.containers == {dict}:
                return dict(self.names(node, path, shape))
            return [self.value(item, (*path, i), shape.below(i)) for i, item in enumerate(node.value)]
        finally:
            self.open.discard(id(node))

    def pairs(self, node: Any, path: KeyPath, shape: Shape) -> Iterator[tuple[str, Any]]:
        """The keys of a mapping, with their values."""
        first: dict[str, Place] = {}
        meant = self.meant(node) if not path else {}
        for key, value in node.value:
            name = self.key(key, path)
            name = meant.get(name, name)
            if name is None or self.is_second(name, path, _place(key), first):
                continue
            inner = (*path, name)
            self.document.keys[inner] = _place(key)
            yield name, self.value(value, inner, shape.below(name))

    def meant(self, node: Any) -> dict[str, str]:
        """The sections that misspelt keys of the file's root stand for; the keys are reported."""
        places = {key.value: _place(key) for key, _ in node.value if isinstance(key, yaml.ScalarNode)}
        meant = misspelt(places)
        for key in meant:
            fault = unknown_key((key,), of_spec().names)
            self.document.problems.append(Problem(fault.message, self.document.file, *places[key], fault.hint))
        return meant

    def names(self, node: Any, path: KeyPath, shape: Shape) -> Iterator[tuple[str, Any]]:
        """A list of names in place of a mapping: `sensitive: [diagnosis]`; each has what is default."""
        first: dict[str, Place] = {}
        for item in node.value:
            if not isinstance(item, yaml.ScalarNode) or not item.value:
                hint = "with settings, write `name: {...}`, without the dash"
                self.document.report(path, f"`{path[0]}` as a list takes names only", hint, _place(item))
            elif not self.is_second(item.value, path, _place(item), first):
                inner = (*path, item.value)
                self.document.keys[inner] = self.document.places[inner] = _place(item)
                yield item.value, {}

    def is_second(self, name: str, path: KeyPath, place: Place, first: dict[str, Place]) -> bool:
        """Whether a key stands here already; the second one is reported."""
        if first.setdefault(name, place) == place:
            return False
        message = f"`{name}` is given twice"
        self.document.report((*path, name), message, f"the first is in line {first[name][0]}", place)
        return True

    def key(self, node: Any, path: KeyPath) -> Any:
        if not isinstance(node, yaml.ScalarNode) or not _is_unicode(node.value):
            return self.refuse(path, "a key has to be text", place=_place(node))
        if node.value == "<<" and node.style is None:
            return self.refuse(path, "merge keys (<<) are not supported", place=_place(node))
        return str(node.value)

    def scalar(self, node: Any, path: KeyPath, shape: Shape) -> Any:
        written: str = node.value
        if not _is_unicode(written):
            return self.refuse(path, "text with half a character (a lone surrogate)")
        self.document.texts[path] = written
        is_text = shape.is_text or (node.tag == _NULL and str in shape.leaves)
        if node.tag == _STR or (is_text and written and node.tag in _PLAIN):
            return written
        if node.tag == _NULL:
            return self.nothing(path, shape)
        try:
            return _SCALARS[node.tag](written)
        except KeyError:
            return self.refuse(path, "tags (!...) are not supported")
        except ValueError:
            return self.refuse(path, f"cannot be read as {_NAMES[node.tag]}")

    def nothing(self, path: KeyPath, shape: Shape) -> Any:
        """An empty section or an attribute without settings has its defaults; elsewhere a value was forgotten."""
        if shape.containers == {dict} and (len(path) == 1 or path[0] in ("quasi_identifiers", "sensitive")):
            return {}
        if shape.containers == {tuple} and len(path) == 1:
            return []
        if path and isinstance(path[-1], str):
            message = f"`{path[-1]}` has no value"
            return self.refuse(path, message, "give it one, or leave it out", self.document.keys[path])
        hint = 'the empty text is written ""' if shape.is_text else None
        return self.refuse(path, "an item without a value", hint)


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _whole(text: str) -> int:
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)


def _number(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


_NAMES = {_BOOL: "true or false", _INT: "a whole number", _FLOAT: "a number"}
_PLAIN = {_NULL, *_NAMES}
_SCALARS = {_BOOL: _boolean, _INT: _whole, _FLOAT: _number}
