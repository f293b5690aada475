"""The road: what is published, what is left out, in what order, and what is refused before any work is done."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS, Algorithm, mondrian
from anonymize.algorithms.base import Family, Needs
from anonymize.classes import Partition
from anonymize.errors import SpecError, UnsafeError, UsageError
from anonymize.families import FAMILIES, Draft, Measured
from anonymize.meaning import Manifest
from anonymize.measuring import figures, pick, with_front
from anonymize.privacy import PARAMETERS, Requirement
from anonymize.publication import Files, ReleasePaths
from anonymize.recoding import Regions
from anonymize.records import dataclass
from anonymize.report.data import Blocks, verdict_blocks
from anonymize.report.tables import sections
from anonymize.request import Request
from anonymize.spec import Spec, load
from anonymize.verify import Verdict
from anonymize.verify.verdict import NOTHING_ASKED
from anonymize.writing import columns

HEAD = "version: 1\ninput: {path: t.csv}\nquasi_identifiers: {age: {type: numeric}, sex: {}}\n"


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Request]:
    """A request for a release of `t.csv`, given its text and the rest of the spec."""

    def asking(content: str, rest: str = "privacy: {k: 2}\n", algorithm: str = "mondrian", **more: Any) -> Request:
        (tmp_path / "t.csv").write_text(content, encoding="utf-8")
        (tmp_path / "s.yaml").write_text(HEAD + rest, encoding="utf-8")
        spec = load(tmp_path / "s.yaml", PARAMETERS)
        return Request(spec, algorithm, mondrian.Options(), output=str(tmp_path / "out.csv"), **more)

    return asking


def rows_of(request: Request) -> list[list[str]]:
    with open(request.output, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def forced(monkeypatch: pytest.MonkeyPatch, labels: list[int]) -> str:
    """The name of a registered algorithm that returns these classes; -1 is a row that it gave up."""

    def run(*_: Any) -> Regions:
        numbers = np.array(labels)
        rows = np.flatnonzero(numbers >= 0)
        order = rows[np.argsort(numbers[rows], kind="stable")].astype(np.uint32)
        sizes = np.bincount(numbers[rows]).astype(np.int64)
        return Regions(Partition.of_blocks([order], [sizes]), np.flatnonzero(numbers < 0).astype(np.uint32))

    return registered(monkeypatch, mondrian.NEEDS, run)


def registered(monkeypatch: pytest.MonkeyPatch, needs: Needs, run: Callable[..., Any]) -> str:
    """The name of a further algorithm."""
    module = SimpleNamespace(ID="forced", Options=mondrian.Options, NEEDS=needs, run=run)
    monkeypatch.setitem(ALGORITHMS, "forced", cast(Algorithm, module))
    return "forced"


TABLE = "age,sex\n1,M\n2,M\n8,F\n9,F\n50,M\n60,F\n"


def test_columns_stay_in_their_order(ask: Callable[..., Request]) -> None:
    rest = "identifiers: [name]\ninsensitive: [x, y]\nprivacy: {k: 2}\noutput: {edges: tight}\n"
    request = ask("x,age,name,sex,y\n01,1,A,M,\n02,2,B,M,é\n", rest)
    report = release(request)
    assert rows_of(request) == [["x", "age", "sex", "y"], ["01", "[1-2]", "M", ""], ["02", "[1-2]", "M", "é"]]
    assert report["input"]["columns"] == 5 and report["output"]["rows"] == 2


def test_bounds_stand_where_the_number_stood(ask: Callable[..., Request]) -> None:
    request = ask(
        "x,age,sex\n01,1,M\n02,2,M\n", "insensitive: [x]\nprivacy: {k: 2}\noutput: {numeric: bounds, edges: tight}\n"
    )
    release(request)
    assert rows_of(request) == [["x", "age_low", "age_high", "sex"], ["01", "1", "2", "M"], ["02", "1", "2", "M"]]


def test_every_quasi_identifier_as_two_numbers(ask: Callable[..., Request]) -> None:
    rest = "privacy: {k: 2}\noutput: {numeric: bounds, categorical: bounds, edges: tight}\n"
    request = ask(TABLE, rest)
    report = release(request)
    header, *rows = rows_of(request)
    assert header == ["age_low", "age_high", "sex_low", "sex_high"]
    men, women = ["1", "50", "1", "1"], ["8", "60", "0", "0"]
    assert rows == [men, men, men, women, women, women]
    assert report["privacy"]["verified"] and report["classes"]["count"] == 2


def test_bounds_of_categories_need_names_that_are_free(ask: Callable[..., Request]) -> None:
    rest = "insensitive: [sex_high]\nprivacy: {k: 1}\noutput: {categorical: bounds}\n"
    with pytest.raises(SpecError, match="categorical: bounds` makes a column `sex_high`"):
        release(ask("age,sex,sex_high\n1,M,x\n", rest))


def test_bounds_need_names_that_are_free(ask: Callable[..., Request]) -> None:
    with pytest.raises(SpecError, match="age_low"):
        release(ask("age,sex,age_low\n1,M,x\n", "insensitive: [age_low]\nprivacy: {k: 1}\noutput: {numeric: bounds}\n"))


def test_suppressed_rows_are_published_where_they_are_safe(
    ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = forced(monkeypatch, [0, 0, 1, 1, -1, -1])
    request = ask(TABLE, "privacy: {k: 2, suppression: 0.5}\noutput: {edges: tight}\n", algorithm=algorithm)
    report = release(request)
    assert rows_of(request)[1:] == [["[1-2]", "M"]] * 2 + [["[8-9]", "F"]] * 2 + [["*", "*"]] * 2
    counts = ("rows", "suppressed_rows", "dropped_rows", "suppressed_cells")
    assert [report["output"][key] for key in counts] == [6, 2, 0, 4]
    assert report["classes"]["count"] == 2 and report["utility"]["suppression"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("rest", ["", "output: {suppressed_rows: drop}\n"])
def test_suppressed_rows_are_left_out_where_they_are_not_safe_or_not_wanted(
    ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    algorithm = forced(monkeypatch, [0, 0, 1, 1, -1, 1] if not rest else [0, 0, 1, 1, -1, -1])
    request = ask(TABLE, f"privacy: {{k: 2, suppression: 0.5}}\n{rest}", algorithm=algorithm)
    report = release(request)
    lost = 1 if not rest else 2
    assert len(rows_of(request)) == 1 + 6 - lost
    assert [report["output"][key] for key in ("rows", "suppressed_rows", "dropped_rows")] == [6 - lost, lost, lost]
    assert any("left out" in warning for warning in report["warnings"]) == (not rest)


def test_suppressed_rows_that_are_not_diverse_are_left_out(
    ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = forced(monkeypatch, [0, 0, 0, 0, -1, -1])
    table = "age,sex,ill\n1,M,a\n2,M,b\n8,F,a\n9,F,b\n50,M,a\n60,F,a\n"
    request = ask(table, "sensitive: {ill: {}}\nprivacy: {k: 2, l: 2, suppression: 0.5}\n", algorithm=algorithm)
    assert release(request)["output"]["dropped_rows"] == 2
    assert len(rows_of(request)) == 5


def test_what_is_not_safe_is_not_published(ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch) -> None:
    algorithm = forced(monkeypatch, [0, 0, 1, 2, 3, 3])
    request = ask(TABLE, algorithm=algorithm)
    before = sorted(Path(request.output).parent.iterdir())
    with pytest.raises(UnsafeError, match="2 rows in 2 classes"):
        release(request)
    assert sorted(Path(request.output).parent.iterdir()) == before
    report = release(replace(request, allow_unsafe=True))
    assert report["privacy"]["satisfied"] is False and len(rows_of(request)) == 7


def test_a_dry_run_that_is_not_safe_is_an_error_too(
    ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = forced(monkeypatch, [0, 1, 2, 3, 4, 5])
    with pytest.raises(UnsafeError):
        release(ask(TABLE, dry_run=True, algorithm=algorithm))


def test_reports_take_their_places_with_the_release(ask: Callable[..., Request], tmp_path: Path) -> None:
    request = ask(TABLE, reports=[str(tmp_path / "r.json"), str(tmp_path / "r.md")])
    report = release(request)
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == report
    assert (tmp_path / "r.md").exists()


def test_neither_is_published_where_the_second_cannot_be(ask: Callable[..., Request], tmp_path: Path) -> None:
    def late(stage: str, done: int, total: int) -> None:
        if stage == "publish":
            (tmp_path / "out.csv").write_text("somebody else's")

    request = ask(TABLE, reports=[str(tmp_path / "r.json")], progress=late)
    with pytest.raises(UsageError, match="exists already"):
        release(request)
    assert (tmp_path / "out.csv").read_text() == "somebody else's"
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "s.yaml", "out.csv"}


@pytest.mark.parametrize("reports", [["r.txt"], ["-"], ["r.json", "./r.json"], ["out.csv.md", "out.csv.md"]])
def test_outputs_that_cannot_be_are_refused_before_the_table_is_read(
    ask: Callable[..., Request], tmp_path: Path, reports: list[str]
) -> None:
    request = ask(TABLE, reports=reports)
    (tmp_path / "t.csv").unlink()
    with pytest.raises(UsageError):
        release(request)


def test_an_output_that_is_its_report(ask: Callable[..., Request], tmp_path: Path) -> None:
    request = replace(ask(TABLE, force=True), output=str(tmp_path / "r.json"), reports=[str(tmp_path / "r.json")])
    with pytest.raises(UsageError, match="given twice"):
        release(request)


def test_a_shuffle_keeps_rows_together(ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "PIECE", 7)  # several pieces
    table = "age,sex,x\n" + "".join(f"{n},{'MF'[n % 2]},r{n:03}\n" for n in range(40))
    request = ask(table, "insensitive: [x]\nprivacy: {k: 4}\noutput: {row_order: shuffle}\n", seed=3)
    release(request)
    shuffled = rows_of(request)[1:]
    kept = ask(table, "insensitive: [x]\nprivacy: {k: 4}\noutput: {row_order: keep}\n", force=True, allow_unsafe=True)
    release(kept)
    assert shuffled != rows_of(kept)[1:]
    assert sorted(shuffled, key=lambda row: row[2]) == rows_of(kept)[1:]


def test_a_shuffle_without_a_seed_is_another_every_time(ask: Callable[..., Request]) -> None:
    table = "age,sex,x\n" + "".join(f"1,M,{n:03}\n" for n in range(60))
    request = ask(table, "insensitive: [x]\nprivacy: {k: 4}\noutput: {row_order: shuffle}\n", force=True)
    orders = []
    for _ in range(2):
        report = release(request)
        orders.append(rows_of(request))
    assert orders[0] != orders[1]
    assert not any("order" in warning for warning in report["warnings"])


def test_a_shuffle_of_quasi_identifiers_alone(ask: Callable[..., Request]) -> None:
    request = ask(TABLE, "privacy: {k: 2}\noutput: {row_order: shuffle}\n", seed=1)
    assert release(request)["output"]["rows"] == 6
    assert len(rows_of(request)) == 7


def test_a_given_seed_of_a_shuffle_draws_a_warning(ask: Callable[..., Request]) -> None:
    report = release(ask(TABLE, "privacy: {k: 2}\noutput: {row_order: shuffle}\n", seed=1))
    assert any("seed" in warning for warning in report["warnings"])


def test_progress_is_told_to_the_end(ask: Callable[..., Request]) -> None:
    told: dict[str, list[int]] = {}
    release(ask(TABLE, progress=lambda stage, done, total: told.setdefault(stage, []).append(done)))
    assert {stage: steps[-1] for stage, steps in told.items()} == {
        "read": 0,
        "search": 6,
        "recode": 0,
        "write": 6,
        "verify": 0,
        "publish": 0,
    }
    assert all(steps == sorted(steps) for steps in told.values())


@pytest.mark.parametrize(("missing", "shown"), [('["", "?"]', ""), ('["?", ""]', "?")])
def test_the_first_text_for_missing_is_shown(ask: Callable[..., Request], missing: str, shown: str) -> None:
    request = ask("age,sex\n,M\n?,M\n", "privacy: {k: 2}\n")
    text = Path(request.spec.path or "").read_text().replace("t.csv}", f"t.csv, missing: {missing}}}")
    Path(request.spec.path or "").write_text(text)
    release(replace(request, spec=load(request.spec.path or "", PARAMETERS)))
    assert rows_of(request)[1:] == [[shown, "M"], [shown, "M"]]


def test_a_class_of_missing_and_present_numbers_is_suppressed(
    ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = forced(monkeypatch, [0, 0])
    request = ask("age,sex\n5,M\n,M\n", algorithm=algorithm)
    assert release(request)["output"]["suppressed_cells"] == 2
    assert rows_of(request)[1:] == [["*", "M"], ["*", "M"]]


def test_the_release_is_measured_from_what_was_written(ask: Callable[..., Request], tmp_path: Path) -> None:
    """Whatever the search found: a row that is changed on its way to the file is noticed."""

    def changing(name: str, done: int, total: int) -> None:
        if name == "verify":
            (written,) = tmp_path.glob(".out.csv.*")
            written.write_text(written.read_text().replace(",M\n", ",X\n", 1))

    with pytest.raises(UnsafeError, match="k=1"):
        release(ask(TABLE, progress=changing))
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "s.yaml"}


TAIL = "".join(f"{age},{pay}\n" for age in range(20, 30) for pay in (0, 10)) + "111,0\n112,90\n"


@pytest.mark.parametrize(
    "model",
    [
        "{model: k-e-anonymity, k: 2, e: 5}",
        "{model: squared-error-diversity, error: 20}",
        "{model: p-sensitivity, p: 2}",
    ],
)
def test_a_tail_has_five_rows_where_nothing_required_counts_people(tmp_path: Path, model: str) -> None:
    """Two of a k that counts values are not two people: the last two rows would be alone at their end."""
    (tmp_path / "t.csv").write_text("age,pay\n" + TAIL)
    roles = "quasi_identifiers: {age: {type: numeric}}\nsensitive: {pay: {type: numeric}}\n"
    rest = f"{roles}privacy: {{models: [{model}]}}\n"
    (tmp_path / "s.yaml").write_text("version: 1\ninput: {path: t.csv}\n" + rest)
    spec = load(tmp_path / "s.yaml", PARAMETERS)
    release(Request(spec, "mondrian", mondrian.Options(), output=str(tmp_path / "o.csv")))
    shown = [line.split(",")[0] for line in (tmp_path / "o.csv").read_text().split()[1:]]
    assert shown.count("28+") == 4 and not {"29", "111+", "[111-112]"} & set(shown)


# --- what a verdict does to a release --------------------------------------------------------------------------------

IN_ORDER = "".join(f"{20 + 10 * (each // 4) + each % 4},{'FM'[each % 2]}\n" for each in range(12))
LOOKED_UP = "privacy: {models: [{model: k-map, k: 2, population: t.csv}]}\noutput: {row_order: keep, edges: tight}\n"


def test_what_could_not_be_shown_is_not_published(ask: Callable[..., Request]) -> None:
    """Rows that are in order are narrower than what they show, and nobody is looked up by that."""
    request = ask(f"age,sex\n{IN_ORDER}", LOOKED_UP)
    with pytest.raises(UnsafeError, match="could not be shown"):
        release(request)
    assert not Path(request.output).exists()
    report = release(replace(request, allow_unsafe=True))
    assert (report["privacy"]["state"], report["privacy"]["satisfied"]) == ("unknown", None)
    assert [each["basis"] for each in report["privacy"]["order"]["models"]] == ["unknown"]


@dataclass(frozen=True)
class PlainDraft(Draft):
    """A table as it is, of which nothing is required."""

    result: object

    @staticmethod
    def required(spec: Spec) -> tuple[Requirement, ...]:
        return ()

    @staticmethod
    def paths(request: Request) -> ReleasePaths:
        return ReleasePaths([request.output])

    def write(self, files: Files) -> None:
        files.table.write(iter([pl.DataFrame({"age": ["1"]})]))

    def manifest(self, files: Files) -> Manifest:
        return Manifest.of_spec(self.request.spec)

    def measure(self, files: Files) -> Measured:
        return Measured(Verdict(1, 0, (), {}, {}))

    def blocks(self, files: Files, measured: Measured) -> Blocks:
        blocks = verdict_blocks(measured.verdict)
        return Blocks(output={}, measured=blocks, utility={}, recoding={}, warnings=measured.verdict.cautions)


def test_a_release_of_which_nothing_is_required_is_published_with_a_warning(
    ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    algorithm = registered(monkeypatch, replace(mondrian.NEEDS, family=Family("plain")), lambda *_: ())
    monkeypatch.setitem(FAMILIES, "plain", PlainDraft)
    request = ask(TABLE, "privacy: {}\n", algorithm)
    report = release(request)
    assert rows_of(request) == [["age"], ["1"]] and report["privacy"]["state"] == "nothing required"
    assert report["warnings"] == [NOTHING_ASKED]
    result = {"label": "forced", "k": None, "code": 0, "seconds": 1.0, **figures(report)}
    comparison = {"comparison": with_front([result])}
    (section,) = sections(comparison)
    assert section.rows == [("forced", *["-"] * 6, "1", "")]
    with pytest.raises(UsageError, match="no release with a known loss"):
        pick(comparison, None)


def test_a_family_that_is_not_known_is_not_taken_for_classes(
    ask: Callable[..., Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(TABLE, algorithm=forced(monkeypatch, [0, 0, 1, 1, 2, 2]))
    monkeypatch.setattr(ALGORITHMS["forced"], "NEEDS", replace(mondrian.NEEDS, family=Family("odd")))
    with pytest.raises(UsageError, match="forced: there are no releases of the family odd"):
        release(request)
