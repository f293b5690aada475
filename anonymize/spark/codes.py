"""The values of a column as whole numbers: keys, by which an engine hands rows to workers, and codes, by which these
work on them.

A number crosses the border between the JVM and a worker for a fraction of what a text takes, so that workers are sent
whole numbers as they are and hashes of all other values. What a hash stands for is known from the different values,
which come to the driver with theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np
import polars as pl

from anonymize.classes import Codes, Ints
from anonymize.errors import DataError, Problem
from anonymize.spark.engine import read_otherwise
from anonymize.table.encode import code_type

WIDEST = 1 << 22
"""How far it may be from the least to the most of keys for each to have a place in a table of codes, which takes a
fraction of the time of looking them up."""
HASHED = frozenset({"string", "boolean", "date", "timestamp", "timestamp_ntz", "float", "double"})
"""Types, beside decimals, of which every engine makes a hash; of others it is that of their text."""


def hashed_key(column: str, kind: str) -> str:
    """An expression: the key of the values of a column that are no whole numbers, nulls among them. `kind`: its type,
    as `DataFrame.dtypes` has it."""
    direct = kind in HASHED or kind.startswith("decimal")
    return f"xxhash64({column if direct else f'cast({column} as string)'})"


def number_key(column: str, known: pl.Series) -> tuple[str, Ints]:
    """The same of whole numbers, which are their own keys, and (n,) the keys of the different values. A null gets a
    number that is free, next to the others where there is one."""
    numbers = known.cast(pl.Int64)
    present = numbers.drop_nulls().to_numpy()
    nothing = (int(present.min()) if len(present) else 0) - 1
    if nothing < -(2**63):
        taken = set(present.tolist())
        nothing = next(number for number in count(nothing + 1) if number not in taken)
    return f"coalesce(cast({column} as bigint), cast('{nothing}' as bigint))", numbers.fill_null(nothing).to_numpy()


@dataclass(frozen=True)
class CodeBook:
    """The codes of the values of a column, by its place.

    `key`: the expression by which the engine makes the keys that workers are sent. `keys` (n,): of the different
    values, ascending; `own` (n,): the code of each; `size`: what codes are below.
    """

    column: str
    key: str
    keys: Ints
    own: Codes
    size: int

    @classmethod
    def of(cls, column: str, key: str, keys: Ints, codes: Codes, size: int) -> CodeBook:
        """Those of a column. Raises DataError where two values with different codes have the same key."""
        different, first, which = np.unique(keys, return_index=True, return_inverse=True)
        own = codes[first].astype(code_type(size), copy=False)
        if (own[which] != codes).any():
            hint = "make the release on one machine, or change one of them by what nobody would see"
            raise DataError(Problem("two values of a column have the same hash of 64 bits", hint=hint))
        return cls(column, key, different, own, size)

    @property
    def name(self) -> str:
        """The column of keys."""
        return f"k{self.column}"

    @property
    def expression(self) -> str:
        """What the engine makes the column of keys by."""
        return f"{self.key} as {self.name}"

    def codes(self, keys: Ints) -> Codes:
        """(n,) of some rows, by their keys. Raises DataError for a value that was not there when values were
        counted."""
        if not len(keys):
            return self.own[:0]
        least, most = int(self.keys[0]), int(self.keys[-1])
        if keys.min() < least or keys.max() > most:
            raise read_otherwise()
        places = self._table[keys - least] if most - least <= WIDEST else self._places(keys)
        if (places < 0).any():
            raise read_otherwise()
        return np.asarray(self.own[places])

    @cached_property
    def _table(self) -> Ints:
        """The place of each key, from the least to the most; -1: no value has it."""
        table = np.full(int(self.keys[-1]) - int(self.keys[0]) + 1, -1, np.int64)
        table[self.keys - self.keys[0]] = np.arange(len(self.keys))
        return table

    def _places(self, keys: Ints) -> Ints:
        """The place of each of some keys; -1: it is none of these."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return np.asarray(pc.index_in(pa.array(keys), pa.array(self.keys)).fill_null(-1).to_numpy())
