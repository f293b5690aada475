"""What an algorithm returns, and how it reads when it is released.

An algorithm finds a `Recoding`; `render` turns it into `Released`: for every released column of a quasi-identifier the
distinct texts it shows, and which of them each class shows. Rows are looked up through their class, so a text exists
once however many rows show it.

A kind of recoding is one subclass of `Recoding`, which knows how it is shown, saved and levelled. How one
quasi-identifier is shown, and what that costs, is an `Appearance`.
"""

from __future__ import annotations

from anonymize.domain.cells import escaped
from anonymize.recoding.appearance import Appearance, format_number
from anonymize.recoding.base import Recoding, Regions, SearchResult, render
from anonymize.recoding.columns import CutTree, RecodedColumn, Released
from anonymize.recoding.single_dimensional import Cut, Levels, SingleDimensional

__all__ = [
    "Appearance",
    "Cut",
    "CutTree",
    "Levels",
    "RecodedColumn",
    "Recoding",
    "Regions",
    "Released",
    "SearchResult",
    "SingleDimensional",
    "escaped",
    "format_number",
    "render",
]
