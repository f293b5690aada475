"""Declared levels, top and bottom codes, rounding and pools of rare values, measured in the text of a release.

Written from their definitions. What a cell shows has a *resolution*, the highest level of which it shows whole nodes,
and an *extent*, the lowest level of which one node holds all that it shows: `levels.min` bounds the one from below,
`levels.max` the other from above. Suppressed and missing cells are exempt. An open end shows nothing beyond itself, and
is judged by the end that is shown. What cannot be judged is unknown, never met.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Literal

import polars as pl

from anonymize.claims import Basis, Parameters, Result, State, listed
from anonymize.errors import Caution
from anonymize.records import dataclass
from anonymize.spec import Dates, QuasiIdentifier, Rare, Spec
from anonymize.verify.cells import CellTemplates
from anonymize.verify.label_texts import DateSpan, MomentText
from anonymize.verify.labels import BuiltLabels, Extent, LevelReader, NumberLevels, is_multiple, reader_of
from anonymize.verify.order import stated_ends
from anonymize.verify.table import by_position, plain
from anonymize.verify.verdict import Tree, Verdict

Model = Literal["levels", "round", "top", "bottom", "rare"]


@dataclass(frozen=True)
class Declared:
    """A quasi-identifier of which a spec declares levels or codes. `columns`: those that show it. `tree`: its
    hierarchy, where it is known: of a file, or of a builder over the values of the original. `counts`: how many rows of
    the original each value has, where that is at hand."""

    name: str
    columns: Sequence[str]
    definition: QuasiIdentifier
    tree: Tree | None = None
    counts: Mapping[str, int] | None = None


class CodeResult(Result):
    """What was found of a level or a code; `failing_classes` counts different cells."""

    def __str__(self) -> str:
        if self.unknown is not None:
            return super().__str__()
        rows = "1 row shows" if self.failing_rows == 1 else f"{self.failing_rows} rows show"
        return f"{self.model} ({listed(self.required)}) of {self.attribute} is not met: {rows} {self._what_shows}"

    @property
    def _what_shows(self) -> str:
        if self.model != "levels":
            return _SHOWN[self.model]
        least, reached = self.required["min"], self.achieved["min"]
        if isinstance(least, int) and isinstance(reached, int) and reached < least:
            return f"something finer than level {least}"
        return f"something wider than a node of level {self.required.get('max')}"


_SHOWN: Mapping[str, str] = {
    "round": "something finer than its multiples",
    "top": "something above it",
    "bottom": "something below it",
    "rare": "a value that fewer rows of the original have",
}
"""What the rows show that do not meet a model."""


def declared_in(spec: Spec) -> list[str]:
    """The quasi-identifiers of which a spec declares levels or codes."""
    return [name for name, each in spec.quasi_identifiers.items() if list(_models(each))]


def _models(definition: QuasiIdentifier) -> Iterator[Model]:
    if definition.levels is not None and definition.levels.binding:
        yield "levels"
    for name in ("round", "bottom", "top"):
        if getattr(definition, name) is not None:
            yield name
    if isinstance(definition.hierarchy, Rare):
        yield "rare"


def measure_codes(verdict: Verdict, frame: pl.LazyFrame, spec: Spec, declared: Sequence[Declared]) -> Verdict:
    """The verdict with levels and codes measured in a table as it was written; reads the columns that are declared,
    each once."""
    cells = {each.name: _distinct(frame, each.columns) for each in declared}
    return with_codes(verdict, cells, spec, declared)


def _distinct(frame: pl.LazyFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The different cells of a quasi-identifier (`low`, `high`, `missing`), and the `rows` that show each."""
    places = by_position(frame)
    ends: dict[str, pl.Expr] = {"low": places[columns[0]], "high": places[columns[-1]], "missing": pl.lit(None)}
    if len(columns) > 1:
        for end in ends:
            ends[end] = next((places[name] for name in columns if name.endswith(f"_{end}")), ends[end])
    texts = frame.select(**{end: column.cast(pl.String) for end, column in ends.items()})
    return texts.group_by("low", "high", "missing").agg(rows=pl.len()).collect(engine="streaming")


def with_codes(
    verdict: Verdict, cells: Mapping[str, pl.DataFrame], spec: Spec, declared: Sequence[Declared]
) -> Verdict:
    """Adds what declared levels require, of the different cells of each column, which have been counted already."""
    results: list[Result] = []
    unjudged: list[Caution] = []
    for column in declared:
        own_cells = CodedCells.of(cells[column.name], column, spec)
        for model in _models(column.definition):
            if (why := _why_unjudged(model, column, spec)) is None:
                results.append(own_cells.result(model))
            else:
                unjudged.append(Caution.of(f"{model} of {column.name} is not judged: {why[0]}", why[1]))
    return replace(verdict, codes=tuple(results), unjudged=tuple(unjudged))


def values_of(frame: pl.LazyFrame, name: str, spec: Spec) -> dict[str, int]:
    """How many rows of an original have each value of a column, as texts are compared."""
    text = by_position(frame)[name].cast(pl.String)
    counted = frame.select(text=plain(text) if spec.normalizes(name) else text).group_by("text").agg(rows=pl.len())
    return {value: rows for value, rows in counted.collect(engine="streaming").iter_rows() if value}


def _why_unjudged(model: Model, column: Declared, spec: Spec) -> tuple[str, str] | None:
    """Why something is not asked of a table, and how it would be; None where it is."""
    if model == "rare" and column.counts is None:
        return "which values are rare is measured in the original", "`anonymize audit --original TABLE` measures it"
    if model == "round" and spec.output.numeric in ("mean", "median"):
        why = f"output.numeric: {spec.output.numeric} shows what lies between multiples"
        return why, "`output: {numeric: interval}`"
    return None


@dataclass(frozen=True)
class CodedCell:
    """What one cell says, and how many `rows` show it. `members`: the labels that it names; `positions`: the first and
    the last leaf, where it says these; `low`, `high`: the ends of numbers, infinite where they are open, None where it
    shows none; `without`: which of the two it leaves out."""

    rows: int
    members: tuple[str, ...] = ()
    positions: tuple[int, int] | None = None
    low: float | None = None
    high: float | None = None
    without: tuple[bool, bool] = (False, False)


@dataclass(frozen=True)
class CodedCells:
    """The cells of a column that are neither suppressed nor missing. `rounded`: whether ends are, so that intervals of
    whole numbers end before a multiple."""

    column: Declared
    cells: Sequence[CodedCell]
    levels: LevelReader | NumberLevels
    rounded: bool = False
    templates: CellTemplates = CellTemplates()

    @classmethod
    def of(cls, texts: pl.DataFrame, column: Declared, spec: Spec) -> CodedCells:
        """The levels that the different cells of a column are at."""
        definition, tree = column.definition, column.tree
        if definition.type == "numeric":
            levels, rounded = NumberLevels.of(definition, tree), spec.output.edges == "rounded"
            return cls(column, _numbers(texts, column.name, spec), levels, rounded)
        bounds = spec.output.categorical == "bounds"
        cells, reader = _categories(texts, column.name, spec, bounds=bounds), reader_of(definition, tree, column.counts)
        return cls(column, cells, reader, templates=CellTemplates.of(spec))

    def result(self, model: Model) -> Result:
        if model == "levels":
            return self._levels()
        judged = [(cell.rows, _JUDGES[model](self, cell)) for cell in self.cells]
        failing = [rows for rows, meets in judged if meets is False]
        unknown = [rows for rows, meets in judged if meets is None]
        key = "below" if model == "rare" else model
        required, reached = self._figures(model, met=not failing and not unknown)
        return _result(model, self.column.name, {key: required}, {key: reached}, failing, unknown)

    def _figures(self, model: Model, *, met: bool) -> tuple[float | int | str, float | int | str | None]:
        """What is required, and what is achieved."""
        definition, counts = self.column.definition, self.column.counts
        if isinstance(definition.hierarchy, Rare) and model == "rare":
            pool, named = definition.hierarchy.rare, [name for cell in self.cells for name in cell.members]
            rows = [counts[name] for name in named if counts is not None and name != pool.label and name in counts]
            return pool.below, min(rows, default=None)
        required: float | int = getattr(definition, model)
        if isinstance(definition.hierarchy, Dates):
            code = definition.date_ends[model == "top"] or ""
            return code, code if met else None
        if model == "round":
            return required, required if met else None
        ends = [end for cell in self.cells for end in (cell.low, cell.high) if end is not None and isfinite(end)]
        return required, (max if model == "top" else min)(ends, default=None)

    def _levels(self) -> Result:
        levels = self.column.definition.levels
        assert levels is not None
        extents = [(cell.rows, self._extent(cell)) for cell in self.cells]
        failing = [rows for rows, each in extents if each.fails(levels.min, levels.max)]
        unknown = [rows for rows, each in extents if not each.meets(levels.min, levels.max)]
        known = [each for _, each in extents if each.known]
        required: Parameters = {"min": levels.min}
        reached: Parameters = {"min": min((each.finest[0] for each in known), default=None)}
        if levels.max is not None:
            required["max"], reached["max"] = levels.max, max((each.widest[1] for each in known), default=None)
        return _result("levels", self.column.name, required, reached, failing, unknown)

    def _extent(self, cell: CodedCell) -> Extent:
        if isinstance(self.levels, NumberLevels):
            label = cell.members[0] if cell.members else None
            return self.levels.extent(label, cell.low, cell.high, cell.without)
        members = [self._without_open_end(member)[0] for member in cell.members]
        return self.levels.extent(members, cell.positions)

    # --- codes ---

    def _multiples(self, cell: CodedCell) -> bool | None:
        """Whether the ends are multiples of what numbers are rounded to, or those of declared intervals."""
        step = self.column.definition.round
        if cell.low is None or cell.high is None or step is None:
            return None
        wide = self.rounded and cell.low < cell.high
        low, high = (
            not isfinite(end) or is_multiple(end, step) or (upper and is_multiple(end + 1, step))
            for end, upper in ((cell.low, False), (cell.high, wide))
        )
        return (low and high) or self._of_hierarchy(cell)

    def _below_top(self, cell: CodedCell) -> bool | None:
        definition = self.column.definition
        if isinstance(definition.hierarchy, Dates):
            return self._dates_inside(cell, definition.date_ends[1], 1)
        return self._inside(cell, (cell.low, cell.high), definition.number_ends[1], 1)

    def _above_bottom(self, cell: CodedCell) -> bool | None:
        definition = self.column.definition
        if isinstance(definition.hierarchy, Dates):
            return self._dates_inside(cell, definition.date_ends[0], -1)
        return self._inside(cell, (cell.high, cell.low), definition.number_ends[0], -1)

    def _dates_inside(self, cell: CodedCell, code: str | None, sign: int) -> bool | None:
        """Whether no label of a cell tells something apart beyond a code of dates."""
        own, reader = DateSpan.of(code or ""), self.levels
        if own is None or cell.positions is not None or not isinstance(reader, BuiltLabels):
            return None
        assert isinstance(reader.text, MomentText)
        for member in cell.members:
            label, opens = self._without_open_end(member)
            span = reader.text.span(label)
            if span is None:
                return None
            if span.beyond(own, sign, is_open=opens == sign):
                return False
        return bool(cell.members) or None

    def _without_open_end(self, label: str) -> tuple[str, int]:
        """A label of dates without what says that it stands for those beyond it, and whether these are below (-1) or
        above (1); 0: it says nothing of that."""
        if any(end is not None for end in self.column.definition.date_ends):
            low, high = self.templates.open_low, self.templates.open_high
            for template, name, sign in ((low, "{high}", -1), (high, "{low}", 1)):
                before, _, behind = template.partition(name)
                if label.startswith(before) and label.endswith(behind) and len(label) > len(before + behind):
                    return label[len(before) : len(label) - len(behind)], sign
        return label, 0

    def _inside(
        self, cell: CodedCell, ends: tuple[float | None, float | None], code: float | None, sign: int
    ) -> bool | None:
        """Whether no number beyond a code is told apart: the nearer end is not beyond it, and the farther one is not
        either, is open, or is that of a declared interval."""
        near, far = ends
        if near is None or far is None or code is None:
            return None
        if isfinite(near) and sign * near > sign * code:
            return False
        return not isfinite(far) or sign * far <= sign * code or self._of_hierarchy(cell)

    def _of_hierarchy(self, cell: CodedCell) -> bool:
        return self.column.definition.hierarchy is not None and self._extent(cell).finest[0] > 0

    def _frequent(self, cell: CodedCell) -> bool | None:
        """Whether every value that a cell names has enough rows in the original, or is the pool."""
        source, counts = self.column.definition.hierarchy, self.column.counts
        if not isinstance(source, Rare) or counts is None or cell.positions is not None:
            return None
        named = [name for name in cell.members if name != source.rare.label]
        if any(name not in counts for name in named):
            return None
        return all(counts[name] >= source.rare.below for name in named)


_JUDGES: Mapping[Model, Callable[[CodedCells, CodedCell], bool | None]] = {
    "round": CodedCells._multiples,
    "top": CodedCells._below_top,
    "bottom": CodedCells._above_bottom,
    "rare": CodedCells._frequent,
}
"""Whether a cell meets what is required; None where that is not known."""


def _result(
    model: Model, name: str, required: Parameters, reached: Parameters, failing: Sequence[int], unknown: Sequence[int]
) -> Result:
    """The result of the rows of cells: those that fail, and those that cannot be judged."""
    state, rows = State.of(not failing), sum(failing)
    result = CodeResult(model, name, required, reached, state, len(failing), rows, basis=Basis.MEASURED)
    if not unknown or failing:
        return result
    return result.unshown(f"{sum(unknown)} rows show what the spec does not place at one level")


# --- reading ----------------------------------------------------------------------------------------------------------


def _stated(texts: pl.DataFrame, name: str, spec: Spec) -> pl.DataFrame:
    """What cells say, without those that are suppressed or missing."""
    templates = CellTemplates.of(spec)
    if spec.normalizes(name):
        texts = texts.with_columns(plain(pl.col("low", "high")))
    stated = stated_ends(texts.select("low", "high", "missing"), templates).with_columns(texts["rows"])
    return stated.filter(~pl.col("suppressed") & ~pl.col("absent"))


def _numbers(texts: pl.DataFrame, name: str, spec: Spec) -> list[CodedCell]:
    """Cells of numbers; what shows none is a label."""
    cells = []
    for row in _stated(texts, name, spec).iter_rows(named=True):
        label = (row["text"],) if row["text"] is not None and row["text"] == row["other"] else ()
        ends = row["low"], row["high"], (row["without_low"], row["without_high"])
        cells.append(CodedCell(row["rows"], label, None, *ends))
    return cells


def _categories(texts: pl.DataFrame, name: str, spec: Spec, *, bounds: bool) -> list[CodedCell]:
    """Cells of categories: a label, a set of them, or the first and the last leaf."""
    cells = []
    for row in _stated(texts, name, spec).iter_rows(named=True):
        text, other = row["text"] or "", row["other"] or ""
        if bounds and text.isdecimal() and other.isdecimal():
            cells.append(CodedCell(row["rows"], (), (int(text), int(other))))
        elif len(text) > 1 and text[0] == "{" and text[-1] == "}":
            named = [member for member in _members(text[1:-1]) if member not in spec.input.missing]
            cells.append(CodedCell(row["rows"], tuple(named)))
        else:
            cells.append(CodedCell(row["rows"], (re.sub(r"\\(.)", r"\1", text),) if text == other else ()))
    return cells


def _members(text: str) -> list[str]:
    """The values of a set, a character behind a backslash standing for itself."""
    parts = re.findall(r"(?:[^\\|]|\\.)+", text, re.DOTALL)
    return [re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in parts]
