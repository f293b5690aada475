"""Commands that prepare a release: `validate`, `schema`, and `hierarchy show`, `hierarchy check` and `hierarchy
make`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any

import click

from anonymize import __version__
from anonymize.cli import options
from anonymize.cli.completing import completing, quasi_identifiers
from anonymize.cli.exits import put, put_json, say, say_next
from anonymize.errors import Problem, visible

if TYPE_CHECKING:
    from rich.table import Table

    from anonymize._validate import Validated
    from anonymize.formats import Checked
    from anonymize.report.hierarchies import Described


# --- validate and schema ----------------------------------------------------------------------------------------------

FORMS = ("text", "json", "github", "sarif", "junit", "markdown")
"""How `validate` prints: the forms of `audit`, without its page."""


@click.command(cls=options.SpecCommand)
@options.with_options(
    click.argument("specs", type=options.PATH, nargs=-1, metavar="[SPEC]..."),
    options.file_option(
        "-i", "--input", "input_path", help="A table to check the spec against, or - for standard input."
    ),
    options.choice_option("--format", "form", choices=FORMS, default="text", help="How to print."),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    options.flag_option("--watch", "watching", help="Check again whenever a file changes, until interrupted."),
    options.QUIET,
)
def validate(specs: tuple[str, ...], input_path: str | None, form: str, watching: bool, quiet: bool) -> None:
    """Check a spec, alone or against a table; or several specs, each alone.

    Alone: keys, values, roles, privacy models and hierarchy files. With a table, also: every column has a role, numbers
    are numbers, hierarchies cover every value, and the requirements can be met.

    A spec with tables (`tabulate`), or for rows under differential privacy, is judged by what `tabulate`, `synthesize`
    or `safepub` refuse before they search or draw: columns without a public domain, values outside it, individuals in
    several groups. Where classes are to meet something as well, as `compare` takes it, that is a warning.
    """
    from anonymize._validate import validated_files as validated
    from anonymize.cli.progress import watch
    from anonymize.errors import UsageError

    if input_path is not None and len(specs) > 1:
        raise UsageError("--input: goes with one spec, and several were given")
    if watching and input_path == "-":
        raise UsageError("--watch: standard input cannot be read again")
    if not specs:
        nearby = options.nearby_spec()
        if nearby is None:
            raise UsageError("no spec: name one, or put anonymize.yaml in this folder or one above")
        specs = (nearby,)
    if watching:
        paths = specs if input_path is None else (*specs, input_path)
        watch(lambda: _say_again(validated(specs, input_path), form, quiet), paths)
    result = validated(specs, input_path)
    _say(result, form, quiet)
    if result.error is not None:
        if form == "text":
            raise result.error
        raise click.exceptions.Exit(result.error.exit_code)
    if not quiet and form == "text":
        table = [] if input_path in (None, "-") else ["-i", str(input_path)]
        output = "tables" if result.command == "tabulate" else "released.csv"
        say_next(result.command, specs[0], *table, "-o", output, "-r", "report.html")


def _say(result: Validated, form: str, quiet: bool) -> None:
    """The result on standard output; of text, only what is valid."""
    if form != "text":
        _render(result, form, sys.stdout)
    elif not quiet:
        for statement in result.statements:
            put(statement)
    for warning in result.warnings if form == "text" else ():
        say(f"warning: {warning}")


def _say_again(result: Validated, form: str, quiet: bool) -> None:
    """Prints a result, and what is wrong on standard error, as nothing is raised while files are watched."""
    _say(result, form, quiet)
    for problem in result.problems if form == "text" else ():
        say(f"error: {problem}")
    sys.stdout.flush()


def _render(result: Validated, form: str, out: IO[str]) -> None:
    from anonymize.formats import FORMATS

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
    from anonymize.formats import Checked, Finding

    name = result.specs[0] if len(result.specs) == 1 else "specs"
    findings = [
        Finding("spec", "spec", str(Problem(each.message, hint=each.hint)), "error", each.file, each.line)
        for each in result.problems
    ]
    valid = [Finding("spec", statement, statement, "pass") for statement in result.statements]
    doubts = [Finding("spec", each, each, "warning") for each in result.warnings]
    report = {"tool": {"name": "anonymize", "version": __version__}, "input": {"path": name}}
    return Checked(report, (*findings, *doubts, *valid), command="validate", verdict="valid")


@click.command()
@options.with_options(options.flag_option("--report", "of_report", help="The schema of reports instead of the spec's."))
def schema(of_report: bool) -> None:
    """Print the JSON Schema of the spec, for editors and other checkers; or of the JSON reports of every command.

    A report has the blocks that are defined for what was measured. Each may have further keys in a later version.
    """
    if of_report:
        from anonymize.report import SCHEMA

        put(SCHEMA.read_text(encoding="utf-8").removesuffix("\n"), lines=True)
        return
    from anonymize import privacy
    from anonymize.spec.schema import json_schema

    put(json.dumps(json_schema(privacy.PARAMETERS), indent=2), lines=True)


# --- hierarchy --------------------------------------------------------------------------------------------------------


@click.group(name="hierarchy")
def hierarchy() -> None:
    """Show, check and make value generalization hierarchies.

    show prints what each level of each quasi-identifier keeps and what it is worth; check reads hierarchy files; make
    writes the hierarchy of a builder (intervals, bands, mask, prefix, dates, times, codes, zip3, rare, flat) as a file,
    to be edited.
    """


@hierarchy.command()
@options.with_options(
    options.SPEC,
    click.argument("attribute", required=False, shell_complete=completing(quasi_identifiers)),
    options.INPUT,
    options.flag_option("--json", "as_json", help="Print JSON."),
    options.COLOR,
)
def show(spec: str, attribute: str | None, input_path: str | None, as_json: bool, color: str) -> None:
    """Print each level of each quasi-identifier, or of one, and its research value.

    For each level, the number of values is shown, and how many of them occur in the table. Its research value is the
    attribute's weight times the remaining detail, times the share of the rules that it keeps, or the value given in the
    spec; the rules that it breaks are listed with their importance. If nodes of a level have weights, the lowest and
    the highest are shown. Without a table, only hierarchies that are read from files are shown.
    """
    from anonymize import privacy
    from anonymize.report.hierarchies import describe
    from anonymize.spec import load
    from anonymize.spec.patterns import entry_of

    loaded = load(spec, privacy.PARAMETERS)
    described = describe(loaded, input_path, attribute)
    if as_json:
        put_json({"attributes": [each.as_json() for each in described]})
    else:
        _print(described, color)
    names = [each.name for each in described]
    left_out = [name for name in loaded.quasi_identifiers if not any(entry_of([name], each) for each in names)]
    if left_out and attribute is None:
        say(f"not shown without a table: {', '.join(left_out)}")


def _print(attributes: list[Described], color: str) -> None:
    from rich.text import Text

    from anonymize.report.section import figure
    from anonymize.report.terminal import console

    out = console(sys.stdout, color)
    for number, each in enumerate(attributes):
        if number:
            out.print()
        out.print(Text(f"{visible(each.name)} ({each.kind}, weight {figure(each.weight)})", "bold"))
        out.print(_table(each))
        for rule, reason in each.without_effect:
            out.print(Text(f"the rule {visible(str(rule))} has no effect: it {reason}", "yellow"))


def _table(described: Described) -> Table:
    from rich.table import Table
    from rich.text import Text

    from anonymize.report.section import figure

    table = Table(box=None, pad_edge=False)
    for name in ("level", "values", "occurring", "research value"):
        table.add_column(name, justify="right", no_wrap=True)
    weighted = any(level.weights != (1, 1) for level in described.levels)
    if weighted:
        table.add_column("weights", justify="right", no_wrap=True)
    table.add_column("rules broken")
    for number, level in enumerate(described.levels):
        figures: tuple[int | float | str | None, ...] = (number, level.values, level.occurring, level.research_value)
        figures += (" to ".join(figure(weight) for weight in sorted(set(level.weights))),) if weighted else ()
        broken = "\n".join(visible(str(rule)) for rule in level.broken)
        table.add_row(*(Text(figure(value)) for value in figures), Text(broken))
    return table


@hierarchy.command()
@options.with_options(
    click.argument("files", nargs=-1, required=True, type=options.PATH, metavar="FILE..."), options.QUIET
)
def check(files: tuple[str, ...], quiet: bool) -> None:
    """Read hierarchy files, CSV or YAML, and report all their problems.

    A file is valid if every line leads from a leaf to the same root, no leaf occurs twice, and no label has two parents
    on one level; exit code 2 otherwise. A value with the same text as a node above several values causes a warning.
    """
    from pathlib import Path

    from anonymize._validate import twofold
    from anonymize.domain.files import read
    from anonymize.domain.taxonomy import Taxonomy
    from anonymize.errors import SpecError

    problems: list[Problem] = []
    for name in files:
        try:
            taxonomy = Taxonomy.of("", read(Path(name)))
        except SpecError as error:
            problems += error.problems
            continue
        for warning in twofold({name: taxonomy}):
            say(f"warning: {warning}")
        if not quiet:
            put(f"{name}: {taxonomy.size:,} leaves, {taxonomy.height + 1} levels")
    if problems:
        raise SpecError(problems)


@hierarchy.command()
@options.with_options(
    options.SPEC,
    click.argument("attribute", shell_complete=completing(quasi_identifiers)),
    options.INPUT,
    options.file_option("-o", "--output", default="-", help="The file; - is standard output."),
    options.flag_option("--force", help="Overwrite a file that exists."),
)
def make(spec: str, attribute: str, input_path: str | None, output: str, force: bool) -> None:
    """Write the hierarchy of a quasi-identifier as CSV, one line for each value, from the leaf to the root.

    The builder in the spec is applied to the values of the table. Edit the file, and name it in the spec instead of the
    builder. An output that ends in .yaml or .yml is a YAML tree, which can have weights of nodes.
    """
    from anonymize import privacy
    from anonymize.report.hierarchies import check_name, text_for
    from anonymize.spec import load
    from anonymize.table import OutputFile, Source, commit, read
    from anonymize.table.write import check_suffix

    check_suffix(output, "a hierarchy", (".csv", ".yaml", ".yml"))
    loaded = load(spec, privacy.PARAMETERS)
    check_name(loaded.quasi_identifiers, attribute)
    with OutputFile(output, force=force) as target, Source.open(loaded, input_path) as source:
        table = read(loaded, source)
        check_name([each.name for each in table.attributes], attribute)
        definition = next(each for each in table.attributes if each.name == attribute)
        target.write_text(text_for(output, definition))
        commit([target])
