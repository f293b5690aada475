"""What stands around the package: container, citation, classifiers, the deprecation policy's promise of dates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import anonymize

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_container_is_slim_and_runs_without_root() -> None:
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    images = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert images and all(image.startswith("python:") and image.endswith("-slim") for image in images)
    last = lines[len(lines) - 1 - [line.startswith("FROM ") for line in reversed(lines)].index(True) :]
    users = [line.split()[1] for line in last if line.startswith("USER ")]
    assert users and users[-1].partition(":")[0] not in ("root", "0")


def test_what_the_wheel_needs_reaches_the_container() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {path.partition("/")[0] for path in (*tool["packages"], *tool["force-include"])} | set(tool["shared-data"])
    assert needed | {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml"} <= kept


def test_the_citation_is_of_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (anonymize.__version__, PROJECT["license"])
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()


def test_every_python_that_is_supported_is_classified() -> None:
    least = int(PROJECT["requires-python"].rpartition(".")[2])
    versions = [f"Programming Language :: Python :: 3.{minor}" for minor in range(least, 15)]
    assert set(versions) <= set(PROJECT["classifiers"])


def test_every_version_of_the_changelog_has_its_day_or_is_not_released() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \((\d{4}-\d\d-\d\d|not released yet)\)", each) for each in headings)
