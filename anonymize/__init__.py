"""anonymize: turns a table about people into one that can be published, and proves it.

For Python users there are `init`, `validate`, `release`, `audit`, `evaluate`, `attack`, `compare`, `recode`,
`tabulate`, `explain` and `Spec`, which do what the commands do, to frames or to files, and raise the errors whose exit
codes the commands have. `help(anonymize.release)` is the manual. Nothing heavy is imported before one is used.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

__all__ = [
    "AnonymizeError",
    "Attacked",
    "AuditReport",
    "ComparedReleases",
    "Evaluated",
    "RecodedTable",
    "Release",
    "ReleasedTables",
    "Spec",
    "Validated",
    "attack",
    "audit",
    "compare",
    "evaluate",
    "explain",
    "init",
    "recode",
    "release",
    "tabulate",
    "validate",
]
"""What `__init__.pyi` declares for type checkers."""


def __getattr__(name: str) -> Any:
    """What Python users call, imported when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'anonymize' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module("anonymize.errors" if name == "AnonymizeError" else "anonymize.python"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
