"""Whether a table can meet its requirements at all, and which rows have to go so that it can.

The coarsest release shows all rows as one class. Where the models are monotone and that class does not meet them, no
release does. What may mend it is to give up rows: those of the most frequent sensitive values, until the rest is
diverse enough; any rows, until they are few enough in their population.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from anonymize.algorithms.base import Context, option
from anonymize.classes import Bools, Ints
from anonymize.errors import InfeasibleError, Problem
from anonymize.judging import Judge
from anonymize.privacy import MODELS, Assessment, Requirement, histogram
from anonymize.table import SensitiveColumn, Table


def minimum_size(requirements: Iterable[Requirement]) -> int:
    """The fewest rows that a class may have: a class of l different values has l rows."""
    return max([1, *(MODELS[each.model].minimum_rows(each.parameters) for each in requirements)])


def necessary_size(requirements: Iterable[Requirement]) -> int:
    """The fewest rows of a class in any release that meets the requirements. `minimum_size` is more where something is
    asked of the table as a whole: then it is what is enough for every class."""
    return max([1, *(MODELS[each.model].necessary_rows(each.parameters) for each in requirements)])


def beyond_size(table: Table, requirements: Iterable[Requirement]) -> list[Requirement]:
    """The requirements that having enough rows does not meet; all of them where something other than rows is
    counted."""
    if table.units is not None:
        return list(requirements)
    return [
        each for each in requirements if not MODELS[each.model].sized(each.parameters) or each.population is not None
    ]


def rows_to_suppress(table: Table, requirements: tuple[Requirement, ...], context: Context) -> NDArray[np.uint32]:
    """Row numbers, ascending, without which the table meets every requirement as one class; none if it already does.

    Raises InfeasibleError naming the requirements that bind and the nearest feasible setting when no suppression within
    the limit mends it; and where rows that would have to go stand for several, which are not given up one by one.
    """
    if table.counts is not None and _binding(table, requirements):
        raise no_generalization(table, requirements, context.suppression_limit)
    staying, failing = _mended(table, requirements)
    given_up = np.flatnonzero(~staying)
    if failing or len(given_up) > context.suppression_limit:
        raise InfeasibleError(_explain(table, requirements, failing, staying, context.suppression_limit))
    return given_up.astype(np.uint32)


def no_generalization(table: Table, requirements: tuple[Requirement, ...], limit: int) -> InfeasibleError:
    """Why no generalization is safe where rows are suppressed by whole classes: which requirement binds, and what would
    be feasible."""
    single = table.counts is None  # what stands for several rows is not given up row by row
    if single:
        try:
            rows_to_suppress(table, requirements, Context(limit))
        except InfeasibleError as error:
            return error
    bounded = [each.name for each in table.attributes if each.bounded]
    if bounded and not _binding(table, requirements):
        message = f"levels.max of {', '.join(bounded)}: no generalization up to these levels meets the requirements"
        hint = "raise levels.max, or allow more with --suppression"
        return InfeasibleError(Problem(f"{message} with at most {limit} rows suppressed", hint=hint))
    return InfeasibleError(
        [
            Problem(
                f"{binding.requirement} is met by no generalization in which at most {limit} rows are suppressed: the "
                "whole table as one class does not meet it",
                hint=_single_rows(binding) + alternative(table, binding) if single else _of_whole(table, binding),
            )
            for binding in _binding(table, requirements)
        ]
    )


def _of_whole(table: Table, assessment: Assessment) -> str:
    """The nearest setting that the whole table meets as one class."""
    nearest = alternative(table, assessment).removeprefix(", or ")
    return f"nearest feasible: {nearest}" if nearest else "no setting of it is feasible"


def _binding(table: Table, requirements: tuple[Requirement, ...]) -> list[Assessment]:
    """The requirements that the whole table as one class does not meet."""
    everyone = np.ones(table.rows, np.bool_)
    assessments = [_assessed(table, everyone, requirement) for requirement in requirements]
    return [assessment for assessment in assessments if not assessment.satisfied]


def _single_rows(assessment: Assessment) -> str:
    """Names an algorithm that suppresses single rows; around fewer people of a population that may not be enough."""
    does = "meets it within the limit" if assessment.requirement.population is None else "may meet it within the limit"
    return f"mondrian, which suppresses single rows of a class, {does}"


def _mended(table: Table, requirements: tuple[Requirement, ...]) -> tuple[Bools, list[Assessment]]:
    """(rows,) the rows that stay, and the requirements that they still do not meet.

    What is given up for one requirement can break another, so all are gone through again until nothing more goes. Of
    several requirements that bind, each is mended by itself: together they might have done with fewer rows.
    """
    staying = np.ones(table.rows, np.bool_)
    while True:
        before, failing = staying, []
        for requirement in requirements:
            assessment = _assessed(table, staying, requirement)
            if not assessment.satisfied:
                failing.append(assessment)
                staying = staying & _trimmed(table, staying, requirement)
        if np.array_equal(staying, before):
            return staying, failing


def _assessed(table: Table, staying: Bools, requirement: Requirement) -> Assessment:
    """The requirement measured with all kept rows as one class."""
    rows = np.flatnonzero(staying).astype(np.uint32)
    return Assessment(Judge(table, (requirement,), rows).one_class(), requirement)


def _trimmed(table: Table, staying: Bools, requirement: Requirement) -> Bools:
    """(rows,) the rows that stay when no sensitive value may occur more often than the highest cap that is enough.

    Then as many values as possible, beginning with the last in the order of codes, keep one row more than the cap. Both
    numbers are found by bisection; all rows stay where no cap is enough. The rows of a value that are dropped are
    spread evenly over the table.
    """
    if requirement.attribute is None:
        return _thinned(table, staying, requirement)
    column = next(each for each in table.sensitive if each.name == requirement.attribute)
    rank = _rank_within_value(column, staying)
    counts = np.bincount(column.codes[staying], minlength=column.size)
    bound = _protected(column, requirement)

    def stays(caps: Ints) -> Bools:
        return _spread(rank, column, counts, np.where(bound, caps, counts))

    def fine(caps: Ints) -> bool:
        return _assessed(table, staying & stays(caps), requirement).satisfied

    cap = _highest(int(counts[bound].max(initial=0)), lambda cap: fine(np.full(column.size, cap)))
    if not cap:
        return staying
    capped = np.flatnonzero(bound & (counts > cap))[::-1]

    def raised(number: int) -> Ints:
        caps = np.full(column.size, cap)
        caps[capped[:number]] += 1
        return caps

    return stays(raised(_highest(len(capped), lambda number: fine(raised(number)))))


def _protected(column: SensitiveColumn, requirement: Requirement) -> Bools:
    """(codes,) whether the requirement protects each value."""
    values = histogram.values_of(requirement.parameters)
    if values is None:
        return np.ones(column.size, np.bool_)
    return histogram.protected_mask(column.texts if column.values is None else column.values, values)


def _thinned(table: Table, staying: Bools, requirement: Requirement) -> Bools:
    """(rows,) the rows that stay, evenly spread, when their number is limited by the highest share of a population; all
    rows where the requirement sets no such limit, or where no number of rows meets it."""
    if requirement.population is None or MODELS[requirement.model].limit("max") is None:
        return staying
    lenient = _changed(requirement, {"min": 0})
    rows = np.flatnonzero(staying)

    def some(number: int) -> Bools:
        stays = np.zeros(table.rows, np.bool_)
        stays[rows[np.arange(number) * len(rows) // max(number, 1)]] = True
        return stays

    if lenient is None or _assessed(table, staying, lenient).satisfied:
        return staying
    number = _highest(len(rows), lambda number: _assessed(table, some(number), lenient).satisfied)
    return some(number) if number else staying


def _highest(stop: int, fine: Callable[[int], bool]) -> int:
    """The highest number below `stop` that is fine, by bisection; 0 is assumed to be fine."""
    low, high = 0, stop
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fine(middle) else (low, middle)
    return low


def _rank_within_value(column: SensitiveColumn, staying: Bools) -> Ints:
    """(rows,) how many kept rows of the same value come before each."""
    order = np.argsort(column.codes, kind="stable")
    before: Ints = np.cumsum(staying[order]) - staying[order]
    codes = column.codes[order]
    first = np.searchsorted(codes, codes, side="left")
    rank = np.empty(len(order), np.int64)
    rank[order] = before - before[first]
    return rank


def _spread(rank: Ints, column: SensitiveColumn, counts: Ints, caps: Ints) -> Bools:
    """(rows,) whether each row stays when `caps` (codes,) rows of each value do, evenly spread; all missing ones do."""
    count, cap = np.maximum(counts, 1)[column.codes], caps[column.codes]
    stays = (rank + 1) * cap // count > rank * cap // count
    return stays if column.missing is None else stays | (column.codes == column.missing)


def _explain(
    table: Table, requirements: tuple[Requirement, ...], failing: list[Assessment], staying: Bools, limit: int
) -> list[Problem]:
    given_up = int(np.count_nonzero(~staying))
    share = f"{np.ceil(given_up / table.rows * 1e6) / 1e6:.6f}".rstrip("0").rstrip(".")
    if failing:
        needed = f" with privacy.suppression of {share}" if given_up > limit else ""
        return [_ruled_out(table, staying, assessment, needed) for assessment in failing]
    return [
        Problem(
            f"{binding.requirement} is not met by the whole table as one class, which reaches {_reached(binding)}; "
            f"suppressing {given_up} rows would fix it, {limit} may be suppressed",
            hint=f"nearest feasible: privacy.suppression of {share}{alternative(table, binding)}",
        )
        for binding in _binding(table, requirements)
    ]


def _ruled_out(table: Table, staying: Bools, assessment: Assessment, needed: str) -> Problem:
    rows = int(np.count_nonzero(staying))
    who = f"all {rows} rows"
    if rows < table.rows:
        who = f"the {rows} of {table.rows} rows that are left once other requirements are met,"
    nearest = _nearest(assessment, partial(_assessed, table, staying))
    return Problem(
        f"{assessment.requirement} cannot be met: {who} as one class reach {_reached(assessment)}",
        hint=f"nearest feasible: {nearest}{needed}" if nearest else "no setting of it is feasible",
    )


def alternative(table: Table, assessment: Assessment) -> str:
    """The nearest setting that the whole table meets as one class, worded as a further suggestion; empty if there is
    none."""
    nearest = _nearest(assessment, partial(_assessed, table, np.ones(table.rows, np.bool_)))
    return f", or {nearest}" if nearest else ""


def _reached(assessment: Assessment) -> str:
    figures = {name: value for name, value in assessment.achieved.items() if not isinstance(value, str | list)}
    return ", ".join(f"{name}={'none' if value is None else format(value, '.6g')}" for name, value in figures.items())


# --- the nearest setting ---------------------------------------------------------------------------------------------


def _nearest(assessment: Assessment, assessed: Callable[[Requirement], Assessment]) -> str | None:
    """The parameters that have to change, and to what; None where no setting is met.

    Tried on the rows themselves: what they reach in place of one parameter, then of two, and so on; and where that
    gives no setting, as with fewer than l values, the same of every smaller l.
    """
    for requirement in _weaker(assessment.requirement):
        reached = _settings(requirement, assessed(requirement).achieved)
        for changed in reached:
            setting = _changed(
                requirement, {name: _inside(requirement, name, value) for name, value in changed.items()}
            )
            if setting is not None and assessed(setting).satisfied:
                rank = MODELS[requirement.model].rank if requirement != assessment.requirement else None
                whole = {} if rank is None else {rank: int(getattr(requirement.parameters, rank))}
                return ", ".join(_said(requirement, name, value) for name, value in (changed | whole).items())
    return None


def _weaker(requirement: Requirement) -> Iterator[Requirement]:
    """The requirement itself, and those with a smaller rank where another parameter is measured from the rank on."""
    yield requirement
    rank = MODELS[requirement.model].rank
    if rank is not None:
        for number in range(int(getattr(requirement.parameters, rank)) - 1, 0, -1):
            smaller = _changed(requirement, {rank: number})
            if smaller is not None:
                yield smaller


Figures = dict[str, float | int]


def _settings(
    requirement: Requirement, achieved: Mapping[str, float | int | str | list[str] | None]
) -> Iterator[Figures]:
    """What is reached in place of none of the parameters, of one, of two, ..."""
    candidates = {
        name: float(f"{value:.10g}") if isinstance(value, float) else value
        for name, value in achieved.items()
        if isinstance(value, int | float)
    }
    for count in range(len(candidates) + 1):
        for names in combinations(candidates, count):
            yield {name: candidates[name] for name in names}


def _changed(requirement: Requirement, figures: Figures) -> Requirement | None:
    """The requirement with other figures; None where the model allows no such."""
    text = json.dumps({**requirement.required(), **figures})
    try:
        return replace(requirement, parameters=type(requirement.parameters).model_validate_json(text))
    except ValidationError:
        return None


def _inside(requirement: Requirement, name: str, value: float | int) -> float | int:
    """A figure that is met where what is reached is `value`."""
    return value * (1 + 1e-6) if _exclusive(requirement, name) else value


def _said(requirement: Requirement, name: str, value: float | int) -> str:
    return f"{name} above {value:.10g}" if _exclusive(requirement, name) else f"{name}={value:.10g}"


def _exclusive(requirement: Requirement, name: str) -> bool:
    """Whether a parameter has to exceed what is reached."""
    limit = MODELS[requirement.model].limit(name)
    return limit is not None and limit.comparison == "below"


# --- rows that are given up -------------------------------------------------------------------------------------------
# The option `--outliers`: how many rows a full-domain search may give up.


def outliers_option(what: str, share: str) -> Any:
    """The field of an algorithm's options: `what` happens to the rows, and whose `share` is the limit."""
    help = f"How many rows may {what}: limit, the spec's share of {share}; k, as many as a class has to have."
    return option("limit", help, ("limit", "k"))


def allowed_rows(outliers: str, requirements: Iterable[Requirement], context: Context) -> int:
    """How many rows may be given up."""
    return context.suppression_limit if outliers == "limit" else minimum_size(requirements)
