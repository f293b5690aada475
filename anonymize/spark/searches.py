"""The searches that an engine has, and the options of them that it has not: recoding that treats all rows alike,
from distinct rows, and Mondrian and local recoding, in parts that workers search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import polars as pl

from anonymize.algorithms import ALGORITHMS, Context, wrong_values
from anonymize.algorithms.base import draws, flag_given, why_not_reusable
from anonymize.algorithms.mondrian import CANDIDATES, TRIAL_ROWS, RuleSearch, best_rule
from anonymize.algorithms.splitting.parts import PART_ROWS, upper_parts
from anonymize.classes import Codes, Ints, Runs
from anonymize.domain.numeric import Numeric
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.families.classes import must_drop
from anonymize.families.steps import suppression_limit
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.recoding import Levels, Recoding, Regions, Released, SingleDimensional, render
from anonymize.records import dataclass
from anonymize.spark.cutting import Demands, EngineRows
from anonymize.spark.engine import DataFrame, read_otherwise
from anonymize.spark.growing import LOCAL_ROWS, PartSearch, Plan, as_one_class, boxes_of, released_rows
from anonymize.spark.learned import MOST_COMBINATIONS, CodeBook, Learned, distinct_rows
from anonymize.spark.outcome import (
    CellTexts,
    Columns,
    EngineColumns,
    EngineFrame,
    EngineOutcome,
    beside,
    targets_of,
    with_targets,
)
from anonymize.spec import Spec
from anonymize.table import Attribute, Table

# --- all rows alike ---------------------------------------------------------------------------------------------------
# Recoding that treats all rows of a DataFrame alike, full-domain or single-dimensional: the engine counts combinations,
# one machine searches, workers look up.
#
# What a row reads follows from the codes of its quasi-identifiers, so that no row is moved before the last sort. Where
# all classes are at the same levels, or show intervals of the same cuts, the codes are taken as the nodes of these
# levels, or as these intervals, of which there are fewer combinations.

CLASS = "class"


@dataclass(frozen=True)
class FullDomain:
    """A search on counted combinations. `options`: the algorithm's own. `most`: combinations that the driver takes."""

    drops: ClassVar[bool] = True
    seed: ClassVar[None] = None
    algorithm: str
    options: Any
    most: int

    def check(self) -> None:
        """See `EngineSearch`."""

    def outcome(self, rows: DataFrame, known: EngineFrame) -> EngineOutcome:
        """What it finds. Raises InfeasibleError where no node is safe, and as `distinct_rows` does."""
        spec, learned, requirements = known.spec, known.learned, known.requirements
        targets = targets_of(spec, self.algorithm, self.options)
        looked_at = [*(each.attribute for each in requirements), *targets]
        table = with_targets(distinct_rows(rows, learned, looked_at, self.most), targets)
        output = spec.output
        limit = suppression_limit(spec, learned.rows)
        context = Context(
            limit, suppressed=output.suppressed, published=output.suppressed_rows == "keep", output=output
        )
        recoding = ALGORITHMS[self.algorithm].run(table, requirements, self.options, context)
        assert isinstance(recoding, Levels | SingleDimensional)
        drop = must_drop(spec, table, recoding, requirements)
        released = render(recoding, table, output, drop=drop)
        book = ClassBook.of(table, recoding, released, learned.books)
        assert table.counts is not None
        left_out = int(table.counts[released.class_of < 0].sum())
        made = _made(rows, learned, book, known.layout, drops=left_out > 0)
        shared = _shared(recoding, table)
        return EngineOutcome(made, asdict(self.options), recoding.summary(), shared, left_out, recoding.labelled)


def _shared(recoding: Recoding, table: Table) -> list[tuple[int, int]] | None:
    """(level, height) of each quasi-identifier, where all classes are at the same levels."""
    if recoding.vector is None:
        return None
    return [(level, own.hierarchy.height) for level, own in zip(recoding.vector, table.attributes, strict=True)]


@dataclass(frozen=True)
class ClassBook:
    """The class of each combination of values, and how it reads.

    `books`: the codes of each quasi-identifier. `nodes`: of each (size,), what its codes are taken as. `frame`: these
    combinations, `n0`, `n1`, ..., and the `CLASS` of each; -1: its rows are left out.
    """

    books: Sequence[CodeBook]
    nodes: Sequence[Codes]
    frame: pl.DataFrame
    released: Released

    @classmethod
    def of(cls, table: Table, recoding: Recoding, released: Released, books: Sequence[CodeBook]) -> ClassBook:
        """The classes of a recoding of a table of distinct rows."""
        count = len(table.attributes)
        nodes = [_nodes(recoding, own, place) for place, own in enumerate(table.attributes)]
        columns = [pl.Series(f"n{place}", nodes[place][own.codes]) for place, own in enumerate(table.attributes)]
        frame = pl.DataFrame([*columns, pl.Series(CLASS, released.class_of)]).unique()
        return cls(books[:count], nodes, frame, replace(released, class_of=np.zeros(0, np.int32)))

    def classes(self, keys: Sequence[Ints]) -> Ints:
        """(rows,) the class of each of some rows, by the keys (rows,) of the quasi-identifiers. Raises DataError for a
        combination that was not there when they were counted."""
        codes = [nodes[book.codes(own)] for nodes, book, own in zip(self.nodes, self.books, keys, strict=True)]
        names = [f"n{place}" for place in range(len(codes))]
        frame = pl.DataFrame([pl.Series(name, own) for name, own in zip(names, codes, strict=True)])
        classes = frame.join(self.frame, on=names, how="left", maintain_order="left")[CLASS]
        if classes.null_count():
            raise read_otherwise()
        return classes.to_numpy()


def _nodes(recoding: Recoding, attribute: Attribute, place: int) -> Codes:
    """(size,) what each code of an attribute is taken as, numbered from 0: the interval of its cut, or its node at the
    level of all classes; without either the code itself."""
    codes = np.arange(attribute.domain.size)
    if isinstance(recoding, SingleDimensional):
        cut = recoding.cuts[attribute.name]
        by_leaf = cut.labelled and isinstance(attribute.domain, Numeric)
        codes = cut.interval_of(attribute.generalization.leaf_of(codes) if by_leaf else codes)
    elif recoding.vector is not None:
        nodes = attribute.hierarchy.levels[recoding.vector[place], attribute.generalization.leaf_of(codes)]
        codes = np.unique(nodes, return_inverse=True)[1]
    return np.asarray(codes.astype(np.min_scalar_type(max(int(codes.max(initial=0)), 0))))


def _made(rows: DataFrame, learned: Learned, book: ClassBook, layout: EngineColumns, *, drops: bool) -> DataFrame:
    """The rows as they are released. `drops`: some are left out."""
    keyed = learned.keyed(rows, *(f"c{place}" for place in layout.passing))
    keys = [own.name for own in book.books]
    made = beside(keyed, keys, partial(_released, book, layout), {CLASS: "int", **layout.generalized})
    kept = made.filter(f"{CLASS} >= 0") if drops else made
    return kept.select(*(f"c{place}" for place in layout.released))


def _released(book: ClassBook, layout: EngineColumns, chunks: Iterable[Columns]) -> Iterator[pl.DataFrame]:
    """The class of the rows of a partition, and what their quasi-identifiers read as."""
    for keys in chunks:
        class_of = book.classes(keys)
        texts = CellTexts.of_rows(len(class_of), layout)
        texts.put(book.released, layout, np.arange(len(class_of)), class_of)
        (frame,) = texts.frames(len(class_of))
        yield frame.with_columns(pl.Series(CLASS, class_of.astype(np.int32)))


# --- parts that workers search ----------------------------------------------------------------------------------------
# Mondrian and local recoding of a DataFrame: upper cuts from counts, and parts that workers search.

WORKER_ROWS = 4 * PART_ROWS
"""Rows that a worker grows at once, at most: every level of upper cuts that this saves is a pass over all rows."""
AUTO = "auto"
RULE = CANDIDATES[0]


@dataclass(frozen=True)
class Parted:
    """Upper cuts, and a search of every part.

    `options`: the algorithm's own. `part_rows`: how many rows a worker searches at once; None: what is usual. `seed`:
    where chance begins in every part.
    """

    drops: ClassVar[bool] = False
    algorithm: str
    options: Any
    part_rows: int | None = None
    seed: int | None = None

    @property
    def cut(self) -> str:
        """The rule of the upper cuts, or `auto`."""
        return str(getattr(self.options, "cut", AUTO))

    @property
    def exact(self) -> bool:
        """Whether the classes are those of a search of all rows: where equal rows stay together."""
        return why_not_reusable(ALGORITHMS[self.algorithm], self.options) is None

    @property
    def rows(self) -> int:
        """Rows of a part at most."""
        return self.part_rows or (WORKER_ROWS if self.exact else LOCAL_ROWS)

    def check(self) -> None:
        """Raises UsageError for a rule that looks at more than one attribute at a time."""
        if self.cut not in (AUTO, *CANDIDATES):
            raise UsageError(f"cut {self.cut!r}: not on an engine, which has {', '.join(CANDIDATES)}")

    def outcome(self, rows: DataFrame, known: EngineFrame) -> EngineOutcome:
        """The classes that it makes. Raises InfeasibleError where all rows as one class do not meet a requirement."""
        learned, requirements = known.learned, known.requirements
        _check_feasible(learned, requirements)
        demands = Demands(requirements, chosen_rule(rows, learned, requirements, self.cut))
        plan = self._planned(rows, known, demands)
        options = {"cut": demands.cut} if self.exact else asdict(self.options)
        parts = {} if self.exact else {"parts": len(plan.parts.numbers)}
        return EngineOutcome(
            released_rows(rows, plan),
            {**options, "part_rows": self.rows},
            {"kind": Regions.KIND, "cut": demands.cut, **parts},
            small=not plan.boxes,
            as_one_class=lambda: released_rows(rows, as_one_class(plan)),
        )

    def _planned(self, rows: DataFrame, known: EngineFrame, demands: Demands) -> Plan:
        """The upper cuts, as workers need them."""
        learned = known.learned
        source = EngineRows(rows, learned, demands)
        refused = source.refused if demands.beyond_size else None
        parts = upper_parts(source, demands.rule(learned), len(learned.attributes), self.rows, refused)
        large = parts.numbers[parts.sizes > self.rows]
        boxes = boxes_of(large, source.counts(large)) if len(large) else {}
        bare, output = learned.without_codes(), known.spec.output
        plan = Plan(bare, demands, known.layout, output, tuple(source.steps), parts, boxes, self.rows)
        if self.exact:
            return plan
        return replace(plan, local=PartSearch(self.algorithm, self.options, known.requirements, self.seed))


def _check_feasible(learned: Learned, requirements: Sequence[Requirement]) -> None:
    """Raises InfeasibleError where all rows as one class do not meet a requirement."""
    histograms = {}
    for column, counts in zip(learned.sensitive, learned.counts[len(learned.attributes) :], strict=True):
        histograms[column.name] = Histogram.of(column, Runs.of_one(counts), 1)
    everyone = Groups(np.array([learned.rows]), histograms)
    failing = [each for each in requirements if not check(everyone, [each]).all()]
    if failing:
        hint = "an engine does not suppress single rows: if that would help, make the release on one machine"
        raise InfeasibleError([Problem(f"{each} is not met by all rows as one class", hint=hint) for each in failing])


def chosen_rule(rows: DataFrame, learned: Learned, requirements: tuple[Requirement, ...], cut: str) -> str:
    """The rule by which classes are cut. Where a trial decides, it is on the rows whose values hash lowest: as many as
    on one machine, where they are spread over the table."""
    if cut != AUTO:
        return cut
    if all(MODELS[each.model].sized(each.parameters) for each in requirements):
        return RULE
    columns = learned.columns
    some = learned.keyed(rows, f"xxhash64({', '.join(columns)}) as hash")
    trial = some.orderBy("hash", *learned.keys).limit(TRIAL_ROWS).toArrow()
    codes = learned.codes([trial[name].to_numpy() for name in learned.keys])
    count = len(learned.attributes)
    table = learned.table(codes[:count], codes[count:], trial.num_rows)
    everyone = np.arange(trial.num_rows, dtype=np.uint32)
    return best_rule(RuleSearch(table, requirements, False, Context(0), everyone))


# --- searches ---------------------------------------------------------------------------------------------------------
# The searches that an engine has, and the options of them that it has not.

RANDOMIZE = "randomize"
MULTIDIMENSIONAL, LOCAL = "multidimensional", "local"
"""Families that work by parts."""
INSTEAD = {
    "single-dimensional": "incognito, tds and bug treat all rows alike as well, and mondrian loses less",
    "bucketization": "mondrian meets the same models of sensitive values",
}
"""What to take in place of families that an engine does not have."""
OF_ROWS = ("mask_minimality", "output_lattice")
"""Options of full-domain searches that look at rows, or write a file beside the release."""
OF_ALL = ("mask_minimality", "exact", "ties", "time_limit", "local")
"""Options of searches by parts that are about the table as a whole: by seconds, parts would differ between workers."""


class EngineSearch(Protocol):
    """A search of the rows of a DataFrame."""

    @property
    def algorithm(self) -> str:
        """Its name."""

    @property
    def options(self) -> Any:
        """The options of the algorithm."""

    @property
    def seed(self) -> int | None:
        """The seed of what is drawn, if one is given."""

    @property
    def drops(self) -> bool:
        """Whether it can leave suppressed rows out."""

    def check(self) -> None:
        """Raises UsageError for what it does not do on an engine."""

    def outcome(self, rows: DataFrame, known: EngineFrame) -> EngineOutcome:
        """What it finds. `rows`: their columns by their places. Raises InfeasibleError where there is nothing."""


Given: TypeAlias = dict[str, object]


def on_engine() -> list[str]:
    """The algorithms that an engine has."""
    return [name for name, each in ALGORITHMS.items() if each.NEEDS.counted or _by_parts(name)]


def _by_parts(name: str) -> bool:
    return ALGORITHMS[name].NEEDS.family in (MULTIDIMENSIONAL, LOCAL)


def check_algorithm(name: str) -> None:
    """Raises UsageError for an algorithm that an engine does not have."""
    if name == RANDOMIZE:
        raise UsageError(Problem("randomize makes no classes", hint="anonymize.spark.randomize"))
    if name not in on_engine():
        able = ", ".join([*on_engine(), RANDOMIZE])
        instead = INSTEAD.get(ALGORITHMS[name].NEEDS.family, "make the release on one machine")
        raise UsageError(Problem(f"{name} does not run on an engine", hint=f"{instead}; these do: {able}"))


def options_of(name: str, given: Mapping[str, Any]) -> Any:
    """The algorithm's options. Raises UsageError for names that are none."""
    own = ALGORITHMS[name].Options
    unknown = sorted(given.keys() - {each.name for each in fields(own)})
    if unknown:
        raise UsageError(f"spark.release has no option {', '.join(unknown)}")
    return own(**given)


def lacking(name: str, options: Any) -> Given:
    """By its flag, whether each of an algorithm's options that an engine does not have is given."""
    without = OF_ALL if _by_parts(name) else OF_ROWS
    own = [each for each in fields(options) if each.name in without]
    return {flag_given(each): getattr(options, each.name) != each.default for each in own}


def parted_by_levels(spec: Spec, name: str) -> Given:
    """Whether levels part the rows of an algorithm that parts them by itself on an engine."""
    bounded = any(each.levels is not None and each.levels.max is not None for each in spec.quasi_identifiers.values())
    return {f"levels.max of {name}": bounded and _by_parts(name)}


@dataclass(frozen=True)
class EngineLimits:
    """How much is done at once. `part_rows`: rows that a worker searches; None: what is usual with the algorithm.
    `most_combinations`: of values, that the driver takes."""

    part_rows: int | None = None
    most_combinations: int = MOST_COMBINATIONS


def search_of(name: str, options: Any, limits: EngineLimits, seed: int | None = None) -> EngineSearch:
    """The search that an algorithm is on an engine. Raises UsageError for wrong values of its options, and for a seed
    where nothing is drawn."""
    if wrong := wrong_values(options):
        raise UsageError(wrong)
    if seed is not None and not draws(ALGORITHMS[name], options):
        raise UsageError("--seed: nothing is drawn at random with these options")
    if _by_parts(name):
        search: EngineSearch = Parted(name, options, limits.part_rows, seed)
    else:
        search = FullDomain(name, options, limits.most_combinations)
    search.check()
    return search
