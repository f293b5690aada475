"""The game in which attacks are allowed, from a spec to the check of the file, on classes counted by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import anonymize
from anonymize.errors import InfeasibleError, SpecError, UsageError

JOBS = {"cook": "food", "baker": "food", "nurse": "health", "medic": "health"}
ROWS = ["30,cook", "30,cook", "30,baker", "30,nurse", "40,nurse", "40,medic", "40,medic", "40,medic"]
GAME = {"model": "profitability", "attacker_gain": 300, "attacker_cost": 4, "allow_attack": True}
"""Ages are two values and jobs four: eight combinations, of which a class of one keeps all, one of two 2/3."""


def spec(folder: Path, benefit: float, loss: float, suppression: float = 0, **changes: Any) -> anonymize.Spec:
    (folder / "table.csv").write_text("age,job\n" + "\n".join(ROWS) + "\n")
    (folder / "jobs.csv").write_text("".join(f"{job};{kind};*\n" for job, kind in JOBS.items()))
    model = GAME | {"publisher_benefit": benefit, "publisher_loss": loss}
    values = {
        "version": 1,
        "input": {"path": str(folder / "table.csv")},
        "quasi_identifiers": {"age": {}, "job": {"hierarchy": str(folder / "jobs.csv")}},
        "privacy": {"models": [model], "suppression": suppression},
    }
    return anonymize.Spec(values | changes)


def release(given: anonymize.Spec, algorithm: str, **options: Any) -> Any:
    return anonymize.release(str(given.model.input.path), given, algorithm=algorithm, **options)


def shown(released: Any) -> list[tuple[str, ...]]:
    return sorted(map(tuple, released.frame.rows()))


def test_what_the_publisher_can_afford_is_released_as_it_is(tmp_path: Path) -> None:
    released = release(spec(tmp_path, 100, 100), "incognito")
    assert shown(released) == sorted(tuple(row.split(",")) for row in ROWS)
    (model,) = released.report["privacy"]["models"]
    assert model["satisfied"] and model["achieved"]["attacker_cost"] == 0 and model["basis"] == "measured"


@pytest.mark.parametrize(("suppression", "options"), [(0, {}), (0.5, {"metric": "publisher-payout"})])
def test_a_row_that_costs_more_than_it_is_worth_is_not(
    tmp_path: Path, suppression: float, options: dict[str, Any]
) -> None:
    """At a loss of 130 a row alone costs more than all that it is worth; classes of four rows lose 32.5, and keep a
    third of 100 where they show four combinations. What is suppressed is left out."""
    released = release(spec(tmp_path, 100, 130, suppression), "incognito", **options)
    groups = {row: shown(released).count(row) for row in shown(released)}
    assert min(groups.values()) > 1 and sum(groups.values()) == released.report["output"]["rows"]
    for (age, job), size in groups.items():
        leaves = (2 if age == "*" else 1) * {"food": 2, "health": 2, "*": 4}.get(job, 1)
        assert 100 * (1 - math.log(leaves) / math.log(8)) >= 130 / size


def test_a_publisher_who_loses_more_than_everything_is_worth(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match="profitability"):
        release(spec(tmp_path, 10, 10_000), "incognito")


def test_the_search_for_the_best_payout(tmp_path: Path) -> None:
    """The table as it is gives up what is lost by attacks on its classes, 100 for each; there is none better."""
    released = release(spec(tmp_path, 100, 100), "incognito", metric="publisher-payout")
    assert released.report["recoding"]["score"] == pytest.approx(100 * 5)
    local = release(spec(tmp_path, 100, 130, 0.5), "incognito", metric="publisher-payout", iterate=True)
    assert local.report["privacy"]["satisfied"]


def test_a_release_without_its_input_cannot_be_judged(tmp_path: Path) -> None:
    given = spec(tmp_path, 100, 100)
    released = release(given, "incognito")
    (model,) = anonymize.audit(released.frame, given).report["privacy"]["models"]
    assert model["satisfied"] is None and "which are not at hand" in str(model)


@pytest.mark.parametrize("algorithm", ["mondrian", "bottom-up", "top-down", "k-optimize"])
def test_searches_that_merge_classes_refuse_it(tmp_path: Path, algorithm: str) -> None:
    with pytest.raises(UsageError, match="merged classes may not keep"):
        release(spec(tmp_path, 100, 100), algorithm)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": {"categorical": "set"}}, "values cannot be looked up where output.categorical is set"),
        ({"quasi_identifiers": {"age": {"type": "numeric", "round": 10}, "job": {}}}, "those of age are rounded"),
        ({"quasi_identifiers": {"age": {"type": "numeric", "top": 35}, "job": {}}}, "those of age are rounded"),
    ],
)
def test_what_hides_values_from_the_count_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        release(spec(tmp_path, 100, 100, **changes), "incognito")


@pytest.mark.parametrize("missing", ["publisher_benefit", "publisher_loss"])
def test_both_sums_of_the_publisher_are_needed(missing: str) -> None:
    model = GAME | {"publisher_benefit": 1, "publisher_loss": 1}
    del model[missing]
    with pytest.raises(SpecError, match="allow_attack needs publisher_benefit and publisher_loss"):
        anonymize.Spec({"version": 1, "quasi_identifiers": {"age": {}}, "privacy": {"models": [model]}})
