"""A public report is a function of what is published: the release, the spec, the hierarchies."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import UsageError
from anonymize.files import SUFFIXES
from anonymize.privacy import PARAMETERS
from anonymize.report import RENDERERS
from anonymize.report.public import public_report
from anonymize.report.published import Published, PublishedFile
from anonymize.request import Request
from anonymize.spec import load
from tests.common.budgets import SHAPES, options_of
from tests.common.manifests import manifest_of

JOBS = "cook;kitchen;*\nchef;kitchen;*\nclerk;office;*\nboss;office;*\n"
AGES = {"type": "numeric", "hierarchy": {"intervals": [10, 20]}}
QUASI: dict[str, Any] = {"age": AGES, "sex": {}, "job": {"hierarchy": "jobs.csv"}}
LEVELS = ["datafly", "samarati", "mingen", "incognito", "research-value"]
HIDDEN = 113


def people(number: int = 240) -> list[tuple[Any, ...]]:
    draw = random.Random(3)
    jobs = ("cook", "chef", "clerk", "boss")
    return [
        (draw.randrange(20, 60), draw.choice("mf"), draw.choice(jobs), draw.choice("abcde"), draw.choice("yn"))
        for _ in range(number)
    ]


def prepared(folder: Path, rows: list[tuple[Any, ...]], algorithm: str, **spec: Any) -> Path:
    """A folder with a table, a hierarchy and a spec that the algorithm takes."""
    folder.mkdir(exist_ok=True)
    with (folder / "table.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("age", "sex", "job", "ill", "ok"), *rows])
    (folder / "jobs.csv").write_text(JOBS, encoding="utf-8")
    classed = ALGORITHMS[algorithm].NEEDS.family.treats_sensitive
    content = {
        "version": 1,
        "input": {"path": "table.csv"},
        "quasi_identifiers": QUASI,
        "sensitive": {"ill": {}},
        "workload": {"targets": ["ok"]},
        "privacy": {"k": 3, "l": 2, "suppression": 0.05} if classed else {"l": 2},
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(content | spec), encoding="utf-8")
    return folder


def run(
    folder: Path,
    algorithm: str,
    *,
    public: bool = True,
    suffix: str = ".csv",
    seed: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    return release(
        Request(
            load(folder / "spec.yaml", PARAMETERS),
            algorithm,
            options_of(algorithm, **options),
            output=str(folder / f"out{suffix}"),
            reports=[str(folder / f"report{kind}") for kind in RENDERERS],
            threads=1,
            seed=seed,
            public=public,
            force=True,
            allow_unsafe=not ALGORITHMS[algorithm].NEEDS.guarantees,
        )
    )


def reports(folder: Path) -> dict[str, bytes]:
    return {suffix: (folder / f"report{suffix}").read_bytes() for suffix in RENDERERS}


def released(folder: Path) -> list[Path]:
    """The files of a release, the table with the rows first."""
    ending = {".qit": 0, ".st": 1, ".params": 1}
    return sorted(folder.glob("out*"), key=lambda path: ending.get(Path(path.stem.removesuffix(".csv")).suffix, 0))


CASES: list[tuple[str, str, dict[str, Any]]] = [(name, ".csv", {}) for name in (*SHAPES, "anatomy", "randomize")] + [
    ("mondrian", ".csv", {"mask_minimality": True}),
    ("incognito", ".csv", {"mask_minimality": True}),
    ("mondrian", ".csv.gz", {}),
    ("mondrian", ".parquet", {}),
    ("mondrian", ".arrow", {}),
    ("incognito", ".csv", {"iterate": True}),
    ("anatomy", ".csv", {"joined": True}),
]


@pytest.mark.parametrize(("algorithm", "suffix", "options"), CASES)
def test_the_report_is_made_from_what_is_published(
    algorithm: str, suffix: str, options: dict[str, Any], tmp_path: Path
) -> None:
    """Made again where there is nothing but the release, the spec and the hierarchies, it is the same; and nothing
    private is in it."""
    private, elsewhere = prepared(tmp_path / "private", people(), algorithm), tmp_path / "elsewhere"
    report = run(private, algorithm, suffix=suffix, **options)
    elsewhere.mkdir()
    for path in (*released(private), private / "spec.yaml", private / "jobs.csv"):
        shutil.copy(path, elsewhere)
    written = reports(private)
    check_nothing_private(report, written, tmp_path)
    shutil.rmtree(private)
    hashes = re.findall(r'"(?:sensitive_)?sha256": "(\w+)"', written[".json"].decode())[1:]
    files = [
        PublishedFile(path, SUFFIXES.get(suffix, "csv"), ",", hashes[index] if index < len(hashes) else None)
        for index, path in enumerate(released(elsewhere))
    ]
    spec = load(elsewhere / "spec.yaml", PARAMETERS)
    chosen = options_of(algorithm, **options)
    manifest = manifest_of(spec, algorithm, chosen, released(elsewhere))
    made = public_report(Published(files, spec, manifest, algorithm, chosen))
    assert {suffix: render(made).encode() for suffix, render in RENDERERS.items()} == written


def check_nothing_private(report: dict[str, Any], written: dict[str, bytes], folder: Path) -> None:
    assert not {"started_at", "input", "timing", "memory", "outside"} & report.keys()
    assert report["spec"].keys() == {"sha256"}
    assert not {"path", "dropped_rows", "sensitive_path"} & report["output"].keys()
    assert "seed" not in report["algorithm"]
    assert str(folder) not in json.dumps(report) and "table.csv" not in json.dumps(report)
    for text in written.values():
        assert str(folder).encode() not in text and b"out." not in text


@pytest.mark.parametrize("algorithm", LEVELS)
def test_two_inputs_with_one_release_have_one_report(algorithm: str, tmp_path: Path) -> None:
    """Both without their own outlier, who is left out of the release."""
    made = []
    for name, age in (("one", HIDDEN), ("other", 98)):
        folder = prepared(tmp_path / name, [*people(), (age, "f", "boss", "a", "y")], algorithm, output=DROPPED)
        run(folder, algorithm)
        made.append(((folder / "out.csv").read_bytes(), reports(folder)))
    assert made[0][0] == made[1][0] and b"[100-" not in made[0][0]
    assert made[0][1] == made[1][1]


DROPPED = {"suppressed_rows": "drop"}


def attacked(report: dict[str, Any], text: str) -> float:
    """The age of the one who was left out, from the release, the report, and the age of the youngest.

    What all ages cost is the sum of the widths that are shown over the span of the table, and 1 for the one who is
    missing: solved for the span.
    """
    shown = [re.fullmatch(r"\[(\d+)-(\d+)\],.*", line) for line in text.splitlines()[1:]]
    widths = sum(int(found[2]) - int(found[1]) for found in shown if found)
    rows = report.get("input", report["output"])["rows"]
    costs = report["utility"]["attributes"]["age"]["ncp"] * rows - (rows - len(shown))
    return round(20 + widths / float(costs), 6)


@pytest.mark.parametrize("algorithm", LEVELS)
def test_an_attacker_does_not_learn_the_age_of_who_was_left_out(algorithm: str, tmp_path: Path) -> None:
    rows = [*people(), (20, "m", "cook", "b", "n"), (HIDDEN, "f", "boss", "a", "y")]
    folder = prepared(tmp_path / "all", rows, algorithm, output=DROPPED)
    known = run(folder, algorithm, public=False)
    text = (folder / "out.csv").read_text(encoding="utf-8")
    assert known["output"]["dropped_rows"] == 1
    assert attacked(known, text) == HIDDEN  # whoever has the private report
    assert attacked(run(folder, algorithm), text) == pytest.approx(20 + 39)  # from 20 to 59: what is shown


@pytest.mark.parametrize("algorithm", ["anatomy", "randomize"])
def test_draws_that_can_be_had_again_are_not_published(algorithm: str, tmp_path: Path) -> None:
    folder = prepared(tmp_path / "all", people(), algorithm)
    with pytest.raises(UsageError, match="with a --seed must not be published"):
        run(folder, algorithm, seed=5)
    assert not list(folder.glob("out*"))


@pytest.mark.parametrize("algorithm", [*SHAPES, "anatomy"])
def test_what_it_measures_is_what_the_private_report_has(algorithm: str, tmp_path: Path) -> None:
    """Where nothing was left out, and the table's range is shown."""
    folder = prepared(tmp_path / "all", people(), algorithm, output={"suppressed_rows": "keep"})
    private = run(folder, algorithm, public=False)
    lost = private["output"]["dropped_rows"]
    text = (folder / "out.csv").read_bytes() if (folder / "out.csv").exists() else b""
    public = run(folder, algorithm)
    if text != ((folder / "out.csv").read_bytes() if text else b"") or lost:
        pytest.skip("the algorithm draws, or leaves rows out")
    assert public["classes"] == private["classes"]
    for report in (private, public):  # what was measured in the original is in one of them alone
        del report["risk"]["passing"]["derived"]
    assert {name: private["risk"][name] for name in public["risk"]} == public["risk"]
    assert public["privacy"]["models"] == private["privacy"]["models"]
    for name in ("suppressed_rows", "suppressed_cells", "rows"):
        assert public["output"].get(name, 0) == private["output"][name]
    for name, figure in public["utility"].items():
        if name != "attributes" and private["utility"][name] is not None:
            assert figure == pytest.approx(private["utility"][name])


# --- figures ---------------------------------------------------------------------------------------------------------


def measured(tmp_path: Path, text: str, quasi: str, **spec: Any) -> dict[str, Any]:
    """The public report of a release that reads as given."""
    (tmp_path / "out.csv").write_text(text, encoding="utf-8")
    (tmp_path / "jobs.csv").write_text(JOBS, encoding="utf-8")
    more = yaml.safe_dump({"privacy": {"k": 2}} | spec)
    (tmp_path / "spec.yaml").write_text(f"version: 1\nquasi_identifiers: {{{quasi}}}\n{more}", encoding="utf-8")
    file = PublishedFile(tmp_path / "out.csv", "csv", ",", "aa")
    algorithm = spec.get("algorithm", "incognito")
    options, read = options_of(algorithm), load(tmp_path / "spec.yaml", PARAMETERS)
    return public_report(
        Published([file], read, manifest_of(read, algorithm, options, [file.path]), algorithm, options)
    )


AGE = "age: {type: numeric}"


def test_costs_of_numbers_are_shares_of_the_range_shown(tmp_path: Path) -> None:
    report = measured(tmp_path, "age\n[20-29]\n[20-29]\n[30-60]\n[30-60]\n", AGE)
    age = report["utility"]["attributes"]["age"]
    assert age == {
        "ncp": pytest.approx((9 + 30) / 40 / 2),
        "loss": age["ncp"],
        "weight": 1,
        "relative_to": "range shown",
    }
    assert report["utility"]["ncp"] == pytest.approx(age["ncp"] * 4)


def test_or_of_the_domain_that_the_spec_declares(tmp_path: Path) -> None:
    report = measured(tmp_path, "age\n[20-29]\n[20-29]\n*\n*\n", "age: {type: numeric, domain: [0, 90]}")
    age = report["utility"]["attributes"]["age"]
    assert age["ncp"] == pytest.approx((0.1 + 1) / 2) and age["relative_to"] == "domain"
    assert report["output"]["suppressed_rows"] == report["output"]["suppressed_cells"] == 2
    assert report["utility"]["suppression"] == 0.5
    assert report["utility"]["discernibility"] == 2**2 + 4 * 2


def test_categories_cost_their_share_of_the_hierarchy_file(tmp_path: Path) -> None:
    report = measured(tmp_path, "job\nkitchen\nkitchen\noffice\noffice\n", "job: {hierarchy: jobs.csv}")
    job = report["utility"]["attributes"]["job"]
    assert (job["ncp"], job["loss"], job["relative_to"]) == (0.5, pytest.approx(1 / 3), "hierarchy")
    assert report["recoding"] == {"kind": "levels", "levels": {"job": 1}}


def test_where_the_leaves_are_the_values_of_the_input_the_cost_is_not_known(tmp_path: Path) -> None:
    report = measured(tmp_path, "zip,age\n02*,7\n02*,7\n03*,7\n03*,7\n", f"zip: {{hierarchy: {{mask: right}}}}, {AGE}")
    assert report["utility"]["ncp"] is None and report["utility"]["gcp"] is None
    assert report["utility"]["attributes"]["zip"]["ncp"] is None
    assert report["utility"]["attributes"]["age"]["ncp"] == 0


def test_a_flat_value_is_known_or_not(tmp_path: Path) -> None:
    report = measured(tmp_path, "sex,age\nm,1\nm,1\n*,2\n*,2\n", f"sex: {{}}, {AGE}")
    assert report["utility"]["attributes"]["sex"]["ncp"] == 0.5
    assert report["utility"]["attributes"]["age"]["ncp"] == 0


def test_what_is_about_individuals_is_not_measured_in_rows(tmp_path: Path) -> None:
    report = measured(tmp_path, "age\n7\n7\n7\n", AGE, unit="whom")
    assert report["privacy"]["satisfied"] is None and list(report["risk"]) == ["passing"]
    assert report["privacy"]["models"][0]["achieved"] == {}
    assert "individuals" in report["privacy"]["unknown"][0]


def test_what_passes_through_is_not_judged_in_rows_either(tmp_path: Path) -> None:
    """Three rows that differ may be one individual's: whether anybody is alone in the ward is not shown."""
    privacy = {"k": 2, "passing": {"uniques": 0.1}}
    more = {"insensitive": ["ward"], "privacy": privacy}
    report = measured(tmp_path, "age,ward\n7,a\n7,b\n7,c\n", AGE, unit="whom", **more)
    assert report["privacy"]["satisfied"] is None and report["risk"]["passing"]["satisfied"] is None
    report = measured(tmp_path, "age,ward\n7,a\n7,b\n7,c\n", AGE, **more)
    assert report["privacy"]["satisfied"] is False and report["risk"]["passing"]["satisfied"] is False


def test_nor_is_what_is_about_a_population(tmp_path: Path) -> None:
    models = [{"model": "k-map", "k": 2, "population": "all.csv"}]
    report = measured(tmp_path, "age\n7\n7\n7\n", AGE, privacy={"k": 2, "models": models})
    assert [each["satisfied"] for each in report["privacy"]["models"]] == [True, None]
    assert report["privacy"]["satisfied"] is None and "journalist_max" not in report["risk"]
    assert "all.csv" not in json.dumps(report)


def test_markdown_says_what_the_release_cannot_show(tmp_path: Path) -> None:
    text = RENDERERS[".md"](measured(tmp_path, "age\n7\n7\n7\n", AGE, unit="whom"))
    assert "NOT SHOWN" in text


def test_a_release_that_does_not_meet_its_requirements_says_so(tmp_path: Path) -> None:
    assert measured(tmp_path, "age\n7\n8\n", AGE)["privacy"]["satisfied"] is False
