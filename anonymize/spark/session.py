"""The session of a command: Spark Connect, Sail on this machine, or Spark."""

from __future__ import annotations

import os
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from anonymize.errors import Problem, UsageError
from anonymize.spark.engine import require

SAIL = "sail"
REMOTE = "SPARK_REMOTE"
PORT = 15002
"""Of Spark Connect, where an address names none."""


@contextmanager
def session_of(master: str | None) -> Iterator[Any]:
    """A session that ends with the block.

    `master`: `sc://...` for Spark Connect, `sail` for Sail in this process, or what Spark calls a master (`local[2]`,
    `spark://...`, `yarn`). None: what SPARK_REMOTE names, else Sail where it is installed, else what Spark is
    configured for. Raises UsageError where a library that this takes is not installed, or no session can be had.
    """
    require()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = master or os.environ.get(REMOTE) or (SAIL if find_spec("pysail") else "")
    with ExitStack() as stack:
        address = stack.enter_context(_sail()) if chosen == SAIL else chosen
        session = _session(address)
        stack.callback(session.stop)
        if chosen == SAIL:  # an interrupt ends its server, too, and nothing is worth waiting for then
            end_soon(session)
        else:
            stack.callback(end_soon, session)
        yield session


@contextmanager
def _sail() -> Iterator[str]:
    """The address of Sail, run by this process."""
    try:
        from pysail.spark import SparkConnectServer
    except ImportError:
        raise UsageError(Problem("Sail is not installed", hint="pip install 'anonymize-toolkit[sail]'")) from None
    os.environ.setdefault("RUST_LOG", "error")  # what Sail says of itself is said to whoever asks for it
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    try:
        yield f"sc://localhost:{server.listening_address[1]}"
    finally:
        server.stop()


def _session(address: str) -> Any:
    """A session at an address of Spark Connect, of a master of Spark, or, without one, as Spark is configured."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    try:
        _check_reachable(address)
        if address.startswith("sc://"):
            session = builder.remote(address).create()
        else:
            quiet = builder.config("spark.ui.showConsoleProgress", "false")
            session = (quiet.master(address) if address else quiet).getOrCreate()
        session.range(1).count()
    except Exception as error:
        reason = f"no session of an engine: {type(error).__name__}"
        hint = "--master sc://HOST:PORT, or sail; a master such as local[2] needs Java and pyspark with its JVM part"
        place = address.partition(";")[0]  # what follows may be a token
        raise UsageError(Problem(f"{reason} at {place}" if place else reason, hint=hint)) from None
    return session


def end_soon(session: Any) -> None:
    """Of a server of Spark Connect that does not answer: gives up within a second, where it would be asked for ten
    minutes."""
    if type(session).__module__.startswith(
        "pyspark.sql.connect."
    ):  # another one raises where it is asked for its client
        from pyspark.sql.connect.client.retries import DefaultPolicy

        warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
        session.client.set_retry_policies([DefaultPolicy(max_retries=3, max_backoff=200)])


def _check_reachable(address: str) -> None:
    """Raises OSError where nobody listens at an address of Spark Connect; a session would try again for minutes."""
    place = urlsplit(address.partition(";")[0])
    if place.scheme == "sc":
        socket.create_connection((place.hostname or "localhost", place.port or PORT), timeout=10).close()
