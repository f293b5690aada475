"""Tables drawn block by block: the same whatever the threads, and the beginning of a longer one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from anonymize import generate as module
from anonymize.generate import blocks, stream


def draw(random: np.random.Generator, count: int) -> pl.DataFrame:
    return pl.DataFrame({"number": random.integers(0, 1000, count)})


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 10)


@pytest.mark.parametrize("rows", [0, 1, 10, 11, 95])
def test_rows_and_threads(rows: int) -> None:
    one = pl.concat(blocks(draw, rows, 4, threads=1))
    assert one.height == rows
    assert one.equals(pl.concat(blocks(draw, rows, 4, threads=3)))
    assert one.equals(pl.concat(blocks(draw, 120, 4, threads=2)).head(rows))


def test_blocks_differ_and_so_do_seeds() -> None:
    first, second = list(blocks(draw, 20, 4))
    assert not first.equals(second)
    assert not first.equals(next(blocks(draw, 10, 5)))


def test_streams_of_one_seed_are_apart() -> None:
    assert stream(1, 2).integers(2**60) == stream(1, 2).integers(2**60)
    assert len({int(stream(1, *key).integers(2**60)) for key in [(0,), (1,), (0, 0), (0, 1)]}) == 4


def test_what_goes_wrong_in_a_block_comes_through() -> None:
    def broken(random: np.random.Generator, count: int) -> pl.DataFrame:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(blocks(broken, 50, 1))
