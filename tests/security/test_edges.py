"""No end of an interval says where somebody stands who is among few: edges, bottom and top codes, missing numbers.

The attacker, `ends_in_tails`, reads the released file alone.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run as command
from tests.common.budgets import limits_of
from tests.common.oracle import widest_step

K = 5
ALGORITHMS = ("mondrian", "top-down", "bottom-up", "k-optimize", "tds", "bug", "research-value")
ROWS = {"k-optimize": 120}
"""Rows of the tables of an algorithm that takes long for 300."""
OUTLIERS = [78, 79, 80, 81, 90, 127, 138]


def people(count: int = 300, seed: int = 1) -> list[dict[str, str]]:
    draw = random.Random(seed)
    ages = [draw.randint(20, 75) for _ in range(count - len(OUTLIERS) - 3)] + OUTLIERS + [3, 7, 11]
    draw.shuffle(ages)
    return [
        {
            "age": str(age),
            "hours": "?" if draw.random() < 0.1 else str(draw.randint(0, 60)),
            "sex": draw.choice("MF"),
            "who": str(number // 2),
            "ill": draw.choice(["flu", "cold", "asthma"]),
        }
        for number, age in enumerate(ages)
    ]


def spec(more: str = "", privacy: str = f"k: {K}", output: str = "{edges: open}", age: str = "") -> str:
    return (
        "version: 1\ninput: {path: table.csv, missing: ['?']}\nquasi_identifiers:\n"
        f"  age: {{type: numeric{age}}}\n  hours: {{type: numeric}}\n  sex: {{}}\n"
        f"sensitive: {{ill: {{}}}}\nprivacy: {{{privacy}}}\noutput: {output}\n{more}\n"
    )


def write(folder: Path, rows: list[dict[str, str]]) -> None:
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    """What a command prints, in this process."""
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        ended = outcome(lambda: command(list(arguments)))
    assert ended == code, errors.getvalue()
    return printed.getvalue()


def released(folder: Path, text: str, algorithm: str = "mondrian", *options: str) -> list[dict[str, str]]:
    (folder / "spec.yaml").write_text(text)
    run(folder, algorithm, "spec.yaml", "-q", "-o", "out.csv", "--force", *limits_of(algorithm), *options)
    return list(csv.DictReader(io.StringIO((folder / "out.csv").read_text())))


def ends_in_tails(shown: list[str], original: list[tuple[float, str]], k: int) -> list[float]:
    """The attacker: reads every number in the released cells, and counts who is at or beyond it; the ends that fewer
    than k people are at or beyond."""
    ends = {float(number) for text in set(shown) for number in re.findall(r"\d+(?:\.\d+)?", text)}
    above = {end: len({who for value, who in original if value >= end}) for end in ends}
    below = {end: len({who for value, who in original if value <= end}) for end in ends}
    return sorted(end for end in ends if min(above[end], below[end]) < k)


def column(rows: list[dict[str, str]], name: str, who: str | None = None) -> list[tuple[float, str]]:
    pairs = enumerate(rows)
    return [(float(row[name]), str(number) if who is None else row[who]) for number, row in pairs if row[name] != "?"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_end_lies_in_a_tail_of_fewer_than_k_rows(algorithm: str, tmp_path: Path) -> None:
    rows = people(90 if algorithm == "k-optimize" else 160)
    write(tmp_path, rows)
    targets = "workload: {targets: [sex]}" if algorithm in ("tds", "bug", "research-value") else ""
    release = released(tmp_path, spec(f"identifiers: [who]\n{targets}", "k: 5, suppression: 0.1"), algorithm)
    for name in ("age", "hours"):
        assert not ends_in_tails([row[name] for row in release], column(rows, name), K), name


@pytest.mark.parametrize("numeric", ["interval", "bounds", "mean", "median"])
def test_nor_in_another_form(numeric: str, tmp_path: Path) -> None:
    rows = people()
    write(tmp_path, rows)
    release = released(tmp_path, spec("identifiers: [who]", output=f"{{numeric: {numeric}, edges: open}}"))
    for name in ("age", "hours"):
        cells = [row[key] for row in release for key in row if key.startswith(name)]
        assert not ends_in_tails(cells, column(rows, name), K), name


def test_individuals_are_counted_where_rows_are_about_the_same_one(tmp_path: Path) -> None:
    rows = people()
    write(tmp_path, rows)
    release = released(tmp_path, spec("unit: who"))
    assert not ends_in_tails([row["age"] for row in release], column(rows, "age", "who"), K)


def test_without_a_k_five_are_enough(tmp_path: Path) -> None:
    rows = people()
    write(tmp_path, rows)
    release = released(tmp_path, spec("identifiers: [who]", privacy="l: 2"))
    assert not ends_in_tails([row["age"] for row in release], column(rows, "age"), 5)


def test_hiding_an_outlier_does_not_show_the_next(tmp_path: Path) -> None:
    """Whatever is suppressed: of the rows that show something, too, k are at or beyond each end."""
    rows = people(90)
    write(tmp_path, rows)
    text = spec(
        "identifiers: [who]", privacy=f"k: {K}, suppression: 0.05", output="{suppressed_rows: drop, edges: open}"
    )
    for algorithm in ("tds", "k-optimize", "mondrian"):
        wanted = text + "workload: {targets: [sex]}\n" if algorithm == "tds" else text
        shown = [row["age"] for row in released(tmp_path, wanted, algorithm)]
        assert not ends_in_tails(shown, column(rows, "age"), K)
        assert not re.search(r"\b(90|127|138)\b", " ".join(shown))
    without = [row for row in rows if row["age"] != "138"]
    write(tmp_path, without)
    shown = [row["age"] for row in released(tmp_path, text)]
    assert not ends_in_tails(shown, column(without, "age"), K) and "127" not in " ".join(shown)


def test_a_rounded_end_follows_from_the_width_and_the_grid_alone(tmp_path: Path) -> None:
    """The attacker knows everybody but one, and reads the two ends of each class: they are those of anybody who stands
    on the same step, and no more often one person's value than a random value from within would be."""
    rows = people(2000)
    write(tmp_path, rows)
    release = released(tmp_path, spec("identifiers: [who]", output="{edges: rounded, row_order: keep}"))
    shown = [tuple(row[name] for name in ("age", "hours", "sex")) for row in release]
    least, most = (sorted(int(row["age"]) for row in rows)[place] for place in (K - 1, -K))
    classes: dict[tuple[str, ...], list[int]] = {}
    for cells, row in zip(shown, rows, strict=True):
        classes.setdefault(cells, []).append(int(row["age"]))
    assert min(map(len, classes.values())) >= K
    wide, theirs, within = 0, 0, 0
    for (text, *_), ages in classes.items():
        low, high = min(ages), max(ages)
        inner = max(low, least), min(high, most)
        step: int = max(int(widest_step(Fraction(inner[1] - inner[0], 4))), 2) if inner[0] < inner[1] else 1
        first, last = inner[0] // step * step, (inner[1] // step + 1) * step - 1
        opened = f"{last}-" if low < least else f"{first}+" if high > most else f"[{first}-{last}]"
        assert text == (opened if step > 1 or low < least or high > most else str(low))
        if high - low >= 5 and low >= least:
            wide, theirs = wide + 1, theirs + (ages.count(first) == 1 and first == low)
            within += ages.count(random.Random(low).choice(ages)) == 1
    assert wide > 50 and theirs < within


def test_ends_are_rounded_where_a_spec_names_no_edges(tmp_path: Path) -> None:
    """For the command, for Python, and for rows that a saved recoding reads."""
    import anonymize

    write(tmp_path, people())
    rows = released(tmp_path, spec("identifiers: [who]", output="{}"), "mondrian", "--save-recoding", "saved.json")
    named = released(tmp_path, spec("identifiers: [who]", output="{edges: rounded}"))
    assert rows == named != released(tmp_path, spec("identifiers: [who]"))
    (tmp_path / "spec.yaml").write_text(spec("identifiers: [who]", output="{}"))
    frame = anonymize.release(tmp_path / "table.csv", tmp_path / "spec.yaml", algorithm="mondrian").frame
    assert frame["age"].to_list() == [row["age"] for row in rows]
    run(tmp_path, "recode", "saved.json", "-i", "table.csv", "-o", "again.csv", "-q")
    again = csv.DictReader(io.StringIO((tmp_path / "again.csv").read_text()))
    assert {row["age"] for row in again} == {row["age"] for row in rows}


def test_dates_read_as_nodes_whatever_the_edges(tmp_path: Path) -> None:
    rows = [{"day": f"2024-{1 + n % 12:02}-{1 + n % 28:02}", "sex": "MF"[n % 2]} for n in range(200)]
    write(tmp_path, rows)
    quasi = "quasi_identifiers: {day: {hierarchy: {dates: [month, quarter, year]}}, sex: {}}"
    text = f"version: 1\ninput: {{path: table.csv}}\n{quasi}\nprivacy: {{k: 5}}\n"
    shown = [released(tmp_path, text + f"output: {{edges: {edges}}}\n") for edges in ("rounded", "tight")]
    assert shown[0] == shown[1] and all(re.fullmatch(r"2024(-Q\d|-\d\d(-\d\d)?)?", row["day"]) for row in shown[0])


def test_tight_edges_show_them(tmp_path: Path) -> None:
    """The attacker is one: without the default there is something to find."""
    rows = people()
    write(tmp_path, rows)
    release = released(tmp_path, spec("identifiers: [who]", output="{edges: tight}"))
    assert 138 in ends_in_tails([row["age"] for row in release], column(rows, "age"), K)


# --- bottom and top codes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("algorithm", "edges"),
    [
        *(("mondrian", edges) for edges in ("open", "tight", "rounded")),
        *(("datafly", "open"), ("anatomy", "tight"), ("k-optimize", "rounded")),
    ],
)
def test_nothing_beyond_a_code_is_shown(algorithm: str, edges: str, tmp_path: Path) -> None:
    rows = people(ROWS.get(algorithm, 300))
    write(tmp_path, rows)
    age = ", bottom: 25, top: 60, hierarchy: {intervals: [10, 20]}"
    privacy = "l: 2" if algorithm == "anatomy" else "k: 5, suppression: 0.1"
    text = spec("identifiers: [who]", privacy, f"{{edges: {edges}}}", age)
    options = ("--joined",) if algorithm == "anatomy" else ()
    shown = " ".join({row["age"] for row in released(tmp_path, text, algorithm, *options)})
    numbers = {float(number) for number in re.findall(r"\d+", shown)}
    assert numbers and max(numbers) <= 60 and min(numbers) >= 20, shown


def test_codes_are_checked(tmp_path: Path) -> None:
    write(tmp_path, people())
    (tmp_path / "ages.csv").write_text("1;*\n")
    for age in (", bottom: 60, top: 60", ", top: 9, hierarchy: ages.csv", ", top: x"):
        (tmp_path / "spec.yaml").write_text(spec("identifiers: [who]", age=age))
        run(tmp_path, "mondrian", "spec.yaml", code=2)
    text = spec("identifiers: [who]").replace("sex: {}", "sex: {top: 9}")
    (tmp_path / "spec.yaml").write_text(text)
    run(tmp_path, "mondrian", "spec.yaml", code=2)


# --- read back -------------------------------------------------------------------------------------------------------


AGES = ["", ", top: 60, bottom: 25", ", round: 5, top: 70", ", levels: {max: 1}, top: 76", " decimal"]
NUMERIC = ("interval", "bounds", "mean")
EDGES = ("open", "rounded")
FORMS = [(age, NUMERIC[(place + shift) % 3], EDGES[shift]) for place, age in enumerate(AGES) for shift in (0, 1)]
"""Every kind of age with two forms of numbers and with both edges, and every form with both edges."""


@pytest.mark.parametrize(("age", "numeric", "edges"), FORMS)
def test_what_is_written_is_read(numeric: str, age: str, edges: str, tmp_path: Path) -> None:
    """Audit counts the same classes, evaluate the same loss; recode shows the rows of the table as they were."""
    rows = people()
    if age == " decimal":
        rows, age = [{**row, "age": f"{row['age']}.{int(row['who']) % 10}"} for row in rows], ""
    if "levels" in age:
        age += ", hierarchy: {intervals: [25]}"
    write(tmp_path, rows)
    output = f"{{numeric: {numeric}, row_order: keep, edges: {edges}}}"
    text = spec("identifiers: [who]", output=output, age=age)
    (tmp_path / "spec.yaml").write_text(text)
    files = ["-o", "out.csv", "-r", "report.json", "-q"]
    files += [] if "levels" in age else ["--save-recoding", "saved.json"]
    run(tmp_path, "mondrian", "spec.yaml", *files)
    report = json.loads((tmp_path / "report.json").read_text())
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert ("hours_missing" in header) == (numeric == "bounds")
    audited = json.loads(run(tmp_path, "audit", "spec.yaml", "-i", "out.csv", "--json"))
    assert audited["privacy"]["satisfied"] and audited["classes"]["count"] == report["classes"]["count"]
    evaluated = json.loads(run(tmp_path, "evaluate", "spec.yaml", "out.csv", "--json"))
    assert evaluated["utility"]["ncp"] == pytest.approx(report["utility"]["ncp"])
    if "levels" in age:  # rows that are parted by them are not saved
        return
    run(tmp_path, "recode", "saved.json", "-i", "table.csv", "-o", "again.csv", "-r", "again.json", "-q")
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "out.csv").read_text()
    assert json.loads((tmp_path / "again.json").read_text())["outside"]["outside_interval"] == 0


def test_numbers_beyond_an_open_end_are_within(tmp_path: Path) -> None:
    rows = people()
    write(tmp_path, rows)
    (tmp_path / "spec.yaml").write_text(spec("identifiers: [who]", age=", top: 60"))
    run(tmp_path, "mondrian", "spec.yaml", "-o", "out.csv", "--save-recoding", "saved.json", "-q")
    for row in rows:
        row["age"] = "200"
    write(tmp_path, rows)
    run(tmp_path, "recode", "saved.json", "-i", "table.csv", "-o", "new.csv", "-r", "new.json", "-q")
    outside = json.loads((tmp_path / "new.json").read_text())["outside"]["attributes"]["age"]
    assert outside == {"unknown": 0, "out_of_range": 0, "outside_interval": 0}


def test_two_releases_with_open_ends_are_compared(tmp_path: Path) -> None:
    rows = people()
    write(tmp_path, rows)
    (tmp_path / "spec.yaml").write_text(spec("identifiers: [who]", output="{numeric: bounds, row_order: shuffle}"))
    run(tmp_path, "mondrian", "spec.yaml", "-o", "one.csv", "-q")
    run(tmp_path, "mondrian", "spec.yaml", "-o", "two.csv", "-q", "-k", "9")
    words = ("audit", "spec.yaml", "-i", "one.csv", "--previous", "two.csv", "--json")
    report = json.loads(run(tmp_path, *words, code=1))  # what classes show leaves open whether k holds for both
    assert [model["satisfied"] for model in report["privacy"]["models"]] == [True]
    assert [model["satisfied"] for model in report["previous"]["models"]] == [None]
    assert report["previous"]["pairs"] > 0


def test_missing_numbers_do_not_hide_the_others(tmp_path: Path) -> None:
    write(tmp_path, people())
    release = released(tmp_path, spec("identifiers: [who]"))
    mixed = [row["hours"] for row in release if row["hours"].endswith(" or ?")]
    assert mixed and not any(text.startswith("*") for text in mixed)
    assert sum(row["hours"] == "*" for row in release) < len(release) / 10


@pytest.mark.parametrize(
    ("decimal", "numeric", "edges"),
    [
        (False, "interval", "open"),
        (False, "bounds", "rounded"),
        (True, "interval", "rounded"),
        (True, "bounds", "open"),
    ],
)
def test_a_population_is_looked_up_in_what_is_shown(decimal: bool, numeric: str, edges: str, tmp_path: Path) -> None:
    """The least number of people under a class is what a reader of the file counts."""
    rows, others = people(), people(seed=2)
    for row in (*rows, *others) if decimal else ():
        row["age"] = f"{row['age']}.{int(row['who']) % 2 * 5}"
    everybody = [*rows, *others]
    write(tmp_path, everybody)
    (tmp_path / "table.csv").rename(tmp_path / "everybody.csv")
    write(tmp_path, rows)
    model = "models: [{model: k-map, k: 8, population: everybody.csv}]"
    output = f"{{numeric: {numeric}, edges: {edges}}}"
    text = spec("identifiers: [who]", f"k: 3, {model}", output, ", top: 100").replace("  hours: {type: numeric}\n", "")
    text = text.replace("[who]", "[who, hours]")
    release = released(tmp_path, text, "mondrian", "-r", "report.json")
    assert len(release) == len(rows)
    people_of = {
        tuple(row[name] for name in row if name != "ill"): sum(
            person["sex"] == row["sex"] and _stands_for(row, float(person["age"]), decimal and edges == "rounded")
            for person in everybody
        )
        for row in release
    }
    report = json.loads((tmp_path / "report.json").read_text())
    (reached,) = (each["achieved"]["k"] for each in report["privacy"]["models"] if each["model"] == "k-map")
    assert reached == min(people_of.values())


def _stands_for(row: dict[str, str], age: float, half_open: bool) -> bool:
    """Whether a released row may be about somebody of an age."""
    low, high = row.get("age_low"), row.get("age_high")
    if low is None:
        found = re.fullmatch(r"\[([\d.]+)-([\d.]+)[\])]|([\d.]+)\+|([\d.]+)-|([\d.]+)", row["age"])
        assert found is not None
        low, high = (found[1] or found[3] or found[5], found[2] or found[4] or found[5])
    if low and high and float(low) < float(high) and half_open:
        return float(low) <= age < float(high)
    return float(low or "-inf") <= age <= float(high or "inf")
