"""Tables of which figures were drawn. Counts that cell keys changed, from their definition: record keys are hashed
again, summed by group, and looked up; the probabilities of the most entropy are found by Newton's steps on the dual,
where the mechanism halves intervals. And tables under differential privacy."""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import exp, floor, fsum, hypot, inf, isclose, log, log10
from pathlib import Path
from typing import Any

import polars as pl

from anonymize.claims import Basis, Parameters, Result, State
from anonymize.records import dataclass
from anonymize.spec.tabulation import CellKeyNoise, sums_called
from anonymize.verify import differential, synthetic
from anonymize.verify.recount import NOBODY, Group, Recount, TableAudit, WrittenTable, children, half_of

_NEAR = 1e-9
"""How near to the end of a range of keys it is open which of two changes is meant."""


def cell_keyed(recount: Recount, tables: Sequence[WrittenTable], manifest: Mapping[str, Any]) -> TableAudit:
    """Counts again what the tables say, and what their cell keys make of it."""
    noise = recount.tabulate.noise
    lookup = Lookup.of(noise)
    keys, modulus = _record_keys(recount, lookup)
    wrong, changed, groups = 0, 0, 0
    whole: list[int] = []
    for table in tables:
        by, rows = table.measured.by, table.rows(recount)
        truth, sums = recount.groups(by, None), recount.key_sums(by, keys)
        counts = {each: round(truth.get(each, NOBODY).value) for each in rows}
        allowed = {
            each: {size + step for step in lookup.steps(size, sums.get(each, 0) % modulus, modulus)} if size else {0}
            for each, size in counts.items()
        }
        total = frozenset[tuple[str, str]]()
        whole = whole or sorted(allowed[total])
        near = _NEAR + (table.half_digit(recount) if table.measured.measure == "share" else 0.0)
        wrong += sum(not _fits(value, allowed[each], table, whole, near) for each, value in rows.items())
        changed += sum(allowed[each] != {size} for each, size in counts.items())
        groups += len(rows)
    figures = {"rows": {"groups": groups, "changed": changed, "wrong": wrong}}
    return TableAudit((_result(noise, wrong),), figures)


def _fits(value: float | None, allowed: set[int], table: WrittenTable, whole: Sequence[int], near: float) -> bool:
    """Whether a written value is one of those that the keys allow, or as `near` to its share of the whole."""
    if value is None:
        return False
    if table.measured.measure == "count":
        return value in allowed
    return any(isclose(value, each / total if total else 0.0, abs_tol=near) for each in allowed for total in whole)


def _result(noise: CellKeyNoise, wrong: int) -> Result:
    required: Parameters = {"maximum": noise.maximum, "variance": noise.variance, "smallest": noise.smallest}
    if noise.table is not None:
        required = {"table": noise.table.name}
    result = Result("cell-keys", None, required, {"wrong": wrong}, State.of(not wrong), 0, 0, basis=Basis.DERIVED)
    return result.unshown(f"{wrong} published values are not those of the input and its keys") if wrong else result


# --- record keys ------------------------------------------------------------------------------------------------------


def _record_keys(recount: Recount, lookup: Lookup) -> tuple[pl.Series, int]:
    """(rows,) the record key of each, and their range."""
    span, modulus = lookup.span, 1 << 32
    if recount.tabulate.noise.record_key is not None:
        texts = recount.column(recount.tabulate.noise.record_key).fill_null("")
        modulus = 1 if span is not None else 10 ** max(0, *(len(text.partition(".")[2]) for text in texts.unique()))
        keys = [round(float(text) * modulus) for text in texts]
    else:
        assert recount.secret is not None
        keys = [_hashed(each, recount.secret) % (span or modulus) for each in recount.identities()]
    return recount.of_units(pl.Series(keys, dtype=pl.Int64)), span or modulus


def _hashed(texts: Sequence[str | None], secret: bytes) -> int:
    message = json.dumps(list(texts), ensure_ascii=False, separators=(",", ":"))
    return int.from_bytes(hmac.new(secret, message.encode(), hashlib.sha256).digest()[:4], "big")


# --- the perturbation table -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lookup:
    """What counts are changed by. `noise`: the parameters; `rows`: of a table that is given, by count the changes with
    their probabilities, or by count and cell key the change."""

    noise: CellKeyNoise
    rows: Mapping[int, Sequence[tuple[int, float]]]
    keyed: Mapping[tuple[int, int], int]

    @classmethod
    def of(cls, noise: CellKeyNoise) -> Lookup:
        """That of the parameters, or of the table that takes their place."""
        if noise.table is None:
            largest = noise.maximum + noise.smallest + 1
            return cls(noise, {size: _entropic(size, noise) for size in range(1, largest + 1)}, {})
        return cls(noise, *_read(noise.table))

    @cached_property
    def span(self) -> int | None:
        """The range of cell keys, where the table has a row for each."""
        return 1 + max(key for _, key in self.keyed) if self.keyed else None

    @cached_property
    def last(self) -> int:
        """The largest count that the table has."""
        return max(size for size, _ in self.keyed) if self.keyed else max(self.rows)

    def steps(self, size: int, key: int, modulus: int) -> set[int]:
        """What a count may be changed by; two where the key is where one range ends and the next begins."""
        if self.keyed:
            turn = min(250, self.last)
            return {self.keyed[size if size <= self.last else (size - 1) % turn + self.last - turn + 1, key]}
        share, end, steps = key / modulus, 0.0, set()
        for change, probability in self.rows[min(size, self.last)]:
            if end - _NEAR <= share < end + probability + _NEAR and probability > 0:
                steps.add(change)
            end += probability
        return steps


def _read(path: Path) -> tuple[dict[int, list[tuple[int, float]]], dict[tuple[int, int], int]]:
    with path.open(newline="", encoding="utf-8") as file:
        table = [{name.strip().lower(): value for name, value in row.items()} for row in csv.DictReader(file)]
    if "ckey" in table[0]:
        return {}, {(int(row["pcv"]), int(row["ckey"])): int(row["pvalue"]) for row in table}
    rows: dict[int, list[tuple[int, float]]] = {}
    for row in table:
        rows.setdefault(int(row["i"]), []).append((int(row["v"]), float(row["p"])))
    return {size: sorted(each) for size, each in rows.items()}, {}


def _entropic(size: int, noise: CellKeyNoise) -> list[tuple[int, float]]:
    """The probabilities of most entropy of mean 0 and at most the variance, over the changes to a count that may be."""
    changes = [
        change
        for change in range(-noise.maximum, noise.maximum + 1)
        if size + change == 0 or size + change > max(noise.smallest, 0)
    ]
    flat = _newton(changes, None)
    spread = sum(change * change * share for change, share in zip(changes, flat, strict=True))
    shares = flat if spread <= noise.variance else _newton(changes, noise.variance)
    return list(zip(changes, shares, strict=True))


def _newton(changes: Sequence[int], variance: float | None) -> list[float]:
    """exp(a x + b x^2), normed, of mean 0 and of the variance, or with b = 0: the least of a convex function of a and
    b, by Newton's steps that are halved until they lead down."""
    a = b = 0.0
    for _ in range(200):
        shares, norm = _tilted(changes, a, b)
        moments = [sum(change**n * share for change, share in zip(changes, shares, strict=True)) for n in range(5)]
        first, second = moments[1], 0.0 if variance is None else moments[2] - variance
        saa, sab = moments[2] - moments[1] ** 2, moments[3] - moments[1] * moments[2]
        sbb = moments[4] - moments[2] ** 2
        if variance is None:
            step = (-first / saa if saa else 0.0, 0.0)
        else:
            determinant = saa * sbb - sab * sab
            if determinant <= 1e-300:
                break
            step = ((-sbb * first + sab * second) / determinant, (sab * first - saa * second) / determinant)
        size, slope, height = 1.0, min(first * step[0] + second * step[1], 0.0), norm - b * (variance or 0.0)
        while size > 1e-12:
            ahead, beyond = a + size * step[0], b + size * step[1]
            if _tilted(changes, ahead, beyond)[1] - beyond * (variance or 0.0) <= height + 0.1 * size * slope:
                break
            size /= 2
        a, b = a + size * step[0], b + size * step[1]
        if abs(first) + abs(second) < 1e-14:
            break
    return _tilted(changes, a, b)[0]


def _tilted(changes: Sequence[int], a: float, b: float) -> tuple[list[float], float]:
    """exp(a x + b x^2), normed, and the logarithm of the norm."""
    exponents = [a * change + b * change * change for change in changes]
    largest = max(exponents)
    weights = [exp(each - largest) for each in exponents]
    norm = sum(weights)
    return [weight / norm for weight in weights], largest + log(norm)


# --- differential privacy ---------------------------------------------------------------------------------------------
# Tables under differential privacy: what was spent, from what the manifest declares of every draw; and that counts
# are whole, and totals the sums of their parts, in what was written.

_STEPS = 1 << 19
"""How many steps a number that is summed is from the middle of its bounds, at most."""
_CLOSE = 1e-6
_Z_95 = 1.96
_FAR = 6.0
"""How many standard deviations a number is from what was drawn, at most."""


def private_tables(recount: Recount, tables: Sequence[WrittenTable], manifest: Mapping[str, Any]) -> TableAudit:
    """What was spent, and whether the tables are what they should be. Nothing of the input is looked at: everything
    follows from what is published."""
    required = recount.differential
    assert required is not None
    most = 1 if recount.spec.unit is None else recount.tabulate.rows_per_unit
    draws, wrong = manifest["measurements"], []
    for each in draws:
        counts = each["measure"] == "rows" or str(each["measure"]).endswith(" present")
        if each["sensitivity"] != most * (1 if counts else _STEPS):
            wrong.append("a measurement declares another sensitivity than one individual has")
    rho = fsum(synthetic.rho_of_gaussian(each["sensitivity"], each["sigma"]) for each in draws)
    spent = differential.Spent(synthetic.epsilon_of(rho, required.delta), required.delta)
    result = differential.differential_result(required.model_dump(), spent)
    noise = DeclaredNoise.of(recount, tables, draws)
    files = {str(each["name"]): each for each in manifest["files"]}
    for table in tables:
        declared = files[table.path.name]
        half = half_of(_digits(recount, table, declared))
        wrong += [*_problems(recount, table, half), *_margin_faults(recount, table, noise, half)]
        wrong += _accuracy_faults(recount, table, noise, declared)
    figures = {"rows": {"draws": len(draws), "rho": rho}}
    return TableAudit((result.unshown("; ".join(dict.fromkeys(wrong))) if wrong else result,), figures)


def undrawn(audit: TableAudit, recount: Recount, why: str) -> TableAudit:
    """The audit of tables that follow from the rows, with the differential privacy that is required and lacking."""
    if recount.differential is None:
        return audit
    lacking: Result = differential.differential_result(recount.differential.model_dump(), why)
    return replace(audit, results=(*audit.results, lacking))


def _problems(recount: Recount, table: WrittenTable, half: float) -> Iterator[str]:
    """What is wrong with a table as it was written. `half`: of the last decimal of its figures."""
    rows, measure = table.rows(recount), table.measured.measure
    if measure == "mean":
        return
    if any(value is None for value in rows.values()):
        yield "a group has no value"
        return
    values = {group: float(value or 0) for group, value in rows.items()}
    if measure == "count" and any(value < 0 or value != round(value) for value in values.values()):
        yield "a count is below 0, or not whole"
    largest = max(map(abs, values.values()), default=0.0)
    close = _CLOSE * max(1.0, largest)
    if any(abs(rest) > close + half * count for rest, count in _rests(recount, table, values)):
        yield "a total is not the sum of its parts"


def _digits(recount: Recount, table: WrittenTable, declared: Mapping[str, Any]) -> int | None:
    """The decimals to which a table is rounded: those of the spec, of shares and means, or those that the manifest
    declares."""
    digits = recount.tabulate.digits if table.measured.measure in ("share", "mean") else None
    return declared.get("digits") if digits is None else digits


@dataclass(frozen=True)
class DeclaredNoise:
    """The noise that a manifest declares. `sigmas`: of each measure; `people`: by measure between which numbers the one
    of all that it is of must be, which is written where there is a table of counts."""

    sigmas: Mapping[str, float]
    people: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, recount: Recount, tables: Sequence[WrittenTable], draws: Sequence[Mapping[str, Any]]) -> DeclaredNoise:
        sigmas = {str(each["measure"]): float(each["sigma"]) for each in draws}
        people = {
            str(each["measure"]): (each["values"][0] - _FAR * each["sigma"], each["values"][0] + _FAR * each["sigma"])
            for each in draws
            if not each["levels"] and len(each["values"]) == 1
        }
        totals = [each.rows(recount).get(frozenset()) for each in tables if each.measured.measure == "count"]
        people |= {"rows": (totals[0], totals[0])} if totals and totals[0] is not None else {}
        return cls(sigmas, people)

    def whole(self, measure: str) -> tuple[float, float]:
        """Between which numbers, of 1 and more, a measure of all is."""
        low, high = self.people.get(measure, (1.0, inf))
        return max(low - 0.5, 1.0), max(high + 0.5, 1.0)

    def each(self, recount: Recount, table: WrittenTable, half: float) -> list[tuple[float, float]]:
        """By row, between which numbers the standard deviation of a figure is. `half`: see `_problems`."""
        rows, column = table.rows(recount), table.measured.column
        if column is None:
            low, high = self.whole("rows") if table.measured.measure == "share" else (1.0, 1.0)
            return [(self.sigmas["rows"] / high, self.sigmas["rows"] / low)] * len(rows)
        low, high = _bounds(recount, column)
        middle, present = (low + high) / 2, f"{column} present"
        step = (high - low) / (2 * _STEPS) or 1.0
        away, people = self.sigmas[sums_called(column)] * step, self.sigmas[present]
        if table.measured.measure == "sum":
            return [(hypot(away, middle * people),) * 2] * len(rows)
        fewest, most = self.whole(present)
        made = []
        for group, value in rows.items():
            far = abs((middle if value is None else value) - middle)
            of = (fewest, most) if not group else (1.0, most + _FAR * people)  # no group is of more than all
            made.append(
                (hypot(away, max(far - half, 0.0) * people) / of[1], hypot(away, (far + half) * people) / of[0])
            )
        return made


def _bounds(recount: Recount, column: str) -> tuple[float, float]:
    """The public bounds of a column that is summed."""
    own, definition = recount.spec.domain_of(column), recount.spec.quasi_identifiers.get(column)
    if own.low is not None and own.high is not None:
        return own.low, own.high
    assert definition is not None
    assert definition.domain is not None
    return definition.domain


def _margin_faults(recount: Recount, table: WrittenTable, noise: DeclaredNoise, half: float) -> Iterator[str]:
    """Where margins are not those of the noise: of a mean by the numbers that its group may have."""
    measure, values, margins = table.measured.measure, table.rows(recount).values(), table.margins()
    if measure == "share" and noise.people.get("rows", (1.0,))[0] < 1 and margins and not any(margins):
        return  # shares of nobody
    ranges = noise.each(recount, table, half)
    if len(margins) != len(ranges) or not all(
        _is_within(margin, tuple(_Z_95 * end for end in ends)) if value is not None else margin is None
        for value, margin, ends in zip(values, margins, ranges, strict=True)
    ):
        yield f"the margin of a {measure} is not that of its noise"
    if measure == "share" and len(set(margins)) > 1:
        yield "the margins of shares differ, and their noise does not"


def _is_within(value: float | None, ends: tuple[float, ...]) -> bool:
    """Whether a rounded value is from the first of two ends to the second."""
    return value is not None and 0.99 * ends[0] <= value <= 1.01 * ends[1]


def _accuracy_faults(
    recount: Recount, table: WrittenTable, noise: DeclaredNoise, declared: Mapping[str, Any]
) -> Iterator[str]:
    """Where what the manifest says of the accuracy of a table is not so: its noise, and to which decimals its figures
    are rounded."""
    measure, sd = table.measured.measure, declared.get("noise_sd")
    ranges = [] if measure == "mean" or sd is None else noise.each(recount, table, 0.0)
    if not all(_is_within(sd, ends) for ends in ranges):
        yield f"the noise that is declared of a {measure} is not that of its draws"
    digits, known = _digits(recount, table, declared), [each for each in table.margins() if each]
    if digits is None:
        return
    by_margin = recount.tabulate.digits is None or measure == "sum"
    if by_margin and known and digits != max(0, 1 - floor(log10(min(known)))):
        yield f"the decimals of a {measure} are not those that its margin leaves"
    if any(each is not None and float(f"{each:.{digits}f}") != each for each in table.rows(recount).values()):
        yield f"a {measure} has more decimals than are declared"


def _rests(recount: Recount, table: WrittenTable, values: Mapping[Group, float]) -> Iterator[tuple[float, int]]:
    """What is left of every total without its parts, and how many figures that is of."""
    for name in table.measured.by:
        below = children(recount.paths[name].values())
        for group, value in values.items():
            label = dict(group).get(name, recount.total)
            if label in below:
                rest = group - {(name, label)}
                parts = [values[rest | {(name, part)}] for part in below[label]]
                yield value - fsum(parts), 1 + len(parts)
