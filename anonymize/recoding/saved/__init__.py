"""A recoding as a file of its own, which gives what a release would show for rows it has never seen: the file.

`recoder` makes it from what an algorithm found, and applies it; `attributes` finds where a value lies. What a kind of
recoding has to say of itself is in `kinds`: cuts that part all rows, and values that are parted attribute by attribute.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anonymize.errors import DataError, Problem, SpecError
from anonymize.spec.base import Suppressed
from anonymize.spec.codes import SystemName
from anonymize.spec.hierarchy import DatePart, TimePart
from anonymize.spec.notation import Setting
from anonymize.table.files import reason

# --- the file ---------------------------------------------------------------------------------------------------------
# The file of a saved recoding, as frozen pydantic models, and how it is read.
#
# Each attribute's values are parted into *segments*, numbered from 0. In a single-dimensional recoding (full-domain
# generalization is one) a segment is what reads the same; in a multidimensional one, what no cut parts.

FORMAT = "anonymize recoding"
FORMAT_VERSION = 1

Number: TypeAlias = int | float
Numbers: TypeAlias = tuple[Number, ...]
Indices: TypeAlias = tuple[int, ...]


class Part(BaseModel):
    """A mapping of the file: unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Range(Part):
    """The numbers of a segment, both ends included."""

    low: Number
    high: Number
    segment: int


class NumericAttribute(Part):
    """A numeric quasi-identifier.

    `low`, `high`: lowest and highest number that the recoding was made from; None where there was none. `cuts`: the
    lowest number of each segment but the first; or `ranges`: the only numbers that have a segment, ascending.
    `missing`: the segment of missing values, None where they have none. `any`: one segment for whatever there may be.
    `bottom`, `top`: numbers at or beyond them are taken for them, once they are rounded to multiples of `step`.
    """

    type: Literal["numeric"] = "numeric"
    name: str
    low: Number | None
    high: Number | None
    cuts: Numbers = ()
    ranges: tuple[Range, ...] | None = None
    missing: int | None = None
    any: bool = False
    bottom: Number | None = None
    top: Number | None = None
    step: Number | None = None

    @property
    def segments(self) -> int:
        """Number of segments; the missing values may have one of their own, the last."""
        highest = max((each.segment for each in self.ranges), default=-1) if self.ranges else len(self.cuts)
        return max(highest, -1 if self.missing is None else self.missing) + 1


class Builder(Part):
    """The builder of a hierarchy, as a spec has it; `width`: for a mask, the characters of the longest value.
    `format`, `utc`, `bottom`, `top`: of dates or times. `zip3`: the areas that are shown. `rare`: the label of the
    pool, where every value belongs that the hierarchy has not."""

    mask: Literal["right", "left"] | None = None
    prefix: Indices | None = None
    dates: tuple[DatePart, ...] | None = None
    times: tuple[TimePart, ...] | None = None
    format: str | None = None
    utc: bool = False
    bottom: str | None = None
    top: str | None = None
    codes: SystemName | None = None
    zip3: tuple[str, ...] | None = None
    rare: str | None = None
    width: int = 0


class CategoricalAttribute(Part):
    """A categorical quasi-identifier.

    `labels`: text of each node of the hierarchy: first the `leaves`, in their order, the root last. `parents`: number
    of the node above each, -1 for the root. `missing`: the leaf that stands for missing, None where there was none.
    `cuts`: the first leaf of each segment but the first. `builder`: how the hierarchy was made, if not from a file.
    `any`: as for numbers. `values`, `leaf_of`: where the column is coded at a level, so that leaves are nodes of it,
    the values below, and the leaf of each.
    """

    type: Literal["categorical"] = "categorical"
    name: str
    labels: tuple[str, ...]
    parents: Indices
    leaves: int
    missing: int | None = None
    cuts: Indices = ()
    builder: Builder | None = None
    any: bool = False
    values: tuple[str, ...] = ()
    leaf_of: Indices = ()

    @property
    def segments(self) -> int:
        """Number of segments."""
        return len(self.cuts) + 1


Attribute = Annotated[NumericAttribute | CategoricalAttribute, Field(discriminator="type")]


class SavedTree(Part):
    """The tree of a multidimensional recoding; see `anonymize.recoding.CutTree`. `start`, `stop` are segments."""

    attribute: Indices
    start: Indices
    stop: Indices
    first: Indices
    second: Indices


class SavedColumn(Part):
    """A released column: its distinct `texts`, and `text_of`, the index of the text of each class (of regions) or each
    segment of the attribute; -1 for a segment that the release did not show."""

    name: str
    attribute: str
    texts: tuple[str, ...]
    text_of: Indices = Field(alias="shown")


class Box(Part):
    """What each class or segment spans: numbers, or leaves of a hierarchy, both ends included.

    An end is None where nothing lies beyond it; a missing number lies at the largest float. `nodes`: for a hierarchy,
    the node that is shown, -1 for a set of values. `missing`: for numbers, 1 where missing values are spanned, else 0;
    in older files none, where the ends say that, too.
    """

    low: tuple[Number | None, ...]
    high: tuple[Number | None, ...]
    nodes: Indices = ()
    missing: Indices = ()


class TableBlock(Part):
    """How the table is read: what the spec's `input` says, and the roles of the other columns.

    `identifiers` are left out; `others` pass through. `normalize`, `header`, `unnamed`: what they were before they
    could be said. `numbers`: of the quasi-identifiers whose numbers are not written with a point alone, how they are.
    """

    separator: str
    missing: tuple[str, ...]
    encoding: str
    identifiers: tuple[str, ...]
    others: tuple[str, ...]
    normalize: bool = False
    header: bool = True
    unnamed: Literal["error", "drop"] = "error"
    numbers: dict[str, dict[Setting, str]] = Field(default_factory=dict)


class OutputBlock(Part):
    """What a suppressed cell reads, whether suppressed rows are kept, and whether rows are shuffled. `numeric`: how
    numbers are shown, which older files do not say."""

    suppressed: Suppressed
    suppressed_rows: Literal["keep", "drop"]
    row_order: Literal["sorted", "shuffle", "keep"]
    numeric: Literal["interval", "bounds", "mean", "median"] = "interval"
    interval: str = "[{low}-{high}]"
    open_high: str = "{low}+"
    open_low: str = "{high}-"


class Saved(Part):
    """A saved recoding.

    `kind`: regions, with a `tree`; or segments, with the combinations of segments, one tuple per attribute, that the
    release's `classes` have and those that it suppressed. `boxes`: by name, for the attributes that have them.
    """

    format: Literal["anonymize recoding"] = "anonymize recoding"
    format_version: Literal[1] = 1
    tool: str
    algorithm: str
    kind: Literal["regions", "segments"]
    table: TableBlock
    output: OutputBlock
    attributes: tuple[Attribute, ...] = Field(min_length=1)
    columns: tuple[SavedColumn, ...]
    boxes: dict[str, Box]
    tree: SavedTree | None = None
    classes: tuple[Indices, ...] = ()
    suppressed: tuple[Indices, ...] = ()

    def as_json(self) -> str:
        """The file's text: one key a line, so that two of them can be compared."""
        content = self.model_dump(exclude_none=False, by_alias=True)
        lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in content.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"


def load(path: str | Path) -> Saved:
    """Reads a saved recoding.

    Raises DataError where it cannot be read; SpecError where it is not a saved recoding, has another version, or is
    damaged.
    """
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise DataError(Problem(f"cannot be read: {reason(error)}", file=str(path))) from None
    except (ValueError, RecursionError):
        raise SpecError(Problem("is not a saved recoding: it is not JSON", file=str(path))) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise SpecError(Problem("is not a saved recoding", file=str(path), hint="one is made with --save-recoding"))
    if content.get("format_version") != FORMAT_VERSION:
        message = f"has a format_version that is not {FORMAT_VERSION}"
        raise SpecError(Problem(message, file=str(path), hint="save it again with this version"))
    try:
        saved = Saved.model_validate(content)
    except ValidationError as error:
        keys = [".".join(map(str, problem["loc"])) for problem in error.errors(include_input=False)]
        raise SpecError([Problem(f"is damaged at {key}", file=str(path)) for key in keys[:10]]) from None
    wrong = _wrong(saved)
    if wrong:
        raise SpecError(Problem(f"is damaged: {wrong}", file=str(path)))
    return saved


def _wrong(saved: Saved) -> str | None:
    """What does not fit together, if anything: numbers that point at what is not there."""
    names = [attribute.name for attribute in saved.attributes]
    if len(set(names)) < len(names):
        return "an attribute is listed twice"
    classes = _classes(saved)
    if classes is None:
        return "its tree"
    for attribute in saved.attributes:
        columns = [column for column in saved.columns if column.attribute == attribute.name]
        expected = classes if saved.kind == "regions" else attribute.segments
        if not columns or any(len(column.text_of) != expected for column in columns):
            return f"what column {attribute.name!r} shows"
        box = saved.boxes.get(attribute.name)
        lengths = (
            ()
            if box is None
            else (len(box.low), len(box.high), len(box.nodes) or expected, len(box.missing) or expected)
        )
        if any(length != expected for length in lengths):
            return f"the boxes of {attribute.name!r}"
        if isinstance(attribute, CategoricalAttribute) and not _sound(attribute):
            return f"the hierarchy of {attribute.name!r}"
    if any(not -1 <= text < len(column.texts) for column in saved.columns for text in column.text_of):
        return "a text that is not there"
    return None


def _classes(saved: Saved) -> int | None:
    """Number of classes that the tree leads to, 0 for segments, which have no tree; None for damaged numbers.

    Numbers make a tree where each cut but the root is the child of exactly one cut before it, and each class of one.
    """
    if saved.tree is None:
        lengths = {len(saved.classes), len(saved.suppressed)}
        return 0 if saved.kind == "segments" and lengths == {len(saved.attributes)} else None
    cuts: dict[str, Any] = saved.tree.model_dump()
    count = len(saved.tree.attribute)
    children = [*saved.tree.first, *saved.tree.second]
    fine = all(len(part) == count for part in cuts.values())
    fine &= all(0 <= attribute < len(saved.attributes) for attribute in saved.tree.attribute)
    inner = sorted(child for child in children if child >= 0)
    outer = sorted(-1 - child for child in children if child < 0)
    below = all(
        child > number
        for part in (saved.tree.first, saved.tree.second)
        for number, child in enumerate(part)
        if child >= 0
    )
    fine = fine and below and inner == list(range(1, count)) and outer == list(range(len(outer)))
    return max(len(outer), 1) if fine else None


def _sound(attribute: CategoricalAttribute) -> bool:
    """Whether a hierarchy is one: parents come after their children, and cuts ascend within the leaves."""
    nodes = len(attribute.labels)
    fine = len(attribute.parents) == nodes and 0 < attribute.leaves <= nodes and attribute.parents[-1] == -1
    fine &= all(node < parent < nodes for node, parent in enumerate(attribute.parents[:-1]))
    fine &= all(first < second for first, second in pairwise((0, *attribute.cuts, attribute.leaves)))
    fine &= len(attribute.values) == len(attribute.leaf_of)
    fine &= all(0 <= leaf < attribute.leaves for leaf in attribute.leaf_of)
    return fine and (attribute.missing is None or 0 <= attribute.missing < attribute.leaves)
