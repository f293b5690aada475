"""Mondrian of a DataFrame: upper cuts from counts, and parts that workers grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from anonymize.algorithms.base import Context
from anonymize.algorithms.mondrian import CANDIDATES, TRIAL_ROWS, Options, RuleSearch, best_rule
from anonymize.algorithms.splitting.upper import upper_parts
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.spark.cutting import Demands, EngineRows
from anonymize.spark.engine import DataFrame, collected
from anonymize.spark.growing import Plan, as_one_class, boxes_of, released_rows
from anonymize.spark.learned import Learned
from anonymize.spark.outcome import EngineFrame, EngineOutcome

AUTO = "auto"
RULE = CANDIDATES[0]


@dataclass(frozen=True)
class Parted:
    """Mondrian. `cut`: the rule, or `auto`. `part_rows`: how many rows a worker grows at once."""

    algorithm: ClassVar[str] = "mondrian"
    drops: ClassVar[bool] = False
    cut: str
    part_rows: int

    @property
    def options(self) -> Options:
        """See `EngineSearch`."""
        return Options(cut=self.cut)

    def check(self) -> None:
        """Raises UsageError for a rule that looks at more than one attribute at a time."""
        if self.cut not in (AUTO, *CANDIDATES):
            raise UsageError(f"cut {self.cut!r}: not on an engine, which has {', '.join(CANDIDATES)}")

    def outcome(self, rows: DataFrame, known: EngineFrame) -> EngineOutcome:
        """The classes that it makes. Raises InfeasibleError where all rows as one class do not meet a requirement."""
        learned, requirements = known.learned, known.requirements
        _check_feasible(learned, requirements)
        demands = Demands(requirements, chosen_rule(rows, learned, requirements, self.cut))
        plan = self._planned(rows, known, demands)
        return EngineOutcome(
            released_rows(rows, plan),
            {"cut": demands.cut, "part_rows": self.part_rows},
            {"kind": "regions", "cut": demands.cut},
            as_one_class=lambda: released_rows(rows, as_one_class(plan)),
        )

    def _planned(self, rows: DataFrame, known: EngineFrame, demands: Demands) -> Plan:
        """The upper cuts, as workers need them."""
        learned = known.learned
        source = EngineRows(rows, learned, demands)
        refused = source.refused if demands.beyond_size else None
        parts = upper_parts(source, demands.rule(learned), len(learned.attributes), self.part_rows, refused)
        large = parts.numbers[parts.sizes > self.part_rows]
        boxes = boxes_of(large, source.counts(large)) if len(large) else {}
        bare, output = learned.without_codes(), known.spec.output
        return Plan(bare, demands, known.layout, output, tuple(source.steps), parts, boxes, self.part_rows)


def _check_feasible(learned: Learned, requirements: Sequence[Requirement]) -> None:
    """Raises InfeasibleError where all rows as one class do not meet a requirement."""
    histograms = {}
    for column, counts in zip(learned.sensitive, learned.counts[len(learned.attributes) :], strict=True):
        codes = np.flatnonzero(counts)
        histograms[column.name] = Histogram.from_rows(
            np.zeros(len(codes), np.int64), codes, 1, column.size, column.missing, column.values, counts[codes]
        )
    everyone = Groups(np.array([learned.rows]), histograms)
    failing = [each for each in requirements if not check(everyone, [each]).all()]
    if failing:
        hint = "an engine suppresses no single rows: where that would mend it, make the release on one machine"
        raise InfeasibleError([Problem(f"{each} is not met by all rows as one class", hint=hint) for each in failing])


def chosen_rule(rows: DataFrame, learned: Learned, requirements: tuple[Requirement, ...], cut: str) -> str:
    """The rule by which classes are cut. Where a trial decides, it is on the rows whose values hash lowest: as many as
    on one machine, where they are spread over the table."""
    if cut != AUTO:
        return cut
    if all(MODELS[each.model].by_size for each in requirements):
        return RULE
    columns = list(dict.fromkeys(book.column for book in learned.books))
    some = rows.select(*columns).selectExpr("*", f"xxhash64({', '.join(columns)}) as hash")
    trial = collected(some.orderBy("hash", *columns).limit(TRIAL_ROWS))
    codes = [book.codes(trial) for book in learned.books]
    count = len(learned.attributes)
    table = learned.table(codes[:count], codes[count:], trial.height)
    everyone = np.arange(trial.height, dtype=np.uint32)
    return best_rule(RuleSearch(table, requirements, False, Context(0), everyone))
