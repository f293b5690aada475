"""A batch: neighbouring classes whose rows are copied out of the table and laid side by side, ready to be cut.

Copying the codes class by class is what keeps every later pass over them sequential and inside the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.splitting.ranks import Statistic, order_statistic
from anonymize.classes import Bools, Codes, Ints, Runs, concatenated_ranges, starts_of

Arranging = Callable[[Sequence[Codes]], list[Codes]]
"""Some columns of a batch (n,) -> the same rows of each of them, in another order, or some of them."""


@dataclass(frozen=True)
class Batch:
    """C classes of n rows in all.

    `rows` (n,) uint32 row numbers, class after class; `columns` one (n,) array of codes per quasi-identifier, or none
    of one that is settled: it had a single code in every class that these are parts of, which `settled` (C,
    attributes) has;
    `sensitive` the same per sensitive attribute that a requirement looks at, `targets` per target that a rule looks at;
    `sizes` (C,). `closed` (C, attributes): no cut of this class, nor of any part of it, is allowed on the attribute.
    `attempts` (C, attributes) uint8: cuts of this very class that a privacy model has refused. `notes`: what a rule has
    worked out about this batch and may need again. `ranked_codes`: of each attribute, the classes that it was last
    ranked in, and the codes of their rows: most often these are then cut there.
    """

    rows: NDArray[np.uint32]
    columns: tuple[Codes, ...]
    sensitive: tuple[Codes, ...]
    sizes: Ints
    closed: Bools
    attempts: NDArray[np.uint8]
    targets: tuple[Codes, ...] = ()
    settled: NDArray[np.uint32] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    ranked_codes: dict[int, tuple[Ints, Codes]] = field(default_factory=dict)

    @classmethod
    def whole(
        cls,
        rows: NDArray[np.uint32],
        columns: tuple[Codes, ...],
        sensitive: tuple[Codes, ...],
        targets: tuple[Codes, ...] = (),
    ) -> Batch:
        """One class of all the given rows, in their order; `columns`, `sensitive` and `targets` hold the codes of the
        table's rows."""
        if len(rows) < len(columns[0]) or (rows[1:] < rows[:-1]).any():
            columns = tuple(codes[rows] for codes in columns)
            sensitive = tuple(codes[rows] for codes in sensitive)
            targets = tuple(codes[rows] for codes in targets)
        shape = (1, len(columns))
        size = np.array([len(rows)])
        return cls(rows, columns, sensitive, size, np.zeros(shape, np.bool_), np.zeros(shape, np.uint8), targets)

    @property
    def count(self) -> int:
        """Number of classes, C."""
        return len(self.sizes)

    @cached_property
    def starts(self) -> Ints:
        """(C + 1,) offsets of the classes among the rows."""
        return starts_of(self.sizes)

    @cached_property
    def labels(self) -> Ints:
        """(n,) class of each row."""
        return np.repeat(np.arange(self.count), self.sizes)

    @cached_property
    def low(self) -> NDArray[np.uint32]:
        """(C, attributes) lowest code of each class."""
        return self._reduced(np.minimum)

    @cached_property
    def high(self) -> NDArray[np.uint32]:
        """(C, attributes) highest code of each class."""
        return self._reduced(np.maximum)

    def _reduced(self, ufunc: np.ufunc) -> NDArray[np.uint32]:
        boxes = np.empty((self.count, len(self.columns)), np.uint32, order="F")
        for attribute, codes in enumerate(self.columns):
            if len(codes) or self.settled is None:
                boxes[:, attribute] = ufunc.reduceat(codes, self.starts[:-1])
            else:
                boxes[:, attribute] = self.settled[:, attribute]
        return boxes

    @property
    def unsettled(self) -> Batch:
        """The same classes with the codes of all columns, for who looks at these row by row."""
        if self.settled is None:
            return self
        columns = tuple(
            codes if len(codes) else np.repeat(own, self.sizes)
            for codes, own in zip(self.columns, self.settled.T, strict=True)
        )
        return replace(self, columns=columns, settled=None)

    def codes_of(self, attribute: int, classes: Ints) -> Codes:
        """The codes of an attribute in the rows of some classes (m,), ascending, class after class."""
        codes = self.columns[attribute]
        return codes if len(classes) == self.count else codes.take(self.rows_of(classes))

    def cut_codes(self, attribute: int, classes: Ints) -> Codes:
        """The same of classes that are cut; those in which the attribute was ranked have been looked up."""
        ranked = self.ranked_codes.get(attribute)
        if ranked is not None and np.array_equal(ranked[0], classes):
            return ranked[1]
        return self.codes_of(attribute, classes)

    def labels_of(self, classes: Ints) -> Ints:
        """The class of each of these rows, as an index into the classes."""
        return self.labels if len(classes) == self.count else np.repeat(np.arange(len(classes)), self.sizes[classes])

    def runs_of(self, attribute: int, classes: Ints, size: int) -> Runs:
        """The codes of an attribute, each below `size`, that occur in some classes (m,), ascending, with their rows."""
        return Runs.count_classes(self.sizes[classes], self.codes_of(attribute, classes), size)

    def ranked(self, attribute: int, classes: Ints, size: int, rank: Ints) -> Statistic:
        """The code at a rank (m,) of each of some classes; see `order_statistic`."""
        codes = self.codes_of(attribute, classes)
        self.ranked_codes[attribute] = classes, codes
        return order_statistic(codes, self.sizes[classes], size, rank)

    def rows_of(self, classes: Ints) -> Ints:
        """Positions in the batch of the rows of some classes (m,), class after class."""
        return concatenated_ranges(self.starts[:-1][classes], self.sizes[classes])

    def take(self, arrange: Arranging, sizes: Ints, parents: Ints, attempts: NDArray[np.uint8]) -> Batch:
        """The batch of other classes of the same rows: `arrange` picks and orders rows, `parents` says what class each
        class came from."""
        varies = np.any(self.low < self.high, axis=0).tolist()
        varied = [codes for codes, some in zip(self.columns, varies, strict=True) if some]
        laid: Iterator[Any] = iter(arrange([self.rows, *varied, *self.sensitive, *self.targets]))
        return Batch(
            next(laid),
            tuple(next(laid) if some else codes[:0] for codes, some in zip(self.columns, varies, strict=True)),
            tuple(islice(laid, len(self.sensitive))),
            sizes,
            self.closed[parents],
            attempts,
            tuple(laid),
            self.low[parents],
        )

    def pieces(self, limit: int) -> list[Batch]:
        """The batch cut into batches of neighbouring classes, each of at most `limit` rows or of one class."""
        if len(self.rows) <= limit or self.count == 1:
            return [self]
        bounds, first = [0], 0
        while first < self.count:
            fits = int(np.searchsorted(self.starts, self.starts[first] + limit, side="right")) - 1
            first = max(fits, first + 1)
            bounds.append(first)
        return [self._slice(a, b) for a, b in pairwise(bounds)]

    def _slice(self, first: int, stop: int) -> Batch:
        rows = slice(self.starts[first], self.starts[stop])
        return replace(
            self,
            rows=self.rows[rows],
            columns=tuple(codes[rows] for codes in self.columns),
            sensitive=tuple(codes[rows] for codes in self.sensitive),
            sizes=self.sizes[first:stop],
            closed=self.closed[first:stop],
            attempts=self.attempts[first:stop],
            targets=tuple(codes[rows] for codes in self.targets),
            settled=None if self.settled is None else self.settled[first:stop],
            notes={},
            ranked_codes={},
        )
