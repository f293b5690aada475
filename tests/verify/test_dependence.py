"""How columns depend on each other, and what some rows of a large table rule out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.verify import dependence
from anonymize.verify.dependence import Relations, relations_left
from anonymize.verify.numbering import Numbering
from anonymize.verify.table import TextTable
from tests.verify.test_derived import found, letters

# --- groups ----------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=60, max_size=200), st.integers(5, 20))
def test_the_accuracy_is_that_of_leaving_each_row_out(rows: list[tuple[int, int]], k: int) -> None:
    """Counted row by row: the value that most of the others of its group have, alone, is its own."""
    sizes, right, asked = Counter(x for x, _ in rows), 0, 0
    for place, (x, y) in enumerate(rows):
        others = Counter(b for other, (a, b) in enumerate(rows) if a == x and other != place).most_common(2)
        asked += sizes[x] >= k
        first = others and (len(others) == 1 or others[0][1] > others[1][1])
        right += bool(sizes[x] >= k and first and others[0][0] == y)
    given, told = (Numbering(pl.Series([row[place] for row in rows], dtype=pl.UInt32), 4) for place in (0, 1))
    groups = dependence.groups_of(given, told, None).filter(pl.col("people") >= k)
    assert (groups["size"].sum(), groups["right"].sum()) == (asked, right)


# --- what some rows rule out -----------------------------------------------------------------------------------------


def left(columns: Mapping[str, Any], quasi_identifiers: int) -> Relations:
    """What is not ruled out of the columns of a large table, the first of which are quasi-identifiers."""
    texts = pl.DataFrame({name: [str(value) for value in values] for name, values in columns.items()})
    table, names = TextTable(texts.lazy(), (), ("?",), "", normalize=True), list(columns)
    sides = names[:quasi_identifiers], names[quasi_identifiers:]
    relations = relations_left(table, sides, texts.height, 5, {}, None)
    assert relations is not None
    return relations


def test_a_sample_rules_out_nothing_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same findings whether rows are looked at in a sample first, of columns that go together and that do not."""
    drawn = Random(5)
    rows = range(6000)
    zip_code = [drawn.randrange(900) for _ in rows]
    columns = {
        "x": zip_code,
        "sex": letters([drawn.randrange(2) for _ in rows]),
        "region": letters([each // 90 for each in zip_code]),
        "mostly": letters([each // 90 if drawn.random() < 0.98 else 0 for each in zip_code]),
        "half": letters([each // 90 if drawn.random() < 0.5 else 0 for each in zip_code]),
        "noise": letters([drawn.randrange(3) for _ in rows]),
        "rare": letters([drawn.randrange(50) == 0 for _ in rows]),
        "fine": [1000 * each + drawn.randrange(1000) for each in zip_code],
    }
    expected = found(columns, ("x", "sex"))
    assert [each.column for each in expected] == ["region", "mostly", "fine"]
    monkeypatch.setattr(dependence, "SAMPLE", 1000)
    assert found(columns, ("x", "sex")) == expected


def test_a_sample_rules_out_no_pair_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """`both` follows from two columns together; nothing from the pairs with `code`, whose groups are small."""
    drawn = Random(6)
    a, b, code = ([drawn.randrange(size) for _ in range(6000)] for size in (6, 8, 5000))
    columns = {
        "a": letters(a),
        "b": letters(b),
        "code": letters(code),
        "both": letters([3 * x % 6 + (x + 2 * y) % 5 for x, y in zip(a, b, strict=True)]),
        "noise": letters([drawn.randrange(3) for _ in a]),
    }
    expected = found(columns, ("a", "b", "code"))
    assert [(each.column, each.sources) for each in expected] == [("both", ("a", "b"))]
    monkeypatch.setattr(dependence, "SAMPLE", 1000)
    assert found(columns, ("a", "b", "code")) == expected


@pytest.fixture
def small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "SAMPLE", 1000)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(("size", "likely"), [(1, None), (2, {"copy"}), (8, {"copy", "predicted"})])
def test_whole_groups_of_a_pair_are_drawn(size: int, likely: set[str] | None) -> None:
    """Each has its own value: how large they are is what tells."""
    groups = [row // size for row in range(8000)]
    columns = {"a": letters([each % 40 for each in groups]), "b": letters([each // 40 for each in groups])}
    assert left({**columns, "y": letters(groups)}, 2).get((("a", "b"), "y")) == likely


@pytest.mark.usefixtures("small_sample")
def test_groups_of_one_column_are_those_of_a_pair_with_it() -> None:
    """Five rows of a code have three values, whoever they are."""
    rows, drawn = range(8000), Random(7)
    columns = {"code": letters([row // 5 for row in rows]), "sex": letters([drawn.randrange(2) for _ in rows])}
    assert left({**columns, "y": letters([drawn.randrange(3) for _ in rows])}, 2) == {}


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize(("blank", "ruled_out"), [("", True), (" ", False)])
def test_groups_of_texts_that_are_compared_as_one_are_not_drawn(blank: str, ruled_out: bool) -> None:
    """Of a pair of texts with a blank behind one of them, a hash would draw one alone."""
    codes = [f"n{row // 2}{blank * (row % 2)}" for row in range(8000)]
    relations = left({"code": codes, "y": letters([row % 3 for row in range(8000)])}, 1)
    assert ((("code",), "y") not in relations) is ruled_out


@pytest.mark.usefixtures("small_sample")
def test_large_groups_of_some_values_are_not_ruled_out_by_the_small_ones_of_others() -> None:
    """Half of the rows have one of two codes, which tell the value, and the others a code of their own."""
    codes = [row if row % 2 else -(row % 4) for row in range(8000)]
    columns = {"code": letters(codes), "y": letters([code if code <= 0 else code % 7 for code in codes])}
    assert "predicted" in left(columns, 1)[("code",), "y"]
