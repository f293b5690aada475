"""Writes the sample table of synthetic hospital stays: make_patients.py [OUT.csv], and two nights of a ward beside it.

Ten thousand stays of two years in an invented hospital of an invented region, one row a patient. Nobody in it exists:
names are drawn from lists, the identity numbers begin with 000 (never issued), the telephone numbers with 555-01. The
same bytes on every run: one seed, the standard library alone, and only draws whose sequence Python keeps stable.

What a test of an anonymizer wants is in it on purpose: a skewed diagnosis that depends on age and sex, charges that
depend on the diagnosis, codes with leading zeros, two spellings of missing, and cells with commas, quotes, line breaks
and letters outside ASCII.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")

ROWS = 10_000
SEED = 20_240_229
COLUMNS = (
    "name", "ssn", "age", "sex", "zipcode", "marital_status", "education", "occupation",
    "admission_date", "ward", "diagnosis", "charges", "readmitted", "note",
)  # fmt: skip
EXTRACT = ("age", "sex", "zipcode", "ward", "diagnosis")
NIGHTS = {"monday": slice(0, 1000), "tuesday": slice(40, 1100)}
"""The patients of each night's extract: 40 left in between, and 100 came."""
MISSING = {
    "ssn": 0.02, "age": 0.004, "sex": 0.003, "zipcode": 0.01, "marital_status": 0.03, "education": 0.05,
    "occupation": 0.04, "ward": 0.01, "diagnosis": 0.01, "charges": 0.015, "readmitted": 0.01,
}  # fmt: skip


@dataclass(frozen=True)
class Band:
    """An age band: first and last age, patients per 100, women per 100 of them."""

    first: int
    last: int
    patients: int
    women: int


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis: its weight in every band and for each sex, median charges, per cent readmitted."""

    name: str
    bands: tuple[int, ...]
    sexes: dict[str, int]
    charges: int
    readmitted: int


BANDS = (
    Band(0, 0, 7, 49),
    Band(1, 17, 7, 46),
    Band(18, 44, 24, 63),
    Band(45, 64, 25, 48),
    Band(65, 84, 28, 52),
    Band(85, 102, 9, 64),
)

# The diagnoses: weight in each age band | weight for women, men | median charges, per cent readmitted.
DIAGNOSES = """
Heart failure               0  0  1  9 22 34 | 10 11 | 14200 24
Myocardial infarction       0  0  2 13 14 10 |  6 12 | 23500 16
Atrial fibrillation         0  0  1  6 10 10 | 10 10 |  9800 14
Stroke                      0  0  1  7 14 18 | 10 10 | 17600 15
Pneumonia, unspecified      6 10  3  5 11 20 | 10 10 |  9400 17
COPD                        0  0  1  8 13  8 |  9 11 |  8900 23
Asthma                      1 16  4  2  1  0 | 10  9 |  5200 11
Sepsis                      5  2  2  5 10 14 | 10 10 | 26800 21
Gastroenteritis             5 14  4  2  2  4 | 10 10 |  4300  8
HIV disease                 0  0  2  1  0  0 |  5 12 | 15900 18
Appendicitis                0 16  9  3  1  0 |  9 11 |  9900  5
Gallstones                  0  1  8 10  6  4 | 13  7 | 10400  6
Breast cancer               0  0  2  7  5  2 | 20  0 | 16700 12
Colon cancer                0  0  1  5  8  4 |  9 11 | 24900 15
Lung cancer                 0  0  0  5  8  2 |  8 12 | 21300 22
Prostate cancer             0  0  0  4  8  3 |  0 20 | 15200  9
Type 2 diabetes             0  1  3 10  8  4 |  9 11 |  7600 16
Depression                  0  6 11  8  3  1 | 12  8 |  6800 18
Alcohol dependence          0  0  8 10  2  0 |  5 13 |  6100 25
Childbirth                  0  0 52  0  0  0 | 20  0 |  7900  3
Preterm newborn            34  0  0  0  0  0 | 10 10 | 48300 13
Neonatal jaundice          49  0  0  0  0  0 |  9 11 |  3100  5
Hip fracture                0  1  1  3 11 28 | 13  6 | 22100 14
Forearm fracture            0 20  5  4  3  2 |  9 10 |  6300  4
Knee osteoarthritis         0  0  1 11 13  2 | 12  8 | 18800  5
"""

# Zipcodes: first four digits, number of codes, patients per 1000. 150 codes: a city, the coast, the hills, an island.
AREAS = """
0210  9 118 | 0211 10 104 | 0212 10  97 | 0213 10  88 | 0214  9  71 | 0215  6  52 | 0216  5  40 | 0218  8  46
0233  8  58 | 0234  9  49 | 0235  6  31 | 0236  7  26
0245  8  61 | 0246 10  53 | 0247  9  37 | 0249  5  22
0261  6  14 | 0262  4   5 | 0265  5   6 | 0266  6   3
"""

EDUCATION = ("No schooling", "Primary school", "Lower secondary", "Upper secondary", "Vocational training",
             "Associate's degree", "Bachelor's degree", "Master's degree", "Doctorate")  # fmt: skip
# Highest level reached: last age of the cohort, weights in the order above.
SCHOOLING = (
    (5, (1, 0, 0, 0, 0, 0, 0, 0, 0)),
    (11, (2, 8, 0, 0, 0, 0, 0, 0, 0)),
    (17, (0, 6, 14, 3, 0, 0, 0, 0, 0)),
    (24, (1, 2, 8, 44, 16, 9, 18, 2, 0)),
    (44, (1, 3, 8, 24, 20, 12, 20, 10, 2)),
    (64, (1, 6, 12, 26, 24, 9, 13, 7, 2)),
    (102, (4, 24, 18, 22, 18, 4, 6, 3, 1)),
)
# Marital status: last age of the cohort, weights in the order of the names.
MARITAL = ("Single", "Married", "Registered partnership", "Separated", "Divorced", "Widowed")
MARRIAGE = (
    (17, (1, 0, 0, 0, 0, 0)),
    (24, (88, 8, 3, 1, 0, 0)),
    (34, (48, 40, 6, 3, 3, 0)),
    (49, (22, 58, 4, 4, 11, 1)),
    (64, (11, 61, 2, 4, 18, 4)),
    (79, (7, 58, 1, 2, 14, 18)),
    (102, (6, 33, 0, 1, 7, 53)),
)
SKILLED = ("Manager", "Accountant", "Engineer", "Teacher", "Nurse", "Physician", "Lawyer", "Office clerk")
MANUAL = ("Office clerk", "Receptionist", "Shop assistant", "Cook, kitchen staff", "Hairdresser", "Police officer",
          "Electrician", "Carpenter", "Machine operator", "Driver, lorry or bus", "Cleaner", "Farm worker")  # fmt: skip
SKILLED_WEIGHTS = (16, 10, 15, 17, 16, 6, 4, 12)
MANUAL_WEIGHTS = (16, 7, 15, 8, 4, 3, 8, 7, 12, 9, 13, 5)

WOMEN = (
    "Anna", "Zoë", "Chloé", "Siân", "Małgorzata", "Ingrid", "Þóra", "Aylin", "Fatima", "Mei", "Priya",
    "Olga", "Ольга", "Δήμητρα", "Thị Lan", "María José", "Keisha", "Hannah", "Ruth", "Grace", "Eleanor", "Amina",
)  # fmt: skip
MEN = (
    "Edward", "Jürgen", "José", "Łukasz", "Søren", "Björn", "Çağlar", "Omar", "Wei", "Arjun", "Dmitri",
    "Иван", "Γιώργος", "Văn Minh", "Jean-Luc", "Kwame", "Samuel", "Peter", "Thomas", "Isaac", "Liam", "Raphaël",
)  # fmt: skip
FAMILIES = (
    "Müller", "O'Neil", "García López", "Nguyễn", "Wójcik", "Ødegård", "Şahin", "D'Angelo", "St. Clair",
    "Al-Masri", "Chen", "Patel", "Ivanova-Reyes", "Papadópoulos", "Þorsteinsson", "Smith", "Okafor", "Brown",
    "van der Velde", "Lefèvre", "Kovačević", "Jones", "Miller", "Ångström", "Novák", "Silva", "Kim",
)  # fmt: skip
NICKNAMES = ("Ned", "Buddy", "Mimi", "Red", "The Doc", "Zizou")

WARDS = ("North 1", "North 2", "North 3", "East 1", "East 2", "South 1", "South 2", "South 3")
NOTES = (
    "Allergies: penicillin, latex",
    'Says she "feels fine", wants to go home',
    "Daughter {first} to be called before discharge, tel. 555-01{number:02d}",
    "Interpreter needed\nsee file of {family}, {first}",
    'Diet: low salt, no "hospital pudding"\nFluids: 1,500 ml a day\nWeigh daily',
    "Moved from another ward; belongings follow",
)


def main(arguments: list[str]) -> None:
    """Writes the tables to the path given and beside it, or beside this script."""
    path = Path(arguments[0]) if arguments else Path(__file__).with_name("patients.csv")
    rows = list(stays())
    write(path, [COLUMNS, *rows])
    extract = [(f"P{number:05}", *(row[COLUMNS.index(name)] for name in EXTRACT)) for number, row in enumerate(rows, 1)]
    for night, patients in NIGHTS.items():
        beside = path.parent / "nights" / f"{night}.csv"
        beside.parent.mkdir(exist_ok=True)
        write(beside, [("patient", *EXTRACT), *extract[patients]])


def write(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Writes rows as UTF-8 with `\\n` line ends, quoted only where a cell needs it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def stays() -> Iterator[list[str]]:
    """The rows, as text, in the order of `COLUMNS`."""
    rng = Random(SEED)
    diagnoses, zipcodes, dates = read_diagnoses(), read_zipcodes(), read_dates()
    for number in range(ROWS):
        stay = patient(rng, number, zipcodes) | episode(rng, dates)
        stay |= illness(rng, stay, diagnoses)
        yield [cell(rng, column, stay[column]) for column in COLUMNS]


def patient(rng: Random, number: int, zipcodes: dict[str, float]) -> dict[str, str]:
    """Who the patient is: everything that is known before the stay."""
    band = pick(rng, BANDS, [band.patients for band in BANDS])
    age, sex = age_within(rng, band), "F" if rng.random() * 100 < band.women else "M"
    education = pick(rng, EDUCATION, cohort(SCHOOLING, age))
    return {
        "name": full_name(rng, sex),
        "ssn": identity(number),
        "age": str(age),
        "sex": sex,
        "zipcode": pick(rng, list(zipcodes), list(zipcodes.values())),
        "marital_status": pick(rng, MARITAL, cohort(MARRIAGE, age)),
        "education": education,
        "occupation": occupation(rng, age, education),
    }


def episode(rng: Random, dates: dict[str, float]) -> dict[str, str]:
    """When and where: the ward is the one with a free bed, so it tells nothing about the diagnosis."""
    return {
        "admission_date": pick(rng, list(dates), list(dates.values())),
        "ward": WARDS[int(rng.random() * len(WARDS))],
        "note": note(rng) if rng.random() < 0.03 else "",
    }


def illness(rng: Random, stay: dict[str, str], diagnoses: Sequence[Diagnosis]) -> dict[str, str]:
    """The diagnosis by age and sex, the charges by diagnosis and age, readmission by all three."""
    age, sex = int(stay["age"]), stay["sex"]
    band = next(i for i, band in enumerate(BANDS) if age <= band.last)
    diagnosis = pick(rng, diagnoses, [each.bands[band] * each.sexes[sex] for each in diagnoses])
    charges = diagnosis.charges * rng.lognormvariate(0, 0.5) * (1 + age / 300)
    chance = diagnosis.readmitted / 100 + 0.06 * (age >= 75) + 0.05 * (charges > 2 * diagnosis.charges)
    return {
        "diagnosis": diagnosis.name,
        "charges": f"{charges:.2f}",
        "readmitted": "yes" if rng.random() < chance else "no",
    }


def cell(rng: Random, column: str, text: str) -> str:
    """The cell as it is recorded: some are missing, as `?` or as nothing at all."""
    if rng.random() >= MISSING.get(column, 0):
        return text
    return "?" if rng.random() < 0.4 else ""


def age_within(rng: Random, band: Band) -> int:
    """Any age of the band alike; in the last band every year has a quarter fewer than the one before."""
    ages = range(band.first, band.last + 1)
    return pick(rng, ages, [0.75 ** (age - band.first) if band is BANDS[-1] else 1 for age in ages])


def full_name(rng: Random, sex: str) -> str:
    """A name as a clerk enters it: `Müller, Anna`, now and then `Anna Müller` or `O'Neil "Ned", Edward`."""
    first = pick(rng, WOMEN if sex == "F" else MEN)
    family = pick(rng, FAMILIES)
    style = rng.random()
    if style < 0.03:
        return f'{family} "{pick(rng, NICKNAMES)}", {first}'
    return f"{first} {family}" if style < 0.10 else f"{family}, {first}"


def identity(number: int) -> str:
    """An identity number of the never-issued area 000, different for every row."""
    digits = f"{(number * 7_919 + 104_729) % 1_000_000:06d}"
    return f"000-{digits[:2]}-{digits[2:]}"


def occupation(rng: Random, age: int, education: str) -> str:
    """What the patient does: by age, and for those who work by education."""
    if age < 18:
        return "Child at home" if age < 6 else "Pupil"
    weights = {
        "Student": 45 if age < 25 else 2,
        "Retired": 88 if age > 66 else 12 if age > 60 else 0,
        "Homemaker": 5,
        "Unemployed": 6 if age < 67 else 0,
        "at work": 40 if age < 67 else 4,
    }
    group = pick(rng, list(weights), list(weights.values()))
    if group != "at work":
        return group
    skilled = EDUCATION.index(education) >= EDUCATION.index("Associate's degree")
    return pick(rng, SKILLED, SKILLED_WEIGHTS) if skilled else pick(rng, MANUAL, MANUAL_WEIGHTS)


def note(rng: Random) -> str:
    """A line of free text, which is how names get into tables that have none."""
    text = pick(rng, NOTES)
    return text.format(first=pick(rng, WOMEN), family=pick(rng, FAMILIES), number=int(rng.random() * 100))


def cohort(table: Sequence[tuple[int, tuple[int, ...]]], age: int) -> tuple[int, ...]:
    """The weights of the first cohort that reaches this age."""
    return next(weights for last, weights in table if age <= last)


def pick(rng: Random, values: Sequence[T], weights: Sequence[float] | None = None) -> T:
    """One of the values, by weight or all alike."""
    return rng.choices(values, weights)[0]


def read_diagnoses() -> list[Diagnosis]:
    """The table of diagnoses, one a line."""
    return [read_diagnosis(*line.split("|")) for line in DIAGNOSES.strip().splitlines()]


def read_diagnosis(name_and_bands: str, sexes: str, costs: str) -> Diagnosis:
    """One line of the table, in its three parts."""
    words = name_and_bands.split()
    name, bands = words[: -len(BANDS)], words[-len(BANDS) :]
    women, men = map(int, sexes.split())
    charges, readmitted = map(int, costs.split())
    return Diagnosis(" ".join(name), tuple(map(int, bands)), {"F": women, "M": men}, charges, readmitted)


def read_zipcodes() -> dict[str, float]:
    """Every code of the region and its share; within an area the first codes have the most people."""
    shares = {}
    for area in AREAS.strip().replace("\n", "|").split("|"):
        prefix, codes, patients = area.split()
        first = 1 if prefix == "0210" else 0
        ranks = [1 / (rank + 2) for rank in range(int(codes))]
        for rank, weight in enumerate(ranks):
            shares[f"{prefix}{first + rank}"] = int(patients) * weight / sum(ranks)
    return shares


def read_dates() -> dict[str, float]:
    """Every day of 2023 and 2024 and its weight: fewer admissions at weekends, more in winter."""
    days = [date(2023, 1, 1) + timedelta(days=i) for i in range(731)]
    return {day.isoformat(): (6 if day.weekday() > 4 else 10) * (1.2 if day.month in (12, 1, 2) else 1) for day in days}


if __name__ == "__main__":
    main(sys.argv[1:])
