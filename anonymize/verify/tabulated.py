"""Tables of counts, sums and means as they were written, counted again from the input and attacked.

Whoever reads them knows what is not blank, that totals are sums, and that counts are not below 0; so the least and the
most that a blank group can be are two linear programs. They are made here of the written labels alone. scipy's solver
is asked, which takes lists: what is independent of the search is what is asked, and not how it is solved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import fsum, inf
from types import MappingProxyType
from typing import Any

from anonymize.claims import Basis, Parameters, Result, State
from anonymize.records import dataclass
from anonymize.spec.tabulation import SuppressionRules, sums_called
from anonymize.verify import differential, perturbed
from anonymize.verify.recount import NOBODY, Counted, Group, Paths, Recount, TableAudit, WrittenTable, children

CLOSE = 1e-6
"""What a value may be off by, as a share of it."""
ADDED = 1e-11
"""What adding up numbers may be off by, as a share of their sum without signs."""
SOLVED = 1e4
"""What the values of a system are scaled to."""


@dataclass
class Measure:
    """Everything that is said of one measure by all tables: `truth` and whether it is blank, by group; `counts`: it is
    one of individuals or rows; `zeros`: a count of 0 is published; `column`: whose numbers are summed, or who has one
    is counted. `groupings`: what its tables group by."""

    name: str
    counts: bool
    zeros: bool = True
    column: str | None = None
    truth: dict[Group, Counted] = field(default_factory=dict)
    blank: set[Group] = field(default_factory=set)
    groupings: list[tuple[str, ...]] = field(default_factory=list)
    wrong: int = 0

    @cached_property
    def signed(self) -> bool:
        """Whether anybody contributes less than 0."""
        return any(each.signed for each in self.truth.values())

    def least(self, group: Group) -> float | None:
        """What everybody knows that a blank group is at least: that somebody is in it, where it would read 0 else."""
        if self.signed:
            return None
        return min(self.truth[group].value, 1.0) if self.counts and self.zeros else 0.0

    def know(self, other: Measure, by: tuple[str, ...], truth: Mapping[Group, Counted]) -> None:
        """A table of another count, by which this one may be known as well, where that is not blank."""
        self.groupings.append(by)
        for group in other.truth:
            if group not in self.truth and {name for name, _ in group} <= set(by):
                self.truth[group] = truth.get(group, NOBODY)
                if group in other.blank:
                    self.blank.add(group)

    def add(
        self,
        by: tuple[str, ...],
        truth: Mapping[Group, Counted],
        rows: Mapping[Group, float | None],
        slack: Mapping[Group, float] = MappingProxyType({}),
    ) -> None:
        """A table that says the values of `rows`, each as near as the `slack` that rounding leaves, or leaves them
        blank."""
        self.groupings.append(by)
        for group, value in rows.items():
            known = truth.get(group, NOBODY)
            self.truth[group] = known
            if value is None:
                self.blank.add(group)
            elif abs(value - known.value) > CLOSE * max(1.0, abs(known.value)) + slack.get(group, 0.0):
                self.wrong += 1


def measures(recount: Recount, tables: Sequence[WrittenTable], several: int) -> list[Measure]:
    """What the tables say of rows, of sums, and of those who have a number where there are means of them: whoever has
    the mean and the one has the other."""
    made: dict[tuple[str, str | None], Measure] = {}
    zeros = recount.tabulate.rules.zeros == "publish"
    for table in tables:
        slack: dict[Group, float] = {}
        column, by, rows = table.measured.column, table.measured.by, table.rows(recount)
        truth = recount.groups(by, column, several)
        if table.measured.measure == "share":
            whole = truth.get(frozenset(), NOBODY).value
            rows = {group: None if value is None else value * whole for group, value in rows.items()}
            slack = dict.fromkeys(rows, whole * table.half_digit(recount))
        if table.measured.measure == "mean":
            having = made.setdefault(("having", column), Measure(f"those with {column}", True, zeros, column))
            people = recount.groups(by, column, several, having=True)
            sizes = {group: people.get(group, NOBODY).value for group in rows}
            empty = {group for group in table.empty(recount) if not sizes[group]}
            blank = {group for group, value in rows.items() if value is None} - empty
            having.add(by, people, {group: None if group in blank else size for group, size in sizes.items()})
            half = table.half_digit(recount)
            rows = {group: None if group in blank else (rows[group] or 0.0) * size for group, size in sizes.items()}
            slack = {group: size * half for group, size in sizes.items()}
        name = "rows" if column is None else sums_called(column)
        made.setdefault(("sum", column), Measure(name, column is None, zeros, column)).add(by, truth, rows, slack)
    if recount.units is None or recount.tabulate.counted == "rows":
        _link(recount, [each for each in made.values() if each.counts], several)
    return list(made.values())


def _link(recount: Recount, counts: Sequence[Measure], several: int) -> None:
    """All that is counted says something of every other count: who has a number is at most who there is."""
    own = [list(each.groupings) for each in counts]
    for measure in counts:
        for other, groupings in zip(counts, own, strict=True):
            for by in groupings:
                if by not in measure.groupings:
                    truth = recount.groups(by, measure.column, several, having=measure.column is not None)
                    measure.know(other, by, truth)


# --- what is unsafe ---------------------------------------------------------------------------------------------------


def needed(rules: SuppressionRules, minimum: int, unit: float, counted: Counted, *, counts: bool) -> float | None:
    """How far above its value an attacker must be unable to exclude a group, None where it is safe. `unit`: the last
    digit of the numbers."""
    wanted = []
    few = 0 < counted.individuals < minimum
    if few:
        wanted.append(minimum - counted.individuals if counts else max(rules.range / 100 * abs(counted.value), unit))
    if counts and rules.zeros == "suppress" and not counted.individuals:
        wanted.append(minimum)
    first, second = (*counted.largest, 0.0, 0.0)[:2]
    if rules.p is not None:
        wanted.append(rules.p / 100 * first - (counted.whole - first - second))
    if rules.dominance is not None:
        wanted.append(100 / rules.dominance.k * sum(counted.largest[: rules.dominance.n]) - counted.whole)
    lacking = [each for each in wanted if each > CLOSE * max(unit, counted.whole) * 1e-2]
    return max(lacking) if lacking else None


# --- what an attacker can tell ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class System:
    """The equations between the blank groups of a measure."""

    measure: Measure
    paths: Paths
    total: str

    @cached_property
    def below(self) -> dict[str, dict[str, list[str]]]:
        """By column and label, the labels right below it."""
        return {name: children(paths.values()) for name, paths in self.paths.items()}

    @cached_property
    def equations(self) -> list[tuple[dict[Group, float], float]]:
        """Sums over blank groups, with what they come to by what is published."""
        made = []
        for group, parts in self._sums:
            terms: dict[Group, float] = {}
            known = 0.0
            for sign, each in ((1.0, group), *((-1.0, part) for part in parts)):
                if each in self.measure.blank:
                    terms[each] = sign
                else:
                    known -= sign * self.measure.truth[each].value
            if terms:
                made.append((terms, known))
        return made

    @cached_property
    def uneven(self) -> int:
        """How many totals are no sums of their parts."""
        truth, uneven = self.measure.truth, 0
        for group, parts in self._sums:
            total, values = truth[group].value, [truth[part].value for part in parts]
            uneven += abs(total - fsum(values)) > CLOSE + ADDED * fsum(map(abs, values))
        return uneven

    @cached_property
    def _sums(self) -> list[tuple[Group, list[Group]]]:
        """Every total with what it is the sum of: the groups with the labels right below its own in a column."""
        truth = self.measure.truth
        made: dict[frozenset[Group], tuple[Group, list[Group]]] = {}
        for by in self.measure.groupings:
            for group in truth:
                for name in by if {name for name, _ in group} <= set(by) else ():
                    label = dict(group).get(name, self.total)
                    rest = group - {(name, label)}
                    parts = [rest | {(name, each)} for each in self.below[name].get(label, ())]
                    if parts and all(part in truth for part in parts):
                        made[frozenset([group, *parts])] = (group, parts)
        return list(made.values())

    @cached_property
    def least(self) -> dict[Group, float | None]:
        """What everybody knows that each blank group is at least; a total is no less than that of its parts."""
        known = {group: self.measure.least(group) for group in self.measure.truth}
        raised = self.measure.counts
        while raised:
            raised = False
            for group, parts in self._sums:
                together = sum(known[part] or 0.0 for part in parts)
                if together > (known[group] or 0.0):
                    known[group], raised = together, True
        return known

    @cached_property
    def components(self) -> dict[Group, Component]:
        """By blank group the part of the system that says anything of it."""
        root = {group: group for group in self.measure.blank}

        def top(group: Group) -> Group:
            while root[group] != group:
                root[group] = root[root[group]]
                group = root[group]
            return group

        for terms, _ in self.equations:
            first, *others = terms
            for each in others:
                root[top(each)] = top(first)
        made: dict[Group, Component] = defaultdict(lambda: Component([], [], []))
        for group in sorted(self.measure.blank, key=sorted):
            made[top(group)].groups.append(group)
            made[top(group)].low.append(self.least[group])
        for equation in self.equations:
            made[top(next(iter(equation[0])))].equations.append(equation)
        return {group: made[top(group)] for group in self.measure.blank}

    def siblings(self, group: Group) -> set[Group]:
        """The blank groups that are parts of a total which a group is part of as well."""
        shared = (terms for terms, _ in self.equations if terms.get(group, 0.0) < 0)
        return {each for terms in shared for each, sign in terms.items() if sign < 0} - {group}


@dataclass(frozen=True)
class Component:
    """Blank groups that say something of each other. `low`: by group the least that it can be, None where there is
    none."""

    groups: list[Group]
    equations: list[tuple[dict[Group, float], float]]
    low: list[float | None]

    @cached_property
    def place(self) -> dict[Group, int]:
        """Which variable each group is."""
        return {group: number for number, group in enumerate(self.groups)}

    def interval(self, group: Group, known: Mapping[Group, float] = {}) -> tuple[float, float]:
        """The least and the most that a group can be, for somebody who knows others."""
        from scipy.optimize import linprog
        from scipy.sparse import coo_array

        if not self.equations:
            low = self.low[self.place[group]]
            return (-inf if low is None else low), inf
        largest = max([1.0, *(abs(value) for _, value in self.equations)]) / SOLVED
        every = ((row, terms) for row, (terms, _) in enumerate(self.equations))
        entries = [(row, self.place[each], sign) for row, terms in every for each, sign in terms.items()]
        rows, columns, signs = zip(*entries, strict=True)
        matrix = coo_array((signs, (rows, columns)), shape=(len(self.equations), len(self.groups))).tocsr()
        bounds: list[tuple[float | None, float | None]]
        bounds = [(None if low is None else low / largest, None) for low in self.low]
        for each, value in known.items():
            bounds[self.place[each]] = (value / largest, value / largest)
        wanted, ends = [value / largest for _, value in self.equations], []
        for sign in (1.0, -1.0):
            objective = [0.0] * len(self.groups)
            objective[self.place[group]] = sign
            result = linprog(objective, A_eq=matrix, b_eq=wanted, bounds=bounds, method="highs")
            ends.append(sign * result.fun * largest if result.status == 0 else -sign * inf)
        return ends[0], ends[1]


# --- the verdict ------------------------------------------------------------------------------------------------------


def audit(recount: Recount, tables: Sequence[WrittenTable], manifest: Mapping[str, Any]) -> TableAudit:
    """Attacks the written tables, by what protects them. `manifest`: what is published along with them."""
    made = _AUDITS[recount.tabulate.mechanism](recount, tables, manifest)
    return made if recount.tabulate.mechanism == "dp" else perturbed.undrawn(made, recount, differential.UNDRAWN)


def _suppressed(recount: Recount, tables: Sequence[WrittenTable], manifest: Mapping[str, Any]) -> TableAudit:
    """Attacks tables with blanks."""
    rules = recount.tabulate.rules
    minimum = rules.minimum or recount.fewest
    several = max(2, 0 if rules.dominance is None else rules.dominance.n)
    figures: dict[str, dict[str, float | int | None]] = {}
    exposed = people = wrong = uneven = 0
    for measure in measures(recount, tables, several):
        system, narrowest = System(measure, recount.paths, recount.total), inf
        wrong += measure.wrong
        uneven += system.uneven
        needs = _needs(system, rules, minimum, recount)
        for group, need in needs.items():
            share = _reached(system, group, need) if group in measure.blank else 0.0
            narrowest = min(narrowest, share)
            exposed += share < 1 - CLOSE
            people += measure.truth[group].individuals * (share < 1 - CLOSE)
        figures[measure.name] = {
            "groups": len(measure.truth),
            "blank": len(measure.blank),
            "unsafe": len(needs),
            "narrowest": None if narrowest == inf else narrowest,
        }
    result = _result(rules, minimum, exposed, people, wrong)
    return TableAudit((result.unshown(f"{uneven} totals are no sums of their parts") if uneven else result,), figures)


def _needs(system: System, rules: SuppressionRules, minimum: int, recount: Recount) -> dict[Group, tuple[float, float]]:
    """The unsafe groups of a measure, and how far above and below its value each must be able to be."""
    measure = system.measure
    unit = 1.0 if measure.counts else recount.last_digit(str(measure.column))
    needs = {}
    for group, counted in measure.truth.items():
        up = needed(rules, minimum, unit, counted, counts=measure.counts)
        if up is not None:
            low = system.least[group] or 0.0
            down = counted.value - low if measure.counts else up if measure.signed else min(up, counted.value)
            needs[group] = (up, down)
    return needs


def _reached(system: System, group: Group, need: tuple[float, float]) -> float:
    """How far the interval of a group reaches on its worse side, as a share of what is asked, at most 1: for an
    outsider, and for everybody who is alone in blank groups of the same total and knows what they come to."""
    measure, component = system.measure, system.components[group]
    value, (up, down) = measure.truth[group].value, need
    insiders: dict[object, dict[Group, float]] = defaultdict(dict)
    for each in system.siblings(group):
        counted = measure.truth[each]
        if counted.individuals == 1 and (counted.value > 1 or not measure.counts):
            insiders[counted.one or each][each] = counted.value
    worst = 1.0
    for known in ({}, *insiders.values()):
        low, high = component.interval(group, known)
        slack = CLOSE * max(1.0, abs(value))
        sides = ((high - value + slack, up), (value - low + slack, down))
        worst = min(worst, *(reach / wanted if wanted > 0 else 1.0 for reach, wanted in sides))
    return max(worst, 0.0)


def _result(rules: SuppressionRules, minimum: int, exposed: int, people: int, wrong: int) -> Result:
    required: Parameters = {"minimum": minimum}
    if rules.p is not None:
        required["p"] = rules.p
    if rules.dominance is not None:
        required |= {"n": rules.dominance.n, "k": rules.dominance.k}
    state = State.of(not exposed)
    result = Result("suppression", None, required, {"exposed": exposed}, state, exposed, people, basis=Basis.MEASURED)
    return result.unshown(f"{wrong} published values are not those of the input") if wrong else result


_AUDITS: Mapping[str, Callable[[Recount, Sequence[WrittenTable], Mapping[str, Any]], TableAudit]] = {
    "suppression": _suppressed,
    "cell-keys": perturbed.cell_keyed,
    "dp": perturbed.private_tables,
}
"""By mechanism, what attacks its tables."""
