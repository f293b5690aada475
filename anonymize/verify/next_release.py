"""The next release of a series, measured from its text before it is published, with what is on record of earlier ones.

What `series` does from the files of all releases, this does for the last one alone: classes and values now are
read from the file's text, and those of earlier releases, which were measured so in their turn, are what the
caller has on record of its people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from anonymize.verify.columns import NumberedColumn
from anonymize.verify.distances import Overall
from anonymize.verify.numbering import Numbering, pair, whole
from anonymize.verify.series import (
    Past,
    ReleasedAt,
    ReleaseVerdict,
    SeriesVerdict,
    ValuesResult,
    compared,
    over_time,
    results_of,
)
from anonymize.verify.table import TextRows, TextTable, entries_of, numbered
from anonymize.verify.twins import compares
from anonymize.verify.verdict import Check, Subject, Tree

THIS = "this release"
NOT_THERE = -1


def measure_next(
    people: pl.DataFrame,
    released: pl.DataFrame,
    quasi_identifiers: Sequence[str],
    sensitive: Sequence[str],
    checks: Sequence[Check],
    all_values: Mapping[str, pl.Series],
    *,
    absent: pl.DataFrame | None = None,
    names: Sequence[str] = (),
    missing: Sequence[str] = ("",),
    null_missing: bool = True,
    suppressed: str = "*",
    normalize: bool = False,
) -> SeriesVerdict:
    """Measures the people of a release by history.

    `released`: its text, one row a person. `people`: the same rows; of each earlier release s, from 0, `release_{s}`,
    whole numbers that are equal for one class, -1 for who was not in it, and for the i-th of the `sensitive` attributes
    `value_{s}_{i}`, the text released then, null where it was missing or there was none; beside them `recorded`, if the
    classes that will be on record of it are to be those of the text. `all_values`: by the same names the values of
    everybody in the earlier release. `absent`: the same as `people`, of everybody who was ever released and is not in
    this one; those of them whose history others have who are in it are measured by themselves; None: nothing is said of
    them. `names`: of the earlier releases. The rest is as `measure` has it.

    Raises RuntimeError where `recorded` parts people otherwise than the text does.
    """
    reading = {"missing": missing, "null_missing": null_missing, "suppressed": suppressed, "normalize": normalize}
    everybody = pl.int_range(released.height, dtype=pl.UInt32, eager=True)
    current = ReleasedAt.of_text(THIS, released, everybody, quasi_identifiers, sensitive, **reading)  # type: ignore[arg-type]
    classes = current.rows.classes
    if "recorded" in people.columns:
        _check_recorded(classes, people["recorded"])
    earlier = sum(name.startswith("release_") for name in people.columns)
    history, there = classes.dense, [people[f"release_{s}"] != NOT_THERE for s in range(earlier)]
    for s in range(earlier):
        history = pair(history, _of_record(people[f"release_{s}"]))[0]
    texts = compared(missing, normalize=normalize)
    called = list(names) or [f"release {s + 1}" for s in range(earlier)]
    pasts = [Past(THIS, pl.repeat(True, released.height, eager=True), current.rows.values, texts, current.overall)]
    bounded = [check for check in checks if over_time(check)]
    past = partial(_past, sensitive=sensitive, all_values=all_values, missing=texts, normalize=normalize)
    for s in reversed(range(earlier)):
        same = all(_unchanged(current, name, people[f"value_{s}_{i}"], there[s]) for i, name in enumerate(sensitive))
        if same and not any(compares(check.model, check.parameters) for check in bounded):
            continue  # of the same people the same values: what they show is what they show now
        own = people.filter(there[s])
        pasts.append(past(called[s], own, there[s], s=s))
    departed = None
    if absent is not None:
        departed = _departed(people, absent, called, past, bounded)
    before = there[0] if there else pl.repeat(False, released.height, eager=True)
    for each in there[1:]:
        before |= each
    verdict = _verdict(history, results_of(history, pasts, bounded), whole((~before).sum()))
    verdict = replace(verdict, departed=departed)
    return SeriesVerdict((verdict,), tuple(dict.fromkeys(each.model for each in checks if not over_time(each))))


def _departed(
    people: pl.DataFrame, absent: pl.DataFrame, names: Sequence[str], past: Callable[..., Past], checks: Sequence[Check]
) -> tuple[ValuesResult, ...]:
    """The results of those who are `absent`, by history, where somebody has this history who is not."""
    columns = [name for name in people.columns if name.startswith("release_")]
    if not columns:
        return ()
    others = absent.join(people.select(columns).unique(), on=columns, how="semi", maintain_order="left")
    if not others.height:
        return ()
    history = Numbering(pl.repeat(0, others.height, dtype=pl.UInt32, eager=True), 1)
    for name in columns:
        history = pair(history, _of_record(others[name]))[0]
    pasts = []
    for s in reversed(range(len(columns))):
        there = others[f"release_{s}"] != NOT_THERE
        pasts.append(past(names[s], others.filter(there), there, s=s))
    return results_of(history, pasts, checks, gone=True)


def _unchanged(current: ReleasedAt, attribute: str, values: pl.Series, there: pl.Series) -> bool:
    """Whether those who were in an earlier release have the values now that they had then, as text."""
    column = current.rows.values[attribute]
    now = pl.Series([None], dtype=pl.String).append(column.texts).gather(column.numbers.of_row)
    return now.filter(there).equals(values.alias("").filter(there), null_equal=True)


def _verdict(history: Numbering, results: tuple[ValuesResult, ...], first_time: int) -> ReleaseVerdict:
    sizes = history.runs()["len"]
    return ReleaseVerdict(THIS, whole(sizes.sum()), len(sizes), whole(sizes.min()), first_time, None, results)


def _of_record(numbers: pl.Series) -> Numbering:
    """Class numbers from -1 on as numbers from 0 on."""
    shifted = (numbers.cast(pl.Int64) - NOT_THERE).cast(pl.UInt32)
    return Numbering(shifted, whole(shifted.max()) + 1)


def _check_recorded(classes: Numbering, recorded: pl.Series) -> None:
    """Classes on record and those of the text are the same if they are as many, and as many taken together."""
    own, other = classes.of_row.n_unique(), recorded.n_unique()
    both = pair(classes, _of_record(recorded))[0].of_row.n_unique()
    if not own == other == both:
        raise RuntimeError("what is on record of the release is not what its text shows: this is probably a bug")


def _past(
    name: str,
    people: pl.DataFrame,
    there: pl.Series,
    *,
    s: int,
    sensitive: Sequence[str],
    all_values: Mapping[str, pl.Series],
    missing: Sequence[str],
    normalize: bool,
) -> Past:
    """What an earlier release said of the people of this one who were in it."""
    own = {attribute: people[f"value_{s}_{i}"].alias("") for i, attribute in enumerate(sensitive)}
    others = {attribute: all_values[f"value_{s}_{i}"].alias("") for i, attribute in enumerate(sensitive)}
    mine, everybody = {}, {}
    for attribute in sensitive:
        both = pl.concat([own[attribute], others[attribute]]).cast(pl.String).to_frame(attribute).lazy()
        column = numbered(TextTable(both, (), tuple(missing), None, normalize=normalize), [attribute])[0]
        mine[attribute] = _sliced(column, 0, people.height)
        everybody[attribute] = _sliced(column, people.height, None)
    rows = len(next(iter(everybody.values())).numbers.of_row) if everybody else 0
    of_all = TextRows(Numbering(pl.repeat(0, rows, dtype=pl.UInt32, eager=True), 1), None, everybody, None)

    def overall(subject: Subject, tree: Tree | None) -> Overall:
        return Overall(entries_of(of_all, subject, missing), of_all, subject, missing, tree)

    return Past(name, there, mine, missing, overall)


def _sliced(column: NumberedColumn, start: int, length: int | None) -> NumberedColumn:
    return NumberedColumn(Numbering(column.numbers.of_row.slice(start, length), column.numbers.span), column.texts)
