"""What a failure, a kill or a damaged file tells and leaves."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from tests.common.warm import USUAL, start
from tests.security.commands import run

SECRET = ("Ann Canary", "54", "02138", "Canaryitis")
NAMES = ("name", "age", "zip", "ill")
SPEC: dict[str, Any] = {
    "version": 1,
    "identifiers": ["name"],
    "quasi_identifiers": {"age": {"type": "numeric"}, "zip": {"hierarchy": {"mask": "right"}}},
    "sensitive": {"ill": {}},
    "privacy": {"k": 2},
}


def people(rows: int = 40) -> list[tuple[str, ...]]:
    return [SECRET, *((f"Bob Canary {n}", f"{20 + n % 60}", f"0{2000 + n % 9}", f"ill{n % 3}") for n in range(rows))]


def table(path: Path, rows: list[tuple[str, ...]], header: tuple[str, ...] | None = NAMES) -> Path:
    path.write_text("\n".join(",".join(row) for row in ([header] if header else []) + rows) + "\n", encoding="utf-8")
    return path


def spec(path: Path, **changes: Any) -> Path:
    path.write_text(yaml.safe_dump(SPEC | changes), encoding="utf-8")
    return path


# --- headers ---------------------------------------------------------------------------------------------------------


def test_a_table_without_a_header_shows_nobody(tmp_path: Path) -> None:
    """Six commands, and a first row with the same cell twice."""
    good, place = table(tmp_path / "good.csv", people()), spec(tmp_path / "spec.yaml")
    recoding, released = tmp_path / "recoding.json", tmp_path / "released.csv"
    made = run("mondrian", place, "-i", good, "-o", released, "--save-recoding", recoding)
    assert made.returncode == 0, made.stderr
    for rows in (people(), [(SECRET[3], *SECRET[1:]), *people()]):
        bare = table(tmp_path / "bare.csv", rows, header=None)
        commands: list[tuple[object, ...]] = [
            ("mondrian", place, "-i", bare, "-o", tmp_path / "x.csv"),
            ("audit", place, "-i", bare),
            ("audit", "--qi", "age,zip", "-i", bare),
            ("evaluate", place, bare, "-i", good),
            ("recode", recoding, "-i", bare, "-o", tmp_path / "x.csv"),
            ("validate", place, "-i", bare),
        ]
        for command in commands:
            ended = run(*command)
            assert ended.returncode in (2, 3), (command, ended.stderr)
            assert not [cell for cell in SECRET if cell in ended.stderr + ended.stdout], command


# --- copies and signals ----------------------------------------------------------------------------------------------


def started(folder: Path, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    own = os.environ | USUAL | {"TMPDIR": str(folder)}
    return start(*arguments, cwd=Path.cwd(), env=own, stderr=subprocess.PIPE, **options)


def left(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
def test_a_kill_leaves_no_raw_copy(tmp_path: Path) -> None:
    """Killed while standard input is copied, and while the copy of a packed table is read."""
    folder, place = tmp_path / "tmp", spec(tmp_path / "spec.yaml")
    folder.mkdir()
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(table(tmp_path / "table.csv", people(200_000)).read_bytes(), 1))
    process = started(folder, "mondrian", place, "-i", "-", "-o", tmp_path / "x.csv", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write((tmp_path / "table.csv").read_bytes()[:1_000_000])
    process.stdin.flush()
    time.sleep(1.5)
    process.kill()
    process.communicate()
    assert left(folder) == []
    for delay in (1, 2):
        process = started(folder, "mondrian", place, "-i", packed, "-o", tmp_path / "x.csv", "--force")
        time.sleep(delay)
        process.kill()
        process.communicate()
        assert left(folder) == []
    parts = [path for path in left(tmp_path) if path.name not in ("spec.yaml", "table.csv", packed.name, "x.csv")]
    for part in parts:  # of the release, which never has identifiers
        assert part.stat().st_mode & 0o777 == 0o600 and b" Canary" not in part.read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_modules_are_imported_is_an_interruption(tmp_path: Path, number: int) -> None:
    """The module that is imported sends the signal itself, so that no clock decides."""
    code = (
        "import os, sys, importlib.abc\n"
        "moment = sys.argv.pop(1)\n"
        "class Sender(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == moment: os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Sender())\n"
        "from anonymize.cli import main\n"
        "main()\n"
    )
    bare = table(tmp_path / "table.csv", people())
    every = ("click", "polars", "anonymize.cli.exits", "anonymize.cli.audit", "numpy")
    for module in every if number == signal.SIGINT else ("polars",):
        command = [sys.executable, "-c", code, module, "audit", "--qi", "age", "-i", str(bare)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (130, "interrupted; nothing was written\n"), module


def test_an_ignored_interrupt_stays_ignored_in_every_library(tmp_path: Path) -> None:
    """As under nohup: interrupts all along the run, which goes on."""
    rows = table(tmp_path / "table.csv", people(100_000))
    ignoring = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)  # noqa: E731
    place = spec(tmp_path / "spec.yaml")
    process = started(tmp_path, "datafly", place, "-i", rows, "-o", tmp_path / "x.csv", "-q", preexec_fn=ignoring)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
    _, err = process.communicate()
    assert process.returncode == 0, err


# --- memory ----------------------------------------------------------------------------------------------------------


def test_too_little_memory_is_refused_with_the_figure(tmp_path: Path) -> None:
    """The limit lies between what the start takes and what a table of so many rows would."""
    rows = tmp_path / "table.parquet"
    pl.select(age=pl.repeat(54, 80_000_000, dtype=pl.Int8)).write_parquet(rows)
    place = spec(tmp_path / "spec.yaml", identifiers=[], quasi_identifiers={"age": {"type": "numeric"}}, sensitive={})
    limited = ["bash", "-c", 'ulimit -v 4000000; exec "$@"', "-", sys.executable, "-m", "anonymize"]
    command = [*limited, "mondrian", str(place), "-i", str(rows), "-o", str(tmp_path / "x.csv"), "--threads", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 71, ended.stderr
    assert "takes about" in ended.stderr and "MB of memory" in ended.stderr
    assert not (tmp_path / "x.csv").exists()


# --- damaged files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("widths", [[1e300], [10**22], [1, 1e300], [0.1, 1e22]])
def test_intervals_beyond_all_numbers_are_a_mistake_of_the_spec(tmp_path: Path, widths: list[float]) -> None:
    quasi = {"age": {"type": "numeric", "hierarchy": {"intervals": widths}}}
    place = spec(tmp_path / "spec.yaml", quasi_identifiers=quasi, insensitive=["zip"])
    rows = table(tmp_path / "table.csv", people())
    ended = run("datafly", place, "-i", rows, "-o", tmp_path / "x.csv")
    assert ended.returncode == 2 and "intervals" in ended.stderr


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_noise_is_a_file_that_cannot_be_read(tmp_path: Path, form: str) -> None:
    start, end = {"arrow": (b"ARROW1\0\0", b"ARROW1"), "parquet": (b"PAR1", b"PAR1")}[form]
    noise = random.Random(5)
    from anonymize.errors import DataError
    from anonymize.spec import make
    from anonymize.table.source import Source

    for number in range(60):
        path = tmp_path / f"noise{number}.{form}"
        path.write_bytes(start + noise.randbytes(500) + end)
        with (
            pytest.raises(DataError, match=path.name),
            Source.open(make({"version": 1, "quasi_identifiers": ["a"]}, {}), path) as source,
        ):
            source.check()


DAMAGES: dict[str, Any] = {
    "attributes that are texts": lambda content: content | {"attributes": ["age"]},
    "attributes that are no list": lambda content: content | {"attributes": 5},
    "no values": lambda content: content | {"attributes": [content["attributes"][0] | {"values": [], "p": 0.5}]},
    "endless rows": lambda content: content | {"rows": float("inf")},
    "bounds of one end": lambda content: content | {"attributes": [content["attributes"][0] | {"bounds": [[1]]}]},
    "bounds that are texts": lambda content: (
        content | {"attributes": [content["attributes"][0] | {"bounds": [["a", "b"], ["c", "d"]]}]}
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_parameters(tmp_path: Path, damage: str) -> None:
    (tmp_path / "x.csv").write_text("ill\na\nb\n")
    attribute = {"name": "ill", "role": "sensitive", "p": 0.75, "values": ["a", "b"]}
    sound = {"format": "anonymize-randomization", "version": 1, "rows": 2, "separator": ",", "attributes": [attribute]}
    (tmp_path / "x.params.json").write_text(json.dumps(DAMAGES[damage](sound)))
    ended = run("reconstruct", tmp_path / "x.csv")
    assert ended.returncode == 3, ended.stderr
    assert "is not a file of parameters" in ended.stderr


def ragged(content: dict[str, Any]) -> None:
    content["classes"][0] = [*content["classes"][0], 0]


def endless(content: dict[str, Any]) -> None:
    content["suppressed"] = [[10**30] for _ in content["suppressed"]]


def unknown(content: dict[str, Any]) -> None:
    content["columns"].append(content["columns"][0] | {"name": "more", "attribute": "nothing"})


@pytest.mark.parametrize("damage", [ragged, endless, unknown])
def test_a_damaged_recoding(tmp_path: Path, damage: Callable[[dict[str, Any]], None]) -> None:
    rows, recoding = table(tmp_path / "table.csv", people()), tmp_path / "recoding.json"
    place = spec(tmp_path / "spec.yaml")
    made = run("datafly", place, "-i", rows, "-o", tmp_path / "x.csv", "--save-recoding", recoding)
    assert made.returncode == 0, made.stderr
    content = json.loads(recoding.read_text())
    damage(content)
    recoding.write_text(json.dumps(content))
    ended = run("recode", recoding, "-i", rows, "-o", tmp_path / "y.csv")
    assert ended.returncode == 2 and "damaged" in ended.stderr, ended.stderr
    assert not (tmp_path / "y.csv").exists()


# --- numbers that cannot be calculated with ---------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_numbers_whose_differences_are_none_are_refused(tmp_path: Path, suffix: str) -> None:
    """In a quasi-identifier, a sensitive attribute, a target and a weight: 3, with a report as without."""
    for role in ("quasi_identifiers", "sensitive", "sampling_weight"):
        columns: dict[str, list[Any]] = {
            "age": [30.5, 31.5, 52.0, 58.0] * 4,
            "ill": [1.0, 2.0, 3.0, 4.0] * 4,
            "w": [1.5] * 16,
        }
        huge = {"quasi_identifiers": "age", "sensitive": "ill", "sampling_weight": "w"}[role]
        columns[huge] = [1.7e308, -1.7e308 if role != "sampling_weight" else 1.7e308, 1.6e308, 5.0] * 4
        rows = tmp_path / f"table.{suffix}"
        frame = pl.DataFrame(columns)
        frame.write_csv(rows) if suffix == "csv" else frame.write_parquet(rows)
        content = {
            "version": 1,
            "quasi_identifiers": {"age": {"type": "numeric"}},
            "sensitive": {"ill": {"type": "numeric"}},
            "sampling_weight": "w",
            "privacy": {"k": 2},
        }
        (tmp_path / "spec.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        for more in ((), ("-r", tmp_path / "x.json")):
            ended = run("mondrian", tmp_path / "spec.yaml", "-i", rows, "-o", tmp_path / "x.csv", *more)
            assert ended.returncode == 3 and huge in ended.stderr, (role, ended.stderr)
            assert not (tmp_path / "x.csv").exists()
