"""Small scenes, drawn by a seed."""

from __future__ import annotations

import numpy as np

from anonymize.attacks import Scene, ShownRows, TargetPeople


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
