"""From an opened input to a table: one reading, from which the columns that count come out as codes.

Quasi-identifiers and sensitive attributes are encoded, and so are columns of few texts that pass through. Of the others
that do, only a sample of hashes is kept, to warn of columns that would identify individuals by themselves. Identifiers
are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import polars as pl

from anonymize.domain import Domain, files, generalization, public
from anonymize.domain.levels import check_level, fenced
from anonymize.domain.levels import coded as coded_at_level
from anonymize.domain.numeric import Numeric
from anonymize.errors import Caution, DataError, Problem, RowsError, SpecError, ValuesError
from anonymize.records import dataclass
from anonymize.spec.columns import WITHHELD, Definition, Kind
from anonymize.spec.model import Spec
from anonymize.spec.override import resolve
from anonymize.spec.patterns import left_over_warnings
from anonymize.table import kept, model, named, population
from anonymize.table.columns import Attribute, SensitiveColumn, warnings_of, zone_warnings
from anonymize.table.encode import DistinctValues, Field, NumberColumn, TextColumn
from anonymize.table.kept import (
    KeptColumn,
    KeptTexts,
    UniquenessSample,
    UnitColumn,
    WeightColumn,
    unique_warnings,
    with_few_texts,
)
from anonymize.table.model import Table
from anonymize.table.roles import (
    by_rows,
    check_columns,
    check_numbers,
    check_types,
    not_numbers,
    placed,
    recoded,
    rows_of_codes,
)
from anonymize.table.scratch import Arrays, Room
from anonymize.table.source import Source

Taker = model.Encoder | UniquenessSample | KeptTexts | WeightColumn
Made = TypeVar("Made")


def read(
    spec: Spec, source: Source, *, workload: bool = False, room: Room | None = None, at_levels: bool = False
) -> Table:
    """Reads an input once, and encodes its quasi-identifiers and sensitive attributes; with `workload`, its targets
    and selections too. `room`: what there is for its codes; None: memory, of which there has to be enough. `at_levels`:
    columns of which the spec declares a least level are coded at it.

    Raises DataError, with all problems of the first of these kinds that occurs: a column without a role or a role
    without a column; a column of a type that cannot be used; a record that is not sound; no rows; a value that is not
    a number. What the domains raise for values outside a hierarchy passes through.
    """
    spec = resolve(spec, source.columns)
    check_columns(spec, source)
    kinds = spec.targets() if workload else {}
    arrays: Arrays = np.empty if room is None else room.arrays
    encoders = _Encoders.of(spec, source, kinds, arrays)
    _stream(source, encoders.all, fits=room is not None)
    check_numbers(source, encoders.coded)
    for column in encoders.weights:
        column.check(source)
    attributes = all_made(
        spec.quasi_identifiers, lambda name: _attribute(spec, name, encoders.coded[name], arrays, at_levels), source
    )
    selected = model.resolve_selections(spec, attributes) if workload else ()
    paths = dict.fromkeys(str(path) for path in population.populations_of(spec))
    sensitive = all_made(spec.sensitive, lambda name: model.sensitive_column(spec, name, encoders.coded[name]), source)
    targets = model.targets_of(spec, kinds, attributes, encoders.coded)
    shown_weights, changes = _coded_weights(spec, encoders.coded_weights)
    return Table(
        rows=source.rows or 0,
        attributes=attributes,
        sensitive=sensitive,
        columns=source.columns,
        source=source,
        warnings=(
            *encoders.warnings(spec),
            *_constant_warnings(attributes),
            *model.check(spec, attributes),
            *model.warnings(selected),
        ),
        weights=spec.weights,
        targets=targets,
        selections=selected,
        units=next((column.encode(source) for column in encoders.units), None),
        populations={path: population.read_population(spec, path, attributes) for path in paths},
        largest_k=spec.largest_k,
        kept={each.name: each.column() for each in encoders.passing if isinstance(each, KeptTexts)} | shown_weights,
        weights_shown=changes,
        in_files=room is not None and room.in_files,
    )


@dataclass(frozen=True)
class _Encoders:
    """What takes the batches of one reading, by what it makes of a column."""

    coded: dict[str, model.Encoder]
    passing: list[UniquenessSample | KeptTexts]
    weights: list[WeightColumn]
    units: list[UnitColumn]
    coded_weights: list[NumberColumn]

    def warnings(self, spec: Spec) -> Iterator[Caution]:
        """What there is to say of single columns, once they have been read."""
        yield from left_over_warnings(spec)
        yield from _combination_warnings(spec)
        yield from unique_warnings(self.passing)
        yield from _text_warnings(spec, self.coded)
        yield from (warning for column in self.units for warning in column.warnings)
        yield from (warning for column in self.weights for warning in column.warnings)

    @classmethod
    def of(cls, spec: Spec, source: Source, targets: Mapping[str, Kind], arrays: Arrays) -> _Encoders:
        """The encoders of the columns of an input. Raises DataError for columns of a type that cannot be used."""
        others = {name: Definition(type=kind) for name, kind in targets.items() if name not in spec.quasi_identifiers}
        definitions: dict[str, Definition] = {**spec.quasi_identifiers, **spec.sensitive, **others}
        fields = {name: _field(spec, source, name) for name in source.columns}
        released = [fields[name] for name, role in spec.roles().items() if role not in WITHHELD]
        check_types(source, definitions, released)
        keys = {name: str(number) for number, name in enumerate(source.columns)}
        coding = spec.weight_coding
        changed = {*spec.treated, *([] if coding is None else [coding.column])}
        passing = [name for name in passed_through(spec, source) if name not in changed]
        few = with_few_texts(source, passing)
        return cls(
            {name: _encoder(definition, fields[name], keys[name], arrays) for name, definition in definitions.items()},
            [
                KeptTexts(fields[name], f"{keys[name]}#", arrays)
                if name in few
                else UniquenessSample(fields[name], f"{keys[name]}#")
                for name in passing
            ],
            [WeightColumn(fields[name], keys[name]) for name in fields if name == spec.weight_column],
            [UnitColumn(fields[name], keys[name]) for name in fields if name == spec.unit],
            [] if coding is None else [NumberColumn(fields[coding.column], f"{keys[coding.column]} shown", arrays)],
        )

    @property
    def all(self) -> list[Taker]:
        """Every one of them."""
        return [*self.coded.values(), *self.passing, *self.weights, *self.units, *self.coded_weights]


def _coded_weights(spec: Spec, encoders: Sequence[NumberColumn]) -> tuple[dict[str, KeptColumn], dict[str, object]]:
    """The sampling weights as they are released, and what that does to them; nothing where they pass untouched."""
    coding = spec.weight_coding
    if coding is None:
        return {}, {}
    column, figures = kept.coded(spec, coding, DistinctValues.of(encoders[0]))
    return {coding.column: column}, {"column": coding.column, **figures}


def read_columns(spec: Spec, source: Source) -> dict[str, DistinctValues]:
    """Reads an input once; the quasi-identifiers of the spec, by name, as their distinct values.

    For an input of which every column has a role. Raises DataError as `read` does for types, records, rows and numbers.
    """
    names = list(spec.quasi_identifiers)
    fields = {name: _field(spec, source, name) for name in source.columns if name not in spec.identifiers}
    source.check_types(fields)
    check_types(source, dict(spec.quasi_identifiers), list(fields.values()))
    encoders = {name: _encoder(spec.quasi_identifiers[name], fields[name], str(key)) for key, name in enumerate(names)}
    _stream(source, list(encoders.values()))
    check_numbers(source, encoders)
    return {name: DistinctValues.of(encoder) for name, encoder in encoders.items()}


def read_public(spec: Spec, source: Source, room: Room | None = None) -> Table:
    """Reads an input once, and codes every column that is released over its public domain.

    Raises SpecError for columns without one, and DataError as `read` does, and for values outside: how many of each
    column. Nothing of a domain is learned from the input.
    """
    spec = resolve(spec, source.columns)
    check_columns(spec, source)
    domains = domains_of(spec, source.columns)
    kinds = {name: Definition(type="numeric" if each.numeric else "categorical") for name, each in domains.items()}
    fields = {name: _field(spec, source, name) for name in source.columns}
    check_types(source, kinds, [fields[name] for name in domains])
    encoders = {name: _encoder(kinds[name], fields[name], str(key)) for key, name in enumerate(domains)}
    units = [UnitColumn(fields[name], "unit") for name in fields if name == spec.unit]
    _stream(source, [*encoders.values(), *units], fits=room is not None)
    check_numbers(source, encoders)
    columns = all_made(domains, lambda name: _over(domains[name], DistinctValues.of(encoders[name])), source)
    return Table(
        rows=source.rows or 0,
        attributes=(),
        sensitive=(),
        columns=source.columns,
        source=source,
        warnings=tuple(left_over_warnings(spec)),
        units=next((column.encode(source) for column in units), None),
        public=columns,
    )


def domains_of(spec: Spec, columns: Iterable[str]) -> dict[str, public.PublicDomain]:
    """The public domains of all columns that are released, in their order. Raises SpecError for those without."""
    roles = spec.roles()
    domains: dict[str, public.PublicDomain] = {}
    problems: list[Problem] = []
    for name in columns:
        if roles[name] not in WITHHELD:
            try:
                domains[name] = public.public_domain(spec, name)
            except SpecError as error:
                problems += error.problems
    if problems:
        raise SpecError(problems)
    return domains


def _over(domain: public.PublicDomain, values: DistinctValues) -> model.PublicColumn:
    """A column over its domain. Raises RowsError for values outside."""
    leaf = domain.codes(values.values)
    broken = public.fractions(values.values)
    if values.missing is not None:
        leaf = np.append(leaf, domain.size - 1 if domain.missing else -1)
        broken = np.append(broken, False)
    codes = leaf.astype(np.int32)[values.codes]
    domain.check(codes, broken[values.codes])
    return model.PublicColumn(domain, codes.astype(np.min_scalar_type(domain.size)))


def encode_frame(spec: Spec, frame: pl.DataFrame) -> dict[str, DistinctValues]:
    """The distinct values of each column of a table in memory; a null is missing. Raises DataError for values
    that are not numbers."""
    columns = {name: frame[name] for name in spec.quasi_identifiers}
    return {name: DistinctValues.of(each) for name, each in _filled(spec, spec.quasi_identifiers, columns).items()}


def code_distinct(
    spec: Spec, values: Mapping[str, pl.Series], *, at_levels: bool
) -> tuple[tuple[Attribute, ...], tuple[SensitiveColumn, ...]]:
    """Columns of which the different values (n,) are known, whose codes are theirs. `at_levels`: see `read`. Raises
    DataError as `read` does."""
    encoders = _filled(spec, {**spec.quasi_identifiers, **spec.sensitive}, values)
    attributes = all_made(
        spec.quasi_identifiers, lambda name: _attribute(spec, name, encoders[name], np.empty, at_levels)
    )
    return attributes, all_made(spec.sensitive, lambda name: model.sensitive_column(spec, name, encoders[name]))


def _filled(
    spec: Spec, definitions: Mapping[str, Definition], values: Mapping[str, pl.Series]
) -> dict[str, model.Encoder]:
    """The encoders of columns in memory, which have taken all rows."""
    columns: dict[str, model.Encoder] = {}
    wrong: list[Problem] = []
    for name, definition in definitions.items():
        field = Field(name, values[name].dtype, spec.missing("arrow", name), spec.notation(name))
        encoder = _encoder(definition, field, "value")
        encoder.add(values[name].to_frame(name).select(encoder.expressions))
        if isinstance(encoder, NumberColumn) and encoder.bad.count:
            wrong += not_numbers(name, encoder.wrong).problems
        columns[name] = encoder
    if wrong:
        raise DataError(wrong)
    return columns


def passed_through(spec: Spec, source: Source) -> list[str]:
    """The columns that a release shows as they are and that are not sensitive, in the input's order."""
    roles = spec.roles()
    return [name for name in source.columns if roles[name] in ("insensitive", "sampling-weight", "target")]


def _field(spec: Spec, source: Source, name: str) -> Field:
    return Field(name, source.schema[name], spec.missing(source.format, name), spec.notation(name))


def _encoder(definition: Definition, field: Field, key: str, arrays: Arrays = np.empty) -> model.Encoder:
    return (NumberColumn if definition.type == "numeric" else TextColumn)(field, key, arrays)


def _stream(source: Source, encoders: Sequence[Taker], *, fits: bool = False) -> None:
    expressions = [expression for encoder in encoders for expression in encoder.expressions]
    for batch in source.examine(expressions, fits=fits):
        for encoder in encoders:
            encoder.add(batch)
    if not source.rows:
        raise DataError(Problem("no rows: there is only a header", file=source.name))


# --- what comes out --------------------------------------------------------------------------------------------------


def all_made(names: Iterable[str], make: Callable[[str], Made], source: Source | None = None) -> tuple[Made, ...]:
    """What is made of all columns, or the problems of all of them, with lines of the `source` where there is one."""
    made: list[Made] = []
    errors: list[tuple[str, DataError]] = []
    for name in names:
        try:
            made.append(make(name))
        except RowsError as error:
            errors.append((name, error if source is not None else cast(ValuesError, error.__cause__)))
        except DataError as error:
            errors.append((name, error))
    if errors:
        whole = [(name, problem) for name, error in errors for problem in error.problems]
        raise DataError(named.grouped(whole if source is None else placed(errors, source)))
    return tuple(made)


def _combination_warnings(spec: Spec) -> Iterator[Caution]:
    if spec.privacy.combinations:
        k = max(each.k for each in spec.privacy.combinations)
        said = f"privacy.combinations: classes by all quasi-identifiers are made of k = {k}, which meets each of them"
        yield Caution.of(said, f"`privacy: {{k: {k}}}` guarantees what the release achieves")


def _attribute(spec: Spec, name: str, encoder: model.Encoder, arrays: Arrays, at_levels: bool) -> Attribute:
    definition = spec.quasi_identifiers[name]
    generalize: Callable[[], generalization.Generalization] | None = None
    written: dict[str, str] = {}
    domain: Domain
    if isinstance(encoder, NumberColumn):
        domain, codes = model.coded_numbers(spec, name, definition, encoder, arrays)
        with by_rows(partial(rows_of_codes, codes)):
            generalize = model.hierarchy_of(spec, definition, domain)
    else:
        written = encoder.most_frequent()
        if spec.normalizes(name) and isinstance(definition.hierarchy, Path):
            labels, present = files.labels_written(definition.hierarchy), frozenset(encoder.distinct()[0])
            written |= {label: text for label, text in labels.items() if label not in present}
        domain, codes = model.coded_taxonomy(spec, name, definition, encoder)
    attribute = Attribute(
        name,
        codes,
        domain,
        definition.weight,
        generalize,
        rules=tuple(rule.named(spec.missing("arrow", name).compared) for rule in definition.rules),
        identifying=definition.identifying,
        categorize=model.categories_of(definition, spec.output.interval),
        research_value=definition.research_value,
        range=definition.range,
        lowest=definition.least_level,
        highest=None if definition.levels is None else definition.levels.max,
        written=written,
    )
    if definition.levels is not None:
        check_level(attribute.generalization, definition)
    root_alone = definition.hierarchy is None and not definition.least_level  # which is made when somebody asks for it
    coded = coded_at_level(attribute.generalization, definition, spec.output) if at_levels and not root_alone else None
    if coded is None and at_levels and spec.output.edges == "rounded" and isinstance(domain, Numeric):
        return replace(attribute, domain=fenced(attribute.generalization, definition))
    if coded is None:
        return attribute
    over, place = coded
    codes = recoded(codes, place, over.domain.size, arrays)
    return replace(attribute, codes=codes, domain=over.domain, generalize=lambda: over, declared=attribute)


def _text_warnings(spec: Spec, encoders: Mapping[str, model.Encoder]) -> Iterator[Caution]:
    for name, column in encoders.items():
        if not isinstance(column, TextColumn):
            continue
        texts, _ = column.distinct()
        if name not in spec.sensitive or spec.normalizes(name):
            yield from warnings_of(name, texts, counted=name in spec.sensitive)
        definition = spec.quasi_identifiers.get(name) or spec.sensitive.get(name)
        if definition is not None:
            yield from zone_warnings(name, definition.hierarchy, texts)


def _constant_warnings(attributes: tuple[Attribute, ...]) -> Iterator[Caution]:
    for attribute in attributes:
        if attribute.codes.min() == attribute.codes.max():
            said = f"quasi-identifier {attribute.name!r} has the same value in every row"
            yield Caution.of(said, f"`identifiers: [{attribute.name}]` leaves it out, if it is not needed")
