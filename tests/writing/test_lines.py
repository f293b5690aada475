"""A release reads the same as lines and as data frames."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anonymize.recoding.columns import RecodedColumn, Released
from anonymize.spec import Role
from anonymize.table.forms import Lines, quoted
from anonymize.table.write import OutputFile
from anonymize.writing import sorted_rows
from anonymize.writing.columns import COMBINATIONS, HeldColumn, neighbours_as_one
from anonymize.writing.rows import LineLayout, RowLayout

ROLES: dict[str, Role] = {"a": "quasi-identifier", "b": "quasi-identifier", "p": "insensitive", "c": "quasi-identifier"}
CLASSES = {
    "by class": [0, 0, 0, 1, 1, 2, 2, 2, 0, 0],
    "scattered": [0, 1, 2, 0, 1, 2, 2, 1, 0, 1],
    "some left out": [0, 0, -1, -1, 2, 2, 1, 1, -1, 0],
    "none": [],
}


def release(class_of: list[int]) -> Released:
    texts = {"a": ["[1-2]", "3", "*"], "b": ["x,y", 'q"', "*"], "c": ["", "z", "*"]}
    shown = {"a": [0, 1, 0, 2], "b": [0, 1, 1, 2], "c": [1, 0, 1, 2]}
    columns = tuple(RecodedColumn(n, n, pl.Series(texts[n]), np.array(shown[n], np.uint8)) for n in texts)
    none = np.zeros(3)
    dropped = class_of.count(-1)
    return Released(np.array(class_of, np.int32), columns, np.ones(3, np.int64), (none,), (none,), dropped, dropped)


@pytest.mark.parametrize("class_of", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize("pseudonym", [None, pl.Series("who", list('ab,d"fghij'))], ids=["alone", "with a pseudonym"])
def test_lines_are_the_same_bytes(class_of: list[int], pseudonym: pl.Series | None, tmp_path: Path) -> None:
    released, rows = release(class_of), len(class_of)
    reading = RowLayout(released, ROLES, tuple(ROLES), "")
    lines = LineLayout(released, reading.places, reading.cells, ",")
    passing = pl.DataFrame({"p": [None, "", "1,5", '"', "plain"] * 2}, schema={"p": pl.String})[:rows]
    pseudonym = None if pseudonym is None else pseudonym[:rows]
    frame = reading.piece(passing, released.class_of, pseudonym)
    same = lines.piece(pl.DataFrame([quoted(passing["p"], ",")]), released.class_of, pseudonym)
    assert lines.possible and isinstance(same, Lines)
    written, both = [], list[pl.DataFrame | Lines]([frame, same])
    for number, piece in enumerate(both):
        with OutputFile(tmp_path / f"{number}.csv") as output:
            output.write([piece])
            written.append(output.part.read_bytes())
    assert written[0] == written[1]


def test_columns_of_classes_that_stand_side_by_side_are_one_text() -> None:
    released = release(CLASSES["by class"])
    reading = RowLayout(released, ROLES, tuple(ROLES), "")
    lines = LineLayout(released, reading.places, reading.cells, ",")
    piece = lines.piece(pl.DataFrame({"p": ["x"] * 10}), released.class_of)
    assert piece.columns == ("a", "b", "p", "c") and piece.parts.width == 3


def test_a_single_column_is_no_line() -> None:
    released = release(CLASSES["by class"])
    reading = RowLayout(released, {"a": "quasi-identifier"}, ("a",))
    assert not LineLayout(released, reading.places, reading.cells, ",").possible


# --- columns that pass through ---------------------------------------------------------------------------------------

TEXTS = [None, "", "1,5", '"', "plain"]


def held(rng: np.random.Generator, texts: list[str | None], rows: int) -> HeldColumn:
    return HeldColumn(pl.Series(texts, dtype=pl.String), rng.integers(0, len(texts), rows).astype(np.uint8))


@pytest.mark.parametrize("rows_held", [300, None])
def test_neighbours_of_few_texts_are_one_text_of_the_same_line(rows_held: int | None) -> None:
    rng, rows = np.random.default_rng(3), np.arange(299, -1, -1)
    columns = {name: held(rng, TEXTS, 300) for name in "abc"}
    columns["d"] = HeldColumn(pl.Series(map(str, range(300))))
    made = neighbours_as_one(columns, ["ab", "cd"], rows_held)
    assert list(made) == ["a", "c", "d"]
    parts = [
        pl.DataFrame([own.quoted(",").rows(rows).alias(name) for name, own in some.items()]) for some in (columns, made)
    ]
    separate, joined = (part.write_csv(include_header=False, quote_style="never") for part in parts)
    assert separate == joined


def test_so_many_combinations_of_texts_are_held_at_most() -> None:
    rng = np.random.default_rng(3)
    sizes = {"a": 128, "b": 128, "c": 2, "d": 5}
    columns = {name: held(rng, [str(n) for n in range(size)], 9) for name, size in sizes.items()}
    made = neighbours_as_one(columns, ["abcd"], 9)
    assert {name: len(own.quoted(",").cells) for name, own in made.items()} == {"a": COMBINATIONS, "c": 10}


@pytest.mark.parametrize("rows_held", [300, None])
def test_neighbours_are_compared_one_after_the_other(rows_held: int | None) -> None:
    rng = np.random.default_rng(5)
    columns = {name: held(rng, [*TEXTS, "10", "9"], 300) for name in "abc"}
    made = neighbours_as_one(columns, ["ab", "c"], rows_held)
    assert list(made) == ["a", "c"]
    separate, joined = (sorted_rows([own.sorting() for own in some.values()], 300) for some in (columns, made))
    assert np.array_equal(np.concatenate(list(separate)), np.concatenate(list(joined)))
