"""What is tried on a release before it takes its place."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from anonymize.spec.base import Entry, TablePath

ReleaseAttacker = Literal[
    "prosecutor",
    "prosecutor-retained",
    "smallest-region",
    "journalist",
    "marketer",
    "singling-out-univariate",
    "singling-out",
    "singling-out-end",
    "linkability",
    "distance-linkage",
    "inference-majority",
    "inference-certain",
    "homogeneity-retained",
    "inference-bayes",
    "inference-model",
    "order",
    "downcoding",
    "refinement",
    "minimality",
    "reconstruction",
    "reconstruction-row",
]
"""Those of `anonymize.attacks` who need no other release."""


class RiskTrials(Entry):
    """The attackers that are tried on a release, and how much they may learn."""

    attacks: tuple[ReleaseAttacker, ...] = ()
    """Attackers that are tried on the release before it takes its place."""
    max_excess: Annotated[float, Field(ge=0, le=1)] | None = None
    """The most that the upper end of an interval of the excess may be; a release that is above it, or of which that
    could not be shown, is not written. Left out: measured, and not judged."""
    targets: Annotated[int, Field(ge=1)] = 2000
    """How many people are attacked, drawn at random."""
    control: TablePath | None = None
    """A table like the input of people who are not in it: what succeeds on them as well is not an excess."""
