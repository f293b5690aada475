"""Rules by their IDs, each imported when it is first taken: a search takes few of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar, cast

from anonymize.algorithms.cuts.base import CutRule

Rule = TypeVar("Rule", bound=CutRule)


class CutRules(Mapping[str, type[Rule]], Generic[Rule]):
    """ID -> rule, in the order of the classes that are given: ID -> `module.Class`, of a module beside this one."""

    def __init__(self, classes: Mapping[str, str]) -> None:
        self._classes = dict(classes)

    def __getitem__(self, name: str) -> type[Rule]:
        module, _, rule = self._classes[name].partition(".")
        return cast("type[Rule]", getattr(import_module(f"{__package__}.{module}"), rule))

    def __contains__(self, name: object) -> bool:
        return name in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)
