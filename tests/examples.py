"""How many examples a test takes: a share by default, all of them with HYPOTHESIS_PROFILE=explore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import settings

THOROUGH = settings().max_examples > 100
Value = TypeVar("Value")


def some(count: int) -> int:
    """A sixth of the examples, one at least."""
    return count if THOROUGH else max(count // 6, 1)


def first(values: Sequence[Value], count: int) -> Sequence[Value]:
    """The first so many of the values."""
    return values if THOROUGH else values[:count]
