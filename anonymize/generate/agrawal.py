"""Tables for classification: nine attributes of people, and a group, A or B, that follows from them by a function.

The attributes are drawn independently, but for two: a salary of 75,000 or more comes without a commission, and a
house's value follows from its zipcode. There are ten functions. Those from 1 to 6 compare attributes with constants, in
each of three bands of age; those from 7 to 10 ask whether a weighted sum, the disposable income, is positive. All
amounts are whole numbers, and the group is that of the numbers before they are perturbed.

Source: Agrawal, Imielinski, Swami: Database mining, a performance perspective, IEEE TKDE 5(6), 1993; as used in
LeFevre, DeWitt, Ramakrishnan: Workload-aware anonymization, KDD 2006, figure 6 and section 4.3.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.generate import Roles, blocks, stream
from anonymize.records import dataclass

Numbers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Columns: TypeAlias = Mapping[str, Numbers]

RANGES = {
    "salary": (20_000, 150_000),
    "commission": (10_000, 75_000),
    "age": (20, 80),
    "elevel": (0, 4),
    "car": (1, 20),
    "zipcode": (0, 9),
    "hyears": (1, 30),
    "loan": (0, 500_000),
    "total": (30_000, 150_000),
}
"""Lowest and highest value of each attribute that is uniform; `total` is salary and commission, which is not shown."""
NO_COMMISSION = 75_000
"""Salaries from here on come without a commission."""
HOUSE = 100_000
"""Half of this to one and a half, times the zipcode, is what a house is worth."""
COLUMNS = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")


# --- the functions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Between:
    """That an attribute is between two numbers, or one of them."""

    attribute: str
    bounds: tuple[int, int]

    def holds(self, columns: Columns) -> Bools:
        """(rows,) where it holds."""
        (low, high), values = self.bounds, columns[self.attribute]
        return np.asarray((values >= low) & (values <= high))

    def varied(self, random: np.random.Generator) -> Between:
        """A condition on the same attribute, between two random numbers of its range."""
        return replace(self, bounds=_two_of(RANGES[self.attribute], random))


@dataclass(frozen=True)
class Choice:
    """`then` where `condition` holds, `other` elsewhere."""

    condition: Between
    then: Between
    other: Between

    def holds(self, columns: Columns) -> Bools:
        """(rows,) where it holds."""
        return np.where(self.condition.holds(columns), self.then.holds(columns), self.other.holds(columns))

    def varied(self, random: np.random.Generator) -> Choice:
        """A choice among the same attributes, between other numbers."""
        return Choice(self.condition.varied(random), self.then.varied(random), self.other.varied(random))


@dataclass(frozen=True)
class Always:
    """Everybody, or nobody."""

    everybody: bool

    def holds(self, columns: Columns) -> Bools:
        """(rows,) the same everywhere."""
        return np.full(len(columns["age"]), self.everybody)

    def varied(self, random: np.random.Generator) -> Always:
        """Itself: there is nothing to vary."""
        return self


@dataclass(frozen=True)
class Banded:
    """Functions 1 to 6: a test for each of three bands of age, which end below `ages[0]`, below `ages[1]`, never."""

    bands: tuple[Between | Choice | Always, ...]
    ages: tuple[int, int] = (40, 60)

    def holds(self, columns: Columns) -> Bools:
        """(rows,) who is in group A."""
        band = np.searchsorted(np.array(self.ages), columns["age"], side="right")
        return np.asarray(np.choose(band, [test.holds(columns) for test in self.bands]))

    def varied(self, random: np.random.Generator) -> Banded:
        """The function with every constant drawn anew, uniformly over the range of its attribute."""
        ages = _two_of(RANGES["age"], random)
        return Banded(tuple(test.varied(random) for test in self.bands), ages)


@dataclass(frozen=True)
class Disposable:
    """Functions 7 to 10: whether 67 % of the income, less 5,000 a level of education, less a share of the loan, plus a
    share of the equity in the house, is more than `needed`. Counted in whole hundredths, so that nothing is rounded."""

    needed: int
    elevel: int = 0
    loan: int = 0
    equity: int = 0

    def holds(self, columns: Columns) -> Bools:
        """(rows,) who is in group A. The equity is a tenth of the house's value for each year beyond the twentieth."""
        hundredths = 67 * columns["total"] - 100 * self.elevel * columns["elevel"] - self.loan * columns["loan"]
        equity = columns["hvalue"] * np.maximum(columns["hyears"] - 20, 0)  # tenths
        return np.asarray(10 * hundredths + self.equity * equity > 1000 * self.needed)


def _each(attribute: str, *bounds: tuple[int, int]) -> tuple[Between, ...]:
    return tuple(Between(attribute, each) for each in bounds)


def _two_of(span: tuple[int, int], random: np.random.Generator) -> tuple[int, int]:
    """Two numbers drawn uniformly between two others, or one of them, in ascending order."""
    low, high = sorted(random.integers(*span, 2, endpoint=True).tolist())
    return low, high


_K = 1000
_SALARY = ((50 * _K, 100 * _K), (75 * _K, 125 * _K), (25 * _K, 75 * _K))
_ELEVEL = _each("elevel", (0, 1), (1, 3), (2, 4))

FUNCTIONS: dict[int, Banded | Disposable] = {
    1: Banded((Always(True), Always(False), Always(True))),
    2: Banded(_each("salary", *_SALARY)),
    3: Banded(_ELEVEL),
    4: Banded(
        tuple(
            map(
                Choice,
                _ELEVEL,
                _each("salary", (25 * _K, 75 * _K), (50 * _K, 100 * _K), (50 * _K, 100 * _K)),
                _each("salary", (50 * _K, 100 * _K), (75 * _K, 125 * _K), (25 * _K, 75 * _K)),
            )
        )
    ),
    5: Banded(
        tuple(
            map(
                Choice,
                _each("salary", *_SALARY),
                _each("loan", (100 * _K, 300 * _K), (200 * _K, 400 * _K), (300 * _K, 500 * _K)),
                _each("loan", (200 * _K, 400 * _K), (300 * _K, 500 * _K), (100 * _K, 300 * _K)),
            )
        )
    ),
    6: Banded(_each("total", *_SALARY)),
    7: Disposable(20 * _K, loan=20),
    8: Disposable(20 * _K, elevel=5 * _K),
    9: Disposable(10 * _K, elevel=5 * _K, loan=20),
    10: Disposable(10 * _K, elevel=5 * _K, equity=20),
}
"""What group A is, by the number of the function."""

VARIED = tuple(number for number, function in FUNCTIONS.items() if isinstance(function, Banded))
"""Functions whose constants can be varied: they compare an attribute with a constant."""


# --- the table --------------------------------------------------------------------------------------------------------


def frames(
    rows: int,
    seed: int,
    functions: Sequence[int] = (1,),
    *,
    varied: Collection[int] = (),
    perturb: float = 0,
    threads: int = 1,
) -> Iterator[pl.DataFrame]:
    """The table in pieces: COLUMNS as int64, then a group for each function, see `groups`.

    Args: rows, seed: both at least 0. functions: of FUNCTIONS, each once. varied: those of them, all in VARIED, whose
    constants are drawn at random, from the seed and the function's number alone. perturb: in [0, 1]: the width of the
    interval, as a share of an attribute's range, within which amounts and ages are moved at random once the groups are
    known. They stay in their range.
    """
    chosen = dict(
        zip(groups(functions), (_function(number, seed, number in varied) for number in functions), strict=True)
    )

    def draw(random: np.random.Generator, count: int) -> pl.DataFrame:
        columns = _attributes(random, count)
        labels = {
            name: pl.Series(["B", "A"], dtype=pl.String).gather(function.holds(columns).astype(np.uint32))
            for name, function in chosen.items()
        }
        if perturb:
            columns = _perturbed(columns, random, perturb)
        return pl.DataFrame({**{name: columns[name] for name in COLUMNS}, **labels})

    return blocks(draw, rows, seed, threads)


def groups(functions: Sequence[int]) -> list[str]:
    """Names of the columns of groups: `group` for one function, `group_2`, `group_7` ... for several."""
    return ["group"] if len(functions) == 1 else [f"group_{number}" for number in functions]


def _function(number: int, seed: int, vary: bool) -> Banded | Disposable:
    function = FUNCTIONS[number]
    if vary and isinstance(function, Banded):
        return function.varied(stream(seed, 0, number))
    return function


def _attributes(random: np.random.Generator, count: int) -> dict[str, Numbers]:
    """Every attribute, and `total`."""

    def uniform(name: str) -> Numbers:
        return random.integers(*RANGES[name], count, endpoint=True)

    columns = {name: uniform(name) for name in RANGES if name != "total"}
    columns["commission"][columns["salary"] >= NO_COMMISSION] = 0
    columns["hvalue"] = np.rint(columns["zipcode"] * (random.random(count) + 0.5) * HOUSE).astype(np.int64)
    columns["total"] = columns["salary"] + columns["commission"]
    return columns


def _perturbed(columns: dict[str, Numbers], random: np.random.Generator, share: float) -> dict[str, Numbers]:
    """The columns with noise on all that is continuous; a commission of 0 stays 0."""
    moved = dict(columns)
    for name in ("salary", "commission", "age", "hyears", "loan"):
        moved[name] = _moved(columns[name], *RANGES[name], random, share)
    moved["commission"][columns["commission"] == 0] = 0
    worth: Any = columns["zipcode"] * HOUSE
    moved["hvalue"] = _moved(columns["hvalue"], worth // 2, worth + worth // 2, random, share)
    return moved


def _moved(values: Numbers, low: Any, high: Any, random: np.random.Generator, share: float) -> Numbers:
    noise = (random.random(len(values)) - 0.5) * share * (high - low)
    return np.asarray(np.clip(np.rint(values + noise).astype(np.int64), low, high))


# --- the spec that goes with it ---------------------------------------------------------------------------------------


def roles(functions: Sequence[int] = (1,)) -> Roles:
    """What a spec says of the table: levels of education in two groups, makes of cars in fives, the rest numbers."""
    levels = [(str(level), "0 or 1" if level < 2 else "2 to 4", "*") for level in range(5)]
    cars = [(str(car), f"{car - (car - 1) % 5} to {car - (car - 1) % 5 + 4}", "*") for car in range(1, 21)]
    hierarchies = {"elevel": levels, "car": cars}
    definitions = {name: {} if name in hierarchies else {"type": "numeric"} for name in COLUMNS}
    return Roles(definitions, hierarchies, targets=groups(functions), k=25)
