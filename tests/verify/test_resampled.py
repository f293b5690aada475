from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from anonymize.verify.resampled import DeclaredDomain, Marginal, _draws, _mixed, resampled

GOLDEN, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1
DOMAIN = {"a": DeclaredDomain(("x", "y"), missing=True), "n": DeclaredDomain(places=((-15, -1), (0, 9)), digits=1)}
MODEL = [Marginal(("a", "n"), (3, 2), pl.Series([5.5, 0.0, 2.25, 12.25, 20.0, 60.0]))]


def test_hashes_are_those_of_splitmix64() -> None:
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]  # the first of its stream from seed 0
    assert [_mixed(GOLDEN * step & WORD) for step in (1, 2, 3)] == published


@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (2**48 - 1, 5)])
def test_hashes_of_a_column_wrap_as_those_of_single_words(seed: int, stream: int) -> None:
    start = _mixed((seed + GOLDEN * (stream + 1)) & WORD)
    expected = [_mixed((start + GOLDEN * (place + 1)) & WORD) for place in range(50)]
    assert pl.select(_draws(seed, stream, pl.int_range(50))).to_series().to_list() == expected


def test_every_cell_has_its_share_of_the_rows_rounded_down_or_up() -> None:
    frame = resampled(MODEL, DOMAIN, 100, 3, ordered=False)
    bins = ["low" if number < 0 else "high" for number in frame["n"].cast(pl.Float64)]
    counts = Counter(zip(frame["a"], bins, strict=True))
    wanted = dict(zip([(a, n) for a in ("x", "y", None) for n in ("low", "high")], MODEL[0].values, strict=True))
    assert all(abs(counts[cell] - count) < 1 for cell, count in wanted.items()) and ("x", "high") not in counts


def test_numbers_are_multiples_of_the_step_within_their_bin() -> None:
    numbers = resampled(MODEL, DOMAIN, 400, 3, ordered=True)["n"]
    assert numbers.str.contains(r"^-?\d\.\d$").all() and "-0.0" not in numbers
    assert set(numbers) >= {"-1.5", "-0.1", "0.0", "0.9"}


def test_rows_in_order_are_in_that_of_leaves_and_numbers_missing_values_last() -> None:
    frame = resampled(MODEL, DOMAIN, 100, 3, ordered=True)
    keys = [({"x": 0, "y": 1, None: 2}[a], float(n)) for a, n in frame.rows()]
    assert keys == sorted(keys)
    assert sorted(frame.rows(), key=str) == sorted(resampled(MODEL, DOMAIN, 100, 3, ordered=False).rows(), key=str)


def test_what_a_separator_without_weight_is_followed_by_are_all_cells_together() -> None:
    domain = {name: DeclaredDomain(("0", "1")) for name in "abc"}
    first = Marginal(("a", "b"), (2, 2), pl.Series([10.0, 0.0, 0.0, 10.0]))
    second = Marginal(("b", "c"), (2, 2), pl.Series([0.0, 0.0, 3.0, 1.0]))
    counts = Counter(resampled([first, second], domain, 20, 3, ordered=True).select("b", "c").rows())
    assert {cell[0]: counts[cell[0], "0"] in (7, 8) for cell in counts} == {"0": True, "1": True}
