"""How full-domain recodings read: labels of nodes, each class at its own levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonymize.classes import Partition
from anonymize.recoding import Levels, Released, render
from anonymize.spec import Output
from tests.algorithms.tables import categorical, numeric, table_of, taxonomy

JOBS = taxonomy("cook Service *", "waiter Service *", "smith Craft *", name="job")
TABLE = table_of(categorical(["cook", "waiter", "smith", "smith"], JOBS), numeric([1, 1, 3, 3.5], name="age"))


def released(labels: list[int], levels: list[tuple[int, int]], suppressed: list[int], **output: Any) -> Released:
    partition = Partition.of_labels(np.array(labels)) if labels else Partition.of_blocks([], [])
    recoding = Levels(partition, np.array(levels, np.int16), np.array(suppressed, np.uint32))
    return render(recoding, TABLE, Output(**output), drop=False)


def texts(release: Released, column: int = 0) -> list[str]:
    released_column = release.columns[column]
    return [released_column.texts[number] for number in released_column.of_class[release.class_of].tolist()]


def test_every_class_shows_its_own_levels() -> None:
    release = released([0, 0, 1, 2], [(1, 0), (0, 0), (2, 0)], [])
    assert texts(release) == ["Service", "Service", "smith", "*"]
    assert texts(release, 1) == ["1", "1", "3", "3.5"]
    assert release.ncp[0].tolist() == pytest.approx([2 / 3, 0, 1])
    assert release.loss[0].tolist() == pytest.approx([1 / 2, 0, 1])
    assert release.ncp[1].tolist() == [0, 0, 0]


def test_classes_that_read_the_same_are_one() -> None:
    release = released([0, 1, 2, 2], [(2, 0), (2, 0), (2, 1)], [])
    assert release.sizes.tolist() == [2]
    assert texts(release) == ["*"] * 4
    assert release.suppressed_rows == 2  # at the root everywhere


def test_suppressed_rows_read_as_such() -> None:
    release = released([0, 0, 0], [(1, 1)], [3])
    assert texts(release) == ["Service"] * 3 + ["*"]
    assert release.suppressed_rows == 1


def test_bounds_of_a_number_show_its_label_twice() -> None:
    release = released([0, 0, 1, 1], [(1, 0), (1, 1)], [], numeric="bounds")
    assert [column.name for column in release.columns] == ["job", "age_low", "age_high"]
    assert texts(release, 1) == texts(release, 2) == ["1", "1", "*", "*"]


def test_the_levels_that_all_share() -> None:
    partition = Partition.of_labels(np.array([0, 0, 1, 1]))
    none = np.empty(0, np.uint32)
    assert Levels(partition, np.array([(1, 0), (1, 0)], np.int16), none).vector == (1, 0)
    assert Levels(partition, np.array([(1, 0), (1, 1)], np.int16), none).vector is None
    assert Levels(partition, np.empty((0, 2), np.int16), none, {"rounds": 3}).summary() == {
        "kind": "levels",
        "rounds": 3,
        "suppressed_rows": 0,
    }
