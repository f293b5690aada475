"""What else is measured of the risk, where something is asked for or known that it takes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anonymize._audit import audit
from anonymize.auditing.request import Audit, Deeper
from anonymize.errors import UsageError

TABLE = "age,job,n\n20,cook,2\n20,cook,3\n40,clerk,5\n60,clerk,10\n"


def risk_of(folder: Path, further: Deeper | None = None, weight: str | None = None) -> dict[str, Any]:
    (folder / "table.csv").write_text(TABLE)
    asked = Audit(path=folder / "table.csv", quasi_identifiers=["age", "job"], sampling_weight=weight)
    risk: dict[str, Any] = audit(replace(asked, further=further or Deeper())).report["risk"]
    return risk


def test_nothing_else_is_measured_where_nothing_is_asked_for(tmp_path: Path) -> None:
    assert not {"sample", "population", "journalist", "subsets"} & risk_of(tmp_path).keys()


def test_weights_tell_of_a_sample_and_its_share_of_the_population(tmp_path: Path) -> None:
    risk = risk_of(tmp_path, weight="n")
    assert risk["sample"]["population"] == 20 and risk["population"]["sampling_fraction"] == 4 / 20
    assert risk_of(tmp_path, Deeper(fraction=0.5), weight="n")["population"]["sampling_fraction"] == 0.5


def test_a_sample_is_never_more_than_its_population(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age,n\n" + "20,0.5\n" * 4)
    asked = Audit(path=tmp_path / "table.csv", quasi_identifiers=["age"], sampling_weight="n")
    assert audit(asked).report["risk"]["population"]["sampling_fraction"] == 1


@pytest.mark.parametrize(("size", "subsets"), [(1, [["age"], ["job"]]), (0, [["age"], ["job"], ["age", "job"]])])
def test_subsets_are_looked_at_up_to_a_size_or_all_of_them(tmp_path: Path, size: int, subsets: list[list[str]]) -> None:
    risk = risk_of(tmp_path, Deeper(subsets=size))
    assert [each["attributes"] for each in risk["subsets"]] == subsets
    assert "population" not in risk and "special_uniques" in risk


def test_more_subsets_than_there_are_quasi_identifiers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--subsets: "):
        risk_of(tmp_path, Deeper(subsets=-1))


def test_a_population_says_how_many_are_alike(tmp_path: Path) -> None:
    people = "age,job\n" + "20,cook\n" * 4 + "40,clerk\n60,clerk\n" * 2
    (tmp_path / "people.csv").write_text(people)
    risk = risk_of(tmp_path, Deeper(population=tmp_path / "people.csv"))["journalist"]
    assert risk.keys() == {"population", "journalist_max", "marketer", "records_at_risk"}
    assert (risk["population"], risk["journalist_max"]) == (8, 0.5)
