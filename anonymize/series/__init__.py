"""Releases that follow each other: who was shown in which class so far, and what the next release may show. `state` is
the private file of a series. The steps of a release that depend on its series are here; the first release that is in
one imports the rest, as most are in none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from anonymize.errors import Problem, UsageError
from anonymize.link import Link
from anonymize.privacy import Requirement
from anonymize.publication import Files
from anonymize.recoding import SearchResult
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.table import OutputFile, Table, commit

if TYPE_CHECKING:
    from anonymize.families.base import Draft
    from anonymize.series.search import Run


class Following(Protocol):
    """The steps of a release that depend on whether it is in a series, as they are for one that is in none.
    `request`: what is asked for, with what the spec leaves to the series."""

    request: Request

    def begin(self, files: Files) -> Files:
        """Takes note of the files of the run, which are open; returns those that it goes on with."""
        return files

    def search(self, request: Request, table: Table, requirements: tuple[Requirement, ...], run: Run) -> SearchResult:
        """The classes, or whatever the algorithm returns; `run` runs it."""
        return run(request, table, requirements)

    def linked(self, link: Link) -> Link:
        """The private link of the release, with what it says of the series; kept, where it is not written elsewhere."""
        return link

    def named(self, table: Table) -> Table:
        """The table with the pseudonyms by which recipients follow people, where these are asked for."""
        return table

    def check(self, draft: Draft, files: Files) -> None:
        """Measures the written release over time. Raises UnsafeError where the promise is not kept."""
        return

    def block(self) -> dict[str, Any]:
        """What the report says of the series, if there is one."""
        return {}

    def commit(self, outputs: Sequence[OutputFile]) -> None:
        """Publishes the outputs."""
        commit(outputs)


@dataclass
class Alone(Following):
    """A release that is in no series."""

    request: Request


@contextmanager
def following(request: Request) -> Iterator[Following]:
    """The release of a request in its series, as long as the block; or that it stands alone.

    Raises UsageError for what cannot be in a series, a state that is not there (or is, for the first), and a key that
    is not the series' own.
    """
    if not request.in_series:
        if request.spec.output.pseudonym is not None:
            hint = "begin one with --start-series"
            raise UsageError(Problem("output.pseudonym: people are followed in a series of releases", hint=hint))
        yield Alone(request)
        return
    from anonymize.series.next_release import next_release

    with next_release(request) as step:
        yield step
