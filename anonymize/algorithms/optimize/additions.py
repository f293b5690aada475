"""What one more split does, for all splits at once."""

from __future__ import annotations

from dataclasses import dataclass

from anonymize.classes import Ints


@dataclass(frozen=True)
class Additions:
    """One more split in the head, (splits,) each: how much the cost, the rows that are suppressed, those that are
    hopeless and the bound grow. `useful`: classes whose parting can pay, here or below. `apart`: pairs of rows that are
    in one class and would not be. `within`: no set below with the split costs less."""

    cost: Ints
    suppressed: Ints
    hopeless: Ints
    bound: Ints
    useful: Ints
    apart: Ints
    within: Ints
