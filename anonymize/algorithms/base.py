"""What an algorithm is: a module with a manual, an ID, options, a record of what it needs, and one function.

The values that an option accepts, and when it has an effect, are declared with its default. The command line, the
validation of a request, the warnings of a report and the docs are all made from these declarations.
"""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, fields
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from anonymize.dp.mechanisms import Charge
from anonymize.errors import Caution
from anonymize.privacy import Requirement
from anonymize.recoding import Levels, Regions, SearchResult
from anonymize.records import dataclass
from anonymize.spec import Output, Spec
from anonymize.table import OutputFile, Table

# --- what a search has so far, for whoever interrupts it --------------------------------------------------------------


@dataclass
class BestSoFar:
    """The best so far. `describe`: says it in a sentence, without any cell value; None while there is nothing."""

    describe: Callable[[], str | None] = lambda: None


def of_levels(levels: Mapping[str, int], score: str, gap: float | None) -> str:
    """The sentence for a level vector: its score, and by how much another may be better at the most."""
    named = ", ".join(f"{name} {level}" for name, level in levels.items())
    away = "not bounded" if gap is None else f"{max(gap, 0.0):.6g}"
    return f"best so far: levels {named}; {score}; gap {away}"


# --- families ---------------------------------------------------------------------------------------------------------
# What kinds of releases there are, and what can be done with each: whatever comes after an algorithm asks this record.


@dataclass(frozen=True)
class Sampling:
    """How rows were drawn: with the probability `beta`, of classes of at least `k` of those that were. `search`: the
    epsilon that the choice of levels has spent."""

    search: float
    beta: float
    k: int


Drawing: TypeAlias = Callable[[Spec, Any, Sequence[Requirement]], Sampling]
"""From the spec, the options of the algorithm, and what is required."""


@dataclass(frozen=True)
class Family:
    """A recoding model, and what can be done with its releases; what is not said cannot be done.

    `name`: in the report. `recoding`: its kind, as a public report names it; None where the manifest says it.
    `classes`: rows that read the same form equivalence classes, which lose something. `followed`: a series of releases
    can be made of it. `unmerged`: it takes models that merged classes may not keep. `identified`: the spec must name
    quasi-identifiers. `treats_quasi`, `treats_sensitive`: steps of `treatments` may change quasi-identifiers, sensitive
    attributes. `compared`: several releases can be made of one table, to choose among them. `drawing`: how its rows are
    drawn; None where none are left out at random.
    """

    name: str
    recoding: str | None = None
    classes: bool = False
    followed: bool = False
    unmerged: bool = False
    identified: bool = True
    treats_quasi: bool = False
    treats_sensitive: bool = True
    compared: bool = True
    drawing: Drawing | None = None


FULL_DOMAIN: Family = Family("full-domain", Levels.KIND, classes=True, followed=True, unmerged=True)
CELL_SUPPRESSION: Family = Family("full-domain and cell suppression", Levels.KIND, classes=True)
SINGLE_DIMENSIONAL: Family = Family("single-dimensional", "single-dimensional", classes=True)
MULTIDIMENSIONAL: Family = Family("multidimensional", Regions.KIND, classes=True, followed=True)
LOCAL: Family = Family("local", Regions.KIND, classes=True, followed=True)


# --- base -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Needs:
    """What an algorithm asks of a spec, and what it makes of one.

    `family`: what kind of release it makes. `sensitive`, `target`: the spec must name one. `uses`: the
    parts of a spec beyond roles, domains and privacy that have an effect; the report warns of the others. `guarantees`:
    what it returns meets the requirements; where it does not guarantee that, the check of the release may find it
    unsafe. `units`: it can count whom rows are about instead of rows. `populations`: it can count the people of a
    population. `reusable`: its recoding is a function of the values, which can be saved and applied to other rows,
    except with values of options that say otherwise. `random`: it draws random numbers, whatever its options are.
    `counted`: it can work on distinct rows, each of which stands for several of the input (see `Attribute.counts`),
    unless an option has it look at rows; `parted`: it can work on parts of a table, each a class of upper cuts;
    `alone`: why it can do neither, so that it takes all rows on one machine. `levels`: it chooses among the levels of
    hierarchies, and of these only from those that the spec declares; for any other, columns are coded at the least
    level before it sees them. `domains`: it sees every column that is released over its public domain, and nothing
    else.
    """

    family: Family
    sensitive: bool = False
    target: bool = False
    uses: frozenset[str] = frozenset()
    guarantees: bool = True
    units: bool = False
    populations: bool = True
    reusable: bool = True
    random: bool = False
    counted: bool = False
    parted: bool = False
    alone: str = ""
    levels: bool = False
    domains: bool = False

    @classmethod
    def of_full_domain(cls, *uses: str) -> Needs:
        """The needs of a search among level vectors: it works on distinct rows, and counts individuals where a unit
        says whom rows are about."""
        return cls(FULL_DOMAIN, uses=frozenset(uses), units=True, counted=True, levels=True)


@dataclass(frozen=True)
class Context:
    """What surrounds a search: how many rows it may give up, its seed, its threads, the callbacks for progress (further
    rows done; passes of refinement done, and of how many; the lower bound, and the cost of the best solution so far),
    the files that options name, by option, which the search writes and the release publishes, whether the recoding will
    be saved, how a suppressed cell reads, whether suppressed rows are published where that is safe, what an
    interrupted search has so far, how the release is written, whether a search that can is to work part by part, which
    takes less memory and finds the same, the spec, and what is to be called before the first draw of what is private,
    when everything that can fail has been tried."""

    suppression_limit: int = 0
    seed: int | None = None
    threads: int = 1
    progress: Callable[[int], None] = field(default=lambda rows: None)
    refining: Callable[[int, int], None] = field(default=lambda count, total: None)
    bounding: Callable[[int, int], None] = field(default=lambda bound, cost: None)
    files: Mapping[str, OutputFile] = field(default_factory=dict)
    save: bool = False
    suppressed: str = "*"
    published: bool = True
    best_so_far: BestSoFar = field(default_factory=BestSoFar)
    output: Output = field(default_factory=Output)
    by_parts: bool = False
    spec: Spec | None = None
    before_draw: Callable[[Charge], None] = field(default=lambda charge: None)


class Algorithm(Protocol):
    """The members of an algorithm's module."""

    ID: str
    """Name of its subcommand."""
    Options: Any
    """Frozen dataclass; its fields are made by `option`."""
    NEEDS: Needs

    def run(self, table: Table, requirements: tuple[Requirement, ...], options: Any, context: Context) -> SearchResult:
        """The recoding it finds, or what else is to be released. Raises InfeasibleError where no release meets the
        requirements."""


@dataclass(frozen=True)
class OptionRange:
    """The finite numbers that an option takes: from `minimum` to `maximum`, without an end that is open."""

    minimum: float | None = None
    maximum: float | None = None
    min_open: bool = False
    max_open: bool = False

    def __contains__(self, number: float) -> bool:
        low = self.minimum is None or number > self.minimum or (number == self.minimum and not self.min_open)
        high = self.maximum is None or number < self.maximum or (number == self.maximum and not self.max_open)
        return low and high and (isinstance(number, int) or math.isfinite(number))

    def __str__(self) -> str:
        if None not in (self.minimum, self.maximum) and not (self.min_open or self.max_open):
            return f"from {self.minimum:g} to {self.maximum:g}"
        low = "" if self.minimum is None else f"{'above' if self.min_open else 'at least'} {self.minimum:g}"
        high = "" if self.maximum is None else f"{'below' if self.max_open else 'at most'} {self.maximum:g}"
        return " and ".join(filter(None, (low, high)))


def option(
    default: Any,
    help: str,
    choices: tuple[str, ...] | None = None,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    only_with: Mapping[str, Collection[Any]] = MappingProxyType({}),
    workload: frozenset[Any] = frozenset(),
    local: frozenset[Any] = frozenset(),
    random: frozenset[Any] = frozenset(),
    alone: str | Mapping[Any, str] = "",
    off: str = "",
    file: bool = False,
    path: bool = False,
) -> Any:
    """A field of an Options dataclass.

    `minimum`, `maximum`, `above`: the range of a number; with `choices`, one of them or a number. `only_with`: by the
    name of another option, the values of it without which this one has no effect. `workload`: the values with which the
    algorithm looks at the table's targets and selections. `local`: those with which equal rows may be released
    differently, so that the recoding is not a function of the values. `random`: those with which the algorithm draws
    random numbers. `alone`: why it takes all rows on one machine, where it is given; of some values alone, by value.
    `off`: what a flag that is True by default is called when it is False, if that is not `no-NAME`.
    `file`: whether the value is the path of a file that is written, "" for none. `path`: whether it is a path that the
    family of releases takes.
    """
    low = minimum if above is None else above
    metadata = {
        "help": help,
        "choices": choices,
        "range": None if low is None and maximum is None else OptionRange(low, maximum, min_open=above is not None),
        "only_with": only_with,
        "workload": workload,
        "local": local,
        "random": random,
        "alone": alone,
        "off": off,
        "file": file,
        "path": path,
    }
    return field(default=default, metadata=metadata)


def flag(name: str) -> str:
    """An option as the command line has it, by the name of its field."""
    return "--" + name.replace("_", "-")


def words(options: Any) -> list[str]:
    """The options that are not at their defaults, as the words of a command line."""
    changed = [each for each in fields(options) if getattr(options, each.name) != each.default]
    given = [
        [flag_given(each)] if isinstance(each.default, bool) else [flag(each.name), str(getattr(options, each.name))]
        for each in changed
    ]
    return [word for pair in given for word in pair]


def wrong_values(options: Any) -> list[str]:
    """What is wrong with options that are not among their choices, or outside their range."""
    return [
        f"{flag(each.name)} has to be {rule}"
        for each in fields(options)
        if (rule := _broken_rule(each.metadata, getattr(options, each.name))) is not None
    ]


def _broken_rule(metadata: Mapping[str, Any], value: Any) -> str | None:
    """The rule that a value breaks; None where it is valid."""
    choices, numbers = metadata["choices"], metadata["range"]
    number = numbers is not None and not isinstance(value, str) and value in numbers
    if number or (choices is None and numbers is None) or (choices is not None and value in choices):
        return None
    named = f"one of {', '.join(choices)}" if choices is not None else ""
    return " or ".join(filter(None, (named, f"a number {numbers}" if named and numbers else str(numbers or ""))))


def without_effect(options: Any) -> Iterator[Caution]:
    """A warning for each option that is given (has another value than its default) and changes nothing."""
    by_name = {each.name: each for each in fields(options)}
    for each in by_name.values():
        if getattr(options, each.name) == each.default:
            continue
        for name, values in each.metadata["only_with"].items():
            if (value := getattr(options, name)) not in values:
                beside = _beside(flag(name), value, by_name[name].metadata)
                yield Caution.of(f"{flag_given(each)} has no effect {beside}", f"leave out `{flag_given(each)}`")


def flag_given(field: Any) -> str:
    """How an option is written whose value is not its default."""
    return flag(field.metadata["off"] or f"no_{field.name}") if field.default is True else flag(field.name)


def _beside(given: str, value: Any, metadata: Mapping[str, Any]) -> str:
    """How an option is given that leaves another one without effect."""
    if isinstance(value, bool):
        return f"with {given}" if value else f"without {given}"
    return f"with {given} {value}" if metadata["choices"] else f"with {given}"


def files_of(options: Any) -> dict[str, str]:
    """The paths of the files that options ask for, by the option's name."""
    paths = {each.name: getattr(options, each.name) for each in fields(options) if each.metadata["file"]}
    return {name: path for name, path in paths.items() if path}


def why_not_reusable(algorithm: Algorithm, options: Any) -> str | None:
    """Why a recoding of the algorithm cannot be saved with these options; None where it can."""
    if not algorithm.NEEDS.reusable:
        return f"{algorithm.ID} may release equal values differently"
    names = ", ".join(flag(name) for name in _having("local", options))
    return f"{algorithm.ID} with {names} may release equal values differently" if names else None


def to_be_reusable(options: Any) -> str:
    """What of the options, as the command line has them, makes a recoding of the algorithm one that can be saved; empty
    where nothing does."""
    local = [each for each in fields(options) if each.name in _having("local", options)]
    given = [f"give {flag_given(each)}" if each.default is True else f"leave out {flag(each.name)}" for each in local]
    return " and ".join(given)


def reads_workload(algorithm: Algorithm, options: Any) -> bool:
    """Whether the table has to be read with its targets: the algorithm needs one, or an option asks for them."""
    return algorithm.NEEDS.target or bool(_having("workload", options))


def draws(algorithm: Algorithm, options: Any) -> bool:
    """Whether the search draws random numbers, so that a seed has an effect on it."""
    return algorithm.NEEDS.random or bool(_having("random", options))


def _having(property: str, options: Any) -> list[str]:
    """The options whose current value is declared to have a property."""
    return [each.name for each in fields(options) if getattr(options, each.name) in each.metadata[property]]


# --- the registry -----------------------------------------------------------------------------------------------------
# Modules, or classes, by their IDs, each imported when it is first taken: a command runs one algorithm, and importing
# them all takes longer than many a table does.

Kind = TypeVar("Kind")


class Registry(UserDict[str, Kind]):
    """ID -> what has it, in the order in which they are given: ID -> name of a module of the `package`, `module:member`
    for what is in one, or the thing itself. All are of one kind: they have the same members."""

    def __init__(self, package: str, names: Mapping[str, str | Kind]) -> None:
        self._package = package
        super().__init__(cast("Mapping[str, Kind]", names))

    def __getitem__(self, name: str) -> Kind:
        entry = self.data[name]
        if isinstance(entry, str):
            module, _, member = entry.partition(":")
            entry = self.data[name] = resolve_name(f"{self._package}.{module}:{member}")
        return entry
