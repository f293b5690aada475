"""Steps of every release: what is charged to the ledger of its people (once, before anything takes its place; nothing
on a dry run), and when the columns that follow from quasi-identifiers are looked for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anonymize
from anonymize.algorithms import ALGORITHMS
from anonymize.cli.main import run
from anonymize.dp.ledger import contents
from anonymize.errors import InfeasibleError, UnsafeError, UsageError
from anonymize.families.steps import MANY_ROWS, deriving
from anonymize.parallel import SMALL
from anonymize.privacy import PARAMETERS
from anonymize.report.rendering import markdown
from anonymize.request import Request
from anonymize.spec import make
from anonymize.table import Source, read

TABLE = pl.DataFrame({"age": [30, 31, 40, 41] * 3, "ill": ["flu", "gout", "cold"] * 4, "who": [*"aabbccddeeff"]})
SPEC: dict[str, Any] = {
    "quasi_identifiers": {"age": {"type": "numeric"}},
    "sensitive": {"ill": {}},
    "identifiers": ["who"],
    "privacy": {"k": 3},
    "budget": {"epsilon": 4, "delta": 1e-8},
}
MATRIX = {"flu": {"flu": 0.5, "gout": 0.25, "cold": 0.25}, "gout": {"flu": 0.25, "gout": 0.5, "cold": 0.25}}
PRAM = {"method": "pram", "columns": ["ill"], "matrix": MATRIX | {"cold": {"flu": 0.25, "gout": 0.25, "cold": 0.5}}}
PERTURBED = {name: value for name, value in SPEC.items() if name not in ("sensitive", "privacy")}


def charges(key: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = contents(key.with_name("ledger"), key)["list"]
    return listed


def released(key: Path, spec: dict[str, Any], algorithm: str, **more: Any) -> dict[str, Any]:
    made = anonymize.release(TABLE, spec, algorithm, budget=key.with_name("ledger"), key=key, **more)
    return dict(made.report)


@pytest.mark.parametrize(
    ("algorithm", "spec", "local"),
    [
        ("mondrian", SPEC, None),
        ("anatomy", SPEC | {"privacy": {"l": 2}}, None),
        (
            "perturb",
            PERTURBED | {"insensitive": ["ill"], "treatments": [PRAM]},
            {"ill": pytest.approx(0.693, abs=1e-3)},
        ),
        (
            "randomize",
            SPEC | {"privacy": {"models": [{"model": "local-dp", "epsilon": 1}]}},
            {"ill": pytest.approx(1, abs=1e-3)},
        ),
    ],
)
def test_every_release_is_charged(key: Path, algorithm: str, spec: dict[str, Any], local: Any) -> None:
    report = released(key, spec, algorithm)
    (charge,) = charges(key)
    assert (charge["what"], charge.get("local"), charge["individual"]) == (algorithm, local, "row")
    assert report["budget"]["charge"]["input"] == charge["input"] == report["input"]["sha256"]
    assert report["budget"]["charged"] is True and report["budget"]["spent"]["epsilon"] == 0
    assert report["budget"]["said"].startswith("listed in the ledger, not summed: ")
    assert not any("charged" in each or "listed" in each for each in report["warnings"])
    assert "budget: listed in the ledger, not summed: " in markdown(report).replace("*", "")


def test_a_release_in_individuals_is_about_the_unit(key: Path) -> None:
    released(key, {**SPEC, "identifiers": [], "unit": "who", "privacy": {"k": 2}}, "mondrian")
    assert charges(key)[0]["individual"] == "who"
    with pytest.raises(UsageError, match="the ledger is about the unit who, and this release about rows"):
        released(key, SPEC, "mondrian")
    assert len(charges(key)) == 1


def test_what_is_not_safe_is_charged_only_where_it_is_written(key: Path) -> None:
    spec = SPEC | {"privacy": {"k": 3, "differential": {"epsilon": 1, "delta": 1e-9}}}
    with pytest.raises(UnsafeError):
        released(key, spec, "mondrian")
    assert not key.with_name("ledger").exists()
    released(key, spec, "mondrian", allow_unsafe=True)
    assert len(charges(key)) == 1


def test_a_public_report_has_nothing_of_the_ledger(key: Path) -> None:
    report = released(key, SPEC, "mondrian", public=True)
    assert len(charges(key)) == 1
    assert "budget" not in report and not any("ledger" in each for each in report["warnings"])


def written(key: Path, *more: str) -> None:
    folder = key.parent
    TABLE.write_csv(folder / "table.csv")
    (folder / "spec.yaml").write_text(
        "version: 1\nquasi_identifiers: {age: {type: numeric}}\nsensitive: {ill: {}}\nidentifiers: [who]\n"
        "privacy: {k: 3}\nbudget: {epsilon: 4, delta: 1.0e-8}\n"
    )
    arguments = ["mondrian", f"{folder}/spec.yaml", "-i", f"{folder}/table.csv", "--budget", f"{folder}/ledger"]
    run([*arguments, "--key", str(key), "-q", *more])


def test_a_dry_run_charges_nothing(key: Path) -> None:
    written(key, "--dry-run", "-o", str(key.with_name("out.csv")), "-r", str(key.with_name("report.json")))
    assert sorted(path.name for path in key.parent.iterdir()) == ["key", "report.json", "spec.yaml", "table.csv"]
    assert "would be listed in the ledger, not summed" in key.with_name("report.json").read_text()


@pytest.mark.parametrize("output", ["none/out.csv", "table.csv", "ledger"])
def test_an_output_that_cannot_be_charges_nothing(key: Path, output: str) -> None:
    with pytest.raises(UsageError):
        written(key, "-o", str(key.parent / output))
    assert not key.with_name("ledger").exists()


def test_what_takes_its_place_was_charged_before(key: Path) -> None:
    written(key, "-o", str(key.with_name("out.csv")))
    assert len(charges(key)) == 1
    key.with_name("out.csv").unlink()
    key.with_name("ledger").write_text("{}")
    with pytest.raises(UsageError, match="is not a ledger"):
        written(key, "-o", str(key.with_name("out.csv")))
    assert not key.with_name("out.csv").exists()


# --- what is private --------------------------------------------------------------------------------------------------

INVENTED: dict[str, Any] = {
    "insensitive": ["ill"],
    "identifiers": ["age"],
    "unit": "who",
    "domains": {"ill": ["flu", "gout", "cold"]},
    "synthesize": {"method": "independent"},
    "privacy": {"differential": {"epsilon": 1, "delta": 1e-9}},
    "budget": {"epsilon": 1.2, "delta": 1e-8},
}


def test_a_synthetic_table_is_charged_in_zcdp_for_its_individuals(key: Path) -> None:
    from anonymize.dp.mechanisms import rho_of

    released(key, INVENTED, "synthesize")
    (charge,) = charges(key)
    assert (charge["what"], charge["individual"], charge["epsilon"]) == ("synthesize", "who", 1)
    assert charge["rho"] == rho_of(1, 1e-9)
    with pytest.raises(InfeasibleError, match="the budget is spent"):
        for _ in range(3):
            released(key, INVENTED, "synthesize")


def test_neighbours_of_another_kind_are_not_summed(key: Path) -> None:
    released(key, INVENTED | {"synthesize": {"method": "independent", "count": "public"}}, "synthesize")
    with pytest.raises(UsageError, match="one in place of another, and this release about the unit who"):
        released(key, INVENTED, "synthesize")


TABULATED = """
version: 1
insensitive: [ill]
identifiers: [age, who]
domains: {ill: [flu, gout, cold]}
tabulate: {mechanism: MECHANISM, tables: [{by: [ill], count: true}]}
privacy: {k: 3}
budget: {epsilon: 1.5, delta: 1.0e-8}
"""


def tabulated(key: Path, mechanism: str, *more: str) -> None:
    folder, private = key.parent, "{differential: {epsilon: 1, delta: 1.0e-9}}"
    TABLE.write_csv(folder / "table.csv")
    text = TABULATED.replace("MECHANISM", mechanism)
    (folder / "spec.yaml").write_text(text.replace("{k: 3}", private) if mechanism == "dp" else text)
    arguments = ["tabulate", f"{folder}/spec.yaml", "-i", f"{folder}/table.csv", "-o", f"{folder}/tables", "--force"]
    run([*arguments, "--budget", f"{folder}/ledger", "--key", str(key), "-q", *more])


@pytest.mark.parametrize(("mechanism", "epsilon"), [("dp", 1), ("suppression", None)])
def test_tables_are_charged(key: Path, mechanism: str, epsilon: float | None) -> None:
    tabulated(key, mechanism, "--dry-run")
    assert not key.with_name("ledger").exists() and not key.with_name("tables").exists()
    tabulated(key, mechanism)
    (charge,) = charges(key)
    assert (charge["what"], charge.get("epsilon"), charge["individual"]) == ("tabulate", epsilon, "row")


def test_what_compare_draws_is_charged_and_what_it_throws_away_is_not(key: Path) -> None:
    from anonymize._compare import Compare, compare
    from anonymize.privacy import PARAMETERS
    from anonymize.spec import make

    TABLE.write_csv(key.with_name("table.csv"))
    spec = make({"version": 1, **INVENTED, "identifiers": ["age"]}, PARAMETERS)
    common: dict[str, Any] = {
        "input": str(key.with_name("table.csv")),
        "processes": 0,
        "budget": str(key.with_name("ledger")),
    }
    request = Compare(spec, ["synthesize"], key=str(key), epsilons=(0.25, 0.5), **common)
    assert [each["code"] for each in compare(request)["comparison"]] == [0, 0]
    assert [each["epsilon"] for each in charges(key)] == [0.25, 0.5]
    with pytest.raises(UsageError, match="safepub is not compared"):
        compare(Compare(spec, ["safepub"], key=str(key), **common))


@pytest.mark.parametrize(
    ("rows", "threads", "in_files", "begun"),
    [
        (SMALL + 1, 2, False, True),
        (MANY_ROWS, 2, False, True),
        (SMALL, 2, False, False),
        (MANY_ROWS + 1, 2, False, False),
        (SMALL + 1, 1, False, False),
        (SMALL + 1, 2, True, False),
    ],
)
def test_what_follows_is_looked_for_beside_the_search_where_that_is_worth_its_memory(
    rows: int, threads: int, in_files: bool, begun: bool, tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text("x,y\n" + "".join(f"n{row // 2},c{row // 2}\n" for row in range(40)))
    content = {"version": 1, "quasi_identifiers": {"x": {}}, "insensitive": ["y"], "privacy": {"k": 2}}
    spec = make(content | {"input": {"path": str(tmp_path / "table.csv")}}, PARAMETERS)
    request = Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), threads=threads)
    with Source.open(spec) as source:
        table = replace(read(spec, source), rows=rows, in_files=in_files)
        derivations = deriving(request, source, table)
        assert isinstance(derivations, partial) is not begun
        assert [str(each) for each in derivations()] == ["y follows from x"]
