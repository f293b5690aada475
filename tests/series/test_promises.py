"""What a series promises under other models, kinds of values and outputs; the independent check is the judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.series.nights import SPEC, Nights

MODELS = {
    "entropy": "{model: entropy-l-diversity, l: 1.5}",
    "recursive": "{model: recursive-cl-diversity, c: 3, l: 2}",
    "protected": "{model: frequency-l-diversity, l: 1.2, values: [flu]}",
}


def two(nights: Nights) -> dict[str, object]:
    """The block of the second of two nights."""
    nights.come(110)
    nights.release()
    nights.leave(3)
    nights.come(16)
    return dict(nights.release()["series"])


@pytest.mark.parametrize("model", MODELS)
def test_every_model_holds_over_time(tmp_path: Path, model: str) -> None:
    spec = SPEC.replace("l: 2,", f"models: [{MODELS[model]}],")
    block = two(Nights(tmp_path, spec=spec))
    verified = block["verified"]
    assert isinstance(verified, dict) and verified["satisfied"] is True
    assert len(verified["releases"][0]["models"]) >= 2
    assert block["people"]["released"] > 100  # type: ignore[index]


def test_models_of_the_table_are_named(tmp_path: Path) -> None:
    spec = SPEC.replace("l: 2,", "l: 2, models: [{model: risk, marketer: 0.5}],")
    block = two(Nights(tmp_path, spec=spec))
    assert "risk" in str(block["not_bounded"]) and "k-anonymity" not in str(block["not_bounded"])


def test_numbers_are_sensitive_too(tmp_path: Path) -> None:
    spec = SPEC.replace("disease: {}", "disease: {type: numeric}").replace(
        "l: 2,", "models: [{model: k-e-anonymity, k: 2, e: 2}],"
    )
    nights = Nights(tmp_path, spec=spec)
    nights.come(120)
    nights.people = [(*person[:4], str(number * 7 % 50)) for number, person in enumerate(nights.people)]
    nights.release()
    nights.leave(4)
    assert nights.release()["series"]["verified"]["satisfied"] is True


@pytest.mark.parametrize("output", ["{numeric: bounds}", "{categorical: set}", "{row_order: keep}", "{edges: tight}"])
def test_the_output_may_read_otherwise(tmp_path: Path, output: str) -> None:
    block = two(Nights(tmp_path, spec=f"{SPEC}output: {output}\n"))
    assert block["verified"]["satisfied"] is True  # type: ignore[index]


def test_missing_values_are_values(tmp_path: Path) -> None:
    nights = Nights(tmp_path)
    nights.come(100)
    nights.people = [(*p[:2], "", p[3], "" if number % 8 == 0 else p[4]) if number % 5 == 0 else p
                     for number, p in enumerate(nights.people)]  # fmt: skip
    nights.release()
    nights.leave(2)
    assert nights.release()["series"]["verified"]["satisfied"] is True


def test_an_open_end_stays_open(tmp_path: Path) -> None:
    """The lowest end that is shown is that of the first release, however many people come below it: else it would tell
    at which night there were k of them."""
    nights = Nights(tmp_path, spec=SPEC.replace("k: 4, l: 2", "k: 4"))
    nights.come(100)
    nights.people = [(p[0], 10, *p[2:]) if number < 2 else p for number, p in enumerate(nights.people)]
    nights.release()

    def lowest(name: str) -> int:
        ends = (cell[0].strip("[]+").split("-") for cell, _ in nights.cells(name).values())
        return min(int(number) for pair in ends for number in pair if number)

    assert lowest("night0") > 10
    nights.come(40)
    nights.people = [(p[0], 11, *p[2:]) if number >= 100 else p for number, p in enumerate(nights.people)]
    assert nights.release()["series"]["people"]["newcomers"] == 40
    assert lowest("night1") >= lowest("night0")


def test_a_model_of_a_population_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "all.csv").write_text("age,sex,city\n30,f,100\n")
    spec = SPEC.replace("l: 2,", "models: [{model: k-map, k: 1, population: all.csv}],")
    nights = Nights(tmp_path, spec=spec)
    nights.come(60)
    nights.release(refused=2)
    assert "not in a series" in capsys.readouterr().err


@pytest.mark.parametrize(
    "model", ["{model: t-closeness, t: 0.6, distance: equal}", "{model: basic-beta-likeness, beta: 4}"]
)
def test_a_model_that_compares_with_the_whole_table_is_refused(
    tmp_path: Path, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nights = Nights(tmp_path, spec=SPEC.replace("l: 2,", f"models: [{model}],"))
    nights.come(60)
    nights.release(refused=2)
    assert "compares classes with the whole table" in capsys.readouterr().err


def test_values_that_a_model_is_about_stay_as_they_were_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without such a model they may change; and where they change back, the series goes on."""
    nights = Nights(tmp_path)
    nights.come(80)
    nights.release()
    before = list(nights.people)
    nights.people = [(*p[:4], "new") if number < 3 else p for number, p in enumerate(before)]
    nights.release(refused=3)
    assert "disease: 3 people have another value than was published" in capsys.readouterr().err
    nights.people = before
    nights.release()
    (tmp_path / "free").mkdir()
    free = Nights(tmp_path / "free", spec=SPEC.replace(", l: 2", ""))
    free.come(80)
    free.release()
    free.people = [(*p[:4], "new") for p in free.people]
    assert free.release()["series"]["people"]["withheld"] == 0


def test_a_public_report_of_a_series_shows_what_is_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows of a series are individuals, so that what the unit hides elsewhere is not hidden here."""
    spec = SPEC.replace("identifiers: [name]", "unit: name").replace("person: [name], ", "")
    nights = Nights(tmp_path, spec=spec)
    nights.come(60)
    for _ in range(2):
        report = nights.release("--public-report")
        assert report["privacy"]["satisfied"] is True
        assert [each["achieved"] != {} for each in report["privacy"]["models"]] == [True, True]
    assert "NOT SHOWN" not in capsys.readouterr().err


def test_a_k_that_counts_values_is_no_k_of_a_series(tmp_path: Path) -> None:
    """Whoever is held back waits for people, and (k,e)-anonymity asks for none."""
    spec = SPEC.replace("sensitive: {disease: {}}", "sensitive: {disease: {type: numeric}}")
    nights = Nights(tmp_path, spec=spec.replace("k: 4, l: 2,", "models: [{model: k-e-anonymity, k: 2, e: 5}],"))
    nights.people = [(f"p{each}", 20 + each, "f", "100", str(each)) for each in range(60)]
    nights.release(refused=2)
    assert not (tmp_path / "state").exists() and not (tmp_path / "night0.csv").exists()
