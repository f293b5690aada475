"""Releases, checks and recodings on an engine from files to files, as commands ask for them: Parquet in, and a folder
of Parquet files out.

The engine writes a release beside its target, or, where that is not a folder here, into it; what is published
has been measured before, from the checkpoint. Reports come first and the release last, as on one machine.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import Any
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
from anonymize.spark.capabilities import AUDIT, RANDOMIZE, RECODE, EngineUse, refuse
from anonymize.spark.checking import audit_on_engine, recode_on_engine
from anonymize.spark.engine import DataFrame, awaited, session_of
from anonymize.spark.outcome import EngineLimits
from anonymize.spark.road import release_on_engine
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
    names them. A randomized one has the recipient's parameters beside it. Raises UsageError for whatever else is asked
    for, and as `spark.release` and `spark.randomize` do."""
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
        limits = EngineLimits(stack.enter_context(engine.folder(request.tmp)))
        session = stack.enter_context(session_of(engine.master))
        made = awaited(lambda: release_on_engine(session.read.parquet(source), request, limits))
        for each in texts:
            each.write_text(json.dumps(made.parameters, ensure_ascii=False, indent=1) + "\n")
        report = _named(made.report, table, request.output)
        with target.written(made.rows, wanted=not request.dry_run):
            publish(report)
    return report


def _parameters(request: Request) -> list[str]:
    """Where the recipient's parameters go, where a release has any. Raises UsageError for a URI that they would stand
    beside."""
    if EngineUse.of_request(request).road != RANDOMIZE:
        return []
    named = request.manifest or str(request.options.parameters)
    if _is_remote(request.output) and not named:
        raise UsageError("a randomized release at a URI: name a file for its parameters with --parameters")
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
        audited = awaited(lambda: audit_on_engine(session.read.parquet(source), spec, threshold, masked(table)))
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
        recoded, report = awaited(lambda: recode_on_engine(session.read.parquet(source), saved))
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


# --- where the release goes ------------------------------------------------------------------------------------------


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
    """Takes away what Spark writes beside the rows (checksums, a mark that it has ended), which other readers of a
    folder stumble over."""
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
