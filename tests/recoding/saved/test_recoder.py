"""What the kinds of recoding save: by hand, without an algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonymize.classes import Partition
from anonymize.errors import UsageError
from anonymize.recoding import Cut, CutTree, Levels, Recoding, Regions, SingleDimensional, render
from anonymize.recoding.saved import Saved
from anonymize.recoding.saved.recoder import save
from anonymize.spec import Spec, make
from tests.algorithms.tables import categorical, numeric, table_of, taxonomy

JOBS = taxonomy("cook Service *", "waiter Service *", "smith Craft *", name="job")
TABLE = table_of(categorical(["cook", "waiter", "smith", "smith"], JOBS), numeric([10, 20, 30, 60], name="age"))
LABELS = np.array([0, 0, 1, 1])
FIRST = Partition.of_blocks([np.array([0, 1], np.uint32)], [np.array([2])])
REST = np.array([2, 3], np.uint32)
NONE = np.empty(0, np.uint32)
ROOT = CutTree(*(np.array([number]) for number in (0, 0, 2, -1, -2)))  # job: service, or not


def spec(**output: Any) -> Spec:
    quasi = {"job": {}, "age": {"type": "numeric"}}
    return make({"version": 1, "quasi_identifiers": quasi, "output": {"edges": "tight", **output}}, {})


def saved(recoding: Recoding, **output: Any) -> Saved:
    requested = spec(**output)
    return save(recoding, TABLE, render(recoding, TABLE, requested.output, drop=False), requested, "toy", drop=False)


def test_regions_are_a_tree_over_segments() -> None:
    made = saved(Regions(Partition.of_labels(LABELS), NONE, tree=ROOT))
    job, age = made.attributes
    assert made.kind == "regions" and made.tree is not None
    assert (job.cuts, job.segments, age.segments) == ((2,), 2, 1)
    assert (made.tree.start, made.tree.stop, made.tree.first, made.tree.second) == ((0,), (1,), (-1,), (-2,))
    assert (made.boxes["age"].low, made.boxes["age"].high) == ((10, 30), (20, 60))
    assert made.boxes["job"].nodes == tuple(JOBS.labels.index(label) for label in ("Service", "smith"))


def test_a_cut_of_numbers_is_half_way_between_them() -> None:
    tree = CutTree(*(np.array([number]) for number in (1, 0, 2, -1, -2)))
    age = saved(Regions(Partition.of_labels(LABELS), NONE, tree=tree)).attributes[1]
    assert age.cuts == (25,)


def test_levels_are_segments_that_are_nodes() -> None:
    made = saved(Levels(Partition.of_labels(LABELS), np.array([(1, 1), (1, 1)], np.int16), NONE))
    job, age = made.attributes
    assert made.kind == "segments" and made.tree is None
    assert (job.cuts, job.any, age.any) == ((2,), False, True)
    assert made.boxes["job"].nodes == tuple(JOBS.labels.index(label) for label in ("Service", "Craft"))
    assert (made.classes, made.suppressed) == (((0, 1), (0, 0)), ((), ()))


@pytest.mark.parametrize(("output", "node"), [({}, "Service"), ({"categorical": "set"}, None)])
def test_intervals_of_leaves_are_nodes_or_sets(output: dict[str, Any], node: str | None) -> None:
    cuts = {"job": Cut(np.array([0, 2])), "age": Cut(np.array([0, 2]))}
    made = saved(SingleDimensional(Partition.of_labels(LABELS), cuts, NONE), **output)
    job, age = made.attributes
    assert (job.cuts, age.cuts) == ((2,), (25,))
    assert made.boxes["job"].nodes[0] == (-1 if node is None else JOBS.labels.index(node))


@pytest.mark.parametrize(
    ("recoding", "reason"),
    [
        (Regions(Partition.of_labels(LABELS), NONE), "not found by cuts"),
        (Regions(FIRST, REST, tree=ROOT), "values other than their quasi-identifiers: 2"),
        (Levels(Partition.of_labels(LABELS), np.array([(1, 1), (0, 1)], np.int16), NONE), "different levels"),
        (
            Levels(
                Partition.of_blocks([np.array([0, 1, 2], np.uint32)], [np.array([2, 1])]),
                np.array([(1, 1), (1, 1)], np.int16),
                np.array([3], np.uint32),
            ),
            "others with the same values are released",
        ),
    ],
    ids=["no tree", "suppressed", "levels", "torn"],
)
def test_what_is_no_function_of_the_values_is_refused(recoding: Recoding, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        saved(recoding)
