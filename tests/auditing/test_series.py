"""A series of releases measured again from its files, with what is wrong in them planted."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize import privacy
from anonymize.auditing.series import SeriesAudit, SeriesResult, audit_series
from anonymize.errors import Caution, UsageError, WriteError
from anonymize.key import Key
from anonymize.link import load as load_link
from anonymize.series.state import SeriesState
from anonymize.spec import load
from tests.auditing.nights import SECRET, laid_out, night

PEOPLE = "abcdefghi"
GOOD = [night(PEOPLE, "AAAAAABBB", "xyxyxyxyx"), night(PEOPLE, "AAABBBBBB", "xyxyxyxyx")]


def audited(folder: Path, **given: Any) -> SeriesResult:
    spec = load(folder / "spec.yaml", privacy.PARAMETERS)
    return audit_series(
        SeriesAudit(spec, str(folder / "state"), str(folder / "key.json"), **({"thresholds": {}} | given))
    )


def messages(result: SeriesResult, level: str = "error") -> list[str]:
    return [finding.message for finding in result.checked.findings if finding.level == level]


def test_a_good_series_is_met_from_its_files(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    result = audited(tmp_path)
    assert (result.satisfied, messages(result), messages(result, "warning")) == (True, [], [])
    releases = result.checked.report["series"]["verified"]["releases"]
    assert [(each["origin"], each["matches_state"], each["lacking"]) for each in releases] == [
        ("original", True, [])
    ] * 2
    assert [each["smallest"] for each in releases] == [3, 3]
    assert messages(result, "pass") == [
        "k-anonymity (k=3), over time, is met in 2 releases",
        "distinct-l-diversity (l=2) of ill, over time, is met in 2 releases",
    ]


def test_a_history_of_too_few_is_seen_with_the_line_that_asks_for_k(tmp_path: Path) -> None:
    laid_out(tmp_path, [GOOD[0], night(PEOPLE, "AAAABBBBB", "xyxyxyxyx")])
    result = audited(tmp_path)
    assert result.satisfied is False
    assert messages(result)[0] == (
        "k-anonymity (k=3), over time, is not met in out.1.csv: k=2; 2 people in 1 histories fail"
    )
    assert [problem.line for problem in result.checked.problems] == [5]
    assert result.checked.report["warnings"] == messages(result)


def test_a_report_counts_the_people_of_the_last_release(tmp_path: Path) -> None:
    laid_out(tmp_path, [GOOD[0], GOOD[1], night(PEOPLE[:6], "AAABBB", "xyxyxy")])
    table = audited(tmp_path).checked.report["input"]
    assert (table["rows"], table["columns"]) == (6, 2)


def test_each_failing_model_has_the_line_that_asks_for_it(tmp_path: Path) -> None:
    laid_out(tmp_path, [night(PEOPLE, "AAAAAABBB", "xyxxxxxxx")])
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec.read_text().replace("privacy: {k: 3, l: 2}", "privacy:\n  k: 3\n  l: 2"))
    [problem] = audited(tmp_path).checked.problems
    assert (problem.line, problem.file) == (7, str(spec))
    [further, own] = audited(tmp_path, require=["entropy-l-diversity l=1.5 attribute=ill"]).checked.problems
    assert {(each.line, each.file) for each in (further, own)} == {(7, str(spec)), (None, None)}


def test_a_report_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    (tmp_path / "report.json").write_text("an earlier one")
    with pytest.raises(UsageError, match=r"report\.json"):
        audited(tmp_path, reports=[str(tmp_path / "report.json")])
    assert (tmp_path / "report.json").read_text() == "an earlier one"


def test_what_holds_is_said_in_a_sentence(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    assert audited(tmp_path).checked.verdict == "every requirement is met of everybody's history in 2 releases"
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec.read_text().replace("{k: 3, l: 2}", "{models: [{model: risk, prosecutor_max: 1}]}"))
    result = audited(tmp_path)
    assert result.satisfied is None and result.checked.verdict == "2 releases measured; nothing was required"


def test_a_history_of_one_value_is_seen_and_whose_values_these_are(tmp_path: Path) -> None:
    laid_out(tmp_path, [night(PEOPLE, "AAAAAABBB", "xyxxxxxyx"), night(PEOPLE, "AAABBBBBB", "xyxxyxxyx")])
    result = audited(tmp_path)
    assert messages(result) == [
        "distinct-l-diversity (l=2) of ill, over time, is not met in out.1.csv, by the values of out.0.csv: l=1; "
        "3 people in 1 histories fail"
    ]


def test_thresholds_and_further_models_are_those_of_the_request(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    assert audited(tmp_path, thresholds={"k": 4}).satisfied is False
    more = audited(tmp_path, require=["entropy-l-diversity l=1.8 attribute=ill", "risk prosecutor_max=0.5"])
    assert more.satisfied
    [warning] = messages(more, "warning")
    assert Caution(warning).text == "risk: of each release alone, and not bounded over time"


def test_distances_over_a_hierarchy_are_those_of_its_file(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    spec = tmp_path / "spec.yaml"
    spec.write_text(spec.read_text().replace("{ill: {}}", "{ill: {hierarchy: ills.csv}}"))
    (tmp_path / "ills.csv").write_text("x,one,*\ny,other,*\n")
    assert audited(tmp_path, require=["t-closeness t=0.5 distance=hierarchical attribute=ill"]).satisfied


@pytest.mark.parametrize(
    ("gone", "what"),
    [("in.0.csv", "the original of 1 of 2"), ("link.1.json", "the link of 1 of 2"), ("out.1.csv", "1 of 2")],
)
def test_what_is_believed_is_not_shown(tmp_path: Path, gone: str, what: str) -> None:
    laid_out(tmp_path, GOOD)
    (tmp_path / gone).unlink()
    result = audited(tmp_path)
    assert result.satisfied is None
    assert not any(finding.known for finding in result.checked.findings if finding.level == "error")
    assert len(messages(result)) == 2
    assert messages(result, "warning")[0].startswith(f"{what} releases could not be found")
    assert messages(result, "pass") == [] and result.checked.report["warnings"] == messages(result, "warning")
    smallest = [each["smallest"] for each in result.checked.report["series"]["verified"]["releases"]]
    assert smallest == [3, 3]
    assert result.checked.report["privacy"]["unknown"] == messages(result)


def test_another_file_of_the_name_is_not_the_file(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    for name in ("in.0.csv", "out.1.csv"):
        (tmp_path / name).write_text((tmp_path / name).read_text().replace("x", "y"))
    result = audited(tmp_path)
    assert result.satisfied is None
    assert len(messages(result, "warning")) == 2


def test_without_links_sizes_are_measured_and_nothing_is_shown(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD, links=False)
    result = audited(tmp_path)
    assert result.satisfied is None
    releases = result.checked.report["series"]["verified"]["releases"]
    assert [(each["origin"], each["matches_state"], each["lacking"]) for each in releases] == [
        ("state", True, ["link"])
    ] * 2


def test_too_few_on_record_is_not_met_whoever_is_believed(tmp_path: Path) -> None:
    laid_out(tmp_path, [GOOD[0], night(PEOPLE, "AAAABBBBB", "xyxyxyxyx")], links=False)
    assert audited(tmp_path).satisfied is False


def exchanged(state: SeriesState, column: str) -> SeriesState:
    """The state with what is on record of two people exchanged."""
    values = state.people[column].to_list()
    first = next(place for place, value in enumerate(values) if value != values[0])
    values[0], values[first] = values[first], values[0]
    people = state.people.with_columns(state.people[column].clone().scatter(range(len(values)), values))
    return dataclasses.replace(state, people=people)


@pytest.mark.parametrize("column", ["history", "value_1_0"])
def test_a_state_that_says_something_else_than_the_files_is_seen(tmp_path: Path, column: str) -> None:
    state = laid_out(tmp_path, GOOD)
    (tmp_path / "state").write_bytes(exchanged(state, column).as_bytes(Key(SECRET)))
    result = audited(tmp_path)
    assert result.satisfied is False
    assert "out.1.csv: the state has something else on record than the files say" in messages(result)


def test_without_links_a_state_whose_classes_have_other_values_is_seen(tmp_path: Path) -> None:
    state = laid_out(tmp_path, GOOD, links=False)
    values = state.people["value_1_0"]
    people = state.people.with_columns((1 - values.cast(int)).cast(values.dtype).alias("value_1_0"))
    (tmp_path / "state").write_bytes(dataclasses.replace(state, people=people).as_bytes(Key(SECRET)))
    assert messages(audited(tmp_path))[-1] == "out.1.csv: the state has something else on record than the files say"


def test_a_person_who_is_forgotten_is_no_mistake_of_the_state(tmp_path: Path) -> None:
    from anonymize.series.state import without_people

    state = laid_out(tmp_path, GOOD)
    gone = Key(SECRET).pseudonyms([["a"]])[0]
    forgotten = np.array([person == gone for person in state.people["person"]])
    (tmp_path / "state").write_bytes(without_people(state, forgotten).as_bytes(Key(SECRET)))
    assert audited(tmp_path).satisfied


def test_links_of_other_people_are_found_out(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    link = load_link(tmp_path / "link.1.json")
    turned = dataclasses.replace(link, rows=link.rows[::-1].copy())
    (tmp_path / "link.1.json").write_text(turned.text("link.1.json"))
    assert messages(audited(tmp_path))[-1] == "out.1.csv: the state has something else on record than the files say"


@pytest.mark.parametrize("other", ["{}", None])
def test_a_link_that_is_damaged_or_of_another_release_is_one_that_is_not_there(
    tmp_path: Path, other: str | None
) -> None:
    laid_out(tmp_path, GOOD)
    (tmp_path / "link.1.json").write_text(other or (tmp_path / "link.0.json").read_text())
    result = audited(tmp_path)
    assert result.satisfied is None
    assert messages(result, "warning")[0].startswith("the link of 1 of 2 releases could not be found")


def test_where_no_release_is_left_the_state_is_all_there_is(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    for path in tmp_path.glob("out.*.csv"):
        path.unlink()
    result = audited(tmp_path)
    assert result.satisfied is None
    releases = result.checked.report["series"]["verified"]["releases"]
    assert [(each["smallest"], each["origin"], each["lacking"]) for each in releases] == [(3, "state", ["release"])] * 2


def test_somebody_on_record_who_is_in_no_file_is_seen(tmp_path: Path) -> None:
    state = laid_out(tmp_path, GOOD)
    last = state.people["person"].to_list()
    last[-1] = last[-1][:-1] + bytes([last[-1][-1] ^ 1])
    people = state.people.with_columns(person=pl.Series(last, dtype=pl.Binary))
    (tmp_path / "state").write_bytes(dataclasses.replace(state, people=people).as_bytes(Key(SECRET)))
    assert messages(audited(tmp_path))[-1] == "out.1.csv: the state has something else on record than the files say"


def test_another_key_is_refused_and_what_is_not_there(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    (tmp_path / "key.json").write_text(Key.new().text)
    with pytest.raises(UsageError, match="is not the key of this series"):
        audited(tmp_path)
    (tmp_path / "key.json").unlink()
    with pytest.raises(UsageError, match="no key file"):
        audited(tmp_path)


def test_an_interrupted_run_is_settled_first(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    (tmp_path / ".state.journal").write_text('{"steps": []}')
    assert audited(tmp_path).satisfied
    assert not (tmp_path / ".state.journal").exists()
    (tmp_path / ".state.journal").write_text("damaged")
    with pytest.raises(WriteError, match="journal"):
        audited(tmp_path)


def test_company_of_those_who_left_is_counted(tmp_path: Path) -> None:
    laid_out(
        tmp_path, [night("abcdefghij", "AAAAAABBBB", "xyxyxyxyxy"), night("abcdefghij", "AAAAA.BBBB", "xyxyxyxyxy")]
    )
    result = audited(tmp_path)
    assert result.satisfied
    assert messages(result, "warning")[0].startswith("1 of 1 people who left one release to the next left in company")


@pytest.mark.parametrize(
    ("values", "unmet"),
    [
        ("xyxyxyxyx", ["k-anonymity (k=3), over time, is not met in out.1.csv: k=2"]),
        (
            "xxxyxyxyx",
            [
                "k-anonymity (k=3), over time, is not met in out.1.csv: k=2",
                "distinct-l-diversity (l=2) of ill, over time, is not met in out.1.csv, by the values of out.0.csv: "
                "l=1",
            ],
        ),
    ],
)
def test_each_model_is_asked_of_those_who_have_left_where_they_are_to_be_hidden(
    tmp_path: Path, values: str, unmet: list[str]
) -> None:
    state = laid_out(tmp_path, [night(PEOPLE, "AAAAAABBB", values), night(PEOPLE, "..AAAABBB", values)])
    assert audited(tmp_path).satisfied
    (tmp_path / "state").write_bytes(dataclasses.replace(state, departures="deferred").as_bytes(Key(SECRET)))
    result = audited(tmp_path)
    assert messages(result) == [f"{each}; 2 people who are not in it any more in 1 histories fail" for each in unmet]
    assert len(messages(result, "pass")) == 2 - len(unmet)


def test_weaker_promises_stand_beside(tmp_path: Path) -> None:
    laid_out(tmp_path, GOOD)
    beside = audited(tmp_path).checked.report["series"]["beside"]
    assert beside["m_invariance"] == [{"attribute": "ill", "m": 0, "distinct": 0.0, "invariant": 1.0, "common": 2}]
    # Those of A have x twice and y once in common, those of B as well. Three with x were in A, and two are: nobody of A
    # would be a newcomer, if people did not move.
    assert beside["bcf_anonymity"] == [
        {"release": "out.1.csv", "after": "out.0.csv", "forward": 3, "cross": 3, "backward": 0}
    ]


def test_classes_that_cannot_be_one_are_told_apart_by_the_hierarchies_of_the_spec(tmp_path: Path) -> None:
    """If any class could be any other, one of the three of each could be shown to have moved."""
    laid_out(tmp_path, [night(PEOPLE, "AAABBBCCC", "xyxyxyxyx")] * 2)
    [promise] = audited(tmp_path).checked.report["series"]["beside"]["bcf_anonymity"]
    assert (promise["forward"], promise["cross"]) == (3, 3)


def test_no_name_and_no_pseudonym_is_in_the_report(tmp_path: Path) -> None:
    people = [f"CANARY{number}" for number in range(9)]
    laid_out(
        tmp_path,
        [
            {who: (shown, f"CANARY{value}") for who, (shown, value) in zip(people, each.values(), strict=True)}
            for each in GOOD
        ],
    )
    text = str(audited(tmp_path).checked)
    assert "CANARY" not in text
    for pseudonym in Key(SECRET).pseudonyms([[who] for who in people]):
        assert pseudonym.hex() not in text and str(pseudonym) not in text
