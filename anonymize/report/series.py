"""The block `series` of a release, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from anonymize.report.section import Section, explained, figure

MEANINGS = {
    "before": "people in the release before",
    "departed": "of them, not in the input any more, since the last release",
    "in_small_company": "of those who left, not shown any more with fewer than k people of their history: not bounded",
    "kept": "not in the input any more, and shown as they were last until k people of their history have left",
    "told_by_values": "of them, with fewer than k of their history whose values have stayed the same: not bounded",
    "released": "people in this release",
    "newcomers": "of them, for the first time",
    "held_back": "in the input and never released so far: too few for a class, or waiting for others",
    "withheld": "released before, and not now: too few of their history are left",
}


def sections(report: Mapping[str, Any]) -> list[Section]:
    """Who came, left and is not shown, and then what was measured."""
    block = report["series"]
    people = [explained("People of the series", block["people"], MEANINGS)] if "people" in block else []
    return [*people, *measured(report)]


# --- by history -----------------------------------------------------------------------------------------------------


TITLE = "People by history, from the first release on"


def measured(report: Mapping[str, Any]) -> list[Section]:
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
