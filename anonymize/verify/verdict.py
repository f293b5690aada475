"""What is asked of a table, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from anonymize.claims import Result, State, overall
from anonymize.errors import Caution
from anonymize.records import dataclass
from anonymize.spec import POINT, Notation, Spec
from anonymize.verify.kept import PassingFigures

THRESHOLD = 0.2

NOTHING_ASKED = Caution.of(
    "nothing is required of the table: its figures are measured, but nothing is guaranteed",
    "require something, such as `privacy: {k: 5}` in the spec, or `-k 5`",
)
BLANK = Caution.of(
    "every row is suppressed in every quasi-identifier: they contain no information",
    "a smaller k, fewer quasi-identifiers, or levels in `hierarchy` leave more of them",
)

L_DIVERSITY = ("distinct-l-diversity", "entropy-l-diversity", "frequency-l-diversity", "recursive-cl-diversity")
DIVERSITY = frozenset((*L_DIVERSITY, "p-sensitivity", "alpha-k-anonymity"))
"""Models that count how diverse sensitive values are."""

BY_ORDER = ", given what the order of the rows discloses"
"""Behind a result that is measured on the rows as their order narrows them."""

Figures = dict[str, float | int | None]
Given = Mapping[str, Any]
Tree = Mapping[str, tuple[str, ...]]
"""The labels from each leaf of a hierarchy to the root, leaf by leaf in their order; leaves of numbers are numbers."""


class Subject(NamedTuple):
    """A sensitive attribute (None: no attribute), whether its values are numbers, whether texts that look alike count
    as one, and those that read as unknown not at all, how numbers are written, and whether a missing value is a value
    like any other."""

    attribute: str | None
    numeric: bool = False
    alike: bool = False
    notation: Notation = POINT
    with_missing: bool = False

    @property
    def as_they_stand(self) -> Subject:
        """The subject, with each text counted by itself."""
        return self._replace(alike=False)


COMBINATION = "k-anonymity of a combination"
"""What a report calls that of some of the quasi-identifiers."""
WEAKER = Caution.of(
    "k-anonymity is promised of combinations of quasi-identifiers, and not of all of them together: "
    "an attacker who knows more columns than a combination has may single people out",
    "`privacy: {k: 5}` in addition to the combinations guarantees it for all",
)


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
    domains: Any = None
    """Where the model weighs what classes keep, the values that each quasi-identifier may have: see
    `population.kept`."""
    alike: bool = False
    """Whether the texts of the attribute are one where they look alike, if the model counts how diverse they are."""
    notation: Notation = POINT
    """How the numbers of the attribute are written."""
    with_missing: bool = False
    """Whether a missing value is a value like any other."""

    @property
    def subject(self) -> Subject:
        alike = self.alike and self.model in DIVERSITY
        return Subject(self.attribute, self.numeric, alike, self.notation, self.with_missing)

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


def checks_of(spec: Spec, requirements: Iterable[Any]) -> list[Check]:
    """The checks that measure requirements (model, attribute, required()) of a spec, in their order, without trees."""
    return [check_of(spec, each.model, each.attribute, each.required()) for each in requirements]


def check_of(spec: Spec, model: str, attribute: str | None, parameters: Given) -> Check:
    """One check of a spec, without a tree."""
    numeric = attribute in spec.sensitive and spec.sensitive[attribute or ""].type == "numeric"
    alike = attribute is not None and not numeric and spec.normalizes(attribute)
    notation = spec.notation(attribute) if attribute is not None else POINT
    with_missing = attribute is not None and spec.counts_missing(attribute)
    return Check(model, attribute, parameters, numeric, alike=alike, notation=notation, with_missing=with_missing)


@dataclass(frozen=True)
class Wildcard:
    """The figures where a cell that is missing or suppressed matches anything: of each row, among the rows that
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
    def cautions(self) -> list[Caution]:
        """What the reader has to know of it."""
        if not self.attributes:
            return []
        names = ", ".join(f"{each.name} ({each.exact:.1%} of cells exact)" for each in self.attributes)
        said = (
            f"the order of the rows narrows {names}; by it {self.singled_out} of {self.rows} rows are singled out, and "
            f"{self.singled_out_as_shown} by what they show"
        )
        return [Caution.of(said, "`output: {row_order: sorted}`")]


@dataclass(frozen=True)
class Verdict:
    """A table, measured.

    `classes` is about the classes that are not suppressed: count, min_size, mean_size, max_size (None of no classes);
    `suppressed_rows` are counted apart. It is empty, as `risk` is, of a table in which nothing spans values. `results`
    and `risk` are about all rows: to be suppressed is not to be safe. There a missing or suppressed cell is a value of
    its own; `wildcard` has the figures where it matches anything, if they were asked for. `order`: what the order of
    rows tells, where that was asked for. `blank`: every row reads as a suppressed one does; then none of them counts as
    suppressed. `sizes`: the classes by ranges of sizes, as `risk.size_ranges` counts them.
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
    remarks: tuple[Caution, ...] = ()
    """What looks like a mistake in the text, which is measured as it stands."""
    passing: PassingFigures | None = None
    """What the columns that pass through give away, where it was measured."""
    individuals: bool = False
    """Whether `classes`, `sizes` and `risk` count individuals whom several rows may be about, and not rows."""
    codes: tuple[Result, ...] = ()
    """What is declared of levels and codes, judged: see `codes`."""
    unjudged: tuple[Caution, ...] = ()
    """What is declared, and could not be asked of this table: each in a sentence that says why."""

    @property
    def state(self) -> State:
        """What everything that is required comes to."""
        return overall(each.state for each in (*self.results, *self.codes, *self.by_order, *self.by_passing))

    @property
    def satisfied(self) -> bool | None:
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
    def cautions(self) -> list[Caution]:
        """What the reader of a verdict has to know: that nothing is required, or that the rows say nothing; what the
        order of rows tells, and what passes through."""
        unasked = [NOTHING_ASKED] if self.state is State.NOTHING_REQUIRED else []
        combined = any(each.model == COMBINATION for each in self.codes)
        if combined and not any(each.model == "k-anonymity" for each in self.results):
            unasked.append(WEAKER)
        blank = [BLANK] if self.blank else []
        order = self.order.cautions if self.order is not None else []
        passing = self.passing.cautions if self.passing is not None else []
        return [*unasked, *blank, *order, *passing, *self.unjudged]
