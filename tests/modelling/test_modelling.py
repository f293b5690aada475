"""Models of a release: what they are trained on, what they see, and figures by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anonymize._evaluate import Evaluate, evaluate
from anonymize.algorithms import ALGORITHMS, mondrian, parse_options
from anonymize.errors import UsageError
from anonymize.modelling import Protocol, Recoder, by_information
from anonymize.modelling.learners import RegionEnds, matrices
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, load
from anonymize.table import Source, read

needs_learners = pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="scikit-learn is not there")
SPEC = """\
version: 1
input: {path: table.csv}
quasi_identifiers:
  age: {type: numeric}
  job: {}
workload: {targets: [buys, {pay: {type: numeric}}]}
privacy: {k: 4}
"""
NAN = np.nan


def rows(count: int = 120) -> pl.DataFrame:
    """Whoever is 50 or older buys, and is paid twice the age."""
    ages = np.random.default_rng(3).integers(20, 80, count)
    jobs = [("cook", "clerk", "chief")[at % 3] for at in range(count)]
    buys = ["yes" if age >= 50 else "no" for age in ages]
    return pl.DataFrame({"age": ages, "job": jobs, "buys": buys, "pay": 2 * ages}).cast(pl.String)


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    rows().write_csv(tmp_path / "table.csv")
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    return load(tmp_path / "spec.yaml", PARAMETERS)


# --- features --------------------------------------------------------------------------------------------------------


def test_regions_are_two_numbers_and_points_are_one() -> None:
    start, stop = np.array([[1.0, 5], [2, 6]]), np.array([[1.0, 9], [2, 6]])
    train, test = matrices(RegionEnds(start, stop), RegionEnds(start[:1], stop[:1] + 1))
    assert train.tolist() == [[1, 5, 9], [2, 6, 6]]
    assert test.tolist() == [[1, 5, 10]]


def test_what_is_missing_spans_the_training_part() -> None:
    points = np.array([[3.0], [NAN], [8]])
    train, test = matrices(RegionEnds(points, points), RegionEnds(np.array([[NAN]]), np.array([[NAN]])))
    assert train.tolist() == [[3, 3], [3, 8], [8, 8]]
    assert test.tolist() == [[3, 8]]


def test_a_column_without_any_number_is_constant() -> None:
    nothing = np.array([[NAN], [NAN]])
    train, test = matrices(RegionEnds(nothing, nothing), RegionEnds(nothing, nothing))
    assert train.tolist() == test.tolist() == [[0], [0]]


def test_an_attribute_can_be_left_out() -> None:
    points = np.array([[1.0, 2, 3]])
    assert RegionEnds(points, points).without([0, 2]).start.tolist() == [[2]]


# --- the recoding ----------------------------------------------------------------------------------------------------


def test_the_recoding_knows_the_training_part_alone(spec: Spec) -> None:
    """Whatever the test rows are, they show regions of the training part."""
    frame = rows()
    recoder = Recoder.of(spec, frame[:60], "mondrian", mondrian.Options(cut="infogain"), 0, 1)
    shown, counts = recoder.recode(frame[:60])
    assert counts.outside == 0
    assert shown.group_by("age", "job").len()["len"].to_numpy().min() >= 4
    strange = frame[60:].with_columns(age=pl.lit("1000"))
    assert recoder.recode(strange)[1].out_of_range == 60
    seen, unseen = (recoder.boxes(part)[0] for part in (frame[:60], frame[60:]))
    known = set(zip(seen.start[:, 0], seen.stop[:, 0], strict=True))
    assert unseen.start.shape == (60, 2)
    assert set(zip(unseen.start[:, 0], unseen.stop[:, 0], strict=True)) <= known


def test_what_cannot_be_applied_to_other_rows_is_refused(spec: Spec) -> None:
    skewed = spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"suppression": 0.9, "k": 50})})
    with pytest.raises(UsageError, match="--algorithm mondrian: the recoding cannot be saved"):
        Recoder.of(_diverse(skewed), _suppressing(), "mondrian", mondrian.Options(), 0, 1)


def _diverse(spec: Spec) -> Spec:
    from anonymize.spec.columns import Sensitive
    from anonymize.spec.model import ModelEntry

    entry = ModelEntry(
        model="frequency-l-diversity", parameters=PARAMETERS["frequency-l-diversity"].model_validate({"l": 2})
    )
    privacy = spec.privacy.model_copy(update={"k": 2, "models": (entry,)})
    return spec.model_copy(update={"privacy": privacy, "sensitive": {"ill": Sensitive()}})


def _suppressing() -> pl.DataFrame:
    """Three quarters of the rows have one illness, so that half of the rows have to go."""
    return rows(40).with_columns(ill=pl.Series(["a", "a", "a", "b"] * 10))


# --- models ----------------------------------------------------------------------------------------------------------


@needs_learners
def test_a_release_made_for_the_target_is_as_good_as_the_original(spec: Spec) -> None:
    trained = ["baseline", "decision_tree", "median", "linear_regression", "regression_tree"]
    protocol = Protocol("mondrian", mondrian.Options(cut="mixed"), folds=4, models=trained)
    report = evaluate(Evaluate(spec, models=protocol))
    models = report["models"]["targets"]["buys"]["models"]
    assert models["decision_tree"]["original"]["accuracy"]["mean"] > 0.95
    assert models["decision_tree"]["released"]["accuracy"]["mean"] > 0.9
    assert models["baseline"]["released"] == models["baseline"]["original"]
    pay = report["models"]["targets"]["pay"]["models"]
    assert pay["linear_regression"]["original"]["mean_absolute_error"]["mean"] == pytest.approx(0, abs=1e-6)
    released = pay["regression_tree"]["released"]["mean_absolute_error"]["mean"]
    assert released < pay["median"]["released"]["mean_absolute_error"]["mean"] / 3


@needs_learners
def test_without_the_telling_attribute_nothing_is_left(spec: Spec) -> None:
    protocol = Protocol("mondrian", mondrian.Options(), folds=3, models=["decision_tree"], projection=True)
    report = evaluate(Evaluate(spec, models=protocol))
    whole, without = report["models"]["targets"]["buys"]["projection"]
    assert (whole["dropped"], without["dropped"]) == ([], ["age"])
    tree = [step["models"]["decision_tree"]["original"]["accuracy"]["mean"] for step in (whole, without)]
    assert tree[0] > 0.95 and tree[1] < 0.7


@needs_learners
def test_a_release_whose_rows_are_elsewhere_is_tried_on_the_original(spec: Spec, tmp_path: Path) -> None:
    rows().reverse().write_csv(tmp_path / "out.csv")
    report = evaluate(Evaluate(spec, str(tmp_path / "out.csv"), models=Protocol(folds=3)))
    tree = report["models"]["targets"]["buys"]["models"]["decision_tree"]
    assert tree["released"] == tree["original"] and tree["original"]["accuracy"]["sd"] is None
    assert any("rows that they were trained on" in warning for warning in report["warnings"])


@needs_learners
def test_one_split_tests_its_share(spec: Spec) -> None:
    report = evaluate(Evaluate(spec, models=Protocol("mondrian", mondrian.Options(), test_share=0.25)))
    assert report["models"]["protocol"]["folds"] == 1
    assert report["models"]["targets"]["buys"]["models"]["decision_tree"]["released"]["accuracy"]["sd"] is None


@needs_learners
def test_a_target_that_is_a_quasi_identifier_predicts_itself_from_the_others(tmp_path: Path) -> None:
    rows().write_csv(tmp_path / "table.csv")
    text = SPEC.replace("[buys, {pay: {type: numeric}}]", "[job]").replace(
        "privacy", "insensitive: [buys, pay]\nprivacy"
    )
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    protocol = Protocol("mondrian", mondrian.Options(), folds=3, models=["decision_tree"])
    report = evaluate(Evaluate(load(tmp_path / "spec.yaml", PARAMETERS), models=protocol))
    tree = report["models"]["targets"]["job"]["models"]["decision_tree"]
    assert tree["original"]["accuracy"]["mean"] < 0.6


@needs_learners
def test_a_single_label_is_predicted_and_has_no_curve() -> None:
    from anonymize.modelling.learners import LEARNERS, scores

    x, y = np.array([[1.0], [2]]), np.array(["a", "a"])
    found = scores(LEARNERS["linear_svm"], 0, (x, y), (x, np.array(["a", "b"])))
    assert found == {"accuracy": 0.5, "auc": 0.5}
    assert scores(LEARNERS["linear_svm"], 0, (x, y), (x, y)) == {"accuracy": 1, "auc": None}


def test_area_under_the_curve_by_hand() -> None:
    """Of 2 x 3 pairs four are in order and one is a tie."""
    from anonymize.modelling.learners import area

    own = np.array([True, True, False, False, False])
    assert area(np.array([0.9, 0.4, 0.4, 0.1, 0.6]), own) == pytest.approx(4.5 / 6)


def test_attributes_rank_by_what_they_tell(spec: Spec) -> None:
    with Source.open(spec) as source:
        table = read(spec, source, workload=True)
    assert by_information(table, "buys") == by_information(table, "pay") == [0, 1]


# --- options ---------------------------------------------------------------------------------------------------------


def test_options_are_read_by_their_kind() -> None:
    found = parse_options(ALGORITHMS["mondrian"], ["cut=lsd", "relaxed=yes"])
    assert found == mondrian.Options(cut="lsd", relaxed=True)
    assert parse_options(ALGORITHMS["k-optimize"], ["time-limit=2.5"]).time_limit == 2.5
    assert [parse_options(ALGORITHMS["release"], [f"effort={text}"]).effort for text in ("low", "0.5")] == ["low", 0.5]


def test_options_without_effect_are_a_warning(spec: Spec) -> None:
    options = parse_options(ALGORITHMS["mondrian"], ["passes=2"])
    report = evaluate(Evaluate(spec, models=Protocol("mondrian", options, folds=2, models=("baseline",))))
    assert [each.text for each in report["warnings"]] == ["--passes has no effect without --refine"]


def test_a_name_that_stands_beside_numbers_is_refused_where_there_is_no_such() -> None:
    with pytest.raises(UsageError, match="expected one of low, normal, high or a number"):
        parse_options(ALGORITHMS["release"], ["effort=most"])


@pytest.mark.parametrize("pair", ["cut=none", "relaxed=perhaps", "cut", "nothing=1"])
def test_options_that_there_are_not_are_refused(pair: str) -> None:
    with pytest.raises(UsageError, match=f"{pair}"):
        parse_options(ALGORITHMS["mondrian"], [pair])
