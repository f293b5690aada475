"""Attacks on what has been read: from tables to a scene, from a scene to rates, and whether these are within a
limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from anonymize.attacks import (
    ATTACKERS,
    OF_INVENTED,
    OF_RELEASED,
    EarlierRows,
    KnownDiversity,
    Required,
    Scene,
    remedy,
    suited,
)
from anonymize.claims import State
from anonymize.classes import Ints
from anonymize.domain.taxonomy import Taxonomy
from anonymize.errors import Caution
from anonymize.evaluation.attacked import CodedValues, changed_numbers, coded_kept, people_of
from anonymize.evaluation.invented import ReadRelease
from anonymize.evaluation.people import Known
from anonymize.formats import Finding, state_of
from anonymize.reading import SourceTexts
from anonymize.records import dataclass
from anonymize.request import Progress
from anonymize.spec import Spec
from anonymize.spec.base import Means
from anonymize.table.columns import Attribute
from anonymize.verify.cells import CellTemplates
from anonymize.verify.order import is_sorted
from anonymize.verify.table import TextTable, numbered

K_ANONYMITY, DISTINCT, FREQUENCY = "k-anonymity", "distinct-l-diversity", "frequency-l-diversity"
NOBODY_THERE = "{}: there was nobody to attack"
NOBODY = "no attacker could attack anybody"
IDLE = "{}: there is nothing of the kind to attack in this release"
LESS = "A smaller epsilon (`privacy: {differential: {epsilon: 0.5}}`) bounds what one person can change."
UNLINKED = "{} was not tried: whose rows are whose, the link of the release says"


@dataclass(frozen=True)
class AttackPlan:
    """Who attacks, how many people, and what is allowed; see `Attack`."""

    attackers: Sequence[str] = ()
    max_excess: float | None = None
    targets: int = 2000
    seed: int = 0
    progress: Progress = field(default=lambda stage, count, total: None)


def scene_of(
    plan: AttackPlan, people: Known, releases: Sequence[ReadRelease], values: CodedValues, row_of: Ints | None
) -> Scene:
    """What attackers may see. `row_of` (people of the original,): the released row about each, -1 for none; None where
    that is not known."""
    attributes = people.table.attributes
    codes = people.codes()
    targets, others = slice(0, people.rows), slice(people.rows, None)
    everybody = people_of(codes, values, targets, row_of)
    generator = np.random.default_rng(plan.seed)
    rows = [each.as_rows(attributes, coded) for each, coded in zip(releases, values.releases, strict=True)]
    rows[0] = replace(rows[0], kept=None if values.kept is None else values.kept[1])
    control = people_of(codes, values, others) if people.table.rows > people.rows else None
    return Scene(
        attributes=tuple(attribute.name for attribute in attributes),
        sizes=tuple(attribute.domain.size for attribute in attributes),
        sensitive=values.sizes,
        release=rows[0],
        everybody=everybody,
        targets=everybody.released().drawn(plan.targets, generator),
        control=None if control is None else control.drawn(plan.targets, generator),
        outsiders=control,
        earlier=tuple(EarlierRows(each) for each in rows[1:]),
        seed=plan.seed,
        channels=releases[0].channels,
        trees=tuple(each.domain if isinstance(each.domain, Taxonomy) else None for each in attributes),
        levels=tuple(map(_levels, attributes)),
        required=_required(people.spec),
        in_order=cache(partial(_in_order, releases[0].file, people.spec)),
        kept=partial(_kept_scene, plan, people, releases[0], row_of),
        numbers=partial(changed_numbers, people, releases[0], row_of),
        invented=None if values.points is None else values.points[1],
    )


def _kept_scene(plan: AttackPlan, people: Known, release: ReadRelease, row_of: Ints | None) -> Scene | None:
    """The scene of the same people and release with the kept columns in place of the sensitive attributes."""
    values = coded_kept(people, release)
    if not values.sizes:
        return None
    scene = scene_of(plan, people, [release], values, row_of)
    return replace(scene, release=replace(scene.release, group_of=None))  # what is kept is each row's own


def _levels(attribute: Attribute) -> Ints:
    """(levels, size) the node of each code at each level of a hierarchy."""
    leaves = attribute.generalization.leaf_of(np.arange(attribute.domain.size))
    return attribute.hierarchy.levels[:, leaves].astype(np.int64)


def _in_order(file: SourceTexts, spec: Spec) -> bool:
    """Whether a release's rows are sorted by what they show."""
    columns = tuple(dict.fromkeys(name for ends in file.columns.values() for name in ends))
    table = TextTable(file.source.scan(), columns, (), "")
    return is_sorted(table, numbered(table, columns), CellTemplates.of(spec))


def _required(spec: Spec) -> Required:
    """The k and the l of a spec, as far as attackers make use of them."""
    diversities: dict[str, list[KnownDiversity]] = {name: [] for name in spec.sensitive}
    if spec.privacy.l is not None:
        for each in diversities.values():
            each.append(KnownDiversity(spec.privacy.l))
    for entry in spec.privacy.models:
        if entry.model in (DISTINCT, FREQUENCY) and entry.parameters.given(Means.PROTECTED) is None:
            for name in diversities if entry.attribute is None else [entry.attribute]:
                diversities[name].append(KnownDiversity(entry.parameters.l, entry.model == FREQUENCY))  # type: ignore[attr-defined]
    others = [entry for entry in spec.privacy.models if entry.model != K_ANONYMITY]
    only_k = not others and spec.privacy.l is None and spec.unit is None
    return Required(spec.largest_k or 1, diversities, only_k)


def tried(plan: AttackPlan, scene: Scene) -> dict[str, Any]:
    """The block `attacks`."""
    kind = OF_RELEASED if scene.invented is None else OF_INVENTED
    names, able = plan.attackers or kind, suited(scene)
    results, idle = [], []
    for index, name in enumerate(names):
        plan.progress("attack", index, len(names))
        successes = ATTACKERS[name].attack(scene) if name in able else []
        results += [
            {"attacker": name, **success.block(), "remedy": LESS if scene.invented else remedy(name)}
            for success in successes
        ]
        idle += [] if successes else [name]
    return {
        "results": results,
        "left_out": idle,
        "people": len(scene.everybody),
        "outsiders": None if scene.outsiders is None else len(scene.outsiders),
        "sampled": len(scene.targets) < len(scene.everybody),
        "max_excess": plan.max_excess,
    }


def judged(block: dict[str, Any], plan: AttackPlan, doubt: Caution | None = None) -> tuple[tuple[Finding, ...], State]:
    """A finding for each thing attacked, and what they come to together. Says in the block `attacks` which are within
    the limit. `doubt`: what is wrong with the control; then nothing is shown to be within a limit.

    An attacker who is named and could not attack anybody has not shown anything: under a limit that is unknown. Of
    those who are not named, whoever found nothing to attack is not applicable, and does not decide.
    """
    limit, named = plan.max_excess, set(plan.attackers)
    unbound = {name for name, each in ATTACKERS.items() if each.CAPABILITIES.only_named} - named
    findings = [
        _finding(each, None if each["attacker"] in unbound else limit, named=each["attacker"] in named)
        for each in block["results"]
    ]
    for each, finding in zip(block["results"], findings, strict=True):
        each["satisfied"] = finding.level == "pass" if finding.known and finding.level != "measured" else None
    if limit is not None:
        idle = [IDLE.format(name) for name in block["left_out"] if name in named]
        idle += [] if idle or any(each.level != "measured" for each in findings) else [NOBODY]
        idle += [] if doubt is None else [doubt.text]
        findings += [Finding("max-excess", message, message, "error", known=False) for message in idle]
    errors = [each for each in findings if each.level == "error"]
    return tuple(findings), state_of(errors, required=limit is not None)


def _finding(each: dict[str, Any], limit: float | None, *, named: bool) -> Finding:
    about = f" of {each['about']}" if each["about"] else ""
    name, excess = f"{each['attacker']}{about}", each["excess"]
    title = name if limit is None else f"{name}: excess at most {limit:g}"
    if excess is None:
        unknown = limit is not None and named
        return Finding(
            "max-excess", title, NOBODY_THERE.format(name), "error" if unknown else "measured", known=not unknown
        )
    message = f"{name}: excess {excess['value']:.4g}, at most {excess['high']:.4g} with 95 % confidence"
    if limit is None:
        return Finding("max-excess", title, message, "measured")
    if excess["high"] > limit:
        return Finding("max-excess", title, f"{message}, where {limit:g} is allowed", "error")
    return Finding("max-excess", title, message, "pass")
