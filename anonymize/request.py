"""What a release command was asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from anonymize.files import OutputFormat
from anonymize.records import dataclass
from anonymize.spec import Spec

Progress: TypeAlias = Callable[[str, int, int], None]
"""(stage, rows done, rows in all)"""


@dataclass(frozen=True, kw_only=True)
class Companions:
    """What a release that is measured or attacked may have in addition.

    `link`: which row of the original each released row is, as it was saved with the release. `st`, `group`: of a
    bucketized release the sensitive table, and the column of groups. `manifest`: path of the file that says
    what the columns mean, None for the one next to it, if there is one.
    """

    link: str | None = None
    st: str | None = None
    group: str | None = None
    manifest: str | None = None


@dataclass(frozen=True)
class Request:
    """A spec, an algorithm, and where things come from and go to.

    `options`: the algorithm's own. `output`: path or `-`. `reports`: paths, the kind by suffix. `seed` None: the
    system's entropy. `public`: a report without what could be used against the release. `dry_run`: everything but the
    release. `allow_unsafe`: publish even what does not meet its requirements. `save_recoding`: path of the recoding;
    `save_link`: of which released row is which of the input; `save_risk`: of the risk of every row; `manifest`: of what
    the columns mean. `show_values`: values of the input may be in the report. `bound`: the report says how little any
    release with classes could lose. `memory_limit`: bytes that the process may take, None for what there is; `tmp`: the
    folder of temporary files. `start_series`, `after`: the state of the series that it begins, or continues; `key`:
    the file of its key. `budget`: the ledger of the people, under the same key.
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
    progress: Progress = field(default=lambda stage, count, total: None)
    save_recoding: str | None = None
    save_link: str | None = None
    save_risk: str | None = None
    manifest: str | None = None
    show_values: bool = False
    bound: bool = False
    memory_limit: int | None = None
    tmp: str | None = None
    start_series: str | None = None
    after: str | None = None
    key: str | None = None
    budget: str | None = None

    @property
    def in_series(self) -> bool:
        """Whether it is a release of a series."""
        return self.start_series is not None or self.after is not None
