"""A first line that looks like the rows below it, and names that are numbers and yet names."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from anonymize.errors import DataError, UsageError
from anonymize.spec import Spec
from anonymize.table import Source
from anonymize.table.named import looks_like_cells

draw = random.Random(2)
COLUMNS: dict[str, Callable[[], str]] = {
    "ages": lambda: str(draw.randrange(20, 60)),
    "prices": lambda: f"{draw.random():.2f}",
    "years": lambda: str(draw.randrange(1930, 2010)),
    "dates": lambda: f"{draw.randrange(1, 32)}/{draw.randrange(1, 13)}/19{draw.randrange(10, 99)}",
    "postcodes": lambda: f"{draw.randrange(1000, 9999)} {draw.choice('AB')}{draw.choice('CD')}",
    "sexes": lambda: draw.choice("mf"),
    "names": lambda: "".join(draw.choice("abcdefghij") for _ in range(9)),
}


def cells(*kinds: str, rows: int = 60) -> list[list[str]]:
    return [[COLUMNS[kind]() for kind in kinds] for _ in range(rows)]


ROWS = [
    ["ages"],
    ["years"],
    ["dates"],
    ["postcodes"],
    ["sexes"],
    ["ages", "sexes"],
    ["names", "ages", "postcodes"],
    ["names", "years", "dates", "sexes"],
    ["prices", "ages", "ages"],
]


@pytest.mark.parametrize("kinds", ROWS, ids=str)
def test_a_row_looks_like_a_row(kinds: list[str]) -> None:
    first, *others = cells(*kinds)
    assert looks_like_cells(first, others)


@pytest.mark.parametrize("kinds", ROWS, ids=str)
def test_also_with_a_cell_that_is_missing(kinds: list[str]) -> None:
    first, *others = cells(*kinds, "ages")
    assert looks_like_cells([*first[:-1], ""], others) or kinds == ["names"]


@pytest.mark.parametrize("kinds", ROWS, ids=str)
def test_names_do_not(kinds: list[str]) -> None:
    assert not looks_like_cells(kinds, cells(*kinds))


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["2019", "2020"], ["ages", "ages"]),
        (["country", "2019", "2020"], ["names", "prices", "prices"]),
        (["1", "2", "3"], ["ages", "ages", "ages"]),
        (["person", "1", "2", "3", "4"], ["names", "sexes", "sexes", "ages", "ages"]),
        (["0", "1", "2"], ["names", "prices", "ages"]),
        (["Male", "Age"], ["sexes", "ages"]),
        (["q1", "q2"], ["sexes", "sexes"]),
    ],
    ids=str,
)
def test_names_may_be_numbers(names: list[str], kinds: list[str]) -> None:
    assert not looks_like_cells(names, cells(*kinds))


def test_one_row_tells_nothing() -> None:
    assert not looks_like_cells(["25", "m"], [["31", "m"]])
    assert not looks_like_cells(["25", "m"], [])


# --- a table without names --------------------------------------------------------------------------------------------


def source(path: Path, text: str, **given: object) -> Source:
    path.write_text(text, encoding="utf-8")
    return Source.open(
        Spec.model_validate({"version": 1, "quasi_identifiers": {"column_1": {}}}).reading(**given), path
    )


TEXTS: dict[str, tuple[str, list[list[str | None]]]] = {
    "plain": ("25,m\n31,f\n", [["25", "m"], ["31", "f"]]),
    "no last line end": ("25,m\n31,f", [["25", "m"], ["31", "f"]]),
    "a mark of bytes": ("\ufeff25,m\n31,f\n", [["25", "m"], ["31", "f"]]),
    "quoted, over two lines": ('"2\n5",m\n31,f\n\n', [["2\n5", "m"], ["31", "f"]]),
    "one row": ("25,m\n", [["25", "m"]]),
    "one column, the first of it missing": ("\n25\n", [[None], ["25"]]),
    "alike": ("1,1\n1,1\n", [["1", "1"], ["1", "1"]]),
    "an empty field": (",m\n31,f\n", [[None, "m"], ["31", "f"]]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_line_is_a_row(name: str, tmp_path: Path) -> None:
    text, rows = TEXTS[name]
    with source(tmp_path / "t.csv", text, header=False) as opened:
        opened.check()
        assert opened.columns == tuple(f"column_{number + 1}" for number in range(len(rows[0])))
        assert opened.scan().collect().rows() == [tuple(row) for row in rows]
        assert opened.rows == len(rows)
        assert opened.line_of(0) == 1


def test_a_record_that_is_not_sound_is_found_at_its_line(tmp_path: Path) -> None:
    with source(tmp_path / "t.csv", "1,2\n3\n", header=False) as opened, pytest.raises(DataError) as error:
        opened.check()
    assert str(error.value).endswith("t.csv:2: 1 field where the first line has 2")


def test_a_file_that_names_its_columns_is_no_such_table(tmp_path: Path) -> None:
    with source(tmp_path / "t.csv", "a,b\n1,2\n") as opened:
        opened.scan().collect().write_parquet(tmp_path / "t.parquet")
    spec = Spec.model_validate({"version": 1, "quasi_identifiers": {"a": {}}})
    with pytest.raises(UsageError, match=r"input\.header"):
        Source.open(spec.reading(header=False), tmp_path / "t.parquet")


@pytest.mark.parametrize("text", ["1,1,3\n2,4,5\n3,1,2\n", "5,,m\n4,2,m\n6,1,f\n"], ids=["alike", "missing"])
def test_a_doubtful_first_line_is_refused_before_it_is_found_to_be_no_header(tmp_path: Path, text: str) -> None:
    spec = Spec.model_validate({"version": 1, "quasi_identifiers": {"a": {}}})
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(UsageError, match=r"input\.header: false"):
        Source.open(spec, tmp_path / "t.csv", doubtful=True)
    with pytest.raises(DataError, match=r"input\.header: false"):
        Source.open(spec, tmp_path / "t.csv")
