"""`key make`: a key file."""

from __future__ import annotations

import click

from anonymize.cli.exits import say
from anonymize.cli.kinds import PATH, file_option
from anonymize.cli.options import FORCE, QUIET, with_options


@click.group(name="key")
def key() -> None:
    """Make the key of a series of releases, or put another in its place.

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
        say(f"wrote a key to {path}; keep it where the state of the series is not")


@key.command()
@with_options(
    click.argument("state", type=PATH),
    click.argument("path", type=PATH),
    file_option("--key", "key_path", required=True, help="The key of the series so far."),
    FORCE,
    QUIET,
)
def rotate(state: str, path: str, key_path: str, force: bool, quiet: bool) -> None:
    """Put STATE under a new key, which is written to PATH: for a key that somebody may have read.

    Key and state take their places together. The new file holds the old key too, without which nobody could be
    recognized; whoever has the old one alone recognizes nobody in the new state. They still do in every copy of the
    old state, and by pseudonyms that have been published. Remove the old file when the new one has a copy.
    """
    from anonymize.errors import UsageError
    from anonymize.series.keeping import rotate as put_under

    if path == "-":
        raise UsageError("a key is a file that only its owner may read")
    put_under(state, key_path, path, force=force)
    if not quiet:
        say(f"the series {state} has a new key, {path}; remove {key_path} and its copies")
