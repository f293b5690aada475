"""What `audit --series` does: a series of releases, measured again by the history of everybody in it.

**BCF-anonymity** of two releases of a growing table, by what their classes show and nothing else. Everybody of the
first release has a row in the second as well, with the same sensitive values, and the rows of the second that are of
nobody in the first are newcomers (Fung, Wang, Fu and Pei, EDBT 2008). Two classes may be about one person where what
they show can be true of one. For such a pair and each value s, let g1 and g2 rows have s:

*forward*, *cross*: of the g1 rows of the first class (forward), or the g2 of the second (cross), at most min(g1, g2)
    can be those of a person who is in both. What is left of either class is the sum over s of min(g1, g2): the two are
    one figure.
*backward*: a newcomer's class in the second release has g2 rows with s. All G1 rows with s of the classes of the first
    that may be about somebody in it are somewhere among the G2 rows with s of the classes of the second that may be
    about somebody in those. So at least G1 - (G2 - g2) of the g2 are no newcomer's.

Where people have left, or have another value, the assumption is wrong, and the figures are those of an attacker who
does not know that: he excludes rows that he should not.

state, files  ─▶ releases  their text, and whom each row is about (`retraced`)
releases      ─▶ verdict   everybody's company over time (`anonymize.verify.series`)
both          ─▶ beside    what weaker promises of the literature come to, which are not judged
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anonymize.auditing import Audited, previous, retraced, with_trees
from anonymize.claims import State, listed
from anonymize.errors import Caution
from anonymize.formats import Checked, Concluded, Finding, privacy_block, state_of
from anonymize.privacy import PARAMETERS, Requirement, requirements
from anonymize.publication import named_by, reported
from anonymize.records import dataclass
from anonymize.report.head import head, spec_path
from anonymize.series import kept, record
from anonymize.spec import Spec, override, require
from anonymize.table.files import sha256_of
from anonymize.table.named import column
from anonymize.verify import Check, checks_of, histories, series

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Correspondence:
    """What is left of the smallest class to an attacker, forward and cross being one figure; of the sensitive attribute
    of which it is least. None where no two classes may be about one person, or there are too many of them."""

    forward: int | None
    backward: int | None

    def block(self) -> dict[str, Any]:
        """Its block in a report."""
        return {"forward": self.forward, "cross": self.forward, "backward": self.backward}


def correspondence(before: Audited, now: Audited) -> Correspondence:
    """Measures two releases, the earlier one first."""
    first, second = previous.classes(before), previous.classes(now)
    if first.height * second.height > previous.MOST_PAIRS:
        return Correspondence(None, None)
    pairs = previous.compatible(now, second, first).rename({"class": "new", "previous": "old"})
    shape = (first.height, second.height)
    may_share = _matrix(pairs["old"], pairs["new"], np.ones(pairs.height), shape)
    figures = [_left(may_share, *counts) for counts in _counts(before, now, first, second)]
    measured = [each for each in figures if each is not None]
    if len(measured) < len(figures):
        return Correspondence(None, None)
    return Correspondence(min(each[0] for each in measured), min(each[1] for each in measured))


def _matrix(rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> csr_array:
    """Sparse, of entries of which each is at another place."""
    from scipy.sparse import csr_array

    return csr_array((values, (np.asarray(rows), np.asarray(columns))), shape=shape)


def _counts(
    before: Audited, now: Audited, first: pl.DataFrame, second: pl.DataFrame
) -> list[tuple[csr_array, csr_array]]:
    """(classes, values) of either release how many rows have each value, for each attribute; the rows of each class
    where there is none."""
    both = []
    for number in range(len(now.spec.sensitive)):
        mine, theirs = previous.histogram(before, number), previous.histogram(now, number)
        values = pl.concat([mine["value"], theirs["value"]]).unique()
        codes = pl.DataFrame({"value": values}).with_row_index("code")
        sized = [(mine, first.height), (theirs, second.height)]
        joined = [(each.join(codes, on="value"), height) for each, height in sized]
        both.append(tuple(_matrix(each["class"], each["code"], each["count"], (h, len(values))) for each, h in joined))
    if both:
        return both
    sizes = [(each["class"], pl.repeat(0, each.height, eager=True), each["size"]) for each in (first, second)]
    return [tuple(_matrix(rows, ones, size, (len(rows), 1)) for rows, ones, size in sizes)]


def _left(may_share: csr_array, old: csr_array, new: csr_array) -> tuple[int, int] | None:
    """What is left of the smallest class: forward, and backward; None where no two classes have a value in common. Two
    classes without one are about nobody in common, whatever they show.

    Column by column of values, so that what is reached from a class is a product of matrices of zeros and ones.
    """
    pairs = may_share.tocoo()
    common = old[pairs.row].minimum(new[pairs.col]).sum(axis=1)
    some = np.flatnonzero(common)
    if not len(some):
        return None
    may_share = _matrix(pairs.row[some], pairs.col[some], np.ones(len(some)), may_share.shape)
    cracked = np.zeros(new.shape[0])
    for value in range(old.shape[1]):
        held, mine = (each[:, [value]].toarray().ravel() for each in (old, new))
        having = np.flatnonzero(held)
        sharing = may_share[having]
        shared = sharing.T @ held[having]
        among = (sharing.T @ sharing).astype(bool).astype(float) @ mine
        cracked += np.where(shared > 0, np.clip(shared - (among - mine), 0, mine), 0)
    left = np.asarray(new.sum(axis=1)).ravel() - cracked
    return int(common[some].min()), int(left.min())


# --- audit --series ---------------------------------------------------------------------------------------------------

DIFFERS = "{}: the state has something else on record than the files say"
FOLLOWS_NOBODY = "{}: in {} rows {} is not the pseudonym of the person the row is about"
UNFOLLOWED = "{}: that {} is the pseudonym of the person a row is about could not be shown"
UNBOUNDED = "{}: of each release alone, and not bounded over time"
COMPANY = (
    "{} of {} people who left one release to the next left in company of fewer than k: that they did is not hidden"
)


@dataclass(frozen=True)
class SeriesAudit:
    """What was asked for: the spec of the releases, paths of the state and of its key. `thresholds`: of k, l and t in
    place of the spec's; `require`: further models. `reports`: paths, the kind by suffix."""

    spec: Spec
    state: str
    key: str
    thresholds: Mapping[str, Any]
    require: Sequence[str] = ()
    reports: Sequence[str] = ()
    force: bool = False


@dataclass(frozen=True)
class SeriesResult(Concluded):
    """A series, measured: the `verdict`, and whether what is required holds of everybody in every release."""

    verdict: series.SeriesVerdict


def audit_series(request: SeriesAudit) -> SeriesResult:
    """Measures a series. Raises UsageError where there is no state or no key, DataError for one that is damaged, a key
    of another series, or a release that is there and cannot be read."""
    inputs = [request.state, request.key, *named_by(request.spec)]
    with ExitStack() as stack:
        audited = partial(_audited, request, stack)
        return reported(audited, request.reports, force=request.force, inputs=inputs)


def _audited(request: SeriesAudit, stack: ExitStack) -> SeriesResult:
    state = retraced.opened_state(request.state)
    key = retraced.key_of(request.key, request.state)
    spec = override(require(request.spec, request.require, PARAMETERS), **request.thresholds)
    kept.refuse_differential(spec)
    releases = retraced.SeriesFiles(spec, state, key.secrets, Path(request.state).parent).releases(stack)
    if request.thresholds.get("k") is None:
        # of no release a larger k is asked than it was made for: it may have been raised since
        pairs = zip(releases, state.releases, strict=True)
        releases = [replace(each, people=replace(each.people, k=made.k)) for each, made in pairs]
    required = requirements(spec)
    checks, deferred = _checks(spec, required, releases), state.departures == record.DEFERRED
    verdict = series.measure_series([each.people for each in releases], checks, deferred=deferred)
    facts = _Facts(request, spec, required, releases, verdict)
    checked = Checked(facts.report(), facts.findings, verdict=facts.sentence)
    return SeriesResult(facts.state, checked, verdict)


def _checks(spec: Spec, required: Sequence[Requirement], releases: Sequence[retraced.RetracedRelease]) -> list[Check]:
    """The checks, with hierarchies from the values of all releases that were found."""
    checks = checks_of(spec, required)
    scans = [each.file.source.scan() for each in releases if each.file is not None]
    if not scans:
        return list(checks)
    names = dict.fromkeys(check.attribute for check in checks if check.attribute)
    texts = [scan.select(column(name).cast(pl.String) for name in names) for scan in scans]
    return with_trees(spec, checks, pl.concat(texts))


@dataclass(frozen=True)
class _Facts:
    request: SeriesAudit
    spec: Spec
    required: Sequence[Requirement]
    releases: Sequence[retraced.RetracedRelease]
    verdict: series.SeriesVerdict

    @property
    def state(self) -> State:
        errors = [each for each in self.findings if each.level == "error"]
        return state_of(errors, required=bool(self.verdict.results))

    @property
    def sentence(self) -> str:
        """What there is to say where nothing is wrong."""
        count = len(self.releases)
        return (
            f"every requirement is met of everybody's history in {count} releases"
            if self.verdict.results
            else (f"{count} releases measured; nothing was required")
        )

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """For each model what holds of all releases, or one for each release of which it does not."""
        models = range(len(self.verdict.releases[0].results))
        findings = [finding for place in models for finding in self._of_model(place)]
        findings += [
            Finding("series-record", "series-record", DIFFERS.format(each.people.name), "error")
            for each in self.releases
            if each.matches is False
        ]
        findings += [finding for each in self.releases for finding in _of_pseudonyms(each)]
        return (*findings, *(Finding("warning", "warning", text, "warning") for text in self.warnings))

    def _of_model(self, place: int) -> Iterator[Finding]:
        """What a model comes to: that of the release of which it is weakest, or each one of which it fails."""
        pairs = []
        for release in self.verdict.releases:  # those who are in it, and those who are not any more
            results = [release.results[place], *(release.departed or ())[place : place + 1]]
            pairs += [(release, each) for each in results]
        unmet = [(release, each) for release, each in pairs if each.result.state is State.UNMET]
        unshown = [(release, each) for release, each in pairs if each.result.state is State.UNKNOWN]
        result = pairs[0][1].result
        about = f" of {result.attribute}" if result.attribute else ""
        title = f"{result.model} ({listed(result.required)}){about}, over time"
        about_same = (
            each for each in self.required if (each.model, each.attribute) == (result.model, result.attribute)
        )
        line = next((each.line for each in about_same), None)
        file = None if line is None else str(self.spec.path)
        for release, each in unmet:
            gone = all(each is not other for other in release.results)
            message = _failing(title, release, each, "who are not in it any more " if gone else "")
            yield Finding(result.model, title, message, "error", file, line)
        if unshown:
            message = f"{title}, could not be shown of {_count(unshown)} releases: {unshown[0][1].result.unknown}"
            yield Finding(result.model, title, message, "error", file, line, known=False)
        if not unmet and not unshown:
            yield Finding(result.model, title, f"{title}, is met in {_count(pairs)} releases", "pass", file, line)

    @cached_property
    def warnings(self) -> list[Caution]:
        """What the reader has to know in addition to the verdict."""
        left = [each.left for each in self.verdict.releases if each.left is not None]
        few = sum(each.in_small_company or 0 for each in left)
        company = COMPANY.format(few, sum(each.people for each in left))
        departed = [Caution.of(company, "`series: {departures: deferred}` shows them until k have left")] if few else []
        alone = "k, l and their kind are bounded over time: require one of these in addition (docs/over-time.md)"
        unbounded = [Caution.of(UNBOUNDED.format(model), alone) for model in self.verdict.unbounded]
        return [*retraced.lacking(list(self.releases)), *unbounded, *departed]

    def report(self) -> dict[str, Any]:
        """The report; no value of a cell and no pseudonym is in it."""
        problems = [each.message for each in self.findings if each.level == "error" and each.known]
        last = self.verdict.releases[-1]
        state = {"path": self.request.state, "sha256": sha256_of(self.request.state), "rows": last.people}
        return {
            **head(),
            "spec": spec_path(self.spec),
            "input": state | {"columns": len(self.spec.quasi_identifiers) + len(self.spec.sensitive)},
            "privacy": privacy_block(self.findings, self.state) | {"models": []},
            "series": {"verified": self._verified(), "beside": self._beside()},
            "warnings": [*problems, *self.warnings],
        }

    def _verified(self) -> dict[str, Any]:
        """The verdict, with how each release was read."""
        block = self.verdict.block()
        for release, each in zip(block["releases"], self.releases, strict=True):
            release |= {"origin": each.people.origin, "lacking": list(each.lacking), "matches_state": each.matches}
            release |= {} if each.followed is None else {"pseudonym": each.followed.block()}
        return block

    def _beside(self) -> dict[str, Any]:
        """What the papers' weaker promises come to: BCF-anonymity of each release and the one before it from the files
        alone, and m-invariance of every sensitive attribute."""
        people = [each.people for each in self.releases]
        pairs = zip(self.releases, self.releases[1:], strict=False)
        bcf = [
            {"release": now.people.name, "after": before.people.name}
            | ({} if now.file is None or before.file is None else correspondence(before.file, now.file).block())
            for before, now in pairs
        ]
        invariant = [histories.invariance(people, name).block() for name in self.spec.sensitive]
        return {"bcf_anonymity": bcf, "m_invariance": invariant}


def _of_pseudonyms(release: retraced.RetracedRelease) -> Iterator[Finding]:
    """That the rows of a release do not say whom they are about, or not that they do."""
    column, name, rule = release.followed, release.people.name, "series-pseudonym"
    if column is not None and column.wrong:
        yield Finding(rule, rule, FOLLOWS_NOBODY.format(name, column.wrong, column.column), "error")
    elif column is not None and column.wrong is None:
        yield Finding(rule, rule, UNFOLLOWED.format(name, column.column), "error", known=False)


def _count(pairs: Sequence[tuple[series.MeasuredRelease, series.ValuesResult]]) -> int:
    return len({id(release) for release, _ in pairs})


def _failing(title: str, release: series.MeasuredRelease, each: series.ValuesResult, whom: str) -> str:
    """That a model is not met, where, and for how many."""
    result = each.result
    values = "" if each.values_of in (None, release.name) else f", by the values of {each.values_of}"
    reached = f"{listed(result.achieved)}; " if result.achieved else ""
    return (
        f"{title}, is not met in {release.name}{values}: {reached}{result.failing_rows} people {whom}in "
        f"{result.failing_classes} histories fail"
    )
