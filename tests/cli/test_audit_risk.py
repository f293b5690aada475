"""`audit` and the releases: what missing means, subsets of the quasi-identifiers, sampling weights."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import CELLS, SPEC, Call, Desk, table

GAPS = "q,r,s\n*,2,x\na,1,x\na,*,y\nb,2,x\nb,2,y\n"  # sorted by what the rows show: the order tells nothing
OPTIONS = ("--qi", "q,r", "--sensitive", "s", "-k", "2")
WEIGHTED = "q,r,w\na,1,10\na,1,2.5\nb,2,0.5\nb,*,40\n"


def audited(desk: Desk, call: Call, text: str, *more: object) -> tuple[int, dict[str, Any]]:
    (desk.folder / "gaps.csv").write_text(text)
    ended = call("audit", "-i", "gaps.csv", *more, "--json")
    report: dict[str, Any] = json.loads(ended.out) if ended.out else {}
    return ended.code, report


# --- missing ---------------------------------------------------------------------------------------------------------


def test_both_meanings_are_told_and_what_is_shown_decides(desk: Desk, call: Call) -> None:
    code, report = audited(desk, call, GAPS, *OPTIONS)
    assert code == 1 and report["privacy"]["missing"] == "own-category"
    assert "wildcard" not in report["privacy"] and "wildcard" not in report["risk"] and report["warnings"] == []
    code, report = audited(desk, call, GAPS, *OPTIONS, "--missing-as", "wildcard")
    assert code == 1 and report["privacy"]["missing"] == "wildcard" and report["privacy"]["satisfied"] is False
    assert [model["achieved"] for model in report["privacy"]["models"]] == [{"k": 1}]
    again = report["privacy"]["wildcard"]
    assert again["satisfied"] is True and [model["achieved"] for model in again["models"]] == [{"k": 2}]
    assert report["risk"]["prosecutor_max"] == 1 and report["risk"]["wildcard"]["prosecutor_max"] == 0.5
    assert report["risk"]["wildcard"]["marketer"] == pytest.approx((1 / 2 + 3 * 1 / 3 + 1 / 4) / 5)
    assert report["warnings"] == []


def test_a_spec_declares_it_and_it_clears_nothing(desk: Desk, call: Call) -> None:
    columns = "quasi_identifiers: [q, r]\nsensitive: [s]\n"
    (desk.folder / "gate.yaml").write_text(f"version: 1\n{columns}privacy: {{k: 2, missing: wildcard}}\n")
    (desk.folder / "gaps.csv").write_text(GAPS)
    for options in ((), ("--missing-as", "own-category")):
        ended = call("audit", "gate.yaml", "-i", "gaps.csv", *options)
        assert ended.code == 1 and "k-anonymity (k=2) is not met" in ended.err


def test_what_fails_as_a_wildcard_too(desk: Desk, call: Call) -> None:
    code, report = audited(desk, call, GAPS, *OPTIONS[:-1], "4", "--missing-as", "wildcard")
    assert code == 1 and report["privacy"]["satisfied"] is False and report["warnings"] == []


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_people_are_shown_both(desk: Desk, call: Call, form: str) -> None:
    (desk.folder / "gaps.csv").write_text(GAPS)
    out = call("audit", "-i", "gaps.csv", *OPTIONS, "--missing-as", "wildcard", "--format", form).out.decode()
    assert "which does not" in out and "missing as" in out and "k = 1" in out and "k = 2" in out


@pytest.mark.parametrize("missing", ["own-category", "wildcard"])
def test_a_release_is_judged_by_what_its_spec_declares(desk: Desk, call: Call, missing: str) -> None:
    desk.fill(spec=SPEC.replace("  k: 3\n", f"  k: 3\n  missing: {missing}\n"))
    ended = call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "out.json")
    assert ended.code == 0, ended.err
    report = json.loads((desk.folder / "out.json").read_text())
    assert report["privacy"]["missing"] == missing and report["privacy"]["satisfied"] is True
    assert ("wildcard" in report["privacy"]) == ("wildcard" in report["risk"]) == (missing == "wildcard")
    if missing == "wildcard":
        own, other = (
            block["models"][0]["achieved"]["k"] for block in (report["privacy"], report["privacy"]["wildcard"])
        )
        assert 3 <= own <= other


def test_persons_are_counted_in_both_meanings(desk: Desk, call: Call) -> None:
    (desk.folder / "who.csv").write_text("p\n1\n1\n1\n2\n3\n")
    (desk.folder / "gaps.csv").write_text(GAPS)
    options = ("--unit", "p", "--unit-from", "who.csv", "--by-position", "--missing-as", "wildcard", "--json")
    ended = call("audit", "-i", "gaps.csv", *OPTIONS, *options)
    report = json.loads(ended.out)
    own, other = (block["models"][0] for block in (report["privacy"], report["privacy"]["wildcard"]))
    assert ended.code == 1 and (own["achieved"], own["failing_rows"]) == ({"k": 1}, 3)
    assert (other["achieved"], other["failing_rows"]) == ({"k": 1}, 2)  # (a, 1) and (a, *) meet person 1 alone


# --- subsets ---------------------------------------------------------------------------------------------------------


def test_subsets_of_an_input_help_to_choose(desk: Desk, call: Call) -> None:
    ended = call("audit", "-i", "table.csv", "--qi", "age,zip,job", "--subsets", "2", "--json")
    block = json.loads(ended.out)["risk"]
    assert ended.code == 0 and not CELLS.search(ended.out.decode())
    names = [subset["attributes"] for subset in block["subsets"]]
    assert names == [["age"], ["zip"], ["job"], ["age", "zip"], ["age", "job"], ["zip", "job"]]
    assert set(block["subsets"][0]) == {"attributes", "distinct", "separation", "uniques", "minimal_uniques"}
    assert block["special_uniques"]["max_size"] == 2
    assert set(block["special_uniques"]["score"]["contributions"]) == {"age", "zip", "job"}


def test_all_subsets_and_none(desk: Desk, call: Call) -> None:
    options = ("audit", "-i", "table.csv", "--qi", "age,zip,job", "--json")
    assert len(json.loads(call(*options, "--subsets", "auto").out)["risk"]["subsets"]) == 7
    assert "subsets" not in json.loads(call(*options).out)["risk"]
    assert b"What subsets of" in call(*options[:-1], "--subsets", "auto", "--format", "text").out


@pytest.mark.parametrize("size", ["0", "-1", "many", "1.5"])
def test_a_size_that_is_none(call: Call, size: str) -> None:
    ended = call("audit", "-i", "table.csv", "--qi", "age", f"--subsets={size}")
    assert ended.code == 2 and "nor auto" in ended.err


def test_too_many_subsets(desk: Desk, call: Call) -> None:
    names = [f"q{at}" for at in range(20)]
    (desk.folder / "wide.csv").write_text(",".join(names) + "\n" + ",".join("x" * 20) + "\n")
    ended = call("audit", "-i", "wide.csv", "--qi", ",".join(names), "--subsets", "20")
    assert ended.code == 2 and "--subsets: 20 attributes have more than" in ended.err


# --- samples ---------------------------------------------------------------------------------------------------------


def test_weights_below_one_do_not_make_a_sample_larger_than_its_population(desk: Desk, call: Call) -> None:
    code, report = audited(desk, call, "q,w\na,0.5\na,0.5\nb,0.5\n", "--qi", "q", "--sampling-weight", "w")
    assert code == 0 and report["risk"]["population"]["sampling_fraction"] == 1


def test_sampling_weights(desk: Desk, call: Call) -> None:
    code, report = audited(desk, call, WEIGHTED, "--qi", "q,r", "--sampling-weight", "w")
    assert code == 0 and "1 sampling weight is below one" in report["warnings"][0]
    sample = report["risk"]["sample"]
    assert sample["population"] == 53 and sample["journalist_max"] == 1.0 and sample["individual_max"] == 1.0
    assert report["risk"]["population"]["sampling_fraction"] == pytest.approx(4 / 53)
    assert report["risk"]["journalist_max"] == 1.0
    code, report = audited(desk, call, WEIGHTED, "--qi", "q,r", "--sampling-weight", "w", "--missing-as", "wildcard")
    assert report["risk"]["wildcard"]["sample"]["journalist_max"] == 1 / 12.5
    assert report["risk"]["sample"]["journalist_max"] == 1.0


@pytest.mark.parametrize(("value", "what"), [("", "missing"), ("0", "zero"), ("-3", "negative"), ("x", "not a number")])
def test_weights_that_cannot_be_are_refused_with_their_line(desk: Desk, call: Call, value: str, what: str) -> None:
    (desk.folder / "gaps.csv").write_text(f"q,r,w\na,1,2\nb,1,{value}\n")
    ended = call("audit", "-i", "gaps.csv", "--qi", "q,r", "--sampling-weight", "w")
    assert ended.code == 3 and f"gaps.csv:3: sampling weight 'w': 1 value is {what}" in ended.err


def test_a_release_of_a_sample(desk: Desk, call: Call) -> None:
    lines = table().splitlines()
    weighted = [lines[0] + ",w", *(f"{line},{at % 7 + 1}.50" for at, line in enumerate(lines[1:]))]
    desk.fill("\n".join(weighted) + "\n", SPEC + "sampling_weight: w\n")
    ended = call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "out.json")
    assert ended.code == 0, ended.err
    released = (desk.folder / "out.csv").read_text().splitlines()
    assert released[0].endswith(",w") and all(line.endswith(".50") for line in released[1:])
    report = json.loads((desk.folder / "out.json").read_text())
    found = call("audit", "spec.yaml", "-i", "out.csv", "--json")
    assert found.code == 0
    sample = json.loads(found.out)["risk"]["sample"]
    assert report["risk"]["sample"] == sample and 0 < sample["individual_mean"] < 1
    weighted[5] = weighted[5].rsplit(",", 1)[0] + ",0"
    desk.fill("\n".join(weighted) + "\n", SPEC + "sampling_weight: w\n")
    ended = call("mondrian", "spec.yaml", "-o", "again.csv")
    assert ended.code == 3 and "table.csv:6: sampling weight 'w': 1 value is zero" in ended.err
    assert not (desk.folder / "again.csv").exists()


@pytest.mark.parametrize("fraction", ["0", "1.01", "-1"])
def test_a_fraction_that_is_none(call: Call, fraction: str) -> None:
    ended = call("audit", "-i", "table.csv", "--qi", "age", f"--sampling-fraction={fraction}")
    assert ended.code == 2 and "--sampling-fraction" in ended.err


def test_population_uniqueness(desk: Desk, call: Call) -> None:
    code, report = audited(desk, call, GAPS, "--qi", "q,r", "--sampling-fraction", "1")
    assert code == 0 and report["risk"]["population"]["uniques"] == pytest.approx(3 / 5)


def test_a_population(desk: Desk, call: Call) -> None:
    (desk.folder / "all.csv").write_text("r,q,more\n" + "1,a,x\n" * 5 + "*,a,x\n2,b,x\n2,b,x\n2,b,x\n2,*,x\n")
    code, report = audited(desk, call, GAPS, "--qi", "q,r", "--population", "all.csv")
    assert code == 0
    block = report["risk"]["journalist"]
    assert block == {
        "population": 10,
        "journalist_max": 1 / 3,
        "marketer": pytest.approx((1 / 5 + 1 / 6 + 2 / 3 + 1 / 4) / 5),
        "records_at_risk": 3 / 5,
    }
    text = call("audit", "-i", "gaps.csv", "--qi", "q,r", "--population", "all.csv", "--format", "text").out
    assert b"Risk against the population" in text


def test_the_journalist_is_judged_by_the_population(desk: Desk, call: Call) -> None:
    (desk.folder / "gaps.csv").write_text(GAPS)
    (desk.folder / "all.csv").write_text("q,r\n" + "a,1\n" * 5 + "b,2\n" * 4)
    wanted = ("audit", "-i", "gaps.csv", "--qi", "q,r", "--require", "risk journalist_max=0.25", "--json")
    assert call(*wanted).code == 1
    ended = call(*wanted, "--population", "all.csv")
    report = json.loads(ended.out)
    assert (
        ended.code == 0 and report["risk"]["journalist_max"] == report["risk"]["journalist"]["journalist_max"] == 0.25
    )
    assert report["privacy"]["models"][0]["achieved"] == {"journalist_max": 0.25}


def test_a_population_that_the_spec_names_stays_that_of_its_bound(desk: Desk, call: Call) -> None:
    (desk.folder / "gaps.csv").write_text(GAPS)
    (desk.folder / "all.csv").write_text("q,r\n" + "a,1\n" * 5 + "b,2\n" * 4)
    (desk.folder / "more.csv").write_text("q,r\n" + "a,1\n" * 9 + "b,2\n" * 8)
    bound = "{model: risk, journalist_max: 0.25, population: all.csv}"
    (desk.folder / "s.yaml").write_text(
        f"version: 1\nquasi_identifiers: [q, r]\ninsensitive: [s]\nprivacy: {{models: [{bound}]}}\n"
    )
    ended = call("audit", "s.yaml", "-i", "gaps.csv", "--population", "more.csv", "--json")
    assert json.loads(ended.out)["privacy"]["models"][0]["achieved"] == {"journalist_max": 0.25}
    text = (desk.folder / "s.yaml").read_text()
    (desk.folder / "s.yaml").write_text(text.replace(bound, "{model: risk, prosecutor_max: 1}"))
    ended = call("audit", "s.yaml", "-i", "gaps.csv", "--population", "more.csv", "--json")
    assert json.loads(ended.out)["privacy"]["models"][0]["required"] == {"prosecutor_max": 1}


def test_a_population_bounds_the_risk_beside_other_models(desk: Desk, call: Call) -> None:
    (desk.folder / "gaps.csv").write_text(GAPS)
    (desk.folder / "all.csv").write_text("q,r\n" + "a,1\n" * 5 + "b,2\n" * 4)
    required = [("--require", text) for text in ("entropy-l-diversity l=1 attribute=s", "risk journalist_max=0.25")]
    named = ("-i", "gaps.csv", "--qi", "q,r", "--sensitive", "s", "--population", "all.csv")
    ended = call("audit", *named, *required[0], *required[1], "--json")
    assert [each["model"] for each in json.loads(ended.out)["privacy"]["models"]] == ["entropy-l-diversity", "risk"]


def test_a_population_has_original_values_where_a_spec_tells_what_is_above_them(desk: Desk, call: Call) -> None:
    (desk.folder / "spec.yaml").write_text(
        "version: 1\nquasi_identifiers: {age: {type: numeric}, zip: {hierarchy: {mask: right}}}\nprivacy: {k: 1}\n"
    )
    (desk.folder / "out.csv").write_text("age,zip\n[20-29],02**\n[20-29],02**\n*,*\n")
    (desk.folder / "all.csv").write_text("age,zip\n20,0213\n025,0299\n29,0213\n30,0213\n20,1213\n")
    code, report = audited(desk, call, "unused", "spec.yaml", "-i", "out.csv", "--population", "all.csv")
    assert code == 0 and report["risk"]["journalist"]["journalist_max"] == 1 / 3
    assert report["risk"]["journalist"]["marketer"] == pytest.approx((2 / 3 + 1 / 5) / 3)


def test_a_population_that_cannot_be_one(desk: Desk, call: Call) -> None:
    (desk.folder / "gaps.csv").write_text(GAPS)
    (desk.folder / "all.csv").write_text("q,r\na,1\n")
    ended = call("audit", "-i", "gaps.csv", "--qi", "q,r", "--population", "all.csv")
    assert ended.code == 3 and "nobody under what 3 rows of gaps.csv show" in ended.err
    (desk.folder / "all.csv").write_text("q\na\n")
    ended = call("audit", "-i", "gaps.csv", "--qi", "q,r", "--population", "all.csv")
    assert ended.code == 3 and "has no column r" in ended.err


# --- risky cells, log-linear models, households ----------------------------------------------------------------------


def test_risky_cells_are_counted_in_every_subset(desk: Desk, call: Call) -> None:
    options = ("--qi", "q,r", "--subsets", "2", "--risky-cells", "2,1")
    code, report = audited(desk, call, GAPS, *options)
    assert code == 0
    assert [(each["attributes"], each["risky_cells"]) for each in report["risk"]["subsets"]] == [
        (["q"], 3), (["r"], 2), (["q", "r"], 3),
    ]  # fmt: skip
    assert b"risky cells" in call("audit", "-i", "gaps.csv", *options).out


def test_a_log_linear_model_needs_a_sampling_fraction(desk: Desk, call: Call) -> None:
    code, report = audited(desk, call, GAPS, "--qi", "q,r", "--log-linear", "main", "--sampling-fraction", "1")
    assert code == 0 and report["risk"]["log_linear"]["population_uniques"] == report["risk"]["log_linear"]["uniques"]
    code, report = audited(desk, call, WEIGHTED, "--qi", "q,r", "--log-linear", "pairs", "--sampling-weight", "w")
    assert report["risk"]["log_linear"]["sampling_fraction"] == pytest.approx(4 / 53)
    ended = call("audit", "-i", "gaps.csv", "--qi", "q,r", "--log-linear", "main")
    assert ended.code == 2 and "--log-linear: what share of the population" in ended.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--risky-cells", "2"), "--risky-cells: needs --subsets"),
        (("--risky-cells", "0", "--subsets", "1"), "--risky-cells: numbers of rows, from 1"),
        (("--risky-cells", "a,b", "--subsets", "1"), "numbers of rows, separated by commas"),
    ],
)
def test_risky_cells_that_make_no_sense(desk: Desk, call: Call, options: tuple[str, ...], message: str) -> None:
    (desk.folder / "gaps.csv").write_text(GAPS)
    ended = call("audit", "-i", "gaps.csv", "--qi", "q,r", *options)
    assert ended.code == 2 and message in ended.err


def test_households_are_in_an_audit_with_a_unit(desk: Desk, call: Call) -> None:
    text = "hid,q\n1,a\n1,b\n2,a\n3,c\n"
    _, report = audited(desk, call, text, "--qi", "q", "--unit", "hid")
    assert report["risk"]["household"] == {
        "units": 3, "max": 1.0, "mean": 2.5 / 3, "expected": 2.5, "at_risk": 1.0,
    }  # fmt: skip
    assert b"Risk of individuals" in call("audit", "-i", "gaps.csv", "--qi", "q", "--unit", "hid").out
