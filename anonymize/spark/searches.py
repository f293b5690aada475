"""The searches that an engine has, and the options of them that it has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Protocol, TypeAlias

from anonymize.algorithms import ALGORITHMS, wrong_values
from anonymize.algorithms.base import flag
from anonymize.errors import Problem, UsageError
from anonymize.spark.engine import DataFrame
from anonymize.spark.levels import FullDomain
from anonymize.spark.outcome import EngineFrame, EngineOutcome
from anonymize.spark.parted import Parted

PARTED, RANDOMIZE = "mondrian", "randomize"
OF_ROWS = ("mask_minimality", "output_lattice")
"""Options of full-domain searches that look at rows, or write a file beside the release."""


class EngineSearch(Protocol):
    """A search of the rows of a DataFrame."""

    @property
    def algorithm(self) -> str:
        """Its name."""

    @property
    def options(self) -> Any:
        """Those of the algorithm."""

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
    return [PARTED, *(name for name, each in ALGORITHMS.items() if each.NEEDS.counted)]


def check_algorithm(name: str) -> None:
    """Raises UsageError for an algorithm that an engine does not have."""
    if name == RANDOMIZE:
        raise UsageError(Problem("randomize makes no classes", hint="anonymize.spark.randomize"))
    if name not in on_engine():
        able = ", ".join([*on_engine(), RANDOMIZE])
        raise UsageError(Problem(f"{name} does not run on an engine", hint=f"these do: {able}"))


def options_of(name: str, given: Mapping[str, Any]) -> Any:
    """The algorithm's options. Raises UsageError for names that are none."""
    own = ALGORITHMS[name].Options
    unknown = sorted(given.keys() - {each.name for each in fields(own)})
    if unknown:
        raise UsageError(f"spark.release has no option {', '.join(unknown)}")
    return own(**given)


def lacking(name: str, options: Any) -> Given:
    """By its flag, whether each of an algorithm's options that an engine does not have is given."""
    own = fields(options)
    without = [each for each in own if (each.name != "cut" if name == PARTED else each.name in OF_ROWS)]
    return {flag(each.name): getattr(options, each.name) != each.default for each in without}


def search_of(name: str, options: Any, part_rows: int, most_combinations: int) -> EngineSearch:
    """The search that an algorithm is on an engine. Raises UsageError for wrong values of its options."""
    if wrong := wrong_values(options):
        raise UsageError(wrong)
    search = Parted(options.cut, part_rows) if name == PARTED else FullDomain(name, options, most_combinations)
    search.check()
    return search
