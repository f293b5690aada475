"""The figures that are measured from a release's text are those of the report that came with it."""

from __future__ import annotations

import json
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize._evaluate import Evaluate, evaluate
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, reads_workload
from anonymize.errors import DataError, InfeasibleError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import load, make
from tests.common.budgets import CLASSED, options_of
from tests.common.tables import Case, cases, maskable

FROM_WIDTHS = ("gcp", "ncp", "ncp_weighted", "loss")
FROM_ROWS = ("discernibility", "c_avg", "suppression")
FROM_LEVELS = ("precision", "research_value")


def variations() -> list[Any]:
    """(algorithm, options): the default, and each flag or choice that makes another kind of recoding; of those whose
    releases have equivalence classes."""
    classed = {name: ALGORITHMS[name] for name in CLASSED}
    flags = [(name, each.name) for name in classed for each in fields(classed[name].Options) if each.default is False]
    plain = [pytest.param(name, {}, id=name) for name in classed]
    return [*plain, *(pytest.param(name, {flag: True}, id=f"{name} {flag}") for name, flag in flags)]


@pytest.mark.parametrize(("algorithm", "options"), variations())
def test_figures_equal_those_of_the_report(algorithm: str, options: dict[str, Any]) -> None:
    module, masked = ALGORITHMS[algorithm], "mask_minimality" in options
    needs = replace(module.NEEDS, target=reads_workload(module, module.Options(**options)) and module.NEEDS.target)
    needs = replace(needs, units=needs.units and not masked, target=needs.target and not masked)

    @settings(max_examples=max(settings().max_examples // 16, 1))
    @given(cases(needs), st.sampled_from(["node", "set", "bounds"]), st.sampled_from(["csv", "parquet"]), st.booleans())
    def check(case: Case, categorical: str, suffix: str, linked: bool) -> None:
        case = maskable(case) if masked else case
        case.spec["output"]["categorical"] = categorical
        with tempfile.TemporaryDirectory() as name:
            check_case(case, Path(name), algorithm, options, suffix, linked=linked)

    check()


def check_case(case: Case, folder: Path, algorithm: str, options: dict[str, Any], suffix: str, *, linked: bool) -> None:
    module = ALGORITHMS[algorithm]
    spec = load(case.write(folder), PARAMETERS)
    output, path = str(folder / f"out.{suffix}"), folder / "report.json"
    link = str(folder / "link.json") if linked else None
    request = Request(
        spec,
        algorithm,
        options_of(algorithm, **options),
        output=output,
        reports=[str(path)],
        seed=5,
        allow_unsafe=not module.NEEDS.guarantees or spec.output.row_order == "keep",
        save_link=link,
    )
    try:
        release(request)
    except InfeasibleError:
        return
    report = json.loads(path.read_text(encoding="utf-8"))
    found = evaluate(Evaluate(spec, output, queries=5, link=link))
    assert found["rows_correspond"] or not linked
    numeric = [name for name, definition in spec.quasi_identifiers.items() if definition.type == "numeric"]
    categorical = [name for name in spec.quasi_identifiers if name not in numeric]
    if null_of_two_meanings(case, Path(output), numeric):
        check_bounds(found, report, case.spec["output"], categorical)
    else:
        check_report(found, report, case.spec["output"], categorical, spec.unit is not None)


def null_of_two_meanings(case: Case, output: Path, numeric: list[str]) -> bool:
    """Whether a column of numbers has nulls that may be missing or suppressed, and none beside it that tells which."""
    if output.suffix == ".csv":
        return False
    frame, none = pl.read_parquet(output), set(case.spec["input"]["missing"])
    for name in numeric:
        ends = [frame[end] for end in (name, f"{name}_low", f"{name}_high") if end in frame.columns]
        blank = np.all([end.is_null() & end.dtype.is_numeric() for end in ends], axis=0)
        cells = {row[case.header.index(name)] for row in case.rows}
        if blank.any() and cells & none and f"{name}_missing" not in frame.columns:
            return True
    return False


def check_bounds(found: dict[str, Any], report: dict[str, Any], output: dict[str, Any], categorical: list[str]) -> None:
    """Such a null is taken for what has lost more: figures are no better than those of the report, and the same where
    no number is counted."""
    for name in ("rows", "dropped_rows", "sha256"):
        assert found["output"][name] == report["output"][name]
    everything_hidden = found["classes"]["count"] == 1 and found["utility"]["gcp"] == 1
    assert found["output"]["suppressed_rows"] >= report["output"]["suppressed_rows"] or everything_hidden
    for name in FROM_WIDTHS if output["numeric"] not in ("mean", "median") or exact(report, found) else ():
        measured, told = found["utility"][name], report["utility"][name]
        assert measured is None or told is None or measured >= told - 1e-9
    if found["output"]["suppressed_rows"] == report["output"]["suppressed_rows"]:
        for name in categorical:
            own, told = found["utility"]["attributes"][name], report["utility"]["attributes"][name]
            assert own == pytest.approx(told | {"ncp_set": own["ncp_set"]})


def check_report(
    found: dict[str, Any], report: dict[str, Any], output: dict[str, Any], categorical: list[str], unit: bool
) -> None:
    told, measured = report["utility"], found["utility"]
    assert {name: found["output"][name] for name in ("rows", "suppressed_rows", "dropped_rows", "sha256")} == {
        name: report["output"][name] for name in ("rows", "suppressed_rows", "dropped_rows", "sha256")
    }
    sizes = ("count",) if unit else ("count", "min_size", "mean_size", "max_size")  # a release withholds whom it counts
    assert any("rows are counted, not individuals" in warning for warning in found["warnings"]) == unit
    assert {name: found["classes"][name] for name in sizes} == pytest.approx({n: report["classes"][n] for n in sizes})
    assert unit or found["classes"].get("sizes") == report["classes"].get("sizes")
    assert {name: measured[name] for name in FROM_ROWS} == pytest.approx({name: told[name] for name in FROM_ROWS})
    for name in FROM_LEVELS:
        assert measured[name] is None or told[name] is None or measured[name] == pytest.approx(told[name])
    if any("two meanings" in warning for warning in found["warnings"]):
        return
    if output["numeric"] in ("mean", "median") and not exact(report, found):
        own = {name: measured["attributes"][name] for name in categorical}
        known = {name: told["attributes"][name] | {"ncp_set": own[name]["ncp_set"]} for name in categorical}
        assert all(own[name] == pytest.approx(figures) for name, figures in known.items())
        return
    if "gcp" in found["left_out"]:
        assert output["numeric"] in ("mean", "median") and not found["rows_correspond"]
        return
    assert {name: measured[name] for name in FROM_WIDTHS} == pytest.approx({name: told[name] for name in FROM_WIDTHS})
    for name, figures in told["attributes"].items():
        of_sets = measured["attributes"][name]["ncp_set"]  # None without sets: classes that were found are not told
        assert of_sets is None or figures["ncp_set"] is None or of_sets == pytest.approx(figures["ncp_set"])
        assert measured["attributes"][name] == pytest.approx(figures | {"ncp_set": of_sets})


def exact(report: dict[str, Any], found: dict[str, Any]) -> bool:
    """Whether the rows of a class that shows one number span what the report counts: no classes were put together
    because they read alike, and no value of the rows is hidden behind an interval of the whole column."""
    recoding = report["recoding"]
    own = recoding["kind"] == "regions" and recoding["regions"] == found["classes"]["count"]
    return bool(own or recoding["kind"] == "levels")


@pytest.mark.parametrize("numeric", ["mean", "median", "bounds"])
def test_a_mean_that_would_read_as_missing(tmp_path: Path, numeric: str) -> None:
    """The mean of 98 and 100 is not 99, which means missing: it is 99.0."""
    (tmp_path / "table.csv").write_text("age,ill\n98,a\n100,b\n99,a\n99,b\n", encoding="utf-8")
    given = {
        "version": 1,
        "input": {"path": str(tmp_path / "table.csv"), "missing": ["99"]},
        "quasi_identifiers": {"age": {"type": "numeric"}},
        "sensitive": ["ill"],
        "privacy": {"k": 2},
        "output": {"numeric": numeric, "edges": "tight"},
    }
    spec, output, path = make(given, PARAMETERS), str(tmp_path / "out.csv"), tmp_path / "report.json"
    options, link = ALGORITHMS["mondrian"].Options(), str(tmp_path / "link.json")
    release(Request(spec, "mondrian", options, output=output, reports=[str(path)], save_link=link))
    shown = {"bounds": ["98,100", "98,100", "99,99", "99,99"]}.get(numeric, ["99", "99", "99.0", "99.0"])
    rows = Path(output).read_text(encoding="utf-8").splitlines()[1:]
    assert rows == [f"{cells},{ill}" for cells, ill in zip(shown, "abab", strict=True)]
    told = json.loads(path.read_text(encoding="utf-8"))
    found = evaluate(Evaluate(spec, output, queries=5, link=link))
    assert found["utility"]["gcp"] == told["utility"]["gcp"] == 0.5


@pytest.mark.parametrize("threads", [1, 2])
def test_original_and_release_are_read_alike_by_any_number_of_threads(tmp_path: Path, threads: int) -> None:
    """A release with nulls and two columns that show the same texts; then both files are broken, and the original's
    problem is raised."""
    content = {"version": 1, "input": {"path": str(tmp_path / "table.csv")}, "privacy": {"k": 1}}
    content |= {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}}
    spec = make(content, PARAMETERS)
    (tmp_path / "table.csv").write_text("age,job\n31,cook\n34,cook\n,clerk\n58,\n")
    (tmp_path / "released.csv").write_text("age,job\n[31-34],cook\n[31-34],cook\n,clerk\n58,\n")
    request = Evaluate(spec, str(tmp_path / "released.csv"), queries=20, threads=threads)
    report = evaluate(request)
    assert report["classes"]["count"] == 3
    assert report["output"]["rows"] == report["input"]["rows"] == 4
    assert report["utility"]["gcp"] == pytest.approx(2 * (3 / 27) / 8)  # two of eight cells span 3 of 27 years
    (tmp_path / "table.csv").write_text("age,job\n31,cook,more\n")
    (tmp_path / "released.csv").write_text("age,job\n31,cook,more\n")
    with pytest.raises(DataError, match=r"table\.csv"):
        evaluate(request)
