"""What the order of released rows tells: an attacker who has the file alone, and the property over every release."""

from __future__ import annotations

import csv
import itertools
import json
import random
import re
import stat
from dataclasses import replace
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from anonymize._audit import audit
from anonymize._recode import Recode, recode
from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.auditing.request import Audit
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import load, make
from tests.common.budgets import SHAPES, options_of

SAMPLE = Path(__file__).parents[2] / "sample_data" / "patients.csv"


# --- the attacker ----------------------------------------------------------------------------------------------------


def records(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def recovered(released: Path, column: str) -> dict[int, float]:
    """Row -> value of the generalized cells that the order gives back, if the input was sorted by the column."""
    cells = [re.fullmatch(r"\[([\d.]+)-([\d.]+)\]|([\d.]+)", row[column]) for row in records(released)]
    ends = [(float(cell[1] or cell[3]), float(cell[2] or cell[3])) if cell else (0.0, 1e9) for cell in cells]
    low = list(accumulate((end[0] for end in ends), max))
    high = list(accumulate((end[1] for end in reversed(ends)), min))[::-1]
    pairs = enumerate(zip(low, high, ends, strict=True))
    return {row: a for row, (a, b, end) in pairs if a == b and end[0] < end[1]}


def exact(folder: Path, column: str) -> tuple[int, int]:
    """How many generalized cells the attacker names rightly, and how many generalized cells there are."""
    truth = [row[column] for row in records(folder / "in.csv")]
    link = json.loads((folder / "link.json").read_text())["input_rows"]
    values = recovered(folder / "out.csv", column)
    right = sum(truth[link[row] - 1] == f"{value:g}" for row, value in values.items())
    return right, sum(not row[column].isdecimal() for row in records(folder / "out.csv"))


def sorted_table(folder: Path, column: str, rows: list[dict[str, str]]) -> Path:
    """The rows as a CSV, sorted by a column of whole numbers; missing ones come last."""
    rows = sorted(rows, key=lambda row: int(row[column]) if row[column].isdecimal() else 10**9)
    path = folder / "in.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def released(folder: Path, spec: Any, algorithm: str = "mondrian", **options: Any) -> None:
    chosen = options_of(algorithm, **options)
    table, output, link = (str(folder / name) for name in ("in.csv", "out.csv", "link.json"))
    unsafe = spec.output.row_order == "keep"  # which is not met, by what the order tells
    release(Request(spec, algorithm, chosen, table, output, save_link=link, allow_unsafe=unsafe, threads=1))


@pytest.fixture(params=["days", "patients"])
def dated(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, Any]:
    """A sorted table: its folder, the column that it is sorted by, and a spec without an order."""
    if request.param == "patients":
        sorted_table(tmp_path, "age", records(SAMPLE))
        return tmp_path, "age", load(SAMPLE.parents[1] / "configs" / "patients.yaml", PARAMETERS)
    random.seed(1)
    rows = [{"day": str(random.randrange(100)), "zip": str(random.randrange(1000))} for _ in range(3000)]
    sorted_table(tmp_path, "day", rows)
    numbers = {"day": {"type": "numeric"}, "zip": {"type": "numeric"}}
    return tmp_path, "day", make({"version": 1, "quasi_identifiers": numbers, "privacy": {"k": 5}}, PARAMETERS)


def ordered(spec: Any, order: str, **output: Any) -> Any:
    return spec.model_copy(update={"output": spec.output.model_copy(update={"row_order": order, **output})})


def test_the_order_gives_no_value_back_by_default(dated: tuple[Path, str, Any]) -> None:
    folder, column, spec = dated
    released(folder, spec, cut="rate")
    right, generalized = exact(folder, column)
    assert right == 0 < generalized


def test_the_same_attacker_succeeds_where_the_order_is_kept(dated: tuple[Path, str, Any]) -> None:
    """Where ends are values that people have; rounded ones leave him little."""
    folder, column, spec = dated
    released(folder, ordered(spec, "keep", edges="open"), cut="rate")
    right, generalized = exact(folder, column)
    assert right > generalized / 2, (right, generalized)


# --- the property ----------------------------------------------------------------------------------------------------

SPEC = """\
version: 1
input: {missing: ["", "?"]}
identifiers: [name]
quasi_identifiers:
  age: {type: numeric, hierarchy: {intervals: [10, 50]}}
  zip: {hierarchy: {mask: right}}
sensitive: {diagnosis: {}}
insensitive: [note]
workload: {targets: [ward]}
output: OUTPUT
privacy: PRIVACY
"""
PRIVACY = {"anatomy": "{l: 2}", "randomize": "{models: [{model: disclosure, l: 2}]}"}


def key(cell: str, *, quasi: bool) -> tuple[Any, ...]:
    """The manual's order of cells, written anew."""
    bare = re.sub(r" or (missing|\?)$", "", cell) if quasi else cell
    interval = re.fullmatch(r"\[(-?[\d.]+)-(-?[\d.]+)[\])]", bare)
    if cell == "":
        return (0,)
    if quasi and interval:
        return (1, float(interval[1]), float(interval[2]), cell.encode())
    if quasi and (end := re.fullmatch(r"(-?[\d.]+)([+-])", bare)):
        low, high = (end[1], "inf") if end[2] == "+" else ("-inf", end[1])
        return (1, float(low), float(high), cell.encode())
    try:
        return (1, float(bare), float(bare), cell.encode())
    except ValueError:
        return (2, cell.encode())


def keys(path: Path, quasi: tuple[str, ...] = ("age", "zip")) -> list[list[Any]]:
    rows = records(path)
    of_quasi = {name: name.removesuffix("_low").removesuffix("_high") in quasi for name in rows[0]}
    names = sorted(rows[0], key=lambda name: not of_quasi[name])
    return [[key(row[name], quasi=of_quasi[name]) for name in names] for row in rows]


def written(folder: Path, algorithm: str, output: str = "{}", seed: int = 1, text: str = SPEC) -> Request:
    """A request for a release of 200 rows in an order that the seed draws. `text`: of the spec, but for two blocks."""
    draw, ages = random.Random(0), ["", *map(str, range(9, 60))]
    rows = [
        f"n{number},{draw.choice(ages)},{draw.choice(['0210', '0211', '9', '10'])}{number % 3},"
        f"{draw.choice('abcd')},{draw.choice(['2', '10', ' 3', 'é', 'z', ''])},{draw.choice('xy')}"
        for number in range(200)
    ]
    random.Random(seed).shuffle(rows)
    folder.mkdir(exist_ok=True)
    (folder / "in.csv").write_text("\n".join(["name,age,zip,diagnosis,note,ward", *rows, ""]), encoding="utf-8")
    privacy = PRIVACY.get(algorithm, "{k: 4, suppression: 0.1}")
    text = text.replace("OUTPUT", output).replace("PRIVACY", privacy)
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    return Request(
        load(folder / "spec.yaml", PARAMETERS),
        algorithm,
        options_of(algorithm),
        input=str(folder / "in.csv"),
        output=str(folder / "out.csv"),
        save_link=str(folder / "link.json"),
        threads=1,
    )


@pytest.mark.parametrize("algorithm", [*SHAPES, "anatomy", "randomize"])
def test_every_release_is_sorted_by_what_it_shows(tmp_path: Path, algorithm: str) -> None:
    release(replace(written(tmp_path, algorithm), allow_unsafe=algorithm == "mu-argus"))
    for path in tmp_path.glob("out*.csv"):
        shown = keys(path)
        assert shown == sorted(shown) and len(shown) > 50


@pytest.mark.parametrize(("missing", "ending"), [('["", "?"]', " or missing"), ('["?", ""]', " or ?")])
@pytest.mark.parametrize("algorithm", ["top-down", "bottom-up"])
def test_numbers_that_may_be_missing_are_sorted_by_value(
    tmp_path: Path, algorithm: str, missing: str, ending: str
) -> None:
    request = written(tmp_path, algorithm, text=SPEC.replace('["", "?"]', missing))
    release(request)
    shown, mixed = keys(tmp_path / "out.csv"), [row["age"].endswith(ending) for row in records(tmp_path / "out.csv")]
    assert shown == sorted(shown) and any(mixed) and not all(mixed[mixed.index(True) :])
    assert audit(Audit(request.spec, tmp_path / "out.csv")).report["privacy"]["order"]["sorted"]


@pytest.mark.parametrize(
    ("algorithm", "options"), [("anatomy", {}), ("randomize", {"on": "sensitive", "p": "diagnosis=0.5"})]
)
def test_values_beyond_a_code_are_not_sorted_by(tmp_path: Path, algorithm: str, options: dict[str, Any]) -> None:
    """Columns that are not generalized show `18-` and `50+`, and rows that show these come by what stands beside."""
    request = written(tmp_path, algorithm, text=SPEC.replace("numeric, ", "numeric, bottom: 18, top: 50, "))
    release(replace(request, options=options_of(algorithm, **options), allow_unsafe=True))
    path = tmp_path / ("out.qit.csv" if algorithm == "anatomy" else "out.csv")
    shown, ages = keys(path), {row["age"] for row in records(path)}
    assert shown == sorted(shown) and {"18-", "50+", "19", "22"} <= ages
    assert not {"18", "17", "50", "51"} & ages


ORDERLESS = ["mondrian", "datafly", "mu-argus", "samarati", "mingen", "incognito", "research-value", "tds", "bug"]
"""Without top-down and bottom-up, which break ties by the order of their input (see the security model), what
is random, and k-optimize, whose search takes a minute here."""


OUTPUTS = ["{}", "{numeric: bounds, suppressed_rows: drop}"]


@pytest.mark.parametrize(
    ("algorithm", "output"), [(name, OUTPUTS[place % 2]) for place, name in enumerate(ORDERLESS)], ids=ORDERLESS
)
def test_a_permuted_input_has_the_same_release(tmp_path: Path, algorithm: str, output: str) -> None:
    for seed in (1, 2):
        release(replace(written(tmp_path / str(seed), algorithm, output, seed), allow_unsafe=algorithm == "mu-argus"))
    assert (tmp_path / "1" / "in.csv").read_bytes() != (tmp_path / "2" / "in.csv").read_bytes()
    assert (tmp_path / "1" / "out.csv").read_bytes() == (tmp_path / "2" / "out.csv").read_bytes()


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_typed_columns_under_names_that_are_patterns_are_sorted_alike(tmp_path: Path, suffix: str) -> None:
    """Of one column most cells differ, of the others few."""
    draw = random.Random(2)
    columns = {
        "age": [draw.choice([None, *range(20, 50)]) for _ in range(1500)],
        "^a.*$": [draw.choice([None, "a", "10", "9"]) for _ in range(1500)],
        "real": [draw.choice([None, 0.5, 10.0, -3.0, float("nan")]) for _ in range(1500)],
        "day": [date(2020, 1, 1) + timedelta(draw.randrange(9)) for _ in range(1500)],
        "*": [f"id{number}" for number in range(1500)],
    }
    others = [name for name in columns if name != "age"]
    given = {"version": 1, "quasi_identifiers": {"age": {"type": "numeric"}}, "insensitive": others}
    spec = make(given | {"privacy": {"k": 3}}, PARAMETERS)
    contents = []
    for seed in (1, 2):
        pl.DataFrame(columns).sample(fraction=1, shuffle=True, seed=seed).write_parquet(tmp_path / "in.parquet")
        options = ALGORITHMS["mondrian"].Options()
        table, output = str(tmp_path / "in.parquet"), str(tmp_path / f"{seed}.{suffix}")
        release(Request(spec, "mondrian", options, table, output, threads=1))
        contents.append((tmp_path / f"{seed}.{suffix}").read_bytes())
    assert contents[0] == contents[1]
    if suffix == "csv":
        shown = keys(tmp_path / "1.csv")
        assert shown == sorted(shown) and len(shown) == 1500


def test_a_recoded_table_is_sorted_where_the_release_was(tmp_path: Path) -> None:
    request = written(tmp_path, "mondrian")
    release(replace(request, save_recoding=str(tmp_path / "recoding.json")))
    recode(Recode(str(tmp_path / "recoding.json"), str(tmp_path / "in.csv"), str(tmp_path / "again.csv")))
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_a_joined_table_of_groups_is_sorted_with_the_group_last(tmp_path: Path) -> None:
    request = written(tmp_path, "anatomy")
    release(replace(request, options=ALGORITHMS["anatomy"].Options(joined=True)))
    shown = keys(tmp_path / "out.csv")
    assert shown == sorted(shown)


LINKED = list(itertools.product(["mondrian", "anatomy", "randomize", "datafly"], ["sorted", "shuffle", "keep"]))


@pytest.mark.parametrize(
    ("algorithm", "order", "suffix"), [(*each, (".json", ".csv")[place % 2]) for place, each in enumerate(LINKED)]
)
def test_the_link_leads_to_each_row(tmp_path: Path, algorithm: str, order: str, suffix: str) -> None:
    request = written(tmp_path, algorithm, f"{{row_order: {order}, suppressed_rows: drop}}")
    link = tmp_path / f"link{suffix}"
    release(replace(request, save_link=str(link)))
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    content = link.read_text()
    numbers = json.loads(content)["input_rows"] if suffix == ".json" else list(map(int, content.split("\n")[2:-1]))
    table = tmp_path / ("out.qit.csv" if algorithm == "anatomy" else "out.csv")
    before, after = records(tmp_path / "in.csv"), records(table)
    assert len(numbers) == len(after) == len(set(numbers))
    assert [before[number - 1]["note"] for number in numbers] == [row["note"] for row in after]
    assert (numbers == sorted(numbers)) == (order == "keep")


@pytest.mark.parametrize("algorithm", ["mondrian", "anatomy", "randomize"])
def test_a_release_in_the_order_of_the_input_warns(tmp_path: Path, algorithm: str) -> None:
    warnings = release(written(tmp_path, algorithm, "{row_order: keep}"))["warnings"]
    assert any("input's order" in warning for warning in warnings)
