"""What is done to a series of releases without a release: `series show`, `seal`, `undo` and `forget`, and `key
make`, which makes its key."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from anonymize.cli.exits import put, say
from anonymize.cli.options import COLOR, FORCE, PATH, QUIET, file_option, flag_option, with_options

# --- series -----------------------------------------------------------------------------------------------------------
# `series show`, `seal`, `undo` and `forget`: what is done to a series without a release.

STATE = click.argument("state", type=PATH)
KEY = file_option("--key", "key_path", required=True, help="The key of the series.")


@click.group(name="series")
def series() -> None:
    """Show a series of releases, take the last one back, or forget a person.

    A series begins with `--start-series STATE` of a release command and goes on with `--after STATE`. STATE is private.
    """


@series.command()
@with_options(STATE, flag_option("--json", "as_json", help="Print JSON."), COLOR)
def show(state: str, as_json: bool, color: str) -> None:
    """Print the releases of a series and how many people came, left, were held back and withheld.

    Held back are people who were never released and are too few for a class of their own; withheld are people who were
    released before and whose history now has too few. A run that was interrupted is finished first, or taken back.
    """
    from anonymize.series.keeping import summary

    content = summary(state)
    if as_json:
        put(json.dumps(content, indent=2, ensure_ascii=False), lines=True)
    else:
        _print(content, color)


def _print(content: dict[str, Any], color: str) -> None:
    from anonymize.report.section import Section, figure
    from anonymize.report.terminal import console, put_sections

    names = ("released", "newcomers", "departed", "held_back", "withheld")
    header = ("release", "file", "k", "reserve", *(name.replace("_", " ") for name in names))
    rows = [
        (
            str(each["number"]),
            Path(each["path"]).name,
            *(figure(each[name]) for name in ("k", "reserve")),
            *(figure(each["people"][name]) for name in names),
        )
        for each in content["releases"]
    ]
    out = console(sys.stdout, color)
    histories, smallest = content["histories"], content["smallest_history"]
    out.print(f"{len(rows)} releases; {histories} histories; the smallest has {smallest} people")
    put_sections([Section("Releases", header, rows, names=2)], out)


@series.command()
@with_options(STATE, KEY, QUIET)
def seal(state: str, key_path: str, quiet: bool) -> None:
    """Seal a state that an earlier version wrote, so that only who has the key can change it.

    Once, and only if nobody else can have changed it: what it says is believed from then on.
    """
    from anonymize.series.keeping import seal as put_under_seal

    sealed = put_under_seal(state, key_path)
    if not quiet:
        say(f"the series {state} is sealed" if sealed else f"the series {state} was sealed before")


@series.command()
@with_options(STATE, KEY, QUIET)
def undo(state: str, key_path: str, quiet: bool) -> None:
    """Take the last release back, as if it had never been made.

    For a release that nobody has got: who has seen it knows it all the same, and the next one is made as if they did
    not. The released file stays where it is.
    """
    from anonymize.series.keeping import undo as take_back

    path = take_back(state, key_path)
    if not quiet:
        say(f"took back the release {path}; remove the file if it is still there")


@series.command()
@with_options(
    STATE,
    click.argument("people", metavar="PERSON...", nargs=-1, required=True),
    KEY,
    flag_option("--force", help="Also where departures are deferred, so that it shows who is gone."),
    QUIET,
)
def forget(state: str, people: tuple[str, ...], key_path: str, force: bool, quiet: bool) -> None:
    """Remove people from the state, each named as in the table; several columns as a JSON list of texts.

    The releases in which they were stay as they are, and so does what these tell. The promise to the others counts
    those who are forgotten no more: who is then in a history of fewer than k is withheld from the next release. Who is
    forgotten and comes again is a newcomer; whoever recognizes them joins the two histories.

    With `departures: deferred` it takes `--force`: who is forgotten is not in the next release, whoever else is, and so
    what was promised of those who leave is not kept for them.
    """
    from anonymize.series.keeping import forget as remove

    count, few = remove(state, key_path, [_texts(person) for person in people], force=force)
    if not quiet:
        say(f"forgot {count}; {few} people are now in a history of fewer than k")


def _texts(person: str) -> list[str]:
    """The texts that name somebody."""
    try:
        texts = json.loads(person) if person.startswith("[") else [person]
    except ValueError:
        return [person]
    return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else [person]


# --- key --------------------------------------------------------------------------------------------------------------
# `key make`: a key file.


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
        say(f"wrote a key to {path}; keep it apart from the data, and from the state of a series")


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
