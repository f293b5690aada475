import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.errors import DataError
from anonymize.table import Table
from anonymize.table import scan as module
from anonymize.table.scan import Layout, Records, Scanner, line_of, scan


def layout(content: bytes, fields: int, separator: str = ",") -> Layout:
    return Layout(separator, fields, len(content))


def check(content: bytes, fields: int, separator: str = ",", piece: int = 1 << 20) -> tuple[bool, int]:
    records = Records(layout(content, fields, separator))
    for start in range(0, len(content), piece):
        records.feed(content[start : start + piece])
    count = records.finish()
    return records.sound, count


@pytest.mark.parametrize(
    ("content", "fields", "records"),
    [
        (b"a,b\n1,2\n", 2, 2),
        (b"a,b\n1,2", 2, 2),
        (b"a,b\r\n1,2\r\n", 2, 2),
        (b'a,b\n"1,\n,",2\n', 2, 2),
        (b'a,b\n"""",""\n', 2, 2),
        (b'"a\n,",b\n"x ""y"" z",\n', 2, 2),
        (b"a\n\n1\n", 1, 3),
        (b"a,b\n,\n", 2, 2),
        (b"a,b", 2, 1),
    ],
)
def test_sound_records_are_counted(content: bytes, fields: int, records: int) -> None:
    for piece in (1, 2, 3, 7, 1000):
        assert check(content, fields, piece=piece) == (True, records)


@pytest.mark.parametrize(
    "content",
    [
        b"a,b,c\n1,2\n3,4,5\n",
        b"a,b,c\n1,2,3,4\n5,6,7\n",
        b"a,b,c\n1,2\n3,4,5,6\n",  # one short and one long: the sum is right
        b"a,b,c\n1,2,3\n\n4,5,6\n",
        b'a,b,c\n1,2,"3\n4,5,6\n',
        b'a,b,c\n1,2,"3,4\n",5\n',
        b"a,b,c\n1,2,\0\n",
        b"a,b,c\n1,2,3\n4",
    ],
)
def test_unsound_records_are_found(content: bytes) -> None:
    for piece in (1, 2, 3, 7, 1000):
        assert check(content, 3, piece=piece)[0] is False


def test_any_separator() -> None:
    assert check(b"a|b\n1,2|3\n", 2, "|") == (True, 2)
    assert check(b"a\tb\n1 2\t3\n", 2, "\t") == (True, 2)
    assert check(b"a b\n1\t2 3\n", 2, " ") == (True, 2)


def test_blank_last_lines_lie_beyond_the_end() -> None:
    content = b"a,b\n1,2\n\n\n"
    records = Records(Layout(",", 2, len(content) - 2))
    records.feed(content)
    assert (records.finish(), records.sound) == (2, True)


cells = st.text(st.sampled_from('ab,;"\n\r é'), max_size=6)


@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=8), st.integers(1, 12))
def test_quoted_text_never_counts(rows: list[list[str]], piece: int) -> None:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"'

    content = "".join(",".join(map(quoted, row)) + "\n" for row in rows).encode()
    assert check(content, 3, piece=piece) == (True, len(rows))


def test_scan_hashes_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 5)
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3,4\n")
    found = scan(path, layout(path.read_bytes(), 2))
    assert (found.records, found.sound) == (3, True)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert scan(path, None).sha256 == found.sha256


def test_scanner_hands_over_what_went_wrong(tmp_path: Path) -> None:
    with Scanner(tmp_path / "absent", None) as scanner, pytest.raises(FileNotFoundError):
        scanner.result()


def test_scanner_stops_when_left(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n" + b"1\n" * (1 << 22))
    with Scanner(path, layout(path.read_bytes(), 1)) as scanner:
        pass
    assert not scanner._thread.is_alive()


# --- explain ----------------------------------------------------------------------------------------------------------

ROWS = "".join(f"{row},x,y\n" for row in range(3))


def problem(error: pytest.ExceptionInfo[DataError]) -> tuple[int | None, str]:
    (found,) = error.value.problems
    assert found.file is not None and found.file.endswith("table.csv")
    return found.line, found.message


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        ("7,x\n", 5, "2 fields where the header has 3"),
        ("7\n", 5, "1 field where the header has 3"),
        ("7,x,y,z\n", 5, "4 fields where the header has 3"),
        ("7,x,y,\n", 5, "4 fields where the header has 3"),
        ("7,x\n8,x,y,z\n", 5, "2 fields where the header has 3"),
        ('7,"x\n\ny",z\n8,x\n', 8, "2 fields where the header has 3"),
        ("\n7,x,y\n", 5, "an empty line"),
        ("  \n", 5, "1 field where the header has 3"),
        ('7,x,"y\n8,x,y\n', 5, "a quotation mark is never closed"),
        ('7,"x"z,y\n', 5, "a quotation mark is followed by neither a separator nor a line end"),
        ('7,5" pipe,y\n', 5, "a quotation mark inside an unquoted field"),
        ('7,5" pipe,y\n8,6" pipe,y\n', 5, "a quotation mark inside an unquoted field"),
        ('7,a "b,c" d,y\n', 5, "4 fields where the header has 3"),
        ('7,a "b\nc" d,y\n', 5, "2 fields where the header has 3"),
        ("7,x,\0\n", 5, "a NUL byte"),
        ('"7\n",x,\0\n', 6, "a NUL byte"),
    ],
)
def test_an_unsound_record(read_text: Callable[..., Table], rows: str, line: int, message: str) -> None:
    for content in ("id,a,b\n" + ROWS + rows, "id,a,b\n" + ROWS + rows + ROWS):
        with pytest.raises(DataError) as error:
            read_text(content, "id:n a:c b:in")
        assert problem(error) == (line, message)
        with pytest.raises(DataError) as error:
            read_text(content.replace("\n", "\r\n"), "id:n a:c b:in")
        assert problem(error) == (line, message)


@pytest.mark.parametrize("columns", ["id:n a:c b:in", "id:id a:c b:id"])
def test_a_record_after_many(read_text: Callable[..., Table], columns: str) -> None:
    content = "id,a,b\n" + '"1",x,y\n' * 50_000 + "1,x\n" + "1,x,y,z\n" + '"1",x,y\n' * 50_000
    with pytest.raises(DataError) as error:
        read_text(content, columns)
    assert problem(error) == (50_002, "2 fields where the header has 3")


@pytest.mark.parametrize(("at", "line"), [(3, 3), (70_000, 70_000), (200_000, 200_000)])
def test_bytes_that_are_not_utf8(read_text: Callable[..., Table], at: int, line: int) -> None:
    rows = ["é,x"] * 200_000
    content = b"a,b\n" + "\n".join(rows[: at - 2]).encode() + b"\nM\xfcller,x\n" + b"a,b\n" * 10
    with pytest.raises(DataError) as error:
        read_text(content, "a:c b:in")
    assert problem(error) == (line, "bytes that are not UTF-8")
    assert "input.encoding" in str(error.value) and "--encoding" in str(error.value)
    assert "ller" not in str(error.value)


def test_a_header_that_is_not_utf8(read_text: Callable[..., Table]) -> None:
    with pytest.raises(DataError) as error:
        read_text(b"pr\xe9nom,b\n1,2\n", "prénom:c b:in")
    assert problem(error) == (1, "bytes that are not UTF-8")


def test_a_last_character_that_is_cut(read_text: Callable[..., Table]) -> None:
    with pytest.raises(DataError) as error:
        read_text(b"a,b\n1,2\n3,\xc3", "a:c b:in")
    assert problem(error) == (3, "the last character is cut short")


def test_utf16_read_as_utf8(read_text: Callable[..., Table]) -> None:
    with pytest.raises(DataError) as error:
        read_text("a,b\n1,2\n".encode("utf-16-le"), "a:c b:in")
    assert problem(error)[1] == "a NUL byte"


def test_lines_that_end_in_carriage_returns_alone(read_text: Callable[..., Table]) -> None:
    with pytest.raises(DataError) as error:
        read_text("a,b\r1,2\r3,4\r", "a:c b:in")
    assert problem(error) == (1, "the header: a carriage return inside an unquoted field")


def test_a_header_with_an_open_quote(read_text: Callable[..., Table]) -> None:
    with pytest.raises(DataError) as error:
        read_text('a,"b\n1,2\n', "a:c b:in")
    assert problem(error) == (1, "the header: a quotation mark is never closed")


def test_no_message_shows_a_cell(read_text: Callable[..., Table]) -> None:
    for bad in ("secret", "secret,secret,secret,secret", 'secret"secret,1,2', '"secret"secret,1,2', '1,"secret,2'):
        with pytest.raises(DataError) as error:
            read_text(f"a,b,c\n1,2,3\n{bad}\n", "a:c b:n c:in")
        assert "secret" not in str(error.value)


def test_line_of_a_row(file_of: Callable[[Any], Path]) -> None:
    path = file_of('a;b\n1;"x\ny"\n2;z\n')
    assert [line_of(path, ";", row) for row in range(4)] == [1, 2, 4, None]
