"""Ten tables as people have them, from a conversation to a release: `init`, `validate`, `release`."""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run as run_here
from anonymize.privacy import PARAMETERS
from anonymize.spec import load
from tests.security.commands import run

ROWS = 240
DRAW = random.Random(36)
pick = DRAW.choice


def number(low: int, high: int) -> str:
    return str(DRAW.randint(low, high))


def day(form: str) -> str:
    return form.format(d=DRAW.randint(1, 28), m=DRAW.randint(1, 12), y=DRAW.randint(1940, 2003))


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


Cell = Callable[[int], str]
Table = tuple[str, str, dict[str, Cell], dict[str, str]]
"""A separator, an encoding, how the cells of each column are made, and what a steward answers about some columns."""

TABLES: dict[str, Table] = {
    "payroll": (
        ";",
        "utf-8",
        {
            "Personalnr": lambda row: f"P{row:05}",
            "Geburtsdatum": lambda row: day("{d:02}.{m:02}.{y}"),
            "PLZ": lambda row: pick(["10115", "20095", "80331", "01067", "50667"]),
            "Abteilung": lambda row: pick(["Einkauf", "Vertrieb", "Technik"]),
            "Lohn": lambda row: german(DRAW.uniform(1800, 9000)),
            "Urlaub": lambda row: number(20, 30),
        },
        {"Urlaub": "leave out"},
    ),
    "register": (
        ";",
        "latin-1",
        {
            "personnummer": lambda row: f"19{row:06}-1234",
            "kön": lambda row: pick(["kvinna", "man"]),
            "län": lambda row: pick(["Skåne", "Örebro", "Västra Götaland"]),
            "födelseår": lambda row: number(1940, 2003),
            "sjukskriven": lambda row: pick(["ja", "nej"]),
        },
        {},
    ),
    "admissions": (
        ",",
        "utf-8",
        {
            "patient_id": lambda row: number(1, 90),
            "admitted": lambda row: f"20{DRAW.randint(20, 24)}-{DRAW.randint(1, 12):02}-{DRAW.randint(1, 28):02}",
            "age": lambda row: number(18, 95),
            "ward": lambda row: pick(["A1", "A2", "B1"]),
            "icd10": lambda row: pick(["E11.9", "I10", "I21.4", "F32.1", "J45.0", "C50.9"]),
        },
        {"icd10": "secret"},
    ),
    "households": (
        ",",
        "utf-8",
        {
            "hhid": lambda row: str(row // 3),
            "finalwgt": lambda row: f"{DRAW.uniform(80, 900):.2f}",
            "nuts": lambda row: pick(["DE211", "DE212", "DE300", "AT130", "AT121"]),
            "hhsize": lambda row: number(1, 6),
            "sex": lambda row: pick(["1", "2"]),
            "income": lambda row: number(4, 90) + "00",
        },
        {},
    ),
    "loans": (
        ",",
        "utf-8",
        {
            "email": lambda row: f"person{row}@example.org",
            "zip": lambda row: pick(["02138", "10001", "60601", "94105"]),
            "state": lambda row: pick(["MA", "NY", "IL", "CA", "TX"]),
            "amount": lambda row: f'"${DRAW.randint(1, 40)},{DRAW.randint(100, 999)}"',
            "purpose": lambda row: pick(["car", "house", "boat"]),
            "batch": lambda row: "7",
        },
        {"purpose": "secret", "batch": "needed as it is"},
    ),
    "school": (
        "\t",
        "utf-8",
        {
            "name": lambda row: f"{pick(['Anna', 'Peter', 'Maria', 'Jonas'])} {row}son",
            "class": lambda row: pick(["7a", "7b", "8a"]),
            "birth_date": lambda row: day("{d:02}/{m:02}/{y}"),
            "grade": lambda row: number(1, 6),
            "remark": lambda row: pick(["", "", "has to be asked about this again and again"]),
        },
        {"class": "known", "remark": "leave out"},
    ),
    "labour": (
        ",",
        "utf-8",
        {
            "isco08": lambda row: pick(["2221", "2211", "5120", "9112", "2341"]),
            "nace": lambda row: pick(["01.11", "10.71", "86.10", "62.01"]),
            "isced": lambda row: pick(["ED2", "ED35", "ED6"]),
            "agegroup": lambda row: pick(["18-29", "30-44", "45-64"]),
            "hours": lambda row: number(5, 45),
            "union": lambda row: pick(["yes", "no", "NA"]),
        },
        {"hours": "known"},
    ),
    "calls": (
        ",",
        "utf-8",
        {
            "caller": lambda row: f"+49 30 {row:07}",
            "started": lambda row: f"2024-03-{DRAW.randint(1, 28):02}T{DRAW.randint(0, 23):02}:15:00+01:00",
            "duration": lambda row: number(10, 900),
            "cell": lambda row: pick(["north", "south", "harbour"]),
            "topic": lambda row: pick(["debt", "health", "family"]),
        },
        {"cell": "known", "topic": "secret"},
    ),
    "sante": (
        ";",
        "cp1252",
        {
            "Nom": lambda row: pick(["Durand", "Lefèvre", "Petit"]) + str(row),
            "Âge": lambda row: number(18, 90) + " ans",
            "Taille": lambda row: f"1,{DRAW.randint(50, 95)} m",
            "Département": lambda row: pick(["Isère", "Rhône", "Hérault"]),
            "Diagnostic": lambda row: pick(["grippe", "asthme", "diabète"]),
        },
        {},
    ),
    "claims": (
        "|",
        "utf-8",
        {
            "SSN": lambda row: f"123-45-{row:04}",
            "dob": lambda row: day("{m:02}/{d:02}/{y}"),
            "Zip": lambda row: f"{pick(['021', '100', '606'])}{DRAW.randint(10, 99)}",
            "race": lambda row: pick(["White", "Black", "Asian"]),
            "charge": lambda row: f"{DRAW.uniform(20, 9000):.2f}",
            "vx7": lambda row: pick(["a", "b", "c"]),
        },
        {"vx7": "leave out"},
    ),
}


def written(folder: Path, name: str) -> Path:
    """The table in a file."""
    separator, encoding, columns, _ = TABLES[name]
    DRAW.seed(name)
    lines = [separator.join(columns), *(separator.join(make(row) for make in columns.values()) for row in range(ROWS))]
    path = folder / f"{name}.csv"
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def reply(screen: str, answers: Mapping[str, str]) -> str:
    """What the steward types: about a column that has an answer that; else what is proposed, and that a column is left
    out of which nothing is proposed."""
    columns = list(re.finditer(r"^\d+ of \d+ (.+?)\s*$", screen, re.MULTILINE))
    last = screen[columns[-1].start() :] if columns else ""
    if not columns or "k: the smallest number of rows" in last:
        return ""
    return answers.get(columns[-1][1], "" if "(Enter:" in last else "leave out")


class Steward(io.StringIO):
    """Standard input of somebody who reads the screen."""

    def __init__(self, screen: io.StringIO, answers: Mapping[str, str]) -> None:
        super().__init__()
        self._screen, self._answers = screen, answers

    def readline(self, size: int | None = -1, /) -> str:  # type: ignore[override]
        return reply(self._screen.getvalue(), self._answers) + "\n"


@pytest.mark.parametrize("name", TABLES)
def test_a_table_goes_from_a_conversation_to_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    table, spec, screen = written(tmp_path, name), tmp_path / "spec.yaml", io.StringIO()
    monkeypatch.setattr("sys.stdin", Steward(screen, TABLES[name][3]))
    with contextlib.redirect_stderr(screen):
        code = outcome(lambda: run_here(["init", str(table), "-o", str(spec), "--interactive"]))
    assert code == 0, screen.getvalue()
    assert not load(spec, PARAMETERS).undecided
    checked = run("validate", spec, "-q")
    assert checked.returncode == 0, checked.stderr
    ended = run("release", spec, "-o", tmp_path / "out.csv", "-q", "--effort", "low")
    assert ended.returncode == 0, ended.stderr
    first = next(iter(TABLES[name][2]))
    if load(spec, PARAMETERS).roles()[first] in ("identifier", "unit"):
        assert first not in (tmp_path / "out.csv").read_text().splitlines()[0]


def test_one_of_them_on_a_terminal(tmp_path: Path) -> None:
    table, answers = written(tmp_path, "loans"), TABLES["loans"][3]
    terminal, end = os.openpty()
    line = [sys.executable, "-m", "anonymize", "init", str(table), "-o", "spec.yaml"]
    screen, typed, until = "", 0, time.monotonic() + 60
    with subprocess.Popen(line, cwd=tmp_path, stdin=end, stderr=end, env=os.environ | {"COLUMNS": "200"}) as process:
        os.close(end)
        while process.poll() is None and time.monotonic() < until:
            if select.select([terminal], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    screen += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", os.read(terminal, 1 << 16).decode())
                continue
            asked_for = len(re.findall(r"\): $|: $", screen)) and screen.rstrip("\r\n").endswith(": ")
            if asked_for and len(screen) > typed:
                typed = len(screen)
                os.write(terminal, reply(screen.replace("\r", ""), answers).encode() + b"\n")
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
    os.close(terminal)
    assert process.returncode == 0, screen
    roles = load(tmp_path / "spec.yaml", PARAMETERS).roles()
    assert (roles["email"], roles["purpose"], roles["zip"]) == ("identifier", "sensitive", "quasi-identifier")
