"""Releases, checks and recodings on an engine from files to files, as commands ask for them: Parquet in, and a folder
of Parquet files out.

The engine writes a release next to its target, or, where that is not a folder here, into it; what is published
has been measured before, from the checkpoint. Reports come first and the release last, as on one machine.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from anonymize import files
from anonymize._recode import Recode
from anonymize.errors import DataError, Problem, UsageError, WriteError
from anonymize.files import parameters_beside
from anonymize.formats import Checked
from anonymize.places import masked
from anonymize.publication import Paths, ReleasePaths, named_by, report_files
from anonymize.recoding.saved import load
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.spark import checking, road, searches
from anonymize.spark.capabilities import AUDIT, DISTORTION, RECODE, EngineUse, refuse
from anonymize.spark.engine import DataFrame, require
from anonymize.spec import Spec, override
from anonymize.table import OutputFile
from anonymize.verify import THRESHOLD

PARQUET = ".parquet"


@dataclass(frozen=True)
class Engine:
    """Where the work runs. `master`: see `session_of`. `checkpoint`: a private folder that workers can write to; None
    for one of this machine, which is enough where the workers run on it."""

    master: str | None = None
    checkpoint: str | None = None

    @contextmanager
    def folder(self, tmp: str | None) -> Iterator[str]:
        """A folder of this run under the checkpoint, empty; gone at the end of the block where it is this machine's."""
        if self.checkpoint is not None and _is_remote(self.checkpoint):
            yield f"{self.checkpoint.rstrip('/')}/anonymize-{uuid4().hex}"
            return
        parent = Path(self.checkpoint or tmp or tempfile.gettempdir()).absolute()
        with ExitStack() as stack:
            try:
                own = stack.enter_context(files.folder(parent))
            except OSError as error:
                raise WriteError(f"{parent}: {error.strerror}") from None
            yield str(own)


def release_files(request: Request, engine: Engine) -> dict[str, Any]:
    """The release of a Parquet file, of a folder of them or of a URI that the engine reads; returns the report, which
    names them. One of distorted values has the recipient's parameters next to it. Raises UsageError for what an engine
    lacks, and as `release_on_engine` does."""
    refuse(EngineUse.of_request(request))
    beside = _parameters(request)
    table = str(request.input or request.spec.input.path or "-")
    source, target = _source(table), ParquetFolder.of(request.output, table, force=request.force)
    paths = Paths(request.input, ReleasePaths((request.output,), beside), request.reports, force=request.force)
    paths.check([table], named_by(request.spec))
    with ExitStack() as stack:
        texts = [stack.enter_context(OutputFile(path, force=request.force)) for path in beside]
        published = [] if request.dry_run else texts
        reporting = report_files(request.reports, force=request.force, inputs=[source], beside=published)
        publish = stack.enter_context(reporting)
        stack.enter_context(target.cleared())
        limits = searches.EngineLimits(stack.enter_context(engine.folder(request.tmp)))
        session = stack.enter_context(session_of(engine.master))
        made = awaited(lambda: road.release_on_engine(session.read.parquet(source), request, limits))
        for each in texts:
            each.write_text(json.dumps(made.parameters, ensure_ascii=False, indent=1) + "\n")
        report = _named(made.report, table, request.output)
        with target.written(made.rows, wanted=not request.dry_run):
            publish(report)
    return report


def _parameters(request: Request) -> list[str]:
    """Where the recipient's parameters go, where a release has any. Raises UsageError for a URI that they would be
    next to."""
    if EngineUse.of_request(request).road != DISTORTION:
        return []
    named = request.manifest or str(request.options.parameters)
    if _is_remote(request.output) and not named:
        raise UsageError("a release of distorted values at a URI: name a file for its parameters with --parameters")
    return [named or parameters_beside(request.output)]


def audit_files(spec: Spec, path: str | None, given: Mapping[str, Any], engine: Engine) -> Checked:
    """A table that was checked. `given`: the options of `audit` that have a value. Raises UsageError, SpecError and
    DataError as `spark.audit` does."""
    refuse(EngineUse(AUDIT, spec, given=given))
    spec = override(spec, **{name: given.get(name) for name in ("k", "l", "t")})
    table, threshold = str(path or spec.input.path or "-"), given.get("threshold", THRESHOLD)
    source = _source(table)
    with (
        report_files(given.get("reports", ()), force=given.get("force", False), inputs=[source]) as publish,
        session_of(engine.master) as session,
    ):
        audited = awaited(
            lambda: checking.audit_on_engine(session.read.parquet(source), spec, threshold, masked(table))
        )
        publish(audited.report)
    return audited


def recode_files(request: Recode, engine: Engine) -> dict[str, Any]:
    """Rows that a saved recoding has not seen, recoded; returns the report. Raises as `spark.recode` does."""
    refuse(EngineUse(RECODE, given=vars(request)))
    source, target = _source(request.input), ParquetFolder.of(request.output, request.input, force=request.force)
    Paths(request.input, ReleasePaths((request.output,)), request.reports).check([request.input, request.recoding])
    saved = load(request.recoding)
    with (
        report_files(request.reports, force=request.force, inputs=[source, request.recoding]) as publish,
        target.cleared(),
        session_of(engine.master) as session,
    ):
        recoded, report = awaited(lambda: checking.recode_on_engine(session.read.parquet(source), saved))
        report = _named(report, request.input, request.output)
        with target.written(recoded, wanted=True):
            publish(report)
    return report


def _named(report: dict[str, Any], table: str, output: str) -> dict[str, Any]:
    """The report with the paths that the command was given."""
    return report | {
        "input": {**report["input"], "path": masked(table)},
        "output": {**report["output"], "path": masked(output)},
    }


def _source(path: str) -> str:
    """The table, as the engine reads it. Raises UsageError for what is no Parquet, DataError for what is not there."""
    if path == "-":
        raise UsageError("standard input: not on an engine; the table is a Parquet file, or a folder of them")
    if _is_remote(path):
        return path
    if not os.path.exists(path):
        raise DataError(Problem("cannot be read: no such file or directory", file=path))
    if not os.path.isdir(path) and not path.lower().endswith(PARQUET):
        hint = "save the table as Parquet: an engine would parse it again in every pass"
        raise UsageError(Problem("is not a Parquet file, and an engine reads no other", file=path, hint=hint))
    return os.path.abspath(path)


def _is_remote(path: str) -> bool:
    """Whether it is a URI that the engine has to know."""
    return "://" in path


# --- where the release goes -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParquetFolder:
    """A folder of Parquet files that the engine writes. `force`: one that exists is replaced. `run`: what its
    temporary names have in them."""

    path: str
    force: bool
    run: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def of(cls, path: str, table: str, *, force: bool) -> ParquetFolder:
        """Raises UsageError where it cannot be one, or where it is, holds or lies in the `table` that is read."""
        if path == "-":
            raise UsageError(Problem("standard output: not on an engine", hint="-o FOLDER.parquet"))
        if not path.lower().rstrip("/").endswith(PARQUET):
            raise UsageError(Problem(f"{path}: an engine writes a folder of Parquet files", hint="-o FOLDER.parquet"))
        if _overlap(path, table):
            raise UsageError(f"{path}: is a place of the table that is read")
        if not _is_remote(path):
            if os.path.lexists(path) and not force:
                raise UsageError(f"{path}: exists already (--force overwrites it)")
            if not Path(path).absolute().parent.is_dir():
                raise UsageError(f"{path}: there is no folder {Path(path).parent}")
        return cls(path, force)

    @property
    def final(self) -> Path:
        """The folder that the path names, which may be a link to it."""
        return Path(os.path.realpath(self.path))

    def beside(self, kind: str) -> Path:
        """A name of this run in the same folder."""
        return self.final.with_name(f".{self.final.name}.{self.run}.{kind}")

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Runs the block, and removes what is left of a release that did not get its name. The engine has ended in the
        block, as one that still writes would make a folder anew."""
        files.use()
        try:
            yield
        finally:
            if not _is_remote(self.path):
                self._clear()

    def _clear(self) -> None:
        part, old = self.beside("part"), self.beside("old")
        if os.path.lexists(old) and not os.path.lexists(self.final):
            old.rename(self.final)
        for each in (part, old):
            shutil.rmtree(each, ignore_errors=True)
            with suppress(OSError):
                each.unlink()

    @contextmanager
    def written(self, released: DataFrame, *, wanted: bool) -> Iterator[None]:
        """Writes the release, runs the block, and gives it its name, within `cleared`. At a URI the engine gives it its
        name itself, after the block."""
        if not wanted or _is_remote(self.path):
            yield
            if wanted:
                mode = "overwrite" if self.force else "error"
                awaited(lambda: released.write.mode(mode).parquet(self.path))
            return
        part = self.beside("part")
        try:
            awaited(lambda: released.write.mode("error").parquet(str(part)))
            _without_marks(part)
            yield
            if os.path.lexists(self.final):
                self.final.rename(self.beside("old"))
            part.rename(self.final)
        except OSError as error:
            raise WriteError(f"{self.path}: {error.strerror}") from None


def _without_marks(folder: Path) -> None:
    """Takes away what Spark writes in addition to the rows (checksums, a mark that it has ended), which other readers
    of a folder stumble over."""
    for each in folder.iterdir():
        if each.name.startswith((".", "_")) and each.is_file():
            each.unlink()


def _overlap(path: str, table: str) -> bool:
    """Whether one of two places is the other, or lies in it."""
    if _is_remote(path) or _is_remote(table):
        first, second = (each.rstrip("/") + "/" for each in (path, table))
    else:
        first, second = (os.path.join(os.path.realpath(each), "") for each in (path, table))
    return first.startswith(second) or second.startswith(first)


# --- the session of a command -----------------------------------------------------------------------------------------

Result = TypeVar("Result")

SAIL = "sail"
REMOTE = "SPARK_REMOTE"
PORT = 15002
"""The port of Spark Connect, where an address names none."""

LEAVE_TAKING = 15.0
"""Seconds that an engine has to end a session: a client of Spark Connect waits ten for what it has released."""
AT_ONCE = 3.0
"""Seconds for that where the user does not want to wait."""
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
