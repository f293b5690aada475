"""Signals, and settings of libraries for memory and threads, from the first moment on: before anything heavy is
imported, and before there is anything to tidy up."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
INTERRUPTION, NOTHING = "interrupted", "nothing was written"

SPARING = {
    "POLARS_CSV_CHUNK_SIZE": "2000000",
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:250,muzzy_decay_ms:0",
}
"""Settings of polars, as variables of the environment unless they are set: a CSV is parsed in chunks of so many
bytes, and its allocator gives back what has been free for a quarter of a second. Measured on 4,000,000 rows of a
release that were read as the check does: 217 MB at the peak in place of 419, in the same processor time."""

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")
"""Settings of the libraries of linear algebra below numpy and scipy, in the same way. Their threads mostly wait for
each other, which takes the processor all the same (an eighth of the time of a release of 1,000,000 rows), and how they
part a sum, and with it the last digit of a figure, follows their number."""

UNPLUGGED = {"PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""A setting of pydantic, which otherwise looks for plugins in every package that is installed, whenever a command
begins."""


def install() -> None:
    """Ends the process at once with the code of an interruption, whichever signal asks for it.

    An interrupt that is ignored, as under nohup, is blocked in all threads that are to come: libraries install handlers
    of their own, and would take it all the same.
    """
    handle(end)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


def handle(handler: Callable[[int, FrameType | None], object] | signal.Handlers) -> None:
    """Takes the signals that ask a process to end, but for those that it was started to ignore."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def tell_libraries() -> None:
    """Sets what polars, pydantic and the libraries below numpy are told; they read it when they are imported."""
    for name, value in {**SPARING, **ONE_THREAD, **UNPLUGGED}.items():
        os.environ.setdefault(name, value)


@contextmanager
def without_collecting() -> Iterator[None]:
    """For imports: what they make stays for good, so that garbage is not looked for among it, then or later. That is a
    twentieth of the time that a command takes before it begins."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def end(signum: int, frame: FrameType | None) -> NoReturn:
    """Ends the process without unwinding it: a library that is being imported may make another error of an exception,
    or swallow it."""
    with suppress(OSError):
        os.write(2, f"{INTERRUPTION}; {NOTHING}\n".encode())
    os._exit(INTERRUPTED)
