"""Small tables with what is asked of them, for the tests of the lattice."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from hypothesis import strategies as st

from anonymize.algorithms.lattice.nodes import Checker
from anonymize.privacy import Requirement
from anonymize.table import Table
from tests.algorithms.full_domain import heights, is_safe
from tests.algorithms.tables import k_anonymity, requirement, seeds, tables, units_or_not

Vector = tuple[int, ...]

MODELS = (
    [k_anonymity(2)],
    [k_anonymity(3)],
    [requirement("distinct-l-diversity", "s0", l=2)],
    [k_anonymity(2), requirement("squared-error-diversity", "s0", error=5)],
    [requirement("entropy-l-diversity", "s0", l=1.5)],
    [k_anonymity(2), requirement("recursive-cl-diversity", "s0", c=2, l=2)],
    [requirement("frequency-l-diversity", "s0", l=1.5)],
    [k_anonymity(3), requirement("k-e-anonymity", "s0", k=2, e=3)],
    [requirement("alpha-k-anonymity", "s0", alpha=0.6, k=3)],
)


@dataclass(frozen=True)
class Case:
    """A table, its requirements, the suppression limit, and every node of its lattice."""

    table: Table
    wanted: tuple[Requirement, ...]
    limit: int

    def checker(self) -> Checker:
        return Checker(self.table, self.wanted, self.limit)

    @property
    def nodes(self) -> list[Vector]:
        return list(product(*(range(height + 1) for height in heights(self.table))))

    def safe(self) -> set[Vector]:
        return {vector for vector in self.nodes if is_safe(self.table, vector, self.wanted, self.limit)}


def below(low: Vector, high: Vector) -> bool:
    return all(a <= b for a, b in zip(low, high, strict=True))


@st.composite
def small_cases(draw: st.DrawFn, max_rows: int = 24, max_nodes: int = 90) -> Case:
    """Rows of their own, or about units."""
    small = tables(max_rows=max_rows, max_attributes=3, sensitive_columns=1).filter(
        lambda table: len(Case(table, (), 0).nodes) <= max_nodes
    )
    table = draw(units_or_not(small))
    limit = draw(st.sampled_from([0, 0, table.rows // 10, table.rows // 3, table.rows]))
    return Case(table, tuple(MODELS[int(draw(seeds).integers(len(MODELS)))]), limit)
