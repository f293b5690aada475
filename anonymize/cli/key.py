"""`key make`: a key file."""

from __future__ import annotations

import click

from anonymize.cli.options import FORCE, PATH, QUIET, with_options


@click.group(name="key")
def key() -> None:
    """Make the key of a series of releases.

    The pseudonyms of people in the state of a series are computed with a key that only you have. Keep it where the
    state is not, and keep a copy: without it a series cannot be continued, and nobody in it can be forgotten by name.
    Whoever has the key and a list of people can tell who is in the state.
    """


@key.command()
@with_options(click.argument("path", type=PATH), FORCE, QUIET)
def make(path: str, force: bool, quiet: bool) -> None:
    """Write a new key to PATH, which only its owner may read.

    A file that exists is not overwritten without `--force`: a series whose key is lost has come to its end.
    """
    from anonymize.errors import UsageError
    from anonymize.series.key import Key
    from anonymize.table import OutputFile

    if path == "-":
        raise UsageError("a key is a file that only its owner may read")
    with OutputFile(path, force=force, private=True) as output:
        output.write_text(Key.new().text)
        output.commit()
    if not quiet:
        click.echo(f"wrote a key to {path}; keep it where the state of the series is not", err=True)
