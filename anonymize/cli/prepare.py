"""Commands that prepare a release: `validate` and `schema`."""

from __future__ import annotations

import json

import click

from anonymize.cli.options import PATH, QUIET, SpecCommand, nearby_spec, with_options


@click.command(cls=SpecCommand)
@with_options(
    click.argument("specs", type=PATH, nargs=-1, metavar="[SPEC]..."),
    click.option(
        "-i", "--input", "input_path", type=PATH, help="A table to check the spec against, or - for standard input."
    ),
    QUIET,
)
def validate(specs: tuple[str, ...], input_path: str | None, quiet: bool) -> None:
    """Check a spec, alone or against a table; or several specs, each alone.

    Alone: keys, values, roles, privacy models and hierarchy files. With a table, also: every column has a role, numbers
    are numbers, hierarchies cover every value.
    """
    from anonymize.errors import Problem, SpecError, UsageError

    if input_path is not None and len(specs) > 1:
        raise UsageError("--input: goes with one spec, and several were given")
    problems: list[Problem] = []
    if not specs:
        nearby = nearby_spec(click.get_current_context())
        if nearby is None:
            raise UsageError("no spec: name one, or put anonymize.yaml in this folder or one above")
        specs = (nearby,)
    for spec in specs:
        try:
            against = _validate(spec, input_path)
        except SpecError as error:
            problems += error.problems
        else:
            if not quiet:
                click.echo(f"{spec} is valid{against}")
    if problems:
        raise SpecError(problems)


def _validate(spec: str, input_path: str | None) -> str:
    """What to add to the statement that a spec is valid."""
    from anonymize import privacy
    from anonymize.domain import files
    from anonymize.spec import load
    from anonymize.table import Source, read

    loaded = load(spec, privacy.PARAMETERS)
    privacy.requirements(loaded)
    columns = {**loaded.quasi_identifiers, **loaded.sensitive}
    files.check({name: column.hierarchy for name, column in columns.items()}, normalize=loaded.input.normalize)
    if input_path is None:
        return ""
    with Source.open(loaded, input_path) as source:
        table = read(loaded, source)
        return f", and so is {source.name} ({table.rows:,} rows, {len(table.columns)} columns)"


@click.command()
def schema() -> None:
    """Print the JSON Schema of the spec, for editors and other checkers."""
    from anonymize import privacy
    from anonymize.spec.schema import json_schema

    click.echo(json.dumps(json_schema(privacy.PARAMETERS), indent=2, ensure_ascii=False))
