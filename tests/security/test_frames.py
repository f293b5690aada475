"""Cells that no column of single values can hold: refused by the name of their column, on every road, or passed over
where nothing reads them; and no error that a Python user sees has one of a library behind it, which may quote
a cell."""

from __future__ import annotations

import datetime
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import yaml

import anonymize
from anonymize.errors import AnonymizeError, DataError
from tests.security.commands import run

SECRET = "SECRETCELL"
ROWS: dict[str, list[Any]] = {"age": [31, 34, 52, 58] * 3, "ill": ["a", "b"] * 6, "ward": ["x", "y"] * 6}
SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric"}},
    "sensitive": {"ill": {}},
    "insensitive": ["ward"],
    "privacy": {"k": 2},
}
ROLES: dict[str, dict[str, Any]] = {
    "quasi-identifier": {"quasi_identifiers": {"age": {"type": "numeric"}, "odd": {}}},
    "sensitive": {"sensitive": {"ill": {}, "odd": {}}},
    "insensitive": {"insensitive": ["ward", "odd"]},
    "unit": {"unit": "odd"},
    "target": {"workload": {"targets": ["odd"]}},
}
NESTED = {"list": [[SECRET]] * 12, "struct": [{"a": SECRET}] * 12, "binary": [SECRET.encode()] * 12}


class Odd:
    """An object that no library has a type for."""

    def __repr__(self) -> str:
        return SECRET


def odd_frames() -> dict[str, Callable[[], Any]]:
    """Frames with a column `odd` of cells that are no single values, or of several kinds."""
    mixed: list[Any] = [1, SECRET, 2.5, datetime.date(2020, 1, 1)] * 3
    table = pa.table({**ROWS, "odd": pa.array(NESTED["list"])})
    frames: dict[str, Callable[[], Any]] = {
        "pandas mixed": lambda: pd.DataFrame({**ROWS, "odd": mixed}),
        "pandas objects": lambda: pd.DataFrame({**ROWS, "odd": [Odd()] * 12}),
        "pandas lists": lambda: pd.DataFrame({**ROWS, "odd": NESTED["list"]}),
        "polars objects": lambda: pl.DataFrame({**ROWS, "odd": pl.Series([Odd()] * 12, dtype=pl.Object)}),
        "arrow lists": lambda: table,
        "arrow unions": lambda: table.set_column(
            3, "odd", pa.UnionArray.from_sparse(pa.array([0] * 12, pa.int8()), [pa.array([SECRET] * 12)])
        ),
    }
    return frames | {
        f"polars {name}": lambda cells=cells: pl.DataFrame(ROWS | {"odd": cells}) for name, cells in NESTED.items()
    }


def chain(error: BaseException) -> list[BaseException]:
    """An error and all that stand behind it."""
    behind = [each for each in (error.__cause__, error.__context__) if each is not None]
    return [error, *(further for each in behind for further in chain(each))]


def refused(call: Callable[[], object]) -> AnonymizeError:
    """What a call raises, which shows no cell however it is printed."""
    with pytest.raises(AnonymizeError) as caught:
        call()
    assert chain(caught.value) == [caught.value]
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in f"{shown} {caught.value!r} {caught.value.args} {caught.value.problems}"
    return caught.value


@pytest.mark.parametrize("kind", odd_frames())
def test_a_frame_with_an_odd_column_is_refused_by_its_name(kind: str) -> None:
    frame, good = odd_frames()[kind](), pl.DataFrame(ROWS | {"odd": [SECRET] * 12})
    spec = SPEC | ROLES["insensitive"]
    released = anonymize.release(good, spec, "mondrian", threads=1)
    calls: list[Callable[[], object]] = [
        lambda: anonymize.release(frame, spec, "mondrian"),
        lambda: anonymize.audit(frame, spec),
        lambda: anonymize.evaluate(released.frame, spec, frame),
        lambda: anonymize.evaluate(frame, spec, good),
        lambda: anonymize.attack(released.frame, spec, frame),
        lambda: anonymize.attack(frame, spec, good),
        lambda: anonymize.recode(frame, released.recoding or {}),
        lambda: anonymize.init(frame),
    ]
    for call in calls:
        error = refused(call)
        assert error.exit_code == 3 and "odd" in str(error), str(error)


@pytest.mark.parametrize("kind", odd_frames())
def test_an_odd_column_that_is_left_out_is_passed_over(kind: str) -> None:
    frame = odd_frames()[kind]()
    released = anonymize.release(frame, SPEC | {"identifiers": ["odd"]}, "mondrian", threads=1)
    assert released.report["privacy"]["satisfied"] and "odd" not in list(pl.DataFrame(released.frame).columns)


def test_a_frame_that_cannot_be_collected_shows_no_cell() -> None:
    lazy = pl.LazyFrame(ROWS | {"odd": [SECRET] * 12}).with_columns(pl.col("odd").cast(pl.Int64))
    assert refused(lambda: anonymize.audit(lazy, SPEC)).exit_code == 3


def test_columns_of_pandas_without_a_text_for_a_name() -> None:
    columns: dict[Any, list[Any]] = {**ROWS, 2020: [1, SECRET] * 6}
    frame = pd.DataFrame(columns)
    assert "2020" in str(refused(lambda: anonymize.audit(frame, SPEC | {"insensitive": ["ward", "2020"]})))
    twice = pd.concat([frame, frame["ward"]], axis=1)
    assert "same name" in str(refused(lambda: anonymize.audit(twice, SPEC)))


def test_numbers_that_are_none_show_no_cell() -> None:
    frame = pl.DataFrame(ROWS | {"age": [SECRET] * 12})
    assert refused(lambda: anonymize.release(frame, SPEC)).exit_code == 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with an odd column, in both formats, a good one, and a spec for each role."""
    folder = tmp_path_factory.mktemp("odd")
    for name, cells in {**NESTED, "good": [SECRET] * 12}.items():
        pl.DataFrame(ROWS | {"odd": cells}).write_parquet(folder / f"{name}.parquet")
        pl.DataFrame(ROWS | {"odd": cells}).write_ipc(folder / f"{name}.arrow")
    for role, changes in {**ROLES, "identifier": {"identifiers": ["odd"]}}.items():
        (folder / f"{role}.yaml").write_text(yaml.safe_dump(SPEC | changes), encoding="utf-8")
    return folder


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("role", ROLES)
def test_a_file_with_an_odd_column_is_refused_by_its_name(folder: Path, role: str, kind: str, suffix: str) -> None:
    spec, odd, good = folder / f"{role}.yaml", folder / f"{kind}.{suffix}", folder / f"good.{suffix}"
    commands: list[tuple[object, ...]] = [
        ("mondrian", spec, "-i", odd, "-o", folder / "x.csv"),
        ("audit", spec, "-i", odd),
        ("evaluate", spec, good, "-i", odd),
        ("evaluate", spec, odd, "-i", good),
        ("attack", spec, odd, "-i", good),
        ("validate", spec, "-i", odd),
        ("audit", "-i", odd, "--qi", "age"),
        ("audit", "-i", odd, "--qi", "age,odd", "--sensitive", "ill"),
        ("init", odd),
    ]
    for command in commands:
        ended = run(*command)
        assert ended.returncode == 3 and "'odd'" in ended.stderr, (command, ended.stderr)
        assert SECRET not in ended.stdout + ended.stderr


@pytest.mark.parametrize("kind", NESTED)
def test_a_file_with_an_odd_column_that_is_left_out_is_released(folder: Path, tmp_path: Path, kind: str) -> None:
    made = run("mondrian", folder / "identifier.yaml", "-i", folder / f"{kind}.parquet", "-o", tmp_path / "x.csv")
    assert made.returncode == 0, made.stderr
    assert (
        run("evaluate", folder / "identifier.yaml", tmp_path / "x.csv", "-i", folder / f"{kind}.parquet").returncode
        == 0
    )


def test_a_bug_is_told_without_its_message() -> None:
    """An exception of any other kind: where it happened, and nothing that it quotes."""
    error = refused(lambda: anonymize.audit(Bent(), SPEC))
    assert isinstance(error, DataError) or error.exit_code == 70


class Bent:
    """A frame that breaks while it is read."""

    def __arrow_c_stream__(self, schema: object = None) -> object:
        raise RuntimeError(SECRET)

    def __len__(self) -> int:
        raise RuntimeError(SECRET)
