"""What `validate` makes of specs, in every form that it prints, once or whenever a file changes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from anonymize import __version__
from anonymize.errors import (
    AnonymizeError,
    DataError,
    InfeasibleError,
    Problem,
    SpecError,
    UnsafeError,
    UsageError,
    visible,
)
from anonymize.formats import FORMATS, Checked, Finding
from anonymize.places import is_uri, masked

if TYPE_CHECKING:
    from anonymize.domain.taxonomy import Taxonomy
    from anonymize.spec import Spec
    from anonymize.table import Source, Table

PAUSE = 0.5
"""Seconds between two looks at the files."""


@dataclass(frozen=True)
class Validated:
    """Specs that were checked. `statements`: one for each valid one. `error`: what is wrong with the others; None where
    nothing is. `warnings`: what is not wrong, and may be a mistake."""

    specs: tuple[str, ...]
    statements: tuple[str, ...]
    error: AnonymizeError | None
    warnings: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All that is wrong."""
        return () if self.error is None else self.error.problems


def validated(specs: tuple[str, ...], input_path: str | None) -> Validated:
    """Every spec, alone or against a table; the first kind of error that is met gives the exit code."""
    statements: list[str] = []
    warnings: list[str] = []
    problems: list[Problem] = []
    kinds: list[type[AnonymizeError]] = []
    for spec in specs:
        try:
            statement, doubts = _against(spec, input_path)
            statements.append(f"{spec} is valid{statement}")
            warnings += [f"{spec}: {doubt}" for doubt in doubts]
        except (SpecError, UsageError, DataError, InfeasibleError, UnsafeError) as error:
            problems += error.problems
            kinds.append(type(error))
    return Validated(specs, tuple(statements), kinds[0](problems) if kinds else None, tuple(warnings))


def _against(spec: str, input_path: str | None) -> tuple[str, list[str]]:
    """What to add to the statement that a spec is valid, and what to warn of."""
    from anonymize import privacy
    from anonymize.domain import files
    from anonymize.domain.taxonomy import Taxonomy
    from anonymize.spec import load
    from anonymize.spec.patterns import expand, left_over_warnings
    from anonymize.table import Source, read

    loaded = load(spec, privacy.PARAMETERS)
    privacy.requirements(loaded)
    columns = {**loaded.quasi_identifiers, **loaded.sensitive}
    files.check({name: column.hierarchy for name, column in columns.items()}, normalize=loaded.input.normalize)
    if input_path is None:
        quasi = {name: each.hierarchy for name, each in loaded.quasi_identifiers.items()}
        trees = {name: Taxonomy.of(name, files.read(each)) for name, each in quasi.items() if isinstance(each, Path)}
        return "", [*left_over_warnings(expand(loaded, (), lenient=True)), *twofold(trees)]
    with Source.open(loaded, input_path) as source:
        table = read(loaded, source, at_levels=True)
        _check_possible(loaded, table)
        _refuse_derived(loaded, source)
        statement = f", and so is {source.name} ({table.rows:,} rows, {len(table.columns)} columns)"
        doubts = left_over_warnings(expand(loaded, source.columns))
        labels = twofold({each.name: each.hierarchy for each in table.as_read.attributes})
        return statement, [*doubts, *labels, *_without_brackets(loaded, table)]


def _without_brackets(spec: Spec, table: Table) -> Iterator[str]:
    """A warning for each column whose rounded intervals the template could not show."""
    from anonymize.domain.numeric import Numeric
    from anonymize.recoding.spans import check_brackets

    for domain in [each.domain for each in table.attributes if isinstance(each.domain, Numeric)]:
        if domain.rounds and domain.bands is None and spec.output.numeric == "interval":
            try:
                check_brackets(domain, spec.output)
            except SpecError as error:
                yield from (f"{problem.message} ({problem.hint})" for problem in error.problems)


def twofold(hierarchies: Mapping[str, Taxonomy]) -> list[str]:
    """A warning for each hierarchy, by name, in which values read as nodes do that cover several."""
    return [
        f"{name}: {hierarchy.twofold} of its values read as a node over several does, and such a cell is read as the "
        "node: rename the nodes"
        for name, hierarchy in hierarchies.items()
        if hierarchy.twofold
    ]


def _refuse_derived(spec: Spec, source: Source) -> None:
    """Raises UnsafeError for columns that would pass through, and follow from a quasi-identifier or give it away."""
    from anonymize.report.passing import derived
    from anonymize.spec import resolve

    spec = resolve(spec, source.columns)
    derivations = derived(source.scan(), spec, spec.missing(source.format), source.columns)
    problems = [Problem(each.problem, source.name) for each in derivations if not each.accepted]
    if problems:
        raise UnsafeError(problems)


def _check_possible(spec: Spec, table: Table) -> None:
    """Raises InfeasibleError, with the nearest setting that is feasible, for what all rows together do not meet, and
    where the highest levels that are declared part the rows into too small parts."""
    from anonymize.algorithms import Context
    from anonymize.algorithms.remaining import remaining
    from anonymize.algorithms.within import remaining_within
    from anonymize.privacy import searched

    context = Context(int(spec.privacy.suppression * table.rows + 1e-9))
    parted = any(attribute.bounded for attribute in table.attributes)
    (remaining_within if parted else remaining)(table, searched(spec), context)


def render(result: Validated, form: str, out: IO[str]) -> None:
    """Prints the result in a form other than text."""
    if form == "json":
        problems = [asdict(problem) for problem in result.problems]
        content: dict[str, Any] = {"specs": list(result.specs), "valid": result.error is None, "problems": problems}
        content |= {"warnings": list(result.warnings)} if result.warnings else {}
        out.write(visible(json.dumps(content, indent=2, ensure_ascii=False), lines=True) + "\n")
    elif form == "markdown":
        lines = [f"- {problem}" for problem in result.problems] or [f"- {each}" for each in result.statements]
        lines += [f"- warning: {each}" for each in result.warnings]
        out.write("\n".join(["# Not valid" if result.problems else "# Valid", "", *lines, ""]))
    else:
        FORMATS[form](_checked(result), out, "never")


def _checked(result: Validated) -> Checked:
    """The result in the shape of the forms that `audit` has as well."""
    name = result.specs[0] if len(result.specs) == 1 else "specs"
    findings = [
        Finding("spec", "spec", str(Problem(each.message, hint=each.hint)), "error", each.file, each.line)
        for each in result.problems
    ]
    valid = [Finding("spec", statement, statement, "pass") for statement in result.statements]
    doubts = [Finding("spec", each, each, "warning") for each in result.warnings]
    report = {"tool": {"name": "anonymize", "version": __version__}, "input": {"path": name}}
    return Checked(report, (*findings, *doubts, *valid), command="validate", verdict="valid")


def watch(check: Callable[[], None], paths: Iterable[str]) -> None:
    """Checks now, and whenever one of the files has changed, or a CSV or YAML file in the folder of a spec; until it is
    interrupted. Raises UsageError for a table of a database, which nobody can watch."""
    paths, before = list(paths), None
    if watched := [masked(path) for path in paths if is_uri(path)]:
        raise UsageError([f"{each}: --watch takes files, and this is none" for each in watched])
    while True:
        if (now := _changes(paths)) != before:
            check()
            before = now
        time.sleep(PAUSE)


def _changes(paths: Iterable[str]) -> list[tuple[str, int]]:
    """When each file was changed last, in ns, and each CSV or YAML file in the folder of a spec."""
    files = {Path(path) for path in paths}
    for spec in [path for path in files if path.suffix in (".yaml", ".yml")]:
        files |= {path for path in spec.parent.iterdir() if path.suffix in (".csv", ".yaml", ".yml")}
    return sorted((str(path), path.stat().st_mtime_ns) for path in files if path.exists())
