"""Circles that the contract on siblings cannot see: a module that imports a package whose `__init__` imports it."""

from __future__ import annotations

import grimp


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
