"""Algorithms by their IDs, each imported when it is first taken: a command runs one of them, and importing them all
takes longer than many a table does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import cast

from anonymize.algorithms.base import Algorithm


class Registry(MutableMapping[str, Algorithm]):
    """ID -> algorithm, in the order of the modules that are given: ID -> name of the module beside this one."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._known: dict[str, Algorithm | str] = dict(modules)

    def __getitem__(self, name: str) -> Algorithm:
        entry = self._known[name]
        if isinstance(entry, str):
            entry = cast(Algorithm, import_module(f"{__package__}.{entry}"))
            self._known[name] = entry
        return entry

    def __setitem__(self, name: str, algorithm: Algorithm) -> None:
        self._known[name] = algorithm

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
