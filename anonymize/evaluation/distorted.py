"""From the files of a randomized release to what attackers see of it: categories, and the parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import polars as pl

from anonymize.attacks import DistortedColumn, DistortedRows, ShownRows
from anonymize.classes import Ints
from anonymize.errors import DataError, Problem
from anonymize.evaluation.attacked import Known
from anonymize.evaluation.opened import ReleasedSource, read_file
from anonymize.metrics.joint import Axes, categories_of, categories_shown
from anonymize.randomization.parameters import DistortedAttribute, Parameters
from anonymize.table import Attribute


@dataclass(frozen=True)
class DistortedTables:
    """A randomized release of people who are known."""

    file: ReleasedSource
    distorted: DistortedRows

    def as_rows(self, attributes: Sequence[Attribute], values: Mapping[str, Ints]) -> ShownRows:
        """One class that spans everything: no cell says for sure what somebody's value was."""
        last = np.array([[attribute.domain.size - 1 for attribute in attributes]])
        return ShownRows(np.zeros_like(last), last, np.zeros(self.file.rows, np.int64), values)


def randomized(people: Known, path: str, parameters_path: str, stack: ExitStack) -> DistortedTables:
    """A randomized release. Raises DataError for files that cannot be read or do not fit together, UsageError for
    quasi-identifiers that are not among the parameters."""
    parameters = Parameters.read(parameters_path)
    spec = people.spec.of_release(parameters.separator)
    file = read_file(spec, path, stack)
    if file.rows != parameters.rows:
        message = f"has {file.rows} rows, and its parameters are of {parameters.rows}"
        raise DataError(Problem(message, file=file.source.name))
    table = people.table
    axes = Axes(table.attributes, table.sensitive[0], frozenset(spec.missing("arrow").texts))
    named = parameters.named([attribute.name for attribute in table.attributes])
    missing = spec.input.missing_text
    columns = [_column(axes, *each, file.texts, missing) for each in zip(named, table.attributes, strict=True)]
    cells, distortions, category_of = zip(*columns, strict=True)
    parameters_of = {each.name: each for each in parameters.attributes}
    values = {
        column.name: DistortedColumn(parameters_of[column.name].p, len(parameters_of[column.name].values or ()))
        for column in table.sensitive
        if column.name in parameters_of
    }
    return DistortedTables(file, DistortedRows(np.stack(cells, axis=1), distortions, category_of, values))


def _column(
    axes: Axes, distortion: DistortedAttribute, attribute: Attribute, texts: pl.DataFrame, missing: str
) -> tuple[Ints, DistortedColumn, Ints]:
    """(rows,) the category of each cell, how it was distorted, and (codes,) the category of each value."""
    if distortion.values is None:
        size = attribute.domain.size
        cells = categories_shown(axes, distortion, attribute, texts[attribute.name])
        return cells, DistortedColumn(1.0, size), np.arange(size)
    absent = missing if missing in distortion.values else ""
    cells = categories_shown(axes, distortion, attribute, texts[attribute.name].cast(pl.String).fill_null(absent))
    column = DistortedColumn(distortion.p, len(distortion.values))
    return cells, column, categories_of(distortion.values, attribute)
