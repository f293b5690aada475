"""What every kind of recoding says of itself, and that a new kind needs no word anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from anonymize.classes import Floats, Partition
from anonymize.errors import UsageError
from anonymize.recoding import Appearance, Cut, Levels, Recoding, Regions, Released, ReleasedColumn, SingleDimensional
from anonymize.recoding import render as rendered
from anonymize.recoding.saved import save
from anonymize.recoding.saved.save import Contents, refusal
from anonymize.spec import Output, Spec
from anonymize.table import Table
from tests.algorithms.tables import numeric, table_of

TABLE = table_of(numeric([1, 2, 3, 4], "age"))
HALVES = Partition.of_labels(np.array([0, 0, 1, 1]))
NONE = np.empty(0, np.uint32)
LEVELS = Levels(HALVES, np.array([[1], [1]], np.int16), NONE)


def by_intervals(*, labelled: bool) -> SingleDimensional:
    return SingleDimensional(HALVES, {"age": Cut(np.array([0]), labelled)}, NONE)


@pytest.mark.parametrize(
    ("recoding", "regions", "vector", "labelled", "sets"),
    [
        (Regions(HALVES, NONE), HALVES, None, False, True),
        (LEVELS, None, (1,), True, False),
        (Levels(HALVES, np.array([[0], [1]], np.int16), NONE), None, None, True, False),
        (by_intervals(labelled=False), None, None, False, True),
        (by_intervals(labelled=True), None, None, True, True),
    ],
    ids=["regions", "levels", "several levels", "intervals", "labels"],
)
def test_what_a_recoding_says_of_itself(
    recoding: Recoding, regions: Partition | None, vector: tuple[int, ...] | None, labelled: bool, sets: bool
) -> None:
    assert recoding.regions is regions
    assert (recoding.vector, recoding.labelled, recoding.SETS) == (vector, labelled, sets)
    assert recoding.summary()["kind"] == recoding.KIND


@dataclass(frozen=True)
class Hidden(Appearance):
    """Every class reads as its number, and costs a half."""

    name: str
    classes: int

    def columns(self) -> list[ReleasedColumn]:
        texts = [f"class {number}" for number in range(self.classes)]
        return [ReleasedColumn(self.name, self.name, pl.Series([*texts, "*"]), np.arange(self.classes + 1))]

    def costs(self) -> tuple[Floats, Floats]:
        half = np.full(self.classes, 0.5)
        return half, half


@dataclass(frozen=True)
class Numbered(Recoding):
    """A kind that the room has not got."""

    KIND: ClassVar[str] = "numbered"

    partition: Partition
    suppressed: NDArray[np.uint32]

    def summary(self) -> dict[str, Any]:
        return {"kind": self.KIND}

    def appearances(self, table: Table, output: Output) -> list[Appearance]:
        return [Hidden(attribute.name, self.partition.count) for attribute in table.attributes]

    def contents(self, table: Table, released: Released, spec: Spec) -> Contents:
        raise refusal("it is made up")


def test_a_new_kind_is_rendered_as_it_says() -> None:
    released = rendered(Numbered(HALVES, NONE), TABLE, Output(edges="tight"), drop=False)
    (column,) = released.columns
    assert [column.texts[number] for number in column.of_class[released.class_of].tolist()] == [
        "class 0",
        "class 0",
        "class 1",
        "class 1",
    ]
    assert released.ncp[0].tolist() == released.loss[0].tolist() == [0.5, 0.5]


def test_a_new_kind_says_whether_it_can_be_saved() -> None:
    recoding = Numbered(HALVES, NONE)
    released = rendered(recoding, TABLE, Output(edges="tight"), drop=False)
    spec = Spec.model_validate({"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}}})
    with pytest.raises(UsageError, match="cannot be saved: it is made up"):
        save(recoding, TABLE, released, spec, "toy", drop=False)
