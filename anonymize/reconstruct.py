"""The recipient's road: from a table of channels and its parameters to what the original was like.

parameters, released ─▶ observed   joint counts of the attributes that are asked for; nothing else of the rows is kept
observed             ─▶ estimates  of every combination of values, or of conditions
estimates            ─▶ file       a temporary one, renamed when the table is still what it was
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
import polars as pl

from anonymize.channels import Floats, estimate
from anonymize.channels.estimate import About, Method, interval
from anonymize.errors import Caution, DataError, Problem, UsageError
from anonymize.fidelity.moments import NOISE, SampleMoments, estimates
from anonymize.fidelity.numbers import read_numbers
from anonymize.meaning import Manifest, kinds
from anonymize.publication import Files, Paths, ReleasePaths, opened
from anonymize.reading import PIECE, Observed, observe
from anonymize.records import dataclass
from anonymize.report import as_json
from anonymize.spec import make
from anonymize.table import named, roles, write

FIGURES = ("count", "standard_error")
PRAM = "pram"
"""The method of `treatments` whose channels are undone."""
REWRITTEN = (NOISE, "microaggregation")
"""Methods that write numbers anew, without a sign between thousands."""


@dataclass(frozen=True)
class Reconstruct:
    """What `reconstruct` was asked for: paths of the table (`-`: standard input), of its parameters and of the output
    (`-`).

    `attributes`: of the joint table, all where none is named. `conditions`: what is counted in its place.
    `confidence`: of the intervals of counts. `separator`: of a CSV, None for that of the parameters. `form`: None for
    the one that the output's suffix asks for.
    """

    released: str
    manifest: str
    attributes: Sequence[str] = ()
    conditions: Sequence[str] = ()
    method: Method = "inverse"
    about: About = "table"
    confidence: float = 0.95
    separator: str | None = None
    output: str = "-"
    form: Literal["csv", "json"] | None = None
    force: bool = False

    @property
    def as_json(self) -> bool:
        """Whether the output is JSON, else a table."""
        return (self.form or ("json" if self.output.lower().endswith(".json") else "csv")) == "json"


@dataclass(frozen=True)
class CountCondition:
    """A condition, as it was written and as it reads."""

    text: str
    comparisons: tuple[kinds.Comparison, ...]

    @property
    def names(self) -> list[str]:
        """The attributes that it is about, each once."""
        return list(dict.fromkeys(each.name for each in self.comparisons))


@dataclass(frozen=True)
class Answer:
    """How many rows of the original meet a condition, and the confidence interval of that."""

    where: str
    count: float
    standard_error: float
    low: float
    high: float


def reconstruct(request: Reconstruct) -> list[Caution]:
    """Walks the road. Returns warnings.

    Raises UsageError for conditions that make no sense, attributes that there are not, or whose joint table is too
    large, and outputs that cannot be; DataError for parameters or a table that cannot be read, a table with other
    values than the parameters say, or another number of rows. Then nothing has been written.
    """
    if request.form is None:
        write.check_table(request.output, None, (".json",))
    manifest = Manifest.read(request.manifest)
    if not manifest.channels and (warnings := _undo_steps(request, manifest)) is not None:
        return warnings
    manifest = Manifest.read_channels(request.manifest)
    conditions = [CountCondition(text, kinds.conditions_in(text)) for text in request.conditions]
    if request.attributes and conditions:
        raise UsageError("--attributes: is about the joint table, and --where counts without it")
    names = [name for condition in conditions for name in condition.names] or request.attributes
    attributes = manifest.named(list(dict.fromkeys(names)) or list(manifest.channels))
    names = [each.name for each in attributes]
    with _opened(request, manifest, names, hinted=True) as files:
        manifest.check_rows(files.source.rows, files.source.name)
        if conditions:
            _write_answers(request, manifest, conditions, files)
        else:
            _write(request, files, {"attributes": names}, tables(observe(files.source, attributes), request))
    return []


@contextmanager
def _opened(request: Reconstruct, manifest: Manifest, names: Sequence[str], *, hinted: bool = False) -> Iterator[Files]:
    """The table, found sound and read as text, and the output, which takes its place after the block. Raises DataError
    for columns that the table lacks; `hinted`: with those that it has."""
    separator = request.separator or manifest.separator
    spec = make({"version": 1, "input": {"separator": separator}, "quasi_identifiers": list(names)}, {})
    paths = Paths(request.released, ReleasePaths((), [request.output]), force=request.force)
    paths.check([request.released, request.manifest])
    with opened(spec, paths) as files:
        roles.refuse_lacking(names, files.source.columns, files.source.name, names if hinted else None)
        files.source.check()
        yield files
        files.publish({})


def _write(
    request: Reconstruct, files: Files, block: Mapping[str, Any], frames: Iterable[pl.DataFrame], cells: bool = True
) -> None:
    """Writes a result: as a table, or as JSON, the `block` with the cells of the frames unless it has these as they
    are."""
    if not request.as_json:
        files.table.write(frames)
        return
    head = {"rows": files.source.rows, "method": request.method, "about": request.about}
    listed = {"cells": [row for frame in frames for row in frame.rows()]} if cells else {}
    files.table.write_text(as_json({**head, **block, **listed}))


# --- steps of `treatments` --------------------------------------------------------------------------------------------
# Numbers with noise, whose strength stands in the manifest; and columns that PRAM changed, whose matrices do, one
# for each part of the table.


def _undo_steps(request: Reconstruct, manifest: Manifest) -> list[Caution] | None:
    """Writes what columns that steps changed were like. Returns warnings; None where no step can be undone."""
    methods = {name: each.method for name, each in manifest.changed.items()}
    chosen = [methods[name] for name in request.attributes if name in methods] or list(methods.values())
    if PRAM in chosen:
        _undo_pram(request, manifest)
        return []
    return _undo_noise(request, manifest) if NOISE in chosen else None


def _undo_noise(request: Reconstruct, manifest: Manifest) -> list[Caution]:
    """Writes the moments of numbers, as released and as they were before noise: see `estimates`. Of the attributes that
    are named, or else of all to which noise was added. Raises UsageError for conditions and methods, of which there are
    none, and DataError for columns without numbers, or of which it is not clear how they are written. Returns a warning
    of rows with missing numbers, which are left out."""
    _check_plain(request, "numbers with noise, their moments are estimated in one way")
    noisy = [name for name, each in manifest.changed.items() if each.method == NOISE]
    names = list(dict.fromkeys(request.attributes)) or noisy
    with _opened(request, manifest, names) as files:
        cells = files.source.scan().select(named.column(name) for name in names).collect()
        rewritten = {name for name, each in manifest.changed.items() if each.method in REWRITTEN}
        numbers = read_numbers(cells, rewritten, files.source.name)
        if empty := [name for name in names if numbers[name].null_count() == len(numbers)]:
            raise DataError([Problem(f"{name} has no numbers", file=files.source.name) for name in empty])
        complete = numbers.drop_nulls().to_numpy()
        if len(complete) < 2:
            raise DataError(Problem("has fewer than 2 rows in which nothing is missing", file=files.source.name))
        records = estimates(SampleMoments.of(names, complete), manifest.changed)
        block = {"complete_rows": len(complete), "attributes": names, "moments": records}
        _write(request, files, block, [pl.DataFrame(records, infer_schema_length=None)], cells=False)
    return _left_out(numbers, len(complete))


def _left_out(numbers: pl.DataFrame, complete: int) -> list[Caution]:
    """A warning of the rows that no moment is about, with the columns of which a number is missing."""
    if complete == len(numbers):
        return []
    lacking = ", ".join(f"{each.name} ({each.null_count():,})" for each in numbers if each.null_count())
    text = f"{len(numbers) - complete:,} of {len(numbers):,} rows are left out: a number is missing in {lacking}"
    return [Caution.of(text, "name fewer `--attributes`, if a column lacks many")]


def _check_plain(request: Reconstruct, said: str) -> None:
    """Raises UsageError for conditions, and for other methods than `inverse`."""
    if request.conditions or request.method != "inverse":
        given = "--where" if request.conditions else f"--method {request.method}"
        raise UsageError(Problem(f"{given}: of {said}"))


def _undo_pram(request: Reconstruct, manifest: Manifest) -> None:
    """Writes how often each value of a column that PRAM changed, or combination of columns that it changed as one, was
    there in the original. Raises UsageError for conditions, other methods than `inverse`, and columns that are not of
    one step; DataError for a table with other values than the matrices have, or matrices that tell nothing."""
    _check_plain(request, f"columns changed by {PRAM}, their counts are estimated by `inverse` alone")
    channels = _pram_channels(request, manifest)
    names, by = list(channels[0]["columns"]), list(channels[0]["part"])
    texts = dict.fromkeys((*names, *by))
    with _opened(request, manifest, list(texts)) as files:
        counts = files.source.scan().select(named.column(name).cast(pl.String) for name in texts)
        seen = counts.group_by(list(texts)).len("rows").collect(engine="streaming")
        _write(request, files, {"attributes": names}, [_undone(seen, channels, request.about, files.source.name)])


def _pram_channels(request: Reconstruct, manifest: Manifest) -> list[dict[str, Any]]:
    """The channels of the columns that are asked for, a matrix for each part."""
    changed = {name: each for name, each in manifest.changed.items() if each.method == PRAM}
    groups = list(dict.fromkeys(tuple(c["columns"]) for each in changed.values() for c in each.details["channels"]))
    names = tuple(request.attributes) or (groups[0] if len(groups) == 1 else ())
    wanted = next((group for group in groups if sorted(group) == sorted(names)), None)
    if wanted is None:
        able = "; ".join(", ".join(group) for group in groups)
        raise UsageError(
            Problem(f"--attributes: name columns that {PRAM} changed, those of one matrix together: {able}")
        )
    return [each for each in changed[wanted[0]].details["channels"] if tuple(each["columns"]) == wanted]


def _undone(seen: pl.DataFrame, channels: Sequence[dict[str, Any]], about: About, file: str) -> pl.DataFrame:
    """The estimated counts of each value over all parts, with their standard errors. Texts that no matrix has mean
    missing, and stay as they are. `seen`: the rows of each combination of the columns and the parts.

    With R the matrix and c the counts of a part, the counts before are R^-T c. Given the original, c varies as so many
    draws from the rows of R; `about` the population, the original itself varies as a sample as well.
    """
    names = list(channels[0]["columns"])
    sums: dict[tuple[str, ...], Floats] = {tuple(value): np.zeros(2) for each in channels for value in each["values"]}
    left = Counter(dict.fromkeys(sums, 0))
    for *cells, rows in seen.select(*names, "rows").rows():
        cell = tuple("" if text is None else text for text in cells)
        left[cell] += rows
        if cell not in sums:  # it means missing
            sums.setdefault(cell, np.zeros(2))
    for each in channels:
        own = seen.filter(_in_part(each["part"], channels))
        counts = Counter({tuple(cell): rows for *cell, rows in own.group_by(names).agg(pl.col("rows").sum()).rows()})
        cells = [tuple(value) for value in each["values"]]
        observed = np.array([counts[cell] for cell in cells], np.float64)
        for cell, *figures in zip(cells, *_inverted(np.array(each["matrix"]), observed, about, file), strict=True):
            sums[cell] += figures
            left[cell] -= counts[cell]
    values = {tuple(value) for each in channels for value in each["values"]}
    if any(left[cell] for cell in values):
        raise DataError(Problem("has values in parts whose matrices do not have them", file=file))
    for cell in sums.keys() - values:
        sums[cell][0] = left[cell]
    ordered = sorted(sums)
    columns = {name: [cell[place] for cell in ordered] for place, name in enumerate(names)}
    totals, variances = (np.array([sums[cell][side] for cell in ordered]) for side in (0, 1))
    return pl.DataFrame({**columns, "count": totals, "standard_error": np.sqrt(variances)})


def _in_part(part: Mapping[str, str | None], channels: Sequence[dict[str, Any]]) -> pl.Expr:
    """Whether a row is in a part; where that is of what is missing, its cell is none of the other parts' cells."""
    own = [pl.lit(True)]
    for name, cell in part.items():
        others = [each["part"][name] for each in channels if each["part"][name] is not None]
        known = pl.col(name).is_in(others).fill_null(False)
        own.append(~known if cell is None else (pl.col(name) == cell).fill_null(False))
    return pl.all_horizontal(own)


def _inverted(matrix: Floats, counts: Floats, about: About, file: str) -> tuple[Floats, Floats]:
    """(values,) the estimated counts of a part, and their variances."""
    if np.linalg.matrix_rank(matrix) < len(matrix):
        raise DataError(
            Problem("a matrix of the manifest cannot be inverted: it says nothing about some values", file=file)
        )
    inverse = np.linalg.inv(matrix.T)
    estimates = inverse @ counts
    likely = np.maximum(estimates, 0)
    spread = np.diag(likely @ matrix) - (matrix.T * likely) @ matrix
    variances = np.diag(inverse @ spread @ inverse.T).copy()
    if about == "population" and likely.sum():
        variances += likely * (1 - likely / likely.sum())
    return estimates, np.maximum(variances, 0)


def _write_answers(
    request: Reconstruct, manifest: Manifest, conditions: Sequence[CountCondition], files: Files
) -> None:
    pairs = ((each, observe(files.source, manifest.named(each.names))) for each in conditions)
    answers = [asdict(answer(seen, each, request)) for each, seen in pairs]
    block = {"confidence": request.confidence, "answers": answers}
    _write(request, files, block, [pl.DataFrame(answers)], cells=False)


# --- the original distribution ----------------------------------------------------------------------------------------


def tables(observed: Observed, request: Reconstruct) -> Iterator[pl.DataFrame]:
    """The reconstructed joint table in pieces: the attributes, the estimated count of each cell, its standard error.

    Cells stand in the order of values, the last attribute's changing fastest. The standard error is that of the
    unbiased estimate, whatever the method.
    """
    names = [each.name for each in observed.attributes]
    clash = [name for name in FIGURES if name in names]
    if clash:
        raise UsageError(f"an attribute is called {clash[0]}, as a column of the result is: leave it out")
    estimated = estimate.estimate(observed.shares, observed.p, request.method)
    distribution = estimated if request.method == "inverse" else None
    variances = estimate.variances(observed.shares, observed.p, observed.rows, request.about, distribution).ravel()
    shares = estimated.ravel()
    texts = [pl.Series(each, dtype=pl.String) for each in observed.values]
    for start in range(0, max(shares.size, 1), PIECE):
        cells = slice(start, min(start + PIECE, shares.size))
        places = np.unravel_index(np.arange(cells.start, cells.stop), observed.shares.shape)
        columns = [text.gather(place).alias(name) for text, place, name in zip(texts, places, names, strict=True)]
        counts, errors = shares[cells] * observed.rows, np.sqrt(variances[cells]) * observed.rows
        yield pl.DataFrame([*columns, pl.Series("count", counts), pl.Series("standard_error", errors)])


# --- counts -----------------------------------------------------------------------------------------------------------


def answer(observed: Observed, condition: CountCondition, request: Reconstruct) -> Answer:
    """How many rows of the original meet a condition. `observed`: the attributes that it is about.

    The interval holds the counts that the table does not refute, whatever the method: see `channels.interval`.
    """
    names = [each.name for each in observed.attributes]
    chosen = [np.ones(len(values)) for values in observed.values]
    for comparison in condition.comparisons:
        axis = names.index(comparison.name)
        chosen[axis] *= observed.attributes[axis].chosen(comparison, observed.values[axis])
    unbiased = estimate.count(observed.shares, observed.p, chosen, observed.rows, request.about)
    low, high = interval(observed.shares, observed.p, chosen, observed.rows, request.about, request.confidence)
    count = unbiased.estimate
    if request.method != "inverse":
        table = estimate.estimate(observed.shares, observed.p, request.method)
        for weights in reversed(chosen):
            table = table @ weights
        count = float(table) * observed.rows
    return Answer(condition.text, count, unbiased.standard_error, low, high)
