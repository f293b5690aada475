"""Published tables, and what full-domain algorithms have to agree with: nodes of the lattice by brute force."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product

import numpy as np

from anonymize.domain.taxonomy import Taxonomy
from anonymize.domain.tree import Tree
from anonymize.privacy import Requirement
from anonymize.recoding import Levels
from anonymize.table import Attribute, Table
from tests.algorithms.tables import categorical, sensitive, table_of
from tests.algorithms.test_mondrian import passes

Vector = tuple[int, ...]
Step = Callable[[str], str]


def leveled(name: str, values: Sequence[str], *steps: Step) -> Attribute:
    """An attribute with one level a step above its values, then the root."""
    paths = [(value, *(step(value) for step in steps), "*") for value in sorted(set(values))]
    return categorical(values, Taxonomy.of(name, Tree.from_paths(paths)))


def masked(count: int) -> Step:
    """The last characters as stars."""
    return lambda value: value[: len(value) - count] + "*" * count


def sweeney() -> Table:
    """Sweeney's twelve rows: race, birth date, gender, ZIP; the problem is sensitive."""
    rows = """black 1965-09-20 male 02141 breath
    black 1965-02-14 male 02141 chest
    black 1965-10-23 female 02138 eye
    black 1965-08-24 female 02138 wheezing
    black 1964-11-07 female 02138 obesity
    black 1964-12-01 female 02138 chest
    white 1964-10-23 male 02138 breath
    white 1965-03-15 female 02139 hypertension
    white 1964-08-13 male 02139 obesity
    white 1964-05-05 male 02139 fever
    white 1967-02-13 male 02138 vomiting
    white 1967-03-21 male 02138 back"""
    race, birth, gender, code, problem = zip(*(row.split() for row in rows.splitlines()), strict=True)
    return table_of(
        leveled("race", race),
        leveled("birth", birth, lambda value: value[:4]),
        leveled("gender", gender),
        leveled("zip", code, masked(1), masked(2)),
        sensitive=[sensitive(problem, "problem")],
    )


def patients() -> Table:
    """The patients of LeFevre, DeWitt and Ramakrishnan, Incognito, SIGMOD 2005: birth date, sex, ZIP."""
    rows = """1976-01-21 male 53715
    1986-04-13 female 53715
    1976-02-28 male 53703
    1976-01-21 male 53703
    1986-04-13 female 53706
    1976-02-28 female 53706"""
    birth, sex, code = zip(*(row.split() for row in rows.splitlines()), strict=True)
    # The paper's ZIP hierarchy ends at 537**, which is all there is: here it is the root.
    return table_of(leveled("birth", birth), leveled("sex", sex), leveled("zip", code, masked(1)))


def heights(table: Table) -> Vector:
    return tuple(attribute.hierarchy.height for attribute in table.attributes)


def nodes(table: Table) -> Iterator[Vector]:
    """The lattice in lexicographic order."""
    return product(*(range(height + 1) for height in heights(table)))


def shown(table: Table, vector: Vector) -> list[tuple[int, ...]]:
    """What each row shows at a node, as numbers of the taxonomies' nodes."""
    columns = []
    for attribute, level in zip(table.attributes, vector, strict=True):
        leaves = attribute.codes.tolist() if attribute.leaves is None else attribute.leaves[attribute.codes].tolist()
        columns.append([int(attribute.hierarchy.levels[level, leaf]) for leaf in leaves])
    return list(zip(*columns, strict=True))


def classes(keys: Sequence[object]) -> list[list[int]]:
    """Rows with equal keys together, in order of their first rows."""
    found = defaultdict(list)
    for row, key in enumerate(keys):
        found[key].append(row)
    return list(found.values())


def failing(table: Table, vector: Vector, wanted: Sequence[Requirement]) -> list[int]:
    """The rows of the classes that fail at a node."""
    found = [rows for rows in classes(shown(table, vector)) if not passes(table, np.array(rows), list(wanted))]
    return sorted(row for rows in found for row in rows)


def is_safe(table: Table, vector: Vector, wanted: Sequence[Requirement], limit: int) -> bool:
    lost = len(failing(table, vector, wanted))
    return lost <= limit and lost < table.rows


def safe_nodes(table: Table, wanted: Sequence[Requirement], limit: int) -> list[Vector]:
    return [vector for vector in nodes(table) if is_safe(table, vector, wanted, limit)]


def distortion(table: Table, vector: Vector, wanted: Sequence[Requirement]) -> float:
    """1 - Prec with suppressed cells at the top, weights relative to the largest."""
    weights = np.array([attribute.weight for attribute in table.attributes])
    lost = len(failing(table, vector, wanted)) / table.rows
    levels = np.array(vector) / np.array(heights(table))
    return float(np.mean(weights / weights.max() * ((1 - lost) * levels + lost)))


def rows_of(found: Levels) -> list[list[int]]:
    """The rows of each class."""
    return [found.partition.order[a:b].tolist() for a, b in pairwise(found.partition.starts)]


def check_node(table: Table, found: Levels, vector: Vector, wanted: Sequence[Requirement]) -> None:
    """That a recoding is the release of a node: its classes, and the rows of failing ones suppressed."""
    lost = failing(table, vector, wanted)
    assert found.vector == vector
    assert found.suppressed.tolist() == lost
    kept = [rows for rows in classes(shown(table, vector)) if rows[0] not in lost]
    assert rows_of(found) == kept
