"""Steps on the road of a release that are the same for every family."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from anonymize import verify
from anonymize.algorithms import ALGORITHMS, Context, deadline
from anonymize.dp.ledger import Ledger
from anonymize.dp.mechanisms import ROW, Charge, sentence
from anonymize.errors import Caution, InfeasibleError, OwnNote, Problem, UnsafeError
from anonymize.families.base import Draft, Measured
from anonymize.judging import check_protected
from anonymize.meaning import Manifest, kinds
from anonymize.parallel import meanwhile, worth
from anonymize.privacy import MODELS, Requirement
from anonymize.publication import SAVE_RISK, Committing, Files
from anonymize.recoding import SearchResult
from anonymize.records import dataclass
from anonymize.report import Clock, codebook, data
from anonymize.report.passing import derived
from anonymize.report.published import Published, PublishedFile
from anonymize.request import Request
from anonymize.risk import Text, before_and_after, households, record_risks
from anonymize.spec import Spec
from anonymize.table import OutputFile, Source, Table
from anonymize.table.scratch import Room, Scratch
from anonymize.verify.kept import Derivation

MANY_ROWS = 1 << 24
"""Rows of a table up to which its columns are looked at while a release is searched: that takes memory at the same
time."""

GROUPING = (
    "no step changes the quasi-identifiers, which are released as they are: add `{method: suppress, columns: [...]}` "
    "to `treatments`, or take a command that makes classes and the same steps, such as `anonymize release`"
)
"""What makes rows read alike where the steps of a spec do not."""

Deriving: TypeAlias = Callable[[], tuple[Derivation, ...]]


def threads_at_once(request: Request, table: Table) -> int:
    """In how many threads things are made that take memory at the same time: in one where it is short."""
    return 1 if table.in_files else request.threads


def room_for(request: Request, source: Source) -> Room:
    """Where the columns of an input are held under the limit on memory. Raises UsageError where that is too low, and
    for a folder of temporary files that cannot be written to."""
    scratch = Scratch(None if request.tmp is None else Path(request.tmp))
    scratch.check()
    return Room.of(source, request.memory_limit, scratch)


@contextmanager
def stage(request: Request, clock: Clock, name: str, room: Room) -> Iterator[None]:
    """One stage of the road: timed, and reported as progress; only some stages know how long they will take. Memory
    that it has freed is given back."""
    request.progress(name, 0, 0)
    with clock(name):
        yield
        room.tidy()


def search(
    request: Request,
    table: Table,
    requirements: tuple[Requirement, ...],
    files: Mapping[str, OutputFile],
    *,
    by_parts: bool = False,
    before_draw: Callable[[Charge], None] = lambda charge: None,
) -> SearchResult:
    """What the algorithm returns; it writes the `files` that its options name. `by_parts`, `before_draw`: see
    `Context`.

    Raises DataError where the table lacks a value that is to be protected.
    """
    check_protected(table, requirements)
    searched = 0

    def progress(rows: int) -> None:
        nonlocal searched
        searched += rows
        request.progress("search", searched, table.rows)

    output = request.spec.output
    context = Context(
        suppression_limit(request.spec, table.rows),
        request.seed,
        request.threads,
        progress,
        partial(request.progress, "refine"),
        partial(request.progress, "bound"),
        files,
        request.save_recoding is not None,
        output.suppressed,
        output.suppressed_rows == "keep",
        output=output,
        by_parts=by_parts,
        spec=request.spec,
        before_draw=before_draw,
    )
    try:
        result = ALGORITHMS[request.algorithm].run(table, requirements, request.options, context)
        late = deadline.ends_early(request.options) and deadline.ended_by() == deadline.INTERRUPTED
        return result.interrupted(deadline.INTERRUPTED) if late else result
    except InfeasibleError as error:
        raise InfeasibleError([*error.problems, *_looking_alike(table, requirements)]) from None
    except KeyboardInterrupt as interruption:
        if (described := context.best_so_far.describe()) is not None:
            interruption.add_note(OwnNote(described))
        raise


def _looking_alike(table: Table, requirements: Sequence[Requirement]) -> Iterator[Problem]:
    """How many values requirements do not count, because they look like others or read as unknown."""
    diverse = {each.attribute for each in requirements if MODELS[each.model].alike}
    for column in table.sensitive:
        if column.name in diverse and column.together is not None:
            uncounted = int((column.together != np.arange(column.size)).sum())
            yield Problem(f"{column.name}: {verify.alike_counted(uncounted)}")


def suppression_limit(spec: Spec, rows: int) -> int:
    """How many of so many rows may be suppressed."""
    return int(np.floor(spec.privacy.suppression * rows + 1e-9))


def check_suppression(request: Request, rows: int, suppressed: int, other: str = "try incognito") -> None:
    """Raises InfeasibleError where more of the `rows` are suppressed than may be, whoever made them so. `other`: what
    suppresses fewer."""
    limit = suppression_limit(request.spec, rows)
    if suppressed > limit:
        share = np.ceil(suppressed / rows * 1e4) / 1e4
        message = (
            f"{request.algorithm} found no release in which at most {limit} rows are suppressed: {suppressed} read as "
            "suppressed in every quasi-identifier, or are left out"
        )
        raise InfeasibleError(Problem(message, hint=f"allow it with --suppression {share:g}, or {other}"))


def write_risks(request: Request, files: Files, table: Table, draft: Draft) -> None:
    """The risk of every row of the input, before and after, where it is asked for. The last rows of a table that has
    some of an earlier input are none of this one."""
    if SAVE_RISK not in files.private:
        return
    source, names = files.source, list(request.spec.quasi_identifiers)
    count = table.rows - len(source.earlier)
    units = None if table.units is None else pl.Series(table.units[:count])
    frame, missing = source.scan().head(count), request.spec.missing(source.format)
    risks = record_risks(Text(frame, [[name] for name in names], request.spec, missing, units), names)
    if (released := draft.text(files)) is not None:
        risks = before_and_after(risks, record_risks(released, names), draft.written.rows)
    files.private[SAVE_RISK].write_text(risks.write_csv())


def deriving(request: Request, source: Source, table: Table) -> Deriving:
    """What has the columns that pass through and follow from a quasi-identifier, as measured in the input: begun at
    once, during the search, where the table is large and still takes little memory. Of invented rows nobody asks."""
    spec = request.spec
    work = partial(derived, source.scan(), table.rows, spec, spec.missing(source.format), source.columns)
    at_once = table.rows <= MANY_ROWS and not ALGORITHMS[request.algorithm].NEEDS.domains
    return meanwhile(work, worth(threads_at_once(request, table), table.rows) if at_once else 1)


def with_derived(draft: Draft, measured: Measured, derivations: Deriving) -> Measured:
    """Adds those of them that are released, and that say more than the release does."""
    passing = measured.verdict.passing
    if passing is None or not passing.columns:
        return measured
    released = tuple(each for each in derivations() if each.column in passing.columns)
    passing = replace(passing, derived=draft.derived(released))
    return replace(measured, verdict=replace(measured.verdict, passing=passing))


def with_claim(draft: Draft, measured: Measured) -> Measured:
    """What was measured, with the differential privacy that the spec requires, if it does."""
    return replace(measured, verdict=verify.with_differential(measured.verdict, draft.request.spec, draft.drawn))


def published(request: Request, files: Files, manifest: Manifest) -> Published:
    """What is published of a request: no more than that goes into a public report. In a series nobody has two rows, so
    that its rows are individuals, whatever they are about is called."""
    spec = request.spec.model_copy(update={"unit": None}) if request.in_series else request.spec
    hidden = spec if spec.hides else None
    released = [PublishedFile(each.part, each.format, each.separator, each.sha256, hidden) for each in files.release]
    return Published(released, spec, manifest, request.algorithm, request.options)


def with_sample(draft: Draft, files: Files, measured: Measured) -> data.Blocks:
    """The blocks of a release with the risk of individuals, with a few of its rows where the report has a file, and
    where values may be shown the same rows of the original. Invented rows are the public's, and say nothing here."""
    blocks = _with_individuals(draft, files, draft.blocks(files, measured))
    request, table = draft.request, draft.table
    if not request.reports or ALGORITHMS[request.algorithm].NEEDS.domains:
        return blocks
    categorical = [each for each in table.as_read.attributes if each.domain.kind == "categorical"]
    leaves = {each.name: each.domain.leaf_text() for each in categorical}
    values, rows = request.show_values, draft.written.rows
    block, places = codebook.sample(draft.table_text(files), request.spec, leaves, values=values)
    if not block or not values or len(rows) <= max(places):
        return replace(blocks, sample=block)
    names = [*request.spec.quasi_identifiers, *block["columns"]]
    original = codebook.originals(files.source.scan(), names, [int(rows[place]) for place in places])
    return replace(blocks, sample=block | {"original": original})


def _with_individuals(draft: Draft, files: Files, blocks: data.Blocks) -> data.Blocks:
    """The blocks with the risk of individuals by all of their rows, where several may be about one."""
    risk = blocks.measured.get("risk", {})
    if draft.table.units is None or "threshold" not in risk:
        return blocks
    if (text := draft.text(files)) is None or text.units is None:
        return blocks
    household = households(text.frequency(by_row=True), text.units, risk["threshold"])
    return replace(blocks, measured={**blocks.measured, "risk": {**risk, "household": household}})


def write_manifest(files: Files, manifest: Manifest) -> None:
    """The file that says what the columns mean, where there is one: by request, or as the release needs it; that of
    channels is the family's own."""
    if not files.texts or manifest.channels:
        return
    tables = [each.name for each in files.release]
    content = manifest.content(files.table.separator, tables[1] if len(tables) > 1 else None)
    files.texts[-1].write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def check_satisfied(request: Request, verdict: verify.Verdict) -> None:
    """Raises UnsafeError, with what is not met or could not be shown, unless that is allowed."""
    if not verdict.state.fails or request.allow_unsafe:
        return
    hint = "nothing was written; --allow-unsafe writes it all the same"
    if any(each.state.fails for each in verdict.results) and _ungrouped(request):
        hint = f"{GROUPING}; {hint}"
    raise UnsafeError([Problem(message, hint=hint) for message in verdict.unmet])


def _ungrouped(request: Request) -> bool:
    """Whether nothing makes rows read alike: no classes are made, and no step that could changes them."""
    family, spec = ALGORITHMS[request.algorithm].NEEDS.family, request.spec
    return family.treats_quasi and spec.treated.keys().isdisjoint(spec.quasi_identifiers)


class Rehearsal(Exception):
    """A dry run of what is private has come to its first draw. `report`: what it would be charged."""

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__()
        self.report = report


# --- what is charged --------------------------------------------------------------------------------------------------
# What a release charges to the ledger of its people, and when: before the first draw of what is private, and else
# before anything of it takes its place.


@dataclass
class Charging:
    """The ledger of a request; `ledger` None where it has none, and nothing is charged. `drawn`: what was charged
    before the first draw."""

    request: Request
    ledger: Ledger | None
    drawn: Bill | None = None

    @classmethod
    def of(cls, request: Request) -> Charging:
        """Raises UsageError as `Ledger.opened` does."""
        if request.budget is None:
            return cls(request, None)
        return cls(request, Ledger.opened(request.budget, request.key, request.spec.budget))

    def before_draw(self, table: str, charge: Charge) -> None:
        """Charges what is private, everything that can fail having been tried. `table`: the hash of the input. Raises
        Rehearsal on a dry run, which draws nothing."""
        charge = replace(charge, what=self.request.algorithm, input=table)
        bill = self.bill(charge)
        if self.request.dry_run:
            none = "nothing was drawn, and there is no ledger that would be charged (--budget)"
            said = bill.block["budget"]["said"] if bill.block else none
            raise Rehearsal({"rehearsal": True, "warnings": [Caution(said), *bill.said], **bill.block})
        if self.ledger is not None:
            self.ledger.charge(charge)
        self.drawn = replace(bill, charging=replace(self, ledger=None))

    def beside(self, local: Mapping[str, float | None], table: str) -> Bill:
        """What a release is charged that is not differentially private. `local`: see `Charge`; `table`: the hash of the
        input. What was charged before the first draw is charged once. Raises as `Ledger.check` does."""
        if self.drawn is not None:
            return self.drawn
        return self.bill(Charge(self.request.algorithm, self.request.spec.unit or ROW, local=local, input=table))

    def bill(self, charge: Charge) -> Bill:
        """What any charge comes to for the ledger, and what is said of it."""
        if self.ledger is None:
            return Bill(self, charge)
        block = self.ledger.check(charge) | {"charged": not self.request.dry_run}
        remarks = [Caution(each) for each in block.pop("remarks")]
        block["said"] = sentence(block)
        return Bill(self, charge, {"budget": block}, [] if self.request.public else remarks)


@dataclass(frozen=True)
class Bill:
    """What a release is charged. `block`: of a private report; `said`: what it warns of."""

    charging: Charging
    charge: Charge
    block: dict[str, Any] = field(default_factory=dict)
    said: Sequence[Caution] = ()

    def committing(self, commit: Committing) -> Committing:
        """What gives outputs their places once the charge is on disk; on a dry run nothing is charged."""
        ledger, dry_run = self.charging.ledger, self.charging.request.dry_run
        return commit if ledger is None or dry_run else partial(_charged, ledger, self.charge, commit)


def _charged(ledger: Ledger, charge: Charge, commit: Committing, outputs: Sequence[OutputFile]) -> None:
    for output in outputs:
        output.sync()
    ledger.charge(charge)
    commit(outputs)


def local_epsilons(own: Mapping[str, float | None], meanings: Mapping[str, kinds.Changed]) -> dict[str, float | None]:
    """By column, the epsilon of values that are distorted one by one: by the family's `own` account, and as steps of
    `treatments` change them; None for one without bound."""
    steps = {name: each.details.get("epsilon") for name, each in meanings.items() if each.kind == "channel"}
    return {**own, **steps}
