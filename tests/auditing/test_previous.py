"""Two releases of the same people, whose rows are matched by numbers of individuals."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize.auditing import opened
from anonymize.auditing.previous import Together, together
from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS, requirements
from anonymize.spec import load, make
from anonymize.verify import THRESHOLD, checks_of

SPEC = {"version": 1, "quasi_identifiers": ["q"], "sensitive": ["s"], "privacy": {"k": 2}}


def linked(
    folder: Path, now: str, before: str, individuals: tuple[list[int], list[int]] | None, **more: Any
) -> Together:
    """Releases of one cell a row, all with one sensitive value, and each row of another person. `more`: of the spec."""
    for name, cells in (("now.csv", now), ("old.csv", before)):
        rows = [f"{cell},x,{number}\n" for number, cell in enumerate(cells.split())]
        (folder / name).write_text("q,s,p\n" + "".join(rows))
    spec = make(SPEC | {"insensitive": ["p"]} | more, PARAMETERS)
    checks = checks_of(spec, requirements(spec))
    numbers = None if individuals is None else (pl.Series(individuals[0]), pl.Series(individuals[1]))
    with (
        opened(spec, folder / "now.csv", classified=True) as table,
        opened(spec, folder / "old.csv", classified=True) as old,
    ):
        own = table.measured(checks, THRESHOLD)
        return together(table, old, checks, own, THRESHOLD, numbers)


def test_rows_in_another_order_are_matched_by_whom_they_are_about(tmp_path: Path) -> None:
    both = linked(tmp_path, "a a b b", "c d c d", ([1, 2, 3, 4], [1, 3, 2, 4]))
    assert both.joined_by == "link" and both.results[0].satisfied is True
    both = linked(tmp_path, "a a b b", "c d c d", ([1, 2, 3, 4], [1, 2, 3, 4]))
    assert both.results[0].satisfied is False and both.block()["rows_at_risk"] == 4


def test_rows_that_are_about_nobody_of_the_earlier_release_show_nothing_there(tmp_path: Path) -> None:
    both = linked(tmp_path, "a a a b b", "c c", ([1, 2, 3, 4, 5], [1, 3]))
    assert both.results[0].satisfied is False and both.block()["rows_at_risk"] == 1  # the second, alone in a without c


def test_without_individuals_there_are_bounds(tmp_path: Path) -> None:
    both = linked(tmp_path, "a a b b", "b b a a", None)
    assert both.joined_by == "classes" and both.results[0].satisfied is True
    assert both.bounds is not None and (both.bounds.certain, both.bounds.rows_at_risk) == (2, 0)
    assert both.block()["rows"] == 4 and not both.warnings


def test_what_is_in_both_for_certain_is_all_that_is_reached(tmp_path: Path) -> None:
    both = linked(tmp_path, "a a a a", "a a * *", None)
    assert both.results[0].satisfied is True and both.results[0].achieved == {"k": 2}


def test_rows_that_are_in_both_for_certain_show_nothing_of_other_requirements_nor_of_people(tmp_path: Path) -> None:
    other = {"models": [{"model": "alpha-k-anonymity", "attribute": "s", "alpha": 1, "k": 2}]}
    for more in ({"privacy": other}, {"unit": "p", "insensitive": []}):
        (result,) = linked(tmp_path, "a a a a", "a a * *", None, **more).results
        assert result.satisfied is None and result.achieved == {}


def test_rows_at_risk_are_those_of_the_largest_k(tmp_path: Path) -> None:
    larger = {"k": 2, "models": [{"model": "alpha-k-anonymity", "attribute": "s", "alpha": 1, "k": 3}]}
    for privacy, rows in (({"k": 2}, 0), (larger, 4)):
        both = linked(tmp_path, "a a b b", "a a b b", None, privacy=privacy)
        assert both.bounds is not None and both.bounds.rows_at_risk == rows


def test_rows_at_risk_are_those_of_the_requirement_that_most_rows_fail(tmp_path: Path) -> None:
    positions = ([1, 2, 3, 4], [1, 2, 3, 4])
    assert linked(tmp_path, "a a b b", "a a b b", positions).block()["rows_at_risk"] == 0
    assert linked(tmp_path, "a a b b", "a a b b", positions, privacy={"k": 2, "l": 2}).block()["rows_at_risk"] == 4


def test_one_class_in_both_is_enough_to_show_it(tmp_path: Path) -> None:
    """Without a class in common nothing is shown: the releases are of other people, or one of them is misread."""
    assert linked(tmp_path, "a a a", "a a a", None).results[0].satisfied is True
    assert linked(tmp_path, "a a a", "b b b", None).results[0].satisfied is None


def test_classes_that_share_their_rows_with_one_alone_are_judged_as_they_are(tmp_path: Path) -> None:
    privacy = {"k": 2, "l": 2}
    for cells in ("a a a", "a a b b"):
        anonymous, diverse = linked(tmp_path, cells, cells, None, privacy=privacy).results
        assert anonymous.satisfied is True
        assert (diverse.satisfied, diverse.achieved, diverse.failing_rows) == (False, {"l": 1}, len(cells.split()))


def test_a_class_that_shares_no_more_than_some_of_its_rows_is_not_shown_to_be_safe(tmp_path: Path) -> None:
    both = linked(tmp_path, "a a a", "a a", None)
    assert both.bounds is not None and (both.bounds.smallest, both.bounds.certain) == (2, 0)
    (result,) = both.results
    assert (result.satisfied, result.failing_classes, result.failing_rows) == (None, 0, 0)


@pytest.mark.parametrize(("most", "refused"), [(6, False), (5, True)])
def test_more_pairs_of_classes_than_can_be_compared_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, refused: bool
) -> None:
    monkeypatch.setattr("anonymize.auditing.previous.MOST_PAIRS", most)
    with pytest.raises(UsageError, match="3 and 2 classes are too many") if refused else nullcontext():
        assert linked(tmp_path, "a b c", "a b", None).joined_by == "classes"


def test_what_has_two_bounds_in_one_release_may_be_any_label_of_the_other(tmp_path: Path) -> None:
    (tmp_path / "now.csv").write_text("q_low,q_high\n0,1\n0,1\n")
    (tmp_path / "old.csv").write_text("q\na\na\n")
    spec = make(SPEC | {"sensitive": []}, PARAMETERS)
    checks = checks_of(spec, requirements(spec))
    for now, old in (("now.csv", "old.csv"), ("old.csv", "now.csv")):
        with (
            opened(spec, tmp_path / now, classified=True) as table,
            opened(spec, tmp_path / old, classified=True) as by,
        ):
            both = together(table, by, checks, table.measured(checks, THRESHOLD), THRESHOLD, None)
        assert both.bounds is not None and both.bounds.pairs == 1


@pytest.mark.parametrize(
    ("form", "satisfied"),
    [
        ("q\n{} or ?", None),
        ("q\n{} or ?\n{}", True),
        ("q\n{}", True),
        ("bounds\n{},maybe", None),
        ("bounds\n{},maybe\n{},no", True),
        ("bounds\n{},no", True),
        ("beside\n{},maybe", None),
        ("beside\n{},no", True),
    ],
)
def test_numbers_that_may_both_be_missing_may_be_of_one_individual(
    tmp_path: Path, form: str, satisfied: bool | None
) -> None:
    """Classes apart from each other may share whoever has no number, where both of them may."""
    header, *cells = form.split("\n")
    columns, template = {
        "bounds": ("q_low,q_high,q_missing", "{},{}"),
        "beside": ("q,q_low,q_high,q_missing", "x,{},{}"),
    }.get(header, (header, "[{}-{}]"))
    rows = [cell.format(template.format(low, low + 1)) for cell, low in zip(cells * 4, (1, 5, 1, 5), strict=False)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join([columns, *rows, ""]))
    (tmp_path / "spec.yaml").write_text(
        "version: 1\ninput: {path: table.csv, missing: ['?']}\nquasi_identifiers: {q: {type: numeric}}\n"
        f"privacy: {{k: 2}}\noutput: {{numeric: {'interval' if header == 'q' else 'bounds'}}}\n"
    )
    spec = load(tmp_path / "spec.yaml", PARAMETERS)
    checks = checks_of(spec, requirements(spec))
    with opened(spec, path, classified=True) as table, opened(spec, path, classified=True) as old:
        both = together(table, old, checks, table.measured(checks, THRESHOLD), THRESHOLD, None)
    assert both.results[0].satisfied is satisfied
