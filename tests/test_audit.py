"""Any table, measured against a spec or against options."""

import gzip
import hashlib
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize._audit import AuditResult
from anonymize._audit import audit as measured
from anonymize.auditing.request import Against, Audit, Deeper
from anonymize.claims import State
from anonymize.errors import DataError, SpecError, UsageError
from anonymize.link import Link, LinkedFile
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, load
from anonymize.table.files import sha256_of

SPEC = """\
version: 1
input: {missing: ["", "?"]}
identifiers: [name]
quasi_identifiers:
  age: {type: numeric}
  zip: {}
sensitive:
  diagnosis: {}
  charges: {type: numeric}
insensitive: [ward]
privacy:
  k: 2
  models:
    - {model: entropy-l-diversity, attribute: diagnosis, l: 1.5}
"""
HEADER = "age,zip,diagnosis,charges,ward\n"
SAFE = HEADER + "[20-30],02138,flu,10,a\n[20-30],02138,cold,20,b\n*,*,flu,10,a\n*,*,cold,?,b\n"


def spec_file(folder: Path, text: str = SPEC) -> Spec:
    path = folder / "spec.yaml"
    path.write_text(text)
    return load(path, PARAMETERS)


def audit(spec: Spec | None, path: str | Path | None = None, **options: Any) -> AuditResult:
    return measured(Audit(spec, path, **options))


def csv_file(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text)
    return path


# --- with a spec -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0, 1.01])
def test_a_threshold_that_no_risk_has(tmp_path: Path, threshold: float) -> None:
    with pytest.raises(UsageError, match="--threshold"):
        audit(spec_file(tmp_path), csv_file(tmp_path, SAFE), threshold=threshold)


def test_a_threshold_of_one_is_one_that_no_risk_is_above(tmp_path: Path) -> None:
    assert audit(spec_file(tmp_path), csv_file(tmp_path, SAFE), threshold=1).report["risk"]["records_at_risk"] == 0


def test_rows_are_matched_by_position_with_another_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--by-position: needs a --previous or --unit-from"):
        audit(spec_file(tmp_path), csv_file(tmp_path, SAFE), against=Against(by_position=True))


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--previous-link: needs", {"link": "new.json", "against": Against(previous_link="old.json")}),
        ("--previous-link: needs", {"against": Against(previous="old.csv", previous_link="old.json")}),
        ("--link: needs", {"link": "new.json"}),
        ("--link: needs", {"link": "new.json", "against": Against(previous="old.csv")}),
        ("--by-position: rows", {"link": "new.json", "unit_from": "in.csv", "against": Against(by_position=True)}),
        (
            "--by-position: rows",
            {"link": "new.json", "against": Against(previous="old.csv", by_position=True, previous_link="old.json")},
        ),
    ],
)
def test_links_that_lead_nowhere(option: str, given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=option):
        audit(None, "new.csv", quasi_identifiers=["age"], **given)


@pytest.mark.parametrize("fraction", [0, 1.01])
def test_a_share_of_the_population_that_is_none(fraction: float) -> None:
    with pytest.raises(UsageError, match="--sampling-fraction: must be above 0 and at most 1"):
        audit(None, "new.csv", quasi_identifiers=["age"], further=Deeper(fraction=fraction))


def test_a_share_of_the_population_is_that_of_the_estimate(tmp_path: Path) -> None:
    table = csv_file(tmp_path, SAFE)
    risk = audit(None, table, quasi_identifiers=["age"], further=Deeper(fraction=0.5)).report["risk"]
    assert risk["population"]["sampling_fraction"] == 0.5


def releases(folder: Path, now: str, old: str) -> Against:
    """Writes `now.csv` and `old.csv`, of rows apart by spaces, and a link of each to one input of as many rows."""
    for name, rows in (("now", now.split()), ("old", old.split())):
        (folder / f"{name}.csv").write_text("\n".join(["q,s", *rows, ""]))
        file = LinkedFile(sha256_of(folder / f"{name}.csv"), len(rows))
        order = np.arange(len(rows)) if name == "now" else np.arange(len(rows))[::-1]
        (folder / f"{name}.json").write_text(Link(LinkedFile("a" * 64, len(rows)), file, order).text(f"{name}.json"))
    return Against(previous=folder / "old.csv", previous_link=folder / "old.json")


def previous(folder: Path, against: Against, **given: Any) -> dict[str, Any]:
    named = {"quasi_identifiers": ["q"], "sensitive": ["s"], "k": 2} | given
    block: dict[str, Any] = audit(None, folder / "now.csv", against=against, **named).report["previous"]
    return block


def test_rows_of_two_releases_are_matched_by_their_links(tmp_path: Path) -> None:
    against = releases(tmp_path, "a,x a,x b,x b,x", "c,x c,x d,x d,x")
    block = previous(tmp_path, against, link=tmp_path / "now.json")
    assert (block["joined_by"], block["rows"], block["models"][0]["achieved"]) == ("link", 4, {"k": 2})
    for link in ("old.json", "now.json"):
        crossed = replace(against, previous_link=tmp_path / "now.json")
        with pytest.raises(DataError, match="another release"):
            previous(tmp_path, crossed if link == "now.json" else against, link=tmp_path / link)
    assert previous(tmp_path, replace(against, previous_link=None))["joined_by"] == "classes"


def test_rows_of_two_releases_are_matched_by_position_where_there_are_as_many(tmp_path: Path) -> None:
    against = replace(releases(tmp_path, "a,x a,x", "c,x d,x"), by_position=True, previous_link=None)
    assert previous(tmp_path, against)["joined_by"] == "position"
    against = replace(releases(tmp_path, "a,x a,x", "c,x"), by_position=True, previous_link=None)
    with pytest.raises(UsageError, match=r"has 2 rows, and .* has 1: rows cannot be matched by position"):
        previous(tmp_path, against)


@pytest.mark.parametrize(
    ("now", "old", "figures"),
    [
        ("a,x a,x b,y b,y", "c,x c,x d,y d,y", (2, 2, 2, 0)),  # classes without a value in common are no pair
        ("a,x a,x", "c,x c,x d,x d,x", (2, 2, 0, 2)),  # either of the two may have taken both rows
        ("a,x a,y", "c,x c,z", (1, 1, 0, 2)),
    ],
)
def test_what_two_releases_share_by_what_they_show(
    tmp_path: Path, now: str, old: str, figures: tuple[int, ...]
) -> None:
    block = previous(tmp_path, replace(releases(tmp_path, now, old), previous_link=None))
    assert tuple(block[name] for name in ("pairs", "smallest", "certain", "rows_at_risk")) == figures


def test_groups_of_which_nothing_is_required_have_no_k(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("q,bucket,s\na,1,x\nb,1,y\n")
    named = {"quasi_identifiers": ["q"], "sensitive": ["s"], "group": "bucket"}
    models = [each.model for each in audit(None, tmp_path / "table.csv", **named).verdict.results]
    assert "distinct-l-diversity" in models and "k-anonymity" not in models


def test_groups_that_cannot_be_measured_are_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("q,bucket,s\na,1,x\nb,1,y\n")
    with pytest.raises(UsageError, match="--group: s is not the column of groups"):
        audit(None, tmp_path / "table.csv", quasi_identifiers=["q"], sensitive=["s"], group="s")


def test_getting_worse_takes_something_to_be_worse_than(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--no-regress: needs a --baseline"):
        audit(None, tmp_path / "table.csv", quasi_identifiers=["q"], against=Against(no_regress=True))


def test_a_release_by_its_link_and_an_earlier_one_without(tmp_path: Path) -> None:
    """The link leads to the table that has the unit; rows of the earlier release are found by what they show."""
    against = replace(releases(tmp_path, "a,x a,y b,x", "c,x c,x c,y"), previous_link=None)
    (tmp_path / "in.csv").write_text("who,q,s\n1,a,x\n1,a,y\n2,b,x\n")
    files = [LinkedFile(sha256_of(tmp_path / name), 3) for name in ("in.csv", "now.csv")]
    (tmp_path / "now.json").write_text(Link(files[0], files[1], np.arange(3)).text("now.json"))
    given = {"unit": "who", "unit_from": tmp_path / "in.csv", "link": tmp_path / "now.json", "k": 1}
    assert previous(tmp_path, against, **given)["joined_by"] == "classes"


@pytest.mark.parametrize("own", [True, False])
def test_a_report_may_not_take_the_place_of_the_table(tmp_path: Path, own: bool) -> None:
    """That of the spec is read where no other is named."""
    (tmp_path / "table.json").write_text(SAFE)
    spec = spec_file(
        tmp_path, SPEC.replace('input: {missing: ["", "?"]}', "input: {path: table.json, missing: ['?', '']}")
    )
    given: dict[str, Any] = {"reports": [str(tmp_path / "table.json")], "force": True}
    if own:
        with pytest.raises(UsageError):
            audit(spec, **given)
        assert (tmp_path / "table.json").read_text() == SAFE
    else:
        audit(spec, csv_file(tmp_path, SAFE), **given)
        assert json.loads((tmp_path / "table.json").read_text())["privacy"]["satisfied"] is True


@pytest.mark.parametrize(
    ("encoding", "own", "given"), [("latin-1", True, None), ("utf8", False, None), ("latin-1", False, "latin-1")]
)
def test_a_release_is_in_utf8_and_the_table_of_a_spec_as_that_says(
    tmp_path: Path, encoding: str, own: bool, given: str | None
) -> None:
    named = "input: {path: table.csv, encoding: latin-1, missing: ['?', '']}"
    spec = spec_file(tmp_path, SPEC.replace('input: {missing: ["", "?"]}', named).replace("zip", "stra\u00dfe"))
    (tmp_path / "table.csv").write_text(SAFE.replace("zip", "stra\u00dfe"), encoding=encoding)
    assert audit(spec, None if own else tmp_path / "table.csv", encoding=given).satisfied


def test_standard_input_has_one_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two tables"):
        audit(spec_file(tmp_path), "-", against=Against(previous="-"))


def test_a_randomized_table_is_measured_and_not_judged(tmp_path: Path) -> None:
    table = csv_file(tmp_path, SAFE)
    (tmp_path / "table.params.json").write_text("{}")
    with pytest.raises(UsageError, match="is randomized"):
        audit(spec_file(tmp_path), table)
    assert audit(None, table, quasi_identifiers=["age"]).satisfied is None


def test_a_report_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("an earlier one")
    with pytest.raises(UsageError, match=r"report\.json"):
        audit(spec_file(tmp_path), csv_file(tmp_path, SAFE), reports=[str(report)])
    assert report.read_text() == "an earlier one"
    audit(spec_file(tmp_path), csv_file(tmp_path, SAFE), reports=[str(report)], force=True)
    assert json.loads(report.read_text())["privacy"]["satisfied"] is True


def test_a_protected_value_that_the_table_does_not_have_is_refused(tmp_path: Path) -> None:
    required = "alpha-k-anonymity attribute=diagnosis alpha=1 k=1 values={}"
    table = csv_file(tmp_path, SAFE)
    assert audit(spec_file(tmp_path), table, require=[required.format("[flu]")]).satisfied
    with pytest.raises(DataError, match="the protected value 'flue' does not occur in it"):
        audit(spec_file(tmp_path), table, require=[required.format("[flue]")])


def test_a_table_that_changes_while_it_is_measured_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = csv_file(tmp_path, SAFE)

    def changing(*_: object) -> dict[str, Any]:
        table.write_text(SAFE + "*,*,flu,10,a\n")
        return {}

    monkeypatch.setattr("anonymize._audit.deeper", changing)
    with pytest.raises(DataError, match="changed"):
        audit(spec_file(tmp_path), table)


def test_what_missing_means_can_be_said_beside_a_spec(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, "version: 1\nquasi_identifiers: [q, r]\nprivacy: {k: 2}\n")
    table = csv_file(tmp_path, "q,r\na,1\n*,1\n")
    assert audit(spec, table).state is State.UNMET
    again = audit(spec, table, missing_as="wildcard")
    assert again.state is State.UNMET and again.report["privacy"]["wildcard"]["satisfied"] is True


def test_an_earlier_release_may_have_columns_that_the_spec_does_not_know(tmp_path: Path) -> None:
    table = csv_file(tmp_path, SAFE)
    earlier = tmp_path / "earlier.csv"
    earlier.write_text("".join(f"{line},x\n" for line in SAFE.splitlines()).replace("ward,x", "ward,room"))
    found = audit(spec_file(tmp_path), table, against=Against(previous=earlier))
    assert found.verdict.satisfied is True and found.report["previous"]["rows"] == found.verdict.rows


def test_a_safe_release(tmp_path: Path) -> None:
    table = csv_file(tmp_path, SAFE)
    found = audit(spec_file(tmp_path), table)
    assert found.satisfied is True and found.problems == ()
    assert list(found.report) == [
        "schema_version",
        "tool",
        "private",
        "input",
        "privacy",
        "classes",
        "risk",
        "warnings",
    ]
    assert found.report["input"] == {
        "path": str(table),
        "sha256": hashlib.sha256(table.read_bytes()).hexdigest(),
        "rows": 4,
        "columns": 5,
    }
    assert found.report["privacy"]["satisfied"] is True and found.report["privacy"]["verified"] is True
    models = found.report["privacy"]["models"]
    assert [(model["model"], model["attribute"]) for model in models] == [
        ("k-anonymity", None),
        ("entropy-l-diversity", "diagnosis"),
    ]
    assert models[0]["required"] == {"k": 2} and models[0]["achieved"] == {"k": 2}
    assert found.report["classes"] == {
        **{"count": 1, "min_size": 2, "mean_size": 2.0, "max_size": 2, "suppressed_rows": 2},
        "sizes": [{"from": 2, "to": 2, "classes": 1, "rows": 2}],
    }
    assert json.loads(json.dumps(found.report, allow_nan=False)) == found.report


def test_what_is_not_met_points_to_the_line_of_the_spec(tmp_path: Path) -> None:
    table = csv_file(tmp_path, HEADER + "[20-30],02138,flu,10,a\n[20-30],02138,flu,20,b\n*,*,flu,10,a\n")
    found = audit(spec_file(tmp_path), table)
    assert found.satisfied is False and found.report["privacy"]["satisfied"] is False
    assert [(problem.line, problem.message) for problem in found.problems] == [
        (12, "k-anonymity (k=2) is not met: k=1; 1 row in 1 class fails"),
        (14, "entropy-l-diversity (l=1.5) of diagnosis is not met: l=1; 3 rows in 2 classes fail"),
    ]


def test_options_go_before_the_specs_thresholds(tmp_path: Path) -> None:
    spec, table = spec_file(tmp_path), csv_file(tmp_path, SAFE)
    assert audit(spec, table, k=3).satisfied is False
    found = audit(spec, table, l=2)
    assert [model["attribute"] for model in found.report["privacy"]["models"]] == [
        None,
        "diagnosis",
        "charges",
        "diagnosis",
    ]
    assert [model["satisfied"] for model in found.report["privacy"]["models"]] == [True, True, False, True]


def test_bounds_are_the_quasi_identifier_that_was_split(tmp_path: Path) -> None:
    header = "age_low,age_high,zip,diagnosis,charges,ward\n"
    rows = header + "20,30,1,flu,1,a\n20,30,1,cold,1,a\n20,31,1,flu,1,a\n20,31,1,cold,1,a\n"
    found = audit(spec_file(tmp_path), csv_file(tmp_path, rows))
    assert found.satisfied is True and found.report["classes"]["count"] == 2


def test_a_number_beside_its_bounds_counts_too(tmp_path: Path) -> None:
    rows = "age,age_low,age_high,zip,diagnosis,charges,ward\n21,20,30,1,flu,1,a\n22,20,30,1,cold,1,a\n"
    assert audit(spec_file(tmp_path), csv_file(tmp_path, rows)).report["classes"]["count"] == 2


def test_bounds_of_a_category_are_it_too(tmp_path: Path) -> None:
    header = "age,zip_low,zip_high,diagnosis,charges,ward\n"
    rows = header + "[20-30],0,1,flu,1,a\n[20-30],0,1,cold,1,a\n[20-30],0,3,flu,1,a\n[20-30],0,3,cold,1,a\n"
    found = audit(spec_file(tmp_path), csv_file(tmp_path, rows))
    assert found.satisfied is True and found.report["classes"]["count"] == 2


def test_a_direct_identifier_in_the_table_is_not_safe(tmp_path: Path) -> None:
    rows = "name," + HEADER + "Ann,[20-30],1,flu,10,a\nBob,[20-30],1,cold,20,b\n"
    found = audit(spec_file(tmp_path), csv_file(tmp_path, rows))
    assert found.verdict.satisfied is True and found.satisfied is False
    assert found.report["privacy"]["satisfied"] is False
    assert [each.text for each in found.report["warnings"]] == [
        "column name is a direct identifier, and it is in the table",
        "columns that pass through (ward) single out 100 % of the rows by themselves, 100 % together with the "
        "quasi-identifiers as released; 100 % are then in groups of fewer than 2",
    ]
    assert [problem.message for problem in found.problems] == found.report["warnings"][:1]


def test_without_thresholds_everything_is_measured_and_nothing_judged(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, SPEC[: SPEC.index("privacy:")])
    found = audit(spec, csv_file(tmp_path, SAFE))
    assert found.satisfied is None and found.problems == ()
    models = found.report["privacy"]["models"]
    assert [(model["model"], model["attribute"]) for model in models] == [
        ("k-anonymity", None),
        ("distinct-l-diversity", "diagnosis"),
        ("entropy-l-diversity", "diagnosis"),
        ("frequency-l-diversity", "diagnosis"),
        ("distinct-l-diversity", "charges"),
        ("entropy-l-diversity", "charges"),
        ("frequency-l-diversity", "charges"),
        ("squared-error-diversity", "charges"),
    ]
    assert all(model["required"] == {} and model["satisfied"] is None for model in models)
    assert [next(iter(model["achieved"].values())) for model in models] == pytest.approx([2, 2, 2, 2, 1, 1, 1, 0])


# --- without a spec --------------------------------------------------------------------------------------------------


def test_options_alone(tmp_path: Path) -> None:
    table = csv_file(tmp_path, SAFE)
    found = audit(None, table, quasi_identifiers=["age", "zip"], sensitive=["diagnosis"], k=2, l=2)
    assert found.satisfied is True
    assert audit(None, table, quasi_identifiers=["age", "zip", "ward"], k=2).satisfied is False
    measured = audit(None, table, quasi_identifiers=["age"], sensitive=["diagnosis"])
    assert measured.satisfied is None and len(measured.report["privacy"]["models"]) == 4


def test_options_describe_the_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("alter;wert\nä;1\nä;1,0\n#;NA\n".replace(",", ".").encode("latin-1"))
    found = audit(
        None,
        path,
        quasi_identifiers=["alter"],
        sensitive=["wert"],
        numeric=["wert"],
        l=1,
        separator=";",
        encoding="latin-1",
        missing=["NA"],
        suppressed="#",
    )
    assert found.report["privacy"]["models"][0]["achieved"] == {"l": 0}
    assert found.report["classes"]["count"] == 1 and found.verdict.suppressed_rows == 1


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_without_a_spec_the_header_says_what_parts_it(tmp_path: Path, separator: str) -> None:
    table = csv_file(tmp_path, "age,first name\n1,a\n1,b\n".replace(",", separator))
    assert audit(None, table, quasi_identifiers=["age", "first name"]).report["classes"]["count"] == 2
    with pytest.raises(DataError, match="has no column age"):
        audit(None, table, quasi_identifiers=["age"], separator="#")


def test_what_means_missing_is_declared_not_guessed(tmp_path: Path) -> None:
    table = csv_file(tmp_path, "q,s\na,NA\na,x\n")
    numeric = {"quasi_identifiers": ["q"], "sensitive": ["s"], "numeric": ["s"], "l": 1}
    with pytest.raises(DataError, match="not numbers"):
        audit(None, table, **numeric)
    options = {"quasi_identifiers": ["q"], "sensitive": ["s"], "l": 2}
    assert audit(None, table, **options, no_normalize=True).satisfied is True
    assert audit(None, table, **options, missing=["NA"]).satisfied is False


def test_an_empty_field_is_missing_only_if_the_empty_text_is(tmp_path: Path) -> None:
    table = csv_file(tmp_path, "q,s\na,\na,x\n")
    assert audit(None, table, quasi_identifiers=["q"], sensitive=["s"], l=2).satisfied is False
    as_it_stands = {"missing": ["NA"], "no_normalize": True}
    assert audit(None, table, quasi_identifiers=["q"], sensitive=["s"], l=2, **as_it_stands).satisfied is True
    assert audit(None, table, quasi_identifiers=["q"], sensitive=["s"], l=2, missing=["NA"]).satisfied is False


@pytest.mark.parametrize("kind", ["csv.gz", "parquet", "arrow"])
def test_other_formats(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"t.{kind}"
    frame = pl.DataFrame({"q": ["1", "1", None, None], "s": ["x", "y", "x", None]})
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.write_csv().encode()))
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_ipc(path)
    found = audit(None, path, quasi_identifiers=["q"], sensitive=["s"], k=2, l=1)
    assert found.satisfied is True
    assert [model["achieved"] for model in found.report["privacy"]["models"]] == [{"k": 2}, {"l": 1}]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q\n1\n1\n")))
    assert audit(None, "-", quasi_identifiers=["q"], k=2).satisfied is True


# --- what is refused -------------------------------------------------------------------------------------------------


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    table = csv_file(tmp_path, SAFE)
    refused: list[tuple[type[Exception], str, dict[str, Any]]] = [
        (UsageError, "give a spec, or the quasi-identifiers", {"k": 2}),
        (SpecError, "k", {"quasi_identifiers": ["age"], "k": 0}),
        (SpecError, "sensitive", {"quasi_identifiers": ["age"], "l": 2}),
        (SpecError, "age", {"quasi_identifiers": ["age"], "sensitive": ["age"], "k": 2}),
    ]
    for error, message, options in refused:
        with pytest.raises(error, match=message):
            audit(None, table, **options)
    with pytest.raises(UsageError, match="--qi: cannot be given together with a spec"):
        audit(spec_file(tmp_path), table, quasi_identifiers=["age"])


def test_columns_that_the_table_lacks_are_all_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        audit(spec_file(tmp_path), csv_file(tmp_path, "age_low,zip,ward\n1,2,3\n"))
    assert [problem.message for problem in caught.value.problems] == [
        "has no column age",
        "has no column diagnosis",
        "has no column charges",
    ]


def test_columns_that_the_spec_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 columns have no role in the spec: index, zip_low"):
        audit(spec_file(tmp_path), csv_file(tmp_path, "index,zip_low," + HEADER + "0,1,2,3,flu,5,a\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("q,s\n", "no rows"),
        ("q,s\n1,2\n1\n", "."),
        ("q,s\n1,2\n1,2,3\n", "."),
        ("q,q\n1,2\n", "same name"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        audit(None, csv_file(tmp_path, text), quasi_identifiers=["q"], k=1)


def test_no_cell_value_in_a_message(tmp_path: Path) -> None:
    table = csv_file(tmp_path, HEADER + "[20-30],1,flu,unspeakable,a\n")
    with pytest.raises(DataError, match="charges is numeric, and 1 of its values") as caught:
        audit(spec_file(tmp_path), table, l=1)
    assert "unspeakable" not in str(caught.value)


@pytest.mark.parametrize(("order", "judged"), [("keep", True), ("shuffle", False), (None, False)])
def test_the_order_of_rows_is_judged_where_the_spec_says_that_it_is_the_inputs(
    tmp_path: Path, order: str | None, judged: bool
) -> None:
    rows = ["[20-30],x", "[25-35],x", "[20-30],y", "[25-35],y"]
    table = csv_file(tmp_path, "\n".join(["age,s", *rows, ""]))
    if order is None:
        result = audit(None, table, quasi_identifiers=["age"], sensitive=["s"], k=1)
    else:
        spec = "version: 1\nquasi_identifiers: {age: {type: numeric}}\nsensitive: [s]\nprivacy: {k: 1}\n"
        result = audit(spec_file(tmp_path, f"{spec}output: {{row_order: {order}}}\n"), table)
    assert result.report["privacy"]["order"]["judged"] is judged
