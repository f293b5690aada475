"""A released file is a function of what it shows.

Every file is read with another library, its values are typed anew and written by the same writer: the bytes must be
the same. And nothing that was to be hidden may stand in the file, not in a buffer that no row points into either.
"""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest

from anonymize._audit import audit
from anonymize._evaluate import Evaluate, evaluate
from anonymize._recode import Recode, recode
from anonymize._release import release
from anonymize.auditing.request import Audit
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make
from anonymize.table import OutputFile
from tests.common.budgets import SHAPES, options_of

HIDDEN = b"hidden-"
"""What every cell begins with that no release may show."""


def people(rows: int = 150) -> pl.DataFrame:
    """A table with texts of more than 12 bytes, missing cells, categories without a row, and names of every kind."""
    chance = random.Random(1)

    def some(values: list[Any]) -> list[Any]:
        return [None if chance.random() < 0.1 else chance.choice(values) for _ in range(rows)]

    jobs, towns = (
        ["a cook of the house", "a clerk of the house", "baker"],
        ["north of the river", "south", "at the sea"],
    )
    return pl.DataFrame(
        {
            "name": [f"hidden-name of person {number}" for number in range(rows)],
            "age": pl.Series(some(list(range(20, 60))), dtype=pl.Int64),
            "job": pl.Series(some(jobs), dtype=pl.Enum([*jobs, "hidden-category of nobody"])),
            "town": pl.Series(some(towns), dtype=pl.Categorical(pl.Categories.random())),
            "ill": pl.Series([("influenza of the bird", "gout", "a very common cold")[n % 3] for n in range(rows)]),
            "*": pl.Series(some(["a note of some length", "", "short"]), dtype=pl.String),
            "^w.*$": pl.Series(some([float("nan"), -0.0, 0.5]), dtype=pl.Float64),
            "since": pl.Series(some([date(2020, 1, 1), date(2021, 5, 5)]), dtype=pl.Date),
            "paid": pl.Series(some([Decimal("1.50"), Decimal("2.25")]), dtype=pl.Decimal(8, 2)),
            "yes": pl.Series(some([True, False]), dtype=pl.Boolean),
        }
    )


def spec_of(path: Path, algorithm: str, **output: str) -> Any:
    requirement: dict[str, Any] = {"k": 5, "suppression": 0.2}
    if algorithm == "anatomy":
        requirement = {"l": 2}
    if algorithm == "randomize":
        requirement = {"models": [{"model": "disclosure", "l": 2}]}
    return make(
        {
            "version": 1,
            "input": {"path": str(path)},
            "identifiers": ["name"],
            "quasi_identifiers": {"age": {"type": "numeric"}, "job": {}, "town": {}},
            "sensitive": {"ill": {}},
            "insensitive": ["*", "^w.*$", "since", "paid", "yes"],
            "workload": {"targets": ["job"]},
            "privacy": requirement,
            "output": output,
        },
        PARAMETERS,
    )


def written(frame: pl.DataFrame, path: Path) -> Path:
    writers: dict[str, Callable[[Path], object]]
    writers = {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".arrow": frame.write_ipc}
    writers[path.suffix](path)
    return path


def made(algorithm: str, source: Path, out: Path, options: dict[str, Any] | None = None, **output: str) -> list[Path]:
    """The tables of a release."""
    saved = str(out.parent / "recoding.json") if algorithm == "mondrian" else None
    spec, given = spec_of(source, algorithm, **output), options_of(algorithm, **(options or {}))
    release(Request(spec, algorithm, given, output=str(out), save_recoding=saved, allow_unsafe=True, force=True))
    stem, suffix = out.name.split(".", 1)
    pair = [out.parent / f"{stem}.{kind}.{suffix}" for kind in ("qit", "st")]
    return [path for path in (out, *pair) if path.exists()]


# --- read with another library ---------------------------------------------------------------------------------------


def plain(path: Path) -> pl.DataFrame:
    """The values of a file as another library reads them, typed anew."""
    if ".csv" in path.name:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return pl.DataFrame(quoted(text.decode()), orient="col")
    table = pa.parquet.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()
    return pl.DataFrame([typed(name, column) for name, column in zip(table.column_names, table.columns, strict=True)])


def typed(name: str, column: pa.ChunkedArray) -> pl.Series:
    names: dict[str, Any] = {
        "int64": pl.Int64,
        "int32": pl.Int32,
        "double": pl.Float64,
        "bool": pl.Boolean,
        "date32[day]": pl.Date,
    }
    names |= {"bool": pl.Boolean, "date32[day]": pl.Date}
    kinds = names | {"uint32": pl.UInt32, "decimal128(8, 2)": pl.Decimal(8, 2)}
    return pl.Series(name, column.to_pylist(), dtype=kinds.get(str(column.type), pl.String))


def quoted(text: str) -> dict[str, pl.Series]:
    """The cells of a CSV; a field without quotes that is empty is a null."""
    header = next(csv.reader([text.split("\n", 1)[0]]))
    marked = text.replace(',""', ',"\1"').replace('\n""', '\n"\1"')
    rows = list(csv.reader(marked.splitlines()))[1:]
    cells = zip(*([None if cell == "" else cell.replace("\1", "") for cell in row] for row in rows), strict=True)
    return {name: pl.Series(name, column, dtype=pl.String) for name, column in zip(header, cells, strict=True)}


def buffers(path: Path) -> Iterator[bytes]:
    """All that an Arrow file holds: its bytes as they are, and what is in them compressed."""
    yield path.read_bytes()
    if path.suffix == ".arrow":
        for column in pa.ipc.open_file(path).read_all().columns:
            for chunk in column.chunks:
                yield from (buffer.to_pybytes() for buffer in chunk.buffers() if buffer is not None)
    elif path.suffix == ".gz":
        yield gzip.decompress(path.read_bytes())


def check(path: Path) -> None:
    again = path.with_name("typed." + path.name.rsplit("o.", 1)[1])
    with OutputFile(again, force=True) as output:
        output.write(iter([plain(path)]))
        output.commit()
    assert again.read_bytes() == path.read_bytes(), path.name
    assert not any(HIDDEN in held for held in buffers(path)), path.name


# --- the property ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(people(), tmp_path_factory.mktemp("table") / f"people.{request.param}")


RUNS: list[tuple[str, dict[str, Any]]] = [
    ("mondrian", {}), ("mondrian", {"mask_minimality": True}),
    ("incognito", {}), ("anatomy", {}), ("anatomy", {"joined": True}), ("randomize", {}),
]  # fmt: skip
FAMILIES = [RUNS[0], *RUNS[3:]]
"""One run of each family: the writer knows no more of a release. Of the other algorithms see the next test."""


@pytest.mark.parametrize(
    ("source", "order", "suffixes"),
    [
        ("arrow", "keep", ["csv", "csv.gz", "parquet", "arrow"]),
        ("arrow", "shuffle", ["parquet"]),
        ("parquet", "keep", ["arrow"]),
        ("csv", "keep", ["parquet"]),
    ],
    indirect=["source"],
)
@pytest.mark.parametrize(("algorithm", "options"), FAMILIES)
def test_a_file_is_what_it_shows(
    algorithm: str, options: dict[str, Any], order: str, suffixes: list[str], source: Path, tmp_path: Path
) -> None:
    for suffix in suffixes:
        for path in made(algorithm, source, tmp_path / f"o.{suffix}", options, row_order=order):
            check(path)
        if algorithm == "mondrian":
            recode(Recode(str(tmp_path / "recoding.json"), str(source), str(tmp_path / f"recoded.o.{suffix}")))
            check(tmp_path / f"recoded.o.{suffix}")


@pytest.mark.parametrize("algorithm", SHAPES)
def test_every_kind_of_recoding_is_written_as_it_shows(algorithm: str, tmp_path: Path) -> None:
    source = written(people(), tmp_path / "people.arrow")
    for suffix in ("csv", "arrow"):
        (path,) = made(algorithm, source, tmp_path / f"o.{suffix}")
        check(path)


# --- attackers, who have the file alone ------------------------------------------------------------------------------


def texts_in(path: Path) -> dict[str, tuple[bytes, bytes]]:
    """Of each text column, what its buffers hold beside the views, and the long texts that its cells show, in order."""
    held = {}
    table = pa.ipc.open_file(path).read_all()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if str(column.type) == "string_view":
            data = b"".join(each.to_pybytes() for chunk in column.chunks for each in chunk.buffers()[2:])
            shown = (text.encode() for text in column.to_pylist() if text is not None)
            held[name] = data, b"".join(text for text in shown if len(text) > 12)
    return held


@pytest.mark.parametrize(("algorithm", "options"), RUNS)
def test_no_slot_tells_a_value_that_no_cell_shows(algorithm: str, options: dict[str, Any], tmp_path: Path) -> None:
    source = written(people(), tmp_path / "people.arrow")
    for path in made(algorithm, source, tmp_path / "o.arrow", options, suppressed_rows="drop", row_order="shuffle"):
        columns = texts_in(path)
        assert columns
        for name, (data, shown) in columns.items():
            assert data == shown, name


def test_what_lies_under_a_null_is_gone(tmp_path: Path) -> None:
    secret = 2**50 + 12345
    frame = pl.DataFrame({"a": [1, secret, 3], "b": [1.5, 2.5, float("nan")], "keep": [True, False, True]})
    shown = frame.select(pl.when("keep").then("a").alias("a"), pl.when("keep").then("b").alias("b"))
    for suffix in ("arrow", "parquet"):
        with OutputFile(tmp_path / f"o.{suffix}") as output:
            output.write([shown])
            output.commit()
        assert not any(secret.to_bytes(8, "little") in held for held in buffers(tmp_path / f"o.{suffix}"))
        check(tmp_path / f"o.{suffix}")


def test_gzip_has_no_time_and_no_name(tmp_path: Path) -> None:
    with OutputFile(tmp_path / "o.csv.gz") as output:
        output.write([pl.DataFrame({"a": [1]})])
        output.commit()
    assert (tmp_path / "o.csv.gz").read_bytes()[:8] == b"\x1f\x8b\x08\0\0\0\0\0"


def test_pieces_and_what_is_known_of_the_order_do_not_show(tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": range(1000), "t": [f"text of row {number:09}" for number in range(1000)]})
    known = frame.with_columns(pl.col("n").set_sorted(), pl.col("t").set_sorted())
    for suffix in ("arrow", "parquet"):
        content = set()
        for number, pieces in enumerate(([frame], [known], [frame[:1], frame[1:7], frame[7:7], frame[7:]])):
            path = tmp_path / f"{number}.{suffix}"
            with OutputFile(path) as output:
                output.write(iter(pieces))
                output.commit()
            content.add(path.read_bytes())
        assert len(content) == 1


# --- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numeric", "missing", "rows", "algorithm", "typed"),
    [
        ("bounds", False, "drop", "incognito", "arrow"),
        ("bounds", True, "keep", "mondrian", "parquet"),
        ("mean", True, "keep", "incognito", "parquet"),
        ("median", False, "drop", "mondrian", "arrow"),
    ],
)
def test_numbers_are_numbers(
    numeric: str, rows: str, algorithm: str, missing: bool, typed: str, tmp_path: Path
) -> None:
    """What a CSV shows a typed file has as numbers; it is measured, evaluated and recoded alike."""
    table = people() if missing else people().with_columns(pl.col("age").fill_null(33))
    source = written(table, tmp_path / "people.parquet")
    figures, shown = [], []
    for suffix in ("csv", typed):
        out = tmp_path / f"o.{suffix}"
        spec = spec_of(source, algorithm, numeric=numeric, suppressed_rows=rows)
        saved = tmp_path / f"{suffix}.json"
        given = options_of(algorithm)
        report = release(Request(spec, algorithm, given, output=str(out), save_recoding=str(saved)))
        audited = audit(Audit(spec, out)).report
        measured = evaluate(Evaluate(spec, str(out), queries=10))
        recode(Recode(str(saved), str(source), str(tmp_path / f"again.{suffix}")))
        frame = read(out)
        assert frame.equals(read(tmp_path / f"again.{suffix}"))
        shown.append(numbers_of(frame, suffix))
        blocks = [report[name] for name in ("privacy", "classes")] + [audited[name] for name in ("privacy", "classes")]
        blocks += [] if missing else [measured[name] for name in ("classes", "utility")]
        figures.append([*blocks, report["output"]["suppressed_rows"]])
    assert shown[0] == shown[1]
    assert figures[0] == figures[1]


def read(path: Path) -> pl.DataFrame:
    readers: dict[str, Callable[..., pl.DataFrame]]
    readers = {".csv": pl.read_csv, ".parquet": pl.read_parquet, ".arrow": pl.read_ipc}
    return readers[path.suffix](path, **({"infer_schema": False} if path.suffix == ".csv" else {}))


def numbers_of(frame: pl.DataFrame, suffix: str) -> dict[str, list[Any]]:
    """The columns of age as numbers, whatever else a CSV shows being none. Where a number may be missing they are the
    texts that a CSV shows, as is the column beside bounds that says so."""
    columns = {column.name: column for column in frame.iter_columns() if column.name.startswith("age")}
    assert columns
    texts = {name for name, column in columns.items() if name == "age_missing" or mixes(column)}
    if suffix != "csv":
        numeric = (column.dtype in (pl.Int64, pl.Float64) for name, column in columns.items() if name not in texts)
        assert all(numeric)
    kinds = {name: pl.String if name in texts else pl.Float64 for name in columns}
    return {name: column.cast(kinds[name], strict=False).to_list() for name, column in columns.items()}


def mixes(column: pl.Series) -> bool:
    """Whether a cell reads as a number or missing."""
    return bool(column.cast(pl.String).str.ends_with(" or missing").any())
