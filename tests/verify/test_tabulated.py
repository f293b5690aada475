"""The second opinion on tables says what is wrong with them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from anonymize.claims import State
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, make
from anonymize.spec.model import EpsilonDelta
from anonymize.verify.recount import Paths, Recount, TableAudit, WrittenTable
from anonymize.verify.tabulated import audit

COUNTS = {("x", "p"): 2, ("x", "q"): 10, ("x", "r"): 20, ("y", "p"): 10, ("y", "q"): 11, ("y", "r"): 12}
FRAME = pl.LazyFrame(
    {
        "a": [key[0] for key, count in COUNTS.items() for _ in range(count)],
        "b": [key[1] for key, count in COUNTS.items() for _ in range(count)],
        "w": ["5"] * sum(COUNTS.values()),
    }
)
PATHS: Paths = {"a": {each: (each, "Total") for each in "xy"}, "b": {each: (each, "Total") for each in "pqr"}}
RECTANGLE = {("x", "p"), ("x", "q"), ("y", "p"), ("y", "q")}


def total(a: str, b: str) -> int:
    return sum(count for key, count in COUNTS.items() if a in (key[0], "Total") and b in (key[1], "Total"))


@pytest.fixture
def spec() -> Spec:
    content = {
        "version": 1,
        "quasi_identifiers": ["a", "b"],
        "sensitive": {"w": {"type": "numeric"}},
        "tabulate": {
            "mechanism": "suppression",
            "tables": [{"by": ["a", "b"], "count": True}],
            "suppression": {"minimum": 5},
        },
    }
    return make(content, PARAMETERS)


Audited = Callable[..., TableAudit]


@pytest.fixture
def audited(spec: Spec, tmp_path: Path) -> Audited:
    """What is said of the table with these groups blank, and others as given."""

    def run(blank: set[tuple[str, str]], margin: float = 3.92, **other: int) -> TableAudit:
        path = tmp_path / "table.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["a", "b", "count", "status", "margin_95"])
            for a in ("x", "y", "Total"):
                for b in ("p", "q", "r", "Total"):
                    value = other.get(a + b, total(a, b))
                    writer.writerow([a, b, "" if (a, b) in blank else value, "published", margin])
        assert spec.tabulate is not None
        written = WrittenTable(path, ",", spec.tabulate.tables[0])
        return audit(Recount(FRAME, "csv", spec, PATHS, "Total", 5), [written], {})

    run.path = tmp_path / "table.csv"  # type: ignore[attr-defined]
    return run


def test_a_rectangle_protects_its_corner(audited: Audited) -> None:
    result = audited(RECTANGLE)
    assert result.results[0].state is State.MET and result.figures["rows"]["narrowest"] == 1


@pytest.mark.parametrize("lacking", sorted(RECTANGLE))
def test_a_rectangle_without_a_corner_protects_nothing(audited: Audited, lacking: tuple[str, str]) -> None:
    result = audited(RECTANGLE - {lacking})
    assert result.results[0].state is State.UNMET and result.results[0].failing_rows == 2
    assert result.figures["rows"]["narrowest"] == pytest.approx(0, abs=1e-5)


def test_a_narrow_interval_is_not_enough(audited: Audited, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two and one: whatever the others are, the group can be three at the most, and not five."""
    monkeypatch.setitem(COUNTS, ("x", "q"), 1)
    result = audited(RECTANGLE)
    assert result.results[0].state is not State.MET


def test_totals_that_are_no_sums_are_not_attacked_as_sums(spec: Spec, audited: Audited) -> None:
    """Individuals who have rows in both groups of a column, and count once in its total."""
    assert audited(RECTANGLE).results[0].state is State.MET
    assert spec.tabulate is not None
    frame = (
        pl.concat([FRAME, FRAME]).collect().with_row_index("who").with_columns(pl.col("who") % FRAME.collect().height)
    )
    frame = frame.with_columns(
        a=pl.when(pl.int_range(pl.len()) < FRAME.collect().height).then("a").otherwise(pl.lit("x"))
    )
    recount = Recount(frame.lazy(), "csv", spec, PATHS, "Total", 5, frame["who"])
    written = WrittenTable(audited.path, ",", spec.tabulate.tables[0])  # type: ignore[attr-defined]
    assert "totals are no sums of their parts" in str(audit(recount, [written], {}).results[0])


def test_a_value_that_is_not_the_input_s_is_said(audited: Audited) -> None:
    result = audited(RECTANGLE, xr=21)
    assert result.results[0].state is State.UNKNOWN and "1 published values" in str(result.results[0])


# --- under differential privacy ---------------------------------------------------------------------------------------

DRAW = {"measure": "rows", "levels": {}, "sigma": 2.0, "sensitivity": 1.0, "rho": 0.125, "values": []}


@pytest.mark.parametrize(
    ("draws", "other", "state", "says"),
    [
        ([DRAW], {}, State.MET, ""),
        ([DRAW] * 99, {}, State.UNMET, "epsilon that was spent is above"),
        ([DRAW | {"sensitivity": 0.5}], {}, State.UNKNOWN, "another sensitivity"),
        ([DRAW], {"xTotal": 31}, State.UNKNOWN, "not the sum of its parts"),
        ([DRAW], {"xp": -1, "xTotal": 29}, State.UNKNOWN, "below 0"),
        ([DRAW], {"margin": 2}, State.UNKNOWN, "margin of a count"),
    ],
)
def test_private_tables_are_what_they_should_be(
    spec: Spec, audited: Audited, draws: object, other: dict[str, int], state: State, says: str
) -> None:
    assert spec.tabulate is not None
    audited(set(), **other)  # writes the table
    private = spec.model_copy(update={"tabulate": spec.tabulate.model_copy(update={"mechanism": "dp"})})
    bound = EpsilonDelta(epsilon=4.0, delta=1e-6)
    recount = Recount(FRAME, "csv", private, PATHS, "Total", 5, differential=bound)
    written = WrittenTable(audited.path, ",", spec.tabulate.tables[0])  # type: ignore[attr-defined]
    result = audit(recount, [written], {"measurements": draws}).results[0]
    assert result.state is state and says in str(result)
