"""What Python users call: the same results as the commands', of whatever kind of frame goes in."""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anonymize
from anonymize.cli.exits import outcome
from anonymize.cli.main import run
from anonymize.errors import AnonymizeError, DataError, InfeasibleError, SpecError, UnsafeError, UsageError
from anonymize.guarding import in_python
from anonymize.python import model_of
from anonymize.results import written

ROWS = 240
PEOPLE = pl.DataFrame(
    {
        "name": [f"person {row}" for row in range(ROWS)],
        "age": [20 + row * 7 % 50 for row in range(ROWS)],
        "sex": [("F", "M", None)[row % 3] for row in range(ROWS)],
        "illness": [("flu", "gout", "angina", "flu")[row * 5 % 4] for row in range(ROWS)],
    }
)
SPEC: dict[str, Any] = {
    "identifiers": ["name"],
    "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
    "sensitive": {"illness": {}},
    "privacy": {"k": 5, "l": 2},
}
NAMED = {**SPEC, "identifiers": [], "insensitive": ["name"], "privacy": {"k": 5, "passing": {"uniques": 0.01}}}
"""A spec under which names pass through, which is not safe."""
LINKED = {**SPEC, "privacy": {"l": 2}}
SHUFFLED = {**SPEC, "output": {"row_order": "shuffle"}}


@pytest.fixture(scope="module")
def released() -> anonymize.Release:
    """By the algorithm that is recommended."""
    return anonymize.release(PEOPLE, SPEC)


@pytest.fixture(scope="module")
def by_mondrian() -> anonymize.Release:
    return anonymize.release(PEOPLE, SPEC, "mondrian")


def test_a_spec_comes_from_a_file_a_mapping_or_keywords(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps({"version": 1, **SPEC}))
    models = [anonymize.Spec(path).model, anonymize.Spec(SPEC).model, anonymize.Spec(**SPEC).model]
    assert len({model.model_dump_json() for model in models}) == 1
    assert anonymize.Spec(SPEC, privacy={"k": 9}).model.privacy.k == 9
    with pytest.raises(SpecError):
        anonymize.Spec(quasi_identifiers={})
    with pytest.raises(UsageError):
        anonymize.Spec(path, privacy={"k": 9})


def test_a_release_of_a_frame_is_that_of_the_command(tmp_path: Path, released: anonymize.Release) -> None:
    (tmp_path / "spec.yaml").write_text(json.dumps({"version": 1, **SPEC}))
    PEOPLE.write_ipc(tmp_path / "people.arrow")
    files = ["-i", tmp_path / "people.arrow", "-o", tmp_path / "out.arrow", "-r", tmp_path / "r.json"]
    assert outcome(lambda: run(["release", *map(str, [tmp_path / "spec.yaml", *files]), "-q"])) == 0
    assert released.frame.equals(pl.read_ipc(tmp_path / "out.arrow"))
    expected = json.loads((tmp_path / "r.json").read_text())
    for key in ("privacy", "classes", "risk", "utility", "marginals", "associations", "codebook", "warnings"):
        assert released.report[key] == expected[key]
    assert released.report["input"]["path"] == released.report["output"]["path"] == "<frame>"


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "pyarrow", "path"])
def test_what_comes_back_is_of_the_kind_that_went_in(kind: str, tmp_path: Path, by_mondrian: anonymize.Release) -> None:
    expected = by_mondrian.frame
    if kind == "polars":
        assert anonymize.release(PEOPLE, SPEC, "mondrian").frame.equals(expected)
    elif kind == "lazy":
        assert anonymize.release(PEOPLE.lazy(), SPEC, "mondrian").frame.equals(expected)
    elif kind == "path":
        PEOPLE.write_parquet(tmp_path / "people.parquet")
        assert anonymize.release(tmp_path / "people.parquet", SPEC, "mondrian").frame.equals(expected)
    elif kind == "pyarrow":
        arrow = pytest.importorskip("pyarrow")
        table = anonymize.release(PEOPLE.to_arrow(), SPEC, "mondrian").frame
        assert isinstance(table, arrow.Table) and pl.DataFrame(table).equals(expected)
    else:
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        frame = anonymize.release(PEOPLE.to_pandas(), SPEC, "mondrian").frame
        assert isinstance(frame, pandas.DataFrame) and pl.DataFrame(frame).equals(expected)


def test_rows_that_are_new_are_recoded(released: anonymize.Release, by_mondrian: anonymize.Release) -> None:
    assert by_mondrian.recoding is not None
    recoded = anonymize.recode(PEOPLE.head(20), by_mondrian.recoding)
    assert recoded.frame.height == 20 and set(recoded.frame["age"]) <= set(by_mondrian.frame["age"])
    assert anonymize.release(PEOPLE, SPEC, "mondrian", relaxed=True).recoding is None
    assert released.recoding is None


def test_a_release_is_audited_and_evaluated(released: anonymize.Release) -> None:
    audited = anonymize.audit(released.frame, quasi_identifiers=["age", "sex"], sensitive=["illness"], k=5, l=2)
    assert audited.satisfied and audited.problems == ()
    raw = anonymize.audit(PEOPLE, quasi_identifiers=["age", "sex"], k=5)
    assert raw.satisfied is False and "k-anonymity" in raw.problems[0]
    measured = anonymize.evaluate(released.frame, SPEC, PEOPLE, queries=10)
    assert measured.report["utility"]["gcp"] == pytest.approx(released.report["utility"]["gcp"])


def test_a_release_is_attacked(released: anonymize.Release) -> None:
    attacked = anonymize.attack(released.frame, SPEC, PEOPLE, attackers=["prosecutor"], max_excess=0.5)
    assert attacked.satisfied and attacked.problems == ()
    assert attacked.report["input"]["path"] == attacked.report["original"]["path"] == "<frame>"
    raw = anonymize.attack(PEOPLE, SPEC, PEOPLE, control=PEOPLE.reverse(), max_excess=0)
    assert raw.satisfied is False and any("prosecutor" in each for each in raw.problems)


def test_anatomy_and_randomize_give_what_else_they_write() -> None:
    spec = {**SPEC, "privacy": {"l": 2}}
    anatomy = anonymize.release(PEOPLE, spec, "anatomy")
    assert [frame.columns for frame in anatomy.further.values()] == [["group", "illness", "count"]]
    randomized = anonymize.release(PEOPLE, spec, "randomize")
    assert any("attributes" in each for each in randomized.further.values())


# --- the manual, and what errors say ----------------------------------------------------------------------------------

FUNCTIONS = [name for name in vars(anonymize)["__all__"] if inspect.isfunction(getattr(anonymize, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_is_a_manual_with_every_argument_and_an_example_that_runs(name: str) -> None:
    function = getattr(anonymize, name)
    manual, parameters = inspect.getdoc(function) or "", inspect.signature(function).parameters
    assert all(f"\n{part}:\n" in manual for part in ("Args", "Returns", "Example"))
    assert "\nRaises:\n" in manual or "raises nothing" in manual
    documented = re.findall(r"^    \**(\w+): ", manual.partition("\nArgs:\n")[2].partition("\nReturns:\n")[0], re.M)
    assert documented == list(parameters)
    assert all(each.annotation is not inspect.Parameter.empty for each in parameters.values())
    assert f"function {name} in module anonymize\n" in pydoc.plain(pydoc.render_doc(function))
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert test.examples and not doctest.DocTestRunner().run(test).failed


@pytest.mark.parametrize(
    ("says", "call"),
    [
        ("`mondrian`?", lambda: anonymize.release(PEOPLE, SPEC, "mondrain")),
        ("`top-down`?", lambda: anonymize.release(PEOPLE, SPEC, "top_down")),
        ("`time_limit`?", lambda: anonymize.release(PEOPLE, SPEC, time_limits=3)),
        ("`quasi_identifiers`?", lambda: anonymize.audit(PEOPLE, quasi_identifers=["age"])),  # type: ignore[call-arg]
        ("`queries`?", lambda: anonymize.evaluate(PEOPLE, SPEC, PEOPLE, querys=3)),  # type: ignore[call-arg]
        ("`incognito`?", lambda: anonymize.compare(PEOPLE, SPEC, "incognitto")),
        ("'t-closeness'?", lambda: anonymize.explain("t-closenes")),
    ],
)
def test_a_name_that_is_misspelt_has_a_nearest_one(says: str, call: Any) -> None:
    with pytest.raises(UsageError) as raised:
        call()
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("says", "call"),
    [
        ("`threshold`", lambda: anonymize.audit(PEOPLE, SPEC, threshold=3)),
        ("`no_regress=True`: needs a `baseline`", lambda: anonymize.audit(PEOPLE, SPEC, no_regress=True)),
        ("`unit_from`", lambda: anonymize.audit(PEOPLE, SPEC, link="link.json")),
        ("`subsets`: a number", lambda: anonymize.audit(PEOPLE, SPEC, subsets="auto")),  # type: ignore[arg-type]
        ("`max_excess`", lambda: anonymize.attack(PEOPLE, SPEC, PEOPLE, max_excess=3)),
        (
            "`public=True`: a release with a `seed`",
            lambda: anonymize.release(PEOPLE, LINKED, "anatomy", seed=1, public=True),
        ),
        ("`allow_unsafe=True` writes it", lambda: anonymize.release(PEOPLE, NAMED)),
        ("`algorithms`: there is no", lambda: anonymize.compare(PEOPLE, SPEC, "mondriaan")),
        ("data", lambda: anonymize.release(None, SPEC)),
    ],
)
def test_a_message_names_keywords_and_no_option_of_the_command(says: str, call: Any) -> None:
    with pytest.raises(AnonymizeError) as raised:
        call()
    assert says in str(raised.value)
    assert not re.search(r"(?<![\w-])--?[a-z][\w-]*", str(raised.value))


def test_every_message_that_names_an_option_is_reworded() -> None:
    """Whatever the rooms beneath say: no option is left of any text in them that names one."""
    options = re.compile(r"(?<![\w-])--[a-z]")
    texts = [
        node.value
        for path in sorted((Path(anonymize.__file__).parent).rglob("*.py"))
        if options.search(source := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and options.search(node.value)
    ]
    assert len(texts) > 100
    assert [text for text in texts if options.search(in_python(text))] == []


# --- what comes back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet", "out.arrow"])
def test_a_release_is_saved_as_it_was_measured(name: str, tmp_path: Path, released: anonymize.Release) -> None:
    path = tmp_path / name
    released.save(path)
    assert written(str(path), model_of(SPEC)).equals(released.frame)
    with pytest.raises(UsageError, match="`force=True`"):
        released.save(path)
    released.save(path, force=True)
    with pytest.raises(UsageError, match="by its suffix"):
        released.save(tmp_path / "out.txt")


def test_a_report_is_saved_and_a_private_one_is_its_owners_alone(tmp_path: Path, released: anonymize.Release) -> None:
    released.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text()) == released.report
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o600
    audited = anonymize.audit(released.frame, SPEC)
    audited.save(tmp_path / "audit.html")
    assert released.to_html().startswith("<!doctype html>") and (tmp_path / "audit.html").exists()


def test_what_belongs_together_is_saved_together(tmp_path: Path) -> None:
    anonymize.release(PEOPLE, LINKED, "anatomy").save(tmp_path / "out.csv")
    anonymize.release(PEOPLE, LINKED, "randomize").save(tmp_path / "drawn.csv")
    assert {path.name for path in tmp_path.iterdir()} == {
        "out.qit.csv", "out.st.csv", "drawn.csv", "drawn.params.json"
    }  # fmt: skip
    assert anonymize.audit(tmp_path / "out.qit.csv", LINKED).satisfied


def test_a_summary_says_what_was_reached(released: anonymize.Release) -> None:
    lines = released.summary().splitlines()
    assert lines[0] == "Every requirement is met." and any(line.startswith("smallest group") for line in lines)
    raw = anonymize.audit(PEOPLE, SPEC).summary()
    assert raw.startswith("NOT SAFE") and "k-anonymity" in raw
    assert "evaluated" in anonymize.evaluate(released.frame, SPEC, PEOPLE, queries=0).summary().lower()


def test_progress_is_called_and_quiet_where_nobody_sees_it(capsys: pytest.CaptureFixture[str]) -> None:
    stages: list[str] = []
    anonymize.release(PEOPLE, SPEC, "mondrian", progress=lambda stage, count, total: stages.append(stage))
    assert {"read", "search", "write", "verify"} <= set(stages)
    anonymize.release(PEOPLE, SPEC, "mondrian")
    assert capsys.readouterr() == ("", "")


def test_a_spec_is_validated_and_what_is_wrong_is_said() -> None:
    assert anonymize.validate(SPEC) and anonymize.validate(SPEC, PEOPLE).statements[0].startswith("the spec is valid")
    wrong = anonymize.validate({**SPEC, "privcy": {"k": 2}})
    assert not wrong and "privacy" in str(wrong.problems[0]) and isinstance(wrong.error, SpecError)
    lacking = anonymize.validate(SPEC, PEOPLE.drop("age"))
    assert isinstance(lacking.error, DataError) and "<frame>" in str(lacking.problems[0])
    assert isinstance(anonymize.validate({**SPEC, "privacy": {"k": 500}}, PEOPLE).error, InfeasibleError)


def test_several_specs_of_one_table_are_compared_by_their_names() -> None:
    looser = {**SPEC, "privacy": {"k": 2}}
    rows = anonymize.compare(PEOPLE, [SPEC, looser], "mondrian", progress=False).frame.to_dicts()
    assert [(row["label"], row["route"]) for row in rows] == [
        ("spec 1: mondrian", "spec 1"),
        ("spec 2: mondrian", "spec 2"),
    ]
    assert rows[0]["k"] > rows[1]["k"] == 2
    with pytest.raises(UsageError, match="the list has none"):
        anonymize.compare(PEOPLE, [])


def test_algorithms_are_compared_over_several_seeds(tmp_path: Path) -> None:
    compared = anonymize.compare(PEOPLE, SHUFFLED, ["mondrian", "anatomy"], k=[3, 5], seeds=2, progress=False)
    rows = compared.frame.to_dicts()
    assert [(row["label"], row["k"], row["code"]) for row in rows] == [
        ("mondrian", 3, 0), ("mondrian", 5, 0), ("anatomy", 3, 2), ("anatomy", 5, 2)
    ]  # fmt: skip
    assert rows[0]["seeds"] == 2 and rows[0]["spread.gcp"] == 0 and rows[0]["error"] is None
    assert {row["label"] for row in anonymize.compare(PEOPLE, SPEC).frame.to_dicts()} == {
        "release", "mondrian", "incognito"
    }  # fmt: skip


def test_everything_with_a_name_is_explained() -> None:
    assert "gcp (metric)" in anonymize.explain("gcp")
    assert "algorithm: " in anonymize.explain() and repr(anonymize.explain("0")).startswith("0 (exit code)\n")


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (UnsafeError, lambda: anonymize.release(PEOPLE, NAMED)),
        (DataError, lambda: anonymize.release(PEOPLE.drop("age"), SPEC)),
        (UsageError, lambda: anonymize.release(PEOPLE, SPEC, "mondrain")),
        (UsageError, lambda: anonymize.release(PEOPLE, SPEC, strictness=3)),
        (UsageError, lambda: anonymize.release([1, 2], SPEC)),
        (UsageError, lambda: anonymize.audit(PEOPLE, quasi=["age"])),  # type: ignore[call-arg]
        (UsageError, lambda: anonymize.evaluate(PEOPLE, SPEC, PEOPLE, query=3)),  # type: ignore[call-arg]
        (UsageError, lambda: anonymize.attack(PEOPLE, SPEC, PEOPLE, excess=3)),  # type: ignore[call-arg]
        (UsageError, lambda: anonymize.recode(PEOPLE, None)),  # type: ignore[arg-type]
        (UsageError, lambda: anonymize.recode(PEOPLE, {"classes": PEOPLE})),
        (SpecError, lambda: anonymize.recode(PEOPLE, {})),
        (DataError, lambda: anonymize.recode(PEOPLE, "no-such-recoding.json")),
    ],
)
def test_errors_are_those_of_the_commands(error: type[Exception], call: Any) -> None:
    with pytest.raises(error):
        call()


def test_a_first_spec_runs_as_it_is(tmp_path: Path) -> None:
    text = anonymize.init(PEOPLE)
    assert "quasi_identifiers:" in text and "path:" not in text
    table, spec = tmp_path / "people.csv", tmp_path / "spec.yaml"
    PEOPLE.write_csv(table)
    written = anonymize.init(table, spec)
    assert spec.read_text() == written and f"path: {json.dumps(str(table))}" in written
    assert anonymize.release(PEOPLE, spec, "mondrian").report["privacy"]["satisfied"] is True
    assert anonymize.init(table) == written
    with pytest.raises(UsageError):
        anonymize.init(table, spec)


def test_a_message_calls_a_frame_a_frame() -> None:
    with pytest.raises(DataError, match=r"'age' is not in <frame>") as raised:
        anonymize.release(PEOPLE.drop("age"), SPEC)
    assert "/proc/" not in str(raised.value.problems)


def test_a_notebook_shows_the_report(released: anonymize.Release) -> None:
    shown = released._repr_html_()
    assert shown.startswith("<pre>Every requirement is met.") and "<details>" in shown and "<iframe" in shown
    assert "person 1" not in shown
    assert repr(released) == "<Release: every requirement is met>"


def test_importing_is_light_and_every_order_of_imports_works() -> None:
    code = (
        "import inspect, sys, anonymize\n"
        "assert not {'polars', 'numpy', 'scipy', 'pydantic'} & set(sys.modules)\n"
        "import anonymize._release\n"
        "from anonymize._release import release\n"
        "import polars as pl\n"
        "frame = pl.DataFrame({'age': [1, 1]})\n"
        "spec = anonymize.Spec(quasi_identifiers={'age': {'type': 'numeric'}}, privacy={'k': 2})\n"
        "assert anonymize.release(frame, spec).frame.height == 2\n"
        "assert callable(anonymize.audit) and callable(anonymize.recode) and callable(anonymize.evaluate)\n"
        "assert anonymize.attack(frame, spec, frame, attackers=['prosecutor']).satisfied is None\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_type_checkers_see_what_there_is() -> None:
    names = vars(anonymize)["__all__"]
    stub = ast.parse(Path(anonymize.__file__).with_suffix(".pyi").read_text())
    imported = [alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(filter(None, imported)) == sorted(names)
    assert all(getattr(anonymize, name) for name in names)
    with pytest.raises(AttributeError):
        getattr(anonymize, "nothing")  # noqa: B009


# --- numbers as people write them -------------------------------------------------------------------------------------

WRITTEN = [
    (20 + row % 9 * 3, 1000 + row * 37.25, 160 + row % 7, 500 + row % 10 * 10.5, 1 + row % 3) for row in range(60)
]
PLAIN = pl.DataFrame(WRITTEN, schema=["age", "pay", "height", "charge", "w"], orient="row").cast(pl.String)
GERMAN = pl.DataFrame(
    {
        "age": PLAIN["age"],
        "pay": [f"{pay:,.2f} €".translate(str.maketrans(",.", ".,")) for _, pay, *_ in WRITTEN],
        "height": PLAIN["height"] + " cm",
        "charge": PLAIN["charge"].str.replace(".", ",", literal=True),
        "w": PLAIN["w"] + ",50",
    }
)
PLAIN = PLAIN.with_columns(w=PLAIN["w"] + ".50")
MODELS = [
    {"model": "t-closeness", "attribute": "charge", "t": 0.6},
    {"model": "k-e-anonymity", "attribute": "height", "k": 2, "e": 1},
]


def written_as(*, german: bool) -> dict[str, Any]:
    """A spec of `PLAIN`, or of `GERMAN`."""
    unit = {"pay": {"unit_text": "€"}, "height": {"unit_text": "cm"}} if german else {}
    return {
        "input": {"decimal": ",", "thousands": "."} if german else {},
        "quasi_identifiers": {"age": {"type": "numeric"}, "pay": {"type": "numeric", **unit.get("pay", {})}},
        "sensitive": {"height": {"type": "numeric", **unit.get("height", {})}, "charge": {"type": "numeric"}},
        "sampling_weight": {"column": "w"},
        "privacy": {"k": 4, "models": MODELS},
    }


def figures(report: dict[str, Any]) -> dict[str, Any]:
    """What a report says of a table, whatever the table is called."""
    apart = ("spec", "input", "output", "started_at", "timing", "memory", "release", "original")
    return {name: block for name, block in report.items() if name not in apart}


def test_two_spellings_of_a_table_make_the_same_release_and_reports() -> None:
    spellings = [(written_as(german=True), GERMAN), (written_as(german=False), PLAIN)]
    there, here = (anonymize.release(table, spec, algorithm="mondrian") for spec, table in spellings)
    assert there.frame.select("age", "pay").equals(here.frame.select("age", "pay"))
    assert set(there.frame["height"]) == set(GERMAN["height"])
    assert set(there.frame["w"]) == set(GERMAN["w"])
    assert figures(there.report) == figures(here.report)
    (there_spec, german), (here_spec, plain) = spellings
    for measured in (
        lambda spec, table, release: anonymize.audit(release.frame, spec),
        lambda spec, table, release: anonymize.audit(release.frame, spec, original=table),
        lambda spec, table, release: anonymize.evaluate(release.frame, spec, table, queries=20),
        lambda spec, table, release: anonymize.attack(release.frame, spec, table, attackers=["inference-bayes"]),
    ):
        one, other = measured(there_spec, german, there), measured(here_spec, plain, here)
        assert figures(one.report) == figures(other.report)


def test_a_saved_recoding_knows_how_numbers_are_written() -> None:
    released = anonymize.release(GERMAN, written_as(german=True), algorithm="mondrian")
    assert released.recoding is not None
    recoded = anonymize.recode(GERMAN.head(20), released.recoding)
    assert set(recoded.frame["pay"]) <= set(released.frame["pay"])
    with pytest.raises(DataError, match="not numbers"):
        anonymize.recode(PLAIN, released.recoding)


def test_numbers_of_a_typed_column_are_taken_as_they_are() -> None:
    typed = PLAIN.cast(dict.fromkeys(("pay", "height", "charge", "w"), pl.Float64))
    released = anonymize.release(typed, written_as(german=True), algorithm="mondrian")
    assert released.report["privacy"]["satisfied"]


def test_weights_that_are_rounded_keep_their_decimal_sign() -> None:
    spec = {**written_as(german=True), "sampling_weight": {"column": "w", "round": 0.25}}
    released = anonymize.release(GERMAN, spec, effort="low")
    assert set(released.frame["w"]) == {"1,5", "2,5", "3,5"}
    assert anonymize.audit(released.frame, spec).report["privacy"]["satisfied"]


# --- dates that are cut off -------------------------------------------------------------------------------------------

BORN = pl.DataFrame({"born": [f"{1915 + row % 60}-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(180)]})
BOUNDED: dict[str, Any] = {
    "quasi_identifiers": {"born": {"hierarchy": {"dates": ["year", "decade"]}, "levels": {"min": 1}, "bottom": 1934}},
    "privacy": {"k": 3},
}


def test_dates_before_a_bottom_code_are_one_value_to_every_reader() -> None:
    released = anonymize.release(BORN, BOUNDED, algorithm="mondrian")
    shown = released.frame["born"].to_list()
    assert shown.count("1934-") == sum(text < "1935" for text in BORN["born"])
    assert anonymize.audit(released.frame, BOUNDED).report["privacy"]["satisfied"]
    evaluated = anonymize.evaluate(released.frame, BOUNDED, BORN, queries=10).report
    assert evaluated["utility"]["gcp"] == released.report["utility"]["gcp"]
    assert released.recoding is not None
    older = pl.DataFrame({"born": ["1850-01-01", "1940-01-01"]})
    assert anonymize.recode(older, released.recoding).frame["born"].to_list() == ["1934-", "1940"]


# --- missing sensitive values that count ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "?"])
def test_a_missing_value_counts_as_one_more_where_that_is_declared(text: str) -> None:
    people = pl.DataFrame({"sex": [*"FFFFMMMM"], "illness": ["flu", text, text, "flu", "gout", text, "gout", "gout"]})
    spec: dict[str, Any] = {
        "input": {"missing": ["", "?"]},
        "quasi_identifiers": {"sex": {}},
        "sensitive": {"illness": {"missing": "value"}},
        "privacy": {"k": 2, "l": 2},
    }
    released = anonymize.release(people, spec, algorithm="mondrian")
    assert released.report["classes"]["count"] == 2
    assert [each["achieved"] for each in released.report["privacy"]["models"]] == [{"k": 4}, {"l": 2}]
    assert anonymize.audit(released.frame, spec).report["privacy"]["satisfied"]
    assert anonymize.evaluate(released.frame, spec, people, queries=5).report["utility"]["gcp"] == 0
    uncounted = {**spec, "sensitive": {"illness": {}}}
    assert anonymize.audit(released.frame, uncounted).report["privacy"]["models"][1]["achieved"] == {"l": 1}
    assert anonymize.release(people, uncounted, algorithm="mondrian").report["classes"]["count"] == 1


@pytest.mark.parametrize(
    ("illness", "says"),
    [
        ({"missing": "apart"}, "apart is not done: each missing value would count"),
        ({"missing": "value", "type": "numeric"}, "numbers have no place"),
        ({"missing": "value", "hierarchy": {"mask": "right"}}, "hierarchy has no place"),
    ],
)
def test_missing_values_that_cannot_count_are_refused(illness: dict[str, str], says: str) -> None:
    spec = {"quasi_identifiers": {"sex": {}}, "sensitive": {"illness": illness}, "privacy": {"k": 2}}
    with pytest.raises(SpecError, match=says):
        anonymize.release(PEOPLE.select("sex", "illness"), spec)


# --- suppressed cells that are written as nothing ---------------------------------------------------------------------

SHOWN = pl.DataFrame(
    {
        "age": [20 + row * 7 % 50 for row in range(120)],
        "sex": [("F", "M", "D")[row % 5 % 3] if row % 40 else "X" for row in range(120)],
        "visits": [row % 7 for row in range(120)],
    }
)


def hidden_as(text: str | None, **more: Any) -> dict[str, Any]:
    """A spec of `SHOWN` whose suppressed cells read so."""
    columns = {"age": {"type": "numeric"}, "sex": {}}
    privacy = {"k": 6, "suppression": 0.1}
    output = {"suppressed": text, **more}
    return {"quasi_identifiers": columns, "insensitive": ["visits"], "privacy": privacy, "output": output}


def test_suppressed_cells_may_be_null_and_every_reader_knows() -> None:
    null, star = (anonymize.release(SHOWN, hidden_as(text), algorithm="samarati") for text in (None, "*"))
    generalized = pl.col("age", "sex")
    assert null.frame.select(generalized).null_count().sum_horizontal().item() > 0
    assert null.frame["visits"].dtype == pl.Int64
    assert null.frame.with_columns(generalized.fill_null("*")).equals(star.frame)
    for block in ("privacy", "classes", "risk", "utility"):
        assert null.report[block] == star.report[block]
    assert null.report["codebook"]["suppressed"] == ""
    checked = [anonymize.audit(each.frame, hidden_as(text)).report for each, text in ((null, None), (star, "*"))]
    assert checked[0]["classes"] == checked[1]["classes"]
    assert checked[0]["privacy"] == checked[1]["privacy"]
    measured = [
        anonymize.evaluate(each.frame, hidden_as(text), SHOWN, queries=5).report["utility"]
        for each, text in ((null, None), (star, "*"))
    ]
    assert measured[0] == measured[1]
    assert null.recoding is not None
    assert anonymize.recode(SHOWN, null.recoding).frame["sex"].to_list() == [
        None if text == "*" else text for text in anonymize.recode(SHOWN, star.recoding or {}).frame["sex"].to_list()
    ]


def test_null_is_refused_where_it_could_be_something_else() -> None:
    lacking = SHOWN.with_columns(sex=pl.col("sex").replace("X", None))
    with pytest.raises(UsageError, match="sex has missing values"):
        anonymize.release(lacking, hidden_as(None), algorithm="mondrian")
    with pytest.raises(SpecError, match="an open end is empty as well"):
        anonymize.release(SHOWN, hidden_as(None, numeric="bounds"), algorithm="mondrian")


def test_columns_that_pass_through_keep_their_type() -> None:
    typed = SHOWN.with_columns(
        share=pl.col("visits") / 4, seen=pl.date(2024, 1, 1) + pl.duration(days="visits"), late=pl.col("visits") > 3
    )
    spec = {**hidden_as("*"), "insensitive": ["seen", "late"], "sensitive": {"visits": {}, "share": {}}}
    released = anonymize.release(typed, spec, algorithm="mondrian")
    assert [released.frame[name].dtype for name in typed.columns[2:]] == list(typed.dtypes[2:])


# --- tables -----------------------------------------------------------------------------------------------------------


def test_tables_of_a_frame_are_those_of_the_command(tmp_path: Path) -> None:
    frame = pl.DataFrame({"sex": ["F", "M", None] * 8, "job": ["cook", "clerk"] * 12, "pay": list(range(24))})
    tables = [{"by": ["sex", "job"], "count": True}, {"by": ["job"], "mean": "pay"}]
    spec = {
        "insensitive": ["sex", "job"],
        "sensitive": {"pay": {"type": "numeric"}},
        "tabulate": {"mechanism": "suppression", "tables": tables, "suppression": {"minimum": 3}},
    }
    made = anonymize.tabulate(frame, spec, output=tmp_path / "tables")
    assert list(made.frames) == ["table-1-count.csv", "table-2-mean.csv"] and made.private
    counts = made.frames["table-1-count.csv"]
    assert counts["sex"].to_list()[6] == "" and counts["count"].to_list()[-1] == 24
    assert made.report["privacy"]["satisfied"] and made.manifest["mechanism"] == "suppression"
    assert (tmp_path / "tables/table-2-mean.csv").exists()
    with pytest.raises(UsageError, match="force=True"):
        anonymize.tabulate(frame, spec, output=tmp_path / "tables")
