"""Runs `anonymize` under cProfile: profiled.py PROFILE ARGUMENTS...

cProfile sees the thread that it is started in and no other. So what the search gives to threads runs at once instead,
in the thread that gives it.
"""

from __future__ import annotations

import concurrent.futures
import cProfile
import runpy
import sys
from collections.abc import Callable
from typing import Any


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
    """Profiles one command and leaves its exit code as it is."""
    concurrent.futures.ThreadPoolExecutor = Inline  # type: ignore[misc,assignment]
    _, path, *arguments = sys.argv
    sys.argv = ["anonymize", *arguments]
    profile = cProfile.Profile()
    try:
        profile.runcall(runpy.run_module, "anonymize", run_name="__main__")
    finally:
        profile.dump_stats(path)


if __name__ == "__main__":
    main()
