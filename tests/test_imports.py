"""Circles that the contract on siblings cannot see: a module that imports a package whose `__init__` imports it. And
what a release does not import before somebody asks for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import grimp

import anonymize

UNASKED = (
    "anonymize.algorithms.cuts.supervised",
    "anonymize.algorithms.refining.refine",
    "anonymize._attack",
    "anonymize.attacks",
    "anonymize.auditing",
    "anonymize.evaluation",
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
"""Rooms and libraries of a release that is refined, for a target, with attackers, in a series, or with a page."""
SPEC = """
version: 1
input: {path: table.csv}
quasi_identifiers: {age: {type: numeric}}
insensitive: [job]
privacy: {k: 2}
"""
RELEASE = """
import sys
from anonymize.cli.main import run
try:
    run(["mondrian", "spec.yaml", "-o", "released.csv", "-r", "report.json"])
except SystemExit as ended:
    assert not ended.code
print(*sys.modules)
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


def test_a_plain_release_imports_no_attackers_series_or_page(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "table.csv").write_text("age,job\n31,cook\n34,cook\n52,clerk\n58,clerk\n")
    environment = os.environ | {"PYTHONPATH": str(Path(anonymize.__file__).parents[1])}
    command = [sys.executable, "-c", RELEASE]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    imported = set(ended.stdout.split())
    assert (tmp_path / "released.csv").exists() and "anonymize._release" in imported
    assert sorted(imported & set(UNASKED)) == []
