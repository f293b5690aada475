"""What a column is once it has been read: a code for each row, and what the codes stand for; and columns of texts as
they are compared, with what among their values looks like a mistake."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.domain import Domain, taxonomy, text_levels
from anonymize.domain.generalization import Generalization
from anonymize.domain.levels import Categories, of_domain
from anonymize.errors import Caution
from anonymize.records import dataclass
from anonymize.spec.columns import Rule
from anonymize.spec.hierarchy import Dates
from anonymize.spec.notation import ODD, UNKNOWN, Missing, identified, normalized, remarks
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
    return [" ".join(text.split()) if "  " in text else text for text in spaced.str.strip_chars(" ")]


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
        zones = {text_levels.zone_of(value, source.format) for value in values} - {None}
        if len(zones) > 1:
            said = f"column {name!r} has {len(zones)} time zones: levels use local time"
            yield Caution.of(said, "`utc: true` next to the levels makes them use UTC")


# --- columns ----------------------------------------------------------------------------------------------------------

Codes = NDArray[np.unsignedinteger[Any]]
"""Leaf codes: uint8, uint16 or uint32, the smallest that holds the number of leaves."""


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier. `codes` has shape (rows,) and points into the leaves of `domain`.

    `generalize` makes the hierarchy when it is first asked for; without it that is the domain itself where it is a
    taxonomy, else one root above all numbers.
    """

    name: str
    codes: Codes
    domain: Domain
    weight: float
    generalize: Callable[[], Generalization] | None = None
    rules: tuple[Rule, ...] = ()
    identifying: Literal["most", "more", "yes"] | None = None
    categorize: Callable[[Attribute], Categories] | None = None
    """Makes the values that a channel is over; None: the attribute's own."""
    research_value: tuple[float, ...] | None = None
    """(levels,) what an expert gives each level of the hierarchy, perhaps without the root; None: nobody does."""
    range: Literal["width", "leaves"] = "width"
    """What the research value takes for the range of a group of numbers."""
    lowest: int = 0
    highest: int | None = None
    """The levels that may be released; None: up to the root."""
    counts: NDArray[np.int64] | None = None
    """(rows,) how many rows of the input each row stands for; None: itself alone."""
    written: Mapping[str, str] = field(default_factory=dict)
    """How labels are written that are compared as another text: as most rows, or the hierarchy's file, have them."""
    declared: Attribute | None = None
    """The column as the input has it, where this one is coded at a level."""

    @property
    def categories(self) -> Categories:
        """The values that a channel is over."""
        return of_domain(self.domain) if self.categorize is None else self.categorize(self)

    @property
    def bounded(self) -> bool:
        """Whether there is a highest level below the root, so that no class may span two of its nodes."""
        return self.highest is not None and self.highest < self.hierarchy.height

    @cached_property
    def generalization(self) -> Generalization:
        """The hierarchy with the costs of its nodes."""
        return Generalization.plain(self.domain) if self.generalize is None else self.generalize()

    @property
    def hierarchy(self) -> taxonomy.Taxonomy:
        """The value generalization hierarchy; of a categorical attribute the domain itself."""
        return self.generalization.hierarchy

    @property
    def leaves(self) -> NDArray[np.int64] | None:
        """(domain.size,) the hierarchy's leaf of each code of the domain; None: the code itself."""
        return self.generalization.leaves


@dataclass(frozen=True)
class CodedColumn:
    """A column whose values are counted or summed but never generalized.

    `codes` has shape (rows,), each below `size`; they follow the order of the values: numbers by size, texts sorted (or
    as the leaves of their hierarchy). `missing` is the code of a missing value. `values` (size,) gives the number of
    each code, nan for a missing one, where the column is numeric; it is None where it is categorical.
    """

    name: str
    codes: Codes
    size: int
    missing: int | None
    values: NDArray[np.float64] | None
    texts: tuple[str, ...] = ()
    """(size,) how each code reads: a number as the shortest text for it."""

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers."""
        return self.values is not None


@dataclass(frozen=True)
class SensitiveColumn(CodedColumn):
    """A sensitive attribute. `hierarchy` is None where the spec has none. `everywhere` (size,): where the rows at hand
    are part of a table, how many rows of all that have each code; None: these are all."""

    hierarchy: Generalization | None = None
    everywhere: NDArray[np.int64] | None = None
    alike: bool = False
    """Whether texts that look alike are one, and what reads as unknown none, where different values are counted."""
    as_value: int | None = None
    """The code of a missing value, where that is a value like any other."""

    @cached_property
    def together(self) -> NDArray[np.int64] | None:
        """(size,) the code that stands for all that look like each, -1 where it reads as unknown; None where each
        stands for itself."""
        stands = None if self.numeric or not self.alike else look_alikes(self._present_texts)
        if stands is None:
            return None
        together = np.arange(self.size)
        places = together[together != self.missing] if self.missing is not None else together.copy()
        together[places] = np.where(stands < 0, -1, places[stands])
        if self.as_value is not None:
            together[self.as_value] = self.as_value
        return together

    @property
    def counted(self) -> SensitiveColumn:
        """The column as the different values in it are counted: what reads as unknown is missing."""
        if self.together is None:
            return self
        missing = self.size if self.missing is None else self.missing
        codes = np.where(self.together < 0, missing, self.together).astype(np.uint32)[self.codes]
        return SensitiveColumn(self.name, codes, max(self.size, missing + 1), missing, None)

    @property
    def _present_texts(self) -> list[str]:
        return [text for code, text in enumerate(self.texts) if code != self.missing]

    @cached_property
    def levels(self) -> NDArray[np.int32] | None:
        """(height + 1, size) node of each code at each level of the hierarchy, from the leaf to the root."""
        if self.hierarchy is None:
            return None
        return self.hierarchy.hierarchy.levels[:, self.hierarchy.leaf_of(np.arange(self.size))]

    @property
    def paths(self) -> dict[str, tuple[str, ...]] | None:
        """The labels from each leaf of the hierarchy to the root, by the leaf's label; the missing leaf has none."""
        return None if self.hierarchy is None else self.hierarchy.hierarchy.paths()


class TargetColumn(CodedColumn):
    """A column that a model will be trained to predict: class labels, or numbers.

    A missing label is a label of its own; a missing number stays out of every sum.
    """
