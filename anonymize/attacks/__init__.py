"""Attackers: what somebody who has a release can learn of the people in it, tried out.

An attacker is a module: a docstring that is its manual, `ID`, `KNOWS` and `attack`, from what may be seen (a `Scene`)
to a `Success` for each thing attacked, none where there is nothing of the kind. `ATTACKERS` is the registry. No
attacker keeps or returns a value of a cell: what comes out are rates.
"""

from __future__ import annotations

import re
from typing import Protocol, cast

from anonymize.attacks import (
    bayes,
    certain,
    composition,
    distance_linkage,
    downcoding,
    histories,
    homogeneity_retained,
    journalist,
    learned,
    linkability,
    majority,
    marketer,
    minimality,
    order,
    prosecutor,
    prosecutor_retained,
    reconstruction,
    reconstruction_row,
    refinement,
    singling_out,
    singling_out_end,
    smallest_region,
    univariate,
)
from anonymize.attacks.scene import ChannelRows, EarlierRows, KnownDiversity, Required, Scene, ShownRows, TargetPeople
from anonymize.attacks.success import ExcessEstimate, Success

__all__ = [
    "ATTACKERS",
    "OF_NUMBERS",
    "ONLY_NAMED",
    "Attacker",
    "ChannelRows",
    "EarlierRows",
    "ExcessEstimate",
    "KnownDiversity",
    "Required",
    "Scene",
    "ShownRows",
    "Success",
    "TargetPeople",
    "remedy",
    "suited",
]


class Attacker(Protocol):
    """What every attacker has."""

    ID: str
    KNOWS: str

    def attack(self, scene: Scene) -> list[Success]:
        """A success for each thing attacked; none where there is nothing to attack."""


_MODULES = (
    prosecutor,
    prosecutor_retained,
    smallest_region,
    journalist,
    marketer,
    univariate,
    singling_out,
    singling_out_end,
    linkability,
    distance_linkage,
    majority,
    certain,
    homogeneity_retained,
    bayes,
    learned,
    order,
    downcoding,
    refinement,
    minimality,
    reconstruction,
    reconstruction_row,
    composition,
    histories,
)
ATTACKERS: dict[str, Attacker] = {module.ID: cast(Attacker, module) for module in _MODULES}
"""Name -> attacker, in the order in which they are tried."""

ONLY_NAMED = frozenset({prosecutor_retained.ID, homogeneity_retained.ID, smallest_region.ID})
"""Those whom a limit is about only where they are named: no privacy model promises anything against them."""
OF_NUMBERS = frozenset({distance_linkage.ID})
"""Those who know numbers, and need no quasi-identifiers."""
_OF_CHANNELS = (reconstruction.ID, reconstruction_row.ID)
"""Those who read cells that may show anything; to all others a cell is true."""


def remedy(name: str) -> str:
    """What to do about an attacker who succeeds, as his manual says."""
    manual = ATTACKERS[name].__doc__ or ""
    part = re.search(r"(?ms)^Remedy: (.*?)(?=^[A-Z][a-z]+: |\Z)", manual)
    return "" if part is None else " ".join(part[1].split())


def suited(scene: Scene) -> list[str]:
    """The attackers who can make something of what is shown; of a release without rows nobody can."""
    if not scene.release.rows:
        return []
    able = ATTACKERS if scene.attributes else OF_NUMBERS
    return [name for name in able if scene.channels is None or name in _OF_CHANNELS]
