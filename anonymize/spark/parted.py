"""Mondrian and local recoding of a DataFrame: upper cuts from counts, and parts that workers search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from anonymize.algorithms import ALGORITHMS
from anonymize.algorithms.base import Context, why_not_reusable
from anonymize.algorithms.mondrian import CANDIDATES, TRIAL_ROWS, RuleSearch, best_rule
from anonymize.algorithms.splitting.parts import PART_ROWS, upper_parts
from anonymize.classes import Runs
from anonymize.errors import InfeasibleError, Problem, UsageError
from anonymize.privacy import MODELS, Groups, Histogram, Requirement, check
from anonymize.recoding import Regions
from anonymize.spark.cutting import Demands, EngineRows
from anonymize.spark.engine import DataFrame
from anonymize.spark.growing import LOCAL_ROWS, PartSearch, Plan, as_one_class, boxes_of, released_rows
from anonymize.spark.learned import Learned
from anonymize.spark.outcome import EngineFrame, EngineOutcome

WORKER_ROWS = 4 * PART_ROWS
"""Rows that a worker grows at once, at most: every level of upper cuts that this saves is a pass over all rows."""
AUTO = "auto"
RULE = CANDIDATES[0]


@dataclass(frozen=True)
class Parted:
    """Upper cuts, and a search of every part.

    `options`: the algorithm's own. `part_rows`: how many rows a worker searches at once; None: what is usual. `seed`:
    where chance begins in every part.
    """

    drops: ClassVar[bool] = False
    algorithm: str
    options: Any
    part_rows: int | None = None
    seed: int | None = None

    @property
    def cut(self) -> str:
        """The rule of the upper cuts, or `auto`."""
        return str(getattr(self.options, "cut", AUTO))

    @property
    def exact(self) -> bool:
        """Whether the classes are those of a search of all rows: where equal rows stay together."""
        return why_not_reusable(ALGORITHMS[self.algorithm], self.options) is None

    @property
    def rows(self) -> int:
        """Rows of a part at most."""
        return self.part_rows or (WORKER_ROWS if self.exact else LOCAL_ROWS)

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
        options = {"cut": demands.cut} if self.exact else asdict(self.options)
        parts = {} if self.exact else {"parts": len(plan.parts.numbers)}
        return EngineOutcome(
            released_rows(rows, plan),
            {**options, "part_rows": self.rows},
            {"kind": Regions.KIND, "cut": demands.cut, **parts},
            small=not plan.boxes,
            as_one_class=lambda: released_rows(rows, as_one_class(plan)),
        )

    def _planned(self, rows: DataFrame, known: EngineFrame, demands: Demands) -> Plan:
        """The upper cuts, as workers need them."""
        learned = known.learned
        source = EngineRows(rows, learned, demands)
        refused = source.refused if demands.beyond_size else None
        parts = upper_parts(source, demands.rule(learned), len(learned.attributes), self.rows, refused)
        large = parts.numbers[parts.sizes > self.rows]
        boxes = boxes_of(large, source.counts(large)) if len(large) else {}
        bare, output = learned.without_codes(), known.spec.output
        plan = Plan(bare, demands, known.layout, output, tuple(source.steps), parts, boxes, self.rows)
        if self.exact:
            return plan
        return replace(plan, local=PartSearch(self.algorithm, self.options, known.requirements, self.seed))


def _check_feasible(learned: Learned, requirements: Sequence[Requirement]) -> None:
    """Raises InfeasibleError where all rows as one class do not meet a requirement."""
    histograms = {}
    for column, counts in zip(learned.sensitive, learned.counts[len(learned.attributes) :], strict=True):
        histograms[column.name] = Histogram.of(column, Runs.of_one(counts), 1)
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
    columns = learned.columns
    some = learned.keyed(rows, f"xxhash64({', '.join(columns)}) as hash")
    trial = some.orderBy("hash", *learned.keys).limit(TRIAL_ROWS).toArrow()
    codes = learned.codes([trial[name].to_numpy() for name in learned.keys])
    count = len(learned.attributes)
    table = learned.table(codes[:count], codes[count:], trial.num_rows)
    everyone = np.arange(trial.num_rows, dtype=np.uint32)
    return best_rule(RuleSearch(table, requirements, False, Context(0), everyone))
