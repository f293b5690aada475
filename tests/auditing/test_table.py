"""The columns in which a table shows what a spec speaks of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from anonymize.auditing.table import released_as, undivided
from anonymize.errors import DataError
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, load, make


def spec(folder: Path | None = None, output: str = "bounds") -> Spec:
    """Of a number and a category, written to a file in the folder, if one is given."""
    content = {
        "version": 1,
        "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}},
        "sensitive": ["ill"],
        "output": {"numeric": output},
    }
    if folder is None:
        return make(content, PARAMETERS)
    (folder / "spec.yaml").write_text(json.dumps(content))
    return load(folder / "spec.yaml", PARAMETERS)


@pytest.mark.parametrize(
    ("present", "spoken"),
    [
        (["job", "age_low", "age_high", "age_missing", "ill"], ["job", "age", "ill"]),
        (["age_low", "job", "age_high"], ["age", "job"]),
        (["age", "age_low", "age_high"], ["age", "age_low", "age_high"]),
        (["age_low", "job"], ["age_low", "job"]),
        (["age_high", "ill"], ["age_high", "ill"]),
    ],
)
def test_bounds_are_one_column_of_a_spec_that_asks_for_bounds(present: list[str], spoken: list[str]) -> None:
    assert undivided(spec(), present) == spoken
    assert undivided(spec(output="interval"), present) == present


@pytest.mark.parametrize(
    ("present", "by_options", "by_spec"),
    [
        ("age", ["age"], ["age"]),
        ("age_low age_high", ["age_low", "age_high"], ["age_low", "age_high"]),
        (
            "age_low age_high age_missing",
            ["age_low", "age_high", "age_missing"],
            ["age_low", "age_high", "age_missing"],
        ),
        ("age age_low age_high", ["age"], ["age", "age_low", "age_high"]),
        ("age age_low age_missing", ["age"], ["age", "age_low"]),
        ("age age_missing", ["age"], ["age"]),
    ],
)
def test_a_number_is_shown_by_itself_or_by_its_bounds(
    tmp_path: Path, present: str, by_options: list[str], by_spec: list[str]
) -> None:
    columns = [*present.split(), "job", "ill"]
    assert released_as(spec(), columns, "t.csv") == {"age": by_options, "job": ["job"]}
    assert released_as(spec(tmp_path), columns, "t.csv") == {"age": by_spec, "job": ["job"]}


@pytest.mark.parametrize(
    ("present", "lacking"),
    [(["age_low", "job", "ill"], "age"), (["age", "job_low", "ill"], "job"), (["age", "job"], "ill")],
)
def test_what_is_not_shown_is_lacking(tmp_path: Path, present: list[str], lacking: str) -> None:
    for each in (spec(), spec(tmp_path)):
        with pytest.raises(DataError, match=f"t.csv: has no column {lacking}"):
            released_as(each, present, "t.csv")
