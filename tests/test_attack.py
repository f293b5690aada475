"""The road of an attack: what is read, whom rows are about, the gate, and that no value of a cell comes out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from inspect import cleandoc
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from anonymize._attack import Attack, attack
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.attacks import ATTACKERS
from anonymize.claims import State
from anonymize.errors import DataError, UsageError
from anonymize.formats import FORMATS
from anonymize.link import Link, LinkedFile
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import load, make
from anonymize.table.files import sha256_of

SPEC = """version: 1
input: {path: table.csv}
quasi_identifiers: {age: {type: numeric}, town: {}}
sensitive: {illness: {}}
privacy: {k: 5}
"""
ILLNESSES = ("influenza", "gout", "hayfever")


def _people(count: int, seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    ages, towns = draw.integers(20, 80, count), draw.integers(0, 4, count)
    ill = [ILLNESSES[each] for each in draw.choice(3, count, p=[0.5, 0.3, 0.2])]
    return pl.DataFrame({"age": ages, "town": [f"town-{each}" for each in towns], "illness": ill})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attack")
    (folder / "spec.yaml").write_text(SPEC)
    table = _people(400, 0)
    table.write_csv(folder / "table.csv")
    _people(300, 1).write_csv(folder / "others.csv")
    table.with_columns(age=pl.lit("*"), town=pl.lit("*")).write_csv(folder / "stars.csv")
    spec, paths = load(folder / "spec.yaml", PARAMETERS), [str(folder / name) for name in ("released.csv", "link.json")]
    release(Request(spec, "mondrian", ALGORITHMS["mondrian"].Options(), output=paths[0], save_link=paths[1]))
    return folder


@pytest.fixture
def request_(folder: Path) -> Callable[..., Attack]:
    spec = load(folder / "spec.yaml", PARAMETERS)

    def make(released: str, **given: object) -> Attack:
        paths = {"link", "control", "previous"}
        named = {name: str(folder / str(value)) if name in paths else value for name, value in given.items()}
        return Attack(spec, str(folder / released), **named)  # type: ignore[arg-type]

    return make


def test_numbers_that_a_release_changed_are_linked_by_distance(folder: Path, request_: Callable[..., Attack]) -> None:
    """Ages plus a little that is different for everybody, in another order; the same ages are not attacked."""
    table = pl.read_csv(folder / "table.csv")
    changed = table.with_columns(age=pl.col("age") + pl.int_range(pl.len()) / 1000)
    kept = make({"version": 1, "quasi_identifiers": {"town": {}}, "insensitive": ["age"], "sensitive": ["illness"]}, {})
    known = table.with_columns(age=pl.col("age") + pl.int_range(pl.len()) / 1001)
    known.write_csv(folder / "exact.csv")
    order = np.random.default_rng(3).permutation(len(table))
    for name, rows in (("noisy.csv", changed[order]), ("same.csv", known[order])):
        rows.write_csv(folder / name)
        before, after = (LinkedFile(sha256_of(folder / each), len(table)) for each in ("exact.csv", name))
        (folder / f"{name}.json").write_text(Link(before, after, order).text("x.json"))
        request = request_(name, link=f"{name}.json", attackers=["distance-linkage"], max_excess=1.0)
        block = attack(replace(request, spec=kept, original=str(folder / "exact.csv"))).report["attacks"]
        if name == "same.csv":
            assert block["results"] == [] and block["left_out"] == ["distance-linkage"]
        else:
            (result,) = block["results"]
            assert result["rate"]["value"] > 0.9 and result["baseline"]["value"] == pytest.approx(1 / 400)
            assert result["figures"]["columns"] == 1


def test_changed_numbers_are_attacked_without_quasi_identifiers(tmp_path: Path) -> None:
    """Before it is published as after; nobody else can attack such a release."""
    table, names = tmp_path / "table.csv", ["pay", "hours"]
    values = np.random.default_rng(1).normal(size=(90, 2))
    pl.DataFrame(values, schema=names).write_csv(table)
    content = {"version": 1, "input": {"path": str(table)}, "insensitive": names}
    step = {"method": "microaggregation", "columns": names, "k": 3, "grouping": "mdav"}
    spec = make(content | {"treatments": [step], "risk": {"attacks": ["distance-linkage"]}}, PARAMETERS)
    paths = [str(tmp_path / name) for name in ("released.csv", "link.json")]
    options = ALGORITHMS["perturb"].Options()
    report = release(Request(spec, "perturb", options, output=paths[0], save_link=paths[1]))
    attacked = attack(Attack(spec, paths[0], link=paths[1])).report["attacks"]
    assert [each["attacker"] for each in attacked["results"]] == ["distance-linkage"]
    assert 0.2 < attacked["results"][0]["rate"]["value"] <= 1 / 3
    assert report["attacks"]["results"][0]["rate"] == attacked["results"][0]["rate"]
    with pytest.raises(UsageError, match="the spec has none"):
        attack(Attack(spec, paths[0], link=paths[1], attackers=["prosecutor"]))


def test_every_attacker_has_what_an_attacker_needs() -> None:
    for name, attacker in ATTACKERS.items():
        manual = cleandoc(attacker.__doc__ or "")
        assert name == attacker.ID and attacker.KNOWS
        assert all(f"\n{part}:" in manual for part in ("Knows", "Does", "Success", "Source")), name


def test_all_suppressed_shows_no_excess(request_: Callable[..., Attack]) -> None:
    result = attack(request_("stars.csv", max_excess=0.05))
    assert result.satisfied, [finding.message for finding in result.checked.of_levels("error")]


@pytest.mark.parametrize("seed", range(3))
def test_all_suppressed_shows_no_excess_to_all_attackers_together(seed: int, tmp_path: Path) -> None:
    """Every attacker, with people held out and with every row known. With m results, each interval is widened to the
    level of 1 - 0.05 / m, so that by chance one release in twenty at most would have one above 0."""
    paths = {name: tmp_path / f"{name}.csv" for name in ("table", "others", "stars")}
    (tmp_path / "spec.yaml").write_text(SPEC.replace("{k: 5}", "{k: 5, l: 2}"))
    table, order = _people(400, 10 + seed), np.random.default_rng(seed).permutation(400)
    table.write_csv(paths["table"])
    _people(400, 20 + seed).write_csv(paths["others"])
    table[order].with_columns(age=pl.lit("*"), town=pl.lit("*")).write_csv(paths["stars"])
    hashes = {name: LinkedFile(sha256_of(str(paths[name])), 400) for name in ("table", "stars")}
    (tmp_path / "link.json").write_text(Link(hashes["table"], hashes["stars"], order).text("link.json"))
    spec, others = load(tmp_path / "spec.yaml", PARAMETERS), str(paths["others"])
    request = Attack(spec, str(paths["stars"]), link=str(tmp_path / "link.json"), control=others, seed=seed)
    results = attack(request).report["attacks"]["results"]
    assert len({each["attacker"] for each in results}) >= 14
    wider = float(norm.ppf(1 - 0.025 / len(results)) / norm.ppf(0.975))
    excesses = {f"{each['attacker']} {each['about']}": each["excess"] for each in results}
    assert [name for name, e in excesses.items() if e["value"] - (e["value"] - e["low"]) * wider > 0] == []


def test_a_copy_of_the_original_is_refused_by_the_gate(request_: Callable[..., Attack]) -> None:
    result = attack(request_("table.csv", max_excess=0.05))
    assert result.satisfied is False
    assert any("prosecutor" in str(problem) for problem in result.problems)


def test_the_link_says_whom_rows_are_about(request_: Callable[..., Attack]) -> None:
    linked, apart = attack(request_("released.csv", link="link.json")), attack(request_("released.csv"))
    assert (linked.report["attacks"]["truth"], apart.report["attacks"]["truth"]) == ("link", "regions")
    (first, *_), (second, *_) = (each.report["attacks"]["results"] for each in (linked, apart))
    assert first["figures"]["max"] <= 0.2 and abs(first["rate"]["value"] - second["rate"]["value"]) < 0.02


def test_a_link_of_other_files_is_refused(request_: Callable[..., Attack]) -> None:
    with pytest.raises(DataError, match="another release"):
        attack(request_("stars.csv", link="link.json"))


def test_people_held_out_are_what_the_excess_is_measured_against(request_: Callable[..., Attack]) -> None:
    report = attack(request_("released.csv", control="others.csv", link="link.json")).report
    against = {each["attacker"]: each["against"] for each in report["attacks"]["results"]}
    assert against["inference-majority"] == "control" and against["prosecutor"] == "baseline"
    assert report["original"]["rows"] == 400


def test_a_sample_of_people_is_attacked_by_the_seed(request_: Callable[..., Attack]) -> None:
    one, same, other = (attack(request_("released.csv", targets=50, seed=seed)).report for seed in (1, 1, 2))
    assert one == same and one["attacks"] != other["attacks"]
    assert one["attacks"]["sampled"] and one["attacks"]["results"][0]["targets"] == 50


def test_what_makes_no_sense_is_refused(request_: Callable[..., Attack]) -> None:
    for given in ({"attackers": ["nobody"]}, {"max_excess": 2.0}, {"targets": 0}):
        with pytest.raises(UsageError):
            attack(request_("released.csv", **given))
    with pytest.raises(DataError, match="no column town"):
        path = Path(request_("x").released).with_name("narrow.csv")
        path.write_text("age,illness\n3,gout\n")
        attack(request_("narrow.csv"))


def test_nobody_to_attack_is_not_shown_to_be_safe(request_: Callable[..., Attack], folder: Path) -> None:
    (folder / "unknown.csv").write_text("age,town,illness\n" + "*,*,\n" * 400)
    result = attack(request_("unknown.csv", max_excess=0.9, attackers=["prosecutor", "journalist"]))
    assert result.satisfied
    spec = load(folder / "spec.yaml", PARAMETERS)
    nameless = pl.read_csv(folder / "table.csv").with_columns(illness=pl.lit(""))
    nameless.write_csv(folder / "nameless.csv")
    blank = Attack(spec, str(folder / "stars.csv"), str(folder / "nameless.csv"), max_excess=0.9)
    result = attack(replace(blank, attackers=["inference-majority"]))
    assert result.satisfied is None and result.problems
    assert result.report["attacks"]["results"][0]["excess"] is None


def test_who_is_not_named_and_finds_nothing_does_not_decide(request_: Callable[..., Attack], folder: Path) -> None:
    result = attack(request_("stars.csv", max_excess=0.9))
    assert result.state is State.MET and "reconstruction" in result.report["attacks"]["left_out"]
    named = attack(request_("stars.csv", max_excess=0.9, attackers=["prosecutor", "reconstruction"]))
    assert named.state is State.UNKNOWN and "reconstruction" in named.problems[0].message
    (folder / "nobody.csv").write_text("age,town,illness\n")
    assert attack(request_("nobody.csv", max_excess=0.9)).state is State.UNKNOWN


def test_a_control_of_the_same_people_is_no_control(request_: Callable[..., Attack], folder: Path) -> None:
    with pytest.raises(UsageError, match="is the original itself"):
        attack(request_("released.csv", control="table.csv"))
    pl.read_csv(folder / "table.csv").reverse().write_csv(folder / "shuffled.csv")
    (warning,) = attack(request_("released.csv", control="shuffled.csv")).report["warnings"]
    assert "the control may be about the same people" in warning
    gated = attack(request_("released.csv", control="shuffled.csv", max_excess=1.0))
    assert gated.state is State.UNKNOWN and "the control may be" in gated.problems[0].message
    assert attack(request_("released.csv", control="others.csv")).report["warnings"] == []


def test_a_control_that_is_too_small_does_not_pass_a_gate(request_: Callable[..., Attack], folder: Path) -> None:
    _people(10, 2).write_csv(folder / "few.csv")
    result = attack(request_("table.csv", control="few.csv", attackers=["singling-out"], max_excess=0.2))
    (warning,) = result.report["warnings"]
    assert result.state is State.UNMET and warning.startswith("the control has 10 rows and the original 400")
    pl.concat([_people(10, 2)] * 40).write_csv(folder / "often.csv")
    repeated = attack(request_("released.csv", control="often.csv", attackers=["singling-out"], max_excess=1.0))
    assert repeated.state is State.UNKNOWN and "400 rows are about 13 people" in repeated.problems[0].message


def _with_commas(path: Path, count: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    weights = [f"{each / 10:.1f}".replace(".", ",") for each in draw.integers(180, 380, count)]
    table = pl.DataFrame({"BMI": weights, "illness": draw.choice(["gout", "influenza"], count)})
    table.write_csv(path, separator=";")


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_control_has_the_notation_of_the_original(tmp_path: Path, everywhere: bool) -> None:
    column, table = ("", ', decimal: ","') if everywhere else (', decimal: ","', "")
    (tmp_path / "spec.yaml").write_text(
        f"version: 1\ninput: {{path: {tmp_path / 'table.csv'}, separator: ';'{table}}}\n"
        f"quasi_identifiers: {{BMI: {{type: numeric{column}}}}}\nsensitive: [illness]\n"
    )
    _with_commas(tmp_path / "table.csv", 60, 0)
    _with_commas(tmp_path / "others.csv", 60, 1)
    (tmp_path / "released.csv").write_text("BMI;illness\n" + "[18-28];gout\n[28-38];influenza\n" * 30)
    spec = load(tmp_path / "spec.yaml", PARAMETERS)
    request = Attack(spec, str(tmp_path / "released.csv"), control=str(tmp_path / "others.csv"))
    assert attack(request).report["original"]["rows"] == 60
    others = (tmp_path / "others.csv").read_text().split("\n")
    (tmp_path / "others.csv").write_text("\n".join([*others[:5], "about 30;gout", *others[6:]]))
    with pytest.raises(DataError, match=r"others\.csv:6: numeric column 'BMI': 1 value "):
        attack(request)


def test_nobody_of_a_control_is_an_individual_of_the_original(tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC + "unit: who\n")
    table, others = (_people(60, seed).with_row_index("who", first) for seed, first in ((0, 0), (1, 50)))
    for name, each in (("table", table), ("released", table.drop("who")), ("others", others)):
        each.write_csv(tmp_path / f"{name}.csv")
    spec = load(tmp_path / "spec.yaml", PARAMETERS)
    with pytest.raises(UsageError, match=r"10 of its individuals \(who\) are in the original"):
        attack(Attack(spec, str(tmp_path / "released.csv"), control=str(tmp_path / "others.csv")))


def test_rows_that_are_all_there_several_times_are_said_to_be(folder: Path, tmp_path: Path) -> None:
    spec, table = load(folder / "spec.yaml", PARAMETERS), _people(40, 5)
    pl.concat([table] * 5).write_csv(tmp_path / "table.csv")
    path = str(tmp_path / "table.csv")
    (warning,) = attack(Attack(spec, path, path)).report["warnings"]
    assert "5 times" in warning.text and "`unit: COLUMN`" in warning.remedy


@pytest.mark.parametrize("joined", [False, True])
def test_a_bucketized_release_is_attacked_by_its_groups(
    joined: bool, request_: Callable[..., Attack], folder: Path
) -> None:
    spec = load(folder / "spec.yaml", PARAMETERS)
    spec = spec.model_copy(update={"privacy": spec.privacy.model_copy(update={"k": None, "l": 2})})
    path = folder / ("joined.csv" if joined else "anatomy.csv")
    options = ALGORITHMS["anatomy"].Options(joined=joined)
    release(Request(spec, "anatomy", options, output=str(path)))
    request = request_("joined.csv", group="group") if joined else request_("anatomy.qit.csv")
    results = {each["attacker"]: each for each in attack(request).report["attacks"]["results"]}
    # Quasi-identifiers are exact, and of two values or more in a group none is the only one.
    assert results["prosecutor"]["figures"]["max"] == 1
    assert results["inference-certain"]["figures"]["weap"] == 0
    assert 0.4 < results["inference-majority"]["figures"]["dcap"] < 0.75


def test_tables_of_groups_that_do_not_fit_are_refused(request_: Callable[..., Attack], folder: Path) -> None:
    (folder / "one.qit.csv").write_text("age,town,group\n30,town-1,1\n31,town-1,1\n")
    (folder / "one.st.csv").write_text("group,illness,count\n1,gout,3\n")
    with pytest.raises(DataError, match="groups and counts"):
        attack(request_("one.qit.csv"))


@pytest.mark.parametrize("form", FORMATS)
def test_no_form_shows_a_value(form: str, request_: Callable[..., Attack], capsys: pytest.CaptureFixture[str]) -> None:
    checked = attack(request_("released.csv", link="link.json", control="others.csv", max_excess=0.01)).checked
    FORMATS[form](checked, sys.stdout, "never")
    text = capsys.readouterr().out
    assert "prosecutor" in text
    assert not any(value in text for value in (*ILLNESSES, "town-"))


def test_a_report_is_written(request_: Callable[..., Attack], tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    result = attack(request_("released.csv", reports=[str(path)]))
    assert json.loads(path.read_text()) == json.loads(json.dumps(result.report))


def test_the_order_of_what_is_shown_tells_nothing_of_the_originals(
    request_: Callable[..., Attack], folder: Path
) -> None:
    """Rows that are sorted by what they show look as if the first column had been sorted; once they stand otherwise,
    with that column in order all the same, it may have been."""
    result = attack(request_("released.csv", attackers=["order"], max_excess=1.0))
    assert result.satisfied and {each["figures"]["narrowed"] for each in result.report["attacks"]["results"]} == {0}
    rows = pl.read_csv(folder / "released.csv", infer_schema=False)
    turned = pl.concat([part.reverse() for part in rows.partition_by("age", maintain_order=True)])
    turned.write_csv(folder / "turned.csv")
    aside = attack(request_("turned.csv", attackers=["order"], max_excess=1.0))
    assert not aside.satisfied and max(each["figures"]["narrowed"] for each in aside.report["attacks"]["results"]) > 0
