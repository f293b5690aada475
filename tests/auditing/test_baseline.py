"""Two reports, compared."""

from typing import Any

import pytest
from pydantic import Field

from anonymize.auditing.baseline import PASSING, BaselineChange, compare, figures
from anonymize.errors import UsageError
from anonymize.privacy import ALL, MODELS, ClassModel, Groups, Limit
from anonymize.privacy.base import Parameters
from anonymize.verify.risk import GIVEN, WORSE


class Sameness(Parameters):
    sameness: float = Field(gt=0, le=1, description="probability that two draws from a class are the same value")


def measure(groups: Groups, attribute: str | None, parameters: Any) -> Any:
    histogram = groups.of(attribute)
    return histogram.sum(histogram.shares() ** 2)


TOY = ClassModel(id="toy", parameters=Sameness, measure=measure, limits=(Limit("sameness", "at most"),), diverse=True)
KNOWN = {**ALL, TOY.id: TOY}


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


@pytest.mark.parametrize("model", ALL)
def test_every_parameter_of_every_model_has_its_direction(model: str) -> None:
    for limit in ALL[model].limits:
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
    assert all(model.limits for model in ALL.values())
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
