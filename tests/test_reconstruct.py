"""The recipient's road: what is read once, what is never written over."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import DataError, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.reconstruct import Reconstruct, reconstruct
from anonymize.request import Request
from anonymize.spec import make


@pytest.fixture
def randomized(tmp_path: Path) -> Reconstruct:
    """Sixty rows, two attributes distorted with p = 0.8, and what their recipient asks for."""
    lines = [f"{'mf'[number % 2]},{'abc'[number % 3]}" for number in range(60)]
    (tmp_path / "table.csv").write_text("\n".join(["sex,ill", *lines]) + "\n")
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv")}, "privacy": {"l": 1}}
    spec = make(content | {"quasi_identifiers": {"sex": {}}, "sensitive": {"ill": {}}}, PARAMETERS)
    options = ALGORITHMS["randomize"].Options(p="sex=0.8,ill=0.8")
    release(Request(spec, "randomize", options, output=str(tmp_path / "out.csv"), seed=1))
    parameters = str(tmp_path / "out.params.json")
    return Reconstruct(str(tmp_path / "out.csv"), parameters, output=str(tmp_path / "result.json"))


def names(request: Reconstruct) -> set[str]:
    return {path.name for path in Path(request.output).parent.iterdir()}


def test_several_conditions_are_answered_from_standard_input(
    randomized: Reconstruct, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = Path(randomized.released).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    reconstruct(replace(randomized, released="-", conditions=["sex = m", "ill in (a, b)", "sex = m and ill = c"]))
    answers = json.loads(Path(randomized.output).read_text())["answers"]
    rows = Counter(content.decode().split()[1:])
    male = sum(count for row, count in rows.items() if row.startswith("m,"))
    assert [each["where"] for each in answers] == ["sex = m", "ill in (a, b)", "sex = m and ill = c"]
    assert answers[0]["count"] == pytest.approx((male - 60 * 0.2) / 0.6)
    early = sum(count for row, count in rows.items() if row[-1] in "ab")
    assert answers[1]["count"] == pytest.approx((early - 60 * 0.2) / 0.7)


def test_an_attribute_named_twice_is_one(randomized: Reconstruct) -> None:
    reconstruct(replace(randomized, conditions=["sex = m and sex != f"]))
    answer = json.loads(Path(randomized.output).read_text())["answers"][0]
    reconstruct(replace(randomized, conditions=["sex = m"], force=True))
    assert json.loads(Path(randomized.output).read_text())["answers"][0]["count"] == answer["count"]


@pytest.mark.parametrize("file", ["out.csv", "out.params.json"])
def test_what_is_read_is_never_written_over(randomized: Reconstruct, tmp_path: Path, file: str) -> None:
    before = (tmp_path / file).read_bytes()
    with pytest.raises(UsageError, match="is given twice"):
        reconstruct(replace(randomized, output=str(tmp_path / file), force=True))
    assert (tmp_path / file).read_bytes() == before


def test_nothing_is_left_where_it_fails(randomized: Reconstruct) -> None:
    before = names(randomized)
    path = Path(randomized.released)
    path.write_text(path.read_text().replace("m,", "x,", 1))
    with pytest.raises(DataError, match="sex: has values that are not among"):
        reconstruct(randomized)
    path.write_text(path.read_text() + "m,a\n")
    with pytest.raises(DataError, match="has 61 rows, and its parameters are of 60"):
        reconstruct(randomized)
    assert names(randomized) == before


def test_a_form_is_taken_whatever_the_suffix(randomized: Reconstruct, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="an output is one of"):
        reconstruct(replace(randomized, output=str(tmp_path / "result.txt")))
    reconstruct(replace(randomized, output=str(tmp_path / "result.txt"), form="json"))
    assert json.loads((tmp_path / "result.txt").read_text())["attributes"] == ["sex", "ill"]


def copied(folder: Path, tmp_path: Path, attributes: Sequence[str] = ()) -> Reconstruct:
    """What is asked of a copy of a release, which the test may write to."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    released, manifest = str(tmp_path / "out.csv"), str(tmp_path / "out.manifest.json")
    return Reconstruct(released, manifest, attributes, output=str(tmp_path / "result.json"))


@pytest.fixture(scope="module")
def changed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of which one column was changed by PRAM, women and men by matrices of their own."""
    tmp_path = tmp_path_factory.mktemp("changed")
    lines = [f"{'fm'[n % 2]},{'aab'[n % 3] if n % 2 else 'abc'[n % 3]},{(n % 5 and 'x') or '?'}" for n in range(6000)]
    (tmp_path / "table.csv").write_text("\n".join(["sex,roof,wall", *lines]) + "\n")
    step = {"method": "pram", "columns": ["roof"], "keep": 0.7, "by": ["sex"]}
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv"), "missing": ["?"]}, "others": "insensitive"}
    walls = {"method": "pram", "columns": ["wall"], "matrix": {"x": {"x": 0.5, "y": 0.5}, "y": {"y": 1}}}
    spec = make(content | {"treatments": [step, walls]}, PARAMETERS)
    options = ALGORITHMS["perturb"].Options()
    release(Request(spec, "perturb", options, output=str(tmp_path / "out.csv"), seed=1))
    return tmp_path


@pytest.fixture
def changed(changed_once: Path, tmp_path: Path) -> Reconstruct:
    return copied(changed_once, tmp_path, ["roof"])


def test_what_pram_changed_is_estimated_part_by_part(changed: Reconstruct) -> None:
    reconstruct(changed)
    cells = json.loads(Path(changed.output).read_text())["cells"]
    original = Counter(
        line.split(",")[1] for line in Path(changed.released).with_name("table.csv").read_text().split()[1:]
    )
    assert {cell: count for cell, count, _ in cells} == pytest.approx(original, abs=4 * max(each[2] for each in cells))
    assert all(error > 0 for *_, error in cells) and sum(count for _, count, _ in cells) == pytest.approx(6000)
    wider = replace(changed, about="population", force=True)
    reconstruct(wider)
    assert all(b[2] > a[2] for a, b in zip(cells, json.loads(Path(changed.output).read_text())["cells"], strict=True))


def test_what_is_missing_stays_where_a_declared_matrix_is_undone(changed: Reconstruct) -> None:
    reconstruct(replace(changed, attributes=["wall"]))
    cells = {cell: (count, error) for cell, count, error in json.loads(Path(changed.output).read_text())["cells"]}
    assert cells["?"] == (1200, 0)
    assert cells["x"][0] == pytest.approx(4800, abs=4 * cells["x"][1]) and abs(cells["y"][0]) < 4 * cells["x"][1]


@pytest.fixture(scope="module")
def noised_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of which two columns have noise, and one is microaggregated."""
    tmp_path = tmp_path_factory.mktemp("noised")
    rng = np.random.default_rng(1)
    wage = rng.normal(100, 20, 4000)
    columns = [wage, wage / 4 + rng.normal(0, 3, 4000), rng.normal(40, 5, 4000), wage / 10 + rng.normal(0, 1, 4000)]
    lines = [",".join(f"{value:.3f}" for value in row) for row in zip(*columns, strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(["wage,tax,hours,age", *lines, "?,1.0,2.0,3.0"]) + "\n")
    steps = [
        {"method": "noise", "columns": ["wage", "tax"], "scale": 0.5},
        {"method": "microaggregation", "columns": ["hours"], "k": 3},
    ]
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv"), "missing": ["?"]}, "others": "insensitive"}
    spec = make(content | {"treatments": steps}, PARAMETERS)
    release(Request(spec, "perturb", ALGORITHMS["perturb"].Options(), output=str(tmp_path / "out.csv"), seed=1))
    return tmp_path


@pytest.fixture
def noised(noised_once: Path, tmp_path: Path) -> Reconstruct:
    return copied(noised_once, tmp_path)


def test_moments_of_numbers_with_noise_are_estimated(noised: Reconstruct) -> None:
    reconstruct(replace(noised, attributes=["wage", "tax", "age"]))
    result = json.loads(Path(noised.output).read_text())
    assert result["rows"] == 4001 and result["complete_rows"] == 4000
    records = {tuple(each[key] for key in ("measure", "column", "other")): each for each in result["moments"]}
    variance = records["variance", "wage", None]
    assert variance["released"] == pytest.approx(500, rel=0.1) and variance["estimate"] == pytest.approx(400, rel=0.1)
    assert records["covariance", "age", "wage"]["estimate"] == pytest.approx(40, rel=0.1)
    slope = records["coefficient", "tax", "wage"]
    assert slope["estimate"] == pytest.approx(0.25, abs=0.04) and slope["released"] < 0.2
    assert records["variance", "age", None]["corrected"] == "not needed"


def test_moments_that_cannot_be_corrected_say_so(noised: Reconstruct) -> None:
    reconstruct(replace(noised, attributes=["wage", "hours"], output=str(Path(noised.output).with_suffix(".csv"))))
    header, *lines = Path(noised.output).with_suffix(".csv").read_text().splitlines()
    assert header == "measure,column,other,released,estimate,corrected"
    assert any(line.startswith("variance,wage,") and line.endswith(",yes") for line in lines)
    assert any(
        line.startswith("variance,hours,") and line.endswith(",no: hours: microaggregation cannot be undone")
        for line in lines
    )


def test_numbers_with_a_decimal_comma_are_read(noised: Reconstruct) -> None:
    lines = [line.replace(",", ";").replace(".", ",") for line in Path(noised.released).read_text().splitlines()]
    Path(noised.released).write_text("\n".join(lines) + "\n")
    reconstruct(replace(noised, attributes=["age"], separator=";"))
    (mean, _) = json.loads(Path(noised.output).read_text())["moments"]
    assert mean["measure"] == "mean" and mean["estimate"] == pytest.approx(10, abs=0.3)


def respelled(noised: Reconstruct, cells: list[str]) -> Reconstruct:
    """The release with the cells in the column `age`, over and over."""
    header, *lines = Path(noised.released).read_text().splitlines()
    rows = [f'{line.rpartition(",")[0]},"{cells[row % len(cells)]}"' for row, line in enumerate(lines)]
    Path(noised.released).write_text("\n".join([header, *rows]) + "\n")
    return replace(noised, attributes=["wage", "age"])


@pytest.mark.parametrize("cells", [["1,234", "999"], ["1,234,567", "5"], ["1.234", "5,5"], ["165 cm", "3"]])
def test_numbers_whose_notation_is_in_doubt_are_refused_without_a_value(noised: Reconstruct, cells: list[str]) -> None:
    with pytest.raises(DataError, match=r"age: 2,00[01] of 4,001 ") as caught:
        reconstruct(respelled(noised, cells))
    assert not Path(noised.output).exists()
    assert not any(cell in str(caught.value) for cell in cells if len(cell) > 3)


def test_rows_in_which_a_number_is_missing_are_counted_in_a_warning(noised: Reconstruct) -> None:
    (warning,) = reconstruct(respelled(noised, ["1.5", "?", "2.25"]))
    assert "1,334 of 4,001 rows are left out" in warning and "wage (1), age (1,334)" in warning
    assert not reconstruct(replace(noised, attributes=["tax"], force=True))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"conditions": ["wage = 1"]}, "--where: of numbers with noise"),
        ({"method": "clip"}, "--method clip: of numbers"),
    ],
)
def test_what_cannot_be_asked_of_numbers_with_noise(noised: Reconstruct, more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        reconstruct(replace(noised, **more))


def test_what_cannot_be_asked_of_columns_that_pram_changed(changed: Reconstruct) -> None:
    for more, message in (
        ({"attributes": []}, "name columns that pram changed, those of one matrix together: roof; wall"),
        ({"attributes": ["sex"]}, "name columns that pram changed, those of one matrix together"),
        ({"attributes": [], "conditions": ["roof = a"]}, "by `inverse` alone"),
        ({"method": "clip"}, "by `inverse` alone"),
    ):
        with pytest.raises(UsageError, match=message):
            reconstruct(replace(changed, **more))
    (manifest,) = [Path(changed.manifest)]
    flat = json.loads(manifest.read_text())
    for column in flat["columns"]:
        for channel in column.get("channels", ()):
            channel["matrix"] = [[1 / len(row)] * len(row) for row in channel["matrix"]]
    manifest.write_text(json.dumps(flat))
    with pytest.raises(DataError, match="cannot be inverted"):
        reconstruct(changed)
