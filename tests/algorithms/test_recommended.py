"""The recommended algorithm: what is chosen, why, and that it never loses more than Mondrian."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.algorithms import ALGORITHMS, recommended
from anonymize.privacy import PARAMETERS
from anonymize.release import release
from anonymize.request import Request
from anonymize.spec import make

ROWS = 200
OLD = {"age": {"from": 65, "to": 90}}


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


def made(people: Path, folder: Path, algorithm: str = "release", **given: Any) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a release, and its report. `given`: options of the algorithm, of the spec, of the request."""
    options = ALGORITHMS[algorithm].Options(**given.pop("options", {}))
    asked = {"public": given.pop("public", False), "threads": given.pop("threads", 1)}
    out, report = folder / "out.csv", folder / "report.json"
    request = Request(
        spec_of(people, **given), algorithm, options, output=str(out), reports=[str(report)], force=True, **asked
    )
    release(request)
    return out.read_bytes(), json.loads(report.read_text())


def test_the_best_of_the_trial_is_released_and_loses_less_than_mondrian(people: Path, tmp_path: Path) -> None:
    _, mondrian = made(people, tmp_path, "mondrian")
    _, report = made(people, tmp_path)
    choice = report["algorithm"]["recommended"]
    losses = choice["trial"]["loss"]
    assert set(losses) == {"mondrian", "top-down", "bottom-up"}
    assert choice["algorithm"] == min(losses, key=lambda name: losses[name])
    assert report["utility"]["gcp"] < mondrian["utility"]["gcp"] == pytest.approx(choice["gcp_of_mondrian"])
    # the weights are all 1, and the table is its own sample: its loss in the trial is that of the release
    assert report["utility"]["gcp"] == pytest.approx(losses[choice["algorithm"]], abs=0.02)


def test_the_same_bytes_at_every_run_and_number_of_threads(people: Path, tmp_path: Path) -> None:
    assert len({made(people, tmp_path, threads=threads)[0] for threads in (1, 3)}) == 1


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


UNDER_L: dict[str, Any] = {
    "insensitive": [],
    "sensitive": ["ill"],
    "privacy": {"k": 5, "models": [{"model": "distinct-l-diversity", "l": 2}]},
}


def test_all_rows_are_the_trial_while_there_are_passes_enough(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 rows get 30 passes, of which a share of 0.17 is five, and one of 0.13 three; a sample has 100 rows here."""
    monkeypatch.setattr(recommended, "TRIAL_ROWS", 100)
    reports = [made(people, tmp_path, options={"effort": effort}, **UNDER_L)[1] for effort in (0.17, 0.13)]
    tried = [report["algorithm"]["recommended"]["trial"]["rows"] for report in reports]
    assert tried == [ROWS, ROWS // 2]


@pytest.mark.parametrize("more", [{}, UNDER_L])
def test_it_is_what_bottom_up_releases_where_both_refine_all_rows(
    people: Path, tmp_path: Path, more: dict[str, Any]
) -> None:
    _, bottom_up = made(people, tmp_path, "bottom-up", **more)
    _, report = made(people, tmp_path, **more)
    assert report["utility"]["gcp"] == pytest.approx(bottom_up["utility"]["gcp"], abs=1e-12)


def test_a_public_report_does_not_say_what_was_chosen(people: Path, tmp_path: Path) -> None:
    _, report = made(people, tmp_path, public=True)
    assert report["algorithm"]["name"] == "release"
    assert "recommended" not in report["algorithm"]


def test_a_time_limit_ends_it(people: Path, tmp_path: Path) -> None:
    _, mondrian = made(people, tmp_path, "mondrian")
    _, report = made(people, tmp_path, options={"time_limit": 1e-9})
    assert report["utility"]["gcp"] == mondrian["utility"]["gcp"]
