"""What is asked of an engine, waited for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import anonymize
from anonymize.errors import DataError
from anonymize.spark.files import awaited


def test_it_is_what_the_engine_gives() -> None:
    assert awaited(lambda: threading.current_thread() is not threading.main_thread())


def test_an_error_of_the_engine_is_raised_here() -> None:
    def refuse() -> None:
        raise DataError("no rows")

    with pytest.raises(DataError, match="no rows"):
        awaited(refuse)


INTERRUPTED = """
import signal, threading
from anonymize.spark.files import awaited

hung, main = threading.Event(), threading.main_thread().ident
try:
    threading.Timer(0.2, signal.pthread_kill, (main, signal.SIGINT)).start()
    awaited(lambda: hung.wait(30))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_interrupt_ends_the_wait() -> None:
    """The engine never answers. In a process of its own: Sail ends at an interrupt, too, and other tests share it."""
    own = os.environ | {"PYTHONPATH": str(Path(anonymize.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], env=own, capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr
