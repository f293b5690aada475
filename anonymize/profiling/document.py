"""A spec as text that is written for its reader: what was found, what was guessed, and what is to be decided.

It is a function of names, counts and guesses; `Proposal.listed` holds values where they are asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from anonymize.places import scheme_of
from anonymize.profiling.capacity import LossAtK, Singled
from anonymize.profiling.roles import Guess, GuessedRole
from anonymize.profiling.settings import kind_of, notation_of
from anonymize.records import dataclass

DECIDE = "decide:"
NO_PASSWORD = "its password is not kept here: PGPASSWORD, ~/.pgpass, or the whole URI with -i"
WIDTH = 118
COLUMNS_ALIKE = 4
"""So many columns that are called alike are one line, if the spec is long enough to need it."""
LONG = 40
ZIP_DIGITS = 3
BANDS = 10
"""Parts that sampling weights are put into: exact ones follow from what is known of a person."""
_PLAIN = re.compile(r"[A-Za-z_À-ÿ][A-Za-z0-9_.À-ÿ-]*(?: [A-Za-z0-9_.À-ÿ]+)*")
_STEM = re.compile(r".*?[A-Za-z]{2,}[_. -]?(?=[^A-Za-z]|$)|[A-Za-z]_?(?=\d)")
"""What columns that are called alike have in common: a word, or a letter before numbers."""
_WORDS = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"])


@dataclass(frozen=True)
class Proposal:
    """What is proposed of a table.

    `settings`: of the quasi-identifiers. `guesses`: of all columns, in the table's order. `unit`: that of them whose
    values are persons with several rows. `joint`: sets of columns that single rows out; `all_together`: the share that
    all quasi-identifiers do, these with what passes through, and these with what is undecided.
    `costs`: of several k; `sampled`: on so many rows, None for all. `diversity`: values of each sensitive column in a
    class, `suppression`: the share of rows that may be suppressed; None where that is left open. `decided`: whether
    somebody has said these, and k. `listed`: values of columns, where they are asked for. `remarks`: what seems to be
    wrong with the values of columns.
    """

    path: str | None
    rows: int
    input: Mapping[str, Any]
    guesses: Sequence[Guess]
    settings: Mapping[str, Mapping[str, Any]]
    joint: Sequence[Singled] = ()
    all_together: Sequence[float] | None = None
    costs: Sequence[LossAtK] = ()
    k: int = 5
    sampled: int | None = None
    diversity: int | None = None
    suppression: float | None = None
    decided: bool = False
    listed: Mapping[str, str] = field(default_factory=dict)
    remarks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unit: Guess | None = None

    def names(self, role: GuessedRole) -> list[str]:
        """The columns of a role; the unit has one of its own."""
        return [guess.name for guess in self.members(role)]

    def members(self, role: GuessedRole) -> list[Guess]:
        """The guesses of a role, in the order of the columns."""
        return [guess for guess in self.guesses if guess.role == role and guess is not self.unit]


def text_of(proposal: Proposal) -> str:
    """The spec."""
    groups = _groups(proposal)
    blocks = [
        _head(proposal),
        _input(proposal),
        _list(proposal, groups, "identifier", "identifiers", "left out of the release: identifies a person on its own"),
        _unit(proposal),
        _quasi(proposal, groups),
        _sensitive(proposal, groups),
        _list(proposal, groups, "insensitive", "insensitive", "pass through unchanged: neither known nor secret"),
        _weight(proposal),
        _undecided(proposal, groups),
        _others(proposal),
        _privacy(proposal),
        _output(proposal),
    ]
    return "\n".join("\n".join(block) + "\n" for block in blocks if block)


def weighting(guess: Guess) -> dict[str, Any]:
    """How the spec has a column of sampling weights."""
    return {"column": guess.name, "bands": BANDS, **notation_of(guess)}


def scalar(text: str) -> str:
    """A name or a text as YAML has it, in quotes where it needs them."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    escapes = {'"': '\\"', "\\": "\\\\", "\t": "\\t"}
    escaped = (escapes.get(each, each if each.isprintable() else f"\\U{ord(each):08x}") for each in text)
    return '"' + "".join(escaped) + '"'


def flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return scalar(value)
    return json.dumps(value)


def _comment(text: str) -> str:
    """A text as part of a comment: on one line, whatever a name has in it."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _line(text: str, note: str) -> str:
    return f"{text:<48} # {_comment(note)}" if note else text


# --- groups of columns ------------------------------------------------------------------------------------------------


def _groups(proposal: Proposal) -> dict[str, str]:
    """The pattern that stands for each column of a wide table that is called like others of its role and settings.

    A pattern matches no column that does not belong to its group.
    """
    if len(proposal.guesses) < LONG:
        return {}
    alike: dict[tuple[str, str, str], list[str]] = {}
    for guess in proposal.guesses:
        match = _STEM.match(guess.name)
        if match and match[0] != guess.name and "*" not in guess.name:
            own = proposal.settings.get(guess.name) or kind_of(guess)
            key = (guess.role, flow(own), match[0])
            alike.setdefault(key, []).append(guess.name)
    groups: dict[str, str] = {}
    for (_, _, stem), names in alike.items():
        matched = [guess.name for guess in proposal.guesses if guess.name.startswith(stem)]
        if len(names) >= COLUMNS_ALIKE and matched == names:
            groups |= dict.fromkeys(names, f"{stem}*")
    return groups


def _entries(
    proposal: Proposal, groups: Mapping[str, str], role: GuessedRole
) -> Iterator[tuple[str, Guess, Sequence[Guess]]]:
    """What names the columns of a role: a name or a pattern, its first column, and all of them."""
    written = set()
    members = proposal.members(role)
    for guess in members:
        entry = groups.get(guess.name, guess.name)
        if entry not in written:
            written.add(entry)
            yield entry, guess, [each for each in members if groups.get(each.name, each.name) == entry]


def _note(proposal: Proposal, guess: Guess, group: Sequence[Guess]) -> str:
    reason = guess.reason if len(group) == 1 else f"{len(group)} columns; the first: {guess.reason}"
    reason += "; rows share some: `unit:` may name it" if guess.mark == "shared" else ""
    facts, more = guess.facts, []
    if facts.bad:
        more.append(f"{facts.bad:,} values are not numbers")
    if guess.shape is not None and guess.shape.odd:
        verb = "1 text is none" if guess.shape.odd == 1 else f"{guess.shape.odd:,} texts are none"
        more.append(f"{verb}, so that there is no hierarchy: correct them, or list them in input.missing")
    more += proposal.remarks.get(guess.name, ())
    if facts.missing:
        more.append(f"{facts.missing:,} missing")
    if guess.shape is not None and guess.shape.ambiguous and guess.role == "quasi-identifier":
        more.append(f"or is it {guess.shape.ambiguous}?")
    values = [f"values: {proposal.listed[guess.name]}"] if guess.name in proposal.listed else []
    text = "; ".join(filter(None, [reason, *more, *values]))
    return f"decided: {text}".removesuffix(": ") if guess.decided else f"{DECIDE} {text}"


# --- blocks -----------------------------------------------------------------------------------------------------------


def _head(proposal: Proposal) -> list[str]:
    return [
        "# Made by `anonymize init`: a first guess at what the columns of this table are. It runs as it is, and it is",
        f"# not done: whoever knows the data has to look at each `{DECIDE}`.",
        "#",
        "#   anonymize validate THIS-FILE -i TABLE   checks this file, and the table against it",
        "#   anonymize release THIS-FILE -o released.csv -r report.html",
        "",
        "version: 1",
    ]


def _input(proposal: Proposal) -> list[str]:
    if not proposal.input:
        return []
    lines = ["input:"]
    for key, value in proposal.input.items():
        missing = f"{DECIDE} texts that seem to mean missing; the first one is what a release shows"
        note = missing if key == "missing" else NO_PASSWORD if scheme_of(str(value)).startswith("postgres") else ""
        lines.append(_line(f"  {key}: {flow(value)}", note))
    return lines


def _list(proposal: Proposal, groups: Mapping[str, str], role: GuessedRole, section: str, meaning: str) -> list[str]:
    entries = [
        _line(f"  - {scalar(entry)}", _note(proposal, guess, group))
        for entry, guess, group in _entries(proposal, groups, role)
    ]
    return [f"# {section}: {meaning}.", f"{section}:", *entries] if entries else []


def _unit(proposal: Proposal) -> list[str]:
    if proposal.unit is None:
        return []
    facts = proposal.unit.facts
    reason = f"{proposal.unit.reason}: {facts.distinct:,} in {facts.rows:,} rows"
    counted = replace(proposal.unit, mark=None, reason=reason)
    return [
        "# unit: whom a row is about, where several are about one: k counts these. Left out of the release.",
        "# `audit` of a release finds it by `--unit-from TABLE --link LINK`, LINK being made by `release --save-link`.",
        _line(f"unit: {scalar(facts.name)}", _note(proposal, counted, [counted])),
    ]


def _quasi(proposal: Proposal, groups: Mapping[str, str]) -> list[str]:
    lines = ["# quasi_identifiers: what others may know of a person; generalized. Together they name one."]
    for single in proposal.joint:
        names = ", ".join(map(_comment, single.columns))
        lines.append(f"# {single.share:.1%} of the {proposal.rows:,} rows are unique by {names}.")
    if proposal.all_together is not None:
        by_these, passing, _ = proposal.all_together
        lines.append(f"# {by_these:.1%} are alone by all of them, {passing:.1%} by these and what passes through.")
    lines.append("quasi_identifiers:")
    for entry, guess, group in _entries(proposal, groups, "quasi-identifier"):
        settings = proposal.settings.get(guess.name, {})
        lines.append(f"  {scalar(entry)}:" + ("" if settings else " {}"))
        lines[-1] = _line(lines[-1], _note(proposal, guess, group))
        lines += [f"    {key}: {flow(value)}" for key, value in settings.items()]
        level, why = safe_harbor(guess, settings)
        lines += [_line(f"    # levels: {{min: {level}}}", why)] if level else []
    return lines


def safe_harbor(guess: Guess, settings: Mapping[str, Any]) -> tuple[int, str]:
    """The lowest level of dates and ZIP codes that the Safe Harbor of HIPAA shows, and what it is; 0 where it has none
    for a column."""
    hierarchy = settings.get("hierarchy")
    if not isinstance(hierarchy, Mapping):
        return 0, ""
    dates, lengths = hierarchy.get("dates", ()), hierarchy.get("prefix", ())
    levels = list(dates["levels"] if isinstance(dates, Mapping) else dates)
    if "year" in levels:
        return levels.index("year") + 1, "shows nothing finer than a year, as HIPAA's Safe Harbor asks"
    if ZIP_DIGITS in lengths and guess.words & {"zip", "zipcode", "zcta"}:
        reads = "shows three digits, as HIPAA's Safe Harbor asks; {zip3: TABLE} has 000 for small areas as well"
        return lengths.index(ZIP_DIGITS) + 1, reads
    return 0, ""


def _sensitive(proposal: Proposal, groups: Mapping[str, str]) -> list[str]:
    entries = [
        _line(f"  {scalar(entry)}: {flow(kind_of(guess))}", _note(proposal, guess, group))
        for entry, guess, group in _entries(proposal, groups, "sensitive")
    ]
    meaning = "# sensitive: what nobody may learn of a person; released as it is."
    return [meaning, "sensitive:", *entries] if entries else []


def _weight(proposal: Proposal) -> list[str]:
    lines = []
    for guess in proposal.members("sampling-weight"):
        entry = _line(f"sampling_weight: {flow(weighting(guess))}", _note(proposal, guess, [guess]))
        meaning = "how many of the population a row stands for; released in bands, each as its mean."
        lines += [f"# sampling_weight: {meaning}", entry]
    return lines


def _undecided(proposal: Proposal, groups: Mapping[str, str]) -> list[str]:
    meaning = "left out of the release, until you list them under one of the other sections"
    lines = _list(proposal, groups, "undecided", "undecided", meaning)
    if lines and proposal.all_together is not None:
        unique = proposal.all_together[2]
        lines.insert(1, f"# {unique:.1%} of the rows would be unique if these passed through as well.")
    return lines


def _others(proposal: Proposal) -> list[str]:
    if proposal.names("undecided"):
        return [_line("others: drop", "leaves out what is undecided, and columns that are not listed here")]
    return [_line("# others: drop", "what a column is that is not listed here; an error as it is")]


def _privacy(proposal: Proposal) -> list[str]:
    lines = ["privacy:"]
    if proposal.costs:
        of = "the table" if proposal.sampled is None else f"a sample of {proposal.sampled:,} rows; the table loses less"
        figures = ", ".join(f"k={cost.k}: {cost.gcp:.1%}" for cost in proposal.costs)
        lines.append(f"  # Precision of the quasi-identifiers that a mondrian loses (gcp), on {of}:")
        lines.append(f"  # {figures}")
    few = f"; the table has {proposal.rows}, and cannot be released" if proposal.rows < proposal.k else ""
    alike = "rows that" if proposal.unit is None else f"individuals (by {proposal.unit.name}) whose rows"
    mark = "decided:" if proposal.decided else DECIDE
    lines.append(_line(f"  k: {proposal.k}", f"{mark} {alike} read alike, at least{few}"))
    if proposal.names("sensitive"):
        least = 2 if proposal.diversity is None and not proposal.decided and _varied(proposal) else proposal.diversity
        entry = "# l: 2" if least is None else f"l: {least}"
        lines.append(_line(f"  {entry}", "values of each sensitive column in each class"))
    entry = "# suppression: 0.01" if proposal.suppression is None else f"suppression: {proposal.suppression:g}"
    lines.append(_line(f"  {entry}", "the share of rows that may be suppressed"))
    if proposal.names("insensitive") or proposal.names("sampling-weight"):
        bound = "the share of rows that may be in groups under k by what passes through beside the quasi-identifiers"
        lines.append(_line("  # passing: {below_k: 0.05}", bound))
    return lines


def _varied(proposal: Proposal) -> bool:
    """Whether every sensitive column has values that look different, so that each class can have two."""
    texts = [{text.strip().casefold() for text in each.facts.texts} for each in proposal.members("sensitive")]
    return all(len(each) > 1 for each in texts)


def _output(proposal: Proposal) -> list[str]:
    if not any(settings.get("type") == "numeric" for settings in proposal.settings.values()):
        return []
    meaning = "ends of intervals on a grid, open where fewer than k rows are beyond (77+); or open, tight"
    return ["output:", _line("  edges: rounded", meaning)]
