"""What an audit says of figures that were made up."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anonymize.auditing.baseline import Change
from anonymize.auditing.facts import AuditFacts
from anonymize.formats import Finding
from anonymize.formats.base import Level
from anonymize.privacy import PARAMETERS, requirements
from anonymize.spec import Spec, load, make
from anonymize.verify import Result, Verdict
from anonymize.verify.verdict import Uniqueness

SPEC = """\
version: 1
quasi_identifiers: [q]
sensitive: [s]
privacy:
  k: 2
  passing: {uniques: 0.1}
"""
RISK = {"prosecutor_max": 0.5, "threshold": 0.2}


@dataclass
class Source:
    name: str = "table.csv"
    sha256: str = "aa"
    columns: list[str] = field(default_factory=lambda: ["q", "s"])


@dataclass
class Table:
    spec: Spec
    source: Any = field(default_factory=Source)
    exposed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def of_k(satisfied: bool | None, unknown: str | None = None) -> Result:
    return Result("k-anonymity", None, {"k": 2}, {"k": 3}, satisfied, 0, 0, unknown)


def facts_of(
    *results: Result,
    spec: Spec | None = None,
    passing: Uniqueness | None = None,
    exposed: tuple[str, ...] = (),
    **more: Any,
) -> AuditFacts:
    verdict = Verdict(9, 0, results, {"count": 3}, dict(RISK), passing=passing)
    table = Table(
        spec or make({"version": 1, "quasi_identifiers": ["q"], "sensitive": ["s"]}, PARAMETERS), exposed=exposed
    )
    return AuditFacts(table, more.pop("requirements", ()), verdict, **more)


@pytest.mark.parametrize(
    ("results", "satisfied", "levels"),
    [
        ([of_k(True)], True, ["pass"]),
        ([of_k(True), of_k(False)], False, ["pass", "error"]),
        ([of_k(True), of_k(None, "a reason")], None, ["pass", "error"]),
        ([of_k(False), of_k(None, "a reason")], False, ["error", "error"]),
        ([of_k(None)], None, ["measured"]),
        ([of_k(None), of_k(True)], True, ["measured", "pass"]),
        ([], None, []),
    ],
)
def test_a_table_is_safe_where_all_that_is_required_is_known_to_be_met(
    results: list[Result], satisfied: bool | None, levels: list[str]
) -> None:
    facts = facts_of(*results)
    assert facts.satisfied is satisfied and [each.level for each in facts.findings()] == levels
    privacy = facts.report()["privacy"]
    assert privacy["satisfied"] is satisfied
    unknown = [str(each) for each in results if each.unknown]
    assert privacy.get("unknown") == (unknown or None)


def test_a_finding_names_the_model_with_what_it_requires_and_reached() -> None:
    numbers: dict[str, Any] = {"c": 12345678.5, "values": ["a", "b"], "x": None}
    of_s = Result("recursive-cl-diversity", "s", numbers, {"c": 1.5}, True, 0, 0)
    measured = Result("k-anonymity", None, {}, {"k": 3}, None, 0, 0)
    first, second = facts_of(of_s, measured).findings()
    title = "recursive-cl-diversity (c=12345678.5, values=[a, b], x=none) of s"
    assert (first.title, first.message) == (title, f"{title} is met: c=1.5")
    assert (second.title, second.message, second.line) == ("k-anonymity", "k-anonymity: k=3", None)


@pytest.mark.parametrize(
    ("result", "level"), [(of_k(True), "error"), (of_k(None, "x"), "error"), (of_k(None), "warning")]
)
def test_a_direct_identifier_is_an_error_where_something_is_required(result: Result, level: Level) -> None:
    *_, identifier = facts_of(of_k(None), result, exposed=("name",)).findings()
    assert identifier == Finding(
        "direct-identifier", "direct identifier", "column name is a direct identifier, and it is in the table", level
    )


@pytest.mark.parametrize("no_regress", [False, True])
def test_what_is_worse_is_an_error_where_nothing_may_be(no_regress: bool) -> None:
    changes = (Change("risk marketer", 0.5, 0.25, worse=False), Change("risk uniques", 0, 1, worse=True))
    facts = facts_of(baseline="old.json", changes=changes, no_regress=no_regress)
    [finding] = facts.findings()
    assert (finding.title, finding.message) == ("risk uniques", "risk uniques is 1, and was 0")
    assert finding.level == ("error" if no_regress else "warning")
    report = facts.report()
    assert report["warnings"] == ["worse than in the baseline: risk uniques is 1, and was 0"]
    assert report["baseline"]["path"] == "old.json" and len(report["baseline"]["changes"]) == 2
    assert facts.satisfied is (False if no_regress else None)
    assert "baseline" not in facts_of().report() and facts_of(no_regress=True).satisfied is True


@pytest.mark.parametrize("alone", [0.0, 0.5])
def test_what_a_file_asks_for_is_found_in_its_lines(tmp_path: Path, alone: float) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    spec = load(tmp_path / "spec.yaml", PARAMETERS)
    passing = Uniqueness(("w",), 9, alone, alone, alone, 0.1)
    anonymous, passed, *_ = facts_of(of_k(True), spec=spec, passing=passing, requirements=requirements(spec)).findings()
    assert [(each.file, each.line) for each in (anonymous, passed)] == [(str(spec.path), 5), (str(spec.path), 6)]
    reached = "passing (uniques=0.1) is met: uniques=0"
    assert passed.message == (passing.problem if alone else reached) and passed.level == ("error" if alone else "pass")


def test_options_that_ask_for_something_have_no_lines() -> None:
    spec = make(
        {"version": 1, "quasi_identifiers": ["q"], "privacy": {"k": 2, "passing": {"uniques": 0.1}}}, PARAMETERS
    )
    passing = Uniqueness(("w",), 9, 0.0, 0.0, 0.0, 0.1)
    findings = facts_of(of_k(True), spec=spec, passing=passing, requirements=requirements(spec)).findings()
    assert [(each.file, each.line) for each in findings] == [(None, None)] * 2
