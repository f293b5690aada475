"""Writes a large census-like table: make_scale.py ROWS OUT.csv [SEED]

For measuring speed and memory where the Adult extract is not at hand. Eleven columns in this order: sex, age, race,
marital-status, education, native-country, workclass, occupation, salary-class as in Adult, then zipcode (uniform in
0..99999) and income (normal around 50,000, rounded). The quasi-identifiers of the benchmarks are age, zipcode, income,
sex, race and marital-status; the rest passes through.

No row of the census is in it: the frequencies below, in rows per 1000, are Adult's marginals and its main dependencies
(marital status on sex and age, education on age, occupation on sex and education, and so on), and every cell is drawn
from them. The same ROWS and SEED give the same table. Needs numpy and polars; a million rows at a time.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

BATCH = 1_000_000
STEPS = 1 << 16  # a distribution is drawn from by its quantiles in so many equal steps

Codes = NDArray[np.uint8]

# Ages in bands of five years from 15; the first band starts at 17, the last ends at 90.
AGES = (45, 116, 130, 137, 135, 123, 105, 81, 58, 37, 17.5, 8, 4, 1.6, 1.4)

# The other columns: a line for every value, a number for every condition, in the order of the comment above it.
# by age: -19 20-24 25-29 30-34 35-44 45-54 55-64 65-
SEX = """
Male    516 575 652 704 708 710 712 670
Female  484 425 348 296 292 290 288 330
"""
# by sex: male female
RACE = """
White               885 807
Black                70 143
Asian-Pac-Islander   29  30
Amer-Indian-Eskimo    9  11
Other                 7   9
"""
# by sex and age: the eight ages of men, then those of women
MARITAL_STATUS = """
Never-married          980  805  490  260  131   59   47   60   964  874  657  438  258  150   95  109
Married-civ-spouse      17  165  438  623  714  796  823  793    12   56  152  190  215  186  165   68
Married-AF-spouse        0    0    2  0.3  0.2  0.3    0    0     3  1.3    0    3    2    0    0    0
Married-spouse-absent  1.4    6    7   10    9   13    8   11     5   11   22   21   23   26   18   12
Separated                0   10   19   22   27   13   14    9     8   24   42   82   83   85   50   25
Divorced               1.4   13   44   84  117  112   89   41     9   33  122  255  390  450  376  208
Widowed                  0    0  0.8  0.7    2    7   19   86     0  1.3    4   11   31  102  296  578
"""
# by age, as for sex; from the first line to the last is from the least schooling to the most
EDUCATION = """
Preschool       1    2    2    2    2    2    2    2
1st-4th         1    3    4    5    5    6    6    7
5th-6th         6    9   10   10   10   10   10   10
7th-8th        10   10   12   10   12   22   45   70
9th            28   12   13   13   14   16   22   25
10th          115   19   20   20   22   26   34   40
11th          255   34   26   26   24   24   24   22
12th           75   19   12   10    9    8    8    8
HS-grad       233  330  330  330  330  325  340  310
Some-college  274  390  215  200  200  195  165  170
Assoc-voc       1   32   48   50   48   44   32   25
Assoc-acdm      1   28   40   38   36   33   26   22
Bachelors       0  107  215  200  182  165  140  140
Masters         0    4   38   55   66   80   80   75
Prof-school     0  0.5   10   20   23   22   32   36
Doctorate       0  0.5    5   11   17   22   34   38
"""
SCHOOLING = (0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 3, 3, 3, 3)  # of each education: less than high school .. a degree
# by race, in the order of the races
NATIVE_COUNTRY = """
United-States               934 933  305 948 489
Mexico                       22   1    1  28 165
Philippines                 0.3 0.4  199   3   0
Germany                       5   2    2   3   4
Puerto-Rico                   3   3    1   3  87
Canada                        4   0    1   0   4
El-Salvador                   4 0.4    0   0  17
India                       0.3 0.7   95   0  22
Cuba                          3   1    0   0   9
England                       3   2    1   0   0
Jamaica                     0.2  26    0   0   4
South                         0   0   76   7   0
China                       0.1   0   74   0   0
Italy                         3   0    0   0   0
Dominican-Republic            1   4    1   0  78
Vietnam                     0.1   0   69   0   0
Guatemala                     2   0    0   0  17
Japan                       0.7   1   41   0   4
Columbia                      2   0    0   3  26
Poland                        2   0    1   0   0
Haiti                         0  15    1   0   0
Iran                          1   0    7   0   9
Taiwan                      0.1   0   45   0   0
Portugal                      1   0    1   0   0
Nicaragua                     1 0.7    0   0  17
Peru                          1   0    0   0   4
Greece                        1   0    1   0   0
France                        1 0.4    0   0   0
Ecuador                     0.7   0    0   0  39
Ireland                     0.9   0    1   0   0
Hong                        0.1   0   18   3   0
Cambodia                      0   0   20   0   0
Trinadad&Tobago               0   5    2   0   4
Laos                          0   0   19   0   0
Thailand                    0.1   0   17   0   0
Yugoslavia                  0.6   0    0   0   0
Outlying-US(Guam-USVI-etc)  0.3   2    0   0   0
Hungary                     0.5   0    0   0   0
Honduras                    0.4 0.4    0   0   0
Scotland                    0.4   0    0   0   0
Holand-Netherlands         0.04   0    0   0   0
"""
# by sex and schooling: the four of men, then those of women
OCCUPATION = """
Adm-clerical        25  58  84  52    97 309 342 135
Armed-Forces       0.4 0.6 0.4 0.4     0   0   0   0
Craft-repair       241 268 204  43    29  32  20   8
Exec-managerial     29  79 135 274    25  85 119 205
Farming-fishing     91  56  38  17    15   7   7   1
Handlers-cleaners  131  76  50   9    34  29  10   2
Machine-op-inspct  120 110  56  10   152  87  26   7
Other-service      148  81  75  20   382 229 159  40
Priv-house-serv      2 0.1 0.2 0.4    58  15   6   2
Prof-specialty      13  20  70 369    19  32 100 472
Protective-serv     10  29  44  19     5   7  10   6
Sales               60  94 139 141   167 134 136  86
Tech-support         4  15  49  34     8  19  58  37
Transport-moving   126 114  57  12     9  16   8   1
"""
# by occupation, in the order of the occupations
WORKCLASS = """
Private           751    0 781 663 455 930 957 830 1000 558 289 808 793 793
Self-emp-not-inc   13    0 130  96 435  11  18  54    0  90   9 105  29  75
Self-emp-inc        7    0  25  96  52   2   5   8    0  39   8  78   3  17
Federal-gov        85 1000  16  45   8  16   7  11    0  41  42   4  72  15
Local-gov          76    0  35  53  29  34   6  59    0 171 472   2  42  73
State-gov          67    0  13  47  15   6   6  38    0 100 180   3  61  26
Without-pay       0.8    0 0.2   0   6 0.7 0.5 0.3    0   0   0   0   0 0.6
"""
# by being married to a spouse who is present, and schooling: the four of the unmarried, then of the married
SALARY_CLASS = """
<=50K  982 971 955 803   878 681 551 269
>50K    18  29  45 197   122 319 449 731
"""


class Conditional:
    """A column's values and their distribution under each condition, ready to be drawn from."""

    def __init__(self, table: str) -> None:
        lines = [line.split() for line in table.strip().splitlines()]
        self.values = pl.Series([line[0] for line in lines])
        weights = np.array([line[1:] for line in lines], dtype=np.float64)
        self.quantiles = np.stack([quantiles(column) for column in weights.T])

    def draw(self, rng: np.random.Generator, conditions: NDArray[np.integer]) -> Codes:
        """A value's number for every row, given the number of its condition."""
        steps = rng.integers(0, STEPS, len(conditions), dtype=np.uint16)
        codes: Codes = self.quantiles[conditions, steps]
        return codes

    def text(self, codes: Codes) -> pl.Series:
        return self.values.gather(codes)


def quantiles(weights: NDArray[np.float64]) -> Codes:
    """The number of the value at the middle of each of `STEPS` equal steps, shape (STEPS,)."""
    shares = np.cumsum(weights) / weights.sum()
    middles = (np.arange(STEPS) + 0.5) / STEPS
    return np.searchsorted(shares, middles, side="right").astype(np.uint8)


COLUMNS = {
    "sex": Conditional(SEX),
    "race": Conditional(RACE),
    "marital-status": Conditional(MARITAL_STATUS),
    "education": Conditional(EDUCATION),
    "native-country": Conditional(NATIVE_COUNTRY),
    "occupation": Conditional(OCCUPATION),
    "workclass": Conditional(WORKCLASS),
    "salary-class": Conditional(SALARY_CLASS),
}
ORDER = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation",
         "salary-class", "zipcode", "income")  # fmt: skip
BAND_QUANTILES = quantiles(np.array(AGES, dtype=np.float64))


def main(arguments: list[str]) -> None:
    """Writes ROWS rows to OUT.csv."""
    rows, path = int(arguments[0]), Path(arguments[1])
    rng = np.random.Generator(np.random.PCG64(int(arguments[2]) if len(arguments) > 2 else 2))
    with path.open("wb") as file:
        write(rng, rows, file)


def write(rng: np.random.Generator, rows: int, file: BinaryIO) -> None:
    """Writes a header and the rows, a batch at a time."""
    for done in range(0, max(rows, 1), BATCH):
        batch(rng, min(BATCH, rows - done)).write_csv(file, include_header=done == 0)


def batch(rng: np.random.Generator, rows: int) -> pl.DataFrame:
    """A table of so many rows, its columns in `ORDER`."""
    age = draw_ages(rng, rows)
    columns = {name: COLUMNS[name].text(codes) for name, codes in draw_people(rng, age).items()}
    columns["age"] = pl.Series(age)
    columns["zipcode"] = pl.Series(rng.integers(0, 100_000, rows, dtype=np.int32))
    columns["income"] = pl.Series(np.rint(rng.normal(50_000, 15_000, rows)).astype(np.int32))
    return pl.DataFrame({name: columns[name] for name in ORDER})


def draw_ages(rng: np.random.Generator, rows: int) -> NDArray[np.int32]:
    """Ages of 17 to 90: a band of five years, and a year in it."""
    band = BAND_QUANTILES[rng.integers(0, STEPS, rows, dtype=np.uint16)]
    age = 15 + 5 * band.astype(np.int32) + rng.integers(0, 5, rows, dtype=np.int32)
    return np.where(age < 17, age + 2, age + (age > 84) * rng.integers(0, 2, rows, dtype=np.int32))


def draw_people(rng: np.random.Generator, age: NDArray[np.int32]) -> dict[str, Codes]:
    """The codes of every categorical column, each drawn given what it depends on."""
    group = np.searchsorted((20, 25, 30, 35, 45, 55, 65), age, side="right").astype(np.uint8)
    sex = COLUMNS["sex"].draw(rng, group)
    race = COLUMNS["race"].draw(rng, sex)
    marital = COLUMNS["marital-status"].draw(rng, 8 * sex + group)
    education = COLUMNS["education"].draw(rng, group)
    schooling = np.array(SCHOOLING, dtype=np.uint8)[education]
    occupation = COLUMNS["occupation"].draw(rng, 4 * sex + schooling)
    married = ((marital == 1) | (marital == 2)).astype(np.uint8)
    return {
        "sex": sex,
        "race": race,
        "marital-status": marital,
        "education": education,
        "native-country": COLUMNS["native-country"].draw(rng, race),
        "occupation": occupation,
        "workclass": COLUMNS["workclass"].draw(rng, occupation),
        "salary-class": COLUMNS["salary-class"].draw(rng, 4 * married + schooling),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
