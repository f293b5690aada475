"""What a release command was asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from anonymize.errors import UsageError
from anonymize.names import OutputFormat
from anonymize.spec import Spec

Progress: TypeAlias = Callable[[str, int, int], None]
"""(stage, rows done, rows in all)"""


@dataclass(frozen=True)
class Request:
    """A spec, an algorithm, and where things come from and go to.

    `options`: the algorithm's own. `output`: path or `-`. `reports`: paths, the kind by suffix. `seed` None: the
    system's entropy. `public`: a report without what could be used against the release. `dry_run`: everything but the
    release. `allow_unsafe`: publish even what does not meet its requirements. `save_recoding`: path of the recoding.
    """

    spec: Spec
    algorithm: str
    options: Any
    input: str | None = None
    output: str = "-"
    output_format: OutputFormat | None = None
    reports: Sequence[str] = ()
    seed: int | None = None
    threads: int = 1
    force: bool = False
    public: bool = False
    dry_run: bool = False
    allow_unsafe: bool = False
    progress: Progress = field(default=lambda stage, done, total: None)
    save_recoding: str | None = None


def refuse_twice(paths: Iterable[object]) -> None:
    """Raises UsageError for two files, input or output, that are one; `-` and None are no files."""
    given = [str(path) for path in paths if path is not None and str(path) != "-"]
    files = [os.path.realpath(path) for path in given]
    twice = [path for at, path in enumerate(given) if files[at] in files[:at]]
    if twice:
        raise UsageError([f"{path}: is given twice, as an input or an output" for path in twice])


def refuse_overwriting(outputs: Iterable[object], read: Iterable[object]) -> None:
    """Raises UsageError for outputs that are files which are read, whether or not they may be overwritten."""
    files = {os.path.realpath(str(path)) for path in read}
    lost = [str(path) for path in outputs if path is not None and os.path.realpath(str(path)) in files]
    if lost:
        raise UsageError([f"{path}: is the spec, or a file that it names" for path in lost])
