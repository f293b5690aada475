"""The session of a command: Spark Connect, Sail on this machine, or Spark; and its settings for as long as it works for
us: they save time, and change no row.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from importlib.util import find_spec
from threading import Thread
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from anonymize.errors import Problem, UsageError
from anonymize.spark.engine import DataFrame, require

Road = TypeVar("Road", bound=Callable[..., Any])

SETTINGS = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.codegen.aggregate.map.twolevel.enabled": "false",
}
"""That no batch of rows may have more bytes than this: so Spark does not add up, after every row, how many it has,
which took a tenth of the time of all tasks; how many rows a batch may have is left as it is. That what is counted has
no small table before the large one: where nearly every row is another, every row is looked up in both."""


@contextmanager
def tuned(session: Any) -> Iterator[None]:
    """Runs the block with these settings, where the engine takes them, and sets them back."""
    before = {}
    try:
        for name, value in SETTINGS.items():
            with suppress(Exception):  # an engine may refuse what it does not know, or does not let anybody set
                own = session.conf.get(name, None)
                session.conf.set(name, value)
                before[name] = own
        yield
    finally:
        for name, own in before.items():
            if own is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, own)


def with_settings(work: Road) -> Road:
    """What works on a DataFrame, its first argument, `tuned`."""

    @wraps(work)
    def run(df: DataFrame, *args: Any, **given: Any) -> Any:
        with tuned(df.sparkSession):
            return work(df, *args, **given)

    return cast("Road", run)


Result = TypeVar("Result")

SAIL = "sail"
REMOTE = "SPARK_REMOTE"
PORT = 15002
"""The port of Spark Connect, where an address names none."""

LEAVE_TAKING = 15.0
"""Seconds that an engine has to end a session: a client of Spark Connect waits ten for what it has released."""
AT_ONCE = 3.0
"""The same, where the user does not want to wait."""
BETWEEN_SIGNALS = 0.2
"""Seconds after which a signal is seen at the latest."""


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
        session = awaited(lambda: _session(address))
        stack.push(_ended_by(session.stop, at_once=0.0 if chosen == SAIL else AT_ONCE))
        yield session


def awaited(work: Callable[[], Result]) -> Result:
    """What an engine has been asked for. Raises what `work` raises.

    It is asked in another thread, so that an interrupt ends the wait at once: a client of Spark Connect would first ask
    its server to stop the operation, for up to ten minutes where that has hung, or is gone as Sail is after a Ctrl-C.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    while not future.done():  # not one long wait: where an engine handles signals itself, none would end that
        wait([future], BETWEEN_SIGNALS)
    return future.result()


def _ended_by(stop: Callable[[], None], at_once: float) -> Callable[..., None]:
    """What ends a block by `stop`, in a thread, as an engine that has hung, or is gone, may never answer: it waits for
    that up to LEAVE_TAKING seconds, and up to `at_once` where the block was interrupted."""

    def leave(kind: type[BaseException] | None, *_: object) -> None:
        ending = Thread(target=stop, daemon=True)
        seconds = at_once if kind is not None and issubclass(kind, KeyboardInterrupt) else LEAVE_TAKING
        if seconds:
            ending.start()
            ending.join(seconds)

    return leave


@contextmanager
def _sail() -> Iterator[str]:
    """The address of Sail, run by this process."""
    try:
        from pysail.spark import SparkConnectServer
    except ImportError:
        raise UsageError(Problem("Sail is not installed", hint="pip install 'anonymize-toolkit[sail]'")) from None
    os.environ.setdefault("RUST_LOG", "error")  # what Sail says of itself is said to whoever asks for it
    server = SparkConnectServer("127.0.0.1", 0)
    with ExitStack() as stack:
        stack.push(_ended_by(server.stop, AT_ONCE))
        server.start(background=True)
        yield f"sc://localhost:{server.listening_address[1]}"


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


def _check_reachable(address: str) -> None:
    """Raises OSError where nobody listens at an address of Spark Connect; a session would try again for minutes."""
    place = urlsplit(address.partition(";")[0])
    if place.scheme == "sc":
        socket.create_connection((place.hostname or "localhost", place.port or PORT), timeout=10).close()
