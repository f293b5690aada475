"""What every kind of recoding is: classes of rows, and how these are shown, saved and levelled; for every row its
class, and for every class what it shows: a region around its rows, where it is multidimensional or local."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from anonymize.classes import Floats, Partition, mixed_radix, run_starts
from anonymize.domain.numeric import Numeric
from anonymize.domain.taxonomy import Taxonomy
from anonymize.parallel import mapped, meanwhile, worth
from anonymize.recoding import appearance, spans
from anonymize.recoding.columns import CutTree, Released
from anonymize.records import dataclass
from anonymize.spec import Output, Spec
from anonymize.table import Attribute, Table, scratch

if TYPE_CHECKING:
    from anonymize.recoding.saved.recoder import Contents


# --- recodings --------------------------------------------------------------------------------------------------------
# What every kind of recoding is: classes of rows, and how these are shown, saved and levelled.


class SearchResult(ABC):
    """What an algorithm returns."""

    KIND: ClassVar[str]

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""

    def interrupted(self, reason: str) -> Self:
        """The recoding as one that was found by a search that ended before it was done."""
        return self


class Recoding(SearchResult):
    """What an algorithm that makes equivalence classes returns.

    `partition`: the classes. `suppressed` (s,) uint32: rows of no class, which the algorithm gave up. `SETS`: whether
    the output's `categorical: set` has an effect.
    """

    SETS: ClassVar[bool] = True
    partition: Partition
    suppressed: NDArray[np.uint32]

    @abstractmethod
    def appearances(self, table: Table, output: Output) -> list[appearance.Appearance]:
        """How each quasi-identifier of the table appears in the classes under the spec's `output`."""

    @abstractmethod
    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """What a saved recoding holds of it; `released` is what it was rendered as.

        Raises UsageError where what is shown is not a function of the values.
        """

    @property
    def vector(self) -> tuple[int, ...] | None:
        """The level of every quasi-identifier's hierarchy that all classes show; None where there is no such vector."""
        return None

    @property
    def followed(self) -> bool:
        """Whether a later release can show the same classes again."""
        return self.vector is not None

    def moved_to(self, arrays: scratch.Arrays) -> Recoding:
        """The recoding, with what it has of each row moved to where `arrays` are."""
        return self

    def whole(self) -> Recoding | None:
        """The recoding of all rows into one class, where that is the least this kind of recoding can show; else
        None."""
        return None

    @property
    def withheld(self) -> bool:
        """Whether the suppressed rows must not be published, whatever the spec says."""
        return False

    @property
    def labelled(self) -> bool:
        """Whether numbers are released as labels of their hierarchy."""
        return False

    @property
    def regions(self) -> Partition | None:
        """The classes where each is released as the smallest region around its rows; else None."""
        return None


# --- what is written --------------------------------------------------------------------------------------------------
# From a recoding to what is written: for every row its class, for every class what it shows.


def render(recoding: Recoding, table: Table, output: Output, *, drop: bool, threads: int = 1) -> Released:
    """How a recoding reads under the spec's `output`; `drop` leaves the suppressed rows out of the release. Attributes
    are worked on in several threads where the table is large."""
    partition, threads = recoding.partition, worth(threads, table.rows)
    classes = meanwhile(partial(_class_of, recoding, table, drop=drop), threads)
    attributes = mapped(lambda each: (each.columns(), each.costs()), recoding.appearances(table, output), threads)
    released = Released(
        class_of=classes(),
        columns=tuple(column for columns, _ in attributes for column in columns),
        sizes=partition.sizes,
        ncp=tuple(ncp for _, (ncp, _) in attributes),
        loss=tuple(loss for _, (_, loss) in attributes),
        suppressed_rows=len(recoding.suppressed),
        dropped_rows=len(recoding.suppressed) if drop else 0,
        left_out=table.rows - len(partition.order) - len(recoding.suppressed),
    )
    return _united(released)


def _class_of(recoding: Recoding, table: Table, *, drop: bool) -> NDArray[np.int32]:
    """(rows,) the class of each row; suppressed ones are in the last, or in none where they are left out."""
    class_of = recoding.partition.class_of(table.rows)
    if not drop:
        class_of[recoding.suppressed] = recoding.partition.count
    return class_of


def _united(released: Released) -> Released:
    """The release with classes that read the same put together; the first of them gives the number.

    Classes are put side by side by their new number, so that sizes and costs are sums over runs; those that read as
    suppressed rows do get the last number, and leave the sums.
    """
    count = len(released.sizes)
    widths = [len(column.texts) for column in released.columns]
    key = mixed_radix([column.of_class for column in released.columns], widths)[0]  # the suppressed class comes last
    visible = np.flatnonzero(key[:-1] != key[-1])
    if not len(visible):
        return _one_class(released)
    _, first, inverse = np.unique(key[visible], return_index=True, return_inverse=True)
    if len(first) == count:
        return released
    number = np.full(count + 1, len(first))
    number[visible] = np.argsort(np.argsort(first))[inverse]
    order = np.argsort(number, kind="stable")
    starts = run_starts(number[order])[: len(first)]
    rows = np.append(released.sizes, 0)[order]
    sizes = np.add.reduceat(rows, np.append(starts, len(visible)))[:-1]

    def mean(of_class: Floats) -> Floats:
        sums = np.add.reduceat(np.append(of_class, 0)[order] * rows, np.append(starts, len(visible)))[:-1]
        return np.asarray(sums / sizes)

    representative = np.append(order[starts], count)
    return replace(
        released,
        class_of=np.append(number, -1).astype(np.int32)[released.class_of],
        columns=tuple(replace(column, of_class=column.of_class[representative]) for column in released.columns),
        sizes=sizes,
        ncp=tuple(mean(ncp) for ncp in released.ncp),
        loss=tuple(mean(loss) for loss in released.loss),
        suppressed_rows=released.suppressed_rows + int(released.sizes.sum() - sizes.sum()),
    )


def _one_class(released: Released) -> Released:
    """The release in which all rows that are published read as suppressed ones do."""
    published = released.class_of >= 0
    rows = int(np.count_nonzero(published))
    if not rows:
        return released

    def mean(of_class: Floats) -> Floats:
        hidden = rows - int(released.sizes.sum())  # which cost 1
        return np.array([(float(of_class @ released.sizes) + hidden) / rows])

    return replace(
        released,
        class_of=np.where(published, 0, -1).astype(np.int32),
        columns=tuple(replace(column, of_class=column.of_class[[-1, -1]]) for column in released.columns),
        sizes=np.array([rows], np.int64),
        ncp=tuple(mean(ncp) for ncp in released.ncp),
        loss=tuple(mean(loss) for loss in released.loss),
        suppressed_rows=released.dropped_rows,
    )


# --- regions ----------------------------------------------------------------------------------------------------------
# Multidimensional and local recoding: a region around the rows of each class.


@dataclass(frozen=True)
class Regions(Recoding):
    """Multidimensional and local recoding: every class is released as the smallest region around its own rows.

    `partition`: the classes. `suppressed` (s,) uint32: rows of no class, which the algorithm gave up. `cut`: the rule
    by which the classes were cut, where there was a choice. `tree`: the cuts, where the recoding is to be saved.
    `refinement`: what refining them gained. `minimality`: what it cost that refused cuts give nobody away; then there
    is no other release of the rows. `recommended`: which algorithm was chosen, and why, where that was asked for.
    `merged_within`: what rows were merged within, `whole` or the parts of `mondrian`, where there was a choice.
    `stopped`: what ended the search before it was done. `parts`: how many parts the highest levels that are declared
    make of the rows; no class has rows of two of them.
    """

    KIND: ClassVar[str] = "regions"

    partition: Partition
    suppressed: NDArray[np.uint32]
    cut: str | None = None
    tree: CutTree | None = None
    refinement: dict[str, Any] | None = None
    minimality: dict[str, Any] | None = None
    recommended: dict[str, Any] | None = None
    merged_within: str | None = None
    parts: int | None = None
    stopped: str | None = None

    @property
    def regions(self) -> Partition:
        """The classes, all of them."""
        return self.partition

    @property
    def followed(self) -> bool:
        """A region can be drawn around the same rows again."""
        return True

    def interrupted(self, reason: str) -> Self:
        """The report says why."""
        return replace(self, stopped=reason)

    def moved_to(self, arrays: scratch.Arrays) -> Regions:
        """With the rows of its classes."""
        partition = Partition(scratch.copied(self.partition.order, arrays), self.partition.starts)
        return replace(self, partition=partition)

    def whole(self) -> Regions | None:
        """One region around all rows that are not suppressed; a tree without a cut leads to it."""
        if self.minimality is not None or self.parts is not None:
            return None
        rows = np.sort(self.partition.order)
        none = np.zeros(0, np.int64)
        tree = None if self.tree is None else CutTree(none, none, none, none, none)
        partition = Partition(rows, np.array([0, len(rows)] if len(rows) else [0], np.int64))
        return Regions(partition, self.suppressed, self.cut, tree)

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        names = ("cut", "refinement", "minimality", "recommended", "merged_within", "parts", "stopped")
        optional = {name: getattr(self, name) for name in names}
        return {
            "kind": self.KIND,
            **{name: value for name, value in optional.items() if value is not None},
            "regions": self.partition.count,
            "suppressed_rows": len(self.suppressed),
        }

    def appearances(self, table: Table, output: Output) -> list[appearance.Appearance]:
        """The region of each class, or points and sets of the values in it."""
        tails = spans.Tails.of(table)
        return [region_appearance(attribute, self.partition, output, tails) for attribute in table.attributes]

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        """A tree of cuts, where there is one and it parts all rows alike."""
        from anonymize.recoding.saved.kinds import contents_of_tree
        from anonymize.recoding.saved.recoder import refusal

        if self.tree is None:
            raise refusal("its regions were not found by cuts that split all rows in the same way")
        if len(self.suppressed):
            raise refusal(
                f"rows suppressed because of values other than their quasi-identifiers: {len(self.suppressed):,}"
            )
        return contents_of_tree(self.tree, self.partition, table, released, spec)


def region_appearance(
    attribute: Attribute, partition: Partition, output: Output, tails: spans.Tails
) -> appearance.NumericRegions | appearance.CategoricalRegions:
    """How an attribute appears where each class is the smallest region around its rows."""
    domain, codes = attribute.domain, attribute.codes
    low, high = partition.boxes(codes)
    if isinstance(domain, Numeric):
        highest = None
        if domain.missing is not None and (high == domain.missing).any():
            _, highest = partition.boxes(np.where(codes == domain.missing, 0, codes).astype(codes.dtype))
        return appearance.NumericRegions(attribute.name, codes, partition, low, high, output, domain, tails, highest)
    assert isinstance(domain, Taxonomy)
    return appearance.CategoricalRegions(attribute.name, codes, partition, low, high, output, domain)
