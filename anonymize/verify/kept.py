"""What the columns that are kept give away, as a verdict has it: figures, what is required of them, what follows.

Measured in `passing` (from the table as written) and in `derived` (from the original).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, Literal

from anonymize.claims import Basis, Parameters, Result, State, listed
from anonymize.errors import Caution
from anonymize.records import dataclass

NAMED = 5
"""Columns that pass through that a message names at most."""
CERTAIN = 1 / 3
"""The share of the people of whom a kept column tells its value for certain, from which that is said."""

Rule = Literal["copy", "predicted", "order"]
"""Why a kept column follows from a quasi-identifier: see `anonymize.verify.derived`."""


@dataclass(frozen=True)
class RowShares:
    """Shares of the rows, from 0 to 1: by the columns that pass through, by these and the quasi-identifiers as
    released, and by these and the sensitive attributes as well. All are 0 where no column passes through."""

    alone: float = 0.0
    with_quasi_identifiers: float = 0.0
    with_sensitive: float = 0.0

    def block(self, name: str) -> dict[str, float]:
        """The shares by their names in a report."""
        return {name + (f"_{key}" if key != "alone" else ""): share for key, share in asdict(self).items()}


@dataclass(frozen=True)
class Derivation:
    """A kept `column` and what it goes with in the original: one quasi-identifier or two (`sources`). `follows`: its
    value follows from theirs; else it gives theirs away. `figure`: of a prediction its accuracy, of an order the rank
    correlation. `accepted`: the spec takes it knowingly."""

    column: str
    sources: tuple[str, ...]
    follows: bool
    rule: Rule
    figure: float | None = None
    accepted: bool = False

    def __str__(self) -> str:
        sources = " and ".join(self.sources)
        return f"{self.column} follows from {sources}" if self.follows else f"{self.column} gives {sources} away"

    def block(self) -> dict[str, Any]:
        return {"says": str(self), **asdict(self), "sources": list(self.sources)}

    @property
    def problem(self) -> str:
        """That it is not accepted, and what to do about it."""
        return (
            f"{self}, as measured in the original: it discloses what the release hides. Leave it out, make it a "
            "quasi-identifier, or name it in privacy.passing.accept_derived"
        )


@dataclass(frozen=True)
class PassingResult(Result):
    """What is required of the columns that pass through, with the message that says that it is not met."""

    message: str = ""

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class PassingFigures:
    """What the columns that pass through (`columns`) give away. `uniques`: shares of the rows that are alone; `below`:
    in groups of fewer than `k`. `bounds`: what is allowed by them and the quasi-identifiers as released, of `uniques`
    and `below_k`; nothing where nothing is required. `sets`: what else a report says, the smallest sets that single
    rows out. `apart`: further columns of the file that are not bound, a pseudonym or a group. `certain`: of each
    column, the share of the people of whom the release tells its value for certain, who are in a class with one value.
    `derived`: what follows from a quasi-identifier in the original; None where that was not measured."""

    columns: tuple[str, ...]
    rows: int = 0
    uniques: RowShares = field(default_factory=RowShares)
    below: RowShares = field(default_factory=RowShares)
    k: int = 5
    bounds: Mapping[str, float] = field(default_factory=dict)
    sets: Mapping[str, Any] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    certain: Mapping[str, float] = field(default_factory=dict)
    derived: tuple[Derivation, ...] | None = None
    derived_rows: int | None = None
    """In how many rows of the original, where these were not all."""
    weights: PassingResult | None = None
    """Whether the sampling weights are rounded, or in bands, as declared; None where nothing is."""

    @property
    def results(self) -> tuple[PassingResult, ...]:
        """What is required of them, judged: the bounds, and that no column follows from a quasi-identifier."""
        derived = [
            PassingResult("derived", each.column, {}, {}, State.UNMET, 0, 0, message=each.problem, basis=Basis.MEASURED)
            for each in self.derived or ()
            if not each.accepted
        ]
        return (*([self._bounded] if self.bounds else []), *filter(None, [self.weights]), *derived)

    @property
    def _bounded(self) -> PassingResult:
        figures = {"uniques": self.uniques, "below_k": self.below}
        achieved = {name: figures[name].with_quasi_identifiers for name in self.bounds}
        failing = [name for name, most in self.bounds.items() if achieved[name] > most + 1e-12]
        rows = max((round(achieved[name] * self.rows) for name in failing), default=0)
        bounds: Parameters = {**self.bounds}
        required = listed(bounds)
        meant = {"uniques": "alone", "below_k": f"in groups of fewer than {self.k}"}
        shares = " and ".join(f"{_percent(achieved[name])} of the rows are {meant[name]}" for name in failing)
        message = (
            f"passing ({required}) is not met: {shares} by columns that pass through ({self._named}) together with "
            "the quasi-identifiers as released: list these columns as quasi-identifiers, generalize or drop them"
        )
        state, basis = State.of(not failing), Basis.MEASURED
        return PassingResult("passing", None, bounds, {**achieved}, state, rows, rows, basis=basis, message=message)

    @property
    def cautions(self) -> list[Caution]:
        """What the reader has to know of it."""
        accepted = [
            Caution.of(f"{each}, which is accepted", f"if it is not: `identifiers: [{each.column}]`")
            for each in self.derived or ()
            if each.accepted
        ]
        certain = {name: share for name, share in self.certain.items() if share >= CERTAIN}
        if certain:
            named = ", ".join(f"{name} of {_percent(share)}" for name, share in certain.items())
            disclosed = "the quasi-identifiers as released disclose with certainty what passes through"
            remedy = f"where that may do harm: `sensitive: {{{next(iter(certain))}: {{}}}}` and `privacy: {{l: 2}}`"
            accepted.append(Caution.of(f"{disclosed}: {named} of the people", remedy))
        if not self.uniques.with_quasi_identifiers:
            return accepted
        alone = (
            f"columns that pass through ({self._named}) single out {_percent(self.uniques.alone)} of the rows by "
            f"themselves, {_percent(self.uniques.with_quasi_identifiers)} together with the quasi-identifiers as "
            f"released; {_percent(self.below.with_quasi_identifiers)} are then in groups of fewer than {self.k}"
        )
        first = self._most_telling
        remedy = f"`quasi_identifiers: {{{first}: {{}}}}` generalizes one, `identifiers: [{first}]` leaves it out, and"
        if self.weights is not None:
            remedy = f"fewer `bands`, or a larger `round`, of the sampling weight; {remedy}"
        return [Caution.of(alone, f"{remedy} `privacy: {{passing: {{uniques: 0}}}}` requires it"), *accepted]

    @property
    def _most_telling(self) -> str:
        """The column that singles out most rows by itself; the first where none does."""
        smallest = self.sets.get("smallest") or ()
        alone = {each["columns"][0]: each["uniques"] for each in smallest if len(each["columns"]) == 1}
        return max(alone, key=lambda name: alone[name], default=self.columns[0])

    @property
    def _named(self) -> str:
        further = len(self.columns) - NAMED
        return ", ".join(self.columns[:NAMED]) + (f" and {further} more" if further > 0 else "")

    def block(self) -> dict[str, object]:
        """The figures as a report has them; `required` and `satisfied` where something is required."""
        figures = {**self.uniques.block("uniques"), "k": self.k, **self.below.block("below_k")}
        judged = {"required": dict(self.bounds), "satisfied": self._bounded.satisfied} if self.bounds else {}
        apart = {"apart": list(self.apart)} if self.apart else {}
        derived: dict[str, object] = {"basis": "unknown", "not_judged": list(self.columns)}
        if self.derived is not None:
            some = {} if self.derived_rows is None else {"rows": self.derived_rows}
            blocks = [each.block() for each in self.derived]
            derived = {"basis": "measured in the original", **some, "found": blocks}
        return {
            "columns": list(self.columns),
            **figures,
            **judged,
            **apart,
            "certain": dict(self.certain),
            "derived": derived,
            **self.sets,
        }


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
