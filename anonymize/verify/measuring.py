"""From the text of a table to a verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from anonymize.claims import Basis, Parameters, Result, State
from anonymize.records import dataclass
from anonymize.verify.distances import Overall
from anonymize.verify.numbering import summed, whole
from anonymize.verify.population import kept, texts_of_classes
from anonymize.verify.risk import Matched, class_sizes, risk, size_ranges
from anonymize.verify.table import SharedNumbers, TextRows, TextTable, classes_of, entries_of, plain_texts, read
from anonymize.verify.tighten import Ordering, OrderReading, read_order
from anonymize.verify.twins import COUNT, PEOPLE, TWINS, VALUE, TwinBound, weighs
from anonymize.verify.verdict import THRESHOLD, Check, Figures, Given, OrderVerdict, Subject, Tree, Verdict, Wildcard

IN_POPULATION = "the rows are narrower than what they show, and nobody is looked up in a population by that"
BEYOND = "the figure of a class is beyond all numbers that can be compared"
IN_DOMAINS = "what a class keeps is counted in the values of the input, which are not at hand"
UNCLEAR = "output.interval does not say by brackets whether intervals include their ends: '[{low}, {high})'"

_NONE = 2**32 - 1
"""No class has this number."""


def measure(
    frame: pl.LazyFrame | pl.DataFrame,
    quasi_identifiers: Sequence[str],
    checks: Sequence[Check],
    missing: Sequence[str] = ("",),
    *,
    suppressed: str = "*",
    threshold: float = THRESHOLD,
    null_missing: bool = True,
    units: pl.Series | None = None,
    missing_as: Literal["own-category", "wildcard"] = "own-category",
    numbers: Iterable[str] = (),
    ordering: Ordering | None = None,
    normalize: bool = False,
    shared: SharedNumbers | None = None,
    exact: frozenset[str] = frozenset(),
) -> Verdict:
    """Measures a table from its text.

    `quasi_identifiers`: columns as released (both columns of a number that was released as bounds), at least one.
    `missing`: texts that mean missing. A null means missing too, unless `null_missing` is False: then it is the empty
    text (an empty field of a CSV for which "" is not declared missing). `suppressed`: text of a suppressed cell.
    `threshold`: a record is at risk when its risk is higher. `units`: whom each row is about, in the order of the rows;
    rows about one unit count as one in everything but numbers of rows. `missing_as`: what a missing or suppressed cell
    of a quasi-identifier is; as a wildcard everything is measured in both meanings. `numbers`: columns in which a
    suppressed cell is a null, where they have numbers and not texts. `ordering`: what is asked about the order of the
    rows. `normalize`: texts are compared without what cannot be seen, and a blank one is missing. `exact`: columns
    whose texts are compared as they stand. `shared`: what is read of the same frame for other measures, too. Raises
    DataError if a numeric attribute has other values.
    """
    if normalize:
        missing, suppressed = plain_texts([*missing, ""]), plain_texts([suppressed])[0]
    fill = "" if not null_missing or "" in missing else None
    kinds = frame.collect_schema()
    blank = frozenset(name for name in numbers if name in kinds and kinds[name].is_numeric())
    table = TextTable(
        frame.lazy(), tuple(quasi_identifiers), tuple(missing), fill, units, normalize, blank, shared, exact
    )
    subjects = dict.fromkeys(check.subject for check in checks)
    wild = missing_as == "wildcard"
    looked_up = any(check.people is not None or check.domains is not None for check in checks)
    names = list(dict.fromkeys(each.attribute for each in subjects if each.attribute))
    rows = read(table, names, suppressed, keep=wild or looked_up or ordering is not None)
    reading = None if ordering is None else read_order(table, rows, ordering)
    if not wild and not looked_up:
        rows = replace(rows, columns=())
    classes = classes_of(rows)
    if looked_up:
        classes = _with_people(classes, texts_of_classes(rows, quasi_identifiers), checks)
    sizes, classed = classes.filter(~pl.col("suppressed"))["size"], _Classed(rows, classes, missing)
    return Verdict(
        rows=rows.count,
        absent=absent_values(checks, classed),
        suppressed_rows=int(classes.filter("suppressed")["rows"].sum()),
        results=check_classes(checks, classed, classes),
        classes=class_sizes(sizes),
        sizes=size_ranges(sizes),
        risk=risk(classes["size"], threshold) | _journalist(classes),
        wildcard=_wildcard(classed, checks, (*missing, suppressed), threshold) if wild else None,
        blank=rows.blank,
        order=None if reading is None or ordering is None else _of_order(reading, ordering, checks, missing, classes),
        remarks=tuple(rows.remarks),
        individuals=units is not None,
    )


def of_sizes(classes: pl.DataFrame, checks: Sequence[Check]) -> tuple[Result, ...]:
    """The checks that are about no attribute, on classes as `table.classes_of` has them."""
    measured = _of_classes(classes, checks)
    return tuple(_result(check, measured, place) for place, check in enumerate(checks))


def measure_within(
    rows: TextRows, checks: Sequence[Check], missing: Sequence[str], overall: Callable[[Subject, Tree | None], Overall]
) -> tuple[Result, ...]:
    """The checks on classes of some rows of a table, at least one. `overall`: of an attribute, the table as a whole,
    with which models that compare do compare."""
    classes = classes_of(rows)
    return check_classes(checks, _Classed(rows, classes, missing, overall), classes)


def _of_order(
    reading: OrderReading,
    ordering: Ordering,
    checks: Sequence[Check],
    missing: Sequence[str],
    released: pl.DataFrame,
) -> OrderVerdict:
    """The table measured once more, by what its rows read once their order has narrowed them. `released`: its
    classes."""
    verdict = OrderVerdict(reading.sorted, ordering.judged, reading.attributes)
    if reading.rows is None:
        return verdict
    classes = classes_of(reading.rows)
    able = [check for check in checks if check.people is None]
    measured = iter(check_classes(able, _Classed(reading.rows, classes, missing), classes))
    results = [next(measured) if check.people is None else _unknown(check, IN_POPULATION) for check in checks]
    return replace(
        verdict,
        results=tuple(results),
        rows=reading.rows.count,
        singled_out=whole(risk(classes["size"], THRESHOLD)["uniques"]),
        singled_out_as_shown=whole(risk(released["size"], THRESHOLD)["uniques"]),
    )


def _unknown(check: Check, why: str) -> Result:
    """The result of a check which could not be made."""
    unmeasured = Result(
        check.model, check.attribute, dict(check.parameters), {}, State.NOTHING_REQUIRED, 0, 0, basis=Basis.MEASURED
    )
    return unmeasured.unshown(why) if _requires(check) else unmeasured


def absent_values(
    checks: Sequence[Check], made: Callable[[Subject, Tree | None], tuple[Pieces, Overall]]
) -> tuple[tuple[str, str], ...]:
    """The attribute and the value of each value that is protected and does not occur. `made`: as in `check_classes`."""
    protecting = [check for check in checks if check.protects]
    lacking: dict[tuple[str, str], None] = {}
    for subject in dict.fromkeys(check.subject for check in protecting):
        overall = made(subject, None)[1]
        for check in (each for each in protecting if each.subject == subject):
            codes = overall.codes_of(check.protects)
            lacking |= dict.fromkeys((check.attribute or "", value) for value, code in codes.items() if code is None)
    return tuple(lacking)


@dataclass(frozen=True)
class _Classed:
    """Some rows of a table in their `classes`. Called, it is what `check_classes` asks for of an attribute. `overall`:
    the table as a whole, where these are not all of it."""

    rows: TextRows
    classes: pl.DataFrame
    missing: Sequence[str]
    overall: Callable[[Subject, Tree | None], Overall] | None = None

    def __call__(self, subject: Subject, tree: Tree | None) -> tuple[Pieces, Overall]:
        entries = entries_of(self.rows, subject, self.missing)
        if self.overall is not None:
            return [(self.classes, entries)], self.overall(subject, tree)
        # Somebody who is in several classes is counted in each, and once in the table.
        together = entries if self.rows.units is None else entries_of(self.rows.together, subject, self.missing)
        return [(self.classes, entries)], Overall(together, self.rows, subject, self.missing, tree)


def _with_people(classes: pl.DataFrame, texts: pl.DataFrame, checks: Sequence[Check]) -> pl.DataFrame:
    """The classes with how many people of each population lie under them, and under none, and what they keep of the
    information. `texts`: what they show."""
    populations = {check.parameters["population"]: check.people for check in checks if check.people is not None}
    for path, people in populations.items():
        matched, outside = people.under(texts)
        own = {f"{PEOPLE}{path}": matched, f"outside of {path}": pl.lit(outside)}
        classes = classes.with_columns(**own)
    domains = next((check.domains for check in checks if check.domains is not None), None)
    return classes if domains is None else classes.with_columns(kept=kept(domains, texts))


def _journalist(classes: pl.DataFrame) -> Figures:
    """The journalist's highest risk, of the population in which it is higher; nothing without a population."""
    fewest = [whole(classes[name].min()) for name in classes.columns if name.startswith(PEOPLE) and len(classes)]
    return {"journalist_max": 1 / max(min(fewest), 1)} if fewest else {}


def _wildcard(classed: _Classed, checks: Sequence[Check], wild: Sequence[str], threshold: float) -> Wildcard:
    """Everything once more, among the rows that each row is compatible with. `wild`: texts that match anything."""
    matched = Matched.of(classed.rows, classed.classes, wild)

    def pieces(subject: Subject, tree: Tree | None) -> tuple[Pieces, Overall]:
        return matched.pieces(subject, classed.missing), classed(subject, tree)[1]

    figures = risk(matched.classes["size"], threshold, matched.classes["own"])
    return Wildcard(check_classes(checks, pieces, matched.classes), figures | _journalist(classed.classes))


Pieces = Iterable[tuple[pl.DataFrame, pl.DataFrame]]
"""Classes, numbered from 0, and the entries of these."""


def check_classes(
    checks: Sequence[Check],
    made: Callable[[Subject, Tree | None], tuple[Pieces, Overall]],
    classes: pl.DataFrame,
) -> tuple[Result, ...]:
    """What each check found, attribute by attribute. `made`: of an attribute, pieces, and the table as a whole."""
    results: dict[int, Result] = {}
    unweighed = [] if "kept" in classes.columns else [i for i, each in enumerate(checks) if _weighs(each)]
    classes = classes.with_columns(kept=pl.lit(0.0)) if unweighed else classes
    for subject in dict.fromkeys(check.subject.as_they_stand for check in checks):
        mine = [index for index, check in enumerate(checks) if check.subject.as_they_stand == subject]
        of_subject = [checks[index] for index in mine]
        if subject.attribute is None:
            measured = _of_classes(classes, of_subject)
        else:
            pieces, overall = made(subject, next((check.tree for check in of_subject if check.tree is not None), None))
            measured = pl.concat([_measured(some, entries, of_subject, overall) for some, entries in pieces])
        results |= {index: _result(checks[index], measured, place) for place, index in enumerate(mine)}
        alike = [index for index in mine if checks[index].subject.alike]
        if alike and (uncounted := overall.uncounted):
            pieces, overall = made(subject._replace(alike=True), None)
            folded = pl.concat([_measured(some, each, [checks[i] for i in alike], overall) for some, each in pieces])
            for place, index in enumerate(alike):
                result = _result(checks[index], folded, place)
                results[index] = _worse(checks[index], results[index], result, uncounted)
    unclear = [index for index, each in enumerate(checks) if each.people is not None and not each.people.is_clear]
    results |= {index: _unknown(checks[index], UNCLEAR) for index in unclear}
    results |= {index: _unknown(checks[index], IN_DOMAINS) for index in unweighed}
    return tuple(results[index] for index in range(len(checks)))


def _weighs(check: Check) -> bool:
    return check.attribute is None and weighs(check.model, check.parameters)


def _worse(check: Check, result: Result, alike: Result, uncounted: int) -> Result:
    """What a check found on values as they stand, or with those that look alike as one, whichever is worse."""
    achieved = dict(alike.achieved)
    for bound in _bounds(check):
        none = None if bound.compared == "at least" else float("inf")
        pair = [each.achieved[bound.parameter] for each in (result, alike)]
        figures = pl.Series([none if each is None else each for each in pair], dtype=pl.Float64)
        achieved[bound.parameter] = _weakest(bound, figures.drop_nulls())
    more = alike.failing_rows > result.failing_rows
    worse = replace(alike, alike=uncounted) if more else alike if alike.satisfied is False else result
    return replace(worse, achieved=achieved)


def _bounds(check: Check) -> list[TwinBound]:
    """The bounds that a check is about: those with a parameter; all where nothing is required."""
    bounds = TWINS[check.model]
    return [bound for bound in bounds if bound.parameter in check.parameters or not _requires(check)]


def _requires(check: Check) -> bool:
    return any(bound.parameter in check.parameters for bound in TWINS[check.model])


def _expressions(checks: Sequence[Check], overall: Overall | None = None) -> dict[str, pl.Expr]:
    """The figures of the classes, `f` and the numbers of check and bound."""
    return {
        f"f{index}.{number}": bound.figure(_given(check, overall))
        for index, check in enumerate(checks)
        for number, bound in enumerate(_bounds(check))
    }


def _given(check: Check, overall: Overall | None) -> Given:
    """The parameters of a check, and what is known of the values that it protects."""
    if not check.protects or overall is None:
        return check.parameters
    return {**check.parameters, **overall.guarded(check.protects)}


def _of_classes(classes: pl.DataFrame, checks: Sequence[Check]) -> pl.DataFrame:
    """The figures of the checks that are about no attribute."""
    weight = pl.col("own" if "own" in classes.columns else "size")
    return classes.with_columns(pl.lit(1).alias("alike"), weight=weight).with_columns(**_expressions(checks))


def _measured(classes: pl.DataFrame, entries: pl.DataFrame, checks: Sequence[Check], overall: Overall) -> pl.DataFrame:
    """The figures of the checks that are about one attribute, in one go."""
    figures = _expressions(checks, overall)
    kinds, entries = _alike(classes, entries)
    of_size = {name: figure for name, figure in figures.items() if figure.meta.root_names() == ["size"]}
    others = {name: figure for name, figure in figures.items() if name not in of_size}
    return kinds.join(_figures(entries, others, overall), on="class", how="left").with_columns(**of_size)


def _figures(entries: pl.DataFrame, figures: Mapping[str, pl.Expr], overall: Overall) -> pl.DataFrame:
    """The figures of every class that has entries; what they are made of is added only where a figure needs it. Not
    lazily, for sums of fractions: see `sums`."""
    needed = {name for figure in figures.values() for name in figure.meta.root_names()}
    known = entries
    if {"total", "mean"} & needed:
        mean = summed(VALUE.cast(pl.Float64) * COUNT) / COUNT.sum()
        known = known.join(entries.group_by("class").agg(total=COUNT.sum(), mean=mean), on="class")
    if {"overall", "kinds"} & needed:
        known = known.join(overall.shares, on="value")
    for name in {"ordered", "hierarchical"} & needed:
        known = known.join(getattr(overall, name)(entries), on="class")
    return known.group_by("class").agg(**figures)


def _alike(classes: pl.DataFrame, entries: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Classes that no model tells apart as one, with how many are `alike`: those that have one present value, of each
    size, number of rows, value and count; and the entries of what is left.

    In a table that nobody has generalized nearly every class is one of a few of these.
    """
    owner = pl.col("class")
    single = entries.select((owner != owner.shift(1, fill_value=_NONE)) & (owner != owner.shift(-1, fill_value=_NONE)))
    alone, rest = entries.filter(single.to_series()), entries.filter(~single.to_series())
    known = alone.with_columns(classes[name].gather(alone["class"]) for name in ("size", "rows"))
    few = known.group_by("size", "rows", "value", "count").agg(owner.min(), alike=pl.len())
    plain = classes.select("class", "size", "rows", alike=pl.lit(1, pl.UInt32))
    several = plain[rest["class"].rle().struct.unnest()["value"]]
    kinds = [few.select(plain.columns), several]
    if len(alone) + len(several) < len(classes):
        kinds.append(plain.join(entries, on="class", how="anti"))
    return pl.concat(kinds), pl.concat([rest, few.select(entries.columns)])


def _result(check: Check, classes: pl.DataFrame, place: int) -> Result:
    """From the figures of every class, null for a class without a present value, to what the table achieves."""
    fails, beyond = pl.lit(False), pl.lit(False)
    achieved: Parameters = {name: value for name, value in check.parameters.items() if name != "population"}
    for number, bound in enumerate(_bounds(check)):
        figures = pl.col(f"f{place}.{number}").fill_null(bound.worst)
        achieved[bound.parameter] = _weakest(bound, classes.select(figures).to_series())
        if bound.parameter in check.parameters:
            fails |= _failing(bound, figures, check)
            beyond |= ~figures.is_finite() if bound.overflows else False
    failing = classes.filter(fails)
    result = Result(
        model=check.model,
        attribute=check.attribute,
        required=dict(check.parameters),
        achieved=achieved,
        state=State.of(failing.is_empty()) if _requires(check) else State.NOTHING_REQUIRED,
        failing_classes=int(failing["alike"].sum()),
        failing_rows=int((failing["rows"] * failing["alike"]).sum()),
        basis=Basis.MEASURED,
    )
    unshown = result.state is State.MET and not classes.filter(beyond).is_empty()
    return result.unshown(BEYOND) if unshown else result


def _failing(bound: TwinBound, figures: pl.Expr, check: Check) -> pl.Expr:
    unmet = bound.failing(figures, float(check.parameters[bound.parameter]))
    return unmet if bound.fails is None else unmet & bound.fails(check.parameters)


def _weakest(bound: TwinBound, figures: pl.Series) -> float | int | None:
    """What all classes meet: the worst figure; None of no classes, and where it is infinite."""
    worst = figures.min() if bound.compared == "at least" else figures.max()
    if not isinstance(worst, int | float) or not math.isfinite(worst):
        return None
    return int(worst) if bound.whole else float(worst)
