"""Which classes are suppressed; by brute force in tests/algorithms/lattice/test_releases.py."""

from __future__ import annotations

import numpy as np
import pytest

from anonymize.judging import Suppression
from anonymize.privacy import Groups, Histogram, Whole
from anonymize.privacy.uniques import share_of_uniques
from tests.algorithms.tables import k_anonymity, requirement


def groups(classes: list[str]) -> tuple[Groups, np.ndarray]:
    """Classes by their sensitive values, a letter each."""
    labels = np.repeat(np.arange(len(classes)), [len(each) for each in classes])
    codes = np.array(["xyz".index(letter) for each in classes for letter in each])
    sizes = np.bincount(labels)
    whole = Whole(np.bincount(codes, minlength=3))
    return Groups(sizes, {"s": Histogram.from_rows(labels, codes, len(classes), 3, whole=whole)}), sizes


BETA = (requirement("basic-beta-likeness", "s", beta=0.5),)


def test_what_is_compared_with_all_rows_is_judged_once_where_the_rest_is_published() -> None:
    """x is half of all; the last two classes fail, and together they are as all are. By themselves, the classes that
    are left are so, too; and with the second of the failing ones kept, which is where x is all, nothing would do."""
    some, rows = groups(["xxyy", "xyxy", "xxx", "yyy"])
    assert Suppression(BETA, 6).failing(some, rows).tolist() == [False, False, True, True]


def test_a_published_class_that_fails_is_dropped_and_the_others_compared_with_each_other() -> None:
    """y is 4 of 14: all that fails is the class of y alone, which is not safe as a class, and is dropped. Of the others
    y is 1 of 11, so that the class that has it fails then."""
    some, rows = groups(["yyy", "xxxxx", "xxxxxy"])
    assert Suppression(BETA, 14).failing(some, rows).tolist() == [True, False, True]
    assert Suppression(BETA, 3).failing(some, rows).sum() == 2  # more than the limit: no choice within it


@pytest.mark.parametrize("published", [True, False])
def test_the_smallest_classes_go_until_the_table_is_within_its_limit(published: bool) -> None:
    """Without two rows, there are three classes of ten rows. With the class of these it would be four of twelve, and a
    third class would have to go: so they are dropped, as that is fewer."""
    some, rows = groups(["x", "xx", "y", "xxxx", "yyyy"])
    wanted = (requirement("risk", marketer=0.3),)
    assert Suppression(wanted, 4, published).failing(some, rows).tolist() == [True, False, True, False, False]


def test_nothing_goes_where_the_table_is_within_its_limit_and_classes_meet_what_is_asked_of_them() -> None:
    some, rows = groups(["x", "xx", "y", "xxxx", "yyyy"])
    wanted = (requirement("sample-uniqueness", share=0.2),)
    assert not Suppression(wanted, 0).failing(some, rows).any()
    both = (*wanted, k_anonymity(2))
    assert Suppression(both, 2).failing(some, rows).tolist() == [True, False, True, False, False]


@pytest.mark.parametrize("published", [True, False])
def test_no_fewer_unique_rows_bring_the_estimate_of_a_population_down(published: bool) -> None:
    """Every number of them tried, from none on. As one class that is published they would have to be more."""
    sizes, share, fraction = np.array([1] * 60 + [2] * 15 + [3] * 8 + [4] * 5 + [40]), 0.003, 0.001
    estimates = [share_of_uniques(sizes[gone:], fraction, "pitman") for gone in range(60)]
    fewest = next(gone for gone, (estimate, _) in enumerate(estimates) if estimate <= share)
    assert 20 < fewest < 40 and {estimator for _, estimator in estimates} == {"pitman"}
    wanted = (requirement("population-uniqueness", share=share, fraction=fraction, estimator="pitman"),)
    failing = Suppression(wanted, 60, published).failing(Groups(sizes), sizes)
    assert sizes[failing].tolist() == [1] * fewest
