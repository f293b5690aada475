"""Releases that follow each other, from Python: the same files as the commands', beside a frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anonymize
from anonymize.cli.main import run
from anonymize.errors import UsageError
from anonymize.series import state
from tests.test_python import PEOPLE, SPEC

NIGHTLY: dict[str, Any] = SPEC | {"series": {"person": ["name"], "departures": "deferred", "wait": 0}}

FILES = ("in.csv", "out.csv", "link.json")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    run(["key", "make", str(tmp_path / "key"), "-q"])
    return tmp_path / "key"


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_a_frame_is_released_night_by_night(tmp_path: Path, key: Path, suffix: str) -> None:
    series, files = tmp_path / "state", [tmp_path / f"night{number}{suffix}" for number in (0, 1)]
    first = anonymize.release(PEOPLE, NIGHTLY, "mondrian", start_series=series, key=key, output=files[0])
    second = anonymize.release(PEOPLE.slice(2), NIGHTLY, "mondrian", after=series, key=key, output=files[1])
    assert second.report["series"]["number"] == 2 and second.report["series"]["people"]["kept"] == 2
    assert second.frame.height == first.frame.height == PEOPLE.height
    assert set(second.frame["illness"]) == set(PEOPLE["illness"])
    releases = state.load(series).releases
    assert [each.input.path for each in releases] == ["<frame>", "<frame>"]
    assert [each.input.rows for each in releases] == [PEOPLE.height, PEOPLE.height - 2]
    assert second.report["input"]["rows"] == PEOPLE.height - 2
    assert second.recoding is None


def test_the_series_of_files_can_be_measured_again(tmp_path: Path, key: Path) -> None:
    names = [str(tmp_path / name) for name in ("in.csv", "out.csv", "link.json", "state")]
    PEOPLE.write_csv(names[0])
    spec = anonymize.Spec(NIGHTLY)
    anonymize.release(names[0], spec, start_series=names[3], key=key, output=names[1], save_link=names[2])
    assert anonymize.audit(names[1], {**SPEC, "identifiers": []}).satisfied is True
    again = anonymize.release(names[0], spec, after=names[3], key=key, output=names[1], save_link=names[2], force=True)
    assert again.report["series"]["again"] is True
    everybody = anonymize.audit(spec=spec, series=names[3], key=key)
    assert everybody.satisfied is True and everybody.problems == ()
    assert everybody.report["series"]["verified"]["releases"][0]["origin"] == "original"
    more = anonymize.audit(spec=spec, series=names[3], key=key, k=PEOPLE.height + 1)
    assert more.satisfied is False and "k-anonymity" in more.problems[0]
    for given in (
        {},
        {"key": key},
        {"spec": spec, "key": key, "data": names[1]},
        {"spec": spec, "key": key, "unit": "x"},
    ):
        with pytest.raises(UsageError, match="series"):
            anonymize.audit(series=names[3], **given)


def test_a_release_of_a_series_is_attacked_with_those_before_it(tmp_path: Path, key: Path) -> None:
    state, names = tmp_path / "state", [[tmp_path / f"{night}.{each}" for each in FILES] for night in (0, 1)]
    for night, (original, output, link) in enumerate(names):
        PEOPLE.slice(2 * night).write_csv(original)
        series: dict[str, Any] = {"after" if night else "start_series": state, "key": key}
        anonymize.release(original, NIGHTLY, "mondrian", output=output, save_link=link, **series)
    original, output, _ = names[1]
    chosen: dict[str, Any] = {"attackers": ["histories"], "series": state}
    report = anonymize.attack(output, NIGHTLY, original, key=key, **chosen).report
    assert report["input"]["path"] == str(output) and len(report["attacks"]["results"]) == 2
    with pytest.raises(UsageError, match="nothing of the kind to attack"):  # which rows belong together, the key says
        anonymize.attack(output, NIGHTLY, original, **chosen)
    with pytest.raises(UsageError, match="is not one of this series"):
        anonymize.attack(PEOPLE, NIGHTLY, PEOPLE, **chosen)


def test_a_release_that_is_kept_is_that_of_the_frame(tmp_path: Path) -> None:
    released = anonymize.release(PEOPLE, SPEC, "mondrian", output=tmp_path / "out.parquet")
    assert released.frame.equals(pl.read_parquet(tmp_path / "out.parquet"))
    assert released.recoding is not None


def test_what_cannot_be_in_a_series_is_refused(tmp_path: Path, key: Path) -> None:
    series = tmp_path / "state"
    with pytest.raises(UsageError, match="a release of a series is a file"):
        anonymize.release(PEOPLE, NIGHTLY, start_series=series, key=key)
    with pytest.raises(UsageError, match="needs `key`"):
        anonymize.release(PEOPLE, NIGHTLY, start_series=series, output=tmp_path / "out.csv")
    with pytest.raises(UsageError, match="there is no series"):
        anonymize.release(PEOPLE, NIGHTLY, after=series, key=key, output=tmp_path / "out.csv")
    with pytest.raises(UsageError, match="is not of a kind that can be read again"):
        anonymize.release(PEOPLE, NIGHTLY, start_series=series, key=key, output=tmp_path / "out.xlsx")
    assert not series.exists()
