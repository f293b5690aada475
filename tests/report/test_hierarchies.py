"""Hierarchies of a spec, level by level, with a table and without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS
from anonymize.report.hierarchies import Described, check_name, describe, text_for
from anonymize.spec import Spec, make
from anonymize.table import Source, read

JOBS = """\
label: "*"
children:
  - {label: office, weight: 1.25, children: [clerk, chief]}
  - {label: kitchen, weight: 0.75, children: [cook, baker]}
"""
TABLE = "age,job\n31,clerk\n34,clerk\n52,cook\n58,\n"


def spec(folder: Path, job: dict[str, Any] | None = None, **more: Any) -> Spec:
    """Ages, which need a table, and jobs, which stand in a file."""
    (folder / "jobs.yaml").write_text(JOBS)
    (folder / "t.csv").write_text(TABLE)
    jobs = {"hierarchy": str(folder / "jobs.yaml"), **(job or {})}
    ages = {"type": "numeric", "weight": 3}
    return make({"version": 1, "quasi_identifiers": {"age": ages, "job": jobs}, "privacy": {"k": 2}} | more, PARAMETERS)


def only(described: list[Described]) -> Described:
    [each] = described
    return each


def test_without_a_table_there_are_the_hierarchies_of_files(tmp_path: Path) -> None:
    job = only(describe(spec(tmp_path), None))
    assert (job.name, job.kind, job.weight) == ("job", "categorical", 0.25)
    assert [(level.values, level.occurring) for level in job.levels] == [(4, None), (2, None), (1, None)]
    assert [level.weights for level in job.levels] == [(1, 1), (0.75, 1.25), (1, 1)]


def test_a_level_counts_the_values_that_have_rows(tmp_path: Path) -> None:
    age, job = describe(spec(tmp_path), str(tmp_path / "t.csv"))
    assert age.levels[0].occurring == age.levels[0].values == 4
    assert [(level.values, level.occurring) for level in job.levels] == [(5, 3), (3, 3), (1, 1)]
    assert only(describe(spec(tmp_path), str(tmp_path / "t.csv"), "job")) == job


def test_beside_an_experts_values_weights_are_as_they_are_given(tmp_path: Path) -> None:
    expert = {"research_value": [0.9, 0.4], "weight": 2}
    job = only(describe(spec(tmp_path, expert), None))
    assert job.weight == 2 and [level.research_value for level in job.levels] == [0.9, 0.4, 0]


@pytest.mark.parametrize(
    ("more", "name", "what"),
    [
        ({}, "age", "a hierarchy that is not read from a file"),
        ({"weights": "correlation"}, None, "weights: correlation"),
        ({"weights": "correlation"}, "age", "a hierarchy that is not read from a file"),
    ],
)
def test_what_takes_a_table_is_refused_without_one(
    tmp_path: Path, more: dict[str, Any], name: str | None, what: str
) -> None:
    with pytest.raises(UsageError) as raised:
        describe(spec(tmp_path, **more), None, name)
    assert str(raised.value) == f"{what} takes a table: give --input, or input.path in the spec"


def test_a_table_named_in_the_spec_is_enough(tmp_path: Path) -> None:
    named = spec(tmp_path, input={"path": str(tmp_path / "t.csv")})
    assert [each.name for each in describe(named, None)] == ["age", "job"]


def test_a_name_that_is_none_is_refused_without_a_table_as_well(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'town' is not a quasi-identifier of the spec, which has age, job"):
        describe(spec(tmp_path), None, "town")


def test_a_name_may_be_one_that_a_pattern_matches() -> None:
    check_name(["age", "lab_*"], "lab_7")
    check_name(["age"], None)
    with pytest.raises(UsageError, match="'lab_7' is not a quasi-identifier of the spec, which has age, job"):
        check_name(["age", "job"], "lab_7")


def test_a_column_that_the_table_does_not_have_is_refused_whatever_pattern_it_matches(tmp_path: Path) -> None:
    (tmp_path / "labs.csv").write_text("lab_1,lab_2\n1,2\n3,4\n")
    labs = make({"version": 1, "quasi_identifiers": {"lab_*": {"type": "numeric"}}, "privacy": {"k": 2}}, PARAMETERS)
    assert only(describe(labs, str(tmp_path / "labs.csv"), "lab_2")).name == "lab_2"
    with pytest.raises(UsageError, match="'lab_7' is not a quasi-identifier of the spec, which has lab_1, lab_2"):
        describe(labs, str(tmp_path / "labs.csv"), "lab_7")


def test_weights_of_nodes_are_written_to_yaml_alone(tmp_path: Path) -> None:
    made = spec(tmp_path)
    with Source.open(made, str(tmp_path / "t.csv")) as source:
        [age, job] = read(made, source).attributes
    for path in ("out.yaml", "out.YML"):
        assert "weight: 1.25" in text_for(path, job)
    with pytest.raises(UsageError, match=r"the hierarchy of 'job' has weights of nodes: write it to a \.yaml file"):
        text_for("out.csv", job)
    assert text_for("out.csv", age).splitlines()[0].startswith("31")


def test_rules_are_told_with_what_breaks_them_or_why_they_have_no_effect(tmp_path: Path) -> None:
    rules = [{"keep_apart": ["clerk", "chief"], "importance": 2}, {"keep_apart": ["office", "clerk"]}]
    [job] = [each.as_json() for each in describe(spec(tmp_path, {"rules": rules}), None)]
    apart = [[rule["keep_apart"] for rule in level["broken_rules"]] for level in job["levels"]]
    assert apart == [[], [["clerk", "chief"]], [["clerk", "chief"]]]
    [idle] = job["rules_without_effect"]
    assert idle["keep_apart"] == ["office", "clerk"] and "one lies within the other" in idle["reason"]
    assert [level["level"] for level in job["levels"]] == [0, 1, 2]
