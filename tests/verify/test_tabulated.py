"""The second opinion on tables says what is wrong with them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
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

DRAW = {"measure": "rows", "levels": {}, "sigma": 2.0, "sensitivity": 1.0, "rho": 0.125, "values": [65]}


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
    result = audit(recount, [written], {"measurements": draws, "files": [{"name": "table.csv"}]}).results[0]
    assert result.state is state and says in str(result)


AMOUNTS = [DRAW | {"measure": "w", "sensitivity": 1 << 19, "sigma": float(1 << 20)}, DRAW | {"measure": "w present"}]
"""With bounds of 0 and 10: an amount has a standard deviation of 10 for its distance from 5, and of 10 for that."""
SHARE, SUM, MEAN = 1.96 * 2 / 65, 1.96 * 200**0.5, 1.96 * 10
Private = Callable[..., str]


@pytest.fixture
def private(tmp_path: Path) -> Private:
    """What is wrong with a table of one column, of which each group has its value and its margin."""

    def run(
        measure: str,
        rows: Mapping[str, tuple[float | str, float | str]],
        spec_digits: int | None = None,
        **declared: float,
    ) -> str:
        of = {"sum": "w", "mean": "w"}.get(measure, True)
        content = {
            "version": 1,
            "quasi_identifiers": ["a"],
            "sensitive": {"w": {"type": "numeric"}},
            "domains": {"w": {"low": 0, "high": 10}},
            "tabulate": {"mechanism": "dp", "tables": [{"by": ["a"], measure: of}]}
            | ({} if spec_digits is None else {"digits": spec_digits}),
        }
        spec = make(content, PARAMETERS)
        assert spec.tabulate is not None
        lines = [f"{label},{value},published,{margin}" for label, (value, margin) in rows.items()]
        (tmp_path / "table.csv").write_text("\n".join([f"a,{measure},status,margin_95", *lines]) + "\n")
        recount = Recount(
            FRAME, "csv", spec, {"a": PATHS["a"]}, "Total", 5, differential=EpsilonDelta(epsilon=99.0, delta=1e-6)
        )
        manifest = {"measurements": [DRAW, *AMOUNTS], "files": [{"name": "table.csv", **declared}]}
        written = WrittenTable(tmp_path / "table.csv", ",", spec.tabulate.tables[0])
        result = audit(recount, [written], manifest).results[0]
        assert result.state is not State.UNMET
        return result.unknown or ""

    return run


def test_rounded_shares_add_up_within_what_was_declared(private: Private) -> None:
    thirds = {"x": (0.0, SHARE), "y": (0.0, SHARE), "Total": (1.0, SHARE)}
    assert private("share", thirds, spec_digits=0) == ""
    assert "not the sum of its parts" in private("share", thirds, spec_digits=1)
    assert "not the sum of its parts" in private("share", thirds)


def test_a_table_does_not_loosen_its_own_check(private: Private) -> None:
    """Figures of few decimals, where more are declared."""
    shares = {"x": (0.5, SHARE), "y": (0.4, SHARE), "Total": (1.0, SHARE)}
    assert "not the sum of its parts" in private("share", shares, spec_digits=3)
    assert "decimals of a share are not those that its margin leaves" in private("share", shares, digits=0)
    finer = {"x": (0.49231, SHARE), "y": (0.50769, SHARE), "Total": (1.0, SHARE)}
    assert private("share", finer, spec_digits=5) == ""
    assert "more decimals" in private("share", finer, spec_digits=3)


@pytest.mark.parametrize(
    ("measure", "values", "margins"),
    [
        ("share", (0.492, 0.508, 1.0), (SHARE, SHARE, SHARE)),
        ("sum", (150.0, 160.0, 310.0), (SUM, SUM, SUM)),
        ("mean", (5.0, 5.0, 5.0), (MEAN / 32, MEAN / 33, MEAN / 65)),
    ],
)
@pytest.mark.parametrize("factor", [1.0, 0.2, 50.0, None])
def test_a_margin_is_that_of_its_noise(
    private: Private, measure: str, values: tuple[float, ...], margins: tuple[float, ...], factor: float | None
) -> None:
    written = ["" if factor is None else factor * each for each in margins]
    said = private(
        measure, dict(zip(("x", "y", "Total"), zip(values, written, strict=True), strict=True)), spec_digits=3
    )
    assert said == "" if factor == 1.0 else f"the margin of a {measure} is not that of its noise" in said


def test_the_noise_that_a_manifest_declares_of_a_table_is_that_of_its_draws(private: Private) -> None:
    rows = {"x": (150.0, SUM), "y": (160.0, SUM), "Total": (310.0, SUM)}
    assert private("sum", rows, noise_sd=200**0.5) == ""
    assert "noise that is declared of a sum" in private("sum", rows, noise_sd=10.0)
