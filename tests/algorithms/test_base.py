"""What algorithms declare of their options and needs, and what is made of it."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anonymize._release import release
from anonymize.algorithms import (
    ALGORITHMS,
    Algorithm,
    Needs,
    anatomy,
    bottom_up,
    bug,
    datafly,
    draws,
    incognito,
    k_optimize,
    mingen,
    mondrian,
    mu_argus,
    perturb,
    randomize,
    recommended,
    research_value,
    safepub,
    samarati,
    synthesize,
    tds,
    top_down,
    without_effect,
    wrong_values,
)
from anonymize.algorithms.base import Family, OptionRange, Registry, option
from anonymize.errors import UsageError
from anonymize.families.checks import check_needs
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import Spec, make

PLAIN = {"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}}, "privacy": {"k": 2}}


def spec(**more: Any) -> Spec:
    return make({**PLAIN, **more}, PARAMETERS)


def request(algorithm: str, options: dict[str, Any], **more: Any) -> Request:
    targets = spec(insensitive=["goal"], workload={"targets": ["goal"]}, sensitive={"ill": {}})
    return Request(targets, algorithm, ALGORITHMS[algorithm].Options(**options), **more)


# --- ranges and choices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "text", "inside", "outside"),
    [
        (OptionRange(0), "at least 0", [0, 0.5, 7, 10**400], [-1, -1e-9, math.inf, math.nan]),
        (OptionRange(0, 1), "from 0 to 1", [0, 0.5, 1], [-0.1, 1.1, math.nan]),
        (OptionRange(0, 1, min_open=True), "above 0 and at most 1", [1e-9, 1], [0, 1.1]),
        (OptionRange(0, 1, min_open=True, max_open=True), "above 0 and below 1", [0.5], [0, 1]),
        (OptionRange(2, 3, max_open=True), "at least 2 and below 3", [2, 2.9], [1.9, 3]),
        (OptionRange(None, 5), "at most 5", [-7, 5], [5.1, -math.inf]),
    ],
)
def test_ranges(numbers: OptionRange, text: str, inside: list[float], outside: list[float]) -> None:
    assert str(numbers) == text
    assert [number in numbers for number in inside] == [True] * len(inside)
    assert [number in numbers for number in outside] == [False] * len(outside)


@pytest.mark.parametrize(
    ("algorithm", "options", "message"),
    [
        ("mondrian", {"passes": -1}, "--passes has to be at least 0"),
        ("mondrian", {"time_limit": math.nan, "refine": True}, "--time-limit has to be at least 0"),
        ("mondrian", {"time_limit": math.inf, "refine": True}, "--time-limit has to be at least 0"),
        ("mondrian", {"cut": "magic"}, "--cut has to be one of auto, "),
        ("bottom-up", {"passes": -1}, "--passes has to be at least 0"),
        ("top-down", {"rounds": 0}, "--rounds has to be at least 1"),
        ("k-optimize", {"level": -1}, "--level has to be at least 0"),
        ("k-optimize", {"work": -1}, "--work has to be at least 0"),
        ("k-optimize", {"time_limit": -0.5}, "--time-limit has to be at least 0"),
        ("incognito", {"gs_factor": 1.5}, "--gs-factor has to be from 0 to 1"),
        ("incognito", {"gs_factor": -0.1}, "--gs-factor has to be from 0 to 1"),
        ("incognito", {"round_share": 0.0}, "--round-share has to be above 0 and at most 1"),
        ("incognito", {"round_share": 2.0}, "--round-share has to be above 0 and at most 1"),
        ("incognito", {"time_limit": -1.0}, "--time-limit has to be at least 0"),
        ("research-value", {"memory_limit": 0}, "--memory-limit has to be at least 1"),
    ],
)
def test_a_request_by_hand_is_held_to_the_ranges(algorithm: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        release(request(algorithm, options))


def test_all_wrong_values_are_named_at_once() -> None:
    options = ALGORITHMS["incognito"].Options(metric="none", gs_factor=2.0, round_share=-1.0)
    assert [message.partition(" ")[0] for message in wrong_values(options)] == [
        "--metric",
        "--gs-factor",
        "--round-share",
    ]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_defaults_are_among_their_choices_and_in_their_range(name: str) -> None:
    options = ALGORITHMS[name].Options()
    assert wrong_values(options) == []
    assert list(without_effect(options)) == []


@pytest.mark.parametrize("name", ALGORITHMS)
def test_options_depend_on_options_that_there_are(name: str) -> None:
    known = {each.name: each for each in fields(ALGORITHMS[name].Options)}
    for each in known.values():
        for other, values in each.metadata["only_with"].items():
            assert other in known and values
            assert set(values) <= set(known[other].metadata["choices"] or values)


# --- options without effect ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "options", "messages"),
    [
        ("mondrian", {"passes": 3}, ["--passes has no effect without --refine"]),
        ("mondrian", {"time_limit": 3.0}, ["--time-limit has no effect without --refine"]),
        ("mondrian", {"passes": 3, "time_limit": 3.0, "refine": True}, []),
        ("top-down", {"passes": 3}, []),
        ("top-down", {"passes": 3, "refine": False}, ["--passes has no effect without --refine"]),
        ("bottom-up", {"time_limit": 1.0, "refine": False}, ["--time-limit has no effect without --refine"]),
        ("mondrian", {"exact": False, "cut": "rate"}, ["--sampled has no effect with --cut rate"]),
        ("mondrian", {"exact": False, "cut": "infogain"}, []),
        ("incognito", {"round_share": 0.5}, ["--round-share has no effect without --iterate"]),
        ("incognito", {"gs_factor": 0.7, "metric": "height"}, ["--gs-factor has no effect with --metric height"]),
        ("incognito", {"aggregate": "max", "metric": "c_avg"}, ["--aggregate has no effect with --metric c_avg"]),
        ("incognito", {"gs_factor": 0.7, "aggregate": "max"}, []),
        ("randomize", {"on": "qi", "p": "age=0.8"}, ["--on has no effect with --p"]),
        ("randomize", {"on": "qi"}, []),
    ],
)
def test_options_without_effect(algorithm: str, options: dict[str, Any], messages: list[str]) -> None:
    cautions = list(without_effect(ALGORITHMS[algorithm].Options(**options)))
    assert [each.text for each in cautions] == messages
    assert all(each.remedy == f"leave out `{each.split()[0]}`" for each in cautions)


def test_an_option_may_have_an_effect_only_without_a_flag() -> None:
    @dataclass(frozen=True)
    class Options:
        fast: bool = option(True, "")
        care: int = option(0, "", only_with={"fast": (False,)})

    assert [each.text for each in without_effect(Options(care=1))] == ["--care has no effect with --fast"]


@pytest.mark.parametrize(
    ("algorithm", "options", "expected"),
    [
        ("mondrian", {}, False),
        ("mondrian", {"refine": True}, True),
        ("bottom-up", {}, True),
        ("bottom-up", {"refine": False}, False),
        ("top-down", {"refine": False}, True),
        ("anatomy", {}, True),
        ("randomize", {}, True),
        ("incognito", {"iterate": True}, False),
        ("k-optimize", {}, False),
    ],
)
def test_which_searches_draw_random_numbers(algorithm: str, options: dict[str, Any], expected: bool) -> None:
    assert draws(ALGORITHMS[algorithm], ALGORITHMS[algorithm].Options(**options)) is expected


# --- needs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [each.name for each in fields(Needs) if isinstance(each.default, bool)])
def test_every_capability_tells_some_algorithms_from_others(name: str) -> None:
    assert {getattr(algorithm.NEEDS, name) for algorithm in ALGORITHMS.values()} == {True, False}


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a registered algorithm that needs everything there is to be needed."""

    @dataclass(frozen=True)
    class Options:
        pass

    needs = Needs(Family("toy"), sensitive=True, target=True, units=True)
    module = SimpleNamespace(ID="toy", Options=Options, NEEDS=needs)
    monkeypatch.setitem(ALGORITHMS, "toy", cast(Algorithm, module))
    return "toy"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({}, "toy needs a sensitive attribute, and the spec names none"),
        ({"sensitive": {"ill": {}}}, "toy needs a target, and the spec names none"),
        ({"insensitive": ["goal"], "workload": {"targets": ["goal"]}}, "toy needs a sensitive attribute"),
    ],
)
def test_what_is_needed_is_asked_for(toy: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        release(Request(spec(**more), toy, ALGORITHMS[toy].Options()))


def test_what_has_all_that_is_needed_passes(toy: str, tmp_path: Path) -> None:
    check_needs(request("mondrian", {}, output=str(tmp_path / "out.csv")))
    check_needs(Request(request("mondrian", {}).spec, toy, ALGORITHMS[toy].Options()))


# --- registry ---------------------------------------------------------------------------------------------------------

MODULES: tuple[Algorithm, ...] = (
    *(recommended, mondrian, top_down, bottom_up, datafly, mu_argus, samarati, mingen, incognito, research_value),
    *(tds, bug, k_optimize, anatomy, randomize, perturb, synthesize, safepub),
)
"""In order; the type checker holds each against the protocol, which it cannot where they are imported by name."""


def test_all_are_there_by_their_ids() -> None:
    assert list(ALGORITHMS) == [module.ID for module in MODULES]
    assert all(ALGORITHMS[module.ID] is module for module in MODULES)


def test_one_is_taken_without_the_others() -> None:
    script = (
        "import sys\nfrom anonymize.algorithms import ALGORITHMS\nassert 'tds' in ALGORITHMS\nALGORITHMS['mondrian']\n"
        "print([name for name in ALGORITHMS if f'anonymize.algorithms.{name}' in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"['mondrian']\n"


def test_what_a_module_lacks_is_named_where_it_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lacking").mkdir()
    (tmp_path / "lacking" / "__init__.py").touch()
    (tmp_path / "lacking" / "module.py").write_text("import a_package_that_is_not_installed\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_installed"):
        Registry("lacking", {"any": "module"})["any"]


def test_a_registry_is_a_mapping_that_takes_more() -> None:
    registry: Registry[Algorithm] = Registry("anonymize.algorithms", {"tds": "tds"})
    registry["toy"] = mondrian
    assert registry["toy"] is mondrian and len(registry) == 2 and registry.get("none") is None
    del registry["tds"]
    assert list(registry) == ["toy"]
    with pytest.raises(KeyError):
        registry["tds"]
