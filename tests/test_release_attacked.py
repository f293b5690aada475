"""Attackers that a spec names: they are tried on a release before it takes its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest

from anonymize._attack import Attack, attack
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.attacks import OF_RELEASED
from anonymize.errors import DataError, SpecError, UnsafeError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import Spec, make
from anonymize.spec.blocks import ReleaseAttacker


def _write(path: Path, seed: int) -> None:
    draw = np.random.default_rng(seed)
    ill = draw.choice(["influenza", "gout", "hayfever"], 300, p=[0.5, 0.3, 0.2])
    town = draw.choice(["north", "south"], 300)
    pl.DataFrame({"age": draw.integers(20, 80, 300), "town": town, "illness": ill}).write_csv(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(tmp_path / "table.csv", 0)
    _write(tmp_path / "others.csv", 1)
    return tmp_path


def _spec(folder: Path, risk: dict[str, Any], **privacy: Any) -> Spec:
    content = {
        "version": 1,
        "input": {"path": str(folder / "table.csv")},
        "quasi_identifiers": {"age": {"type": "numeric"}, "town": {}},
        "sensitive": {"illness": {}},
        "privacy": privacy or {"k": 5},
        "risk": risk,
    }
    return make(content, PARAMETERS)


def _release(
    folder: Path, spec: Spec, algorithm: str = "mondrian", options: Any = None, **given: Any
) -> dict[str, Any]:
    chosen = options or ALGORITHMS[algorithm].Options()
    return release(Request(spec, algorithm, chosen, output=str(folder / "released.csv"), **given))


def test_a_control_has_the_notation_of_the_table(folder: Path) -> None:
    for name in ("table.csv", "others.csv"):
        rows = pl.read_csv(folder / name).with_columns(age=pl.col("age").cast(pl.String) + ",5")
        rows.write_csv(folder / name)
    spec = _spec(folder, {"attacks": ["prosecutor"], "max_excess": 0.9, "control": str(folder / "others.csv")})
    age = spec.quasi_identifiers["age"].model_copy(update={"decimal": ","})
    spec = spec.model_copy(update={"quasi_identifiers": {**spec.quasi_identifiers, "age": age}})
    assert _release(folder, spec)["attacks"]["results"]


def test_a_spec_can_name_every_attacker_of_one_release() -> None:
    assert set(get_args(ReleaseAttacker)) == set(OF_RELEASED) - {"composition", "histories"}


def test_attackers_are_tried_before_the_release_takes_its_place(folder: Path) -> None:
    report = _release(folder, _spec(folder, {"attacks": ["prosecutor", "inference-certain"], "max_excess": 0.2}))
    results = {each["attacker"]: each for each in report["attacks"]["results"]}
    assert results["prosecutor"]["targets"] == 300 and 0 < results["prosecutor"]["excess"]["high"] <= 0.2
    assert report["attacks"]["satisfied"] and report["privacy"]["satisfied"]
    assert report["attacks"]["truth"] == "link"
    assert (folder / "released.csv").exists()


def test_a_release_above_the_limit_is_not_written(folder: Path) -> None:
    spec = _spec(folder, {"attacks": ["prosecutor"], "max_excess": 0.01})
    with pytest.raises(UnsafeError, match="prosecutor"):
        _release(folder, spec, reports=[str(folder / "report.json")])
    assert {path.name for path in folder.iterdir()} == {"table.csv", "others.csv"}
    report = _release(folder, spec, allow_unsafe=True)
    assert report["privacy"]["satisfied"] is False and report["attacks"]["satisfied"] is False


def test_what_could_not_be_measured_is_not_safe(folder: Path) -> None:
    table = pl.read_csv(folder / "table.csv").with_columns(illness=pl.lit(""))
    table.write_csv(folder / "table.csv")
    with pytest.raises(UnsafeError, match="there was nobody to attack"):
        _release(folder, _spec(folder, {"attacks": ["inference-majority"], "max_excess": 0.5}))


def test_a_named_attacker_without_an_object_has_not_shown_anything(folder: Path) -> None:
    spec = _spec(folder, {"attacks": ["prosecutor", "reconstruction-row"], "max_excess": 0.9})
    with pytest.raises(UnsafeError, match="reconstruction-row: there is nothing of the kind to attack"):
        _release(folder, spec)
    report = _release(folder, spec, allow_unsafe=True)
    assert (report["privacy"]["state"], report["attacks"]["state"]) == ("unknown", "unknown")


def test_people_who_are_not_in_the_table_are_the_control(folder: Path) -> None:
    risk = {"attacks": ["inference-majority"], "targets": 100, "control": str(folder / "others.csv")}
    (result,) = _release(folder, _spec(folder, risk))["attacks"]["results"]
    assert (result["against"], result["targets"], result["control"]["targets"]) == ("control", 100, 100)
    (folder / "others.csv").write_text("age\n3\n")
    with pytest.raises(DataError, match="town"):
        _release(folder, _spec(folder, risk), force=True)


@pytest.mark.parametrize("limit", [None, 0.9])
def test_no_public_report_has_attacks(folder: Path, limit: float | None) -> None:
    path = folder / "public.json"
    risk = {"attacks": ["prosecutor"]} | ({} if limit is None else {"max_excess": limit})
    report = _release(folder, _spec(folder, risk), public=True, reports=[str(path)])
    assert report["public"] and "attacks" not in json.loads(path.read_text())
    assert any("nothing was attacked" in each for each in report["warnings"]) == (limit is None)
    with pytest.raises(UnsafeError):
        _release(folder, _spec(folder, risk | {"max_excess": 0.01}), public=True, force=True)


@pytest.mark.parametrize("joined", [False, True])
def test_groups_of_a_bucketized_release_are_attacked(folder: Path, joined: bool) -> None:
    spec = _spec(folder, {"attacks": ["prosecutor", "inference-certain"]}, l=2)
    report = _release(folder, spec, "anatomy", ALGORITHMS["anatomy"].Options(joined=joined))
    results = {each["attacker"]: each for each in report["attacks"]["results"]}
    assert results["prosecutor"]["figures"]["max"] == 1 and results["inference-certain"]["figures"]["weap"] == 0


def test_a_randomized_release_is_attacked_by_its_parameters(folder: Path) -> None:
    names = ["reconstruction", "reconstruction-row", "prosecutor"]
    spec = _spec(folder, {"attacks": names}, models=[{"model": "disclosure", "l": 1.2}])
    report = _release(folder, spec, "randomize", ALGORITHMS["randomize"].Options(on="both"), seed=1)
    attacks = report["attacks"]
    assert {each["attacker"] for each in attacks["results"]} == set(names[:2]) and attacks["left_out"] == names[2:]
    assert any("prosecutor" in warning for warning in report["warnings"])
    again = attack(Attack(spec, str(folder / "released.csv"), control=str(folder / "others.csv")))
    results = {each["attacker"]: each for each in again.report["attacks"]["results"]}
    assert results["reconstruction"]["against"] == "control" and results["reconstruction-row"]["excess"] is None


def test_pages_show_what_attackers_got(folder: Path) -> None:
    pages = [str(folder / name) for name in ("report.md", "report.html")]
    _release(folder, _spec(folder, {"attacks": ["prosecutor"]}), reports=pages)
    assert all("What attackers learn because of the release" in Path(page).read_text() for page in pages)


def test_an_attacker_whom_there_is_not_is_refused(folder: Path) -> None:
    with pytest.raises(SpecError, match="attacks"):
        _spec(folder, {"attacks": ["nobody"]})
