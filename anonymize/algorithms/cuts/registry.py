"""Rules by their IDs, each imported when it is first taken: a search takes few of them."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from anonymize.algorithms.cuts.base import CutRule

Rule = TypeVar("Rule", bound=CutRule)


class CutRules(UserDict[str, Any], Generic[Rule]):
    """ID -> rule, in the order of the classes that are given: ID -> `module.Class`, of a module beside this one."""

    def __getitem__(self, name: str) -> type[Rule]:
        module, _, rule = self.data[name].partition(".")
        return cast("type[Rule]", getattr(import_module(f"{__package__}.{module}"), rule))
