"""Small scenes, drawn by a seed."""

from __future__ import annotations

import numpy as np

from anonymize.attacks import Scene, ShownRows, TargetPeople
from anonymize.attacks.points import PointRows


def random_scene(seed: int, *, linked: bool = True, spread: int = 2) -> Scene:
    """Forty people in classes of overlapping spans, two attributes of six codes and a sensitive one of three values."""
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 6, (40, 2))
    values = {"ill": draw.integers(0, 3, 40)}
    low = np.maximum(codes - draw.integers(0, spread + 1, codes.shape), 0)
    high = np.minimum(codes + draw.integers(0, spread + 1, codes.shape), 5)
    order = draw.permutation(40)
    spans, class_of = np.unique(np.hstack([low, high])[order], axis=0, return_inverse=True)
    release = ShownRows(spans[:, :2], spans[:, 2:], class_of.ravel(), {"ill": values["ill"][order]})
    people = TargetPeople(codes, values, np.argsort(order) if linked else None)
    return Scene(("a", "b"), (6, 6), {"ill": 3}, release, people, people)


def of_rows(codes: np.ndarray, spans: np.ndarray, values: np.ndarray, sizes: tuple[int, ...]) -> Scene:
    """TargetPeople whose row n is released as row n. `spans` (rows, attributes, 2)."""
    flat = spans.reshape(len(spans), -1)
    distinct, class_of = np.unique(flat, axis=0, return_inverse=True)
    ends = distinct.reshape(len(distinct), -1, 2)
    named = {"ill": values}
    people = TargetPeople(codes, named, np.arange(len(codes)))
    release = ShownRows(ends[:, :, 0], ends[:, :, 1], class_of.ravel(), named)
    names = tuple("abcdefgh"[: codes.shape[1]])
    return Scene(names, sizes, {"ill": int(values.max()) + 1}, release, people, people)


def invented_scene(seed: int, *, copied: float, rows: int = 300, people: int = 300) -> Scene:
    """Invented rows: four columns are known of people, two are sensitive. The share that is `copied` are the people of
    the original, the others drawn as these were. As many people are the control."""
    draw = np.random.default_rng(seed)

    def points(number: int) -> np.ndarray:
        age, height = draw.normal(50, 15, number).clip(0, 99).round(2), draw.normal(170, 10, number).round(2)
        town, pay = draw.integers(0, 6, number), draw.integers(0, 2000, number)
        return np.column_stack([age, town, pay, height, draw.integers(0, 4, number), draw.normal(0, 200, number)])

    def known(own: np.ndarray) -> TargetPeople:
        values = {"ill": own[:, 4].astype(int), "cost": np.zeros(len(own), int)}
        return TargetPeople(own[:, :4].astype(int), values, points=own)

    original, others = points(people), points(people)
    made = points(rows)
    made[: round(copied * rows)] = original[: round(copied * rows)]
    names = ("age", "town", "pay", "height", "ill", "cost")
    invented = PointRows(made, names, (True, False, True, True, False, True), 4)
    shown = known(made)
    release = ShownRows(shown.codes, shown.codes, np.arange(rows), shown.values)
    targets, control = known(original), known(others)
    sizes, sensitive = (100, 6, 2000, 300), {"ill": 4, "cost": 1}
    return Scene(names[:4], sizes, sensitive, release, targets, targets, control, control, invented=invented)
