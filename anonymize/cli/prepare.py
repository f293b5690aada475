"""Commands that prepare a release: `validate` and `schema`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any

import click

from anonymize import __version__
from anonymize.cli.exits import put, say
from anonymize.cli.following import say_next
from anonymize.cli.kinds import PATH, choice_option, file_option, flag_option
from anonymize.cli.options import QUIET, SpecCommand, nearby_spec, with_options
from anonymize.errors import Problem, visible

if TYPE_CHECKING:
    from anonymize._validate import Validated
    from anonymize.formats import Checked

FORMS = ("text", "json", "github", "sarif", "junit", "markdown")
"""How `validate` prints: the forms of `audit`, without its page."""


@click.command(cls=SpecCommand)
@with_options(
    click.argument("specs", type=PATH, nargs=-1, metavar="[SPEC]..."),
    file_option("-i", "--input", "input_path", help="A table to check the spec against, or - for standard input."),
    choice_option("--format", "form", choices=FORMS, default="text", help="How to print."),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    flag_option("--watch", "watching", help="Check again whenever a file changes, until interrupted."),
    QUIET,
)
def validate(specs: tuple[str, ...], input_path: str | None, form: str, watching: bool, quiet: bool) -> None:
    """Check a spec, alone or against a table; or several specs, each alone.

    Alone: keys, values, roles, privacy models and hierarchy files. With a table, also: every column has a role, numbers
    are numbers, hierarchies cover every value, and the requirements can be met.
    """
    from anonymize._validate import validated_files as validated
    from anonymize.cli.watching import watch
    from anonymize.errors import UsageError

    if input_path is not None and len(specs) > 1:
        raise UsageError("--input: goes with one spec, and several were given")
    if watching and input_path == "-":
        raise UsageError("--watch: standard input cannot be read again")
    if not specs:
        nearby = nearby_spec()
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
        say_next(result.command, specs[0], *table, "-o", "released.csv", "-r", "report.html")


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
    """The same with what is wrong, on standard error, as nothing is raised while files are watched."""
    _say(result, form, quiet)
    for problem in result.problems if form == "text" else ():
        say(f"error: {problem}")
    sys.stdout.flush()


def _render(result: Validated, form: str, out: IO[str]) -> None:
    """Prints the result in a form other than text."""
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
@with_options(flag_option("--report", "of_report", help="That of reports in place of the spec's."))
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
