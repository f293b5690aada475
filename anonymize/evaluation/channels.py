"""From the files of a release to what attackers see of it, by what its columns mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import polars as pl

from anonymize.attacks import ChannelRows, ShownRows
from anonymize.classes import Ints
from anonymize.errors import DataError, Problem, UsageError
from anonymize.evaluation.attacked import Known, ReadRelease, released
from anonymize.evaluation.opened import ReleasedSource, read_file
from anonymize.meaning import Channel, Manifest
from anonymize.metrics.joint import Axes, categories_of, categories_shown
from anonymize.table import Attribute


def read_release(people: Known, path: str, manifest: Manifest, stack: ExitStack) -> ReadRelease:
    """A release of people who are known. Raises DataError for files that cannot be read or do not fit together,
    UsageError for columns whose meaning nothing reads, and for a release through channels of which no
    sensitive attribute is known."""
    manifest.check_read([*people.spec.quasi_identifiers, *people.spec.sensitive], "attacked")
    if not manifest.channels:
        return released(people, path, stack, manifest.detached)
    if not people.table.sensitive:
        raise UsageError(f"{path}: is randomized, and the spec has no sensitive attribute to reconstruct")
    return channel_table(people, path, manifest, stack)


@dataclass(frozen=True)
class ChannelTable:
    """A release through channels of people who are known."""

    file: ReleasedSource
    channels: ChannelRows

    def as_rows(self, attributes: Sequence[Attribute], values: Mapping[str, Ints]) -> ShownRows:
        """One class that spans everything: no cell says for sure what somebody's value was."""
        last = np.array([[attribute.domain.size - 1 for attribute in attributes]])
        return ShownRows(np.zeros_like(last), last, np.zeros(self.file.rows, np.int64), values)


def channel_table(people: Known, path: str, manifest: Manifest, stack: ExitStack) -> ChannelTable:
    """A release through channels. Raises DataError for files that cannot be read or do not fit together, UsageError for
    quasi-identifiers that are not among the parameters."""
    spec = people.spec.of_release(manifest.separator)
    file = read_file(spec, path, stack)
    if file.rows != manifest.rows:
        message = f"has {file.rows} rows, and its parameters are of {manifest.rows}"
        raise DataError(Problem(message, file=file.source.name))
    table = people.table
    axes = Axes(table.attributes, table.sensitive[0], frozenset(spec.missing("arrow").texts))
    quasi = tuple(manifest.named([attribute.name for attribute in table.attributes]))
    missing = spec.input.missing_text
    columns = [_column(axes, *each, file.texts, missing) for each in zip(quasi, table.attributes, strict=True)]
    cells, category_of = zip(*columns, strict=True)
    channels = manifest.channels
    values = {column.name: channels[column.name] for column in table.sensitive if column.name in channels}
    return ChannelTable(file, ChannelRows(np.stack(cells, axis=1), quasi, category_of, values))


def _column(axes: Axes, channel: Channel, attribute: Attribute, texts: pl.DataFrame, missing: str) -> tuple[Ints, Ints]:
    """(rows,) the category of each cell, and (codes,) the category of each value."""
    if channel.values is None:
        return categories_shown(axes, channel, attribute, texts[attribute.name]), np.arange(attribute.domain.size)
    absent = missing if missing in channel.values else ""
    cells = categories_shown(axes, channel, attribute, texts[attribute.name].cast(pl.String).fill_null(absent))
    return cells, categories_of(channel.values, attribute)
