"""Attackers: what somebody who has a release can learn of the people in it, tried out.

An attacker is a class: a docstring that is its manual, `ID`, `KNOWS` and `attack`, from what may be seen
(a `Scene`) to a `Success` for each thing attacked, none where there is nothing of the kind. `ATTACKERS` is the
registry. No attacker keeps or returns a value of a cell: what comes out are rates.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, Protocol, cast

from anonymize.attacks import distances, inference, invented, linking, narrowing, reconstruction, several, singling_out
from anonymize.attacks.methods import Capabilities, ExcessEstimate, Success
from anonymize.attacks.scene import ChannelRows, EarlierRows, KnownDiversity, Required, Scene, ShownRows, TargetPeople

__all__ = [
    "ATTACKERS",
    "OF_INVENTED",
    "OF_RELEASED",
    "Attacker",
    "Capabilities",
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
    CAPABILITIES: Capabilities

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
    reconstruction.Minimality(),
    reconstruction.Reconstruction(),
    reconstruction.RowReconstruction(),
    several.Composition(),
    several.Histories(),
    invented.NearestInference(),
    invented.ClosestRecord(),
)
ATTACKERS: dict[str, Attacker] = {each.ID: cast(Attacker, each) for each in _ATTACKERS}
"""Name -> attacker, in the order in which they are tried."""


def remedy(name: str) -> str:
    """What to do about an attacker who succeeds, as his manual says."""
    manual = inspect.getdoc(ATTACKERS[name]) or ""
    part = re.search(r"(?ms)^Remedy: (.*?)(?=^[A-Z][a-z]+: |\Z)", manual)
    return "" if part is None else " ".join(part[1].split())


OF_INVENTED = tuple(name for name, each in ATTACKERS.items() if each.CAPABILITIES.invented is None)
"""Those who can make something of invented rows."""
OF_RELEASED = tuple(name for name, each in ATTACKERS.items() if each.CAPABILITIES.released)
"""Those who can make something of rows of people."""


def suited(scene: Scene) -> list[str]:
    """The attackers who can make something of what is shown; of a release without rows nobody can."""
    if scene.invented is not None:
        return list(OF_INVENTED if len(scene.invented.points) else ())
    if not scene.release.rows:
        return []
    can = {name: ATTACKERS[name].CAPABILITIES for name in OF_RELEASED}
    return [
        name
        for name, each in can.items()
        if (scene.attributes or each.numbers) and (scene.channels is None or each.channels)
    ]
