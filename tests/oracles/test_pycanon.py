"""Agreement with pycanon on its nine models, on random tables without missing values and without leading zeros.

It is an extra of its own (`pip install anonymize-toolkit[peers]`), as it holds numpy and scipy back; where it is not
installed, nothing is tested. Where it differs, the hand count beside it says who is right.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize.verify import Check, measure
from tests.examples import some

anonymity = pytest.importorskip("pycanon.anonymity", reason="pycanon is not installed: it is in the extra `peers`")
pandas = pytest.importorskip("pandas")

Rows = list[tuple[str, str, str]]
rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from(["flu", "cold", "ulcer", "cancer"])),
    min_size=2,
    max_size=40,
)
QUASI, SENSITIVE = ["q", "r"], ["s"]


def frames(table: Rows) -> tuple[pl.DataFrame, Any]:
    own = pl.DataFrame(table, schema=dict.fromkeys(["q", "r", "s"], pl.String), orient="row")
    return own, pandas.DataFrame(table, columns=["q", "r", "s"])


def own(table: Rows, model: str, numeric: bool = False, **parameters: Any) -> dict[str, Any]:
    """What a table achieves by the toolkit."""
    check = Check(model, None if model == "k-anonymity" else "s", parameters, numeric)
    return dict(measure(frames(table)[0], QUASI, [check], missing=[]).results[0].achieved)


@settings(max_examples=some(40))
@given(rows)
def test_models_that_agree_as_they_are(table: Rows) -> None:
    theirs = frames(table)[1]
    alpha, k = anonymity.alpha_k_anonymity(theirs, QUASI, SENSITIVE)
    assert own(table, "k-anonymity") == {"k": anonymity.k_anonymity(theirs, QUASI)}
    assert own(table, "alpha-k-anonymity") == pytest.approx({"alpha": alpha, "k": k})
    assert own(table, "distinct-l-diversity") == {"l": anonymity.l_diversity(theirs, QUASI, SENSITIVE)}
    assert own(table, "t-closeness")["t"] == pytest.approx(anonymity.t_closeness(theirs, QUASI, SENSITIVE))
    beta = anonymity.basic_beta_likeness(theirs, QUASI, SENSITIVE)
    assert own(table, "basic-beta-likeness")["beta"] == pytest.approx(beta)


@settings(max_examples=some(40))
@given(st.lists(st.tuples(st.sampled_from("ab"), st.just("x"), st.integers(1, 9)), min_size=2, max_size=40))
def test_closeness_of_numbers_is_their_ordered_distance(table: list[tuple[str, str, int]]) -> None:
    if len({value for *_, value in table}) < 2:
        return  # pycanon divides by the number of values less one
    texts = [(q, r, str(value)) for q, r, value in table]
    theirs = pandas.DataFrame(table, columns=["q", "r", "s"])
    found = own(texts, "t-closeness", numeric=True, distance="ordered")
    assert found["t"] == pytest.approx(anonymity.t_closeness(theirs, QUASI, SENSITIVE))


@settings(max_examples=some(40))
@given(rows)
def test_entropy_agrees_but_for_the_fraction_that_pycanon_cuts_off(table: Rows) -> None:
    """It gives whole numbers, and cuts where rounding has made 2 of 1.9999999999999998."""
    found = own(table, "entropy-l-diversity")["l"]
    assert anonymity.entropy_l_diversity(frames(table)[1], QUASI, SENSITIVE) in (int(found + 1e-9), int(found - 1e-9))


def test_entropy_of_three_equally_frequent_values_is_three() -> None:
    """ln 3 of each, so exp H is 3 by hand. pycanon's figure may be 2, as it cuts the fraction off before rounding."""
    table = [("a", "x", disease) for disease in ("flu", "cold", "ulcer")]
    assert own(table, "entropy-l-diversity")["l"] == pytest.approx(3)
    assert anonymity.entropy_l_diversity(frames(table)[1], QUASI, SENSITIVE) in (2, 3)


def test_recursive_diversity_by_hand() -> None:
    """4 flu, 3 colds, 1 ulcer; l is 3. r1 = 4 is the most frequent, the rest from the third on is 1: c has to exceed 4.

    pycanon sorts from the rarest, takes 1 for r1 and 4 for the rest, and reports a c of 1: with c = 1 the definition
    asks for 4 < 1 x 1, which is wrong.
    """
    table = [("a", "x", d) for d in ["flu"] * 4 + ["cold"] * 3 + ["ulcer"]]
    assert own(table, "recursive-cl-diversity", l=3) == {"c": 4.0, "l": 3}
    assert anonymity.recursive_c_l_diversity(frames(table)[1], QUASI, SENSITIVE) == (1, 3)


@settings(max_examples=some(40))
@given(rows)
def test_recursive_diversity_agrees_where_all_values_are_equally_frequent(table: Rows) -> None:
    """Then the order does not matter. pycanon's c is the next whole number above the one that has to be exceeded."""
    even = [(q, r, s) for q, r in {(q, r) for q, r, _ in table} for s in ("flu", "cold", "ulcer")]
    found = own(even, "recursive-cl-diversity", l=3)
    c, ell = anonymity.recursive_c_l_diversity(frames(even)[1], QUASI, SENSITIVE)
    assert ell == 3 and c == math.floor(found["c"] + 1e-9) + 1


@settings(max_examples=some(40))
@given(rows)
def test_delta_disclosure_agrees_where_every_class_has_every_value(table: Rows) -> None:
    """pycanon leaves out values that a class lacks; the definition takes the logarithm of their 0, which no delta is
    above. Where there are any, ours has none."""
    found = own(table, "delta-disclosure")["delta"]
    values = {s for *_, s in table}
    classes = {(q, r) for q, r, _ in table}
    if all({s for q, r, s in table if (q, r) == key} == values for key in classes):
        assert found == pytest.approx(anonymity.delta_disclosure(frames(table)[1], QUASI, SENSITIVE))
    else:
        assert found is None


def test_enhanced_beta_likeness_by_hand() -> None:
    """Of eight rows half are flu. In A three of four are: a gain of 0.75 / 0.5 - 1 = 0.5, below -ln 0.5 = 0.693. So
    beta 0.5 is enough, and both say so."""
    classes = {"a": ("flu", "flu", "flu", "cold"), "b": ("flu", "cold", "cold", "cold")}
    table = [(q, "x", disease) for q, diseases in classes.items() for disease in diseases]
    assert own(table, "enhanced-beta-likeness")["beta"] == pytest.approx(0.5)
    assert anonymity.enhanced_beta_likeness(frames(table)[1], QUASI, SENSITIVE) == pytest.approx(0.5)


def test_enhanced_beta_likeness_of_a_value_that_is_certain_is_met_by_no_beta() -> None:
    """Of six rows four are flu (2/3), of A all: a gain of 0.5, and -ln(2/3) is 0.405. No beta allows it, as the smaller
    of the two bounds. pycanon compares the largest gain with -ln of the rarest value, and reports 0.5."""
    table = [("a", "x", "flu")] * 2 + [("b", "x", "flu")] * 2 + [("b", "x", "cold")] * 2
    assert own(table, "enhanced-beta-likeness")["beta"] is None
    theirs = anonymity.enhanced_beta_likeness(frames(table)[1], QUASI, SENSITIVE)
    assert theirs == pytest.approx(min(0.5, -math.log(1 / 3)))
