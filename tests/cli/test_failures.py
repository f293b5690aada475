"""Bad input: a clear error, the right exit code, nothing written, nothing lost, no cell of the table told."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from anonymize.algorithms import ALGORITHMS, Algorithm, mondrian
from anonymize.classes import Partition
from anonymize.cli.main import COMMANDS
from anonymize.formats import FORMATS as CHECKS
from anonymize.recoding import Regions
from tests.cli.conftest import HEADER, SPEC, Call, Desk, row, table

LINUX = sys.platform == "linux"
ON_LINUX = pytest.mark.skipif(not LINUX, reason="needs Linux")
Registered = Callable[[Callable[..., Regions]], str]
FORMATS = ["csv", "csv.gz", "parquet", "arrow"]


def with_row(text: str) -> str:
    """The table with another line 5."""
    lines = table().splitlines()
    return "\n".join([*lines[:4], text, *lines[5:]]) + "\n"


def plain_row(age: str = "8675301", zipcode: str = "09991", job: str = "CANARY cook") -> str:
    return f"CANARY,{age},{zipcode},{job},CANARY-1,CANARY 1"


BAD_TABLES = {
    "empty": ("", "is empty"),
    "header alone": (f"{HEADER}\n", "no rows"),
    "a blank line first": ("\n" + table(), "the first line is empty"),
    "a column is absent": (table().replace("zip", "plz", 1), "column 'zip' is not in"),
    "a column has no role": (table().replace("zip", "zip,extra", 1), "column 'extra' has no role"),
    "a text among numbers": (with_row(plain_row(age="CANARY")), "csv:5: numeric column 'age': 1 value is not a number"),
    "infinity": (with_row(plain_row(age="inf")), "csv:5: numeric column 'age': 1 value is infinite"),
    "too many fields": (with_row(plain_row() + ",CANARY"), "csv:5: 7 fields where the header has 6"),
    "too few fields": (with_row("CANARY,8675301"), "csv:5: 2 fields where the header has 6"),
    "a stray quotation mark": (with_row('"CANARY" 2,8675301'), "csv:5: a quotation mark is followed by neither"),
    "a quotation mark is not closed": (table() + '"CANARY,8675301\n', "csv:62: a quotation mark is never closed"),
    "the same name twice": (table().replace("ward", "zip", 1), "columns 3 and 6 have the same name"),
    "a column without a name": (table().replace("ward", "", 1), "column 6 has no name"),
    "no UTF-8": (with_row(plain_row(job="CANARY \xe9")).encode("latin-1"), "csv:5: bytes that are not UTF-8"),
    "a NUL byte": (with_row(plain_row(job="CANARY \0")), "csv:5: a NUL byte"),
    "outside the hierarchy": (with_row(plain_row(job="CANARY pilot")), "1 of 4 distinct values are not leaves"),
    "no gzip": (b"\x1f\x8bCANARY", "gzip data is damaged"),
    "no parquet": (b"PAR1CANARY", "cannot be read as a file of the format parquet"),
}


@pytest.mark.parametrize(("content", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
@pytest.mark.parametrize("command", ["mondrian", "validate"])
def test_bad_tables(desk: Desk, call: Call, command: str, content: str | bytes, message: str) -> None:
    desk.fill(content)
    before = desk.files()
    outputs = ("-o", "out.csv", "-r", "r.json") if command == "mondrian" else ()
    ended = call(command, "spec.yaml", "-i", "table.csv", *outputs)
    assert (ended.code, ended.out) == (3, b"")
    assert message in ended.err and ended.err.startswith("error: ")
    assert desk.files() == before


@pytest.mark.parametrize("content", [BAD_TABLES["too few fields"][0], BAD_TABLES["no UTF-8"][0], ""])
def test_bad_tables_on_standard_input(desk: Desk, launch: Call, content: str | bytes) -> None:
    before = desk.files()
    given = content.encode() if isinstance(content, str) else content
    ended = launch("mondrian", "spec.yaml", "-i", "-", "-o", "out.csv", stdin=given)
    assert ended.code == 3 and "<stdin>" in ended.err
    assert desk.files() == before


BAD_SPECS = {
    "unknown key": (SPEC.replace("privacy", "privcay"), "spec.yaml:11:1: unknown key"),
    "no YAML": ("version: [1", "spec.yaml:1"),
    "nothing asked": (SPEC.partition("privacy")[0], "privacy requires nothing"),
    "two roles": (SPEC.replace("[ward]", "[ward, age]"), "spec.yaml:10:21: column `age` is a quasi-identifier"),
    "unknown model": (SPEC + "  models: [{model: magic}]\n", "unknown privacy model `magic`"),
    "no such hierarchy": (
        SPEC.replace("jobs.csv", "none.csv"),
        "none.csv: hierarchy of 'job': the file cannot be read",
    ),
}


@pytest.mark.parametrize(("spec", "message"), BAD_SPECS.values(), ids=BAD_SPECS)
def test_bad_specs(desk: Desk, call: Call, spec: str, message: str) -> None:
    desk.fill(spec=spec)
    before = desk.files()
    ended = call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "r.json")
    assert (ended.code, ended.out) == (2, b"")
    assert message in ended.err
    assert desk.files() == before


def test_all_outputs_that_exist_are_named_at_once(desk: Desk, call: Call) -> None:
    for name in ("out.csv", "r.json", "r.md", "link.json"):
        (desk.folder / name).write_text("before")
    files = ["-o", "out.csv", "-r", "r.json", "-r", "r.md", "--save-link", "link.json"]
    ended = call("mondrian", "spec.yaml", *files)
    assert ended.code == 2 and ended.err.count("exists already") == 4
    assert call("mondrian", "spec.yaml", *files, "--force").code == 0


@pytest.mark.parametrize("name", ["out.params.json", "out.manifest.json"])
def test_what_describes_another_release_is_warned_of(
    desk: Desk, call: Call, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    (desk.folder / name).write_text("{}")
    assert call("mondrian", "spec.yaml", "-o", "out.csv", "-q").code == 0
    assert caplog.messages == [
        f"warning: {name}: describes another release, and is read as if it were of out.csv (remove it)"
    ]


def test_a_link_that_leads_nowhere_is_called_so(desk: Desk, call: Call) -> None:
    (desk.folder / "out.csv").symlink_to(desk.folder / "gone" / "out.csv")
    ended = call("mondrian", "spec.yaml", "-o", "out.csv")
    assert ended.code == 2 and "out.csv: is a symbolic link that leads nowhere (make the folder " in ended.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-o", "."], 2, "is a folder"),
        (["-o", "nowhere/out.csv"], 2, "there is no folder nowhere"),
        (["-o", "jobs.csv"], 2, "jobs.csv: is the spec, or a file that it names"),
        (["-r", "jobs.csv"], 2, "a report is one of .json, .md, .html by its suffix"),
        (["-r", "spec.yaml.md", "-r", "./spec.yaml.md"], 2, "is given twice"),
        (["-o", "same.json", "-r", "same.json", "--force"], 2, "is given twice"),
        (["-r", "r.md", "-o", "table.csv"], 2, "is given twice"),
        (["-o", "spec.yaml", "--force"], 2, "spec.yaml: is the spec, or a file that it names"),
        (["-o", "./jobs.csv", "--force"], 2, "./jobs.csv: is the spec, or a file that it names"),
        (
            ["-o", "x.xls"],
            2,
            "an output is one of .csv, .csv.gz, .parquet, .arrow, .feather, .ipc, .xlsx, .sav, .dta by its suffix",
        ),
        (["-o", "x.sas7bdat", "-r", "r.json"], 2, "x.sas7bdat: an output is one of"),
        (["-o", "x.csv", "--save-recoding", "x.yaml"], 2, "x.yaml: a saved recoding is one of .json by its suffix"),
        (["-k", "0"], 2, "-k"),
        (["-k", "many"], 2, "'many' is not a valid integer"),
        (["--suppression", "1.5"], 2, "--suppression"),
        (["-t", "0.5"], 2, "the spec has no t-closeness model"),
        (["--threads", "0"], 2, "--threads"),
        (["--seed", "-1"], 2, "--seed"),
        (["--cut", "magic"], 2, "'magic' is not one of"),
        (["--nonsense"], 2, "No such option"),
        (["--qi", "age,zip"], 2, "mondrian has no option --qi: in the spec, it goes under quasi_identifiers."),
        (["--sensitive=job"], 2, "mondrian has no option --sensitive: in the spec, it goes under sensitive."),
        (["--passes", "-1"], 2, "-1 is not in the range x>=0"),
        (["--refine", "--time-limit", "nan"], 2, "--time-limit has to be at least 0"),
        (["-i", "none.csv"], 3, "none.csv: cannot be read"),
        (["-i", "."], 3, "is a folder without Parquet files"),
        (["-k", "1000"], 4, "k-anonymity (k=1000) cannot be met"),
        (["-l", "5"], 4, "distinct-l-diversity (l=5) of diagnosis cannot be met"),
        (["-o", "/dev/full"], 74, "/dev/full: cannot be written: no space left on device"),
        (["-o", "/proc/out.csv"], 74, "/proc/out.csv: cannot be written"),
        (["-r", "/proc/r.json"], 74, "/proc/r.json: cannot be written"),
        (["-i", "/proc/self/mem"], 3, "/proc/self/mem: cannot be read: input/output error"),
    ],
)
def test_bad_arguments(desk: Desk, call: Call, arguments: list[str], code: int, message: str) -> None:
    if not LINUX and any(argument.startswith(("/dev/full", "/proc")) for argument in arguments):
        pytest.skip("needs Linux")
    before = desk.files()
    ended = call("mondrian", "spec.yaml", *arguments)
    assert (ended.code, ended.out) == (code, b"")
    assert message in ended.err
    assert desk.files() == before


@pytest.mark.parametrize(
    ("arguments", "code"), [([], 2), (["nonsense"], 2), (["mondrian"], 2), (["mondrian", "no"], 2)]
)
def test_bad_command_lines(call: Call, arguments: list[str], code: int) -> None:
    assert call(*arguments).code == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mondrain", "spec.yaml"], "No such command 'mondrain'. Did you mean 'mondrian'?\n"),
        (["topdown", "--help"], "No such command 'topdown'. Did you mean 'top-down'?\n"),
        (["generalize"], "No such command 'generalize'. Did you mean 'generate'?\n"),
        (["xyzzy"], "No such command 'xyzzy'.\n"),
        (["--versoin"], "No such option '--versoin'. Did you mean '--version'?\n"),
    ],
)
def test_a_mistyped_command_gets_the_nearest_one(call: Call, arguments: list[str], message: str) -> None:
    ended = call(*arguments)
    assert (ended.code, ended.out) == (2, b"")
    assert ended.err.endswith(message)


@pytest.mark.parametrize("command", [["randomize"], ["evaluate"], ["validate"]])
def test_what_a_spec_says_is_not_an_option(call: Call, command: list[str]) -> None:
    ended = call(*command, "spec.yaml", "--qi", "age")
    assert ended.code == 2
    assert ended.err.endswith(f"{command[0]} has no option --qi: in the spec, it goes under quasi_identifiers.\n")
    assert "--quiet" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "known"),
    [
        (["generate", "census"], ".dta"),
        (["anatomy", "spec.yaml"], ".dta"),
        (["hierarchy", "make", "spec.yaml", "zip"], ".csv, .yaml, .yml"),
    ],
)
def test_no_command_writes_under_a_suffix_of_another_kind(
    desk: Desk, call: Call, arguments: list[str], known: str
) -> None:
    desk.fill(spec=SPEC.replace("  k: 3\n", ""))
    before = desk.files()
    ended = call(*arguments, "-o", "x.xls")
    assert ended.code == 2
    assert ended.err.startswith("error: x.xls: ") and ended.err.endswith(f"{known} by its suffix\n")
    assert desk.files() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do anything")
def test_no_permission(desk: Desk, call: Call) -> None:
    (desk.folder / "table.csv").chmod(0)
    assert call("mondrian", "spec.yaml").code == 3
    (desk.folder / "table.csv").chmod(0o600)
    desk.folder.chmod(0o500)
    assert call("mondrian", "spec.yaml", "-o", "out.csv").code == 74
    desk.folder.chmod(0o700)


def test_infeasible_names_the_requirement_and_what_is_feasible(desk: Desk, call: Call) -> None:
    before = desk.files()
    desk.fill(spec=SPEC + "  models: [{model: frequency-l-diversity, l: 8}]\n")
    ended = call("mondrian", "spec.yaml", "-o", "out.csv", "-r", "r.json")
    assert ended.code == 4
    assert "frequency-l-diversity (l=8) of diagnosis cannot be met" in ended.err
    assert "nearest feasible: l=4" in ended.err
    assert desk.files().keys() == before.keys()


def test_infeasible_within_the_limit_says_what_limit_would_do(desk: Desk, call: Call) -> None:
    rows = [f"{n},{'CANARY' if n < 9 else 'CANARY2'}" for n in range(12)]
    spec = "version: 1\ninput: {path: table.csv}\nquasi_identifiers: {a: {type: numeric}}\nsensitive: {d: {}}\n"
    spec += "privacy: {models: [{model: frequency-l-diversity, l: 2}], suppression: %s}\n"
    desk.fill("\n".join(["a,d", *rows]), spec % 0.25)
    ended = call("mondrian", "spec.yaml")
    assert ended.code == 4 and "suppressing 6 rows would fix it, 3 may be suppressed" in ended.err
    assert "nearest feasible: privacy.suppression of 0.5" in ended.err
    desk.fill("\n".join(["a,d", *rows]), spec % 0.5)
    assert call("mondrian", "spec.yaml").code == 0


# --- the machine -----------------------------------------------------------------------------------------------------


def test_a_release_to_be_kept_that_cannot_be_written_ends_a_comparison(desk: Desk, launch: Call) -> None:
    """It would be listed as one that cannot be made, with exit code 0, though nothing is wrong with it."""
    desk.fill(table(600))
    (desk.folder / "kept").mkdir()

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))

    arguments = ("compare", "spec.yaml", "--algorithms", "mondrian", "--no-cache", "--keep", "kept")
    ended = launch(*arguments, preexec_fn=limit)
    assert ended.code == 74 and "cannot be written: file too large" in ended.err
    assert not list((desk.folder / "kept").iterdir())


@pytest.mark.parametrize(
    "arguments",
    [["mondrian", "spec.yaml", "-i", "-", "-o", "out.csv"], ["init", "table.csv"]],
    ids=["standard input", "rows that are tried"],
)
def test_no_room_for_a_copy(desk: Desk, launch: Call, arguments: list[str]) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (900, 900))

    before = desk.files()
    ended = launch(*arguments, stdin=table(600).encode(), preexec_fn=limit)
    assert ended.code == 74 and "the input cannot be copied to a temporary file" in ended.err
    assert desk.files() == before


@pytest.mark.skipif(not LINUX, reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["mondrian", "spec.yaml"], ["schema"], ["--help"]])
def test_standard_output_is_full(desk: Desk, launch: Call, arguments: list[str]) -> None:
    before = desk.files()
    with open("/dev/full", "wb") as full:
        ended = launch(*arguments, stdout=full)
    assert ended.code == 74 and ended.err.count("\n") == 1
    assert desk.files() == before


@pytest.mark.skipif(not LINUX, reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--json"], []])
def test_standard_output_of_an_audit_is_full(launch: Call, arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        ended = launch("audit", "--qi", "zip", "-i", "table.csv", *arguments, stdout=full)
    assert ended.code == 74 and "No space left on device" in ended.err


@pytest.mark.parametrize(("form", "code"), [*((form, 74) for form in CHECKS if form != "text"), ("text", 0)])
def test_standard_output_of_an_audit_is_closed(launch: Call, form: str, code: int) -> None:
    arguments = ["audit", "--qi", "zip", "-i", "table.csv", "--format", form]
    ended = launch(*arguments, stdout=None, closed=1)
    assert ended.code == code
    (line,) = ended.err.splitlines()
    assert line.startswith("error: <stdout>" if code else "next: ")


def test_a_report_is_taken_back_where_the_release_cannot_be_written(desk: Desk, launch: Call) -> None:
    before = desk.files()
    ended = launch("mondrian", "spec.yaml", "-r", "r.json", stdout=None, closed=1)
    assert ended.code == 74 and "<stdout>: cannot be written" in ended.err
    assert desk.files() == before


@pytest.mark.parametrize("arguments", [["-o", "out.csv"], ["-o", "out.csv", "-v"]])
@pytest.mark.parametrize("stream", [1, 2])
def test_closed_streams(desk: Desk, launch: Call, stream: int, arguments: list[str]) -> None:
    more: dict[str, Any] = {"stdout": None} if stream == 1 else {"stderr": None}
    ended = launch("mondrian", "spec.yaml", *arguments, closed=stream, **more)
    assert (ended.code, ended.out) == (0, b"")
    assert (desk.folder / "out.csv").exists()


@pytest.mark.skipif(not LINUX, reason="needs Linux")
@pytest.mark.parametrize(("k", "code"), [("2", 0), ("0", 2), ("many", 2), ("1000", 4)])
def test_a_full_standard_error_is_no_outcome(desk: Desk, launch: Call, k: str, code: int) -> None:
    with open("/dev/full", "wb") as full:
        assert launch("mondrian", "spec.yaml", "-o", "out.csv", "-k", k, stderr=full).code == code
    assert (desk.folder / "out.csv").exists() == (code == 0)


def test_nobody_listens_on_standard_error(desk: Desk, launch: Call) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        assert launch("mondrian", "spec.yaml", "-o", "out.csv", stderr=closed).code == 0
    assert (desk.folder / "out.csv").exists()


def test_nothing_but_the_release_is_on_standard_output(desk: Desk, call: Call, launch: Call) -> None:
    expected = call("mondrian", "spec.yaml").out
    ended = launch("mondrian", "spec.yaml", "-v", stderr=None, closed=2)
    assert (ended.code, ended.out) == (0, expected)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Registered:
    """Registers a search as an algorithm, with a command as every algorithm has one, and gives its name."""

    def register(search: Callable[..., Regions]) -> str:
        module = SimpleNamespace(ID="toy", Options=mondrian.Options, NEEDS=mondrian.NEEDS, run=search)
        monkeypatch.setitem(ALGORITHMS, "toy", cast(Algorithm, module))
        monkeypatch.setitem(COMMANDS["Release"], "toy", ("release:command", "A toy."))
        return "toy"

    return register


@pytest.mark.parametrize("form", FORMATS)
def test_an_input_that_changes(desk: Desk, call: Call, registered: Registered, form: str) -> None:
    def search(*arguments: Any) -> Regions:
        with open(desk.folder / "table.csv", "a") as file:
            file.write(row(60) + "\n")
        return mondrian.run(*arguments)

    name = registered(search)
    ended = call(name, "spec.yaml", "-o", f"out.{form}", "-r", "r.json")
    assert ended.code == 3 and "changed while it was being read" in ended.err
    assert {path.name for path in desk.folder.iterdir()} == {"table.csv", "jobs.csv", "spec.yaml"}


# --- the program -----------------------------------------------------------------------------------------------------


def failing(error: BaseException) -> Callable[..., Regions]:
    def search(*arguments: Any) -> Regions:
        raise error from ValueError("CANARY")

    return search


@pytest.mark.parametrize(
    "error",
    [
        ValueError("CANARY"),
        KeyError("CANARY"),
        RecursionError("CANARY"),
        pl.exceptions.ComputeError("CANARY"),
        pl.exceptions.PanicException("CANARY"),  # no Exception, and exit code 1 would mean something else
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_bug(desk: Desk, call: Call, registered: Registered, error: BaseException) -> None:
    name = registered(failing(error))
    before = desk.files()
    ended = call(name, "spec.yaml", "-o", "out.csv", "-r", "r.json")
    assert ended.code == 70
    assert f"{type(error).__name__}: this is a bug" in ended.err and Path(__file__).name in ended.err
    assert desk.files() == before


def test_memory_that_does_not_suffice_is_no_bug(desk: Desk, call: Call, registered: Registered) -> None:
    name = registered(failing(MemoryError("CANARY")))
    before = desk.files()
    ended = call(name, "spec.yaml", "-o", "out.csv", "-r", "r.json")
    assert (ended.code, ended.out, ended.err) == (71, b"", "error: there was not enough memory; nothing was written\n")
    assert desk.files() == before


@pytest.fixture
def lying(registered: Registered) -> str:
    """An algorithm that leaves every row alone in its class."""

    def search(table: Any, *arguments: Any) -> Regions:
        return Regions(Partition.of_labels(np.arange(table.rows)), np.zeros(0, np.uint32))

    return registered(search)


def test_an_unsafe_release_is_not_published(desk: Desk, call: Call, lying: str) -> None:
    before = desk.files()
    for target in (["-o", "out.csv"], []):
        ended = call(lying, "spec.yaml", *target, "-r", "r.json")
        assert (ended.code, ended.out) == (1, b"")
        assert "k-anonymity (k=3) is not met: k=1; 60 rows in 60 classes fail" in ended.err
        assert "distinct-l-diversity (l=2) of diagnosis is not met" in ended.err
        assert desk.files() == before


def test_an_unsafe_release_is_published_where_that_is_asked_for(desk: Desk, call: Call, lying: str) -> None:
    ended = call(lying, "spec.yaml", "-o", "out.csv", "-r", "r.json", "-r", "r.md", "--allow-unsafe")
    assert ended.code == 0 and "NOT SAFE" in ended.err
    report = pl.read_json(desk.folder / "r.json")
    assert report["privacy"].to_list()[0]["satisfied"] is False
    assert "NOT SAFE" in (desk.folder / "r.md").read_text()
    assert call("audit", "spec.yaml", "-i", "out.csv", "-q").code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--output-lattice", "-"], 2, "--output-lattice: is a file"),
        (["--output-lattice", "table.csv", "--force"], 2, "is given twice"),
        (["--output-lattice", "jobs.csv", "--force"], 2, "is the spec, or a file that it names"),
        (["--output-lattice", "jobs.csv"], 2, "is the spec, or a file that it names"),
        (["--output-lattice", "spec.yaml.md"], 2, "exists already"),
        pytest.param(["--output-lattice", "l.json", "-o", "/dev/full"], 74, "no space left", marks=ON_LINUX),
    ],
)
def test_a_lattice_is_published_with_its_release_or_not_at_all(
    desk: Desk, call: Call, arguments: list[str], code: int, message: str
) -> None:
    (desk.folder / "spec.yaml.md").write_text("kept", encoding="utf-8")
    before = desk.files()
    ended = call("incognito", "spec.yaml", *arguments)
    assert (ended.code, ended.out) == (code, b"")
    assert message in ended.err
    assert desk.files() == before


def test_the_lattice_of_a_release(desk: Desk, call: Call) -> None:
    assert call("incognito", "spec.yaml", "-o", "out.csv", "--output-lattice", "l.json").code == 0
    assert json.loads((desk.folder / "l.json").read_text(encoding="utf-8"))["nodes"]
