"""Commands that prepare a release: `validate` and `schema`."""

from __future__ import annotations

import json

import click

from anonymize.cli.options import PATH, QUIET, SPEC, with_options


@click.command()
@with_options(
    SPEC,
    click.option(
        "-i", "--input", "input_path", type=PATH, help="A table to check the spec against, or - for standard input."
    ),
    QUIET,
)
def validate(spec: str, input_path: str | None, quiet: bool) -> None:
    """Check a spec, alone or against a table.

    Alone: keys, values, roles, privacy models and hierarchy files. With a table, also: every column has a role, numbers
    are numbers, hierarchies cover every value.
    """
    from anonymize import privacy
    from anonymize.domain import files
    from anonymize.spec import load
    from anonymize.table import Source, read

    loaded = load(spec, privacy.PARAMETERS)
    privacy.requirements(loaded)
    columns = {**loaded.quasi_identifiers, **loaded.sensitive}
    files.check({name: column.hierarchy for name, column in columns.items()})
    against = ""
    if input_path is not None:
        with Source.open(loaded, input_path) as source:
            table = read(loaded, source)
            against = f", and so is {source.name} ({table.rows:,} rows, {len(table.columns)} columns)"
    if not quiet:
        click.echo(f"{spec} is valid{against}")


@click.command()
def schema() -> None:
    """Print the JSON Schema of the spec, for editors and other checkers."""
    from anonymize import privacy
    from anonymize.spec.schema import json_schema

    click.echo(json.dumps(json_schema(privacy.PARAMETERS), indent=2, ensure_ascii=False))
