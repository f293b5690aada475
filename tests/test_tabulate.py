"""The road of tables: whatever the columns hold, the check counts the same groups anew from the text."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest

import anonymize

FRAME = pl.DataFrame(
    {
        "whole": [1, 2, None, 3] * 15,
        "decimal": [0.0, -0.0, 0.5, None, 2.25] * 12,
        "truth": [True, False, True] * 20,
        "day": [date(2020, 1, 1 + n % 3) for n in range(60)],
        "age": [n % 30 for n in range(60)],
        "text": ["x ", " x", "É", "É", ""] * 12,
        "pay": [None if n % 7 == 0 else n * 1.25 for n in range(60)],
    }
)
INTERVALS = {"type": "numeric", "hierarchy": {"intervals": [10, 30]}}


@pytest.mark.parametrize(
    ("by", "definition", "groups"),
    [
        ("whole", None, ["1", "2", "3", "", "Total"]),
        ("whole", {"type": "numeric"}, ["1", "2", "3", "", "Total"]),
        ("decimal", None, ["0.0", "0.5", "2.25", "", "Total"]),
        ("truth", None, ["false", "true", "Total"]),
        ("day", {"hierarchy": {"dates": ["month"]}}, ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01", "Total"]),
        ("age", INTERVALS | {"level": 1}, ["[0-9]", "[10-19]", "[20-29]", "[0-29]", "Total"]),
        ("age", INTERVALS | {"levels": {"min": 2}}, ["[0-29]", "Total"]),
        ("age", {"type": "numeric", "bins": [10, 20]}, ["<10", "[10-19]", ">=20", "Total"]),
        ("text", None, ["x", "É", "", "Total"]),
    ],
)
def test_groups_are_the_values_of_a_column_or_the_nodes_of_its_hierarchy(
    by: str, definition: dict[str, Any] | None, groups: list[str]
) -> None:
    measures: list[dict[str, Any]] = [{"count": True}, {"sum": "pay"}, {"mean": "pay"}, {"share": True}]
    spec: dict[str, Any] = {
        "others": "insensitive",
        "tabulate": {
            "mechanism": "suppression",
            "tables": [{"by": [by], **each} for each in measures],
            "suppression": {"minimum": 2},
        },
    }
    spec |= {} if definition is None else {"quasi_identifiers": {by: definition}}
    made = anonymize.tabulate(FRAME, spec)
    counts, sums, means, shares = made.frames.values()
    assert counts[by].to_list() == groups and made.report["privacy"]["satisfied"]
    assert counts["count"][-1] == 60 and shares["share"][-1] == 1
    assert sums["sum"][-1] == pytest.approx(FRAME["pay"].sum())
    assert means["mean"][-1] == pytest.approx(FRAME["pay"].mean())


def test_a_group_that_reads_as_the_total_does() -> None:
    frame = pl.DataFrame({"town": ["Total", "Ulm"] * 20})
    spec = {
        "insensitive": ["town"],
        "tabulate": {"mechanism": "suppression", "tables": [{"by": ["town"], "count": True}]},
    }
    with pytest.raises(anonymize.AnonymizeError, match=r"tabulate\.total"):
        anonymize.tabulate(frame, spec)
    spec["tabulate"]["total"] = "All"  # type: ignore[index]
    assert anonymize.tabulate(frame, spec).frames["table-1-count.csv"]["town"].to_list() == ["Total", "Ulm", "All"]
