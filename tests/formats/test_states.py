"""Every form of `audit` tells apart what is met, not met, not shown to be, and not required at all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as XML

import pytest

from anonymize.claims import State
from anonymize.formats import FORMATS
from tests.security.running import Run, running

CALLS = {
    State.MET: "-k 2",
    State.UNMET: "-k 3",
    State.UNKNOWN: "-k 2 --previous old.csv",
    State.NOTHING_REQUIRED: "",
}
SENTENCES = {
    State.MET: "every requirement is met",
    State.UNMET: "not safe: a requirement is not met",
    State.UNKNOWN: "not shown: a requirement could not be shown to be met",
    State.NOTHING_REQUIRED: "measured; nothing was required",
}
TITLES = {State.UNMET: "Not met", State.UNKNOWN: "Not shown to be met"}


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "now.csv").write_text("q,s\na,x\na,y\nb,x\nb,y\n")
    (tmp_path / "old.csv").write_text("q,s\na,x\nb,y\na,x\nb,x\nb,y\n")
    return running(tmp_path, capsys)


def printed(run: Run, state: State, form: str) -> str:
    ended = run("audit", "-i", "now.csv", "--qi", "q", "--sensitive", "s", *CALLS[state].split(), "--format", form)
    assert ended.code == (1 if state.fails else 0)
    return ended.out


@pytest.mark.parametrize("form", FORMATS)
def test_no_two_states_are_shown_alike(form: str, run: Run) -> None:
    shown = {re.sub(r"\bk ?= ?\d|\d+", "#", printed(run, state, form)) for state in State}
    assert len(shown) == len(State)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_page_says_it_in_a_sentence(form: str, state: State, run: Run) -> None:
    text = " ".join(printed(run, state, form).split())
    assert [each for each, sentence in SENTENCES.items() if sentence in text.lower()] == [state]
    if form != "text":
        headings = [title for title in TITLES.values() if f"## {title} - " in text or f">{title}</h2>" in text]
        assert headings == [title for each, title in TITLES.items() if each is state]
    if form == "html":
        counted = re.search(r"\d of \d requirement|requirements \d met", " ".join(re.sub("<[^>]+>", " ", text).split()))
        assert (counted is None) == (state is State.NOTHING_REQUIRED)
    if form == "markdown":
        assert ("**, measured from the table" in text) == (state in (State.MET, State.UNMET))


@pytest.mark.parametrize("state", State)
def test_json_says_it_in_a_word(state: State, run: Run) -> None:
    privacy = json.loads(printed(run, state, "json"))["privacy"]
    assert (privacy["state"], privacy["satisfied"]) == (str(state), state.satisfied)
    assert ("unknown" in privacy) == (state is State.UNKNOWN)
    assert {each["basis"] for each in privacy["models"]} == {"measured"}


@pytest.mark.parametrize("state", State)
def test_an_annotation_says_it(state: State, run: Run) -> None:
    text = printed(run, state, "github")
    commands = {line.split(" ")[0] for line in text.splitlines() if "title=warning" not in line}
    assert commands == {"::error" if state.fails else "::notice"}
    assert ("not shown::" in text) == (state is State.UNKNOWN)
    assert ("nothing was required" in text) == (state is State.NOTHING_REQUIRED)


@pytest.mark.parametrize("state", State)
def test_code_scanning_says_it_of_the_run_and_of_each_result(state: State, run: Run) -> None:
    found = json.loads(printed(run, state, "sarif"))["runs"][0]
    assert found["properties"]["state"] == str(state)
    errors = [result["properties"]["state"] for result in found["results"] if result["level"] == "error"]
    assert errors == [str(state)] * state.fails


@pytest.mark.parametrize("state", State)
def test_a_test_report_says_it_by_the_element(state: State, run: Run) -> None:
    suite = XML.fromstring(printed(run, state, "junit"))[0]
    elements = {
        State.MET: {"system-out"},
        State.UNMET: {"failure"},
        State.UNKNOWN: {"system-out", "error"},
        State.NOTHING_REQUIRED: {"skipped"},
    }
    assert {case[0].tag for case in suite if case.get("name") != "warning"} == elements[state]
