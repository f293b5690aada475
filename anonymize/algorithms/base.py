"""What an algorithm is: a module with a manual, an ID, options, a record of what it needs, and one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, TypeAlias

from anonymize.bucketized import Bucketized
from anonymize.errors import UsageError
from anonymize.privacy import Requirement
from anonymize.randomized import Randomized
from anonymize.recoding import Recoding
from anonymize.table import OutputFile, Table

Found: TypeAlias = Recoding | Bucketized | Randomized
"""What a search finds."""


@dataclass(frozen=True)
class Needs:
    """What an algorithm asks of a spec, and what it makes of one.

    `family` is the recoding model's name in the report. `hierarchies`: every quasi-identifier needs one. `sensitive`,
    `target`: the spec must name one. `monotone`: only monotone privacy models can be enforced. `uses`: the parts of a
    spec beyond roles, domains and privacy that have an effect; the report warns of the others. `guarantees`: what it
    returns meets the requirements; where it does not guarantee that, the check of the release may find it unsafe.
    `units`: it can count whom rows are about instead of rows. `populations`: it can count the people of a population.
    `reusable`: its recoding is a function of the values, which can be saved and applied to other rows, but for values
    of options that say otherwise.
    """

    family: str
    hierarchies: bool = False
    sensitive: bool = False
    target: bool = False
    monotone: bool = False
    uses: frozenset[str] = frozenset()
    guarantees: bool = True
    units: bool = False
    populations: bool = True
    reusable: bool = True


@dataclass(frozen=True)
class Context:
    """What surrounds a search: how many rows it may give up, its seed, its threads, whom to tell how far it is (rows
    more; passes of refinement, of how many; the lower bound, and the cost of the best that is found), the files that
    options name, by option, to be written by the search and published with the release, and whether the recoding will
    be saved."""

    suppression_limit: int = 0
    seed: int | None = None
    threads: int = 1
    progress: Callable[[int], None] = field(default=lambda rows: None)
    refining: Callable[[int, int], None] = field(default=lambda done, total: None)
    bounding: Callable[[int, int], None] = field(default=lambda bound, cost: None)
    files: Mapping[str, OutputFile] = field(default_factory=dict)
    save: bool = False


class Algorithm(Protocol):
    """The members of an algorithm's module."""

    ID: str
    """Name of its subcommand."""
    Options: Any
    """Frozen dataclass; a field's metadata has `help` and, where it applies, `choices`."""
    NEEDS: Needs

    def run(self, table: Table, requirements: tuple[Requirement, ...], options: Any, context: Context) -> Found:
        """The recoding it finds. Raises InfeasibleError where no release meets the requirements."""


def option(
    default: Any,
    help: str,
    choices: tuple[str, ...] | None = None,
    *,
    workload: frozenset[Any] = frozenset(),
    local: frozenset[Any] = frozenset(),
    file: bool = False,
) -> Any:
    """A field of an Options dataclass: the CLI's option and its line in the docs are made from it.

    `workload`: the values with which the algorithm looks at the table's targets and selections. `local`: those with
    which equal rows may be released differently, so that the recoding is no function of the values.
    `file`: whether the value is the path of a file that is written, "" for none.
    """
    more = {"workload": workload, "local": local, "file": file}
    return field(default=default, metadata={"help": help, "choices": choices, **more})


def files_of(options: Any) -> dict[str, str]:
    """The paths of the files that options ask for, by the option's name."""
    paths = {each.name: getattr(options, each.name) for each in fields(options) if each.metadata.get("file")}
    return {name: path for name, path in paths.items() if path}


def at_least(least: int, **options: float) -> None:
    """Raises UsageError of the first option, by the name of its field, whose number is below the least, or is none."""
    for name, value in options.items():
        if not value >= least:
            raise UsageError(f"--{name.replace('_', '-')} has to be at least {least}")


def why_not_reusable(algorithm: Algorithm, options: Any) -> str | None:
    """Why a recoding of the algorithm cannot be saved with these options; None where it can."""
    if not algorithm.NEEDS.reusable:
        return f"{algorithm.ID} may release equal values differently"
    local = [each for each in fields(options) if getattr(options, each.name) in each.metadata.get("local", ())]
    names = ", ".join("--" + each.name.replace("_", "-") for each in local)
    return f"{algorithm.ID} with {names} may release equal values differently" if local else None


def reads_workload(algorithm: Algorithm, options: Any) -> bool:
    """Whether the table has to be read with its targets: the algorithm needs one, or an option asks for them."""
    asked = (getattr(options, each.name) in each.metadata.get("workload", ()) for each in fields(options))
    return algorithm.NEEDS.target or any(asked)
