"""`doctor`: what a machine lacks is named, with the exit code of whoever would have met it first."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from anonymize.cli import doctor, exits
from anonymize.table import memory
from tests.cli.conftest import Call


def test_a_machine_that_is_ready(call: Call, desk: object, tmp_path: Path) -> None:
    call("key", "make", "series.key")
    ended = call("doctor", "--key", "series.key", "--json")
    assert ended.code == exits.DONE
    looked = {each["about"]: each for each in json.loads(ended.out)}
    assert looked["polars"]["says"] == metadata.version("polars")
    assert {each["state"] for each in looked.values()} <= {"ok", "missing"}
    assert looked["key series.key"]["state"] == "ok" and "extra html" in looked
    assert json.loads(Path("series.key").read_text())["key"] not in ended.out.decode()
    assert b"memory" in call("doctor").out and call("doctor", "-q").out == b""


def test_a_key_that_others_may_read(call: Call, desk: object) -> None:
    call("key", "make", "series.key")
    Path("series.key").chmod(0o644)
    ended = call("doctor", "-q", "--key", "series.key")
    assert ended.code == exits.USAGE and "its mode is 0644" in ended.err


def test_a_folder_that_is_not_there(call: Call) -> None:
    ended = call("doctor", "-q", "--tmp", "/no/such/folder")
    assert ended.code == exits.CANNOT_WRITE and "cannot be written: No such file" in ended.err


def test_a_machine_without_memory_or_packages(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 1 << 20)
    assert call("doctor", "-q").code == exits.NO_MEMORY
    monkeypatch.setattr(metadata, "requires", lambda name: ["no-such>=1", "click>=99", 'nowhere; extra == "html"'])
    ended = call("doctor")
    assert ended.code == exits.USAGE
    assert "no-such: is not installed" in ended.err and "99 is the least" in ended.err
    assert b"nowhere: is not installed (pip install 'anonymize-toolkit[html]')" in ended.out


def test_a_package_that_was_not_installed_is_looked_at_as_far_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "DISTRIBUTION", "no-such-distribution")
    assert list(doctor._packages()) == []
