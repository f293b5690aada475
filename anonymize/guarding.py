"""What Python users call raises this package's errors alone, in the words of Python.

A library's own error may quote a cell, and would be shown with the traceback. The rooms beneath name options as the
command line has them; a Python user gives keywords.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from anonymize.errors import AnonymizeError, MemoryShortage, Problem, ProgramError, UsageError, WriteError

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

KEYWORDS = {
    "input": "data",
    "i": "data",
    "o": "output",
    "qi": "quasi_identifiers",
    "public_report": "public",
}
"""Keywords that are not called as the option is."""
FLAGS = frozenset({"force", "allow_unsafe", "public", "joined", "relaxed", "no_regress", "by_position", "bound"})
"""Keywords that are true where the option is given."""
WORDS = frozenset({"cost", "cut", "metric", "on", "start"})
"""Keywords with whose option a message names a word to give."""
_OPTION = re.compile(
    r"(?<![\w-])(?:--(?P<long>[a-z][a-z-]*)|-(?P<short>[a-z])(?![\w-]))"
    r"(?:[ =](?P<number>\d+(?:\.\d+)?(?![\w%])))?(?: (?P<word>(?!(?:has|is|and|or|with|without)\b)[a-z]+)\b)?"
)
_REPORT = re.compile(r"`?(?<![\w-])(?:-r|--report) (?P<path>[\w.]+\.(?:json|html|md))`?")


def guarded(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """A function that raises this package's errors alone, and none with another behind it (`__cause__`, `__context__`):
    no traceback quotes what a library said of a cell. An exception that nobody expected is a ProgramError, and a
    keyword that the function does not take a UsageError with the nearest that it does."""
    signature = inspect.signature(function)

    @wraps(function)
    def called(*arguments: Given.args, **keywords: Given.kwargs) -> Returned:
        try:
            _refuse_unknown(function.__qualname__, signature, keywords)
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


def public(function: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """A function of `anonymize`: guarded, and called by where users find it."""
    outside = guarded(function)
    outside.__module__ = "anonymize"
    return outside


def refuse_unknown(command: str, given: Mapping[str, Any], names: list[str]) -> None:
    """Raises UsageError for options that a command does not have, with the nearest that it has."""
    unknown = [name for name in given if name not in names]
    if unknown:
        known = f"it has {', '.join(sorted(names))}"
        raise UsageError(
            Problem(f"{command} has no option {name}", hint=nearest(name, names) or known) for name in unknown
        )


def nearest(name: str, names: list[str]) -> str | None:
    """A hint with the name that is most like this one, if one is."""
    from difflib import get_close_matches

    close = get_close_matches(name.lower(), names, n=1)
    return f"did you mean `{close[0]}`?" if close else None


def _refuse_unknown(name: str, signature: inspect.Signature, keywords: Mapping[str, Any]) -> None:
    kinds = {each.kind for each in signature.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        refuse_unknown(name, keywords, list(signature.parameters))


def _own(error: BaseException) -> AnonymizeError:
    """The error as one of this package's: as it is, in Python's words, or what the command would say of it."""
    if isinstance(error, AnonymizeError):
        return reworded(error)
    if isinstance(error, MemoryError):
        return MemoryShortage("there was not enough memory; nothing was written")
    if isinstance(error, OSError) and error.strerror:
        return WriteError(f"{error.filename or 'input or output'}: {error.strerror}")
    return ProgramError.of(error)


def reworded(error: AnonymizeError) -> AnonymizeError:
    """Rewords an error in place, so that its messages name keywords instead of options; returns it."""
    error.problems = tuple(
        replace(each, message=in_python(each.message), hint=None if each.hint is None else in_python(each.hint))
        for each in error.problems
    )
    error.args = ("\n".join(map(str, error.problems)),)
    return error


def in_python(text: str) -> str:
    """A message whose options are keywords.

    >>> in_python("released.csv: exists already (--force overwrites it)")
    'released.csv: exists already (`force=True` overwrites it)'
    >>> in_python("allow it with --suppression 0.05, or -k 3; `-r report.json` writes one")
    'allow it with `suppression=0.05`, or `k=3`; `save("report.json")` writes one'
    >>> in_python("--metric has to be one of loss, ncp; --cut rate has no effect")
    '`metric` has to be one of loss, ncp; `cut="rate"` has no effect'
    """
    return _OPTION.sub(_keyword, _REPORT.sub(r'`save("\g<path>")`', text))


def _keyword(option: re.Match[str]) -> str:
    """The keyword of an option, as code; inside of code it has no marks of its own."""
    name = (option["long"] or option["short"]).replace("-", "_")
    name, word = KEYWORDS.get(name, name), option["word"] or ""
    if option["number"]:
        name = f"{name}={option['number']}"
    elif name in FLAGS:
        name = f"{name}=True"
    elif name in WORDS and word:
        name, word = f'{name}="{word}"', ""
    inside = option.string[: option.start()].count("`") % 2
    return " ".join(filter(None, [name if inside else f"`{name}`", word]))
