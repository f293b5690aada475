"""The road of a first spec: a table is measured, its columns are guessed, and what anonymity costs is tried.

table    ─▶ facts      exact counts of what singles people out, and a sample (`anonymize.profiling.measure`)
facts    ─▶ guesses    a role for each column, with its reason; whoever runs it may decide otherwise
guesses  ─▶ proposal   hierarchies, sets of columns that single people out, k and its cost
proposal ─▶ spec       text with a comment for each guess (`anonymize.profiling.document`)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from anonymize.domain.taxonomy import as_csv
from anonymize.errors import UsageError
from anonymize.places import is_uri, seen_from, without_secrets
from anonymize.privacy import PARAMETERS
from anonymize.profiling import capacity, layout_of
from anonymize.profiling.document import Proposal, text_of, weighting
from anonymize.profiling.measure import TableFacts, measure
from anonymize.profiling.roles import ROLES, Guess, guesses, unit_of
from anonymize.profiling.settings import kind_of, sentinels_of, settings, unambiguous
from anonymize.records import dataclass
from anonymize.report.passing import derived
from anonymize.spec import Spec, make
from anonymize.table import OutputFile, Source, commit, read
from anonymize.verify.kept import Derivation

SMALL, TRIAL = 200_000, 4_000
"""If a table has more rows than the first, anonymity is tried on only as many as the second: reading them takes long
enough."""

Decide = Callable[[Sequence[Guess]], Sequence[Guess]]
Choose = Callable[[Proposal], Proposal]
"""From a proposal that says what several k cost, makes the one whose k, l and suppression are taken."""


@dataclass(frozen=True)
class Init:
    """A table, and where its first spec goes.

    `path`: of the table, `-` for standard input. `output`: of the spec, `-` for standard output. `show_values`: values
    of the table stand in comments, and only the file's owner may read it. `hierarchies`: a folder for hierarchy files,
    which hold values; None: builders alone. `decide`: what makes other guesses of those that were made; `choose`: what
    makes another k, l and suppression of those that are proposed. `header`: whether the first line of a CSV names its
    columns, None where nobody has said so. `input_path`: what the spec calls the table, `-` for
    nothing; None: its path.
    """

    path: str
    output: str = "-"
    show_values: bool = False
    hierarchies: str | None = None
    force: bool = False
    separator: str | None = None
    encoding: str | None = None
    header: bool | None = None
    decide: Decide = lambda guesses: guesses
    choose: Choose = lambda proposal: proposal
    input_path: str | None = None


def init(request: Init) -> str:
    """Writes a first spec; returns its text. Raises UsageError, also for a first line that looks like a row where
    nobody has said what it is, DataError and WriteError; then nothing is written."""
    with ExitStack() as stack:
        values = layout_of(request.path, request.separator, request.encoding)
        values |= {} if request.header is None else {"header": request.header}
        reading = make({"version": 1, "input": values, "quasi_identifiers": {"a": {}}}, PARAMETERS)
        source = stack.enter_context(Source.open(reading, request.path, doubtful=request.header is None))
        target = OutputFile(request.output, force=request.force, private=request.show_values)
        outputs = [stack.enter_context(target)]
        facts = measure(source)
        made = _without_derived(guesses(list(facts.columns.values()), facts.hashes), source, reading)
        decided = list(request.decide(made))
        if [guess.role for guess in decided] != [guess.role for guess in made]:
            decided = _without_derived(decided, source, reading)
        if not any(guess.role == "quasi-identifier" for guess in decided):
            raise UsageError("a spec needs a quasi-identifier, but no column is one")
        proposal = _proposal(request, facts, decided, values)
        if request.hierarchies is not None:
            proposal, files = _with_files(request, proposal, source)
            outputs = [*(stack.enter_context(file) for file in files), *outputs]
        text = text_of(proposal)
        outputs[-1].write_text(text)
        source.unchanged()
        commit(outputs)
    return text


def _without_derived(made: Sequence[Guess], source: Source, reading: Spec) -> list[Guess]:
    """The guesses, in which a column that would pass through and follows from a quasi-identifier, or gives it away, is
    left out of the release, whatever k will be: as a further quasi-identifier it would be paid for twice."""
    names = {role: [guess.name for guess in made if guess.role == role] for role in ROLES}
    kept = [*names["insensitive"], *names["undecided"], *names["sampling-weight"]]
    content = {"version": 1, "quasi_identifiers": names["quasi-identifier"], "insensitive": kept}
    released = [*names["quasi-identifier"], *kept]
    unit, missing = unit_of(made), reading.missing(source.format)
    derivations: dict[str, Derivation] = {}
    for k in (capacity.NO_LESS, *capacity.KS) if kept else ():
        spec = make({**content, "privacy": {"k": k}} | ({"unit": unit.name} if unit else {}), PARAMETERS)
        derivations |= {each.column: each for each in derived(source.scan(), source.rows or 0, spec, missing, released)}
    return [
        each.as_role(
            "identifier", f"{derivations[each.name]}: left out, as it discloses what is generalized", "derived"
        )
        if each.name in derivations
        else each
        for each in made
    ]


def _proposal(request: Init, facts: TableFacts, decided: Sequence[Guess], values: dict[str, Any]) -> Proposal:
    quasi = [guess for guess in decided if guess.role == "quasi-identifier"]
    called = request.input_path or request.path
    given: dict[str, Any] = {} if called == "-" else {"path": _relative(called, request.output)}
    sentinels = [(guess, each) for guess in decided if (each := sentinels_of(guess, facts.sample)) is not None]
    as_text = unambiguous(sentinels, list(facts.columns.values())) if facts.texts_alone else []
    unknown = list(dict.fromkeys([*facts.unknown, *as_text]))
    given |= values | ({"missing": ["", *unknown]} if unknown else {})
    texts = {guess.name: guess.facts.texts[:5] for guess in decided}
    listed = {
        name: ", ".join(text if len(text) <= 30 else f"{text[:27]}..." for text in own) for name, own in texts.items()
    }
    proposal = Proposal(
        path=request.path,
        rows=facts.rows,
        input=given,
        guesses=decided,
        unit=unit_of(decided),
        settings={guess.name: settings(guess) for guess in quasi},
        remarks={guess.name: [each.remark] for guess, each in sentinels},
        listed=listed if request.show_values else {},
    )
    proposal = _with_joint(proposal, facts, quasi)
    rows = facts.sample if facts.rows <= SMALL else facts.sample.gather_every(-(-facts.sample.height // TRIAL))
    sampled = rows.height if rows.height < facts.rows else None
    losses = capacity.tried(_spec(proposal), rows, whole=sampled is None)
    k = capacity.proposed(losses, facts.rows)
    return request.choose(replace(proposal, costs=losses, k=k, sampled=sampled))


def _with_joint(proposal: Proposal, facts: TableFacts, quasi: Sequence[Guess]) -> Proposal:
    names = [guess.name for guess in sorted(quasi, key=lambda guess: -guess.facts.singles - guess.facts.distinct / 1e9)]
    if not set(facts.columns) <= set(facts.hashes):
        return proposal
    passing = [*proposal.names("sensitive"), *proposal.names("insensitive")]
    shares = capacity.together(facts.hashes, names, passing, proposal.names("undecided"))
    return replace(proposal, joint=capacity.growing(facts.hashes, names), all_together=shares)


def _spec(proposal: Proposal) -> Spec:
    """The spec without the file; what is guessed is what will be read."""
    content = {
        "version": 1,
        "input": {key: value for key, value in proposal.input.items() if key != "path"},
        "identifiers": proposal.names("identifier"),
        "unit": proposal.unit and proposal.unit.name,
        "quasi_identifiers": {name: dict(settings) for name, settings in proposal.settings.items()},
        "sensitive": {guess.name: kind_of(guess) for guess in proposal.guesses if guess.role == "sensitive"},
        "insensitive": proposal.names("insensitive"),
        "undecided": proposal.names("undecided"),
        "others": "drop",
    }
    weights = proposal.members("sampling-weight")
    return make(content | ({"sampling_weight": weighting(weights[0])} if weights else {}), PARAMETERS)


def _relative(path: str, output: str) -> str:
    """The table's path as the spec says it: relative to the spec's folder, or to the present one; a URI without its
    password, which whoever runs the spec has in the environment, or gives with the whole URI."""
    folder = "." if output in ("-", "/dev/stdout") else os.path.dirname(os.path.abspath(output))
    if is_uri(path):
        return without_secrets(seen_from(folder, path))
    return path if os.path.isabs(path) else os.path.relpath(path, folder)


def _with_files(request: Init, proposal: Proposal, source: Source) -> tuple[Proposal, list[OutputFile]]:
    """The hierarchies of categories as files in a folder, made from the values of the table."""
    table = read(_spec(proposal), source)
    folder = Path(str(request.hierarchies))
    folder.mkdir(mode=0o700, exist_ok=True)
    changed, files = dict(proposal.settings), []
    for number, attribute in enumerate(table.attributes):
        if "hierarchy" not in proposal.settings[attribute.name] or attribute.domain.kind == "numeric":
            continue
        stem = "".join(c if c.isalnum() or c in "-_" else "_" for c in attribute.name)[:60]
        file = OutputFile(folder / f"{number + 1:03}-{stem}.csv", force=request.force, private=True)
        file.write_text(as_csv(attribute.hierarchy))
        files.append(file)
        changed[attribute.name] = {"hierarchy": _relative(file.name, request.output)}
    return replace(proposal, settings=changed), files
