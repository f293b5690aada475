"""What a search has so far, for whoever interrupts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass
class Standing:
    """The best so far. `describe`: says it in a sentence, without any cell value; None while there is nothing."""

    describe: Callable[[], str | None] = lambda: None


def of_levels(levels: Mapping[str, int], score: str, gap: float | None) -> str:
    """The sentence for a level vector: its score, and by how much another may be better at the most."""
    named = ", ".join(f"{name} {level}" for name, level in levels.items())
    away = "not bounded" if gap is None else f"{max(gap, 0.0):.6g}"
    return f"best so far: levels {named}; {score}; gap {away}"
