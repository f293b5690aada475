"""Tables under differential privacy: groups of the public domain, totals that agree, and what is spent."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize._tabulate import Tabulate, tabulate
from anonymize.dp.mechanisms import rho_of
from anonymize.errors import AnonymizeError, DataError, InfeasibleError, SpecError, UnsafeError, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.report.rendering import markdown
from anonymize.spec import make
from anonymize.spec.model import EpsilonDelta
from anonymize.spec.tabulation import TabulatedMeasure
from anonymize.tabulating.cells import TableGrid
from anonymize.tabulating.private import PublicBounds, _swamped, levels_of, run
from anonymize.tabulating.written import ShownTable
from tests.tabulating.systems import flat

pytest.importorskip("opendp")


# --- what is measured -------------------------------------------------------------------------------------------------


def test_what_two_tables_need_is_measured_once() -> None:
    grid = TableGrid((flat("a", np.arange(2)), flat("b", np.arange(2))))
    plan = levels_of(grid, {"count": [("a", "b"), ("b",)]})
    assert sorted(each.columns for each in plan) == [(), (("a", 0),), (("a", 0), ("b", 0)), (("b", 0),)]


# --- tables -----------------------------------------------------------------------------------------------------------

SPEC: dict[str, Any] = {
    "version": 1,
    "quasi_identifiers": {"age": {"type": "numeric", "bins": [30, 50]}, "sex": {}},
    "sensitive": {"wage": {"type": "numeric"}},
    "insensitive": ["id"],
    "domains": {"sex": ["M", "F", "X"], "wage": {"low": 0, "high": 1000}, "age": {"missing": False}},
    "privacy": {"differential": {"epsilon": 20, "delta": 1e-6}},
}
TABLES = [
    {"by": ["sex", "age"], "count": True},
    {"by": ["sex"], "count": True},
    {"by": ["sex"], "mean": "wage"},
    {"by": ["age"], "sum": "wage"},
]


def spec_of(folder: Path, tables: Any = TABLES, **more: Any) -> Any:
    lines = [f"{n // 4},{20 + n % 40},{'MF'[n % 2]},{100 + n % 3 * 100}" for n in range(400)]
    if not (folder / "t.csv").exists():
        (folder / "t.csv").write_text("id,age,sex,wage\n" + "\n".join(lines) + "\n")
    block = {"mechanism": "dp", "tables": tables} | more.pop("tabulate", {})
    return make(SPEC | {"input": {"path": str(folder / "t.csv")}, "tabulate": block} | more, PARAMETERS)


def made(folder: Path, spec: Any) -> tuple[list[dict[tuple[str, ...], float | None]], dict[str, Any], dict[str, Any]]:
    report = tabulate(Tabulate(spec, str(folder / "out"), force=True))
    manifest = json.loads((folder / "out/manifest.json").read_text())
    tables: list[dict[tuple[str, ...], float | None]] = []
    for each in manifest["files"]:
        with (folder / "out" / each["name"]).open(newline="") as file:
            rows = list(csv.reader(file))[1:]
        tables.append({tuple(row[:-3]): float(row[-3]) if row[-3] else None for row in rows})
    return tables, manifest, report


def test_the_budget_is_spent_and_no_more(tmp_path: Path) -> None:
    _, manifest, report = made(tmp_path, spec_of(tmp_path))
    rho = sum(each["rho"] for each in manifest["measurements"])
    assert rho == pytest.approx(manifest["differential"]["rho"], rel=1e-6) and rho <= manifest["differential"]["rho"]
    model = report["privacy"]["models"][0]
    assert (model["model"], model["basis"], model["satisfied"]) == ("differential-privacy", "derived", True)
    assert model["achieved"]["epsilon"] == pytest.approx(20, rel=1e-6)


def test_counts_are_whole_and_totals_agree_within_tables_and_between_them(tmp_path: Path) -> None:
    (both, sexes, _, sums), _, _ = made(tmp_path, spec_of(tmp_path))
    assert all(value == int(value or 0) >= 0 for value in both.values())
    for sex in ("M", "F", "X", ""):
        assert both[sex, "Total"] == sum(float(both[sex, age] or 0) for age in ("<30", "[30-49]", ">=50"))
        assert sexes[sex,] == both[sex, "Total"]
    assert sums["Total",] == pytest.approx(sum(float(sums[age,] or 0) for age in ("<30", "[30-49]", ">=50")), rel=1e-12)


def test_rounded_sums_agree_between_tables(tmp_path: Path) -> None:
    """As what was drawn differs from run to run, each run has many totals of odd parts: digits leave some to round."""
    by = [["sex", "age"], ["age"], ["sex"]]
    (both, ages, sexes), _, _ = made(tmp_path, spec_of(tmp_path, [{"by": each, "sum": "wage"} for each in by]))
    for age in ("<30", "[30-49]", ">=50", "Total"):
        assert both["Total", age] == ages[age,]
        assert ages[age,] == pytest.approx(sum(float(both[sex, age] or 0) for sex in ("M", "F", "X", "")), abs=1e-6)
    assert all(both[sex, "Total"] == sexes[sex,] for sex in ("M", "F", "X", ""))


def test_groups_are_those_of_the_domain_whatever_the_table_has(tmp_path: Path) -> None:
    (_, sexes, *_), _, _ = made(tmp_path, spec_of(tmp_path))
    assert list(sexes) == [("M",), ("F",), ("X",), ("",), ("Total",)]


def test_noise_is_what_it_is_said_to_be(tmp_path: Path) -> None:
    """What was drawn lies about the true counts as far as its sigma says, and two runs differ. Of 101 draws one is
    beyond 7 sigma once in 10^9 runs, and their spread outside of the bounds once in 10^14."""
    domains, private = (
        SPEC["domains"] | {"sex": [f"{n}" for n in range(98)] + ["M", "F"]},
        {"epsilon": 0.5, "delta": 1e-6},
    )
    spec = spec_of(tmp_path, [{"by": ["sex"], "count": True}], domains=domains, privacy={"differential": private})
    true = np.array([0] * 98 + [200, 200, 0])
    first, second = (
        next(
            (np.array(each["values"]), each["sigma"])
            for each in made(tmp_path, spec)[1]["measurements"]
            if each["levels"]
        )
        for _ in range(2)
    )
    away = (first[0] - true) / first[1]
    assert np.abs(away).max() < 7 and 0.5 < away.std() < 1.6 and (first[0] != second[0]).any()


def test_how_far_off_figures_may_be_is_said_of_each_table(tmp_path: Path) -> None:
    _, manifest, report = made(tmp_path, spec_of(tmp_path, [*TABLES, {"by": ["sex"], "share": True}]))
    sigma = {each["measure"]: each["sigma"] for each in manifest["measurements"]}
    noise = [each["noise_sd"] for each in manifest["files"]]
    assert noise == [each["noise_sd"] for each in report["tabulation"]["tables"]]
    step = 1000 / (1 << 20)
    of_sum = ((sigma["wage"] * step) ** 2 + (500 * sigma["wage present"]) ** 2) ** 0.5
    assert noise[:4] == pytest.approx([sigma["rows"], sigma["rows"], of_sum, of_sum], rel=1e-4)
    assert noise[4] == pytest.approx(sigma["rows"] / 400, rel=0.2)
    assert "| noise sd |" in markdown(report)


@pytest.mark.parametrize(("public", "most"), [(False, 3), (True, 3), (False, 4)])
def test_rows_that_do_not_count_are_a_warning_of_private_reports(tmp_path: Path, public: bool, most: int) -> None:
    more = {"unit": "id", "insensitive": [], "tabulate": {"counted": "rows", "dp": {"rows_per_unit": most}}}
    spec = spec_of(tmp_path, [{"by": ["sex"], "count": True}], **more)
    report = tabulate(Tabulate(spec, str(tmp_path / "out"), public=public))
    said = [each for each in report["warnings"] if "rows were left out" in each]
    assert len(said) == (not public and most == 3) and all(each.startswith("rows_per_unit: 100 rows") for each in said)


def test_of_one_individual_so_many_rows_count(tmp_path: Path) -> None:
    more = {"unit": "id", "insensitive": [], "tabulate": {"counted": "rows", "dp": {"rows_per_unit": 3}}}
    spec = spec_of(tmp_path, [{"by": ["sex"], "count": True}], **more)
    (sexes,), manifest, report = made(tmp_path, spec)
    assert abs(float(sexes["Total",] or 0) - 300) < 40  # 100 individuals with 4 rows each
    assert manifest["individual"] == "id" and manifest["rows_per_unit"] == 3
    assert report["tabulation"]["private"]["rows_left_out"] == 100
    assert {each["sensitivity"] for each in manifest["measurements"]} == {3} and manifest["counted"] == "rows"


def test_individuals_are_counted_by_one_row_of_each(tmp_path: Path) -> None:
    more = {"unit": "id", "insensitive": []}
    (sexes,), manifest, report = made(tmp_path, spec_of(tmp_path, [{"by": ["sex"], "count": True}], **more))
    assert abs(float(sexes["Total",] or 0) - 100) < 40 and manifest["counted"] == "individuals"
    assert report["tabulation"]["private"]["rows_left_out"] == 300
    (said,) = [each for each in report["warnings"] if "rows were left out" in each]
    assert "`tabulate: {counted: rows, dp: {rows_per_unit: 2}}`" in said
    spec_of(
        tmp_path, [{"by": ["sex"], "count": True}], **more, tabulate={"counted": "rows", "dp": {"rows_per_unit": 2}}
    )
    with pytest.raises(SpecError, match="one of several rows may be in several groups"):
        spec_of(tmp_path, [{"by": ["sex"], "count": True}], **more, tabulate={"dp": {"rows_per_unit": 2}})


def test_a_margin_stands_beside_each_figure_and_figures_have_its_decimals(tmp_path: Path) -> None:
    _, manifest, _ = made(tmp_path, spec_of(tmp_path))
    sigma = {each["measure"]: each["sigma"] for each in manifest["measurements"]}
    for entry in manifest["files"]:
        with (tmp_path / "out" / entry["name"]).open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert list(rows[0])[-3:] == [entry["measure"], "status", "margin_95"]
        margins = [float(row["margin_95"]) for row in rows if row["margin_95"]]
        if entry["measure"] == "count":
            assert margins == pytest.approx([1.96 * sigma["rows"]] * len(rows), rel=0.01)
        if entry["measure"] in ("share", "mean"):
            texts = [row[entry["measure"]] for row in rows if row["status"] == "published"]
            assert max(len(text.partition(".")[2]) for text in texts) <= max(entry["digits"], 1)
            assert 10.0 ** -entry["digits"] <= min(margins) <= 100 * 10.0 ** -entry["digits"]


@pytest.mark.parametrize("digits", [0, 1, None])
def test_rounded_tables_pass_their_own_check(tmp_path: Path, digits: int | None) -> None:
    tables = [{"by": ["sex", "age"], "share": True}, {"by": ["age"], "mean": "wage"}, {"by": ["age"], "sum": "wage"}]
    spec = spec_of(tmp_path, tables, tabulate={} if digits is None else {"digits": digits})
    _, _, report = made(tmp_path, spec)
    assert report["privacy"]["state"] == "met"


@pytest.mark.parametrize(("epsilon", "more", "swamped"), [(20, "", False), (0.001, "ABCDEGH", True)])
@pytest.mark.parametrize("public", [False, True])
def test_a_table_that_noise_swamps_is_a_warning(
    tmp_path: Path, epsilon: float, more: str, swamped: bool, public: bool
) -> None:
    """The median of the counts of 11 values is less than a fifth of the total, which would have to be off by more than
    10 standard deviations."""
    privacy = {"differential": {"epsilon": epsilon, "delta": 1e-9}}
    domains = SPEC["domains"] | {"sex": list("MFX" + more)}
    spec = spec_of(tmp_path, [{"by": ["sex"], "count": True}], privacy=privacy, domains=domains)
    report = tabulate(Tabulate(spec, str(tmp_path / "out"), public=public))
    said = [each for each in report["warnings"] if "noise swamps it" in each]
    assert len(said) == swamped
    assert all(each.startswith("table 1 by sex: noise swamps it, as margin_95 is above its") for each in said)


def shown_means(values: list[float | None], margins: list[float | None]) -> ShownTable:
    return ShownTable(TabulatedMeasure(by=("sex",), mean="wage"), values, margins=margins)


def test_means_whose_margin_is_wider_than_the_bounds_are_counted() -> None:
    bounds = {"wage": PublicBounds(0, 100)}
    spent = EpsilonDelta(epsilon=1.0, delta=1e-6)
    (said,) = _swamped([shown_means([50.0, 20.0, None], [101.0, 99.0, None])], bounds, spent)
    assert said.startswith("table 1 by sex: noise swamps it, as margin_95 of 1 of 2 means is wider than the bounds")
    assert not list(_swamped([shown_means([50.0, None], [99.0, None])], bounds, spent))
    (wider,) = _swamped([shown_means([50.0, 20.0], [400.0, 400.0])], bounds, spent)
    proposed = float(re.search(r"epsilon: ([0-9.]+)}", str(wider))[1])  # type: ignore[index]
    assert rho_of(proposed, 1e-6) / rho_of(1.0, 1e-6) == pytest.approx(16, rel=0.02)


def test_a_mean_lies_within_the_bounds_and_one_of_nobody_is_blank(tmp_path: Path) -> None:
    (_, _, means, _), _, _ = made(tmp_path, spec_of(tmp_path))
    assert all(mean is None or 0 <= mean <= 1000 for mean in means.values())
    assert means["Total",] == pytest.approx(200, abs=20)


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (
            {"domains": {"sex": ["F", "X"], "wage": {"low": 0, "high": 9}}},
            DataError,
            "csv:2: column 'sex': 200 rows have",
        ),
        ({"domains": {"wage": {"low": 0, "high": 9}}}, SpecError, "'sex' has no public domain"),
        ({"domains": {"sex": ["M", "F"]}}, SpecError, "'wage' is summed, and has no public bounds"),
        ({"privacy": {}}, UsageError, "`privacy.differential` is missing"),
    ],
)
def test_what_is_not_public_is_refused(
    tmp_path: Path, change: dict[str, Any], kind: type[AnonymizeError], says: str
) -> None:
    with pytest.raises(kind, match=says):
        made(tmp_path, spec_of(tmp_path, **change))
    assert not (tmp_path / "out").exists()


def test_nothing_is_drawn_where_the_budget_is_spent(tmp_path: Path) -> None:
    """What charges comes before the first draw, and may raise."""
    from anonymize.table import Source, read
    from anonymize.tabulating.counting import reading
    from anonymize.tabulating.private import public_grid

    spec, charged = spec_of(tmp_path), list[float]()

    def charge(rho: float) -> None:
        charged.append(rho)
        raise InfeasibleError("the budget is spent")

    with Source.open(spec) as source:
        own = reading(spec, spec.tabulate)
        table = read(own, source)
        with pytest.raises(InfeasibleError):
            run(spec, spec.tabulate, public_grid(own, spec.tabulate, table), table, None, charge)
    assert len(charged) == 1 and charged[0] > 0


def test_other_mechanisms_do_not_meet_it(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, [{"by": ["sex"], "count": True}], tabulate={"mechanism": "suppression"})
    with pytest.raises(UnsafeError, match="differential"):
        made(tmp_path, spec)


def test_totals_over_a_hierarchy_s_file_however_values_are_written(tmp_path: Path) -> None:
    """Leaves are those of the file, as the file writes them, whether they occur or not."""
    (tmp_path / "town.csv").write_text("Ulm ;South;*\nBonn;West;*\nKöln;West;*\n")
    (tmp_path / "t.csv").write_text("town\n" + "Ulm\n" * 40 + " Ulm\n" * 50 + "Bonn\n" * 30)
    content = {
        "version": 1,
        "input": {"path": str(tmp_path / "t.csv")},
        "quasi_identifiers": {"town": {"hierarchy": str(tmp_path / "town.csv")}},
        "domains": {"town": {"missing": False}},
        "privacy": {"differential": {"epsilon": 20, "delta": 1e-6}},
        "tabulate": {"mechanism": "dp", "tables": [{"by": ["town"], "count": True}]},
    }
    (towns,), _, _ = made(tmp_path, make(content, PARAMETERS))
    assert list(towns) == [("Ulm",), ("Bonn",), ("Köln",), ("South",), ("West",), ("Total",)]
    assert towns["West",] == float(towns["Bonn",] or 0) + float(towns["Köln",] or 0)
    assert float(towns["Ulm",] or 0) == pytest.approx(90, abs=12)
