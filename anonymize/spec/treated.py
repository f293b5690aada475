"""Steps of `treatments` against the columns of a spec, and against each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from anonymize.errors import Caution
from anonymize.spec.base import KeyPath
from anonymize.spec.columns import WITHHELD
from anonymize.spec.messages import Fault, dotted, nearest_or_all
from anonymize.spec.model import Spec
from anonymize.spec.treatments import DateShift, Microaggregation, Noise, Pram, Suppress, Treatment

_UNTREATED = {"identifier": "an identifier, and left out", "unit": "the unit, and left out"}
_ROW_TOLERANCE = 1e-9
"""How far the probabilities of a row of a matrix may be from 1 in all."""


def check(spec: Spec) -> Iterator[Fault]:
    """What is wrong with the steps of a spec whose patterns have been resolved as far as they can be."""
    if not (spec.quasi_identifiers or spec.treatments or spec.tabulate or spec.synthesize):
        if "quasi_identifiers" in spec.model_fields_set:
            yield Fault(("quasi_identifiers",), "`quasi_identifiers`: expected at least 1 entry, found 0")
        else:
            yield Fault((), "`quasi_identifiers` is missing", at_key=True)
    first: dict[str, int] = {}
    for number, step in enumerate(spec.treatments):
        path: KeyPath = ("treatments", number)
        for name in step.treated:
            if (before := first.setdefault(name, number)) != number:
                message = f"column `{name}` is treated by step {before + 1} ({spec.treatments[before].method}) already"
                yield Fault.of(path, message, "what two steps disclose together is not known")
        yield from _columns(spec, step, path)
        yield from _settings(spec, step, path)


def _columns(spec: Spec, step: Treatment, path: KeyPath) -> Iterator[Fault]:
    """Columns without a role, or with one that no step can do with."""
    roles, closed = spec.roles(), spec.others == "error"
    for name in (*step.treated, *step.read):
        if name not in roles and closed:
            yield Fault.of(path, f"`{name}` has no role in the spec", nearest_or_all(name, roles))
    for name in (name for name, count in Counter(step.treated).items() if count > 1):
        yield Fault.of(path, f"`{name}` is listed twice")
    for name in dict.fromkeys(step.treated):
        role = roles.get(name)
        if role in WITHHELD and name in spec.left_over:
            message = f"`{name}` is left out by `others: drop`: there is nothing to treat"
            yield Fault.of(path, message, "name it under `insensitive`")
        elif role in WITHHELD:
            yield Fault.of(path, f"`{name}` is {_UNTREATED[role]}: there is nothing to treat")
        if role == "sampling-weight":
            hint = f"`sampling_weight: {{column: {name}, bands: 10}}` changes weights"
            yield Fault.of(path, f"`{name}` is the sampling weight", hint)
        if role == "quasi-identifier" and not step.COUNTS and _counts(spec):
            message = f"`{name}` is a quasi-identifier, whose rows do not count for k once {step.method} has changed it"
            hint = "microaggregation and suppress leave rows that read the same"
            yield Fault.of(path, message, hint)
        if name in step.read:
            yield Fault.of(path, f"`{name}` is changed, and cannot be what the step goes by as well")


def _counts(spec: Spec) -> bool:
    """Whether anything is required of rows that read the same."""
    privacy = spec.privacy
    return bool(privacy.k or privacy.l or privacy.models or privacy.combinations)


def _settings(spec: Spec, step: Treatment, path: KeyPath) -> Iterator[Fault]:
    if isinstance(step, Microaggregation):
        if step.grouping == "univariate" and len(step.columns) > 1:
            hint = "individual-ranking treats each column by itself"
            yield Fault.of(path, "univariate is of one column", hint, key="grouping")
        if step.weighted and spec.weight_column is None:
            yield Fault.of(path, "there is no sampling weight", key="weighted", at_key=True)
    if isinstance(step, Pram):
        yield from _pram(step, path)
        yield from _published(spec, step, path)
    if isinstance(step, Noise):
        yield from _noise(step, path)
    if isinstance(step, Suppress):
        yield from _suppress(spec, step, path)
        yield from _required(spec, step, path)
    if isinstance(step, DateShift) and not _has_days(step.format):
        hint = "%Y-%m-%d is year, month and day; a zone (%z) is not understood"
        yield Fault.of((*path, "format"), "no format of a date", hint)


def _pram(step: Pram, path: KeyPath) -> Iterator[Fault]:
    """A matrix beside a probability, or one whose rows are no probabilities."""
    if (step.keep is None) == (step.matrix is None):
        yield Fault.of(path, "expected `keep`, or a `matrix`")
    if step.alpha != 1 and not step.invariant:
        yield Fault.of(path, "`alpha` is of an `invariant` matrix", key="alpha", at_key=True)
    if any(before == after for before, after in step.forbidden):
        yield Fault.of(path, "a value cannot be forbidden to stay", key="forbidden", at_key=True)
    if step.matrix is None:
        return
    if step.invariant or step.forbidden or step.joint:
        key = "invariant" if step.invariant else "forbidden" if step.forbidden else "joint"
        yield Fault.of(path, "a declared `matrix` is taken as it is", f"leave `{key}` out", key=key, at_key=True)
    for value, row in step.matrix.items():
        inner = (*path, "matrix", value)
        if not math.isclose(sum(row.values()), 1, abs_tol=_ROW_TOLERANCE):
            yield Fault.of(inner, "probabilities must sum to 1")
        if unknown := [each for each in row if each not in step.matrix]:
            yield Fault((*inner, unknown[0]), f"`{dotted(path)}`: the matrix has no row for `{unknown[0]}`")


def _published(spec: Spec, step: Pram, path: KeyPath) -> Iterator[Fault]:
    """Parts whose values the manifest would publish, although the release does not show them."""
    roles = spec.roles()
    for name in step.by:
        if roles.get(name) in WITHHELD or (roles.get(name) == "quasi-identifier" and _counts(spec)):
            message = f"the matrices of parts stand in the manifest by values of `{name}`"
            message += ", which the release does not show"
            yield Fault.of(path, message, "use columns that are released unchanged", key="by")


def _suppress(spec: Spec, step: Suppress, path: KeyPath) -> Iterator[Fault]:
    """Columns that cannot be suppressed, or be what rows are counted by, as the step says."""
    named = {"never": step.never, "importance": tuple(step.importance), "ghosts": tuple(step.ghosts)}
    for key, names in named.items():
        for name in (name for name in names if name not in step.columns):
            message = f"`{key}` names `{name}`, which is not one of the `columns`"
            yield Fault.of(path, message, nearest_or_all(name, step.columns), key=key)
    if set(step.columns) <= set(step.never):
        yield Fault.of(path, "no column is left of which cells may be suppressed", key="never", at_key=True)
    for name in (name for name in step.ghosts if name in step.never):
        yield Fault.of(path, f"`{name}` is never suppressed, and takes nothing with it", key="ghosts", at_key=True)
    for name, other in ((name, other) for name in step.never for other in spec.treatments if name in other.treated):
        if not other.COUNTS or spec.treatments.index(other) > spec.treatments.index(step):
            message = f"`{name}` is changed by {other.method}, and rows are counted by what it shows"
            yield Fault.of(path, message, "microaggregation, as an earlier step, leaves groups", key="never")
    if spec.unit is not None:
        hint = "every release command counts individuals, and can suppress: flat hierarchies"
        yield Fault.of(path, "suppress counts rows, not individuals (`unit`)", hint)


def _required(spec: Spec, step: Suppress, path: KeyPath) -> Iterator[Fault]:
    """Nothing that rows have to meet, or what they cannot meet together."""
    own = step.k is not None or bool(step.combinations)
    if step.risk is not None and own:
        yield Fault.of(path, "`risk` is in place of `k` and `combinations`", key="risk", at_key=True)
    if step.risk is not None and step.small == "pool":
        yield Fault.of(path, "`pool` is of strata of fewer than k rows, and not of `risk`", key="small")
    if not own and step.risk is None and not (spec.privacy.k or spec.privacy.combinations):
        yield Fault.of(path, "expected `k`, `combinations` or `risk`: `privacy` has none to go by")
    inherited = not own and step.risk is None
    for rule in spec.privacy.combinations if inherited else step.combinations:
        if (rule.columns is None) == (rule.size is None):
            yield Fault.of(path, "expected one of `columns` and `size`", key="combinations", at_key=True)
        for name in (name for name in rule.columns or () if name not in step.columns):
            message = f"`combinations` names `{name}`, which is not one of the `columns`"
            yield Fault.of(path, message, nearest_or_all(name, step.columns))
        if rule.size is not None and rule.size > len(step.columns):
            yield Fault.of(path, f"`combinations` of {rule.size} columns, and there are {len(step.columns)}")


def weaker_steps(spec: Spec) -> Iterator[Caution]:
    """Steps that suppress quasi-identifiers by less than `privacy.k`, which the release has to meet all the same."""
    k = spec.privacy.k
    for number, step in enumerate(spec.treatments):
        own = isinstance(step, Suppress) and not spec.quasi_identifiers.keys().isdisjoint(step.columns)
        if k is None or not own or not isinstance(step, Suppress):
            continue
        where = dotted(("treatments", number))
        if step.k is not None and step.k < k:
            said = f"`{where}.k` is {step.k}, below `privacy.k`, {k}"
        elif step.k is None and (step.risk is not None or step.combinations):
            said = f"`{where}` has `{'combinations' if step.combinations else 'risk'}` alone beside `privacy.k`, {k}"
        else:
            continue
        remedy = f"`k: {k}` in the step" + (", in place of `risk`" if step.risk is not None else "")
        yield Caution.of(f"{said}: what the step suppresses need not be enough for the release", remedy)


def _noise(step: Noise, path: KeyPath) -> Iterator[Fault]:
    """Settings that contradict each other."""
    exact = {"least": step.least is not None, "keep_zero": step.keep_zero, "only": step.only != "all"}
    for key in (key for key, given in exact.items() if given and step.kind == "romm"):
        message = f"romm keeps means and covariances of all rows, which `{key}` would change"
        yield Fault.of(path, message, key=key, at_key=True)
    if step.whole and step.round is not None and step.round % 1:
        yield Fault.of(path, "multiples of this `round` are not all `whole`", key="round", at_key=True)


def _has_days(form: str) -> bool:
    """Whether a day can be written in a format and be read again."""
    day = datetime(2001, 12, 24)
    try:
        return "%z" not in form.lower() and datetime.strptime(day.strftime(form), form) == day
    except ValueError:
        return False
