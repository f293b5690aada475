"""The steps of a spec's `treatments`, made on a table: the columns that they change, and what was measured of them.

Every step looks at the columns of the input: what one changes, another does not see, and no column is changed twice.
Only columns that a step counts as they are released are those that earlier steps have made.
Changed columns are held in memory, as numbers or as codes of their cells, until the release is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize import verify
from anonymize.classes import Floats
from anonymize.errors import Caution, DataError, Problem, UnsafeError
from anonymize.fidelity.numbers import NumbersBoth, categories_kept
from anonymize.meaning import Changed, Manifest
from anonymize.records import dataclass
from anonymize.spec import Spec, base
from anonymize.spec.treatments import Pram, Treatment
from anonymize.table import Table, encode, memory, named
from anonymize.table.source import Source
from anonymize.treatments import TREATMENTS, Change, InputColumn, Step
from anonymize.treatments.pram import remedy_of

PER_CELL = 48
"""Bytes that a cell of a column takes that a step changes or looks at: its text, its number, codes before and after."""
UNBOUNDED = (
    "values were changed ({}): except for steps that state a bound, nothing limits what an attacker learns of them; "
    "what was measured stands under `treatments`"
)

LEFT_OUT = (
    "rows that the release leaves out counted for its groups: `suppressed_rows: keep` leaves out fewer, and `perturb` "
    "makes the step alone"
)


@dataclass(frozen=True)
class MeasuredSteps:
    """What was measured of steps. `figures`: of each, in order. `before`, `after`: the columns that they change, row by
    row as the release has them; before also those that they look at."""

    figures: tuple[Mapping[str, Any], ...] = ()
    before: pl.DataFrame = field(default_factory=pl.DataFrame)
    after: pl.DataFrame = field(default_factory=pl.DataFrame)


@dataclass(frozen=True)
class TreatedTable:
    """A table whose steps have been made. `changes`: of each step of the spec, in its order."""

    table: Table
    spec: Spec
    changes: tuple[Change, ...] = ()

    @property
    def meanings(self) -> dict[str, Changed]:
        """What the cells of changed columns mean, by name."""
        return {
            name: Changed(entry.KIND, entry.method, dict(change.declared))
            for entry, change in zip(self.spec.treatments, self.changes, strict=True)
            for name in entry.treated
        }

    def manifest(self, manifest: Manifest) -> Manifest:
        """The manifest of a release, with what its changed columns mean."""
        own = {name: each for name, each in self.meanings.items() if name in manifest.meanings}
        return replace(manifest, meanings={**manifest.meanings, **own})

    def measured(self, released: pl.LazyFrame, rows: NDArray[np.int64]) -> MeasuredSteps:
        """What is measured of each step, from the text of the release and from the input. `rows` (released rows,): of
        the input, in the order of the release. Raises UnsafeError for columns that are not what their step makes.

        A step is made on all rows, and what it promises is of all: rows that the release leaves out are counted as the
        step made them. Only `suppress` is about the released rows alone, as those that it cannot protect are left out.
        """
        if not self.changes:
            return MeasuredSteps()
        left_out = np.delete(np.arange(self.table.rows), rows)
        original = changed_columns(self.spec, self.table.source.scan(), looked_at=True)
        after = changed_columns(self.spec, released)
        before = original[np.append(rows, left_out)]
        after = after.vstack(self._as_made(original, left_out, after.schema))
        weight = self.spec.weight_column
        weights = None if weight is None else _numbers(self.spec, before[weight])
        figures, wrong = [], []
        for entry, change in zip(self.spec.treatments, self.changes, strict=True):
            count = len(rows) if entry.KIND == "spans" else self.table.rows  # the released rows come first
            both = (
                _compared(self.spec, entry, {name: before[name].head(count) for name in (*entry.treated, *entry.read)}),
                _compared(self.spec, entry, _as_released(entry, before.head(count), after.head(count))),
            )
            counted = None if weights is None else weights.head(count)
            measured = verify.measure_treatment(entry.method, entry.model_dump(), change.declared, *both, counted)
            figures.append(dict(measured.figures))
            hint = LEFT_OUT if entry.KIND == "spans" and len(left_out) else "this is probably a bug"
            said = f"treatments: {entry.method} of {', '.join(entry.treated)}"
            wrong += [Problem(f"{said}: {each}", hint=hint) for each in measured.wrong]
        if wrong:
            raise UnsafeError(wrong)
        return MeasuredSteps(tuple(figures), before.head(len(rows)), after.head(len(rows)))

    def _as_made(self, original: pl.DataFrame, rows: NDArray[np.int64], schema: pl.Schema) -> pl.DataFrame:
        """The columns of a release, by its `schema`, in `rows` of the input that it leaves out: as the steps made them,
        or as they were."""
        columns = {name: original[name][rows] for name in schema if name not in self.spec.treated}
        for name in schema.keys() & self.spec.treated.keys():
            made = self.table.kept[name]
            columns[name] = named.cells_at(made.cells, made.codes[rows])
        return pl.DataFrame({name: columns[name].cast(kind) for name, kind in schema.items()}, schema=schema)

    def blocks(self, steps: MeasuredSteps) -> dict[str, Any]:
        """The blocks of a private report: `treatments`, the steps, with what was measured of them, and what is left of
        the columns that were changed; none without any."""
        if not self.changes:
            return {}
        blocks = []
        for entry, change, own in zip(self.spec.treatments, self.changes, steps.figures, strict=True):
            private = {"private": dict(change.private)} if change.private else {}
            blocks.append({**entry.block(), **private, "measured": dict(own)})
        kept = changed_kept(self.spec, self.meanings, steps.before, steps.after, matched=True)
        return {"treatments": blocks, **kept}

    def warnings(self, steps: MeasuredSteps, *, public: bool) -> list[Caution]:
        """What there is to say of the steps; `public`: without what follows from the input."""
        if not self.changes:
            return []
        methods = ", ".join(dict.fromkeys(entry.method for entry in self.spec.treatments if entry.KIND != "spans"))
        said = Caution.of(UNBOUNDED.format(methods), "`attack` measures linking and inference")
        general = [*([said] if methods else []), *_moved_parts(self.spec.treatments)]
        own = _named_values(self.spec.treatments) if public else self._private_warnings(steps.figures)
        return [*general, *own]

    def _private_warnings(self, figures: Sequence[Mapping[str, Any]]) -> Iterator[Caution]:
        """What methods say of their own, and of columns that came out as they were."""
        for entry, change, own in zip(self.spec.treatments, self.changes, figures, strict=True):
            yield from change.warnings
            columns = {name: own.get(name) for name in entry.treated}
            same = [name for name, each in columns.items() if isinstance(each, Mapping) and each.get("changed") == 0]
            if same and not change.warnings:
                said = f"{entry.method} left every value of {', '.join(same)} as it was"
                yield Caution.of(said, "leave constant columns out, or take a larger setting")


def _named_values(entries: Sequence[Treatment]) -> Iterator[Caution]:
    """Steps whose matrix is made from the table, so that the manifest has its values: without how many are of few rows,
    which follows from the input."""
    for entry in entries:
        if isinstance(entry, Pram) and entry.matrix is None:
            what = "combination of values" if entry.joint else "value"
            said = f"pram of {', '.join(entry.treated)}: the manifest, which is public, names every {what} of the input"
            part = ", of each part (`by`)" if entry.by else ""
            yield Caution.of(f"{said}{part}, including those of few rows", remedy_of(entry))


def _moved_parts(entries: Sequence[Treatment]) -> Iterator[Caution]:
    """Steps whose channel differs by the parts of a column that another step changes: by what the release shows nobody
    can tell which of them a row has been through."""
    changed_by = {name: entry.method for entry in entries for name in entry.treated}
    for entry in entries:
        moved = [name for name in entry.by if name in changed_by] if entry.KIND == "channel" else []
        if moved:
            names, what = ", ".join(moved), ", ".join(dict.fromkeys(changed_by[name] for name in moved))
            step = f"{entry.method} of {', '.join(entry.treated)}"
            said = f"{step} is carried out by {names}, which {what} changes as well"
            harm = "a recipient who corrects by the released parts corrects some rows by the wrong one"
            yield Caution.of(f"{said}: {harm}", f"`by` of columns that no step changes, or no `by`, for {entry.method}")


def changed_columns(spec: Spec, frame: pl.LazyFrame, *, looked_at: bool = False) -> pl.DataFrame:
    """The columns that steps change, those that say by which matrix, and the sampling weight, as far as a table has
    them; with those that steps look at."""
    weight = [] if spec.weight_column is None else [spec.weight_column]
    parts = [name for entry in spec.treatments if isinstance(entry, Pram) for name in entry.by]
    names = dict.fromkeys([*(_names(spec.treatments) if looked_at else (*spec.treated, *parts)), *weight])
    present = set(frame.collect_schema().names())
    return frame.select(named.column(name) for name in names if name in present).collect(engine="streaming")


def changed_kept(
    spec: Spec, manifest: Mapping[str, Changed], before: pl.DataFrame, after: pl.DataFrame, *, matched: bool
) -> dict[str, Any]:
    """The blocks `numbers` and `categories` of a report: what a release has left of the columns that steps have
    changed; none without any. `manifest`: what is known of them, by which variances and frequencies are corrected.
    `before`, `after`: see `changed_columns`; `matched`: row by row."""
    changed = {name: each for name, each in spec.treated.items() if name in after.columns}
    weight = spec.weight_column if spec.weight_column in after.columns else None
    names = [*changed, *([] if weight is None else [weight])]
    if not changed:
        return {}
    numeric = [name for name in names if name == weight or changed[name].NUMBERS]
    sides = [{name: _numbers(spec, each[name]).to_numpy() for name in numeric} for each in (before, after)]
    own, other = (None if weight is None else side.pop(weight) for side in sides)
    known = {name: manifest[name] for name in changed if name in manifest}
    block = NumbersBoth(sides[0], sides[1], matched, own, other, known).block()
    categories = {}
    for name, entry in changed.items():
        if isinstance(entry, Pram):
            details = known[name].details if name in known else {}
            channels = [each for each in details.get("channels", ()) if name in each["columns"]]
            cells, others = (_texts(spec, each[name]).to_list() for each in (before, after))
            still = [each for each in entry.by if each in after.columns and each not in spec.treated]
            by = [_texts(spec, after[each]).to_list() for each in still] if len(still) == len(entry.by) else []
            parts = list(zip(*by, strict=True)) if by else []
            categories[name] = categories_kept(cells, others, channels, parts)
    return {name: each for name, each in (("numbers", block), ("categories", categories)) if each}


def treat(spec: Spec, table: Table, *, seed: int | None, key: bytes | None, limit: int | None) -> TreatedTable:
    """Makes the steps of a spec. `seed` None: random numbers are the system's. `limit`: bytes the process may take.

    Raises DataError for columns that are not there, or that a step can do nothing with; MemoryShortage where there is
    no room for them; InfeasibleError where what a step promises cannot be had.
    """
    entries, source = spec.treatments, table.source
    if not entries:
        return TreatedTable(table, spec)
    _check_columns(spec, source)
    names = _names(entries)
    weight = spec.weight_column
    memory.check(PER_CELL * table.rows * len(names), _free(limit), source.name)
    whole = _read(source, [*names, *([weight] if weight is not None and weight not in names else [])])
    columns = {name: InputColumn.of(spec, source, series.alias(name)) for name, series in whole.items()}
    weights: Floats | None = None if weight is None else columns[weight].numbers
    changes: list[Change] = []
    for entry, own_seed in zip(entries, np.random.SeedSequence(seed).spawn(len(entries)), strict=True):
        random = np.random.Generator(np.random.Philox(own_seed))
        own = {name: columns[name] for name in (*entry.treated, *entry.read)}
        made = {name: each for change in changes for name, each in change.columns.items() if name in entry.counted}
        own |= {name: replace(columns[name], series=each.cells.gather(each.codes)) for name, each in made.items()}
        changes.append(TREATMENTS[entry.method].run(entry, Step(own, random, key, weights, spec)))
    kept = {**table.kept, **{name: each for change in changes for name, each in change.columns.items()}}
    return TreatedTable(replace(table, kept=kept), spec, tuple(changes))


def _free(limit: int | None) -> int | None:
    """Bytes that there are for columns, as far as anybody knows."""
    free = memory.available()
    given = [] if limit is None else [max(limit - memory.PROGRAM, 0)]
    return min([*given, *([] if free is None else [free])], default=None)


def _check_columns(spec: Spec, source: Source) -> None:
    paths: dict[str, base.KeyPath] = {}
    for number, entry in enumerate(spec.treatments):
        paths = {**dict.fromkeys((*entry.treated, *entry.read), ("treatments", number)), **paths}
    absent = [name for name in paths if name not in source.schema]
    problems = [spec.problem(paths[name], f"column {name!r} is not in {source.name}") for name in absent]
    if problems:
        raise DataError(problems)


def _read(source: Source, names: Sequence[str]) -> dict[str, pl.Series]:
    frame = pl.concat(list(source.batches(names)))
    return {name: named.unnamed(frame[name]) for name in names}


def _names(entries: Sequence[Treatment]) -> list[str]:
    return list(dict.fromkeys(name for entry in entries for name in (*entry.treated, *entry.read)))


def _as_released(entry: Treatment, before: pl.DataFrame, after: pl.DataFrame) -> dict[str, pl.Series]:
    """The columns that a step changes, or counts as they are released; what no step has changed is as it was."""
    names = (*entry.treated, *entry.counted)
    return {name: (after if name in after.columns else before)[name] for name in names}


def _compared(spec: Spec, entry: Treatment, cells: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Columns as they are compared: the treated ones of a method of numbers as numbers, all others as text, null where
    one is missing."""
    numeric = set(entry.treated) if entry.NUMBERS else set()
    return {name: (_numbers if name in numeric else _texts)(spec, each.alias(name)) for name, each in cells.items()}


def _texts(spec: Spec, series: pl.Series) -> pl.Series:
    """A column as text, null where a value is missing."""
    text = named.unnamed(series).cast(pl.String)
    return text.set(text.is_in(list(spec.missing("csv").texts)), None)


def _numbers(spec: Spec, series: pl.Series) -> pl.Series:
    """A column as numbers, null where one is missing."""
    text = _texts(spec, series).to_frame()
    written = spec.notation(series.name).with_point(pl.col("")) if encode.is_text(series.dtype) else pl.col("")
    return text.select(written.str.strip_chars().cast(pl.Float64, strict=False)).to_series()
