"""A released set is its members: what is measured of a release of sets, beside counts by hand over rows and cells."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anonymize._evaluate import Evaluate, evaluate
from anonymize.attacks import ShownRows
from anonymize.domain import Gapped
from anonymize.evaluation.trees import LabelledRegions, RegionCondition
from anonymize.modelling.learners import RegionEnds, matrices
from anonymize.privacy import PARAMETERS
from anonymize.spec import Spec, make

JOBS, WARDS = "abcde", "vwxyz"
ASKED = [("b", "w"), ("bd", "vwxyz"), ("a", "xz"), ("abcde", "y"), ("ace", "vx")]


def spec_of(folder: Path, **more: Any) -> Spec:
    for name, leaves in (("job", JOBS), ("ward", WARDS)):
        (folder / f"{name}.csv").write_text("".join(f"{leaf};*\n" for leaf in leaves))
    content: dict[str, Any] = {
        "version": 1,
        "input": {"path": str(folder / "table.csv")},
        "quasi_identifiers": {
            "job": {"hierarchy": str(folder / "job.csv")},
            "ward": {"hierarchy": str(folder / "ward.csv")},
        },
        "sensitive": ["ill"],
        "privacy": {"k": 2},
        "output": {"categorical": "set"},
        "workload": {"selections": [{"job": {"in": list(j)}, "ward": {"in": list(w)}} for j, w in ASKED]},
    }
    return make(content | more, PARAMETERS)


class Tables:
    """A table and its release, both as lists of (jobs, wards, ill), and as files."""

    def __init__(self, folder: Path, rows: int = 60, classes: int = 8) -> None:
        draw = np.random.default_rng(3)
        cells = [
            tuple("".join(sorted(draw.choice(list(leaves), draw.integers(1, 6), replace=False))) for leaves in each)
            for each in [(JOBS, WARDS)] * classes
        ]
        self.released = [(*cells[draw.integers(classes)], str(draw.choice(["flu", "cough"]))) for _ in range(rows)]
        self.original = [(draw.choice(list(j)), draw.choice(list(w)), ill) for j, w, ill in self.released]
        for name, table in (("table", self.original), ("released", self.released)):
            lines = [f"{_cell(j)},{_cell(w)},{ill}" for j, w, ill in table]
            (folder / f"{name}.csv").write_text("\n".join(["job,ward,ill", *lines]) + "\n")
        self.folder = folder

    def report(self, **more: Any) -> dict[str, Any]:
        queries = self.folder / "queries.yaml"
        queries.write_text(
            "".join(f"- {{job: {{in: [{','.join(j)}]}}, ward: {{in: [{','.join(w)}]}}}}\n" for j, w in ASKED)
        )
        return evaluate(
            Evaluate(spec_of(self.folder), str(self.folder / "released.csv"), query_file=str(queries), **more)
        )

    def counted(self, jobs: str, wards: str) -> int:
        return sum(j in jobs and w in wards for j, w, _ in self.original)

    def expected(self, jobs: str, wards: str) -> float:
        shares = [(set(j) & set(jobs), j, set(w) & set(wards), w) for j, w, _ in self.released]
        return sum(len(a) / len(j) * len(b) / len(w) for a, j, b, w in shares)


def _cell(values: str) -> str:
    return values if len(values) == 1 else "{" + "|".join(values) + "}"


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


def test_counts_are_estimated_over_members(tables: Tables) -> None:
    errors = [abs(tables.expected(*each) - tables.counted(*each)) / tables.counted(*each) for each in ASKED]
    found = tables.report()["utility"]["query_error"]
    assert found["mean"] == pytest.approx(np.mean(errors)) and found["median"] == pytest.approx(np.median(errors))


def test_selections_return_rows_whose_members_are_asked_for(tables: Tables) -> None:
    found = tables.report()["utility"]["imprecision"]["selections"]
    expected = [sum(bool(set(j) & set(a)) and bool(set(w) & set(b)) for j, w, _ in tables.released) for a, b in ASKED]
    assert [each["released"] for each in found] == expected


def test_distances_are_of_rows_spread_over_members(tables: Tables) -> None:
    before, after = (np.zeros((5, 5, 2)) for _ in range(2))
    for (j, w, ill), (jobs, wards, _) in zip(tables.original, tables.released, strict=True):
        before[JOBS.index(j), WARDS.index(w), int(ill == "flu")] += 1
        for job, ward in product(jobs, wards):
            place = JOBS.index(job), WARDS.index(ward), int(ill == "flu")
            after[place] += 1 / (len(jobs) * len(wards))
    found = tables.report()["utility"]["distances"]["ill"]
    assert found["total_variation"] == pytest.approx(np.abs(before - after).sum() / 2 / 60)


def test_a_set_between_whose_members_a_value_lies_is_not_about_it(tmp_path: Path) -> None:
    """Eight rows of b alone, eight of a or c: b is counted rightly, and no more rows are returned for it."""
    (tmp_path / "table.csv").write_text("job,ward,ill\n" + "b,v,flu\n" * 8 + "a,v,flu\nc,v,flu\n" * 4)
    (tmp_path / "released.csv").write_text("job,ward,ill\n" + "b,v,flu\n" * 8 + "{a|c},v,flu\n" * 8)
    (tmp_path / "queries.yaml").write_text("- {job: {in: [b]}}\n")
    spec = spec_of(tmp_path, workload={"selections": [{"job": {"in": ["b"]}}]})
    queries = str(tmp_path / "queries.yaml")
    block = evaluate(Evaluate(spec, str(tmp_path / "released.csv"), query_file=queries))["utility"]
    assert block["query_error"]["mean"] == 0 and block["imprecision"]["total"] == 0


def shown(cells: list[tuple[str, str]]) -> ShownRows:
    codes = [
        [sorted(leaves.index(each) for each in cell) for cell, leaves in zip(row, (JOBS, WARDS), strict=True)]
        for row in cells
    ]
    first, last = (np.array([[end(cell) for cell in row] for row in codes]) for end in (min, max))
    gapped: dict[int, Gapped] = {}
    for column in range(2):
        found = Gapped.of(
            [each if len(each) <= each[-1] - each[0] else None for each in (row[column] for row in codes)], 5
        )
        gapped |= {} if found is None else {column: found}
    return ShownRows(first, last, np.arange(len(cells)), gapped=gapped)


def test_attackers_ask_whether_a_value_is_a_member() -> None:
    cells = [("ac", "v"), ("abc", "vxz"), ("bd", "vwxyz"), ("e", "wz")]
    release = shown(cells)
    people = np.array([[j, w] for j in (-1, *range(5)) for w in (-1, *range(5))])
    found = release.candidates(people).toarray() > 0
    could = [[(j < 0 or JOBS[j] in jobs) and (w < 0 or WARDS[w] in wards) for jobs, wards in cells] for j, w in people]
    assert found.tolist() == could
    volumes = np.array([len(jobs) * len(wards) for jobs, wards in cells])
    assert release.density.tolist() == pytest.approx((volumes.min() / volumes).tolist())
    some = release.of_classes(np.array([2, 0]))
    assert (some.candidates(people).toarray() > 0).tolist() == [[row[2], row[0]] for row in could]


def test_conditions_hold_outside_of_what_no_member_is_in() -> None:
    rows = shown([("ac", "v"), ("abc", "v"), ("ac", "v")])
    regions = LabelledRegions.of_rows(rows.first, rows.last, np.array([0, 0, 1]), 2, rows.gapped)
    assert len(regions.counts) == 2
    outside = RegionCondition(0, 1, 1, negated=True).within(regions)
    assert regions.counts[outside].tolist() == [[1, 1]]
    assert RegionCondition(0, 0, 2).within(regions).all()


def test_models_see_the_leaves_that_sets_leave_out() -> None:
    rows = shown([("ac", "v"), ("abc", "v"), ("b", "v")])
    boxes = RegionEnds(rows.first.astype(float), rows.last.astype(float), rows.gapped)
    points = RegionEnds(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]))
    seen, tested = matrices(boxes, points)
    assert seen[:, -1].tolist() == [0, 1, 1] and tested[:, -1].tolist() == [1]
    assert matrices(boxes.without([0]), points.without([0]))[0].shape == (3, 1)
    assert matrices(boxes.rows(np.array([1, 2])), points)[0].shape[1] == 3
