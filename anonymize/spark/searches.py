"""The searches that an engine has, and the options of them that it has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias

from anonymize.algorithms import ALGORITHMS, wrong_values
from anonymize.algorithms.base import draws, flag_given
from anonymize.errors import Problem, UsageError
from anonymize.spark.distinct import MOST_COMBINATIONS
from anonymize.spark.engine import DataFrame
from anonymize.spark.levels import FullDomain
from anonymize.spark.outcome import EngineFrame, EngineOutcome
from anonymize.spark.parted import Parted
from anonymize.spec import Spec

RANDOMIZE = "randomize"
MULTIDIMENSIONAL, LOCAL = "multidimensional", "local"
"""Families that work by parts."""
INSTEAD = {
    "single-dimensional": "incognito, tds and bug treat all rows alike as well, and mondrian loses less",
    "bucketization": "mondrian meets the same models of sensitive values",
}
"""What to take in place of families that an engine does not have."""
OF_ROWS = ("mask_minimality", "output_lattice")
"""Options of full-domain searches that look at rows, or write a file beside the release."""
OF_ALL = ("mask_minimality", "exact", "ties", "time_limit", "local")
"""Options of searches by parts that are about the table as a whole: by seconds, parts would differ between workers."""


class EngineSearch(Protocol):
    """A search of the rows of a DataFrame."""

    @property
    def algorithm(self) -> str:
        """Its name."""

    @property
    def options(self) -> Any:
        """Those of the algorithm."""

    @property
    def seed(self) -> int | None:
        """That of chance, if one is given."""

    @property
    def drops(self) -> bool:
        """Whether it can leave suppressed rows out."""

    def check(self) -> None:
        """Raises UsageError for what it does not do on an engine."""

    def outcome(self, rows: DataFrame, known: EngineFrame) -> EngineOutcome:
        """What it finds. `rows`: their columns by their places. Raises InfeasibleError where there is nothing."""


Given: TypeAlias = dict[str, object]


def on_engine() -> list[str]:
    """The algorithms that an engine has."""
    return [name for name, each in ALGORITHMS.items() if each.NEEDS.counted or _by_parts(name)]


def _by_parts(name: str) -> bool:
    return ALGORITHMS[name].NEEDS.family in (MULTIDIMENSIONAL, LOCAL)


def check_algorithm(name: str) -> None:
    """Raises UsageError for an algorithm that an engine does not have."""
    if name == RANDOMIZE:
        raise UsageError(Problem("randomize makes no classes", hint="anonymize.spark.randomize"))
    if name not in on_engine():
        able = ", ".join([*on_engine(), RANDOMIZE])
        instead = INSTEAD.get(ALGORITHMS[name].NEEDS.family, "make the release on one machine")
        raise UsageError(Problem(f"{name} does not run on an engine", hint=f"{instead}; these do: {able}"))


def options_of(name: str, given: Mapping[str, Any]) -> Any:
    """The algorithm's options. Raises UsageError for names that are none."""
    own = ALGORITHMS[name].Options
    unknown = sorted(given.keys() - {each.name for each in fields(own)})
    if unknown:
        raise UsageError(f"spark.release has no option {', '.join(unknown)}")
    return own(**given)


def lacking(name: str, options: Any) -> Given:
    """By its flag, whether each of an algorithm's options that an engine does not have is given."""
    without = OF_ALL if _by_parts(name) else OF_ROWS
    own = [each for each in fields(options) if each.name in without]
    return {flag_given(each): getattr(options, each.name) != each.default for each in own}


def parted_by_levels(spec: Spec, name: str) -> Given:
    """Whether levels part the rows of an algorithm that parts them by itself on an engine."""
    bounded = any(each.levels is not None and each.levels.max is not None for each in spec.quasi_identifiers.values())
    return {f"levels.max of {name}": bounded and _by_parts(name)}


@dataclass(frozen=True)
class EngineLimits:
    """How much is done at once. `part_rows`: rows that a worker searches; None: what is usual with the algorithm.
    `most_combinations`: of values, that the driver takes."""

    part_rows: int | None = None
    most_combinations: int = MOST_COMBINATIONS


def search_of(name: str, options: Any, limits: EngineLimits, seed: int | None = None) -> EngineSearch:
    """The search that an algorithm is on an engine. Raises UsageError for wrong values of its options, and for a seed
    where nothing is drawn."""
    if wrong := wrong_values(options):
        raise UsageError(wrong)
    if seed is not None and not draws(ALGORITHMS[name], options):
        raise UsageError("--seed: nothing is drawn at random with these options")
    if _by_parts(name):
        search: EngineSearch = Parted(name, options, limits.part_rows, seed)
    else:
        search = FullDomain(name, options, limits.most_combinations)
    search.check()
    return search
