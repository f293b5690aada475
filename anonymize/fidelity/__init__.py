"""What a release keeps of the distributions: of each quasi-identifier alone, and of pairs of columns together.

Before and after are counted over the same bins. `bins.py` says which, `spread.py` how a released cell lies over them,
`comparison.py` what follows.
"""

from __future__ import annotations

from anonymize.fidelity.comparison import fidelity

__all__ = ["fidelity"]
