"""Tables of counts, shares, sums and means by groups: their cells, and the mechanisms that protect them, a file each.

A mechanism is a function from the spec, its tables, the grid of their cells and the encoded input to what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from anonymize.spec import Spec
from anonymize.spec.tabulation import Mechanism, Tabulation
from anonymize.table import Table
from anonymize.tabulating import cell_keys, private, suppression
from anonymize.tabulating.cells import TableGrid
from anonymize.tabulating.written import Charging, Tabulated

__all__ = ["CHECKS", "GRIDS", "MANUALS", "MECHANISMS", "Tabulated"]

Gridding: TypeAlias = Callable[[Spec, Tabulation, Table], TableGrid]
Checking: TypeAlias = Callable[[Spec, Tabulation, tuple[TableGrid, Table] | None], None]
Making: TypeAlias = Callable[[Spec, Tabulation, TableGrid, Table, bytes | None, Charging], Tabulated]

_MODULES = (suppression, cell_keys, private)
MECHANISMS: Mapping[Mechanism, Making] = {each.ID: each.run for each in _MODULES}
"""By name, what makes tables; the last arguments are the secret of a key, and what a budget is charged by."""
CHECKS: Mapping[Mechanism, Checking] = {each.ID: each.check for each in _MODULES}
"""By name, what raises whatever keeps `run` from searching or drawing."""
GRIDS: Mapping[Mechanism, Gridding] = dict.fromkeys(MECHANISMS, TableGrid.of) | {private.ID: private.public_grid}
"""By name, what the groups are: those of the table and its hierarchies, or those of public domains."""
MANUALS: Mapping[Mechanism, str] = {each.ID: each.__doc__ or "" for each in _MODULES}
"""By name, the manual: the docstring of the module."""
