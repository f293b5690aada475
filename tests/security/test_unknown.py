"""A verdict never clears by what it does not know: what could not be shown is null, is said, and ends with 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.security.running import Run, running

COLUMNS = ("audit", "-i", "now.csv", "--qi", "q", "--sensitive", "s")
PREVIOUS = (*COLUMNS, "--previous", "old.csv")
FLAT = "version: 1\nquasi_identifiers: [q]\nsensitive: {s: {}}\noutput: {row_order: keep}\n"


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return running(tmp_path, capfd)


def written(folder: Path, name: str, cells: list[tuple[str, str]]) -> None:
    (folder / name).write_text("q,s\n" + "".join(f"{q},{s}\n" for q, s in cells))


def squares(folder: Path) -> None:
    """64 people in 8 classes of 8, by their rows in one release and by their columns in the other."""
    written(folder, "now.csv", [(f"[{10 * (n // 8)}-99]", "x") for n in range(64)])
    written(folder, "old.csv", [(f"[{n % 8}-99]", "x") for n in range(64)])


def fewest_together(folder: Path) -> int:
    """The attacker, who knows which row is whose: how many people are in one class of each release at least."""
    now, old = ((folder / name).read_text().splitlines()[1:] for name in ("now.csv", "old.csv"))
    pairs = list(zip(now, old, strict=True))
    return min(pairs.count(pair) for pair in pairs)


def previous(run: Run, *more: object) -> tuple[int, dict[str, Any]]:
    ended = run(*PREVIOUS, *more, "--json")
    return ended.code, json.loads(ended.out)


def flat(run: Run, folder: Path, *more: object) -> tuple[int, dict[str, Any]]:
    """As `previous`, of values that are shown or suppressed: the spec says that no label is above another."""
    (folder / "flat.yaml").write_text(FLAT)
    ended = run("audit", "flat.yaml", "-i", "now.csv", "--previous", "old.csv", *more, "--json")
    return ended.code, json.loads(ended.out)


def test_64_people_who_are_alone_in_both_releases_together(tmp_path: Path, run: Run) -> None:
    squares(tmp_path)
    assert fewest_together(tmp_path) == 1
    code, report = previous(run, "-k", 5)
    assert code == 1 and report["privacy"]["satisfied"] is None
    assert "could not be shown" in report["privacy"]["unknown"][0]
    assert report["previous"]["joined_by"] == "classes" and report["previous"]["models"][0]["satisfied"] is None


def test_by_position_the_same_is_known(tmp_path: Path, run: Run) -> None:
    squares(tmp_path)
    code, report = previous(run, "-k", 5, "--by-position")
    assert code == 1 and report["privacy"]["satisfied"] is False and "unknown" not in report["privacy"]
    found = report["previous"]
    assert (found["joined_by"], found["smallest"], found["rows_at_risk"]) == ("position", 1, 64)


def test_people_of_whom_nobody_knows_which_class_they_were_in_are_at_risk(tmp_path: Path, run: Run) -> None:
    """Numbers that overlap: each of the 8 classes may share rows with each, so nothing is certain of anybody."""
    squares(tmp_path)
    spec = "version: 1\nquasi_identifiers: {q: {type: numeric}}\nsensitive: {s: {}}\nprivacy: {k: 5}\n"
    (tmp_path / "s.yaml").write_text(spec)
    ended = run("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv", "--json")
    found = json.loads(ended.out)["previous"]
    assert ended.code == 1 and (found["pairs"], found["smallest"]) == (64, 8)
    assert (found["certain"], found["rows_at_risk"]) == (0, 64)


def test_tables_of_equal_length_are_not_joined_by_themselves(tmp_path: Path, run: Run) -> None:
    written(tmp_path, "now.csv", [("a", "x")] * 5 + [("b", "y")] * 5)
    written(tmp_path, "old.csv", [("b", "y")] * 5 + [("a", "x")] * 5)
    code, report = flat(run, tmp_path, "-k", 5)
    assert code == 0 and report["previous"]["joined_by"] == "classes"


def test_labels_of_which_no_spec_says_what_is_above_what_may_be_anything(tmp_path: Path, run: Run) -> None:
    written(tmp_path, "now.csv", [("a", "x")] * 5 + [("b", "x")] * 5)
    written(tmp_path, "old.csv", [("a", "x")] * 5 + [("b", "x")] * 5)
    assert flat(run, tmp_path, "-k", 5)[0] == 0
    code, report = previous(run, "-k", 5)
    assert code == 1 and report["previous"]["pairs"] == 4


def test_releases_that_have_nothing_in_common_are_not_cleared_by_that(tmp_path: Path, run: Run) -> None:
    written(tmp_path, "now.csv", [("a", "x")] * 5)
    written(tmp_path, "old.csv", [("b", "x")] * 5)
    code, report = flat(run, tmp_path, "-k", 5)
    assert code == 1 and report["previous"]["pairs"] == 0


def test_positions_of_tables_of_different_length(tmp_path: Path, run: Run) -> None:
    written(tmp_path, "now.csv", [("a", "x")] * 5)
    written(tmp_path, "old.csv", [("a", "x")] * 6)
    ended = run(*PREVIOUS, "-k", 5, "--by-position")
    assert ended.code == 2 and "rows cannot be matched by position" in ended.err
    ended = run(*COLUMNS, "-k", 5, "--by-position")
    assert ended.code == 2 and "--by-position: needs a --previous" in ended.err


def test_positions_that_the_spec_says_were_lost(tmp_path: Path, run: Run) -> None:
    written(tmp_path, "now.csv", [("a", "x")] * 5)
    written(tmp_path, "old.csv", [("a", "x")] * 5)
    (tmp_path / "s.yaml").write_text(
        "version: 1\nquasi_identifiers: [q]\nsensitive: {s: {}}\nprivacy: {k: 5}\noutput: {row_order: shuffle}\n"
    )
    ended = run("audit", "s.yaml", "-i", "now.csv", "--previous", "old.csv", "--by-position")
    assert ended.code == 2 and "output.row_order: shuffle" in ended.err


def test_classes_that_share_their_rows_one_to_one_are_known(tmp_path: Path, run: Run) -> None:
    written(tmp_path, "now.csv", [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")])
    written(tmp_path, "old.csv", [("b", "y"), ("b", "x"), ("a", "x"), ("a", "y")])
    code, report = flat(run, tmp_path, "-k", 2, "-l", 2)
    assert code == 0 and report["privacy"]["satisfied"] is True
    found = report["previous"]
    assert [each["satisfied"] for each in found["models"]] == [True, True] and found["certain"] == 2


def test_what_is_left_of_a_class_when_others_took_what_they_can(tmp_path: Path, run: Run) -> None:
    """Of the 8 of `a` at most 2 were suppressed, so at least 6 were in `a`: but the 2 may be in fewer than 3."""
    written(tmp_path, "now.csv", [("a", "x")] * 8)
    written(tmp_path, "old.csv", [("a", "x")] * 6 + [("*", "x")] * 2)
    code, report = flat(run, tmp_path, "-k", 2)
    assert code == 0 and report["previous"]["certain"] == 2
    code, report = flat(run, tmp_path, "-k", 3)
    assert code == 1 and report["previous"]["rows_at_risk"] == 8
    assert flat(run, tmp_path, "-k", 2, "-l", 1)[0] == 1  # of values nothing is known


def test_what_is_known_not_to_be_met_comes_before_what_is_not_known(tmp_path: Path, run: Run) -> None:
    squares(tmp_path)
    code, report = previous(run, "-k", 9)
    assert code == 1 and report["privacy"]["satisfied"] is False
    assert len(report["privacy"]["unknown"]) == 1


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("text", "NOT SHOWN"),
        ("markdown", "## Not shown to be met"),
        ("github", "::error"),
        ("sarif", '"level": "error"'),
        ("junit", 'errors="1"'),
        ("json", '"satisfied": null'),
    ],
)
def test_every_form_renders_it_as_an_error(tmp_path: Path, run: Run, form: str, said: str) -> None:
    squares(tmp_path)
    ended = run(*PREVIOUS, "-k", 5, "--format", form)
    assert ended.code == 1 and said in ended.out
    assert "could not be shown" in ended.err
    assert "very requirement is met" not in ended.out and "nothing was required" not in ended.out


def test_no_regress_does_not_clear_it(tmp_path: Path, run: Run) -> None:
    squares(tmp_path)
    assert run(*COLUMNS, "-k", 5, "--json").code == 0
    (tmp_path / "before.json").write_text(run(*COLUMNS, "-k", 5, "--json").out)
    ended = run(*PREVIOUS, "-k", 5, "--baseline", "before.json", "--no-regress")
    assert ended.code == 1 and "could not be shown" in ended.err


def test_nothing_required_is_not_the_same_as_nothing_shown(tmp_path: Path, run: Run) -> None:
    squares(tmp_path)
    code, report = previous(run)
    assert code == 0 and report["privacy"]["satisfied"] is None and "unknown" not in report["privacy"]


SORTED = "age,s\n" + "".join(f"{age},x\n" for age in range(20, 60))
SPEC = """\
version: 1
input: {path: table.csv, missing: ["?"]}
quasi_identifiers: {age: {type: numeric}, s: {}}
privacy: {k: 2}
output: {row_order: keep, edges: tight}
"""


def released(folder: Path, spec: str) -> None:
    """Classes of ages that overlap, of people who are sorted by age."""
    (folder / "table.csv").write_text(SORTED)
    (folder / "spec.yaml").write_text(spec)
    cells = [("[20-50]", "x"), ("[25-55]", "x")] * 20
    (folder / "r.csv").write_text("age,s\n" + "".join(f"{age},{s}\n" for age, s in cells))


def test_where_missing_matches_anything_the_order_of_rows_is_judged_by_what_is_shown(tmp_path: Path, run: Run) -> None:
    released(tmp_path, SPEC.replace("{k: 2}", "{k: 2, missing: wildcard}"))
    cells = ["20", "20", "[20-40]", "[20-40]", "30", "30"]
    (tmp_path / "r.csv").write_text(
        "age,s\n" + "".join(f"{age},x\n" for age in cells[:2] + cells[2:3] + cells[4:] + cells[3:4])
    )
    ended = run("audit", "spec.yaml", "-i", "r.csv", "--json")
    report = json.loads(ended.out)
    assert ended.code == 1 and report["privacy"]["state"] == "unmet"
    assert report["privacy"]["order"]["models"][0]["achieved"] == {"k": 1}


def test_an_order_that_narrows_rows_which_are_looked_up_in_a_population(tmp_path: Path, run: Run) -> None:
    (tmp_path / "people.csv").write_text(SORTED + SORTED.split("\n", 1)[1])
    entry = "{models: [{model: k-map, k: 2, population: people.csv}]}"
    released(tmp_path, SPEC.replace("{k: 2}", entry))
    (tmp_path / "r.csv").write_text("age,s\n[20-30],x\n[20-40],x\n[35-59],x\n[30-36],x\n")
    ended = run("audit", "spec.yaml", "-i", "r.csv", "--json")
    report = json.loads(ended.out)
    assert ended.code == 1 and report["privacy"]["satisfied"] is None
    assert "looked up in a population" in report["privacy"]["unknown"][0]
