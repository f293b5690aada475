"""A series of releases of Adult: what it withholds, holds back and loses, checked by thirty lines of this script.

    python benchmarks/series.py [--data FOLDER] [--releases 12] [--command mondrian] [--wait N] [--departures deferred]
    python benchmarks/series.py [--data FOLDER] [--command mondrian] --kills 50 | --reserve

From release to release Adult grows by 1 % and loses 0.5 %: who leaves is drawn, newcomers are bootstrapped from the
rows and have new keys. Each input is released after the one before (k = 10, l = 2 of the occupation), and the first and
last once more from scratch. Loss counts people withheld at 1, and in a second figure those held back as well. `checked`
reads inputs, links and releases and nothing else, and imports nothing of anonymize.
With --kills, runs of a second release of fewer rows are ended by SIGKILL at random moments, every second one of them
when files are about to take their places: after each, the series is as it was before or as it is after that release,
and the file is that of the state.
With --reserve, what happens to classes that nobody mends: see docs/over-time.md.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[1]
K, L = 10, 2
GROWTH, LOSS = 0.01, 0.005
COLUMNS: tuple[str, ...] = (
    "release",
    "people",
    "withheld",
    "held back",
    "loss",
    "with held back",
    "smallest",
    "values",
    "s",
)
COLUMNS += ("loss from scratch", "ratio", "with held back", "s from scratch")
Rows = list[list[str]]


def spec(wait: int | None = None, departures: str = "unseen") -> str:
    """Adult with the occupation as what is sensitive. `wait`: how many releases newcomers may wait for others."""
    lines = (HOME / "configs" / "adult.yaml").read_text(encoding="utf-8").split("privacy:")[0].splitlines()
    kept = [line.replace("../hierarchies", str(HOME / "hierarchies")) for line in lines if "occupation:" not in line]
    return (
        "\n".join(
            [
                *kept,
                "unit: id",
                "sensitive: {occupation: {}}",
                f"privacy: {{k: {K}, l: {L}}}",
                f"series: {{departures: {departures}{'' if wait is None else f', wait: {wait}'}}}",
            ]
        )
        + "\n"
    )


# --- the inputs ------------------------------------------------------------------------------------------------------


def first_input(data: Path) -> tuple[list[str], Rows]:
    """The header, and everybody with a key."""
    header, *rows = csv.reader((data / "adult.csv").open(encoding="utf-8"), delimiter=";")
    return ["id", *header], [[f"p{number}", *row] for number, row in enumerate(rows)]


def next_input(rows: Rows, originals: Rows, index: int, draw: random.Random) -> Rows:
    """Those who stay, and newcomers."""
    stay = [row for row in rows if draw.random() >= LOSS]
    return stay + [[f"n{index}.{number}", *draw.choice(originals)[1:]] for number in range(round(len(rows) * GROWTH))]


def write(path: Path, header: list[str], rows: Rows) -> None:
    """A CSV as Adult's."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";", lineterminator="\n").writerows([header, *rows])


# --- the check -------------------------------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV, by column."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=";"))


def released(folder: Path, index: int) -> dict[str, tuple[tuple[str, ...], str]]:
    """Of everybody who was released, the class shown and the value, by its link."""
    people = [row["id"] for row in read(folder / f"in{index}.csv")]
    link = json.loads((folder / f"link{index}.json").read_text())
    whose = [people[number - 1] if number else "" for number in link["input_rows"]]
    for place, sha256, number in link.get("earlier", ()):
        whose[place - 1] = inputs(folder, index)[sha256][number - 1]
    rows = read(folder / f"out{index}.csv")
    passing = ("occupation", "salary-class")
    return {
        person: (tuple(text for name, text in row.items() if name not in passing), row["occupation"])
        for person, row in zip(whose, rows, strict=True)
    }


@cache
def inputs(folder: Path, index: int) -> dict[str, list[str]]:
    """The people of each input before this one, by the hash of the input."""
    paths = [folder / f"in{number}.csv" for number in range(index)]
    return {hashlib.sha256(path.read_bytes()).hexdigest(): [row["id"] for row in read(path)] for path in paths}


def checked(releases: Sequence[dict[str, tuple[tuple[str, ...], str]]], *, everybody: bool) -> tuple[int, int]:
    """The fewest people of one history in the last release, and the fewest values that these had in any release.
    `everybody`: those count, too, who are in an earlier release alone."""
    people = set().union(*releases) if everybody else set(releases[-1])
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for who in people:
        groups[tuple(each[who][0] if who in each else None for each in releases)].append(who)
    values = [
        len({each[who][1] for who in group}) for group in groups.values() for each in releases if group[0] in each
    ]
    return min(map(len, groups.values())), min(values)


# --- the commands ----------------------------------------------------------------------------------------------------


def arguments(command: str, index: int, output: str) -> list[str]:
    """A release of one of the inputs."""
    files = ["-i", f"in{index}.csv", "-o", f"{output}{index}.csv", "-r", f"{output}{index}r.json", "--force", "-q"]
    return [sys.executable, "-m", "anonymize", command, "spec.yaml", *files]


def in_series(command: str, index: int) -> list[str]:
    """The release after those before."""
    start = "--start-series" if index == 0 else "--after"
    own = [start, "state", "--key", "key.json", "--save-link", f"link{index}.json"]
    return [*arguments(command, index, "out"), *own]


def ran(command: list[str], folder: Path) -> float:
    """Runs a command to its end; its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, cwd=folder, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def lost(report: dict[str, Any], absent: int) -> float:
    """gcp, where those who are absent count as 1."""
    people = report["output"]["rows"]
    return float((report["utility"]["gcp"] * people + absent) / (people + absent))


def line(folder: Path, index: int, own_seconds: float, scratch: float | None, worst: tuple[int, int]) -> str:
    """What is reported of a release."""
    report = json.loads((folder / f"out{index}r.json").read_text())
    counts = report["series"]["people"]
    everybody = counts["released"] + counts["withheld"] + counts["held_back"]
    own, more = lost(report, counts["withheld"]), lost(report, counts["withheld"] + counts["held_back"])
    absent = [f"{counts[name]} ({100 * counts[name] / everybody:.2f} %)" for name in ("withheld", "held_back")]
    compared = ["", "", "", ""]
    if scratch is not None:
        other = lost(json.loads((folder / f"scratch{index}r.json").read_text()), 0)
        compared = [f"{other:.4f}", f"{own / other:.3f}", f"{more / other:.3f}", f"{scratch:.1f}"]
    figures = [str(index + 1), str(everybody), *absent, f"{own:.4f}", f"{more:.4f}", *map(str, worst)]
    return "| " + " | ".join([*figures, f"{own_seconds:.1f}", *compared]) + " |"


def series(folder: Path, data: Path, command: str, count: int, wait: int | None, departures: str) -> None:
    """Releases and checks a series, and prints a line for each release."""
    (folder / "spec.yaml").write_text(spec(wait, departures))
    subprocess.run([sys.executable, "-m", "anonymize", "key", "make", "key.json", "-q"], cwd=folder, check=True)
    header, originals = first_input(data)
    rows, draw, releases = originals, random.Random(1), []
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for index in range(count):
        rows = rows if index == 0 else next_input(rows, originals, index, draw)
        write(folder / f"in{index}.csv", header, rows)
        own = ran(in_series(command, index), folder)
        scratch = ran(arguments(command, index, "scratch"), folder) if index in (0, count - 1) else None
        releases.append(released(folder, index))
        worst = checked(releases, everybody=departures == "deferred")
        print(line(folder, index, own, scratch, worst), flush=True)
        assert worst >= (K, 0) and worst[1] >= L, "the guarantee does not hold"
    audit = [sys.executable, "-m", "anonymize", "audit", "spec.yaml", "--series", "state", "--key", "key.json", "-q"]
    print(f"audit --series: exit 0 in {ran(audit, folder):.1f} s", flush=True)
    print(departed(folder, count - 1))


def departed(folder: Path, index: int) -> str:
    """How often the last two files give the value of somebody who left between them, and how often the class of
    the earlier one alone does."""
    files = ["spec.yaml", f"out{index}.csv", "-i", f"in{index}.csv", "--series", "state", "--key", "key.json"]
    command = [sys.executable, "-m", "anonymize", "attack", *files, "--attackers", "composition", "--json", "-q"]
    ended = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    *_, left = json.loads(ended.stdout)["attacks"]["results"]
    rate, alone = (left[name]["value"] for name in ("rate", "baseline"))
    return f"{left['targets']} left: by two files {rate:.3f} right, by their class alone {alone:.3f}"


# --- kills -----------------------------------------------------------------------------------------------------------


def state_of(folder: Path) -> tuple[int, bool]:
    """How many releases the state has, and whether the last one is the file that it names."""
    with zipfile.ZipFile(folder / "state") as archive:
        releases = json.loads(archive.read("series.json"))["releases"]
    path = folder / f"out{len(releases) - 1}.csv"
    right = path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == releases[-1]["sha256"]
    return len(releases), right


def killed(folder: Path, command: list[str], wait: float, *, late: bool) -> bool:
    """Whether a run was ended before its end, so many seconds after its start; or, `late`, after all files are
    written: the journal has their hashes from then on."""
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL)
    journal = folder / ".state.journal"
    while late and process.poll() is None and b'"sha256": "' not in _hashed(journal):
        time.sleep(0.0005)
    time.sleep(wait)
    process.kill()
    return process.wait() != 0


def _hashed(journal: Path) -> bytes:
    """A journal without the hashes of files that are not complete."""
    try:
        return journal.read_bytes().replace(b'"sha256": ""', b"")
    except FileNotFoundError:
        return b""


def second_release(folder: Path, data: Path, command: str, rows: int) -> tuple[bytes, float]:
    """Lays out a series after its first release; the second one, made elsewhere, and the seconds it took."""
    (folder / "spec.yaml").write_text(spec())
    subprocess.run([sys.executable, "-m", "anonymize", "key", "make", "key.json", "-q"], cwd=folder, check=True)
    header, originals = first_input(data)
    first = originals[:rows]
    write(folder / "in0.csv", header, first)
    write(folder / "in1.csv", header, next_input(first, originals, 1, random.Random(1)))
    ran(in_series(command, 0), folder)
    whole = folder.with_name("whole")
    shutil.copytree(folder, whole)
    start = time.monotonic()
    ran(in_series(command, 1), whole)
    return (whole / "out1.csv").read_bytes(), time.monotonic() - start


def kills(folder: Path, data: Path, command: str, times: int, rows: int = 5000) -> int:
    """Ends runs of a second release at random moments; the next command finishes what was begun, or takes it back. The
    number of times that the series was neither as before nor as after."""
    source, wrong, ended, finished = random.Random(7), 0, 0, 0
    began, copy = folder / "began", folder / "copy"
    began.mkdir()
    after, length = second_release(began, data, command, rows)
    for number in range(times):
        shutil.copytree(began, copy)
        late = bool(number % 2)
        wait = source.uniform(0, 0.03) if late else source.uniform(0.05, 1.2) * length
        ended += killed(copy, in_series(command, 1), wait, late=late)
        show = [sys.executable, "-m", "anonymize", "series", "show", "state"]
        answered = subprocess.run(show, cwd=copy, capture_output=True).returncode == 0
        releases, right = state_of(copy)
        new = copy / "out1.csv"
        fine = answered and right and releases == (2 if new.exists() else 1)
        fine &= not new.exists() or new.read_bytes() == after
        wrong, finished = wrong + (not fine), finished + new.exists()
        shutil.rmtree(copy)
    print(f"{times} runs of up to {length:.1f} s, {ended} killed, {finished} published: {wrong} neither old nor new")
    return wrong


# --- the reserve -----------------------------------------------------------------------------------------------------


def reserve(folder: Path, data: Path, releases: int = 11, draws: int = 20) -> None:
    """Classes made for k and more, left as they are while people leave: who stays in fewer than k."""
    (folder / "spec.yaml").write_text(spec())
    header, rows = first_input(data)
    write(folder / "in0.csv", header, rows)
    print("| classes made for | gcp | of those who stay, in fewer than k |\n|---|---|---|")
    for size in range(K, K + 5):
        ran([*arguments("mondrian", 0, "scratch"), "-k", str(size)], folder)
        shown = [tuple(list(row.values())[:-2]) for row in read(folder / "scratch0.csv")]
        gcp = json.loads((folder / "scratch0r.json").read_text())["utility"]["gcp"]
        shares = []
        for seed in range(draws):
            draw = random.Random(seed)
            staying = [each for each in shown if draw.random() < (1 - LOSS) ** releases]
            shares.append(sum(n for n in Counter(staying).values() if n < K) / len(staying))
        print(f"| {size} | {gcp:.4f} | {100 * sum(shares) / draws:.2f} % |", flush=True)


def main() -> int:
    """Prints what was measured; 1 where the series was damaged by a kill."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HOME.parent / "shared" / "data")
    parser.add_argument("--releases", type=int, default=12)
    parser.add_argument("--command", default="mondrian")
    parser.add_argument("--wait", type=int, help="how many releases newcomers may wait; left out: as the command does")
    parser.add_argument("--departures", default="unseen", choices=("unseen", "deferred"))
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--reserve", action="store_true")
    given = parser.parse_args()
    os.environ["PYTHONPATH"] = str(HOME)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.reserve:
            reserve(folder, given.data)
            return 0
        if given.kills:
            return bool(kills(folder, given.data, given.command, given.kills))
        series(folder, given.data, given.command, given.releases, given.wait, given.departures)
        return 0


if __name__ == "__main__":
    sys.exit(main())
