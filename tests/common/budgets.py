"""How much of what could be tried is tried every day."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

from anonymize.algorithms import ALGORITHMS
from tests.examples import THOROUGH

_A_PASS: dict[str, Any] = {} if THOROUGH else {"passes": 1, "sweeps": 1}
LIMITED: dict[str, dict[str, Any]] = {
    "k-optimize": {"work": 5 if THOROUGH else 1},
    "release": {"effort": 0.001 if THOROUGH else 0.0001},
    "top-down": _A_PASS,
    "bottom-up": _A_PASS,
}
"""Options that end a search early whose budget is the same for small tables as for large ones. What it finds with all
of its budget, its own tests check."""

CLASSED = [name for name, algorithm in ALGORITHMS.items() if algorithm.NEEDS.family.classes]
"""Algorithms whose releases have equivalence classes."""
SHAPES = CLASSED if THOROUGH else ["mondrian", "incognito", "mu-argus", "tds"]
"""One of these for each kind of recoding: regions, levels, levels and suppressed cells, cuts through single attributes.
What comes after a search (writing, verifying, reporting) is a function of its recoding, and is tried with these; what a
search decides, with all that are `CLASSED`, as the common checks of whole releases are."""
CHANGES_VALUES = ["perturb", "synthesize", "safepub"]
"""Those that make nothing but the steps of a spec, which most tables of tests have none of; see
`tests/cli/test_perturb.py`."""

OF_EVERY_MODEL = settings(
    max_examples=settings().max_examples if THOROUGH else 10,
    suppress_health_check=[*settings().suppress_health_check, HealthCheck.filter_too_much],
)
"""For what is checked of every privacy model: fewer examples than HYPOTHESIS_PROFILE=explore gives. Parameters that do
not go together are drawn again."""


def options_of(algorithm: str, **chosen: Any) -> Any:
    """The options of an algorithm, its search ended early unless `chosen` says otherwise."""
    return ALGORITHMS[algorithm].Options(**{**LIMITED.get(algorithm, {}), **chosen})


def limits_of(algorithm: str) -> list[str]:
    """The same on a command line."""
    return [f"--{name}={value}" for name, value in LIMITED.get(algorithm, {}).items()]
