from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.errors import SpecError
from anonymize.spec import Condition, Intervals, Mask, RuleRange, Spec, load, make, override
from tests.examples import some
from tests.spec.conftest import Models, Read

START = "version: 1\nquasi_identifiers: {age: {type: numeric}, sex: {}}\n"

CONTRACT = """\
version: 1
input:
  path: ../sample_data/patients.csv
  separator: ","
  missing: ["", "?"]
  encoding: utf8
identifiers: [name, ssn]
quasi_identifiers:
  age:
    type: numeric
    weight: 2
    hierarchy: {intervals: [5, 10, 20]}
    rules:
      - {keep_apart: [20, 21], importance: 10}
  race:
    hierarchy: ../hierarchies/race.csv
    rules:
      - {keep_apart: [White, Black], importance: 20}
  zipcode: {hierarchy: {mask: right}}
  sex: {identifying: more}
weights: given
sensitive:
  diagnosis: {hierarchy: ../hierarchies/diagnosis.csv}
  charges: {type: numeric}
insensitive: [ward]
privacy:
  k: 5
  l: 3
  models:
    - {model: entropy-l-diversity, attribute: diagnosis, l: 2.5}
    - {model: t-closeness, attribute: diagnosis, t: 0.3}
  suppression: 0.01
workload:
  targets: [readmitted]
  selections:
    - {age: {from: 40}, sex: {in: [M]}}
output:
  interval: "[{low}-{high}]"
  numeric: interval
  categorical: node
  suppressed: "*"
  suppressed_rows: keep
  edges: rounded
  row_order: sorted
"""


def test_reads_the_whole_contract(read: Read, tmp_path: Path, models: Models) -> None:
    spec = read(CONTRACT)
    age, race = spec.quasi_identifiers["age"], spec.quasi_identifiers["race"]
    assert spec.input.missing == ("", "?")
    assert age.hierarchy == Intervals(intervals=(5, 10, 20))
    assert (age.weight, age.rules[0].keep_apart, age.rules[0].importance) == (2, (20, 21), 10)
    assert race.rules[0].keep_apart == ("White", "Black")
    assert spec.quasi_identifiers["zipcode"].hierarchy == Mask(mask="right")
    assert spec.quasi_identifiers["sex"].identifying == "more"
    assert spec.sensitive["charges"].type == "numeric"
    assert (spec.privacy.k, spec.privacy.l, spec.privacy.suppression) == (5, 3, 0.01)
    assert [entry.line for entry in spec.privacy.models] == [30, 31]
    assert spec.privacy.models[1].parameters == models["t-closeness"].model_validate({"t": 0.3})
    assert spec.workload.selections == (
        {"age": Condition.model_validate({"from": 40}), "sex": Condition.model_validate({"in": ("M",)})},
    )
    assert spec.path == tmp_path / "spec.yaml"


def test_what_is_left_out_has_its_default(read: Read) -> None:
    spec = read(CONTRACT)
    short = read("version: 1\nquasi_identifiers: {age: {}}\n")
    assert short.output == spec.output
    assert short.input.missing == ("",)
    assert short.privacy.models == () and short.privacy.k is None
    assert short.quasi_identifiers["age"].type == "categorical"


def test_paths_are_relative_to_the_spec_file(read: Read, tmp_path: Path) -> None:
    spec = read(CONTRACT)
    assert spec.input.path == tmp_path / "../sample_data/patients.csv"
    assert spec.quasi_identifiers["race"].hierarchy == tmp_path / "../hierarchies/race.csv"
    assert read(START + "input: {path: /data/x.csv}").input.path == Path("/data/x.csv")
    entry = read(START + "privacy: {models: [{model: k-map, k: 2, population: all.csv}]}").privacy.models[0]
    assert entry.parameters.model_dump()["population"] == tmp_path / "all.csv"


def test_roles_in_order(read: Read) -> None:
    assert list(read(CONTRACT).roles().items()) == [
        ("name", "identifier"),
        ("ssn", "identifier"),
        ("age", "quasi-identifier"),
        ("race", "quasi-identifier"),
        ("zipcode", "quasi-identifier"),
        ("sex", "quasi-identifier"),
        ("diagnosis", "sensitive"),
        ("charges", "sensitive"),
        ("ward", "insensitive"),
        ("readmitted", "target"),
    ]


def test_the_sampling_weight_has_a_role_of_its_own(read: Read) -> None:
    assert read(START + "sampling_weight: w").roles()["w"] == "sampling-weight"
    assert read(START + "sampling_weight: 7").sampling_weight == "7"
    assert read(START).sampling_weight is None


def test_missing_has_one_meaning(read: Read) -> None:
    assert read(START).privacy.missing == "own-category"
    assert read(START + "privacy: {k: 2, missing: wildcard}").privacy.missing == "wildcard"
    assert read(START + "unit: person\nprivacy: {k: 2, missing: wildcard}").unit == "person"


def test_a_target_may_be_a_quasi_identifier_or_insensitive(read: Read) -> None:
    spec = read(START + "insensitive: [ward]\nworkload: {targets: [sex, ward]}")
    assert spec.roles()["sex"] == "quasi-identifier"
    assert spec.roles()["ward"] == "insensitive"


def test_a_target_has_a_type(read: Read) -> None:
    spec = read(START + "insensitive: [ward]\nworkload: {targets: [sex, 007, ward: {}, pay: {type: numeric}, age]}")
    assert spec.targets() == {
        "sex": "categorical",
        "007": "categorical",
        "ward": "categorical",
        "pay": "numeric",
        "age": spec.quasi_identifiers["age"].type,
    }
    assert spec.roles()["pay"] == spec.roles()["007"] == "target"
    assert spec.place("workload", "targets", 3) == spec.place("workload", "targets", 3, "pay")


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (("version",), (1, 1)),
        (("quasi_identifiers", "age"), (9, 3)),
        (("quasi_identifiers", "age", "weight"), (11, 5)),
        (("identifiers", 1), (7, 21)),
        (("privacy", "models", 1), (31, 7)),
        (("workload", "selections", 0, "sex"), (36, 25)),
        (("quasi_identifiers", "nobody"), None),
    ],
)
def test_places(read: Read, keys: tuple[str | int, ...], place: tuple[int, int] | None) -> None:
    assert read(CONTRACT).place(*keys) == place


# --- short forms ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "quasi_identifiers: [age, sex]\nsensitive: [diagnosis]",
        "quasi_identifiers:\n  age:\n  sex:\nsensitive:\n  diagnosis:",
        "quasi_identifiers: {age: {}, sex: }\nsensitive: {diagnosis: ~}",
        "quasi_identifiers:\n- age\n- sex\nsensitive:\n- diagnosis",
    ],
)
def test_attributes_without_settings(read: Read, text: str) -> None:
    spec = read(f"version: 1\n{text}\n")
    assert list(spec.quasi_identifiers) == ["age", "sex"]
    assert list(spec.sensitive) == ["diagnosis"]


def test_names_in_a_list_have_places(read: Read) -> None:
    assert read("version: 1\nquasi_identifiers: [age, sex]\n").place("quasi_identifiers", "sex") == (2, 26)


def test_empty_sections_have_their_defaults(read: Read) -> None:
    empty = "\n".join(f"{name}:" for name in ("input", "identifiers", "insensitive", "privacy", "workload", "output"))
    spec = read(START + empty)
    assert (spec.identifiers, spec.output.suppressed, spec.privacy.k) == ((), "*", None)


# --- YAML's traps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["yes", "no", "NO", "on", "off", "y", "1:30", "2001-01-01", "1_000", "0b1", "Yes"])
def test_text_that_yaml_1_1_would_convert(read: Read, word: str) -> None:
    spec = read(f"version: 1\nquasi_identifiers: [{word}]\nidentifiers: [x{word}]\n")
    assert list(spec.quasi_identifiers) == [word]


def test_identifying_yes(read: Read) -> None:
    assert read("version: 1\nquasi_identifiers: {a: {identifying: yes}}").quasi_identifiers["a"].identifying == "yes"


@pytest.mark.parametrize("written", ["1", "02138", "1.0", "1e3", "true", "False", "null", "~", "0x1F", ".nan", "+5"])
def test_plain_scalars_are_text_as_written_where_text_is_wanted(read: Read, written: str) -> None:
    spec = read(f"""\
version: 1
input: {{missing: [{written}]}}
identifiers: [{written}]
quasi_identifiers:
  race:
    rules: [{{keep_apart: [{written}, other]}}]
output: {{suppressed: {written}x}}
workload:
  selections: [{{race: {{in: [{written}]}}}}]
""")
    assert spec.input.missing == spec.identifiers == (written,)
    assert spec.quasi_identifiers["race"].rules[0].keep_apart == (written, "other")
    assert spec.workload.selections[0]["race"].in_ == (written,)


@pytest.mark.parametrize("name", ["1", "02138", "true", "null", "1.0"])
def test_keys_are_names_as_written(read: Read, name: str) -> None:
    spec = read(f"version: 1\nquasi_identifiers: {{{name}: }}\nsensitive: [x{name}]\n")
    assert list(spec.quasi_identifiers) == [name]
    assert spec.place("quasi_identifiers", name) == (2, 21)


@pytest.mark.parametrize(
    ("written", "value"), [("010", 10), ("0x1F", 31), ("0o17", 15), ("+3", 3), ("1", 1), ("!!int 7", 7)]
)
def test_whole_numbers_of_the_core_schema(read: Read, written: str, value: float) -> None:
    assert read(START + f"privacy: {{k: {written}}}").privacy.k == value


@pytest.mark.parametrize(("written", "value"), [("1e3", 1000), (".5", 0.5), ("5.", 5), ("-0.0", 0), ("12", 12)])
def test_numbers_of_the_core_schema(read: Read, written: str, value: float) -> None:
    spec = read(START + f"workload: {{selections: [{{age: {{from: {written}}}}}]}}")
    assert spec.workload.selections[0]["age"].from_ == value


def test_rules_of_numeric_attributes_are_numbers(read: Read) -> None:
    spec = read("version: 1\nquasi_identifiers: {age: {type: numeric, rules: [{keep_apart: [05, 1e1]}]}}")
    assert spec.quasi_identifiers["age"].rules[0].keep_apart == (5, 10)


def test_rules_of_sets_and_single_values(read: Read) -> None:
    start = "version: 1\nquasi_identifiers: "
    spec = read(start + "{zip: {rules: [{keep_together: [02138, x]}, {keep: 02139}], research_value: [0.95, 0.1]}}")
    zipcode = spec.quasi_identifiers["zip"]
    assert zipcode.rules[0].keep_together == ("02138", "x") and zipcode.rules[1].keep == "02139"
    assert list(zipcode.research_value or ()) == [0.95, 0.1] and zipcode.range == "width"
    rules = "[{keep_together: {from: 12, to: 18}}, {keep: 65}]"
    spec = read(start + f"{{age: {{type: numeric, range: leaves, rules: {rules}}}}}")
    age = spec.quasi_identifiers["age"]
    together = RuleRange.model_validate({"from": 12, "to": 18})
    assert [rule.keep_together for rule in age.rules] == [together, None] and list(age.rules[1].values) == [65]
    texts = [str(rule) for rule in (*zipcode.rules, *age.rules)]
    assert texts == ["02138, x (1)", "02139 (1)", "12 to 18 (1)", "65 (1)"]
    assert age.rules[0].as_json() == {"keep_together": {"from": 12, "to": 18}, "importance": 1}


def test_quoted_text_stays_text(read: Read) -> None:
    assert read(START + 'identifiers: ["1", \'null\', !!str 3, ""]').identifiers == ("1", "null", "3", "")


def test_aliases_stand_for_their_anchor(read: Read) -> None:
    spec = read("version: 1\nquasi_identifiers: {a: &h {hierarchy: {mask: left}}, b: *h}")
    assert spec.quasi_identifiers["b"].hierarchy == Mask(mask="left")


def test_a_byte_order_mark_is_not_a_key(tmp_path: Path, models: Models) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + START.encode())
    assert load(path, models).place("version") == (1, 1)


def test_crlf(tmp_path: Path, models: Models) -> None:
    path = tmp_path / "crlf.yaml"
    path.write_bytes(CONTRACT.replace("\n", "\r\n").encode())
    assert load(path, models).place("privacy", "l") == (28, 3)


# --- values without a file ------------------------------------------------------------------------------------------


def test_make_is_load_without_a_file(read: Read, models: Models) -> None:
    values = {"version": 1, "quasi_identifiers": {"age": {}}, "sensitive": {"c": {}}, "privacy": {"k": 5, "l": 2}}
    spec = make(values, models)
    assert spec.privacy.k == 5
    assert spec.path is None and spec.place("privacy", "k") is None


def test_make_does_not_change_its_argument(models: Models) -> None:
    values = {
        "version": 1,
        "quasi_identifiers": {"a": {}},
        "sensitive": {"s": {}},
        "privacy": {"models": [{"model": "t-closeness", "attribute": "s", "t": 0.2}]},
    }
    before = json.dumps(values)
    assert make(values, models).privacy.models[0].parameters.model_dump()["t"] == 0.2
    assert json.dumps(values) == before


@pytest.mark.parametrize("names", [["age", "sex"], ("age", "sex"), {"age": None, "sex": {}}])
def test_make_takes_names(models: Models, names: Any) -> None:
    spec = make({"version": 1, "quasi_identifiers": names, "sensitive": ["c"]}, models)
    assert list(spec.quasi_identifiers) == ["age", "sex"] and list(spec.sensitive) == ["c"]


def test_make_reports_without_a_line(models: Models) -> None:
    with pytest.raises(SpecError) as caught:
        make({"version": 1, "quasi_identifiers": {"a": {}}, "identifiers": ["a"], "privacy": {"k": 0}}, models)
    assert [(p.file, p.line) for p in caught.value.problems] == [(None, None)] * 2


def test_round_trip_through_json(read: Read, models: Models) -> None:
    spec = read(CONTRACT)
    values = spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    for entry in values["privacy"]["models"]:
        entry |= entry.pop("parameters")
        entry.pop("line")
    assert make(values, models).model_dump(exclude={"privacy"}) == spec.model_dump(exclude={"privacy"})


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"), min_size=1, max_size=8)


@settings(max_examples=some(60), deadline=None)
@given(names=st.lists(NAMES, min_size=1, max_size=6, unique=True), data=st.data())
def test_any_text_survives_yaml(
    names: list[str], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Names and values written by a YAML 1.1 writer, quoted as that finds fit, come back as they were."""
    texts = data.draw(st.lists(NAMES, min_size=2, max_size=2, unique=True))
    values = {"version": 1, "quasi_identifiers": {name: {"rules": [{"keep_apart": texts}]} for name in names}}
    path = tmp_path_factory.mktemp("yaml") / "s.yaml"
    path.write_text(yaml.safe_dump(values, allow_unicode=data.draw(st.booleans())), encoding="utf-8")
    spec = load(path, {})
    assert set(spec.quasi_identifiers) == set(names)
    assert spec.quasi_identifiers[names[0]].rules[0].keep_apart == tuple(texts)
    assert all(spec.place("quasi_identifiers", name) for name in names)


def test_a_spec_does_not_change(read: Read) -> None:
    spec: Spec = read(CONTRACT)
    with pytest.raises(ValueError, match="frozen"):
        spec.weights = "correlation"


# --- where things stand ---------------------------------------------------------------------------------------------

PRIVACY = START + "privacy: {k: 2}\n"


def test_a_problem_is_placed_where_its_key_stands(read: Read) -> None:
    spec = read(PRIVACY)
    problem = spec.problem(("privacy", "k"), "is too small", "raise it")
    assert (problem.message, problem.hint, problem.file) == ("is too small", "raise it", str(spec.path))
    assert (problem.line, problem.column) == (3, 11)
    absent = spec.problem(("privacy", "l"), "is not there")
    assert (absent.file, absent.line, absent.column) == (str(spec.path), None, None)


def test_a_problem_with_a_value_of_the_command_line_is_in_no_file(read: Read) -> None:
    problem = override(read(PRIVACY), k=3).problem(("privacy", "k"), "is too small")
    assert (problem.file, problem.line, problem.column) == (None, None, None)


def test_a_problem_of_values_without_a_file_has_no_place(models: Models) -> None:
    spec = make({"version": 1, "quasi_identifiers": ["age"]}, models)
    assert str(spec.problem(("quasi_identifiers", "age"), "is odd")) == "is odd"


def test_every_mention_of_a_column(read: Read) -> None:
    text = """\
version: 1
identifiers: [name]
quasi_identifiers: {age: {}, sex: {}}
sensitive: [d]
insensitive: [ward]
sampling_weight: w
unit: id
workload: {targets: [y, sex]}
"""
    assert list(read(text).mentions()) == [
        ("identifiers", "name", ("identifiers", 0)),
        ("quasi_identifiers", "age", ("quasi_identifiers", "age")),
        ("quasi_identifiers", "sex", ("quasi_identifiers", "sex")),
        ("sensitive", "d", ("sensitive", "d")),
        ("insensitive", "ward", ("insensitive", 0)),
        ("sampling_weight", "w", ("sampling_weight",)),
        ("unit", "id", ("unit",)),
        ("targets", "y", ("workload", "targets", 0)),
        ("targets", "sex", ("workload", "targets", 1)),
    ]
