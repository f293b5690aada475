"""How the columns of a release read: the block `codebook`, from which recipients write their import, and the block
`sample`, a few rows and the labels that columns show most often."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from anonymize.classes import Bools
from anonymize.domain.cells import BLANK, INTERVALS, CellFormat, CellKind, ReadCells, cells_of
from anonymize.recoding.spans import Tails
from anonymize.records import dataclass
from anonymize.spec import Spec
from anonymize.spec.columns import WITHHELD
from anonymize.table.named import column, unnamed
from anonymize.table.write import OutputFile
from anonymize.verify import text_of

# --- codebook ---------------------------------------------------------------------------------------------------------
# How the columns of a release read: the block `codebook`, from which recipients write their import.
#
# Its columns are those of the file as it was written, in their order. What became of a column of the input, the family
# of the release says; how the cells of generalized ones read, their texts in the file do.

ENDS = {"_low": "lower bound", "_high": "upper bound", "_missing": "whether the value may be missing: no, maybe, yes"}
"""What the further columns of a bounded number contain, by the end of their names."""
EXCLUDED = "upper bound, which is not included unless it is the lower bound as well"
"""What the upper bounds of decimals hold where edges are rounded."""
LEAVES = {"_low": "the first leaf under its node, counted from 0", "_high": "the last leaf under its node"}
"""What the further columns of a bounded category contain, by the end of their names."""

SHOWN = {
    CellKind.NUMBER: "a number",
    CellKind.INTERVAL: "an interval",
    CellKind.HALF_OPEN: "an interval without its upper end",
    CellKind.LOW_OPEN: "an interval without its lower end",
    CellKind.BOTH_OPEN: "an interval without its ends",
    CellKind.OPEN: "an interval that is open on one side",
    CellKind.SET: "a set of values",
    CellKind.LABEL: "a value, or a label of its hierarchy",
}
"""What cells of each kind show."""
NOTHING = "nothing: every cell is suppressed or missing"
ORIGINAL = "as in the original table"
CLAMPED = "{} of the class; in either tail, numbers that fewer than {} reach count as the nearest one that {} do"
"""A mean or a median of a class unless edges are tight: no extreme value of a few decides it."""
SPECIAL = {
    CellKind.INTERVAL: "interval",
    CellKind.HALF_OPEN: "interval_without_high",
    CellKind.LOW_OPEN: "interval_without_low",
    CellKind.BOTH_OPEN: "interval_without_ends",
}
"""Under which key it stands how intervals of each kind read."""

ColumnMeanings: TypeAlias = Mapping[str, Mapping[str, str]]
"""By a column of the input, those that it became, with what each holds. Any other column is released as it is."""


def columns_of(output: OutputFile) -> list[str]:
    """The columns of a file as it was written."""
    return text_of(output.part, output.format, output.separator).collect_schema().names()


@dataclass(frozen=True)
class FileCells:
    """`texts`: the different texts of columns that show generalized values, as they stand in the file."""

    spec: Spec
    texts: Mapping[str, pl.Series] = field(default_factory=dict)

    @cached_property
    def read(self) -> Mapping[str, ReadCells]:
        """What the cells of each quasi-identifier say that is shown in a column of its own name."""
        definitions = self.spec.quasi_identifiers
        own = {name: self.texts[name] for name in definitions if name in self.texts}
        return {
            name: cells_of(self.spec, texts, texts, numeric=definitions[name].type == "numeric")
            for name, texts in own.items()
        }

    def leaves_out_high(self, low: str, high: str) -> bool:
        """Whether the upper of two columns of bounds is no part of the interval."""
        written = CellFormat.of(self.spec.output, self.spec.input.missing)
        bounds = [self.texts[column].cast(pl.String) for column in (low, high) if column in self.texts]
        return written.rounded and len(bounds) == 2 and written.decimal(*bounds)

    def shows(self, name: str) -> list[str]:
        """What is shown of a quasi-identifier, in a few words for each kind of cells."""
        return [words for kind, words in SHOWN.items() if self.read[name].of_kind(kind).any()]

    def special(self) -> dict[str, str]:
        """How cells read that are neither a value nor missing, as far as there are any."""
        output, cells = self.spec.output, list(self.read.values())
        template, missing = output.interval, self.spec.input.missing_text or BLANK
        reads = {
            SPECIAL[kind]: f"{template[:-1]})" if kind == CellKind.HALF_OPEN and template.endswith("]") else template
            for kind in INTERVALS.values()
            if any(each.of_kind(kind).any() for each in cells)
        }
        opened = [(each.of_kind(CellKind.OPEN), each) for each in cells]
        if any((own & each.high.is_null().to_numpy()).any() for own, each in opened):
            reads["open_high"] = output.open_high
        if any((own & each.low.is_null().to_numpy()).any() for own, each in opened):
            reads["open_low"] = output.open_low
        if any(each.maybe.any() for each in cells):
            mixed = [each.of_kind(CellKind.HALF_OPEN) for each in cells if each.maybe.any()]
            half_open = all(of_kind.any() for of_kind in mixed) and SPECIAL[CellKind.HALF_OPEN] in reads
            reads["or_missing"] = f"{reads[SPECIAL[CellKind.HALF_OPEN]] if half_open else template} or {missing}"
        hidden = any((texts == output.suppressed).any() for texts in self.texts.values())
        return {"suppressed": "" if self.spec.hides else output.suppressed, **reads} if hidden else reads


def codebook(
    spec: Spec,
    columns: Iterable[str],
    meanings: ColumnMeanings,
    cells: FileCells | None = None,
    group: str | None = None,
) -> dict[str, Any]:
    """The columns of the file with role and meaning, and how its special cells read.

    `columns`: of the file, in order. `group`: the column of the group that each row is in. Raises RuntimeError for a
    column of which nothing says what it holds.
    """
    roles, pseudonym = spec.roles(), spec.output.pseudonym
    known: dict[str, tuple[str, str]] = {name: (role, ORIGINAL) for name, role in roles.items() if role not in WITHHELD}
    coding = spec.weight_coding
    if coding is not None and (coding.bands or coding.round):
        known[coding.column] = (
            "sampling-weight",
            "mean of its band" if coding.bands else f"in multiples of {coding.round:g}",
        )
    known |= {name: (roles[name], step.says) for name, step in spec.treated.items() if name in known}
    known |= {column: (roles[name], meaning) for name, own in meanings.items() for column, meaning in own.items()}
    if group is not None:
        known[group] = ("group", "the number of the row's group")
    if pseudonym is not None:
        known[pseudonym] = ("pseudonym", "the same for one person in all releases of the series, under one key")
    if strange := [column for column in columns if column not in known]:
        raise RuntimeError(f"nothing says what {strange[0]} holds: this is probably a bug")
    entries = [{"name": each, "role": known[each][0], "meaning": known[each][1]} for each in columns]
    special = {} if cells is None else cells.special()
    separator = {} if spec.input.separator == "," else {"separator": spec.input.separator}
    others = [text for text in spec.input.missing if text != spec.input.missing_text]
    kept = {"also_missing": others} if others and any(each["meaning"] == ORIGINAL for each in entries) else {}
    return {"columns": entries, "missing": spec.input.missing_text, **kept, **separator, **special}


def generalized(cells: FileCells, released: Mapping[str, Sequence[str]], *, labels: bool) -> ColumnMeanings:
    """The quasi-identifiers of a release with equivalence classes.

    `released`: the columns that each became. `labels`: numbers, too, are shown as nodes of their hierarchies.
    """
    return {
        name: {column: _meaning(cells, name, column, labels=labels) for column in columns}
        for name, columns in released.items()
    }


def _meaning(cells: FileCells, name: str, column: str, *, labels: bool) -> str:
    """What a column of a quasi-identifier holds, in a few words."""
    spec, definition = cells.spec, cells.spec.quasi_identifiers[name]
    if column != name:
        ends = ENDS if definition.type == "numeric" else {**ENDS, **LEAVES}
        end = column.removeprefix(name)
        if end == "_high" and definition.type == "numeric" and cells.leaves_out_high(f"{name}_low", column):
            return f"{name}: {EXCLUDED}"
        return f"{name}: {ends[end]}"
    kinds = cells.shows(name)
    if definition.type == "numeric" and spec.output.numeric in ("mean", "median") and not labels:
        if spec.output.edges == "tight":
            return f"{spec.output.numeric} of the class"
        enough = f"{Tails.of_k(spec.largest_k).least} {'rows' if spec.unit is None else 'individuals'}"
        clamped = CLAMPED.format(spec.output.numeric, enough, enough)
        return f"{clamped}; it is not rounded" if spec.output.edges == "rounded" else clamped
    return ", or ".join(filter(None, [", ".join(kinds[:-1]), *kinds[-1:]])) or NOTHING


# --- a few rows -------------------------------------------------------------------------------------------------------
# A few rows of a release, and the labels that its columns show most often: the block `sample`.
#
# A report has no value of the input, and what a release shows may be one: a number, an end of an interval, a category
# as it was, whatever passes through. Such a cell is null here unless values may be shown; nodes above the leaves of a
# hierarchy, and suppressed cells, are none.

SAMPLE_ROWS = 10
LABELS = 5
LOOKED_AT = 100_000
"""Rows of a release that are looked at: its first ones."""


def sample(
    text: pl.LazyFrame, spec: Spec, leaves: Mapping[str, Collection[str]], *, values: bool = False
) -> tuple[dict[str, Any], Sequence[int]]:
    """The block, and the places in the release of the rows that it has: `columns`, `rows` at equal distances, and
    `labels`, the most frequent ones of each quasi-identifier with the rows that show them; nothing where all of it
    would be values. `leaves`: of categories, the texts of the leaves of their hierarchies.
    `values`: values may be shown."""
    looked = text.head(LOOKED_AT).with_columns(pl.all().cast(pl.String).fill_null("")).collect(engine="streaming")
    step = max(looked.height // SAMPLE_ROWS, 1)
    open_cells = {name: _without_values(looked[name], name, spec, leaves.get(name)) | values for name in looked.columns}
    if not any(each.any() for each in open_cells.values()):
        return {}, []
    places = list(range(0, looked.height, step))[:SAMPLE_ROWS]
    cells = [
        [looked[name][place] if is_open[place] else None for place in places] for name, is_open in open_cells.items()
    ]
    labels = {
        name: _frequent(looked[name].filter(pl.Series(open_cells[name])))
        for name in looked.columns
        if name in spec.quasi_identifiers
    }
    rows = [list(row) for row in zip(*cells, strict=True)]
    return {"columns": looked.columns, "rows": rows, "looked_at": looked.height, "labels": labels}, places


def originals(table: pl.LazyFrame, names: Sequence[str], rows: Sequence[int]) -> dict[str, Any]:
    """Some rows of the original, with the columns that it has of these."""
    present = [name for name in table.collect_schema().names() if name in names]
    indexed = table.select(column(name).cast(pl.String).fill_null("") for name in present).with_row_index("\0row")
    wanted = indexed.filter(pl.col("\0row").is_in(list(rows))).collect(engine="streaming")
    by_row = {row[0]: list(row[1:]) for row in wanted.iter_rows()}
    return {"columns": present, "rows": [by_row[row] for row in rows if row in by_row]}


def _frequent(texts: pl.Series) -> list[list[str | int]]:
    """The most frequent texts, with their rows; of equally frequent ones the first by code point."""
    counts = texts.alias("text").value_counts(name="rows").sort("rows", "text", descending=[True, False]).head(LABELS)
    return [[text, rows] for text, rows in counts.iter_rows()]


def _without_values(texts: pl.Series, name: str, spec: Spec, leaves: Collection[str] | None) -> Bools:
    """(n,) which cells of a column are no values of the input."""
    definition = spec.quasi_identifiers.get(name)
    if definition is None:
        return np.zeros(len(texts), np.bool_)
    texts = unnamed(texts)
    different = texts.unique()
    cells = cells_of(spec, different, different, numeric=definition.type == "numeric")
    own = cells.of_kind(CellKind.SUPPRESSED, CellKind.MISSING)
    if leaves is not None:
        own |= cells.of_kind(CellKind.LABEL) & ~different.is_in(list(leaves)).to_numpy()
    return texts.is_in(different.filter(pl.Series(own)).implode()).to_numpy()
