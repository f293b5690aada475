"""Values of a sensitive attribute that alone are protected: in releases and in audits, whatever the model."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run as command

Run = Callable[..., "Ended"]

SPEC = """\
version: 1
input: {{path: table.csv, missing: ["?"]}}
quasi_identifiers: {{age: {{type: numeric}}, town: {{}}}}
sensitive: {{test: {{type: {kind}}}}}
privacy: {{suppression: {suppression}, models: [{models}]}}
"""
ROWS = 300
POSITIVE = 24
"""92 % are negative."""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A table of people, 8 % of whom are positive."""
    write(
        tmp_path,
        ["positive" if row % (ROWS // POSITIVE) == 0 and row < ROWS - 12 else "negative" for row in range(ROWS)],
    )
    return tmp_path


def write(folder: Path, values: list[str]) -> None:
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        people = ((20 + row * 7 % 60, "ABC"[row % 3], value) for row, value in enumerate(values))
        csv.writer(file).writerows([("age", "town", "test"), *people])


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(desk: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(desk)

    def running(*words: str, models: str = "", kind: str = "categorical", suppression: float = 0) -> Ended:
        if models:
            text = SPEC.format(models=models, kind=kind, suppression=suppression)
            (desk / "spec.yaml").write_text(text, encoding="utf-8")
        capfd.readouterr()
        code = outcome(lambda: command(list(words)))
        return Ended(code, *capfd.readouterr())

    return running


def shares(path: Path, value: str) -> list[float]:
    """Of each class of a release, the share of a value: an attacker of a few lines."""
    classes = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for age, town, test in list(csv.reader(file))[1:]:
            classes[age, town].append(test)
    return [tests.count(value) / len(tests) for tests in classes.values()]


@pytest.mark.parametrize("algorithm", ["mondrian", "incognito", "datafly"])
def test_only_protected_values_bind(desk: Path, run: Run, algorithm: str) -> None:
    model = "{{model: alpha-k-anonymity, alpha: 0.25, k: 5{}}}"
    words = (algorithm, "spec.yaml", "-o", "released.csv", "-r", "report.json")
    assert run(*words, models=model.format("")).returncode == 4
    ended = run(*words, models=model.format(", values: [positive]"))
    assert ended.returncode == 0, ended.stderr
    assert max(shares(desk / "released.csv", "positive")) <= 0.25 < max(shares(desk / "released.csv", "negative"))
    (result,) = json.loads((desk / "report.json").read_text(encoding="utf-8"))["privacy"]["models"]
    assert result["required"] == {"alpha": 0.25, "k": 5, "values": ["positive"]}
    assert result["satisfied"] and result["achieved"]["values"] == ["positive"]


@pytest.mark.parametrize(
    "model",
    [
        "frequency-l-diversity l=4",
        "recursive-cl-diversity c=0.5 l=2",
        "t-closeness t=0.2",
        "basic-beta-likeness beta=1.5",
        "enhanced-beta-likeness beta=1.5",
        "delta-disclosure delta=2",
    ],
)
def test_a_release_meets_it_and_an_audit_says_so(desk: Path, run: Run, model: str) -> None:
    name, *parameters = model.split()
    flow = ", ".join(each.replace("=", ": ") for each in parameters)
    given = f"{{model: {name}, {flow}, values: [positive]}}"
    ended = run("mondrian", "spec.yaml", "-o", "released.csv", models=given)
    assert ended.returncode == 0, ended.stderr
    table = ("audit", "-i", "released.csv", "--qi", "age,town", "--sensitive", "test")
    assert run(*table, "--require", f'{model} "values=[positive]"').returncode == 0
    assert len(shares(desk / "released.csv", "positive")) > 1


def test_an_audit_finds_the_class_where_it_is_not_met(desk: Path, run: Run) -> None:
    table = ("audit", "-i", "table.csv", "--qi", "town", "--sensitive", "test", "--json")
    met = run(*table, "--require", "alpha-k-anonymity alpha=0.5 k=5 values=[positive]")
    assert met.returncode == 0 and json.loads(met.stdout)["privacy"]["satisfied"]
    unmet = run(*table, "--require", "alpha-k-anonymity alpha=0.5 k=5 values=[positive,negative]")
    assert unmet.returncode == 1 and not json.loads(unmet.stdout)["privacy"]["satisfied"]


def test_a_value_that_does_not_occur_is_refused_and_named(desk: Path, run: Run) -> None:
    """Misspelt, it would not be protected."""
    model = "{model: frequency-l-diversity, l: 2, values: [postive]}"
    release = run("mondrian", "spec.yaml", "-o", "released.csv", models=model)
    audit = run("audit", "spec.yaml", "-i", "table.csv")
    for ended in (release, audit):
        assert ended.returncode == 3
        assert "test: the protected value 'postive' does not occur" in ended.stderr
        assert "positive" not in ended.stderr and "negative" not in ended.stderr
    assert not (desk / "released.csv").exists()


def test_a_value_that_means_missing_is_refused(run: Run) -> None:
    ended = run("validate", "spec.yaml", models='{model: frequency-l-diversity, l: 2, values: ["?"]}')
    assert ended.returncode == 2 and "means missing" in ended.stderr


@pytest.mark.parametrize(
    "model",
    [
        "distinct-l-diversity, l: 2",
        "entropy-l-diversity, l: 1.1",
        "p-sensitivity, p: 2",
        "t-closeness, t: 0.5, distance: ordered",
    ],
)
def test_models_of_no_single_value_take_none(run: Run, model: str) -> None:
    ended = run("validate", "spec.yaml", models=f"{{model: {model}, values: [positive]}}")
    assert ended.returncode == 2 and "values" in ended.stderr


def test_values_of_numbers_are_numbers_and_texts_are_texts(desk: Path, run: Run) -> None:
    write(desk, ["01" if row % 12 == 0 else "2" for row in range(ROWS)])
    numbers = "{model: frequency-l-diversity, l: 4, values: [1.0]}"
    assert run("mondrian", "spec.yaml", "-o", "a.csv", models=numbers, kind="numeric").returncode == 0
    texts = "{model: frequency-l-diversity, l: 4, values: [01]}"
    assert run("mondrian", "spec.yaml", "-o", "b.csv", models=texts).returncode == 0
    other = "{model: frequency-l-diversity, l: 4, values: [1]}"
    assert run("mondrian", "spec.yaml", "-o", "c.csv", models=other).returncode == 3


def test_rows_given_up_are_those_of_protected_values(desk: Path, run: Run) -> None:
    """Nothing is gained by leaving out negative ones."""
    write(desk, ["positive" if row % 3 == 0 else "negative" for row in range(ROWS)])
    model = "{model: frequency-l-diversity, l: 4, values: [positive]}"
    ended = run("mondrian", "spec.yaml", "-o", "released.csv", models=model, suppression=0.3)
    assert ended.returncode == 0, ended.stderr
    lines = (desk / "released.csv").read_text(encoding="utf-8").splitlines()[1:]
    shown = [line for line in lines if not line.startswith("*")]
    assert sum(line.endswith("negative") for line in shown) == 200


def test_a_protected_value_is_compared_as_values_are(desk: Path, run: Run) -> None:
    """Blanks around it and invisible characters do not make it another one."""
    write(desk, ["positive\u200b" if row % 12 == 0 else "negative" for row in range(ROWS)])
    ended = run(
        "mondrian", "spec.yaml", "-o", "a.csv", models="{model: frequency-l-diversity, l: 4, values: [' positive']}"
    )
    assert ended.returncode == 0, ended.stderr
    table = ("audit", "-i", "table.csv", "--qi", "age,town", "--sensitive", "test")
    assert run(*table, "--require", "frequency-l-diversity l=4 values=[positive]").returncode == 1
