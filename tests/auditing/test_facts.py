"""What an audit says of figures that were made up."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from anonymize.auditing.facts import PASSING, AuditFacts, BaselineChange, compare, figures
from anonymize.claims import Basis, State
from anonymize.errors import Caution, UsageError
from anonymize.formats import Level
from anonymize.privacy import MODELS, PARAMETERS, Groups, Limit, Model, requirements
from anonymize.privacy.base import Parameters
from anonymize.spec import Spec, load, make
from anonymize.verify import Result, Verdict
from anonymize.verify.kept import PassingFigures, RowShares
from anonymize.verify.risk import GIVEN, WORSE
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


# --- baseline ---------------------------------------------------------------------------------------------------------


class Sameness(Parameters):
    sameness: float = Field(gt=0, le=1, description="probability that two draws from a class are the same value")


def measure(groups: Groups, attribute: str | None, parameters: Any) -> Any:
    histogram = groups.of(attribute)
    return histogram.sum(histogram.shares() ** 2)


TOY = Model(id="toy", parameters=Sameness, measure=measure, limits=(Limit("sameness", "at most"),), diverse=True)
KNOWN = {**MODELS, TOY.id: TOY}


def report(*results: dict[str, Any], **risk: Any) -> dict[str, Any]:
    return {"privacy": {"models": list(results)}, "risk": dict.fromkeys(WORSE, 0) | {GIVEN: 0.2} | risk}


def result(model: str, attribute: str | None = None, **achieved: Any) -> dict[str, Any]:
    return {"model": model, "attribute": attribute, "required": {}, "achieved": achieved}


def test_a_figure_of_a_new_model_that_rose_is_worse() -> None:
    before, now = (report(result("toy", "s", sameness=figure)) for figure in (0.25, 0.625))
    assert compare(before, now, KNOWN) == [BaselineChange("toy sameness of s", 0.25, 0.625, worse=True)]
    assert compare(now, before, KNOWN) == [BaselineChange("toy sameness of s", 0.625, 0.25, worse=False)]


@pytest.mark.parametrize(
    "unknown",
    [
        report(result("toy", "s", sameness=0.25)),
        report(result("k-anonymity", k=3, surprise=2)),
        report(result("k-anonymity", k=3, surprise="two")),
        report(surprise=0.5),
        report(surprise=None),
    ],
)
def test_a_figure_of_which_no_direction_is_known_is_an_error(unknown: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"(sameness|surprise) cannot be compared: it is not known which way"):
        compare(unknown, unknown)


@pytest.mark.parametrize("model", MODELS)
def test_every_parameter_of_every_model_has_its_direction(model: str) -> None:
    for limit in MODELS[model].limits:
        lower, higher = (report(result(model, "s", **{limit.parameter: figure})) for figure in (1, 2))
        (change,) = compare(lower, higher)
        assert change.worse == (limit.comparison != "at least")


def test_what_has_no_bound_is_the_worst_there_is() -> None:
    bounded, unbounded = (report(result("t-closeness", "s", t=t, distance="equal")) for t in (0.5, None))
    (change,) = compare(bounded, unbounded)
    assert change.worse and str(change) == "t-closeness t of s (distance=equal) is none, and was 0.5"
    assert compare(unbounded, unbounded) == []


def test_of_what_is_better_the_more_there_is_of_it_none_is_the_least() -> None:
    known, none = (report(result("entropy-l-diversity", "s", l=figure)) for figure in (1.5, None))
    assert [(change.worse, change.now) for change in compare(known, none)] == [(True, None)]
    assert [change.worse for change in compare(none, known)] == [False]


def test_figures_that_differ_by_rounding_are_the_same() -> None:
    name = next(iter(WORSE))
    assert compare(report(**{name: 0.1 + 0.2}), report(**{name: 0.3})) == []
    assert compare(report(**{name: 0.0}), report(**{name: 1e-15})) == []
    assert [change.worse for change in compare(report(**{name: 0.3}), report(**{name: 0.3001}))] == [True]


@pytest.mark.parametrize("figure", ["2", True, float("nan"), float("inf")])
def test_a_figure_that_is_no_number_is_not_compared(figure: Any) -> None:
    with pytest.raises(ValueError, match="a figure is not a number"):
        figures(report(result("k-anonymity", k=figure)))


@pytest.mark.parametrize("name", WORSE)
def test_a_risk_that_rises_is_worse(name: str) -> None:
    (change,) = compare(report(**{name: 0.25}), report(**{name: 0.625}))
    assert change.worse
    assert change.figure == f"risk {name}" + (f" ({GIVEN}=0.2)" if name == "records_at_risk" else "")


def test_blocks_of_further_risks_are_not_compared() -> None:
    assert compare(report(sample={"expected": 1}, subsets=[1]), report(sample={"expected": 2})) == []


def test_figures_for_different_ranks_are_different_figures() -> None:
    before, now = (report(result("recursive-cl-diversity", "s", c=2, l=rank)) for rank in (2, 3))
    with pytest.raises(UsageError, match=r"recursive-cl-diversity c of s \(l=2\) is in the baseline"):
        compare(before, now)


def test_a_risk_among_a_population_is_not_that_among_the_rows() -> None:
    """The block `risk` has the figure among the rows, under the same name."""
    before, now = (
        report(result("risk", journalist_max=figure) | {"required": {"population": "people.csv"}}, journalist_max=0.5)
        for figure in (0.1, 0.4)
    )
    (change,) = compare(before, now)
    assert change.worse and (change.was, change.now) == (0.1, 0.4)


def test_a_report_without_a_risk_is_not_a_report() -> None:
    with pytest.raises(LookupError):
        figures({"privacy": {"models": []}})


def test_a_report_without_classes_has_no_risk_by_them() -> None:
    """That of a randomized release, where other figures of the risk are still compared."""
    own = {name: report(**{"passing": dict.fromkeys(PASSING, 0.5)})["risk"][name] for name in ("passing",)}
    found = figures({"privacy": {"models": []}, "risk": own})
    assert {figure.source for figure in found} == {"passing"}
    with pytest.raises(LookupError):
        figures({"privacy": {"models": []}, "risk": own, "classes": {"count": 1}})


def test_the_registries_name_what_is_compared() -> None:
    assert all(model.limits for model in MODELS.values())
    assert TOY.id not in MODELS


def test_what_passes_through_is_compared() -> None:
    def with_passing(share: float) -> dict[str, Any]:
        return report(passing={"columns": ["w"], "smallest": []} | dict.fromkeys(PASSING, share))

    worse = compare(with_passing(0.1), with_passing(0.2))
    assert [str(change) for change in worse if change.worse] == [
        f"passing {name} is 0.2, and was 0.1" for name in PASSING
    ]
    assert not any(change.worse for change in compare(with_passing(0.2), with_passing(0.1)))
    assert compare(report(), with_passing(1)) == []  # of an older report nothing is known


@pytest.mark.parametrize(
    ("model", "parameter", "was", "now"),
    [
        ("levels", "min", 2, 1),
        ("levels", "max", 1, 2),
        ("rare", "below", 20, 5),
        ("k-anonymity of a combination", "k", 5, 4),
    ],
)
def test_what_is_declared_of_columns_has_its_direction(model: str, parameter: str, was: int, now: int) -> None:
    before, after = (report(result(model, "x", **{parameter: value})) for value in (was, now))
    assert [each.worse for each in compare(before, after)] == [True]
    assert [each.worse for each in compare(after, before)] == [False]


def test_a_code_is_kept_or_not_and_gets_no_worse() -> None:
    before, after = (report(result("top", "age", top=value)) for value in (90, 80))
    assert compare(before, after) == []
