"""--bound: what the report says, and where there is none."""

from __future__ import annotations

import polars as pl
import pytest

import anonymize
from anonymize.errors import UsageError
from anonymize.report import RENDERERS

PEOPLE = pl.DataFrame(
    {"age": [31, 34, 39, 52, 58, 61], "job": list("aabbba"), "ill": ["flu", "cold", "flu", "cold", "flu", "cold"]}
)
SPEC = {"quasi_identifiers": {"age": {"type": "numeric"}, "job": {}}, "sensitive": ["ill"]}


def test_the_report_has_it_beside_the_loss() -> None:
    utility = anonymize.release(PEOPLE, SPEC | {"privacy": {"k": 3}}, "mondrian", bound=True).report["utility"]
    block = utility["bound"]
    assert block["k"] == 3
    assert 0 < block["floor"] <= block["gcp"] <= utility["gcp"]
    assert block["above"] == pytest.approx(utility["gcp"] / block["gcp"] - 1)


def test_it_is_lower_where_rows_may_be_suppressed() -> None:
    """One row that lies far from all others costs less suppressed than released with them."""
    people = PEOPLE.vstack(pl.DataFrame({"age": [90], "job": ["c"], "ill": ["flu"]}))
    bounds = []
    for suppression in (0, 0.2):
        spec = SPEC | {"privacy": {"k": 3, "suppression": suppression}}
        bounds.append(anonymize.release(people, spec, "mondrian", bound=True).report["utility"]["bound"])
    assert bounds[0]["floor"] == bounds[1]["floor"] < bounds[1]["gcp"] < bounds[0]["gcp"]


def test_every_form_of_the_report_shows_it() -> None:
    report = anonymize.release(PEOPLE, SPEC | {"privacy": {"k": 3}}, "mondrian", bound=True).report
    for suffix in (".md", ".json"):
        assert "bound" in RENDERERS[suffix](report)


def test_it_is_there_only_when_asked_for() -> None:
    report = anonymize.release(PEOPLE, SPEC | {"privacy": {"k": 3}}, "mondrian").report
    assert "bound" not in report["utility"]
    assert "no release with classes" not in RENDERERS[".md"](report)


def test_a_public_report_has_none() -> None:
    with pytest.raises(UsageError, match="depends on the input"):
        anonymize.release(PEOPLE, SPEC | {"privacy": {"k": 3}}, "mondrian", bound=True, public=True)


def test_where_there_are_no_classes_there_is_none() -> None:
    with pytest.raises(UsageError, match="no equivalence classes"):
        anonymize.release(PEOPLE, SPEC | {"privacy": {"l": 2}}, "anatomy", bound=True)
