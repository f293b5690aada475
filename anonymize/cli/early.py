"""Signals from the first moment on: before anything heavy is imported, and before there is anything to tidy up."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
MESSAGE = "interrupted; nothing was written"


def install() -> None:
    """Ends the process at once with the code of an interruption, whichever signal asks for it.

    An interrupt that is ignored, as under nohup, is blocked in all threads that are to come: libraries install handlers
    of their own, and would take it all the same.
    """
    signal.signal(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    else:
        signal.signal(signal.SIGINT, end)


def end(signum: int, frame: FrameType | None) -> NoReturn:
    """Ends the process without unwinding it: a library that is being imported may make another error of an exception,
    or swallow it."""
    with suppress(OSError):
        os.write(2, f"{MESSAGE}\n".encode())
    os._exit(INTERRUPTED)
