"""What is said about a spec that is wrong: where, in which words, with which hint."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.errors import SpecError
from anonymize.spec import Intervals, load, make
from tests.examples import some
from tests.spec.conftest import One, Problems, Read

START = "version: 1\nquasi_identifiers: {age: {type: numeric}, sex: {}}\n"


def start(text: str) -> str:
    """The text below a valid beginning, so that it begins in line 3."""
    return START + text


# --- one problem ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "words", "hint"),
    [
        ("privcy: {k: 5}", 3, 1, "unknown key `privcy`", "did you mean `privacy`?"),
        ("privacy: {k: 5, supression: 0}", 3, 17, "unknown key `supression` in `privacy`", "`suppression`"),
        ("privacy: {q: 5}", 3, 11, "unknown key `q`", "known: k, l, models, combinations, differential, suppression"),
        ("k: 5", 3, 1, "unknown key `k`", "`k` stands in `privacy`"),
        ("output: {privacy: {}}", 3, 10, "unknown key `privacy`", "at the top of the file"),
        (
            "sensitive: {s: {weight: 1}}",
            3,
            17,
            "unknown key `weight`",
            "thousands, unit_text, type, hierarchy",
        ),
        ("privacy:\n  k: five", 4, 6, 'expected a whole number, found the text "five"', None),
        ("privacy:\n  k: '5'", 4, 6, 'expected a whole number, found the text "5"', "without quotes"),
        ("privacy: {k: 5.5}", 3, 14, "expected a whole number, found the number 5.5", None),
        ("privacy: {k: true}", 3, 14, "expected a whole number, found true", None),
        ("privacy: {k: 0}", 3, 14, "expected a number of 1 or more, found the number 0", None),
        ("privacy: {k: [5]}", 3, 14, "expected a whole number, found the list [5]", None),
        ("privacy: {suppression: 1%}", 3, 24, "expected a number", "1 % is 0.01"),
        ("privacy: {suppression: 5}", 3, 24, "expected a number of 1 or less, found the number 5", None),
        ("privacy: {suppression: .nan}", 3, 24, "expected a number", None),
        ("privacy: 5", 3, 10, "`privacy`: expected a mapping, found the number 5", None),
        ("privacy: {k: }", 3, 11, "`k` has no value", "leave it out"),
        ("weights:", 3, 1, "`weights` has no value", "leave it out"),
        ("weights: corelation", 3, 10, "expected one of given, correlation", "did you mean `correlation`?"),
        ("insensitive: ward", 3, 14, "`insensitive`: expected a list", "[ward]"),
        ("insensitive: [[ward]]", 3, 15, "`insensitive[0]`: expected text, found the list [ward]", None),
        ("insensitive: [a, ]\nidentifiers:\n- \n- b", 5, 2, "an item without a value", 'written ""'),
        ("input: {separator: '||'}", 3, 20, "expected one ASCII character", None),
        ("input: {separator: '\"'}", 3, 20, "expected one ASCII character", None),
        ("input: {encoding: utf9}", 3, 19, "expected the name of a text encoding", None),
        ("input: {encoding: rot13}", 3, 19, "expected the name of a text encoding", None),
        ("input: {missing: NA}", 3, 18, "`input.missing`: expected a list", "[NA]"),
        ("output: {numeric: means}", 3, 19, "expected one of interval, bounds, mean, median", "`mean`"),
        ("output: {suppressed: ''}", 3, 22, "means missing already", "another text"),
    ],
)
def test_problems_of_one_key(problem: One, text: str, line: int, column: int, words: str, hint: str | None) -> None:
    found = problem(start(text))
    assert (found.line, found.column) == (line, column), str(found)
    assert words in found.message
    assert (hint or "") in (found.hint or "") and bool(hint) == bool(found.hint), str(found)
    assert found.file and found.file.endswith("spec.yaml")


@pytest.mark.parametrize(
    ("settings", "column", "words", "hint"),
    [
        ("{wieght: 2}", 2, "unknown key `wieght` in `quasi_identifiers.a`", "`weight`"),
        ("{weight: 0}", 10, "expected a number above 0, found the number 0", None),
        ("{weight: .inf}", 10, "expected a finite number, found the number .inf", None),
        ("{type: number}", 8, "expected one of numeric, categorical", "`numeric`"),
        ("numeric", 1, "expected a mapping, found the text", None),
        ("{identifying: very}", 15, "expected one of most, more, yes", None),
        ("{hierarchy: 5.5.csv, weight: -1}", 30, "above 0, found the number -1", None),
        ("{hierarchy: [5]}", 13, "expected a hierarchy file or one of the builders", None),
        ("{hierarchy: {}}", 13, "found none", None),
        ("{hierarchy: {mask: right, flat: true}}", 13, "found 2 of them", None),
        ("{hierarchy: {interval: [5]}}", 14, "unknown builder `interval`", "`intervals`"),
        ("{hierarchy: {zzz: [5]}}", 14, "unknown builder `zzz`", "known: intervals, bands"),
        ("{hierarchy: {mask: rigth}}", 20, "expected one of right, left", "`right`"),
        ("{hierarchy: {flat: false}}", 20, "expected true, found false", None),
        ("{hierarchy: {flat: 1}}", 20, "expected true", None),
        ("{hierarchy: {prefix: []}}", 22, "expected at least 1 entry, found 0", None),
        ("{hierarchy: {prefix: [1, 3]}}", 22, "expected lengths that shrink", None),
        ("{hierarchy: {prefix: [3, 3]}}", 22, "expected lengths that shrink", None),
        ("{hierarchy: {prefix: [3, 0]}}", 26, "expected a number of 1 or more", None),
        ("{hierarchy: {prefix: [3, 1.5]}}", 26, "expected a whole number", None),
        ("{hierarchy: {dates: [year, month]}}", 21, "from fine to coarse", None),
        (
            "{hierarchy: {dates: [fort]}}",
            22,
            "expected one of minute, hour, day, week, month, quarter, year, decade",
            None,
        ),
        ("{hierarchy: {intervals: [5, 10]}}", 14, "`intervals` is for numeric attributes", "type: numeric"),
        ("{type: numeric, hierarchy: {mask: left}}", 29, "`mask` is for categorical attributes", "intervals"),
        ("{type: numeric, hierarchy: {flat: true}}", 29, "`flat` is for categorical attributes", "intervals"),
        ("{type: numeric, hierarchy: {intervals: [5, 12]}}", 40, "each a multiple of the one before", None),
        ("{type: numeric, hierarchy: {intervals: [5, 5]}}", 40, "widths that grow", None),
        ("{type: numeric, hierarchy: {intervals: [0, 5]}}", 41, "expected a number above 0", None),
        ("{type: numeric, hierarchy: {intervals: [1e-300, 1e300]}}", 40, "up to so many times the first", None),
        ("{type: numeric, hierarchy: {intervals: [1, 1e300]}}", 40, "expected widths up to 2^52", None),
        ("{rules: [{keep_apart: [a]}]}", 23, "expected at least 2 entries, found 1", None),
        ("{rules: [{keep_apart: [a, b, c]}]}", 23, "expected at most 2 entries, found 3", None),
        ("{rules: [{keep_apart: [a, a]}]}", 23, "cannot be kept apart from itself", None),
        ("{rules: [{keep_apart: [a, [b]]}]}", 27, "expected a number or text, found the list [b]", None),
        ("{rules: [{keep_apart: [a, b], importance: 0}]}", 43, "expected a number above 0", None),
        ("{rules: [{importance: 1}]}", 10, "expected one of keep_apart, keep_together, keep", None),
        ("{rules: [{keep: a, keep_apart: [a, b]}]}", 10, "expected one of keep_apart, keep_together, keep", None),
        ("{rules: [{keep_together: {from: 1, to: 2}}]}", 26, "a range is for numeric attributes", "list the values"),
        ("{rules: [{keep_together: a}]}", 26, "expected a list of values, or a range", None),
        ("{type: numeric, rules: [{keep_together: {from: 2, to: 1}}]}", 41, "`from` is above `to`", None),
        ("{type: numeric, rules: [{keep_together: [1, b]}]}", 45, "expected a number, for the attribute is num", None),
        ("{type: numeric, rules: [{keep: b}]}", 32, "expected a number, for the attribute is num", None),
        ("{research_value: [0.9, 0.95]}", 18, "expected numbers that never rise", None),
        ("{research_value: [0.9, -1]}", 24, "expected a number of 0 or more", None),
        ("{range: wide}", 9, "expected one of width, leaves", "`width`"),
        ("{rules: {keep_apart: [a, b]}}", 9, "expected a list, found a mapping", None),
        ("{type: numeric, rules: [{keep_apart: [1, b]}]}", 42, "expected a number, for the attribute is num", None),
    ],
)
def test_problems_of_an_attribute(problem: One, settings: str, column: int, words: str, hint: str | None) -> None:
    found = problem(f"version: 1\nquasi_identifiers:\n  a: {settings}\n")
    assert (found.line, found.column) == (3, column + 5), str(found)
    assert words in found.message
    assert (hint or "") in (found.hint or "") and bool(hint) == bool(found.hint), str(found)


def test_widths_that_are_multiples_but_for_rounding(read: Read) -> None:
    spec = read("version: 1\nquasi_identifiers: {a: {type: numeric, hierarchy: {intervals: [0.1, 0.3, 1.2]}}}")
    assert spec.quasi_identifiers["a"].hierarchy == Intervals(intervals=(0.1, 0.3, 1.2))


@pytest.mark.parametrize(
    ("template", "is_right"),
    [
        ("[{low}-{high}]", True),
        ("{low}..{high}", True),
        ("{low}{high}", False),
        ("[{high}-{low}]", False),
        ("[{low}-{hi}]", False),
        ("[{low}-{high}] {low}", False),
        ("[{low}-{high}}", False),
        ("{{low}-{high}}", False),
        ("low-high", False),
        ("", False),
    ],
)
def test_interval_templates(read: Read, problem: One, template: str, is_right: bool) -> None:
    text = start(f'output:\n  interval: "{template}"\n')
    if is_right:
        assert read(text).output.interval == template
    else:
        found = problem(text)
        assert (found.line, found.column) == (4, 13)
        assert "expected {low}, then text, then {high}" in found.message


# --- privacy models -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "column", "words", "hint"),
    [
        ("{model: t-closness, t: 1}", 9, "unknown privacy model `t-closness`", "did you mean `t-closeness`?; known: "),
        ("{model: zzz}", 9, "unknown privacy model", "known: entropy-l-diversity, k-anonymity, k-map, t-closeness"),
        ("{t: 1}", 1, "`model` is missing in `privacy.models[0]`", None),
        ("{model: t-closeness}", 1, "`t` is missing", "parameters of t-closeness: t, distance"),
        ("{model: t-closeness, t: 1, distanse: equal}", 28, "unknown key `distanse`", "did you mean `distance`?"),
        ("{model: t-closeness, t: 1, zzz: 1}", 28, "unknown key `zzz`", "known: model, attribute, t, distance"),
        ("{model: t-closeness, t: 1, line: 1}", 28, "unknown key `line`", "known: model"),
        ("{model: t-closeness, t: 1, parameters: 1}", 28, "unknown key `parameters`", "known: model"),
        ("{model: t-closeness, t: 2}", 25, "`privacy.models[0].t`: expected a number of 1 or less", None),
        ("{model: t-closeness, t: '0.5'}", 25, "expected a number", "without quotes"),
        ("{model: t-closeness, t: 1, distance: eqal}", 38, "expected one of equal, ordered", "`equal`"),
        ("{model: t-closeness, t: 1, attribute: diagnosiss}", 39, "is not a sensitive attribute", "`diagnosis`"),
        ("{model: t-closeness, t: 1, attribute: age}", 39, "`age` is not a sensitive attribute", "known: diagnosis"),
        ("{model: t-closeness, t: 1, attribute: [age]}", 39, "expected text", None),
        ("{model: [], t: 1}", 9, "expected text", None),
        ("t-closeness", 1, "expected a mapping, found the text", None),
    ],
)
def test_problems_of_a_privacy_model(problem: One, entry: str, column: int, words: str, hint: str | None) -> None:
    found = problem(start(f"sensitive: [diagnosis]\nprivacy:\n  models:\n  - {entry}\n"))
    assert (found.line, found.column) == (6, column + 4), str(found)
    assert words in found.message
    assert (hint or "") in (found.hint or "") and bool(hint) == bool(found.hint), str(found)


@pytest.mark.parametrize("entries", ["5", "{model: k-anonymity, k: 2}"])
def test_models_have_to_be_a_list(problem: One, entries: str) -> None:
    assert "`privacy.models`: expected a list" in problem(start(f"privacy: {{models: {entries}}}")).message


def test_entries_keep_their_positions(problems: Problems) -> None:
    found = problems(start("privacy:\n  models:\n  - k-anonymity\n  - {model: k-anonymity, k: 2, attribute: age}\n"))
    assert [(p.line, p.column) for p in found] == [(5, 5), (6, 43)]


def test_l_needs_a_sensitive_attribute(problem: One) -> None:
    found = problem(start("privacy:\n  k: 5\n  l: 2"))
    assert (found.line, found.column) == (5, 3)
    assert "`privacy.l` needs a sensitive attribute" in found.message


# --- several keys ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("identifiers: [age]", (2, 21), "`age` is an identifier (line 3) and cannot be a quasi-identifier as well"),
        ("sensitive:\n  age: {}", (4, 3), "`age` is a quasi-identifier (line 2) and cannot be sensitive as well"),
        ("insensitive: [sex]", (3, 15), "`sex` is a quasi-identifier (line 2) and cannot be insensitive as well"),
        ("insensitive: [a, b, a]", (3, 21), "column `a` is listed twice (line 3)"),
        ("sensitive: [s]\nworkload: {targets: [s]}", (4, 22), "`s` is sensitive (line 3) and cannot be a target"),
        ("identifiers: [i]\nworkload: {targets: [i]}", (4, 22), "`i` is an identifier (line 3) and cannot be a targ"),
        ("workload: {targets: [t, t]}", (3, 25), "column `t` is listed twice"),
        ("sensitive: [s]\nworkload: {targets: [s: {type: numeric}]}", (4, 22), "`s` is sensitive (line 3) and cannot"),
        ("sensitive: [s, s]", (3, 16), "`s` is given twice"),
        ("sensitive: {s: {}, s: {}}", (3, 20), "`s` is given twice"),
        (
            "sampling_weight: age",
            (3, 1),
            "`age` is a quasi-identifier (line 2) and cannot be the sampling weight as well",
        ),
        (
            "insensitive: [w]\nsampling_weight: w",
            (4, 1),
            "`w` is insensitive (line 3) and cannot be the sampling weight",
        ),
        ("insensitive: [age_low]\noutput: {numeric: bounds}", (4, 19), "a column `age_low`, and there is one"),
    ],
)
def test_columns_have_one_role(problem: One, text: str, place: tuple[int, int], words: str) -> None:
    found = problem(start(text))
    assert (found.line, found.column) == place, str(found)
    assert words in found.message


@pytest.mark.parametrize(
    ("target", "column", "words"),
    [
        ("{t: {type: numbers}}", 20, "expected one of numeric, categorical"),
        ("{t: {typ: numeric}}", 14, "unknown key `typ`"),
        ("{t: {type: numeric}, u: {}}", 9, "expected at most 1 entry"),
        ("[t]", 9, "expected a column's name, or {NAME: {type: numeric}}"),
        ("{age: {type: categorical}}", 22, "the quasi-identifier `age` is numeric"),
    ],
)
def test_problems_of_a_target(problem: One, target: str, column: int, words: str) -> None:
    found = problem(start(f"workload:\n  targets:\n  - a\n  -   {target}\n"))
    assert (found.line, found.column) == (6, column - 2), str(found)
    assert words in found.message


def test_bounds_beside_an_identifier_of_that_name(read: Read) -> None:
    assert read(start("identifiers: [age_low]\noutput: {numeric: bounds}")).output.numeric == "bounds"


@pytest.mark.parametrize(
    ("selection", "column", "words", "hint"),
    [
        ("{}", 1, "expected at least 1 entry, found 0", None),
        ("{agee: {from: 4}}", 2, "column `agee` has no role in this spec", "`age`"),
        ("{name: {in: [x]}}", 2, "column `name` is an identifier: selections are over quasi-id", "known: age"),
        ("{ward: {in: [x]}}", 2, "column `ward` is insensitive: selections are over quasi-identifiers", "known: age"),
        ("{age: {form: 4}}", 8, "unknown key `form`", "`from`"),
        ("{age: {from: 4, in: [5]}}", 7, "expected `in`, or one or both of", None),
        ("{age: {}}", 7, "expected `in`, or one or both of", None),
        ("{age: {from: 5, to: 4}}", 7, "`from` is above `to`", None),
        ("{age: {in: [x]}}", 13, "expected a number, for the attribute is numeric", None),
        ("{age: {in: []}}", 12, "expected at least 1 entry", None),
        ("{age: {from: x}}", 14, "expected a number", None),
        ("{sex: {from: 4}}", 7, "are for numeric attributes", "list values"),
        ("{sex: {in: M}}", 12, "expected a list", "[M]"),
    ],
)
def test_problems_of_a_selection(problem: One, selection: str, column: int, words: str, hint: str | None) -> None:
    found = problem(start(f"identifiers: [name]\ninsensitive: [ward]\nworkload:\n  selections:\n  - {selection}\n"))
    assert (found.line, found.column) == (7, column + 4), str(found)
    assert words in found.message
    assert (hint or "") in (found.hint or "") and bool(hint) == bool(found.hint), str(found)


# --- everything at once ---------------------------------------------------------------------------------------------


def test_all_problems_at_once(problems: Problems) -> None:
    found = problems("""\
version: 2
identifiers: [name, zip]
quasi_identifiers:
  age: {type: numbers, weight: }
  age: {}
  zip: {hierarchy: {masks: right}}
  race: {rules: [{keep_apart: [a]}]}
insensitive: ward
privacy:
  k: many
  l: 2
  models:
  - {model: k-anonimity, k: 5}
  - {model: t-closeness, attribute: diagnosis, tt: 1}
workload:
  selections: [{nobody: {in: [1]}}]
ouput: {}
""")
    assert [(p.line, p.column, p.message.partition(",")[0]) for p in found] == [
        (1, 10, "`version`: expected 1"),
        (4, 15, "`quasi_identifiers.age.type`: expected one of numeric"),
        (4, 24, "`weight` has no value"),
        (5, 3, "`age` is given twice"),
        (6, 3, "column `zip` is an identifier (line 2) and cannot be a quasi-identifier as well"),
        (6, 21, "unknown builder `masks` in `quasi_identifiers.zip.hierarchy`"),
        (7, 31, "`quasi_identifiers.race.rules[0].keep_apart`: expected at least 2 entries"),
        (8, 14, "`insensitive`: expected a list"),
        (10, 6, "`privacy.k`: expected a whole number"),
        (11, 3, "`privacy.l` needs a sensitive attribute"),
        (13, 13, "unknown privacy model `k-anonimity`"),
        (14, 5, "`t` is missing in `privacy.models[1]`"),
        (14, 37, "`privacy.models[1].attribute`: `diagnosis` is not a sensitive attribute"),
        (14, 48, "unknown key `tt` in `privacy.models[1]`"),
        (17, 1, "unknown key `ouput`"),
    ]


def test_a_wrong_type_makes_no_further_noise(problem: One) -> None:
    text = """\
version: 1
quasi_identifiers: {age: {type: nummeric, hierarchy: {intervals: [5]}}}
workload: {selections: [{age: {from: 5}}]}
"""
    assert "numeric" in problem(text).message


def test_wrong_sensitive_makes_no_further_noise(problem: One) -> None:
    text = start("sensitive: diagnosis\nprivacy: {l: 2, models: [{model: k-anonymity, k: 2, attribute: diagnosis}]}")
    assert "`sensitive`: expected a mapping" in problem(text).message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version: 1", ["`quasi_identifiers` is missing"]),
        ("quasi_identifiers: [a]", ["`version` is missing"]),
        ("{}", ["`version` is missing", "`quasi_identifiers` is missing"]),
        ("version: 1\nquasi_identifiers:", ["`quasi_identifiers`: expected at least 1 entry, found 0"]),
        ("version: '1'\nquasi_identifiers: [a]", ['`version`: expected 1, found the text "1"']),
        ("version: true\nquasi_identifiers: [a]", ["`version`: expected 1, found true"]),
        ("version:\nquasi_identifiers: [a]", ["`version` has no value"]),
        ("version: 1\nquasi_identifiers: [a: {}]", ["`quasi_identifiers` as a list takes names only"]),
    ],
)
def test_what_every_spec_needs(problems: Problems, text: str, words: list[str]) -> None:
    found = [problem.message for problem in problems(text)]
    assert len(found) >= len(words) and all(any(part in message for message in found) for part in words), found


def test_long_values_are_cut(problem: One) -> None:
    found = problem(start(f"weights: {'x' * 500}"))
    assert len(found.message) < 120


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "words", "hint"),
    [
        ("", 1, 1, "the spec is empty", "version: 1"),
        ("# only a comment\n", 1, 1, "the spec is empty", "version: 1"),
        ("- a\n- b\n", 1, 1, "a spec is a mapping", "version"),
        ("\n\njust text\n", 3, 1, "a spec is a mapping", "version"),
        ("version: 1\noutput: {suppressed: *}", 2, 23, "not valid YAML", "in quotes"),
        ("version: 1\noutput:\n  suppressed: *\n", 3, 16, "not valid YAML", "in quotes"),
        ("version: 1\nidentifiers: [@a]", 2, 15, "not valid YAML", "in quotes"),
        ("version: 1\nidentifiers: [%a]", 2, 15, "not valid YAML", "in quotes"),
        ("input:\n  separator: ,", 2, 14, "not valid YAML", "in quotes"),
        ("output:\n  interval: [{low}-{high}]", 2, 19, "not valid YAML", "in quotes"),
        ("privacy:\n\tk: 5", 2, 1, "not valid YAML", "spaces"),
        ("privacy: {k: 5", 1, 15, "not valid YAML", None),
        ("a: 1\n b: 2", 2, 3, "not valid YAML", None),
        ("a: 'x\ny", 2, 2, "not valid YAML", None),
        ("a: 1\n---\nb: 1", 2, 1, "single document", None),
        ("a: b\nc: \x01", 2, 4, "a character that YAML does not allow", None),
        ("[" * 800, None, None, "nested too deeply", None),
        ("a: " + "[" * 60 + "]" * 60, 1, 54, "nested too deeply", None),
    ],
)
def test_files_that_are_not_a_yaml_mapping(
    problem: One, text: str, line: int | None, column: int | None, words: str, hint: str | None
) -> None:
    found = problem(text)
    assert (found.line, found.column) == (line, column), str(found)
    assert words in found.message
    assert (hint or "") in (found.hint or "") and bool(hint) == bool(found.hint), str(found)


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("identifiers: &x [*x]", 3, 14, "an alias that contains itself"),
        ("<<: {k: 1}", 3, 1, "merge keys"),
        ("identifiers: [!name a]", 3, 15, "tags"),
        ("identifiers: !!set {a: }", 3, 14, "tags"),
        ("? [a]\n: b", 3, 3, "a key has to be text"),
        ("privacy: {k: !!int x}", 3, 14, "cannot be read as a whole number"),
        ("privacy: {k: " + "9" * 5000 + "}", 3, 14, "cannot be read as a whole number"),
        ('identifiers: ["\\ud800"]', 3, 15, "half a character"),
        ("version: 1", 3, 1, "`version` is given twice"),
    ],
)
def test_yaml_that_a_spec_does_not_use(problems: Problems, text: str, line: int, column: int, words: str) -> None:
    found = problems(start(text))
    assert any((p.line, p.column) == (line, column) and words in p.message for p in found), [str(p) for p in found]


def test_aliases_do_not_explode(problem: One) -> None:
    layers = "\n".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12))
    assert "values" in problem(f"a0: &a0 [x]\n{layers}").message


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [(b"\xff\xfev\x00", 1, 1), ("version: 1\nidentifiers: [\xe9]".encode("latin-1"), 2, 15)],
)
def test_not_utf8(tmp_path: Path, content: bytes, line: int, column: int) -> None:
    path = tmp_path / "spec.yaml"
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        load(path, {})
    (found,) = caught.value.problems
    assert (found.message, found.line, found.column) == ("not UTF-8", line, column)


@pytest.mark.parametrize(
    ("name", "reason"), [("none.yaml", "No such file"), (".", "directory"), ("a\0b", "not a path")]
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(SpecError, match="cannot read the file") as caught:
        load(f"{tmp_path}/{name}", {})
    assert reason in caught.value.problems[0].message


# --- whatever is written, it is a spec or a SpecError --------------------------------------------------------------

VALUES: dict[str, Any] = {
    "version": 1,
    "input": {"path": "x.csv", "missing": ["", "?"], "separator": ";"},
    "identifiers": ["name"],
    "quasi_identifiers": {
        "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10]}, "rules": [{"keep_apart": [20, 21]}]},
        "zip": {"hierarchy": {"prefix": [3, 1]}, "identifying": "most"},
    },
    "sensitive": {"diagnosis": {"hierarchy": "d.csv"}},
    "privacy": {"k": 5, "models": [{"model": "t-closeness", "attribute": "diagnosis", "t": 0.5}]},
    "workload": {"targets": ["y"], "selections": [{"age": {"from": 1}, "zip": {"in": ["1"]}}]},
    "output": {"numeric": "bounds", "suppressed": "*"},
}
WHATEVER = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["age", "numeric"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=some(300), deadline=None)
@given(data=st.data())
def test_any_value_anywhere(data: st.DataObject) -> None:
    values: Any = copy.deepcopy(VALUES)
    parent: Any = values
    while True:
        key = data.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else range(len(parent))))
        if not isinstance(parent[key], dict | list) or not parent[key] or data.draw(st.booleans()):
            break
        parent = parent[key]
    parent[key] = data.draw(WHATEVER)
    try:
        make(values, {})
    except SpecError as error:
        assert all(problem.message for problem in error.problems)


@settings(max_examples=some(100), deadline=None)
@given(position=st.integers(0, 200), noise=st.text("[]{}:,-&*!|>'\"%@`#? \n\tax1", max_size=3), cut=st.integers(0, 4))
def test_any_damage_to_a_file(position: int, noise: str, cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = start("sensitive: [s]\nprivacy:\n  k: 5\n  models:\n  - {model: k-anonymity, attribute: s}\noutput: {}\n")
    path = tmp_path_factory.mktemp("damage") / "s.yaml"
    path.write_text(text[:position] + noise + text[position + cut :], encoding="utf-8")
    with pytest.raises(SpecError) as caught:  # without models, there is always one problem
        load(path, {})
    lines = path.read_text(encoding="utf-8").count("\n") + 1
    assert all(p.line is None or 1 <= p.line <= lines for p in caught.value.problems)


# --- a key at the top that is misspelt ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "key", "meant"),
    [
        ("version: 1\nquasi_identifier: [age]\nprivacy: {k: 2}", 2, "quasi_identifier", "quasi_identifiers"),
        ("version: 1\nquasi-identifiers:\n  age: {type: numeric}\n", 2, "quasi-identifiers", "quasi_identifiers"),
        ("verison: 1\nquasi_identifiers: [age]", 1, "verison", "version"),
        (start("sensitve: [d]\nprivacy: {l: 2}"), 3, "sensitve", "sensitive"),
        (start("sensitiv: [d]\nprivacy: {models: [{model: t-closeness, attribute: d, t: 1}]}"), 3, "sensitiv", "sens"),
        (start("Privacy: {k: 2}"), 3, "Privacy", "privacy"),
    ],
)
def test_a_misspelt_section_is_the_only_error(problem: One, text: str, line: int, key: str, meant: str) -> None:
    fault = problem(text)
    assert (fault.line, fault.column, fault.message) == (line, 1, f"unknown key `{key}`")
    assert fault.hint is not None and meant in fault.hint and fault.hint.startswith("did you mean")


def test_what_is_wrong_below_a_misspelt_section_is_found(problems: Problems) -> None:
    unknown, wrong = problems("version: 1\nquasi_identifier: {age: {type: number}}\n")
    assert unknown.message == "unknown key `quasi_identifier`"
    assert (wrong.line, wrong.column) == (2, 32) and "expected one of numeric, categorical" in wrong.message


def test_a_section_that_is_there_is_not_meant(problems: Problems) -> None:
    text = "version: 1\nquasi_identifiers: [age]\nquasi_identifier: {age: {type: number}}\n"
    assert [each.message for each in problems(text)] == ["unknown key `quasi_identifier`"]


def test_two_keys_for_one_section_stand_for_none(problems: Problems) -> None:
    text = start("privcy: {k: 0}\nprivac: {k: 0}\n")
    assert [each.message for each in problems(text)] == ["unknown key `privcy`", "unknown key `privac`"]


def test_a_misspelt_section_among_values(models: Any) -> None:
    with pytest.raises(SpecError) as caught:
        make({"version": 1, "quasi_identifier": ["age"]}, models)
    assert [str(each) for each in caught.value.problems] == [
        "unknown key `quasi_identifier` (did you mean `quasi_identifiers`?)"
    ]


# --- a table in place of the spec -----------------------------------------------------------------------------------

PEOPLE = "name,age,note\nAda,36,a: b\nAlan,41,\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("people.csv", PEOPLE.encode()),
        ("people.csv", b"age\n36\n"),
        ("people.txt", PEOPLE.encode()),
        ("people.tsv", PEOPLE.replace(",", "\t").encode()),
        ("people.csv", "name;städte\n1;2\n".encode("latin-1")),
        ("people.csv.gz", b"\x1f\x8b\x08rest"),
        ("people.parquet", b"PAR1rest"),
        ("people", b"ARROW1\0\0rest"),
    ],
)
def test_a_table_where_the_spec_belongs(tmp_path: Path, models: Any, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        load(path, models)
    (fault,) = caught.value.problems
    assert (fault.file, fault.message) == (str(path), "is a table, where the spec is expected")
    assert fault.hint == "a table is named with --input, or as input.path in the spec"


@pytest.mark.parametrize("name", ["spec.csv", "spec"])
def test_a_spec_by_whatever_name_is_no_table(tmp_path: Path, models: Any, name: str) -> None:
    path = tmp_path / name
    quoted = '# a,b\n# c,d\n"version": 1\n' + START.removeprefix("version: 1\n")
    for text in (START, "{version: 1, quasi_identifiers: [age, sex]}\n# a, b\n", quoted):
        path.write_text(text)
        assert list(load(path, models).quasi_identifiers) == ["age", "sex"]


@pytest.mark.parametrize(
    ("age", "message"),
    [
        ("{top: 90}", "`quasi_identifiers.age.top`: only numbers and dates have a top"),
        ("{type: numeric, bottom: 90, top: 18}", "`quasi_identifiers.age.bottom`: is not below `top`"),
        ("{type: numeric, bottom: 18, hierarchy: ages.csv}", "cannot be combined with a hierarchy file"),
    ],
)
def test_bottom_and_top_codes(read: Read, age: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        read("version: 1\nquasi_identifiers:\n  age: " + age + "\nprivacy: {k: 2}\n")
    assert [message in str(problem) for problem in caught.value.problems] == [True]


@pytest.mark.parametrize("key", ["open_high: '{low}'", "open_high: '{high}+'", "open_low: '-{high}'", "open_low: 'x'"])
def test_templates_of_open_ends_cannot_be_mistaken(read: Read, key: str) -> None:
    with pytest.raises(SpecError, match="once, no other braces"):
        read("version: 1\nquasi_identifiers: [age]\nprivacy: {k: 2}\noutput: {" + key + "}\n")
