"""Algorithms are imported when they are taken, and each is one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from anonymize.algorithms import (
    ALGORITHMS,
    Algorithm,
    anatomy,
    bottom_up,
    bug,
    datafly,
    incognito,
    k_optimize,
    mingen,
    mondrian,
    mu_argus,
    perturb,
    randomize,
    recommended,
    research_value,
    samarati,
    tds,
    top_down,
)
from anonymize.algorithms.registry import Registry

MODULES: tuple[Algorithm, ...] = (
    *(recommended, mondrian, top_down, bottom_up, datafly, mu_argus, samarati, mingen, incognito, research_value),
    *(tds, bug, k_optimize, anatomy, randomize, perturb),
)
"""In order; the type checker holds each against the protocol, which it cannot where they are imported by name."""


def test_all_are_there_by_their_ids() -> None:
    assert list(ALGORITHMS) == [module.ID for module in MODULES]
    assert all(ALGORITHMS[module.ID] is module for module in MODULES)


def test_one_is_taken_without_the_others() -> None:
    script = (
        "import sys\nfrom anonymize.algorithms import ALGORITHMS\nassert 'tds' in ALGORITHMS\nALGORITHMS['mondrian']\n"
        "print([name for name in ALGORITHMS if f'anonymize.algorithms.{name}' in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"['mondrian']\n"


def test_a_registry_is_a_mapping_that_takes_more() -> None:
    registry: Registry[Algorithm] = Registry("anonymize.algorithms", {"tds": "tds"})
    registry["toy"] = mondrian
    assert registry["toy"] is mondrian and len(registry) == 2 and registry.get("none") is None
    del registry["tds"]
    assert list(registry) == ["toy"]
    with pytest.raises(KeyError):
        registry["tds"]
