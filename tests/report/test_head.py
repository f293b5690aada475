"""How every report begins."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from anonymize.privacy import PARAMETERS
from anonymize.report.head import Clock, head, spec_path
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
