"""What a report warns of, each with what to do about it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import Caution
from anonymize.privacy import PARAMETERS
from anonymize.report import RENDERERS
from anonymize.report.terminal import console, show
from anonymize.request import Request
from anonymize.spec import make

ROWS = [(age, job, ward) for age in range(20, 44) for job in ("cook", "Cook", "n/a") for ward in (f"{age}{job}",)]


def released(folder: Path, name: str = "mondrian", *, options: Any = None, **more: Any) -> dict[str, Any]:
    """The report of a release that there is something to say of."""
    (folder / "t.csv").write_text("age,job,ward,only\n" + "".join(f"{a},{j},{w},x\n" for a, j, w in ROWS))
    spec = {
        "version": 1,
        "input": {"path": str(folder / "t.csv"), "normalize": True},
        "quasi_identifiers": {"age": {"type": "numeric"}, "job": {"identifying": "more"}, "only": {}},
        "insensitive": ["ward"],
        "privacy": {"k": 3},
        **more,
    }
    seed = 1 if spec.get("output", {}).get("row_order") == "shuffle" else None
    options = options or ALGORITHMS[name].Options()
    return release(Request(make(spec, PARAMETERS), name, options, output=str(folder / "r.csv"), seed=seed, force=True))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"output": {"row_order": "keep"}},
        {"output": {"row_order": "shuffle", "categorical": "set"}},
        {"output": {"suppressed": "cook"}},
        {"insensitive": [], "others": "insensitive"},
        {"insensitive": [], "undecided": ["ward"], "others": "drop"},
        {"privacy": {"combinations": [{"size": 1, "k": 3}]}},
    ],
)
def test_every_warning_of_a_release_says_what_to_do(tmp_path: Path, more: dict[str, Any]) -> None:
    warnings = released(tmp_path, **more)["warnings"]
    assert warnings and all(isinstance(each, Caution) and each.remedy and each.text for each in warnings)


def test_a_warning_that_has_been_read_back_is_parted_again(tmp_path: Path) -> None:
    warnings = released(tmp_path)["warnings"]
    again = [Caution(each) for each in json.loads(json.dumps(warnings))]
    assert [(each.text, each.remedy) for each in again] == [(each.text, each.remedy) for each in warnings]
    assert (Caution("as it was").text, Caution("as it was").remedy) == ("as it was", "")


def test_remedies_stand_apart_in_every_form(tmp_path: Path) -> None:
    report = released(tmp_path)
    warning = Caution.of("a < b", "type `k: <5>`, or *not*")
    report["warnings"] = [warning]
    stream = io.StringIO()
    show(report, console(stream))
    assert "warning: a < b\n  remedy: type `k: <5>`, or *not*\n" in stream.getvalue()
    assert "- a \\< b\n  **Remedy:** type `k: <5>`, or \\*not\\*\n" in RENDERERS[".md"](report)
    html = RENDERERS[".html"](report)
    assert "<li>a &lt; b<" in html and "type <code>k: &lt;5&gt;</code>, or *not*" in html
