"""Modules that are called by their own name: `anonymize.release(...)` beside `from anonymize.release import ...`.

A package has one attribute `release`, and the module `anonymize/release.py` takes it as soon as anything imports it.
For Python users it is a function; so the module is made callable, and passes the call to `anonymize.python`, which it
must not import, as that stands above it.

What they call is `guarded`: a library's own error may quote a cell, and would be shown with the traceback.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from anonymize.errors import AnonymizeError, MemoryShortage, ProgramError, WriteError

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

ABOVE = "anonymize.python"


class CallableModule(ModuleType):
    """A module of the package that is also the function of that name for Python users."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Calls the function of this name in `anonymize.python`."""
        return getattr(import_module(ABOVE), self.__name__.rpartition(".")[2])(*arguments, **keywords)


def make_callable(name: str) -> None:
    """Makes the module of a name callable, which has been imported or is being imported."""
    sys.modules[name].__class__ = CallableModule


def guarded(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """A function that raises this package's errors alone, and none with another behind it (`__cause__`, `__context__`):
    no traceback quotes what a library said of a cell. An exception that nobody expected is a ProgramError."""

    @wraps(function)
    def called(*arguments: Given.args, **keywords: Given.kwargs) -> Returned:
        try:
            return function(*arguments, **keywords)
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:  # a panic of polars is not an Exception
            if isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
                raise  # arguments that the function does not take
            failure = _own(error)
        failure.__cause__ = failure.__context__ = None
        raise failure

    return called


def _own(error: BaseException) -> AnonymizeError:
    """The error as one of this package's: as it is, or what the command would say of it."""
    if isinstance(error, AnonymizeError):
        return error
    if isinstance(error, MemoryError):
        return MemoryShortage("the memory did not suffice; nothing was written")
    if isinstance(error, OSError) and error.strerror:
        return WriteError(f"{error.filename or 'input or output'}: {error.strerror}")
    return ProgramError.of(error)
