"""Intervals that leave an end out, as other tools write them: no more people are counted under one than it holds."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize._audit import audit
from anonymize._recode import recode_frame
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.auditing.request import Audit
from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS
from anonymize.recoding.saved import load
from anonymize.request import Request
from anonymize.spec import Spec, make
from tests.examples import some

ABOVE = {"[": operator.ge, "(": operator.gt, "]": operator.gt}
BELOW = {"]": operator.le, ")": operator.lt, "[": operator.lt}
MODELS: tuple[dict[str, Any], ...] = (
    {"model": "k-map", "k": 4},
    {"model": "delta-presence", "min": 0, "max": 0.25},
    {"model": "risk", "journalist_max": 0.25},
)
UNCLEAR = ("{low}-<{high}", "{low} to under {high}", "[{low}, {high}", "<{low}; {high}>", "{low} <= x < {high}")


def spec_of(interval: str, models: Any = (), **further: Any) -> Spec:
    content = {"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}}, "privacy": {"models": list(models)}}
    return make({**content, "output": {"interval": interval}, **further}, PARAMETERS)


def verdict(folder: Path, interval: str, cell: str, people: list[float], form: str = "csv") -> list[bool | None]:
    pl.DataFrame({"age": [f"{number:g}" for number in people]}).write_csv(folder / "people.csv")
    released = pl.DataFrame({"age": [cell]})
    released.write_csv(folder / "t.csv") if form == "csv" else released.write_parquet(folder / "t.parquet")
    spec = spec_of(interval, [{**model, "population": str(folder / "people.csv")} for model in MODELS])
    report = audit(Audit(spec, str(folder / f"t.{form}"))).report
    return [model["satisfied"] for model in report["privacy"]["models"]]


@settings(max_examples=some(40))
@given(
    st.sampled_from("[(]"),
    st.sampled_from("])["),
    st.sampled_from(["csv", "parquet"]),
    st.lists(st.sampled_from([19, 20, 20.5, 25, 30, 31.5]), min_size=1, max_size=12),
)
def test_people_are_counted_as_the_brackets_say(
    tmp_path_factory: pytest.TempPathFactory, left: str, right: str, form: str, people: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("brackets")
    found = verdict(folder, f"{left}{{low}}, {{high}}{right}", f"{left}20, 30{right}", people, form)
    inside = sum(ABOVE[left](number, 20) and BELOW[right](number, 30) for number in people)
    assert found == [inside >= 4] * 3 or (inside == 0 and True not in found)


@pytest.mark.parametrize("interval", UNCLEAR)
def test_what_is_unclear_is_never_met(tmp_path: Path, interval: str) -> None:
    cell = interval.replace("{low}", "20").replace("{high}", "30")
    assert verdict(tmp_path, interval, cell, [25] * 8) == [None] * 3


@pytest.mark.parametrize("interval", ["[{low}, {high}[", "({low}, {high}]", "[{low}, {high})", *UNCLEAR])
@pytest.mark.parametrize("algorithm", ["mondrian", "incognito", "anatomy", "randomize"])
def test_no_release_is_written_that_leaves_out_an_end_it_has(tmp_path: Path, interval: str, algorithm: str) -> None:
    request = Request(spec_of(interval), algorithm, ALGORITHMS[algorithm].Options(), output=str(tmp_path / "o.csv"))
    with pytest.raises(UsageError, match="this template"):
        release(request)
    assert not list(tmp_path.iterdir())


def test_no_saved_recoding_writes_one(tmp_path: Path) -> None:
    pl.DataFrame({"age": [20, 30, 41, 50]}).write_csv(tmp_path / "t.csv")
    spec = spec_of("[{low}-{high}]", privacy={"k": 2}, input={"path": str(tmp_path / "t.csv")})
    output, recoding = str(tmp_path / "o.csv"), str(tmp_path / "r.json")
    release(Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), output=output, save_recoding=recoding))
    saved = load(recoding)
    strange = saved.model_copy(update={"output": saved.output.model_copy(update={"interval": "[{low}, {high}["})})
    with pytest.raises(UsageError, match="leaves out an end"):
        recode_frame(strange, pl.DataFrame({"age": [20]}))
