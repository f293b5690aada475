"""Tables under differential privacy: what was spent, from what the manifest declares of every draw; and that counts are
whole, and totals the sums of their parts, in what was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

from anonymize.claims import Result
from anonymize.verify.differential import Spent, differential_result
from anonymize.verify.recount import Group, Recount, TableAudit, WrittenTable, children
from anonymize.verify.synthetic import epsilon_of, rho_of_gaussian

_STEPS = 1 << 19
"""How many steps a number that is summed is from the middle of its bounds, at most."""
_CLOSE = 1e-6


def private_tables(recount: Recount, tables: Sequence[WrittenTable], manifest: Mapping[str, Any]) -> TableAudit:
    """What was spent, and whether the tables are what they should be. Nothing of the input is looked at: everything
    follows from what is published."""
    required = recount.differential
    assert required is not None
    most = 1 if recount.spec.unit is None else (recount.tabulate.dp.rows_per_unit if recount.tabulate.dp else 1)
    draws, wrong = manifest["measurements"], []
    for each in draws:
        counts = each["measure"] == "rows" or str(each["measure"]).endswith(" present")
        if each["sensitivity"] != most * (1 if counts else _STEPS):
            wrong.append("a measurement declares another sensitivity than one individual has")
    rho = fsum(rho_of_gaussian(each["sensitivity"], each["sigma"]) for each in draws)
    spent = Spent(epsilon_of(rho, required.delta), required.delta)
    result = differential_result(required.model_dump(), spent)
    wrong += [problem for table in tables for problem in _problems(recount, table)]
    figures = {"rows": {"draws": len(draws), "rho": rho}}
    return TableAudit((result.unshown("; ".join(dict.fromkeys(wrong))) if wrong else result,), figures)


def undrawn(audit: TableAudit, recount: Recount, why: str) -> TableAudit:
    """The audit of tables that follow from the rows, with the differential privacy that is required and lacking."""
    if recount.differential is None:
        return audit
    lacking: Result = differential_result(recount.differential.model_dump(), why)
    return replace(audit, results=(*audit.results, lacking))


def _problems(recount: Recount, table: WrittenTable) -> Iterator[str]:
    """What is wrong with a table as it was written."""
    rows, measure = table.rows(recount), table.measured.measure
    if measure == "mean":
        return
    if any(value is None for value in rows.values()):
        yield "a group has no value"
        return
    values = {group: float(value or 0) for group, value in rows.items()}
    if measure == "count" and any(value < 0 or value != round(value) for value in values.values()):
        yield "a count is below 0, or not whole"
    largest = max(map(abs, values.values()), default=0.0)
    if any(abs(rest) > _CLOSE * max(1.0, largest) for rest in _rests(recount, table, values)):
        yield "a total is not the sum of its parts"


def _rests(recount: Recount, table: WrittenTable, values: Mapping[Group, float]) -> Iterator[float]:
    """What is left of every total without its parts."""
    for name in table.measured.by:
        below = children(recount.paths[name].values())
        for group, value in values.items():
            label = dict(group).get(name, recount.total)
            if label in below:
                rest = group - {(name, label)}
                yield value - fsum(values[rest | {(name, part)}] for part in below[label])
