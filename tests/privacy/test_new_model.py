"""A privacy model is a file, a line of the registry and a twin: nothing else has to know a new one."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import anonymize
from tests.privacy.toys import add_to

PACKAGE = Path(anonymize.__file__).parent
SPEC = "{{version: 1, quasi_identifiers: {{age: {{type: numeric}}}}, sensitive: [s], privacy: {{models: [{}]}}}}"
AUDIT = ("audit", "--qi", "age", "--sensitive", "s", "--json")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and both toys, and a table whose five values are equally frequent."""
    folder = tmp_path_factory.mktemp("toys")
    add_to(PACKAGE, folder)
    write(folder / "table.csv", "abcde" * 8)
    return folder


def write(path: Path, values: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("age", "s"), *enumerate(values)])


def call(desk: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(desk), "COLUMNS": "300"}
    command = [sys.executable, "-m", "anonymize", *words]
    return subprocess.run(command, cwd=desk, env=environment, capture_output=True, text=True, check=False)


def calls(desk: Path, *commands: tuple[str, ...]) -> list[subprocess.CompletedProcess[str]]:
    """Several commands, one after the other in one process."""
    code = (
        "import json, sys; from tests.security.commands import run; "
        "ended = [run(*words) for words in json.loads(sys.argv[1])]; "
        "print(json.dumps([[each.args, each.returncode, each.stdout, each.stderr] for each in ended]))"
    )
    environment = os.environ | {"PYTHONPATH": f"{desk}{os.pathsep}{PACKAGE.parent}", "COLUMNS": "300"}
    command = [sys.executable, "-c", code, json.dumps(commands)]
    done = subprocess.run(command, cwd=desk, env=environment, capture_output=True, text=True, check=True)
    return [subprocess.CompletedProcess(*each) for each in json.loads(done.stdout)]


def spec(desk: Path, model: str) -> str:
    (desk / "spec.yaml").write_text(SPEC.format(f"{{model: {model}}}"), encoding="utf-8")
    return "spec.yaml"


@pytest.mark.parametrize(
    ("algorithm", "model", "reached"),
    [
        ("mondrian", "collision, collision: 0.25", {"collision": 0.25}),
        ("anatomy", "simpson-l-diversity, l: 3", {"l": 3}),
    ],
)
def test_a_release_is_searched_and_verified(desk: Path, algorithm: str, model: str, reached: dict[str, float]) -> None:
    files = ("-i", "table.csv", "-o", "o.csv", "-r", "r.json", "--force")
    joined = ("--joined",) if algorithm == "anatomy" else ()
    ended = call(desk, algorithm, spec(desk, model), *files, *joined)
    assert ended.returncode == 0, ended.stderr
    (result,) = json.loads((desk / "r.json").read_text(encoding="utf-8"))["privacy"]["models"]
    assert result["satisfied"] and result["achieved"] == pytest.approx(reached)


def test_the_nearest_feasible_setting_is_named(desk: Path) -> None:
    ended = call(desk, "incognito", spec(desk, "simpson-l-diversity, l: 9"), "-i", "table.csv", "-o", "x.csv")
    assert ended.returncode == 4 and "nearest feasible: l=5" in ended.stderr


def test_a_setting_out_of_range_is_refused(desk: Path) -> None:
    ended = call(desk, "validate", spec(desk, "collision, collision: 2"), "-i", "table.csv")
    assert ended.returncode == 2 and "collision" in ended.stderr


def test_what_has_become_worse_fails_an_audit(desk: Path) -> None:
    required = ("--require", "collision collision=1")
    for name, values in (("before.csv", "abcd"), ("now.csv", "aaab")):
        (desk / name).write_text("age,s\n" + "".join(f"1,{value}\n" for value in values), encoding="utf-8")
    compared = ("--baseline", "before.json", "--no-regress")
    made, same, ended = calls(
        desk,
        (*AUDIT, "-i", "before.csv", *required, "-r", "before.json"),
        (*AUDIT, "-i", "before.csv", *required, *compared),
        (*AUDIT, "-i", "now.csv", *required, *compared),
    )
    assert made.returncode == same.returncode == 0, made.stderr + same.stderr
    assert ended.returncode == 1 and "collision collision of s is 0.625, and was 0.25" in ended.stderr


def test_the_schema_has_it(desk: Path) -> None:
    made = json.loads(call(desk, "schema").stdout)
    assert {"collision", "simpson-l-diversity"} <= set(made["$defs"]["ModelEntry"]["properties"]["model"]["enum"])
