"""Circles that the contract on siblings cannot see: a module that imports a package whose `__init__` imports it. And
what a release does not import before somebody asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import grimp
import pytest

import anonymize

UNASKED = (
    "anonymize.algorithms.cuts.supervised",
    "anonymize.algorithms.refining.refine",
    "anonymize._attack",
    "anonymize.attacks",
    "anonymize.auditing",
    "anonymize.evaluation",
    "anonymize.families.bucketized",
    "anonymize.families.perturbed",
    "anonymize.families.randomized",
    "anonymize.families.sampled",
    "anonymize.families.synthetic",
    "anonymize.formats",
    "anonymize.metrics.measures",
    "anonymize.metrics.queries",
    "anonymize.report.rendering",
    "anonymize.report.page",
    "anonymize.series.next_release",
    "anonymize.verify.series",
    "jinja2",
    "lets_plot",
    "scipy",
)
"""Rooms and libraries of a release that is refined, for a target, with attackers, in a series, with a page, or without
equivalence classes."""
OF_TABLES = ("anonymize.algorithms", "anonymize.report", "anonymize.table", "anonymize.verify", "polars")
"""Rooms and libraries of tables, which a spec alone can do without."""
OF_SPECS = ("anonymize.spec", "numpy", "pydantic", "rich", "yaml")
"""What it takes to read one."""
SPEC = """
version: 1
input: {path: table.csv}
quasi_identifiers: {age: {type: numeric}}
insensitive: [job]
privacy: {k: 2}
"""
RUN = """
import sys
from anonymize.cli.main import run
try:
    run(sys.argv[1:])
except BaseException as ended:  # click's own exceptions among them
    assert not getattr(ended, "code", getattr(ended, "exit_code", 1))
print(*sys.modules, file=sys.stderr)
"""


def through_own_package(graph: grimp.ImportGraph) -> list[tuple[str, str]]:
    """Modules, each with a package around it that it imports and that imports it, if by way of others."""
    return [
        (module, package)
        for module in sorted(graph.modules)
        for package in sorted(graph.find_modules_directly_imported_by(module))
        if module.startswith(f"{package}.") and graph.chain_exists(importer=package, imported=module)
    ]


def test_no_module_imports_a_package_that_imports_it() -> None:
    assert through_own_package(grimp.build_graph("anonymize")) == []


def test_a_circle_by_way_of_the_package_is_found() -> None:
    graph = grimp.ImportGraph()
    graph.add_import(importer="house.room", imported="house.room.chair")
    graph.add_import(importer="house.room.chair", imported="house.room.leg")
    graph.add_import(importer="house.room.lamp", imported="house.room")
    assert through_own_package(graph) == []
    graph.add_import(importer="house.room.leg", imported="house.room")
    assert through_own_package(graph) == [("house.room.leg", "house.room")]


def imported_by(command: Sequence[str], folder: Path) -> set[str]:
    """The modules that a command has imported when it ends, in a folder with a spec and its table."""
    (folder / "spec.yaml").write_text(SPEC)
    (folder / "table.csv").write_text("age,job\n31,cook\n34,cook\n52,clerk\n58,clerk\n")
    environment = os.environ | {"PYTHONPATH": str(Path(anonymize.__file__).parents[1])}
    run = [sys.executable, "-c", RUN, *command]
    ended = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return set(ended.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("command", "needed", "unasked"),
    [
        (["--help"], "click", (*OF_TABLES, *OF_SPECS, *UNASKED)),
        (["validate", "spec.yaml"], "anonymize.spec.model", (*OF_TABLES, *UNASKED)),
        (["mondrian", "spec.yaml", "-o", "released.csv", "-r", "report.json"], "anonymize._release", UNASKED),
    ],
)
def test_a_command_imports_what_it_needs(
    command: Sequence[str], needed: str, unasked: Sequence[str], tmp_path: Path
) -> None:
    imported = imported_by(command, tmp_path)
    assert needed in imported and sorted(imported & set(unasked)) == []
