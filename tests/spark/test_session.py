"""What is asked of an engine, waited for."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from anonymize.errors import DataError
from anonymize.spark.session import awaited


def test_it_is_what_the_engine_gives() -> None:
    assert awaited(lambda: threading.current_thread() is not threading.main_thread())


def test_an_error_of_the_engine_is_raised_here() -> None:
    def refuse() -> None:
        raise DataError("no rows")

    with pytest.raises(DataError, match="no rows"):
        awaited(refuse)


def test_an_interrupt_ends_the_wait() -> None:
    """The engine never answers."""
    hung, main = threading.Event(), threading.main_thread().ident
    assert main is not None
    started = time.monotonic()
    timer = threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        awaited(lambda: hung.wait(30))
    hung.set()
    timer.join()
    assert time.monotonic() - started < 20
