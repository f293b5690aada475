"""Levels above the codes of published systems, and above ZIP codes.

A level of characters reads `E11*`, a block `E10-E14`, a chapter or section with its number `IV E00-E90`. A code that is
shorter than a level keeps all that it has: `E11` is `E11*` as well. Of ZIP codes there is one level: the first three
digits (`021*`), or `000` for all areas that the table of populations does not show to be large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, TypeAlias

from anonymize.domain.moments import Step
from anonymize.spec.codes import SMALL, SYSTEMS, ZIP_CODE, SystemName, chapter_of, compact, range_of

Fits: TypeAlias = Callable[[str], bool]


def code_steps(system: SystemName) -> tuple[Fits, Sequence[Step]]:
    """Whether a text is a code of a system, and what each level makes of one."""
    return lambda text: compact(system, text) is not None, [_step(system, level) for level in SYSTEMS[system].levels]


def _step(system: SystemName, level: int | Literal["block", "chapter"]) -> Step:
    known = SYSTEMS[system]

    def step(text: str) -> str:
        code = compact(system, text) or ""
        around = range_of(system, code)
        if isinstance(level, int) or around is None:
            kept = code[: level if isinstance(level, int) else None]
            dotted = known.ignored and len(kept) > known.key
            return f"{kept[: known.key]}.{kept[known.key :]}*" if dotted else f"{kept}*"
        return str(around) if level == "block" else f"{around.chapter} {chapter_of(system, around.chapter)}"

    return step


def zip_steps(large: Collection[str]) -> tuple[Fits, Sequence[Step]]:
    """Whether a text is a ZIP code, and its area. `large`: areas that are shown, by their first three digits."""

    def area(text: str) -> str:
        digits = text.strip()[:3]
        return f"{digits}*" if digits in large else SMALL

    return lambda text: ZIP_CODE.fullmatch(text.strip()) is not None, [area]
