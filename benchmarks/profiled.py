"""Runs `anonymize` under cProfile: profiled.py PROFILE ARGUMENTS...

cProfile sees the thread that it is started in and no other. So what the search gives to threads runs at once instead,
in the thread that gives it.
"""

from __future__ import annotations

import concurrent.futures
import cProfile
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from anonymize.cli import exits
from anonymize.cli.main import run


class Inline(concurrent.futures.Executor):
    """An executor without threads."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *arguments: Any, **named: Any) -> concurrent.futures.Future[Any]:
        """Does the work; the future has its result already."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        future.set_result(fn(*arguments, **named))
        return future


def main() -> None:
    """Profiles one command."""
    concurrent.futures.ThreadPoolExecutor = Inline  # type: ignore[misc,assignment]
    _, path, *arguments = sys.argv
    profile = cProfile.Profile()
    try:
        profile.runcall(exits.outcome, partial(run, arguments))
    finally:
        profile.dump_stats(path)


if __name__ == "__main__":
    main()
