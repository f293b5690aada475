"""From files to what attackers may see: a release as spans of codes, and people as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import polars as pl

from anonymize.attacks import ChannelRows, ShownRows, TargetPeople
from anonymize.attacks.points import PointRows
from anonymize.auditing import buckets_of
from anonymize.classes import Bools, Floats, Ints, Partition
from anonymize.domain.cells import numbers
from anonymize.domain.numeric import Numeric
from anonymize.errors import DataError, Problem, UsageError, of_file
from anonymize.evaluation.invented import InventedRelease, InventedTable, ReadRelease, points_of
from anonymize.evaluation.people import Known
from anonymize.meaning import Channel, Detached, Manifest
from anonymize.meaning.manifest import NOTHING_SENSITIVE
from anonymize.metrics.joint import Axes, categories_of, categories_shown
from anonymize.reading import SourceTexts, as_text, read_file
from anonymize.reading.regions import TextRegions, gapped_columns, read_regions
from anonymize.records import dataclass
from anonymize.table.columns import Attribute
from anonymize.table.named import column as named
from anonymize.table.named import unnamed
from anonymize.verify.unclassed import COUNT


@dataclass(frozen=True)
class AttackedTables(ReadRelease):
    """A release of people who are known. `regions`: of the distinct texts of each quasi-identifier, `text_of`
    (attributes, rows) which of them each row shows. `group_of` (rows,): of a bucketized release."""

    regions: tuple[TextRegions, ...]
    text_of: Ints
    group_of: Ints | None = None

    def as_rows(self, attributes: Sequence[Attribute], values: Mapping[str, Ints]) -> ShownRows:
        """Its rows by class: rows that read the same, and are of one group, are one."""
        labels = np.zeros(self.file.rows, np.int64) if self.group_of is None else self.group_of
        for column, texts in zip(self.regions, self.text_of, strict=True):
            labels = np.unique(labels * max(len(column.first), 1) + texts, return_inverse=True)[1]
        partition = Partition.of_labels(labels)
        which = self.text_of[:, partition.order[partition.starts[:-1]]]
        class_of = partition.class_of(self.file.rows).astype(np.int64)
        if not attributes:
            nothing = np.zeros((len(partition.starts) - 1, 0), np.int64)
            return ShownRows(nothing, nothing, class_of, values, self.group_of)
        spans = [_span(*each) for each in zip(attributes, self.regions, which, strict=True)]
        first, last, hidden_low, hidden_high, *ends = (np.stack(each, axis=1) for each in zip(*spans, strict=True))
        gapped = gapped_columns(self.regions, which)
        sides = hidden_low, hidden_high, (ends[0], ends[1])
        return ShownRows(first, last, class_of, values, self.group_of, *sides, gapped=gapped)


def _span(attribute: Attribute, regions: TextRegions, which: Ints) -> tuple[Ints, Ints, Bools, Bools, Ints, Ints]:
    """(classes,) the codes that each class spans, all of them where a cell shows a mean; whether the cell leaves
    the lower and the upper end unsaid, as a mean and a suppressed one do both; and the codes of those it shows."""
    wide = regions.summary[which]
    first = np.where(wide, 0, regions.first[which])
    last = np.where(wide, attribute.domain.size - 1, regions.last[which])
    silent = wide | regions.suppressed[which]
    nothing = np.full(len(which), -1)
    ends = (nothing, nothing) if regions.ends is None else (regions.ends[0][which], regions.ends[1][which])
    return first, last, silent | regions.open_low[which], silent | regions.open_high[which], *ends


def released(people: Known, path: str, stack: ExitStack, detached: Detached | None = None) -> AttackedTables:
    """A release; `detached`: how its sensitive attributes are, if they are. Raises DataError for one that cannot be
    read, or whose cells say nothing under the spec."""
    file, group_of = read_file(people.spec, path, stack), None
    if detached is not None:
        file, group_of = _grouped(people, file, detached, stack)
    with of_file(path):
        regions, text_of = read_regions(people.spec.of_release(), people.table.attributes, file.texts, file.columns)
    return AttackedTables(file, regions, text_of, group_of)


def _grouped(people: Known, file: SourceTexts, detached: Detached, stack: ExitStack) -> tuple[SourceTexts, Ints]:
    """A bucketized release with the sensitive values of each group dealt to its rows, and (rows,) the group of each.
    Raises DataError for tables that do not fit together."""
    spec, source = people.spec.of_release(), file.source
    buckets = buckets_of(detached, spec, source, stack)
    groups = file.texts[detached.by].cast(pl.String).fill_null("")
    if buckets.st is not None:
        buckets.st.check()
        listed = pl.concat(list(buckets.st.batches(buckets.st.columns)))
        listed = listed.select(as_text(column, spec, buckets.st.format) for column in listed.iter_columns())
        count = pl.col(COUNT).cast(pl.UInt32, strict=False).fill_null(0)
        names = [detached.by, *people.spec.sensitive]
        dealt = listed.select(pl.col(name).repeat_by(count) for name in names).explode(names)
        dealt = dealt.filter(pl.col(detached.by).is_not_null()).sort(detached.by, maintain_order=True)
        order = groups.arg_sort()
        if not dealt[detached.by].equals(groups.gather(order), check_names=False):
            raise DataError(Problem("its groups and counts are not those of the release", file=buckets.st.name))
        places = order.arg_sort()
        values = [dealt[name].gather(places) for name in people.spec.sensitive]
        file = replace(file, texts=file.texts.with_columns(values))
    return file, unnamed(groups).rank("dense").to_numpy().astype(np.int64) - 1


@dataclass(frozen=True)
class CodedValues:
    """Sensitive attributes, coded alike everywhere. `sizes`: how many values each has, at least 1; `people`, and
    `releases` one after the other: its codes, -1 where missing. `kept`: of the people, and of the rows of the first
    release, a code for what all kept columns show; None where it has none. `points`: of the people, and of the rows of
    the first release if these are invented."""

    sizes: Mapping[str, int]
    people: Mapping[str, Ints]
    releases: Sequence[Mapping[str, Ints]]
    kept: tuple[Ints, Ints] | None = None
    points: tuple[Floats, PointRows] | None = None


def coded_values(people: Known, releases: Sequence[ReadRelease]) -> CodedValues:
    """The codes of the sensitive attributes that the first of the releases shows, missing where a release lacks one."""
    numeric = {name for name, attribute in people.spec.sensitive.items() if attribute.type == "numeric"}
    values = _coded(people.texts, releases, numeric)
    if releases and isinstance(releases[0], InventedRelease):
        return replace(values, points=_points(people, releases[0], values))
    return replace(values, kept=_kept(people, releases[0]) if releases else None)


def coded_kept(people: Known, release: ReadRelease) -> CodedValues:
    """The codes of the kept columns that a release shows."""
    return _coded(people.columns(people.kept), [release], set())


def _coded(texts: pl.DataFrame, releases: Sequence[ReadRelease], numeric: Set[str]) -> CodedValues:
    """The codes of the columns of people that the first of the releases shows, of which some are numbers."""
    sizes: dict[str, int] = {}
    of_people: dict[str, Ints] = {}
    of_releases: list[dict[str, Ints]] = [{} for _ in releases]
    for name in texts.columns:
        if not releases or name not in releases[0].file.texts.columns:
            continue
        columns = [texts[name], *(_column(each, name) for each in releases)]
        ends = np.cumsum([len(column) for column in columns])[:-1]
        joined = unnamed(pl.concat([column.cast(pl.String) for column in columns]))
        values = numbers(joined) if name in numeric else joined
        codes = values.rank("dense").fill_null(0).to_numpy().astype(np.int64) - 1
        sizes[name] = int(codes.max(initial=0)) + 1
        of_people[name], *parts = np.split(codes, ends)
        for each, part in zip(of_releases, parts, strict=True):
            each[name] = part
    return CodedValues(sizes, of_people, of_releases)


def _points(people: Known, release: InventedRelease, values: CodedValues) -> tuple[Floats, PointRows]:
    """(people, columns) and invented rows of the same columns: the quasi-identifiers, the sensitive attributes, and
    what else a release keeps."""
    attributes, texts = people.table.attributes, release.file.texts
    before = [points_of(each) for each in attributes]
    after = [*release.table.points.T]
    names = [each.name for each in attributes]
    numeric = [isinstance(each.domain, Numeric) for each in attributes]
    for name in [*values.sizes, *(each for each in people.kept if each in texts.columns)]:
        columns = people.columns([name])[name], texts[name]
        number = name in release.numeric
        if number:
            first, second = map(_floats, columns)
        elif name in values.sizes:
            first, second = (each[name].astype(np.float64) for each in (values.people, values.releases[0]))
        else:
            codes = pl.concat([each.cast(pl.String) for each in columns]).rank("dense").fill_null(0)
            first, second = np.split(codes.to_numpy().astype(np.float64), [people.table.rows])
        before.append(first)
        after.append(second)
        names.append(name)
        numeric.append(number)
    empty = np.zeros((release.file.rows, 0))
    rows = PointRows(np.column_stack([empty, *after]), tuple(names), tuple(numeric), len(attributes))
    return np.column_stack([np.zeros((people.table.rows, 0)), *before]), rows


def _kept(people: Known, release: ReadRelease) -> tuple[Ints, Ints] | None:
    """The kept columns as combinations, (people,) and (released rows,) codes; None where the release has none of
    them."""
    names = [name for name in people.kept if name in release.file.texts.columns]
    if not names:
        return None
    both = pl.concat([people.columns(names), release.file.texts.select(map(named, names))])
    codes = both.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    first, second = np.split(codes, [people.table.rows])
    return first, second


def people_of(codes: Ints, values: CodedValues, chosen: slice, row_of: Ints | None = None) -> TargetPeople:
    """Some rows of the known people."""
    kept = None if values.kept is None else values.kept[0][chosen]
    points = None if values.points is None else values.points[0][chosen]
    coded = {name: each[chosen] for name, each in values.people.items()}
    return TargetPeople(codes[chosen], coded, row_of, kept, points)


# --- channels ---------------------------------------------------------------------------------------------------------


def read_release(people: Known, path: str, manifest: Manifest, stack: ExitStack) -> ReadRelease:
    """A release of people who are known. Raises DataError for files that cannot be read or do not fit together,
    UsageError for columns whose meaning nothing reads, and for a release through channels of which no
    sensitive attribute is known."""
    if manifest.synthetic is not None:
        file = read_file(people.spec, path, stack, invented=True)
        return InventedRelease(file, InventedTable(people.spec, people.table, file.texts), manifest.invented_numbers)
    manifest.check_read([*people.spec.quasi_identifiers, *people.spec.sensitive], "attacked")
    manifest.check_unchanged(people.spec.quasi_identifiers, "attacked by what is known")
    if not manifest.channels:
        return released(people, path, stack, manifest.detached)
    if not people.table.sensitive:
        raise UsageError(NOTHING_SENSITIVE.format(path))
    return channel_table(people, path, manifest, stack)


@dataclass(frozen=True)
class ChannelTable(ReadRelease):
    """A release through channels of people who are known."""

    drawn: ChannelRows

    @property
    def channels(self) -> ChannelRows:
        """What it shows."""
        return self.drawn

    def as_rows(self, attributes: Sequence[Attribute], values: Mapping[str, Ints]) -> ShownRows:
        """One class that spans everything: no cell says for sure what somebody's value was."""
        last = np.array([[attribute.domain.size - 1 for attribute in attributes]])
        return ShownRows(np.zeros_like(last), last, np.zeros(self.file.rows, np.int64), values)


def channel_table(people: Known, path: str, manifest: Manifest, stack: ExitStack) -> ChannelTable:
    """A release through channels. Raises DataError for files that cannot be read or do not fit together, UsageError for
    quasi-identifiers that are not among the parameters."""
    spec = people.spec.of_release(manifest.separator)
    file = read_file(spec, path, stack)
    manifest.check_rows(file.rows, file.source.name)
    table = people.table
    axes = Axes(table.attributes, table.sensitive[0], frozenset(spec.missing("arrow").texts))
    quasi = tuple(manifest.named([attribute.name for attribute in table.attributes]))
    missing = spec.input.missing_text
    columns = [_categories(axes, *each, file.texts, missing) for each in zip(quasi, table.attributes, strict=True)]
    cells, category_of = zip(*columns, strict=True)
    channels = manifest.channels
    values = {column.name: channels[column.name] for column in table.sensitive if column.name in channels}
    return ChannelTable(file, ChannelRows(np.stack(cells, axis=1), quasi, category_of, values))


def _categories(
    axes: Axes, channel: Channel, attribute: Attribute, texts: pl.DataFrame, missing: str
) -> tuple[Ints, Ints]:
    """(rows,) the category of each cell, and (codes,) the category of each value."""
    if channel.values is None:
        return categories_shown(axes, channel, attribute, texts[attribute.name]), np.arange(attribute.domain.size)
    absent = missing if missing in channel.values else ""
    cells = categories_shown(axes, channel, attribute, texts[attribute.name].cast(pl.String).fill_null(absent))
    return cells, categories_of(channel.values, attribute)


def changed_numbers(people: Known, release: ReadRelease, row_of: Ints | None) -> tuple[Floats, Floats] | None:
    """For `Scene.numbers`, the columns of one name that are numbers wherever they are not missing, in the original and
    in the release, and of which some cell is another number there. Sampling weights are none of them.

    `row_of` (people of the original,): the released row about each, -1 for none; None where that is not known.
    """
    texts, weight = release.file.texts, people.spec.weight_column
    if row_of is None:
        return None
    names = [name for name in people.table.columns if name in texts.columns and name != weight]
    linked = np.flatnonzero(row_of >= 0)
    pairs = []
    for name in names:
        before, after = people.columns([name])[name].head(people.rows), texts[name]
        if _are_numbers(before) and _are_numbers(after):
            original, released = np.full(len(after), np.nan), _floats(after)
            original[row_of[linked]] = _floats(before)[linked]
            if not np.array_equal(original[row_of[linked]], released[row_of[linked]], equal_nan=True):
                pairs.append((original, released))
    if not pairs:
        return None
    originals, changed = zip(*pairs, strict=True)
    return np.stack(originals, axis=1), np.stack(changed, axis=1)


def _are_numbers(texts: pl.Series) -> bool:
    """Whether all texts that are there read as numbers, and some are."""
    return texts.null_count() == numbers(texts).null_count() < len(texts)


def _floats(texts: pl.Series) -> Floats:
    return numbers(texts).cast(pl.Float64).fill_null(np.nan).to_numpy()


def _column(release: ReadRelease, name: str) -> pl.Series:
    texts = release.file.texts
    return texts[name] if name in texts.columns else pl.Series(name, [None] * texts.height, pl.String)
