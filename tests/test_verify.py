"""The second opinion agrees with the models, and both with a brute force that knows neither numpy nor polars."""

import ast
import csv
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize import privacy, verify
from anonymize.errors import DataError
from anonymize.verify import Check, measure
from tests.examples import some

SHARED = Path(__file__).parents[2] / "shared"
MISSING = ("", "?")
K = Check("k-anonymity", None, {"k": 2})


def table(rows: list[tuple[Any, ...]], *columns: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


# --- three opinions --------------------------------------------------------------------------------------------------

PARAMETERS: dict[str, dict[str, float]] = {
    "k-anonymity": {"k": 2},
    "distinct-l-diversity": {"l": 2},
    "entropy-l-diversity": {"l": 1.5},
    "frequency-l-diversity": {"l": 1.5},
    "recursive-cl-diversity": {"c": 2.0, "l": 2},
    "squared-error-diversity": {"error": 3.0},
}


def by_hand(model: str, values: list[float | None]) -> tuple[float, bool]:
    """The figure of one class from its sensitive values, None for a missing one, and whether it is enough."""
    given, present = PARAMETERS[model], [value for value in values if value is not None]
    counts = sorted(Counter(present).values(), reverse=True)
    shares = [count / len(present) for count in counts]
    rest = sum(counts[int(given.get("l", 1)) - 1 :])
    if model == "recursive-cl-diversity":
        return (counts[0] / rest if rest else math.inf), bool(counts) and counts[0] < given["c"] * rest
    figures: dict[str, Callable[[], float]] = {
        "k-anonymity": lambda: len(values),
        "distinct-l-diversity": lambda: len(counts),
        "entropy-l-diversity": lambda: math.prod(share**-share for share in shares) if shares else 0,
        "frequency-l-diversity": lambda: len(present) / counts[0] if counts else 0,
        "squared-error-diversity": lambda: sum((v - sum(present) / len(present)) ** 2 for v in present),
    }
    figure = figures[model]()
    return figure, figure >= next(iter(given.values())) - 1e-9


def as_groups(rows: list[tuple[Any, ...]]) -> privacy.Groups:
    labels = {key: at for at, key in enumerate(dict.fromkeys(row[:2] for row in rows))}
    kinds = sorted({float(row[2]) for row in rows if row[2] not in (*MISSING, None)})
    codes = [len(kinds) if row[2] in (*MISSING, None) else kinds.index(float(row[2])) for row in rows]
    classes = np.array([labels[row[:2]] for row in rows])
    values = np.array([*kinds, np.nan])
    histogram = privacy.Histogram.from_rows(classes, np.array(codes), len(labels), len(values), len(kinds), values)
    return privacy.Groups(np.bincount(classes), {"s": histogram})


texts = st.sampled_from(["1", "01", "1.0", "", "?", "*", "[1-5]"])
numbers = st.sampled_from(["1", "1.0", "2", " 2.5", "-7", "0", "-0.0", "", "?", None])
tables = st.lists(st.tuples(texts, texts, numbers), min_size=1, max_size=25)


@settings(max_examples=some(60), deadline=None)
@given(rows=tables)
def test_twin_model_and_brute_force_agree(rows: list[tuple[Any, ...]]) -> None:
    classes: dict[tuple[Any, ...], list[float | None]] = defaultdict(list)
    for *key, value in rows:
        classes[tuple(key)].append(None if value in (*MISSING, None) else float(value))
    groups = as_groups(rows)
    attributes = {model: None if model == "k-anonymity" else "s" for model in PARAMETERS}
    checks = [Check(model, attributes[model], given, model != "k-anonymity") for model, given in PARAMETERS.items()]
    for check, twin in zip(
        checks, measure(table(rows, "a", "b", "s"), ["a", "b"], checks, MISSING).results, strict=True
    ):
        parameters = privacy.PARAMETERS[check.model](**check.parameters)
        model = privacy.Assessment(groups, privacy.Requirement(check.model, check.attribute, parameters))
        expected = [by_hand(check.model, values) for values in classes.values()]
        worst = (max if check.model == "recursive-cl-diversity" else min)(figure for figure, _ in expected)
        name = next(iter(check.parameters))
        assert twin.achieved == pytest.approx(model.achieved)
        assert (math.inf if twin.achieved[name] is None else twin.achieved[name]) == pytest.approx(worst)
        failing = [len(rows) for rows, (_, fine) in zip(classes.values(), expected, strict=True) if not fine]
        for found in (twin, model):
            assert (found.failing_classes, found.failing_rows) == (len(failing), sum(failing))
            assert found.satisfied == (not failing)


# --- texts -----------------------------------------------------------------------------------------------------------


def test_leading_zeros_and_spaces_make_other_classes() -> None:
    frame = table([("01234",), ("1234",), ("1234 ",), ("1234.0",)], "zip")
    assert measure(frame, ["zip"], [K]).classes["count"] == 4


def test_a_missing_quasi_identifier_is_a_value() -> None:
    frame = table([("",), ("",), ("5",), ("5",), (None,)], "a")
    assert measure(frame, ["a"], [K], missing=[""]).classes == {
        "count": 2,
        "min_size": 2,
        "mean_size": 2.5,
        "max_size": 3,
    }
    assert measure(frame, ["a"], [K], missing=["?"]).classes["count"] == 3
    assert measure(frame, ["a"], [K], missing=["?"], null_missing=False).classes["count"] == 2


def test_an_empty_field_of_a_csv_is_a_quoted_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,s\n,x\n"",y\n1,x\n1,\n')
    checks = [K, Check("distinct-l-diversity", "s", {"l": 2})]
    found = measure(pl.scan_csv(path, infer_schema=False), ["a"], checks)
    assert [result.achieved for result in found.results] == [{"k": 2}, {"l": 1}]
    listed = measure(pl.scan_csv(path, infer_schema=False), ["a"], checks, ["?"], null_missing=False)
    assert [result.achieved for result in listed.results] == [{"k": 2}, {"l": 2}]


def test_typed_columns_are_measured_as_text() -> None:
    frame = pl.DataFrame({"a": [1, 1, None, None], "b": [True, True, False, False], "s": [1.5, 2.5, None, 4.0]})
    checks = [K, Check("squared-error-diversity", "s", {"error": 0.5}, numeric=True)]
    found = measure(frame, ["a", "b"], checks, ["?"])
    assert [result.achieved for result in found.results] == [{"k": 2}, {"error": 0}]


def test_column_names_clash_with_nothing() -> None:
    names = ["size", "class", "q0", "suppressed"]
    rows = [("1", "2", "3", "4", "x", "y"), ("1", "2", "3", "4", "x", "z"), ("1", "2", "3", "5", "x", "z")]
    checks = [Check("distinct-l-diversity", name, {"l": 1}) for name in ("value", "count")]
    found = measure(table(rows, *names, "value", "count"), names, checks)
    assert found.classes["count"] == 2
    assert [result.achieved["l"] for result in found.results] == [1, 1]


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_numbers_are_told_apart_by_value_and_exactly() -> None:
    rows = [("a", "1e3"), ("a", "1000"), ("a", " 1000.0 "), ("b", "-0.0"), ("b", "0")]
    check = Check("distinct-l-diversity", "s", {"l": 1}, numeric=True)
    assert measure(table(rows, "q", "s"), ["q"], [check]).results[0].achieved == {"l": 1}
    large = [("a", "9007199254740992"), ("a", "9007199254740993")]
    assert measure(table(large, "q", "s"), ["q"], [check]).results[0].achieved == {"l": 2}


@pytest.mark.parametrize("text", ["secret", "nan", "inf", "-inf", "1,5"])
def test_what_is_not_a_number_is_counted_and_not_shown(text: str) -> None:
    check = Check("distinct-l-diversity", "pay", {"l": 1}, numeric=True)
    with pytest.raises(DataError, match="column pay is numeric, and 2 of its values are not numbers") as caught:
        measure(table([("a", text), ("a", "1"), ("a", ""), ("b", text)], "q", "pay"), ["q"], [check])
    assert text not in str(caught.value).replace("pay is numeric", "")


# --- suppressed rows and risk ----------------------------------------------------------------------------------------


def test_one_suppressed_row_that_no_class_covers_is_singled_out() -> None:
    frame = table([("1", "2")] * 3 + [("*", "2")] * 2 + [("*", "*")], "a", "b")
    found = measure(frame, ["a", "b"], [K])
    assert (found.rows, found.suppressed_rows) == (6, 1)
    assert found.classes == {"count": 2, "min_size": 2, "mean_size": 2.5, "max_size": 3}
    assert found.results[0].achieved == {"k": 1} and found.satisfied is False
    assert found.risk["prosecutor_max"] == 1 and found.risk["uniques"] == 1


def test_the_text_of_a_suppressed_cell_is_declared() -> None:
    frame = table([("*",), ("#",), ("#",)], "a")
    assert measure(frame, ["a"], [K], suppressed="#").suppressed_rows == 2


def test_all_rows_suppressed() -> None:
    found = measure(table([("*",)] * 3, "a"), ["a"], [K])
    assert found.classes == {"count": 1, "min_size": 3, "mean_size": 3, "max_size": 3}
    assert found.satisfied is True and found.suppressed_rows == 0
    assert found.blank and [each.text for each in found.cautions] == [
        "every row is suppressed in every quasi-identifier: they contain no information"
    ]


def test_risk_of_arx_example() -> None:
    """ARX's own example, 2-anonymous: average risk 3/7, highest 1/2 (TestRiskMetrics, testAverageRisk and others)."""
    rows = [("<50", "816**")] * 2 + [("<50", "819**")] * 2 + [(">=50", "819**")] * 3
    risk = measure(table(rows, "age", "zipcode"), ["age", "zipcode"], [K], threshold=0.4).risk
    assert risk == {
        "prosecutor_max": 0.5,
        "prosecutor_mean": pytest.approx(0.42857142857142855),
        "journalist_max": 0.5,
        "marketer": pytest.approx(0.42857142857142855),
        "records_at_risk": pytest.approx(4 / 7),
        "uniques": 0,
        "threshold": 0.4,
    }


@pytest.mark.parametrize(("threshold", "share"), [(0.2, 2 / 7), (0.19, 1.0), (0.5, 0.0), (0.49, 2 / 7)])
def test_a_record_is_at_risk_above_the_threshold_not_at_it(threshold: float, share: float) -> None:
    frame = table([("a",)] * 5 + [("b",)] * 2, "q")
    assert measure(frame, ["q"], [], threshold=threshold).risk["records_at_risk"] == pytest.approx(share)


@pytest.mark.skipif(not (SHARED / "oracles" / "arx_risk.json").exists(), reason="the oracle's files are not here")
def test_sample_uniques_of_adult_as_arx_counts_them() -> None:
    cases = json.loads((SHARED / "oracles" / "arx_risk.json").read_text())["cases"]
    found = [case for case in cases if case["measure"] == "sample_uniqueness" and case["dataset"] == "adult.csv"]
    assert found
    for case in found:
        frame = pl.scan_csv(SHARED / "data" / "adult.csv", separator=";", infer_schema=False)
        verdict = measure(frame, case["quasi_identifiers"], [])
        assert verdict.risk["uniques"] == round(case["expected"] * verdict.rows)


# --- judging ---------------------------------------------------------------------------------------------------------


def test_without_parameters_nothing_is_judged() -> None:
    models = ["distinct-l-diversity", "entropy-l-diversity", "frequency-l-diversity"]
    checks = [Check("k-anonymity", None, {}), *(Check(model, "s", {}) for model in models)]
    found = measure(table([("a", "x"), ("a", "y")], "q", "s"), ["q"], checks)
    assert found.satisfied is None
    assert [(r.required, r.satisfied, r.failing_rows) for r in found.results] == [({}, None, 0)] * 4
    assert [next(iter(r.achieved.values())) for r in found.results] == pytest.approx([2, 2, 2, 2])


def test_results_come_in_the_order_of_the_checks_each_of_its_attribute() -> None:
    frame = table([("a", "x", "1"), ("a", "x", "2"), ("a", "y", "3")], "q", "s", "t")
    checks = [
        Check("distinct-l-diversity", "t", {"l": 3}),
        K,
        Check("distinct-l-diversity", "s", {"l": 3}),
        Check("squared-error-diversity", "t", {"error": 2}, numeric=True),
        Check("frequency-l-diversity", "t", {"l": 3}),
    ]
    found = measure(frame, ["q"], checks)
    assert [(r.model, r.attribute, r.satisfied) for r in found.results] == [
        ("distinct-l-diversity", "t", True),
        ("k-anonymity", None, True),
        ("distinct-l-diversity", "s", False),
        ("squared-error-diversity", "t", True),
        ("frequency-l-diversity", "t", True),
    ]
    assert found.satisfied is False


def test_a_table_without_rows() -> None:
    found = measure(table([], "q", "s"), ["q"], [K, Check("entropy-l-diversity", "s", {"l": 2})])
    assert found.rows == 0 and found.classes["count"] == 0
    assert [result.achieved for result in found.results] == [{"k": None}, {"l": None}]
    assert found.risk["prosecutor_max"] == 0


# --- exactness -------------------------------------------------------------------------------------------------------


def test_several_columns_and_persons_against_sets() -> None:
    rows = [(str(n % 3), str(n % 5), str(n % 7), str(n // 50), str(n % 4)) for n in range(400)]
    frame = table([*rows, ("*", "*", "*", "1", "2")], "a", "b", "c", "s", "person")
    check = Check("distinct-l-diversity", "s", {"l": 3})
    found = measure(frame, ["a", "b", "c"], [K, check])
    persons = measure(frame, ["a", "b", "c"], [K, check], units=frame["person"])
    kinds, heads = defaultdict(set), defaultdict(set)
    for *key, value, person in [*rows, ("*", "*", "*", "1", "2")]:
        kinds[tuple(key)].add(value)
        heads[tuple(key)].add(person)
    assert found.classes["count"] == len(kinds) - 1 and found.suppressed_rows == 1
    assert found.results[1].failing_classes == sum(len(values) < 3 for values in kinds.values())
    assert persons.results[0].failing_classes == sum(len(each) < K.parameters["k"] for each in heads.values())


def test_many_classes_against_a_counter(tmp_path: Path) -> None:
    """Enough classes and rows for several batches and threads, through a file."""
    random = np.random.default_rng(5)
    columns = [random.integers(0, top, 60_000) for top in (40, 40, 7, 12)]
    rows = [tuple(map(str, row)) for row in zip(*columns, strict=True)]
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("a", "b", "c", "s"), *rows])
    sizes = Counter(row[:3] for row in rows)
    kinds = {key: len(set(values)) for key, values in _by_class(rows).items()}
    found = measure(
        pl.scan_csv(path, infer_schema=False), ["a", "b", "c"], [K, Check("distinct-l-diversity", "s", {"l": 3})]
    )
    assert found.classes["count"] == len(sizes)
    assert [result.achieved for result in found.results] == [{"k": min(sizes.values())}, {"l": min(kinds.values())}]
    assert found.results[1].failing_rows == sum(sizes[key] for key, count in kinds.items() if count < 3)
    assert found.risk["records_at_risk"] == sum(n for n in sizes.values() if 1 / n > 0.2) / len(rows)


def _by_class(rows: list[tuple[str, ...]]) -> dict[tuple[str, ...], list[str]]:
    found = defaultdict(list)
    for *key, value in rows:
        found[tuple(key)].append(value)
    return found


def test_verify_shares_nothing_with_the_search() -> None:
    tree = ast.parse("".join(path.read_text() for path in sorted(Path(verify.__file__).parent.glob("*.py"))))
    nodes = list(ast.walk(tree))
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    outside = {name for name in modules if name and name.startswith("anonymize") and "verify" not in name}
    # What a spec declares is the same for both; published codes are part of what it means, as numbers and dates are.
    declared = {f"anonymize.spec{module}" for module in ("", ".codes", ".model", ".tabulation")}
    assert outside <= {"anonymize.claims", "anonymize.errors", "anonymize.records", *declared}


def test_figures_are_the_same_to_the_last_digit_every_time() -> None:
    """Sums of fractions depend on their order, which a join or a grouping does not keep unless it is told to."""
    checks = [Check("t-closeness", "s", {"t": 0.2}), Check("entropy-l-diversity", "s", {"l": 2.0})]
    for seed in range(4):
        draw = random.Random(seed)
        rows = [(draw.choice("AB"), draw.choice(["x", "y", "z", None])) for _ in range(75)]
        frame = pl.DataFrame(rows, schema=["q", "s"], orient="row")
        first = measure(frame, ["q"], checks)
        assert all(measure(frame, ["q"], checks) == first for _ in range(15))
