"""Reads a value generalization hierarchy from a file: CSV (any name) or a YAML tree (`.yaml`, `.yml`), in UTF-8.

**CSV.** One line per leaf, from the leaf to the root, separated by `;` or `,`; a field that holds the separator, a
quote or a line break is quoted. There is no header.

    Private;Non-Government;*
    Federal-gov;Government;*

The separator is `;` if that parts the first line, else `,`. Labels are normalized as the table's values are, unless the
spec turns that off; then they are taken as they stand, spaces included.

**YAML.** Nested mappings and lists, the root's label first, each label as it is written (`02138` and `no` are texts). A
node without children is a leaf. A label such as `*` has to be quoted. In place of a label, a node can be given as a
mapping of `label`, `weight` (a number above 0, 1 if left out) and `children`; a node that is called "label" has to be.
Nodes between leaves and root may have a weight, by which what they cost is multiplied; see `anonymize.domain.tree`.

    "*":
      Non-Government: [Private]
      Government:
        - Federal-gov
        - {label: Local, weight: 0.8, children: [Local-gov, State-gov]}

**What both mean.** Levels are counted from the root, so the leaf of a short line or branch stands for its own ancestors
on the lower levels. A node is its label and the labels above it. On one level a label may therefore stand under one
parent only. It may stand again on another level: a node that repeats its only child (`A;A;*`) is one node with it, any
other is a node of its own which reads the same in a release. Siblings are ordered by their first appearance. The text
of the leaf, and no other, may be empty.

A file is refused with all its problems, as lines: no label and no leaf is quoted.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from functools import cache
from pathlib import Path

import yaml

from anonymize.domain import tree as node_weights
from anonymize.domain.tree import Tree, read_plain
from anonymize.errors import Problem, SpecError
from anonymize.files import content_of
from anonymize.records import dataclass
from anonymize.spec.notation import normalized, trimmed

LISTED_PROBLEMS = 20  # problems of a file that are listed; the others are counted
DEPTH = 100
"""So deep may YAML be nested, and so many fields may a line of CSV have."""
MOST_CSV, MOST_YAML = 1 << 28, 1 << 26
"""Bytes of a file of each kind that are read at most."""


@dataclass(frozen=True)
class Branch:
    """The labels from a leaf to the root, and the line on which each stands."""

    labels: tuple[str, ...]
    lines: tuple[int, ...]

    @property
    def line(self) -> int:
        """Where the leaf stands."""
        return self.lines[0]


@dataclass
class Faults:
    """What is wrong with a file, in the order of the checks."""

    path: Path
    column: str
    problems: list[Problem] = field(default_factory=list)

    def add(self, message: str, line: int | None = None, hint: str | None = None) -> None:
        """Notes a problem; several may be noted about one line."""
        text = f"hierarchy of {self.column!r}: {message}" if self.column else message
        self.problems.append(Problem(text, file=str(self.path), line=line, hint=hint))

    def settle(self) -> None:
        """Raises SpecError if there was any problem, with the first of them by line."""
        if not self.problems:
            return
        ordered = sorted(self.problems, key=lambda problem: problem.line or 0)
        listed = ordered[:LISTED_PROBLEMS]
        if len(ordered) > LISTED_PROBLEMS:
            listed.append(Problem(f"{len(ordered) - LISTED_PROBLEMS} more problems in this file", file=str(self.path)))
        raise SpecError(listed)


def read(path: Path, column: str = "", *, normalize: bool = True) -> Tree:
    """The tree of a hierarchy file; `column` is the column that messages name. `normalize`: labels are normalized.

    Raises:
        SpecError: the file cannot be read or is not a hierarchy; holds all its problems, each with its line.
    """
    faults = Faults(path, column)
    text = _text(path, faults)
    faults.settle()
    weights: dict[tuple[str, ...], float] = {}
    if _is_yaml(path):
        branches = _yaml_branches(text, faults, weights)
    else:
        separator = _separator(text)
        short = text.count(separator, 0, text.find("\n") + 1 or len(text)) < DEPTH  # as the first line says
        tree = read_plain(text, separator, normalize=normalize) if short else None
        if tree is not None:
            return tree
        branches = list(_csv_branches(text, faults))
    if normalize:
        branches, weights = _normalized(branches, weights)
    if not branches and not faults.problems:
        faults.add("the file has no leaves", hint="write one line per leaf, from the leaf to the root")
    _check(branches, faults)
    faults.settle()
    if weights:
        for fault in node_weights.faults([(branch.labels, branch.lines) for branch in branches], weights):
            faults.add(*fault)
        faults.settle()
    return Tree.from_paths([branch.labels for branch in branches], weights)


def labels_written(path: Path) -> dict[str, str]:
    """How the labels of a file that has been read are written, of those that are compared as another text."""
    faults = Faults(path, "")
    text = _text(path, faults) if path.is_file() else ""  # a pipe can be read only once
    if text.isascii():
        return {}
    branches = _yaml_branches(text, faults, {}) if _is_yaml(path) else list(_csv_branches(text, faults))
    labels = {label for branch in branches for label in branch.labels if not label.isascii()}
    pairs = ((normalized(label), trimmed(label)) for label in sorted(labels, reverse=True))
    return {compared: label for compared, label in pairs if compared and compared != label}


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in {".yaml", ".yml"}


def _text(path: Path, faults: Faults) -> str:
    try:
        data = content_of(path, MOST_YAML if _is_yaml(path) else MOST_CSV)
    except OSError as error:
        faults.add(f"the file cannot be read: {error.strerror}")
        return ""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        faults.add("the file is UTF-16", hint="save it as UTF-8")
        return ""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        faults.add("the file is not UTF-8", line, hint="save it as UTF-8")
        return ""


# --- CSV ------------------------------------------------------------------------------------------------------------


def _csv_branches(text: str, faults: Faults) -> Iterator[Branch]:
    """One branch per line that can be read as one."""
    line = 1
    try:
        separator = _separator(text)
        records = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        for fields in records:
            if _is_line(fields, line, separator, faults):
                yield Branch(tuple(fields), (line,) * len(fields))
            line = records.line_num + 1
    except csv.Error as error:
        faults.add(f"a field is not quoted as CSV: {error}", line, hint='a quote within quotes is written twice: ""')


def _separator(text: str) -> str:
    records = csv.reader(io.StringIO(text, newline=""), delimiter=";")
    with suppress(csv.Error):  # a line without a ; that is longer than a field may be
        return ";" if len(next(filter(None, records), [])) > 1 else ","
    return ","


def _is_line(fields: list[str], line: int, separator: str, faults: Faults) -> bool:
    """Whether a line is a leaf with its ancestors; notes why not."""
    if len(fields) > DEPTH:
        faults.add(f"the line has more than {DEPTH} levels", line)
    elif not "".join(fields).strip():
        faults.add("the line is empty", line, hint="remove it")
    elif len(fields) == 1:
        hint = f"write LEAF{separator}...{separator}ROOT"
        faults.add("the line has one field, and needs a leaf and a root at least", line, hint)
    elif "" in fields[1:] and (any(fields[:-1]) or not fields[-1]):  # the empty value may stay empty up to the root
        hint = f"remove the {separator!r} too many, or name the parent"
        faults.add(f"field {fields.index('', 1) + 1} is empty", line, hint)
    else:
        return True
    return False


# --- YAML -----------------------------------------------------------------------------------------------------------

_Loader: type[yaml.CSafeLoader] | type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FORM = {"label", "weight", "children"}
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True)
class _Node:
    """A node of the tree as the file has it."""

    label: str
    line: int
    children: yaml.Node | None
    weight: yaml.Node | None = None


def _yaml_branches(text: str, faults: Faults, weights: dict[tuple[str, ...], float]) -> list[Branch]:
    """All branches that can be read; fills in the weights, by the path from the node to the root."""
    try:
        deep = _too_deep(text)
        if deep is not None:
            faults.add(f"the tree has more than {DEPTH} levels", deep)
            return []
        document = yaml.compose(text, Loader=_Loader)
        if document is None:
            return []
        reader = _YamlTree(faults, weights)
        roots = list(reader.nodes(document)) if isinstance(document, yaml.MappingNode) else []
        if len(roots) == 1 and roots[0].children is not None:
            return list(reader.branches(roots[0], (), ()))
        faults.add("the file is not one root with children below it", _line(document), hint='write "*": and indent')
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = re.sub(r"'[^']*'", "'...'", getattr(error, "problem", None) or "a character that YAML does not allow")
        hint = 'quote labels that start with a sign, such as "*"'
        faults.add(f"the file is not YAML: {what}", mark.line + 1 if mark else None, hint)
    return []


def _too_deep(text: str) -> int | None:
    """The line where the nesting gets deeper than a recursive reader may follow, if it does. Some versions of libyaml
    look far ahead, and themselves refuse what is deeper still."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEPTH:
                return _line(event)
    except yaml.MarkedYAMLError as error:
        if error.problem_mark is None or "nesting depth" not in (error.problem or ""):
            raise
        return int(error.problem_mark.line) + 1
    return None


@dataclass
class _YamlTree:
    """Walks the nodes of a YAML document."""

    faults: Faults
    weights: dict[tuple[str, ...], float]
    seen: set[int] = field(default_factory=set)

    def branches(self, node: _Node, above: tuple[str, ...], lines: tuple[int, ...]) -> Iterator[Branch]:
        """The branches through a node, given the labels above it and their lines."""
        labels, lines = (node.label, *above), (node.line, *lines)
        if node.weight is not None:
            self.weights[labels] = self._weight(node.weight)
        if node.children is None:
            yield Branch(labels, lines)
            return
        if not node.label:
            self.faults.add("a node with children has an empty label", node.line, hint="name it")
        siblings: dict[str, int] = {}
        for child in self.nodes(node.children):
            if child.label in siblings:
                self.faults.add(f"the node occurs in line {siblings[child.label]} already", child.line, "write it once")
                continue
            siblings[child.label] = child.line
            yield from self.branches(child, labels, lines)

    def nodes(self, node: yaml.Node) -> Iterator[_Node]:
        """The nodes that a list or a mapping names; each of those may be named once only, as an alias repeats it."""
        if id(node) in self.seen:
            self.faults.add("an alias repeats a part of the tree", _line(node), hint="write each node once")
        elif isinstance(node, yaml.ScalarNode):
            self.faults.add("a text instead of a list of children", _line(node), hint="write them as a list: [A, B]")
        elif not node.value:
            self.faults.add("the list of children is empty", _line(node), hint="a leaf has none: leave it out")
        else:
            self.seen.add(id(node))
            for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
                yield from self._item(item)

    def _item(self, item: yaml.Node) -> Iterator[_Node]:
        """The leaf, the node in the form with `label`, or the nodes of a mapping from labels to children."""
        if isinstance(item, yaml.MappingNode):
            keys = {key.value for key, _ in item.value if isinstance(key, yaml.ScalarNode)}
            pairs = [self._form(item)] if "label" in keys else [(key, value, None) for key, value in item.value]
        else:
            pairs = [(item, None, None)]
        for label, children, weight in pairs:
            if not isinstance(label, yaml.ScalarNode) or (label.tag == _NULL and not label.value):
                self.faults.add("a node has no label", _line(item), hint="a label is a text; empty, it is quoted")
            else:
                empty = children is None or children.tag == _NULL
                yield _Node(label.value, _line(label), None if empty else children, weight)

    def _form(self, item: yaml.MappingNode) -> tuple[yaml.Node, yaml.Node | None, yaml.Node | None]:
        entries = {key.value: value for key, value in item.value if isinstance(key, yaml.ScalarNode)}
        if len(entries) < len(item.value) or not entries.keys() <= _FORM:
            hint = "a node that is called 'label' is written {label: label, children: [...]}"
            self.faults.add("a node with 'label' may have 'weight' and 'children', once each", _line(item), hint)
        return entries["label"], entries.get("children"), entries.get("weight")

    def _weight(self, node: yaml.Node) -> float:
        try:
            weight = float(node.value)
        except (TypeError, ValueError):
            weight = math.nan
        if 0 < weight < math.inf:
            return weight
        self.faults.add("the weight is not a number above 0", _line(node))
        return 1.0


def _line(part: yaml.Node | yaml.Event) -> int:
    return int(part.start_mark.line) + 1 if part.start_mark else 1


# --- what both mean -------------------------------------------------------------------------------------------------


def _normalized(
    branches: list[Branch], weights: dict[tuple[str, ...], float]
) -> tuple[list[Branch], dict[tuple[str, ...], float]]:
    """Branches and weights with labels as they are compared; an invisible label above a leaf keeps its text."""

    @cache
    def plain_above(labels: tuple[str, ...]) -> tuple[str, ...]:  # many leaves share them
        return tuple(normalized(label) or label for label in labels)

    def plain(labels: tuple[str, ...]) -> tuple[str, ...]:
        return normalized(labels[0]), *plain_above(labels[1:])

    plain_weights = {plain(labels): weight for labels, weight in weights.items()}
    return [Branch(plain(branch.labels), branch.lines) for branch in branches], plain_weights


def _check(branches: list[Branch], faults: Faults) -> None:
    """Notes every branch with a leaf or a root of its own, or with a label that has another parent elsewhere."""
    root = Counter(branch.labels[-1] for branch in branches).most_common(1)
    seen: dict[str, Branch] = {}
    for branch in branches:
        if branch.labels[-1] != root[0][0]:
            faults.add("the root is not that of most lines", branch.line, "a header line, or another last field?")
            continue
        first = seen.setdefault(branch.labels[0], branch)
        if first is not branch:
            same = "on the same path" if first.labels == branch.labels else "under another parent"
            faults.add(f"the leaf occurs in line {first.line} already, {same}", branch.line, hint="keep one of them")
    _check_parents(list(seen.values()), faults)


def _check_parents(branches: list[Branch], faults: Faults) -> None:
    """Notes each label that stands under two parents on one level, once per further parent."""
    height = max((len(branch.labels) for branch in branches), default=1) - 1
    parents: dict[tuple[int, str], dict[str, int]] = {}
    for branch in branches:
        padding = height + 1 - len(branch.labels)
        for level in range(1, height):
            here, above = max(level - padding, 0), max(level + 1 - padding, 0)
            line_of = parents.setdefault((level, branch.labels[here]), {})
            if line_of and branch.labels[above] not in line_of:
                where = f"line {next(iter(line_of.values()))}"
                message = f"the label on level {level} above the leaf has another parent in {where}"
                faults.add(message, branch.lines[here], hint="a label can have only one parent: rename it")
            line_of.setdefault(branch.labels[above], branch.lines[here])


def check(sources: Mapping[str, object], *, normalize: bool = True) -> None:
    """Reads the hierarchy file of every column that has one; raises SpecError with the problems of all of them."""
    problems: list[Problem] = []
    for column, source in sources.items():
        if isinstance(source, Path):
            try:
                read(source, column, normalize=normalize)
            except SpecError as error:
                problems += error.problems
    if problems:
        raise SpecError(problems)
