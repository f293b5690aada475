"""Columns of texts as numbers; and texts that a reader takes for one another."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property

import polars as pl

from anonymize.records import dataclass
from anonymize.spec import UNKNOWN
from anonymize.verify.numbering import Numbering, together, whole

# --- texts that look alike --------------------------------------------------------------------------------------------
# Two texts look alike where they are equal without invisible characters, with white space collapsed, under NFKC and
# case folding; or where one of them has a character beyond ASCII and their skeletons are equal, in which characters
# that look alike are one (Unicode Technical Standard 39; its table is that of the package confusable-homoglyphs). To
# look alike is handed on: what looks like a third text is one with it. So counts of different texts may only become
# smaller. Who somebody is, is never said so.

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
    plain = frame.filter(~strange).select("folded").unique().with_columns(key=_plain_skeleton(pl.col("folded")))
    plain = plain.join(odd.select("key").unique(), on="key", how="semi")
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

    bare = ((text.strip(_MARK), others) for text, others in confusables_data.items())
    links = {text: [each["c"].strip(_MARK) for each in others] for text, others in bare}

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


# --- columns ----------------------------------------------------------------------------------------------------------
# One streaming pass over a table keeps the numbers alone. A release is mostly in the order of what it shows, and rows
# that show the same stand side by side. Of columns that are wanted together a batch is parted into runs of such rows,
# which takes a comparison of each text with the one above it, and only the first row of a run is numbered. Where texts
# are numbered by their hashes, each is compared with the one whose number it has. Nothing depends on the order: runs
# that come again have the same numbers, and where hardly any neighbours are alike, every row is a run.

_TYPES: tuple[tuple[int, pl.DataType], ...] = ((1 << 8, pl.UInt8()), (1 << 16, pl.UInt16()), (1 << 32, pl.UInt32()))
"""Types of numbers, and what these have to be below."""

BATCH = 100_000
"""Rows whose text is in memory at once."""
KEPT = 1 << 20
"""Texts of runs that are kept to be numbered at once, at most."""


@dataclass(frozen=True)
class NumberedColumn:
    """A column of texts: 0 for a null, else 1 + the position among `texts`."""

    numbers: Numbering
    texts: pl.Series

    @property
    def by_number(self) -> pl.Series:
        """(span,) the `text` of each number, null first."""
        return pl.Series("text", [None], dtype=pl.String).append(self.texts)

    @cached_property
    def looks(self) -> pl.Series:
        """For each text what stands for all that look alike; null for one that reads as unknown."""
        return looking_alike(self.texts, known=True)

    def gathered(self, rows: pl.Series) -> NumberedColumn:
        """The column of some rows."""
        return NumberedColumn(Numbering(self.numbers.of_row.gather(rows), self.numbers.span), self.texts)


@dataclass(frozen=True)
class ShownColumns:
    """Columns side by side, by runs of neighbouring rows that show the same in all of them.

    `of_runs`: the columns of the runs. `begins` (rows,): whether a run begins at a row; None: each row is one.
    """

    of_runs: Sequence[NumberedColumn]
    begins: pl.Series | None

    @cached_property
    def together(self) -> Numbering:
        """Dense numbers of what the rows show, with their counts."""
        numbering = together([column.numbers for column in self.of_runs])
        if self.begins is None or numbering.counts is None:
            return numbering
        lengths = self._starts.diff(null_behavior="drop").append(pl.Series([len(self.begins)]) - self._starts[-1])
        runs = pl.DataFrame({"number": numbering.of_row, "rows": lengths})
        counts = runs.group_by("number").agg(pl.col("rows").sum()).sort("number")["rows"].cast(pl.UInt32)
        return Numbering(numbering.of_row.gather(self._run_of_row), numbering.span, counts)

    @property
    def of_rows(self) -> list[NumberedColumn]:
        """The columns of the rows."""
        if self.begins is None:
            return list(self.of_runs)
        runs = self._run_of_row
        return [column.gathered(runs) for column in self.of_runs]

    def first(self, codes: Sequence[int]) -> int | None:
        """The first row that has these numbers in the columns; None where none has."""
        frame = pl.DataFrame([column.numbers.of_row.alias(str(place)) for place, column in enumerate(self.of_runs)])
        same = [pl.nth(place) == code for place, code in enumerate(codes)]
        run = frame.select(pl.all_horizontal(same)).to_series().index_of(True)
        return run if run is None or self.begins is None else whole(self._starts[run])

    @property
    def _run_of_row(self) -> pl.Series:
        assert self.begins is not None
        return self.begins.cum_sum() - 1

    @cached_property
    def _starts(self) -> pl.Series:
        assert self.begins is not None
        return self.begins.arg_true().cast(pl.Int64)


def read_columns(
    frame: pl.LazyFrame,
    neighbours: Sequence[pl.Expr],
    others: Sequence[pl.Expr],
    *,
    batch: int = BATCH,
    kept: int = KEPT,
) -> tuple[ShownColumns, list[NumberedColumn]]:
    """The texts of `neighbours` side by side, and each of the `others` by itself; `batch` rows are read at once.
    `kept`: see `_RunTexts`."""
    categories = [pl.Categories.random() for _ in others]
    queries = [
        _codes(text, known).alias(f"{place}#")
        for place, (text, known) in enumerate(zip(others, categories, strict=True))
    ]
    texts = [text.alias(str(place)) for place, text in enumerate(neighbours)]
    pieces: list[list[pl.Series]] = [[] for _ in others]
    runs = _Runs(len(neighbours), kept)
    for rows in frame.select([*texts, *queries]).collect_batches(chunk_size=batch):
        for own, codes in zip(pieces, rows.get_columns()[len(neighbours) :], strict=True):
            own.append(_narrow(codes))
        if neighbours:
            runs.add(rows[:, : len(neighbours)])
    return runs.columns(), [_column(own, known) for own, known in zip(pieces, categories, strict=True)]


class _Runs:
    """What takes the batches of columns that are shown side by side."""

    def __init__(self, columns: int, kept: int) -> None:
        self._columns = [_RunTexts(place, kept) for place in range(columns)]
        self._begins: list[pl.Series] = []
        self._alike = True

    def add(self, texts: pl.DataFrame) -> None:
        """Takes the next rows. Once hardly any neighbours are alike, no more are compared."""
        begins = _begins(texts) if self._alike else pl.repeat(True, texts.height, dtype=pl.Boolean, eager=True)
        self._alike = whole(begins.sum()) * 2 <= texts.height
        firsts = texts.filter(begins)
        for column in self._columns:
            if not self._begins and self._alike:
                column.keep_if_most_differ(firsts)
            elif not self._alike:
                column.number_kept()
        for column, own in zip(self._columns, firsts.select(each.query for each in self._columns), strict=True):
            column.add(own)
        self._begins.append(begins)

    def columns(self) -> ShownColumns:
        """The columns, once all rows have been taken."""
        begins = pl.concat([pl.Series([], dtype=pl.Boolean), *self._begins]).rechunk()
        return ShownColumns([each.column() for each in self._columns], None if begins.all() else begins)


class _RunTexts:
    """What takes the texts of one column, a piece at a time.

    They are numbered as they come, by categories, which take some hundred bytes for each different text. Where nearly
    all texts differ, as those of intervals do from class to class, up to `kept` of them are kept instead, in a third of
    that, and numbered at once. `query`: what `add` is to be given of a piece.
    """

    def __init__(self, place: int, kept: int) -> None:
        self._place, self._kept, self._categories = place, kept, pl.Categories.random()
        self._codes: list[pl.Series] = []
        self._texts: list[pl.Series] = []
        self.query = _codes(pl.nth(place), self._categories)
        self._number = _codes(pl.nth(0), self._categories)

    def keep_if_most_differ(self, first: pl.DataFrame) -> None:
        """Decides by the first rows whether texts are kept."""
        if first.to_series(self._place).n_unique() * 2 > first.height:
            self.query = pl.nth(self._place) + ""  # new texts: the old ones are parts of the text of whole batches

    def add(self, piece: pl.Series) -> None:
        """Takes the next rows."""
        if piece.dtype == pl.String:
            self._texts.append(piece)
            if sum(map(len, self._texts)) > self._kept:
                self.number_kept()
        else:
            self._codes.append(_narrow(piece))

    def number_kept(self) -> None:
        """Numbers what is kept, and all that comes, by categories."""
        self.query = _codes(pl.nth(self._place), self._categories)
        self._codes += [_narrow(piece.to_frame().select(self._number).to_series()) for piece in self._texts]
        self._texts.clear()

    def column(self) -> NumberedColumn:
        """The column, once all have been taken; what it took is freed."""
        if self._texts:
            numbered = _at_once(pl.concat(self._texts).rechunk())
            if numbered is not None:
                self._texts.clear()
                return numbered
            self.number_kept()
        column = _column(self._codes, self._categories)
        del self.query, self._number  # with which goes what the categories know
        return column


def _at_once(texts: pl.Series) -> NumberedColumn | None:
    """The column of texts, numbered in the order in which they first come: by their hashes, each of which is shown to
    be that of one text. None where one is not, or a text is null."""
    if texts.null_count():
        return None
    ranks = (texts.hash().rank("dense") - 1).alias("rank")
    rows = ranks.to_frame().with_row_index("row")
    first = rows.group_by("rank").agg(pl.col("row").min()).sort("rank")["row"]
    numbers = (first.rank("ordinal") - 1).gather(ranks)
    distinct = texts.gather(first.sort())
    if not distinct.gather(numbers).equals(texts):
        return None
    return NumberedColumn(Numbering(_narrow(numbers + 1), len(distinct) + 1), distinct)


def _begins(texts: pl.DataFrame) -> pl.Series:
    """Whether each row shows something else than the one before it, as the first one does."""
    differs = pl.any_horizontal(pl.all().ne_missing(pl.all().shift(1)))
    return texts.select(differs | (pl.int_range(pl.len()) == 0)).to_series()


def _codes(text: pl.Expr, categories: pl.Categories) -> pl.Expr:
    """The numbers of texts. What the categories know lasts as long as this does."""
    return (text.cast(pl.Categorical(categories)).to_physical() + 1).fill_null(0)


def _column(pieces: list[pl.Series], categories: pl.Categories) -> NumberedColumn:
    """The column of pieces, which are freed; every category is in one of them."""
    codes = _columns_joined(pieces)
    pieces.clear()
    most = whole(codes.max()) if len(codes) else 0
    texts = pl.int_range(most, dtype=pl.UInt32, eager=True).cat.to(pl.Categorical(categories)).cast(pl.String)
    return NumberedColumn(Numbering(codes, most + 1), texts)


def _narrow(codes: pl.Series) -> pl.Series:
    """Numbers in as few bytes as they take."""
    most = whole(codes.max()) if len(codes) else 0
    return codes.cast(next(kind for size, kind in _TYPES if most < size))


def _columns_joined(pieces: Sequence[pl.Series]) -> pl.Series:
    """The pieces one after the other, in the widest type among them."""
    types = [kind for _, kind in _TYPES]
    widest = max((types.index(piece.dtype) for piece in pieces), default=0)
    return pl.concat([pl.Series([], dtype=types[widest]), *(piece.cast(types[widest]) for piece in pieces)]).rechunk()
