"""Files as they are opened to be read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from anonymize.opening import content_of, opened

TABLE = "age,job\n31,cook\n34,cook\n52,clerk\n58,clerk\n"
SPEC = "version: 1\nquasi_identifiers: {age: {type: numeric}}\ninsensitive: [job]\nprivacy: {k: 2}\n"


def command(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    whole = [sys.executable, "-m", "anonymize", *map(str, arguments)]
    return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload,no-any-return]


def test_a_text_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"12345")
    assert content_of(path, 5) == b"12345"
    with pytest.raises(OSError, match="more than 4 bytes"):
        content_of(path, 4)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
def test_a_device_is_no_file(device: str) -> None:
    with pytest.raises(OSError, match="a device"), opened(device):
        pass


def test_a_device_is_refused_as_a_table_a_spec_and_a_hierarchy(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC.replace("insensitive: [job]\n", "").replace("}}", "}, job: {hierarchy: /dev/zero}}"))
    table = tmp_path / "table.csv"
    table.write_text(TABLE)
    for code, arguments in (
        (3, ("audit", "--qi", "age", "-i", "/dev/zero")),
        (2, ("audit", "/dev/zero", "-i", table)),
        (2, ("mondrian", spec, "-i", table)),
        (2, ("hierarchy", "check", "/dev/zero")),
    ):
        with command(*arguments) as process:
            _, err = process.communicate(timeout=120)
        assert process.returncode == code and b"it is a device" in err, (arguments, err)


@pytest.mark.parametrize("role", ["table", "spec"])
def test_a_pipe_that_keeps_silent_is_said_to_be_waited_for(tmp_path: Path, role: str) -> None:
    files = {"table": tmp_path / "table.csv", "spec": tmp_path / "spec.yaml"}
    texts = {"table": TABLE, "spec": SPEC}
    for name, path in files.items():
        os.mkfifo(path) if name == role else path.write_text(texts[name])
    report = tmp_path / "report.json"
    with command("mondrian", files["spec"], "-i", files["table"], "-r", report) as process:
        assert process.stderr is not None
        assert b"nobody has written to it yet: waiting" in process.stderr.readline()
        files[role].write_text(texts[role])
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and out.startswith(b"age,job\n"), err
    assert '"sha256": null' not in report.read_text()


def test_a_pipe_that_somebody_writes_to_is_read_in_silence(tmp_path: Path) -> None:
    """As `<(...)` of a shell is: it has no name in a folder."""
    (tmp_path / "spec.yaml").write_text(SPEC)
    read, write = os.pipe()
    os.write(write, TABLE.encode())
    os.close(write)
    arguments = ("mondrian", tmp_path / "spec.yaml", "-i", f"/dev/fd/{read}", "-q")
    with command(*arguments, pass_fds=(read,)) as process:
        out, err = process.communicate(timeout=120)
    os.close(read)
    assert process.returncode == 0 and out.startswith(b"age,job\n") and not err


def test_specs_and_hierarchies_have_a_limit(tmp_path: Path) -> None:
    """Named in the message; files of holes, which take no room."""
    for name, most, code, arguments in (
        ("spec.yaml", 1 << 22, 2, ("validate",)),
        ("tree.yaml", 1 << 26, 2, ("hierarchy", "check")),
        ("tree.csv", 1 << 28, 2, ("hierarchy", "check")),
    ):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(most + 1)
        with command(*arguments, path) as process:
            _, err = process.communicate(timeout=120)
        assert process.returncode == code and f"more than {most:,} bytes".encode() in err, err
