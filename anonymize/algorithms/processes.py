"""Tasks in processes of their own: what a search can part into pieces that know nothing of each other.

A task is a function of what all processes were given once, and of its own part. Results come in the order of the tasks,
so that the number of processes changes nothing but the time. One process is the calling one.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

_shared: dict[str, Any] = {}


class Workers:
    """Processes that are started with the first call that is worth it, and end with the `workers` that made them."""

    def __init__(self, processes: int, make: Callable[..., Any], *shared: Any) -> None:
        self._processes, self._make, self._given = processes, make, shared
        self._pool: Any = None
        self._own: Any = None

    def map(self, work: Callable[[Any, Part], Result], parts: Iterable[Part], *, worth: bool = True) -> list[Result]:
        """The results of `work(made, part)`, in the order of the parts; `made` is what `make` makes of what is shared,
        once in each process. Where it is not `worth` the trip, the calling process does it."""
        if self._processes < 2 or not worth:
            if self._own is None:
                self._own = self._make(*self._given)
            return [work(self._own, part) for part in parts]
        if self._pool is None:
            self._pool = _pool(self._processes, self._make, self._given)
        return list(self._pool.imap(_run, [(work, part) for part in parts]))

    def end(self) -> None:
        """Ends the processes, whatever they are doing."""
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()


@contextmanager
def workers(processes: int, make: Callable[..., Any], *shared: Any) -> Iterator[Workers]:
    """Processes that are ended on the way out, also by an interruption."""
    made = Workers(processes, make, *shared)
    try:
        yield made
    finally:
        made.end()


def _pool(processes: int, make: Callable[..., Any], shared: tuple[Any, ...]) -> Any:
    """Processes that are started anew: a copy of one that has threads may wait forever for a lock of one of them."""
    from multiprocessing import get_context

    return get_context("spawn").Pool(processes, _begin, (make, shared))


def _begin(make: Callable[..., Any], shared: tuple[Any, ...]) -> None:
    """What an interruption means, the calling process decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _shared["made"] = make(*shared)


def _run(task: tuple[Callable[[Any, Any], Any], Any]) -> Any:
    work, part = task
    return work(_shared["made"], part)
