"""PRAM (post-randomization): each value is replaced by a random one, with probabilities that are published.

What it does. A transition matrix gives, for each value, the probabilities of the values that may replace it. The spec
declares it (`matrix`), or it is made from `keep`: a value stays with that probability, and otherwise becomes one of the
other values, all equally likely, except those to which the transition is `forbidden`. The other values are those that
occur in the column, or in the row's part of it (`by`). With `joint` the columns are treated as one, whose values are
the combinations that occur. Each row is drawn independently.

`invariant` makes a matrix R with p R = p, where p are the shares of the values: the release then has the same counts up
to chance, and needs no correction. Where nothing is forbidden, R = P Q, with the matrix P of `keep` and its Bayes
inverse Q (two stages; sdcMicro does the same, but draws the diagonal of P at random between `keep` and 1); `alpha` R +
(1 - `alpha`) I is used. Where moves are forbidden, two values that may become each other exchange the flow min(p i, p
j) times 1 - `keep`, divided by the number of partners of whichever value has more.

What it guarantees. Values are drawn by the matrix, which is in the manifest, so that counts can be corrected. A
forbidden transition never occurs. The check compares the counts of all transitions in the written file with the matrix,
within bounds that a correct release violates once in 10^8. If a declared `matrix` has no zeros (except whole columns of
them), each row has local differential privacy for each of the columns, whatever the table; the manifest gives the
epsilon. Missing cells stay missing: whether a cell is missing is not hidden.

What it does not. A matrix made from the table gives no such bound: its values are those of people in the table, and an
invariant matrix depends on their shares. Rare values are at risk: a record that shows one probably has it, unless the
matrix moves other records to that value.

What else it discloses. The manifest contains a matrix made from the table with all of its values, including those of
few rows: with `joint`, every combination that occurs in the input, even if the release no longer shows it; with `by`,
the values that occur in each part. If all rows of a part have the same value, or the part is a single row, the manifest
reveals that value to anyone who knows that a person is in the part. The run warns of values of fewer rows than the
largest required k (5 if there is none). A declared matrix names only values of the spec, whether or not any row has
them. An invariant matrix reveals the exact shares of the values in each part, as counts of the original column would;
the manifest names the parts by their values of `by`.

Cost. Linear in the rows; matrices have at most a million cells in all.

Reference. Gouweleeuw, Kooiman, Willenborg, de Wolf: Post randomisation for statistical disclosure control: theory and
implementation, Journal of Official Statistics 14(4), 1998; de Wolf, van Gelder: An empirical evaluation of PRAM, 2004.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from anonymize.classes import Bools, Codes, Floats, Ints, mixed_radix
from anonymize.errors import Caution, DataError, Problem, counted
from anonymize.records import dataclass
from anonymize.spec.model import FEWEST
from anonymize.spec.treatments import Pram
from anonymize.table.kept import KeptColumn
from anonymize.treatments import Change, InputColumn, Random, Step, members, names_of, unchanged, wrong_rows

ID = "pram"
MOST_MATRIX_CELLS = 1_000_000
"""How many cells the matrices of a step have, at most."""


@dataclass(frozen=True)
class Variable:
    """What is replaced: a column, or several as one. `values`: the cells (one of each column) of each value;
    `codes` (rows,): the value of each row, -1 where one of its cells is missing."""

    columns: Sequence[InputColumn]
    values: list[tuple[str, ...]]
    cells: list[tuple[int, ...]]
    codes: Ints

    @property
    def present(self) -> Ints:
        """The rows that have a value."""
        return np.flatnonzero(self.codes >= 0)

    def written(self, codes: Ints) -> dict[str, KeptColumn]:
        """The columns with other values; rows without one stay."""
        table, has = np.array(self.cells, np.int64).reshape(-1, len(self.columns)), codes >= 0
        changed = {}
        for place, column in enumerate(self.columns):
            own: Codes = column.kept.codes.copy()
            own[has] = table[codes[has], place]
            changed[column.name] = KeptColumn(column.kept.cells, own)
        return changed


def run(entry: Pram, step: Step) -> Change:
    """The columns with random values. Raises DataError for a matrix that cannot be: of values that it does not have, of
    one that may not become any other, or too large."""
    columns = [step.columns[name] for name in entry.columns]
    parts, names = step.parts(entry.by), _part_names(entry, step)
    written: dict[str, KeptColumn] = {}
    channels: list[dict[str, Any]] = []
    warnings: list[Caution] = []
    for own in [columns] if entry.joint else [[column] for column in columns]:
        if entry.matrix is not None:
            written[own[0].name], channel = _by_declared(entry.matrix, own[0], step.random)
            channels.append(channel)
            continue
        variable = _variable(own)
        warnings += _unknown(entry, variable)
        codes, made, said = _drawn(entry, variable, parts, names, step)
        written |= variable.written(codes)
        channels += made
        warnings += said
    epsilon = None if entry.matrix is None else _epsilon(np.array(channels[0]["matrix"]))
    local = {} if epsilon is None else {"epsilon": epsilon, "epsilon_of_all_columns": epsilon * len(columns)}
    return Change(written, {"invariant": entry.invariant, "channels": channels, **local}, warnings=tuple(warnings))


def _variable(columns: Sequence[InputColumn]) -> Variable:
    kept = [column.kept for column in columns]
    lacking = np.logical_or.reduce([column.missing for column in columns])
    keys, _ = mixed_radix([each.codes for each in kept], [len(each.cells) for each in kept])
    present = np.flatnonzero(~lacking)
    _, first, own = np.unique(keys[present], return_index=True, return_inverse=True)
    cells = np.column_stack([each.codes[present[first]] for each in kept]).tolist()
    texts = [each.cells.cast(pl.String).to_list() for each in kept]
    values = [tuple(texts[place][code] for place, code in enumerate(row)) for row in cells]
    order = np.array(sorted(range(len(values)), key=values.__getitem__), np.int64)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    codes = np.full(len(lacking), -1)
    codes[present] = ranks[own]
    return Variable(columns, [values[i] for i in order], [tuple(cells[i]) for i in order], codes)


def _part_names(entry: Pram, step: Step) -> list[dict[str, str | None]]:
    """What the parts are, by their number."""
    if not entry.by:
        return [{}]
    first = np.unique(step.parts(entry.by), return_index=True)[1]
    texts = {}
    for name in entry.by:
        column = step.columns[name]
        cells = column.series.gather(first).cast(pl.String).to_list()
        texts[name] = [None if lacking else cell for cell, lacking in zip(cells, column.missing[first], strict=True)]
    return [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]


def _too_large(columns: Sequence[InputColumn]) -> DataError:
    message = f"pram of {names_of(columns)}: matrices of more than {MOST_MATRIX_CELLS:,} cells"
    return DataError(Problem(message, columns[0].source.name, hint="columns of fewer values, or fewer strata (`by`)"))


# --- drawing ---------------------------------------------------------------------------------------------------------


def drawn(codes: Ints, matrix: Floats, random: Random) -> Ints:
    """(rows,) for each value (rows,) a random one by its row of the matrix.

    Every row of the matrix is a stretch of length 1 of one line, parted by its cumulated probabilities; a number drawn
    from the stretch of a value falls into what it becomes. Ends are those of the last value that can come, so that one
    with no probability never does.
    """
    size = len(matrix)
    line = np.cumsum(matrix, axis=1)
    line /= line[:, -1:]
    line += np.arange(size)[:, None]
    points = codes + np.minimum(random.random(len(codes)), 1 - 2.0**-30)
    return np.asarray(np.searchsorted(line.ravel(), points, side="right") - codes * size)


def _drawn(
    entry: Pram, variable: Variable, parts: Ints, names: list[dict[str, str | None]], step: Step
) -> tuple[Ints, list[dict[str, Any]], list[Caution]]:
    """(rows,) new values by matrices that are made for each part; the channels; and what to warn of."""
    codes, present, channels, warnings = variable.codes.copy(), variable.present, [], list[Caution]()
    _check_feasible(entry, variable)
    still, few, room = 0, 0, MOST_MATRIX_CELLS
    fewest = FEWEST if step.spec is None else step.spec.fewest
    for group in members(np.unique(parts[present], return_inverse=True)[1]):
        rows = present[group]
        values, own, counts = np.unique(codes[rows], return_inverse=True, return_counts=True)
        room -= len(values) ** 2
        if room < 0:
            raise _too_large(variable.columns)
        matrix = _matrix(entry, counts / len(rows), [variable.values[value] for value in values])
        still += int(counts[np.diag(matrix) == 1].sum())
        few += int((counts < fewest).sum())
        codes[rows] = values[drawn(own, matrix, step.random)]
        texts = [list(variable.values[value]) for value in values]
        channels.append(_channel(variable.columns, names[parts[rows[0]]], texts, matrix))
    if still:
        warnings.append(unchanged(ID, names_of(variable.columns), still, "there is no other value within the part"))
    lacking = len(codes) - len(present)
    if lacking and len(variable.columns) > 1:
        warnings.append(unchanged(ID, names_of(variable.columns), lacking, "one of the columns is missing"))
    if few:
        warnings.append(_named(entry, variable, few, fewest))
    return codes, channels, warnings


def _named(entry: Pram, variable: Variable, few: int, fewest: int) -> Caution:
    """That the manifest has values, or combinations of them, of few rows: how many."""
    noun = "combination" if len(variable.columns) > 1 else "value"
    are, them = ("is", "it") if few == 1 else ("are", "them")
    rare = f"{counted(few, noun)}{' in a part' if entry.by else ''} {are} of fewer than {fewest} rows"
    said = f"pram of {names_of(variable.columns)}: {rare}, and the manifest, which is public, names {them}"
    return Caution.of(said, remedy_of(entry))


def remedy_of(entry: Pram) -> str:
    """What makes values of few rows rarer in the manifest."""
    fewer = [*(["fewer columns with `joint`"] if entry.joint else []), *(["a coarser `by`"] if entry.by else [])]
    return ", or ".join([*fewer, "merge rare values of the input before"])


def _channel(
    columns: Sequence[InputColumn], part: dict[str, str | None], values: list[list[str]], matrix: Floats
) -> dict[str, Any]:
    """A matrix as the manifest has it: of these columns, in this part, between these values."""
    return {"columns": [each.name for each in columns], "part": part, "values": values, "matrix": matrix.tolist()}


def _by_declared(
    matrix: Mapping[str, Mapping[str, float]], column: InputColumn, random: Random
) -> tuple[KeptColumn, dict[str, Any]]:
    """The column with new values by the matrix of the spec, and the channel."""
    declared, kept, present = list(matrix), column.kept, np.flatnonzero(~column.missing)
    place = {value: code for code, value in enumerate(declared)}
    texts = kept.cells.cast(pl.String).to_list()
    known = np.array([-1 if text is None else place.get(text, -1) for text in texts], np.int64)
    of_row = known[kept.codes[present]]
    if (of_row < 0).any():
        raise wrong_rows(column, present[of_row < 0], "values that have no row in the `matrix`")
    square = np.array([[row.get(value, 0.0) for value in declared] for row in matrix.values()])
    added = [value for value in declared if value not in texts]
    cells = pl.concat([kept.cells, pl.Series(added, dtype=pl.String).cast(kept.cells.dtype)])
    back = {text: code for code, text in enumerate([*texts, *added])}
    codes = kept.codes.astype(np.min_scalar_type(len(cells)))
    codes[present] = np.array([back[value] for value in declared])[drawn(of_row, square, random)]
    return KeptColumn(cells, codes), _channel([column], {}, [[value] for value in declared], square)


# --- matrices --------------------------------------------------------------------------------------------------------


def _matrix(entry: Pram, shares: Floats, values: Sequence[tuple[str, ...]]) -> Floats:
    """(values, values) the matrix of values of these shares."""
    keep, size = entry.keep or 0.0, len(values)
    allowed = ~_barred(entry, values)
    if not entry.invariant:
        return kept_with(keep, allowed)
    made = flowing(keep, shares, allowed) if entry.forbidden else two_stage(kept_with(keep, allowed), shares)
    return entry.alpha * made + (1 - entry.alpha) * np.eye(size)


def kept_with(keep: float, allowed: Bools) -> Floats:
    """The matrix by which values stay with a probability, and become all others that are allowed equally often; a value
    without any stays."""
    partners = allowed.sum(axis=1)
    matrix = allowed * ((1 - keep) / np.maximum(partners, 1))[:, None]
    np.fill_diagonal(matrix, np.where(partners, keep, 1.0))
    return np.asarray(matrix, np.float64)


def two_stage(matrix: Floats, shares: Floats) -> Floats:
    """R = P Q for a matrix P and the shares p of values, where Q j i = p i P i j / (p P) j: p R = p."""
    expected = shares @ matrix
    return np.asarray(matrix @ (shares[:, None] * matrix / expected).T)


def flowing(keep: float, shares: Floats, allowed: Bools) -> Floats:
    """The matrix R with p i R i j = p j R j i where both moves are allowed, and 0 elsewhere: p R = p."""
    both = allowed & allowed.T
    partners = np.maximum(both.sum(axis=1), 1)
    flows = np.minimum(shares[:, None], shares) / np.maximum(partners[:, None], partners) * both * (1 - keep)
    matrix = flows / shares[:, None]
    np.fill_diagonal(matrix, 1 - matrix.sum(axis=1))
    return np.asarray(matrix, np.float64)


def _barred(entry: Pram, values: Sequence[tuple[str, ...]]) -> Bools:
    """(values, values) whether the first may not become the second, which is itself or one forbidden by a column."""
    barred = np.eye(len(values), dtype=bool)
    for one, other in entry.forbidden:
        for cells in zip(*values, strict=True):
            barred |= np.outer([cell == one for cell in cells], [cell == other for cell in cells])
    return barred


def _check_feasible(entry: Pram, variable: Variable) -> None:
    """Raises DataError for values that may not become any other that occurs in the table."""
    if not entry.forbidden or len(variable.values) < 2:
        return
    if len(variable.values) ** 2 > MOST_MATRIX_CELLS:
        raise _too_large(variable.columns)
    allowed = ~_barred(entry, variable.values)
    if entry.invariant:
        allowed &= allowed.T
    stuck: Bools = np.logical_not(allowed.any(axis=1))
    if stuck.any():
        rows = variable.present[stuck[variable.codes[variable.present]]]
        back = " and back" if entry.invariant else ""
        text = f"pram: {int(stuck.sum())} of its values may not become any other{back},"
        raise wrong_rows(variable.columns[0], rows, text, "fewer pairs under `forbidden`")


def _unknown(entry: Pram, variable: Variable) -> Iterator[Caution]:
    """Pairs that are forbidden of values that no row has."""
    occurring = {cell for value in variable.values for cell in value}
    count = sum(not occurring.issuperset(pair) for pair in entry.forbidden)
    if count:
        pairs = "pair names" if count == 1 else "pairs name"
        text = f"pram of {names_of(variable.columns)}: {count} forbidden {pairs} values that no row has"
        yield Caution.of(text, "write values under `forbidden` as they stand in the input")


def _epsilon(matrix: Floats) -> float | None:
    """The epsilon of local differential privacy of a matrix, None where something can be ruled out by what is shown."""
    most, least = matrix.max(axis=0), matrix.min(axis=0)
    can = most > 0
    return None if (least[can] <= 0).any() else float(np.log(most[can] / least[can]).max())
