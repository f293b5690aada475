"""For code scanning: SARIF 2.1.0, a result for each requirement that is not met, at the line of the spec that states
it. Whether it is not met or could not be shown, and what everything comes to, is the property `state` of the result and
of the run. A finding that belongs to no line of a spec is located at the table. A path that is not absolute is a
relative reference, which a viewer takes from the root of the repository.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from anonymize.errors import visible
from anonymize.formats.base import Checked, Finding

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning"}
MEANINGS = {
    "direct-identifier": "A column that identifies people directly is in the table.",
    "max-excess": "An attacker learns more because of the release than is allowed, or that could not be measured.",
    "series-record": "The state of a series has something else on record than the files of a release say.",
    "spec": "The spec, or what it names, is not valid.",
    "regression": "A figure of privacy or risk is worse than in the baseline.",
    "warning": "Something to look at before the table is published.",
}


def render(checked: Checked, out: IO[str], color: str) -> None:
    findings = checked.of_levels("error", "warning")
    rules = list(dict.fromkeys(finding.rule for finding in checked.findings))
    run = {
        "tool": {
            "driver": {
                "name": checked.report["tool"]["name"],
                "version": checked.report["tool"]["version"],
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "properties": {"state": str(checked.state)},
        "results": [_result(finding, rules.index(finding.rule), checked.table) for finding in findings],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    out.write(visible(json.dumps(log, indent=2, ensure_ascii=False), lines=True) + "\n")


def _rule(rule: str) -> dict[str, Any]:
    meaning = MEANINGS.get(rule, f"The privacy model {rule} is not met.")
    return {"id": rule, "shortDescription": {"text": meaning}}


def _result(finding: Finding, rule: int, table: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file or table)}}
    if finding.file is not None and finding.line is not None:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": LEVELS[finding.level],
        **({} if finding.state is None else {"properties": {"state": str(finding.state)}}),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }


def _uri(path: str) -> str:
    place = Path(path)
    return place.as_uri() if place.is_absolute() else quote(place.as_posix())
