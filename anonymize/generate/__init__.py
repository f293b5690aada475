"""Synthetic tables: `agrawal`, for classification, and `census`, about people; each drawn block by block from a
random stream of its own, with the spec and hierarchies that go with it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import yaml
from numpy.typing import NDArray

from anonymize.records import dataclass

# --- blocks -----------------------------------------------------------------------------------------------------------
# A table drawn block by block, each from a random stream of its own, and the spec and hierarchies that go with it.

BLOCK = 100_000
"""Rows that are drawn at once. Changing this number changes the table."""

Draw = Callable[[np.random.Generator, int], pl.DataFrame]
"""(the block's random stream, rows) -> that many rows."""


def stream(seed: int, *key: int) -> np.random.Generator:
    """One of the independent random streams of a seed >= 0; which one, `key` says."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def blocks(draw: Draw, rows: int, seed: int, threads: int | None = None) -> Iterator[pl.DataFrame]:
    """`rows` rows in order, BLOCK at a time; one empty frame where there are none.

    The last block is drawn whole and cut, so that it begins as that of a longer table does. A few blocks at most are in
    memory.
    """
    numbers = range(max(-(-rows // BLOCK), 1))
    threads = threads or os.cpu_count() or 1

    def block(number: int) -> pl.DataFrame:
        return draw(stream(seed, number), BLOCK).head(rows - number * BLOCK)

    waiting: deque[Future[pl.DataFrame]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for number in numbers:
                waiting.append(pool.submit(block, number))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


# --- spec and hierarchies ---------------------------------------------------------------------------------------------

Hierarchies = Mapping[str, Sequence[tuple[str, ...]]]
"""By column: the path of each leaf, from the leaf to the root."""


@dataclass(frozen=True)
class Roles:
    """What a spec says of a table: `definitions` of the quasi-identifiers, in the order of columns, `hierarchies` of
    some of these, `sensitive` as the spec has them, columns that are `insensitive`, columns that are `targets`."""

    definitions: Mapping[str, Mapping[str, Any]]
    hierarchies: Hierarchies
    targets: Sequence[str]
    sensitive: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    insensitive: Sequence[str] = ()
    k: int = 10


def files(roles: Roles, path: Path, table: str) -> dict[Path, str]:
    """The texts of the spec at `path` and of its hierarchy files next to it, by where they go; the spec is the last.

    `table`: where the table goes, `-` for standard output, which leaves the spec without an input.
    """
    beside = {name: path.with_name(f"{path.stem}-{name}.csv") for name in roles.hierarchies}
    hierarchies = {
        beside[name]: "".join(";".join(path) + "\n" for path in paths) for name, paths in roles.hierarchies.items()
    }
    return {**hierarchies, path: _spec(roles, path, table, {name: file.name for name, file in beside.items()})}


def _spec(roles: Roles, path: Path, table: str, hierarchies: Mapping[str, str]) -> str:
    quasi = {
        name: {**definition, **({"hierarchy": hierarchies[name]} if name in hierarchies else {})}
        for name, definition in roles.definitions.items()
    }
    spec: dict[str, Any] = {"version": 1}
    if table != "-":
        spec["input"] = {"path": os.path.relpath(table, path.parent)}
    spec["quasi_identifiers"] = quasi
    if roles.sensitive:
        spec["sensitive"] = {name: dict(definition) for name, definition in roles.sensitive.items()}
    if roles.insensitive:
        spec["insensitive"] = list(roles.insensitive)
    spec |= {"privacy": {"k": roles.k}, "workload": {"targets": list(roles.targets)}}
    return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, width=120)


# --- census -----------------------------------------------------------------------------------------------------------
# A census-like table: people whose attributes depend on each other as those of a census do, roughly.
#
# Everything is invented; no figure is measured from data about people. Age and sex come first. Race depends on the
# region; education on age; marital status on age; citizenship on race; the class of work on age and education; the
# occupation on education and sex; hours on the class of work. The salary follows from age, sex, education, occupation
# and hours, and the salary class from the salary. The first digit of a zipcode belongs to the region.
#
# Dependencies are tables of whole percentages, one line for each value of what is depended on. Meant for trying
# things out, and for measuring speed on tables of any size: conclusions about people cannot be drawn from it.

Codes: TypeAlias = NDArray[np.uint8]
Slots: TypeAlias = NDArray[np.uint8]

SEX = ("Female", "Male")
REGION = ("Northeast", "South", "Midwest", "West")
RACE = ("White", "Black", "Asian", "Native", "Other")
EDUCATION = ("None", "Primary", "Some-high-school", "High-school", "Some-college", "Bachelors", "Masters", "Doctorate")
MARITAL = ("Never-married", "Married", "Divorced", "Separated", "Widowed")
CITIZENSHIP = ("Native-born", "Naturalized", "Foreign")
WORKCLASS = ("Private", "Self-employed", "Local-gov", "State-gov", "Federal-gov", "Without-pay", "Not-working")
OCCUPATION = (
    "None",
    "Clerical",
    "Craft",
    "Executive",
    "Farming",
    "Machine-operator",
    "Professional",
    "Sales",
    "Service",
)
NOT_WORKING = WORKCLASS.index("Not-working")
SALARY_CLASS = ("<30K", ">=30K")
THRESHOLD = 30_000

AGES = ((17, 24, 14), (25, 34, 20), (35, 44, 21), (45, 54, 17), (55, 64, 13), (65, 74, 9), (75, 90, 6))
"""First and last age of each band, and the percentage of people in it; even within a band."""

IN_REGION = ((18, 37, 22, 23),)
RACE_IN = ((74, 11, 8, 1, 6), (70, 20, 3, 1, 6), (81, 10, 3, 1, 5), (66, 5, 13, 3, 13))
EDUCATION_AT = (
    (1, 3, 26, 34, 29, 6, 1, 0),
    (1, 3, 8, 27, 28, 23, 8, 2),
    (1, 4, 8, 29, 27, 20, 9, 2),
    (1, 4, 8, 30, 26, 19, 10, 2),
    (2, 6, 10, 33, 23, 15, 9, 2),
    (3, 12, 14, 35, 18, 11, 6, 1),
    (4, 19, 17, 33, 14, 8, 4, 1),
)
MARITAL_AT = (
    (88, 10, 1, 1, 0),
    (42, 48, 7, 3, 0),
    (18, 63, 14, 4, 1),
    (10, 66, 18, 4, 2),
    (6, 68, 17, 3, 6),
    (5, 60, 12, 2, 21),
    (5, 43, 7, 1, 44),
)
CITIZENSHIP_OF = ((93, 4, 3), (90, 5, 5), (33, 39, 28), (98, 1, 1), (52, 16, 32))
IDLE_AT = (25, 12, 10, 12, 30, 70, 88)
"""Percentage of each band of age that does not work."""
WORKCLASS_OF = (
    (83, 12, 2, 1, 1, 1),
    (82, 13, 2, 1, 1, 1),
    (83, 10, 4, 1, 1, 1),
    (78, 11, 6, 2, 2, 1),
    (75, 11, 6, 4, 3, 1),
    (65, 12, 12, 6, 4, 1),
    (50, 13, 20, 10, 6, 1),
    (40, 21, 10, 21, 7, 1),
)
"""Class of work of those who work, by education."""
OCCUPATION_OF = (
    ((10, 3, 3, 12, 27, 1, 4, 40), (2, 22, 3, 17, 26, 1, 3, 26)),
    ((12, 3, 4, 10, 24, 1, 8, 38), (3, 26, 4, 14, 24, 1, 5, 23)),
    ((19, 3, 5, 4, 15, 2, 18, 34), (6, 29, 5, 8, 23, 1, 9, 19)),
    ((32, 3, 9, 3, 9, 4, 15, 25), (8, 29, 8, 6, 21, 2, 10, 16)),
    ((35, 2, 13, 1, 4, 13, 14, 18), (13, 21, 14, 4, 12, 8, 15, 13)),
    ((17, 1, 21, 1, 1, 41, 12, 6), (8, 6, 29, 2, 3, 31, 17, 4)),
    ((7, 1, 18, 1, 1, 65, 5, 2), (4, 2, 29, 1, 1, 54, 7, 2)),
    ((3, 1, 12, 1, 1, 79, 2, 1), (2, 1, 16, 1, 1, 76, 2, 1)),
)
"""Occupation of those who work, without `None`: by education, then by sex."""
HOURS_OF = ((7, 14, 55, 18, 6), (17, 16, 28, 21, 18), (6, 13, 66, 12, 3), (8, 14, 62, 12, 4), (3, 5, 75, 13, 4))
"""Percentage with hours in each band of HOURS, by class of work; without pay as the self-employed."""
HOURS = ((5, 19), (20, 39), (40, 40), (41, 50), (51, 80))

BASE = (19.0, 20.0, 22.0, 30.0, 35.0, 50.0, 62.0, 80.0)
"""Middle salary in thousands, by education."""
PAID = (1.0, 0.84, 1.03, 1.34, 0.66, 0.88, 1.2, 1.0, 0.68)
"""Its factor by occupation."""
SPREAD = 0.45
"""Standard deviation of the logarithm of a salary of given attributes."""

COLUMNS = (
    "age",
    "sex",
    "race",
    "marital-status",
    "education",
    "region",
    "zipcode",
    "citizenship",
    "workclass",
    "occupation",
    "hours",
    "salary",
    "salary-class",
)


def slots(percentages: Any) -> Slots:
    """(..., 100) uint8 from percentages (..., values): a number from 0 to 99 drawn evenly picks a value from a line."""
    lines = np.asarray(percentages)
    flat = lines.reshape(-1, lines.shape[-1])
    picked = [np.repeat(np.arange(lines.shape[-1]), line) for line in flat]
    return np.array(picked, np.uint8).reshape(*lines.shape[:-1], 100)


_AGE = slots([share for _, _, share in AGES])
_REGION, _RACE = slots(IN_REGION), slots(RACE_IN)
_EDUCATION, _MARITAL, _CITIZENSHIP = slots(EDUCATION_AT), slots(MARITAL_AT), slots(CITIZENSHIP_OF)
_WORKCLASS, _OCCUPATION, _HOURS = slots(WORKCLASS_OF), slots(OCCUPATION_OF), slots(HOURS_OF)


def frames(rows: int, seed: int, *, threads: int = 1) -> Iterator[pl.DataFrame]:
    """The table in pieces: COLUMNS; `rows` and `seed` are both at least 0."""
    return blocks(_draw, rows, seed, threads)


def _draw(random: np.random.Generator, count: int) -> pl.DataFrame:
    """A block: every attribute from those that it depends on."""

    def picked(table: Slots, *given: Codes) -> Codes:
        return np.asarray(table[(*given, random.integers(0, 100, count, np.uint8))])

    band = picked(_AGE)
    age = _within(random, np.array([(first, last) for first, last, _ in AGES]), band)
    sex = random.integers(0, 2, count, np.uint8)
    region = picked(_REGION[0])
    race, education, marital = picked(_RACE, region), picked(_EDUCATION, band), picked(_MARITAL, band)
    citizenship = picked(_CITIZENSHIP, race)
    idle = random.integers(0, 100, count, np.uint8) < np.array(IDLE_AT, np.uint8)[band]
    workclass = np.where(idle, np.uint8(NOT_WORKING), picked(_WORKCLASS, education))
    occupation = np.where(idle, np.uint8(0), picked(_OCCUPATION, education, sex) + np.uint8(1))
    hours = _within(random, np.array(HOURS), picked(_HOURS, _hours_line(workclass)))
    hours = np.where(idle, 0, hours)
    salary = _salary(random, age, sex, education, occupation, hours)
    columns = {
        "age": pl.Series(age),
        "sex": _texts(SEX, sex),
        "race": _texts(RACE, race),
        "marital-status": _texts(MARITAL, marital),
        "education": _texts(EDUCATION, education),
        "region": _texts(REGION, region),
        "zipcode": _zipcode(random, region),
        "citizenship": _texts(CITIZENSHIP, citizenship),
        "workclass": _texts(WORKCLASS, workclass),
        "occupation": _texts(OCCUPATION, occupation),
        "hours": pl.Series(hours),
        "salary": pl.Series(salary),
        "salary-class": _texts(SALARY_CLASS, (salary >= THRESHOLD).astype(np.uint8)),
    }
    return pl.DataFrame(columns)


def _texts(values: Sequence[str], codes: Codes) -> pl.Series:
    return pl.Series(values, dtype=pl.String).gather(codes)


def _within(random: np.random.Generator, bands: NDArray[np.int64], band: Codes) -> NDArray[np.int64]:
    """(rows,) a number from each row's band, `bands` (bands, 2) giving the first and last number of each."""
    first, last = bands.T
    return np.asarray(first[band] + (random.random(len(band)) * (last - first + 1)[band]).astype(np.int64))


def _hours_line(workclass: Codes) -> Codes:
    """The line of HOURS_OF for each class of work; any for those who do not work."""
    line = np.array([*range(len(HOURS_OF)), WORKCLASS.index("Self-employed"), 0], np.uint8)
    return line[workclass]


def _zipcode(random: np.random.Generator, region: Codes) -> pl.Series:
    """Five digits as text. The first belongs to the region; in the rest, low numbers are more frequent."""
    first = np.array([[0, 1, 1], [2, 3, 7], [4, 5, 6], [8, 9, 9]])[region, random.integers(0, 3, len(region))]
    rest = (random.random(len(region)) ** 2 * 400).astype(np.int64) * 25
    return pl.Series(first * 10_000 + rest).cast(pl.String).str.zfill(5)


def _salary(
    random: np.random.Generator,
    age: NDArray[np.int64],
    sex: Codes,
    education: Codes,
    occupation: Codes,
    hours: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Whole hundreds, 0 for those who do not work: rises with education and hours, with age until 50, and is higher for
    men; log-normal around that."""
    middle = np.array(BASE)[education] * np.array(PAID)[occupation] * np.array([0.85, 1.1])[sex]
    middle *= 1.15 - ((age - 50) / 45.0) ** 2 * 0.9
    middle *= (hours / 40.0) ** 0.8
    noise = np.exp(random.standard_normal(len(age)) * SPREAD)
    return np.asarray(np.rint(np.maximum(middle, 0.0) * noise * 10).astype(np.int64) * 100)


# --- the spec that goes with it ---------------------------------------------------------------------------------------

ABOVE: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "marital-status": (MARITAL, ("Single", "Partner", "Once-partner", "Once-partner", "Once-partner")),
    "education": (EDUCATION, (*["School"] * 4, *["College"] * 2, *["Graduate"] * 2)),
    "region": (REGION, ("East", "East", "Inland", "Inland")),
    "citizenship": (CITIZENSHIP, ("Citizen", "Citizen", "No-citizen")),
    "workclass": (WORKCLASS, ("Business", "Business", "Government", "Government", "Government", "Unpaid", "Unpaid")),
}
"""Attributes with a level between their values and the root: the values, and what is above each."""


def roles() -> Roles:
    """What a spec says of the table."""
    definitions: dict[str, dict[str, Any]] = {name: {"type": "numeric"} for name in ("age", "hours")}
    definitions |= {name: {} for name in ("sex", "race", *ABOVE)} | {"zipcode": {"hierarchy": {"mask": "right"}}}
    return Roles(
        definitions={name: definitions[name] for name in COLUMNS if name in definitions},
        hierarchies={
            name: [(leaf, above, "*") for leaf, above in zip(*lines, strict=True)] for name, lines in ABOVE.items()
        },
        targets=["salary-class"],
        sensitive={"salary": {"type": "numeric"}},
        insensitive=["occupation"],
    )
