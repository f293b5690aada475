"""What `evaluate` adds to a report, as tables."""

from __future__ import annotations

from typing import Any

from anonymize.report.evaluation import sections


def told(mean: float, sd: float | None) -> dict[str, Any]:
    return {"accuracy": {"mean": mean, "sd": sd}, "area_under_curve": {"mean": mean / 2, "sd": sd}}


def test_models_have_a_row_for_each_measure_with_its_spread_over_the_folds() -> None:
    models = {
        "naive_bayes": {"original": told(0.75, 0.0123), "released": told(0.5, None)},
        "baseline": {"released": told(0.25, 0.1)},
    }
    (section,) = sections({"models": {"targets": {"ill": {"models": models}}}})
    assert section.title == "Models of ill" and section.names == 2
    assert section.rows == [
        ("naive_bayes", "accuracy", "0.75 ± 0.012", "0.5"),
        ("naive_bayes", "area under curve", "0.375 ± 0.012", "0.25"),
        ("baseline", "accuracy", "-", "0.25 ± 0.1"),
        ("baseline", "area under curve", "-", "0.125 ± 0.1"),
    ]


def test_a_projection_names_what_was_dropped_last_and_one_figure_of_each_model() -> None:
    steps = [
        {"dropped": dropped, "models": {"naive_bayes": {"original": told(mean, None), "released": told(mean, 0.1)}}}
        for dropped, mean in (([], 0.75), (["age"], 0.5), (["age", "job"], 0.25))
    ]
    models = {"naive_bayes": {"original": told(0.75, None), "released": told(0.5, None)}}
    _, section = sections({"models": {"targets": {"ill": {"models": models, "projection": steps}}}})
    assert section.title == "ill without what tells most of it" and section.names == 2
    assert section.rows == [
        ("none", "naive_bayes", "0.75", "0.75 ± 0.1"),
        ("age", "naive_bayes", "0.5", "0.5 ± 0.1"),
        ("job", "naive_bayes", "0.25", "0.25 ± 0.1"),
    ]
