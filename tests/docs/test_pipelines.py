"""The files that users copy into their pipelines: they parse, and what they call exists."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from anonymize.cli.main import cli

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pipelines"


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def parsed(line: str) -> click.Context:
    """A command line of `anonymize` without redirections, parsed by the command itself."""
    words = shlex.split(re.split(r"[|<&]|\d?>", line)[0])
    assert words[0] == "anonymize"
    command = cli.get_command(click.Context(cli), words[1])
    assert command is not None
    return command.make_context(words[1], words[2:])


def lines(text: str) -> Iterator[str]:
    """The calls of `anonymize` in a script."""
    joined = text.replace("\\\n", " ")
    yield from (line.strip() for line in joined.splitlines() if line.strip().startswith("anonymize "))


HOOKS = {hook["id"]: hook for hook in loaded(ROOT / ".pre-commit-hooks.yaml")}


def test_the_hooks_are_complete() -> None:
    assert set(HOOKS) == {"anonymize-validate", "anonymize-audit"}
    for hook in HOOKS.values():
        assert hook["language"] == "python" and hook["name"] and hook["description"]
        assert set(hook) <= {"id", "name", "description", "entry", "language", "types", "files", "pass_filenames"}


def test_a_repository_can_use_the_hooks() -> None:
    for repo in loaded(FOLDER / "pre-commit.yaml")["repos"]:
        for used in repo["hooks"]:
            hook = HOOKS[used["id"]]
            names = [] if hook.get("pass_filenames") is False else ["specs/a.yaml", "specs/b.yaml"]
            assert all(re.search(used["files"], name) for name in names)
            parsed(shlex.join([*shlex.split(hook["entry"]), *used.get("args", []), *names]))


def test_the_workflow_of_github() -> None:
    workflow = loaded(FOLDER / "github.yml")
    (job,) = workflow["jobs"].values()
    steps = job["steps"]
    assert all(("run" in step) != ("uses" in step) for step in steps)
    calls = [line for step in steps for line in lines(step.get("run", ""))]
    assert [parsed(call).params["form"] for call in calls] == ["auto", "sarif", "markdown"]
    assert job["runs-on"] and workflow["permissions"]["security-events"] == "write"


def test_the_job_of_gitlab() -> None:
    (job,) = loaded(FOLDER / "gitlab.yml").values()
    calls = [parsed(line) for line in job["script"] if line.startswith("anonymize ")]
    assert calls[0].params["form"] == "junit" and calls[1].params["no_regress"]
    assert job["artifacts"]["reports"]["junit"] == "audit.xml" and job["artifacts"]["when"] == "always"


def test_cron_calls_the_script() -> None:
    text = (FOLDER / "crontab").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if re.match(r"[\d*]", line)]
    assert Path(line.split()[5]).name == "nightly.sh" and os.access(FOLDER / "nightly.sh", os.X_OK)
    assert len(list(lines((FOLDER / "nightly.sh").read_text(encoding="utf-8")))) == 2


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """The script in a folder of its own, with programs that note how they were called."""
    if shutil.which("flock") is None:
        pytest.skip("flock is not installed")
    tools = tmp_path / "bin"
    tools.mkdir()
    scripts = {
        "anonymize": f'exec "{sys.executable}" -m anonymize "$@"',
        "mail": f'echo "$3" > "{tmp_path}/mailed"; cat >> "{tmp_path}/mailed"',
        "logger": f'echo "$3" > "{tmp_path}/logged"',
    }
    for name, line in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{line}\n")
        (tools / name).chmod(0o755)
    shutil.copy(FOLDER / "nightly.sh", tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "table.csv").write_text("q,s\n" + "".join(f"{n % 3},{n % 2}\n" for n in range(12)))
    return tmp_path


def ran(night: Path, spec: str) -> int:
    (night / "spec.yaml").write_text(spec)
    env = os.environ | {"PATH": f"{night / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    command = [str(night / "nightly.sh"), "privacy@example.org"]
    return subprocess.run(command, env=env, capture_output=True, timeout=120, check=False).returncode


SPEC = "version: 1\ninput: {path: table.csv}\nquasi_identifiers: {q: {type: numeric}}\nsensitive: {s: {}}\n"


def test_a_night_that_goes_well(night: Path) -> None:
    assert ran(night, SPEC + "privacy: {k: 3}\n") == 0
    assert not (night / "mailed").exists() and not (night / "logged").exists()
    assert (night / "out" / "release.csv").exists() and "Every requirement" in (night / "out" / "audit.txt").read_text()


def test_a_table_that_is_not_safe_is_mailed(night: Path) -> None:
    """The published table is not the one that was checked when it was made."""
    stub = night / "bin" / "anonymize"
    stub.write_text(stub.read_text().replace("exec", '[ "$1" = release ] && exit 0\nexec'))
    (night / "out" / "release.csv").write_text("q,s\n1,1\n")
    assert ran(night, SPEC + "privacy: {k: 3}\n") == 1
    mailed = (night / "mailed").read_text()
    assert mailed.startswith("privacy@example.org\n") and "k-anonymity (k=3) is not met" in mailed


def test_any_other_failure_is_logged(night: Path) -> None:
    assert ran(night, SPEC + "privacy: {k: 100}\n") == 4
    assert "exit code 4" in (night / "logged").read_text() and not (night / "mailed").exists()
