"""`--cut widest-listed`: as `widest`, but of equal ranges the attribute that the spec lists first is cut.

The source of the textbook rule leaves open which of equally wide attributes is cut. In a whole table all that are
weighed alike are equally wide, so that this decides the first cuts. `widest` takes the attribute of fewer leaves, which
reproduces the source's example whatever the order of the attributes; here the order says which, as in most
implementations. Where attributes of few values are listed last, classes are narrower in the others, and queries and
models on these lose less: whoever takes Mondrian for a yardstick should say which of the two was meant.

Source: LeFevre, DeWitt and Ramakrishnan, Mondrian multidimensional k-anonymity, ICDE 2006, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from anonymize.algorithms.cuts.widest import Widest


@dataclass(frozen=True)
class WidestListed(Widest):
    """See the module."""

    ID: ClassVar[str] = "widest-listed"

    @property
    def preference(self) -> Sequence[int]:
        """The attributes in the order of the spec."""
        return range(len(self.domains))
