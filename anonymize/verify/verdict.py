"""What is asked of a table, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

from anonymize.claims import Basis, State, overall
from anonymize.spec import Spec

THRESHOLD = 0.2

NOTHING_ASKED = "nothing is required of the table: its figures are measured, and no promise is made"
BLANK = "every row is suppressed in every quasi-identifier: the table tells nothing about anybody"

DIVERSITY = frozenset(
    {
        *("distinct-l-diversity", "entropy-l-diversity", "frequency-l-diversity", "recursive-cl-diversity"),
        *("p-sensitivity", "alpha-k-anonymity"),
    }
)
"""Models that count how diverse sensitive values are."""

BY_ORDER = ", by what the order of the rows tells"
"""Behind a result that is measured on the rows as their order narrows them."""

Figures = dict[str, float | int | None]
Parameters = dict[str, float | int | str | list[str] | None]
Given = Mapping[str, Any]
Tree = Mapping[str, tuple[str, ...]]
"""The labels from each leaf of a hierarchy to the root, leaf by leaf in their order; leaves of numbers are numbers."""


class Subject(NamedTuple):
    """A sensitive attribute (None: no attribute), whether its values are numbers, and whether texts that look alike
    count as one, and those that read as unknown not at all."""

    attribute: str | None
    numeric: bool = False
    alike: bool = False

    @property
    def as_they_stand(self) -> Subject:
        """The same, where each text counts by itself."""
        return self._replace(alike=False)


@dataclass(frozen=True)
class Check:
    """A privacy model to be measured. `numeric`: the values of the sensitive attribute are compared as numbers. `tree`:
    its hierarchy, where a distance needs one: of each leaf, in their order, the labels from itself to the root.

    Without `parameters` the table is measured and not judged; of the models here only recursive (c,l)-diversity cannot
    be measured without (its l).
    """

    model: str
    attribute: str | None
    parameters: Given
    numeric: bool = False
    tree: Tree | None = None
    people: Any = None
    """The population, where the model is about one: see `population.People`."""
    alike: bool = False
    """Whether the texts of the attribute are one where they look alike, if the model counts how diverse they are."""

    @property
    def subject(self) -> Subject:
        """What is counted."""
        return Subject(self.attribute, self.numeric, self.alike and self.model in DIVERSITY)

    @property
    def protects(self) -> tuple[str, ...]:
        """The sensitive values that it is restricted to; empty where it is about all."""
        values = self.parameters.get("values", ())
        return tuple(values) if isinstance(values, list | tuple) else ()

    @property
    def needs_tree(self) -> bool:
        """Whether it is about a distance that a hierarchy says; of numbers, their order does."""
        distance = self.parameters.get("distance")
        return distance == "hierarchical" or (distance == "ordered" and not self.numeric)


def _listed(figures: Parameters) -> str:
    return ", ".join(f"{name}={said(value)}" for name, value in figures.items())


def said(value: float | int | str | list[str] | None) -> str:
    """A parameter, or what is achieved of it."""
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return "none" if value is None else format(value, ".6g") if isinstance(value, float) else str(value)


def checks_of(spec: Spec, requirements: Iterable[Any]) -> list[Check]:
    """The checks that measure requirements (model, attribute, required()) of a spec, in their order, without trees."""
    return [check_of(spec, each.model, each.attribute, each.required()) for each in requirements]


def check_of(spec: Spec, model: str, attribute: str | None, parameters: Given) -> Check:
    """One check of a spec, without a tree."""
    numeric = attribute in spec.sensitive and spec.sensitive[attribute or ""].type == "numeric"
    alike = attribute is not None and not numeric and spec.normalizes(attribute)
    return Check(model, attribute, parameters, numeric, alike=alike)


@dataclass(frozen=True)
class Result:
    """A claim about a table: what is required, what is achieved over all rows, and how that is known. `unknown`: why
    it could not be shown, where its `state` is unknown."""

    model: str
    attribute: str | None
    required: Parameters
    achieved: Parameters
    state: State
    failing_classes: int
    failing_rows: int
    basis: Basis = Basis.MEASURED
    unknown: str | None = None
    alike: int = 0
    """Different values that look like another one or read as unknown, where fewer rows would fail were they counted."""

    def unshown(self, why: str) -> Result:
        """The same requirement, where it could not be shown whether it is met."""
        return replace(self, state=State.UNKNOWN, basis=Basis.UNKNOWN, unknown=why)

    @property
    def satisfied(self) -> bool | None:
        """See `State.satisfied`."""
        return self.state.satisfied

    def as_dict(self) -> dict[str, Any]:
        """As it stands in a report; without `unknown` where nothing is, and `alike` where it is 0."""
        entry = {("satisfied" if name == "state" else name): value for name, value in asdict(self).items()}
        entry |= {"satisfied": self.satisfied, "basis": str(self.basis)}
        left_out = {"unknown": None, "alike": 0}
        return {name: value for name, value in entry.items() if value != left_out.get(name, ...)}

    def __str__(self) -> str:
        about = f" of {self.attribute}" if self.attribute else ""
        if self.unknown is not None:
            return f"{self.model} ({_listed(self.required)}){about} could not be shown: {self.unknown}"
        failing = _failing(self.failing_rows, self.failing_classes)
        said = f"{self.model} ({_listed(self.required)}){about} is not met: {_listed(self.achieved)}; {failing}"
        return f"{said}; {alike_counted(self.alike)}" if self.alike else said


def alike_counted(values: int) -> str:
    """That so many values do not count by themselves, and what says that they do."""
    look = (
        "1 value, which looks like another one or reads"
        if values == 1
        else (f"{values} values, which look like others or read")
    )
    return f"not counting {look} as unknown (`normalize: exact` of the column does)"


def _failing(rows: int, classes: int) -> str:
    """How many rows fail, in how many classes."""
    if rows == 1:
        return "1 row in 1 class fails"
    return f"{rows} rows in {classes} class{'' if classes == 1 else 'es'} fail"


@dataclass(frozen=True)
class Wildcard:
    """The same once more, where a cell that is missing or suppressed matches anything: of each row, among the rows that
    are compatible with it. A second figure, which does not decide: a row that matches everybody can hide one person
    alone. `failing_classes` of a result counts what reads the same as one."""

    results: tuple[Result, ...]
    risk: Figures


@dataclass(frozen=True)
class NarrowedAttribute:
    """A quasi-identifier that the order of rows narrows: in which `direction` they are in order, `within` runs of rows
    that show the same in which column (None: all rows), the shares of its cells that say one value exactly, as shown
    and once narrowed."""

    name: str
    direction: Literal["ascending", "descending"]
    within: str | None
    exact_as_shown: float
    exact: float


@dataclass(frozen=True)
class OrderVerdict:
    """What the order of rows tells, and the table measured once more by what rows read then.

    `sorted`: rows are in the order of what they show, which tells nothing. `attributes`: those that the order narrows;
    without any, nothing was measured again. `results` count where the table is `judged` by them.
    """

    sorted: bool
    judged: bool
    attributes: tuple[NarrowedAttribute, ...] = ()
    results: tuple[Result, ...] = ()
    rows: int = 0
    singled_out: int = 0
    singled_out_as_shown: int = 0

    @property
    def cautions(self) -> list[str]:
        """What the reader has to know of it."""
        if not self.attributes:
            return []
        names = ", ".join(f"{each.name} ({each.exact:.1%} of cells exact)" for each in self.attributes)
        return [
            f"the order of the rows narrows {names}; by it {self.singled_out} of {self.rows} rows are singled out, and "
            f"{self.singled_out_as_shown} by what they show"
        ]


NAMED = 5
"""Columns that pass through that a message names at most."""
CERTAIN = 1 / 3
"""The share of the people of whom a kept column tells its value for certain, from which that is said."""

Rule = Literal["copy", "predicted", "order"]
"""Why a kept column follows from a quasi-identifier: see `anonymize.verify.derived`."""


@dataclass(frozen=True)
class RowShares:
    """Shares of the rows, from 0 to 1: by the columns that pass through, by these and the quasi-identifiers as
    released, and by these and the sensitive attributes as well. All are 0 where no column passes through."""

    alone: float = 0.0
    with_quasi_identifiers: float = 0.0
    with_sensitive: float = 0.0

    def block(self, name: str) -> dict[str, float]:
        """As a report has them."""
        return {name + (f"_{key}" if key != "alone" else ""): share for key, share in asdict(self).items()}


@dataclass(frozen=True)
class Derivation:
    """A kept `column` and what it goes with in the original: one quasi-identifier or two (`sources`). `follows`: its
    value follows from theirs; else it gives theirs away. `figure`: of a prediction its accuracy, of an order the rank
    correlation. `accepted`: the spec takes it knowingly."""

    column: str
    sources: tuple[str, ...]
    follows: bool
    rule: Rule
    figure: float | None = None
    accepted: bool = False

    def __str__(self) -> str:
        sources = " and ".join(self.sources)
        return f"{self.column} follows from {sources}" if self.follows else f"{self.column} gives {sources} away"

    def block(self) -> dict[str, Any]:
        """As it stands in a report."""
        return {"says": str(self), **asdict(self), "sources": list(self.sources)}

    @property
    def problem(self) -> str:
        """That it is not accepted, and what to do about it."""
        return (
            f"{self}, as measured in the original: it tells what the release hides. Leave it out, make it a "
            "quasi-identifier, or name it in privacy.passing.accept_derived"
        )


@dataclass(frozen=True)
class PassingResult(Result):
    """What is required of the columns that pass through, with the message that says that it is not met."""

    message: str = ""

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class PassingFigures:
    """What the columns that pass through (`columns`) give away. `uniques`: shares of the rows that are alone; `below`:
    in groups of fewer than `k`. `bounds`: what is allowed by them and the quasi-identifiers as released, of `uniques`
    and `below_k`; nothing where nothing is required. `sets`: what else a report says, the smallest sets that single
    rows out. `apart`: further columns of the file that are not bound, a pseudonym or a group. `certain`: of each
    column, the share of the people of whom the release tells its value for certain, who are in a class with one value.
    `derived`: what follows from a quasi-identifier in the original; None where that was not measured."""

    columns: tuple[str, ...]
    rows: int = 0
    uniques: RowShares = field(default_factory=RowShares)
    below: RowShares = field(default_factory=RowShares)
    k: int = 5
    bounds: Mapping[str, float] = field(default_factory=dict)
    sets: Given = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    certain: Mapping[str, float] = field(default_factory=dict)
    derived: tuple[Derivation, ...] | None = None
    derived_rows: int | None = None
    """In how many rows of the original, where these were not all."""
    weights: PassingResult | None = None
    """Whether the sampling weights are rounded, or in bands, as declared; None where nothing is."""

    @property
    def results(self) -> tuple[PassingResult, ...]:
        """What is required of them, judged: the bounds, and that no column follows from a quasi-identifier."""
        unaccepted = [each for each in self.derived or () if not each.accepted]
        derived = [
            PassingResult("derived", each.column, {}, {}, State.UNMET, 0, 0, message=each.problem)
            for each in unaccepted
        ]
        return (*([self._bounded] if self.bounds else []), *filter(None, [self.weights]), *derived)

    @property
    def _bounded(self) -> PassingResult:
        figures = {"uniques": self.uniques, "below_k": self.below}
        achieved = {name: figures[name].with_quasi_identifiers for name in self.bounds}
        failing = [name for name, most in self.bounds.items() if achieved[name] > most + 1e-12]
        rows = max((round(achieved[name] * self.rows) for name in failing), default=0)
        required = ", ".join(f"{name}={said(most)}" for name, most in self.bounds.items())
        meant = {"uniques": "alone", "below_k": f"in groups of fewer than {self.k}"}
        shares = " and ".join(f"{_percent(achieved[name])} of the rows are {meant[name]}" for name in failing)
        message = (
            f"passing ({required}) is not met: {shares} by columns that pass through ({self._named}) together with "
            "the quasi-identifiers as released: list these columns as quasi-identifiers, generalize or drop them"
        )
        return PassingResult(
            "passing", None, {**self.bounds}, {**achieved}, State.of(not failing), rows, rows, message=message
        )

    @property
    def cautions(self) -> list[str]:
        """What the reader has to know of it."""
        accepted = [f"{each}, which is accepted" for each in self.derived or () if each.accepted]
        certain = {name: share for name, share in self.certain.items() if share >= CERTAIN}
        if certain:
            named = ", ".join(f"{name} of {_percent(share)}" for name, share in certain.items())
            accepted.append(
                f"the quasi-identifiers as released tell for certain what passes through: {named} of the people"
            )
        if not self.uniques.with_quasi_identifiers:
            return accepted
        return [
            f"columns that pass through ({self._named}) single out {_percent(self.uniques.alone)} of the rows by "
            f"themselves, {_percent(self.uniques.with_quasi_identifiers)} together with the quasi-identifiers as "
            f"released; {_percent(self.below.with_quasi_identifiers)} are then in groups of fewer than {self.k}",
            *accepted,
        ]

    @property
    def _named(self) -> str:
        further = len(self.columns) - NAMED
        return ", ".join(self.columns[:NAMED]) + (f" and {further} more" if further > 0 else "")

    def block(self) -> dict[str, object]:
        """The figures as a report has them; `required` and `satisfied` where something is required."""
        figures = {**self.uniques.block("uniques"), "k": self.k, **self.below.block("below_k")}
        judged = {"required": dict(self.bounds), "satisfied": self._bounded.satisfied} if self.bounds else {}
        apart = {"apart": list(self.apart)} if self.apart else {}
        derived: dict[str, object] = {"basis": "unknown", "not_judged": list(self.columns)}
        if self.derived is not None:
            some = {} if self.derived_rows is None else {"rows": self.derived_rows}
            blocks = [each.block() for each in self.derived]
            derived = {"basis": "measured in the original", **some, "found": blocks}
        return {
            "columns": list(self.columns),
            **figures,
            **judged,
            **apart,
            "certain": dict(self.certain),
            "derived": derived,
            **self.sets,
        }


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


@dataclass(frozen=True)
class Verdict:
    """A table, measured.

    `classes` is about the classes that are not suppressed: count, min_size, mean_size, max_size (None of no classes);
    `suppressed_rows` are counted apart. `results` and `risk` are about all rows: to be suppressed is not to be safe.
    There a missing or suppressed cell is a value of its own; `wildcard` has the figures where it matches anything, if
    they were asked for. `order`: what the order of rows tells, where that was asked for. `blank`:
    every row reads as a suppressed one does; then none of them counts as suppressed. `sizes`: the classes by ranges of
    sizes, as `risk.size_ranges` counts them.
    """

    rows: int
    suppressed_rows: int
    results: tuple[Result, ...]
    classes: Figures
    risk: Figures
    wildcard: Wildcard | None = None
    blank: bool = False
    sizes: Sequence[Mapping[str, int | None]] = ()
    order: OrderVerdict | None = None
    absent: tuple[tuple[str, str], ...] = ()
    """Values that a check protects, and that the table does not have: the sensitive attribute, and the value."""
    remarks: tuple[str, ...] = ()
    """What looks like a mistake in the text, which is measured as it stands."""
    passing: PassingFigures | None = None
    """What the columns that pass through give away, where it was measured."""
    codes: tuple[Result, ...] = ()
    """What is declared of levels and codes, judged: see `codes`."""
    unjudged: tuple[str, ...] = ()
    """What is declared, and could not be asked of this table: each in a sentence that says why."""

    @property
    def state(self) -> State:
        """What everything that is required comes to."""
        return overall(each.state for each in (*self.results, *self.codes, *self.by_order, *self.by_passing))

    @property
    def satisfied(self) -> bool | None:
        """See `State.satisfied`."""
        return self.state.satisfied

    @property
    def by_order(self) -> tuple[Result, ...]:
        """The results by which the order of the rows is judged; none where it tells nothing, or is not judged."""
        return self.order.results if self.order is not None and self.order.judged else ()

    @property
    def by_passing(self) -> tuple[Result, ...]:
        """The results by which the columns that pass through are judged; none where nothing is required of them."""
        return () if self.passing is None else self.passing.results

    @property
    def unmet(self) -> list[str]:
        """What is required and is not met, or could not be shown."""
        ordered = [f"{each}{BY_ORDER}" for each in self.by_order if each.state.fails]
        passing = [str(each) for each in self.by_passing if each.state.fails]
        failing = [str(each) for each in (*self.results, *self.codes) if each.state.fails]
        return [*failing, *ordered, *passing]

    @property
    def cautions(self) -> list[str]:
        """What the reader of a verdict has to know: that nothing is required, or that the rows say nothing; what the
        order of rows tells, and what passes through."""
        unasked = [NOTHING_ASKED] if self.state is State.NOTHING_REQUIRED else []
        blank = [BLANK] if self.blank else []
        order = self.order.cautions if self.order is not None else []
        passing = self.passing.cautions if self.passing is not None else []
        return [*unasked, *blank, *order, *passing, *self.unjudged]
