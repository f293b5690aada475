"""The second opinion of releases without equivalence classes: groups and sensitive values of a bucketized one, and
the distortion of channels, read from the written text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from anonymize.claims import Basis, Result, State
from anonymize.errors import DataError
from anonymize.records import dataclass
from anonymize.verify import measuring, numbering
from anonymize.verify.table import by_position
from anonymize.verify.verdict import THRESHOLD, Check, Verdict

# --- groups of values -------------------------------------------------------------------------------------------------
# Of a bucketized release the groups are the classes: what a person's group shows is all that the quasi-identifiers tell
# of the sensitive value. Where there are two files, the sensitive table is spread out, a row for each that it counts,
# and both have to have the same groups with the same numbers of rows. The risk of re-identification is that of the
# quasi-identifiers, which are published as they are.

COUNT = "count"


@dataclass(frozen=True)
class Reading:
    """How the text is read: the column of groups, what means missing, whether a null does, whether texts
    are normalized."""

    group: str
    missing: Sequence[str] = ("",)
    null_missing: bool = True
    threshold: float = THRESHOLD
    normalize: bool = False


def measure_bucketized(
    table: pl.LazyFrame,
    sensitive: pl.LazyFrame | None,
    quasi_identifiers: Sequence[str],
    checks: Sequence[Check],
    reading: Reading,
) -> Verdict:
    """Measures the groups of a table against models of sensitive values.

    `table`: the QIT, or all in one file. `sensitive`: the ST with the columns of groups, of a sensitive attribute, and
    `count`; None where the table has the sensitive values. Raises DataError where the files do not belong together, or
    counts are not whole numbers above 0.
    """
    values = table if sensitive is None else _spread(table, sensitive, reading.group)
    read = partial(
        measuring.measure,
        missing=reading.missing,
        suppressed="\0",
        threshold=reading.threshold,
        null_missing=reading.null_missing,
        normalize=reading.normalize,
    )
    return replace(read(values, [reading.group], checks), risk=read(table, quasi_identifiers, []).risk)


def _spread(table: pl.LazyFrame, sensitive: pl.LazyFrame, group: str) -> pl.LazyFrame:
    """The sensitive table with a row for each that it counts, once its groups are those of the table."""
    columns = by_position(sensitive)
    count = columns.pop(COUNT).cast(pl.String).cast(pl.Int64, strict=False)
    names = {str(number): name for number, name in enumerate(columns)}
    texts = [column.cast(pl.String).alias(key) for key, column in zip(names, columns.values(), strict=True)]
    counted = sensitive.select(*texts, count=count).collect()
    if wrong := int((counted[COUNT].fill_null(0) < 1).sum()):
        raise DataError(f"{wrong} counts of the sensitive table are not whole numbers above 0")
    groups = table.select(group=by_position(table)[group].cast(pl.String)).group_by("group").agg(pl.len())
    own = next(key for key, name in names.items() if name == group)
    check_together(groups.collect(engine="streaming"), counted.select(pl.col(own).alias("group"), COUNT))
    spread = counted.lazy().select(pl.col(list(names)).repeat_by(COUNT)).explode(list(names))
    return spread.rename(names)


def check_together(groups: pl.DataFrame, counts: pl.DataFrame) -> None:
    """Raises DataError unless the sensitive table has the groups of the QIT, with as many rows in each.

    `groups`: `group`, and `len`, the rows of each. `counts`: `group` and `count`, in any order.
    """
    totals = counts.group_by("group").agg(listed=pl.col(COUNT).sum())
    rows = groups.select("group", rows=pl.col("len").cast(pl.Int64))
    both = totals.join(rows, on="group", how="full", nulls_equal=True)
    if off := both.filter(pl.col("listed").ne_missing(pl.col("rows"))).height:
        message = f"{off} groups have other numbers of rows in the sensitive table"
        raise DataError(f"{message}: the files do not belong together")


# --- distorted values -------------------------------------------------------------------------------------------------
# Two things are measured. *The distortion*: the values of the written table against those of the original, row by row.
# In every column each value has to be kept, and each other value shown, as often as the p of the written parameters
# says. How far a frequency may be off follows from the Chernoff bound, n KL(k / n, p), which holds for any number of
# rows; all of these together are broken by a sound release once in 10^8. *The risk*: Pr(S | QI) by its definition, from
# the original's joint table and the written parameters, by sums over groups of cells.
#
# A risk is not a property of the written text alone, as equivalence classes are: it depends on the original, and is the
# average over what the text could have been. Nothing is imported from the rooms that choose and draw.

SURPRISE = math.log(1e8)
_TOLERANCE = 1e-6
ROWS = "rows"
"""How many rows each row of a counted frame stands for."""


@dataclass(frozen=True)
class Bound:
    """What is asked of a sensitive attribute: l, another l for some of its values (by their code), which code is
    missing."""

    attribute: str
    l: float  # noqa: E741
    values: Mapping[int, float]
    missing: int | None


@dataclass(frozen=True)
class RatioBound:
    """What is asked of the distortion of a sensitive attribute: a model, and its parameters."""

    model: str
    attribute: str
    required: Mapping[str, float]


def measure_distorted(
    frame: pl.LazyFrame, original: pl.DataFrame, parameters: Mapping[str, Any], bounds: Sequence[Bound | RatioBound]
) -> tuple[Verdict, list[str]]:
    """The verdict, and what is wrong with the distortion (nothing, of a sound release).

    `frame`: the release as text. `original`: the category of each of its rows before the distortion, a column of codes
    for each attribute of `parameters`, which is the recipient's file as it was written. Raises DataError for a release
    of another number of rows.
    """
    attributes = _columned(parameters)
    original = pl.DataFrame([original[each["name"]].alias(each["column"]) for each in attributes])
    distorted = [each for each in attributes if "values" in each]
    columns = by_position(frame)
    coded = [_codes(each, columns[each["name"]]) for each in distorted]
    released = frame.select(coded).collect(engine="streaming") if distorted else original
    if released.height != original.height:
        raise DataError("the table changed while it was being verified")
    wrong = [
        text
        for each in distorted
        for text in _wrong(each, _moves(original[each["column"]], released[each["column"]], len(each["values"])))
    ]
    return _verdict(attributes, original.with_columns(pl.lit(1, pl.Int64).alias(ROWS)), bounds), wrong


def measure_counted(
    moves: Sequence[pl.DataFrame | None],
    original: pl.DataFrame,
    counts: pl.Series,
    parameters: Mapping[str, Any],
    bounds: Sequence[Bound | RatioBound],
) -> tuple[Verdict, list[str]]:
    """Measures distorted columns whose rows are counted elsewhere.

    `moves`: of each attribute in the order of `parameters`, how many rows (`ROWS`) went from each category before the
    distortion ("before") to each "text" of the release; None where it is not distorted. `original`: the combinations of
    categories before it, a column for each attribute; `counts`: how many rows have each.
    """
    attributes = _columned(parameters)
    named = original.rename(dict(zip(original.columns, (each["column"] for each in attributes), strict=True)))
    wrong: list[str] = []
    for each, own in zip(attributes, moves, strict=True):
        if own is not None:
            after = own.select(_codes(each, pl.col("text")))[each["column"]]
            counted = own.select(pl.col("before").cast(pl.UInt64), after.alias("after"), pl.col(ROWS).alias("len"))
            wrong += _wrong(each, counted.group_by("before", "after").agg(pl.col("len").sum()))
    return _verdict(attributes, named.with_columns(counts.cast(pl.Int64).alias(ROWS)), bounds), wrong


def _columned(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The attributes of the recipient's file, each with the name of its column here."""
    return [each | {"column": f"a{number}"} for number, each in enumerate(parameters["attributes"])]


def _verdict(
    attributes: Sequence[Mapping[str, Any]], original: pl.DataFrame, bounds: Sequence[Bound | RatioBound]
) -> Verdict:
    """What the bounds come to. `original`: rows, or combinations of which there are `ROWS`."""
    results = []
    for bound in bounds:
        own = next(each for each in attributes if each["name"] == bound.attribute)
        size = len(own["values"]) if "values" in own else original[own["column"]].n_unique()
        if isinstance(bound, RatioBound):
            results.append(_ratio_result(bound, own["p"], size, original))
        else:
            results.append(_result(bound, own, size, attributes, original))
    return Verdict(int(original[ROWS].sum()), 0, tuple(results), classes={}, risk={})


def _codes(attribute: Mapping[str, Any], column: pl.Expr) -> pl.Expr:
    """The code of each text in a column among the attribute's values; null for another text."""
    text = column.cast(pl.String).fill_null("")
    return text.cast(pl.Enum(attribute["values"]), strict=False).to_physical().alias(attribute["column"])


# --- the distortion --------------------------------------------------------------------------------------------------


def _wrong(attribute: Mapping[str, Any], moves: pl.DataFrame) -> Iterator[str]:
    """What the moves from value to value do not agree with; those to null are to none of the attribute's values."""
    name, p, size = attribute["name"], attribute["p"], len(attribute["values"])
    if unknown := int(moves.filter(pl.col("after").is_null())["len"].sum()):
        yield f"{name} has {unknown} values that are not among those of its parameters"
        return
    total, stays = int(moves["len"].sum()), pl.col("before") == pl.col("after")
    rows = moves.group_by("before").agg(rows=pl.col("len").sum(), kept=pl.col("len").filter(stays).sum())
    tests = [(int(kept), int(count), p) for count, kept in rows.select("rows", "kept").iter_rows()]
    if size > 1:
        arrived = dict(moves.filter(~stays).group_by("after").agg(pl.col("len").sum()).rows())
        there = dict(rows.select("before", "rows").iter_rows())
        others = (total - there.get(code, 0) for code in range(size))
        tests += [(arrived.get(code, 0), count, (1 - p) / (size - 1)) for code, count in enumerate(others)]
    allowed = SURPRISE + math.log(2 * len(tests))
    off = sum(_surprise(*test) > allowed for test in tests)
    if off:
        yield f"{name}: {off} of {len(tests)} frequencies are not those of a distortion with p = {p:.6g}"


def _moves(before: pl.Series, after: pl.Series, size: int) -> pl.DataFrame:
    """How many rows ("len") went from each value ("before") to each ("after")."""
    pair = (pl.col("before").cast(pl.UInt64) * size + pl.col("after")).alias("pair")
    counts = pl.DataFrame({"before": before, "after": after}).lazy().group_by(pair).len().collect(engine="streaming")
    return counts.select(before=pl.col("pair") // size, after=pl.col("pair") % size, len=pl.col("len"))


def _surprise(hits: int, tries: int, chance: float) -> float:
    """-log of a bound on the probability of a share at least so far off: tries times KL(hits / tries, chance)."""
    share = hits / tries if tries else chance
    divergence = 0.0
    for part, expected in ((share, chance), (1 - share, 1 - chance)):
        if part > 0:
            divergence += part * math.log(part / expected) if expected > 1e-15 else (math.inf if part > 1e-15 else 0.0)
    return tries * divergence


# --- what a row tells ------------------------------------------------------------------------------------------------


def _ratio_result(bound: RatioBound, p: float, size: int, original: pl.DataFrame) -> Result:
    """A bound on how much likelier one value than another makes what a row shows: over all that can be shown. `size`:
    how many values there are."""
    ratio = _largest_ratio(p, size)
    achieved: dict[str, Any] = {"epsilon": math.log(ratio) if math.isfinite(ratio) else None}
    if bound.model == "amplification":
        prior = bound.required["rho1"]
        odds = ratio * prior / (1 - prior)
        achieved = {"rho1": prior, "rho2": odds / (1 + odds) if math.isfinite(ratio) else 1.0}
        allowed = bound.required["rho2"] / (1 - bound.required["rho2"])
        state = State.of(odds < allowed * (1 - 1e-9))
    else:
        state = State.of(ratio <= math.exp(bound.required["epsilon"]) * (1 + _TOLERANCE))
    return Result(
        model=bound.model,
        attribute=bound.attribute,
        required=dict(bound.required),
        achieved=achieved,
        state=state,
        failing_classes=size if state.fails else 0,
        failing_rows=int(original[ROWS].sum()) if state.fails else 0,
        basis=Basis.DERIVED,
    )


def _largest_ratio(p: float, size: int) -> float:
    """The probability of one shown value with the value that shows it most, over that with the least."""
    if size == 1:
        return 1.0
    chances = (p, (1 - p) / (size - 1))
    return math.inf if min(chances) <= 0 else max(chances) / min(chances)


# --- the risk --------------------------------------------------------------------------------------------------------


def _result(
    bound: Bound,
    own: Mapping[str, Any],
    size: int,
    attributes: Sequence[Mapping[str, Any]],
    original: pl.DataFrame,
) -> Result:
    """The bound against the largest risk times l. `achieved`: the l that all risks keep, in proportion. `own`: the
    attribute, which has `size` values."""
    quasi = [each for each in attributes if each["role"] == "quasi-identifier"]
    cells = _cells(original, [each["column"] for each in quasi], own["column"], bound)
    groups = cells.group_by("group").agg(pi=pl.col("rows").sum() / int(original[ROWS].sum()))
    cells = cells.join(_identified(groups.unnest("group"), quasi), on="group")
    cells = _guessed(cells, own["p"], size)
    required = pl.col("value").replace_strict(bound.values, default=bound.l, return_dtype=pl.Float64)
    risks = cells.select("rows", risk=pl.col("identified") * pl.col("exposed") * pl.col("guessed"), l=required)
    excess = (risks["risk"] * risks["l"]).rename("excess")
    broken = risks.filter(excess > 1 + _TOLERANCE)["rows"]
    worst = excess.max()
    assert worst is None or isinstance(worst, float)
    return Result(
        model="disclosure",
        attribute=bound.attribute,
        required={"l": bound.l},
        achieved={"l": bound.l / worst if worst else None},
        state=State.of(broken.is_empty()),
        failing_classes=len(broken),
        failing_rows=int(broken.sum()),
        basis=Basis.DERIVED,
    )


def _cells(original: pl.DataFrame, quasi: Sequence[str], sensitive: str, bound: Bound) -> pl.DataFrame:
    """Every combination of quasi-identifiers ("group") with every sensitive value that occurs in it: rows, the share of
    it, and the share among the values that are not missing."""
    hidden = pl.col("value") == (-1 if bound.missing is None else bound.missing)
    counts = original.lazy().group_by(*quasi, sensitive).agg(rows=pl.col(ROWS).sum())
    named = counts.select(group=pl.struct(quasi), value=pl.col(sensitive).cast(pl.Int64), rows="rows")
    exposed = pl.when(hidden).then(0.0).otherwise(pl.col("rows") / pl.col("rows").filter(~hidden).sum().over("group"))
    return named.with_columns(share=pl.col("rows") / pl.col("rows").sum().over("group"), exposed=exposed).collect()


def _identified(occurring: pl.DataFrame, quasi: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """For each combination that occurs, the chance that a row of it is taken for one of it: formula (5) by sums.

    `occurring`: the combinations, and their share of all rows ("pi").

    Attributes that are left alone part the table, and each part is by itself.
    """
    names = [each["column"] for each in quasi]
    moved = [each for each in quasi if each["p"] < 1]
    if not moved:
        return occurring.select(group=pl.struct(names), identified=pl.lit(1.0))
    fixed = [each["column"] for each in quasi if each["p"] >= 1]
    parts = occurring.select(fixed).unique().with_row_index("part") if fixed else pl.DataFrame({"part": [0]})
    placed = occurring.join(parts, on=fixed, how="left") if fixed else occurring.join(parts, how="cross")
    place, cells = pl.col("part").cast(pl.Int64), parts.height
    for each in moved:
        place, cells = place * len(each["values"]) + pl.col(each["column"]), cells * len(each["values"])
    places = placed.select(place).to_series()
    chances = pl.repeat(0.0, cells, eager=True).scatter(places, placed["pi"])
    seen = _through(chances, moved, parts.height, 1)
    inverse = pl.select(pl.when(seen > 0).then(1 / seen).otherwise(0.0)).to_series()
    back = _through(inverse, moved, parts.height, 2).gather(places)
    return placed.select(group=pl.struct(names), identified=pl.col("pi") * back)


def _through(table: pl.Series, moved: Sequence[Mapping[str, Any]], parts: int, power: int) -> pl.Series:
    """A figure of each cell, part by part, then by the values of the first of `moved`, and so on, summed over all ways
    in which cells are distorted; with the chances to a power.

    Along one attribute: a cell's own figure by p, and those of all others that differ in this attribute alone by q. The
    attribute by which cells go last is summed, and comes first then, so that each is the last once.
    """
    for each in reversed(moved):
        p, size = each["p"], len(each["values"])
        q = (1 - p) / (size - 1)
        total = table.reshape((-1, size)).arr.sum()
        table = _turned(table, size)
        table = p**power * table + q**power * (pl.concat([total] * size) - table)
    return _turned(table, parts)


def _turned(table: pl.Series, size: int) -> pl.Series:
    """Cells that go last by something with so many values, so that they go by it first."""
    return pl.concat([table.gather_every(size, each) for each in range(size)])


def _guessed(cells: pl.DataFrame, p: float, size: int) -> pl.DataFrame:
    """With the chance that the sensitive value is guessed by who knows the group: formula (5) within each group."""
    if p >= 1:
        return cells.with_columns(guessed=pl.lit(1.0))
    q = (1 - p) / (size - 1)
    seen = p * pl.col("share") + q * (1 - pl.col("share"))
    absent = (size - pl.len()).over("group") / q
    others = numbering.summed(1 / seen).over("group") - 1 / seen + absent
    return cells.with_columns(guessed=pl.col("share") * (p**2 / seen + q**2 * others))
