"""What an engine cannot do, and why: one record, which every road on an engine consults before it reads a row.

A feature of a spec, or an option, that an engine lacks is a line of `LACKS`; whatever command line option `ACCEPTED`
does not name, an engine lacks as well. What is particular to an algorithm or to one of its options it declares itself:
`Needs.counted`, `Needs.parted` or `Needs.alone`, and `alone` of `option`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields
from typing import Any

from anonymize.algorithms import ALGORITHMS, base, draws, reads_workload
from anonymize.errors import Problem, UsageError
from anonymize.privacy import MODELS
from anonymize.records import dataclass
from anonymize.request import Request
from anonymize.spec import Spec, hierarchy
from anonymize.spec.base import Means

RELEASE, DISTORTION, AUDIT, RECODE = "release", "distortion", "audit", "recode"
"""The roads on an engine: releases with classes, those of distorted values, a check, and a saved recoding."""
HINTS = {
    RELEASE: "make the release on one machine",
    DISTORTION: "make the release on one machine",
    AUDIT: "audit the table on one machine",
    RECODE: "recode the table on one machine",
}
COMMON = frozenset({"input", "output", "reports", "force"})
RELEASED = COMMON | {"threads", "dry_run", "allow_unsafe", "progress", "tmp"}
ACCEPTED = {
    RELEASE: RELEASED | {"seed"},
    DISTORTION: RELEASED | {"manifest"},
    AUDIT: COMMON - {"output"} | {"k", "l", "t", "threshold"},
    RECODE: COMMON | {"recoding", "progress"},
}
"""By road, the options of its command, other than those of an algorithm, that an engine has."""
FILE_OF_ROWS = "no row of a DataFrame has a number"
IN_SERIES = "a series follows every row from release to release, and no row of a DataFrame has a number"
REASONS = {
    "after": IN_SERIES,
    "bound": "it compares every two rows",
    "budget": "the people are counted in a file that one process reads and locks",
    "key": "it is a secret of one machine, and workers would have to know it",
    "manifest": "it is written next to a file, and an engine writes a folder",
    "memory_limit": "it limits this process, and an engine has its own settings",
    "output_format": "an engine writes Parquet",
    "public": "it is made from a file that is read again on one machine",
    "save_link": FILE_OF_ROWS,
    "save_recoding": "classes are made by workers, and nobody has them all",
    "save_risk": FILE_OF_ROWS,
    "seed": "draws from a seed depend on the order of the rows, and a DataFrame has none",
    "show_values": "values stay in the engine",
    "start_series": IN_SERIES,
}
"""Why an engine lacks an option, by its name."""
FLAGS = {"public": "--public-report"}
"""Options that are not called as the field of the request is."""


@dataclass(frozen=True)
class EngineUse:
    """What is to be done on an engine. `options`: of the `algorithm`, where there is one; `given`: the further options
    of the command that have a value, by name."""

    road: str
    spec: Spec | None = None
    algorithm: str = ""
    options: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_request(cls, request: Request) -> EngineUse:
        """A release."""
        needs = ALGORITHMS[request.algorithm].NEEDS
        road = RELEASE if needs.family.classes or needs.alone else DISTORTION
        others = [each for each in fields(request) if each.name not in ("spec", "algorithm", "options")]
        given = {each.name: getattr(request, each.name) for each in others}
        return cls(road, request.spec, request.algorithm, request.options, given)

    @property
    def counted(self) -> bool:
        """Whether the algorithm works on distinct rows."""
        return bool(self.algorithm) and ALGORITHMS[self.algorithm].NEEDS.counted


@dataclass(frozen=True)
class Lack:
    """A feature that an engine lacks, with the `reason`. `wanted`: whether a spec, for a use, has it; `roads`: those
    that lack it."""

    feature: str
    reason: str
    wanted: Callable[[Spec, EngineUse], object]
    roads: tuple[str, ...] = (RELEASE, DISTORTION, AUDIT)


def _unread_targets(spec: Spec, use: EngineUse) -> bool:
    """Whether targets are named that the search does not count."""
    read = use.counted and reads_workload(ALGORITHMS[use.algorithm], use.options)
    return bool(spec.workload.targets) and not read


def _upper_levels(spec: Spec, use: EngineUse) -> bool:
    """Whether a highest level parts rows of an algorithm that parts them by itself on an engine."""
    levels = [each.levels for each in spec.quasi_identifiers.values() if each.levels is not None]
    return not use.counted and any(each.max is not None for each in levels)


def _models(spec: Spec) -> list[tuple[Any, Any]]:
    """The models of classes that a spec names, with their parameters."""
    entries = [each for each in spec.privacy.models if each.model in MODELS]
    return [(MODELS[each.model], each.parameters) for each in entries]


def _rare(spec: Spec, use: EngineUse) -> bool:
    definitions = (*spec.quasi_identifiers.values(), *spec.sensitive.values())
    return any(isinstance(each.hierarchy, hierarchy.Rare) for each in definitions)


ALL_ROADS, WITH_CLASSES = tuple(HINTS), (RELEASE, AUDIT)

LACKS = (
    Lack("unit", "rows are counted, not individuals", lambda spec, use: spec.unit),
    Lack("sampling_weight", "the risk by weights is measured row by row", lambda spec, use: spec.sampling_weight),
    Lack(
        "privacy.missing: wildcard",
        "a row may then be in several classes, and each is counted in one",
        lambda spec, use: spec.privacy.missing == "wildcard",
    ),
    Lack(
        "privacy.differential",
        "a budget is spent, and noise drawn, by one process",
        lambda spec, use: spec.privacy.differential,
    ),
    Lack(
        "normalize: exact of a quasi-identifier",
        "all columns are compared in one way",
        lambda spec, use: not spec.exact.isdisjoint(spec.quasi_identifiers),
    ),
    Lack(
        "sensitive: missing: value",
        "a missing sensitive value is no value there",
        lambda spec, use: spec.missing_as_value,
    ),
    Lack(
        "output.suppressed: null",
        "a suppressed cell could not be distinguished from a missing one",
        lambda spec, use: spec.hides,
    ),
    Lack(
        "output.pseudonym",
        "pseudonyms take a key, which workers would have to know",
        lambda spec, use: spec.output.pseudonym,
    ),
    Lack("input.header: false", "a DataFrame has names", lambda spec, use: not spec.input.header),
    Lack(
        "output.row_order: keep",
        "a DataFrame has no order",
        lambda spec, use: spec.output.row_order == "keep",
        ALL_ROADS,
    ),
    Lack(
        "weights: correlation",
        "correlations are computed row by row",
        lambda spec, use: spec.weights == "correlation",
        (RELEASE,),
    ),
    Lack("workload", "only `tds` and `bug` use counts of targets", _unread_targets, (RELEASE,)),
    Lack(
        "workload.selections",
        "whom a selection selects is found row by row",
        lambda spec, use: spec.workload.selections,
        (RELEASE,),
    ),
    Lack(
        "risk: attacks",
        "attackers read a file on one machine",
        lambda spec, use: spec.risk.attacks,
        (RELEASE, DISTORTION),
    ),
    Lack(
        "treatments",
        "steps change whole columns in memory",
        lambda spec, use: spec.treatments,
        (RELEASE, DISTORTION),
    ),
    Lack(
        "a population",
        "its people are looked up on one machine",
        lambda spec, use: any(each.given(Means.POPULATION) is not None for _, each in _models(spec)),
        WITH_CLASSES,
    ),
    Lack(
        "a model that weighs what classes keep",
        "it compares them with all values that each column may have",
        lambda spec, use: any(model.weighs(each) for model, each in _models(spec)),
        WITH_CLASSES,
    ),
    Lack(
        "a model that asks something of the table as a whole",
        "workers see their own classes only",
        lambda spec, use: any(model.asks_table(each) for model, each in _models(spec)),
        (RELEASE,),
    ),
    Lack("hierarchy: rare", "values are pooled when a file is read", _rare, (RELEASE,)),
    Lack(
        "output.numeric: {output.numeric}",
        "the numbers of a class may be with several workers",
        lambda spec, use: spec.output.numeric != "interval",
        (RELEASE,),
    ),
    Lack(
        "output.categorical: bounds",
        "a quasi-identifier stays one column",
        lambda spec, use: spec.output.categorical == "bounds",
        (RELEASE,),
    ),
    Lack(
        "output.suppressed_rows: drop",
        "a search by parts suppresses no single rows",
        lambda spec, use: not use.counted and spec.output.suppressed_rows == "drop",
        (RELEASE,),
    ),
    Lack("levels.max", "a search by parts does not keep to highest levels", _upper_levels, (RELEASE,)),
)
"""What an engine lacks of what a spec may ask for."""


def lacking(use: EngineUse) -> Iterator[tuple[str, str]]:
    """Each feature that is wanted and that an engine lacks, with the reason."""
    if use.algorithm:
        yield from _of_algorithm(use)
    for name, value in use.given.items():
        if name not in ACCEPTED[use.road] and not (value is None or value is False or value in ("", [], ())):
            yield FLAGS.get(name, base.flag(name)), REASONS.get(name, "it is about a file that one machine reads")
    if use.spec is not None:
        for each in LACKS:
            if use.road in each.roads and each.wanted(use.spec, use):
                yield each.feature.format(output=use.spec.output), each.reason


def _of_algorithm(use: EngineUse) -> Iterator[tuple[str, str]]:
    if alone := ALGORITHMS[use.algorithm].NEEDS.alone:
        yield use.algorithm, f"{alone}; engines have {', '.join(on_engine())}"
    for each in fields(use.options):
        value, reason = getattr(use.options, each.name), each.metadata["alone"]
        if isinstance(reason, Mapping):
            if value in reason:
                yield f"{base.flag(each.name)} {value}", reason[value]
        elif reason and value != each.default:
            yield base.flag_given(each), reason


def refuse(use: EngineUse) -> None:
    """Raises UsageError with all that is wanted and that an engine lacks, or for a seed where nothing is drawn."""
    wrong = [f"{feature}: not on an engine: {reason}" for feature, reason in lacking(use)]
    if wrong:
        raise UsageError([Problem(each, hint=HINTS[use.road]) for each in wrong])
    drawn = bool(use.algorithm) and draws(ALGORITHMS[use.algorithm], use.options)
    if use.road == RELEASE and use.given.get("seed") is not None and not drawn:
        raise UsageError("--seed: nothing is drawn at random with these options")


def on_engine() -> list[str]:
    """The algorithms that an engine has."""
    return [name for name, each in ALGORITHMS.items() if each.NEEDS.counted or each.NEEDS.parted]
