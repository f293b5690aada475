"""Options of refinement, apart from what they are for: a command that does not refine does not import that."""

from __future__ import annotations

from dataclasses import dataclass

from anonymize.algorithms.base import option


@dataclass(frozen=True, kw_only=True)
class Refinable:
    """Options of an algorithm whose partition can be refined; its own options have `refine`."""

    passes: int = option(
        0,
        "Passes of refinement at most; 0: 30, fewer above 35,000 rows, 1 above 500,000.",
        minimum=0,
        only_with={"refine": (True,)},
    )
    sweeps: int = option(
        0,
        "Sweeps of exchanges, after the passes; 0: by the rows, at most 200, and 40 above 5,000,000 rows.",
        minimum=0,
        only_with={"refine": (True,)},
    )
    time_limit: float = option(
        0.0,
        "Seconds of refinement at most; reruns may then differ; 0: no limit.",
        minimum=0,
        only_with={"refine": (True,)},
    )
