"""The road of tables: whatever the columns hold, the check counts the same groups anew from the text."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anonymize
from anonymize._tabulate import Tabulate
from anonymize._tabulate import tabulate as walk
from anonymize.errors import DataError, InfeasibleError, SpecError, UnsafeError
from anonymize.key import Key
from anonymize.privacy import PARAMETERS
from anonymize.spec import make

FRAME = pl.DataFrame(
    {
        "whole": [1, 2, None, 3] * 15,
        "decimal": [0.0, -0.0, 0.5, None, 2.25] * 12,
        "truth": [True, False, True] * 20,
        "day": [date(2020, 1, 1 + n % 3) for n in range(60)],
        "age": [n % 30 for n in range(60)],
        "text": ["x ", " x", "É", "É", ""] * 12,
        "pay": [None if n % 7 == 0 else n * 1.25 for n in range(60)],
    }
)
INTERVALS = {"type": "numeric", "hierarchy": {"intervals": [10, 30]}}


@pytest.mark.parametrize(
    ("by", "definition", "groups"),
    [
        ("whole", None, ["1", "2", "3", "", "Total"]),
        ("whole", {"type": "numeric"}, ["1", "2", "3", "", "Total"]),
        ("decimal", None, ["0.0", "0.5", "2.25", "", "Total"]),
        ("truth", None, ["false", "true", "Total"]),
        ("day", {"hierarchy": {"dates": ["month"]}}, ["2020-01-01", "2020-01-02", "2020-01-03", "2020-01", "Total"]),
        ("age", INTERVALS | {"level": 1}, ["[0-9]", "[10-19]", "[20-29]", "[0-29]", "Total"]),
        ("age", INTERVALS | {"levels": {"min": 2}}, ["[0-29]", "Total"]),
        ("age", {"type": "numeric", "bins": [10, 20]}, ["<10", "[10-19]", ">=20", "Total"]),
        ("text", None, ["x", "É", "", "Total"]),
    ],
)
def test_groups_are_the_values_of_a_column_or_the_nodes_of_its_hierarchy(
    by: str, definition: dict[str, Any] | None, groups: list[str]
) -> None:
    measures: list[dict[str, Any]] = [{"count": True}, {"sum": "pay"}, {"mean": "pay"}, {"share": True}]
    spec: dict[str, Any] = {
        "others": "insensitive",
        "tabulate": {
            "mechanism": "suppression",
            "tables": [{"by": [by], **each} for each in measures],
            "suppression": {"minimum": 2},
        },
    }
    spec |= {} if definition is None else {"quasi_identifiers": {by: definition}}
    made = anonymize.tabulate(FRAME, spec)
    counts, sums, means, shares = made.frames.values()
    assert counts[by].to_list() == groups and made.report["privacy"]["satisfied"]
    assert counts["count"][-1] == 60 and shares["share"][-1] == 1
    assert sums["sum"][-1] == pytest.approx(FRAME["pay"].sum())
    assert means["mean"][-1] == round(FRAME["pay"].mean(), 2)  # type: ignore[arg-type]


def test_a_group_that_reads_as_the_total_does() -> None:
    frame = pl.DataFrame({"town": ["Total", "Ulm"] * 20})
    spec = {
        "insensitive": ["town"],
        "tabulate": {"mechanism": "suppression", "tables": [{"by": ["town"], "count": True}]},
    }
    with pytest.raises(anonymize.AnonymizeError, match=r"tabulate\.total"):
        anonymize.tabulate(frame, spec)
    spec["tabulate"]["total"] = "All"  # type: ignore[index]
    assert anonymize.tabulate(frame, spec).frames["table-1-count.csv"]["town"].to_list() == ["Total", "Ulm", "All"]


# --- individuals ------------------------------------------------------------------------------------------------------

STAYS = pl.DataFrame(
    {
        "who": [f"p{n // 2}" for n in range(80)],  # two stays each
        "town": ["Ulm", "Ulm", "Bonn", "Bonn"] * 20,
        "ward": ["A", "B"] * 40,
        "pay": [float(n) for n in range(80)],
    }
)


def tabulated(frame: pl.DataFrame, tables: list[dict[str, Any]], **settings: Any) -> anonymize.ReleasedTables:
    spec = {
        "unit": "who",
        "others": "insensitive",
        "tabulate": {"mechanism": "suppression", "tables": tables, **settings},
    }
    return anonymize.tabulate(frame, spec)


def test_with_a_unit_individuals_are_counted_and_rows_where_that_is_said() -> None:
    tables: list[dict[str, Any]] = [{"by": ["town"], each: True} for each in ("count", "share")]
    tables.append({"by": ["town"], "mean": "pay"})
    made = tabulated(STAYS, tables)
    counts, shares, means = made.frames.values()
    assert counts["count"].to_list() == [20, 20, 40] and shares["share"].to_list() == [0.5, 0.5, 1.0]
    assert means["mean"][-1] == STAYS["pay"].mean() == 39.5
    assert made.report["privacy"]["satisfied"]
    of_rows = tabulated(STAYS, tables, counted="rows")
    assert next(iter(of_rows.frames.values()))["count"].to_list() == [40, 40, 80]


def test_totals_of_individuals_in_several_groups_are_no_sums_and_are_refused() -> None:
    with pytest.raises(DataError, match="column 'ward': 40 individuals in several of its groups") as raised:
        tabulated(STAYS, [{"by": ["town", "ward"], "count": True}])
    assert "counted: rows" in str(raised.value)
    made = tabulated(STAYS, [{"by": ["ward"], "count": True}], counted="rows")
    assert next(iter(made.frames.values()))["count"].to_list() == [40, 40, 80]
    assert tabulated(STAYS, [{"by": ["ward"], "sum": "pay"}]).report["privacy"]["satisfied"]


def test_the_check_finds_rows_counted_in_place_of_individuals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anonymize.spec.tabulation.Tabulation.once", lambda self, unit: False)
    with pytest.raises(UnsafeError, match="are not those of the input"):
        tabulated(STAYS, [{"by": ["town"], "count": True}])


# --- few, blank, merged, rounded --------------------------------------------------------------------------------------


def counts_of(towns: list[str], **settings: Any) -> anonymize.ReleasedTables:
    spec = {
        "others": "insensitive",
        "tabulate": {"mechanism": "suppression", "tables": [{"by": ["town"], "count": True}]},
    }
    spec["tabulate"] |= settings  # type: ignore[operator]
    return anonymize.tabulate(pl.DataFrame({"town": towns}), spec)


def test_fewer_individuals_than_the_minimum_make_no_table() -> None:
    with pytest.raises(InfeasibleError, match="fewer individuals than `minimum: 5` are counted"):
        counts_of(["Ulm"])
    frame = pl.DataFrame({"town": ["Ulm", "Bonn"] * 10, "pay": [1.0, 2.0, *[None] * 18]})
    spec = {
        "others": "insensitive",
        "tabulate": {"mechanism": "suppression", "tables": [{"by": ["town"], "sum": "pay"}]},
    }
    with pytest.raises(InfeasibleError, match="have a number in pay"):
        anonymize.tabulate(frame, spec)
    assert counts_of(["Ulm"], suppression={"zeros": "suppress"}).frames["table-1-count.csv"]["count"].is_null().all()


def test_a_total_of_few_is_blank_as_its_groups_are() -> None:
    frame = pl.DataFrame({"town": ["Ulm"] * 20 + ["Bonn"] * 3, "sex": ["f", "m"] * 10 + ["f", "f", "m"]})
    spec = {
        "others": "insensitive",
        "tabulate": {"mechanism": "suppression", "tables": [{"by": ["town", "sex"], "count": True}]},
    }
    (table,) = anonymize.tabulate(frame, spec).frames.values()
    few = table.filter((pl.col("town") == "Bonn") & (pl.col("sex") == "Total"))
    assert few["count"].to_list() == [None] and few["status"].to_list() == ["suppressed"]


def test_a_table_of_which_hardly_anything_is_left_is_a_warning() -> None:
    made = counts_of([f"t{n}" for n in range(30) for _ in range(1 + n % 4)])
    assert any(each.startswith("table 1 by town: 30 of 31 groups are blank") for each in made.report["warnings"])
    assert not any("are blank" in each for each in counts_of(["Ulm", "Bonn"] * 20).report["warnings"])


def with_blanks(rows: dict[str, list[Any]], tables: list[dict[str, Any]], **rules: Any) -> anonymize.ReleasedTables:
    unit: dict[str, Any] = {"unit": rules.pop("unit")} if "unit" in rules else {}
    counted = {"counted": rules.pop("counted")} if "counted" in rules else {}
    tabulate = {"mechanism": "suppression", "tables": tables, "suppression": rules, **counted}
    return anonymize.tabulate(pl.DataFrame(rows), {"others": "insensitive", "tabulate": tabulate, **unit})


def test_blank_counts_of_one_are_not_given_away_by_their_number() -> None:
    """Every blank group has somebody in it, so that five of them with a total of five have one each."""
    wards = [f"w{n}" for n in range(5)] + ["x"] * 40 + ["y"] * 60
    made = with_blanks({"ward": wards}, [{"by": ["ward"], "count": True}], minimum=5)
    blank = made.frames["table-1-count.csv"].filter(pl.col("count").is_null())
    assert len(blank) > 5
    with pytest.raises(InfeasibleError):
        with_blanks({"ward": [f"w{n}" for n in range(8)]}, [{"by": ["ward"], "count": True}], minimum=5)


def test_counts_are_protected_together_with_those_that_means_have() -> None:
    """A sum over a mean is a count, and a count by others has a total with it in common."""
    sizes = {("a1", "b1"): 2, ("a2", "b1"): 60, ("a3", "b1"): 40, ("a1", "b2"): 14}
    sizes |= {("a1", "b3"): 120, ("a2", "b3"): 150, ("a3", "b3"): 140}
    people = [pair for pair, size in sizes.items() for _ in range(size)]
    rows: dict[str, list[Any]] = {"a": [a for a, _ in people], "b": [b for _, b in people]}
    rows |= {"c": [f"c{n % 2}" for n in range(len(people))], "pay": [100 + n * 7 % 50 for n in range(len(people))]}
    tables: list[dict[str, Any]] = [
        {"by": ["a", "b"], "count": True},
        {"by": ["b", "c"], "mean": "pay"},
        {"by": ["b", "c"], "sum": "pay"},
    ]
    made = with_blanks(rows, tables, minimum=5)
    counts, means, sums = made.frames.values()
    known = means.join(sums, on=["b", "c"]).filter((pl.col("b") == "b1") & (pl.col("c") != "Total"))
    assert counts.filter((pl.col("a") == "a1") & (pl.col("b") == "b1"))["count"].to_list() == [None]
    total = counts.filter((pl.col("a") == "Total") & (pl.col("b") == "b1"))["count"].to_list()
    others = counts.filter(pl.col("a").is_in(["a2", "a3"]) & (pl.col("b") == "b1"))["count"]
    by_means = known["pay_sum"] / known["pay_mean"] if "pay_sum" in known.columns else known["sum"] / known["mean"]
    assert total == [None] and (others.null_count() or by_means.null_count())


def test_a_mean_of_nobody_among_few_is_blank_and_says_nothing_of_them() -> None:
    sizes = {("x", "u"): 3, ("x", "v"): 20, ("y", "u"): 18, ("y", "v"): 25, ("z", "u"): 30, ("z", "v"): 16}
    people = [pair for pair, size in sizes.items() for _ in range(size)]
    pay = [None if pair == ("x", "u") else 100.0 + place for place, pair in enumerate(people)]
    rows: dict[str, list[Any]] = {"a": [a for a, _ in people], "b": [b for _, b in people], "pay": pay}
    for counted in (["a"], ["a", "b"]):
        made = with_blanks(rows, [{"by": counted, "count": True}, {"by": ["a", "b"], "mean": "pay"}], minimum=5)
        means = made.frames["table-2-mean.csv"].filter((pl.col("a") == "x") & (pl.col("b") == "u"))
        assert means["status"].to_list() == ["suppressed"]


def test_who_is_alone_in_two_blank_groups_cannot_derive_a_third() -> None:
    rows: dict[str, list[Any]] = {"id": ["u1", "u1", "c1"], "ward": ["A", "B", "C"], "pay": [500, 700, 900]}
    for ward in ("D", "E"):
        for n in range(30):
            for key, value in (("id", f"{ward}{n}"), ("ward", ward), ("pay", 100 + n)):
                rows[key].append(value)
    made = with_blanks(rows, [{"by": ["ward"], "sum": "pay"}], unit="id", minimum=2, p=10)
    frame = made.frames["table-1-sum.csv"]
    blank = frame.filter(pl.col("sum").is_null())["ward"].to_list()
    assert {"A", "B", "C"} < set(blank)


def test_who_is_alone_in_a_count_of_rows_cannot_derive_another() -> None:
    people = [("A", "u1", 7), ("B", "c1", 9), *((w, f"{w}{n}", 2) for w in "DE" for n in range(30))]
    rows: dict[str, list[Any]] = {"ward": [], "id": []}
    for ward, who, many in people:
        rows["ward"] += [ward] * many
        rows["id"] += [who] * many
    made = with_blanks(rows, [{"by": ["ward"], "count": True}], unit="id", counted="rows", minimum=3, p=10)
    frame = made.frames["table-1-count.csv"]
    assert {"A", "B"} < set(frame.filter(pl.col("count").is_null())["ward"].to_list())


def test_sums_alone_cannot_hide_groups_of_nobody() -> None:
    rows: dict[str, list[Any]] = {"a": ["x", "y"] * 20, "pay": [1.0, 2.0] * 20}
    with pytest.raises(SpecError, match="none is by these columns"):
        with_blanks(rows, [{"by": ["a"], "sum": "pay"}], minimum=3, zeros="suppress")
    with_blanks(rows, [{"by": ["a"], "sum": "pay"}, {"by": ["a"], "count": True}], minimum=3, zeros="suppress")


def test_labels_that_read_alike_are_merged_and_counted_in_a_warning() -> None:
    made = counts_of(["Ulm", "Ulm ", "Bonn", "Bonn"] * 10)
    (said,) = (each for each in made.report["warnings"] if "counted with" in each)
    assert said.startswith("town: 1 label reads like another and is counted with it") and "Ulm" not in said
    assert not any("counted with" in each for each in counts_of(["Ulm", "Bonn"] * 20).report["warnings"])


@pytest.mark.parametrize("mechanism", ["suppression", "cell-keys"])
def test_shares_and_means_have_the_decimals_that_are_asked_for(mechanism: str, tmp_path: Path) -> None:
    measures: list[dict[str, Any]] = [{"share": True}, *([{"mean": "pay"}] if mechanism == "suppression" else [])]
    spec = {
        "others": "insensitive",
        "tabulate": {"mechanism": mechanism, "digits": 2, "tables": [{"by": ["whole"], **each} for each in measures]},
    }
    key = tmp_path / "k.key"
    key.write_text(Key(bytes.fromhex("8f1d27c0a3b4956e7f02d8c19ae6534b0d71f8e2c6a95b3417e0d4826b9f3ca5")).text)
    key.chmod(0o600)
    made = anonymize.tabulate(FRAME, spec, key=str(key) if mechanism == "cell-keys" else None)
    for table, measure in zip(made.frames.values(), ("share", "mean"), strict=False):
        assert table.columns == ["whole", measure, "status"]
        assert (table[measure].drop_nulls() == table[measure].drop_nulls().round(2)).all()
    assert made.report["privacy"]["satisfied"] and made.report["tabulation"]["tables"][0]["digits"] == 2


def walked(folder: Path, table: str, tables: list[dict[str, Any]], **spec: Any) -> tuple[list[list[str]], Any]:
    """The lines of each table of a CSV that is tabulated, and the report."""
    (folder / "t.csv").write_text(table)
    content = {"version": 1, "others": "insensitive", "tabulate": {"mechanism": "suppression", "tables": tables}}
    content |= spec | {"input": {"path": str(folder / "t.csv"), **spec.get("input", {})}}
    report = walk(Tabulate(make(content, PARAMETERS), str(folder / "out"), force=True))
    written = [(folder / "out" / each["file"]).read_text().splitlines() for each in report["tabulation"]["tables"]]
    return written, report


@pytest.mark.parametrize(
    ("pay", "mean", "digits"),
    [(["30000", "30001", "30003"], "30001", 0), (["1", "2", "2"], "1.667", 3), (["0.1", "0.2", "0.2"], "0.1667", 4)],
)
def test_figures_have_as_many_decimals_as_a_reader_wants(
    tmp_path: Path, pay: list[str], mean: str, digits: int
) -> None:
    table = "\n".join(["town,pay", *(f"{town},{each}" for each in pay * 10 for town in ("Ulm", "Bonn"))]) + "\n"
    tables: list[dict[str, Any]] = [{"by": ["town"], "mean": "pay"}, {"by": ["town"], "share": True}]
    (means, shares), report = walked(tmp_path, table, tables)
    assert means[1:] == [f"{town},{mean},published" for town in ("Bonn", "Ulm", "Total")]
    assert shares[1:] == ["Bonn,0.500,published", "Ulm,0.500,published", "Total,1.000,published"]
    assert [each["digits"] for each in report["tabulation"]["tables"]] == [digits, 3]


def test_small_shares_keep_two_digits_and_those_that_are_blank_decide_nothing(tmp_path: Path) -> None:
    towns = [("Ulm", 9985), ("Bern", 9), ("Bonn", 3), ("Rom", 3)]
    table = "town\n" + "".join(f"{town}\n" * size for town, size in towns)
    ((*_, bern, bonn, _, _, _),), report = walked(tmp_path, table, [{"by": ["town"], "share": True}])
    assert bern == "Bern,0.00090,published" and bonn == "Bonn,,suppressed" and report["privacy"]["satisfied"]


def test_what_was_read_with_commas_is_written_with_commas(tmp_path: Path) -> None:
    lines = [f"{town};{n},5" for n in range(20) for town in ("Ulm", "Bonn")]
    spec: dict[str, Any] = {
        "input": {"separator": ";"},
        "sensitive": {"pay": {"type": "numeric", "decimal": ","}},
    }
    tables: list[dict[str, Any]] = [{"by": ["town"], each: "pay"} for each in ("mean", "sum")]
    tables.append({"by": ["town"], "share": True})
    written, report = walked(tmp_path, "\n".join(["town;pay", *lines]) + "\n", tables, **spec)
    assert [each[1] for each in written] == ["Bonn;10,00;published", "Bonn;200;published", "Bonn;0,500;published"]
    assert report["privacy"]["satisfied"]
    made = anonymize.tabulate(
        str(tmp_path / "t.csv"),
        spec | {"others": "insensitive", "tabulate": {"mechanism": "suppression", "tables": tables}},
    )
    assert made.manifest["decimal"] == "," and made.frames["table-3-share.csv"]["share"].to_list() == [0.5, 0.5, 1.0]


@pytest.mark.parametrize("mechanism", ["suppression", "dp"])
@pytest.mark.parametrize("column", ["rows", "count", "those with pay", "pay present"])
def test_a_column_may_be_called_as_a_count_is(column: str, mechanism: str) -> None:
    frame = pl.DataFrame({"town": ["Ulm", "Bonn"] * 20, column: [float(n % 7) for n in range(40)], "pay": [1.0] * 40})
    tables: list[dict[str, Any]] = [{"by": ["town"], "count": True}]
    tables += [{"by": ["town"], measure: name} for name in (column, "pay") for measure in ("sum", "mean")]
    bounds = {name: {"low": 0, "high": 8} for name in (column, "pay")}
    spec: dict[str, Any] = {"others": "insensitive", "tabulate": {"mechanism": mechanism, "tables": tables}}
    if mechanism == "dp":
        spec |= {"domains": bounds | {"town": ["Ulm", "Bonn"]}}
        spec |= {"privacy": {"differential": {"epsilon": 1000, "delta": 1e-6}}}
    made = anonymize.tabulate(frame, spec)
    counts, sums, *_ = made.frames.values()
    assert counts["count"][-1] == pytest.approx(40, abs=2) and made.report["privacy"]["satisfied"]
    assert sums["sum"][-1] == pytest.approx(frame[column].sum(), abs=5)


def test_the_bytes_of_sums_do_not_depend_on_blank_ones(tmp_path: Path) -> None:
    written = []
    for number, pay in enumerate((9.0, 9.5)):
        towns = ["Ulm"] * 30 + ["Bonn"] * 30 + ["Bern"] * 3 + ["Rom"] * 3
        pays = [1.0, 2.0, 3.0] * 20 + [pay, 8.0, 7.0] + [9.0, 8.0, 16.0 - pay]
        table = tmp_path / f"{number}.csv"
        pl.DataFrame({"town": towns, "pay": pays}).write_csv(table)
        spec = {
            "version": 1,
            "input": {"path": str(table)},
            "others": "insensitive",
            "tabulate": {"mechanism": "suppression", "tables": [{"by": ["town"], "sum": "pay"}]},
        }
        walk(Tabulate(make(spec, PARAMETERS), str(tmp_path / f"out{number}")))
        written.append((tmp_path / f"out{number}" / "table-1-sum.csv").read_bytes())
    assert written[0] == written[1] and b"Ulm,60,published" in written[0] and b"Rom,,suppressed" in written[0]


def test_long_sums_read_the_same_whatever_other_rows_have(tmp_path: Path) -> None:
    """Thirteen digits and more, beside a number with a fraction or without; whole numbers beyond 2^53 together."""
    written = []
    for other in ("9", "9.25", "9.1234567"):
        lines = [f"Ulm,{1234567890120 + n}" for n in range(10)] + ["Bonn,700000000000001"] * 20 + [f"Bern,{other}"] * 7
        (sums,), report = walked(tmp_path, "\n".join(["town,pay", *lines]) + "\n", [{"by": ["town"], "sum": "pay"}])
        assert report["privacy"]["satisfied"]
        written.append([each.replace(".0,", ",") for each in sums if each.startswith(("Ulm", "Bonn"))])
    assert written[0] == written[1] == written[2]
    assert written[0][1] == "Ulm,12345678901245,published"
