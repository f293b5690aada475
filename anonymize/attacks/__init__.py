"""Attackers: what somebody who has a release can learn of the people in it, tried out.

An attacker is a class, or a module: a docstring that is its manual, `ID`, `KNOWS` and `attack`, from what may be seen
(a `Scene`) to a `Success` for each thing attacked, none where there is nothing of the kind. `ATTACKERS` is the
registry. No attacker keeps or returns a value of a cell: what comes out are rates.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Protocol, cast

from anonymize.attacks import (
    distances,
    inference,
    linking,
    minimality,
    narrowing,
    reconstruction,
    several,
    singling_out,
)
from anonymize.attacks.methods import ExcessEstimate, Success
from anonymize.attacks.scene import ChannelRows, EarlierRows, KnownDiversity, Required, Scene, ShownRows, TargetPeople

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


_ATTACKERS: tuple[Any, ...] = (
    linking.Prosecutor(),
    linking.RetainedProsecutor(),
    linking.SmallestRegion(),
    linking.JournalistAttacker(),
    linking.Marketer(),
    singling_out.Univariate(),
    singling_out.SinglingOut(),
    singling_out.PublishedEnd(),
    linking.Linkability(),
    distances.DistanceLinkage(),
    inference.Majority(),
    inference.Certain(),
    inference.RetainedHomogeneity(),
    inference.Bayes(),
    inference.ModelAttacker(),
    narrowing.RowOrder(),
    singling_out.Downcoding(),
    narrowing.RoundsAttacker(),
    minimality,
    reconstruction.Reconstruction(),
    reconstruction.RowReconstruction(),
    several.Composition(),
    several.Histories(),
)
ATTACKERS: dict[str, Attacker] = {each.ID: cast(Attacker, each) for each in _ATTACKERS}
"""Name -> attacker, in the order in which they are tried."""

ONLY_NAMED = frozenset({linking.RetainedProsecutor.ID, inference.RetainedHomogeneity.ID, linking.SmallestRegion.ID})
"""Attackers that `max_excess` applies to only where they are named: no privacy model promises anything against them."""
OF_NUMBERS = frozenset({distances.DistanceLinkage.ID})
"""Those who know numbers, and need no quasi-identifiers."""
_OF_CHANNELS = (reconstruction.Reconstruction.ID, reconstruction.RowReconstruction.ID)
"""Those who read cells that may show anything; to all others a cell is true."""


def remedy(name: str) -> str:
    """What to do about an attacker who succeeds, as his manual says."""
    manual = inspect.getdoc(ATTACKERS[name]) or ""
    part = re.search(r"(?ms)^Remedy: (.*?)(?=^[A-Z][a-z]+: |\Z)", manual)
    return "" if part is None else " ".join(part[1].split())


def suited(scene: Scene) -> list[str]:
    """The attackers who can make something of what is shown; of a release without rows nobody can."""
    if not scene.release.rows:
        return []
    able = ATTACKERS if scene.attributes else OF_NUMBERS
    return [name for name in able if scene.channels is None or name in _OF_CHANNELS]
