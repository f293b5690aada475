"""What a release keeps of the distributions: of each quasi-identifier alone, and of pairs of columns together.

Before and after are counted over the same bins. `bins.py` says which, `bins.py` how a released cell lies over them,
`comparison.py` what follows, and `variation.py` how far marginals of up to three columns are from each other.
"""

from __future__ import annotations

from anonymize.fidelity import comparison
from anonymize.fidelity.bins import ColumnCells
from anonymize.fidelity.comparison import BothSides, ShownValues, fidelity
from anonymize.fidelity.variation import total_variation

DISTRIBUTIONS = {"marginals": comparison, "associations": comparison}
"""The blocks of a report by what says for which meanings of columns they are defined."""

__all__ = ["DISTRIBUTIONS", "BothSides", "ColumnCells", "ShownValues", "fidelity", "total_variation"]
