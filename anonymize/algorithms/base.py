"""What an algorithm is: a module with a manual, an ID, options, a record of what it needs, and one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from anonymize.privacy import Requirement
from anonymize.recoding import Recoding
from anonymize.table import Table


@dataclass(frozen=True)
class Needs:
    """What an algorithm asks of a spec, and what it makes of one.

    `family` is the recoding model's name in the report. `hierarchies`: every quasi-identifier needs one. `sensitive`,
    `target`: the spec must name one. `monotone`: only monotone privacy models can be enforced. `uses`: the parts of a
    spec beyond roles, domains and privacy that have an effect; the report warns of the others. `guarantees`: what it
    returns meets the requirements; where it does not guarantee that, the check of the release may find it unsafe.
    """

    family: str
    hierarchies: bool = False
    sensitive: bool = False
    target: bool = False
    monotone: bool = False
    uses: frozenset[str] = frozenset()
    guarantees: bool = True


@dataclass(frozen=True)
class Context:
    """What surrounds a search: how many rows it may give up, its seed, its threads, whom to tell how far it is (rows
    more; passes of refinement, of how many), and whether a file that an option names may replace another."""

    suppression_limit: int = 0
    seed: int | None = None
    threads: int = 1
    progress: Callable[[int], None] = field(default=lambda rows: None)
    refining: Callable[[int, int], None] = field(default=lambda done, total: None)
    force: bool = False


class Algorithm(Protocol):
    """The members of an algorithm's module."""

    ID: str
    """Name of its subcommand."""
    Options: Any
    """Frozen dataclass; a field's metadata has `help` and, where it applies, `choices`."""
    NEEDS: Needs

    def run(self, table: Table, requirements: tuple[Requirement, ...], options: Any, context: Context) -> Recoding:
        """The recoding it finds. Raises InfeasibleError where no release meets the requirements."""


def option(default: Any, help: str, choices: tuple[str, ...] | None = None) -> Any:
    """A field of an Options dataclass: the CLI's option and its line in the docs are made from it."""
    return field(default=default, metadata={"help": help, "choices": choices})
