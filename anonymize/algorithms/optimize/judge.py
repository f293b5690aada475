"""Which groups of rows fail the requirements, and which of them would with any of their rows.

A group is judged by itself, which is all there is to know where nothing is asked of the table as a whole and no group
is compared with the rest of a release in which some rows are suppressed. Otherwise groups that fail here are suppressed
in every release whose suppressed rows are published, and maybe others beside them: `Suppression` says which, once all
classes of a set are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from anonymize.algorithms.feasibility import necessary_size
from anonymize.classes import Bools
from anonymize.privacy import MODELS, Groups, Requirement, of_classes


@dataclass(frozen=True)
class SplitJudge:
    """What the requirements say of groups of rows."""

    requirements: tuple[Requirement, ...]

    @cached_property
    def growing(self) -> tuple[Requirement, ...]:
        """The requirements that a group which meets them still meets with any further rows."""
        return tuple(requirement for requirement in self.requirements if MODELS[requirement.model].grows)

    @property
    def all_growing(self) -> bool:
        """Whether every requirement is such: then a group fails if and only if it is hopeless."""
        return len(self.growing) == len(self.requirements)

    @cached_property
    def minimum(self) -> int:
        """The fewest rows that a class may have."""
        return necessary_size(self.requirements)

    @property
    def by_size(self) -> bool:
        """Whether the size of a group alone decides."""
        return all(MODELS[requirement.model].by_size for requirement in self.requirements)

    def verdict(self, groups: Groups) -> tuple[Bools, Bools]:
        """(n,) which groups fail, and (n,) which are hopeless: they fail, and so does any part of them."""
        if self.by_size:
            small = np.asarray(groups.sizes < self.minimum)
            return small, small
        failing = ~of_classes(groups, self.requirements)
        return failing, failing if self.all_growing else ~of_classes(groups, self.growing)
