import gzip
import hashlib
import io
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc

from anonymize.errors import DataError, UsageError, WriteError
from anonymize.spec.blocks import Input
from anonymize.spec.model import Spec
from anonymize.table import Source, read
from anonymize.table import source as module

CSV = "age,name\n30,Zoë\n31,Ann\n"


def opened(spec: Spec, path: Any) -> Source:
    return Source.open(spec, path)


@pytest.fixture
def spec(spec_of: Callable[..., Spec]) -> Spec:
    return spec_of("age:n name:in")


@pytest.fixture
def spools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, empty."""
    folder = tmp_path / "spools"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def give_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def names(source: Source) -> list[Any]:
    return pl.concat(source.batches(["name"]))["name"].to_list()


def test_a_csv_is_read_in_place(spec: Spec, file_of: Callable[..., Path], spools: Path) -> None:
    path = file_of(CSV)
    with opened(spec, path) as source:
        assert (source.columns, source.format, source.path, source.name) == (("age", "name"), "csv", path, str(path))
        assert read(spec, source).rows == 2
        assert source.sha256 == hashlib.sha256(CSV.encode()).hexdigest()
        assert names(source) == ["Zoë", "Ann"]
        assert not list(spools.iterdir())
    assert path.exists()


def test_the_path_of_the_spec(spec_of: Callable[..., Spec], file_of: Callable[..., Path]) -> None:
    path = file_of(CSV)
    with opened(spec_of("age:n name:in", input=Input(path=path)), None) as source:
        assert source.path == path
    with pytest.raises(UsageError):
        opened(spec_of("age:n name:in"), None)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv"])
def test_gzip_is_told_by_its_bytes(spec: Spec, file_of: Callable[..., Path], spools: Path, name: str) -> None:
    path = file_of(gzip.compress(CSV[:9].encode()) + gzip.compress(CSV[9:].encode()), name)
    with opened(spec, path) as source:
        assert read(spec, source).rows == 2
        assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert names(source) == ["Zoë", "Ann"]
        assert stat.S_IMODE(source.path.stat().st_mode) == 0o600
        assert [source.path] == list(spools.iterdir()) or not source.path.stat().st_nlink
    assert not list(spools.iterdir())


@pytest.mark.parametrize("damage", [lambda z: z[:-9], lambda z: z[:20] + b"\0\0\0" + z[23:], lambda z: z + b"more"])
def test_damaged_gzip(spec: Spec, file_of: Callable[..., Path], spools: Path, damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(DataError, match="gzip data is damaged"):
        opened(spec, file_of(damage(gzip.compress(CSV.encode() * 50)), "t.csv.gz"))
    assert not list(spools.iterdir())


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
def test_standard_input(
    spec: Spec, spools: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    content = pack(CSV.encode())
    give_stdin(monkeypatch, content)
    with opened(spec, "-") as source:
        assert source.name == "<stdin>"
        assert read(spec, source).rows == 2
        assert source.sha256 == hashlib.sha256(content).hexdigest()
        assert names(source) == ["Zoë", "Ann"]
    assert not list(spools.iterdir())


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
def test_typed_formats_on_standard_input(spec: Spec, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    buffer = io.BytesIO()
    getattr(pl.DataFrame({"age": [30, 31], "name": ["Zoë", None]}), f"write_{kind}")(buffer)
    give_stdin(monkeypatch, buffer.getvalue())
    with opened(spec, "-") as source:
        assert source.format == {"parquet": "parquet", "ipc": "arrow"}[kind]
        assert read(spec, source).rows == 2
        assert names(source) == ["Zoë", None]


def test_standard_input_that_is_closed(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="closed"):
        opened(spec, "-")


def test_a_named_pipe(spec: Spec, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(CSV.encode(),))
    writer.start()
    with opened(spec, pipe) as source:
        writer.join()
        assert read(spec, source).rows == 2
        assert names(source) == ["Zoë", "Ann"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig", "UTF8"])
def test_encodings(spec_of: Callable[..., Spec], file_of: Callable[..., Path], spools: Path, encoding: str) -> None:
    spec = spec_of("age:n name:in", input=Input(encoding=encoding))
    with opened(spec, file_of(CSV.encode(encoding))) as source:
        assert read(spec, source).rows == 2
        assert names(source) == ["Zoë", "Ann"]
        assert source.sha256 == hashlib.sha256(CSV.encode(encoding)).hexdigest()
    assert not list(spools.iterdir())


def test_bytes_of_another_encoding(spec_of: Callable[..., Spec], file_of: Callable[..., Path], spools: Path) -> None:
    content = CSV * 40_000
    for encoding, damaged in (
        ("ascii", content[:-8].encode("ascii", "ignore") + "Zoë\n".encode()),
        ("utf-16-le", content.encode("utf-16-le")[:-8] + b"\0\xdc" + "n\n".encode("utf-16-le")),
    ):
        with pytest.raises(DataError) as error:
            opened(spec_of("age:n name:in", input=Input(encoding=encoding)), file_of(damaged))
        (problem,) = error.value.problems
        assert problem.message == f"bytes that are not {encoding}"
        assert problem.line is not None and 119_000 < problem.line <= 120_000
        assert not list(spools.iterdir())


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n", b"\r\n\r\n\n", b"\n" * 200_000])
def test_boms_line_ends_and_blank_last_lines(spec: Spec, file_of: Callable[..., Path], bom: bytes, end: bytes) -> None:
    with opened(spec, file_of(bom + CSV.rstrip().encode() + end)) as source:
        assert source.columns == ("age", "name")
        table = read(spec, source)
        assert (table.rows, table.attributes[0].codes.tolist()) == (2, [0, 1])
        assert names(source) == ["Zoë", "Ann"]
        assert source.scan().collect().height == 2


def test_a_blank_line_is_a_value_of_a_single_column(spec_of: Callable[..., Spec], file_of: Callable[..., Path]) -> None:
    spec = spec_of("a:c")
    with opened(spec, file_of("a\nx\n\ny\n\n")) as source:
        table = read(spec, source)
    assert table.attributes[0].codes.tolist() == [0, 2, 1, 2]


@pytest.mark.parametrize("separator", [";", "\t", "|", " ", ":", "x"])
def test_separators(spec_of: Callable[..., Spec], file_of: Callable[..., Path], separator: str) -> None:
    spec = spec_of("age:n name:in", input=Input(separator=separator))
    content = f'"age"{separator}name\n30{separator}"a{separator}""b"""\n31{separator}a,b\n'
    with opened(spec, file_of(content)) as source:
        assert read(spec, source).rows == 2
        assert names(source) == [f'a{separator}"b"', "a,b"]


def test_quoted_names_in_the_header(spec_of: Callable[..., Spec], file_of: Callable[..., Path]) -> None:
    with opened(spec_of("a:n"), file_of('"a,""1""","b\r\nc", d \r\n1,2,3\r\n')) as source:
        assert source.columns == ('a,"1"', "b\r\nc", " d ")
        source.check()
        assert pl.concat(source.batches(["b\r\nc", " d "])).rows() == [("2", "3")]


def test_a_path_is_no_pattern(spec: Spec, file_of: Callable[..., Path]) -> None:
    with opened(spec, file_of(CSV, "t[1]*=?.csv")) as source:
        assert read(spec, source).rows == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n1,2\n", "the first line is empty"),
        (b"age,name,age,\n1,2,3,4\n", "columns 1 and 3 have the same name"),
        (b"age,,name,\n1,2,3,4\n", "column 4 has no name"),
        (b",age,\n1,2,3\n", "column 3 has no name"),
    ],
)
def test_bad_headers(spec: Spec, file_of: Callable[..., Path], content: bytes, message: str) -> None:
    with pytest.raises(DataError) as error:
        opened(spec, file_of(content))
    assert any(message in problem.message for problem in error.value.problems)


@pytest.mark.parametrize("header", [',"age",name', "age,name", '""\t"age"\tname', "age\tname"])
def test_row_names_of_r_and_pandas(spec_of: Callable[..., Spec], file_of: Callable[..., Path], header: str) -> None:
    separator = "\t" if "\t" in header else ","
    rows = [["r1", "31", "Ann"], ['"r,""2"""', "32", '"Zoë\n"'], ["r3", "", ""]]
    content = "\n".join([header, *map(separator.join, rows), ""])
    with opened(spec_of("rownames:id age:n name:in", input=Input(separator=separator)), file_of(content)) as source:
        assert source.columns == ("rownames", "age", "name")
        source.check()
        assert source.rows == 3
        assert pl.concat(source.batches(["rownames", "age"])).rows() == [("r1", "31"), ('r,"2"', "32"), ("r3", None)]


def test_a_name_is_found_for_row_names_where_theirs_is_taken(spec: Spec, file_of: Callable[..., Path]) -> None:
    with opened(spec, file_of(",rownames,age\n1,2,3\n")) as source:
        assert source.columns == ("rownames_", "rownames", "age")


@pytest.mark.parametrize(
    "rows",
    [
        "31,Ann,\n32,Zoë,\n",  # each row ends with a separator: the last column is the one without a name
        "31,Ann,x\n31,Zoë,x\n",  # two rows are called alike
        "31,Ann,x\n,Zoë,x\n",
        "31,Ann,x\n",
        "31,Ann,x\n32,Zoë\n",
    ],
)
def test_a_header_that_is_short_for_another_reason(spec: Spec, file_of: Callable[..., Path], rows: str) -> None:
    with (
        opened(spec, file_of("age,name\n" + rows)) as source,
        pytest.raises(DataError, match="fields where the header has 2"),
    ):
        source.check()


def test_a_row_that_lacks_its_name(spec: Spec, file_of: Callable[..., Path]) -> None:
    rows = "".join(f"{row},31,Ann\n" for row in range(200))
    with opened(spec, file_of(f"age,name\n{rows}31,Ann\n")) as source, pytest.raises(DataError) as error:
        source.check()
    (problem,) = error.value.problems
    assert (problem.line, problem.message) == (202, "2 fields where the rows before it have 3")


def test_a_column_of_parquet_without_a_name(spec_of: Callable[..., Spec], tmp_path: Path) -> None:
    pl.DataFrame({"": ["r1", "r2"], "age": [31, 32]}).write_parquet(tmp_path / "t.parquet")
    with opened(spec_of("rownames:id age:n"), tmp_path / "t.parquet") as source:
        source.check()
        assert source.scan().collect().rows() == [("r1", 31), ("r2", 32)]
        assert source.schema == {"rownames": pl.String, "age": pl.Int64}


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)])
def test_empty_standard_input(spec: Spec, spools: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    give_stdin(monkeypatch, content)
    with pytest.raises(DataError, match="<stdin>: the file is empty"):
        opened(spec, "-")
    assert not list(spools.iterdir())


@pytest.mark.parametrize("content", [b"age,name\n", b"age,name", b"age,name\r\n\r\n"])
def test_a_header_alone_opens_and_has_no_rows(spec: Spec, file_of: Callable[..., Path], content: bytes) -> None:
    with opened(spec, file_of(content)) as source, pytest.raises(DataError, match="no rows"):
        read(spec, source)


def test_what_cannot_be_opened(spec: Spec, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        opened(spec, tmp_path / "absent.csv")
    with pytest.raises(DataError, match="is a folder without Parquet files"):
        opened(spec, tmp_path)


@pytest.fixture
def locked(file_of: Callable[..., Path]) -> Path:
    path = file_of(CSV)
    path.chmod(0)
    return path


def test_a_file_without_permission(spec: Spec, locked: Path, unprivileged: None) -> None:
    with pytest.raises(DataError, match="permission denied"):
        opened(spec, locked)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather"])
def test_a_suffix_that_is_not_true(spec: Spec, file_of: Callable[..., Path], name: str) -> None:
    with pytest.raises(DataError, match="is not a file of the format"):
        opened(spec, file_of(CSV, name))


@pytest.mark.parametrize("content", [b"PAR1 and no more", b"ARROW1\0\0 and no more"])
def test_typed_files_that_are_damaged(spec: Spec, file_of: Callable[..., Path], content: bytes) -> None:
    with pytest.raises(DataError, match="cannot be read as a file of the format"):
        opened(spec, file_of(content, "t"))


def test_more_rows_than_are_numbered(spec: Spec, tmp_path: Path) -> None:
    nulls = pa.table({"name": pa.nulls((1 << 31) - 1)})  # which take no bytes
    with ipc.new_file(tmp_path / "t.arrow", nulls.schema) as file:
        for _ in range(3):
            file.write_table(nulls)
    with (
        opened(spec, tmp_path / "t.arrow") as source,
        pytest.raises(DataError, match="more than 4,294,967,294") as error,
    ):
        source.check()
    assert "engine" in str(error.value)


def test_a_full_temporary_folder(spec: Spec, file_of: Callable[..., Path]) -> None:
    path = file_of(gzip.compress(os.urandom(1 << 20)), "t.csv.gz")
    script = f"""
import resource, signal, tempfile
from anonymize.errors import WriteError
from anonymize.table.spool import open_input
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
tempfile.tempdir = {str(path.parent)!r}
try:
    open_input(Path({str(path)!r}), "utf8")
except WriteError as error:
    assert "file too large" in str(error), error
    assert len(list(Path(tempfile.tempdir).iterdir())) == 1
    print("refused")
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "refused\n"


def test_a_temporary_folder_that_is_absent(
    spec: Spec, file_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/absent")
    with pytest.raises(WriteError, match="the input cannot be copied to a temporary file: no such file"):
        opened(spec, file_of(gzip.compress(CSV.encode()), "t.csv.gz"))


def test_an_input_that_changes_between_its_readings(spec: Spec, file_of: Callable[..., Path]) -> None:
    path = file_of(CSV)
    with opened(spec, path) as source:
        read(spec, source)
        source.unchanged()
        path.write_text(CSV + "32,Eve\n")
        with pytest.raises(DataError, match="changed while it was being read"):
            source.unchanged()
        with pytest.raises(DataError, match="changed while it was being read"):
            names(source)


def test_an_input_that_is_replaced_or_removed(spec: Spec, file_of: Callable[..., Path]) -> None:
    path = file_of(CSV)
    with opened(spec, path) as source:
        read(spec, source)
        path.unlink()
        with pytest.raises(DataError, match="no such file"):
            source.unchanged()


def test_rows_that_go_missing_behind_the_same_stamp(spec: Spec, file_of: Callable[..., Path]) -> None:
    """The same file, of the same size and time, with one row less."""
    path = file_of(CSV)
    with opened(spec, path) as source:
        read(spec, source)
        status = path.stat()
        path.write_text(CSV.replace("\n31,", " 31 "))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        source.unchanged()
        with pytest.raises(DataError, match="changed while it was being read"):
            names(source)


def test_batches_keep_the_order_of_rows(spec_of: Callable[..., Spec], file_of: Callable[..., Path]) -> None:
    content = "a,b\n" + "".join(f"{row},{row % 7}\n" for row in range(10_000))
    with opened(spec_of("a:n b:in"), file_of(content)) as source:
        source.check()
        assert source.rows == 10_000
        batches = list(source.batches(["a"], 3_000))
        assert [batch.height for batch in batches] == [3_000, 3_000, 3_000, 1_000]
        assert pl.concat(batches)["a"].to_list() == [str(row) for row in range(10_000)]
        assert [batch.shape for batch in source.batches([], 6_000)] == [(6_000, 0), (4_000, 0)]


def test_batches_of_a_large_table_are_in_order(spec_of: Callable[..., Spec], file_of: Callable[..., Path]) -> None:
    content = "a,b\n" + "".join(f"{row},x\n" for row in range(400_000))
    with opened(spec_of("a:n b:in"), file_of(content)) as source:
        table = read(spec_of("a:n b:in"), source)
        assert (table.attributes[0].codes == range(400_000)).all()
        rows = pl.concat(source.batches(["a"], 70_000))["a"].cast(pl.Int64)
        assert (rows.to_numpy() == range(400_000)).all()


def test_a_reading_that_is_left_early(spec: Spec, file_of: Callable[..., Path]) -> None:
    with opened(spec, file_of(CSV * 1)) as source:
        for _ in source.examine([pl.col("age")], 1):
            break
        assert source.rows is None


def test_a_single_tail_longer_than_a_block(
    spec: Spec, file_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TAIL", 2)
    with opened(spec, file_of(CSV + "\n" * 100)) as source:
        assert read(spec, source).rows == 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Parquet files as an engine leaves them: parts of one table, and its marks."""
    folder = tmp_path / "released.parquet"
    folder.mkdir()
    for number, names in enumerate((["x", "y"], ["z"])):
        pl.DataFrame({"age": [str(number)] * len(names), "b": names}).write_parquet(folder / f"part-{number}.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "_metadata.parquet").touch()
    return folder


def test_a_folder_of_parquet_files_is_one_table(spec_of: Callable[..., Spec], folder: Path) -> None:
    with opened(spec_of("age:n b:in"), folder) as source:
        source.check()
        assert (source.rows, source.columns, source.name) == (3, ("age", "b"), str(folder))
        assert pl.concat(source.batches(["b"]))["b"].to_list() == ["x", "y", "z"]
        first = source.sha256
    with opened(spec_of("age:n b:in"), folder) as source:
        assert source.sha256 == first
    pl.DataFrame({"age": ["1"], "b": ["w"]}).write_parquet(folder / "part-1.parquet")
    with opened(spec_of("age:n b:in"), folder) as source:
        assert source.sha256 != first


def test_a_folder_that_is_no_table_is_refused(spec_of: Callable[..., Spec], folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a folder without Parquet files"):
        opened(spec_of("age:n"), tmp_path)
    pl.DataFrame({"other": [1]}).write_parquet(folder / "part-2.parquet")
    with pytest.raises(DataError, match="cannot be read as one table") as raised:
        opened(spec_of("age:n b:in"), folder)
    assert raised.value.__cause__ is None
