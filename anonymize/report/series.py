"""The block `series` of a release, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anonymize.report import histories
from anonymize.report.section import Section, explained

MEANINGS = {
    "before": "people in the release before",
    "departed": "of them, not in the input any more, since the last night",
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
    return [*people, *histories.sections(report)]
