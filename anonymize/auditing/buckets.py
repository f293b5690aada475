"""A bucketized table: quasi-identifiers with groups, and the sensitive values of each group, beside them or apart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from anonymize.errors import DataError, Problem, UsageError
from anonymize.meaning import Detached
from anonymize.spec import Spec
from anonymize.table.roles import columns_in
from anonymize.table.source import Source
from anonymize.verify import Check, Verdict
from anonymize.verify.bucketized import COUNT, Reading, measure_bucketized


def check_group(detached: Detached, spec: Spec) -> None:
    """Raises UsageError where the column of groups has another meaning."""
    if detached.by in (*spec.quasi_identifiers, *spec.sensitive, COUNT if detached.table else None):
        raise UsageError(f"--group: {detached.by} is not the column of groups: it is another column")


def check_groups(detached: Detached, spec: Spec) -> None:
    """Raises UsageError for what cannot be measured of groups."""
    check_group(detached, spec)
    problems = []
    if spec.unit is not None:
        problems.append(f"the unit {spec.unit}: the groups of a bucketized table are of rows")
    if spec.privacy.missing == "wildcard":
        problems.append("missing as a wildcard: a group is known, whatever the quasi-identifiers match")
    if problems:
        raise UsageError(problems)


def buckets_of(detached: Detached, spec: Spec, source: Source, stack: ExitStack) -> Buckets:
    """The ST, open as long as the stack, and the column of groups. Raises DataError for columns that are lacking."""
    st = None if detached.table is None else stack.enter_context(Source.open(spec, detached.table))
    needed = [(source, detached.by)]
    needed += [(st, each) for each in (detached.by, COUNT, *spec.sensitive)] if st else []
    lacking = [
        Problem(
            f"has no column {each}",
            file=table.name,
            hint=columns_in(table.columns, [detached.by, COUNT, *spec.roles()]),
        )
        for table, each in needed
        if each not in table.columns
    ]
    if lacking:
        raise DataError(lacking)
    return Buckets(detached.by, st, tuple(spec.sensitive) if st else ())


@dataclass(frozen=True)
class Buckets:
    """An opened ST, and the column of groups. `apart`: the sensitive attributes that are in the ST alone."""

    name: str
    st: Source | None
    apart: tuple[str, ...]

    def measured(
        self,
        source: Source,
        quasi_identifiers: Sequence[str],
        checks: Sequence[Check],
        reading: Reading,
    ) -> Verdict:
        """The verdict on the groups, once the ST has been found sound."""
        if self.st is not None:
            self.st.check()
        values = None if self.st is None else self.st.scan()
        return measure_bucketized(source.scan(), values, quasi_identifiers, checks, reading)
