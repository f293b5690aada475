"""Anatomy: exact quasi-identifiers, and sensitive values by group: 1/l bounds a guess in proportion, not the best one.

What it does. Rows are sorted into buckets by sensitive value. While at least l buckets have rows, one random row from
each of the l largest forms a group; each remaining row joins a random group without its value. The release consists of
the exact quasi-identifiers with the number of their group (`released.qit.csv`, the QIT), and, for each group, the
sensitive values with their counts (`released.st.csv`, the ST). With `--joined` it is one file: every row has its group
and a sensitive value, assigned at random within the group.

What it guarantees. Every group has at least l different sensitive values, none in more than 1/l of its rows. An
attacker who knows a person's group, and guesses in proportion to the values of that group, is right with probability at
most 1/l. This does not bound an ordinary attacker, who counts over all groups which value occurs with the person's
quasi-identifiers, and names the most frequent one: that succeeds nearly as often as in the original table, whatever l
is, unless l is close to the number of values. On the Adult data (occupation, given education, salary, sex and race) it
is right for 0.318, 0.315, 0.296 and 0.206 of the people at l = 2, 3, 5 and 7; in the original for 0.322, without
quasi-identifiers for 0.134. The private report has this rate as `risk.attacker`. Neither a person's presence in the
table nor the quasi-identifiers are hidden: there is no k-anonymity, and `k` is refused. The report's `risk` is that of
the exact quasi-identifiers.

If one value occurs in more than 1/l of the rows, groups cannot be formed. Then rows with the most frequent values are
left out, if `privacy.suppression` allows it; otherwise it ends with exit code 4 and reports the frequency of the value
by its rank.

Groups are drawn from the operating system's entropy, which is not stored. With `--seed`, anybody who learns the seed
and has the order of the table can reproduce them: the report says so, and `--public-report` refuses it.

Groups consist of different values, whichever they are: if a model protects only some `values`, the others still have to
be diverse.

Missing sensitive values do not count towards l; their rows are distributed evenly over the groups.

Recoding model. Bucketization.

Cost. O(n) and a sort by sensitive value.

Reference. Xiao, Tao: Anatomy: simple and effective privacy preservation, VLDB 2006.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from anonymize.algorithms.base import Context, Family, Needs, option
from anonymize.algorithms.remaining import remaining
from anonymize.classes import Ints, starts_of
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.privacy import MODELS, Requirement, frequency_l_diversity
from anonymize.recoding import SearchResult
from anonymize.records import dataclass
from anonymize.table import SensitiveColumn, Table

# --- the order of buckets ---------------------------------------------------------------------------------------------
# Which buckets give a row to each group, by the rule "one row from each of the l largest", without a loop over groups.
#
# Buckets are the sensitive values, sizes their rows. Buckets larger than the l-th largest (*above*) give a row in every
# round; those level with it (*tied*: within one row of each other) take turns; the smaller ones (*below*) wait. While
# no bucket comes level with the tied ones, the rounds are regular, and all of them are written down at once. With every
# such event a bucket joins the tied ones for good, so there are no more stretches than buckets and their sizes have
# ties.
#
# Source: Xiao and Tao, Anatomy, VLDB 2006, figure 3 (group creation). Ties, which the paper leaves open, are broken at
# random, anew each time that every tied bucket has given as many rows as the others.

Picks = NDArray[np.int32]


def schedule(counts: Ints, l: int, random: np.random.Generator) -> Picks:  # noqa: E741
    """(groups, l) int32: the bucket of each row of each group; different buckets in every group.

    `counts` (buckets,) rows of each bucket. Ends when fewer than l buckets have rows left.
    """
    state = _State.of(counts, l)
    stretches = [np.empty((0, l), np.int32)]
    while state.going:
        stretches.append(state.stretch(random))
    return np.concatenate(stretches)


@dataclass
class _State:
    """Where the rounds stand: what is left in each bucket, which are above, and the tied ones in the order of turns,
    the larger first."""

    left: Ints
    l: int  # noqa: E741
    above: Ints
    tied: Ints
    below: Ints

    @classmethod
    def of(cls, counts: Ints, l: int) -> _State:  # noqa: E741
        """The state at the start: buckets as large as the l-th largest are tied; those below are ordered with the
        largest first."""
        order = np.argsort(-counts, kind="stable")
        ranked = counts[order]
        level = ranked[l - 1] if len(ranked) >= l else 0
        return cls(counts.copy(), l, order[ranked > level], order[ranked == level], order[ranked < level])

    @property
    def going(self) -> bool:
        """Whether at least l buckets have rows."""
        left = np.count_nonzero(self.left[self.tied])
        return bool(left and len(self.above) + left >= self.l)

    def stretch(self, random: np.random.Generator) -> Picks:
        """The rounds until the next bucket comes level, (rounds, l); the state is then after them."""
        turns = self.l - len(self.above)
        rounds = self._rounds(turns)
        taken = self._turns(rounds * turns, turns, random).reshape(rounds, turns)
        picks = np.empty((rounds, self.l), np.int32)
        picks[:, : len(self.above)] = self.above
        picks[:, len(self.above) :] = taken
        self.left[self.above] -= rounds
        self.left -= np.bincount(taken.ravel(), minlength=len(self.left))
        self._join()
        return picks

    def _rounds(self, turns: int) -> int:
        """How many rounds there are before a bucket above, or one below, comes level with the largest of the tied."""
        tied = self.left[self.tied]
        waiting = int(self.left[self.below[0]]) if len(self.below) else 0
        most = int((tied - waiting).sum()) // turns
        if not len(self.above):
            return most
        count, top = len(tied), int(tied.max())
        ahead = int(self.left[self.above].min()) - top
        late = count - int(np.count_nonzero(tied == top))

        def level(rounds: int) -> bool:
            return ahead - rounds + (late + rounds * turns) // count <= 0

        low, high = 0, most
        while high - low > 1:  # the distance never grows
            middle = (low + high) // 2
            low, high = (low, middle) if level(middle) else (middle, high)
        return high

    def _turns(self, number: int, turns: int, random: np.random.Generator) -> Ints:
        """The given number of turns of the tied buckets, whose order changes after as many rounds as there are tied
        buckets."""
        larger = int(np.count_nonzero(self.left[self.tied] == self.left[self.tied].max()))
        block = len(self.tied) * turns
        blocks = -(-number // block)
        parts = [np.tile(part, (blocks, 1)) for part in (self.tied[:larger], self.tied[larger:])]
        order = np.concatenate([random.permuted(part, axis=1) for part in parts], axis=1)
        return np.asarray(np.tile(order, (1, turns)).ravel()[:number])

    def _join(self) -> None:
        """Buckets that have come level become tied; the larger of the tied come first."""
        top = self.left[self.tied].max()
        fallen = self.left[self.above] <= top
        reached = self.left[self.below] >= self.left[self.tied].min()
        together = np.concatenate([self.tied, self.above[fallen], self.below[reached]])
        self.above, self.below = self.above[~fallen], self.below[~reached]
        self.tied = together[np.argsort(-self.left[together], kind="stable")]


# --- the algorithm ----------------------------------------------------------------------------------------------------

ID = "anatomy"
NEEDS = Needs(
    Family("bucketization", treats_sensitive=False),
    sensitive=True,
    populations=False,
    reusable=False,
    random=True,
    alone="groups are drawn from one permutation of all rows; `mondrian` meets the same models of sensitive values",
)


@dataclass(frozen=True)
class Options:
    """Options of the subcommand."""

    joined: bool = option(False, "Write one file, with sensitive values assigned at random within each group.")
    group: str = option("group", "Name of the group column.")


@dataclass(frozen=True)
class Bucketized(SearchResult):
    """Groups of rows.

    `group` (rows,) int32: number of each row's group from 0, -1 for a row that is left out. `count`: number of groups.
    `mixed` (rows,) int64: the row whose sensitive value each row shows where both stand in one file, a random one of
    its group; -1 for a row that is left out. `l`: the fewest different values of a group. `joined`: one file, not two.
    `name`: of the column of groups.
    """

    KIND: ClassVar[str] = "buckets"

    group: NDArray[np.int32]
    count: int
    mixed: Ints
    l: int  # noqa: E741
    joined: bool
    name: str

    @property
    def sizes(self) -> Ints:
        """(groups,) rows of each group."""
        return np.bincount(self.group[self.group >= 0], minlength=self.count)

    @property
    def left_out(self) -> int:
        """Rows that are in no group."""
        return int(np.count_nonzero(self.group < 0))

    def summary(self) -> dict[str, Any]:
        """The report's `recoding` block."""
        files = "one" if self.joined else "two"
        return {"kind": self.KIND, "files": files, "groups": self.count, "l": self.l, "suppressed_rows": self.left_out}


def run(table: Table, requirements: tuple[Requirement, ...], options: Options, context: Context) -> Bucketized:
    """The groups."""
    (column,) = (each.counted for each in table.sensitive)
    _check_names(table, column, options)
    # The fewest values of a group, all of them once, that meet every model.
    l = max([1, *(MODELS[each.model].least_values(each.parameters) for each in requirements)])  # noqa: E741
    random = np.random.default_rng(context.seed)
    rows = _grouped_rows(table, column, l, context)
    group, count = _grouped(column, rows, l, random)
    return Bucketized(group, count, _mixed(group, random), l, options.joined, options.group)


def _check_names(table: Table, column: SensitiveColumn, options: Options) -> None:
    """Raises UsageError where the column of groups, or that of counts, has the name of another one."""
    others = table.columns if options.joined else (*table.columns, "count")
    if options.group in others or not options.group:
        raise UsageError(f"--group: {options.group!r} is a column already: choose another name")
    if column.name == "count" and not options.joined:
        raise UsageError("a sensitive attribute called count would clash with that column of the ST: use --joined")


# --- whether it is possible ------------------------------------------------------------------------------------------


def _grouped_rows(table: Table, column: SensitiveColumn, l: int, context: Context) -> Ints:  # noqa: E741
    """Rows among which no value is too frequent. Raises InfeasibleError where too many would have to be left out."""
    required = Requirement(frequency_l_diversity.MODEL.id, column.name, frequency_l_diversity.Parameters(l=l))
    try:
        return remaining(table, (required,), context).rows.astype(np.int64)
    except InfeasibleError as error:
        raise InfeasibleError([*_too_frequent(column, l), *error.problems]) from None


def _too_frequent(column: SensitiveColumn, l: int) -> list[Problem]:  # noqa: E741
    """The values that hold more than 1/l of the rows, by rank."""
    counts = np.bincount(column.codes, minlength=column.size)
    if column.missing is not None:
        counts[column.missing] = 0
    total, ranked = int(counts.sum()), np.sort(counts)[::-1]
    if not total:
        return [Problem(f"{column.name} has no values that are not missing")]
    return [
        Problem(
            f"{column.name}: the value of rank {rank} by frequency has {count} of {total} rows "
            f"({count / total:.2%}), and groups of l={l} take at most 1/{l} of them"
        )
        for rank, count in enumerate(ranked[ranked * l > total].tolist(), 1)
    ]


# --- groups ----------------------------------------------------------------------------------------------------------


def _grouped(
    column: SensitiveColumn,
    rows: Ints,
    l: int,  # noqa: E741
    random: np.random.Generator,
) -> tuple[NDArray[np.int32], int]:
    """(rows of the table,) the group of each row, -1 for rows that are left out; and the number of groups."""
    group = np.full(len(column.codes), -1, np.int32)
    present = rows if column.missing is None else rows[column.codes[rows] != column.missing]
    shuffled = present[random.permutation(len(present))]
    by_value = shuffled[np.argsort(column.codes[shuffled], kind="stable")]
    counts = np.bincount(column.codes[by_value], minlength=column.size)
    picks = schedule(counts, l, random)
    used = np.bincount(picks.ravel(), minlength=column.size)
    order = np.argsort(picks.ravel(), kind="stable")
    rank = np.arange(counts.sum()) - np.repeat(starts_of(counts)[:-1], counts)
    taken = rank < np.repeat(used, counts)  # the first so many of each value
    group[by_value[taken]] = order // l
    for row in by_value[~taken].tolist():
        group[row] = _without(group, column, row, len(picks), random)
    absent = rows[column.codes[rows] == column.missing] if column.missing is not None else rows[:0]
    group[absent] = random.permutation(len(absent)) % max(len(picks), 1)
    return group, len(picks)


def _without(
    group: NDArray[np.int32], column: SensitiveColumn, row: int, count: int, random: np.random.Generator
) -> int:
    """A random group that does not have the row's value; there is one, as no value is too frequent."""
    free = np.ones(count, np.bool_)
    same = group[column.codes == column.codes[row]]
    free[same[same >= 0]] = False
    return int(random.choice(np.flatnonzero(free)))


def _mixed(group: NDArray[np.int32], random: np.random.Generator) -> Ints:
    """(rows,) for each row a row of its group, all of them once, at random; -1 for rows of no group."""
    grouped = np.flatnonzero(group >= 0)
    mixed = np.full(len(group), -1)
    if len(grouped):
        order = grouped[np.argsort(group[grouped], kind="stable")]
        shuffled = grouped[random.permutation(len(grouped))]
        mixed[order] = shuffled[np.argsort(group[shuffled], kind="stable")]
    return mixed
