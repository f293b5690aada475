import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.table import scan as module
from anonymize.table.scan import Layout, Records, Scanner, scan


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
