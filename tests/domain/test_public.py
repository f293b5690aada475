"""Public domains, as the spec says them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize.domain.public import PublicDomain, public_domain
from anonymize.errors import SpecError
from anonymize.privacy import PARAMETERS
from anonymize.spec import make


def domain(entry: Any = None, definition: dict[str, Any] | None = None, **more: Any) -> PublicDomain:
    column = {"insensitive": ["x"]} if definition is None else {"quasi_identifiers": {"x": definition}}
    domains = {} if entry is None else {"domains": {"x": entry}}
    spec = make({"version": 1, "insensitive": ["y"], "synthesize": {}, **column, **domains, **more}, PARAMETERS)
    return public_domain(spec, "x")


def test_listed_values_are_the_leaves_and_missing_is_the_last() -> None:
    made = domain(["b", " a", "?"], input={"missing": ["?"]})
    assert made.entry() == ["b", "a", None] and made.size == 3
    assert made.codes(["a", "b", "c"]).tolist() == [1, 0, -1]


def test_where_no_value_may_be_missing_there_is_no_leaf_for_it() -> None:
    assert domain({"values": ["a", "b"], "missing": False}).size == 2
    assert domain({"low": 0, "high": 4, "missing": False}).size == 5


def test_texts_are_compared_as_the_spec_has_it() -> None:
    assert domain(["Caf\u00e9"]).codes(["Caf\u00e9"]).tolist() == [0]
    exact = domain(["02138", "2138"])
    assert exact.codes(["02138", "2138"]).tolist() == [0, 1]


def test_listed_numbers_are_compared_as_numbers() -> None:
    made = domain(["1", "2.0", "10"], {"type": "numeric"})
    assert made.codes([2.0, 10, 3]).tolist() == [1, 2, -1]
    assert made.entry() == ["1", "2.0", "10", None]


def test_few_whole_numbers_are_a_bin_each() -> None:
    made = domain(None, {"type": "numeric", "domain": [17, 90]})
    assert made.size == 75
    assert made.codes([17, 90, 16, 91, 17.5]).tolist() == [0, 73, -1, -1, -1]


def test_many_whole_numbers_fall_into_bins_without_gap_or_overlap() -> None:
    made = domain({"low": 0, "high": 99_999})
    assert made.bins is not None and len(made.bins.places) == 32
    drawn = [number for first, last in made.bins.places for number in (first, last)]
    assert drawn[0] == 0 and drawn[-1] == 99_999
    assert np.array_equal(np.array(drawn[1:-1:2]) + 1, np.array(drawn[2::2]))
    for code, (first, last) in enumerate(made.bins.places):
        assert made.codes([first, last]).tolist() == [code, code]


def test_decimals_are_drawn_at_a_hundredth_of_a_bin_and_stay_within_it() -> None:
    made = domain({"low": 0, "high": 2.5, "bins": 5})
    assert made.bins is not None and made.bins.digits == 3 and not made.bins.whole
    for code, (first, last) in enumerate(made.bins.places):
        assert made.codes([first / 1000, last / 1000]).tolist() == [code, code]
    assert made.codes([2.5, 2.500001, -1e-9]).tolist() == [4, -1, -1]


def test_decimals_between_whole_ends_are_declared() -> None:
    assert domain({"low": 0, "high": 1}).codes([0.5]).tolist() == [-1]
    assert domain({"low": 0, "high": 1, "whole": False, "bins": 2}).codes([0.5, 0.4]).tolist() == [1, 0]


def test_declared_bins_are_taken_within_the_domain() -> None:
    made = domain(None, {"type": "numeric", "domain": [0, 120], "bins": [18, 30, 130]})
    assert made.bins is not None and made.bins.places == ((0, 17), (18, 29), (30, 120))
    assert domain({"low": 0, "high": 9, "bins": [5]}).codes([4, 5]).tolist() == [0, 1]


def test_bins_alone_are_open_at_both_ends_and_drawn_as_wide_as_their_neighbours() -> None:
    made = domain(None, {"type": "numeric", "bins": [18, 30, 45]})
    assert made.bins is not None and made.bins.places == ((6, 17), (18, 29), (30, 44), (45, 60))
    assert made.codes([-5, 300]).tolist() == [0, 3]


def test_the_leaves_of_a_hierarchy_file_are_a_domain(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("nurse;health;*\nclerk;office;*\n")
    assert domain(None, {"hierarchy": tmp_path / "h.csv"}).entry() == ["nurse", "clerk", None]
    (tmp_path / "n.csv").write_text("1;low;*\n2;high;*\n")
    made = domain({"missing": False}, {"type": "numeric", "hierarchy": tmp_path / "n.csv"})
    assert made.entry() == ["1", "2"] and made.codes([2, 3]).tolist() == [1, -1]


@pytest.mark.parametrize(
    "definition", [None, {}, {"type": "numeric"}, {"hierarchy": {"mask": "right"}}, {"type": "numeric", "bins": [5]}]
)
def test_a_column_without_a_domain_is_refused_by_name(definition: dict[str, Any] | None) -> None:
    with pytest.raises(SpecError, match="column 'x' has no public domain"):
        domain(None, definition)
