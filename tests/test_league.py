"""The league: a script of its own reads the losses that were reported, searches are told nothing of what judges them,
what tells most is run first and once, and the page says what the cells say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import anonymize
from anonymize.privacy import PARAMETERS
from anonymize.spec import load

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from league import outside, page, results, run, tables  # noqa: E402

SPEC: dict[str, Any] = {
    "version": 1,
    "input": {"missing": [""], "separator": ";"},
    "quasi_identifiers": {"age": {"type": "numeric"}, "debt": {"type": "numeric", "weight": 3}, "job": {}},
    "sensitive": ["ill"],
    "output": {"edges": "tight"},
}
JOBS = "cook;kitchen;*\nwaiter;kitchen;*\nclerk;office;*\nscribe;office;*\nporter;porter;*\n"


@pytest.mark.parametrize(
    ("algorithm", "suppression", "hierarchy"),
    [
        *(("mondrian", 0.0, True), ("mondrian", 0.2, False)),
        *(("bottom-up", 0.0, False), ("bottom-up", 0.2, True)),
        *(("incognito", 0.0, False), ("incognito", 0.2, True)),
    ],
)
def test_losses_are_what_another_script_reads_in_the_text(
    tmp_path: Path, algorithm: str, suppression: float, hierarchy: bool
) -> None:
    rng, rows = np.random.default_rng(2), 60
    debt = [f"{value:.1f}" if value > -8 else "" for value in rng.normal(0, 9, rows).tolist()]
    jobs = rng.choice(["cook", "waiter", "clerk", "porter"] if hierarchy else ["cook", "clerk", ""], rows)
    columns = [rng.integers(18, 90, rows), debt, jobs, rng.choice(["flu", "cold"], rows)]
    lines = [";".join(map(str, row)) for row in zip(*columns, strict=True)]
    original, spec, released, levels = (
        tmp_path / name for name in ("people.csv", "spec.yaml", "released.csv", "jobs.csv")
    )
    original.write_text("\n".join(["age;debt;job;ill", *lines]) + "\n")
    levels.write_text(JOBS)
    quasi = SPEC["quasi_identifiers"] | ({"job": {"hierarchy": str(levels)}} if hierarchy else {})
    privacy = {"k": 4, "suppression": suppression}
    spec.write_text(yaml.safe_dump(SPEC | {"quasi_identifiers": quasi, "privacy": privacy}))
    utility = anonymize.release(str(original), str(spec), algorithm, output=str(released), seed=1).report["utility"]
    read = outside.losses(spec, original, released)
    assert outside.gcp(spec, original, released) == pytest.approx(utility["gcp"], rel=0, abs=1e-9)
    assert {name: about["ncp"] for name, about in utility["attributes"].items()} == pytest.approx(read, rel=0, abs=1e-9)
    assert outside.weighted(spec, read) == pytest.approx(utility["ncp_weighted"] / (rows * 5), rel=0, abs=1e-9)


@pytest.mark.parametrize("name", tables.tables())
def test_every_table_has_two_specs_that_differ_in_what_judges_alone(tmp_path: Path, name: str) -> None:
    plain, judging = tables.releasing_spec(name), tables.measuring_spec(name)
    plain["privacy"] = {"k": 5}
    release, measures = (
        load(tables.written(spec, tmp_path / "spec.yaml"), PARAMETERS) for spec in (plain, judging | {"version": 1})
    )
    assert {each.weight for each in release.quasi_identifiers.values()} == {1}
    assert not release.workload.target_names and release.quasi_identifiers.keys() == measures.quasi_identifiers.keys()
    assert len({each.weight for each in measures.quasi_identifiers.values()}) > 1
    assert tables.tables()[name]["use"] in page.USES and tables.tables()[name]["licence"]


def test_what_tells_most_is_run_first() -> None:
    order = run.in_order(list(run.MODELS), run.SUPPRESSION, run.KS)
    assert order[:4] == [("k", "0", "5"), ("k", "0", "25"), ("l", "0", "5"), ("l", "0", "25")]
    assert len(set(order)) == len(order) == 4 * 2 * 6
    assert order.index(("t", "0", "5")) < order.index(("t", "0.02", "5")) < order.index(("entropy", "0.02", "50"))
    assert order[-1] == ("entropy", "0.02", "50")


def league(folder: Path, *words: str) -> str:
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "league" / "run.py"),
        str(folder),
        "-o",
        str(folder / "out.json"),
    ]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=True).stderr


def test_a_league_goes_on_where_it_stopped(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    incomes = ("total_family_income", "total_personal_income")
    head = f"rownames,census_year,state_fips_code,{incomes[0]},age,sex,race_general,marital_status,{incomes[1]}"
    rows = [
        f"{row},2000,{'UV'[row % 2]},{row},{rng.integers(20, 60)},{'FM'[row // 2 % 2]},W,S,{rng.integers(9) or ''}"
        for row in range(120)
    ]
    (tmp_path / "census.csv").write_text("\n".join([head, *rows]) + "\n")
    words = ("--only", "census,flchain", "-k", "5", "--models", "k", "--suppression", "0")
    told = league(tmp_path, *words, "--algorithms", "mondrian")
    assert "flchain: there is no such table" in told and "[1 of 1," in told and "1 of 1 made" in told
    first = results.load(tmp_path / "out.json")
    league(tmp_path, *words, "--algorithms", "mondrian,incognito", "-j", "2")
    cells = results.load(tmp_path / "out.json")
    assert cells[:1] == first and [cell["label"] for cell in cells] == ["mondrian", "incognito"]
    mondrian = cells[0]
    assert (mondrian["table"], mondrian["model"], mondrian["suppression"], mondrian["k"]) == ("census", "k", 0, 5)
    assert mondrian["code"] == 0 and mondrian["apart"] < 1e-9 and mondrian["cpu_seconds"] > 0
    assert mondrian["query_error"] is not None and mondrian["accuracy_lost"] is None
    assert mondrian["gcp_weighted"] != mondrian["gcp"]
    assert league(tmp_path, *words, "--minutes", "0") == "flchain: there is no such table, and it is left out\n"
    assert results.load(tmp_path / "out.json") == cells


def cell(table: str, label: str, gcp: float | None, **more: Any) -> dict[str, Any]:
    known = {"model": "k", "suppression": 0.0, "k": 5, "code": 0 if gcp is not None else 4, "gcp": gcp}
    return dict.fromkeys(results.FIELDS) | known | {"table": table, "label": label} | more


CELLS = [
    cell("census", "bottom-up", 0.2, gcp_weighted=0.3, query_error=0.125, cpu_seconds=4.0, apart=0.0),
    cell("census", "datafly", 0.3, gcp_weighted=0.33, query_error=0.5, cpu_seconds=1.0),
    cell("flchain", "bottom-up", 0.402, gcp_weighted=0.2, query_error=0.25, accuracy_lost=0.02, cpu_seconds=6.0),
    cell(
        "flchain", "datafly", 0.4, gcp_weighted=0.2, query_error=0.5, accuracy_lost=0.04, cpu_seconds=2.0, apart=1e-15
    ),
    cell("nhefs", "bottom-up", 0.5, gcp_weighted=0.5),
    cell("nhefs", "datafly", None),
    cell("nhefs", "bottom-up", 0.6, k=10),
]


def test_cells_are_a_line_each_and_are_read_as_they_were(tmp_path: Path) -> None:
    results.save(tmp_path / "results.json", CELLS)
    assert results.load(tmp_path / "results.json") == CELLS
    assert len((tmp_path / "results.json").read_text().splitlines()) == len(CELLS) + 2
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
    results.save(tmp_path / "results.json", [cell("census", "datafly", 1 / 3)])
    assert results.load(tmp_path / "results.json")[0]["gcp"] == 0.333333


def test_the_page_says_what_the_cells_say(tmp_path: Path) -> None:
    results.save(tmp_path / "results.json", CELLS)
    (tmp_path / "bounds.json").write_text(json.dumps({"flchain 5": {"gcp": 0.25}}))
    text = page.page(tmp_path / "results.json", tmp_path / "bounds.json")
    assert "4 lines of 480 were run (k alone 4, distinct l = 3 0" in text
    assert "read 2 releases again: it differs by 1e-15 at most" in text
    tuning, judging, wide = (text.index(f"## All lines of the {name}\n") for name in page.USES.values())
    assert "| datafly | 1 of 1 | 0 | 0 | 50.0 % | 50.0 % | 10.0 % | 0.500 | - | 1.0 |" in text[tuning:judging]
    assert "| bottom-up | 1 of 1 | 0 | 1 | 0.5 % | 0.5 % | 0.0 % | 0.250 | 2.0 | 6.0 |" in text[judging:wide]
    assert "| bottom-up | 2 of 2 | 2 | 2 | 0.0 % |" in text[wide:]
    assert "| datafly | 0 of 1 | 0 | 0 | - | - | - | - | - | - |" in text[wide:]
    assert "| k alone | 0 % | 5 | 0.4020 | **0.4000** | 0.2500 |" in text
    assert "| k alone | 0 % | 5 | **0.5000** | - | - |\n| k alone | 0 % | 10 | **0.6000** |  | - |" in text
    short = page.short(tmp_path / "results.json")
    assert short.startswith("2 lines of 2 tables:\n")
    assert "| `bottom-up` | 2 of 2 | 0.2 % | 0.5 % | 0.188 | 2.0 | 5.0 |" in short


def test_an_algorithm_that_loses_where_another_loses_nothing_is_above_it() -> None:
    row = {"a": cell("census", "a", 0.0), "b": cell("census", "b", 0.1), "c": cell("census", "c", None)}
    assert [page.excess([row], label) for label in "abc"] == [[0.0], [1.0], []]


def test_the_page_has_what_rounded_ends_cost(tmp_path: Path) -> None:
    losses = {"census 5 mondrian": [0.2, 0.3], "census 5 release": [0.1, 0.1], "flchain 5 mondrian": [0.2, 0.22]}
    (tmp_path / "rounded.json").write_text(json.dumps(losses))
    written = page.page(tmp_path / "results.json", None, tmp_path / "rounded.json")
    assert "median is 30.0 % for `mondrian` and 0.0 % for `release`." in written
    assert "| census | 5 | 0.2000, +50.0 % | 0.1000, +0.0 % |\n| flchain | 5 | 0.2000, +10.0 % |  |" in written


def test_the_page_has_losses_and_seconds_by_effort(tmp_path: Path) -> None:
    """A line that was not run at each effort is left out."""
    figures = {"census 5 k low": [0.3, 2], "census 5 k high": [0.2, 9], "census 25 l low": [0.5, 3]}
    (tmp_path / "efforts.json").write_text(json.dumps(figures))
    written = page.page(tmp_path / "results.json", efforts_path=tmp_path / "efforts.json")
    assert "| low | 50.0 % | 50.0 % | 2.0 | 2.0 |\n| high | 0.0 % | 0.0 % | 9.0 | 9.0 |" in written
    assert (
        "| census | k alone | 5 | 0.3000, 2.0 s | 0.2000, 9.0 s |" in written and "distinct l = 3 | 25" not in written
    )


def test_the_results_are_of_the_leagues_tables_and_small() -> None:
    path = ROOT / "benchmarks" / "league" / "results.json"
    cells = results.load(path)
    assert {each["table"] for each in cells} <= tables.tables().keys() and path.stat().st_size < 500_000
    assert {each["label"] for each in cells} <= set(run.ALGORITHMS) and {
        each["model"] for each in cells
    } <= run.MODELS.keys()
    assert len({tuple(each[name] for name in (*results.LINE, "label")) for each in cells}) == len(cells)
