"""Modules that are called by their own name: `anonymize.release(...)` beside `from anonymize.release import ...`.

A package has one attribute `release`, and the module `anonymize/release.py` takes it as soon as anything imports it.
For Python users it is a function; so the module is made callable, and passes the call to `anonymize.python`, which it
must not import, as that stands above it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

ABOVE = "anonymize.python"


class CallableModule(ModuleType):
    """A module of the package that is also the function of that name for Python users."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Calls the function of this name in `anonymize.python`."""
        return getattr(import_module(ABOVE), self.__name__.rpartition(".")[2])(*arguments, **keywords)


def make_callable(name: str) -> None:
    """Makes the module of a name callable, which has been imported or is being imported."""
    sys.modules[name].__class__ = CallableModule
