"""What every attribute is: an ordered list of leaves, of which a release shows intervals.

A column of the table is an array of leaf codes, `0 .. size - 1`. What an equivalence class is released as, is a pair
`(low, high)` of codes, both included. Everything the search and the report need to know about that pair is a function
of arrays of lows and highs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.integer[Any]]


class Domain(ABC):
    """The leaves of one attribute.

    Attributes:
        name: the column's name.
        size: number of leaves, the missing leaf included.
        missing: code of the leaf that stands for a missing value; None where the column has none.
    """

    kind: ClassVar[Literal["numeric", "categorical"]]
    name: str
    size: int
    missing: int | None

    @abstractmethod
    def cost(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Normalized certainty penalty of each interval, in [0, 1]; same shape as `low` and `high`.

        Source: Xu et al., Utility-based anonymization using local recoding, KDD 2006.
        """

    def expected_cost(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """What a search counts: the cost of each interval as it is shown, on average where that depends on more."""
        return self.cost(low, high)

    @property
    def preferred_cuts(self) -> NDArray[np.bool_] | None:
        """(size + 1,) whether a cut below each code is one to prefer to its neighbours; None where all are alike."""
        return None

    @abstractmethod
    def loss(self, low: Codes, high: Codes) -> NDArray[np.float64]:
        """Loss metric of each interval, in [0, 1]; same shape as `low` and `high`.

        Source: Iyengar, Transforming data to satisfy privacy constraints, KDD 2002.
        """

    @abstractmethod
    def leaf_text(self) -> list[str]:
        """Text of each leaf, in the order of codes, `size` of them; the missing leaf's is the declared missing text."""
