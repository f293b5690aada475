"""Noise is taken out of moments: by hand, on tables drawn for it, and never where its strength is not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonymize.classes import Floats
from anonymize.fidelity.moments import SampleMoments, estimates, why_not, without_noise
from anonymize.meaning import Changed

MIXING = np.array([[1.0, 0.6, 0.3], [0.0, 0.8, 0.5], [0.0, 0.0, 0.8]])
NAMES = ("wage", "tax", "hours")


def changed(kind: str, scale: float = 0.5, **more: Any) -> Changed:
    return Changed("channel", "noise", {"kind": kind, "scale": scale, **more})


@pytest.fixture(scope="module")
def original() -> Floats:
    return np.asarray(np.random.default_rng(3).normal(size=(60_000, 3)) @ MIXING + [3.0, 1.0, 2.0])


def noisy(values: Floats, kind: str, scale: float = 0.5) -> Floats:
    rng, spread = np.random.default_rng(4), values.std(axis=0)
    if kind == "multiplicative":
        width = np.sqrt(np.log1p(scale**2))
        return np.asarray(values * np.exp(rng.normal(-(width**2) / 2, width, values.shape)))
    root = np.linalg.cholesky(np.corrcoef(values.T)).T if kind == "correlated" else np.eye(values.shape[1])
    return np.asarray(values + scale * (rng.normal(size=values.shape) @ root) * spread)


def test_independent_noise_by_hand() -> None:
    """Variances of 5 and 10 hold a quarter of 4 and 8; the covariance of 2 is that of the columns."""
    released = SampleMoments(("a", "b"), np.zeros(2), np.array([[5.0, 2.0], [2.0, 10.0]]))
    known = {name: changed("additive") for name in ("a", "b")}
    assert without_noise(released, known).covariances.tolist() == [[4.0, 2.0], [2.0, 8.0]]


@pytest.mark.parametrize("kind", ["additive", "correlated", "multiplicative"])
def test_moments_correlations_and_coefficients_are_what_they_were(kind: str, original: Floats) -> None:
    before, released = SampleMoments.of(NAMES, original), SampleMoments.of(NAMES, noisy(original, kind))
    more: dict[str, Any] = {"columns": list(NAMES)} if kind == "correlated" else {}
    after = without_noise(released, {name: changed(kind, **more) for name in NAMES})
    assert after.covariances == pytest.approx(before.covariances, abs=0.06)
    assert after.correlations == pytest.approx(before.correlations, abs=0.03)
    slopes, others, raw = before.coefficients, after.coefficients, released.coefficients
    assert slopes is not None and others is not None and raw is not None
    assert np.nanmax(np.abs(others - slopes)) < 0.08
    if kind != "correlated":
        assert np.nanmax(np.abs(raw - slopes)) > 0.1  # noise draws coefficients to 0


def test_coefficients_are_those_of_least_squares(original: Floats) -> None:
    design = np.column_stack((np.ones(len(original)), original[:, 1:]))
    fitted = np.linalg.lstsq(design, original[:, 0], rcond=None)[0]
    coefficients = SampleMoments.of(NAMES, original).coefficients
    assert coefficients is not None and coefficients[0, 1:] == pytest.approx(fitted[1:])


def test_two_steps_of_correlated_noise_leave_the_covariances_between_them_alone() -> None:
    released = SampleMoments(NAMES, np.zeros(3), np.full((3, 3), 5.0) + 5 * np.eye(3))
    pair = changed("correlated", columns=["wage", "tax"])
    known = {"wage": pair, "tax": pair, "hours": changed("correlated", 1.0, columns=["hours"])}
    made = without_noise(released, known).covariances
    assert made[0, 1] == made[1, 0] == 4 and made[0, 2] == made[2, 1] == 5 and made[2, 2] == 5 and made[0, 0] == 8


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (changed("additive", by=["region"]), "is relative to the spread of each part"),
        (changed("additive", only="outliers"), "was added to outliers alone"),
        (changed("multiplicative", least=0.5), "was drawn again"),
        (changed("additive", keep_zero=True), "left zeros alone"),
        (changed("correlated"), "does not say the columns"),
        (Changed("channel", "noise", {"kind": "additive"}), "does not say the scale"),
        (Changed("aggregate", "microaggregation"), "microaggregation cannot be undone"),
    ],
)
def test_what_is_not_known_is_not_corrected(step: Changed, said: str) -> None:
    released = SampleMoments(("a", "b"), np.ones(2), np.array([[5.0, 2.0], [2.0, 10.0]]))
    assert said in str(why_not(step))
    known = {"a": step, "b": changed("additive")}
    assert without_noise(released, known).covariances[0, 0] == 5
    records = {(each["measure"], each["column"]): each for each in estimates(released, known)}
    assert records["variance", "a"]["estimate"] is None and said in records["variance", "a"]["corrected"]
    assert records["variance", "b"]["corrected"] == "yes" and records["variance", "b"]["estimate"] == 8
    assert records["covariance", "b"]["estimate"] is None


def test_what_no_step_changed_needs_no_correction() -> None:
    released = SampleMoments(("a", "b"), np.ones(2), np.array([[5.0, 2.0], [2.0, 10.0]]))
    records = {(each["measure"], each["column"]): each for each in estimates(released, {"b": changed("romm")})}
    assert records["variance", "a"]["corrected"] == "not needed" and records["variance", "a"]["estimate"] == 5
    assert records["variance", "b"]["corrected"] == "yes" and records["variance", "b"]["estimate"] == 10


def test_no_coefficients_where_too_much_was_taken_out() -> None:
    """Two columns that were nearly one: without a fifth of their variances their correlation would be above 1."""
    released = SampleMoments(("a", "b"), np.zeros(2), np.array([[5.0, 4.5], [4.5, 5.0]]))
    known = {name: changed("additive") for name in ("a", "b")}
    assert without_noise(released, known).correlations[0, 1] == 1
    last = estimates(released, known)[-1]
    assert last["measure"] == "coefficient" and last["estimate"] is None
    assert "columns follow from each other" in last["corrected"]


@pytest.mark.parametrize("kind", ["additive", "correlated", "multiplicative"])
def test_covariances_with_a_column_outside_of_the_step_are_what_they_were(kind: str, original: Floats) -> None:
    before = SampleMoments.of(NAMES, original)
    released = SampleMoments.of(NAMES, np.column_stack((noisy(original[:, :2], kind), original[:, 2])))
    after = without_noise(released, dict.fromkeys(NAMES[:2], changed(kind, columns=list(NAMES[:2]))))
    assert after.covariances == pytest.approx(before.covariances, abs=0.06)


def test_a_random_orthogonal_matrix_corrects_nothing_beyond_its_own_step() -> None:
    released = SampleMoments(NAMES, np.zeros(3), np.full((3, 3), 1.0) + np.eye(3))
    step = changed("romm", columns=["wage", "tax"])
    records = estimates(released, {"wage": step, "tax": step})
    crossing = [each for each in records if "hours" in (each["column"], each["other"]) and each["other"]]
    crossing += [each for each in records if each["measure"] == "coefficient"]
    assert {each["measure"] for each in crossing} == {"covariance", "correlation", "coefficient"}
    assert all(each["estimate"] is None and "left out hours" in each["corrected"] for each in crossing)
    own = [each for each in records if {each["column"], each["other"]} <= {"wage", "tax", None}]
    known = [each for each in own if each["measure"] not in ("mean", "coefficient")]
    assert len(known) == 4 and all(each["corrected"] == "yes" for each in known)


def test_a_manifest_without_the_columns_of_a_random_orthogonal_matrix_corrects_variances_alone() -> None:
    released = SampleMoments(("a", "b"), np.zeros(2), np.array([[5.0, 2.0], [2.0, 10.0]]))
    records = {each["measure"]: each["corrected"] for each in estimates(released, dict.fromkeys("ab", changed("romm")))}
    assert records["variance"] == "yes" and "does not say the columns" in records["covariance"]
