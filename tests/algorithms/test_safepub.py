"""SafePub: its parameters against the definition, its files against what was drawn, and what it refuses."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import anonymize
from anonymize.algorithms.safepub import NODES, candidates, parameters
from anonymize.cli.main import run
from anonymize.dp.ledger import contents
from anonymize.errors import DataError, InfeasibleError, SpecError, UsageError
from anonymize.report.rendering import markdown
from anonymize.report.section import percent
from anonymize.verify import sampled_spent


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "job.csv").write_text("cook;manual;*\nclerk;office;*\nnurse;care;*\ndean;office;*\n")
    return {
        "quasi_identifiers": {
            "age": {"type": "numeric", "hierarchy": {"intervals": [5, 20]}},
            "sex": {},
            "job": {"hierarchy": tmp_path / "job.csv"},
        },
        "identifiers": ["name"],
        "domains": {"age": {"low": 0, "high": 99}, "sex": ["f", "m"]},
        "privacy": {"differential": {"epsilon": 1, "delta": 1e-5}},
        "budget": {"epsilon": 1.5, "delta": 1e-4},
    }


def people(rows: int = 4000) -> pl.DataFrame:
    random = np.random.default_rng(1)
    drawn = {"age": random.integers(20, 60, rows), "sex": random.choice(["f", "m"], rows)}
    return pl.DataFrame(drawn | {"job": random.choice(["cook", "clerk"], rows), "name": [f"n{i}" for i in range(rows)]})


def released(table: pl.DataFrame, spec: dict[str, Any], **more: Any) -> anonymize.Release:
    return anonymize.release(table, spec, "safepub", **more)


# --- parameters -------------------------------------------------------------------------------------------------------


def by_definition(epsilon: float, k: int, longest: int = 250) -> float:
    """The delta of k: the sums of probabilities themselves, over numbers of rows without rounding."""
    beta = Fraction(-math.expm1(-epsilon))
    gamma = 1 - (1 - beta) * Fraction(math.exp(-epsilon))
    worst = 0.0
    for n in range(max(1, math.ceil(k / gamma - 1)), longest):
        least = math.floor(n * gamma) + 1
        terms = (math.comb(n, j) * float(beta) ** j * float(1 - beta) ** (n - j) for j in range(least, n + 1))
        worst = max(worst, math.fsum(terms))
    return worst


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (math.log(2), 1e-5), (0.5, 1e-3), (2.0, 1e-4)])
def test_k_is_the_smallest_that_the_definition_allows(epsilon: float, delta: float) -> None:
    beta, k = parameters(epsilon, delta)
    assert beta == pytest.approx(1 - math.exp(-epsilon), rel=1e-12)
    assert by_definition(epsilon, k) <= delta < by_definition(epsilon, k - 1)


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"),
    [
        *(
            (1.0, 1e-4, 47),
            (1.0, 1e-5, 61),
            (1.0, 1e-6, 74),
            (math.log(3), 1e-5, 62),
            (0.1, 1e-5, 49),
            (2.0, 1e-9, 200),
        ),
        *((math.log(2), 1e-7, 80), (math.log(3), 1e-8, 108), (1.5, 1e-6, 99), (2.0, 1e-5, 113), (1.0, 1e-8, 104)),
    ],
)
def test_the_check_comes_to_the_same_by_its_own_formulas(epsilon: float, delta: float, k: int) -> None:
    beta, smallest = parameters(epsilon, delta)
    assert smallest == k
    spent, fewer = sampled_spent(0.25, beta, k), sampled_spent(0.25, beta, k - 1)
    assert spent.epsilon == pytest.approx(epsilon + 0.25, rel=1e-12)
    assert spent.delta <= delta < fewer.delta
    if k < 80 and epsilon > 0.5:
        assert spent.delta == pytest.approx(by_definition(epsilon, k), rel=1e-9)


def test_an_epsilon_that_leaves_nothing_to_chance_is_refused() -> None:
    with pytest.raises(UsageError, match="nearly every row is drawn"):
        parameters(20.0, 1e-9)


def test_of_a_large_lattice_the_same_nodes_are_candidates_always() -> None:
    ranges = [range(8)] * 6
    assert candidates(ranges) == candidates(ranges)
    assert candidates(ranges)[-1] == (7,) * 6 and len(candidates(ranges)) <= NODES + 1
    assert len(candidates([range(3), range(1, 3)])) == 6


# --- releases ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("public", [False, True])
def test_what_is_published_is_true_in_classes_of_k_and_met(spec: dict[str, Any], public: bool) -> None:
    table = people()
    made = released(table, spec, public=public)
    frame = made.frame
    assert frame.columns == ["age", "sex", "job"]
    sizes = Counter(frame.iter_rows())
    (model,) = made.report["privacy"]["models"]
    assert (made.report["privacy"]["state"], model["basis"]) == ("met", "derived")
    assert model["achieved"]["epsilon"] == pytest.approx(1) and 0 < model["achieved"]["delta"] <= 1e-5
    assert min(sizes.values()) >= parameters(0.9, 1e-5)[1] and len(frame) < len(table)
    assert set(frame["sex"]) <= {"f", "m", "*"}
    assert set(frame["job"]) <= {"cook", "clerk", "manual", "office", "*"}


def test_rows_that_are_not_published_are_counted_in_private_reports_alone(spec: dict[str, Any]) -> None:
    table = people()
    private, public = (released(table, spec, public=public) for public in (False, True))
    output = private.report["output"]
    assert (output["rows"], output["dropped_rows"]) == (len(private.frame), len(table) - len(private.frame))
    assert "suppressed_rows" not in output and not {"suppressed_rows", "dropped_rows"} & public.report["output"].keys()
    beta, k = parameters(0.9, 1e-5)
    said = f"{percent(beta)}** of the rows; groups below k = {k} are left out"
    assert public.report["recoding"]["k"] == private.report["recoding"]["k"] == k
    for made, shown in ((private, True), (public, False)):
        text = markdown(dict(made.report))
        assert said.replace("**", "") in text.replace("**", "")
        assert ("rows that are not in the release: not drawn" in text) is shown
        assert "suppressed, or were left out" not in text and "0 suppressed" not in text


def test_every_draw_is_another(spec: dict[str, Any]) -> None:
    """Six of 4000 rows at a chance of 0.6 have the same number once in 10^9 runs."""
    table = people()
    assert len({len(released(table, spec).frame) for _ in range(6)}) > 1


def test_a_table_without_large_classes_publishes_nothing(spec: dict[str, Any]) -> None:
    with pytest.raises(InfeasibleError, match="no class has"):
        released(people(40), spec)


def test_what_is_shown_is_a_function_of_the_declared_domain(spec: dict[str, Any]) -> None:
    table = people().with_columns(pl.lit("cook ").alias("job"))
    spec["quasi_identifiers"]["age"]["levels"] = {"min": 2}
    frame = released(table, spec).frame
    assert set(frame["job"]) <= {"cook", "manual", "*"}
    assert set(frame["age"]) <= {"[20-39]", "[40-59]", "*"}


@pytest.mark.parametrize(("column", "value"), [("age", 100), ("age", -1), ("sex", "x"), ("job", "cleaner")])
def test_a_value_outside_its_domain_is_an_error_and_not_shown(spec: dict[str, Any], column: str, value: Any) -> None:
    table = people(100)
    table = table.with_columns(pl.when(pl.int_range(100) == 5).then(pl.lit(value)).otherwise(column).alias(column))
    with pytest.raises(DataError) as raised:
        released(table, spec)
    assert "outside" in str(raised.value) or "not leaves" in str(raised.value)
    assert not isinstance(value, str) or f" {value}" not in str(raised.value)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"privacy": {"k": 5}}, "no `privacy.differential`"),
        ({"identifiers": [], "insensitive": ["name"]}, "column 'name' is insensitive"),
        ({"identifiers": [], "sensitive": {"name": {}}}, "column 'name' is sensitive"),
        ({"identifiers": [], "others": "insensitive"}, "column 'name' is insensitive"),
        ({"identifiers": [], "unit": "name"}, "`unit`"),
        ({"domains": {"sex": ["f", "m"]}}, "no public domain"),
        ({"domains": {"age": {"low": 0, "high": 99}}}, "no public domain"),
        ({"output": {"row_order": "keep"}}, "row_order: keep"),
        ({"output": {"numeric": "mean"}}, "output.numeric"),
    ],
)
def test_what_is_not_covered_is_refused_by_name(spec: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, SpecError)) as raised:
        released(people(50), spec | more)
    assert message in str(raised.value)


@pytest.mark.parametrize("more", [{"seed": 1}, {"memory_limit": 10**9}, {"save_risk": "risk.csv"}, {"bound": True}])
def test_options_are_refused(spec: dict[str, Any], more: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(more)).replace("_", ".")):
        released(people(50), spec, **more)


# --- the ledger -------------------------------------------------------------------------------------------------------


def test_it_is_charged_before_the_first_draw_and_once(spec: dict[str, Any], key: Path) -> None:
    ledger = key.with_name("ledger")
    report = released(people(), spec, budget=ledger, key=key).report
    (charge,) = contents(ledger, key)["list"]
    assert (charge["epsilon"], charge["slack"], charge["input"]) == (1, 1e-5, report["input"]["sha256"])
    assert report["budget"]["left"]["epsilon"] == pytest.approx(0.5)
    with pytest.raises(InfeasibleError, match=r"up to epsilon 0\.5 at delta 1e-05 still fits"):
        released(people(), spec, budget=ledger, key=key)
    assert contents(ledger, key)["charges"] == 1


def test_what_was_drawn_stays_charged_where_nothing_could_be_published(spec: dict[str, Any], key: Path) -> None:
    with pytest.raises(InfeasibleError, match="stays charged"):
        released(people(40), spec, budget=key.with_name("ledger"), key=key)
    assert contents(key.with_name("ledger"), key)["charges"] == 1


def test_what_can_fail_fails_before_the_charge(spec: dict[str, Any], key: Path) -> None:
    with pytest.raises(DataError):
        released(people(50).with_columns(pl.lit(120).alias("age")), spec, budget=key.with_name("ledger"), key=key)
    assert not key.with_name("ledger").exists()


def test_a_dry_run_draws_and_charges_nothing(
    spec: dict[str, Any], key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = key.parent
    people(200).write_csv(folder / "table.csv")
    (folder / "spec.yaml").write_text(json.dumps({"version": 1, **spec}, default=str))
    arguments = ["safepub", f"{folder}/spec.yaml", "-i", f"{folder}/table.csv", "-o", f"{folder}/out.csv", "--dry-run"]
    run([*arguments, "--budget", f"{folder}/ledger", "--key", str(key)])
    assert "would be charged to the ledger: epsilon 1" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["job.csv", "key", "spec.yaml", "table.csv"]
