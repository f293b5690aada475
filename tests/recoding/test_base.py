"""What every kind of recoding says of itself, and that a new kind needs no word anywhere else."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from anonymize.classes import Floats, Partition
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import UsageError
from anonymize.recoding import (
    Appearance,
    Cut,
    Levels,
    RecodedColumn,
    Recoding,
    Regions,
    Released,
    SingleDimensional,
    escaped,
    format_number,
    render,
)
from anonymize.recoding import render as rendered
from anonymize.recoding.saved.recoder import Contents, refusal, save
from anonymize.records import dataclass
from anonymize.spec import Output, Spec
from anonymize.table import Attribute, Table
from tests.algorithms.tables import categorical, cost, numeric, seeds, table_of, tables, taxonomy
from tests.examples import some

TABLE = table_of(numeric([1, 2, 3, 4], "age"))
HALVES = Partition.of_labels(np.array([0, 0, 1, 1]))
NONE = np.empty(0, np.uint32)
LEVELS = Levels(HALVES, np.array([[1], [1]], np.int16), NONE)


def by_intervals(*, labelled: bool) -> SingleDimensional:
    return SingleDimensional(HALVES, {"age": Cut(np.array([0]), labelled)}, NONE)


@pytest.mark.parametrize(
    ("recoding", "regions", "vector", "labelled", "sets"),
    [
        (Regions(HALVES, NONE), HALVES, None, False, True),
        (LEVELS, None, (1,), True, False),
        (Levels(HALVES, np.array([[0], [1]], np.int16), NONE), None, None, True, False),
        (by_intervals(labelled=False), None, None, False, True),
        (by_intervals(labelled=True), None, None, True, True),
    ],
    ids=["regions", "levels", "several levels", "intervals", "labels"],
)
def test_what_a_recoding_says_of_itself(
    recoding: Recoding, regions: Partition | None, vector: tuple[int, ...] | None, labelled: bool, sets: bool
) -> None:
    assert recoding.regions is regions
    assert (recoding.vector, recoding.labelled, recoding.SETS) == (vector, labelled, sets)
    assert recoding.summary()["kind"] == recoding.KIND


@dataclass(frozen=True)
class Hidden(Appearance):
    """Every class reads as its number, and costs a half."""

    name: str
    classes: int

    def columns(self) -> list[RecodedColumn]:
        texts = [f"class {number}" for number in range(self.classes)]
        return [RecodedColumn(self.name, self.name, pl.Series([*texts, "*"]), np.arange(self.classes + 1))]

    def costs(self) -> tuple[Floats, Floats]:
        half = np.full(self.classes, 0.5)
        return half, half


@dataclass(frozen=True)
class Numbered(Recoding):
    """A kind that the room has not got."""

    KIND: ClassVar[str] = "numbered"

    partition: Partition
    suppressed: NDArray[np.uint32]

    def summary(self) -> dict[str, Any]:
        return {"kind": self.KIND}

    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        return [Hidden(attribute.name, self.partition.count) for attribute in table.attributes]

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        raise refusal("it is made up")


def test_a_new_kind_is_rendered_as_it_says() -> None:
    released = rendered(Numbered(HALVES, NONE), TABLE, Output(edges="tight"), drop=False)
    (column,) = released.columns
    assert [column.texts[number] for number in column.of_class[released.class_of].tolist()] == [
        "class 0",
        "class 0",
        "class 1",
        "class 1",
    ]
    assert released.ncp[0].tolist() == released.loss[0].tolist() == [0.5, 0.5]


def test_a_new_kind_says_whether_it_can_be_saved() -> None:
    recoding = Numbered(HALVES, NONE)
    released = rendered(recoding, TABLE, Output(edges="tight"), drop=False)
    spec = Spec.model_validate({"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}}})
    with pytest.raises(UsageError, match="cannot be saved: it is made up"):
        save(recoding, TABLE, released, spec, "toy", drop=False)


# --- regions ----------------------------------------------------------------------------------------------------------

SUPPRESSED = "(gone)"
INTERVAL = "[{low};{high}]"


def output(
    numeric: Literal["interval", "bounds", "mean", "median"] = "interval",
    categorical: Literal["node", "set", "bounds"] = "node",
    edges: Literal["tight", "rounded"] = "tight",
) -> Output:
    return Output(interval=INTERVAL, numeric=numeric, categorical=categorical, edges=edges, suppressed=SUPPRESSED)


@st.composite
def recodings(draw: st.DrawFn) -> tuple[Table, Regions]:
    """A table in classes that cut across everything, some of its rows suppressed."""
    table = draw(tables(max_rows=40))
    rng = draw(seeds)
    labels = rng.integers(0, draw(st.integers(1, table.rows)), table.rows)
    suppressed = labels == draw(st.sampled_from([-1, -1, int(labels[0])]))
    if suppressed.all():
        suppressed[:] = False
    kept = np.flatnonzero(~suppressed).astype(np.uint32)
    blocks = [kept[labels[kept] == label] for label in np.unique(labels[kept])]
    partition = Partition.of_blocks(blocks, [np.array([len(block)]) for block in blocks])
    return table, Regions(partition, np.flatnonzero(suppressed).astype(np.uint32))


def cells(released: Released, name: str) -> list[str | None]:
    """What a released column shows in each row of the input; None where the row is dropped."""
    column = next(column for column in released.columns if column.name == name)
    texts, classes = column.texts.to_list(), released.class_of.tolist()
    return [None if number < 0 else texts[column.of_class[number]] for number in classes]


def rows_by_class(recoding: Regions) -> list[list[int]]:
    partition = recoding.partition
    return [rows.tolist() for rows in np.split(partition.order, partition.starts[1:-1])]


def originals(attribute: Attribute, rows: list[int]) -> list[float | None]:
    """The numbers of some rows, None where missing."""
    assert isinstance(attribute.domain, Numeric)
    values = [*attribute.domain.values.tolist(), None]
    return [values[code] for code in attribute.codes[rows].tolist()]


def is_numeric(attribute: Attribute) -> bool:
    return isinstance(attribute.domain, Numeric)


def check_bounds(values: list[float | None], low: str, high: str, edges: str) -> None:
    """Whether two ends of an interval are those of a class with these values."""
    present = [value for value in values if value is not None]
    if not present:
        assert low == high == "?"
    elif edges == "tight":
        assert (float(low), float(high)) == (min(present), max(present))
    elif low == high == SUPPRESSED:
        return
    elif min(present) == max(present) and low and high:
        assert float(low) == float(high) == min(present)
    else:
        assert float(low or "-inf") <= min(present) and max(present) <= float(high or "inf")


def ends(text: str) -> tuple[str, str]:
    """The two ends of an interval, or of one value alone."""
    if opened := re.fullmatch(r"(.*\d)([+-])", text):
        return (opened[1], "") if opened[2] == "+" else ("", opened[1])
    interval = re.fullmatch(r"\[(.*);(.*)[\])]", text)
    return (interval[1], interval[2]) if interval else (text, text)


@pytest.mark.parametrize("edges", ["tight", "rounded"])
@settings(max_examples=some(50))
@given(case=recodings())
def test_intervals_and_bounds_hold_the_values_of_their_class(
    edges: Literal["tight", "rounded"], case: tuple[Table, Regions]
) -> None:
    table, recoding = case
    intervals = render(recoding, table, output(edges=edges), drop=False)
    bounds = render(recoding, table, output("bounds", edges=edges), drop=False)
    for attribute in filter(is_numeric, table.attributes):
        texts = cells(intervals, attribute.name)
        pairs = zip(cells(bounds, f"{attribute.name}_low"), cells(bounds, f"{attribute.name}_high"), strict=True)
        low, high = zip(*pairs, strict=True)
        for rows in rows_by_class(recoding):
            row = rows[0]
            own = originals(attribute, rows)
            mixed = None in own and set(own) != {None} and texts[row] != SUPPRESSED
            assert str(texts[row]).endswith(" or ?") == mixed
            shown = tuple(str(end).removesuffix(".0") for end in (low[row], high[row]))  # of decimals, it has a point
            assert ends(str(texts[row]).removesuffix(" or ?")) == shown
            if any(column.name == f"{attribute.name}_missing" for column in bounds.columns):
                maybe = cells(bounds, f"{attribute.name}_missing")[row]
                assert maybe == (
                    SUPPRESSED if texts[row] == SUPPRESSED else "maybe" if mixed else "yes" if None in own else "no"
                )
            else:
                assert not mixed
            check_bounds(originals(attribute, rows), str(low[row]), str(high[row]), edges)
            assert len({texts[row] for row in rows}) == 1


@pytest.mark.parametrize("mode", ["mean", "median"])
@settings(max_examples=some(50))
@given(case=recodings())
def test_points_are_those_of_numpy(mode: Literal["mean", "median"], case: tuple[Table, Regions]) -> None:
    table, recoding = case
    released = render(recoding, table, output(mode), drop=False)
    for attribute in filter(is_numeric, table.attributes):
        texts = cells(released, attribute.name)
        for rows in rows_by_class(recoding):
            values, text = originals(attribute, rows), str(texts[rows[0]])
            present = [value for value in values if value is not None]
            assert text.endswith(" or ?") == (0 < len(present) < len(values))
            if present:
                expected = getattr(np, mode)(present)
                assert float(text.removesuffix(" or ?")) == pytest.approx(expected, abs=1e-6)
            else:
                assert text == "?"


def leaves_under(domain: Taxonomy, label: str) -> set[str]:
    node = domain.labels.index(label)
    return set(domain.leaf_text()[domain.start[node] : domain.stop[node]])


@settings(max_examples=some(50))
@given(recodings())
def test_nodes_cover_their_class_and_no_lower_node_does(case: tuple[Table, Regions]) -> None:
    table, recoding = case
    released = render(recoding, table, output(), drop=False)
    for attribute in table.attributes:
        if not isinstance(attribute.domain, Taxonomy):
            continue
        domain, leaves = attribute.domain, attribute.domain.leaf_text()
        for rows in rows_by_class(recoding):
            present = {leaves[code] for code in attribute.codes[rows]}
            label = str(cells(released, attribute.name)[rows[0]])
            assert present <= leaves_under(domain, label)
            below = [domain.labels[node] for node in np.flatnonzero(domain.parent == domain.labels.index(label))]
            assert not any(present <= leaves_under(domain, child) for child in below)


def split_set(text: str) -> list[str]:
    """The values of a set, read one character at a time."""
    values, escape = [""], False
    for character in text.removeprefix("{").removesuffix("}") if text.startswith("{") else text:
        if escape or character not in "\\|":
            values[-1], escape = values[-1] + character, False
        elif character == "\\":
            escape = True
        else:
            values.append("")
    return values


@settings(max_examples=some(50))
@given(recodings())
def test_sets_are_the_values_of_their_class(case: tuple[Table, Regions]) -> None:
    table, recoding = case
    released = render(recoding, table, output(categorical="set"), drop=False)
    for attribute in table.attributes:
        if isinstance(attribute.domain, Taxonomy):
            leaves, texts = attribute.domain.leaf_text(), cells(released, attribute.name)
            for rows in rows_by_class(recoding):
                present = [leaves[code] for code in np.unique(attribute.codes[rows])]
                assert split_set(str(texts[rows[0]])) == present


@given(st.lists(st.text("ab\\|{}é ", max_size=4), min_size=1, max_size=5, unique=True))
def test_sets_of_any_text_read_back(values: list[str]) -> None:
    domain = Taxonomy("c", np.array([range(len(values)), [len(values)] * len(values)], np.int32), [*values, "*"])
    table = table_of(categorical(values, domain))
    together = Regions(Partition.of_labels(np.zeros(len(values), np.int64)), np.empty(0, np.uint32))
    apart = Regions(Partition.of_labels(np.arange(len(values))), np.empty(0, np.uint32))
    assert split_set(str(cells(render(together, table, output(categorical="set"), drop=False), "c")[0])) == values
    alone = cells(render(apart, table, output(categorical="set"), drop=False), "c")
    assert [split_set(str(text)) for text in alone] == [[value] for value in values]


def test_how_sets_read() -> None:
    assert escaped("a|b{c}\\") == "a\\|b\\{c\\}\\\\"
    table = table_of(categorical(["x|y", "z", "x|y"], taxonomy("z *", "x|y *")))
    recoding = Regions(Partition.of_labels(np.array([0, 0, 1])), np.empty(0, np.uint32))
    texts = cells(render(recoding, table, output(categorical="set"), drop=False), "c")
    assert texts == ["{z|x\\|y}", "{z|x\\|y}", "x\\|y"]


# --- classes ---------------------------------------------------------------------------------------------------------


modes = st.builds(
    output,
    st.sampled_from(["interval", "bounds", "mean", "median"]),
    st.sampled_from(["node", "set"]),
    st.sampled_from(["tight", "rounded"]),
)


@settings(max_examples=some(100))
@given(recodings(), modes, st.booleans())
def test_classes_are_what_a_reader_can_tell_apart(case: tuple[Table, Regions], mode: Output, drop: bool) -> None:
    table, recoding = case
    released = render(recoding, table, mode, drop=drop)
    gone = set(recoding.suppressed.tolist())
    columns = [cells(released, column.name) for column in released.columns]
    kept: dict[tuple[Any, ...], list[int]] = {}
    for row in range(table.rows):
        texts = tuple(column[row] for column in columns)
        if row not in gone:
            kept.setdefault(texts, []).append(row)
        else:
            assert texts == (None if drop else SUPPRESSED,) * len(columns)
    hidden = len(kept.pop((SUPPRESSED,) * len(columns), []))
    classes = list(kept.values())
    assert released.sizes.tolist() == [len(rows) for rows in classes]
    assert [released.class_of[rows].tolist() for rows in classes] == [
        [number] * len(rows) for number, rows in enumerate(classes)
    ]
    assert (released.suppressed_rows, released.dropped_rows) == (len(gone) + hidden, len(gone) if drop else 0)
    assert all(len(set(column.texts)) == len(column.texts) for column in released.columns)


def test_classes_that_read_the_same_are_one() -> None:
    domain = taxonomy("a A *", "b A *", "c A *", "d A *", "e *")
    table = table_of(categorical(list("abcde"), domain), numeric([1, 2, 1, 2, 1]))
    recoding = Regions(Partition.of_labels(np.array([0, 0, 1, 1, 2])), np.empty(0, np.uint32))
    nodes = render(recoding, table, output(), drop=False)
    assert nodes.sizes.tolist() == [4, 1] and nodes.class_of.tolist() == [0, 0, 0, 0, 1]
    assert [ncp.tolist() for ncp in nodes.ncp] == [[0.8, 0.0], [1.0, 0.0]]
    assert render(recoding, table, output(categorical="set"), drop=False).sizes.tolist() == [2, 2, 1]


def test_more_columns_of_more_texts_than_a_key_of_64_bits_holds() -> None:
    """Six columns of 2048 texts, the suppressed one among them; the last row differs from the first by 2 ** 64."""
    first, *others = (numeric([*range(2047), 512 if index == 0 else 0], f"q{index}") for index in range(6))
    single = Partition.of_labels(np.arange(2048))
    released = render(Regions(single, np.empty(0, np.uint32)), table_of(first, *others), output(), drop=False)
    assert [len(column.texts) for column in released.columns] == [2048] * 6
    assert released.sizes.tolist() == [1] * 2048


def test_names_of_released_columns() -> None:
    table = table_of(numeric([1, 2], "age"), categorical(["a", "a"], taxonomy("a *", name="sex")))
    recoding = Regions(Partition.of_labels(np.array([0, 0])), np.empty(0, np.uint32))
    released = render(recoding, table, output("bounds"), drop=False)
    assert [(column.name, column.attribute) for column in released.columns] == [
        ("age_low", "age"),
        ("age_high", "age"),
        ("sex", "sex"),
    ]
    assert [column.name for column in released.columns_of("age")] == ["age_low", "age_high"]


def test_what_the_report_says_of_a_recoding() -> None:
    assert Regions(Partition.of_labels(np.array([3, 1, 3])), np.empty(0, np.uint32)).summary() == {
        "kind": "regions",
        "regions": 2,
        "suppressed_rows": 0,
    }


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (5.0, "5"),
        (0.1 + 0.2, "0.3"),
        (-0.0, "0"),
        (-1e-9, "0"),
        (1e21, "1000000000000000000000"),
        (12.5, "12.5"),
        (2 / 3, "0.666667"),
        (-7.25, "-7.25"),
    ],
)
def test_numbers_read_plainly(number: float, text: str) -> None:
    assert format_number(number) == text


def shown_cost(attribute: Attribute, rows: list[int]) -> float:
    """NCP of a class: of an interval of numbers, and 1/leaves more where missing values are among them."""
    codes = attribute.codes[rows].tolist()
    present = [code for code in codes if code != attribute.domain.missing]
    if not is_numeric(attribute) or not 0 < len(present) < len(codes):
        return cost(attribute.domain, codes)
    return min(1.0, cost(attribute.domain, present) + 1 / attribute.domain.size)


@settings(max_examples=some(50))
@given(recodings(), st.sampled_from(["interval", "mean"]), st.sampled_from(["node", "set"]))
def test_a_row_costs_what_its_class_of_the_recoding_does(
    case: tuple[Table, Regions], numbers: Literal["interval", "mean"], categories: Literal["node", "set"]
) -> None:
    table, recoding = case
    released = render(recoding, table, output(numbers, categories), drop=False)
    for attribute, ncp in zip(table.attributes, released.ncp, strict=True):
        expected = np.zeros(len(released.sizes) + 1)
        for rows in rows_by_class(recoding):
            expected[released.class_of[rows[0]]] += len(rows) * shown_cost(attribute, rows)
        assert (ncp * released.sizes).tolist() == pytest.approx(expected[:-1].tolist())


def test_categories_as_bounds_are_the_leaves_under_their_node() -> None:
    domain = taxonomy("a A *", "b A *", "c B *", "d B *", missing="?")
    table = table_of(categorical(list("abcd?a?"), domain))
    recoding = Regions(Partition.of_labels(np.array([0, 0, 1, 2, 3, 2, 3])), np.empty(0, np.uint32))
    released = render(recoding, table, output(categorical="bounds"), drop=False)
    assert [column.name for column in released.columns] == ["c_low", "c_high"]
    assert cells(released, "c_low") == ["0", "0", "2", "0", "?", "0", "?"]
    assert cells(released, "c_high") == ["1", "1", "2", "4", "?", "4", "?"]


def test_suppressed_rows_read_as_such_in_both_bounds() -> None:
    table = table_of(categorical(list("aab"), taxonomy("a *", "b *")))
    recoding = Regions(Partition.of_blocks([np.array([0, 1], np.uint32)], [np.array([2])]), np.array([2], np.uint32))
    released = render(recoding, table, output(categorical="bounds"), drop=False)
    assert cells(released, "c_low") == cells(released, "c_high") == ["0", "0", SUPPRESSED]
