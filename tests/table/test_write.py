import errno
import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from anonymize.errors import DataError, UsageError, WriteError
from anonymize.files import OutputFormat
from anonymize.table import OutputFile, commit
from anonymize.table.write import check_table, format_of

FRAME = pl.DataFrame({"a": ["1", None, ""], "b": ["x,y", 'q"q', "é\n"]})
CSV = b'a,b\n1,"x,y"\n,"q""q"\n"","\xc3\xa9\n"\n'


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def test_a_csv_in_pieces(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "o.csv") as output:
        output.write([FRAME[:1], FRAME[1:]])
        assert output.part.read_bytes() == CSV
        assert output.part.parent == tmp_path and output.part.name.startswith(".o.csv.")
        assert output.part.suffix == ".csv"
        assert mode(output.part) == 0o600
        assert not (tmp_path / "o.csv").exists()
        output.commit()
    assert names(tmp_path) == ["o.csv"]
    assert (tmp_path / "o.csv").read_bytes() == CSV


def test_a_table_without_rows(tmp_path: Path) -> None:
    for suffix in ("csv", "parquet", "arrow"):
        with OutputFile(tmp_path / f"o.{suffix}") as output:
            output.write([FRAME[:0]])
            output.commit()
    assert (tmp_path / "o.csv").read_bytes() == b"a,b\n"
    assert pl.read_parquet(tmp_path / "o.parquet").shape == (0, 2)
    assert pl.read_ipc(tmp_path / "o.arrow").shape == (0, 2)


def test_the_separator_of_the_input(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "o.csv", separator=";") as output:
        output.write([FRAME[:2]])
        assert output.part.read_bytes() == b'a;b\n1;x,y\n;"q""q"\n'


def test_gzip_is_the_same_every_time(tmp_path: Path) -> None:
    contents = []
    for name in ("one.csv.gz", "two.csv.gz"):
        with OutputFile(tmp_path / name) as output:
            output.write([FRAME[:1], FRAME[1:]])
            assert output.part.name.endswith(".csv.gz")
            output.commit()
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1]
    assert gzip.decompress(contents[0]) == CSV


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_typed_formats_in_pieces(tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"n": range(100_000), "t": [None, "x"] * 50_000})
    with OutputFile(tmp_path / f"o.{suffix}") as output:
        output.write(frame[start : start + 7_000] for start in range(0, 100_000, 7_000))
        output.commit()
    read = pl.read_parquet if suffix == "parquet" else pl.read_ipc
    assert read(tmp_path / f"o.{suffix}").equals(frame)
    assert names(tmp_path) == [f"o.{suffix}"]


def test_the_same_bytes_with_any_number_of_threads(tmp_path: Path) -> None:
    script = """
        import polars as pl
        from anonymize.table import OutputFile
        frame = pl.DataFrame({"n": range(600_000), "t": ["x", None, "yy"] * 200_000})
        for form in ("parquet", "arrow"):
            with OutputFile("o", form=form) as output:
                output.write(frame[start : start + 100_000] for start in range(0, 600_000, 100_000))
                print(output.sha256)
    """
    hashes = {run(script, tmp_path, POLARS_MAX_THREADS=threads).stdout for threads in ("1", "4")}
    assert len(hashes) == 1 and len(hashes.pop()) == 130


def test_texts(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "report.json") as output:
        output.write_text('{"é": 1}\n')
        assert len(output.sha256) == 64
        output.commit()
    assert (tmp_path / "report.json").read_bytes() == '{"é": 1}\n'.encode()


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("a.csv", "csv"),
        ("a.CSV.GZ", "csv.gz"),
        ("a.parquet", "parquet"),
        ("a.arrow", "arrow"),
        ("-", "csv"),
        ("a", "csv"),
    ],
)
def test_the_format_follows_the_suffix(path: str, form: OutputFormat) -> None:
    assert format_of(path) == form


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_the_mode_follows_the_umask(tmp_path: Path, umask: Callable[[int], int], mask: int) -> None:
    umask(mask)
    with OutputFile(tmp_path / "o.csv") as output:
        output.write([FRAME])
        assert mode(output.part) == 0o600
        output.commit()
    assert mode(tmp_path / "o.csv") == 0o666 & ~mask


def test_an_output_that_exists(tmp_path: Path) -> None:
    target = tmp_path / "o.csv"
    target.write_text("before")
    with pytest.raises(UsageError, match="exists already"):
        OutputFile(target)
    assert names(tmp_path) == ["o.csv"]
    with OutputFile(target, force=True) as output:
        output.write([FRAME])
        assert target.read_text() == "before"
        output.commit()
    assert target.read_bytes() == CSV


def test_an_output_that_comes_to_exist_meanwhile(tmp_path: Path) -> None:
    target = tmp_path / "o.csv"
    with pytest.raises(UsageError, match="exists already"), OutputFile(target) as output:
        output.write([FRAME])
        target.write_text("other")
        output.commit()
    assert target.read_text() == "other"
    assert names(tmp_path) == ["o.csv"]


def test_an_output_that_comes_to_exist_at_the_last_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, chmod = tmp_path / "o.csv", os.chmod

    def meanwhile(path: Path, mode: int) -> None:
        target.write_text("other")
        chmod(path, mode)

    monkeypatch.setattr(os, "chmod", meanwhile)
    with pytest.raises(UsageError, match="exists already"), OutputFile(target) as output:
        output.write([FRAME])
        output.commit()
    assert target.read_text() == "other"
    assert names(tmp_path) == ["o.csv"]


def test_folders(tmp_path: Path) -> None:
    for force in (False, True):
        with pytest.raises(UsageError, match="is a folder"):
            OutputFile(tmp_path, force=force)
    with pytest.raises(UsageError, match="there is no folder"):
        OutputFile(tmp_path / "absent" / "o.csv")
    assert names(tmp_path) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    (tmp_path / "link.csv").symlink_to(folder / "o.csv")
    with OutputFile(tmp_path / "link.csv", force=True) as output:
        output.write([FRAME])
        assert output.part.parent == folder
        output.commit()
    assert (tmp_path / "link.csv").is_symlink()
    assert (folder / "o.csv").read_bytes() == CSV


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit, DataError])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "arrow"])
def test_nothing_is_left_after_an_error(tmp_path: Path, error: type[BaseException], suffix: str) -> None:
    def frames() -> Iterator[pl.DataFrame]:
        yield FRAME
        raise error("in the middle")

    with pytest.raises(error, match="in the middle"), OutputFile(tmp_path / f"o.{suffix}") as output:
        output.write(frames())
    assert names(tmp_path) == []


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_nothing_comes_back_after_an_interruption(tmp_path: Path, suffix: str) -> None:
    """Threads of polars that had not begun to write when the rows stopped coming find nothing to create."""

    def frames() -> Iterator[pl.DataFrame]:
        yield FRAME
        raise KeyboardInterrupt

    for number in range(60):
        with pytest.raises(KeyboardInterrupt), OutputFile(tmp_path / f"{number}.{suffix}") as output:
            output.write(frames())
    time.sleep(0.05)
    assert names(tmp_path) == []


def test_nothing_is_left_without_commit(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "o.csv") as output:
        output.write([FRAME])
    assert names(tmp_path) == []


def run(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), **environment}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=60)


def test_a_full_disk(tmp_path: Path) -> None:
    script = """
        import os, resource, signal
        import polars as pl
        from anonymize.errors import WriteError
        from anonymize.table import OutputFile
        text = os.urandom(1 << 19).hex()
        frame = pl.DataFrame({"a": [text[at:at + 64] for at in range(0, len(text), 64)]})
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
        for name in ("o.csv", "o.csv.gz", "o.parquet", "o.arrow", "o.json"):
            try:
                with OutputFile(name) as output:
                    output.write_text(text) if name == "o.json" else output.write([frame, frame])
                    output.commit()
            except WriteError as error:
                print(error, error.exit_code, os.listdir())
    """
    lines = run(script, tmp_path).stdout.splitlines()
    assert lines == [
        f"o.{suffix}: cannot be written: file too large 74 []"
        for suffix in ("csv", "csv.gz", "parquet", "arrow", "json")
    ]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_device() -> None:
    with (
        pytest.raises(WriteError, match="/dev/full: cannot be written: no space left on device"),
        OutputFile("/dev/full") as output,
    ):
        output.write([FRAME])
        output.commit()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_standard_output(tmp_path: Path) -> None:
    script = """
        from anonymize.errors import WriteError
        from anonymize.table import OutputFile
        try:
            with OutputFile("-") as output:
                output.write_text("x" * 100)
                output.commit()
        except WriteError as error:
            raise SystemExit(str(error))
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=60)
    assert (found.returncode, found.stderr) == (1, "<stdout>: cannot be written: no space left on device\n")


@pytest.fixture
def locked() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        yield Path(folder)


def test_a_folder_without_permission(locked: Path, unprivileged: None) -> None:
    with pytest.raises(WriteError, match="cannot be written: permission denied"):
        OutputFile(locked / "o.csv")


def test_what_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "a path")

    with OutputFile(tmp_path / "o.csv", force=True) as output:
        output.write([FRAME])
        monkeypatch.setattr(os, "replace", refuse)
        with pytest.raises(WriteError, match=r"o\.csv: cannot be written: permission denied$"):
            output.commit()
    assert names(tmp_path) == []


def test_standard_output_gets_a_copy(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with OutputFile("-") as output:
        output.write([FRAME])
        assert (output.name, mode(output.part)) == ("<stdout>", 0o600)
        assert capfdbinary.readouterr().out == b""
        output.commit()
        assert capfdbinary.readouterr().out == CSV
        assert not output.part.exists()


def test_standard_output_that_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    with OutputFile("-") as output:
        output.write_text("x" * 3_000_000)
        output.commit()
    assert buffer.getvalue() == b"x" * 3_000_000


def test_standard_output_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    with OutputFile("-") as output:
        output.write([FRAME])
        monkeypatch.setattr(sys, "stdout", None)
        with pytest.raises(WriteError, match="<stdout>: cannot be written: it is closed"):
            output.commit()


def test_a_broken_pipe_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb", buffering=0) as pipe, OutputFile("-") as output:
        monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=pipe, flush=lambda: None))
        output.write([FRAME])
        with pytest.raises(BrokenPipeError):
            output.commit()
    assert not output.part.exists()


def test_special_files_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    with OutputFile(pipe) as output:
        output.write([FRAME])
        output.commit()
    reader.join()
    assert found == [CSV]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def outputs(folder: Path, *names: str, force: bool = False) -> list[OutputFile]:
    made = [OutputFile(folder / name, force=force) for name in names]
    for output in made:
        output.write([FRAME])
    return made


def test_all_outputs_or_none(tmp_path: Path) -> None:
    commit(outputs(tmp_path, "one.csv", "two.csv"))
    assert names(tmp_path) == ["one.csv", "two.csv"]


def test_an_output_is_taken_back_when_the_next_one_fails(tmp_path: Path) -> None:
    made = outputs(tmp_path, "one.csv", "two.csv")
    (tmp_path / "two.csv").write_text("other")
    with pytest.raises(UsageError):
        commit(made)
    for output in made:
        output.discard()
    assert names(tmp_path) == ["two.csv"]
    assert (tmp_path / "two.csv").read_text() == "other"


class Interrupted(OutputFile):
    """An output that is interrupted when it takes its place."""

    def commit(self) -> None:
        raise KeyboardInterrupt


def test_a_file_that_was_replaced_is_not_taken_back(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("before")
    made = outputs(tmp_path, "one.csv", force=True)
    made.append(Interrupted(tmp_path / "two.csv"))
    made[1].write([FRAME])
    with pytest.raises(KeyboardInterrupt):
        commit(made)
    for output in made:
        output.discard()
    assert names(tmp_path) == ["one.csv"]
    assert (tmp_path / "one.csv").read_bytes() == CSV


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing(tmp_path: Path, number: signal.Signals) -> None:
    script = """
        import signal, sys, time
        import polars as pl
        from anonymize.table import OutputFile
        def stop(*_): raise SystemExit(143)
        signal.signal(signal.SIGTERM, stop)
        def frames():
            for at in range(10_000):
                yield pl.DataFrame({"a": ["x" * 50] * 1_000})
                print("more", flush=True)
                time.sleep(0.01)
        with OutputFile("o.csv") as output:
            output.write(frames())
    """
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"more\n"
        process.send_signal(number)
        process.stdout.read()
    assert process.returncode != 0
    assert names(tmp_path) == []


def test_a_private_file_is_the_owners_alone_whatever_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "private.json"
    path.write_text("")
    path.chmod(0o644)
    with OutputFile(path, force=True, private=True) as output:
        output.write_text("{}")
        output.commit()
    assert path.stat().st_mode & 0o777 == 0o600


# --- suffixes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.xls", "x.sas7bdat", "x.csv.zst", "x.gz", "csv.txt", "released-1.0", "a/x.json"])
def test_a_suffix_that_is_not_a_format_is_refused(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    with pytest.raises(
        UsageError,
        match=r"is one of \.csv, \.csv\.gz, \.parquet, \.arrow, \.feather, \.ipc, \.xlsx, \.sav, \.dta by its suffix",
    ):
        check_table(path, None)
    check_table(path, "csv")


@pytest.mark.parametrize(
    "name", ["x.csv", "x.CSV.GZ", "x.parquet", "x.arrow", "x.ipc", "x.feather", "x", ".hidden", "a.dir/x", "x.v2.csv"]
)
def test_a_format_and_no_suffix_at_all_are_taken(name: str, tmp_path: Path) -> None:
    check_table(str(tmp_path / name), None)


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/null", "/dev/fd/1"])
def test_what_is_not_a_file_needs_no_suffix(name: str) -> None:
    check_table(name, None)


def test_a_pipe_may_have_any_suffix(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.xlsx"
    os.mkfifo(pipe)
    check_table(str(pipe), None)


def test_more_suffixes_may_be_known(tmp_path: Path) -> None:
    check_table(str(tmp_path / "x.json"), None, (".json",))
    with pytest.raises(UsageError, match=r"\.dta, \.json by its suffix"):
        check_table(str(tmp_path / "x.xml"), None, (".json",))


def test_what_a_killed_run_left_goes_with_the_next_one(tmp_path: Path) -> None:
    making = """
    import os, signal, sys
    from anonymize.table import OutputFile
    OutputFile(sys.argv[1]).write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
    """
    target = tmp_path / "o.csv"
    command = [sys.executable, "-c", textwrap.dedent(making), str(target)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 1 and names(tmp_path) != ["o.csv"]
    with OutputFile(tmp_path / "other.csv"):
        assert len(names(tmp_path)) == 2, "what another target's run left stays"
    with OutputFile(target) as output, OutputFile(target) as another:
        assert names(tmp_path) == sorted([output.part.name, another.part.name])
        output.write_text("whole")
        output.commit()
    assert names(tmp_path) == ["o.csv"] and target.read_text() == "whole"
