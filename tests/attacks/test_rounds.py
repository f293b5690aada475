"""How rows are spread over what an earlier round left: bounds hold, and what is planted is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from anonymize.attacks import Required, Scene, ShownRows, narrowing
from anonymize.attacks.narrowing import _cells, _levelled, round_levels
from tests.attacks.scenes import of_rows

LEVELS = np.array([[0, 1, 2, 3], [4, 4, 5, 5], [6, 6, 6, 6]])
"""Four codes in two pairs."""


def test_levels_are_the_lowest_of_just_the_span() -> None:
    spans = np.array([[0, 0], [0, 1], [2, 3], [1, 2], [0, 3], [0, 2]])
    release = ShownRows(spans[:, :1], spans[:, 1:], np.arange(6))
    assert round_levels(release, [LEVELS])[:, 0].tolist() == [0, 1, 1, -1, 2, -1]


def test_cells_are_numbered_by_class_those_left_first() -> None:
    points = np.array([[[3], [0], [1], [2]], [[0], [0], [1], [1]]])
    left = np.array([[True, False, True, True], [False, False, True, True]])
    cells, count = _cells(points, left, [LEVELS[1]])
    assert count.tolist() == [2, 1]
    assert cells[0][[0, 3]].tolist() == [1, 1] and cells[0][2] == 0 and cells[1][2:].tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_no_cell_is_above_its_bound_and_the_sum_stays(seed: int) -> None:
    draw = np.random.default_rng(seed)
    cells = draw.choice(6, (20, 50), p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    left = draw.random(cells.shape) < 0.8
    most = draw.uniform(0.1, 0.9, 20)
    weight, bound = _levelled(cells, left, most)
    for row in range(20):
        counts = np.bincount(cells[row], weight[row], 6)
        present = np.bincount(cells[row][left[row]], minlength=6)
        limit = max(most[row], 1 / (present > 0).sum())
        assert weight[row].sum() == pytest.approx(left[row].sum()) and (weight[row][~left[row]] == 0).all()
        assert counts.max() <= limit * left[row].sum() + 1e-9
        assert bound[row] == (present.max() / left[row].sum() > limit + 1e-12)
        # Those below the bound keep the proportions in which they are frequent.
        free = (present > 0) & (counts < limit * left[row].sum() - 1e-9)
        ratio = counts[free] / present[free]
        assert ratio == pytest.approx(ratio[:1].repeat(free.sum()))


def _two_left(k: int) -> Scene:
    """Codes 0 to 3 with k rows each of 0 and 1; of 2 there are k - 1 and of 3 one, which are released as 0 to 3."""
    codes = np.repeat([0, 1, 2, 3], [k, k, k - 1, 1])[:, None]
    spans = np.where(codes[:, :, None] < 2, codes[:, :, None], np.array([0, 3]))
    scene = of_rows(codes, spans, np.zeros(len(codes), int), (4,))
    return replace(scene, levels=(LEVELS,), required=Required(k, only_k=True))


def test_a_combination_of_an_earlier_round_has_fewer_than_k_rows() -> None:
    scene = _two_left(5)
    classes = np.arange(len(scene.release.first))
    inside = narrowing.nested(scene.release, classes)
    drawn = narrowing.PossiblePoints.of(scene, classes, inside)
    wide = int(np.flatnonzero(scene.release.last[:, 0] == 3)[0])
    shares = np.bincount(drawn.codes[wide, :, 0], drawn.weight[wide], 4) / drawn.left[wide].sum()
    # 5 rows, of which at most 4 have the code 2 and at most 4 the code 3; 0 and 1 were taken.
    assert shares[:2].tolist() == [0, 0] and 0.2 - 1e-9 <= shares[2] <= 0.8 + 1e-9


@pytest.mark.parametrize("required", [None, Required(5), Required(5, only_k=True)])
def test_sizes_are_used_where_k_is_all_that_was_asked(required: Required | None) -> None:
    scene = replace(_skewed(), required=required)
    success, _ = narrowing.RoundsAttacker.attack(scene)
    bounded = success.figures["bounded"]
    assert (bounded or 0) > 0 if required is not None and required.only_k else bounded == 0


def _skewed() -> Scene:
    """2 is frequent and 3 is rare wherever they are shown, but of the five people of the widest class four at most have
    either. The second attribute parts those shown alone from the others."""
    alone = np.array([[2, 0]] * 300 + [[3, 0]] * 5 + [[0, 1]] * 10 + [[1, 1]] * 10)
    rest = np.array([[2, 1]] * 1 + [[3, 1]] * 4)
    codes = np.concatenate([alone, rest])
    spans = np.stack([codes, codes], axis=2)
    spans[len(alone) :, 0] = [0, 3]
    scene = of_rows(codes, spans, np.zeros(len(codes), int), (4, 2))
    return replace(scene, levels=(LEVELS, np.array([[0, 1], [2, 2]])))


def test_a_bound_takes_from_the_frequent_what_the_rare_must_have() -> None:
    scene = replace(_skewed(), required=Required(5, only_k=True))
    classes = np.arange(len(scene.release.first))
    inside = narrowing.nested(scene.release, classes)
    drawn = narrowing.PossiblePoints.of(scene, classes, inside)
    wide = int(np.flatnonzero(scene.release.last[:, 0] - scene.release.first[:, 0] == 3)[0])
    shares = np.bincount(drawn.codes[wide, :, 0], drawn.weight[wide], 4) / drawn.left[wide].sum()
    assert shares[2] == pytest.approx(0.8) and shares[3] == pytest.approx(0.2)
    even = narrowing.PossiblePoints.of(_skewed(), classes, inside)
    before = np.bincount(even.codes[wide, :, 0], even.weight[wide], 4) / drawn.left[wide].sum()
    assert before[2] > 0.9
