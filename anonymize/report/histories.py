"""A series of releases, measured by history, as tables: of the block `series`, wherever there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from anonymize.report.section import Section, figure

TITLE = "People by history, from the first release on"


def sections(report: Mapping[str, Any]) -> list[Section]:
    """What was verified, release by release, and the promises of the literature beside it."""
    block = report["series"]
    verified, beside = block.get("verified"), block.get("beside")
    drawn = [] if verified is None else [_histories(verified), _models(verified)]
    return drawn if beside is None else [*drawn, _correspondence(beside), _invariance(beside)]


def _histories(verified: Mapping[str, Any]) -> Section:
    header = ("release", "people", "for the first time", "histories", "fewest in one", "left", "in company below k")
    rows = [(_name(each), *_counts(each), *_left(each["left"])) for each in verified["releases"]]
    return Section(TITLE, header, rows)


def _counts(each: Mapping[str, Any]) -> list[str]:
    return [figure(each[name]) for name in ("people", "first_time", "histories", "smallest")]


def _left(block: Mapping[str, Any] | None) -> tuple[str, str]:
    return ("-", "-") if block is None else (figure(block["people"]), figure(block["in_small_company"]))


def _models(verified: Mapping[str, Any]) -> Section:
    """Each model of each release, by the values of the release that shows least."""
    rows = [row for release in verified["releases"] for row in (*_rows(release), *_rows(release, "departed"))]
    return Section("Models by history", ("release", "model", "attribute", "achieved", "by values of", "met"), rows)


def _rows(release: Mapping[str, Any], whose: str = "models") -> Iterator[tuple[str, ...]]:
    for model in release.get(whose, ()):
        reached = ", ".join(f"{name} = {figure(value)}" for name, value in model["achieved"].items()) or "-"
        by = PurePath(model["values_of"]).name if model.get("values_of") else ""
        met = "not shown" if model["satisfied"] is None else figure(model["satisfied"])
        name = _name(release) if whose == "models" else f"{_name(release)}, not in it any more"
        yield name, model["model"], model["attribute"] or "", reached, by, met


def _correspondence(beside: Mapping[str, Any]) -> Section:
    header = ("release", "after", "forward, cross", "backward")
    rows = [
        (_name(each, "release"), _name(each, "after"), figure(each.get("forward")), figure(each.get("backward")))
        for each in beside["bcf_anonymity"]
    ]
    return Section("BCF-anonymity of a release and the one before, from the files alone (not judged)", header, rows)


def _invariance(beside: Mapping[str, Any]) -> Section:
    header = ("attribute", "m", "classes of distinct values", "people whose values stay", "fewest in common")
    names = ("m", "distinct", "invariant", "common")
    rows = [(each["attribute"], *(figure(each[name]) for name in names)) for each in beside["m_invariance"]]
    return Section("m-invariance (not judged)", header, rows)


def _name(block: Mapping[str, Any], key: str = "name") -> str:
    return PurePath(str(block[key])).name
