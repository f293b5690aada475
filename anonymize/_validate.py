"""The road of `validate`: specs alone, or one against a table; nothing is released."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from anonymize import errors, privacy
from anonymize.records import dataclass
from anonymize.spec import Spec, load

if TYPE_CHECKING:
    from anonymize.domain.taxonomy import Taxonomy
    from anonymize.table import Source, Table


@dataclass(frozen=True, repr=False)
class Validated:
    """Specs that were checked. `statements`: one for each valid one. `error`: what is wrong with the others, which may
    be raised; None where nothing is. `warnings`: what is not wrong, and may be a mistake."""

    specs: tuple[str, ...]
    statements: tuple[str, ...]
    error: errors.AnonymizeError | None
    warnings: tuple[errors.Caution, ...] = ()
    command: str = "release"
    """The command that makes a release of the first of them."""

    @property
    def problems(self) -> tuple[errors.Problem, ...]:
        """All that is wrong."""
        return () if self.error is None else self.error.problems

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return self.error is None

    def __bool__(self) -> bool:
        return self.valid

    def __repr__(self) -> str:
        lines = [*self.statements, *map(str, self.problems), *(f"warning: {each}" for each in self.warnings)]
        return f"<Validated: {'; '.join(lines)}>"


def validated(specs: Mapping[str, Callable[[], Spec]], input_path: str | None) -> Validated:
    """Every spec, by its name and how it is loaded, alone or against a table; the first kind of error that is met gives
    the exit code."""
    statements: list[str] = []
    warnings: list[errors.Caution] = []
    problems: list[errors.Problem] = []
    kinds: list[type[errors.AnonymizeError]] = []
    command = ""
    for spec, loading in specs.items():
        try:
            loaded = loading()
            statement, doubts = _against(loaded, input_path)
            command = command or _command(loaded)
            statements.append(f"{spec} is valid{statement}")
            warnings += [errors.Caution(f"{spec}: {doubt}") for doubt in doubts]
        except (
            errors.SpecError,
            errors.UsageError,
            errors.DataError,
            errors.InfeasibleError,
            errors.UnsafeError,
        ) as error:
            problems += error.problems
            kinds.append(type(error))
    return Validated(tuple(specs), tuple(statements), kinds[0](problems) if kinds else None, tuple(warnings), command)


def _commands(spec: Spec) -> list[str]:
    """What a spec is evidently for: what makes something of it, and what has a block of its own; and where something is
    required of classes in addition to differential privacy, as `compare` takes it, a release with classes."""
    first = _command(spec)
    named = {"tabulate": spec.tabulate, "synthesize": spec.synthesize}
    made = [first, *(name for name, block in named.items() if block is not None and name != first)]
    of_classes = first in DRAWN and privacy.requirements_if_any(spec)
    return [*(["release"] if of_classes else []), *made]


DRAWN = ("synthesize", "safepub")
"""What makes releases under differential privacy."""


def _command(spec: Spec) -> str:
    """What makes something of a spec."""
    if spec.tabulate is not None and not privacy.requirements_if_any(spec):
        return "tabulate"
    if spec.privacy.differential is not None and spec.tabulate is None:
        return "safepub" if spec.synthesize is None else "synthesize"
    if any(entry.model in privacy.models_about("channel") for entry in spec.privacy.models):
        return "randomize"
    generalized = spec.quasi_identifiers and not spec.quasi_identifiers.keys() & spec.treated.keys()
    return "release" if generalized else "perturb"


def validated_files(specs: tuple[str, ...], input_path: str | None) -> Validated:
    """Checks spec files, given by their paths, as `validated` does."""
    return validated({spec: partial(load, spec, privacy.PARAMETERS) for spec in specs}, input_path)


def _against(loaded: Spec, input_path: str | None) -> tuple[str, list[errors.Caution]]:
    """What to add to the statement that a spec is valid, and what to warn of. Raises what any command refuses that the
    spec is evidently for."""
    from anonymize.domain import files
    from anonymize.spec.patterns import expand, left_over_warnings
    from anonymize.spec.treated import weaker_steps

    columns = {**loaded.quasi_identifiers, **loaded.sensitive}
    files.check({name: column.hierarchy for name, column in columns.items()}, normalize=loaded.input.normalize)
    with ExitStack() as stack:
        source = None if input_path is None else stack.enter_context(_opened(loaded, input_path))
        doubts = [doubt for command in _commands(loaded) for doubt in _judged(command, loaded, source)]
        left_over = left_over_warnings(expand(loaded, () if source is None else source.columns, lenient=source is None))
        statement = (
            "" if source is None else f", and so is {source.name} ({source.rows:,} rows, {len(source.columns)} columns)"
        )
    return statement, [*left_over, *doubts, *([] if _command(loaded) == "tabulate" else weaker_steps(loaded))]


def _opened(spec: Spec, path: str) -> Source:
    """The table of a spec."""
    from anonymize.table import Source

    return Source.open(spec, path)


def _judged(command: str, spec: Spec, source: Source | None) -> list[errors.Caution]:
    """What to warn of in a spec for a command. Raises what the command refuses before it searches or draws; where the
    spec requires something of classes, what synthetic and sampled releases refuse is a warning, as `compare` leaves it
    out."""
    if command == "tabulate":
        from anonymize._tabulate import check_tables

        check_tables(spec, source)
    elif command == "randomize":
        _check_randomized(spec, source)
    elif command not in DRAWN:
        return _of_rows(command, spec, source)
    else:
        try:
            _check_drawn(command, spec, source)
        except (errors.SpecError, errors.UsageError) as error:
            if not privacy.requirements_if_any(spec):
                raise
            return [
                errors.Caution.of(f"`{command}` refuses it: {each.message}", each.hint or "") for each in error.problems
            ]
    return []


def _check_drawn(command: str, spec: Spec, source: Source | None) -> None:
    """Raises what a release under differential privacy refuses before anything is drawn."""
    from anonymize.algorithms import ALGORITHMS
    from anonymize.algorithms.safepub import drawing
    from anonymize.dp.published import hierarchical_columns
    from anonymize.dp.synthesis import DrawingPlan
    from anonymize.families import draft_of
    from anonymize.families.checks import check_request
    from anonymize.request import Request
    from anonymize.spec import resolve
    from anonymize.spec.patterns import expand, is_pattern
    from anonymize.table import read
    from anonymize.table.read import domains_of, read_public

    options = ALGORITHMS[command].Options()
    check_request(Request(spec, command, options))
    if source is None:
        spec = expand(spec, (), lenient=True)
        draft_of(command).required(spec)
        if command == "synthesize":
            domains_of(spec, [name for name in spec.roles() if not is_pattern(name)])
        return
    spec = resolve(spec, source.columns).of_types(source.numeric)
    required = draft_of(command).required(spec)
    if command == "synthesize":
        DrawingPlan.of(spec, read_public(spec, source), options.model_size)
    else:
        drawing(spec, options, required)
        hierarchical_columns(spec, read(spec, source))


def _check_randomized(spec: Spec, source: Source | None) -> None:
    """Raises what `randomize` refuses before it draws."""
    from anonymize.algorithms.randomize import Options, planned
    from anonymize.families.checks import check_request
    from anonymize.request import Request
    from anonymize.table import read

    check_request(Request(spec, "randomize", Options()))
    required = privacy.disclosures(spec)
    if source is not None:
        planned(read(spec, source, at_levels=True), required, Options())
        _refuse_derived(spec, source)


def _of_rows(command: str, spec: Spec, source: Source | None) -> list[errors.Caution]:
    """What to warn of in a spec for releases of rows. Raises what is wrong with it, or cannot be met."""
    from anonymize.domain import files
    from anonymize.domain.taxonomy import Taxonomy

    required = privacy.requirements_if_any(spec) if command == "perturb" else privacy.requirements(spec)
    if source is None:
        quasi = {name: each.hierarchy for name, each in spec.quasi_identifiers.items()}
        return twofold(
            {name: Taxonomy.of(name, files.read(each)) for name, each in quasi.items() if isinstance(each, Path)}
        )
    from anonymize.algorithms import ALGORITHMS
    from anonymize.families.checks import check_request
    from anonymize.request import Request
    from anonymize.table import read

    check_request(Request(spec, command, ALGORITHMS[command].Options()))
    table = read(spec, source, at_levels=True)
    if required or command != "perturb":
        _check_possible(spec, table)
    _check_treatments(spec, table)
    _refuse_derived(spec, source)
    labels = twofold({each.name: each.hierarchy for each in table.as_read.attributes})
    return [*labels, *_without_brackets(spec, table)]


def _check_treatments(spec: Spec, table: Table) -> None:
    """Raises what keeps a step of `treatments` from being made on the table; what it draws, or keys, is thrown away."""
    from anonymize.spec import resolve
    from anonymize.treatments.plan import treat

    treat(resolve(spec, table.columns).of_types(table.source.numeric), table, seed=0, key=bytes(32), limit=None)


def _without_brackets(spec: Spec, table: Table) -> Iterator[errors.Caution]:
    """A warning for each column whose rounded intervals the template could not show."""
    from anonymize.domain.numeric import Numeric
    from anonymize.recoding.spans import check_brackets

    for domain in [each.domain for each in table.attributes if isinstance(each.domain, Numeric)]:
        if domain.rounds and domain.bands is None and spec.output.numeric == "interval":
            try:
                check_brackets(domain, spec.output)
            except errors.SpecError as error:
                yield from (errors.Caution.of(problem.message, problem.hint or "") for problem in error.problems)


def twofold(hierarchies: Mapping[str, Taxonomy]) -> list[errors.Caution]:
    """A warning for each hierarchy, by name, in which values read as nodes do that cover several, or another one."""
    several = "{}: {} of its values read as a node over several does, and such a cell is read as the node"
    other = "{}: {} of its nodes over one value read as another value does, and such a cell is read as that value"
    return [
        errors.Caution.of(said.format(name, count), f"rename the nodes in the `hierarchy` of {name}")
        for name, hierarchy in hierarchies.items()
        for said, count in ((several, hierarchy.twofold), (other, hierarchy.borrowed))
        if count
    ]


def _refuse_derived(spec: Spec, source: Source) -> None:
    """Raises UnsafeError for columns that would pass through, and follow from a quasi-identifier or give it away."""
    from anonymize.report.passing import derived
    from anonymize.spec import resolve

    spec = resolve(spec, source.columns)
    derivations = derived(source.scan(), source.rows or 0, spec, spec.missing(source.format), source.columns)
    problems = [errors.Problem(each.problem, source.name) for each in derivations if not each.accepted]
    if problems:
        raise errors.UnsafeError(problems)


def _check_possible(spec: Spec, table: Table) -> None:
    """Raises InfeasibleError, with the nearest setting that is feasible, for what all rows together do not meet, and
    where the highest levels that are declared part the rows into too small parts."""
    from anonymize.algorithms import Context
    from anonymize.algorithms.remaining import remaining, remaining_within
    from anonymize.privacy import searched

    context = Context(int(spec.privacy.suppression * table.rows + 1e-9))
    parted = any(attribute.bounded for attribute in table.attributes)
    (remaining_within if parted else remaining)(table, searched(spec), context)
