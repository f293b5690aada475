"""Declared levels hold in what is written, for every algorithm and output form, as a reader of its own sees them.

The reader here knows neither hierarchies nor codes: it counts masked characters, divides the ends of intervals by a
width, and looks labels up in a list written by hand.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonymize._compare import Compare, compare
from anonymize.privacy import PARAMETERS
from anonymize.spec import load
from tests.common.budgets import CLASSED, limits_of
from tests.security.commands import run

WIDTHS = (5, 10, 40)
JOBS = {
    "cook": ("kitchen", "trade"),
    "baker": ("kitchen", "trade"),
    "smith": ("forge", "trade"),
    "nurse": ("ward", "care"),
    "doctor": ("ward", "care"),
    "priest": ("church", "care"),
}
DATES = {1: r"\d{4}-\d{2}", 2: r"\d{4}", 3: r"\d{3}0s"}
FORMS = ("node", "bounds")
TEMPLATES = ("[{low}-{high}]", "{low} to {high}")


def specification(least: int, most: int | None, output: dict[str, Any]) -> dict[str, Any]:
    levels = {"min": least} if most is None else {"min": least, "max": most}
    return {
        "version": 1,
        "input": {"path": "table.csv", "missing": ["?"]},
        "quasi_identifiers": {
            "zip": {"hierarchy": {"mask": "right"}, "levels": levels},
            "born": {"hierarchy": {"dates": ["month", "year", "decade"]}, "levels": levels},
            "age": {"type": "numeric", "hierarchy": {"intervals": list(WIDTHS)}, "levels": levels},
            "job": {"hierarchy": "jobs.csv", "levels": {"min": min(least, 2)}},
        },
        "workload": {"targets": ["ill"]},
        "privacy": {"k": 2, "suppression": 1.0},
        "output": output,
    }


people = st.lists(
    st.tuples(
        st.sampled_from(["02138", "02139", "02141", "02459", "10001", "?"]),
        st.sampled_from(["1950-03-01", "1950-03-17", "1951-11-02", "1964-05-05", "?"]),
        st.sampled_from(["3", "21", "22", "24", "25", "39", "41", "88", "?"]),
        st.sampled_from([*JOBS, "?"]),
        st.sampled_from(["flu", "cold"]),
    ),
    min_size=4,
    max_size=24,
)


def written(folder: Path, rows: list[tuple[str, ...]], spec: dict[str, Any]) -> None:
    lines = [",".join(row) for row in [("zip", "born", "age", "job", "ill"), *rows]]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    (folder / "jobs.csv").write_text("\n".join(";".join([job, *above, "*"]) for job, above in JOBS.items()) + "\n")
    (folder / "spec.yaml").write_text(json.dumps(spec))


def members(cell: str) -> list[str]:
    """What a cell names; a missing value among others is exempt."""
    return [each for each in cell[1:-1].split("|") if each != "?"] if cell.startswith("{") else [cell]


def zips(cell: str, least: int, most: int | None) -> bool:
    """Digits behind stars are hidden; several prefixes share what the highest level leaves."""
    shown = members(cell)
    stars = [len(each) - len(each.rstrip("*")) for each in shown]
    left = {each[: 5 - most] for each in shown} if most is not None else {""}
    return min(stars) >= least and len(left) == 1


def dates(cell: str, least: int, most: int | None) -> bool:
    shown = members(cell)
    finer = any(re.fullmatch(form, each) for level, form in DATES.items() if level < least for each in shown)
    exact = any(re.fullmatch(r"\d{4}-\d{2}-\d{2}", each) for each in shown)
    beyond = most is not None and len({each[: {0: 10, 1: 7, 2: 4, 3: 3}[min(most, 3)]] for each in shown}) > 1
    wider = most is not None and any(
        re.fullmatch(DATES[level], each) for level in DATES if level > most for each in shown
    )
    return not (finer or (exact and least > 0) or beyond or wider)


def ages(low: str, high: str, least: int, most: int | None) -> bool:
    first = float(low) if low else None
    last = float(high) if high else None
    fine = least == 0 or (
        (first is None or first % WIDTHS[least - 1] == 0) and (last is None or (last + 1) % WIDTHS[least - 1] == 0)
    )
    if most is None or first is None or last is None:
        return fine
    return fine and (first == last if most == 0 else first // WIDTHS[most - 1] == last // WIDTHS[most - 1])


def ends(cell: str, template: str) -> tuple[str, str]:
    cell = cell.removesuffix(" or ?")
    if re.fullmatch(r"\d+", cell):
        return cell, cell
    if match := re.fullmatch(r"(\d+)\+|(\d+)-", cell):
        return match[1] or "", match[2] or ""
    low, middle, high = (re.escape(part) for part in re.split(r"{low}|{high}", template))
    match = re.fullmatch(rf"{low}(\d+){middle}(\d+){high}", cell)
    assert match, cell
    return match[1], match[2]


def jobs(cell: str, least: int) -> bool:
    labels = [set(JOBS), {above[0] for above in JOBS.values()}, {above[1] for above in JOBS.values()}]
    return all(any(each in labels[level] for level in range(least, 3)) for each in members(cell))


def job_leaves(first: int, last: int, least: int) -> bool:
    """Whether leaves, counted in the file's order, are whole nodes of the level."""
    paths = [(job, *above) for job, above in JOBS.items()]
    starts = [place for place in range(6) if not place or paths[place][least:] != paths[place - 1][least:]]
    return (first in starts or first == 6) and (last + 1 in [*starts, 6, 7])


def wrong(row: dict[str, str], spec: dict[str, Any]) -> Iterator[str]:
    """What a row shows below or above the declared levels."""
    levels, output = spec["quasi_identifiers"]["zip"]["levels"], spec["output"]
    least, most = levels["min"], levels.get("max")
    split = output.get("categorical") == "bounds"
    for name, reads in (("zip", zips), ("born", dates)):
        if not split and row[name] not in ("*", "?") and not reads(row[name], least, most):
            yield name
    own = spec["quasi_identifiers"]["job"]["levels"]["min"]
    if split and row["job_low"] not in ("*", "?"):
        if not job_leaves(int(row["job_low"]), int(row["job_high"]), own):
            yield "job"
    elif not split and row["job"] not in ("*", "?") and not jobs(row["job"], own):
        yield "job"
    if output.get("numeric") == "bounds":
        low, high = row["age_low"], row["age_high"]
        low, high = ends(low, output["interval"]) if low == high and low not in ("*", "?", "") else (low, high)
    elif row["age"] in ("*", "?"):
        return
    else:
        low, high = ends(row["age"], output["interval"])
    if low not in ("*", "?") and high not in ("*", "?") and not ages(low, high, least, most):
        yield "age"


@pytest.mark.parametrize("algorithm", CLASSED)
@settings(max_examples=max(settings().max_examples // 5, 2))
@given(
    rows=people,
    least=st.integers(0, 3),
    most=st.sampled_from([None, 0, 1, 2, 3]),
    form=st.sampled_from(FORMS),
    numeric=st.sampled_from(["interval", "bounds"]),
    template=st.sampled_from(TEMPLATES),
    edges=st.sampled_from(["open", "tight", "rounded"]),
    suffix=st.sampled_from(["csv", "parquet", "arrow"]),
)
def test_levels_hold_in_the_text(
    algorithm: str,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, ...]],
    least: int,
    most: int | None,
    form: str,
    numeric: str,
    template: str,
    edges: str,
    suffix: str,
) -> None:
    folder = tmp_path_factory.mktemp("levels")
    most = None if most is not None and (most < least or algorithm == "k-optimize") else most
    output = {"categorical": form, "numeric": numeric, "interval": template, "edges": edges}
    spec = specification(least, most, output)
    written(folder, rows, spec)
    out = folder / f"out.{suffix}"
    ended = run(algorithm, folder / "spec.yaml", "-o", out, "-q", "-r", folder / "report.json", *limits_of(algorithm))
    if ended.returncode in (1, 4):  # mu-argus guarantees no class; the levels or the rows leave none
        assert "levels (" not in ended.stderr, ended.stderr
        return
    assert ended.returncode == 0, ended.stderr
    shown = (
        pl.read_csv(out, infer_schema=False)
        if suffix == "csv"
        else (pl.read_parquet(out) if suffix == "parquet" else pl.read_ipc(out))
    )
    texts = shown.select(pl.all().cast(pl.String).fill_null("?" if suffix != "csv" else "")).iter_rows(named=True)
    assert [(name, row) for row in texts for name in wrong(row, spec)] == []
    models = json.loads((folder / "report.json").read_text())["privacy"]["models"]
    declared = {each["attribute"]: each for each in models if each["model"] == "levels"}
    assert all(each["satisfied"] for each in declared.values())
    assert set(declared) == ({"zip", "born", "age", "job"} if least or most is not None else set()) - (
        {"job"} if not least else set()
    )


# --- three digits of a zipcode, and the year of a date ----------------------------------------------------------------


def safe_harbour(folder: Path, k: int, **more: Any) -> Path:
    draw = random.Random(4)
    lines = ["zip,born,ill"]
    for _ in range(600):
        born = f"{draw.randint(1940, 2000)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"
        lines.append(f"{draw.randint(2100, 2199):05d},{born},flu")
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    spec = {
        "version": 1,
        "input": {"path": "table.csv"},
        "quasi_identifiers": {
            "zip": {"hierarchy": {"prefix": [3]}, "levels": {"min": 1}},
            "born": {"hierarchy": {"dates": ["year"]}, "levels": {"min": 1}},
        },
        "insensitive": ["ill"],
        "privacy": {"k": k},
        **more,
    }
    (folder / "spec.yaml").write_text(json.dumps(spec))
    return folder / "spec.yaml"


@pytest.mark.parametrize("algorithm", ["release", "mondrian"])
@pytest.mark.parametrize("k", [1, 5])
def test_no_full_zipcode_and_no_date_of_birth_is_shown(tmp_path: Path, algorithm: str, k: int) -> None:
    spec, out = safe_harbour(tmp_path, k), tmp_path / "out.csv"
    ended = run(algorithm, spec, "-o", out, "-q", *limits_of(algorithm))
    assert ended.returncode == 0, ended.stderr
    assert not re.search(r"\b02\d{3}\b|\d{4}-\d{2}", out.read_text())
    assert run("audit", spec, "-i", out, "-q").returncode == 0


def test_an_audit_of_a_finer_table_says_how_many_rows_are(tmp_path: Path) -> None:
    spec = safe_harbour(tmp_path, 1)
    ended = run("audit", spec, "-i", tmp_path / "table.csv", "-q")
    assert ended.returncode == 1
    assert "levels (min=1) of zip is not met: 600 rows show something finer than level 1" in ended.stderr


def test_a_limit_on_memory_changes_nothing(tmp_path: Path) -> None:
    spec = safe_harbour(tmp_path, 3)
    for name, more in (("a.csv", []), ("b.csv", ["--memory-limit", "400MB"])):
        assert run("mondrian", spec, "-o", tmp_path / name, "-q", *more).returncode == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("algorithm", "more", "options"),
    [
        ("mondrian", {"output": {"categorical": "set"}}, []),
        ("anatomy", {"privacy": {"l": 2}, "insensitive": [], "sensitive": {"ill": {}}}, []),
        ("randomize", {"privacy": {"l": 2}, "insensitive": [], "sensitive": {"ill": {}}}, []),
        ("mondrian", {}, ["--start-series", "state"]),
    ],
)
def test_what_cannot_keep_to_levels_is_refused(
    tmp_path: Path, algorithm: str, more: dict[str, Any], options: list[str]
) -> None:
    spec = safe_harbour(tmp_path, 2, **more)
    ended = run(algorithm, spec, "-o", tmp_path / "out.csv", "-q", *options)
    assert ended.returncode == 2 and "levels" in ended.stderr
    assert not (tmp_path / "out.csv").exists()


def parted(folder: Path, k: int) -> Path:
    spec = json.loads(safe_harbour(folder, k).read_text())
    spec["quasi_identifiers"]["born"]["levels"] = {"min": 1, "max": 1}
    (folder / "spec.yaml").write_text(json.dumps(spec))
    return folder / "spec.yaml"


def test_parts_with_too_few_rows_are_infeasible(tmp_path: Path) -> None:
    spec = parted(tmp_path, 20)
    for algorithm in ("mondrian", "incognito", "datafly"):
        ended = run(algorithm, spec, "-o", tmp_path / "out.csv", "-q")
        assert ended.returncode == 4 and "levels.max" in ended.stderr, ended.stderr
    checked = run("validate", spec)
    assert checked.returncode == 0
    checked = run("validate", spec, "-i", tmp_path / "table.csv")
    assert checked.returncode == 4 and "levels.max" in checked.stdout + checked.stderr
    assert run("validate", parted(tmp_path, 2), "-i", tmp_path / "table.csv").returncode == 0


def test_k_optimize_has_no_highest_level(tmp_path: Path) -> None:
    ended = run("k-optimize", parted(tmp_path, 2), "-o", tmp_path / "out.csv", "-q")
    assert ended.returncode == 2 and "levels.max" in ended.stderr


def test_a_comparison_shows_what_levels_cost(tmp_path: Path) -> None:
    wanted = Compare(load(safe_harbour(tmp_path, 2), PARAMETERS), ["mondrian"], processes=0)
    [cell] = compare(wanted)["comparison"]
    assert cell["gcp"] > cell["gcp_without_levels"] > 0
    assert "gcp_without_levels" not in compare(replace(wanted, public=True))["comparison"][0]
