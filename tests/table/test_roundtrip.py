"""What passes through comes out as it came in: from a CSV through reading, batches and writing to a CSV."""

import csv
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.spec.blocks import Input
from anonymize.spec.model import Spec
from anonymize.table import OutputFile, Source, read

COLUMNS = "id:n a:in b:in"
cells = st.text(
    st.sampled_from('a,;|"\n\r\t é\u2028\ufeff') | st.characters(exclude_characters="\0", codec="utf-8"), max_size=5
)
rows = st.lists(st.tuples(cells, cells), min_size=1, max_size=12)
Quoting = Literal[0, 1, 2, 3]
Fields = list[list[str]]


def through(content: bytes, spec: Spec, size: int = 5) -> bytes:
    """Reads a table and writes all of its columns again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.csv")
        path.write_bytes(content)
        with (
            Source.open(spec, path) as source,
            OutputFile(Path(folder, "out.csv"), separator=source.separator) as output,
        ):
            read(spec, source)
            output.write(source.batches(source.columns, size))
            output.commit()
        return Path(folder, "out.csv").read_bytes()


def written(fields: Fields, separator: str, quoting: Quoting, end: str) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator, quoting=quoting, lineterminator=end).writerows(fields)
    return buffer.getvalue().encode()


def parsed(content: bytes, separator: str) -> Fields:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=separator, strict=True))


@given(
    rows,
    st.sampled_from([",", ";", "|", "\t", " "]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_any_text_survives(
    spec_of: Callable[..., Spec], table: list[tuple[str, str]], separator: str, quoting: Quoting, end: str, cut: bool
) -> None:
    fields = [["id", "a", "b"], *([str(n), *row] for n, row in enumerate(table))]
    content = written(fields, separator, quoting, end)
    spec = spec_of(COLUMNS, input=Input(separator=separator))
    assert parsed(through(content.removesuffix(end.encode()) if cut else content, spec), separator) == fields


@pytest.mark.parametrize(
    "content",
    [
        'id,a,b\n1,,""\n2,"",\n',
        'id,a,b\n1, x ,\t\n2,"a,b","c""d"\n3,"x\ny","x\r\ny"\n',
        "id,a,b\n1,NULL,NA\n2,nan,None\n3,1e3,007\n4,1.0,-0\n",
        "id,a,b\n1,\ufeffx,\u200b\n2,'x',#\n",
        "id,a,b\n1,\U0001f600,e\u0301\n",
    ],
)
def test_the_same_bytes(spec_of: Callable[..., Spec], content: str) -> None:
    assert through(content.encode(), spec_of(COLUMNS)).decode() == content


def test_quotes_that_are_not_needed_go(spec_of: Callable[..., Spec]) -> None:
    assert through(b'"id","a","b"\r\n"1","x"," y "', spec_of(COLUMNS)) == b"id,a,b\n1,x, y \n"


def test_harmless_quotes_inside_a_field_are_kept(spec_of: Callable[..., Spec]) -> None:
    content = b'id,a,b\n1, "x" ,5"6"\n'
    assert parsed(through(content, spec_of(COLUMNS)), ",") == [["id", "a", "b"], ["1", ' "x" ', '5"6"']]


def test_a_single_column_with_empty_values(spec_of: Callable[..., Spec]) -> None:
    content = b'a\nx\n\n""\ny\n'
    assert through(content, spec_of("a:c")) == content


def test_fields_longer_than_any_buffer(spec_of: Callable[..., Spec]) -> None:
    content = b'id,a,b\n1,"' + b'x,\n""' * 1_000_000 + b'",y\n2,' + b"z" * 1_500_000 + b",\n"
    assert through(content, spec_of(COLUMNS)) == content


def test_many_columns(spec_of: Callable[..., Spec]) -> None:
    names = [f"c{n}" for n in range(1_500)]
    content = ("\n".join(",".join(row) for row in (names, ["1"] * 1_500, [""] * 1_500)) + "\n").encode()
    spec = spec_of("c0:c " + " ".join(f"{name}:in" for name in names[1:]))
    assert through(content, spec) == content


def test_batches_have_one_schema(spec_of: Callable[..., Spec], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,a,b\n" + "1,,\n" * 10 + "2,x,\n")
    with Source.open(spec_of(COLUMNS), path) as source:
        assert {tuple(batch.dtypes) for batch in source.batches(["a", "b"], 3)} == {(pl.String(), pl.String())}
