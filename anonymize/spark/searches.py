"""The searches that an engine has, of a DataFrame that is released: recoding that treats all rows alike, from distinct
rows, and Mondrian and local recoding, in parts that workers search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
import polars as pl

from anonymize.algorithms import ALGORITHMS, Context, base, reads_workload
from anonymize.algorithms.mondrian import CANDIDATES, TRIAL_ROWS, RuleSearch, best_rule
from anonymize.algorithms.splitting.parts import PART_ROWS, upper_parts
from anonymize.classes import Codes, Ints, Runs
from anonymize.domain.numeric import Numeric
from anonymize.errors import InfeasibleError, Problem
from anonymize.families.classes import must_drop
from anonymize.families.steps import suppression_limit
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.recoding import Levels, Recoding, Regions, Released, SingleDimensional, render
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.spark import checking, cutting
from anonymize.spark.engine import Columns, DataFrame, beside, held, in_order, named_by_place, places_of, read_otherwise
from anonymize.spark.growing import (
    LOCAL_ROWS,
    CellTexts,
    EngineColumns,
    Plan,
    as_one_class,
    boxes_of,
    part_classes,
    released_rows,
)
from anonymize.spark.learned import MOST_COMBINATIONS, MOST_VALUES, CodeBook, Learned, distinct_rows, learn
from anonymize.spec import Spec
from anonymize.spec.columns import Sensitive
from anonymize.table import Attribute, Table, TargetColumn, model

# --- what a search begins with, and ends with -------------------------------------------------------------------------


def coded(spec: Spec, targets: Iterable[str]) -> Spec:
    """The spec of what is coded: its targets are sensitive attributes, unless they are quasi-identifiers."""
    kinds = spec.targets()
    own = {name: Sensitive(type=kinds[name]) for name in targets if name not in spec.quasi_identifiers}
    return spec.model_copy(update={"sensitive": {**own, **spec.sensitive}})


def with_targets(table: Table, targets: Iterable[str]) -> Table:
    """The table with its targets, each of which it has as a quasi-identifier or as a sensitive attribute."""
    known = {each.name: model.as_target(each) for each in table.attributes}
    for own in table.sensitive:
        known[own.name] = TargetColumn(own.name, own.codes, own.size, own.missing, own.values, own.texts)
    return replace(table, targets=tuple(known[name] for name in targets))


@dataclass(frozen=True)
class EngineLimits:
    """How an engine works. `checkpoint`: a folder that it and its workers can write to. `part_rows`: rows that a worker
    searches at once; None: what is usual with the algorithm. `most_values`, `most_combinations`: different values of a
    column, and combinations of them, that the driver takes."""

    checkpoint: str
    part_rows: int | None = None
    most_values: int = MOST_VALUES
    most_combinations: int = MOST_COMBINATIONS


@dataclass(frozen=True)
class EngineFrame:
    """A DataFrame that is released: its `rows`, their columns by their places, and what the driver has `learned`."""

    request: Request
    limits: EngineLimits
    requirements: tuple[Requirement, ...]
    rows: DataFrame
    layout: EngineColumns
    learned: Learned

    @classmethod
    def read(
        cls, df: DataFrame, request: Request, requirements: tuple[Requirement, ...], limits: EngineLimits
    ) -> EngineFrame:
        """Counts the values of the columns that count; raises as `learn` does."""
        spec, needs = request.spec, ALGORITHMS[request.algorithm].NEEDS
        layout, rows = EngineColumns(places_of(df.columns), spec.roles()), named_by_place(df)
        known = cls(request, limits, requirements, rows, layout, None)  # type: ignore[arg-type]  # it is learned next
        learned = learn(
            rows,
            layout.places,
            coded(spec, known.targets),
            requirements,
            limits.most_values,
            at_levels=not needs.levels,
        )
        return replace(known, learned=learned)

    @property
    def spec(self) -> Spec:
        """What is released, and how."""
        return self.request.spec

    @property
    def targets(self) -> list[str]:
        """The targets that the search looks at."""
        request = self.request
        return list(request.spec.targets()) if reads_workload(ALGORITHMS[request.algorithm], request.options) else []

    @property
    def reading(self) -> checking.FrameReading:
        """How the release is measured."""
        places = self.layout.released
        columns = {name: [places[name]] for name in self.spec.quasi_identifiers}
        reading = checking.reading_of(self.spec, [place for (place,) in columns.values()], places)
        return checking.FrameReading(self.spec, reading, places, columns)

    def written(self, released: DataFrame, *, together: bool = False) -> DataFrame:
        """The released rows, in order, as they were written to the checkpoint. `together`: see `in_order`."""
        order = self.spec.output.row_order
        groups = [*self.layout.made], self.layout.passing
        ordered = in_order(released, order, groups, self.learned.rows, together)
        return held(ordered, self.limits.checkpoint, f"release-{uuid4().hex}")


@dataclass(frozen=True)
class EngineOutcome:
    """What was found. `rows`: the released rows, in any order, their columns by their places.

    `options`, `recoding`: what the report says of the search, and of what it found. `levels`: the pairs (level, height)
    of a generalization that is the same for all rows. `left_out`: rows of the input that are not among those of the
    release. `labelled`: numbers are shown as labels of their hierarchy. `small`: no class has more rows than a worker
    holds at once. `as_one_class`: the rows as one class, where that is released instead once too many read as
    suppressed.
    """

    rows: DataFrame
    options: Mapping[str, Any]
    recoding: Mapping[str, Any]
    levels: Sequence[tuple[int, int]] | None = None
    left_out: int = 0
    labelled: bool = False
    small: bool = False
    as_one_class: Callable[[], DataFrame] | None = None


# --- all rows alike ---------------------------------------------------------------------------------------------------
# Full-domain or single-dimensional recoding: the engine counts combinations, one machine searches, workers look up.
#
# What a row reads follows from the codes of its quasi-identifiers, so that no row is moved before the last sort. Where
# all classes are at the same levels, or show intervals of the same cuts, the codes are taken as the nodes of these
# levels, or as these intervals, of which there are fewer combinations.

CLASS = "class"


def counted_search(known: EngineFrame) -> EngineOutcome:
    """What a search of counted combinations finds. Raises InfeasibleError where no node is safe, and as `distinct_rows`
    does."""
    request, learned, requirements, output = known.request, known.learned, known.requirements, known.spec.output
    looked_at = [*(each.attribute for each in requirements), *known.targets]
    distinct = distinct_rows(known.rows, learned, looked_at, known.limits.most_combinations)
    table = with_targets(distinct, known.targets)
    limit = suppression_limit(known.spec, learned.rows)
    context = Context(limit, suppressed=output.suppressed, published=output.suppressed_rows == "keep", output=output)
    recoding = ALGORITHMS[request.algorithm].run(table, requirements, request.options, context)
    assert isinstance(recoding, Levels | SingleDimensional)
    released = render(recoding, table, output, drop=must_drop(known.spec, table, recoding, requirements))
    book = ClassBook.of(table, recoding, released, learned.books)
    assert table.counts is not None
    left_out = int(table.counts[released.class_of < 0].sum())
    made = _made(known, book, drops=left_out > 0)
    shared = _shared(recoding, table)
    return EngineOutcome(made, asdict(request.options), recoding.summary(), shared, left_out, recoding.labelled)


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
    level of all classes; without either, and where siblings are in another order, the code itself."""
    codes = np.arange(attribute.domain.size)
    if isinstance(recoding, SingleDimensional) and not recoding.ordered:
        cut = recoding.cuts[attribute.name]
        by_leaf = cut.labelled and isinstance(attribute.domain, Numeric)
        codes = cut.interval_of(attribute.generalization.leaf_of(codes) if by_leaf else codes)
    elif recoding.vector is not None:
        nodes = attribute.hierarchy.levels[recoding.vector[place], attribute.generalization.leaf_of(codes)]
        codes = np.unique(nodes, return_inverse=True)[1]
    return np.asarray(codes.astype(np.min_scalar_type(max(int(codes.max(initial=0)), 0))))


def _made(known: EngineFrame, book: ClassBook, *, drops: bool) -> DataFrame:
    """The rows as they are released. `drops`: some are left out."""
    layout = known.layout
    keyed = known.learned.keyed(known.rows, *layout.passing)
    keys = [own.name for own in book.books]
    made = beside(keyed, keys, partial(_released, book, layout), {CLASS: "int", **layout.made})
    kept = made.filter(f"{CLASS} >= 0") if drops else made
    return kept.select(*layout.released.values())


def _released(book: ClassBook, layout: EngineColumns, chunks: Iterable[Columns]) -> Iterator[pl.DataFrame]:
    """The class of the rows of a partition, and what their quasi-identifiers read as."""
    for keys in chunks:
        class_of = book.classes(keys)
        texts = CellTexts.of_rows(len(class_of), layout)
        texts.put(book.released, layout, np.arange(len(class_of)), class_of)
        (frame,) = texts.frames(len(class_of))
        yield frame.with_columns(pl.Series(CLASS, class_of.astype(np.int32)))


# --- parts that workers search ----------------------------------------------------------------------------------------

WORKER_ROWS = 4 * PART_ROWS
"""Rows that a worker grows at once, at most: every level of upper cuts that this saves is a pass over all rows."""
AUTO = "auto"
RULE = CANDIDATES[0]


def parted_search(known: EngineFrame) -> EngineOutcome:
    """The classes of upper cuts and a search of every part. Raises InfeasibleError where all rows as one class do not
    meet a requirement."""
    request = known.request
    _check_feasible(known.learned, known.requirements)
    exact = base.why_not_reusable(ALGORITHMS[request.algorithm], request.options) is None
    part_rows = known.limits.part_rows or (WORKER_ROWS if exact else LOCAL_ROWS)
    cut = chosen_rule(known, str(getattr(request.options, "cut", AUTO)))
    plan = _planned(known, cutting.Demands(known.requirements, cut), part_rows)
    if not exact:  # equal rows may part, so that every part is searched by itself
        given = request.algorithm, request.options, known.requirements, request.seed
        plan = replace(plan, local=partial(part_classes, *given))
    parts = {} if exact else {"parts": len(plan.parts.numbers)}
    return EngineOutcome(
        released_rows(known.rows, plan),
        {**({"cut": cut} if exact else asdict(request.options)), "part_rows": part_rows},
        {"kind": Regions.KIND, "cut": cut, **parts},
        small=not plan.boxes,
        as_one_class=lambda: released_rows(known.rows, as_one_class(plan)),
    )


def _planned(known: EngineFrame, demands: cutting.Demands, part_rows: int) -> Plan:
    """The upper cuts, as workers need them."""
    learned = known.learned
    source = cutting.EngineRows(known.rows, learned, demands)
    refused = source.refused if demands.beyond_size else None
    parts = upper_parts(source, demands.rule(learned), len(learned.attributes), part_rows, refused)
    large = parts.numbers[parts.sizes > part_rows]
    boxes = boxes_of(large, source.counts(large)) if len(large) else {}
    bare, output = learned.without_codes(), known.spec.output
    return Plan(bare, demands, known.layout, output, tuple(source.steps), parts, boxes, part_rows)


def _check_feasible(learned: Learned, requirements: Sequence[Requirement]) -> None:
    histograms = {}
    for column, counts in zip(learned.sensitive, learned.counts[len(learned.attributes) :], strict=True):
        histograms[column.name] = Histogram.of(column, Runs.of_one(counts), 1)
    everyone = Groups(np.array([learned.rows]), histograms)
    failing = [each for each in requirements if not check(everyone, [each]).all()]
    if failing:
        hint = "an engine does not suppress single rows: if that would help, make the release on one machine"
        raise InfeasibleError([Problem(f"{each} is not met by all rows as one class", hint=hint) for each in failing])


def chosen_rule(known: EngineFrame, cut: str) -> str:
    """The rule by which classes are cut. Where a trial decides, it is on the rows whose values hash lowest: as many as
    on one machine, where they are spread over the table."""
    learned, requirements = known.learned, known.requirements
    if cut != AUTO:
        return cut
    if all(MODELS[each.model].sized(each.parameters) for each in requirements):
        return RULE
    columns = learned.columns
    some = learned.keyed(known.rows, f"xxhash64({', '.join(columns)}) as hash")
    trial = some.orderBy("hash", *learned.keys).limit(TRIAL_ROWS).toArrow()
    codes = learned.codes([trial[name].to_numpy() for name in learned.keys])
    count = len(learned.attributes)
    table = learned.table(codes[:count], codes[count:], trial.num_rows)
    everyone = np.arange(trial.num_rows, dtype=np.uint32)
    return best_rule(RuleSearch(table, requirements, False, Context(0), everyone))
