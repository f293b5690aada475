"""What an audit is made of: a table of unknown origin, opened, its columns found, and measured; a bucketized one,
quasi-identifiers with groups, too. What it is compared with is in the modules of this room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl

from anonymize.declared import declared, with_people
from anonymize.errors import Caution, DataError, Problem, RowsError, UsageError, refuse
from anonymize.link import linked_rows
from anonymize.meaning import Detached
from anonymize.privacy import MODELS, Requirement, diversities, requirements
from anonymize.recoding.appearance import NumberColumns
from anonymize.records import dataclass
from anonymize.report.passing import PassingText, derived, exact_columns
from anonymize.spec import Missing, Spec, resolve
from anonymize.table import kept
from anonymize.table.kept import units_of
from anonymize.table.roles import columns_in, placed, refuse_lacking, trees, unclassified
from anonymize.table.source import Source
from anonymize.verify import (
    CellTemplates,
    Check,
    Ordering,
    Verdict,
    check_of,
    checks_of,
    measure,
    measure_codes,
)
from anonymize.verify.columns import looking_alike
from anonymize.verify.kept import PassingFigures
from anonymize.verify.table import with_suppressed
from anonymize.verify.unclassed import COUNT, Reading, measure_bucketized

# --- bucketized tables ------------------------------------------------------------------------------------------------
# A bucketized table: quasi-identifiers with groups, and the sensitive values of each group, in the same table or apart.


def check_group(detached: Detached, spec: Spec) -> None:
    """Raises UsageError where the column of groups has another meaning."""
    if detached.by in (*spec.quasi_identifiers, *spec.sensitive, COUNT if detached.table else None):
        raise UsageError(f"--group: {detached.by} is not the column of groups: it is another column")


def check_groups(detached: Detached, spec: Spec) -> None:
    """Raises UsageError for what cannot be measured of groups."""
    check_group(detached, spec)
    wildcard = spec.privacy.missing == "wildcard"
    refuse(
        {
            f"the unit {spec.unit}: the groups of a bucketized table are of rows": spec.unit is not None,
            "missing as a wildcard: a group is known, whatever the quasi-identifiers match": wildcard,
        }
    )


def buckets_of(detached: Detached, spec: Spec, source: Source, stack: ExitStack) -> Buckets:
    """The ST, open as long as the stack, and the column of groups. Raises DataError for columns that are lacking."""
    st = None if detached.table is None else stack.enter_context(Source.open(spec, detached.table))
    needed = [(source, detached.by)]
    needed += [(st, each) for each in (detached.by, COUNT, *spec.sensitive)] if st else []
    known = [detached.by, COUNT, *spec.roles()]
    lacking = [
        Problem(f"has no column {each}", file=table.name, hint=columns_in(table.columns, known))
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


# --- a table ----------------------------------------------------------------------------------------------------------
# A table of unknown origin: opened, its columns found, and measured.


@dataclass(frozen=True)
class Audited:
    """An opened table that has been read once, as bytes. `columns_of`: the columns of each quasi-identifier. `units`:
    whom each row is about, None where every row is about somebody else. `warnings`: of its sampling weights.
    `buckets`: the groups by which it is measured, where it is bucketized. `declared`: the spec was given,
    and not made of options that name columns."""

    spec: Spec
    source: Source
    columns_of: Mapping[str, Sequence[str]]
    units: pl.Series | None
    warnings: Sequence[Caution]
    buckets: Buckets | None
    declared: bool

    @property
    def columns(self) -> list[str]:
        """The columns of all quasi-identifiers."""
        return [name for names in self.columns_of.values() for name in names]

    @property
    def exposed(self) -> list[str]:
        """The direct identifiers of the spec that are in the table."""
        withheld = [*self.spec.identifiers, *filter(None, [self.spec.unit])]
        return [name for name in withheld if name in self.source.columns]

    @property
    def frame(self) -> pl.LazyFrame:
        """The table, with the text of suppressed cells where they are written as nothing."""
        return with_suppressed(self.source.scan(), self.spec, self.columns)

    @property
    def missing(self) -> Missing:
        """What means missing in the table."""
        return self.spec.missing(self.source.format)

    def measured(
        self,
        checks: Sequence[Check],
        threshold: float,
        frame: pl.LazyFrame | None = None,
        columns: Sequence[str] | None = None,
        original: Source | None = None,
    ) -> Verdict:
        """The verdict on the rows as they are; or on `frame`, the same rows with other `columns` to be found by.
        `original`: the table that they were made of, in which rare values are counted."""
        if self.buckets is not None:
            normalize = self.spec.input.normalize
            reading = Reading(self.buckets.name, self.missing.texts, self.missing.null, threshold, normalize)
            return self.buckets.measured(self.source, self.columns, checks, reading)
        if not self.columns:
            rows = self.source.scan().select(pl.len()).collect(engine="streaming").item()
            return Verdict(rows, 0, (), {}, {})
        called = dict(zip(self.columns, columns or self.columns, strict=False))
        columns_of = {name: [called[column] for column in names] for name, names in self.columns_of.items()}
        ordering = None
        if frame is None:
            ordering = Ordering(self.columns_of, CellTemplates.of(self.spec), judged=self.order_kept)
        with ExitStack() as opened, _placed_in(self.source):
            verdict = measure(
                self.frame if frame is None else frame,
                self.columns if columns is None else columns,
                with_people(self.spec, with_trees(self.spec, checks, self.frame), columns_of, opened),
                self.missing.texts,
                suppressed=self.spec.output.suppressed,
                threshold=threshold,
                null_missing=self.missing.null,
                units=self.units,
                missing_as=self.spec.privacy.missing,
                numbers=NumberColumns.of(self.spec, self.source.format).names,
                ordering=ordering,
                normalize=self.spec.input.normalize,
                exact=self.exact,
            )
        if frame is not None:
            return verdict
        before = None if original is None else original.scan()
        verdict = measure_codes(verdict, self.frame, self.spec, declared(self.spec, self.columns_of, before))
        return self._passing.with_combinations(verdict)

    @property
    def exact(self) -> frozenset[str]:
        """The columns whose texts are compared as they stand."""
        return exact_columns(self.spec, self.columns_of)

    @contextmanager
    def original(self, path: str | Path | None, own: Spec | None = None) -> Iterator[Source | None]:
        """The table at `path` that this one was made of, None without a path. `own`: how it is read. Raises DataError
        where it lacks a quasi-identifier."""
        if path is None:
            yield None
            return
        with Source.open(self.spec if own is None else own, path) as source:
            refuse_lacking(self.spec.quasi_identifiers, source.columns, source.name, self.spec.quasi_identifiers)
            source.check()
            yield source

    def passing(self, original: Source | None = None) -> PassingFigures:
        """What the columns that pass through give away; without a spec, these are all that no option names. `original`:
        the table in which they are compared with the quasi-identifiers, None: they are not."""
        figures = replace(self._passing, strange=not self.declared).measured()
        if original is None:
            return figures
        refuse_lacking(figures.columns, original.columns, original.name, figures.columns)
        missing = self.spec.missing(original.format)
        derivations = derived(original.scan(), original.rows or 0, self.spec, missing, figures.columns)
        return replace(figures, derived=derivations)

    @property
    def _passing(self) -> PassingText:
        besides = () if self.buckets is None else (self.buckets.name,)
        return PassingText(self.frame, self.spec, self.columns_of, self.missing, self.units, besides)

    @property
    def order_kept(self) -> bool:
        """Whether the spec says that the rows are in the order of the table that they were made of."""
        return self.declared and self.spec.output.row_order == "keep"


@contextmanager
def _placed_in(source: Source) -> Iterator[None]:
    """Rows that the block finds to be wrong, by their line."""
    try:
        yield
    except RowsError as error:
        raise DataError([problem for _, problem in placed([("", error)], source)]) from None


def with_trees(spec: Spec, checks: Sequence[Check], frame: pl.LazyFrame) -> list[Check]:
    """The checks with the hierarchies that their distances need, of the values in a frame."""
    attributes = dict.fromkeys(check.attribute for check in checks if check.attribute and check.needs_tree)
    hierarchies = trees(spec, frame, attributes)
    return [replace(check, tree=hierarchies.get(check.attribute or "")) for check in checks]


@contextmanager
def opened(
    spec: Spec,
    path: str | Path | None,
    *,
    classified: bool,
    unit_from: Original | None = None,
    detached: Detached | None = None,
) -> Iterator[Audited]:
    """The table at `path`, checked record by record. `classified`: every column has to have a role in the spec.
    `unit_from`: the table that has the spec's unit where this one does not. `detached`: how its sensitive attributes
    are, if they are.

    Raises DataError for a table without rows, that cannot be read, lacks a column or has one without a role.
    """
    with ExitStack() as stack:
        source = stack.enter_context(Source.open(spec, path))
        buckets = None if detached is None else buckets_of(detached, spec, source, stack)
        present = source.columns if buckets is None else (*source.columns, *buckets.apart)
        besides = [*filter(None, [spec.output.pseudonym, None if buckets is None else buckets.name])]
        spec = resolve(spec, undivided(spec, [name for name in present if name not in besides]))
        spec = spec.of_types(source.numeric)
        columns_of = released_as(spec, present, source.name)
        if classified:
            _refuse_unclassified(spec, columns_of, source, besides)
        source.check_types(name for name in source.columns if name not in spec.identifiers)
        warnings = kept.check(spec, source)
        if not source.rows:
            raise DataError(Problem("has no rows", file=source.name))
        units = _units(spec, source, unit_from)
        if units is not None and spec.input.normalize:
            units = looking_alike(units)
        yield Audited(spec, source, columns_of, units, warnings, buckets, classified)


@dataclass(frozen=True)
class Original:
    """The table that a release was made of; `encoding` and `header` are its own. `link`: path of which row of it each
    released row is; without it rows are matched by position, where that is asked for or the spec keeps the input's
    order."""

    path: str | Path
    encoding: str
    header: bool
    link: str | Path | None
    by_position: bool


def _units(spec: Spec, source: Source, original: Original | None) -> pl.Series | None:
    """Whom each row is about, from the table itself or from that which it was made of.

    Raises UsageError where neither says it, or the rows cannot be matched; DataError where they do not match.
    """
    if spec.unit is None:
        if original is not None:
            raise UsageError("--unit-from: there is no unit: name its column, with unit in the spec or --unit")
        return None
    if spec.unit in source.columns:
        return units_of(source.scan(), spec.unit, spec.missing(source.format))
    if original is None:
        path = "TABLE" if spec.input.path is None else spec.input.path
        hint = f"--unit-from {path} --link LINK: the table it was made of, and the file of `--save-link` of its release"
        raise UsageError(Problem(f"the unit {spec.unit} is not in the table", hint=hint))
    positions = spec.output.row_order == "keep" or (original.by_position and spec.path is None)
    if original.link is None and not positions:
        hint = "--save-link of the release command writes it; without a spec --by-position, if they are in one order"
        raise UsageError(Problem("--unit-from: give --link, by which rows are matched", hint=hint))
    with Source.open(spec.reading(encoding=original.encoding, header=original.header), original.path) as other:
        refuse_lacking([spec.unit], other.columns, other.name)
        other.check()
        units = units_of(other.scan(), spec.unit, spec.missing(other.format))
        if original.link is not None:
            return units.gather(linked_rows(original.link, input=other.sha256, release=source.sha256))
        if other.rows != source.rows:
            message = f"has {other.rows} rows, and {source.name} has {source.rows}: rows cannot be matched by position"
            raise DataError(Problem(message, file=other.name))
        return units


def undivided(spec: Spec, present: Sequence[str]) -> list[str]:
    """The columns of a release as the spec speaks of them: one in place of NAME_low, NAME_high and NAME_missing."""
    names = dict.fromkeys(present)
    if "bounds" not in (spec.output.numeric, spec.output.categorical):
        return list(names)
    divided = [name.removesuffix("_low") for name in names]
    divided = [name for name in divided if name not in names and f"{name}_high" in names]
    parts = {f"{name}_{end}": name for name in divided for end in ("low", "high", "missing")}
    return list(dict.fromkeys(parts.get(name, name) for name in names))


def released_as(spec: Spec, present: Sequence[str], file: str) -> dict[str, list[str]]:
    """The columns in which the table shows each quasi-identifier. Raises DataError for columns that it lacks.

    A number may be shown as NAME_low and NAME_high: whatever is there of the three counts, and where no spec says that
    it is a number, the pair stands in for a column that is not there. NAME_missing counts along with the pair.
    """
    roles = spec.roles()
    columns_of: dict[str, list[str]] = {}
    for name, attribute in spec.quasi_identifiers.items():
        bounds = [column for column in (f"{name}_low", f"{name}_high") if column in present and column not in roles]
        beside = [column for column in (f"{name}_missing",) if column in present and column not in roles]
        same_name = [name] if name in present else []
        declared = attribute.type == "numeric" and spec.path is not None
        as_bounds = declared or (not same_name and len(bounds) == 2)
        columns_of[name] = [*same_name, *bounds, *(beside if len(bounds) == 2 else [])] if as_bounds else same_name
    lacking = [name for name, columns in columns_of.items() if name not in columns and len(columns) not in (2, 3)]
    lacking += [name for name in spec.sensitive if name not in present]
    if lacking:
        hint = columns_in(present, [*roles, *(column for columns in columns_of.values() for column in columns)])
        raise DataError([Problem(f"has no column {name}", file=file, hint=hint) for name in lacking])
    return columns_of


def _refuse_unclassified(
    spec: Spec, columns_of: Mapping[str, Sequence[str]], source: Source, more: Sequence[str]
) -> None:
    """Raises DataError for columns to which the spec gives no role: they may be anything."""
    named = spec.roles().keys() | {column for columns in columns_of.values() for column in columns} | set(more)
    strange = [column for column in source.columns if column not in named]
    if strange:
        raise DataError(unclassified(strange, source.name))


def checks_asked(spec: Spec, *, grouped: bool) -> tuple[tuple[Requirement, ...], list[Check]]:
    """What the spec requires, and the checks that measure it, one each; if nothing, no requirement and every check.

    `grouped`: of the groups of a bucketized table, which have no k-anonymity.
    """
    if not requires(spec):
        checks = _unjudged(spec)
        return (), [check for check in checks if check.attribute] if grouped else checks
    required = diversities(spec) if grouped else requirements(spec)
    return required, checks_of(spec, required)


def requires(spec: Spec) -> bool:
    """Whether the spec or the options require anything."""
    privacy = spec.privacy
    return privacy.k is not None or privacy.l is not None or bool(privacy.models or privacy.combinations)


def _unjudged(spec: Spec) -> list[Check]:
    """What is measured where nothing is required."""
    models = [model for model in MODELS.values() if model.by_default]
    checks = [check_of(spec, model.id, None, {}) for model in models if model.sensitive == "none"]
    for name, attribute in spec.sensitive.items():
        able = ("any", "numeric") if attribute.type == "numeric" else ("any",)
        checks += [check_of(spec, model.id, name, {}) for model in models if model.sensitive in able]
    return checks
