"""What an engine lacks is declared, named with its reason, and refused before anything is read."""

from dataclasses import fields
from typing import Any

import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spark.capabilities import (
    ACCEPTED,
    AUDIT,
    DISTORTION,
    LACKS,
    REASONS,
    RECODE,
    RELEASE,
    EngineUse,
    lacking,
    refuse,
)
from anonymize.spec import make

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}},
    "sensitive": {"ill": {}},
    "identifiers": ["name"],
    "privacy": {"k": 5},
}


def request_of(changed: dict[str, Any], algorithm: str = "mondrian", **given: Any) -> Request:
    """A release by an algorithm; `given`: its options, and those of the request."""
    names = {each.name for each in fields(Request)}
    options = {name: value for name, value in given.items() if name not in names}
    others = {name: value for name, value in given.items() if name in names}
    return Request(make({**SPEC, **changed}, PARAMETERS), algorithm, ALGORITHMS[algorithm].Options(**options), **others)


def features(changed: dict[str, Any], algorithm: str = "mondrian", **given: Any) -> list[str]:
    """What a release wants and an engine lacks."""
    return [feature for feature, _ in lacking(EngineUse.of_request(request_of(changed, algorithm, **given)))]


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_every_algorithm_says_how_an_engine_has_it_or_why_it_has_not(name: str) -> None:
    needs = ALGORITHMS[name].NEEDS
    assert [needs.counted, needs.parted, bool(needs.alone)].count(True) == 1


@pytest.mark.parametrize("road", [RELEASE, DISTORTION])
def test_every_option_of_a_release_is_accepted_or_has_a_reason(road: str) -> None:
    others = {each.name for each in fields(Request)} - {"spec", "algorithm", "options"}
    assert others <= ACCEPTED[road] | REASONS.keys()
    assert ACCEPTED[road] <= others


def test_an_option_that_nobody_has_thought_of_is_refused() -> None:
    """As one is that a command gets later."""
    for road in (RELEASE, DISTORTION, AUDIT, RECODE):
        with pytest.raises(UsageError, match="--novelty: not on an engine"):
            refuse(EngineUse(road, given={"novelty": 0}))
        refuse(EngineUse(road, given={"novelty": None, "force": True}))


@pytest.mark.parametrize("name", ["mondrian", "top-down", "release", "incognito", "samarati"])
def test_targets_that_are_not_counted_are_refused(name: str) -> None:
    """Mondrian takes a rule that follows the targets on one machine: another release."""
    assert features({"workload": {"targets": ["job"]}}, name) == ["workload"]
    assert features({}, name) == []


def test_targets_that_are_counted() -> None:
    assert features({"workload": {"targets": ["job"]}}, "tds") == []


WANTED: list[tuple[dict[str, Any], str]] = [
    ({"unit": "name", "identifiers": []}, "unit"),
    ({"sampling_weight": "name", "identifiers": []}, "sampling_weight"),
    ({"privacy": {"k": 5, "missing": "wildcard"}}, "privacy.missing: wildcard"),
    ({"output": {"row_order": "keep"}}, "output.row_order: keep"),
    ({"output": {"numeric": "median"}}, "output.numeric: median"),
    ({"output": {"categorical": "bounds"}}, "output.categorical: bounds"),
    ({"output": {"suppressed_rows": "drop"}}, "output.suppressed_rows: drop"),
    ({"output": {"suppressed": None}}, "output.suppressed: null"),
    ({"weights": "correlation"}, "weights: correlation"),
    ({"risk": {"attacks": ["prosecutor"]}}, "risk: attacks"),
    ({"treatments": [{"columns": ["ill"], "method": "random-swap"}]}, "treatments"),
    ({"privacy": {"models": [{"model": "k-map", "k": 2, "population": "p.csv"}]}}, "a population"),
    (
        {"quasi_identifiers": {"age": {"levels": {"max": 1}, "hierarchy": {"intervals": [5, 10]}, "type": "numeric"}}},
        "levels.max",
    ),
    (
        {"quasi_identifiers": {"job": {"hierarchy": {"rare": {"below": 20, "label": "Other"}}}}},
        "hierarchy: rare",
    ),
]


@pytest.mark.parametrize(("changed", "feature"), WANTED)
def test_what_a_spec_asks_for(changed: dict[str, Any], feature: str) -> None:
    assert features(changed) == [feature]


def test_all_of_it_is_said_at_once_with_the_reasons() -> None:
    request = request_of({"output": {"row_order": "keep"}}, mask_minimality=True, save_link="link.csv", seed=3)
    with pytest.raises(UsageError) as raised:
        refuse(EngineUse.of_request(request))
    messages = [each.message for each in raised.value.problems]
    assert [each.partition(":")[0] for each in messages] == ["--mask-minimality", "--save-link", "output.row_order"]
    assert messages[-1].endswith("not on an engine: a DataFrame has no order")


@pytest.mark.parametrize("cut", ["infogain", "selection"])
def test_rules_that_counts_do_not_feed(cut: str) -> None:
    assert features({}, cut=cut) == [f"--cut {cut}"]
    assert features({}, cut="widest") == []


def test_a_seed_without_a_draw() -> None:
    with pytest.raises(UsageError, match="nothing is drawn at random"):
        refuse(EngineUse.of_request(request_of({}, seed=0)))
    refuse(EngineUse.of_request(request_of({}, "top-down", seed=0)))
    random = {"privacy": {"l": 2}}
    assert features(random, "randomize", seed=0) == ["--seed"] and features(random, "randomize") == []


def test_features_are_named_once() -> None:
    names = [each.feature for each in LACKS]
    assert len(set(names)) == len(names) and all(each.roads for each in LACKS)
