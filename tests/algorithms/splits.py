"""Tables and problems that the tests of the search for the best set of splits share."""

from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.algorithms import k_optimize
from anonymize.algorithms.base import Context
from anonymize.algorithms.optimize import Splits
from anonymize.algorithms.optimize.moves import SplitProblem
from anonymize.privacy import Requirement
from anonymize.table import Table, TargetColumn
from tests.algorithms.tables import tables, units_or_not

SMALL = units_or_not(tables(max_rows=40, max_attributes=3, sensitive_columns=1))
KINDS = ("discernibility", "classification")


def target(codes: Any, name: str = "t") -> TargetColumn:
    codes = np.asarray(codes, np.uint8)
    return TargetColumn(name, codes, int(codes.max(initial=0)) + 1, None, None)


def problem_of(table: Table, wanted: tuple[Requirement, ...], limit: int, kind: str) -> SplitProblem:
    options, context = k_optimize.Options(cost=kind), Context(limit)
    return k_optimize._problem(table, wanted, options, context, Splits.of_table(table, 0))[0]
