"""The files of one run: all are opened before any work is done, and take their places together or not at all.

Every command that turns one table into others goes through `opened`: it holds the table that is read, the release, its
reports, and what stays private. Nothing has its own name on disk before `Files.publish`; leaving the block in any other
way removes what was written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from anonymize import files
from anonymize.errors import Problem, UsageError, WriteError
from anonymize.files import OutputFormat, folder, sync
from anonymize.link import SAVE_LINK
from anonymize.link import SUFFIXES as LINK_SUFFIXES
from anonymize.places import masked
from anonymize.records import dataclass
from anonymize.report import RENDERERS, kind_of
from anonymize.spec import Spec, Zip3
from anonymize.table import OutputFile, Source, commit, population, spool, write

SAVE_RECODING = "save-recoding"
"""The option that names the file of the saved recoding."""

SAVE_RISK = "save-risk"
"""The option that names the file of every record's risk."""

PRIVATE_KINDS = {
    SAVE_RECODING: ("a saved recoding", (".json",)),
    SAVE_LINK: ("a link", LINK_SUFFIXES),
    SAVE_RISK: ("a file of risks", (".csv",)),
}
"""By option, what a private file is, and its suffixes."""


Committing: TypeAlias = Callable[[Sequence[OutputFile]], None]
"""What gives several files their places."""


@dataclass(frozen=True)
class ReleasePaths:
    """The files of a release: its `tables`, the one with the rows first, and its `texts`."""

    tables: Sequence[str]
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class Paths:
    """Where a run reads and writes; `-` is standard input or output.

    `input`: the table, None for the one that the spec names. `reports`: the kind by suffix. `private`: files that hold
    values of the input and that only their owner may read, by option. `further`: files that options of the algorithm
    name, by option. `state`: of the series that the release is in, or `starts`, written by `anonymize.series`.
    `output_format`: of the release, None for the one that its suffix asks for. `force`: files that exist are replaced.
    """

    input: str | None
    release: ReleasePaths = ReleasePaths(())
    reports: Sequence[str] = ()
    private: Mapping[str, str] = field(default_factory=dict)
    further: Mapping[str, str] = field(default_factory=dict)
    state: str | None = None
    starts: bool = False
    output_format: OutputFormat | None = None
    force: bool = False

    def check(self, inputs: Iterable[object], named: Iterable[object] = ()) -> None:
        """Raises UsageError for an output whose suffix is of no known kind, a private file or one of the algorithm's on
        standard output, two files that are one (`inputs` are read), and an output that is among the files which the
        spec has `named`."""
        for path in self.reports:
            kind_of(path)
        _check_private(self.private)
        if "-" in self.further.values():
            options = [option.replace("_", "-") for option, path in self.further.items() if path == "-"]
            raise UsageError([f"--{option}: is a file" for option in options])
        outputs = [
            *self.release.tables,
            *self.release.texts,
            *self.private.values(),
            *self.reports,
            *self.further.values(),
            *([] if self.state is None else [self.state]),
        ]
        _refuse_twice([*inputs, *outputs])
        _refuse_overwriting(outputs, named)
        if not self.force:
            write.refuse_existing((path for path in outputs if path != self.state), self.state if self.starts else None)
        for path in self.release.tables:
            write.check_table(path, self.output_format)


def _check_private(paths: Mapping[str, str]) -> None:
    for option, path in paths.items():
        if path == "-":
            raise UsageError(
                f"--{option}: is a file; it holds values of the input, or figures of its rows, and is private"
            )
        write.check_suffix(path, *PRIVATE_KINDS[option])


@dataclass(frozen=True)
class Files:
    """The open files of a run; see `Paths`. `release`: its tables, the one with the rows first; `texts`: what its
    recipients get with them."""

    source: Source
    release: tuple[OutputFile, ...]
    texts: tuple[OutputFile, ...]
    reports: tuple[OutputFile, ...]
    private: Mapping[str, OutputFile]
    further: Mapping[str, OutputFile]

    @property
    def table(self) -> OutputFile:
        """The released table; of a run that writes none, its text."""
        return (*self.release, *self.texts)[0]

    @property
    def all(self) -> list[OutputFile]:
        """Every file that is written, the release last."""
        return [*self.reports, *self.private.values(), *self.further.values(), *self._public]

    @property
    def _public(self) -> list[OutputFile]:
        """What is published, the table with the rows last."""
        return [*reversed(self.texts), *reversed(self.release)]

    @contextmanager
    def sealing(self) -> Iterator[None]:
        """Hashes the release and waits until it is on disk, while the block reads it again."""
        with ThreadPoolExecutor(1) as aside:
            sealed = [aside.submit(output.seal) for output in (*self.release, *self.texts)]
            yield
            for each in sealed:
                each.result()

    def publish(self, report: dict[str, Any], commit: Committing = commit, *, dry_run: bool = False) -> None:
        """Everything takes its place, or nothing does; on a dry run the release does not. `commit`: how.

        The released table comes last: where it goes to standard output it cannot be taken back.
        """
        for output in self.reports:
            _write_report(output, report)
        self.source.unchanged()
        release = () if dry_run else self._public
        commit([*self.reports, *self.private.values(), *self.further.values(), *release])
        if release:
            files.warn_of_foreign(self.table.name, [each.name for each in self.texts])


def _write_report(output: OutputFile, report: dict[str, Any]) -> None:
    """Writes a report in the form of its suffix; one that does not say that it is not private is its owner's alone."""
    output.private = report.get("private", True)
    output.write_text(RENDERERS[kind_of(output.name)](report))


@contextmanager
def opened(spec: Spec, paths: Paths) -> Iterator[Files]:
    """The files of a run, open as long as the block; the table is read as `spec` says.

    Raises what `Source.open` raises; UsageError and WriteError for an output that cannot be.
    """
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(spec, paths.input))
        output = partial(OutputFile, force=paths.force)
        table = partial(spool.output_table, force=paths.force, form=paths.output_format, separator=source.separator)
        release = [stack.enter_context(table(path)) for path in paths.release.tables]
        texts = [stack.enter_context(spool.output_table(path, force=paths.force)) for path in paths.release.texts]
        reports = tuple(stack.enter_context(output(path)) for path in paths.reports)
        private = {name: stack.enter_context(output(path, private=True)) for name, path in paths.private.items()}
        further = {name: stack.enter_context(output(path)) for name, path in paths.further.items()}
        yield Files(source, tuple(release), tuple(texts), reports, private, further)


# --- a folder ---------------------------------------------------------------------------------------------------------
# A release of several tables is a folder, which takes its place whole.


class OutputFolder:
    """A folder on its way. Use it as a context manager: leaving it without `commit` removes what was written.

    `part`: the folder that files are written to, next to its target. `force`: a folder that an earlier run has made is
    replaced. `index`: the file in it that lists the others.

    Raises UsageError for a target that is a file, lies in no folder, has something in it, unless that is replaced, or
    has files that the index does not list.
    """

    def __init__(self, path: str, index: str, *, force: bool = False) -> None:
        if path == "-":
            raise UsageError("-o: is a folder, and standard output is a file")
        self.name, self._index, self._force = path, index, force
        self._target = Path(os.path.realpath(path))
        self._earlier: Path | None = None
        self._published = False
        if not self._target.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {Path(path).parent}")
        self._check_free()
        self._stack = ExitStack()

    def __enter__(self) -> OutputFolder:
        with self._writing():
            self.part = self._stack.enter_context(folder(self._target.parent))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def _check_free(self) -> None:
        if not os.path.lexists(self._target):
            return
        if not self._target.is_dir():
            raise UsageError(f"{self.name}: is a file, and the tables are written to a folder")
        present = {each.name for each in self._target.iterdir()}
        if present and not self._force:
            raise UsageError(f"{self.name}: has files in it already (--force replaces those of an earlier run)")
        if foreign := present - self._listed():
            message = f"{self.name}: has {len(foreign)} files that no earlier run has made"
            raise UsageError(Problem(message, hint="choose another folder; --force replaces tables alone"))

    def _listed(self) -> set[str]:
        """The files that an earlier run has made; none where nothing says it."""
        try:
            content = json.loads((self._target / self._index).read_text(encoding="utf-8"))
            return {self._index, *(str(each["name"]) for each in content["files"])}
        except (OSError, ValueError, LookupError, TypeError):
            return set()

    def inside(self, path: str) -> bool:
        """Whether a path is that of something in the folder."""
        return self._target in Path(os.path.realpath(path)).parents

    def sync(self) -> None:
        """Waits until its files are on disk."""
        with self._writing():
            for each in (*self.part.iterdir(), self.part):
                sync(each)

    def commit(self) -> None:
        """Gives the folder its place, in which there is nothing, or what is replaced."""
        self._check_free()
        mask = os.umask(0o077)
        os.umask(mask)
        with self._writing():
            os.chmod(self.part, 0o777 & ~mask)
            if self._target.is_dir() and any(self._target.iterdir()):
                self._earlier = self._stack.enter_context(folder(self._target.parent))
                os.rename(self._target, self._earlier)
            os.rename(self.part, self._target)
        self._published = True
        files.PUBLISHED.add(self._target)

    def retract(self) -> None:
        """Takes a committed folder back; what it replaced is there again."""
        with suppress(OSError):
            if self._published:
                os.rename(self._target, self.part)
                files.PUBLISHED.discard(self._target)
            if self._earlier is not None:
                os.rename(self._earlier, self._target)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise WriteError(f"{self.name}: cannot be written: {error.strerror or 'input/output error'}") from None


@contextmanager
def report_files(
    paths: Sequence[str], *, force: bool, inputs: Iterable[object] = (), beside: Sequence[OutputFile] = ()
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """The reports of a run that publishes nothing else, opened before any work is done. What is yielded writes a report
    in all forms, and they take their places together, with the files `beside`. `inputs`: what the run reads; None and
    `-` are not files.

    Raises UsageError and WriteError for an output that cannot be.
    """
    for path in paths:
        kind_of(path)
    _refuse_twice(paths)
    _check_free(paths, inputs, force=force)
    with ExitStack() as stack:
        outputs = [stack.enter_context(OutputFile(path, force=force)) for path in paths]

        def publish(report: dict[str, Any]) -> None:
            for output in outputs:
                _write_report(output, report)
            commit([*outputs, *beside])

        yield publish


@contextmanager
def private_files(
    paths: Mapping[str, str], *, force: bool, inputs: Iterable[object], reports: Sequence[str]
) -> Iterator[dict[str, OutputFile]]:
    """The private files of a run that publishes nothing else but `reports`, by option, to be published beside these.
    `inputs`: what the run reads.

    Raises UsageError and WriteError for an output that cannot be.
    """
    _check_private(paths)
    _refuse_twice([*reports, *paths.values()])
    _check_free(paths.values(), inputs, force=force)
    with ExitStack() as stack:
        yield {
            option: stack.enter_context(OutputFile(path, force=force, private=True)) for option, path in paths.items()
        }


def _check_free(paths: Iterable[str], inputs: Iterable[object], *, force: bool) -> None:
    """Raises UsageError for files that the run reads, or that exist where they are not replaced."""
    _refuse_overwriting(paths, [each for each in inputs if each not in (None, "-")], "is read by this run")
    if not force:
        write.refuse_existing(paths)


class Reportable(Protocol):
    """What a check comes to."""

    @property
    def report(self) -> dict[str, Any]:
        """All of it, as it is written."""


Conclusion = TypeVar("Conclusion", bound=Reportable)


def reported(
    conclude: Callable[[], Conclusion],
    paths: Sequence[str],
    *,
    force: bool,
    inputs: Iterable[object],
    beside: Sequence[OutputFile] = (),
) -> Conclusion:
    """What a check comes to, its report written to all paths; see `report_files`."""
    with report_files(paths, force=force, inputs=inputs, beside=beside) as publish:
        result = conclude()
        publish(result.report)
    return result


def named_by(spec: Spec) -> list[Path]:
    """The spec's own file and the files that it names, its input excepted."""
    attributes = [*spec.quasi_identifiers.values(), *spec.sensitive.values()]
    sources = [each.hierarchy.zip3 if isinstance(each.hierarchy, Zip3) else each.hierarchy for each in attributes]
    hierarchies = [source for source in sources if isinstance(source, Path)]
    control = [spec.risk.control] if isinstance(spec.risk.control, Path) else []
    noise = None if spec.tabulate is None else spec.tabulate.noise.table
    given = [each for each in (noise, spec.path) if each is not None]
    return [*hierarchies, *population.populations_of(spec), *control, *given]


def _refuse_twice(paths: Iterable[object]) -> None:
    """Raises UsageError for two files, inputs or outputs, that are one; `-` and None are not files."""
    given = [str(path) for path in paths if path is not None and str(path) != "-"]
    files = [os.path.realpath(path) for path in given]
    twice = [path for index, path in enumerate(given) if files[index] in files[:index]]
    if twice:
        raise UsageError([f"{masked(path)}: is given twice, as an input or an output" for path in twice])


def _refuse_overwriting(
    outputs: Iterable[object], named: Iterable[object], reason: str = "is the spec, or a file that it names"
) -> None:
    """Raises UsageError for outputs that are files which the spec names, even where --force overwrites files."""
    files = {os.path.realpath(str(path)) for path in named}
    lost = [str(path) for path in outputs if os.path.realpath(str(path)) in files]
    if lost:
        raise UsageError([f"{path}: {reason}" for path in lost])
