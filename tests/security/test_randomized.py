"""Releases without equivalence classes against an ordinary attacker, and what bounds what a row tells."""

from __future__ import annotations

import csv
import itertools
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run as command

SPEC = """\
version: 1
input: {{path: table.csv}}
quasi_identifiers: {{age: {{}}, sex: {{}}}}
sensitive: {{ill: {{}}}}
privacy: {{{privacy}}}
"""
ROWS = 3000
ILLS = ("flu", "cold", "gout", "cough", "rash")
Row = dict[str, str]


@dataclass(frozen=True)
class Ended:
    """How a command ended, and the report that it wrote."""

    code: int
    err: str
    report: dict[str, Any]


Run = Callable[..., Ended]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A table in which the illness goes with age and sex, in seven of ten people."""
    random = np.random.default_rng(7)
    ages, sexes = random.integers(0, 4, ROWS), random.integers(0, 2, ROWS)
    ills = np.where(random.random(ROWS) < 0.7, (ages + sexes) % 5, random.integers(0, 5, ROWS))
    with (tmp_path / "table.csv").open("w", newline="", encoding="utf-8") as file:
        people = ((f"{20 + 10 * age}s", "fm"[sex], ILLS[ill]) for age, sex, ill in zip(ages, sexes, ills, strict=True))
        csv.writer(file).writerows([("age", "sex", "ill"), *people])
    return tmp_path


@pytest.fixture
def run(desk: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(desk)

    def running(algorithm: str, *words: str, privacy: str = "l: 2") -> Ended:
        (desk / "spec.yaml").write_text(SPEC.format(privacy=privacy), encoding="utf-8")
        files = ("-o", "released.csv", "-r", "report.json", "--force", "-q")
        code = outcome(lambda: command([algorithm, "spec.yaml", *files, *words]))
        report = json.loads((desk / "report.json").read_text(encoding="utf-8")) if code == 0 else {}
        return Ended(code, capfd.readouterr().err, report)

    return running


def records(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- attackers that know the files that are published, and nothing of the code ----------------------------------------


def of_channels(folder: Path) -> dict[tuple[str, str], str]:
    """The most frequent illness of the reconstructed table, by the inverse of the written distortions."""
    names = ("age", "sex", "ill")
    told = json.loads((folder / "released.params.json").read_text(encoding="utf-8"))["attributes"]
    rows, inverses, values = records(folder / "released.csv"), [], []
    for name, attribute in zip(names, told, strict=True):
        values.append(attribute.get("values") or sorted({row[name] for row in rows}))
        size, p = len(values[-1]), attribute["p"]
        inverses.append(
            np.linalg.inv(np.full((size, size), (1 - p) / (size - 1)) + np.eye(size) * (p - (1 - p) / (size - 1)))
        )
    joint = np.zeros([len(each) for each in values])
    for row in rows:
        joint[tuple(each.index(row[name]) for name, each in zip(names, values, strict=True))] += 1
    joint = np.einsum("ai,bj,ck,ijk->abc", *inverses, joint)
    combinations = itertools.product(enumerate(values[0]), enumerate(values[1]))
    return {(age, sex): values[2][int(joint[i, j].argmax())] for (i, age), (j, sex) in combinations}


def of_anatomy(folder: Path) -> dict[tuple[str, str], str]:
    """The most frequent illness, where a group's are spread evenly over its rows."""
    people, listed = records(folder / "released.qit.csv"), records(folder / "released.st.csv")
    sizes, held = Counter(row["group"] for row in people), defaultdict(list)
    for row in listed:
        held[row["group"]].append((row["ill"], int(row["count"])))
    weights: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in people:
        for ill, count in held[row["group"]]:
            weights[row["age"], row["sex"]][ill] += count / sizes[row["group"]]  # type: ignore[assignment]
    return {who: max(found, key=found.__getitem__) for who, found in weights.items()}


def success(folder: Path, guess: dict[tuple[str, str], str]) -> float:
    """The share of people whom a guess names correctly."""
    people = records(folder / "table.csv")
    return sum(guess[row["age"], row["sex"]] == row["ill"] for row in people) / len(people)


@pytest.mark.parametrize(
    "words", [("--on", "qi"), ("--on", "both"), ("--p", "ill=0.4"), ("--p", "age=0.6,sex=0.8,ill=0.5")]
)
def test_the_report_says_how_often_an_ordinary_attacker_is_right(desk: Path, run: Run, words: tuple[str, ...]) -> None:
    ended = run("randomize", *words, "--allow-unsafe", privacy="l: 4")
    assert ended.code == 0, ended.err
    told = ended.report["risk"]["attacker"]["ill"]
    assert told["success"] == pytest.approx(success(desk, of_channels(desk)))
    assert told["original"] >= told["success"] > told["baseline"]


def test_that_attacker_passes_the_bound_on_a_guess_in_proportion(desk: Path, run: Run) -> None:
    """The bound is kept, and the headline must not say more than it is."""
    ended = run("randomize", "--on", "qi", privacy="l: 4")
    assert ended.report["privacy"]["satisfied"]
    assert ended.report["risk"]["attacker"]["ill"]["success"] > 2 / 4


@pytest.mark.parametrize("l", [2, 3])
def test_anatomy_is_attacked_the_same_way(desk: Path, run: Run, l: int) -> None:  # noqa: E741
    ended = run("anatomy", privacy=f"l: {l}")
    assert ended.code == 0, ended.err
    told = ended.report["risk"]["attacker"]["ill"]
    assert told["success"] == pytest.approx(success(desk, of_anatomy(desk)))
    assert told["original"] >= told["success"] > told["baseline"]
    assert told["success"] > 1 / l


@pytest.mark.parametrize("algorithm", ["randomize", "anatomy"])
def test_the_manual_says_whom_the_bound_is_about(algorithm: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert outcome(lambda: command([algorithm, "--help-all"])) == 0
    first, *_ = capfd.readouterr().out.split("What it does")
    assert "1/l bounds a guess in proportion, not the best one" in " ".join(first.split())


@pytest.mark.parametrize("algorithm", ["randomize", "anatomy"])
def test_a_public_report_is_silent_about_it(run: Run, algorithm: str) -> None:
    report = run(algorithm, "--public-report").report
    assert report["public"] is True and "attacker" not in json.dumps(report)
    assert "attacker" in run(algorithm).report["risk"]


# --- what a row tells -------------------------------------------------------------------------------------------------


def ratio(folder: Path, name: str) -> float:
    """The largest ratio within a column of the distortion matrix that was written."""
    told = json.loads((folder / "released.params.json").read_text(encoding="utf-8"))["attributes"]
    (own,) = (each for each in told if each["name"] == name)
    chances = (float(own["p"]), (1 - float(own["p"])) / (len(own["values"]) - 1))
    return max(chances) / min(chances)


@pytest.mark.parametrize("on", ["sensitive", "both"])
@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_local_differential_privacy_is_found_and_verified(desk: Path, run: Run, epsilon: float, on: str) -> None:
    ended = run("randomize", "--on", on, privacy=f"models: [{{model: local-dp, epsilon: {epsilon}}}]")
    assert ended.code == 0, ended.err
    assert math.log(ratio(desk, "ill")) == pytest.approx(epsilon, rel=1e-6)
    assert math.log(ratio(desk, "ill")) <= epsilon * (1 + 1e-9)
    (result,) = ended.report["privacy"]["models"]
    assert result["satisfied"] and result["achieved"]["epsilon"] == pytest.approx(epsilon, rel=1e-6)
    distortion = ended.report["recoding"]["distortion"]
    assert distortion["ill"]["epsilon"] == pytest.approx(epsilon, rel=1e-6)
    assert distortion["age"] == {"p": 1.0, "q": 0.0, "values": 4, "epsilon": None}


def test_amplification_stays_below_its_bound(desk: Path, run: Run) -> None:
    ended = run("randomize", privacy="models: [{model: amplification, rho1: 0.1, rho2: 0.5}]")
    assert ended.code == 0, ended.err
    assert ratio(desk, "ill") < 9  # 0.5 * 0.9 / (0.1 * 0.5)
    assert ratio(desk, "ill") == pytest.approx(9, rel=1e-6)
    (result,) = ended.report["privacy"]["models"]
    assert result["satisfied"] and result["achieved"] == {"rho1": 0.1, "rho2": pytest.approx(0.5, rel=1e-6)}
    assert result["achieved"]["rho2"] < 0.5


def test_both_bounds_hold_together(desk: Path, run: Run) -> None:
    ended = run("randomize", privacy="l: 4, models: [{model: local-dp, epsilon: 1.5}]")
    assert ended.code == 0, ended.err
    assert all(each["satisfied"] for each in ended.report["privacy"]["models"])
    assert math.log(ratio(desk, "ill")) <= 1.5 * (1 + 1e-9)


@pytest.mark.parametrize("model", ["local-dp, epsilon: 1", "amplification, rho1: 0.1, rho2: 0.5"])
def test_what_is_not_distorted_shows_itself(desk: Path, run: Run, model: str) -> None:
    privacy = f"models: [{{model: {model}}}]"
    ended = run("randomize", "--on", "qi", privacy=privacy)
    assert ended.code == 4 and "ill is left alone" in ended.err
    ended = run("randomize", "--p", "ill=0.99", privacy=privacy)
    assert ended.code == 1 and not (desk / "released.csv").exists()


def test_amplification_takes_probabilities_in_order(run: Run) -> None:
    assert run("randomize", privacy="models: [{model: amplification, rho1: 0.5, rho2: 0.5}]").code == 2


@pytest.mark.parametrize("algorithm", ["mondrian", "anatomy"])
def test_they_are_about_randomized_tables_alone(run: Run, algorithm: str) -> None:
    assert run(algorithm, privacy="models: [{model: local-dp, epsilon: 1}]").code == 2


# --- random numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["randomize", "anatomy"])
def test_a_release_with_a_seed_is_not_published(desk: Path, run: Run, algorithm: str) -> None:
    ended = run(algorithm, "--seed", "1", "--public-report")
    assert ended.code == 2 and "--seed" in ended.err
    assert not list(desk.glob("released*"))


def test_groups_are_drawn_from_the_entropy_of_the_system(desk: Path, run: Run) -> None:
    releases = []
    for _ in range(2):
        assert run("anatomy").code == 0
        releases.append((desk / "released.qit.csv").read_bytes())
    assert releases[0] != releases[1]
