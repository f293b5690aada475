"""How full-domain recodings read: labels of nodes, each class at its own levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from anonymize.classes import Partition
from anonymize.domain.generalization import Generalization
from anonymize.recoding import Cut, Levels, Released, SingleDimensional, render
from anonymize.spec import Output
from anonymize.table import Attribute
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


# --- single -----------------------------------------------------------------------------------------------------------

SINGLE_JOBS = taxonomy(
    "cook Service *", "waiter Service *", "porter Service *", "smith Craft *", "miner Craft *", name="job"
)
JOB = categorical(["cook", "cook", "waiter", "smith", "porter", "smith"], SINGLE_JOBS)
AGE = numeric([30, 41, 30, 42, 50, None], name="age")


def released_by(
    job: Sequence[int], age: Sequence[int], suppressed: Sequence[int] = (), attribute: Attribute = AGE, **output: Any
) -> Released:
    """Of cuts that start at these codes; suppressed rows are left out of the classes."""
    table = table_of(JOB, attribute)
    cuts = {"job": Cut(np.array(job)), "age": Cut(np.array(age), attribute is not AGE)}
    intervals = [
        cuts["job"].interval_of(JOB.codes),
        cuts["age"].interval_of(attribute.generalization.leaf_of(attribute.codes)),
    ]
    kept = np.delete(np.arange(table.rows), suppressed)
    parted = Partition.of_labels((intervals[0] * 10 + intervals[1])[kept])
    partition = Partition(kept[parted.order].astype(np.uint32), parted.starts)
    recoding = SingleDimensional(partition, cuts, np.array(suppressed, np.uint32))
    return render(recoding, table, Output(**{"edges": "tight", **output}), drop=False)


def test_equal_values_read_the_same_in_every_class() -> None:
    release = released_by([0, 3], [0, 2])
    assert texts(release) == ["Service", "Service", "Service", "Craft", "Service", "Craft"]
    assert texts(release, 1) == ["[30-41]"] * 3 + ["[42-50] or ?"] * 3


def test_an_interval_ends_at_values_of_suppressed_rows_too() -> None:
    assert texts(released_by([0], [0, 3, 4], [0, 2]), 1) == ["*", "[30-42]", "*", "[30-42]", "50", "?"]


def test_an_interval_that_is_no_node_reads_as_its_values() -> None:
    release = released_by([0, 2], [0])
    assert texts(release) == ["{cook|waiter}"] * 3 + ["{porter|smith}"] * 3
    assert release.ncp[0].tolist() == pytest.approx([3 / 5, 1])


def test_values_that_do_not_occur_widen_no_set() -> None:
    assert texts(released_by([0, 2, 4], [0]), 0)[3:] == ["{porter|smith}"] * 3
    release = released_by([0, 1, 3, 4], [0], [4])
    assert texts(release)[:4] == ["cook", "cook", "waiter", "smith"]
    assert release.ncp[0].tolist() == [0, 0, 0]


def test_costs_are_of_what_is_shown() -> None:
    release = released_by([0, 3], [0, 1, 4])
    ages = dict(zip(texts(release, 1), release.ncp[1][release.class_of].tolist(), strict=True))
    assert ages == {"30": 0, "[41-50]": pytest.approx(9 / 20), "?": 0}


def test_points_are_of_all_rows_of_an_interval() -> None:
    assert texts(released_by([0, 3], [0, 4], numeric="mean"), 1) == ["38.6"] * 5 + ["?"]
    assert texts(released_by([0, 3], [0, 4], numeric="median"), 1) == ["41"] * 5 + ["?"]


def test_sets_are_of_all_rows_of_an_interval() -> None:
    release = released_by([0, 3], [0, 1, 2, 3, 4], categorical="set")
    together = "{cook|waiter|porter}"
    assert texts(release) == [together, together, together, "smith", together, "smith"]


def test_numbers_can_read_as_labels() -> None:
    decades = taxonomy("30 thirties *", "41 forties *", "42 forties *", "50 fifties *", "? *", name="age", missing="?")
    by_label = numeric([30, 41, 30, 42, 50, None], name="age")
    generalization = Generalization.over(by_label.domain, decades)  # type: ignore[arg-type]
    attribute = Attribute("age", by_label.codes, by_label.domain, 1.0, lambda: generalization)
    release = released_by([0], [0, 1, 3, 4], attribute=attribute, numeric="bounds")
    assert texts(release, 1) == texts(release, 2) == ["30", "forties", "30", "forties", "50", "?"]
    assert sorted(release.ncp[1].tolist()) == pytest.approx([0, 0, 0, 1 / 20])


def test_all_rows_suppressed() -> None:
    """They are one class, and none is suppressed: there are no others that would show more."""
    release = released_by([0], [0], range(6))
    assert texts(release) == texts(release, 1) == ["*"] * 6
    assert release.sizes.tolist() == [6]
    assert [ncp.tolist() for ncp in (*release.ncp, *release.loss)] == [[1.0]] * 4
    assert release.suppressed_rows == 0


def test_the_summary_counts_intervals() -> None:
    cuts = {"job": Cut(np.array([0, 2])), "age": Cut(np.array([0]))}
    none = np.empty(0, np.uint32)
    assert SingleDimensional(Partition.of_blocks([], []), cuts, none, {"steps": 1}).summary() == {
        "kind": "single-dimensional",
        "intervals": {"job": 2, "age": 1},
        "steps": 1,
        "suppressed_rows": 0,
    }
