"""What algorithms return that make no equivalence classes: groups of rows (`anatomy`), columns with distorted values
and the parameters by which they were distorted (`randomize`), or invented rows (`synthesize`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize import channels
from anonymize.channels.problem import epsilon
from anonymize.classes import Codes, Ints
from anonymize.domain.levels import Categories
from anonymize.errors import Caution
from anonymize.meaning import Channel
from anonymize.meaning.manifest import RANDOMIZED, VERSION
from anonymize.records import dataclass


@dataclass(frozen=True)
class Bucketized:
    """Groups of rows.

    `group` (rows,) int32: number of each row's group from 0, -1 for a row that is left out. `count`: number of groups.
    `mixed` (rows,) int64: the row whose sensitive value each row shows where both stand in one file, a random one of
    its group; -1 for a row that is left out. `l`: the fewest different values of a group. `joined`: one file, not two.
    `name`: of the column of groups.
    """

    KIND: ClassVar[str] = "buckets"

    group: NDArray[np.int32]
    count: int
    mixed: Ints
    l: int  # noqa: E741
    joined: bool
    name: str

    @property
    def sizes(self) -> Ints:
        """(groups,) rows of each group."""
        return np.bincount(self.group[self.group >= 0], minlength=self.count)

    @property
    def left_out(self) -> int:
        """Rows that are in no group."""
        return int(np.count_nonzero(self.group < 0))

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        files = "one" if self.joined else "two"
        return {"kind": self.KIND, "files": files, "groups": self.count, "l": self.l, "suppressed_rows": self.left_out}


@dataclass(frozen=True)
class Distorted:
    """One column: the categories it is over, (rows,) codes of them as they were and as they are released, and p.

    `released` is None where the column is left alone: it passes through as the text it came in. `missing`: the category
    of missing sensitive values. `generalized`: the categories are not the values themselves.
    """

    name: str
    role: Literal["quasi-identifier", "sensitive"]
    categories: Categories
    original: Codes
    released: Codes | None = None
    p: float = 1.0
    missing: int | None = None
    generalized: bool = False

    @property
    def size(self) -> int:
        """Number of categories."""
        return len(self.categories.texts)

    @property
    def meaning(self) -> str:
        """What the column holds where it does not hold what it held."""
        own = "the label of the original value" if self.generalized else "the original value"
        return own if self.p == 1 else f"{own}, or another one at random"

    @property
    def channel(self) -> Channel:
        """What the recipient needs: p, the values, and the numbers that each of them spans where they are intervals."""
        if self.released is None:
            return Channel(self.name, self.role, 1.0)
        categories = self.categories
        return Channel(self.name, self.role, self.p, categories.texts, categories.bounds, categories.half_open)


@dataclass(frozen=True)
class Randomized:
    """A randomized table: its quasi-identifiers and sensitive attributes. `on`: which of them could be distorted.

    `seeded`: the random numbers can be had again by whoever knows the seed. `by_hand`: parameters that were given.
    `warnings`: for the report.
    """

    KIND: ClassVar[str] = "randomized"

    on: str
    columns: tuple[Distorted, ...]
    seeded: bool
    by_hand: bool
    warnings: tuple[Caution, ...] = ()

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        distortion = {
            each.name: {
                "p": each.p,
                "q": channels.other(each.p, each.size),
                "values": each.size,
                "epsilon": epsilon(each.p, each.size),
            }
            for each in self.columns
        }
        product = 1.0
        for each in self.columns:
            product *= channels.norm_squared(each.p, each.size)
        return {
            "kind": self.KIND,
            "on": self.on,
            "parameters": "by hand" if self.by_hand else "optimal",
            "entropy": "seed" if self.seeded else "system",
            "safe_to_publish": not self.seeded,
            "distortion": distortion,
            "norms": product,
        }

    def meanings(self) -> dict[str, dict[str, str]]:
        """What the distorted columns hold, as a codebook has it."""
        return {each.name: {each.name: each.meaning} for each in self.columns if each.released is not None}

    def parameters(self, rows: int, separator: str) -> dict[str, Any]:
        """The file for the recipient."""
        return {
            "format": RANDOMIZED,
            "version": VERSION,
            "rows": rows,
            "separator": separator,
            "attributes": [{"name": each.name, **each.channel.entry()} for each in self.columns],
        }


@dataclass(frozen=True)
class SampledColumn:
    """How a column reads at the `level` of a hierarchy. `texts`: of each node; `nodes` (rows of the input,)."""

    name: str
    texts: tuple[str, ...]
    nodes: NDArray[np.int64]
    level: int


@dataclass(frozen=True)
class SampledRows:
    """Rows of the input that were drawn with the probability `beta`, of classes of at least `k` of those that were.
    `search`: the epsilon that the choice of levels has spent; `delta`: what was left out."""

    KIND: ClassVar[str] = "sampled"

    columns: tuple[SampledColumn, ...]
    rows: NDArray[np.int64]
    k: int
    beta: float
    search: float
    delta: float

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        levels = {each.name: each.level for each in self.columns}
        return {"kind": self.KIND, "levels": levels, "k": self.k, "beta": self.beta, "epsilon_of_search": self.search}


@dataclass(frozen=True)
class Unchanged:
    """Rows as they are, but for the columns that steps of the spec's `treatments` have changed."""

    KIND: ClassVar[str] = "unchanged"

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        return {"kind": self.KIND}


@dataclass(frozen=True)
class Synthesized:
    """Invented rows: a `frame` of texts, and the `block` of the manifest, which says all of how they were drawn."""

    KIND: ClassVar[str] = "synthetic"

    frame: pl.DataFrame
    block: Mapping[str, Any]

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block: what was measured, and not the counts."""
        measured = self.block["measurements"]
        return {
            "kind": self.KIND,
            "method": self.block["method"],
            "individual": self.block["individual"],
            "rows_per_unit": self.block["rows_per_unit"],
            "count": self.block["count"],
            "spent": dict(self.block["differential"]),
            "measured": [list(each["columns"]) for each in measured if len(each["columns"]) > 1],
            "selections": len(self.block["selections"]),
            "largest_clique": max(len(each["values"]) for each in self.block["model"]["cliques"]),
        }

    def meanings(self) -> dict[str, dict[str, str]]:
        """What the columns hold, as a codebook has it."""
        return {name: {name: "an invented value"} for name in self.frame.columns}


Unclassed: TypeAlias = Bucketized | Randomized | SampledRows | Synthesized | Unchanged
"""What a search returns that has no classes."""
