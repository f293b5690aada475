"""What an audit says of figures that were made up."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from anonymize.auditing.baseline import BaselineChange
from anonymize.auditing.facts import AuditFacts
from anonymize.claims import Basis, State
from anonymize.errors import Caution
from anonymize.formats.base import Level
from anonymize.privacy import PARAMETERS, requirements
from anonymize.spec import Spec, load, make
from anonymize.verify import Result, Verdict
from anonymize.verify.kept import PassingFigures, RowShares
from anonymize.verify.verdict import NOTHING_ASKED

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
    warnings: tuple[Caution, ...] = ()


def of_k(state: State) -> Result:
    result = Result("k-anonymity", None, {"k": 2}, {"k": 3}, state, 0, 0, basis=Basis.MEASURED)
    return result.unshown("a reason") if state is State.UNKNOWN else result


def facts_of(
    *results: Result,
    spec: Spec | None = None,
    passing: PassingFigures | None = None,
    exposed: tuple[str, ...] = (),
    **more: Any,
) -> AuditFacts:
    verdict = Verdict(9, 0, results, {"count": 3}, dict(RISK), passing=passing)
    table = Table(
        spec or make({"version": 1, "quasi_identifiers": ["q"], "sensitive": ["s"]}, PARAMETERS), exposed=exposed
    )
    return AuditFacts(table, more.pop("requirements", ()), verdict, **more)


@pytest.mark.parametrize(
    ("states", "state", "levels"),
    [
        ([State.MET], State.MET, ["pass"]),
        ([State.MET, State.UNMET], State.UNMET, ["pass", "error"]),
        ([State.MET, State.UNKNOWN], State.UNKNOWN, ["pass", "error"]),
        ([State.UNMET, State.UNKNOWN], State.UNMET, ["error", "error"]),
        ([State.NOTHING_REQUIRED], State.NOTHING_REQUIRED, ["measured", "warning"]),
        ([State.NOTHING_REQUIRED, State.MET], State.MET, ["measured", "pass"]),
        ([], State.NOTHING_REQUIRED, ["warning"]),
    ],
)
def test_a_table_is_safe_where_all_that_is_required_is_known_to_be_met(
    states: list[State], state: State, levels: list[str]
) -> None:
    results = [of_k(each) for each in states]
    facts = facts_of(*results)
    assert facts.state is state and [each.level for each in facts.findings()] == levels
    privacy = facts.report()["privacy"]
    assert (privacy["state"], privacy["satisfied"]) == (state.value, state.satisfied)
    unknown = [str(each) for each in results if each.unknown]
    assert privacy.get("unknown") == (unknown or None)


def test_a_finding_names_the_model_with_what_it_requires_and_reached() -> None:
    numbers: dict[str, Any] = {"c": 12345678.5, "values": ["a", "b"], "x": None}
    of_s = Result("recursive-cl-diversity", "s", numbers, {"c": 1.5}, State.MET, 0, 0, basis=Basis.MEASURED)
    measured = Result("k-anonymity", None, {}, {"k": 3}, State.NOTHING_REQUIRED, 0, 0, basis=Basis.MEASURED)
    first, second = facts_of(of_s, measured).findings()
    title = "recursive-cl-diversity (c=12345678.5, values=[a, b], x=none) of s"
    assert (first.title, first.message) == (title, f"{title} is met: c=1.5")
    assert (second.title, second.message, second.line) == ("k-anonymity", "k-anonymity: k=3", None)


@pytest.mark.parametrize(
    ("state", "level"),
    [(State.MET, "error"), (State.UNKNOWN, "error"), (State.NOTHING_REQUIRED, "warning")],
)
def test_a_direct_identifier_is_an_error_where_something_is_required(state: State, level: Level) -> None:
    results = [of_k(State.NOTHING_REQUIRED), of_k(state)]
    [identifier] = [
        each for each in facts_of(*results, exposed=("name",)).findings() if each.rule == "direct-identifier"
    ]
    assert (identifier.title, identifier.level) == ("direct identifier", level)
    assert Caution(identifier.message).text == "column name is a direct identifier, and it is in the table"
    assert "`anonymize release`" in Caution(identifier.message).remedy


@pytest.mark.parametrize("no_regress", [False, True])
def test_what_is_worse_is_an_error_where_nothing_may_be(no_regress: bool) -> None:
    changes = (
        BaselineChange("risk marketer", 0.5, 0.25, worse=False),
        BaselineChange("risk uniques", 0, 1, worse=True),
    )
    facts = facts_of(baseline="old.json", changes=changes, no_regress=no_regress)
    finding = facts.findings()[0]
    assert (finding.title, finding.message) == ("risk uniques", "risk uniques is 1, and was 0")
    assert finding.level == ("error" if no_regress else "warning")
    report = facts.report()
    first, worse = report["warnings"]
    assert (first, worse.text) == (NOTHING_ASKED, "worse than in the baseline: risk uniques is 1, and was 0")
    assert report["baseline"]["path"] == "old.json" and len(report["baseline"]["changes"]) == 2
    assert facts.state is (State.UNMET if no_regress else State.NOTHING_REQUIRED)
    assert "baseline" not in facts_of().report() and facts_of(no_regress=True).state is State.MET


@pytest.mark.parametrize("alone", [0.0, 0.5])
def test_what_a_file_asks_for_is_found_in_its_lines(tmp_path: Path, alone: float) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    spec = load(tmp_path / "spec.yaml", PARAMETERS)
    passing = PassingFigures(("w",), 9, RowShares(alone, alone, alone), bounds={"uniques": 0.1})
    anonymous, passed, *_ = facts_of(
        of_k(State.MET), spec=spec, passing=passing, requirements=requirements(spec)
    ).findings()
    assert [(each.file, each.line) for each in (anonymous, passed)] == [(str(spec.path), 5), (str(spec.path), 6)]
    reached = "passing (uniques=0.1) is met: uniques=0"
    assert passed.message == (str(passing.results[0]) if alone else reached) and passed.level == (
        "error" if alone else "pass"
    )


def test_options_that_ask_for_something_have_no_lines() -> None:
    spec = make(
        {"version": 1, "quasi_identifiers": ["q"], "privacy": {"k": 2, "passing": {"uniques": 0.1}}}, PARAMETERS
    )
    passing = PassingFigures(("w",), 9, bounds={"uniques": 0.1})
    findings = facts_of(of_k(State.MET), spec=spec, passing=passing, requirements=requirements(spec)).findings()
    assert [(each.file, each.line) for each in findings] == [(None, None)] * 2
