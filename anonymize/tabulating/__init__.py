"""Tables of counts, shares, sums and means by groups: their cells, and the mechanisms that protect them, a file each.

A mechanism is a function from the spec, its tables, the grid of their cells and the encoded input to what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from anonymize.spec import Spec
from anonymize.spec.tabulation import Mechanism, Tabulation
from anonymize.table import Table
from anonymize.tabulating import cell_keys, suppression
from anonymize.tabulating.cells import TableGrid
from anonymize.tabulating.mechanism import Tabulated

__all__ = ["MANUALS", "MECHANISMS", "Tabulated"]

Making: TypeAlias = Callable[[Spec, Tabulation, TableGrid, Table, bytes | None], Tabulated]

_MODULES = (suppression, cell_keys)
MECHANISMS: Mapping[Mechanism, Making] = {each.ID: each.run for each in _MODULES}
"""By name, what makes tables; the last argument is the secret of a key."""
MANUALS: Mapping[Mechanism, str] = {each.ID: each.__doc__ or "" for each in _MODULES}
"""By name, the manual: the docstring of the module."""
