"""Differential privacy as a requirement: unmet by what is not drawn under it, and unknown of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import anonymize
from anonymize.claims import Basis, State
from anonymize.errors import SpecError, UnsafeError, UsageError
from anonymize.privacy import PARAMETERS
from anonymize.series.kept import check_possible
from anonymize.spec import make
from anonymize.verify import DIFFERENTIAL, LOCAL, UNDRAWN, Spent, Verdict, with_differential

REQUIRED = {"epsilon": 1.0, "delta": 1e-6}
TABLE = pl.DataFrame({"age": [30, 31, 40, 41] * 3, "ill": ["flu", "gout", "cold"] * 4})
SPEC: dict[str, Any] = {
    "quasi_identifiers": {"age": {"type": "numeric"}},
    "sensitive": {"ill": {}},
    "privacy": {"k": 3, "differential": REQUIRED},
}
NOTHING = Verdict(4, 0, (), {}, {})


def with_privacy(**privacy: Any) -> dict[str, Any]:
    return SPEC | {"privacy": {"differential": REQUIRED, **privacy}}


def entry(report: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in report["privacy"]["models"] if each["model"] == DIFFERENTIAL)


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize(
    ("algorithm", "privacy", "why"),
    [
        ("mondrian", {"k": 3}, UNDRAWN),
        ("mondrian", {}, UNDRAWN),
        ("incognito", {"k": 3}, UNDRAWN),
        ("anatomy", {"l": 2}, UNDRAWN),
        ("randomize", {"models": [{"model": "local-dp", "epsilon": 1}]}, LOCAL),
    ],
)
def test_no_release_with_classes_meets_it(algorithm: str, privacy: dict[str, Any], why: str, public: bool) -> None:
    spec = with_privacy(**privacy)
    with pytest.raises(UnsafeError, match=r"differential-privacy .*is not met"):
        anonymize.release(TABLE, spec, algorithm=algorithm, public=public)
    made = anonymize.release(TABLE, spec, algorithm=algorithm, public=public, allow_unsafe=True)
    assert made.report["privacy"]["state"] == "unmet"
    assert (entry(made.report)["why"], entry(made.report)["satisfied"]) == (why, False)
    assert entry(made.report)["achieved"] == {"epsilon": None, "delta": None}


def test_no_perturbed_release_meets_it() -> None:
    steps = [{"method": "noise", "columns": ["age"], "scale": 0.5}]
    spec = {"insensitive": ["ill"], "others": "insensitive", "treatments": steps, "privacy": {"differential": REQUIRED}}
    with pytest.raises(UnsafeError, match="follows from the rows of the input"):
        anonymize.release(TABLE, spec, algorithm="perturb")


@pytest.mark.parametrize("k", [{}, {"k": 3}])
def test_of_a_file_it_is_not_known(k: dict[str, int]) -> None:
    report = anonymize.audit(TABLE, with_privacy(**k)).report
    assert (report["privacy"]["state"], report["privacy"]["satisfied"]) == ("unknown", None)
    assert (entry(report)["basis"], entry(report)["satisfied"]) == ("unknown", None)


def test_it_is_refused_in_a_series() -> None:
    with pytest.raises(UsageError, match=r"privacy\.differential"):
        check_possible(make({"version": 1, **SPEC}, PARAMETERS))


@pytest.mark.parametrize("key", ["epsilon", "delta"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "much", None])
@pytest.mark.parametrize("where", ["differential", "budget"])
def test_what_bounds_nothing_is_no_bound(key: str, value: Any, where: str) -> None:
    bound = REQUIRED | {key: value}
    more = {"budget": bound} if where == "budget" else {"privacy": {"differential": bound}}
    with pytest.raises(SpecError, match=key):
        make({"version": 1, **SPEC, **more}, PARAMETERS)


@pytest.mark.parametrize(
    ("spent", "state", "above"),
    [
        (Spent(1.0, 1e-6), State.MET, None),
        (Spent(1.0 + 1e-12, 1e-6), State.MET, None),
        (Spent(1.001, 1e-6), State.UNMET, "epsilon"),
        (Spent(1.0, 2e-6), State.UNMET, "delta"),
        (Spent(float("nan"), 1e-6), State.UNMET, "epsilon"),
    ],
)
def test_what_was_spent_is_compared(spent: Spent, state: State, above: str | None) -> None:
    (result,) = with_differential(NOTHING, make({"version": 1, **SPEC}, PARAMETERS), spent).codes
    assert (result.state, result.basis) == (state, Basis.DERIVED)
    assert above is None or (result.why or "").startswith(f"{above} that was spent")


def test_where_it_is_not_required_nothing_is_said() -> None:
    spec = make({"version": 1, "quasi_identifiers": {"age": {}}, "privacy": {"k": 2}}, PARAMETERS)
    assert with_differential(NOTHING, spec, None) is NOTHING


def test_it_alone_is_a_requirement(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("version: 1\nquasi_identifiers: {age: {}}\nprivacy: {differential: {epsilon: 1, delta: 1e-9}}\n")
    assert anonymize.Spec(str(path))
