"""What attackers may see: released rows as regions of the quasi-identifiers, and people as their neighbours see them.

Columns are codes as everywhere: a cell of a release spans the codes from `first` to `last`. An attacker asks which
cells could be about a person by whether the person's code lies in the span, not by equal text; of a released set, by
whether it is one of the members. A person's missing value is not used: this makes attackers weaker, never stronger,
than they claim.

Through channels a cell shows the category that it had with probability p, and each other one of d with (1 - p) / (d -
1). What is the same in expectation as counting the people of some quasi-identifiers with each sensitive value is a sum
over the rows: each counts for the product, over its cells, of the inverse channel from the category that it shows to
the person's (Guo, Ying and Wu, lemma 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.attacks.points import PointRows
from anonymize.classes import Bools, Floats, Ints
from anonymize.domain import GappedColumns, LeafSets, chosen, densities, taxonomy
from anonymize.meaning import Channel
from anonymize.records import dataclass


@dataclass(frozen=True)
class KnownDiversity:
    """Distinct l-diversity, or, with `frequency`, frequency l-diversity, of one sensitive attribute."""

    l: float  # noqa: E741
    frequency: bool = False

    def met(self, counts: Ints) -> Bools:
        """(n,) whether counts (n, values) have it."""
        if self.frequency:
            return np.asarray(counts.max(axis=-1, initial=0) * self.l <= counts.sum(axis=-1) + 1e-9)
        return np.asarray((counts > 0).sum(axis=-1) >= self.l)


@dataclass(frozen=True)
class Required:
    """`k` rows of a class; `diversities` of each sensitive attribute. `only_k`: k rows met all that was required."""

    k: int = 1
    diversities: Mapping[str, Sequence[KnownDiversity]] = field(default_factory=dict)
    only_k: bool = False


ROW_PAIRS = 1 << 23
"""Pairs of a person and a distinct row that are looked at together."""


@dataclass(frozen=True)
class ChannelRows:
    """Rows of categories. `cells` (rows, attributes): the category that each shows; `columns`: the channel of each
    attribute; `category_of` (codes,): the category of each code of the original; `values`: channels of sensitive
    attributes."""

    cells: Ints
    columns: tuple[Channel, ...]
    category_of: tuple[Ints, ...]
    values: Mapping[str, Channel]

    @cached_property
    def distinct(self) -> tuple[Ints, Ints]:
        """(combinations, attributes) that some row shows, and (rows,) which each does."""
        combinations, which = np.unique(self.cells, axis=0, return_inverse=True)
        return combinations, which.ravel()

    def counts(self, values: Ints, size: int) -> Any:
        """(combinations, size + 1) how many rows show each sensitive value, those without one last."""
        from scipy.sparse import csr_array

        combinations, which = self.distinct
        places = (which, np.where(values < 0, size, values))
        return csr_array((np.ones(len(which)), places), shape=(len(combinations), size + 1)).toarray()

    def counts_of(self, codes: Ints, counts: Floats) -> Floats:
        """(people, values) the rows of each person's quasi-identifiers that show each value, as they are in
        expectation; `codes` (people, attributes), -1 for what is not known of somebody, and counts for all alike."""
        combinations, _ = self.distinct
        step = max(ROW_PAIRS // max(len(combinations), 1), 1)
        parts = [self._weights(codes[start : start + step]) @ counts for start in range(0, len(codes), step)]
        return np.concatenate([np.zeros((0, counts.shape[1])), *parts])

    def _weights(self, codes: Ints) -> Floats:
        """(people, combinations) what each combination counts for."""
        combinations, _ = self.distinct
        weights = np.ones((len(codes), len(combinations)))
        for axis, (column, category) in enumerate(zip(self.columns, self.category_of, strict=True)):
            same, other = column.inverse
            categories = np.where(codes[:, axis] < 0, -1, category[codes[:, axis]])
            factor = np.where(categories[:, None] == combinations[None, :, axis], same + other, other)
            factor[categories < 0] = 1.0
            weights *= factor
        return weights


def undone(observed: Floats, column: Channel) -> Floats:
    """(people, values) counts of values as they were, from counts as they are shown; none below 0."""
    same, other = column.inverse
    return np.asarray(np.maximum(same * observed + other * observed.sum(axis=1, keepdims=True), 0.0))


CLASS_PAIRS = 1 << 27
"""Pairs of a person and a class that are looked at together: 16 MB of bits."""
WORD = 64
"""Classes whose bits are in one word."""


@dataclass(frozen=True)
class ShownRows:
    """A release. `first`, `last` (classes, attributes): the codes that the cells of each class span. `class_of`
    (rows,). `values`: of each sensitive attribute (rows,) codes, -1 where missing. `group_of` (rows,): of a
    bucketized release the group of each row, whose rows have the group's values in an order that tells nothing.
    `hidden_low`, `hidden_high` (classes, attributes): whether a cell leaves that end of its span unsaid, as `77+` and
    `*` do, so that it is the domain's and no value that is known to occur; None where every cell says both. `ends`
    (classes, attributes) twice: the code of the number that an interval shows as its lower and its upper end, the
    domain's size where nobody has it, -1 where it shows none; None where that is not known. `kept`
    (rows,): a code for what the kept columns show together, None where there are none. `gapped`: by attribute, the
    cells that are sets of codes with others between them, which these do not span."""

    first: Ints
    last: Ints
    class_of: Ints
    values: Mapping[str, Ints] = field(default_factory=dict)
    group_of: Ints | None = None
    hidden_low: Bools | None = None
    hidden_high: Bools | None = None
    ends: tuple[Ints, Ints] | None = None
    kept: Ints | None = None
    gapped: GappedColumns = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Released rows."""
        return len(self.class_of)

    def cells(self, column: int) -> LeafSets:
        """(classes,) the codes that each class shows of an attribute."""
        return LeafSets(self.first[:, column], self.last[:, column], self.gapped.get(column))

    def code_shares(self, column: int, size: int) -> Floats:
        """(size,) how many rows have each code of a quasi-identifier, every row being spread evenly over its cell."""
        return self.cells(column).spread(self.sizes, size)[:, 0]

    def of_classes(self, classes: Ints, class_of: Ints | None = None) -> ShownRows:
        """Some classes, by what they span. `class_of` (rows,): the class of each row, where it is not one row each."""
        rows = np.arange(len(classes)) if class_of is None else class_of
        return ShownRows(self.first[classes], self.last[classes], rows, gapped=chosen(self.gapped, classes))

    @cached_property
    def sizes(self) -> Ints:
        """(classes,) rows of each class."""
        return np.bincount(self.class_of, minlength=len(self.first))

    @cached_property
    def density(self) -> Floats:
        """(classes,) one over the combinations of values that each class may stand for, the largest being 1."""
        columns = [self.cells(column) for column in range(self.first.shape[1])]
        return densities(columns, len(self.first))

    def counts(self, name: str, size: int) -> Any:
        """(classes, size) sparse: how often each class has each value of a sensitive attribute."""
        from scipy.sparse import csr_array

        values, classes = self.values[name], len(self.first)
        some = np.flatnonzero(values >= 0)
        if self.group_of is None:
            return csr_array((np.ones(len(some)), (self.class_of[some], values[some])), shape=(classes, size))
        sizes = np.bincount(self.group_of)
        shares = csr_array((1 / sizes[self.group_of], (self.class_of, self.group_of)), shape=(classes, len(sizes)))
        within = csr_array((np.ones(len(some)), (self.group_of[some], values[some])), shape=(len(sizes), size))
        return (shares @ within).tocsr()

    def candidates(self, codes: Ints, columns: Sequence[int] | None = None) -> Any:
        """(people, classes) sparse, 1 where the class could be about the person. `codes` (people, attributes), -1 where
        not known; `columns`: the attributes that are compared, all for None.

        For each attribute the classes that span a code are a string of bits, of which each person's are combined. The
        string changes only where some class begins or ends, so that there are no more of them than ends of classes;
        where there are sets, each code may have its own.
        """
        from scipy.sparse import csr_array

        classes = len(self.first)
        compared = range(codes.shape[1]) if columns is None else columns
        strings = [_strings(codes[:, column], self.cells(column)) for column in compared]
        step = max(CLASS_PAIRS // max(classes, 1), 1)
        parts = [_together(strings, slice(start, start + step), classes) for start in range(0, len(codes), step)]
        people = np.concatenate([np.zeros(0, np.int64), *(step * part + who for part, (who, _) in enumerate(parts))])
        indices = np.concatenate([np.zeros(0, np.int64), *(which for _, which in parts)])
        pointers = np.concatenate([[0], np.cumsum(np.bincount(people, minlength=len(codes)))])
        return csr_array((np.ones(len(indices)), indices, pointers), shape=(len(codes), classes))


def _strings(codes: Ints, cells: LeafSets) -> tuple[NDArray[np.uint64], Ints]:
    """(strings, classes / 64) bits, whether each class spans a code, and (people,) which string each person's code has;
    all classes span a code that is not known."""
    first, last, place = cells.first, cells.last, codes
    if cells.gapped is None:
        ends = np.unique(np.concatenate([first, last + 1]))
        place = np.where(codes < 0, -1, np.searchsorted(ends, codes, side="right"))
    distinct, some, which = np.unique(place, return_index=True, return_inverse=True)
    width = -(-len(first) // WORD)
    bits = np.zeros((len(distinct), width * 8), np.uint8)
    step = max(CLASS_PAIRS // 8 // max(len(first), 1), 1)
    for start in range(0, len(distinct), step):
        code = codes[some[start : start + step], None]
        packed = np.packbits(cells.spanning(code) | (code < 0), axis=1)
        bits[start : start + step, : packed.shape[1]] = packed
    return bits.view(np.uint64), which


def _together(strings: Sequence[tuple[NDArray[np.uint64], Ints]], some: slice, classes: int) -> tuple[Ints, Ints]:
    """Pairs of some people, counted from the first of them, and the classes that each could be in: one person's after
    the other's. Words without a bit, which most are, are never taken apart."""
    if not strings:
        raise ValueError("nothing to compare people by")
    words = strings[0][0][strings[0][1][some]]
    for bits, which in strings[1:]:
        words &= bits[which[some]]
    person, word = np.nonzero(words)
    bits_set = np.unpackbits(words[person, word].view(np.uint8).reshape(-1, 8), axis=1)
    pair, bit = np.nonzero(bits_set)
    return person[pair], word[pair] * WORD + bit


@dataclass(frozen=True)
class TargetPeople:
    """People, a row each. `codes` (people, attributes): their quasi-identifiers, -1 where missing. `values`: of each
    sensitive attribute (people,) codes, -1 where missing. `row_of` (people,): the released row about each, -1 for
    none; None where that is not known. `kept` (people,): as that of `ShownRows`. `points` (people, columns): with
    invented rows, as those of `PointRows`."""

    codes: Ints
    values: Mapping[str, Ints]
    row_of: Ints | None = None
    kept: Ints | None = None
    points: Floats | None = None

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, chosen: Ints) -> TargetPeople:
        """Some of them."""
        values = {name: codes[chosen] for name, codes in self.values.items()}
        row_of, kept = (None if each is None else each[chosen] for each in (self.row_of, self.kept))
        points = None if self.points is None else self.points[chosen]
        return TargetPeople(self.codes[chosen], values, row_of, kept, points)

    def spaced(self, number: int) -> TargetPeople:
        """As many of them as are asked for, evenly spaced; all where there are no more."""
        if len(self) <= number:
            return self
        return self.of(np.unique(np.linspace(0, len(self) - 1, number).astype(int)))

    def released(self) -> TargetPeople:
        """Those who are in the release, or of whom that is not known."""
        return self if self.row_of is None else self.of(np.flatnonzero(self.row_of >= 0))

    def drawn(self, number: int, generator: np.random.Generator) -> TargetPeople:
        """Draws as many of them as are asked for, in their order; all where there are no more."""
        if len(self) <= number:
            return self
        return self.of(np.sort(generator.choice(len(self), number, replace=False)))

    def parted(self, number: int, generator: np.random.Generator) -> list[TargetPeople]:
        """All of them in so many parts of equal size, drawn; in fewer, none empty, where there are fewer people."""
        return [
            self.of(np.sort(part)) for part in np.array_split(generator.permutation(len(self)), number) if len(part)
        ]


@dataclass(frozen=True)
class EarlierRows:
    """An earlier release. `row_of` (rows now,): the row about the same person, -1 for none; None if not known."""

    release: ShownRows
    row_of: Ints | None = None


@dataclass(frozen=True)
class Scene:
    """All that there is to an attack.

    `attributes`: names of the quasi-identifiers, `sizes` of their domains; `sensitive`: how many values each sensitive
    attribute has. `release`: its rows. `everybody`: the people of the original, against whom guesses are checked.
    `targets`: those of the release who are attacked. `outsiders`: people who are not in it, None where nobody is known;
    `control`: those of them who are attacked.
    `earlier`: the releases before it, the oldest first. `channels`: a release through channels, of which `release` has
    only the sensitive values as they are shown. `trees`: of each quasi-identifier the hierarchy, None of numbers.
    `levels`: of each (levels, size) the node of each code at each level of its hierarchy, that of numbers, too.
    `required`: what the release was made to meet. `in_order`: says whether its rows are in an order that follows
    from what they show, which tells nothing about the original's; the release is read for it. `kept`: makes the same
    scene with the columns that are kept in place of the sensitive attributes, None where there are none. `numbers`: the
    columns of numbers that the release changed, (rows, columns) as they were and as they are, of every released row;
    nan for what is no number or of nobody; None where it changed none, or it is not known whom rows are about.
    `invented`: rows of nobody, of which `release` has the values as the codes of the original that are nearest.
    """

    attributes: tuple[str, ...]
    sizes: tuple[int, ...]
    sensitive: Mapping[str, int]
    release: ShownRows
    everybody: TargetPeople
    targets: TargetPeople
    control: TargetPeople | None = None
    outsiders: TargetPeople | None = None
    earlier: tuple[EarlierRows, ...] = ()
    seed: int = 0
    channels: ChannelRows | None = None
    trees: tuple[taxonomy.Taxonomy | None, ...] = ()
    levels: tuple[Ints, ...] = ()
    required: Required | None = None
    in_order: Callable[[], bool] = lambda: False
    kept: Callable[[], Scene | None] = lambda: None
    numbers: Callable[[], tuple[Floats, Floats] | None] = lambda: None
    invented: PointRows | None = None

    def with_chains(self, rows_of: Sequence[Ints | None]) -> Scene:
        """The scene, where it is known of earlier releases which rows are about the same people."""
        pairs = zip(self.earlier, rows_of, strict=True)
        return replace(self, earlier=tuple(replace(each, row_of=rows) for each, rows in pairs))

    @cached_property
    def candidates(self) -> Any:
        """(targets, classes) sparse, 1 where the class could be about the target."""
        return self.release.candidates(self.targets.codes)

    @cached_property
    def _of_control(self) -> list[Any]:
        return [] if self.control is None else [self.release.candidates(self.control.codes)]

    def groups(self) -> Iterator[tuple[TargetPeople, Any]]:
        """All who are `attacked` with their candidates."""
        return zip(self.attacked, [self.candidates, *self._of_control], strict=True)

    @property
    def attacked(self) -> list[TargetPeople]:
        """The targets, and the control if there is one."""
        return [people for people in (self.targets, self.control) if people is not None]

    def truths(self, name: str) -> list[Ints]:
        """(people,) codes of a sensitive attribute, below 0 where missing, of all who are `attacked`."""
        return [people.values[name] for people in self.attacked]

    def drawn(self, number: int, name: str, most: int | None = None) -> Ints:
        """Which of so many classes, rows or people the attacker of a `name` takes, ascending: as many as there are
        targets, or at `most` so many, drawn; all where there are no more."""
        wanted = len(self.targets) if most is None else most
        if number <= wanted:
            return np.arange(number)
        return np.sort(self.generator(name).choice(number, wanted, replace=False))

    def generator(self, name: str) -> np.random.Generator:
        """What is random in one attack, whichever others are made."""
        return np.random.default_rng([self.seed, *name.encode()])
