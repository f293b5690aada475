"""The page of a report: its sentences, its files, and what its pictures are drawn from."""

from __future__ import annotations

from typing import Any

import pytest

from anonymize.report.blocks import ATTACKS
from anonymize.report.page import FileFact, page
from anonymize.report.section import Curves, Picture
from tests.report.test_report import REPORT, changed


def pictures_of(report: dict[str, Any], title: str) -> list[Picture | Curves]:
    return [picture for each in page(report).chapters if each.title == title for picture in each.pictures]


def test_the_summary_says_what_was_required_reached_and_lost() -> None:
    assert page(REPORT).summary == (
        "Everybody in the table shares the quasi-identifiers (age, [bold]x) with at least 5 other rows, so an "
        "attacker who knows all of them, and that a person is in it, picks the person's row with a probability of at "
        "most 16.7 %. "
        "The quasi-identifiers lost 12.3 % of their precision."
    )
    assert (
        "16.7 %, which was 100 % in the original."
        in page(changed("risk.before", {"prosecutor_max": 1.0, "records_at_risk": 1.0})).summary
    )
    assert ("smallest group", "1 row", " by the quasi-identifiers") in page(changed("classes.min_size", 1)).figures
    assert page(changed("classes.min_size", None)).summary == "The quasi-identifiers lost 12.3 % of their precision."
    assert "precision" not in page(changed("utility.gcp", None)).summary
    assert page({"tool": REPORT["tool"], "warnings": []}).summary == ""


def test_what_is_not_met_is_named_with_what_it_is_of() -> None:
    assert page(REPORT).problems == ["recursive-cl-diversity of a|b: c = -, l = 3 where c = 2, l = 3 is required"]
    models = [REPORT["privacy"]["models"][0] | {"satisfied": False}]
    assert page(changed("privacy.models", models)).problems == ["k-anonymity: k = 6 where k = 5 is required"]


def test_the_head_names_tool_algorithm_and_files() -> None:
    head = page(REPORT)
    assert (head.tool, head.algorithm) == ("anonymize 9.9", ("mondrian", "cut = auto"))
    assert head.files == [
        FileFact("input", 12345, "/in/ta|ble_*.csv", "bb"),
        FileFact("output", 12340, "out.csv", "cc"),
        FileFact("spec", None, "/s/spec.yaml", "aa"),
    ]
    assert page({"tool": {"name": "anonymize", "version": None}, "warnings": []}).algorithm is None


@pytest.mark.parametrize("known", [{"rows": 3}, {"path": "a.csv"}, {"sha256": "aa"}, {}])
def test_a_file_is_told_of_which_anything_is_known(known: dict[str, Any]) -> None:
    report = {"tool": REPORT["tool"], "warnings": [], "input": known}
    none = dict.fromkeys(("rows", "path", "sha256"))
    assert page(report).files == ([FileFact("input", **(none | known))] if known else [])


def test_risks_are_drawn_before_and_after() -> None:
    names = ["highest risk of a row", "rows with a risk above 25 %"]
    [drawn] = pictures_of(REPORT, "Re-identification risk")
    assert drawn == Picture("Risk of being re-identified", names, {"after": [1 / 6, 0.0]}, "share")
    [drawn] = pictures_of(
        changed("risk.before", {"prosecutor_max": 1.0, "records_at_risk": 0.5}), "Re-identification risk"
    )
    assert isinstance(drawn, Picture) and list(drawn.series.items()) == [("before", [1, 0.5]), ("after", [1 / 6, 0])]


def test_a_risk_of_which_no_threshold_is_told_is_high_above_a_fifth() -> None:
    risk = {name: figure for name, figure in REPORT["risk"].items() if name != "threshold"}
    [drawn] = pictures_of(changed("risk", risk), "Re-identification risk")
    assert isinstance(drawn, Picture) and drawn.labels[-1] == "rows with a risk above 20 %"


def test_attackers_who_could_not_be_measured_are_not_drawn() -> None:
    excess = {"value": 0.3, "low": 0.2, "high": 0.4}
    guess: dict[str, Any] = {"attacker": "singling-out", "control": None, "excess": excess, "figures": {}}
    found = guess | {"about": "ill", "rate": {"value": 0.5}, "baseline": {"value": 0.25}}
    nobody = guess | {"about": None, "rate": None, "baseline": None}
    useless = found | {"about": "job", "excess": {"value": 0.0, "low": -0.1, "high": 0.1}}
    [drawn] = pictures_of({**REPORT, "attacks": {"results": [found, nobody, useless]}}, ATTACKS)
    series: dict[str, list[float | None]] = {"baseline": [0.25], "success": [0.5]}
    assert drawn == Picture("How often attackers are right", ["singling-out (ill)"], series, "share")
    assert pictures_of({**REPORT, "attacks": {"results": [nobody]}}, ATTACKS) == []


def test_sizes_of_classes_are_drawn_by_their_range() -> None:
    sizes = [(6, 6, 60), (7, 1999, 2000), (2000, None, 10280)]
    report = changed("classes.sizes", [{"from": low, "to": high, "rows": rows} for low, high, rows in sizes])
    [drawn] = pictures_of(report, "Equivalence classes")
    series: dict[str, list[float | None]] = {"rows": [60, 2000, 10280]}
    assert drawn == Picture("Rows by the size of their class", ["6", "7 to 1,999", "2,000 and more"], series, "rows")
    assert pictures_of(REPORT, "Equivalence classes") == []


def test_losses_are_drawn_where_they_are_known() -> None:
    title = "Loss by attribute (mean per cell)"
    [drawn] = pictures_of(REPORT, title)
    assert isinstance(drawn, Picture) and (drawn.labels, drawn.series) == (["age", "[bold]x"], {"loss": [0.25, 0]})
    [drawn] = pictures_of(changed("utility.attributes.age.ncp", None), title)
    assert isinstance(drawn, Picture) and (drawn.labels, drawn.series) == (["[bold]x"], {"loss": [0]})
    unknown = {"age": {"ncp": None, "loss": None, "weight": 1}}
    assert pictures_of(changed("utility.attributes", unknown), title) == []


def test_what_was_compared_is_drawn_by_risk_where_it_has_one() -> None:
    figures = [("a", 0.5, 0.1), ("b", 0.5, 0.2), ("a", 0.25, 0.3), ("b", None, 0.4), ("b", 0.1, None)]
    block = [
        {"label": label, "algorithm": label, "k": 5, "prosecutor_max": risk, "gcp": gcp, "code": 0, "efficient": True}
        for label, risk, gcp in figures
    ]
    report = {"schema_version": 1, "tool": REPORT["tool"], "comparison": block, "warnings": []}
    series = {"a": [(0.25, 0.3), (0.5, 0.1)], "b": [(0.5, 0.2)]}
    assert pictures_of(report, "Algorithms compared") == [
        Curves("Risk against loss", series, "highest risk of a row", "loss (gcp)")
    ]
    assert pictures_of(report | {"comparison": block[3:]}, "Algorithms compared") == []
    alone = page(report | {"comparison": [block[0] | {"k": None, "algorithm": "a"}]}).opening
    assert alone is not None and alone.text == "a loses least, 10 % of the precision"


def test_the_strongest_associations_are_drawn_first() -> None:
    strengths = [None, *(number / 100 for number in range(14))]
    pairs = [{"columns": ["a", f"b{v}"], "before": v, "after": None} for v in strengths]
    [drawn] = pictures_of({**REPORT, "associations": {"pairs": pairs}}, "Associations")
    assert isinstance(drawn, Picture) and drawn.series["before"] == [number / 100 for number in range(13, 1, -1)]
    assert drawn.labels[0] == "a and b0.13" and drawn.series["after"] == [None] * 12
    assert pictures_of({**REPORT, "associations": {"pairs": pairs[:1]}}, "Associations") == []
    assert pictures_of({**REPORT, "associations": {"pairs": pairs, "coarse": ["a"]}}, "Associations") == []


@pytest.mark.parametrize(
    ("hidden", "caption"), [(0, "age"), (1, "age (1 row shows nothing)"), (2, "age (2 rows show nothing)")]
)
def test_a_marginal_says_how_many_rows_it_is_not_about(hidden: int, caption: str) -> None:
    block = {"bins": ["0", "1"], "before": [5, 6], "after": [6, 5], "hidden": hidden}
    assert pictures_of({**REPORT, "marginals": {"age": block}}, "Marginals") == [
        Picture(caption, ["0", "1"], {"before": [5, 6], "after": [6, 5]}, "rows")
    ]


def test_settings_and_what_cells_mean_are_chapters() -> None:
    settings = next(each for each in page(REPORT).chapters if each.title == "Settings")
    assert settings.table is not None and list(settings.table.rows) == [("k", "5", "spec")]
    assert not any(each.title in ("Settings", "Codebook") for each in page(changed("settings", {})).chapters)
    texts = {"missing": "?", "suppressed": "*", "interval": "[1-2]", "open_high": "2+", "open_low": "<2"}
    for more in ({}, {"or_missing": "[1-2] or ?"}):
        block = {"columns": [{"name": "age", "role": "quasi-identifier", "meaning": "years"}], **texts, **more}
        codebook = next(each for each in page({**REPORT, "codebook": block}).chapters if each.title == "Codebook")
        assert codebook.table is not None
        first = [row[0] for row in codebook.table.rows]
        assert first == ["age", "'?'", "'*'", "[1-2]", "2+", "<2", *more.values()]
