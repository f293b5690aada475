"""Modules by their IDs, each imported when it is first taken: a command runs one algorithm, and importing them all
takes longer than many a table does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import TypeVar, cast

Kind = TypeVar("Kind")


class Registry(MutableMapping[str, Kind]):
    """ID -> module, in the order in which they are given: ID -> name of a module of the `package`. All modules are of
    one kind: they have the same members."""

    def __init__(self, package: str, modules: Mapping[str, str]) -> None:
        self._package = package
        self._known: dict[str, Kind | str] = dict(modules)

    def __getitem__(self, name: str) -> Kind:
        entry = self._known[name]
        if isinstance(entry, str):
            entry = cast(Kind, import_module(f"{self._package}.{entry}"))
            self._known[name] = entry
        return entry

    def __setitem__(self, name: str, module: Kind) -> None:
        self._known[name] = module

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
