"""What recipients of releases estimate, from releases as they are written."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import DataError
from anonymize.meaning import Manifest
from anonymize.metrics import joint
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from anonymize.table import Source, read

ROWS = 600
ILLS = ["a", "b", "c", "d", ""]


def people() -> list[list[str]]:
    random = np.random.default_rng(3)
    ages, sexes = random.integers(20, 26, ROWS), random.choice(["F", "M", ""], ROWS, p=[0.5, 0.4, 0.1])
    ills = np.array(ILLS)[(ages + random.integers(0, 4, ROWS)) % 5]
    return [[str(age), str(sex), str(ill)] for age, sex, ill in zip(ages, sexes, ills, strict=True)]


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["age", "sex", "ill"], *people()])
    return path


def spec_of(path: Path, **age: Any) -> Any:
    quasi = {"age": {"type": "numeric", **age}, "sex": {}}
    given = {"path": str(path), "missing": [""]}
    return make(
        {"version": 1, "input": given, "quasi_identifiers": quasi, "sensitive": ["ill"], "privacy": {"l": 2}},
        PARAMETERS,
    )


def axes_of(spec: Any) -> joint.Axes:
    with Source.open(spec, None) as source:
        table = read(spec, source)
    return joint.Axes(table.attributes, table.sensitive[0])


def released(spec: Any, algorithm: str, **options: Any) -> Path:
    path = Path(spec.input.path).with_name("out.csv")
    release(Request(spec, algorithm, ALGORITHMS[algorithm].Options(**options), output=str(path), seed=1))
    return path


def text(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def test_the_original_table_counts_its_rows(original: Path) -> None:
    axes = axes_of(spec_of(original))
    assert axes.names == ["age", "sex", "ill"]
    assert axes.shape == (6, 3, 5)
    assert axes.original.sum() == ROWS
    assert axes.original[2, axes.attributes[1].domain.leaf_text().index("M"), 0] == people().count(["22", "M", "a"])


@pytest.mark.parametrize("joined", [False, True])
def test_groups_spread_their_values_over_their_rows(original: Path, joined: bool) -> None:
    spec = spec_of(original)
    axes, path = axes_of(spec), released(spec, "anatomy", joined=joined)
    rows = text(path if joined else path.with_name("out.qit.csv"))
    st = rows if joined else text(path.with_name("out.st.csv"))
    listed = joint.listing(st, "group", "ill", None if joined else "count")
    found = joint.ValueBuckets(axes, rows, listed, "group").estimate(axes)
    expected = np.zeros(axes.shape)
    codes = [axes.leaves(each, rows[each.name]) for each in axes.attributes]
    groups = rows["group"].to_list()
    shown = rows["ill"] if joined else original_ills(groups, listed)
    members: dict[str, list[int]] = {}
    for at, group in enumerate(groups):
        members.setdefault(group, []).append(at)
    values = axes.values(shown)
    for mates in members.values():
        for at in mates:
            for mate in mates:
                expected[codes[0][at], codes[1][at], values[mate]] += 1 / len(mates)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=-1), axes.original.sum(axis=-1))


def original_ills(groups: list[str], listed: pl.DataFrame) -> pl.Series:
    """A value for each row, as the sensitive table counts them."""
    left = {
        group: [ill for ill, count in zip(part["value"], part["count"], strict=True) for _ in range(int(count))]
        for (group,), part in listed.group_by("group", maintain_order=True)
    }
    return pl.Series("ill", [left[group].pop() for group in groups])


def test_what_was_left_alone_is_known(original: Path) -> None:
    spec = spec_of(original)
    path = released(spec, "randomize", p="sex=0.95,ill=0.9")
    axes = axes_of(spec)
    found = joint.of_channels(axes, text(path), Manifest.read(str(path.with_name("out.params.json"))))
    np.testing.assert_allclose(found.sum(axis=(1, 2)), axes.original.sum(axis=(1, 2)))
    assert np.abs(found - axes.original).max() < 15
    assert found.min() < 0
    clipped = joint.of_channels(axes, text(path), Manifest.read(str(path.with_name("out.params.json"))), "simplex")
    assert clipped.min() >= 0
    assert clipped.sum() == pytest.approx(ROWS)


def test_bins_are_spread_over_their_values(original: Path) -> None:
    spec = spec_of(original, bins=[22, 25])
    path = released(spec, "randomize", p="age=0.9")
    axes = axes_of(spec)
    found = joint.of_channels(axes, text(path), Manifest.read(str(path.with_name("out.params.json"))))
    np.testing.assert_allclose(found[0], found[1])
    np.testing.assert_allclose(found[2], found[4])
    assert not np.allclose(found[4], found[5])
    np.testing.assert_allclose(found.sum(axis=0), axes.original.sum(axis=0))
    assert found[:2].sum() == pytest.approx(axes.original[:2].sum(), abs=60)


def test_texts_of_no_value_are_refused_without_showing_them(original: Path) -> None:
    axes, rows = axes_of(spec_of(original)), text(original)
    for name, attribute in (("age", axes.attributes[0]), ("sex", axes.attributes[1])):
        with pytest.raises(DataError) as raised:
            axes.leaves(attribute, pl.Series(name, ["9999", *rows[name][1:]]))
        assert str(raised.value) == f"{name}: 1 cells of the release are not values of the original"
    with pytest.raises(DataError, match="1 cells"):
        axes.values(pl.Series("ill", ["zz"]))


def test_groups_without_a_list_are_refused(original: Path) -> None:
    spec = spec_of(original)
    path = released(spec, "anatomy")
    rows, st = text(path.with_name("out.qit.csv")), text(path.with_name("out.st.csv"))
    axes, listed = axes_of(spec), joint.listing(st, "group", "ill", "count")
    with pytest.raises(DataError, match="rows belong to groups"):
        joint.ValueBuckets(axes, rows, listed.filter(pl.col("group") != "1"), "group").estimate(axes)


@pytest.mark.parametrize("chosen", [(0, 1), (0, 2), (1, 2), (0,)], ids=["quasi", "age", "sex", "alone"])
def test_a_table_of_some_axes_is_that_of_all_summed(
    original: Path, chosen: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of(original)
    path = released(spec, "anatomy")
    rows, st = text(path.with_name("out.qit.csv")), text(path.with_name("out.st.csv"))
    listed = joint.listing(st, "group", "ill", "count")
    axes = axes_of(spec)
    found = joint.Estimated(axes, joint.ValueBuckets(axes, rows, listed, "group").estimate)
    whole = found.tables(range(3))
    others = tuple({0, 1, 2} - set(chosen))
    summed, expected = found.tables(chosen), [table.sum(axis=others) for table in whole]
    monkeypatch.setattr(joint, "MOST_CELLS", 1)
    alone = joint.Estimated(found.axes, found.estimate).tables(chosen)
    for at in (0, 1):
        np.testing.assert_allclose(summed[at], expected[at], atol=1e-9)
        np.testing.assert_allclose(alone[at], expected[at], atol=1e-9)
    assert found.cells(chosen) >= whole[0].sum(axis=others).size


def test_negative_cells_are_no_part_of_a_sum(original: Path) -> None:
    spec = spec_of(original)
    path = released(spec, "randomize", p="sex=0.9,ill=0.8,age=0.8")
    manifest = Manifest.read(str(path.with_name("out.params.json")))
    found = joint.Estimated(axes_of(spec), partial(joint.of_channels, rows=text(path), manifest=manifest))
    whole = found.tables(range(3))[1]
    assert whole.min() < 0
    np.testing.assert_allclose(found.tables((0, 1))[1], np.maximum(whole, 0).sum(axis=2))
