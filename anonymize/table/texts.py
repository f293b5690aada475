"""Columns of texts as they are compared, and what among their values looks like a mistake."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain.moments import zone_of
from anonymize.errors import Caution
from anonymize.spec.hierarchy import Dates
from anonymize.spec.missing import ODD, UNKNOWN, Missing, identified, normalized, remarks
from anonymize.table.named import unnamed

PROBE = 10_000
"""The distinct texts of so many first rows say whether a column has few, which are looked at in place of all rows."""


def compared(texts: pl.Series, missing: Missing) -> pl.Series:
    """(n,) what texts are compared as; null where they mean missing. Pass distinct texts where there are many rows."""
    return _present(tidy(texts) if missing.normalize else texts, missing)


def named_by(texts: pl.Series, missing: Missing) -> pl.Series:
    """(n,) what texts say of who somebody is; null where they mean missing."""
    return _present(tidy(texts, identified) if missing.normalize else texts, missing)


def _present(texts: pl.Series, missing: Missing) -> pl.Series:
    present = pl.when(~pl.col("text").is_in(list(missing.texts))).then("text")
    return texts.to_frame("text").select(present).to_series().alias(texts.name)


def tidy(texts: pl.Series, made: Callable[[str], str] = normalized) -> pl.Series:
    """(n,) texts, normalized, or `made` otherwise; a null stays one. Few need work in most columns, and only these are
    touched."""
    plain = unnamed(texts)
    few = len(plain) > PROBE and plain.head(PROBE).n_unique() < PROBE // 10
    if few and not plain.unique().str.contains(ODD).any():
        return texts
    odd = plain.str.contains(ODD).fill_null(False)
    if not odd.any():
        return texts
    mended = pl.Series([made(text) for text in plain.filter(odd)], dtype=pl.String)
    return plain.clone().scatter(odd.arg_true(), mended).alias(texts.name)


def warnings_of(name: str, texts: list[str], *, counted: bool = False) -> list[Caution]:
    """What draws attention among the distinct values of a column, as they are compared; no value is quoted. `counted`:
    it is sensitive."""
    if counted:
        groups = look_alikes(texts)
        if groups is None:
            return []
        known = groups[groups >= 0]
        return remarks(name, len(known) - len(np.unique(known)), len(groups) - len(known), counted=True)
    lower = pl.Series(texts, dtype=pl.String).str.to_lowercase()
    alike = int(lower.is_duplicated().sum()) if len(lower) else 0
    return remarks(name, alike, int(lower.is_in(list(UNKNOWN)).sum()))


# --- what looks alike ------------------------------------------------------------------------------------------------

_PLAIN = r"^(?:[!-~]+(?: [!-~]+)*)?$"
"""Texts of ASCII with single spaces inside alone, which differ from others in case at most."""
_UNSEEN = r"[\p{Default_Ignorable_Code_Point}\p{Cc}\x{2800}]+"
_SILENT = r"^[-\u2010-\u2015_.?\u2026]*$"
"""Texts that say nothing."""


def look_alikes(texts: Sequence[str], *, known: bool = True) -> NDArray[np.int64] | None:
    """(n,) of different texts: which of them stands for each, as they look alike; -1 for one that reads as unknown,
    unless `known` is false. None where each stands for itself.

    Two look alike where they are one without invisible characters, with white space collapsed, under NFKC and case
    folding; or where one is not of ASCII alone and their skeletons (Unicode Technical Standard 39, by the table of
    confusable-homoglyphs) are one; or where both look like a third.
    """
    column = pl.Series(texts, dtype=pl.String)
    if column.str.contains(_PLAIN).all():
        lower = column.str.to_lowercase()
        visible = folded = lower.to_list()
        if lower.n_unique() == len(lower) and not (lower.is_in(list(UNKNOWN)) | lower.str.contains(_SILENT)).any():
            return None
    else:
        visible = [unicodedata.normalize("NFKC", text) for text in _seen(column)]
        visible = _seen(pl.Series(visible, dtype=pl.String))
        folded = _seen(pl.Series([unicodedata.normalize("NFKC", text.casefold()) for text in visible], dtype=pl.String))
    groups = _Groups([*folded, *sorted(UNKNOWN)])
    if any(not text.isascii() for text in visible):
        groups.join_by_skeleton([*visible, *sorted(UNKNOWN)])
    stands = groups.first()
    unknown = {stands[place] for place in range(len(texts), len(stands))}
    unknown |= {stands[place] for place, text in enumerate(folded) if re.match(_SILENT, text)}
    of_text = np.array([-1 if known and each in unknown else each for each in stands[: len(texts)]], np.int64)
    return None if (of_text == np.arange(len(texts))).all() else of_text


def _seen(texts: pl.Series) -> list[str]:
    """What is seen of each text, any white space being one space, and none at the ends."""
    spaced = texts.str.replace_all(r"\s", " ").str.replace_all(_UNSEEN, "")
    return [
        " ".join(text.split(" ")) if "  " not in text else " ".join(text.split())
        for text in spaced.str.strip_chars(" ")
    ]


class _Groups:
    """Texts (n,) in groups, of which each knows its first."""

    def __init__(self, folded: Sequence[str]) -> None:
        first: dict[str, int] = {}
        self._above = [first.setdefault(text, place) for place, text in enumerate(folded)]

    def first(self) -> list[int]:
        """(n,) the first text of the group of each."""
        return [self._top(place) for place in range(len(self._above))]

    def join_by_skeleton(self, visible: Sequence[str]) -> None:
        """Joins texts that are not of ASCII alone with all that have one of their skeletons."""
        strange = [place for place, text in enumerate(visible) if not text.isascii()]
        owners: dict[str, int] = {}
        for place in strange:
            for skeleton in {_skeleton(case(visible[place])) for case in _CASES}:
                self._join(owners.setdefault(skeleton, place), place)
        for place, text in enumerate(visible):
            if text.isascii() and (owner := owners.get(_skeleton(text.lower()))) is not None:
                self._join(owner, place)

    def _join(self, one: int, other: int) -> None:
        low, high = sorted((self._top(one), self._top(other)))
        self._above[high] = low

    def _top(self, place: int) -> int:
        while self._above[place] != place:
            self._above[place] = place = self._above[self._above[place]]
        return place


_CASES: tuple[Callable[[str], str], ...] = (str, str.lower, str.upper)


def _skeleton(text: str) -> str:
    """The skeleton of a text without regard to case: what looks like I, i, l or 1 is l, and m is rn."""
    bare = unicodedata.normalize("NFD", text).translate(_confusables())
    return " ".join(unicodedata.normalize("NFKC", bare.casefold()).replace("i", "l").replace("m", "rn").split())


@cache
def _confusables() -> Mapping[int, str]:
    """What stands for each character that looks like another one, or like several: that of the table's links with the
    most others, of two the longer, then the first."""
    from confusable_homoglyphs.confusables import confusables_data

    mark = "\u200e"  # around what is written from right to left
    linked = {text: [each["c"].strip(mark) for each in links] for text, links in confusables_data.items()}
    others = {text.strip(mark): links for text, links in linked.items()}
    count = {text: len(links) for text, links in others.items()}
    stands: dict[int, str] = {}
    for text, links in others.items():
        if len(text) == 1:
            best = sorted([text, *links], key=lambda each: (-count.get(each, 0), -len(each), each))[0]
            if best != text:
                stands[ord(text)] = best
    return stands


def zone_warnings(name: str, source: object, values: Sequence[str]) -> Iterator[Caution]:
    """That the dates of a column are of several zones, which its levels do not see."""
    if isinstance(source, Dates) and not source.utc:
        zones = {zone_of(value, source.format) for value in values} - {None}
        if len(zones) > 1:
            said = f"column {name!r} has {len(zones)} time zones: levels are of local time"
            yield Caution.of(said, "`utc: true` beside the levels makes them of UTC")
