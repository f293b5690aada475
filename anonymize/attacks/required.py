"""What a release was made to meet, as an attacker who knows the method has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from anonymize.classes import Bools, Ints


@dataclass(frozen=True)
class KnownDiversity:
    """Distinct l-diversity, or, with `frequency`, frequency l-diversity, of one sensitive attribute."""

    l: float  # noqa: E741
    frequency: bool = False

    def met(self, counts: Ints) -> Bools:
        """(n,) whether counts (n, values) have it."""
        if self.frequency:
            return np.asarray(counts.max(axis=-1, initial=0) * self.l <= counts.sum(axis=-1) + 1e-9)
        return np.asarray((counts > 0).sum(axis=-1) >= self.l)


@dataclass(frozen=True)
class Required:
    """`k`: the fewest rows of a class; `diversities`: of each sensitive attribute. `only_k`: whether a class of k rows
    met all that was asked."""

    k: int = 1
    diversities: Mapping[str, Sequence[KnownDiversity]] = field(default_factory=dict)
    only_k: bool = False
