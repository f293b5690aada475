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
    needed = {*tool["packages"], *tool["force-include"], *tool["shared-data"]}
    needed |= {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml"}
    assert [path for path in needed if path not in kept and path.partition("/")[0] not in kept] == []


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


# --- what is installed ------------------------------------------------------------------------------------------------


def _requirement(text: str) -> tuple[str, tuple[int, ...]]:
    """The name of a requirement, as it is compared, and the least version that it takes."""
    match = re.match(r"([\w.-]+)(?:\[[^]]*\])?(?:>=([\d.]+))?", text)
    assert match is not None
    least = tuple(map(int, (match[2] or "0").split(".")))
    return match[1].lower().replace("_", "-"), least


def test_everything_that_ci_installs_has_a_version_that_the_project_takes() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    pinned = {name.lower().replace("_", "-"): version for name, _, version in (line.partition("==") for line in lines)}
    extras = PROJECT["optional-dependencies"]
    made_of = re.findall(r"[\w-]+", extras["dev"][0].partition("[")[2])
    needed = [*PROJECT["dependencies"], *extras["dev"][1:], *extras["browser"]]
    needed += [each for extra in made_of for each in extras[extra]]
    for name, least in map(_requirement, needed):
        assert tuple(int(part) for part in re.findall(r"\d+", pinned[name])[: len(least)]) >= least, name


def test_what_develops_has_every_extra_of_users() -> None:
    """But for Spark with its JVM part, in whose place Sail stands."""
    extras = PROJECT["optional-dependencies"]
    made_of = set(re.findall(r"[\w-]+", extras["dev"][0].partition("[")[2]))
    assert set(extras) - made_of == {"bench", "browser", "dev", "peers", "spark"}


def test_every_install_of_make_keeps_to_the_versions() -> None:
    installs = [
        line for line in (ROOT / "Makefile").read_text().splitlines() if "pip install" in line and "$(BIN)" in line
    ]
    apart = [line for line in installs if "--upgrade pip" not in line]
    assert apart and all("-c constraints.txt" in line for line in apart)
    assert ".ci/run" in (ROOT / ".github" / "workflows" / "test.yml").read_text()
