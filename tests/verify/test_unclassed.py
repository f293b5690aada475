"""The second opinion of a bucketized table: by hand, and for files that do not belong together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.channels import replaced, representable, seeded_bits
from anonymize.channels.problem import Guarded, JointAxis, pose
from anonymize.errors import DataError
from anonymize.verify import Check
from anonymize.verify.unclassed import (
    Bound,
    RatioBound,
    Reading,
    measure_bucketized,
    measure_counted,
    measure_distorted,
)

QIT = pl.LazyFrame({"age": ["1", "2", "2", "3", "3"], "g": ["1", "1", "2", "2", "2"]})
ST = pl.LazyFrame({"g": ["1", "1", "2", "2"], "ill": ["a", "b", "a", "c"], "count": ["1", "1", "2", "1"]})
CHECKS = [Check("distinct-l-diversity", "ill", {"l": 2}), Check("frequency-l-diversity", "ill", {"l": 2})]


def test_groups_are_measured_and_people_are_at_the_risk_of_their_quasi_identifiers() -> None:
    verdict = measure_bucketized(QIT, ST, ["age"], CHECKS, Reading("g"))
    assert [result.achieved["l"] for result in verdict.results] == [2, 1.5]
    assert [result.satisfied for result in verdict.results] == [True, False]
    assert [result.failing_rows for result in verdict.results] == [0, 3]
    assert verdict.classes == {"count": 2, "min_size": 2, "mean_size": 2.5, "max_size": 3}
    assert verdict.risk["prosecutor_max"] == 1
    assert verdict.rows == 5


def test_one_file_is_the_same() -> None:
    joined = QIT.with_columns(ill=pl.Series(["b", "a", "a", "c", "a"]))
    assert measure_bucketized(joined, None, ["age"], CHECKS, Reading("g")) == measure_bucketized(
        QIT, ST, ["age"], CHECKS, Reading("g")
    )


def test_a_missing_value_does_not_count() -> None:
    verdict = measure_bucketized(QIT, ST.with_columns(pl.col("ill").replace("c", "")), ["age"], CHECKS, Reading("g"))
    assert [result.achieved["l"] for result in verdict.results] == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": ["1", "1", "1", "1"]}, "1 groups have other numbers of rows"),
        ({"g": ["1", "1", "2", "3"]}, "2 groups have other numbers of rows"),
        ({"count": ["1", "1", "3", "0"]}, "1 counts of the sensitive table are not whole numbers"),
        ({"count": ["1", "x", None, "1"]}, "2 counts"),
    ],
    ids=["fewer", "another group", "none", "no number"],
)
def test_files_that_do_not_belong_together(change: dict[str, list[str]], message: str) -> None:
    other = ST.with_columns(**{name: pl.Series(values) for name, values in change.items()})
    with pytest.raises(DataError, match=message):
        measure_bucketized(QIT, other, ["age"], CHECKS, Reading("g"))


# --- randomized -------------------------------------------------------------------------------------------------------

ROWS = 5000
SIZES = {"a": 2, "b": 4, "s": 3}


def original(seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    a, b = random.integers(0, 2, ROWS), random.choice(4, ROWS, p=[0.7, 0.1, 0.1, 0.1])
    s = np.where(random.random(ROWS) < 0.4, (a + b) % 3, random.integers(0, 3, ROWS))
    return pl.DataFrame({name: codes.astype(np.uint8) for name, codes in {"a": a, "b": b, "s": s}.items()})


def told(p: dict[str, float]) -> dict[str, object]:
    """Parameters; what is left alone has no values."""
    attributes = []
    for name, size in SIZES.items():
        role = "sensitive" if name == "s" else "quasi-identifier"
        each = {"name": name, "role": role, "p": p.get(name, 1.0)}
        attributes.append(each | ({"values": [f"{name}{code}" for code in range(size)]} if name in p else {}))
    return {"attributes": attributes}


def shown(table: pl.DataFrame, p: dict[str, float], seed: int = 2) -> pl.LazyFrame:
    """The table as text, distorted."""
    bits = seeded_bits(seed)
    columns = {}
    for name, size in SIZES.items():
        codes = replaced(table[name].to_numpy(), p.get(name, 1.0), size, bits)
        columns[name] = pl.Series([f"{name}{code}" for code in range(size)]).gather(codes)
    return pl.DataFrame(columns).lazy()


def drawn(**p: float) -> dict[str, float]:
    return {name: representable(each, SIZES[name]) for name, each in p.items()}


@given(st.integers(0, 50), st.sampled_from([(), ("a",), ("b",), ("s",), ("a", "b"), ("a", "s"), ("a", "b", "s")]))
def test_the_risk_is_that_of_the_search(seed: int, moved: tuple[str, ...]) -> None:
    random, table = np.random.default_rng(seed), original(seed).head(200)
    p = drawn(**{name: random.uniform(1 / SIZES[name] + 0.05, 0.99) for name in moved})
    missing = 1 if seed % 3 == 0 else None
    axes = [JointAxis(table[name].to_numpy(), SIZES[name], name in p) for name in ("a", "b")]
    posed = pose(axes, [Guarded(table["s"].to_numpy(), missing, "s" in p, np.array([2.0, 3.0, 2.0]))])
    chosen = [p[name] for name in ("a", "b") if name in p] + [1.0] * (posed.pi.ndim - len({"a", "b"} & p.keys()))
    worst, _ = posed.risk([*chosen, p.get("s", 1.0)])
    verdict, _ = measure_distorted(shown(table, p), table, told(p), [Bound("s", 2, {1: 3.0}, missing)])
    (result,) = verdict.results
    assert result.achieved["l"] == pytest.approx(2 / worst)
    assert result.satisfied == (worst <= 1 + 1e-6)
    assert (result.failing_rows > 0) == (not result.satisfied)


@pytest.mark.parametrize("seed", range(5))
def test_sound_releases_pass(seed: int) -> None:
    table, p = original(seed), drawn(a=0.8, b=0.6, s=0.9)
    verdict, wrong = measure_distorted(shown(table, p, seed + 100), table, told(p), [Bound("s", 1, {}, None)])
    assert not wrong
    assert verdict.satisfied
    assert verdict.rows == ROWS


@pytest.mark.parametrize(
    ("really", "attribute"),
    [
        ({"a": 1.0, "b": 0.6, "s": 0.9}, "a"),
        ({"a": 0.8, "b": 0.75, "s": 0.9}, "b"),
        ({"a": 0.8, "b": 0.6, "s": 0.8}, "s"),
    ],
    ids=["not at all", "too little", "too much"],
)
def test_another_distortion_than_the_parameters_say_is_noticed(really: dict[str, float], attribute: str) -> None:
    table, p = original(1), drawn(a=0.8, b=0.6, s=0.9)
    _, wrong = measure_distorted(shown(table, drawn(**really)), table, told(p), [])
    assert len(wrong) == 1
    assert wrong[0].startswith(f"{attribute}: ")


@pytest.mark.parametrize("b", [0.6, 0.75])
def test_counted_elsewhere(b: float) -> None:
    """The same verdict, and the same that is wrong, from counts of the rows."""
    table, p = original(3), drawn(a=0.8, b=0.6)
    text = shown(table, drawn(a=0.8, b=b)).with_columns(pl.col("a").replace("a1", "?" if b == 0.75 else "a1")).collect()
    both = pl.concat([table, text.rename({name: f"{name} shown" for name in SIZES})], how="horizontal")
    moves = [
        both.group_by(pl.col(name).alias("before"), pl.col(f"{name} shown").alias("text")).agg(pl.len().alias("rows"))
        if name in p
        else None
        for name in SIZES
    ]
    counted, bounds = table.group_by(*SIZES).len(), [Bound("s", 2, {1: 3.0}, 0)]
    verdict, wrong = measure_counted(moves, counted.select(*SIZES), counted["len"], told(p), bounds)
    own, expected = measure_distorted(text.lazy(), table, told(p), bounds)
    assert wrong == expected and bool(wrong) is (b == 0.75)
    assert verdict == own


def test_replacements_that_favour_a_value_are_noticed() -> None:
    table, p = original(1), drawn(b=0.6)
    text = shown(table, p).with_columns(b=pl.when(pl.col("b") == "b2").then(pl.lit("b3")).otherwise("b"))
    assert measure_distorted(text, table, told(p), [])[1]


def test_values_that_are_not_the_parameters_and_rows_that_are_lacking() -> None:
    table, p = original(1), drawn(a=0.8)
    text = shown(table, p).with_columns(a=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("?")).otherwise("a"))
    assert measure_distorted(text, table, told(p), [])[1] == [
        "a has 1 values that are not among those of its parameters"
    ]
    with pytest.raises(DataError, match="changed"):
        measure_distorted(shown(table, p).head(9), table, told(p), [])


def test_attributes_may_be_called_anything() -> None:
    table, p = original(1).rename({"a": "pi", "b": "rows", "s": "group"}), {"pi": 0.8, "rows": 0.7, "group": 0.9}
    attributes: list[dict[str, Any]] = [
        {"name": name, "role": role, "p": p[name], "values": [str(code) for code in range(size)]}
        for name, role, size in (
            ("pi", "quasi-identifier", 2),
            ("rows", "quasi-identifier", 4),
            ("group", "sensitive", 3),
        )
    ]
    bits = seeded_bits(9)
    text = pl.DataFrame(
        {
            each["name"]: replaced(table[each["name"]].to_numpy(), each["p"], len(each["values"]), bits).astype(str)
            for each in attributes
        }
    )
    verdict, wrong = measure_distorted(text.lazy(), table, {"attributes": attributes}, [Bound("group", 1, {}, None)])
    assert not wrong
    assert verdict.satisfied


@pytest.mark.parametrize(
    ("p", "bound", "achieved", "satisfied"),
    [
        (0.5, RatioBound("local-dp", "s", {"epsilon": 0.7}), {"epsilon": math.log(2)}, True),
        (0.5, RatioBound("local-dp", "s", {"epsilon": 0.69}), {"epsilon": math.log(2)}, False),
        (1.0, RatioBound("local-dp", "s", {"epsilon": 99.0}), {"epsilon": None}, False),
        (0.5, RatioBound("amplification", "s", {"rho1": 0.2, "rho2": 0.34}), {"rho1": 0.2, "rho2": 1 / 3}, True),
        (0.5, RatioBound("amplification", "s", {"rho1": 0.2, "rho2": 0.33}), {"rho1": 0.2, "rho2": 1 / 3}, False),
        (1.0, RatioBound("amplification", "s", {"rho1": 0.2, "rho2": 0.99}), {"rho1": 0.2, "rho2": 1.0}, False),
    ],
)
def test_what_a_row_tells(p: float, bound: RatioBound, achieved: dict[str, float | None], satisfied: bool) -> None:
    """Of three values, p = 1/2 and q = 1/4: the odds of two values change by 2, those of 1 : 4 to 2 : 4."""
    table = original(1)
    chances = {"s": p} if p < 1 else {}
    verdict, wrong = measure_distorted(shown(table, chances), table, told(chances), [bound])
    (result,) = verdict.results
    assert not wrong
    assert result.achieved == pytest.approx(achieved)
    assert result.satisfied == satisfied
    assert result.failing_rows == (0 if satisfied else ROWS)


@pytest.mark.parametrize(("kept", "noticed"), [(600, False), (601, True)])
def test_a_frequency_is_noticed_that_chance_hardly_ever_brings(kept: int, noticed: bool) -> None:
    """Of three frequencies at p = 0.5 a thousand draws may be off by KL = (log 10^8 + log 6) / 1000 = 0.02021: 600 of
    them by 0.02014, 601 by 0.02054."""
    table = pl.DataFrame({name: pl.repeat(0, 1000, dtype=pl.UInt8, eager=True) for name in SIZES})
    a = pl.Series(["a0"] * kept + ["a1"] * (1000 - kept))
    text = pl.DataFrame({"a": a, "b": pl.repeat("b0", 1000, eager=True), "s": pl.repeat("s0", 1000, eager=True)})
    wrong = measure_distorted(text.lazy(), table, told({"a": 0.5}), [])[1]
    assert wrong == (["a: 2 of 3 frequencies are not those of a distortion with p = 0.5"] if noticed else [])
