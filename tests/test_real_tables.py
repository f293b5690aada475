"""What real tables need of a spec, from the table to the release and back: patterns, formats, pools, rounding."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from anonymize._audit import audit
from anonymize._evaluate import Evaluate, evaluate
from anonymize._recode import Recode, recode
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.auditing.request import Audit
from anonymize.errors import DataError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import Spec, load

SPEC = """
version: 1
input: {path: table.csv}
identifiers: ["*_id"]
quasi_identifiers:
  "lab_*": {type: numeric, round: 5, top: 35}
  seen: {hierarchy: {dates: {format: "%Y/%m/%d %H:%M", levels: [hour, month, year]}}}
  at: {hierarchy: {times: [hour, half-day]}}
  job: {hierarchy: {rare: {below: 12, label: Other}}}
others: insensitive
privacy: {k: 4}
"""
JOBS = ["cook"] * 40 + ["clerk"] * 30 + ["nun", "nun", "judge", "smith"]


def write(path: Path, rows: int, seed: int, jobs: list[str] = JOBS) -> None:
    chance = random.Random(seed)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["a_id", "lab_a", "lab_b", "seen", "at", "job", "ward"])
        for number in range(rows):
            seen = f"2016/{chance.randint(1, 12):02}/{chance.randint(1, 28):02} {chance.randint(0, 23):02}:00"
            labs = chance.randint(0, 40), round(chance.uniform(0, 20), 1)
            out.writerow(
                [number, *labs, seen, f"{chance.randint(0, 23)}:30", chance.choice(jobs), chance.choice("abcdef")]
            )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "table.csv", 160, 1)
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


def spec(folder: Path) -> Spec:
    return load(folder / "spec.yaml", PARAMETERS)


def run(folder: Path, algorithm: str) -> dict[str, Any]:
    options = ALGORITHMS[algorithm].Options()
    saved = str(folder / "recoding.json")
    out = str(folder / "out.csv")
    request = Request(spec(folder), algorithm, options, output=out, save_recoding=saved, force=True, threads=1)
    return release(request)


def cells(path: Path, column: str) -> list[str]:
    with path.open(newline="") as file:
        return [row[column] for row in csv.DictReader(file)]


@pytest.mark.parametrize("algorithm", ["mondrian", "incognito"])
def test_from_the_table_to_the_release_and_back(folder: Path, algorithm: str) -> None:
    report = run(folder, algorithm)
    assert report["privacy"]["satisfied"] is True
    assert report["warnings"][0].startswith("1 column is named nowhere in the spec") and "ward" in report["warnings"][0]
    out = folder / "out.csv"
    header = out.read_text().splitlines()[0]
    assert header == "lab_a,lab_b,seen,at,job,ward"
    assert set(cells(out, "job")) <= {"cook", "clerk", "nun", "judge", "smith", "Other", "*"}
    assert audit(Audit(spec(folder), out)).satisfied is True
    assert 0 <= evaluate(Evaluate(spec(folder), str(out)))["utility"]["gcp"] <= 1


@pytest.mark.parametrize("algorithm", ["mondrian", "incognito"])
def test_a_saved_recoding_gives_the_same_rows_and_pools_new_values(folder: Path, algorithm: str) -> None:
    run(folder, algorithm)
    saved, again = str(folder / "recoding.json"), folder / "again.csv"
    report = recode(Recode(saved, str(folder / "table.csv"), str(again)))
    assert report["outside"]["rows"] == 0
    assert sorted(again.read_text().splitlines()) == sorted((folder / "out.csv").read_text().splitlines())
    write(folder / "new.csv", 40, 2, ["baker", "nun"])
    recode(Recode(saved, str(folder / "new.csv"), str(folder / "new.out.csv")))
    shown = set(cells(folder / "new.out.csv", "job"))
    assert "baker" not in shown and shown <= {"Other", "*", "nun"}
    builders = [each.get("builder") for each in json.loads((folder / "recoding.json").read_text())["attributes"]]
    assert any(builder and builder["rare"] == "Other" for builder in builders)
    assert any(builder and builder["format"] == "%Y/%m/%d %H:%M" for builder in builders)


def test_rounded_numbers_are_multiples_of_the_step(folder: Path) -> None:
    run(folder, "mondrian")
    for name in ("lab_a", "lab_b"):
        texts = {text.strip("[]+-") for text in cells(folder / "out.csv", name)} - {"*"}
        begins, ends = ({float(text.split("-")[side]) for text in texts} for side in (0, -1))
        assert begins and all(number % 5 == 0 and number <= 35 for number in begins)
        assert all(number % 5 in (0, 4) and number <= 35 for number in ends)  # up to the next multiple less one


def test_anatomy_releases_rounded_numbers(folder: Path) -> None:
    text = SPEC.replace("others: insensitive", "sensitive: [ward]\nothers: drop").replace("{k: 4}", "{l: 2}")
    (folder / "spec.yaml").write_text(text)
    options = ALGORITHMS["anatomy"].Options()
    release(Request(spec(folder), "anatomy", options, output=str(folder / "out.csv"), seed=1, threads=1))
    assert {float(text.strip("+")) % 5 for text in cells(folder / "out.qit.csv", "lab_b")} == {0.0}


def test_an_audit_finds_a_column_that_others_would_have_dropped(folder: Path) -> None:
    run(folder, "mondrian")
    (folder / "spec.yaml").write_text(SPEC.replace("others: insensitive", "others: drop"))
    assert audit(Audit(spec(folder), folder / "out.csv")).satisfied is False


def test_patterns_of_columns_that_a_release_shows_as_bounds(folder: Path) -> None:
    (folder / "spec.yaml").write_text(SPEC + "output: {numeric: bounds}\n")
    run(folder, "mondrian")
    result = audit(Audit(spec(folder), folder / "out.csv"))
    assert result.satisfied is True and "lab_a_low" in (folder / "out.csv").read_text().splitlines()[0]


def test_errors_that_many_columns_have_alike_are_one_line(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(9)]
    (tmp_path / "table.csv").write_text(",".join(names) + "\n" + ",".join(["secret"] * 9) + "\n")
    (tmp_path / "spec.yaml").write_text(
        "version: 1\ninput: {path: table.csv}\nquasi_identifiers: {'x*': {type: numeric}}\nprivacy: {k: 1}\n"
    )
    with pytest.raises(DataError) as caught:
        run(tmp_path, "mondrian")
    (problem,) = caught.value.problems
    assert "the like in 8 more columns: x1, x2" in problem.message and "secret" not in str(problem)
    (tmp_path / "spec.yaml").write_text(
        f"version: 1\ninput: {{path: table.csv}}\nquasi_identifiers: [x0]\ninsensitive: [{', '.join('abcdefgh')}]\n"
        "privacy: {k: 1}\n"
    )
    with pytest.raises(DataError) as caught:
        run(tmp_path, "mondrian")
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ('{dates: {format: "%d.%m.%Y", levels: [year]}}', "are not dates of the format %d.%m.%Y"),
        ("{times: [hour]}", "are not times of day"),
        ("{rare: {below: 5, label: cook}}", "the label of `rare` is a value of the column"),
    ],
)
def test_builders_that_do_not_fit_show_no_value(folder: Path, setting: str, message: str) -> None:
    text = SPEC.replace("{rare: {below: 12, label: Other}}", setting)
    (folder / "spec.yaml").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        run(folder, "mondrian")
    assert not any(job in str(caught.value).replace("label: cook", "") for job in ("nun", "clerk"))
