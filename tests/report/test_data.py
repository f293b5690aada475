"""The report as data: what depends on the spec and the request alone, and the warnings."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import PARAMETERS, requirements
from anonymize.release import release
from anonymize.report.data import order_warnings, required_k, unused, verdict_blocks
from anonymize.request import Request
from anonymize.spec import Spec, load, make
from anonymize.verify import Verdict

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
    assert unused(request_for(spec(**given), "datafly")) == [f"in the spec, but without effect on datafly: {part}"]
    assert part not in "".join(unused(request_for(spec(**given), user)))


@pytest.mark.parametrize("workload", [{"targets": ["age"]}, {"selections": [{"sex": {"in": ["M"]}}]}])
def test_targets_or_selections_alone_are_a_workload(workload: dict[str, Any]) -> None:
    (warning,) = unused(request_for(spec(workload=workload), "datafly"))
    assert warning.endswith(": workload")


def test_a_level_alone_counts_as_much_as_bins() -> None:
    given = of_age(level=1, hierarchy={"intervals": [10]})
    assert "level or bins" in unused(request_for(spec(**given), "datafly"))[0]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_spec_that_says_no_more_than_it_must_has_no_part_without_effect(algorithm: str) -> None:
    assert unused(request_for(spec(), algorithm)) == []


def test_all_parts_are_in_one_warning() -> None:
    given = of_sex(rules=[{"keep_apart": ["M", "F"], "importance": 1}], identifying="yes")
    (warning,) = unused(request_for(spec(**given), "datafly"))
    assert warning.endswith("rules, identifying")


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
    assert report_of(tmp_path, rest)["warnings"] == [warning]


def test_output_of_numbers_is_no_concern_of_a_table_without_any(tmp_path: Path) -> None:
    rest = "privacy: {k: 2}\noutput: {row_order: shuffle, numeric: mean, edges: rounded}\n"
    assert report_of(tmp_path, rest, numeric=False)["warnings"] == []


def test_output_as_it_is_by_default_is_not_a_warning(tmp_path: Path) -> None:
    assert report_of(tmp_path, "privacy: {k: 2}\noutput: {row_order: shuffle}\n")["warnings"] == []


def test_a_value_that_reads_as_a_suppressed_cell_is_a_warning(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\noutput: {row_order: shuffle, suppressed: M}\n")
    assert report["warnings"] == ["a value of sex reads as a suppressed cell does: choose another output.suppressed"]


def test_rows_in_the_order_of_the_input_are_a_warning_of_the_report(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\noutput: {row_order: keep}\n")
    assert report["warnings"] == order_warnings(spec(output={"row_order": "keep"}))


def test_classes_that_share_their_levels_have_a_precision(tmp_path: Path) -> None:
    assert report_of(tmp_path, "privacy: {k: 2}\n")["utility"]["precision"] == 1


def test_settings_say_where_they_come_from(tmp_path: Path) -> None:
    models = "[{model: t-closeness, t: 0.9}, {model: t-closeness, attribute: ill, t: 0.8}]"
    settings = report_of(tmp_path, f"privacy: {{k: 2, models: {models}}}\n")["settings"]
    assert settings == {"k": {"value": 2, "from": "spec"}, "suppression": {"value": 0.0, "from": "default"}}
    settings = report_of(tmp_path, "privacy: {l: 2, models: [{model: t-closeness, t: 0.9}]}\n")["settings"]
    assert settings["l"] == {"value": 2, "from": "spec"} and settings["t"] == {"value": 0.9, "from": "spec"}


def test_a_public_report_is_made_where_it_is_asked_for(tmp_path: Path) -> None:
    report = report_of(tmp_path, "privacy: {k: 2}\n", public=True)
    assert report["public"] and report["spec"].keys() == {"sha256"} and "input" not in report
    assert report_of(tmp_path, "privacy: {k: 2}\n")["spec"]["path"] == str(tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("privacy", "k"),
    [
        ({"k": 3}, 3),
        ({"k": 2, "models": [{"model": "alpha-k-anonymity", "alpha": 0.9, "k": 7}]}, 7),
        ({"l": 4}, 4),
        ({}, 1),
    ],
)
def test_the_k_that_is_required_is_the_largest_or_the_fewest_rows_that_a_class_may_have(
    privacy: dict[str, Any], k: int
) -> None:
    given = spec(sensitive={"ill": {}}, privacy=privacy or {"k": 1})
    assert required_k(requirements(given) if privacy else ()) == k


def test_a_verdict_without_requirements_is_not_a_verdict() -> None:
    verdict = Verdict(rows=3, results=(), classes={"count": 1}, risk={"uniques": 0}, suppressed_rows=0)
    blocks = verdict_blocks(verdict)
    assert blocks["privacy"]["satisfied"] is None and blocks["privacy"]["missing"] == "own-category"
    assert blocks["classes"] == {"count": 1} and blocks["risk"] == {"uniques": 0}
