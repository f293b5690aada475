"""How every report begins."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import Caution
from anonymize.privacy import PARAMETERS
from anonymize.report import RENDERERS
from anonymize.report.head import Clock, head, spec_path
from anonymize.report.terminal import console, show
from anonymize.request import Request
from anonymize.spec import load, make

CONTENT = "version: 1\nquasi_identifiers: {age: {}}\nprivacy: {k: 2}\n"


def test_a_report_names_its_format_and_when_it_was_started_if_that_is_known() -> None:
    clock = Clock()
    assert head()["schema_version"] == 1 and "started_at" not in head()
    assert head(clock) == head() | {"started_at": clock.started_at.isoformat(timespec="seconds")}


def test_a_spec_has_a_path_where_it_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(CONTENT)
    assert spec_path(load(tmp_path / "spec.yaml", PARAMETERS)) == {"path": str(tmp_path / "spec.yaml")}
    content = {"version": 1, "quasi_identifiers": {"age": {}}, "privacy": {"k": 2}}
    assert spec_path(make(content, PARAMETERS)) == {"path": None}


def test_the_seconds_of_a_stage_are_those_of_all_its_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(100))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(seconds)))
    clock = Clock()
    for stage in ("read", "search", "search"):
        with clock(stage):
            pass
    timing = clock.timing()
    assert [timing[f"{stage}_s"] for stage in ("read", "search", "write", "total")] == [1, 2, 0, 7]


# --- cautions ---------------------------------------------------------------------------------------------------------

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
