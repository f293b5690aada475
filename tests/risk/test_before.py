"""The risk of the input, by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymize.privacy import PARAMETERS
from anonymize.risk import risk_before, sizes_before
from anonymize.spec import make
from anonymize.table import Source, read

TABLE = "who,age,job\n1,30,cook\n2,30,cook\n2,30,cook\n3,40,cook\n4,,clerk\n4,,clerk\n"


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (None, {"classes": 3, "prosecutor_max": 1.0, "prosecutor_mean": 0.5, "records_at_risk": 0.5, "uniques": 1}),
        ("who", {"classes": 3, "prosecutor_max": 1.0, "prosecutor_mean": 0.75, "records_at_risk": 0.5, "uniques": 2}),
    ],
)
def test_classes_are_of_equal_values_and_individuals_count_once(
    tmp_path: Path, unit: str | None, expected: dict[str, float]
) -> None:
    (tmp_path / "table.csv").write_text(TABLE)
    quasi = {"age": {"type": "numeric"}, "job": {}}
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv")}, "quasi_identifiers": quasi}
    content |= {"privacy": {"k": 2}, **({"identifiers": ["who"]} if unit is None else {"unit": unit})}
    spec = make(content, PARAMETERS)
    with Source.open(spec, None) as source:
        table = read(spec, source)
        threshold = 0.4 if unit is None else 0.5
        for together in (1, 2, 1 << 20):
            assert risk_before(sizes_before(table, together), threshold) == pytest.approx(expected)
