"""How a CSV seems to be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymize.profiling import layout_of

ROWS = "age sex\n" + "31 F\n" * 5


@pytest.mark.parametrize(
    ("content", "layout"),
    [
        ("a,b\n1,2\n", {}),
        ("a;b\n1;2,5\n", {"separator": ";"}),
        ('"a;b;c",d\n1,2\n', {}),
        ('"a\nb"\tc\n1\t2\n', {"separator": "\t"}),
        (ROWS, {"separator": " "}),
        (ROWS.replace("31", "1 31"), {"separator": " "}),
        ('"my age" sex\n' + '1 "31 or so" F\n' * 5, {"separator": " "}),
        ("full name\nAnn Lee\nAnn Mary Lee\nBo\n", {}),
        ("name\nAnn\nBo\nCy\n", {}),
        ("age group\n31\n32\n33\n", {}),
        ("height\n170 cm\n171 cm\n172 cm\n", {}),
        ("", {}),
        ("größe;x\n1;2\n".encode("cp1252"), {"separator": ";", "encoding": "cp1252"}),
        ("größe,x\n1,2\n".encode("utf-16"), {"encoding": "utf-16"}),
        ("größe,x\n1,2\n".encode("utf-16-le"), {"encoding": "utf-16-le"}),
        ("größe;x\n1;2\n".encode("utf-16-be"), {"separator": ";", "encoding": "utf-16-be"}),
    ],
)
def test_separators_and_encodings(tmp_path: Path, content: str | bytes, layout: dict[str, str]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert layout_of(str(path), None, None) == layout
