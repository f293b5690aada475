"""The options of `evaluate` about COUNT queries."""

from __future__ import annotations

import importlib.util
import io
import json
import subprocess
import sys
from typing import Any

import pytest

from anonymize.cli.evaluate import evaluate, query_plan, tree_plan
from anonymize.evaluation.patterns import Tolerance, TreePlan
from anonymize.metrics.queries import QueryPlan
from tests.cli.conftest import SPEC, Call, Desk, unnamed


def given(*options: str) -> dict[str, Any]:
    """What the command is given, with a spec and a release."""
    return evaluate.make_context("evaluate", ["spec.yaml", "released.csv", *options]).params


def test_queries_of_a_file_go_without_other_options() -> None:
    assert query_plan(given("--query-file", "q.yaml")) == QueryPlan()


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        (["--query-attributes", " age,,zip ,", "--query-attributes", "age"], QueryPlan(attributes=("age", "zip"))),
        (["--query-dimensions", "1-2,5"], QueryPlan(dimensions=(1, 2, 5))),
        (["--query-points", "--query-seeds", "2"], QueryPlan(points=True, repeats=2)),
        (["--query-selectivity", "1", "--query-bound", "0.5"], QueryPlan(selectivity=1.0, bound=0.5)),
    ],
)
def test_random_queries_are_as_the_options_say(options: list[str], plan: QueryPlan) -> None:
    assert query_plan(given(*options)) == plan


# --- trees ------------------------------------------------------------------------------------------------------------

PLAIN = {"tree": "ward", "tree_depth": None, "tree_columns": (), "support_within": None, "confidence_within": None}


def test_trees_are_compared_as_the_options_say() -> None:
    assert tree_plan({**PLAIN}) == TreePlan("ward")
    own = {"tree_depth": 5, "tree_columns": ("age",), "support_within": 0.0, "confidence_within": 0.0}
    assert tree_plan({**PLAIN, **own}) == TreePlan("ward", 5, ("age",), Tolerance(0.0, 0.0))


# --- evaluate ---------------------------------------------------------------------------------------------------------

needs_learners = pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not there")
L_DIVERSE_SPEC = SPEC.replace("  k: 3\n", "")
WORKLOAD = SPEC.replace("insensitive: [ward]", "workload: {targets: [ward], selections: [{age: {from: 8675310}}]}")


@pytest.fixture
def released(desk: Desk, once: Call) -> str:
    desk.fill(spec=WORKLOAD)
    own = ("-r", "report.json", "--save-link", "link.json")
    assert once("mondrian", desk.spec, "-o", "out.csv", *own, "-q").code == 0
    return "out.csv"


def test_it_prints_json_that_equals_the_report(desk: Desk, call: Call, released: str) -> None:
    ended = call("evaluate", desk.spec, released, "--link", "link.json", "--json", "-q")
    assert ended.code == 0
    found, told = json.loads(ended.out), json.loads((desk.folder / "report.json").read_text())
    attributes = told["utility"].pop("attributes")
    of_sets = {"gcp_set": None, "ncp_set": None}  # a release does not tell the classes that were found
    told["utility"] |= of_sets
    assert {name: found["utility"][name] for name in told["utility"]} == pytest.approx(told["utility"])
    assert found["utility"]["attributes"] == {
        name: pytest.approx(figures | {"ncp_set": None}) for name, figures in attributes.items()
    }
    assert found["rows_correspond"] and found["utility"]["query_error"]["queries"] == 1000
    assert set(found["utility"]["targets"]) == {"ward"} and found["utility"]["imprecision"]["total"] >= 0


def test_the_same_twice_but_for_the_time(desk: Desk, call: Call, released: str) -> None:
    found = [json.loads(call("evaluate", desk.spec, released, "--json", "--seed", "4").out) for _ in range(2)]
    assert [each.pop("started_at") for each in found] and found[0] == found[1]


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_of_a_release_made_with_a_unit_it_says_that_rows_are_counted(desk: Desk, call: Call, form: str) -> None:
    """Three individuals with two rows each: a class of 3 for the report, and of 6 rows here."""
    (desk.folder / "s.yaml").write_text(
        "version: 1\ninput: {path: in.csv}\nunit: id\nquasi_identifiers: {age: {type: numeric}}\nprivacy: {k: 3}\n"
        "output: {edges: tight}\n"
    )
    (desk.folder / "in.csv").write_text("id,age\n" + "".join(f"{row // 2},{row}\n" for row in range(6)))
    assert call("mondrian", "s.yaml", "-o", "out.csv", "-r", "r.json", "-q").code == 0
    assert json.loads((desk.folder / "r.json").read_text())["classes"]["max_size"] == 3
    ended = call("evaluate", "s.yaml", "out.csv", "--format", form, "-r", "found.json")
    assert ended.code == 0 and b"rows are counted, not individuals" in b" ".join(ended.out.split())
    assert json.loads((desk.folder / "found.json").read_text())["classes"]["max_size"] == 6


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_it_prints_for_people(desk: Desk, call: Call, released: str, form: str) -> None:
    ended = call("evaluate", desk.spec, released, "--format", form)
    assert ended.code == 0
    for word in (b"not judged", b"gcp", b"average class size", b"conditional entropy", b"imprecision", b"cannot have"):
        assert word in ended.out


def test_quiet_prints_nothing_and_writes_reports(desk: Desk, call: Call, released: str) -> None:
    ended = call("evaluate", desk.spec, released, "-q", "-r", "found.json", "-r", "found.md", "--tree", "ward")
    assert (ended.code, ended.out, ended.err) == (0, b"", "")
    found = unnamed((desk.folder / "found.json").read_text()) + (desk.folder / "found.md").read_text()
    assert "CANARY" not in found and "86753" not in found and '"tree"' not in found


def test_a_tree_is_printed_with_its_values(desk: Desk, call: Call, released: str) -> None:
    ended = call("evaluate", desk.spec, released, "--tree", "ward", "--json")
    assert ended.code == 0
    tree = json.loads(ended.out)["tree"]
    assert tree["target"] == "ward" and tree["original"] and len(tree["patterns"]) == len(tree["original"]) - 1
    printed = call("evaluate", desk.spec, released, "--tree", "ward").out.decode()
    table = printed[printed.index("patterns survived") :]
    said = [line.split()[0] for line in table.splitlines() if line.split()[:1] in (["yes"], ["no"])]
    patterns = tree["patterns"]  # a table that is too wide is parted, and each part begins so
    assert said[: len(patterns)] == ["yes" if each["survived"] else "no" for each in patterns] and patterns


def test_rows_that_do_not_correspond_are_said(desk: Desk, call: Call, released: str) -> None:
    lines = (desk.folder / released).read_text().splitlines()
    (desk.folder / "turned.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    found, straight = (json.loads(call("evaluate", desk.spec, name, "--json").out) for name in ("turned.csv", released))
    assert not found["rows_correspond"]
    assert all(found["utility"][name] == pytest.approx(straight["utility"][name]) for name in ("gcp", "loss", "c_avg"))
    assert found["utility"]["targets"]["ward"] == pytest.approx(straight["utility"]["targets"]["ward"])


@pytest.mark.parametrize(("order", "drop"), [("sorted", "keep"), ("shuffle", "drop")])
def test_a_link_gives_what_the_order_of_the_input_gave(desk: Desk, call: Call, order: str, drop: str) -> None:
    """Means, and a target that is a quasi-identifier, need rows that correspond."""
    figures = []
    for rows in ("keep", order):
        spec = WORKLOAD.replace("targets: [ward]", "targets: [ward, job]")
        desk.fill(spec=spec + f"output: {{numeric: mean, row_order: {rows}, suppressed_rows: {drop}}}\n")
        made = ("-o", "out.csv", "--save-link", "link.csv", "--force", "--allow-unsafe")
        assert call("mondrian", desk.spec, *made, "-q").code == 0
        ended = call("evaluate", desk.spec, "out.csv", "--link", "link.csv", "--json")
        figures.append(json.loads(ended.out))
    assert figures[1]["rows_correspond"] and figures[1]["left_out"] == figures[0]["left_out"]
    assert figures[1]["utility"]["gcp"] is not None and figures[1]["utility"]["targets"]["job"]
    utility = [each["utility"] for each in figures]
    for name in ("gcp", "ncp", "loss"):
        assert utility[1][name] == pytest.approx(utility[0][name]), name
    for name in ("targets", "attributes"):
        assert utility[1][name].keys() == utility[0][name].keys()
        assert all(utility[1][name][each] == pytest.approx(utility[0][name][each]) for each in utility[0][name])


def test_a_link_of_another_release_is_refused(desk: Desk, call: Call, released: str) -> None:
    content = (desk.folder / released).read_text(encoding="utf-8")
    (desk.folder / "other.csv").write_text(content.rstrip("\n"), encoding="utf-8")
    ended = call("evaluate", desk.spec, "other.csv", "--link", "link.json")
    assert ended.code == 3 and "is about another release" in ended.err


@pytest.mark.parametrize("order", ["sorted", "shuffle"])
def test_means_need_rows_that_correspond(desk: Desk, call: Call, order: str) -> None:
    desk.fill(spec=WORKLOAD + f"output: {{numeric: mean, row_order: {order}}}\n")
    assert call("mondrian", desk.spec, "-o", "out.csv", "-q", "--seed", "1").code == 0
    found = json.loads(call("evaluate", desk.spec, "out.csv", "--json").out)
    assert found["utility"]["gcp"] is None and found["utility"]["attributes"]["age"]["ncp"] is None
    assert "there is no --link" in found["left_out"]["gcp"]
    assert found["utility"]["attributes"]["zip"]["ncp"] is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to evaluate"),
        (("out.csv", "--algorithm", "mondrian"), "give --models"),
        (("--models", "--algorithm", "mondrian", "--link", "link.json"), "--link: needs a release"),
        (("out.csv", "--tree", "age"), "is not a target"),
        (("--models", "--algorithm", "nothing"), "is not one of release, mondrian"),
        (("--models", "--algorithm", "mondrian", "--option", "cut=none"), "expected one of"),
        (("--models", "--algorithm", "mondrian", "--option", "depth=3"), "is not an option of mondrian"),
        (("out.csv", "--models", "--option", "cut=auto"), "give --algorithm"),
        (("out.csv", "-r", "out.csv"), "a report is one of"),
        (("table.csv",), "is given twice"),
        (("out.csv", "--tree-depth", "2"), "--tree-depth: is about a tree, give --tree"),
        (("out.csv", "--tree-columns", "age"), "--tree-columns: is about a tree, give --tree"),
        (("out.csv", "--query-points", "--query-selectivity", "0.1"), "a point has no length"),
        (("out.csv", "--query-file", "q.yaml", "--query-points"), "--query-points: is about random queries"),
        (("out.csv", "--query-file", "q.yaml", "--query-seeds", "2"), "--query-seeds: is about random queries"),
        (("out.csv", "--query-file", "q.yaml", "--query-attributes", "age"), "--query-attributes: is about random"),
        (("out.csv", "--query-file", "q.yaml", "--query-dimensions", "1"), "--query-dimensions: is about random"),
        (("out.csv", "--query-file", "q.yaml", "--query-selectivity", "0.1"), "--query-selectivity: is about random"),
        (("-", "-i", "-"), "both come from standard input"),
    ],
)
def test_what_makes_no_sense_is_refused(
    desk: Desk, call: Call, released: str, arguments: tuple[str, ...], message: str
) -> None:
    ended = call("evaluate", desk.spec, *arguments)
    assert (ended.code, ended.out) == (2, b"")
    assert message in ended.err


def test_the_dimensions_of_queries_are_numbers_and_ranges_of_them(desk: Desk, call: Call, released: str) -> None:
    for text, dimensions in (("2", {"2"}), ("1-3", {"1", "2", "3"}), ("3,1-1", {"1", "3"})):
        ended = call("evaluate", desk.spec, released, "--queries", 60, "--query-dimensions", text, "--json", "-q")
        assert set(json.loads(ended.out)["utility"]["query_error"]["by_dimension"]) == dimensions
    for text in ("0", "1-", "-2", "two", "1,,2", "1-0-2"):
        ended = call("evaluate", desk.spec, released, "--query-dimensions", text)
        assert ended.code == 2 and "is not a list of numbers from 1, such as 1-3 or 2,4" in ended.err


@needs_learners
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--algorithm", "mondrian", "--option", "relaxed=true"), "may release equal values differently"),
        (("--algorithm", "mondrian", "--model", "oracle"), "is not one of baseline"),
        (("--algorithm", "mondrian", "--model", "regression_tree"), "predicts a target of this kind"),
        (("--algorithm", "mondrian", "--folds", "61"), "60 rows are too few"),
    ],
)
def test_models_that_cannot_be_made(desk: Desk, call: Call, arguments: tuple[str, ...], message: str) -> None:
    desk.fill(spec=WORKLOAD)
    ended = call("evaluate", desk.spec, "--models", *arguments)
    assert ended.code == 2 and message in ended.err


def test_cells_that_the_spec_cannot_read(desk: Desk, call: Call, released: str) -> None:
    text = (desk.folder / released).read_text().replace("-86753", "..86753")
    (desk.folder / "odd.csv").write_text(text)
    ended = call("evaluate", desk.spec, "odd.csv")
    assert ended.code == 3 and "column 'age'" in ended.err and "output.interval" in ended.err


def test_more_rows_than_the_original(desk: Desk, call: Call, released: str) -> None:
    text = (desk.folder / released).read_text()
    (desk.folder / "long.csv").write_text(text + text.partition("\n")[2])
    assert call("evaluate", desk.spec, "long.csv").code == 3


def test_a_release_without_rows_is_all_suppressed(desk: Desk, call: Call, released: str) -> None:
    (desk.folder / "none.csv").write_text((desk.folder / released).read_text().partition("\n")[0] + "\n")
    ended = call("evaluate", desk.spec, "none.csv", "--json", "--tree", "ward")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert found["utility"]["gcp"] == found["utility"]["suppression"] == 1
    assert found["classes"]["count"] == 0 and found["tree"]["survived"] == 0


@needs_learners
def test_models_are_the_same_twice(desk: Desk, call: Call) -> None:
    desk.fill(spec=WORKLOAD)
    run = ("evaluate", desk.spec, "--models", "--algorithm", "mondrian", "--option", "cut=infogain", "--folds", "2")
    found = [json.loads(call(*run, "--json").out) for _ in range(2)]
    assert [each.pop("started_at") for each in found] and found[0] == found[1]
    models = found[0]["models"]["targets"]["ward"]["models"]
    assert set(models) == {"baseline", "decision_tree", "naive_bayes", "random_forest", "linear_svm"}
    assert set(models["decision_tree"]["released"]) == {"accuracy", "auc"}
    assert found[0]["models"]["protocol"]["options"]["cut"] == "infogain"
    assert "utility" not in found[0]


@needs_learners
def test_models_of_a_given_release_and_projection(desk: Desk, call: Call, released: str) -> None:
    ended = call("evaluate", desk.spec, released, "--models", "--test-share", "0.3", "--projection", "--json")
    assert ended.code == 0
    found = json.loads(ended.out)
    steps = found["models"]["targets"]["ward"]["projection"]
    assert [len(step["dropped"]) for step in steps] == [0, 1, 2]
    assert any("tested on" in warning for warning in found["warnings"])
    assert "CANARY" not in unnamed(ended.out.decode()).replace(desk.folder.name, "")


def test_without_scikit_learn_the_extra_is_named(desk: Desk, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.fill(spec=WORKLOAD)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    ended = call("evaluate", desk.spec, "--models", "--algorithm", "mondrian")
    assert ended.code == 2 and "anonymize-toolkit[ml]" in ended.err


def test_scikit_learn_is_imported_for_models_alone(desk: Desk) -> None:
    code = "import sys; import anonymize._evaluate; assert 'sklearn' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], env=desk.environment(), check=False).returncode == 0


def test_a_bucketized_release_and_its_table(desk: Desk, call: Call) -> None:
    desk.fill(spec=L_DIVERSE_SPEC)
    assert call("anatomy", desk.spec, "-o", "out.csv", "-q").code == 0
    ended = call("evaluate", desk.spec, "out.qit.csv", "--json", "-q")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert found["utility"]["gcp"] == 0 and found["rows_correspond"] is None
    assert found["output"]["sensitive_path"] == "out.st.csv"
    assert call("evaluate", desk.spec, "out.qit.csv", "--tree", "ward").code == 2
    assert call("evaluate", desk.spec, "out.qit.csv", "--group", "bucket").code == 3


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_randomized_release_and_its_parameters(desk: Desk, call: Call, form: str) -> None:
    desk.fill(spec=L_DIVERSE_SPEC)
    assert call("randomize", desk.spec, "-o", "out.csv", "-q", "--allow-unsafe").code == 0
    ended = call("evaluate", desk.spec, "out.csv", "--format", form, "--method", "clip")
    assert ended.code == 0
    assert b"some columns show" in ended.out and b"CANARY" not in ended.out
    assert b"Equivalence classes" not in ended.out


@pytest.mark.parametrize(("form", "suffix"), [("json", "json"), ("markdown", "md"), ("html", "html")])
def test_what_is_printed_is_a_file_to_the_last_byte(
    desk: Desk, call: Call, released: str, form: str, suffix: str
) -> None:
    printed = call("evaluate", desk.spec, released, "--format", form, "-r", f"found.{suffix}").out
    assert printed[-40:] == (desk.folder / f"found.{suffix}").read_bytes()[-40:]


@pytest.mark.parametrize("arguments", [("-", "-i", "table.csv"), ("out.csv", "-i", "-")])
def test_what_came_from_standard_input_cannot_be_attacked_next(
    desk: Desk, call: Call, released: str, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    content = (desk.folder / (released if arguments[0] == "-" else "table.csv")).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    ended = call("evaluate", desk.spec, *arguments)
    assert ended.code == 0 and "next: " not in ended.err


@pytest.mark.parametrize("command", ["evaluate", "attack", "audit"])
def test_a_column_of_numbers_may_have_no_number(desk: Desk, call: Call, command: str) -> None:
    (desk.folder / "s.yaml").write_text(
        "version: 1\ninput: {path: in.csv}\nquasi_identifiers: {age: {type: numeric}, pay: {type: numeric}, job: {}}\n"
        "sensitive: [ill]\nprivacy: {k: 2}\n"
    )
    (desk.folder / "in.csv").write_text("age,pay,job,ill\n" + "".join(f"{each},,a,x\n" for each in (1, 1, 5, 5)))
    assert call("release", "s.yaml", "-o", "o.csv", "-q").code == 0
    arguments = ("s.yaml", "-i", "o.csv") if command == "audit" else ("s.yaml", "o.csv")
    ended = call(command, *arguments, "--json")
    assert ended.code == 0, ended.err
    assert json.loads(ended.out).get("classes", {"min_size": 2})["min_size"] == 2
