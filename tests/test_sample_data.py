"""The sample table is what its README promises, its spec and hierarchies fit it, and the large tables fit Adult's."""

import csv
import importlib.util
import io
import itertools
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PATIENTS = ROOT / "sample_data" / "patients.csv"
MISSING = ("", "?")
ADULT = (
    "sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
Rows = list[dict[str, str]]


def load_script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def read_csv(path: Path, separator: str = ",") -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=separator))


def yaml_leaves(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return [leaf for child in node.values() for leaf in yaml_leaves(child)]
    return list(node) if isinstance(node, list) else [node]


def leaves(path: Path) -> list[Any]:
    if path.suffix == ".yaml":
        return yaml_leaves(yaml.safe_load(path.read_text(encoding="utf-8")))
    return [line[0] for line in read_csv(path, ";")]


def present(rows: Rows, *names: str) -> list[Any]:
    """The cells of these columns in the rows that have them all, as they are (one column) or as tuples."""
    kept = [tuple(row[name] for name in names) for row in rows if not any(row[name] in MISSING for name in names)]
    return kept if len(names) > 1 else [cell for (cell,) in kept]


def by(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


@pytest.fixture(scope="module")
def make_patients() -> ModuleType:
    return load_script(ROOT / "sample_data" / "make_patients.py")


@pytest.fixture(scope="module")
def rows() -> Rows:
    header, *lines = read_csv(PATIENTS)
    return [dict(zip(header, line, strict=True)) for line in lines]


@pytest.fixture(scope="module")
def config() -> Any:
    return yaml.safe_load((ROOT / "configs" / "patients.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def make_scale() -> ModuleType:
    return load_script(ROOT / "benchmarks" / "make_scale.py")


# --- the file --------------------------------------------------------------------------------------------------------


def test_the_script_writes_the_committed_bytes(make_patients: ModuleType, tmp_path: Path) -> None:
    make_patients.main([str(tmp_path / "again.csv")])
    assert (tmp_path / "again.csv").read_bytes() == PATIENTS.read_bytes()
    for night in make_patients.NIGHTS:
        beside = f"nights/{night}.csv"
        assert (tmp_path / beside).read_bytes() == (PATIENTS.parent / beside).read_bytes()


def test_shape(rows: Rows, make_patients: ModuleType) -> None:
    assert len(rows) == 10_000
    assert tuple(rows[0]) == make_patients.COLUMNS


def test_names_have_commas_quotes_and_letters_outside_ascii(rows: Rows) -> None:
    names = present(rows, "name")
    assert "Müller, Anna" in names
    assert any(name.startswith('O\'Neil "Ned", ') for name in names)
    assert sum(not name.isascii() for name in names) > 2000


def test_identity_numbers_are_unique_and_not_real(rows: Rows) -> None:
    numbers = present(rows, "ssn")
    assert len(set(numbers)) == len(numbers)
    assert all(number.startswith("000-") and len(number) == 11 for number in numbers)


def test_zipcodes_have_leading_zeros_and_clusters(rows: Rows) -> None:
    counts = Counter(present(rows, "zipcode"))
    assert len(counts) == 150
    assert all(len(code) == 5 and code.isdigit() and code.startswith("02") for code in counts)
    assert max(counts.values()) > 200 > 5 > min(counts.values())


def test_notes_have_commas_quotes_and_line_breaks_and_are_rare(rows: Rows) -> None:
    notes = present(rows, "note")
    assert 200 < len(notes) < 400
    assert all(any(mark in note for note in notes) for mark in (",", '"', "\n"))
    assert PATIENTS.read_bytes().count(b"\n") > len(rows) + 1


def test_missing_is_written_both_ways(rows: Rows, make_patients: ModuleType) -> None:
    for name, share in make_patients.MISSING.items():
        counts = Counter(row[name] for row in rows if row[name] in MISSING)
        assert set(counts) == set(MISSING), name
        assert 0.5 * share < sum(counts.values()) / len(rows) < 1.5 * share, name
    complete = set(make_patients.COLUMNS) - set(make_patients.MISSING) - {"note"}
    assert not any(row[name] in MISSING for row in rows for name in complete)


# --- the distributions -----------------------------------------------------------------------------------------------


def test_ages_are_those_of_a_hospital(rows: Rows) -> None:
    ages = [int(age) for age in present(rows, "age")]
    assert (min(ages), max(ages)) == (0, 102)
    assert sum(age == 0 for age in ages) > 500
    assert 0.3 < sum(age >= 65 for age in ages) / len(ages) < 0.45
    assert sum(age > 98 for age in ages) < 30


def test_admissions_are_iso_dates_of_two_years_and_fewer_at_weekends(rows: Rows) -> None:
    days = [date.fromisoformat(day) for day in present(rows, "admission_date")]
    assert {day.year for day in days} == {2023, 2024}
    assert 0.15 < sum(day.weekday() > 4 for day in days) / len(days) < 0.24


def test_diagnoses_are_skewed(rows: Rows) -> None:
    counts = Counter(present(rows, "diagnosis")).most_common()
    assert len(counts) == 25
    assert counts[0][1] > 10 * counts[-1][1]


def test_diagnoses_depend_on_age_and_sex(rows: Rows) -> None:
    ages = {name: statistics.median(map(int, group)) for name, group in by(present(rows, "diagnosis", "age")).items()}
    assert ages["Neonatal jaundice"] == 0 < ages["Appendicitis"] < ages["Depression"] < 65 < ages["Heart failure"]
    sexes = {name: Counter(group) for name, group in by(present(rows, "diagnosis", "sex")).items()}
    assert set(sexes["Childbirth"]) == {"F"}
    assert set(sexes["Prostate cancer"]) == {"M"}
    assert sexes["Alcohol dependence"]["M"] > 1.5 * sexes["Alcohol dependence"]["F"]


def test_charges_are_skewed_and_depend_on_the_diagnosis(rows: Rows) -> None:
    charges = by((name, float(cost)) for name, cost in present(rows, "diagnosis", "charges"))
    everything = [cost for group in charges.values() for cost in group]
    assert statistics.mean(everything) > 1.25 * statistics.median(everything)
    assert min(everything) > 0
    typical = {name: statistics.median(group) for name, group in charges.items()}
    assert typical["Preterm newborn"] > 2 * typical["Heart failure"] > 2 * typical["Asthma"]


def test_readmission_depends_on_the_diagnosis_and_on_age(rows: Rows) -> None:
    assert set(present(rows, "readmitted")) == {"yes", "no"}
    diagnoses = by(present(rows, "diagnosis", "readmitted"))
    rate = {name: group.count("yes") / len(group) for name, group in diagnoses.items()}
    assert rate["Heart failure"] > 0.2 > 0.1 > rate["Childbirth"]
    ages = by((int(age) >= 75, answer) for age, answer in present(rows, "age", "readmitted"))
    assert ages[True].count("yes") / len(ages[True]) > 1.5 * ages[False].count("yes") / len(ages[False])


def test_the_ward_says_nothing_about_the_diagnosis(rows: Rows) -> None:
    wards = by(present(rows, "ward", "diagnosis"))
    shares = [group.count("Childbirth") / len(group) for group in wards.values()]
    assert len(shares) == 8
    assert max(shares) - min(shares) < 0.04


def test_occupation_and_marital_status_depend_on_age(rows: Rows) -> None:
    ages = {name: [int(age) for age in group] for name, group in by(present(rows, "occupation", "age")).items()}
    assert max(ages["Pupil"]) < 18 < statistics.median(ages["Teacher"]) < 65 < statistics.median(ages["Retired"])
    status = {name: [int(age) for age in group] for name, group in by(present(rows, "marital_status", "age")).items()}
    assert statistics.median(status["Single"]) < statistics.median(status["Married"])
    assert statistics.median(status["Married"]) < statistics.median(status["Widowed"])


# --- specs and hierarchies -------------------------------------------------------------------------------------------


def test_every_column_has_one_role(rows: Rows, config: dict[str, Any]) -> None:
    roles = [
        *config["identifiers"],
        *config["quasi_identifiers"],
        *config["sensitive"],
        *config["insensitive"],
        *config["workload"]["targets"],
    ]
    assert sorted(roles) == sorted(rows[0])


@pytest.mark.parametrize("column", ["marital_status", "education", "occupation", "diagnosis"])
def test_the_hierarchy_has_every_value_once_and_none_that_never_occurs(
    rows: Rows, config: dict[str, Any], column: str
) -> None:
    attribute = (config["quasi_identifiers"] | config["sensitive"])[column]
    assert sorted(leaves(ROOT / "configs" / attribute["hierarchy"])) == sorted(set(present(rows, column)))


@pytest.mark.parametrize("path", sorted((ROOT / "hierarchies" / "patients").glob("*.csv")), ids=lambda path: path.stem)
def test_labels_of_a_hierarchy_nest_and_end_in_one_root(path: Path) -> None:
    parents: dict[str, set[str]] = defaultdict(set)
    for line in read_csv(path, ";"):
        assert line[-1] == "*"
        for label, above in itertools.pairwise(line):
            parents[label].add(above)
    assert all(len(above) == 1 for above in parents.values())


def test_rules_and_selections_name_values_of_the_table(rows: Rows, config: dict[str, Any]) -> None:
    for name, attribute in config["quasi_identifiers"].items():
        for rule in attribute.get("rules", ()):
            assert set(map(str, rule["keep_apart"])) <= set(present(rows, name))
    for selection in config["workload"]["selections"]:
        for name, condition in selection.items():
            assert set(condition.get("in", ())) <= set(present(rows, name))


@pytest.mark.parametrize("name", ["patients", "adult"])
def test_configs_begin_with_the_modeline_of_the_editor(name: str) -> None:
    first, *_ = (ROOT / "configs" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    assert first == "# yaml-language-server: $schema=../anonymize/spec/spec.schema.json"


# --- large tables ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people(make_scale: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("scale") / "people.csv"
    make_scale.main(["20000", str(path), "7"])
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def people_rows(people: str) -> Rows:
    return list(csv.DictReader(io.StringIO(people)))


def test_a_large_table_has_its_columns_and_rows(people_rows: Rows) -> None:
    assert tuple(people_rows[0]) == (*ADULT, "zipcode", "income")
    assert len(people_rows) == 20_000
    ages = [int(row["age"]) for row in people_rows]
    assert (min(ages), max(ages)) == (17, 90)
    assert all(0 <= int(row["zipcode"]) < 100_000 for row in people_rows)
    assert 49_000 < statistics.mean(int(row["income"]) for row in people_rows) < 51_000


def test_a_large_table_depends_on_its_seed_alone(make_scale: ModuleType, people: str, tmp_path: Path) -> None:
    for seed in ("7", "8"):
        make_scale.main(["20000", str(tmp_path / seed), seed])
    assert (tmp_path / "7").read_text(encoding="utf-8") == people
    assert (tmp_path / "8").read_text(encoding="utf-8") != people


def test_a_large_table_is_written_in_batches(
    make_scale: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(make_scale, "BATCH", 40)
    make_scale.main(["100", str(tmp_path / "out.csv")])
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 101
    assert sum(line.startswith("sex,") for line in lines) == 1


def test_a_large_table_has_the_dependencies_of_the_census(people_rows: Rows) -> None:
    sexes = Counter(row["sex"] for row in people_rows)
    assert 0.66 < sexes["Male"] / len(people_rows) < 0.69
    married = by((row["sex"], row["marital-status"] == "Married-civ-spouse") for row in people_rows)
    assert statistics.mean(married["Male"]) > 2 * statistics.mean(married["Female"])
    salary = by((row["education"], row["salary-class"] == ">50K") for row in people_rows)
    assert statistics.mean(salary["Masters"]) > 4 * statistics.mean(salary["11th"])


def test_the_spec_of_adult_covers_the_large_table(people_rows: Rows) -> None:
    config = yaml.safe_load((ROOT / "configs" / "adult.yaml").read_text(encoding="utf-8"))
    assert sorted([*config["quasi_identifiers"], *config["insensitive"]]) == sorted(ADULT)
    for name, attribute in config["quasi_identifiers"].items():
        if isinstance(attribute["hierarchy"], str):
            covered = set(leaves(ROOT / "configs" / attribute["hierarchy"]))
            assert {row[name] for row in people_rows} <= covered, name
