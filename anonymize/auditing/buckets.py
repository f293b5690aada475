"""A bucketized table: quasi-identifiers with groups, and the sensitive values of each group, beside them or apart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from anonymize.errors import DataError, Problem, UsageError
from anonymize.names import sensitive_table_of
from anonymize.spec import Spec
from anonymize.table.roles import columns_in
from anonymize.table.source import Source
from anonymize.verify import Check, Verdict
from anonymize.verify.bucketized import COUNT, Reading, measure_bucketized


@dataclass(frozen=True)
class BucketLayout:
    """How a table is bucketized: the column of groups, and where the ST is, if the sensitive values are apart."""

    name: str
    st: str | None

    @classmethod
    def of(cls, path: str | Path | None, st: str | None, name: str | None) -> BucketLayout | None:
        """As asked for; a table called `.qit` has its ST beside it. None where there is neither an ST nor a column."""
        sensitive_table = st or (sensitive_table_of(str(path)) if path is not None else None)
        return None if name is None and sensitive_table is None else cls(name or "group", sensitive_table)

    def check(self, spec: Spec) -> None:
        """Raises UsageError for what cannot be measured of groups."""
        problems = []
        if self.name in (*spec.quasi_identifiers, *spec.sensitive, COUNT if self.st else None):
            problems.append(f"--group: {self.name} is not the column of groups: it is another column")
        if spec.unit is not None:
            problems.append(f"the unit {spec.unit}: the groups of a bucketized table are of rows")
        if spec.privacy.missing == "wildcard":
            problems.append("missing as a wildcard: a group is known, whatever the quasi-identifiers match")
        if problems:
            raise UsageError(problems)

    def opened(self, spec: Spec, source: Source, stack: ExitStack) -> Buckets:
        """With the ST open as long as the stack. Raises DataError for columns that are lacking."""
        st = None if self.st is None else stack.enter_context(Source.open(spec, self.st))
        needed = [(source, self.name), *([(st, each) for each in (self.name, COUNT, *spec.sensitive)] if st else [])]
        lacking = [
            Problem(
                f"has no column {each}",
                file=table.name,
                hint=columns_in(table.columns, [self.name, COUNT, *spec.roles()]),
            )
            for table, each in needed
            if each not in table.columns
        ]
        if lacking:
            raise DataError(lacking)
        return Buckets(self.name, st, tuple(spec.sensitive) if st else ())


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
