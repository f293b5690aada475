"""One release of a series, from the lock on its state to the moment when state and release appear together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anonymize import files as temporary
from anonymize import key
from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.base import Algorithm
from anonymize.errors import Problem, UnsafeError, UsageError
from anonymize.families.base import Draft
from anonymize.files import FRAME
from anonymize.journal import Journal, locked
from anonymize.link import Link
from anonymize.places import is_uri
from anonymize.privacy import Requirement
from anonymize.publication import Files
from anonymize.recoding import SearchResult
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.series import guarantee, keeping, kept, people, state
from anonymize.series.kept import cells_of, continued, next_rows
from anonymize.series.record import DEFERRED, Attendance, nothing_yet, told_by_values
from anonymize.series.search import Run, SeriesClasses, SeriesSearch
from anonymize.series.state import SeriesRelease, SeriesState, TableFile, chain_of, without_last
from anonymize.spec import resolve
from anonymize.table import OutputFile, Source, Table, commit, roles, write
from anonymize.table.files import sha256_of
from anonymize.verify import histories, text_of

LEVELS = "full-domain"


@contextmanager
def next_release(request: Request) -> Iterator[NextRelease]:
    """The release of a request, as long as the block; see `anonymize.series`."""
    path = Path(request.start_series or request.after or "")
    _check(request)
    with locked(path) as journal, ExitStack() as stack:
        before, series_key = _continuing(request, path)
        if before is None and path.exists() and not request.force:
            raise UsageError(write.STATE_EXISTS.format(path))
        output = stack.enter_context(OutputFile(path, force=before is not None or request.force, private=True))
        stack.callback(journal.end)
        yield NextRelease(_continued(request, before), journal, series_key, before, output, stack)


def _continuing(request: Request, path: Path) -> tuple[SeriesState | None, key.Key]:
    """The state that is continued, None at the first release, and the key of the series."""
    if request.after is None:
        return None, key.load(str(request.key))
    before, series_key = state.load_sealed(path, str(request.key))
    keeping.check_last(before, path)
    return before, series_key


def _continued(request: Request, before: SeriesState | None) -> Request:
    """The request with the edges of the series where its spec names none."""
    output = request.spec.output
    edges = output.edges if before is None else before.fixed["output"].get("edges", output.edges)
    if "edges" in output.model_fields_set or edges == output.edges:
        return request
    output = output.model_copy(update={"edges": edges})
    return replace(request, spec=request.spec.model_copy(update={"output": output}))


def _check(request: Request) -> None:
    """Raises UsageError for what no release of a series can be."""
    wrong = {
        "--start-series and --after exclude each other": request.start_series and request.after,
        "a series needs --key, a file of `anonymize key make`": request.key is None,
        "-o: a release of a series is a file, so that it appears together with the state": request.output == "-"
        or is_uri(request.output),
        "--allow-unsafe: what is not safe once is not safe for the rest of a series": request.allow_unsafe,
    }
    problems = [message for message, holds in wrong.items() if holds]
    if problems:
        raise UsageError(problems)
    algorithm = ALGORITHMS[request.algorithm]
    if not algorithm.NEEDS.family.followed:
        able = ", ".join(name for name, each in ALGORITHMS.items() if each.NEEDS.family.followed)
        message = f"{request.algorithm}: a series needs classes that are regions, or levels of whole hierarchies"
        raise UsageError(Problem(message, hint=f"these can: {able}"))
    if request.save_recoding is not None and not _by_levels(algorithm):
        able = ", ".join(name for name, each in ALGORITHMS.items() if _by_levels(each))
        what = f"in a series {request.algorithm} shows regions of people who stay together"
        message = f"--save-recoding: {what}, which no function of the values makes"
        raise UsageError(Problem(message, hint=f"leave it out, or take one that shows levels: {able}"))
    kept.check_possible(request.spec)


def _by_levels(algorithm: Algorithm) -> bool:
    """Whether its classes in a series are levels of whole hierarchies."""
    return algorithm.NEEDS.family.followed and algorithm.NEEDS.levels


@dataclass
class NextRelease:
    """One release of a series. `before`: the state as it is, None at the first. The rest comes about on the way.

    `base`: the state that is continued, which is without its last release where the same is made `again`; `made`: the
    one that is published. `k`, `reserve`: what classes of newcomers are made for, together. `intent`: hash of what was
    asked for. `unbounded`: models that the promise over time leaves out. `kept`: the rows of people who are not in the
    input any more, where departures are deferred; they are behind its own. `date`: when it began. `link`: the one that
    is kept next to the state, where none is written elsewhere. `stack`: what ends with it.
    """

    request: Request
    journal: Journal
    key: key.Key
    before: SeriesState | None
    output: OutputFile
    stack: ExitStack
    base: SeriesState = field(init=False)
    person: pl.Series = field(init=False)
    departed: pl.DataFrame | None = field(init=False, default=None)
    again: SeriesRelease | None = field(init=False, default=None)
    current: people.CurrentPeople = field(init=False)
    classes: SeriesClasses = field(init=False)
    k: int = field(init=False)
    reserve: int = field(init=False)
    intent: str = field(init=False)
    unbounded: list[str] = field(init=False)
    counts: dict[str, int] = field(init=False)
    verdict: dict[str, Any] = field(init=False)
    made: SeriesState = field(init=False)
    date: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    link: OutputFile | None = field(init=False, default=None)

    def begin(self, files: Files) -> Files:
        self.journal.begin([self.output, *files.all])
        if self.request.spec.series.departures != DEFERRED:
            return files
        return replace(files, source=self._with_departed(files.source))

    def _with_departed(self, source: Source) -> Source:
        """The input with those behind it who were in the last release and are not in it."""
        spec = resolve(self.request.spec, source.columns).of_types(source.numeric)
        roles.check_columns(spec, source)
        source.check()
        self._settle_what_is_asked(replace(self.request, spec=spec), source)
        present = people.pseudonyms(spec, source, self.base.person, self.key)
        rows = self.base.rows
        departed = None if rows is None else rows.filter(~pl.col("person").is_in(present.implode()))
        if departed is None or not departed.height:
            self.person = present
            return source
        self.departed, self.person = departed, present.append(departed["person"])
        inputs = [release.input.sha256 for release in self.base.releases]
        return self.stack.enter_context(continued(source, self.base.person, departed, inputs))

    def search(self, request: Request, table: Table, requirements: tuple[Requirement, ...], run: Run) -> SearchResult:
        """Classes of histories, and of newcomers as the algorithm has them."""
        guarantee.check_kept(requirements)
        self.unbounded = [str(each) for each in guarantee.about_table(requirements)]
        if request.spec.series.departures != DEFERRED:
            self._settle_what_is_asked(request, table.source)
            self.person = people.pseudonyms(request.spec, table.source, self.base.person, self.key)
        earlier = self.base if self.base.releases else None
        self.current = people.CurrentPeople.of(
            self.person, earlier, 0 if self.departed is None else self.departed.height
        )
        people.check_known(self.current, earlier, request.spec.series.known, table.source.name)
        self.reserve = guarantee.reserve_of(
            request.spec.series.reserve, earlier, self.k, deferred=request.spec.series.departures == DEFERRED
        )
        # Newcomers wait for so many releases after one that took some in.
        wait = request.spec.series.wait
        recent = earlier.releases[-wait:] if earlier is not None and wait else ()
        waiting = any(release.people["newcomers"] for release in recent)
        search = SeriesSearch(request, table, requirements, earlier, self.current, self.k, self.reserve, waiting)
        self.classes = search.classes(run)
        return self.classes.recoding

    def _settle_what_is_asked(self, request: Request, source: Source) -> None:
        """What is continued. Raises SpecError and UsageError for a spec that does not go with it."""
        spec, before = request.spec, self.before
        assert spec.largest_k is not None
        self.k = spec.largest_k
        names = people.naming(spec)
        now = kept.fixed_part(spec, by_levels=_by_levels(ALGORITHMS[request.algorithm]))
        self.intent = kept.fingerprint_of(request, now)
        fresh = nothing_yet(self.key.fingerprint, names, spec.series.departures, list(spec.sensitive))
        if spec.output.pseudonym is not None:
            fresh = replace(fresh, series=hashlib.sha256(f"{source.sha256} {self.intent}".encode()).hexdigest())
        if before is None:
            self.base = replace(fresh, fixed=now)
            return
        if before.person != names:
            raise UsageError("series.person: not what it was at earlier releases of the series")
        kept.check_unchanged(before.fixed, now)
        inputs = [release.input.sha256 for release in before.releases]
        if source.sha256 in inputs[:-1] and source.sha256 != inputs[-1]:
            message = f"is the input of release {inputs.index(source.sha256) + 1} of the series, and not a later one"
            raise UsageError(Problem(message, source.name, hint="`anonymize series show` lists the releases"))
        last = before.releases[-1]
        if (last.input.sha256, last.spec) != (source.sha256, self.intent):
            self.base = replace(before, fixed=now)
            return
        self.again = last
        if len(before.releases) == 1:
            self.base = replace(fresh, fixed=now, series=before.series)
            return
        self.base = without_last(before)
        if before.rows is not None and self.base.rows is None:
            message = "the input is that of the last release, which cannot be made again after `series undo`"
            raise UsageError(Problem(message, hint="the people of the release before are not on record any more"))

    def linked(self, link: Link) -> Link:
        """The link, noted in the series' record of links; a dry run leaves none."""
        if self.request.dry_run:
            return link
        hashes = link.release.sha256, link.input.sha256
        again = self.again
        chain = again.chain if again else chain_of(self.base.last_chain, self.counter, *hashes, self.date)
        first = self.before.chains[0] if self.before is not None else chain
        link = replace(link, series=asdict(keeping.StateRecord(first, self.counter, chain)))
        if self.request.save_link is None:
            path = keeping.kept_link(self.journal.state, len(self.base.releases) + 1)
            self.link = self.stack.enter_context(OutputFile(path, force=True, private=True))
            self.link.write_text(link.text(path.name))
        return link

    @property
    def counter(self) -> int:
        """The counter of the state with this release."""
        if self.again is not None:
            return self.again.counter
        return 1 if self.before is None else self.before.counter + 1

    def named(self, table: Table) -> Table:
        name = self.request.spec.output.pseudonym
        if name is None:
            return table
        if any(name in (each, *(f"{each}_{end}" for end in ("low", "high", "missing"))) for each in table.columns):
            raise UsageError(Problem(f"output.pseudonym: {name} is a column of the table", table.source.name))
        texts = self.key.published(self.person.to_list(), self.base.series)
        return replace(table, pseudonym=pl.Series(name, texts, dtype=pl.String))

    def check(self, draft: Draft, files: Files) -> None:
        """What is on record of the people of every released row, against the text of the release.

        Raises UnsafeError where the promise is not kept, and UsageError where the same input makes another release.
        """
        self._check_name(files)
        presence = Attendance(self.current, draft.class_of)
        self.counts = presence.counts(self.base if self.base.releases else None, self.k)
        base = self.base if self.base.releases else replace(self.base, edges=self.classes.edges)
        self.made = self._with_rows(presence.next_state(base, draft.table, self._release(draft, files)), draft)
        self.verdict = self._measured(draft, files, presence)
        if self.verdict["satisfied"] is not True:
            message = "over time the release is not safe: people of one history are too few, or too alike"
            raise UnsafeError(Problem(message, hint="this is probably a bug; nothing was written"))
        if self.again is not None and self.again.sha256 != self.made.releases[-1].sha256:
            message = "the input is that of the last release, which cannot be made again as it was"
            hint = "with row_order: shuffle it takes the same --seed; `anonymize series undo` takes the last one back"
            raise UsageError(Problem(message, str(self.output.name), hint=hint))

    def _check_name(self, files: Files) -> None:
        """Raises UsageError where the release would take the place of an earlier one, as it was published."""
        own = os.path.realpath(self.request.output)
        for number, release in enumerate(self.base.releases, 1):
            taken = os.path.realpath(release.path) == own and os.path.isfile(own)
            if taken and sha256_of(own) == release.sha256 != files.table.sha256:
                message = f"{self.request.output}: is release {number} of the series as it was published"
                raise UsageError(Problem(message, hint="give each release a name of its own"))

    def _with_rows(self, state: SeriesState, draft: Draft) -> SeriesState:
        """The state with people as they were last, where departures are deferred, and the count that follows."""
        if state.departures != DEFERRED:
            return state
        cells = cells_of(draft.request.spec, draft.table.source)
        released = np.asarray(draft.class_of >= 0)
        rows = next_rows(cells, self.person, released, len(self.base.releases), self.departed)
        state = replace(state, rows=rows, rows_before=self.base.rows)
        self.counts |= {"told_by_values": told_by_values(state, self.k)} if self.base.releases else {}
        return replace(state, releases=(*state.releases[:-1], replace(state.releases[-1], people=self.counts)))

    def _release(self, draft: Draft, files: Files) -> SeriesRelease:
        request, table = self.request, draft.table
        link = request.save_link if self.link is None else self.link.name
        name = FRAME if temporary.is_own(table.source.name) else table.source.name
        source = TableFile(name, table.source.sha256, table.rows - self.current.departed)
        return SeriesRelease(
            path=os.path.abspath(request.output),
            sha256=files.table.sha256,
            rows=len(draft.written.rows),
            input=source,
            link=None if link is None else os.path.abspath(link),
            date=self.date,
            algorithm=request.algorithm,
            options=asdict(request.options),
            spec=self.intent,
            k=self.k,
            reserve=self.reserve,
            levels=self.classes.levels,
            people=self.counts,
            counter=self.counter,
        ).chained(self.base.last_chain)

    def _measured(self, draft: Draft, files: Files, presence: Attendance) -> dict[str, Any]:
        """The block of a measurement by code that shares nothing with the search."""
        spec, target = draft.request.spec, files.table
        on_record, everybody = presence.on_record(self.base, draft.written.rows)
        return histories.measure_next(
            on_record,
            text_of(target.part, target.format, target.separator).collect(),
            [name for names in draft.columns.values() for name in names],
            list(self.base.values),
            draft.checks(),
            everybody,
            absent=presence.absent(self.base) if self.base.departures == DEFERRED else None,
            names=[Path(release.path).name for release in self.base.releases],
            missing=spec.input.missing,
            null_missing=spec.missing(target.format).null,
            suppressed=spec.output.suppressed,
            normalize=spec.input.normalize,
        ).block()

    def block(self) -> dict[str, Any]:
        """The block `series` of the report."""
        return {
            "series": {
                "number": len(self.made.releases),
                "again": self.again is not None,
                "k": self.k,
                "reserve": self.reserve,
                "departures": self.base.departures,
                "people": self.counts,
                "not_bounded": self.unbounded,
                "verified": self.verdict,
            }
        }

    def commit(self, outputs: Sequence[OutputFile]) -> None:
        """State and release together; where the same release is made again, the state stays as it is."""
        outputs = [*([] if self.link is None else [self.link]), *outputs]
        if self.request.dry_run:
            commit(outputs)
        elif self.again is not None:
            self.journal.commit(outputs)
        else:
            made = replace(self.made, counter=self.counter)
            self.output.write_bytes(made.as_bytes(self.key))
            self.journal.commit([*outputs, self.output])
            self.journal.record("series", asdict(keeping.StateRecord.of(made)))
