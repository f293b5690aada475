"""Releases without equivalence classes next to their original: bucketized ones (anatomy) and those through channels.

A recipient can estimate the joint table of quasi-identifiers and sensitive attributes from them
(`anonymize.metrics.joint`). That estimate is what is measured, on one footing with generalized releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache, cached_property, partial
from typing import Any, ClassVar

import numpy as np
import polars as pl

from anonymize.auditing import check_group
from anonymize.channels.estimate import Method
from anonymize.classes import Floats, Ints, same_rows
from anonymize.errors import DataError, Problem, UsageError
from anonymize.fidelity import DISTRIBUTIONS, BothSides, fidelity
from anonymize.meaning import Detached, Manifest
from anonymize.metrics import DRAWN, METRICS, View, base, joint, measures, undefined, utility
from anonymize.metrics.joint import MOST_CELLS, Axes, Estimated, ValueBuckets
from anonymize.metrics.measures import MEASURES
from anonymize.metrics.queries import Queries
from anonymize.metrics.queries.answers import counted, summed
from anonymize.reading import raw_texts
from anonymize.records import dataclass
from anonymize.report.data import LEAST_COUNT
from anonymize.spec import Spec
from anonymize.table import Source, Table
from anonymize.verify import risk, unclassed


@dataclass(frozen=True)
class Unclassed:
    """A release that has been read. `output`: what the block `output` says of its files; `frame`: its rows as text."""

    MEANINGS: ClassVar[frozenset[str]]
    """What its columns mean."""

    spec: Spec
    table: Table
    output: Mapping[str, Any]
    frame: pl.DataFrame

    @property
    def rows(self) -> int:
        """Rows of the release."""
        return self.frame.height

    def classes(self) -> dict[str, Any]:
        """The block `classes`; nothing where there are no groups either."""
        return {}

    def metrics(self) -> dict[str, Any]:
        """The metrics of a report, and the block of attributes; nothing where values are drawn."""
        return {}

    def distributions(self) -> dict[str, Any]:
        """The blocks of marginals and associations; nothing where values are drawn."""
        return {}

    def joints(self) -> dict[str, Estimated]:
        """The joint table with each sensitive attribute, by its name. Raises DataError for cells of another table."""
        raise NotImplementedError

    def answers(self, queries: Queries, counts: Callable[[], Ints]) -> Floats | str:
        """(queries,) the counts that a recipient estimates; or why there are none. `counts` gives the true ones."""
        raise NotImplementedError


def opened_release(
    manifest: Manifest, method: Method | None, spec: Spec, table: Table, path: str, stack: ExitStack
) -> Unclassed:
    """A release without spans, by what its columns mean. `method`: how channels are undone.

    Raises DataError for files that are not what they should be, UsageError for meanings that go together nowhere.
    """
    if manifest.channels:
        return _through_channels(manifest, method or "inverse", spec, table, path)
    if manifest.detached is None:
        raise UsageError(f"{path}: no column of it has lost anything that is measured here")
    return _bucketized(manifest.detached, spec, table, path, stack)


def _through_channels(manifest: Manifest, method: Method, spec: Spec, table: Table, path: str) -> ChannelRelease:
    with Source.open(spec.of_release(manifest.separator), path) as source:
        rows = raw_texts(source, list(manifest.channels), spec, keep_empty=True)
        output = {"path": source.name, "sha256": source.sha256, "parameters_path": manifest.path}
    manifest.check_rows(rows.height, source.name)
    return ChannelRelease(spec, table, output, rows, manifest, method)


def _bucketized(detached: Detached, spec: Spec, table: Table, path: str, stack: ExitStack) -> BucketizedRelease:
    if len(table.sensitive) != 1:
        raise UsageError(f"a bucketized release has one sensitive attribute, the spec {len(table.sensitive)}")
    group, (sensitive,) = detached.by, [column.name for column in table.sensitive]
    source = stack.enter_context(Source.open(spec.of_release(), path))
    quasi = [attribute.name for attribute in table.attributes]
    check_group(detached, spec)
    rows = raw_texts(source, [*quasi, group, *([] if detached.table else [sensitive])], spec)
    output: dict[str, Any] = {"path": source.name, "sha256": source.sha256}
    if detached.table is None:
        listed = joint.listing(rows, group, sensitive)
    else:
        other = stack.enter_context(Source.open(spec.of_release(), detached.table))
        texts = raw_texts(other, [group, sensitive, unclassed.COUNT], spec)
        listed = _counted(joint.listing(texts, group, sensitive, unclassed.COUNT), other.name)
        unclassed.check_together(_groups(rows, group), listed)
        output |= {"sensitive_path": other.name, "sensitive_sha256": other.sha256}
    return BucketizedRelease(spec, table, output, rows, listed, group)


def _groups(rows: pl.DataFrame, group: str) -> pl.DataFrame:
    """`group` and `len`, the rows of each."""
    return pl.DataFrame({"group": rows[group]}).group_by("group").len()


def _counted(listed: pl.DataFrame, file: str) -> pl.DataFrame:
    """The sensitive table, its counts as numbers. Raises DataError for other counts."""
    counts = listed[unclassed.COUNT].cast(pl.Int64, strict=False).fill_null(0)
    wrong = int((counts < 1).sum())
    if wrong:
        raise DataError(Problem(f"{wrong} counts are not whole numbers above 0", file=file))
    return listed.with_columns(counts)


def _axes(spec: Spec, table: Table, name: str) -> Axes:
    column = next(column for column in table.sensitive if column.name == name)
    return Axes(table.attributes, column, frozenset(spec.missing("arrow").texts))


# --- bucketized ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BucketizedRelease(Unclassed):
    """Groups. `frame`: the quasi-identifiers, the column of groups, and of one file the sensitive attribute, too.
    `listed`: see `joint.listing`."""

    MEANINGS = frozenset({"exact", "detached"})

    listed: pl.DataFrame
    group: str

    @cached_property
    def sizes(self) -> Ints:
        """(groups,) rows of each group."""
        return _groups(self.frame, self.group)["len"].to_numpy().astype(np.int64)

    def classes(self) -> dict[str, Any]:
        """The block `classes`, whose figures are those of the groups."""
        return risk.classes_block(pl.Series(self.sizes))

    def metrics(self) -> dict[str, Any]:
        """Quasi-identifiers lose nothing but the rows that are left out."""
        values = self.listed.group_by("group").agg(pl.col("value").n_unique())["value"].min()
        nothing = [np.zeros(len(self.sizes)) for _ in self.table.attributes]
        left_out = self.table.rows - self.rows
        fewest = int(values) if isinstance(values, int) else 1
        view = View(self.table.attributes, nothing, nothing, self.sizes, left_out, fewest, None, self.table.weights)
        return utility(view)

    def distributions(self) -> dict[str, Any]:
        """Quasi-identifiers as they are, sensitive values of a group in any order: rows are put group by group."""
        owners, (owner, values, counts) = self.buckets.groups
        order = np.argsort(owners, kind="stable")
        codes = {name: column[order] for name, column in self.buckets.codes.items()}
        times = counts.astype(np.int64)
        listed = np.repeat(values, times)[np.argsort(np.repeat(owner, times), kind="stable")]
        sides = BothSides.of_groups(self.table, self.spec, owners[order], codes, listed)
        return fidelity(sides, LEAST_COUNT, values=False)

    def joints(self) -> dict[str, Estimated]:
        """With the one sensitive attribute."""
        buckets = self.buckets
        return {buckets.axes.sensitive.name: Estimated(buckets.axes, buckets.estimate, buckets.count)}

    @cached_property
    def buckets(self) -> ValueBuckets:
        """The release in codes."""
        axes = _axes(self.spec, self.table, self.table.sensitive[0].name)
        return ValueBuckets(axes, self.frame, self.listed, self.group)

    def answers(self, queries: Queries, counts: Callable[[], Ints]) -> Floats | str:
        """Counted: the quasi-identifiers are released as they are. Where rows are those of the original, in whatever
        order, the counts are the true ones."""
        codes = [self.buckets.codes[attribute.name] for attribute in self.table.attributes]
        same = same_rows(codes, [attribute.codes for attribute in self.table.attributes])
        return (counts() if same else counted(codes, queries)).astype(np.float64)


# --- through channels -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChannelRelease(Unclassed):
    """Drawn values, with the manifest that says how, and a method of reconstruction."""

    MEANINGS = DRAWN

    manifest: Manifest
    method: Method

    def joints(self) -> dict[str, Estimated]:
        """With each sensitive attribute that the parameters cover."""
        estimate = partial(joint.of_channels, rows=self.frame, manifest=self.manifest, method=self.method)
        names = [column.name for column in self.table.sensitive if column.name in self.manifest.channels]
        return {name: Estimated(_axes(self.spec, self.table, name), estimate) for name in names}

    def answers(self, queries: Queries, counts: Callable[[], Ints]) -> Floats | str:
        """Sums of the reconstructed joint table of the quasi-identifiers with a sensitive attribute."""
        table = next(iter(self.joints().values()), None)
        if table is None:
            return "the release has no sensitive attribute"
        every = range(len(table.names))
        if table.cells(every) > MOST_CELLS:
            return f"the joint table has {table.cells(every):.3g} cells, more than {MOST_CELLS:.3g}"
        return summed(table.tables(every)[1].sum(axis=-1), queries)


# --- the blocks ------------------------------------------------------------------------------------------------------


def blocks(released: Unclassed, table: Table, queries: Queries) -> dict[str, Any]:
    """The blocks `output`, `classes` (the groups, where there are any), `rows_correspond`, `utility` and `left_out`.

    Raises DataError for more rows than the original has, and for cells that are not values of it.
    """
    if released.rows > table.rows:
        raise DataError(f"the release has {released.rows:,} rows, the original {table.rows:,}")
    joints = released.joints()
    counts = cache(partial(measures.true_counts, table, queries))
    answers = released.answers(queries, counts)
    measured = {
        measures.QueryError.ID: None
        if isinstance(answers, str)
        else measures.query_figures(table, queries, answers, counts()),
        measures.Distances.ID: measures.distance_figures(joints),
        measures.Uncertainty.ID: measures.uncertainty_figures(joints),
    }
    defining: dict[str, base.Declaring] = {**METRICS, **MEASURES, **DISTRIBUTIONS}
    left_out = undefined(defining, released.MEANINGS)
    left_out |= {measures.QueryError.ID: answers} if isinstance(answers, str) else {}
    dropped = table.rows - released.rows
    return {
        "output": {**released.output, "rows": released.rows, "suppressed_rows": dropped, "dropped_rows": dropped},
        **({"classes": classes} if (classes := released.classes()) else {}),
        "rows_correspond": None,
        "utility": released.metrics() | measured,
        **released.distributions(),
        "left_out": left_out,
    }
