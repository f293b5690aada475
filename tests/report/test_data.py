"""The report as data: what depends on the spec and the request alone, and the warnings."""

from __future__ import annotations

import json
import time
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize import python as api
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.claims import Basis, State
from anonymize.errors import Caution
from anonymize.privacy import PARAMETERS, requirements
from anonymize.report.data import Blocks, release_report, required_size, settings, verdict_blocks, with_heights
from anonymize.report.head import Clock, order_warnings, unused
from anonymize.request import Request
from anonymize.spec import Spec, load, make, override
from anonymize.table import Source, read
from anonymize.verify import Result, Verdict
from anonymize.verify.kept import PassingFigures, RowShares
from anonymize.verify.verdict import NarrowedAttribute, OrderVerdict, Wildcard
from anonymize.writing.columns import PIECE

PLAIN: dict[str, Any] = {"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}}}


def spec(**more: Any) -> Spec:
    return make({**deepcopy(PLAIN), **more}, PARAMETERS)


def request_for(spec: Spec, algorithm: str) -> Request:
    return Request(spec, algorithm, ALGORITHMS[algorithm].Options())


def of_sex(**definition: Any) -> dict[str, Any]:
    return {"quasi_identifiers": {"age": {"type": "numeric"}, "sex": definition}}


def of_age(**definition: Any) -> dict[str, Any]:
    return {"quasi_identifiers": {"age": {"type": "numeric", **definition}, "sex": {}}}


# --- parts of the spec without effect --------------------------------------------------------------------------------

PARTS = {
    "rules": (of_sex(rules=[{"keep_apart": ["M", "F"], "importance": 1}]), "incognito"),
    "identifying": (of_sex(identifying="more"), "mu-argus"),
    "weights: correlation": ({"weights": "correlation"}, "incognito"),
    "workload": ({"workload": {"targets": ["age"]}}, "mondrian"),
    "level or bins": (of_age(bins=[10, 20]), "randomize"),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_spec_without_effect_is_a_warning(part: str) -> None:
    given, user = PARTS[part]
    (warning,) = unused(request_for(spec(**given), "datafly"))
    assert warning.text == f"in the spec, but without effect on datafly: {part}"
    assert part not in "".join(unused(request_for(spec(**given), user)))


@pytest.mark.parametrize("workload", [{"targets": ["age"]}, {"selections": [{"sex": {"in": ["M"]}}]}])
def test_targets_or_selections_alone_are_a_workload(workload: dict[str, Any]) -> None:
    (warning,) = unused(request_for(spec(workload=workload), "datafly"))
    assert warning.text.endswith(": workload")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_levels_are_without_effect_nowhere(algorithm: str) -> None:
    given = of_age(levels={"max": 1}, hierarchy={"intervals": [10]})
    assert unused(request_for(spec(**given), algorithm)) == []


def test_a_level_alone_counts_as_much_as_bins() -> None:
    given = of_age(level=1, hierarchy={"intervals": [10]})
    assert "level or bins" in unused(request_for(spec(**given), "datafly"))[0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_spec_that_says_no_more_than_it_must_has_no_part_without_effect(algorithm: str) -> None:
    assert unused(request_for(spec(), algorithm)) == []


def test_all_parts_are_in_one_warning() -> None:
    given = of_sex(rules=[{"keep_apart": ["M", "F"], "importance": 1}], identifying="yes")
    (warning,) = unused(request_for(spec(**given), "datafly"))
    assert warning.text.endswith("rules, identifying")


def test_the_order_of_the_input_is_a_warning() -> None:
    assert "joined by position" in order_warnings(spec(output={"row_order": "keep"}))[0]
    assert order_warnings(spec(output={"row_order": "shuffle"})) == order_warnings(spec()) == []


# --- blocks ----------------------------------------------------------------------------------------------------------


def report_of(folder: Path, rest: str, *, numeric: bool = True, **more: Any) -> dict[str, Any]:
    """The report of a release of four rows, with ages that are numbers or categories."""
    (folder / "t.csv").write_text("age,sex,ill\n1,M,a\n1,M,b\n8,F,a\n8,F,b\n")
    age = "{type: numeric}" if numeric else "{}"
    quasi = f"quasi_identifiers: {{age: {age}, sex: {{}}}}\nsensitive: {{ill: {{}}}}\n"
    (folder / "s.yaml").write_text(f"version: 1\ninput: {{path: t.csv}}\n{quasi}{rest}")
    options = ALGORITHMS["datafly"].Options()
    return release(Request(load(folder / "s.yaml", PARAMETERS), "datafly", options, output="/dev/null", **more))


@pytest.mark.parametrize(
    ("output", "warning"),
    [
        ("numeric: mean", "output.numeric: mean has no effect on datafly, which shows labels"),
        ("edges: rounded", "output.edges: rounded has no effect on datafly, which shows labels"),
        ("categorical: set", "output.categorical: set has no effect on datafly, which shows labels"),
    ],
)
def test_output_without_effect_on_labels_is_a_warning(tmp_path: Path, output: str, warning: str) -> None:
    rest = f"privacy: {{k: 2}}\noutput: {{row_order: shuffle, {output}}}\n"
    assert report_of(tmp_path, rest)["warnings"] == [Caution.of(warning, "remove it")]


def test_output_of_numbers_is_no_concern_of_a_table_without_any(tmp_path: Path) -> None:
    rest = "privacy: {k: 2}\noutput: {row_order: shuffle, numeric: mean, edges: rounded}\n"
    assert report_of(tmp_path, rest, numeric=False)["warnings"] == []


def test_output_as_it_is_by_default_is_not_a_warning(tmp_path: Path) -> None:
    assert report_of(tmp_path, "privacy: {k: 2}\noutput: {row_order: shuffle}\n")["warnings"] == []


@pytest.mark.parametrize(("edges", "warned"), [("rounded", True), ("open", True), ("tight", False)])
def test_a_value_of_one_row_in_a_set_is_a_warning(tmp_path: Path, edges: str, warned: bool) -> None:
    """Of two sets of jobs, one names a job that a single row has; the third class has one job."""
    rows = ["1,a", "1,a", "1,b", "1,c", "1,c", "2,d", "2,d", "2,e", "2,e", "3,f", "3,f", "3,f"]
    (tmp_path / "t.csv").write_text("age,job\n" + "\n".join(rows) + "\n")
    output = f"output: {{categorical: set, edges: {edges}}}\n"
    (tmp_path / "s.yaml").write_text(
        "version: 1\ninput: {path: t.csv}\nquasi_identifiers: {age: {type: numeric, weight: 9}, job: {}}\n"
        "privacy: {k: 3}\n" + output
    )
    options = ALGORITHMS["mondrian"].Options()
    report = release(Request(load(tmp_path / "s.yaml", PARAMETERS), "mondrian", options, output="/dev/null"))
    told = "job: 50% of the sets of several values name one that a single row of the class has"
    assert [warning.startswith(told) for warning in report["warnings"]] == [True] * warned


def test_a_value_that_reads_as_a_suppressed_cell_is_a_warning(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\noutput: {row_order: shuffle, suppressed: M}\n")
    (warning,) = report["warnings"]
    assert warning.text == "a value of sex reads as a suppressed cell does"
    assert "`output: {suppressed:" in warning.remedy


def test_rows_in_the_order_of_the_input_are_a_warning_of_the_report(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\noutput: {row_order: keep}\n")
    assert report["warnings"] == order_warnings(spec(output={"row_order": "keep"}))


def test_classes_that_share_their_levels_have_a_precision(tmp_path: Path) -> None:
    assert report_of(tmp_path, "privacy: {k: 2}\n")["utility"]["precision"] == 1


def test_levels_stand_beside_the_heights_of_hierarchies(tmp_path: Path) -> None:
    recoding = report_of(tmp_path, "privacy: {k: 2}\n")["recoding"]
    assert recoding["levels"] == {"age": 0, "sex": 0} and recoding["heights"] == {"age": 1, "sex": 1}
    regions = {"kind": "regions", "regions": 7}
    assert with_heights([], regions) == regions


def test_the_risk_of_the_input_stands_beside_that_of_the_release(tmp_path: Path) -> None:
    risk = report_of(tmp_path, "privacy: {k: 4}\n")["risk"]
    assert (risk["prosecutor_max"], risk["before"]["prosecutor_max"]) == (0.25, 0.5)


def test_rows_of_an_input_before_are_not_counted_as_the_inputs(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,sex\n1,M\n2,M\n3,F\n8,F\n")
    given = request_for(spec(input={"path": str(tmp_path / "t.csv")}, privacy={"k": 2}), "datafly")
    with Source.open(given.spec) as source:
        table = read(given.spec, source)
        source.earlier = [("the hash of that input", 0)]
        report = release_report(given, table, Clock(), Blocks({}, {"risk": {}}, {}, {}, []))
    assert report["input"]["rows"] == 3


def test_settings_say_where_they_come_from(tmp_path: Path) -> None:
    models = "[{model: t-closeness, t: 0.9}, {model: t-closeness, attribute: ill, t: 0.8}]"
    given = report_of(tmp_path, f"privacy: {{k: 2, models: {models}}}\n")["settings"]
    assert given == {"k": {"value": 2, "from": "spec"}, "suppression": {"value": 0.0, "from": "default"}}
    given = report_of(tmp_path, "privacy: {l: 2, models: [{model: t-closeness, t: 0.9}]}\n")["settings"]
    assert given["l"] == {"value": 2, "from": "spec"} and given["t"] == {"value": 0.9, "from": "spec"}


def test_what_the_command_line_replaced_is_said_to_be_from_there() -> None:
    given = settings(override(spec(sensitive={"ill": {}}, privacy={"k": 2, "l": 2}), k=3))
    assert given["k"] == {"value": 3, "from": "command line"} and given["l"]["from"] != "command line"


def test_a_public_report_is_made_where_it_is_asked_for(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\n", public=True)
    assert report["public"] and report["spec"].keys() == {"sha256"} and "input" not in report
    assert report_of(tmp_path, "privacy: {k: 2}\n")["spec"]["path"] == str(tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("privacy", "k"),
    [
        ({"k": 3}, 3),
        ({"k": 2, "models": [{"model": "alpha-k-anonymity", "alpha": 0.9, "k": 7}]}, 7),
        ({"k": 2, "models": [{"model": "recursive-cl-diversity", "c": 9, "l": 2}]}, 2),
        ({"l": 4}, 4),
        ({}, 1),
    ],
)
def test_the_k_that_is_required_is_the_largest_or_the_fewest_rows_that_a_class_may_have(
    privacy: dict[str, Any], k: int
) -> None:
    given = spec(sensitive={"ill": {}}, privacy=privacy or {"k": 1})
    assert required_size(requirements(given) if privacy else ()) == k


def test_a_verdict_without_requirements_is_not_a_verdict() -> None:
    verdict = Verdict(rows=3, results=(), classes={"count": 1}, risk={"uniques": 0}, suppressed_rows=0)
    blocks = verdict_blocks(verdict)
    assert blocks["privacy"]["verified"] is True
    assert (blocks["privacy"]["satisfied"], blocks["privacy"]["state"]) == (None, "nothing required")
    assert blocks["privacy"]["missing"] == "own-category"
    assert blocks["classes"] == {"count": 1} and blocks["risk"] == {"uniques": 0}


def test_what_is_measured_where_missing_is_anything_stands_beside_what_is_shown() -> None:
    shown = Result("k-anonymity", None, {"k": 2}, {"k": 3}, State.MET, 0, 0, basis=Basis.MEASURED)
    wild = replace(shown, achieved={"k": 1}, state=State.UNMET)
    other = Wildcard((wild,), {"uniques": 1})
    blocks = verdict_blocks(Verdict(3, 0, (shown,), {"count": 1}, {"uniques": 0}, wildcard=other))
    privacy = blocks["privacy"]
    assert privacy["missing"] == "wildcard" and privacy["models"][0]["achieved"] == {"k": 3}
    assert (privacy["satisfied"], privacy["state"], privacy["models"][0]["basis"]) == (True, "met", "measured")
    assert privacy["wildcard"] == {"satisfied": False, "models": [wild.as_dict()]}
    assert blocks["risk"] == {"uniques": 0, "wildcard": {"uniques": 1}} and blocks["classes"] == {"count": 1}


def test_what_could_not_be_shown_is_said_beside_the_verdict() -> None:
    shown = Result("k-anonymity", None, {"k": 2}, {"k": 3}, State.MET, 0, 0, basis=Basis.MEASURED)
    unshown = shown.unshown("a reason")
    sizes = [{"from": 3, "to": 3, "rows": 3}]
    verdict = Verdict(3, 0, (shown, unshown), {"count": 1}, {"uniques": 0}, sizes=sizes)
    blocks = verdict_blocks(verdict)
    assert blocks["privacy"]["unknown"] == ["k-anonymity (k=2) could not be shown: a reason"]
    assert blocks["classes"] == {"count": 1, "sizes": sizes} and "passing" not in blocks["risk"]
    assert "unknown" not in verdict_blocks(replace(verdict, results=(shown,)))["privacy"]
    through = PassingFigures(("w",), 3, RowShares(0.0, 0.5, 1.0))
    assert verdict_blocks(replace(verdict, passing=through))["risk"]["passing"] == through.block()


def test_the_peak_of_memory_is_in_megabytes_and_above_the_limit_a_warning(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\n")
    assert 30 < report["memory"]["peak_mb"] < 30_000
    for limit, shown in ((180_140_000, 180.1), (10**13, 10**7)):
        report = report_of(tmp_path, "privacy: {k: 2}\n", memory_limit=limit)
        memory, warned = report["memory"], any("--memory-limit: the process" in each for each in report["warnings"])
        assert memory["limit_mb"] == shown and warned is (memory["peak_mb"] > memory["limit_mb"])


@pytest.mark.parametrize("is_sorted", [True, False])
def test_what_the_order_tells(is_sorted: bool) -> None:
    narrowed = NarrowedAttribute("age", "ascending", None, 0.25, 0.5)
    order = OrderVerdict(is_sorted, not is_sorted, () if is_sorted else (narrowed,), (), 8, 2, 1)
    block = verdict_blocks(Verdict(8, 0, (), {}, {}, order=order))["privacy"]["order"]
    if is_sorted:
        assert block == {"sorted": True, "judged": False, "position": "tells nothing", "attributes": {}}
        return
    assert (block["sorted"], block["judged"], block["position"]) == (False, True, "not bounded")
    figures = {"direction": "ascending", "within": None, "exact_as_shown": 0.25, "exact": 0.5}
    assert block["attributes"] == {"age": figures}
    assert (block["singled_out"], block["singled_out_rows"], block["models"]) == (0.25, 2, [])


def test_an_order_that_narrows_nothing_has_no_figures() -> None:
    block = verdict_blocks(Verdict(8, 0, (), {}, {}, order=OrderVerdict(False, True)))["privacy"]["order"]
    assert block == {"sorted": False, "judged": True, "position": "not bounded", "attributes": {}}


ALONE = "age,sex,ill\n" + "1,M,a\n1,M,b\n1,M,c\n8,F,a\n8,F,b\n8,F,c\n" + "40,X,a\n"
"""Two classes of three rows, and a row that is in none."""


def suppressed(folder: Path, content: str, rest: str = "") -> dict[str, Any]:
    """The report of a release by datafly, in which classes of fewer than three rows are suppressed."""
    (folder / "t.csv").write_text(content)
    quasi = "quasi_identifiers: {age: {type: numeric}, sex: {}}\nsensitive: {ill: {}}\n"
    head = f"version: 1\ninput: {{path: t.csv}}\n{quasi}privacy: {{k: 3, suppression: 0.5}}\n"
    (folder / "s.yaml").write_text(head + rest)
    loaded = load(folder / "s.yaml", PARAMETERS)
    return release(Request(loaded, "datafly", ALGORITHMS["datafly"].Options(), output=str(folder / "o.csv")))


def test_cells_of_suppressed_rows_are_counted_where_they_are_published(tmp_path: Path) -> None:
    output = suppressed(tmp_path, ALONE + "50,Y,b\n60,Z,c\n")["output"]
    counts = ("rows", "suppressed_rows", "dropped_rows", "suppressed_cells")
    assert [output[name] for name in counts] == [9, 3, 0, 6]


def test_cells_that_say_nothing_are_counted_in_rows_that_are_kept(tmp_path: Path) -> None:
    output = suppressed(tmp_path, "age,sex,ill\n1,M,a\n1,F,b\n1,X,c\n1,Y,a\n")["output"]
    assert (output["suppressed_rows"], output["suppressed_cells"]) == (0, 4)


def test_cells_that_say_nothing_are_counted_class_by_class(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,sex\n1,M\n1,M\n1,M\n8,F\n8,M\n8,F\n8,M\n")
    spec = make({**PLAIN, "input": {"path": str(tmp_path / "t.csv")}, "privacy": {"k": 3}}, PARAMETERS)
    options = ALGORITHMS["mondrian"].Options()
    output = release(Request(spec, "mondrian", options, output=str(tmp_path / "o.csv")))["output"]
    assert output["suppressed_cells"] == 4 == (tmp_path / "o.csv").read_text().count("*")


def test_rows_that_are_left_out_for_safety_are_a_warning_and_have_no_cells(tmp_path: Path) -> None:
    report = suppressed(tmp_path, ALONE)
    counts = ("rows", "suppressed_rows", "dropped_rows", "suppressed_cells")
    assert [report["output"][name] for name in counts] == [6, 1, 1, 0]
    (warning,) = (each for each in report["warnings"] if "left out" in each)
    assert warning.startswith("1 suppressed row left out")


def test_rows_that_are_left_out_because_the_spec_says_so_are_no_warning(tmp_path: Path) -> None:
    report = suppressed(tmp_path, ALONE, "output: {suppressed_rows: drop}\n")
    assert report["output"]["dropped_rows"] == 1
    assert not any("left out" in each for each in report["warnings"])


@pytest.mark.parametrize(
    ("order", "seed", "warned"), [("shuffle", 1, True), ("sorted", 1, False), ("shuffle", None, False)]
)
def test_a_shuffle_with_a_seed_is_a_warning(tmp_path: Path, order: str, seed: int | None, warned: bool) -> None:
    report = report_of(tmp_path, f"privacy: {{k: 2}}\noutput: {{row_order: {order}}}\n", seed=seed)
    assert any("can undo the shuffle" in each for each in report["warnings"]) == warned


def test_a_seed_that_nothing_is_drawn_with_is_a_warning() -> None:
    seeded = [
        replace(request_for(spec(output={"row_order": order}), "datafly"), seed=1) for order in ("sorted", "shuffle")
    ]
    seeded.append(replace(request_for(spec(), "anatomy"), seed=1))  # which draws
    assert [any("--seed has no effect" in each for each in unused(request)) for request in seeded] == [
        True,
        False,
        False,
    ]


def test_stages_are_timed_and_the_total_is_no_less() -> None:
    clock = Clock()
    with clock("read"):
        time.sleep(0.002)
    timing = clock.timing()
    assert list(timing) == ["read_s", "search_s", "recode_s", "verify_s", "write_s", "total_s"]
    assert timing["search_s"] == 0 and 0.002 <= timing["read_s"] <= timing["total_s"] < 60
    assert all(seconds == round(seconds, 4) for seconds in timing.values())


@pytest.mark.parametrize(
    ("ages", "output", "hinted"),
    [
        ((-20, -5), {}, True),
        ((-20, 5), {"edges": "tight"}, True),
        ((0, 5), {}, False),
        ((-20, -5), {"interval": "[{low}, {high}]"}, False),
        ((-20, -5), {"numeric": "bounds"}, False),
    ],
)
def test_a_hyphen_before_negative_numbers_is_warned_of(
    tmp_path: Path, ages: tuple[int, int], output: dict[str, str], hinted: bool
) -> None:
    (tmp_path / "table.csv").write_text("age\n" + "".join(f"{age}\n" * 4 for age in range(ages[0], ages[1] + 1)))
    content = {"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}}, "privacy": {"k": 5}, "output": output}
    report = api.release(tmp_path / "table.csv", content, "mondrian").report
    assert any("intervals of negative numbers" in warning for warning in report["warnings"]) is hinted


# --- beside -----------------------------------------------------------------------------------------------------------

OF_A_RUN = ("timing", "started_at", "memory", "output")


def test_bytes_and_report_are_the_same_with_any_number_of_threads(tmp_path: Path) -> None:
    """Of a table that is large enough for threads."""
    random = np.random.default_rng(1)
    rows = PIECE + 1000
    columns = {"age": random.integers(0, 90, rows), "job": random.choice(["cook", "clerk", "nurse"], rows)}
    pl.DataFrame(columns).write_csv(tmp_path / "table.csv")
    one, two = (made(tmp_path, threads) for threads in (1, 2))
    assert one == two
    assert one[0]["marginals"].keys() == {"age"}
    assert one[0]["risk"]["before"]["classes"] == 90 * 3


@pytest.mark.parametrize(("k", "rows", "shown"), [(2, 5, True), (2, 4, False), (6, 5, False), (6, 6, True)])
def test_a_count_of_the_input_stands_for_five_rows_or_k_where_that_is_more(
    tmp_path: Path, k: int, rows: int, shown: bool
) -> None:
    (tmp_path / "table.csv").write_text("age\n" + "20\n" * rows + "60\n" * rows)
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv")}, "privacy": {"k": k}}
    spec = make(content | {"quasi_identifiers": {"age": {"type": "numeric"}}}, PARAMETERS)
    output, path = str(tmp_path / "out.csv"), str(tmp_path / "report.json")
    report = release(Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), output=output, reports=[path]))
    assert [block["before"] for block in report["marginals"].values()] == ([[rows, rows]] if shown else [])


def made(folder: Path, threads: int) -> tuple[dict[str, Any], bytes]:
    """The report, but for what differs from run to run, and the release."""
    content = {"version": 1, "input": {"path": str(folder / "table.csv")}, "privacy": {"k": 1000}}
    spec = make(content | {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}}, PARAMETERS)
    output, report = folder / f"{threads}.csv", folder / f"{threads}.json"
    options = ALGORITHMS["mondrian"].Options()
    release(Request(spec, "mondrian", options, output=str(output), reports=[str(report)], threads=threads))
    block = json.loads(report.read_text())
    return {name: value for name, value in block.items() if name not in OF_A_RUN}, output.read_bytes()
