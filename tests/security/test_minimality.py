"""With --mask-minimality, whoever knows the method learns no more than the classes promise."""

from __future__ import annotations

from dataclasses import fields, replace
from math import factorial, prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from anonymize.algorithms import ALGORITHMS
from anonymize.privacy import Requirement
from anonymize.table import Table
from tests.algorithms.full_domain import leveled
from tests.algorithms.tables import k_anonymity, numeric, requirement, sensitive, table_of
from tests.security.minimality import left, possible_worlds, success
from tests.security.running import Run, running

MASKED = ["mondrian", "datafly", "samarati", "mingen", "incognito", "research-value"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return running(tmp_path, capsys)


def test_the_option_is_where_it_can_be_kept() -> None:
    having = [name for name, each in ALGORITHMS.items() if "mask_minimality" in {f.name for f in fields(each.Options)}]
    assert having == MASKED


# --- the surgeons ----------------------------------------------------------------------------------------------------


def surgeons() -> Table:
    jobs = ["surgeon"] * 2 + ["nurse"] * 10
    column = sensitive(["hiv"] * 2 + ["none"] * 10)
    return table_of(leveled("job", jobs), sensitive=[replace(column, texts=("hiv", "none"))])


PROTECTED = (k_anonymity(2), requirement("frequency-l-diversity", "s", l=2, values=("hiv",)))


@pytest.mark.parametrize("name", MASKED)
def test_the_surgeons_are_not_given_away(name: str) -> None:
    """Without the option the release that puts surgeons and nurses together is made in one world alone."""
    certain = [success(worlds, [0]) for worlds in possible_worlds(name, surgeons(), PROTECTED, mask=False)]
    assert max(certain) == 1
    assert max(success(worlds, [0]) for worlds in possible_worlds(name, surgeons(), PROTECTED)) <= 0.5


def test_a_value_that_only_one_can_share_is_not_given_away() -> None:
    """Two surgeons can only be alike if both have the value that occurs twice: a cut that fails for that tells all."""
    table = table_of(leveled("job", ["surgeon"] * 2 + ["nurse"] * 3), sensitive=[sensitive(["a", "a", "b", "c", "d"])])
    needed = (k_anonymity(2), requirement("distinct-l-diversity", "s", l=2))
    for name in MASKED:
        assert min(map(left, possible_worlds(name, table, needed, mask=False))) == 1, name
        assert min(map(left, possible_worlds(name, table, needed))) >= 2, name


# --- random tables ---------------------------------------------------------------------------------------------------


def worlds_of(values: list[str | None]) -> int:
    return factorial(len(values)) // prod(factorial(values.count(value)) for value in set(values))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(5, 9))
    jobs = draw(st.lists(st.sampled_from(["ax", "ay", "bx", "by"]), min_size=rows, max_size=rows))
    ages = draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    values = draw(st.lists(st.sampled_from(["p", "q", "r", None]), min_size=rows, max_size=rows))
    assume(1 < worlds_of(values) <= 40)
    age = numeric(ages, "age") if draw(st.booleans()) else leveled("age", [str(each) for each in ages])
    column = sensitive(values)
    texts = (*sorted({value for value in values if value is not None}), "?")[: column.size]
    return table_of(leveled("job", jobs, lambda value: value[0] + "*"), age, sensitive=[replace(column, texts=texts)])


FEW = settings(max_examples=max(1, settings().max_examples // 20))


@pytest.mark.parametrize("name", MASKED)
@FEW
@given(tables(), st.sampled_from([1.5, 2, 3]), st.integers(1, 2), st.integers(0, 2), st.booleans())
def test_frequency_l_bounds_whoever_knows_the_method(
    name: str, table: Table, diversity: float, k: int, limit: int, protected: bool
) -> None:
    (column,) = table.sensitive
    values = ("p",) if protected else None
    assume(not protected or "p" in column.texts)
    needed = (k_anonymity(k), requirement("frequency-l-diversity", "s", l=diversity, values=values))
    bound = [code for code in range(column.size) if code != column.missing and (not protected or code == 0)]
    for worlds in possible_worlds(name, table, needed, limit):
        assert success(worlds, bound) * diversity <= 1 + 1e-9


@pytest.mark.parametrize("name", MASKED)
@FEW
@given(tables(), st.integers(2, 3), st.integers(1, 2), st.integers(0, 2))
def test_distinct_l_leaves_l_values_to_whoever_knows_the_method(
    name: str, table: Table, diversity: int, k: int, limit: int
) -> None:
    needed: tuple[Requirement, ...] = (k_anonymity(k), requirement("distinct-l-diversity", "s", l=diversity))
    (column,) = table.sensitive
    for worlds in possible_worlds(name, table, needed, limit):
        kept = [person for person in zip(*worlds, strict=True)]
        assert left(worlds, column.missing) >= min(diversity, len(set(np.concatenate(kept).tolist())))


# --- the command -----------------------------------------------------------------------------------------------------

SPEC = """version: 1
input: {path: table.csv}
quasi_identifiers: {job: {}}
sensitive: [ill]
privacy: {k: 2, models: [MODEL]}
"""


def write(folder: Path, model: str, more: str = "") -> None:
    rows = ["surgeon,hiv"] * 2 + ["nurse,flu"] * 10
    (folder / "table.csv").write_text("\n".join(["job,ill", *rows, ""]))
    (folder / "spec.yaml").write_text(SPEC.replace("MODEL", model) + more)


def test_what_it_does_not_bound_is_refused(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "{model: t-closeness, t: 0.9}")
    ended = run("mondrian", "spec.yaml", "--mask-minimality", "-o", "out.csv")
    assert ended.code == 2
    assert "t-closeness" in ended.err
    write(tmp_path, "{model: distinct-l-diversity, l: 2}")
    for options in (["--relaxed"], ["--refine"], ["--cut", "infogain"]):
        assert run("mondrian", "spec.yaml", "--mask-minimality", *options, "-o", "out.csv").code == 2
    assert run("incognito", "spec.yaml", "--mask-minimality", "--iterate", "-o", "out.csv").code == 2
    assert run("tds", "spec.yaml", "--mask-minimality", "-o", "out.csv").code == 2
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", MASKED)
def test_the_report_says_what_it_cost(name: str, run: Run, tmp_path: Path) -> None:
    import json

    write(tmp_path, "{model: frequency-l-diversity, l: 2, values: [hiv]}")
    assert run(name, "spec.yaml", "--mask-minimality", "-o", "out.csv", "-r", "report.json").code == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["algorithm"]["options"]["mask_minimality"] is True
    assert report["recoding"]["minimality"]["gcp"] == pytest.approx(report["utility"]["gcp"]) == 1
    assert report["privacy"]["satisfied"] is True
