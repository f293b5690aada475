"""The report's risk as tables: re-identification, the sample and its population, subsets of the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from anonymize.report.section import Section, explained, figure

SHOWN = 25
"""Subsets that a table shows at most; the JSON report has them all."""


MEANINGS = {
    "Re-identification risk": {
        "prosecutor_max": "highest risk of a row, if the attacker knows that the person is in the table",
        "prosecutor_mean": "the same, mean over the rows",
        "journalist_max": "highest risk of a row, if the attacker does not know it",
        "marketer": "share of rows expected to be linked correctly",
        "records_at_risk": "share of rows whose risk is above {threshold}",
        "uniques": "rows that are alone in their class",
    },
    "Columns that pass through": {
        "uniques": "share of rows alone in them",
        "uniques_with_quasi_identifiers": "the same, together with the quasi-identifiers as released",
        "uniques_with_sensitive": "the same, together with the sensitive attributes as well",
        "below_k": "share of rows in groups of fewer than {k} by them",
        "below_k_with_quasi_identifiers": "the same, together with the quasi-identifiers as released",
        "below_k_with_sensitive": "the same, together with the sensitive attributes as well",
    },
    "Risk by sampling weights": {
        "population": "the sum of the sampling weights",
        "journalist_max": "highest 1 / estimated size of a class in the population",
        "individual_max": "highest individual risk of a row (Benedetti and Franconi)",
        "individual_mean": "the same, mean over the rows",
        "expected": "rows expected to be linked correctly, if all are linked",
        "records_at_risk": "share of rows whose individual risk is above {threshold}",
    },
    "Risk against the population": {
        "population": "rows of the population",
        "journalist_max": "highest risk of a row, if the attacker does not know that the person is in the table",
        "marketer": "share of rows expected to be linked correctly",
        "records_at_risk": "share of rows whose journalist's risk is above {threshold}",
    },
    "Population uniqueness": {
        "sampling_fraction": "share of the population that is in the table",
        "uniques": "estimated share of the population that is unique on the quasi-identifiers",
        "estimator": "what it was estimated with",
    },
}
"""By the title of a table, the figures that it has and what they mean."""
RULES = {
    "copy": "a copy: each group of two or more has one value",
    "predicted": "predicted: share of people guessed right from the others of their group",
    "order": "in the same order: rank correlation",
}
"""How a column goes with a quasi-identifier."""


def risks(report: Mapping[str, Any]) -> list[Section]:
    """The sections of the block `risk`."""
    block = report["risk"]
    threshold, wildcard = block.get("threshold", 0.2), block.get("wildcard", {})
    figures = partial(_figures, threshold=threshold)
    drawn = [figures("Re-identification risk", block, beside=wildcard or None)]
    if "attacker" in block:
        drawn.append(_attacker(block["attacker"]))
    if block.get("passing", {}).get("columns"):
        drawn += _passing(block["passing"])
    if "sample" in block:
        drawn.append(figures("Risk by sampling weights", block["sample"], beside=wildcard.get("sample")))
    if "journalist" in block:
        drawn.append(figures("Risk against the population", block["journalist"]))
    if "population" in block:
        drawn.append(figures("Population uniqueness", block["population"]))
    if "subsets" in block:
        drawn += [_subsets(block["subsets"]), _special(block["special_uniques"])]
    return drawn


def _figures(
    title: str, block: Mapping[str, Any], *, beside: Mapping[str, Any] | None = None, **given: float
) -> Section:
    """A table of `MEANINGS`. `given`: what they name, such as the `threshold` above which a row is at risk."""
    values = {name: figure(value) for name, value in given.items()}
    meanings = {name: meaning.format(**values) for name, meaning in MEANINGS[title].items()}
    return explained(title, block, meanings, beside=beside)


def _passing(block: Mapping[str, Any]) -> Iterator[Section]:
    """What the columns that pass through give away, and what is allowed of it; what the release tells of them; which
    follow from a quasi-identifier; the smallest sets that single rows out."""
    section = _figures("Columns that pass through", block, k=block.get("k", 0))
    bounds = block.get("required", {})
    allowed = [
        (f"required: {name}", figure(most), "share allowed with the quasi-identifiers") for name, most in bounds.items()
    ]
    yield replace(section, rows=[*section.rows, *allowed])
    if certain := block.get("certain"):
        rows = [(name, figure(share)) for name, share in certain.items()]
        yield Section("Told for certain of what passes through (share of people)", ("column", "figure"), rows)
    yield from _derived(block.get("derived", {}))
    if block["smallest"] is not None:
        yield _smallest(block)


def _derived(block: Mapping[str, Any]) -> Iterator[Section]:
    """The columns that follow from a quasi-identifier, or give it away; or those of which that was not measured."""
    if names := block.get("not_judged"):
        title = "Not judged without the original: whether these follow from a quasi-identifier, or give it away"
        yield Section(title, ("column",), [(name,) for name in names])
    if stated := block.get("found"):
        rows = [
            (each["says"], RULES[each["rule"]], figure(each["figure"]), "yes" if each["accepted"] else "NO")
            for each in stated
        ]
        header = ("column", "how", "figure", "accepted")
        yield Section("Columns that follow from a quasi-identifier, in the original", header, rows)


def _attacker(block: Mapping[str, Mapping[str, Any] | None]) -> Section:
    meanings = {
        "success": "people whose value is the most frequent one of the release, given their quasi-identifiers",
        "baseline": "the same of a guess without quasi-identifiers",
        "original": "the same of the guess from the original table",
    }
    rows = [
        (f"{name}: {guess}", figure(guesses[guess]), meaning)
        for name, guesses in block.items()
        for guess, meaning in meanings.items()
        if guesses is not None
    ]
    return Section("Named correctly by an ordinary attacker (share of people)", ("guess", "figure", "meaning"), rows)


def _smallest(block: Mapping[str, Any]) -> Section:
    title = f"The smallest sets of these that single rows out (of at most {block['max_size']} columns)"
    if block["left_out"]:
        title += f"; {len(block['left_out'])} columns were not looked at together with others"
    rows = [(", ".join(each["columns"]), figure(each["uniques"])) for each in block["smallest"]]
    return Section(title, ("columns", "uniques"), rows)


def _subsets(subsets: list[dict[str, Any]]) -> Section:
    """Every attribute by itself, then the subsets that single out most rows."""
    single = [subset for subset in subsets if len(subset["attributes"]) == 1]
    others = sorted((s for s in subsets if len(s["attributes"]) > 1), key=lambda s: -s["minimal_uniques"])
    listed = [*single, *others][: max(SHOWN, len(single))]
    title = "What subsets of the quasi-identifiers tell apart"
    if len(listed) < len(subsets):
        title += f" ({len(listed)} of {len(subsets)}; all are in the JSON report)"
    rows = [
        (
            ", ".join(subset["attributes"]),
            *(figure(subset[name]) for name in ("distinct", "separation", "uniques", "minimal_uniques")),
        )
        for subset in listed
    ]
    return Section(title, ("subset", "distinct", "separation", "uniques", "minimal uniques"), rows)


def _special(block: Mapping[str, Any]) -> Section:
    score = block["score"]
    rows = [
        ("rows unique on a subset", figure(block["uniques"]), f"of at most {block['max_size']} quasi-identifiers"),
        ("highest score", figure(score["max"]), "of a row: smaller minimal subsets count more"),
        ("mean score", figure(score["mean"]), "over the rows"),
    ]
    rows += [(name, figure(share), "share of all scores") for name, share in score["contributions"].items()]
    return Section("Special uniques", ("measure", "figure", "meaning"), rows)
