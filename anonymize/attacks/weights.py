"""What the attackers who single people out share: whom a condition isolates, and how often one would by chance.

A condition that a share w of people meets isolates exactly one of n with the chance n w (1 - w)^(n - 1), whoever they
are, without any release. At w = 1/n that is 0.37.

That takes columns to be independent. Where they depend on each other, a narrow condition is met by somebody more often,
with or without the release; so where there are people who are not in it, the same conditions are put to them.

Source: Cohen and Nissim, Towards formalizing the GDPR's notion of singling out, PNAS 2020; for the control Giomi and
others, PoPETs 2023, section 4.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anonymize.attacks.scene import Scene, TargetPeople
from anonymize.attacks.success import Success
from anonymize.classes import Floats, Ints
from anonymize.domain.leafsets import LeafSets


def isolating(
    scene: Scene, name: str, count: Callable[[TargetPeople], Ints], weights: Floats | None, **more: Any
) -> Success:
    """How many of some conditions isolate somebody of the original, over those that isolate somebody of the control.

    `count`: how many of some people meet each condition, (conditions,). `weights` (conditions,): the share who would,
    if columns were independent; None: as many as do. How often a condition isolates somebody depends on how many there
    are, so as many people of the control are asked as of the original: of the larger group some, drawn for the attacker
    of this `name`.
    """
    people = [scene.everybody, *([] if scene.outsiders is None else [scene.outsiders])]
    number, generator = min(map(len, people)), scene.generator(name)
    met = [count(each.drawn(number, generator)) for each in people]
    hits, *control = ((each == 1).astype(float) for each in met)
    shares = met[0] / max(number, 1) if weights is None else weights
    return Success(hits, by_chance(shares, number), *control, **more)


def by_chance(weights: Floats, people: int) -> Floats:
    """The chance that a condition of each weight, from 0 to 1, isolates one of so many people; the same shape."""
    within = np.clip(weights, 0.0, 1.0 - 1e-12)
    return np.asarray(people * within * np.exp((people - 1) * np.log1p(-within)))


def spanned(codes: Ints, size: int, cells: LeafSets) -> Ints:
    """How many people have a code that each of some cells stands for. `codes` (people,), -1 where missing."""
    return np.asarray(cells.sums(np.bincount(codes[codes >= 0], minlength=size)))
