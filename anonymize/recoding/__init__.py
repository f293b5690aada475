"""What an algorithm returns, and how it reads when it is released.

An algorithm finds a `Recoding`; `render` turns it into `Released`: for every released column of a quasi-identifier the
distinct texts it shows, and which of them each class shows. Rows are looked up through their class, so a text exists
once however many rows show it.
"""

from __future__ import annotations

from anonymize.recoding.columns import ReleasedColumn, Shown, named
from anonymize.recoding.generalized import Generalized
from anonymize.recoding.levels import Levels
from anonymize.recoding.regions import Regions
from anonymize.recoding.released import Recoding, Released, render
from anonymize.recoding.showing import Showing, escaped, format_number
from anonymize.recoding.single import Cut, SingleDimensional
from anonymize.recoding.tree import Tree

__all__ = [
    "Cut",
    "Generalized",
    "Levels",
    "Recoding",
    "Regions",
    "Released",
    "ReleasedColumn",
    "Showing",
    "Shown",
    "SingleDimensional",
    "Tree",
    "escaped",
    "format_number",
    "named",
    "render",
]
