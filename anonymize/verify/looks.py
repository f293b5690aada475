"""Texts that a reader takes for one another: the second opinion's own look at them.

Two texts look alike where they are equal without invisible characters, with white space collapsed, under NFKC and case
folding; or where one of them has a character beyond ASCII and their skeletons are equal, in which characters that look
alike are one (Unicode Technical Standard 39; its table is that of the package confusable-homoglyphs). To look alike is
handed on: what looks like a third text is one with it. So counts of different texts may only become smaller. Who
somebody is, is never said so.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache

import polars as pl

from anonymize.spec import UNKNOWN

_HIDDEN = r"[\p{Default_Ignorable_Code_Point}\p{Cc}\x{2800}]"
_NOTHING = r"^[\p{Pd}_.?…]*$"
"""Texts of nothing, or of dashes, dots and question marks alone."""
_PLAIN = r"^[!-~]+(?: [!-~]+)*$"
"""Texts of ASCII alone with single spaces inside."""
_MARK = "\u200e"
"""What the table has around characters that are written from right to left."""


def looking_alike(texts: pl.Series, *, known: bool = False) -> pl.Series:
    """(n,) for each text the least of those that look like it; null for a null. `known`: null for what reads as
    unknown, too."""
    distinct = texts.cast(pl.String).drop_nulls().unique()
    if _stand_for_themselves(distinct):
        return texts.cast(pl.String)
    words = pl.Series(sorted(UNKNOWN), dtype=pl.String).alias(texts.name)
    distinct = pl.concat([distinct, words]).unique().sort().alias("text")
    visible = _seen_of(distinct)
    frame = pl.DataFrame([distinct, visible.alias("shown"), _casefolded(visible).alias("folded")])
    frame = frame.with_columns(group=_groups(frame))
    least = frame.group_by("group").agg(least=pl.col("text").min(), unknown=_reads_as_unknown().any())
    frame = frame.join(least, on="group", how="left")
    stands = frame.select(pl.when(~pl.col("unknown") | pl.lit(not known)).then("least")).to_series()
    return texts.cast(pl.String).replace_strict(frame["text"], stands, default=None, return_dtype=pl.String)


def _stand_for_themselves(distinct: pl.Series) -> bool:
    """Whether none of different texts looks like another one, nor reads as unknown, as a glance shows."""
    if not distinct.str.contains(_PLAIN).all():
        return False
    folded = distinct.str.to_lowercase()
    unknown = folded.to_frame("folded").select(_reads_as_unknown().any()).item()
    return folded.n_unique() == len(folded) and not unknown


def _seen_of(texts: pl.Series) -> pl.Series:
    """(n,) what is to be seen of texts, in NFKC, which may bring in spaces of its own."""
    odd = ~texts.str.contains(_PLAIN)
    visible = texts.filter(odd).to_frame("text").select(_visible(_visible(pl.col("text")).str.normalize("NFKC")))
    return texts.clone().scatter(odd.arg_true(), visible.to_series())


def _visible(text: pl.Expr) -> pl.Expr:
    spaced = text.str.replace_all(r"\s", " ").str.replace_all(_HIDDEN, "")
    return spaced.str.replace_all(" {2,}", " ").str.strip_chars(" ")


def _casefolded(texts: pl.Series) -> pl.Series:
    """(n,) texts without regard to case; those of ASCII alone in one go."""
    strange = ~_ascii(texts)
    if not strange.any():
        return texts.str.to_lowercase()
    folded = [unicodedata.normalize("NFKC", text.casefold()) for text in texts.filter(strange)]
    made = texts.str.to_lowercase().scatter(strange.arg_true(), pl.Series(folded, dtype=pl.String))
    return made.to_frame("text").select(_visible(pl.col("text"))).to_series()


def _ascii(texts: pl.Series) -> pl.Series:
    return texts.str.contains(r"^[\x00-\x7f]*$")


def _reads_as_unknown() -> pl.Expr:
    return pl.col("folded").is_in(list(UNKNOWN)) | pl.col("folded").str.contains(_NOTHING)


def _groups(frame: pl.DataFrame) -> pl.Series:
    """(n,) the group of each text (`shown`, `folded`): a text for all that look alike."""
    strange = ~_ascii(frame["shown"])
    if not strange.any():
        return frame["folded"]
    links = [
        {"folded": folded, "key": key}
        for visible, folded in frame.filter(strange).select("shown", "folded").iter_rows()
        for key in _skeletons(visible)
    ]
    odd = pl.DataFrame(links, schema={"folded": pl.String, "key": pl.String})
    plain = frame.filter(~strange).select("folded").unique()
    plain = plain.with_columns(key=_plain_skeleton(pl.col("folded"))).join(
        odd.select("key").unique(), on="key", how="semi"
    )
    return frame["folded"].replace(_joined(pl.concat([odd, plain]).iter_rows()))


def _joined(links: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """What stands for each text, of links between texts and what they have in common; no text begins as these do."""
    above: dict[str, str] = {}

    def top(node: str) -> str:
        while above.setdefault(node, node) != node:
            above[node] = node = above[above[node]]
        return node

    names = set()
    for text, key in links:
        names.add(text)
        above[top(f"\0={text}")] = top(f"\0~{key}")
    return {name: top(f"\0={name}") for name in names}


# --- skeletons -------------------------------------------------------------------------------------------------------


@cache
def _prototypes() -> Mapping[int, str]:
    """The character, or the characters, that stand for each that looks like them: of those that the table links, that
    with the most links, else several before one, and the first in Unicode."""
    from confusable_homoglyphs.confusables import confusables_data

    links = {
        text.strip(_MARK): [each["c"].strip(_MARK) for each in others] for text, others in confusables_data.items()
    }

    def rank(text: str) -> tuple[int, int, str]:
        return -len(links.get(text, ())), -len(text), text

    stands = {text: min([text, *others], key=rank) for text, others in links.items() if len(text) == 1}
    return {ord(text): other for text, other in stands.items() if other != text}


def _skeleton(text: str) -> str:
    """A skeleton, without regard to case, and to what differs in case alone from what looks alike: I, i, l and 1."""
    decomposed = unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).translate(_prototypes()))
    folded = unicodedata.normalize("NFKC", decomposed.casefold())
    return re.sub(" +", " ", folded.replace("i", "l").replace("rn", "m")).strip()


def _skeletons(text: str) -> set[str]:
    """The skeletons of a text as it stands, in small letters and in capitals."""
    return {_skeleton(each) for each in (text, text.lower(), text.upper())}


def _plain_skeleton(text: pl.Expr) -> pl.Expr:
    """The skeleton of a text of ASCII in small letters, whose capitals have the same one."""
    of_character = {each: _skeleton(each) or each for each in map(chr, range(0x21, 0x7F)) if not each.isupper()}
    changed = {each: skeleton for each, skeleton in of_character.items() if skeleton != each and each != "m"}
    return text.str.replace_many(list(changed), list(changed.values())).str.replace_all("rn", "m", literal=True)
