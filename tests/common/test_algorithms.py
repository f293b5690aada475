"""What every registered algorithm must pass, with its default options and with each choice of each option.

A new algorithm needs nothing here: it is covered by being in the registry. What releases no equivalence classes, by its
family, has checks of its own in `test_unclassed.py`.
"""

from __future__ import annotations

import inspect
import json
import math
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize._recode import Recode, recode
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, mondrian, reads_workload, recommended, why_not_reusable
from anonymize.algorithms.lattice.scores import PAYOUT
from anonymize.errors import InfeasibleError, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import load
from tests.common.budgets import CHANGES_VALUES, CLASSED, LIMITED
from tests.common.oracle import Truth, demands, whole_table_fails
from tests.common.tables import Case, cases, maskable, played

PART = 1 / 8
"""The share of the profile's examples that each check gets."""
ALONE = ("datafly", "mingen", "mu-argus", "samarati", "bug")
"""Searches that know nothing of threads, for which `incognito` and `tds` stand: what reads and writes is the same."""
CHANGING = ("started_at", "timing", "memory")
UNCLASSED: dict[str, tuple[str, dict[str, Any]]] = {
    "bucketization": ("l: 2", {"joined": True}),
    "randomization": ("l: 2", {}),
}
"""Families without equivalence classes, what their privacy can be, and how one file is made."""

ROWS = {"top-down": 2_600, "bottom-up": 2_600, "k-optimize": 2_600}
"""Rows of several batches, of 1,024 each; the blocks of refinement, which are larger, have their own test."""


def variations() -> list[Any]:
    """(algorithm, options that are not the default, share of the examples): none, then each other choice of each
    option; the more choices an option has, the fewer examples of each."""
    found = [pytest.param(name, LIMITED.get(name, {}), 1, id=name) for name in CLASSED]
    for name, algorithm in ((name, ALGORITHMS[name]) for name in CLASSED):
        for field in fields(algorithm.Options):
            choices = [True, False] if isinstance(field.default, bool) else field.metadata["choices"] or ()
            others = [choice for choice in choices if choice != field.default]
            share = min(0.2, 0.5 / max(len(others), 1))
            found += [
                pytest.param(name, {**LIMITED.get(name, {}), field.name: each}, share, id=f"{name} {field.name}={each}")
                for each in others
            ]
    return found


def request_of(case: Case, folder: Path, algorithm: str, options: dict[str, Any], threads: int) -> Request:
    """A release written as `out.csv` with `report.json` beside it."""
    return Request(
        load(case.write(folder), PARAMETERS),
        algorithm,
        ALGORITHMS[algorithm].Options(**options),
        output=str(folder / "out.csv"),
        reports=[str(folder / "report.json")],
        seed=5,
        threads=threads,
        force=True,
        # In the input's order the classes are judged by what the order tells as well; here, by what they show.
        allow_unsafe=not ALGORITHMS[algorithm].NEEDS.guarantees or case.spec["output"]["row_order"] == "keep",
    )


def released(case: Case, folder: Path, algorithm: str, options: dict[str, Any], threads: int) -> bytes | None:
    """The release; None where it is refused as infeasible."""
    request = request_of(case, folder, algorithm, options, threads)
    before = sorted(folder.iterdir())
    try:
        release(request)
    except InfeasibleError:
        assert sorted(folder.iterdir()) == before
        return None
    assert {path.name for path in folder.iterdir()} == {path.name for path in before} | {"out.csv", "report.json"}
    return (folder / "out.csv").read_bytes()


@pytest.mark.parametrize(("algorithm", "options", "share"), variations())
def test_common_checks(algorithm: str, options: dict[str, Any], share: float) -> None:
    module = ALGORITHMS[algorithm]

    @settings(max_examples=max(int(settings().max_examples * share * PART), 1))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        masked = options.get("mask_minimality", False)
        reads = reads_workload(module, module.Options(**options)) and not masked
        needs = replace(module.NEEDS, units=module.NEEDS.units and not masked)
        if module in (mondrian, recommended):  # targets of either kind, selections, or neither
            case = data.draw(cases(needs, workload=reads and (bool(options) or data.draw(st.booleans()))))
        else:
            case = data.draw(cases(replace(needs, target=reads)))
        if options.get("metric") == PAYOUT:
            case = played(case)
        if masked:
            case = maskable(case)
        with tempfile.TemporaryDirectory() as name:
            check_case(case, Path(name), algorithm, options)

    check()


def check_case(case: Case, folder: Path, algorithm: str, options: dict[str, Any]) -> None:
    first = released(case, folder, algorithm, options, threads=1)
    if first is None:
        # Masked, there is nothing to fall back on where classes read as suppressed: to fall back would tell something.
        assert options.get("mask_minimality", False) or whole_table_fails(case.spec, folder)
        return
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    truth = Truth(case.spec, folder, folder / "out.csv", report["recoding"]["kind"])
    check_rows(truth, report)
    check_privacy(truth, report, ALGORITHMS[algorithm].NEEDS.guarantees)
    check_utility(truth, report)
    assert not list(truth.wrong_cells())
    check_reuse(request_of(case, folder, algorithm, options, threads=3), folder, first, report)


def check_reuse(request: Request, folder: Path, first: bytes, report: dict[str, Any]) -> None:
    """Released again, with other threads, and saved where that can be, bytes and report are the same. A saved recoding
    gives the rows that it was made from what they read in the release, and calls none of them outside but those that
    were suppressed; a recoding that is no function of the values is not saved."""
    local = why_not_reusable(ALGORITHMS[request.algorithm], request.options)
    saving = replace(request, save_recoding=str(folder / "recoding.json"))
    try:
        release(saving)
    except UsageError as error:
        assert local or ("cannot be saved" in str(error) and report["recoding"]["suppressed_rows"])
        assert not (folder / "recoding.json").exists()
        release(request)
        check_same(folder, first, report)
        return
    assert local is None
    check_same(folder, first, report)
    again = str(folder / "again.csv")
    found = recode(Recode(str(saving.save_recoding), str(folder / "table.csv"), again, seed=5))
    assert Path(again).read_bytes() == first
    outside = dict(found["outside"])
    assert outside.pop("rows") == outside.pop("suppressed") == outside.pop("suppressed_class")
    assert not any(outside[name] for name in outside if name != "attributes")


def check_same(folder: Path, first: bytes, report: dict[str, Any]) -> None:
    """What was released again is what was released first."""
    assert (folder / "out.csv").read_bytes() == first
    again = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert {key: again[key] for key in again if key not in CHANGING} == {
        key: report[key] for key in report if key not in CHANGING
    }


def check_rows(truth: Truth, report: dict[str, Any]) -> None:
    """Columns and rows are all there; what passes through is the same text."""
    assert truth.shown_header == truth.expected_header()
    assert len(set(truth.origin)) == len(truth.origin)
    assert truth.dropped == report["output"]["dropped_rows"] <= report["output"]["suppressed_rows"]
    limit = truth.spec["privacy"]["suppression"] * len(truth.rows) + 1e-9
    assert max(report["recoding"]["suppressed_rows"], report["output"]["suppressed_rows"]) <= limit
    assert report["output"]["rows"] == len(truth.shown)
    hidden = len(truth.classes.get(truth.suppressed, []))
    assert report["output"]["suppressed_rows"] == truth.dropped + hidden
    quasi = [truth.columns_of(name)[0] for name in truth.spec["quasi_identifiers"]]
    shown = sum(truth.cells(name).count(truth.output["suppressed"]) for name in quasi)
    assert report["output"]["suppressed_cells"] == shown
    if truth.output["row_order"] == "keep":
        assert truth.origin == sorted(truth.origin)
    assert truth.output["row_order"] != "sorted" or truth.in_order()
    for name in truth.header:
        if name not in (*truth.spec["quasi_identifiers"], *truth.spec["identifiers"], truth.spec.get("unit")):
            assert truth.cells(name) == truth.originals(name)


def check_privacy(truth: Truth, report: dict[str, Any], guaranteed: bool) -> None:
    """Every class meets every model, and the report says what they reach."""
    wanted = demands(truth.spec)
    assert [(m["model"], m["attribute"], m["required"]) for m in report["privacy"]["models"]] == [
        (demand.model, demand.attribute, demand.given) for demand in wanted
    ]
    for demand, told in zip(wanted, report["privacy"]["models"], strict=True):
        if not demand.known:
            assert told["satisfied"] or not guaranteed
            continue
        figures = truth.reached(demand)
        if demand.model == "sample-uniqueness":
            figures = [sum(figures) / max(sum(map(truth.size, truth.classes.values())), 1)]
        assert told["satisfied"] == all(map(demand.met, figures))
        assert told["satisfied"] or not guaranteed
        worst = (max if demand.upper else min)(figures, default=None)
        for name, figure in truth.parameters(demand) if demand.several else [(demand.parameter, worst)]:
            assert told["achieved"][name] == (None if figure in (None, math.inf) else pytest.approx(figure))
    sizes = truth.sizes
    assert {name: report["classes"][name] for name in ("count", "min_size", "mean_size", "max_size")} == {
        "count": len(sizes),
        "min_size": min(sizes, default=None),
        "mean_size": pytest.approx(sum(sizes) / len(sizes)) if sizes else None,
        "max_size": max(sizes, default=None),
    }
    risk = truth.risk()
    assert {name: report["risk"][name] for name in risk} == pytest.approx(risk)


def check_utility(truth: Truth, report: dict[str, Any]) -> None:
    """The information loss; the cells' own where the release shows all of it."""
    sizes = [len(rows) for key, rows in truth.classes.items() if key != truth.suppressed]
    lost = report["output"]["suppressed_rows"]
    assert report["utility"]["discernibility"] == sum(size**2 for size in sizes) + len(truth.rows) * lost
    assert report["utility"]["suppression"] == pytest.approx(lost / len(truth.rows))
    if sizes and "k" in truth.spec["privacy"] and "models" not in truth.spec["privacy"]:
        assert report["utility"]["c_avg"] == pytest.approx(sum(sizes) / len(sizes) / truth.spec["privacy"]["k"])
    cells = len(truth.rows) * len(truth.spec["quasi_identifiers"])
    assert report["utility"]["gcp"] == pytest.approx(report["utility"]["ncp"] / cells)
    plain = truth.output["numeric"] in ("interval", "bounds")
    tight = truth.output["edges"] == "tight"
    if truth.kind == "levels" or (truth.kind == "single-dimensional" and plain and tight):
        least, most = truth.ncp_bounds()
        assert least - 1e-9 * (1 + least) <= report["utility"]["ncp"] <= most + 1e-9 * (1 + most)
    elif plain and truth.kind == "regions":
        assert math.isclose(report["utility"]["ncp"], truth.ncp(), rel_tol=1e-9, abs_tol=1e-9)


def test_what_is_left_out_there_knows_nothing_of_threads() -> None:
    for name in ALONE:
        assert "threads" not in inspect.getsource(cast(ModuleType, ALGORITHMS[name]))


def written(algorithm: str, folder: Path, options: dict[str, Any], threads: int) -> bytes:
    """A release of the table of a folder."""
    spec, output = load(folder / "spec.yaml", PARAMETERS), folder / "out.csv"
    made = ALGORITHMS[algorithm].Options(**options)
    release(Request(spec, algorithm, made, output=str(output), seed=5, threads=threads, force=True))
    return output.read_bytes()


@pytest.fixture(scope="module")
def single() -> Iterator[ProcessPoolExecutor]:
    """A process whose polars has one thread, which it has to know before it is imported."""
    with pytest.MonkeyPatch.context() as patched, ProcessPoolExecutor(1, get_context("spawn")) as pool:
        patched.setenv("POLARS_MAX_THREADS", "1")
        assert pool.submit(pl.thread_pool_size).result() == 1
        yield pool


@cache
def several_batches(count: int) -> str:
    """A table of so many rows."""
    rows = [f"{n * 7919 % 97},{n * 104729 % 89:03},{n * 31 % 5},{n * 17 % 7},{n % 11 > 4}" for n in range(count)]
    return "\n".join(["age,zip,job,ill,goal", *rows]) + "\n"


@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in (*CHANGES_VALUES, *ALONE)])
def test_threads_do_not_show_in_a_table_of_several_batches(
    algorithm: str, tmp_path: Path, single: ProcessPoolExecutor
) -> None:
    """One thread, polars' own included, against several."""
    module = ALGORITHMS[algorithm]
    privacy, more = UNCLASSED.get(module.NEEDS.family.name, ("k: 50, l: 2", {}))
    refines = "passes" in {field.name for field in fields(module.Options)}
    count = ROWS.get(algorithm, 132_000)
    (tmp_path / "table.csv").write_text(several_batches(count), encoding="utf-8")
    (tmp_path / "spec.yaml").write_text(
        "{version: 1, quasi_identifiers: {age: {type: numeric}, zip: {hierarchy: {mask: right}},"
        " job: {hierarchy: {mask: right}}}, sensitive: {ill: {}}, privacy: {" + privacy + "},"
        " input: {path: table.csv}, workload: {targets: [goal]}}",
        encoding="utf-8",
    )
    limits = ({"passes": 1, "sweeps": 1} if refines else {}) | LIMITED.get(algorithm, {})
    alone = single.submit(written, algorithm, tmp_path, limits | more, 1).result()
    assert written(algorithm, tmp_path, limits | more, 3) == alone
    assert alone.count(b"\n") == count + 1
