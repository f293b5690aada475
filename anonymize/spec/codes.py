"""Published systems of codes, as facts: what a code looks like, which levels stand above it, and what belongs together.

Ranges of codes are in codes.txt, with their sources. Codes of ZIP areas have no published ranges that stay: a table of
populations says which areas are small.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from anonymize.errors import Problem, SpecError
from anonymize.files import content_of
from anonymize.records import dataclass

SystemName = Literal["icd10", "icd10cm", "nace", "isic", "isco", "isced", "iscedf", "nuts"]
SYSTEM_NAMES: tuple[SystemName, ...] = get_args(SystemName)
MOST_AREAS = 1 << 24
"""Bytes of a table of populations."""
SMALL_AREA = 20_000
"""People in the ZIP codes with the same first three digits up to which these are 000: 45 CFR 164.514(b)(2)(i)(B)."""


@dataclass(frozen=True)
class CodeSystem:
    """A system of codes.

    `noun`: what its codes are called. `pattern`: a code without spaces, in capital letters. `levels`: what stands above
    a code, from fine to coarse: how many of its characters are kept, or that it is in a range of codes (a block), or in
    a chapter or section of ranges. `key`: so many characters say in which range a code is; `ignored`: characters of a
    code that say nothing.
    """

    noun: str
    pattern: str
    levels: Sequence[int | Literal["block", "chapter"]]
    key: int
    ignored: str = ""


SYSTEMS: Mapping[SystemName, CodeSystem] = {
    "icd10": CodeSystem("ICD-10 codes", r"[A-Z]\d{2}(\.?[0-9X]{1,2})?", (3, "block", "chapter"), 3, "."),
    "icd10cm": CodeSystem("ICD-10-CM codes", r"[A-Z]\d[0-9A-Z](\.?[0-9A-Z]{1,4})?", (3, "block", "chapter"), 3, "."),
    "nace": CodeSystem("NACE codes", r"[A-U]?\d{2}(\.?\d(\.?\d)?)?", (3, 2, "chapter"), 2, "."),
    "isic": CodeSystem("ISIC codes", r"[A-U]?\d{2}(\d\d?)?", (3, 2, "chapter"), 2),
    "isco": CodeSystem("ISCO-08 codes", r"\d{2,4}", (3, 2, 1), 2),
    "isced": CodeSystem("ISCED levels", r"(ED)?[0-8]\d{0,2}", (2, 1, "block"), 1),
    "iscedf": CodeSystem("ISCED-F codes", r"\d{2,4}", (3, 2), 2),
    "nuts": CodeSystem("NUTS codes", r"[A-Z]{2}[0-9A-Z]{0,3}", (4, 3, 2), 2),
}
_LEADING: Mapping[str, str] = {"nace": r"^[A-U]", "isic": r"^[A-U]", "isced": r"^ED"}
"""What may stand before a code and follows from it, or says nothing."""


@dataclass(frozen=True)
class CodeRange:
    """Codes from the first to the last, by their key, and the chapter that they belong to."""

    chapter: str
    first: str
    last: str

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


@cache
def ranges(system: SystemName) -> Sequence[CodeRange]:
    """The published ranges of a system, as the file has them."""
    read: list[CodeRange] = []
    name = chapter = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            name = line.partition(":")[0]
            continue
        words = line.split()
        if not line.startswith("    "):
            chapter, *words = words
        if name == system:
            ends = (word.partition("-") for word in words)
            read += [CodeRange(chapter, first, last or first) for first, _, last in ends]
    return read


def compact(system: SystemName, text: str) -> str | None:
    """A code without what says nothing, in capital letters; None where a text is no code of the system.

    >>> compact("icd10", "e11.9"), compact("nace", "C10.71"), compact("isced", "ED35"), compact("icd10", "A10")
    ('E119', '1071', '35', None)
    """
    code, known = text.strip().upper(), SYSTEMS[system]
    if re.fullmatch(known.pattern, code, re.ASCII) is None:
        return None
    bare = re.sub(_LEADING.get(system, "^$"), "", code)
    for character in known.ignored:
        bare = bare.replace(character, "")
    return None if range_of(system, bare) is None else bare


@cache
def range_of(system: SystemName, code: str) -> CodeRange | None:
    """The narrowest range that a compact code is in; None where it is in none. One of a single code stands among those
    of another, such as C7A within C76-C80."""
    key = code[: SYSTEMS[system].key]
    around = [each for each in ranges(system) if each.first <= key <= each.last]
    return max(around, key=lambda each: (each.first == each.last, each.first), default=None)


@cache
def chapter_of(system: SystemName, chapter: str) -> CodeRange:
    """A chapter or section, from its first code to its last."""
    own = [each for each in ranges(system) if each.chapter == chapter]
    return CodeRange(chapter, own[0].first, own[-1].last)


@cache
def large_areas(path: Path) -> frozenset[str]:
    """The first three digits of the ZIP codes of a table of populations whose areas have more than `SMALL_AREA` people;
    every other area is small, as far as the table says.

    The table is a CSV with a line of names, a ZIP code or its first three digits in the first column (leading zeros may
    be missing), and people in the second. Raises SpecError for anything else, with the line.
    """
    people: dict[str, int] = {}
    try:
        lines = content_of(path, MOST_AREAS).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(Problem("cannot be read as a table of populations", file=str(path))) from error
    for number, row in enumerate(csv.reader(lines[1:]), 2):
        if not row:
            continue
        area, count = (_AREA.fullmatch(row[0].strip()), row[1].strip().replace(",", "")) if row[1:] else (None, "")
        if area is None or not count.isdecimal():
            hint = "a ZIP code or its first three digits, and how many people live there: 02138,36314"
            raise SpecError(Problem("is no area with its population", file=str(path), line=number, hint=hint))
        digits = area[0][:5]
        prefix = digits.zfill(3 if len(digits) <= 3 else 5)[:3]
        people[prefix] = people.get(prefix, 0) + int(count)
    return frozenset(area for area, count in people.items() if count > SMALL_AREA)


_AREA = re.compile(r"\d{1,5}|\d{5}-\d{4}", re.ASCII)
ZIP_CODE = re.compile(r"\d{3}|\d{5}(-?\d{4})?", re.ASCII)
"""A ZIP code, or its first three digits."""
SMALL = "000"
"""What stands for all small areas."""
