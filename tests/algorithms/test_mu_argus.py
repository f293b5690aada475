"""mu-Argus: every tested combination is safe, and what it leaves unsafe is counted and found by the check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize._release import release
from anonymize.algorithms import mu_argus, tested
from anonymize.algorithms.base import Context
from anonymize.algorithms.deadline import interruptible
from anonymize.errors import InfeasibleError, UnsafeError
from anonymize.privacy import PARAMETERS, Requirement
from anonymize.recoding import Levels
from anonymize.request import Request
from anonymize.spec import load
from anonymize.table import Table
from tests.algorithms.full_domain import Vector, classes, failing, heights, leveled, rows_of, shown, sweeney
from tests.algorithms.tables import k_anonymity, requirement, sensitive, table_of, tables, units_or_not
from tests.algorithms.test_mondrian import passes, requirements
from tests.examples import some

Subset = tuple[int, ...]


def run(table: Table, wanted: Sequence[Requirement], limit: int = 0, outliers: str = "limit") -> Levels:
    return mu_argus.run(table, tuple(wanted), mu_argus.Options(outliers), Context(limit))


def identifying(table: Table, *given: str | None) -> Table:
    for attribute, each in zip(table.attributes, given, strict=True):
        object.__setattr__(attribute, "identifying", each)
    return table


def visible(table: Table, found: Levels) -> list[tuple[int | None, ...]]:
    """What each row shows: nodes, None for a cell at its root; nothing for a suppressed row."""
    top = heights(table)
    cells: list[tuple[int | None, ...]] = [(None,) * len(top)] * table.rows
    for rows, levels in zip(rows_of(found), found.levels.tolist(), strict=True):
        keys = shown(table, tuple(levels))
        for row in rows:
            cells[row] = tuple(None if levels[at] == top[at] else node for at, node in enumerate(keys[row]))
    return cells


def unsafe(table: Table, found: Levels, subset: Subset, wanted: Sequence[Requirement]) -> int:
    """Combinations of values shown in these attributes that fail as one class."""
    cells = visible(table, found)
    rows = [row for row, shows in enumerate(cells) if all(shows[at] is not None for at in subset)]
    alike = classes([tuple(cells[row][at] for at in subset) for row in rows])
    return sum(not passes(table, np.array([rows[at] for at in each]), list(wanted)) for each in alike)


def losing(table: Table, found: Levels) -> int:
    """Rows that show less than the attributes' levels would have them."""
    whole = tuple(found.summary()["levels"].values())
    sizes = found.partition.sizes.tolist()
    return sum(size for size, levels in zip(sizes, found.levels.tolist(), strict=True) if tuple(levels) != whole)


# --- Sweeney's twelve rows --------------------------------------------------------------------------------------------


def test_sweeneys_twelve_rows_leave_unsafe_combinations() -> None:
    """The year of birth is enough for every value; two rows lose cells, and each remains the only one that reads so."""
    table = identifying(sweeney(), None, None, None, None)
    found = run(table, [k_anonymity(2)], 2)
    assert found.summary()["levels"] == {"race": 0, "birth": 1, "gender": 0, "zip": 0}
    assert not len(found.suppressed) and losing(table, found) == 2
    assert found.vector is None
    by_row = {rows[0]: levels for rows, levels in zip(rows_of(found), found.levels.tolist(), strict=True)}
    # Row 7 is white in two of its unsafe combinations, row 8 in six; of those left, ties go to the first attribute.
    assert by_row[6] == [1, 2, 0, 0] and by_row[7] == [1, 1, 0, 3]
    figures = found.summary()
    assert figures["unsafe_combinations"] == {"1": 0, "2": 0, "3": 0, "4": 0}
    assert figures["failing_classes"] == figures["failing_rows"] == figures["rows_with_suppressed_cells"] == 2
    assert figures["tested_unsafe"] == 10 and figures["generalizations"] == 0


def test_a_combination_of_four_that_no_tested_one_gives_away() -> None:
    """White, 1964, male, 02138 is one person; no tested pair or triple of these is."""
    table = identifying(sweeney(), "most", "more", "yes", "more")
    found = run(table, [k_anonymity(2)], 1)
    cells = visible(table, found)
    assert None not in cells[6] and Counter(cells)[cells[6]] == 1
    assert found.summary()["unsafe_combinations"]["4"] == 1
    assert found.summary()["unsafe_combinations"] == {
        str(size): sum(unsafe(table, found, subset, [k_anonymity(2)]) for subset in combinations(range(4), size))
        for size in (1, 2, 3, 4)
    }


def test_without_suppression_all_is_mended_by_generalization() -> None:
    table = identifying(sweeney(), None, None, None, None)
    found = run(table, [k_anonymity(2)], 0)
    assert found.vector is not None and losing(table, found) == 0
    assert run(table, [k_anonymity(2)], 0, "k").summary() == run(table, [k_anonymity(2)], 2).summary()


def test_all_triples_safe_and_every_row_unique() -> None:
    """Of the sixteen rows of four bits, every triple of values occurs twice."""
    columns = zip(*product("01", repeat=4), strict=True)
    table = table_of(*(leveled(name, column) for name, column in zip("abcd", columns, strict=True)))
    found = run(table, [k_anonymity(2)])
    assert found.vector == (0, 0, 0, 0) and found.partition.sizes.tolist() == [1] * 16
    assert found.summary()["unsafe_combinations"] == {"1": 0, "2": 0, "3": 0, "4": 16}
    assert found.summary()["failing_rows"] == 16


# --- any table --------------------------------------------------------------------------------------------------------


def starting_levels(table: Table, wanted: Sequence[Requirement], kept: list[int]) -> Vector:
    """Step 1, by brute force."""
    vector = []
    for at, height in enumerate(heights(table)):
        for level in range(height + 1):
            nodes = [
                shown(table, (0,) * at + (level,) + (0,) * (len(heights(table)) - at - 1))[row][at] for row in kept
            ]
            alike = classes(nodes)
            if all(passes(table, np.array([kept[row] for row in rows]), list(wanted)) for rows in alike):
                break
        vector.append(level)
    return tuple(vector)


SMALL = units_or_not(tables(max_rows=30, max_attributes=4, sensitive_columns=2))
classes_of = st.sampled_from([None, None, "yes", "more", "most"])


@settings(max_examples=some(60))
@given(
    SMALL,
    requirements,
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    st.lists(classes_of, min_size=4, max_size=4),
)
def test_every_tested_combination_is_safe(
    table: Table, wanted: list[Requirement], suppression: float, given: list[str | None]
) -> None:
    table = identifying(table, *given[: len(table.attributes)])
    limit = int(suppression * table.rows)
    try:
        found = run(table, wanted, limit)
    except InfeasibleError:
        assert not passes(table, np.arange(table.rows), wanted)
        return
    rows = found.partition.order.tolist()
    assert sorted([*rows, *found.suppressed.tolist()]) == list(range(table.rows))
    assert len(found.suppressed) <= limit and losing(table, found) <= limit
    levels = tuple(found.summary()["levels"].values())
    assert all(a <= b for a, b in zip(starting_levels(table, wanted, sorted(rows)), levels, strict=True))
    subsets = tested.tested(each or "yes" for each in given[: len(table.attributes)])
    assert all(unsafe(table, found, subset, wanted) == 0 for subset in subsets)
    assert all(unsafe(table, found, (at,), wanted) == 0 for at in range(len(levels)) if not losing(table, found))


@settings(max_examples=some(40))
@given(SMALL, requirements, st.sampled_from([0.0, 0.5]))
def test_what_is_counted_remains(table: Table, wanted: list[Requirement], suppression: float) -> None:
    try:
        found = run(table, wanted, int(suppression * table.rows))
    except InfeasibleError:
        return
    figures, attributes = found.summary(), range(len(table.attributes))
    for size, count in figures["unsafe_combinations"].items():
        assert count == sum(unsafe(table, found, subset, wanted) for subset in combinations(attributes, int(size)))
    bad = [rows for rows in rows_of(found) if not passes(table, np.array(rows), wanted)]
    assert figures["failing_classes"] == len(bad) and figures["failing_rows"] == sum(map(len, bad))
    assert figures["rows_with_suppressed_cells"] == losing(table, found)
    read, kept = visible(table, found), sorted(found.partition.order.tolist())
    assert rows_of(found) == [[kept[at] for at in rows] for rows in classes([read[row] for row in kept])]


# --- which cell goes --------------------------------------------------------------------------------------------------


def lost_slowly(unsafe: Sequence[tuple[tuple[int, int], ...]]) -> list[int]:
    lost = [-1] * len(unsafe)
    while -1 in lost:
        counts = Counter(value for values, gone in zip(unsafe, lost, strict=True) if gone < 0 for value in values)
        worst = min(counts, key=lambda value: (-counts[value], value))
        lost = [worst[0] if gone < 0 and worst in values else gone for values, gone in zip(unsafe, lost, strict=True)]
    return lost


values = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=3, unique_by=lambda v: v[0])


@settings(max_examples=some(80))
@given(st.lists(values.map(lambda found: tuple(sorted(found))), max_size=30))
def test_the_value_in_most_unsafe_combinations_goes_first(unsafe: list[tuple[tuple[int, int], ...]]) -> None:
    assert tested.lost_values(unsafe) == lost_slowly(unsafe)


# --- models beyond k, and the road ------------------------------------------------------------------------------------


def test_a_combination_without_diversity_is_unsafe() -> None:
    table = table_of(
        leveled("a", ["1", "1", "2", "2"]),
        leveled("b", ["1", "2", "1", "2"]),
        sensitive=[sensitive(["x", "y", "y", "x"])],
    )
    wanted = [requirement("distinct-l-diversity", "s", l=2)]
    found = run(table, wanted)
    assert found.vector == (1, 0) and not failing(table, (1, 0), wanted)


def test_rows_of_the_most_frequent_value_go_first_where_the_whole_table_fails() -> None:
    table = table_of(leveled("a", ["1"] * 10), sensitive=[sensitive(["x"] * 7 + ["y"] * 3)])
    wanted = [requirement("frequency-l-diversity", "s", l=2.0)]
    assert len(run(table, wanted, 4).suppressed) == 4
    with pytest.raises(InfeasibleError, match="4 rows would fix it, 3 may be"):
        run(table, wanted, 3)


def test_the_check_of_the_release_finds_out(tmp_path: Path) -> None:
    assert not mu_argus.NEEDS.guarantees
    lines = ["a,b,c,d", *(",".join(bits) for bits in product("01", repeat=4))]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(
        "{version: 1, input: {path: table.csv}, quasi_identifiers: {a: {}, b: {}, c: {}, d: {}}, privacy: {k: 2}}",
        encoding="utf-8",
    )
    out, report = tmp_path / "out.csv", tmp_path / "report.json"

    def asked(allow_unsafe: bool) -> Request:
        spec = load(tmp_path / "spec.yaml", PARAMETERS)
        options = mu_argus.Options()
        return Request(spec, mu_argus.ID, options, output=str(out), reports=[str(report)], allow_unsafe=allow_unsafe)

    with pytest.raises(UnsafeError):
        release(asked(False))
    assert not out.exists() and not report.exists()
    release(asked(True))
    told = json.loads(report.read_text(encoding="utf-8"))
    assert told["privacy"]["satisfied"] is False
    assert told["recoding"]["unsafe_combinations"] == {"1": 0, "2": 0, "3": 0, "4": 16}
    assert out.read_text(encoding="utf-8").count("\n") == 17


def test_late_attributes_go_to_their_roots_at_once() -> None:
    """Fewer generalizations, and what is tested is safe all the same."""
    wanted, context = (k_anonymity(2),), Context()
    whole = mu_argus.run(sweeney(), wanted, mu_argus.Options(time_limit=1000), Context()).chosen or {}
    late = mu_argus.run(sweeney(), wanted, mu_argus.Options(time_limit=1e-9), context).chosen or {}
    assert (whole["stopped_early"], late["stopped_early"]) == (False, True)
    assert late["generalizations"] <= whole["generalizations"]
    assert all(late["levels"][name] >= level for name, level in whole["levels"].items())
    assert (context.best_so_far.describe() or "").startswith("best so far: levels race ")
    with interruptible() as tell:
        tell()
        interrupted = mu_argus.run(sweeney(), wanted, mu_argus.Options(), Context()).chosen or {}
    assert interrupted["stopped"] == "interrupted" and interrupted["levels"] == late["levels"]
