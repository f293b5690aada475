"""The recommended algorithm: what is chosen, why, and that it never loses more than Mondrian."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, recommended
from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make

ROWS = 200
OLD = {"age": {"from": 65, "to": 90}}
UNDER_L: dict[str, Any] = {
    "insensitive": [],
    "sensitive": ["ill"],
    "privacy": {"k": 5, "models": [{"model": "distinct-l-diversity", "l": 2}]},
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 rows of skewed numbers and categories."""
    rng, path = np.random.default_rng(3), tmp_path_factory.mktemp("people") / "people.csv"
    columns = [
        rng.integers(18, 90, ROWS),
        (rng.exponential(20_000, ROWS)).astype(int),
        rng.choice(list("abcdefg"), ROWS, p=[0.4, 0.2, 0.15, 0.1, 0.05, 0.05, 0.05]),
        rng.choice(["flu", "cold", "ulcer"], ROWS),
    ]
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(["age,income,job,ill", *lines]) + "\n")
    return path


def spec_of(path: Path, **more: Any) -> Any:
    quasi = {"age": {"type": "numeric"}, "income": {"type": "numeric"}, "job": {}}
    content = {"input": {"path": str(path)}, "quasi_identifiers": quasi, "insensitive": ["ill"], "privacy": {"k": 5}}
    return make({"version": 1, **content, **more}, PARAMETERS)


KEPT: dict[str, tuple[bytes, dict[str, Any]]] = {}
"""What was made before, by all that it was made from: several tests read the same release."""


def made(people: Path, folder: Path, algorithm: str = "release", **given: Any) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a release, and its report. `given`: options of the algorithm, of the spec, of the request."""
    key = repr((people, algorithm, recommended.TRIAL_ROWS, sorted(({"threads": 1} | given).items())))
    if key not in KEPT:
        KEPT[key] = anew(people, folder, algorithm, **given)
    return KEPT[key]


def anew(people: Path, folder: Path, algorithm: str, **given: Any) -> tuple[bytes, dict[str, Any]]:
    options = ALGORITHMS[algorithm].Options(**given.pop("options", {}))
    asked = {"public": given.pop("public", False), "threads": given.pop("threads", 1)}
    out, report = folder / "out.csv", folder / "report.json"
    request = Request(
        spec_of(people, **given), algorithm, options, output=str(out), reports=[str(report)], force=True, **asked
    )
    release(request)
    return out.read_bytes(), json.loads(report.read_text())


def test_the_best_of_the_trial_is_released_and_loses_less_than_mondrian(people: Path, tmp_path: Path) -> None:
    tight: dict[str, Any] = {"output": {"edges": "tight"}}
    _, mondrian = made(people, tmp_path, "mondrian", **tight)
    _, report = made(people, tmp_path, options={"effort": "high"}, **tight)
    choice = report["algorithm"]["recommended"]
    losses = choice["trial"]["loss"]
    assert set(losses) == {"mondrian", "top-down", "bottom-up"}
    assert choice["algorithm"] == min(losses, key=lambda name: losses[name])
    assert report["utility"]["gcp"] < mondrian["utility"]["gcp"] == pytest.approx(choice["gcp_of_mondrian"])
    # the weights are all 1, and the table is its own sample: its loss in the trial is that of the release
    assert report["utility"]["gcp"] == pytest.approx(losses[choice["algorithm"]], abs=0.02)


@pytest.mark.parametrize("effort", ["low", "normal"])
def test_the_same_bytes_at_every_run_and_number_of_threads(people: Path, tmp_path: Path, effort: str) -> None:
    assert len({made(people, tmp_path, threads=threads, options={"effort": effort})[0] for threads in (1, 3)}) == 1


@pytest.mark.parametrize(("more", "efforts"), [({}, (0, "low", "normal", "high")), (UNDER_L, (0, "low", "normal"))])
def test_more_effort_loses_less(people: Path, tmp_path: Path, more: dict[str, Any], efforts: tuple[Any, ...]) -> None:
    losses = [made(people, tmp_path, options={"effort": each}, **more)[1]["utility"]["gcp"] for each in efforts]
    assert losses == sorted(losses, reverse=True) and len(set(losses)) == len(efforts)


def test_normal_is_the_default_and_high_is_once_the_budget(people: Path, tmp_path: Path) -> None:
    assert made(people, tmp_path)[0] == made(people, tmp_path, options={"effort": "normal"})[0]
    by_name, _ = made(people, tmp_path, options={"effort": "high"}, threads=1)
    assert by_name == made(people, tmp_path, options={"effort": 1.0}, threads=3)[0]


def test_low_is_a_unit_of_work_and_normal_ends_where_it_does_not_pay(people: Path, tmp_path: Path) -> None:
    low, normal = (
        made(people, tmp_path, options={"effort": effort})[1]["recoding"]["refinement"] for effort in ("low", "normal")
    )
    assert 0 < low["work"] <= 1 < normal["work"] < 15
    assert low["passes"] < normal["passes"] < 60


def test_where_nothing_is_lost_it_is_mondrian(tmp_path: Path) -> None:
    table = tmp_path / "pairs.csv"
    table.write_text("age,income,job,ill\n" + "".join(f"{n // 10},1,a,flu\n" for n in range(60)))
    _, report = made(table, tmp_path)
    assert report["utility"]["gcp"] == 0
    assert report["algorithm"]["recommended"]["reason"] == "no quasi-identifier is generalized"
    assert "refinement" not in report["recoding"]


def test_one_column_of_numbers_is_cut_where_least_is_lost(people: Path, tmp_path: Path) -> None:
    """At least as good as all passes from other starts, and at once."""
    quasi = {"income": {"type": "numeric"}}
    asked: dict[str, Any] = {"quasi_identifiers": quasi, "insensitive": ["ill", "age", "job"]}
    low, high = (made(people, tmp_path, options={"effort": effort}, **asked)[1] for effort in ("low", "high"))
    assert low["utility"]["gcp"] <= high["utility"]["gcp"] + 1e-12
    assert "in the order of their numbers" in low["algorithm"]["recommended"]["reason"]


def test_other_starts_are_tried_where_refining_mondrian_does_not_pay(tmp_path: Path) -> None:
    """Mondrian keeps the rows of a year together, so that years of fewer than 300 people join others; and no row of
    such a class finds a better one."""
    rng, table = np.random.default_rng(7), tmp_path / "persons.csv"
    years = rng.choice([1977, 1978, 1979, 1980, 1981], 1_500, p=[0.02, 0.05, 0.4, 0.5, 0.03])
    rows = [f"{person},{year},flu" for person, year in enumerate(years) for _ in range(1 + person % 3)]
    table.write_text("\n".join(["id,year,ill", *rows]) + "\n")
    asked: dict[str, Any] = {"unit": "id", "quasi_identifiers": {"year": {"type": "numeric"}}, "privacy": {"k": 300}}
    asked["output"] = {"edges": "tight"}
    _, first = made(table, tmp_path, "mondrian", **asked)
    _, report = made(table, tmp_path, **asked)
    assert set(report["algorithm"]["recommended"]["trial"]["loss"]) == {"mondrian", "top-down", "bottom-up"}
    assert 0 < report["utility"]["gcp"] < 0.6 * first["utility"]["gcp"]


@pytest.mark.parametrize("effort", ["most", -1, np.nan])
def test_an_effort_that_there_is_not_is_refused(people: Path, tmp_path: Path, effort: Any) -> None:
    with pytest.raises(UsageError, match="--effort has to be one of low, normal, high or a number at least 0"):
        made(people, tmp_path, options={"effort": effort})


@pytest.mark.parametrize(
    "workload",
    [{"targets": ["ill"]}, {"selections": [OLD]}, {"targets": ["ill"], "selections": [OLD]}],
)
def test_a_workload_gets_the_release_of_mondrian(people: Path, tmp_path: Path, workload: dict[str, Any]) -> None:
    released, report = made(people, tmp_path, workload=workload)
    assert report["algorithm"]["recommended"]["algorithm"] == "mondrian"
    assert "workload" in report["algorithm"]["recommended"]["reason"]
    assert released == made(people, tmp_path, "mondrian", workload=workload)[0]


@pytest.mark.parametrize("options", [{"local": False}, {"effort": 0.0}])
def test_without_budget_or_to_be_saved_it_is_mondrian(people: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    assert made(people, tmp_path, options=options)[0] == made(people, tmp_path, "mondrian")[0]


def test_weights_never_make_the_unweighted_loss_higher(people: Path, tmp_path: Path) -> None:
    """A weight of 30 on one attribute makes the refined classes lose more of the others."""
    quasi = {"age": {"type": "numeric", "weight": 30}, "income": {"type": "numeric"}, "job": {}}
    _, mondrian = made(people, tmp_path, "mondrian", quasi_identifiers=quasi)
    _, report = made(people, tmp_path, quasi_identifiers=quasi)
    assert report["utility"]["gcp"] <= mondrian["utility"]["gcp"]


def test_a_small_budget_refines_the_classes_that_lose_most(people: Path, tmp_path: Path) -> None:
    """0.00012 of the budget are 300 of the table's 600 cells: half a pass."""
    _, mondrian = made(people, tmp_path, "mondrian")
    _, report = made(people, tmp_path, options={"effort": 0.00012})
    refinement = report["recoding"]["refinement"]
    assert 0 < refinement["rows"] <= ROWS / 2
    assert "trial" not in report["algorithm"]["recommended"]
    assert report["utility"]["gcp"] < mondrian["utility"]["gcp"]


def test_other_models_hold_in_a_partial_refinement(people: Path, tmp_path: Path) -> None:
    """Distributions are compared with those of all rows, not of the refined ones."""
    privacy = {"k": 5, "models": [{"model": "t-closeness", "t": 0.2}]}
    more: dict[str, Any] = {"insensitive": [], "sensitive": ["ill"], "privacy": privacy}
    _, report = made(people, tmp_path, options={"effort": 0.00012}, **more)
    assert report["privacy"]["satisfied"]
    assert report["recoding"]["refinement"]["rows"]


def test_all_rows_are_the_trial_while_there_are_passes_enough(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 rows get 30 passes, of which a share of 0.17 is five, and one of 0.13 three; a sample has 100 rows here."""
    monkeypatch.setattr(recommended, "TRIAL_ROWS", 100)
    reports = [made(people, tmp_path, options={"effort": effort}, **UNDER_L)[1] for effort in (0.17, 0.13)]
    tried = [report["algorithm"]["recommended"]["trial"]["rows"] for report in reports]
    assert tried == [ROWS, ROWS // 2]


def test_it_is_what_bottom_up_releases_where_both_refine_all_rows(people: Path, tmp_path: Path) -> None:
    _, bottom_up = made(people, tmp_path, "bottom-up")
    _, report = made(people, tmp_path, options={"effort": "high"})
    assert report["utility"]["gcp"] == pytest.approx(bottom_up["utility"]["gcp"], abs=1e-12)


def test_a_public_report_does_not_say_what_was_chosen(people: Path, tmp_path: Path) -> None:
    _, report = made(people, tmp_path, public=True)
    assert report["algorithm"]["name"] == "release"
    assert "recommended" not in report["algorithm"]


def test_a_time_limit_ends_it(people: Path, tmp_path: Path) -> None:
    _, mondrian = made(people, tmp_path, "mondrian")
    _, report = made(people, tmp_path, options={"time_limit": 1e-9})
    assert report["utility"]["gcp"] == mondrian["utility"]["gcp"]
