"""What is done to private states without a release: `series show`, `seal`, `undo` and `forget`; `budget show` of the
ledger of its people; and `key make`, which makes their key."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from anonymize.cli.exits import put_json, say
from anonymize.cli.options import COLOR, FORCE, PATH, QUIET, file_option, flag_option, with_options

# --- series -----------------------------------------------------------------------------------------------------------

STATE = click.argument("state", type=PATH)
KEY = file_option("--key", "key_path", required=True, help="The key of the series.")


@click.group(name="series")
def series() -> None:
    """Show a series of releases, undo the last one, or forget a person.

    A series is started by a release command with `--start-series STATE` and continued with `--after STATE`. STATE is
    private.
    """


@series.command()
@with_options(STATE, flag_option("--json", "as_json", help="Print JSON."), COLOR)
def show(state: str, as_json: bool, color: str) -> None:
    """Print the releases of a series and how many people joined, left, were held back and withheld.

    Held back are people who were never released and are too few for a class of their own; withheld are people who were
    released before and whose history now has too few. An interrupted run is first completed or rolled back.
    """
    from anonymize.series.keeping import summary

    content = summary(state)
    if as_json:
        put_json(content)
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
    """Seal a state written by an earlier version, so that it can be changed only with the key.

    Do so once, and only if nobody else can have changed it: its content is trusted from then on.
    """
    from anonymize.series.keeping import seal as put_under_seal

    sealed = put_under_seal(state, key_path)
    if not quiet:
        say(f"the series {state} is sealed" if sealed else f"the series {state} was sealed before")


@series.command()
@with_options(STATE, KEY, QUIET)
def undo(state: str, key_path: str, quiet: bool) -> None:
    """Undo the last release, as if it had never been made.

    Use this only if nobody has received the release: the next one is made without regard to what it disclosed. The
    released file is not removed.
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
    flag_option(
        "--force", help="Also if departures are deferred, so that the next release shows that somebody is gone."
    ),
    QUIET,
)
def forget(state: str, people: tuple[str, ...], key_path: str, force: bool, quiet: bool) -> None:
    """Remove people from the state, identified as in the table; several columns as a JSON list of texts.

    Published releases do not change, and neither does what they disclose. People who are forgotten no longer count
    among the k of others: those left in a history of fewer than k are withheld from the next release. Somebody who is
    forgotten and returns is a newcomer; an attacker who recognizes them can join the two histories.

    With `departures: deferred`, `--force` is required: people who are forgotten are missing from the next release
    regardless of others, so the guarantee about departures does not hold for them.
    """
    from anonymize.series.keeping import forget as remove

    count, few = remove(state, key_path, [_texts(person) for person in people], force=force)
    if not quiet:
        say(f"forgot {count}; {few} people are now in a history of fewer than k")


def _texts(person: str) -> list[str]:
    try:
        texts = json.loads(person) if person.startswith("[") else [person]
    except ValueError:
        return [person]
    return texts if isinstance(texts, list) and all(isinstance(text, str) for text in texts) else [person]


# --- budget -----------------------------------------------------------------------------------------------------------


@click.group(name="budget")
def budget() -> None:
    """Show what releases about the same people have spent together.

    A ledger begins with the first release that has `--budget LEDGER`, with the cap of the spec's `budget`, and is
    charged by each that has it. LEDGER is private. It is about people, whatever tables are released about them: one
    ledger for all of these, and no second one.
    """


@budget.command(name="show")
@with_options(
    click.argument("ledger", type=PATH),
    file_option("--key", "key_path", help="The key of the ledger: its seal is checked as well."),
    flag_option("--json", "as_json", help="Print JSON."),
    COLOR,
)
def show_budget(ledger: str, key_path: str | None, as_json: bool, color: str) -> None:
    """Print the charges of a ledger, what they come to together, and what is left.

    What is left is the largest epsilon of one more release of `synthesize`, or of `tabulate` with `mechanism: dp`, that
    the sum still allows, at which delta. That is more than the cap less what is spent, since epsilons do not simply add
    up. Of `safepub` less fits: a refusal says how much.

    A ledger that was changed, cut short or put back is refused (2), as far as it shows: whoever has no key can have
    changed it so that it shows only with `--key`.
    """
    from anonymize.dp.ledger import contents

    content = contents(ledger, key_path)
    if as_json:
        put_json(content)
    else:
        _print_budget(content, color)


def _print_budget(content: dict[str, Any], color: str) -> None:
    from anonymize.dp.mechanisms import still_fits
    from anonymize.errors import counted
    from anonymize.report.section import Section, figure
    from anonymize.report.terminal import console, put_sections

    names = ("epsilon", "delta", "rho")
    charges = [
        (each["date"], each["what"], *(figure(each.get(name)) for name in names), _beside(each))
        for each in content["list"]
    ]
    out, spent, cap = console(sys.stdout, color), content["spent"], content["budget"]
    about = "rows" if content["individual"] == "row" else f"individuals by {content['individual']}"
    out.print(
        f"{counted(len(charges), 'charge')} about {about}: {figure(spent['epsilon'])} of epsilon "
        f"{figure(cap['epsilon'])} at delta {figure(cap['delta'])} is spent; {still_fits(content['left'])}"
    )
    put_sections([Section("Charges", ("date", "release", *names, "beside"), charges, names=2)], out)
    out.print(content["covered"])


def _beside(charge: dict[str, Any]) -> str:
    """What is not in the sum: local epsilons, or that nothing bounds the release."""
    if "rho" in charge:
        return ""
    local = charge.get("local", {}).items()
    each = [f"{name}: {'unbounded' if value is None else format(value, '.4g')} a value" for name, value in local]
    return "; ".join(each) or "unbounded"


# --- key --------------------------------------------------------------------------------------------------------------


@click.group(name="key")
def key() -> None:
    """Make the key of a series of releases and of a ledger, or replace that of a series.

    The pseudonyms of people in the state of a series are computed with a secret key. Store it separately from the
    state, and keep a copy: without it, the series cannot be continued and nobody can be removed from it by name. With
    the key and a list of people, anybody can tell who is in the state.
    """


@key.command()
@with_options(click.argument("path", type=PATH), FORCE, QUIET)
def make(path: str, force: bool, quiet: bool) -> None:
    """Write a new key to PATH, which only its owner may read.

    An existing file is not overwritten without `--force`: a series whose key is lost cannot be continued.
    """
    from anonymize.errors import UsageError
    from anonymize.key import Key
    from anonymize.table import OutputFile

    if path == "-":
        raise UsageError("a key is a file that only its owner may read")
    with OutputFile(path, force=force, private=True) as output:
        output.write_text(Key.new().text)
        output.commit()
    if not quiet:
        say(f"wrote a key to {path}; store it separately from the data and from the state of a series")


@key.command()
@with_options(
    click.argument("state", type=PATH),
    click.argument("path", type=PATH),
    file_option("--key", "key_path", required=True, help="The present key of the series."),
    FORCE,
    QUIET,
)
def rotate(state: str, path: str, key_path: str, force: bool, quiet: bool) -> None:
    """Move STATE to a new key, written to PATH, if somebody may have read the old one.

    Key and state are replaced together. The new file also contains the old key, which is needed to recognize people.
    The old key alone recognizes nobody in the new state, but still does in copies of the old state and by published
    pseudonyms. Remove the old file once the new one is backed up.
    """
    from anonymize.errors import UsageError
    from anonymize.series.keeping import rotate as put_under

    if path == "-":
        raise UsageError("a key is a file that only its owner may read")
    put_under(state, key_path, path, force=force)
    if not quiet:
        say(f"the series {state} has a new key, {path}; remove {key_path} and its copies")
